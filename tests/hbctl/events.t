#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# events.t - hbctl events: what it prints, which events it takes off the queue, and which
# are queued again when hbctl is killed or its output cannot be written.
# shellcheck disable=SC1003,SC2016,SC3045 # backslashes; scripts of other shells; busybox has these
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

tab=$(printf '\t')

# expire KEY... - make an event for each key, with value v
expire() {
	for key; do
		on put "$key" v
		on expire "$key"
	done
}

# line SEQUENCE REASON KEY VALUE - a line of output
line() {
	printf '%s\t%s\t%s\t%s' "$@"
}

# follow OPTION... - run events --follow in the background, into a pipe that is file 3
follow() {
	rm -f "$temporary/fifo"
	mkfifo "$temporary/fifo"
	hbctl -b "$belt" events --follow "$@" >"$temporary/fifo" 2>"$temporary/err" &
	follower=$!
	exec 3<"$temporary/fifo"
}

# arrives NAME LINE - the next line in the pipe is LINE, and hbctl is still running
arrives() {
	line=
	IFS= read -r -t 30 line <&3
	wrong=
	[ "$line" = "$2" ] || wrong="'$line', wanted '$2'"
	kill -0 "$follower" 2>/dev/null || wrong="$wrong hbctl has ended"
	result "$1" "$wrong"
}

# ends NAME STATUS ERR - the hbctl of follow ends with STATUS; it is killed after 30 s
ends() {
	end "$follower"
	result "$1" "$(check_status "$2"; check_error "$3")"
}

# holds_all FIELD NUMBER... - print the belt's info if a field has another number
holds_all() {
	while [ $# -gt 0 ]; do
		holds "$1" "$2" || on info --json
		shift 2
	done
}

# is_queued NAME COUNT - COUNT events are queued and none is in flight
is_queued() {
	result "$1" "$(holds_all queued "$2" in_flight 0)"
}

belt e --on-expire notify --report all --ttl 1m --buckets 7
is 'events of an empty queue exits with 1' 1 '' "there is no event in belt 'e'" on events

# Output
on put a 1
on put a 2
on rm a
on put b 3
on expire b
on put c 4 --ttl 10s
on advance 20s
is 'events prints sequence, reason, key and value' 0 "$(line 1 replaced a 1)
$(line 2 removed a 2)
$(line 3 expired b 3)
$(line 4 expired c 4)" '' on events
on put d 5
on clear
is 'events prints a cleared entry' 0 "$(line 5 cleared d 5)" '' on events --follow --max 1
on put -- "$(printf 'x\ty\\')" "$(printf '\033\n.')"
on rm -e 'x\ty\\'
is 'events escapes keys and values' 0 "6${tab}removed${tab}x\\ty\\\\${tab}\\x1b\\n." '' on events
on put n v --ttl never --flags 9
on rm n
json 'events --json prints all fields of an event' 0 \
	'{"sequence":7,"reason":"removed","kind":"entry","key":"n","version":N,"flags":9,"deadline_ns":null,"handed_ns":N,"value_len":1,"value":"v","lost":0}' \
	'' on events --json
on put "$(printf '\377')" "$(printf '\376')"
on rm "$(printf '\377')"
on put a 'q"\'
on put a ''
json 'events --json prints what is not UTF-8 in base64 and escapes text' 0 \
	'{"sequence":8,"reason":"removed","kind":"entry","key_base64":"/w==","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":1,"value_base64":"/g==","lost":0}
{"sequence":9,"reason":"replaced","kind":"entry","key":"a","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":3,"value":"q\"\\","lost":0}' \
	'' on events --json
on rm a
on put "$(printf 'x\001\037"\377')" "$(printf '\\\r')"
on rm -e 'x\x01\x1f"\xff'
on put 'ü/\"' "$(printf '\001\037\177')"
on rm -- 'ü/\"'
valid 'events --json prints valid JSON for control characters and UTF-8' on events --json

# Locks
belt locks --pinned --on-expire notify --report all --ttl 1m --buckets 7
on lock a --owner me >/dev/null
on unlock a --owner me
is 'events prints an unlocked lock as lock-removed' 0 "$(line 1 lock-removed a me)" '' on events
on lock a --owner me --ttl 10s >/dev/null
on put a 1 --ttl 10s
on advance 30s
on events | sed 's/^[0-9]*//' | sort >"$temporary/out"
printf '\texpired\ta\t1\n\tlock-expired\ta\tme\n' >"$temporary/wanted"
result 'events prints an expired lock and an entry of one name apart' "$(same)"
on lock b --owner "$(printf 'o\tn')" -- sh -c 'kill -KILL $PPID' 2>/dev/null
is 'events prints the lock of a killed holder as lock-released' 0 \
	"$(line 4 lock-released b 'o\tn')" '' on events
on lock c --owner me >/dev/null
on release --owner me >/dev/null
json 'events --json prints owner and token of a lock' 0 \
	'{"sequence":5,"reason":"removed","kind":"lock","key":"c","token":N,"deadline_ns":N,"handed_ns":N,"owner":"me","lost":0}' \
	'' on events --json

# Events that fill a read, or need more than one
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
file 'events prints a value of 1 MiB between two small ones' "$temporary/wanted"

belt many --on-expire notify --ttl 1m
awk 'BEGIN {
	for (i = 1; i <= 5000; i++)
		printf "a key that is long enough, number %d\t%d\n", i, i
}' >"$temporary/lines"
on load "$temporary/lines"
on advance 2m
run on events
awk -F '\t' '$1 != NR || $4 != substr($3, 35) { print }' "$temporary/out" >"$temporary/wrong"
result 'events prints 5000 events once, in order, each with its value' "$(check_status 0; cat "$temporary/wrong"
	[ "$(cut -f 3 "$temporary/out" | sort -u | wc -l)" = 5000 ] || echo 'not 5000 keys')"

