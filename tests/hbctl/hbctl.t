#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# hbctl.t - every command of hbctl on /dev/hashbelt, as root, but for those that
# settings.t and events.t are about.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 232
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

belt main --ttl 5m --buckets 6

# put, get
is 'put' 0 '' '' on put a 1
value 'get' 1 on get a
json 'put, JSON' 0 \
	'{"key":"b","version":N,"flags":0,"ttl_ms":300000,"value_len":2}' '' \
	on put b 22 --json
json 'get, JSON' 0 \
	'{"key":"b","version":N,"flags":0,"ttl_ms":300000,"value_len":2,"value":"22"}' \
	'' on --json get b
is 'get what is not there' 1 '' "there is no entry 'zz' in belt 'main'" on get zz
is 'get what is not there, JSON' 1 '' "there is no entry 'zz' in belt 'main'" \
	on get zz --json
is 'put replaces' 0 '' '' on put a 'one more'
value 'get what was put last' 'one more' on get a
is 'put an empty value' 0 '' '' on put empty ''
value 'get an empty value' '' on get empty
json 'get an empty value, JSON' 0 \
	'{"key":"empty","version":N,"flags":0,"ttl_ms":300000,"value_len":0,"value":""}' \
	'' on get empty --json
is 'put a dash' 0 '' '' on put -- -k -v
value 'get a dash' -v on get -- -k
is 'put with flags and ttl' 0 '' '' on put f 1 --flags 0xffffffff --ttl 1h30m
run on get -v f
printf 'version: %s\nflags: 4294967295\nttl: 1h30m\n' "$(version_of f)" \
	>"$temporary/wanted"
mv "$temporary/err" "$temporary/out"
result 'get -v' "$(judge_status 0; same)"
json 'put --ttl never' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":null,"value_len":1}' '' \
	on put f 1 --ttl never --json
json 'put --ttl keep what never ends' 0 \
	'{"key":"f","version":N,"flags":7,"ttl_ms":null,"value_len":1}' '' \
	on put f 2 --ttl keep --flags 7 --json
on put f 3 --ttl 100s
json 'put --ttl keep' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":100000,"value_len":1}' '' \
	on put f 4 --ttl keep --json
json 'put --ttl keep what is not there' 0 \
	'{"key":"g","version":N,"flags":0,"ttl_ms":300000,"value_len":1}' '' \
	on put g 4 --ttl keep --json
json 'put with the longest ttl' 0 \
	'{"key":"g","version":N,"flags":0,"ttl_ms":4398046511104,"value_len":1}' '' \
	on put g 4 --ttl 4398046511104ms --json
json 'get --ttl' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":10000,"value_len":1,"value":"4"}' \
	'' on get f --ttl 10s --json
json 'get --ttl has touched' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":10000,"value_len":1,"present":true}' \
	'' on has f --json
json 'get --ttl never' 0 \
	'{"key":"f","version":N,"flags":0,"ttl_ms":null,"value_len":1,"value":"4"}' \
	'' on get f --ttl never --json

# conditions
v=$(version_of a)
is 'put --if-absent' 0 '' '' on put new 1 --if-absent
is 'put --if-absent over an entry' 1 '' \
	"entry 'a' is in belt 'main' already, with version $v" \
	on put a x --if-absent
is 'put --if-present' 0 '' '' on put new 2 --if-present
is 'put --if-present of nothing' 1 '' "there is no entry 'zz' in belt 'main'" \
	on put zz x --if-present
is 'put --if-version of nothing' 1 '' "there is no entry 'zz' in belt 'main'" \
	on put zz x --if-version 1
is 'put --if-version of another' 1 '' \
	"entry 'a' in belt 'main' has version $v, not $((v + 1)): *get it again" \
	on put a x --if-version $((v + 1))
value 'what was refused has changed nothing' 'one more' on get a
is 'put --if-version' 0 '' '' on put a x --if-version "$v"
is 'put --if-version again' 1 '' "entry 'a' in belt 'main' has version *, not $v:*" \
	on put a y --if-version "$v" --json
