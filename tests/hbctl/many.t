#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# many.t - the commands of hbctl on many entries at once, as root.
# shellcheck disable=SC2016,SC2033,SC2317 # scripts of other shells; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"
# shellcheck source=tests/hbctl/screen.sh
. "$(dirname "$0")/screen.sh"

tab=$(printf '\t')

# screen_of COMMAND... - the progress that the command leaves on a terminal with 80 columns
screen_of() {
	screen end print -- sh -c 'exec "$@" 2>&1' sh "$@" | grep ' entries$'
}

# rm --prefix, rm --match
belt alike
fill_alike() {
	awk 'BEGIN {
		for (i = 0; i < 3; i++)
			printf "user/%d\t%d\ntmp/%d\t%d\n", i, i, i, i
		print "a\\x00b\t1"
		print "a*b\t1"
	}' | on load 2>/dev/null
}
fill_alike
on rm --prefix tmp/ --dry-run | sort >"$temporary/out"
printf 'tmp/%d\n' 0 1 2 >"$temporary/wanted"
result 'rm --prefix --dry-run lists the keys with this prefix' "$(same)"
is 'rm --dry-run removes nothing' 0 8 '' on size
json 'rm --dry-run --json prints the entries' 0 \
	'{"key":"user/1","version":N,"flags":0,"ttl_ms":300000,"value_len":1}' '' \
	on rm --match '*/1' --prefix user --dry-run --json
is 'rm --prefix prints the number of removed entries' 0 3 '' on rm --prefix tmp/
is 'rm --prefix removes the entries with this prefix, and no others' 0 5 '' on size
is 'rm --prefix without a match prints 0' 0 0 '' on rm --prefix tmp/
is 'rm --match --json prints the number of removed entries' 0 '{"removed":2}' '' \
	on rm --match 'user/[01]' --json
is 'rm --match compares the whole key' 0 0 '' on rm --match 'ser/2'
is 'a * of rm --match matches a slash' 0 1 '' on rm --match 'u*2'
is 'rm --match matches no key with a NUL byte' 0 1 '' on rm --match 'a*b'
is 'rm --match does not stop at a NUL byte of the key' 0 0 '' on rm --match 'a*'
is 'rm -e --prefix takes an escaped prefix' 0 1 '' on rm -e --prefix 'a\x00'
fill_alike
is 'a backslash takes the meaning from a * of rm --match' 0 1 '' on rm --match 'a\*b'
is 'rm --prefix --match removes the entries that fit both' 0 1 '' on rm --prefix user/ --match '*1'
is 'del is rm also with --prefix' 0 2 '' on del --prefix user/
is 'rm --prefix that is longer than any key removes nothing' 0 0 '' on rm --prefix "$(text 1025)"
on clear
hbctl create readable --mode 0644
hbctl -b readable put a 1
hbctl create writable --mode 0622
chmod 666 /dev/hashbelt
for name in readable writable; do
	is "user nobody: rm --prefix on a $name belt exits with 3" 3 '' \
		"rm --prefix and --match take the right to read and to write belt '$name'" \
		nobody -b $name rm --prefix a
done
is 'user nobody: rm --prefix --dry-run on a readable belt lists the keys' 0 a '' \
	nobody -b readable rm --prefix a --dry-run
is 'user nobody: rm --prefix --dry-run on a belt that only may be written to exits with 3' 3 '' \
	"rm --prefix and --match take the right to read and to write belt 'writable'" \
	nobody -b writable rm --prefix a --dry-run
chmod 600 /dev/hashbelt

# 20,000 entries: more than fit into a batch or into one buffer of a scan
awk 'BEGIN {
	for (i = 0; i < 20000; i++)
		printf "number/%d\t%d\n", i, i
	print "other\t1"
}' >"$temporary/lines"
on load "$temporary/lines" 2>/dev/null
is 'rm --prefix --dry-run lists 20000 keys' 0 20000 '' \
	sh -c "hbctl -b alike rm --prefix number/ --dry-run | sort -u | wc -l"
