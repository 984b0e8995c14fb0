#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# events.t - hbctl events: what is printed, what is taken off the queue, and what
# is left there when hbctl is killed or nobody takes its output.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 77
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

tab=$(printf '\t')

# expire KEY... - an event for each, of value v.
expire() {
	for key; do
		on put "$key" v
		on expire "$key"
	done
}

# line SEQUENCE REASON KEY VALUE
line() {
	printf '%s\t%s\t%s\t%s' "$@"
}

# numbers FIRST LAST
numbers() {
	seq "$1" "$2"
}

# follow OPTION... - in the background, into a pipe that is read as file 3.
follow() {
	rm -f "$temporary/fifo"
	mkfifo "$temporary/fifo"
	hbctl -b "$belt" events --follow "$@" >"$temporary/fifo" 2>"$temporary/err" &
	follower=$!
	exec 3<"$temporary/fifo"
}

# arrives NAME LINE - the next line of the pipe, while hbctl goes on.
arrives() {
	line=
	# shellcheck disable=SC3045 # busybox has it
	IFS= read -r -t 30 line <&3
	wrong=
	[ "$line" = "$2" ] || wrong="'$line', wanted '$2'"
	kill -0 "$follower" 2>/dev/null || wrong="$wrong hbctl has ended"
	result "$1" "$wrong"
}

# ends NAME STATUS ERR - the one in the background does, or is made to.
ends() {
	end "$follower"
	result "$1" "$(judge_status "$2"; judge_error "$3")"
}

