#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# hbctl.t - all commands of hbctl on /dev/hashbelt, as root, but those that have their own test.
# shellcheck disable=SC2016,SC2033,SC2086,SC2317 # scripts of other shells; words; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"
# shellcheck source=tests/hbctl/screen.sh
. "$(dirname "$0")/screen.sh"

# shown KEY - the first two lines on a terminal on which get prints the value of KEY, and then echo a line
shown() {
	screen end print -- sh -c 'hbctl -b "$0" get "$1"; echo next' "$belt" "$1" | sed -n 2,3p
}

belt main --ttl 5m --buckets 6

# put, get
is 'put of a new key prints nothing' 0 '' '' on put a 1
value 'get prints the value' 1 on get a
json 'put --json prints the entry without its value' 0 \
	'{"key":"b","version":N,"flags":0,"ttl_ms":300000,"value_len":2}' '' on put b 22 --json
json 'get --json prints the entry with its value' 0 \
	'{"key":"b","version":N,"flags":0,"ttl_ms":300000,"value_len":2,"value":"22"}' \
	'' on --json get b
on put empty ''
json 'get --json of an empty value prints an empty string' 0 \
	'{"key":"empty","version":N,"flags":0,"ttl_ms":300000,"value_len":0,"value":""}' \
	'' on get empty --json
is 'put --flags --ttl exits with 0' 0 '' '' on put f 1 --flags 0xffffffff --ttl 1h30m
run on get -v f
printf 'version: %s\nflags: 4294967295\nttl: 1h30m\n' "$(version_of f)" >"$temporary/wanted"
mv "$temporary/err" "$temporary/out"
result 'get -v prints version, flags and time left on stderr' "$(check_status 0; same)"
json 'put --ttl never makes an entry without a deadline' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":null,"value_len":1}' '' \
	on put f 1 --ttl never --json
json 'put --ttl keep over an entry without a deadline keeps it without' 0 \
	'{"key":"f","version":N,"flags":7,"ttl_ms":null,"value_len":1}' '' \
	on put f 2 --ttl keep --flags 7 --json
on put f 4 --ttl 100s
json 'get --ttl sets the deadline and prints the new time left' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":10000,"value_len":1,"value":"4"}' \
	'' on get f --ttl 10s --json
json 'get --ttl never takes the deadline off' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":null,"value_len":1,"value":"4"}' \
	'' on get f --ttl never --json

# conditions
v=$(version_of a)
is 'put --if-absent over an entry exits with 1 and names the version' 1 '' \
	"entry 'a' is in belt 'main' already, with version $v" on put a x --if-absent
is 'put --if-version of another version exits with 1 and names both' 1 '' \
	"entry 'a' in belt 'main' has version $v, not $((v + 1)): *get it again" \
	on put a x --if-version $((v + 1))
is 'rm --if-version of another version exits with 1' 1 '' \
	"entry 'a' in belt 'main' has version $v, not $((v + 1)): *" on rm a --if-version $((v + 1))

# touch, has, rm, expire
json 'touch --json gives the ttl of the belt and prints it' 0 \
	'{"key":"b","version":N,"flags":0,"ttl_ms":300000}' '' on touch b --json
is 'has of a missing key exits with 1' 1 '' "there is no entry 'zz' in belt 'main'" on has zz
is 'has --json of a missing key exits with 1 and prints present false' 1 \
	'{"key":"zz","present":false}' "there is no entry 'zz' *" on has zz --json
on put b 1
json 'rm --json prints key and version' 0 '{"key":"b","version":N}' '' on rm b --json
on put b 1
is 'expire --json prints the key' 0 '{"key":"b"}' '' on expire b --json

# put of several keys, put --hold
is 'put of three keys exits with 0' 0 '' '' on put p1 1 p2 'two words' p3 '' --ttl 8s --flags 5
json 'put of several keys gives each the options' 0 \
	'{"key":"p2","version":N,"flags":5,"ttl_ms":8000,"value_len":9,"value":"two words"}
{"key":"p3","version":N,"flags":5,"ttl_ms":8000,"value_len":0,"value":""}' '' on get --json p2 p3
is 'put --if-absent of several keys puts those without an entry, and exits with 1' 1 '' \
	"entry 'p1' is in belt 'main' already, with version *" on put p1 9 p4 4 --if-absent