value 'once it was put' x on get a
is 'rm --if-version of another' 1 '' \
	"entry 'a' in belt 'main' has version *, not $v: *" \
	on rm a --if-version "$v"
is 'rm --if-version' 0 '' '' on rm a --if-version "$(version_of a)"

# touch, has, rm, expire
is 'touch' 0 '' '' on touch b --ttl 7s
json 'touch, JSON' 0 '{"key":"b","version":N,"flags":0,"ttl_ms":300000}' '' \
	on touch b --json
json 'touch --ttl never' 0 '{"key":"b","version":N,"flags":0,"ttl_ms":null}' '' \
	on touch b --ttl never --json
is 'touch nothing' 1 '' "there is no entry 'zz' in belt 'main'" on touch zz
is 'has' 0 '' '' on has b
is 'has not' 1 '' "there is no entry 'zz' in belt 'main'" on has zz
is 'has not, JSON' 1 '{"key":"zz","present":false}' "there is no entry 'zz' *" \
	on has zz --json
is 'rm' 0 '' '' on rm b
is 'rm again' 1 '' "there is no entry 'b' in belt 'main'" on rm b
on put b 1
json 'rm, JSON' 0 '{"key":"b","version":N}' '' on rm b --json
is 'rm nothing if it has a version' 1 '' "there is no entry 'b' *" \
	on rm b --if-version 1
on put b 1
is 'expire' 0 '' '' on expire b
is 'expire again' 1 '' "there is no entry 'b' in belt 'main'" on expire b
on put b 1
is 'expire, JSON' 0 '{"key":"b"}' '' on expire b --json

# clear, size
is 'clear' 0 '' '' on clear
is 'size of nothing' 0 0 '' on size
on put a 1
on put b 2
is 'size' 0 2 '' on size
json 'size, JSON' 0 '{"entries":2,"bytes":N}' '' on size --json
is 'clear, JSON' 0 '{"name":"main"}' '' on clear --json
is 'cleared' 1 '' "there is no entry 'a' *" on get a
is 'keys of nothing' 0 '' '' on keys
is 'dump of nothing' 0 '' '' on dump --values

# keys and values of any bytes and the largest sizes
key=$(text 1024)
is 'put a key of 1024 bytes' 0 '' '' on put "$key" long
value 'get a key of 1024 bytes' long on get "$key"
is 'a key of 1023 bytes is another' 1 '' 'there is no entry *' on get "${key%k}"
is 'keys shows it' 0 "$key" '' on keys
on clear
head -c 1048576 /dev/urandom >"$temporary/random"
input=$temporary/random
is 'put 1 MiB' 0 '' '' on put big -
input=/dev/null
run on get big
file 'get 1 MiB' "$temporary/random"
head -c 65536 /dev/urandom >"$temporary/random"
input=$temporary/random
is 'put 64 KiB over it' 0 '' '' on put big -
input=/dev/null
run on get big
file 'get 64 KiB' "$temporary/random"
printf x >>"$temporary/random"
input=$temporary/random
is 'put a byte more' 0 '' '' on put big -
input=/dev/null
run on get big
file 'get a byte more' "$temporary/random"
is 'put an empty stdin' 0 '' '' on put big -
value 'get nothing' '' on get big
on clear
bytes=$(printf '\377')
is 'put bytes that are not UTF-8' 0 '' '' on put "$bytes" "$bytes"
json 'get them, JSON' 0 \
	'{"key_base64":"/w==","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value_base64":"/w=="}' \
	'' on get "$bytes" --json
json 'keys, JSON' 0 \
	'{"key_base64":"/w==","version":N,"flags":0,"ttl_ms":300000,"value_len":1}' \
	'' on keys --json
on clear
is 'put UTF-8' 0 '' '' on put 'grün' 'a"b\c/d'
json 'get UTF-8, JSON' 0 \
	'{"key":"grün","version":N,"flags":0,"ttl_ms":300000,"value_len":7,"value":"a\"b\\c/d"}' \
	'' on get 'grün' --json
