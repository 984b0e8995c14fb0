#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# handle.t - hbctl events --exec runs a program for each event, and acknowledges an event only
# after the program has ended well.
# shellcheck disable=SC2016,SC2317 # scripts of other shells; functions that tap.sh calls
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

tab=$(printf '\t')
log=$temporary/log
export log

# program NAME COMMANDS - make a program of the shell
program() {
	printf '#!/bin/sh\n%s\n' "$2" >"$temporary/$1"
	chmod +x "$temporary/$1"
}

# remove KEY... - put entries and remove them, which makes an event of each
remove() {
	for key; do
		on put "$key" "value of $key" && on rm "$key"
	done
}

# logged NAME LINES - the programs have written these lines
logged() {
	want "$2"
	cp "$log" "$temporary/out"
	result "$1" "$(same)"
	: >"$log"
}

# has_lines NUMBER - whether the programs have written so many lines
has_lines() {
	[ "$(wc -l <"$log")" = "$1" ]
}

# are_gone - whether the programs that have written their process ids have ended
are_gone() {
	while read -r one; do
		is_gone "$one" || return 1
	done <"$log"
}

{
	program note 'echo "$HASHBELT_SEQUENCE $HASHBELT_REASON $HASHBELT_KEY=$(cat)" >>$log'
	program all 'echo "$HASHBELT_KEY_ESCAPED ${HASHBELT_KEY-none} $HASHBELT_KIND \
$HASHBELT_FLAGS $HASHBELT_BELT $HASHBELT_TRY $(wc -c)" >>$log'
	program third 'echo "$HASHBELT_KEY $HASHBELT_TRY" >>$log; [ $HASHBELT_TRY = 3 ]'
	program notb 'echo "$HASHBELT_KEY" >>$log; [ $HASHBELT_KEY != b ]'
	program both 'echo "$HASHBELT_KEY" >>$log; until [ $(wc -l <$log) -ge 2 ]; do :; done'
	program slow 'echo begun >>$log; until [ -e $log.go ]; do :; done; echo done >>$log'
	program gate 'echo $$ >>$log; until [ -e $log.go ]; do :; done; [ $HASHBELT_KEY != b ]'
	program held 'echo >>$log; [ $HASHBELT_KEY != b ] || exit 1; until [ -e $log.go ]; do :; done'
}
: >"$log"

belt main --ttl 1m --on-expire notify --report all
remove a b
is 'events --exec runs the program for each event and prints nothing' 0 '' '' \
	on events --ack --exec "$temporary/note"
logged 'the program finds number, reason, key and value of the event' '1 removed a=value of a
2 removed b=value of b'
is 'events --exec has acknowledged the events' 1 '' "there is no event in belt 'main'" on events
is 'events --exec without an event exits with 1' 1 '' "there is no event in belt 'main'" \
	on events --ack --exec "$temporary/note"
head -c 1048576 /dev/zero | on put -e 'a\tb' --flags 7
on rm -e 'a\tb'
on put -e 'a\x00b' 12 && on rm -e 'a\x00b'
on events --ack --exec "$temporary/all"
logged 'the program finds the other fields, and a value of 1 MiB' "a\\tb a${tab}b entry 7 main 1 1048576
a\\x00b none entry 0 main 1 2"
remove c d e
is 'events --exec --max takes no more events' 0 '' '' on events --ack --exec "$temporary/note" -n 1
logged 'events --exec --max has handled one event' '5 removed c=value of c'
is 'events --exec --max leaves the others queued' 0 "6${tab}removed${tab}d${tab}value of d
7${tab}removed${tab}e${tab}value of e" '' on events

# Failures
remove r
run on events --ack --exec "$temporary/third" --retry 10ms
result 'events --exec runs a program again that fails' "$(check_status 0
	sed 's/.*third. //' "$temporary/err" >"$temporary/out"
	want 'ended with status 1: again in 10ms
ended with status 1: again in 20ms'
	same)"