is 'rm --prefix removes 20000 entries' 0 20000 '' on rm --prefix number/
is 'rm --prefix of 20000 entries keeps another one' 0 other '' on keys
on load "$temporary/lines" 2>/dev/null
is 'rm --match removes 20000 entries' 0 20000 '' on rm --match 'n*/*'
is 'rm on a terminal draws a bar for the entries that it has looked at' 0 \
	'[########################################] 100%  1 entries' '' \
	screen_of hbctl -b alike rm --prefix other
head -n 1000 "$temporary/lines" >"$temporary/some"
is 'load on a terminal draws a bar for the bytes that it has read' 0 \
	'[########################################] 100%  1000 entries' '' \
	screen_of hbctl -b alike load "$temporary/some"

# dump and load
belt source --ttl 10m --grace 1m --buckets 5 --policy updating --when-full evict --wipe \
	--on-expire notify --report expired,removed --consumers owner --max-entries 100 \
	--max-bytes 1M --max-events none --mode 0640
on put a 1 --ttl 100s
on put b 'two words' --ttl never --flags 7
belt copy
is 'dump | load copies a belt' 0 '' '' sh -c 'hbctl -b source dump | hbctl -b copy load 2>&1'
hbctl -b source dump | sort >"$temporary/wanted"
on dump | sort >"$temporary/out"
result 'dump of the copy prints the dump of the belt' "$(same)"
settings='#settings --ttl=10m --grace=1m --buckets=5 --refresh-on-get=yes --on-put=replace'
settings="$settings --when-full=evict --pinned=no --wipe=yes --on-expire=notify"
settings="$settings --report=expired,removed --consumers=owner --max-entries=100"
settings="$settings --max-bytes=1M --max-events=none --mode=0640 --group=0 --window=off"
like 'dump --settings begins with the settings of the belt' 0 "$settings*" '' \
	sh -c 'hbctl -b source dump --settings | head -n 1'
hbctl -b source dump --settings >"$temporary/dump"
is 'load of a dump with settings makes the missing belt' 0 '{"loaded":2,"kept":0,"expired":0}' '' \
	hbctl -b made load "$temporary/dump" --json
is 'the belt that load has made has these settings' 0 "$(head -n 1 "$temporary/dump")" '' \
	sh -c 'hbctl -b made dump --settings | head -n 1'
is 'load of a dump with settings puts into a belt that is there' 0 \
	'{"loaded":2,"kept":0,"expired":0}' '' on load "$temporary/dump" --json
like 'load leaves the settings of a belt that is there' 0 '#settings --ttl=5m *' '' \
	on dump --settings
hbctl destroy made
sed '1s/ --pinned/ --evict=unread&/' "$temporary/dump" >"$temporary/older"
is 'load of a dump by an older version makes the belt' 0 '{"loaded":2,"kept":0,"expired":0}' '' \
	hbctl -b made load "$temporary/older" --json
hbctl destroy made
sed '1s/ --pinned/ --evict=deadline&/' "$temporary/dump" >"$temporary/older"
is 'load of a dump with the order of eviction deadline makes no belt' 4 '' \
	"$temporary/older:1: load: there is no setting 'evict' any more: delete it, *" \
	hbctl -b made load "$temporary/older"
hbctl create plain
hbctl destroy copy
is 'load makes a belt with default settings from a dump of one' 0 '' '' \
	sh -c 'hbctl -b plain dump --settings | hbctl -b copy load 2>&1'
is 'load without settings into a missing belt exits with 3' 3 '' \
	"there is no belt 'made', or you have no right to it: *" \
	hbctl -b made load "$temporary/some"
is 'load of an empty file into a missing belt exits with 3' 3 '' \
	"there is no belt 'made', or you have no right to it: *" hbctl -b made load /dev/null
is 'load --belt-owner with another user makes no belt' 3 '' \
	"there is no belt 'made', or you have no right to it: *" \
	hbctl -b made load "$temporary/dump" --belt-owner nobody
chmod 666 /dev/hashbelt
input=$temporary/dump
is 'user nobody: load makes no belt with the group of root' 3 '' \
	"load --group: belt 'made' must be yours, and you in that group, unless you are root" \
	nobody -b made load