# holds_all FIELD NUMBER... - prints what is there if it is something else.
holds_all() {
	while [ $# -gt 0 ]; do
		holds "$1" "$2" || on info --json
		shift 2
	done
}

# is_queued NAME COUNT - so many wait, and none is in flight.
is_queued() {
	result "$1" "$(holds_all queued "$2" in_flight 0)"
}

belt e --on-expire notify --report all --ttl 1m --buckets 7
is 'nothing' 1 '' "there is no event in belt 'e'" on events
is 'nothing, JSON' 1 '' "there is no event in belt 'e'" on events --json
is 'nothing, --max' 1 '' "there is no event in belt 'e'" on events --max 1

# What is printed
on put a 1
on put a 2
on rm a
on put b 3
on expire b
on put c 4 --ttl 10s
on advance 20s
is 'why, and what' 0 "$(line 1 replaced a 1)
$(line 2 removed a 2)
$(line 3 expired b 3)
$(line 4 expired c 4)" '' on events
is 'each is printed once' 1 '' "there is no event in belt 'e'" on events
on put d 5
on clear
is 'cleared' 0 "$(line 5 cleared d 5)" '' on events --follow --max 1
# shellcheck disable=SC1003 # what it says
on put -- "$(printf 'x\ty\\')" "$(printf '\033\n.')"
# shellcheck disable=SC1003 # what it says
on rm -e 'x\ty\\'
is 'keys and values are escaped' 0 "6${tab}removed${tab}x\\ty\\\\${tab}\\x1b\\n." '' \
	on events
on put empty ''
on rm empty
is 'an empty value' 0 "$(line 7 removed empty '')" '' on events
on put n v --ttl never --flags 9
on rm n
json 'JSON' 0 '{"sequence":8,"reason":"removed","kind":"entry","key":"n","version":N,"flags":9,"deadline_ns":null,"handed_ns":N,"value_len":1,"value":"v","lost":0}' \
	'' on events --json
on put "$(printf '\377')" "$(printf '\376')"
on rm "$(printf '\377')"
# shellcheck disable=SC1003 # what it says
on put a 'q"\'
on put a ''
json 'JSON of what is no text' 0 '{"sequence":9,"reason":"removed","kind":"entry","key_base64":"/w==","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":1,"value_base64":"/g==","lost":0}
{"sequence":10,"reason":"replaced","kind":"entry","key":"a","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":3,"value":"q\"\\","lost":0}' \
	'' on events --json
on rm a
on put "$(printf 'x\001\037"\377')" "$(printf '\\\r')"
on rm -e 'x\x01\x1f"\xff'
on put 'ü/\"' "$(printf '\001\037\177')"
on rm -- 'ü/\"'
valid 'JSON is valid' on events --json

# Locks
belt locks --pinned --on-expire notify --report all --ttl 1m --buckets 7
on lock a --owner me >/dev/null
on unlock a --owner me
is 'a lock that was unlocked is no entry' 0 "$(line 1 lock-removed a me)" '' on events
on lock a --owner me --ttl 10s >/dev/null
on put a 1 --ttl 10s
on advance 30s
on events | sed 's/^[0-9]*//' | sort >"$temporary/out"
printf '\texpired\ta\t1\n\tlock-expired\ta\tme\n' >"$temporary/wanted"
result 'a lock and an entry of the same name expire' "$(same)"
# shellcheck disable=SC2016 # expanded by the command
on lock b --owner "$(printf 'o\tn')" -- sh -c 'kill -KILL $PPID' 2>/dev/null
is 'who held it is gone' 0 "$(line 4 lock-released b 'o\tn')" '' on events
on lock c --owner me >/dev/null
on release --owner me >/dev/null
run on events --json
normalize "$temporary/out"
sed -i 's/"token":[1-9][0-9]*/"token":N/' "$temporary/out"
want '{"sequence":5,"reason":"removed","kind":"lock","key":"c","token":N,"deadline_ns":N,"handed_ns":N,"owner":"me","lost":0}'
result 'a lock, JSON' "$(judge_status 0; same; judge_error '')"

belt few --on-expire notify --max-entries 1 --when-full evict
on put a 1
on put b 2
is 'evicted' 0 "$(line 1 evicted a 1)" '' on events

belt again --on-expire reinsert --ttl 1m
on put a 1
on advance 2m
is 'reinserted' 0 "$(line 1 expired a 1)" '' on events
value 'it lives on' 1 on get a

belt some --on-expire notify --report removed
on put a 1
on put a 2
on expire a
expire b
on put c 3
on rm c
is 'only what is to be reported' 0 "$(line 1 removed c 3)" '' on events

# What is too much for one read, or is one
belt large --on-expire notify --report removed
head -c 1048576 /dev/zero | tr '\0' z >"$temporary/large"
input=$temporary/large
on put small 1
on rm small
on put big - <"$input"
on rm big
on put small 2
on rm small
input=/dev/null
run on events
{
	line 1 removed small 1
	printf '\n2\tremoved\tbig\t'
	cat "$temporary/large"
	printf '\n3\tremoved\tsmall\t2\n'
} >"$temporary/wanted"
file 'one of 1 MiB between two small ones' "$temporary/wanted"

belt many --on-expire notify --ttl 1m
awk 'BEGIN {
	for (i = 1; i <= 5000; i++)
		printf "a key that is long enough, number %d\t%d\n", i, i
}' >"$temporary/lines"
on load "$temporary/lines"
on advance 2m
run on events
cut -f 1 "$temporary/out" >"$temporary/sequences"
cut -f 3,4 "$temporary/out" | sort >"$temporary/first"
sort "$temporary/lines" >"$temporary/second"
numbers 1 5000 >"$temporary/wanted"
mv "$temporary/sequences" "$temporary/out"
result 'many: each once, and in order' "$(same)"
cp "$temporary/second" "$temporary/wanted"
mv "$temporary/first" "$temporary/out"
result 'many: key and value' "$(same)"

# --max
belt max --on-expire notify
expire a b c d e
is '--max' 0 "$(line 1 expired a v)
$(line 2 expired b v)" '' on events --max 2
is_queued '--max takes no more than it prints' 3
is '--max, --ack' 0 "$(line 3 expired c v)" '' on events --max 1 --ack
is_queued '--max, --ack takes no more than it prints' 2
is '--max, --follow' 0 "$(line 4 expired d v)" '' on events --max 1 --follow
is_queued '--max, --follow takes no more than it prints' 1
is '--max of more than there are' 0 "$(line 5 expired e v)" '' on events --max 9
is 'events --max finds no event when all were read' 1 '' 'there is no event *' on events --max 9