is 'put --if-absent of several keys leaves the present one' 0 'p1	1
p4	4' '' on get p1 p4
is 'put -e of several keys takes escaped keys, and values as they are' 0 '' '' \
	on put -e 'e\t1' 'v\t1' 'e\t2' 2
value 'get -e of the first of several escaped keys prints its value' 'v\t1' on get -e 'e\t1'
is 'rm of the keys of several puts exits with 0' 0 '' '' on rm -e p1 p2 p3 p4 'e\t1' 'e\t2'
hold() {
	hbctl -b "$belt" put --hold "$@" >"$temporary/held" 2>"$temporary/hold.err" &
	holder=$!
}
has_left() {
	[ "$(on has "$1" --json | sed 's/.*"ttl_ms":\([0-9]*\).*/\1/')" = "$2" ]
}
hold h1 1 h2 2 --ttl 900ms
at_last has_left h2 900
for _ in 1 2 3; do
	on advance 800ms
	at_last has_left h1 900
	at_last has_left h2 900
done
is 'put --hold renews all entries while it runs' 0 'h1	1
h2	2' '' on get h1 h2
kill "$holder"
end "$holder"
result 'a signal ends put --hold' "$(check_status 143)"
is 'the entries of put --hold are gone when it has ended' 1 '' '*' on has h1
is 'no entry of put --hold stays' 1 '' "there is no entry 'h2' *" on has h2
hold h1 1 h2 2 --ttl never
at_last on has h2 -q
kill -s KILL "$holder"
end "$holder"
is 'the kill of put --hold removes its entries' 1 '' "there is no entry 'h2' *" on has h2
hold h1 1 h2 2 --ttl 900ms
at_last has_left h2 900
kill -s STOP "$holder"
on advance 899ms
is 'a stopped put --hold keeps the entries up to their deadline' 0 'h1	1
h2	2' '' on get h1 h2
on advance 1ms
is 'the first entry of a stopped put --hold is gone at the deadline' 1 '' '*' on has h1
is 'the second entry of a stopped put --hold is gone at the same deadline' 1 '' '*' on has h2
kill -s CONT "$holder"
end "$holder"
cp "$temporary/hold.err" "$temporary/err"
result 'put --hold exits with 1 when all entries have left' "$(check_status 1
	check_error "the entries have left belt 'main'")"
hold h1 1 h2 2 --ttl 900ms
at_last on has h2 -q
on put h1 other
on rm h2
end "$holder"
result 'put --hold ends when its entries are replaced and removed' "$(check_status 1)"
value 'put over an entry of put --hold stays' other on get h1
is 'put --hold --if-absent exits with 1, and holds nothing, if an entry is there' 1 '' \
	"entry 'h1' is in belt *" on put h1 1 h2 2 --hold --if-absent
is 'put --hold whose condition did not hold leaves no entry' 1 '' "there is no entry 'h2' *" on has h2
on rm h1

# Several keys
tab=$(printf '\t')
on put m1 1
on put b 1
on put "m${tab}2" 'two
lines'
is 'get of two keys prints KEY<TAB>VALUE for each, escaped' 0 "m1${tab}1
m\\t2${tab}two\\nlines" '' on get m1 "m${tab}2"
is 'get of three keys, one of them missing, prints the others and exits with 1' 1 "m1${tab}1
b${tab}1" "there is no entry 'zz' in belt 'main'" on get m1 zz b
json 'get --json of two keys prints an object for each' 0 \
	'{"key":"m1","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value":"1"}
{"key":"b","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value":"1"}' '' on get m1 b --json
is 'touch of three keys, one of them missing, touches the others and exits with 1' 1 '' \
	"there is no entry 'zz' in belt 'main'" on touch --ttl 1m m1 zz b
is 'rm of three keys, one of them missing, removes the others and exits with 1' 1 '' \
	"there is no entry 'zz' in belt 'main'" on rm m1 zz b
is 'has -q of a removed key exits with 1 and prints nothing' 1 '' '' on has -q b
is 'has -q of an entry exits with 0' 0 '' '' on has -q "m${tab}2"
is 'del is rm' 0 '' '' on del "m${tab}2"