logged 'the program finds the number of the try' 'r 1
r 2
r 3'
remove a b c
is 'events --exec --tries exits with 4 after so many failures' 4 '' \
	"event 10: '*/notb' ended with status 1 in each of 1 tries: the event is queued again" \
	on events --ack --exec "$temporary/notb" --tries 1 --jobs 3
: >"$log"
is 'an event that failed and those behind it are queued again' 0 "10${tab}removed${tab}b${tab}value of b
11${tab}removed${tab}c${tab}value of c" '' on events
remove m
run on events --ack --exec "$temporary/missing"
result 'events --exec of a missing program exits with 4' "$(check_status 4
	grep -q "cannot run '.*/missing': No such file" "$temporary/err" || cat "$temporary/err")"
is 'an event whose program is missing is queued again' 0 "12${tab}removed${tab}m${tab}value of m" '' \
	on events

# Several programs at once
remove p q
is 'events --exec --jobs 2 runs two programs at once' 0 '' '' \
	on events --ack --exec "$temporary/both" --jobs 2
sort "$log" >"$temporary/sorted" && mv "$temporary/sorted" "$log"
logged 'each of the two programs has run once' 'p
q'

# Following
hbctl -b main events -f --ack --exec "$temporary/note" 2>"$temporary/err" &
pid=$!
remove x
at_last has_lines 1
remove y
at_last has_lines 2
kill "$pid"
end "$pid"
result 'events -f --exec ends with 0 after a signal' "$(check_status 0; check_error '')"
logged 'events -f --exec handles events as they come' '15 removed x=value of x
16 removed y=value of y'
hbctl -b main events -f --ack --exec "$temporary/slow" 2>"$temporary/err" &
pid=$!
remove s
at_last has_lines 1
kill "$pid"
sleep 0.1
: >"$log.go"
end "$pid"
result 'a signal lets the program that runs come to its end' "$(check_status 0; check_error '')"
logged 'the program has come to its end' 'begun
done'
is 'the event of that program is acknowledged' 1 '' "there is no event *" on events
rm "$log.go"
hbctl -b main events -f --ack --exec "$temporary/slow" 2>"$temporary/err" &
pid=$!
remove t
at_last has_lines 1
kill -KILL "$pid"
end "$pid"
is 'the event is queued again when hbctl is killed' 0 "18${tab}removed${tab}t${tab}value of t" '' \
	on events
at_last sh -c '! pidof slow'
result 'the program ends when hbctl is killed' "$(pidof slow)"
: >"$log"

# Programs that end together: one SIGCHLD stands for all of them
remove a b c
hbctl -b main events --ack --exec "$temporary/gate" --tries 1 --jobs 3 2>"$temporary/err" &
pid=$!
at_last has_lines 3
kill -STOP "$pid"
: >"$log.go"
at_last are_gone
kill -CONT "$pid"
end "$pid"
result 'events --exec ends when one of the programs that end together has failed' \
	"$(check_status 4; check_error "event 20: '*/gate' ended with status 1 in each of 1 tries: *")"
is 'the event before the one that failed is acknowledged' 0 "20${tab}removed${tab}b${tab}value of b
21${tab}removed${tab}c${tab}value of c" '' on events
rm "$log.go"
: >"$log"
remove b c
printf 'events --ack --exec %s --tries 1 --jobs 2\nsize\n' "$temporary/held" |
	hbctl -b main batch >"$temporary/out" 2>"$temporary/err" &
pid=$!
at_last test -s "$temporary/err"
kill "$pid"
end "$pid"
result 'a signal ends a batch that waits for a program after another has failed' \
	"$(check_status 143; cat "$temporary/out")"
on events >/dev/null
: >"$log"
is 'a batch goes on after events --exec' 0 0 '' sh -c 'hbctl -b main put u 1; hbctl -b main rm u
	printf "events --ack --exec true\nsize\n" | hbctl -b main batch'
is 'events --exec of a belt that reports nothing exits with 4' 4 '' \
	"belt 'default' reports nothing: *" hbctl events --ack --exec true
chmod 666 /dev/hashbelt
is 'user nobody: events --exec without the right exits with 3' 3 '' "there is no belt *" \
	nobody -b main events --ack --exec true
chmod 600 /dev/hashbelt
finish