input=/dev/null
chmod 600 /dev/hashbelt

# wrong NAME SETTINGS MESSAGE - load of a file with these settings makes no belt, and says MESSAGE
wrong() {
	printf '%s\na\t1\n' "$2" >"$temporary/wrong"
	is "load: $1" 4 '' "$temporary/wrong:1: load: $3" hbctl -b made load "$temporary/wrong"
}
wrong 'a setting with a wrong value fails' '#settings --ttl=soon' "--ttl: 'soon' is not a duration *"
wrong 'an unknown setting fails' '#settings --tt=1m' "'--tt=1m' is no setting as --ttl=5m *"
wrong 'a setting without a value fails' '#settings --ttl' "'--ttl' is no setting as --ttl=5m *"
is 'load with wrong settings makes no belt' 3 '' "there is no belt 'made', *" hbctl info made
printf 'a\t1\n%s\n' "$settings" >"$temporary/late"
is 'load: settings behind an entry fail' 4 '' \
	"$temporary/late, line 2: there is no tab between key and value" \
	hbctl -b plain load "$temporary/late"
printf '#settings\tvalue\n' >"$temporary/entry"
hbctl -b plain clear
is 'load takes a line with a tab as an entry, whatever its key is' 0 '' '' \
	hbctl -b plain load "$temporary/entry"
value 'get prints the value of a key as #settings' value hbctl -b plain get '#settings'

# Deadlines by the machine's clock
before=$(date +%s)
hbctl -b source dump --absolute | sort >"$temporary/absolute"
after=$(date +%s)
is 'dump --absolute prints a deadline in seconds since 1970' 0 yes '' \
	awk -F '\t' -v least=$((before + 100)) -v most=$((after + 101)) '$1 == "a" {
		seconds = substr($3, 2) + 0
		good = ($3 ~ /^@[0-9]+[.][0-9][0-9][0-9]$/) && seconds >= least && seconds <= most
		print (good ? "yes" : $3)
	}' "$temporary/absolute"
is 'dump --absolute prints never for an entry without a deadline' 0 \
	"b${tab}two words${tab}never${tab}7" '' tail -n 1 "$temporary/absolute"
like 'dump --absolute --json prints the deadline in milliseconds' 0 \
	'*"ttl_ms":100000,"expires_ms":[0-9]*' '' \
	sh -c 'hbctl -b source dump --absolute --json | grep \"a\"'
like 'dump --absolute --json prints null for an entry without a deadline' 0 \
	'*"ttl_ms":null,"expires_ms":null,*' '' \
	sh -c 'hbctl -b source dump --absolute --json | grep \"b\"'
hbctl -b source dump --settings --absolute >"$temporary/dump"
printf 'gone\t1\t@%d.000\n' "$before" >>"$temporary/dump"
hbctl destroy source
sleep 1
is 'load after a restart of the belt leaves out entries whose deadline has passed' 0 \
	'{"loaded":2,"kept":0,"expired":1}' '' hbctl -b source load "$temporary/dump" --json
hbctl -b source has a --json >"$temporary/has"
is 'load subtracts the time that has passed from the time left' 0 yes '' \
	awk -F '"ttl_ms":' '{ print ($2 + 0 > 0 && $2 + 0 <= 99000 ? "yes" : $2) }' "$temporary/has"

# bad NAME TTL MESSAGE - load of a line with this third field fails with MESSAGE
bad() {
	printf 'k\t1\t%s\n' "$2" >"$temporary/bad"
	is "load: $1" 4 '' "$temporary/bad, line 1: $3" hbctl -b plain load "$temporary/bad"
}
form='the third field is no deadline as @1750000000.000, seconds since 1970'
bad 'a deadline without digits fails' @ "$form"
bad 'a deadline with two decimals fails' @4000000000.25 "$form"
bad 'a deadline with a unit fails' @4000000000s "$form"
bad 'a deadline in 300 years fails' @11000000000.000 \
	'the deadline in the third field is more than 50903 days from now'