# A terminal
on put word text
on put line 'text
'
is 'get on a terminal ends the line' 0 'text
next' '' shown word
is 'get on a terminal adds no newline to one' 0 'text
next' '' shown line
value 'get into a file adds no newline' text on get word

# clear, size
is 'clear exits with 0' 0 '' '' on clear
on put a 1
on put b 2
json 'size --json prints entries and bytes' 0 '{"entries":2,"bytes":N}' '' on size --json
is 'size of a belt as an operand prints the number of entries' 0 2 '' hbctl size main
like 'stat of a belt as an operand prints its counters' 0 '*puts_new *' '' hbctl stat main
is 'clear --json prints the name of the belt' 0 '{"name":"main"}' '' on clear --json

# keys and values of any bytes and the largest sizes
key=$(text 1024)
is 'put of a key of 1024 bytes exits with 0' 0 '' '' on put "$key" long
value 'get of a key of 1024 bytes prints the value' long on get "$key"
is 'keys prints a key of 1024 bytes' 0 "$key" '' on keys
on clear
head -c 1048576 /dev/urandom >"$temporary/random"
input=$temporary/random
is 'put of 1 MiB from stdin exits with 0' 0 '' '' on put big -
input=/dev/null
run on get big
file 'get prints a value of 1 MiB byte for byte' "$temporary/random"
head -c 65537 /dev/urandom >"$temporary/random"
input=$temporary/random
is 'put of 64 KiB and a byte exits with 0' 0 '' '' on put big -
input=/dev/null
run on get big
file 'get prints a value of 64 KiB and a byte' "$temporary/random"
is 'put --from of a file of 64 KiB and a byte exits with 0' 0 '' '' \
	on put big2 --from "$temporary/random"
run on get big2
file 'put --from puts all bytes of the file' "$temporary/random"
printf 'a line\n' >"$temporary/line"
input=$temporary/line
is 'put without a value takes it from stdin' 0 '' '' on put line
run on get line
file 'put from stdin keeps the newline at the end' "$temporary/line"
is 'put --from - takes the value from stdin' 0 '' '' on put line2 --from -
run on get line2
file 'put --from - puts all bytes of stdin' "$temporary/line"
input=/dev/null
is 'put from an empty stdin exits with 0' 0 '' '' on put big -
value 'get of a value that was put from an empty stdin prints nothing' '' on get big
on clear
bytes=$(printf '\377')
is 'put of a key and a value that are not UTF-8 exits with 0' 0 '' '' on put "$bytes" "$bytes"
json 'get --json prints a key and a value that are not UTF-8 in base64' 0 \
	'{"key_base64":"/w==","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value_base64":"/w=="}' \
	'' on get "$bytes" --json
on clear
is 'an error message escapes control characters of the key' 1 '' \
	"there is no entry 'a\\\\nb\\\\x1b' in belt 'main'" on get "$(printf 'a\nb\033')"
on clear

# keys
on put user/1 a
on put user/2 bb --flags 3 --ttl never
on put group/1 ccc
is 'keys PREFIX prints the keys with this prefix' 0 group/1 '' on keys group/
json 'keys --json PREFIX prints the entry of this prefix' 0 \
	'{"key":"user/2","version":N,"flags":3,"ttl_ms":null,"value_len":2}' '' \
	on keys user/2 --json
on dump --values | sort >"$temporary/wanted"
on dump | sort >"$temporary/out"
result 'dump prints what dump --values prints' "$(same)"
on put "$(printf 'x\ty')" 1
is 'keys -e takes an escaped prefix and prints an escaped key' 0 'x\ty' '' on keys -e 'x\t'
is 'rm -e takes a key as keys prints it' 0 '' '' on rm -e 'x\ty'

# dump, load
on dump --values | sort >"$temporary/out"
printf '%s\t%s\t%s\n' group/1 ccc 300000ms user/1 a 300000ms \
	user/2 bb "never$(printf '\t')3" >"$temporary/wanted"
result 'dump --values prints key, value, time left and flags' "$(same)"
cp "$temporary/wanted" "$temporary/dump"
json 'dump --values --json prints entries with their values' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value":"y"}' \
	'' sh -c 'hbctl create one && hbctl -b one halt && hbctl -b one put x y &&
		hbctl -b one dump --values --json'