# --max
belt max --on-expire notify
expire a b c d e
is 'events --max 2 prints two events' 0 "$(line 1 expired a v)
$(line 2 expired b v)" '' on events --max 2
is_queued 'events --max 2 leaves three of five events queued' 3
is 'events --max 1 --ack prints one event' 0 "$(line 3 expired c v)" '' on events --max 1 --ack
is 'events --max 1 --follow prints one event' 0 "$(line 4 expired d v)" '' on events --max 1 --follow
is_queued 'events --max 1 --follow leaves one of two events queued' 1
is 'events --max 9 prints the one event that is queued' 0 "$(line 5 expired e v)" '' \
	on events --max 9

# A program that reads the device
hbctl set default --on-expire notify
for key in taken-1 taken-2; do
	hbctl put $key v
	hbctl expire $key
done
is 'dd from the device takes the events of the belt default' 0 2 '' \
	sh -c 'dd if=/dev/hashbelt bs=4096 count=1 2>/dev/null | strings | grep -c taken-'
is 'events finds no event of the belt default after that' 1 '' "there is no event in belt 'default'" hbctl events
hbctl set default --on-expire drop

# Lost events
belt lost --on-expire notify --max-events 2
expire a b c
is 'events says on stderr that one event was lost' 0 "$(line 2 expired b v)
$(line 3 expired c v)" '1 event was lost' on events
expire a b c d e
is 'events says on stderr how many events were lost' 0 "$(line 7 expired d v)
$(line 8 expired e v)" '3 events were lost' on events
expire a b c
json 'events --json prints in lost how many events were lost' 0 \
	'{"sequence":10,"reason":"expired","kind":"entry","key":"b","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":1,"value":"v","lost":1}
{"sequence":11,"reason":"expired","kind":"entry","key":"c","version":N,"flags":0,"deadline_ns":N,"handed_ns":N,"value_len":1,"value":"v","lost":0}' \
	'' on events --json

# Belts that report nothing
belt drop
is 'events of a belt with handler drop exits with 4' 4 '' \
	"belt 'drop' reports nothing: 'hbctl set drop --on-expire notify' *" on events
is 'events --follow of a belt with handler drop exits with 4' 4 '' \
	"belt 'drop' reports nothing: *" on events --follow
hbctl set drop --on-expire notify
is 'events after set --on-expire notify finds no event, and exits with 1' 1 '' \
	"there is no event *" on events
expire a
hbctl set drop --on-expire drop
is 'events after set --on-expire drop prints what was queued before' 0 "$(line 1 expired a v)" '' \
	on events

# --follow
belt follow --on-expire notify
(expire a b c) &
is 'events --follow --max 3 ends after three events' 0 "$(line 1 expired a v)
$(line 2 expired b v)
$(line 3 expired c v)" '' on events --follow --max 3
wait
follow
expire d
arrives 'events --follow prints an event as it is queued' "$(line 4 expired d v)"
expire e
arrives 'events --follow prints a second event as it is queued' "$(line 5 expired e v)"
kill -TERM "$follower"
ends 'events --follow exits with 0 on SIGTERM' 0 ''
exec 3<&-
follow --json
expire f
IFS= read -r -t 30 line <&3
case $line in
'{"sequence":6,'*) wrong= ;;
*) wrong=$line ;;
esac
result 'events --follow --json prints an event as it is queued' "$wrong"
kill -TERM "$follower"
ends 'events --follow --json exits with 0 on SIGTERM' 0 ''
exec 3<&-

# SIGINT, sent in the foreground: a job in the background would ignore it.
expire g
(
	signal=INT
	at_last grep -q "expired${tab}g" "$temporary/out" || signal=KILL
	kill -$signal "$(cat "$temporary/pid")"
) &
is 'events --follow exits with 0 on SIGINT' 0 "$(line 7 expired g v)" '' \
	sh -c 'echo $$ >"$0"; exec hbctl -b follow events --follow' "$temporary/pid"
wait