# batch
belt lines
cat >"$temporary/batch" <<'LINES'
# keys with blanks and quotes
put 'a key' "one value"
put it\'s 2 --ttl 1h
get 'a key' it\'s
incr n 5
rm --match 'a *'
size
get --fill n2 --ttl 1m -- echo made
LINES
is 'batch runs commands in one process, in order' 0 "a key${tab}one value
it's${tab}2
5
1
2
made" '' on batch "$temporary/batch"
is 'batch stops at the first command that fails' 1 '' \
	"$temporary/stop:2: there is no entry 'zz' in belt 'lines'" \
	sh -c "printf 'put x 1\nget zz\nput y 1\n' >$temporary/stop; hbctl -b lines batch $temporary/stop"
is 'batch runs no command after one that fails' 1 '' '' on has -q y
is 'batch --keep-going runs the others' 1 1 "stdin:1: there is no entry 'zz' in belt 'lines'" \
	sh -c "printf 'get zz\nput y 1\nincr y 0\n' | hbctl -b lines batch -k"
is 'a command that batch runs takes no lines from stdin' 0 '0
5' '' sh -c 'printf "get --fill k -- wc -c\nput k2 5\nincr k2 0\n" | hbctl -b lines batch'
is 'a line of a batch may name another belt' 0 '0
7' '' sh -c 'printf "size -b copy\nsize\n" >"$1"; hbctl -b lines batch "$1"' sh "$temporary/two"
awk 'BEGIN { for (i = 0; i < 10000; i++) printf "put many/%d %d\n", i, i }' >"$temporary/puts"
is 'batch of 10000 puts exits with 0' 0 '' '' on batch "$temporary/puts"
is 'rm --prefix removes the entries that the batch has put' 0 10000 '' on rm --prefix many/

# batch --reply, as the coprocess of a loop
printf 'x\n\n' | on put newline
hbctl create replied --ttl 1h --pinned --when-full reject
mkfifo "$temporary/asked" "$temporary/replies"
hbctl -b lines batch --reply <"$temporary/asked" >"$temporary/replies" 2>"$temporary/errors" &
coprocess=$!
exec 8>"$temporary/asked" 9<"$temporary/replies"

# reply NAME LINE REPLY - give the coprocess a line, and compare what it answers before the next one.
reply() {
	printf '%s\n' "$2" >&8
	answer=nothing
	IFS= read -r answer <&9
	[ "$answer" = "$3" ] && answer='' || answer="expected $3, found $answer"
	result "batch --reply: $1" "$answer"
}
reply 'a put prints nothing' "put r 'a b${tab}c'" "0$tab"
reply 'a value is escaped' 'get r' "0${tab}a b\\tc"
reply 'the last newline of a value is left out' 'get newline' "0${tab}x\\n"
reply 'the number that is printed is the reply' 'incr loops 3' "0${tab}3"
reply 'a miss is a reply, without FILE:LINE, and the next line is run' 'get zz' \
	"1${tab}hbctl: there is no entry 'zz' in belt 'lines'"
reply 'several lines are one' 'get r zz loops' \
	"1${tab}r\\ta b\\\\tc\\nhbctl: there is no entry 'zz' in belt 'lines'\\nloops\\t3"
reply 'an empty line has a reply' '' "0$tab"
reply 'a comment has a reply' '# none' "0$tab"
reply 'wrong quoting is a reply' "get 'r" "2${tab}hbctl: a ' is not closed"
reply 'wrong usage is a reply' 'has' "2${tab}hbctl: has: an operand is missing: has KEY (see 'hbctl help has')"
reply 'an error as JSON is a reply' 'has --json' \
	"2$tab{\"error\":\"has: an operand is missing: has KEY (see 'hbctl help has')\",\"errno\":null}"
reply 'a command of the object that is loaded answers' 'keys loops' "0${tab}loops"
reply 'a command of the program itself does so after it' 'get loops' "0${tab}3"
reply 'what COMMAND prints is no reply' 'lock job -b replied -- echo under the lock' "0$tab"
reply 'the status of a COMMAND that is missing is a reply' 'lock job -b replied -- /nonexistent' "127$tab"
exec 8>&-
IFS= read -r answer <&9 || answer="at the end: $answer"
result 'batch --reply ends after the last line' "$([ "$answer" = 'at the end: ' ] || echo "found $answer")"
exec 9<&-
wait $coprocess
status=$?
cp "$temporary/errors" "$temporary/out"
printf '%s\n' 'under the lock' "hbctl: cannot run '/nonexistent': No such file or directory" \
	>"$temporary/wanted"