json 'dump --json prints entries with their values' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value":"y"}' \
	'' hbctl -b one dump --json
belt copy
is 'load of a dump exits with 0' 0 '' '' on load "$temporary/dump"
on dump --values | sort >"$temporary/out"
file 'dump --values after load of a dump prints that dump' "$temporary/dump"
on clear
input=$temporary/dump
is 'load reads stdin without an operand' 0 '' '' on load
is 'load - --json reads stdin and prints how many were loaded and kept' 0 '{"loaded":3,"kept":0,"expired":0}' \
	'' on load - --json
input=/dev/null
is 'load --json of an empty stdin prints 0 loaded' 0 '{"loaded":0,"kept":0,"expired":0}' '' on load --json
on clear

# Keys and values with each of the 256 bytes, and their escapes
awk 'BEGIN {
	for (i = 0; i < 256; i++)
		printf "k\\x%02x\\x00\tv\\x%02x\\x00\t1h\n", i, i
}' >"$temporary/escaped"
is 'load of keys and values with every byte exits with 0' 0 '' '' on load "$temporary/escaped"
is 'size after load of keys with every byte is 256' 0 256 '' on size
on dump --values | sort >"$temporary/first"
belt copy2
is 'load of a dump with every byte exits with 0' 0 '' '' on load "$temporary/first"
on dump --values | sort >"$temporary/out"
file 'dump of a loaded dump with every byte is that dump' "$temporary/first"

# Control characters of two bytes in UTF-8
steering=$(printf 'n\302\2332J')
belt "$steering"
on put "$(printf 'k\302\205\303\200')" "$(printf '\357\273\277v\302\237')"
on dump >"$temporary/first"
is 'dump escapes U+0080 to U+009F and the byte order mark' 0 \
	"$(printf 'k\\xc2\\x85\303\200\t\\xef\\xbb\\xbfv\\xc2\\x9f\t300000ms')" '' cat "$temporary/first"
belt control2
is 'load takes what dump has escaped' 0 '' '' on load "$temporary/first"
on dump >"$temporary/out"
file 'dump of loaded control characters is that dump' "$temporary/first"
is 'keys escapes U+0085' 0 "$(printf 'k\\xc2\\x85\303\200')" '' hbctl -b "$steering" keys
like 'info escapes U+009B in the name of a belt' 0 '*n\\xc2\\x9b2J
*' '' hbctl info "$steering"
hbctl export >"$temporary/exported"
is 'export escapes U+009B in the name of a belt' 0 1 '' grep -cxF '[n\xc2\x9b2J]' "$temporary/exported"
is 'apply takes the name that export has escaped' 0 '' '' hbctl apply --check "$temporary/exported"
is 'info --json writes U+009B as \u009b' 0 1 '' sh -c \
	'hbctl info "$0" --json | grep -cF "\"name\":\"n\u009b2J\","' "$steering"
is 'a message has a question mark for U+009B' 1 '' "there is no entry 'x' in belt 'n[?]2J'" \
	hbctl -b "$steering" get x
is 'a message as JSON has a question mark for U+009B' 1 '' "there is no entry 'x' in belt 'n[?]2J'" \
	hbctl -b "$steering" get x --json
hbctl destroy "$steering"
hbctl destroy control2
belt=copy2

# More entries than fit into a batch or into one buffer of a scan
belt many
awk 'BEGIN {
	for (i = 0; i < 5000; i++)
		printf "a key that is long enough, number %d\t%d\n", i, i
}' >"$temporary/lines"
on load "$temporary/lines"
sort "$temporary/lines" >"$temporary/wanted"
on dump --values | cut -f 1,2 | sort -u >"$temporary/out"
result 'dump --values prints 5000 keys and values' "$(same)"
on clear