is 'an error shows the key in one line' 1 '' \
	"there is no entry 'a\\\\nb\\\\x1b' in belt 'main'" \
	on get "$(printf 'a\nb\033')"
on clear

# keys
on put user/1 a
on put user/2 bb --flags 3 --ttl never
on put group/1 ccc
is 'keys with a prefix' 0 group/1 '' on keys group/
json 'keys with a prefix, JSON' 0 \
	'{"key":"user/2","version":N,"flags":3,"ttl_ms":null,"value_len":2}' '' \
	on keys user/2 --json
is 'keys with another prefix' 0 '' '' on keys usr
on keys '' | sort >"$temporary/out"
printf '%s\n' group/1 user/1 user/2 >"$temporary/wanted"
result 'keys' "$(same)"
on dump | sort >"$temporary/out"
result 'dump' "$(same)"
on put "$(printf 'x\ty')" 1
is 'keys with an escaped prefix' 0 'x\ty' '' on keys -e 'x\t'
is 'rm of what keys shows' 0 '' '' on rm -e 'x\ty'

# dump, load
on dump --values | sort >"$temporary/out"
printf '%s\t%s\t%s\n' group/1 ccc 300000ms user/1 a 300000ms \
	user/2 bb "never$(printf '\t')3" >"$temporary/wanted"
result 'dump --values' "$(same)"
cp "$temporary/wanted" "$temporary/dump"
json 'dump --values, JSON' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value":"y"}' \
	'' sh -c 'hbctl create one && hbctl -b one halt && hbctl -b one put x y &&
		hbctl -b one dump --values --json'
json 'dump, JSON' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":300000,"value_len":1}' \
	'' hbctl -b one dump --json
belt copy
is 'load' 0 '' '' on load "$temporary/dump"
on dump --values | sort >"$temporary/out"
file 'load undoes dump' "$temporary/dump"
on clear
input=$temporary/dump
is 'load stdin' 0 '' '' on load
is 'load stdin again, JSON' 0 '{"loaded":3,"kept":0}' '' on load - --json
input=/dev/null
is 'load has put all' 0 3 '' on size
is 'load nothing, JSON' 0 '{"loaded":0,"kept":0}' '' on load --json
on clear

# Every byte there is, in keys and values; what it is escaped to.
awk 'BEGIN {
	for (i = 0; i < 256; i++)
		printf "k\\x%02x\\x00\tv\\x%02x\\x00\t1h\n", i, i
}' >"$temporary/escaped"
is 'load every byte' 0 '' '' on load "$temporary/escaped"
is 'load has put every byte' 0 256 '' on size
printf 'v\0\0' >"$temporary/value"
run on get -e 'k\x00\x00'
file 'get a NUL' "$temporary/value"
printf 'v\n\0' >"$temporary/value"
run on get -e 'k\n\x00'
file 'get a newline' "$temporary/value"
printf 'v\\\0' >"$temporary/value"
run on get -e 'k\\\x00'
file 'get a backslash' "$temporary/value"
printf 'v\377\0' >"$temporary/value"
run on get -e 'k\xff\x00'
file 'get the last byte' "$temporary/value"
on dump --values | sort >"$temporary/first"
belt copy2
is 'load what was dumped' 0 '' '' on load "$temporary/first"
on dump --values | sort >"$temporary/out"
file 'dump it again' "$temporary/first"
is 'dump escapes a tab' 0 1 '' grep -c '^k\\t\\x00.v\\t\\x00.3600000ms$' \
	"$temporary/first"
is 'dump escapes a control character' 0 1 '' \
	grep -c '^k\\x1b\\x00.v\\x1b\\x00.3600000ms$' "$temporary/first"