# Lost ones
belt lost --on-expire notify --max-events 2
expire a b c
is 'one was lost' 0 "$(line 2 expired b v)
$(line 3 expired c v)" '1 event was lost' on events
expire a b c d e
is 'many were lost' 0 "$(line 7 expired d v)
$(line 8 expired e v)" '3 events were lost' on events
expire a b c
json 'one was lost, JSON' 0 '{"sequence":10,"reason":"expired","kind":"entry","key":"b","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":1,"value":"v","lost":1}
{"sequence":11,"reason":"expired","kind":"entry","key":"c","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":1,"value":"v","lost":0}' \
	'' on events --json

# Belts that report nothing
belt drop
is 'a belt that reports nothing' 4 '' \
	"belt 'drop' reports nothing: 'hbctl set drop --on-expire notify' *" on events
is 'a belt that reports nothing, --follow' 4 '' "belt 'drop' reports nothing: *" \
	on events --follow
hbctl set drop --on-expire notify
is 'now it does' 1 '' "there is no event *" on events
expire a
hbctl set drop --on-expire drop
is 'what it reported before' 0 "$(line 1 expired a v)" '' on events

# --follow
belt follow --on-expire notify
(expire a b c) &
is 'follow: until --max' 0 "$(line 1 expired a v)
$(line 2 expired b v)
$(line 3 expired c v)" '' on events --follow --max 3
wait
follow
expire d
arrives 'follow: an event arrives at once' "$(line 4 expired d v)"
expire e
arrives 'follow: the next one, too' "$(line 5 expired e v)"
kill -TERM "$follower"
ends 'follow: SIGTERM ends it' 0 ''
exec 3<&-
follow --json
expire f
# shellcheck disable=SC3045 # busybox has it
IFS= read -r -t 30 line <&3
case $line in
'{"sequence":6,'*) wrong= ;;
*) wrong=$line ;;
esac
result 'follow: JSON' "$wrong"
kill -TERM "$follower"
ends 'follow: SIGTERM ends it, JSON' 0 ''
exec 3<&-

# A signal that comes from the keyboard; a job in the background would ignore it.
expire g
(
	signal=INT
	at_last grep -q "expired${tab}g" "$temporary/out" || signal=KILL
	kill -$signal "$(cat "$temporary/pid")"
) &
# shellcheck disable=SC2016 # expanded by the inner shell
is 'follow: SIGINT ends it' 0 "$(line 7 expired g v)" '' \
	sh -c 'echo $$ >"$0"; exec hbctl -b follow events --follow' "$temporary/pid"
wait

# Who reads goes away: this is seen without an event, and none is taken.
follow
expire h
arrives 'follow: the reader is there' "$(line 8 expired h v)"
exec 3<&-
ends 'follow: the reader is gone' 141 ''
expire i
is 'follow: nothing was lost by that' 0 "$(line 9 expired i v)" '' on events
expire j
rm -f "$temporary/fifo"
mkfifo "$temporary/fifo"
(
	trap '' PIPE
	exec hbctl -b follow events --follow >"$temporary/fifo" 2>"$temporary/err"
) &
follower=$!
exec 3<"$temporary/fifo"
arrives 'follow: the reader is there again' "$(line 10 expired j v)"
exec 3<&-
ends 'follow: the reader is gone, SIGPIPE is ignored' 4 \
	'cannot write the output: Broken pipe'

# The belt goes away
follow
expire k
arrives 'follow: the belt is there' "$(line 11 expired k v)"
hbctl destroy follow
ends 'follow: the belt is gone' 3 "belt 'follow' was destroyed: *"
exec 3<&-