# bad NAME LINE WRONG - load of a file whose second line is LINE fails; WRONG is in the
# message
bad() {
	printf 'a\t1\n%b\nc\t3' "$2" >"$temporary/bad"
	is "load: $1" 4 '' "$temporary/bad, line 2: $3*" on load "$temporary/bad"
}
bad 'a line without a tab fails' 'b' 'there is no tab between key and value'
value 'load puts the lines before a bad one' 1 on get a
is 'load puts no line after a bad one' 1 '' "there is no entry 'c' *" on get c
bad 'an empty key fails' '\t2' 'the key does not have 1 to 1024 bytes'
bad 'a key of 1025 bytes fails' "$(text 1025)\\t2" 'the key does not have 1 to 1024 bytes'
bad 'an unknown escape in the key fails' 'b\\r\t2' 'a backslash begins none of'
bad 'an incomplete escape in the value fails' 'b\t\\x4' 'a backslash begins none of'
bad 'a value of 1 MiB and a byte fails' "b\\t$(text 1048577)" \
	'the value has more than 1048576 bytes'
bad 'a ttl with an unknown unit fails' 'b\t2\t3y' \
	"the third field is neither 'never' nor a duration"
bad 'a ttl of 0 fails' 'b\t2\t0' "the third field is neither 'never' nor a duration"
bad 'flags of 2^32 fail' 'b\t2\t1s\t4294967296' 'the fourth field is not a number'
bad 'a line with five fields fails' 'b\t2\t1s\t1\t1' 'there are more than four fields'
printf 'a\t1\nb\\x00c\t2\tnever\t4294967295\n' >"$temporary/good"
is 'load of a line with all fields exits with 0' 0 '' '' on load "$temporary/good"
json 'load sets ttl and flags of an entry' 0 \
	'{"key":"b\u0000c","version":N,"flags":4294967295,"ttl_ms":null,"value_len":1,"value":"2"}' \
	'' on get -e 'b\x00c' --json
is 'load of a directory exits with 4' 4 '' 'cannot read /: *' on load /
on clear
# Cut off, the line has less or more time, or another value: "never", "100h", "1".
cut=', line 2: the line is the last one and has no newline: it may be cut off'
for line in 'k\t12\tneve' 'k\t12\t100h' 'k\t1' 'k'; do
	printf 'a\t1\n%b' "$line" >"$temporary/cut"
	is "load refuses a last line '$line' without a newline" 4 '' "$temporary/cut$cut" on load "$temporary/cut"
	is "load has put nothing of the line '$line'" 0 'a	1	300000ms' '' on dump
done
printf '\357\273\277a\t1\n' >"$temporary/marked"
is 'load names a byte order mark' 4 '' "$temporary/marked, line 1: the line begins with a byte order mark: *" \
	on load "$temporary/marked"
is 'load makes no belt of a file with a byte order mark' 4 '' 'stdin, line 1: the line begins with a byte *' \
	sh -c 'printf "\357\273\277#settings\n" | hbctl -b none load'
printf '\\xef\\xbb\\xbfa\t1\n' >"$temporary/marked"
is 'load takes an escaped byte order mark for a part of the key' 0 '' '' on load "$temporary/marked"
on clear
text 4202496 >"$temporary/long"
is 'load reads a line of 4202496 bytes' 4 '' "$temporary/long, line 1: *it may be cut off" on load "$temporary/long"
text 1 >>"$temporary/long"
is 'load refuses a longer line' 4 '' "$temporary/long, line 1: the line has more than 4202496 bytes" \
	on load "$temporary/long"
rm "$temporary/long"
# A value of a MiB, each byte of which is escaped, in as little memory as hbctl starts in and 3 MiB.
least_memory help
awk 'BEGIN { printf "a\t1\nb\t"; for (i = 0; i < 1048576; i++) printf "\\x41"; print "\nc\t3" }' >"$temporary/large"
is 'load without the memory for a line says so' 4 '' \
	"$temporary/large, line 2: the line does not fit into memory" \
	sh -c 'ulimit -v $1 && hbctl -b "$0" load "$2"' "$belt" $((memory + 3072)) "$temporary/large"
is 'load has put the line before' 0 a '' on keys
is 'load puts the longest value, escaped' 0 '' '' on load "$temporary/large"
is 'load has put all three lines' 0 3 '' on size
rm "$temporary/large"
on clear