# More than a batch, and more than a piece of a scan.
belt many
awk 'BEGIN {
	for (i = 0; i < 5000; i++)
		printf "a key that is long enough, number %d\t%d\n", i, i
}' >"$temporary/lines"
is 'load many' 0 '' '' on load "$temporary/lines"
is 'size of many' 0 5000 '' on size
cut -f 1 "$temporary/lines" | sort >"$temporary/wanted"
on keys | sort -u >"$temporary/out"
result 'keys of many' "$(same)"
sort "$temporary/lines" >"$temporary/wanted"
on dump --values | cut -f 1,2 | sort -u >"$temporary/out"
result 'dump of many' "$(same)"
is 'load many again, JSON' 0 '{"loaded":5000,"kept":0}' '' \
	on load "$temporary/lines" --json
on clear

# bad NAME LINE WRONG - a file whose second line is bad.
bad() {
	printf 'a\t1\n%b\nc\t3' "$2" >"$temporary/bad"
	is "load: $1" 4 '' "$temporary/bad, line 2: $3*" on load "$temporary/bad"
}
bad 'no tab' 'b' 'there is no tab between key and value'
value 'load: the line before is put' 1 on get a
is 'load: the line behind is not' 1 '' "there is no entry 'c' *" on get c
bad 'an empty line' '' 'there is no tab between key and value'
bad 'an empty key' '\t2' 'the key does not have 1 to 1024 bytes'
bad 'a long key' "$(text 1025)\\t2" 'the key does not have 1 to 1024 bytes'
bad 'a bad escape in the key' 'b\\r\t2' 'a backslash begins none of'
bad 'a bad escape in the value' 'b\t\\x4' 'a backslash begins none of'
bad 'a long value' "b\\t$(text 1048577)" 'the value has more than 1048576 bytes'
bad 'a bad ttl' 'b\t2\t3w' "the third field is neither 'never' nor a duration"
bad 'ttl zero' 'b\t2\t0' "the third field is neither 'never' nor a duration"
bad 'an empty ttl' 'b\t2\t' "the third field is neither 'never' nor a duration"
bad 'bad flags' 'b\t2\t1s\t-1' 'the fourth field is not a number of 32 bits'
bad 'large flags' 'b\t2\t1s\t4294967296' 'the fourth field is not a number'
bad 'five fields' 'b\t2\t1s\t1\t1' 'there are more than four fields'
is 'load: nothing bad was put' 0 1 '' on size
printf 'a\t1\nb\\x00c\t2\tnever\t4294967295' >"$temporary/good"
is 'load: a last line without an end' 0 '' '' on load "$temporary/good"
json 'load: time and flags' 0 \
	'{"key":"b\u0000c","version":N,"flags":4294967295,"ttl_ms":null,"value_len":1,"value":"2"}' \
	'' on get -e 'b\x00c' --json
is 'load: a directory' 4 '' 'cannot read /: *' on load /

# Expiry, with time moved by hand: 6 buckets for 5 minutes, an interval of 1.
belt time --ttl 5m --buckets 6
on put x 1 --ttl 90s
is 'advance' 0 '' '' on advance 89999ms
json 'a millisecond is left' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":1,"value_len":1,"present":true}' \
	'' on has x --json
is 'advance, JSON' 0 '{"name":"time"}' '' on advance 1ms --json
is 'none is left' 1 '' "there is no entry 'x' in belt 'time'" on has x
on put x 1
is 'rotate' 0 '' '' on rotate
json 'rotate moves on by an interval' 0 \
	'{"key":"x","version":N,"flags":0,"ttl_ms":240000,"value_len":1,"present":true}' \
	'' on has x --json
is 'rotate, JSON' 0 '{"name":"time"}' '' on rotate --json
for _ in 1 2 3; do
	on rotate
done
is 'rotated until it was gone' 1 '' "there is no entry 'x' *" on get x
on put x 1 --ttl never
is 'advance by years' 0 '' '' on advance 36500d
value 'never is later' 1 on get x
is 'advance beyond the end of time' 4 '' "belt 'time' cannot be moved on that far" \
	on advance 50000d
is 'resume' 0 '' '' on resume
like 'resumed' 0 '*"halted":false,*' '' on info --json
is 'halt' 0 '' '' on halt
like 'halted' 0 '*"halted":true,*' '' on info --json
is 'halt twice, JSON' 0 '{"name":"time"}' '' on halt --json
is 'resume, JSON' 0 '{"name":"time"}' '' on resume --json