result 'a COMMAND of batch --reply prints on stderr' "$(same)"
result 'batch --reply exits with the largest status' "$(check_status 127)"
is 'a loop of bash has a coprocess' 0 '0 100' '' /usr/bin/bash -c '
	coproc HBCTL { hbctl -b lines batch --reply; }
	for ((i = 0; i < 100; i++)); do
		echo "incr looped" >&"${HBCTL[1]}"
		read -r -u "${HBCTL[0]}" status value || exit
	done
	echo "$status $value"'
is 'batch --reply to a full device exits with 4' 4 '' 'cannot write the output: *' \
	sh -c 'echo size | hbctl -b lines batch --reply >/dev/full'

# doctor: the guest has no udev rule, no /boot and no memory controller
chmod 600 /dev/hashbelt
before=$(cat /sys/module/hashbelt/parameters/max_bytes)
for name in $(hbctl belts | awk 'NR > 1 && $1 != "default" { print $1 }'); do
	hbctl destroy "$name"
done
like 'doctor finds that the module and the device can be used' 1 'ok      module   hashbelt is loaded
ok      device   /dev/hashbelt has mode 0600, owner 0, group 0
ok      rights   you may open /dev/hashbelt; module and hbctl have interface 1
advice  udev     there is no 60-hashbelt.rules, *
ok      memory   [0-9]* of [0-9]* bytes are used
ok      belts    of 1 belts that you may use none is nearly full
*' "/dev/hashbelt can be used: see the lines with 'advice'" hbctl doctor
belt crowded --max-entries 10
for i in 0 1 2 3 4 5 6 7 8; do
	on put $i x
done
echo 1 >/sys/module/hashbelt/parameters/max_bytes
like 'doctor names a belt and a module that are nearly full' 1 \
	"*advice  memory   [0-9]* of * bytes are used: remove entries, or raise *
advice  belts    belt 'crowded' is nearly full: raise its limits or let it evict ('hbctl set')
*" "/dev/hashbelt can be used: *" hbctl doctor
echo "$before" >/sys/module/hashbelt/parameters/max_bytes
hbctl set crowded --when-full evict
like 'doctor has no advice for a full belt that evicts' 1 \
	'*ok      belts    of 2 belts that you may use none is nearly full
*' "/dev/hashbelt can be used: see the lines with 'advice'" hbctl doctor
like 'doctor names no unit of hbserve that is not there' 1 \
	"*ok      serve    hbserve, of the package hashbelt-server, is not installed: it serves clients of memcached and Redis
*" "/dev/hashbelt can be used: see the lines with 'advice'" hbctl doctor
like 'doctor names the files that may have the options of the kernel' 1 \
	"*advice  kernel   Linux *: cannot read /boot/config-*" '/dev/hashbelt can be used: *' hbctl doctor
options=/lib/modules/$(uname -r)
mkdir -p "$options"
echo CONFIG_MEMCG=y >"$options/config"
like 'doctor reads the options of the kernel in /lib/modules/VERSION/config' 1 \
	"*ok      kernel   Linux * has the options that hashbelt uses
*" '/dev/hashbelt can be used: *' hbctl doctor
echo '# CONFIG_MEMCG is not set' >"$options/config"
like 'doctor says that a kernel has no CONFIG_MEMCG' 1 \
	"*advice  kernel   Linux * has no CONFIG_MEMCG: *" '/dev/hashbelt can be used: *' hbctl doctor
rm "$options/config"
like 'user nobody: doctor says that the device may not be opened' 3 \
	'*wrong   rights   no right to open /dev/hashbelt: *' \
	"/dev/hashbelt cannot be used: see the lines with 'wrong'" nobody doctor
finish