# --ack
belt ack --on-expire notify
expire a b
is 'ack: prints' 0 "$(line 1 expired a v)
$(line 2 expired b v)" '' on events --ack
is 'ack: what was acknowledged is gone' 1 '' 'there is no event *' on events --ack
expire c
# shellcheck disable=SC2016 # expanded by the inner shell
is 'ack: what cannot be written' 4 '' 'cannot write the output: *' \
	sh -c 'exec hbctl -b ack events --ack >/dev/full'
is_queued 'ack: is queued again' 1
is 'ack: a stdout that is closed' 4 '' 'cannot write the output: *' \
	sh -c 'exec hbctl -b ack events --ack >&-'
is 'ack: and is read again, with its number' 0 "$(line 3 expired c v)" '' on events
# shellcheck disable=SC2016 # expanded by the inner shell
is 'without --ack what cannot be written' 4 '' 'cannot write the output: *' \
	sh -c 'hbctl -b ack put d v; hbctl -b ack expire d; exec hbctl -b ack events >/dev/full'
is 'without --ack it is lost' 1 '' 'there is no event *' on events

# Events that are more than the pipe takes: one is written and acknowledged, the
# next one half written when hbctl has to stop.
# blocks NAME OPTION... - a belt with three of them, and hbctl that writes.
blocks() {
	belt "$1" --on-expire notify
	shift
	text 60000 >"$temporary/value"
	for key in a b c; do
		on put $key - <"$temporary/value"
		on expire $key
	done
	follow "$@"
	at_last holds queued 1
	result "$belt: hbctl waits for its reader" "$(holds_all queued 1)"
}

# leaves NAME SEQUENCE... - whole events that came through the pipe.
leaves() {
	name=$1
	shift
	awk -F '\t' 'length($4) == 60000 { print $1 }' <&3 >"$temporary/out"
	exec 3<&-
	printf '%s\n' "$@" >"$temporary/wanted"
	result "$name" "$(same)"
}

blocks killed --ack
result 'killed: one is in flight' "$(holds_all in_flight 1)"
kill -KILL "$follower"
ends 'killed' 137 ''
is_queued 'killed: what was not acknowledged is queued again' 2
leaves 'killed: the first was written' 1
on events | cut -f 1 >"$temporary/out"
printf '2\n3\n' >"$temporary/wanted"
result 'killed: the others come again' "$(same)"

blocks stopped --ack
kill -TERM "$follower"
ends 'stopped: at once, and in good order' 0 ''
is_queued 'stopped: what was not acknowledged is queued again' 2
exec 3<&-

blocks unread
kill -TERM "$follower"
ends 'unread: what was read is lost, and it says so' 4 \
	'stopped while nobody took the output: events are lost (see --ack)'
exec 3<&-

blocks closed --ack
exec 3<&-
ends 'closed: SIGPIPE' 141 ''
is_queued 'closed: what was not acknowledged is queued again' 2

# All events of many lines have been written.
# shellcheck disable=SC2317 # called by at_last
all_are_written() {
	[ "$(cat "$temporary/first" "$temporary/second" | wc -l)" = 5000 ] && holds in_flight 0
}

# Two who share: each event goes to one of them.
belt two --on-expire notify --ttl 1m
hbctl -b two events --follow --ack >"$temporary/first" &
first=$!
hbctl -b two events --follow >"$temporary/second" &
second=$!
on load "$temporary/lines"
on advance 2m
at_last all_are_written
kill -TERM $first $second
wait
cut -f 1 "$temporary/first" "$temporary/second" | sort -n >"$temporary/out"
numbers 1 5000 >"$temporary/wanted"
result 'two readers: each event once' "$(same)"

# Rights
hbctl create given --mode 0622 --on-expire notify
chmod 666 /dev/hashbelt
is 'nobody: without the right' 3 '' "no right to read belt 'given': *" \
	nobody -b given events
hbctl set given --mode 0644
is 'nobody: with it' 1 '' "there is no event in belt 'given'" nobody -b given events
chmod 600 /dev/hashbelt
is 'an unknown belt' 3 '' "there is no belt 'nosuch': *" hbctl -b nosuch events
finish