# stat: one of each
belt stat --ttl 1m
on put a 1
on put a 2
on put b 3
on put c 4
on put a 5 --if-absent 2>/dev/null
on get a >/dev/null
on has zz 2>/dev/null
on touch a
on rm b
on expire c
on clear
counters='hits: 1
misses: 1
puts_new: 3
puts_replaced: 1
refused: 1
touches: 1
removes: 1
expired: 1
cleared: 1
cascaded: 0
drained: 0
wakeups: 0
misses_expired: 0
misses_evicted: 0
rejected: 0
evicted: 0
pressure: 0
reinserted: 0
events: 0
events_lost: 0
events_read: 0
events_returned: 0
rotations: [0-9]*
adds: 0
stale: 0
fills: 0
locks: 0
lock_waits: 0
released: 0
requests: 0
completed: 0
timed_out: 0
removes_refused: 0
misses_cold: 1'
gauges='entries: 0
bytes: [1-9]*
used_entries: 0
max_entries: none
used_bytes: [0-9]*
max_bytes: none
queued_events: 0
queued_bytes: 0
max_events: 1048576
in_flight_events: 0
held_locks: 0
waiting_requests: 0'
like 'stat' 0 "$counters
$gauges*" '' on stat
fields=$(printf '%s\n' "$counters" "$gauges" |
	sed 's/none$/null/; s/\(.*\): \(.*\)/"\1":\2/' | tr '\n' ',')
like 'stat, JSON' 0 "{\"name\":\"stat\",${fields}\"lags\":[[]*],\"bucket_entries\":[[]0,0,0,0]}" '' on stat --json

# create, with all that can be set; info, belts
belt set --ttl 90s --buckets 10 --policy standard --mode 0640
json 'info, JSON' 0 '{"name":"set","entries":0,"bytes":N,"ttl_ms":90000,"interval_ns":10000000000,"buckets":10,"levels":1,"policy":"standard","refresh_on_get":false,"keep_on_put":true,"now_ns":N,"halted":true,"wake_ns":null,"table":N,"mode":"0640","uid":0,"gid":0,"access":["read","write","own"],"when_full":"reject","pinned":false,"wipe":false,"on_expire":"drop","report":["expired","evicted","pressure"],"max_entries":null,"max_bytes":null,"max_events":1048576,"grace_ms":0,"locks":0,"requests":0,"used_entries":0,"used_bytes":0,"queued":0,"queued_bytes":0,"in_flight":0,"sequence":0,"id":N,"bucket_entries":[0,0,0,0,0,0,0,0,0,0,0]}' \
	'' hbctl info set --json
on put a 1
like 'info' 0 'name:         set
id:           [0-9]*
entries:      1
locks:        0
requests:     0
memory:       * bytes)
ttl:          1m30s
grace:        none
interval:     10s
buckets:      10
levels:       1
policy:       standard: get does not renew the time-to-live, put keeps what is there
max entries:  none, 1 used
max bytes:    none, * B used
when full:    reject: a put of a new key fails
pinned:       no
wipe:         no
on expire:    drop
events:       0 queued (0 B), 0 in flight, newest is 0
max events:   1048576
belt time:    *
clock:        halted
worker:       looks in 1m*s of belt time
index:        * chains, load 0.*
mode:         0640
owner:        0:0
you may:      read, write, own
entries by the time that they have left:
       0s to 10s  0
*
  1m20s to 1m30s  0
  1m30s to 1m40s  1  ########*
   1m40s or more  0' '' on info
json 'create, JSON' 0 '{"name":"json","entries":0,"bytes":N,"ttl_ms":300000,"interval_ns":150000000000,"buckets":3,"levels":1,"policy":"timecache","refresh_on_get":false,"keep_on_put":false,"now_ns":N,"halted":false,"wake_ns":null,"table":N,"mode":"0600","uid":0,"gid":0,"access":["read","write","own"],"when_full":"reject","pinned":false,"wipe":false,"on_expire":"drop","report":["expired","evicted","pressure"],"max_entries":null,"max_bytes":null,"max_events":1048576,"grace_ms":0,"locks":0,"requests":0,"used_entries":0,"used_bytes":0,"queued":0,"queued_bytes":0,"in_flight":0,"sequence":0,"id":N}' \
	'' hbctl create json --json