# The reader of the pipe closes it: hbctl notices without an event, and takes none.
follow
expire h
arrives 'events --follow prints an event to a pipe' "$(line 8 expired h v)"
exec 3<&-
ends 'events --follow ends by SIGPIPE when the reader of its pipe is gone' 141 ''
expire i
is 'no event is lost when events --follow has lost its reader' 0 "$(line 9 expired i v)" '' \
	on events
expire j
rm -f "$temporary/fifo"
mkfifo "$temporary/fifo"
(
	trap '' PIPE
	exec hbctl -b follow events --follow >"$temporary/fifo" 2>"$temporary/err"
) &
follower=$!
exec 3<"$temporary/fifo"
arrives 'events --follow that ignores SIGPIPE prints an event to a pipe' "$(line 10 expired j v)"
exec 3<&-
ends 'events --follow that ignores SIGPIPE exits with 4 without a reader' 4 \
	'cannot write the output: Broken pipe'

# The belt is destroyed
follow
expire k
arrives 'events --follow prints an event before its belt is destroyed' "$(line 11 expired k v)"
hbctl destroy follow
ends 'events --follow exits with 3 when its belt is destroyed' 3 "belt 'follow' was destroyed: *"
exec 3<&-

# --ack
belt ack --on-expire notify
expire a b
is 'events --ack prints all events' 0 "$(line 1 expired a v)
$(line 2 expired b v)" '' on events --ack
is 'events --ack finds no event that was acknowledged' 1 '' 'there is no event *' on events --ack
expire c
is 'events --ack into a full device exits with 4' 4 '' 'cannot write the output: *' \
	sh -c 'exec hbctl -b ack events --ack >/dev/full'
is_queued 'an event that events --ack could not write is queued again' 1
is 'events --ack with a closed stdout exits with 4' 4 '' 'cannot write the output: *' \
	sh -c 'exec hbctl -b ack events --ack >&-'
is 'an event that events --ack could not write is read with its sequence' 0 \
	"$(line 3 expired c v)" '' on events
is 'events without --ack into a full device exits with 4' 4 '' 'cannot write the output: *' \
	sh -c 'hbctl -b ack put d v; hbctl -b ack expire d; exec hbctl -b ack events >/dev/full'
is 'an event that events without --ack could not write is lost' 1 '' 'there is no event *' on events

# Three events of 60000 bytes, more than a pipe takes: hbctl writes and acknowledges the first,
# and is stopped while it writes the second.
# blocks NAME OPTION... - make these events in a new belt NAME, and run events OPTION...
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
	result "events of belt '$belt' blocks on a full pipe with one event queued" \
		"$(holds_all queued 1)"
}

# leaves NAME SEQUENCE... - the pipe has whole events with exactly these sequences
leaves() {
	name=$1
	shift
	awk -F '\t' 'length($4) == 60000 { print $1 }' <&3 >"$temporary/out"
	exec 3<&-
	printf '%s\n' "$@" >"$temporary/wanted"
	result "$name" "$(same)"
}

blocks killed --ack
result 'events --ack on a full pipe has one event in flight' "$(holds_all in_flight 1)"
kill -KILL "$follower"
ends 'kill -9 of events --ack on a full pipe ends it with 137' 137 ''
is_queued 'the kill of events --ack queues again what was not acknowledged' 2
leaves 'events --ack that was killed has written the event it acknowledged' 1
on events | cut -f 1 >"$temporary/out"
printf '2\n3\n' >"$temporary/wanted"
result 'events after the kill of events --ack prints the other two events' "$(same)"

blocks stopped --ack
kill -TERM "$follower"
ends 'events --ack on a full pipe exits with 0 on SIGTERM' 0 ''
is_queued 'SIGTERM to events --ack queues again what was not acknowledged' 2
exec 3<&-

blocks unread
kill -TERM "$follower"
ends 'events without --ack on a full pipe says on SIGTERM that events are lost' 4 \
	'stopped while the output was not read: events are lost (see --ack)'
exec 3<&-

blocks closed --ack
exec 3<&-
ends 'events --ack on a full pipe ends by SIGPIPE when its reader is gone' 141 ''
is_queued 'SIGPIPE to events --ack queues again what was not acknowledged' 2

# Rights
hbctl create given --mode 0622 --on-expire notify
chmod 666 /dev/hashbelt
is 'user nobody: events without the right to read exits with 3' 3 '' \
	"no right to read belt 'given': *" nobody -b given events
hbctl set given --mode 0644 --consumers owner
is 'user nobody: events of a belt whose owner consumes exits with 3' 3 '' \
	"no right to take events of belt 'given': *" nobody -b given events
like 'info shows that the owner consumes' 0 '*consumers: *owner: *' '' hbctl info given
like 'info --json shows that the owner consumes' 0 '*"consumers":"owner",*' '' \
	hbctl info given --json
hbctl set given --consumers readers
is 'user nobody: events with the right to read finds an empty queue' 1 '' \
	"there is no event in belt 'given'" nobody -b given events
chmod 600 /dev/hashbelt
is 'events of an unknown belt exits with 3' 3 '' "there is no belt 'nosuch', or you have no right to it: *" \
	hbctl -b nosuch events
finish