# Belt time moved by hand: 6 buckets for 5 minutes make intervals of 1 minute.
belt time --ttl 5m --buckets 6
on put x 1
is 'advance --json prints the name of the belt' 0 '{"name":"time"}' '' on advance 1ms --json
is 'rotate --json prints the name of the belt' 0 '{"name":"time"}' '' on rotate --json
json 'advance and rotate, by one interval, move belt time' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":239999,"value_len":1,"present":true}' \
	'' on has x --json
on advance 36500d
is 'advance beyond the end of belt time exits with 4' 4 '' \
	"belt 'time' cannot be moved on that far" on advance 50000d
like 'info --json after halt prints halted true' 0 '*"halted":true,*' '' on info --json
is 'halt --json of a halted belt prints its name' 0 '{"name":"time"}' '' on halt --json
is 'resume --json prints the name of the belt' 0 '{"name":"time"}' '' on resume --json
like 'info --json after resume prints halted false' 0 '*"halted":false,*' '' on info --json

# stat after one call of each kind
belt stat --ttl 1m
on put a 1
on put a 2
on put b 3
on put c 4
on put a 5 --if-absent 2>/dev/null
on get a >/dev/null
on get zz 2>/dev/null
on touch a
on rm b
on expire c
on clear
# All others are 0; rotations depend on the time.
counters=$(sed -n 's/^# TYPE hashbelt_\(.*\)_total .*/\1 0/p' "$(dirname "$0")/recorded.prom" |
	sed 's/^\(hits\|misses\|puts_replaced\|refused\|touches\|removes\|expired\|cleared\) 0$/\1 1/
		s/^puts_new 0$/puts_new 3/; s/^rotations 0$/rotations [0-9]*/')
counters="$counters
misses_cold 1"
gauges='entries 0
bytes [1-9]*
used_entries 0
max_entries none
used_bytes [0-9]*
max_bytes none
queued_events 0
queued_bytes 0
max_events 1048576
in_flight_events 0
held_locks 0
waiting_requests 0
window_used 0'
like 'stat prints all counters after one call of each' 0 "$counters
$gauges" '' on stat --raw --noheadings
fields=$(printf '%s\n' "$counters" "$gauges" |
	sed 's/none$/null/; s/\(.*\) \(.*\)/"\1":\2/' | tr '\n' ',')
like 'stat --json prints all counters after one call of each' 0 \
	"{\"name\":\"stat\",${fields}\"lags\":[[]*]}" '' on stat --json

# create; info, belts
belt set --ttl 90s --buckets 10 --policy standard --mode 0640
on put a 1
hbctl create json
is 'create of a belt that exists exits with 1' 1 '' "there is a belt 'json' already: *" \
	hbctl create json
is 'create --refresh-on-get --on-put exits with 0' 0 '' '' \
	hbctl create mixed --refresh-on-get yes --on-put keep
like 'info --json prints the policy mixed for refresh and keep' 0 \
	'*"policy":"mixed","refresh_on_get":true,"keep_on_put":true,*' '' hbctl info mixed --json
hbctl create neither --policy updating --refresh-on-get no --on-put replace
like 'info --json prints the policy timecache without both halves' 0 '*"policy":"timecache",*' '' \
	hbctl info neither --json
like 'belts prints a table of all belts in the order of names' 0 \
	"NAME *ENTRIES *MEMORY *TTL *BUCKETS *POLICY *MODE *OWNER *CLOCK *EVENTS
copy * 5m *3  timecache  0600  0:0 *halted        -
*
default *running       -
*
set * 1 * 1m30s *10  standard   0640  0:0 *halted        -
*" '' hbctl belts
hbctl belts --json | sed 's/{"name":"\([^"]*\)",.*}/\1/' >"$temporary/out"
printf '%s\n' copy copy2 default json main many mixed neither one set stat time >"$temporary/wanted"
result 'belts --json lists all belts in the order of names' "$(same)"
is 'destroy --json prints the name of the belt' 0 '{"name":"neither"}' '' \
	hbctl destroy neither --json
hbctl destroy mixed
is 'destroy of a destroyed belt exits with 3' 3 '' \
	"there is no belt 'mixed', or you have no right to it: 'hbctl belts' lists *" \
	hbctl destroy mixed
is 'get on a destroyed belt exits with 3' 3 '' "there is no belt 'mixed', or you have no right to it: 'hbctl belts' *" \
	hbctl -b mixed get x
for command in 'put a 1' 'get a' 'touch a' 'has a' 'rm a' 'expire a' keys dump \
	load size clear info stat halt resume rotate 'advance 1s'; do
	is "$command on an unknown belt exits with 3" 3 '' "there is no belt 'mixed', or you have no right to it: *" \
		hbctl --json -b mixed $command
done

# policies
belt keep --policy standard
on put a 1
v=$(version_of a)
is 'standard policy: put over an entry exits with 1' 1 '' \
	"belt 'keep' keeps its present entry 'a' with version $v (--if-present *" on put a 2
printf 'a\t9\nb\t9\n' >"$temporary/two"
is 'standard policy: load exits with 1 and counts the entries it has kept' 1 \
	'{"loaded":1,"kept":1,"expired":0}' \
	"belt 'keep' keeps present entries: 1 of 2 were not put" on load "$temporary/two" --json
value 'standard policy: load leaves the value of an entry' 1 on get a
value 'standard policy: load puts a missing key' 9 on get b
# Lines that end in a carriage return and a newline
belt lines
printf 'a\tone\r\nb\ttwo\t90s\r\nc\tthree\\x0d\r\n' >"$temporary/crlf"
is 'load takes a carriage return and a newline for the end of a line' 0 '' '' on load "$temporary/crlf"
is 'load leaves a carriage return at the end of a line out of value and time' 0 \
	"$(printf 'a\tone\t300000ms\nb\ttwo\t90000ms\nc\tthree\\x0d\t300000ms')" '' \
	sh -c 'hbctl -b lines dump | sort'
printf 'put d four\r\nget d\r\n' >"$temporary/crlf"
value 'batch takes a carriage return and a newline for the end of a line' four \
	on batch "$temporary/crlf"

# Gets that only look
belt looks
for i in 1 2 3; do
	on put "$i" value
done
on dump >"$temporary/dump"
on keys >"$temporary/keys"
on has 1
on has -q 4
is 'dump, keys and has count neither as hits nor as misses' 0 '0 0' '' sh -c \
	'hbctl -b looks stat --json | sed "s/.*\"hits\":\([0-9]*\),\"misses\":\([0-9]*\),.*/\1 \2/"'
on get 1 >/dev/null

# Rights; the device still has mode 0600.
is 'user nobody: belts exits with 3 where the device is of mode 0600' 3 '' \
	'no right to open /dev/hashbelt: join its group *' nobody belts
chmod 666 /dev/hashbelt
is 'user nobody: get on the default belt exits with 3' 3 '' \
	"there is no belt 'default', or you have no right to it: *" nobody get a
hbctl create shown --mode 0644
hbctl create given --mode 0622
hbctl -b shown put a 1
value 'user nobody: get prints a value of a readable belt' 1 nobody -b shown get a
is 'user nobody: has of a missing key in a readable belt exits with 1' 1 '' \
	"there is no entry 'b' in belt 'shown'" nobody -b shown has b
for command in 'put a 2' 'touch a' 'rm a' 'expire a' clear 'get a --ttl 1s' ; do
	is "user nobody: $command on a belt of mode 0644 exits with 3" 3 '' \
		"no right to * belt 'shown': *" nobody -b shown $command
done
input=$temporary/two
is 'user nobody: load on a belt of mode 0644 exits with 3' 3 '' \
	"no right to write belt 'shown': *" nobody -b shown load
input=/dev/null
for command in halt resume rotate 'advance 1s'; do
	is "user nobody: $command of a belt of root exits with 3" 3 '' \
		"${command%% *} is for the owner of belt 'shown', and for root" \
		nobody -b shown $command
done
is 'user nobody: destroy of a belt of root exits with 3' 3 '' \
	"destroy is for the owner of belt 'shown', *" nobody destroy shown
is 'user nobody: put on a belt of mode 0622 exits with 0' 0 '' '' nobody -b given put a 1
for command in 'get a' 'has a' keys dump size info stat; do
	is "user nobody: $command on a belt of mode 0622 exits with 3" 3 '' \
		"no right to read belt 'given': *" nobody -b given $command
done
is 'user nobody: create exits with 0' 0 '' '' nobody create own
like 'user nobody: info --json of a new belt names nobody as owner' 0 \
	'*"uid":65534,"gid":65534,"access":\["read","write","own"\],*}' '' nobody info own --json

# The owner that a command demands of its belt
nobody -b own put b 2
value 'get --belt-owner with the name of the owner prints the value' 2 \
	hbctl -b own --belt-owner nobody get b
value 'get --belt-owner with the number of the owner prints the value' 2 \
	hbctl -b own --belt-owner 65534 get b
is 'put --belt-owner with another user exits with 3' 3 '' \
	"belt 'own' is not owned by user 'root' (--belt-owner): 'hbctl belts' shows the owners" \
	hbctl -b own --belt-owner root put b 3
value 'put --belt-owner with another user puts nothing' 2 hbctl -b own get b
is 'get --belt-owner of a belt that is missing exits with 3' 3 '' "there is no belt 'none', or you have no right to it: *" \
	hbctl -b none --belt-owner root get b
nobody create locks --mode 0666
is 'lock --belt-owner in a belt of another user exits with 3' 3 '' \
	"belt 'locks' is not owned by user '0' (--belt-owner): *" hbctl lock x --belt-owner 0
hbctl destroy locks
is 'lock --belt-owner with another user makes no belt' 3 '' "there is no belt 'locks', or you have no right to it: *" \
	hbctl lock x --belt-owner nobody
like 'lock --belt-owner with the caller makes the belt' 0 '[0-9]*' '' \
	hbctl lock x --belt-owner root --owner a
hbctl destroy locks
for command in 'create new' 'destroy own' belts 'stat --all'; do
	is "$command --belt-owner exits with 2" 2 '' \
		"${command%% *}: --belt-owner is for commands that use one belt *" \
		hbctl $command --belt-owner nobody
done
nobody belts --json | sed 's/{"name":"\([^"]*\)",.*"access":\([^]]*\]\).*}/\1 \2/' >"$temporary/out"
printf '%s\n' 'own ["read","write","own"]' 'shown ["read"]' >"$temporary/wanted"
result 'user nobody: belts lists own and readable belts only' "$(same)"
chmod 644 /dev/hashbelt
value 'device of mode 0644: get by nobody prints the value' 1 nobody -b shown get a
is 'device of mode 0644: put by the owner of the belt exits with 3' 3 '' \
	"no right to write belt 'own': the device is open for reading only: join its group *" \
	nobody -b own put a 1
is 'device of mode 0644: halt by the owner of the belt exits with 3' 3 '' \
	"no right to change belt 'own': the device is open for reading only: join its group *" \
	nobody -b own halt
chmod 600 /dev/hashbelt

# A belt that is destroyed while load, which has put a batch, waits for more input
hbctl create going
mkfifo "$temporary/fifo"
(
	on=going
	awk 'BEGIN { for (i = 0; i < 300; i++) printf "%d\tx\n", i }'
	until [ "$(hbctl -b $on size)" != 0 ]; do :; done
	hbctl destroy $on
) >"$temporary/fifo" &
input=$temporary/fifo
is 'load into a belt that is destroyed meanwhile exits with 3' 3 '' \
	"belt 'going' was destroyed: *" hbctl -b going load
input=/dev/null
wait

# Other failures
limit=/sys/module/hashbelt/parameters/max_bytes
before=$(cat $limit)
echo 1 >$limit
is 'put beyond the max_bytes of the module exits with 4' 4 '' \
	"belt 'main' can never hold 5004 bytes of key and value and *: raise max_bytes (1) *" \
	hbctl -b main put more "$(text 5000)"
echo "$before" >$limit
is 'put after max_bytes was raised exits with 0' 0 '' '' hbctl -b main put more "$(text 5000)"
for command in 'get more' keys 'dump --values' belts info 'info --json' stat; do
	is "$command into a full device exits with 4" 4 '' 'cannot write the output: *' \
		sh -c "exec hbctl -b main $command >/dev/full"
done
is 'destroy of the default belt exits with 0' 0 '' '' hbctl destroy default
is 'get without a default belt exits with 3' 3 '' "there is no belt 'default', or you have no right to it: *" hbctl get a
is 'create of the default belt exits with 0' 0 '' '' hbctl create default
finish