is 'create again' 1 '' "there is a belt 'json' already: *" hbctl create json
is 'create the longest name' 0 '' '' hbctl create "$(text 63)"
like 'info of it' 0 "name:         $(text 63)*" '' hbctl info "$(text 63)"
is 'destroy it' 0 '' '' hbctl destroy "$(text 63)"
is 'create with both halves' 0 '' '' \
	hbctl create mixed --refresh-on-get yes --on-put keep
like 'info of both halves' 0 \
	'*"policy":"mixed","refresh_on_get":true,"keep_on_put":true,*' '' \
	hbctl info mixed --json
is 'create with neither half' 0 '' '' hbctl create neither --policy updating \
	--refresh-on-get no --on-put replace
like 'info of neither half' 0 '*"policy":"timecache",*' '' \
	hbctl info neither --json
like 'belts' 0 "NAME *ENTRIES *MEMORY *TTL *BUCKETS *POLICY *MODE *OWNER *CLOCK *EVENTS
copy * 5m *3  timecache  0600  0:0 *halted   -
*
default *running  -
*
set * 1 * 1m30s *10  standard   0640  0:0 *halted   -
*" '' hbctl belts
hbctl belts --json | sed 's/{"name":"\([^"]*\)",.*}/\1/' >"$temporary/out"
printf '%s\n' copy copy2 default json main many mixed neither one set stat time \
	>"$temporary/wanted"
result 'belts, JSON' "$(same)"
is 'destroy' 0 '' '' hbctl destroy mixed
is 'destroy, JSON' 0 '{"name":"neither"}' '' hbctl destroy neither --json
is 'destroy again' 3 '' "there is no belt 'mixed': 'hbctl belts' lists *" \
	hbctl destroy mixed
is 'use what was destroyed' 3 '' "there is no belt 'mixed': 'hbctl belts' *" \
	hbctl -b mixed get x
for command in 'put a 1' 'get a' 'touch a' 'has a' 'rm a' 'expire a' keys dump \
	load size clear info stat halt resume rotate 'advance 1s'; do
	# shellcheck disable=SC2086 # words
	is "$command on an unknown belt" 3 '' "there is no belt 'mixed': *" \
		hbctl --json -b mixed $command
done

# policies
belt keep --policy standard
on put a 1
v=$(version_of a)
is 'standard: put keeps' 1 '' \
	"belt 'keep' keeps what is there: entry 'a' with version $v (--if-present *" \
	on put a 2
value 'standard: kept' 1 on get a
is 'standard: put --if-present replaces' 0 '' '' on put a 2 --if-present
printf 'a\t9\nb\t9\n' >"$temporary/two"
is 'standard: load keeps' 1 '{"loaded":1,"kept":1}' \
	"belt 'keep' keeps what is there: 1 of 2 entries were not put" \
	on load "$temporary/two" --json
value 'standard: load has kept' 2 on get a
value 'standard: load has put' 9 on get b
on advance 1m
json 'standard: get does not renew' 0 \
	'{"key":"a","version":N,"flags":0,"ttl_ms":240000,"value_len":1,"value":"2"}' \
	'' on get a --json
belt renew --policy updating
on put a 1
on advance 1m
on dump --values >"$temporary/dump"
json 'updating: has and dump do not renew' 0 \
	'{"key":"a","version":N,"flags":0,"ttl_ms":240000,"value_len":1,"present":true}' \
	'' on has a --json
json 'updating: get renews' 0 \
	'{"key":"a","version":N,"flags":0,"ttl_ms":300000,"value_len":1,"value":"1"}' \
	'' on get a --json

