#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# wait.t - hbctl wait and complete: a put of a key ends the waits for it, and what else ends
# a wait.
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

tab=$(printf '\t')

# begin OPERAND... - run wait in the background; returns once its request is registered
begin() {
	begun=" $* "
	hbctl -b "$belt" wait "$@" >"$temporary/waited" 2>"$temporary/waited.err" &
	waiter=$!
	at_last holds requests 1 || echo "Bail out! nothing waits"
}

# ends NAME STATUS OUT ERR - the wait ends with STATUS and has printed OUT
ends() {
	end "$waiter"
	cp "$temporary/waited" "$temporary/out"
	cp "$temporary/waited.err" "$temporary/err"
	case $begun in
	*' --json '*) text_of_json ;;
	esac
	want "$3"
	result "$1" "$(check_status "$2"; same; check_error "$4")"
}

# goes_on NAME - the wait has not ended and its request is registered
goes_on() {
	result "$1" "$(is_gone "$waiter" && echo 'wait has ended'; holds requests 1 || on info --json)"
}

# counts FIELD NUMBER - whether stat prints this number
# shellcheck disable=SC2317 # called by at_last
counts() {
	on stat --raw --noheadings | grep -qx "$1 $2"
}

belt main --ttl 1m --buckets 7

# Keys that are present
on put a 1
is 'wait for a present key prints key and value at once' 0 "a${tab}1" '' on wait a
is 'wait for several keys prints the one that is present' 0 "a${tab}1" '' on wait x a y
on put b 2
is 'wait prints one entry if two of its keys are present' 0 "b${tab}2" '' on wait x b a
json 'wait --json prints the entry' 0 \
	'{"key":"a","version":N,"flags":0,"ttl_ms":60000,"value_len":1,"value":"1"}' \
	'' on wait a --json
on put "$(printf 'x\ty')" "$(printf '1\n2')"
is 'wait escapes key and value' 0 "x\\ty${tab}1\\n2" '' on wait -e 'x\ty'
head -c 1000000 /dev/urandom >"$temporary/random"
on put big - <"$temporary/random"
on dump --values | sed -n '/^big/p' | cut -f 1,2 >"$temporary/wanted"
run on wait big
result 'wait prints a value of 1,000,000 bytes' "$(check_status 0; check_error ''
	cmp "$temporary/wanted" "$temporary/out" 2>&1)"
result 'no request is left after waits for present keys' "$(holds requests 0 || on info --json)"
on clear

# Puts
begin a
on put a 1
ends 'put of its key ends a wait' 0 "a${tab}1" ''
on clear
begin a b c
on put b 'the second'
ends 'put of any of its keys ends a wait for several' 0 "b${tab}the second" ''
on clear
begin a --json
on put a 5 --flags 3
at_last is_gone "$waiter"
normalize "$temporary/waited"
ends 'wait --json prints the entry that was put' 0 \
	'{"key":"a","version":N,"flags":3,"ttl_ms":60000,"value_len":1,"value":"5"}' ''
begin -e '\xff'
on put "$(printf '\377')" 1
ends 'put ends a wait for an escaped key' 0 "$(printf '\377')${tab}1" ''
on clear
begin a
kill -STOP "$waiter"
on put a 1
on rm a
kill -CONT "$waiter"
at_last holds requests 1
goes_on 'wait goes on if its key is put and removed before it can read it'
on put a 2
ends 'a second put ends a wait that has missed the first' 0 "a${tab}2" ''
on clear
begin a
before=$(on stat --raw --noheadings | sed -n 's/^requests //p')
on clear
at_last counts requests $((before + 1))
at_last holds requests 1
goes_on 'clear does not end a wait'
on put a 3
ends 'put after a clear ends a wait' 0 "a${tab}3" ''
on clear

# Timeouts
begin a --timeout never
on advance 30d
goes_on 'wait --timeout never goes on for 30 days'
on put a 1
ends 'put ends a wait --timeout never after 30 days' 0 "a${tab}1" ''
on clear
begin a --timeout 1h
on advance 61m
ends 'wait --timeout exits with 1 when its time is over' 1 '' \
	"timed out: the entry was not put in belt 'main'"
begin a b --timeout 10s
on advance 1m
ends 'wait --timeout for two keys exits with 1 when its time is over' 1 '' \
	"timed out: none of the entries was put in belt 'main'"
begin a --timeout 10s
before=$(on stat --raw --noheadings | sed -n 's/^requests //p')
on advance 6s
on clear
at_last counts requests $((before + 1))
at_last holds requests 1
goes_on 'wait --timeout goes on after a clear'
on advance 4s
ends 'wait --timeout ends at its first time after a clear' 1 '' 'timed out: *'
is 'wait --timeout exits with 1 although belt time is halted' 1 '' 'timed out: *' \
	on wait a --timeout 20ms
result 'no request is left after waits that timed out' "$(holds requests 0 || on info --json)"

# complete
is 'complete without a waiter prints 0 and exits with 1' 1 0 "no request waits for 'a' in belt 'main'" \
	on complete a
json 'complete --json without a waiter prints 0 and exits with 1' 1 '{"key":"a","completed":0}' \
	'no request waits for *' on complete a --json
begin a b
is 'complete of a key with one waiter prints 1' 0 1 '' on complete b
ends 'wait exits with 1 when complete ends it' 1 '' \
	"the wait for 'b' in belt 'main' was completed, and nothing put"
begin a
json 'complete --json of a key with one waiter prints 1' 0 '{"key":"a","completed":1}' '' \
	on complete a --json
ends 'wait exits with 1 when complete --json ends it' 1 '' \
	"the wait for 'a' in belt 'main' was completed, *"
begin -e 'x\ty'
is 'complete -e of an escaped key prints 1' 0 1 '' on complete -e 'x\ty'
ends 'the message of a completed wait escapes the key' 1 '' \
	"the wait for 'x\\\\ty' in belt 'main' was completed, *"

# Other ends of a wait
begin a
kill -KILL "$waiter"
wait "$waiter" 2>/dev/null
result 'the kill of wait takes its request back' "$(at_last holds requests 0 || on info --json)"
begin a
kill "$waiter"
ends 'SIGTERM ends a wait with 143' 143 '' ''
result 'no request is left after a wait was ended by SIGTERM' \
	"$(at_last holds requests 0 || on info --json)"
belt gone
begin a
hbctl destroy gone
ends 'wait exits with 3 when its belt is destroyed' 3 '' "belt 'gone' was destroyed: *"
belt full --max-entries 1
on put a 1
is 'wait on a belt at max_entries exits with 4' 4 '' "belt 'full' is full: *" on wait b
belt evicts --max-entries 1 --when-full evict
begin a
on put b 1
ends 'wait exits with 4 when its request is evicted' 4 '' \
	"the wait had to make room: belt 'evicts' is full"
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
hbctl -b shown put a 1
is 'user nobody: wait for a present key needs the right to read only' 0 "a${tab}1" '' \
	nobody -b shown wait a
is 'user nobody: wait for a missing key without the right to write exits with 3' 3 '' \
	"no right to read and write belt 'shown': *" nobody -b shown wait b
is 'user nobody: complete without the right to write exits with 3' 3 '' \
	"no right to write belt 'shown': *" nobody -b shown complete a
chmod 600 /dev/hashbelt

finish