# Rights. So far the device is root's alone.
is 'nobody: the device' 3 '' 'no right to open /dev/hashbelt: *' nobody belts
chmod 666 /dev/hashbelt
is 'nobody: the default belt' 3 '' "no right to read belt 'default': *" nobody get a
hbctl create shown --mode 0644
hbctl create given --mode 0622
hbctl -b shown put a 1
value 'nobody: get' 1 nobody -b shown get a
is 'nobody: has not' 1 '' "there is no entry 'b' in belt 'shown'" \
	nobody -b shown has b
for command in 'put a 2' 'touch a' 'rm a' 'expire a' clear 'get a --ttl 1s' ; do
	# shellcheck disable=SC2086 # words
	is "nobody: $command without the right" 3 '' "no right to * belt 'shown': *" \
		nobody -b shown $command
done
input=$temporary/two
is 'nobody: load without the right' 3 '' "no right to write belt 'shown': *" \
	nobody -b shown load
input=/dev/null
for command in halt resume rotate 'advance 1s'; do
	# shellcheck disable=SC2086 # words
	is "nobody: $command of another's belt" 3 '' \
		"${command%% *} is for the owner of belt 'shown', and for root" \
		nobody -b shown $command
done
is 'nobody: destroy of another'\''s belt' 3 '' \
	"destroy is for the owner of belt 'shown', *" nobody destroy shown
is 'nobody: put where all may write' 0 '' '' nobody -b given put a 1
for command in 'get a' 'has a' keys dump size info stat; do
	# shellcheck disable=SC2086 # words
	is "nobody: $command where only write is given" 3 '' \
		"no right to read belt 'given': *" nobody -b given $command
done
is 'nobody: create' 0 '' '' nobody create own
like 'nobody: owns it' 0 \
	'*"uid":65534,"gid":65534,"access":\["read","write","own"\],*}' '' \
	nobody info own --json
nobody belts --json | sed 's/{"name":"\([^"]*\)",.*"access":\([^]]*\]\).*}/\1 \2/' \
	>"$temporary/out"
printf '%s\n' 'own ["read","write","own"]' 'shown ["read"]' \
	>"$temporary/wanted"
result 'nobody: belts' "$(same)"
chmod 644 /dev/hashbelt
value 'a device that is for reading: get' 1 nobody -b shown get a
is 'a device that is for reading: put' 3 '' "no right to write belt 'own': *" \
	nobody -b own put a 1
is 'a device that is for reading: halt' 3 '' 'halt is for the owner of belt *' \
	nobody -b own halt
chmod 600 /dev/hashbelt

# A belt that goes while it is used: load has put a batch and waits for more.
hbctl create going
mkfifo "$temporary/fifo"
(
	on=going
	awk 'BEGIN { for (i = 0; i < 300; i++) printf "%d\tx\n", i }'
	until [ "$(hbctl -b $on size)" != 0 ]; do :; done
	hbctl destroy $on
) >"$temporary/fifo" &
input=$temporary/fifo
is 'a belt that is destroyed' 3 '' "belt 'going' was destroyed: *" \
	hbctl -b going load
input=/dev/null
wait

# What else can fail.
limit=/sys/module/hashbelt/parameters/max_bytes
before=$(cat $limit)
echo 1 >$limit
is 'no memory left' 4 '' "the module's memory limit is reached: *" \
	hbctl -b main put more "$(text 5000)"
echo "$before" >$limit
is 'memory again' 0 '' '' hbctl -b main put more "$(text 5000)"
# shellcheck disable=SC2016 # expanded by the inner shell
for command in 'get more' keys 'dump --values' belts info 'info --json' stat; do
	is "$command that cannot be written" 4 '' 'cannot write the output: *' \
		sh -c "exec hbctl -b main $command >/dev/full"
done
is 'destroy the default belt' 0 '' '' hbctl destroy default
is 'no default belt' 3 '' "there is no belt 'default': *" hbctl get a
is 'another belt without a default one' 0 '' '' hbctl -b main put a 1
is 'create the default belt' 0 '' '' hbctl create default
is 'the default belt is back' 0 0 '' hbctl size
finish
