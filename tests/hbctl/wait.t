#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# wait.t - hbctl wait and complete: who waits is told once it is there, and what else
# ends a wait.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/tap.sh"

plan 66
# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

tab=$(printf '\t')

# begin OPERAND... - wait, in the background, and come back when it does.
begin() {
	hbctl -b "$belt" wait "$@" >"$temporary/waited" 2>"$temporary/waited.err" &
	waiter=$!
	at_last holds requests 1 || echo "Bail out! nothing waits"
}

# ends NAME STATUS OUT ERR - it does, and has printed OUT.
ends() {
	end "$waiter"
	cp "$temporary/waited" "$temporary/out"
	cp "$temporary/waited.err" "$temporary/err"
	want "$3"
	result "$1" "$(judge_status "$2"; same; judge_error "$4")"
}

# goes_on NAME - it waits as before.
goes_on() {
	result "$1" "$(is_gone "$waiter" && echo 'it has ended'; holds requests 1 || on info --json)"
}

# counts FIELD NUMBER - whether stat says so.
# shellcheck disable=SC2317 # called by at_last
counts() {
	on stat | grep -qx "$1: $2"
}

belt main --ttl 1m --buckets 7

# What is there already
on put a 1
is 'what is there is printed at once' 0 "a${tab}1" '' on wait a
is 'a wait for a key that is there does not time out' 0 "a${tab}1" '' on wait a --timeout 1ms
is 'of several' 0 "a${tab}1" '' on wait x a y
on put b 2
is 'one alone is printed' 0 "b${tab}2" '' on wait x b a
json 'JSON' 0 '{"key":"a","version":N,"flags":0,"ttl_ms":60000,"value_len":1,"value":"1"}' \
	'' on wait a --json
json 'JSON of several' 0 \
	'{"key":"b","version":N,"flags":0,"ttl_ms":60000,"value_len":1,"value":"2"}' \
	'' on wait b x --json
on put empty ''
is 'a value of no bytes' 0 "empty${tab}" '' on wait empty
on put "$(printf 'x\ty')" "$(printf '1\n2')"
is 'both are escaped' 0 "x\\ty${tab}1\\n2" '' on wait -e 'x\ty'
is 'of several as well' 0 "x\\ty${tab}1\\n2" '' on wait z "$(printf 'x\ty')"
head -c 1000000 /dev/urandom >"$temporary/random"
on put big - <"$temporary/random"
on dump --values | sed -n '/^big/p' | cut -f 1,2 >"$temporary/wanted"
run on wait big
result 'a large value' "$(judge_status 0; judge_error ''
	cmp "$temporary/wanted" "$temporary/out" 2>&1)"
result 'nothing is left of it' "$(holds requests 0 || on info --json)"
on clear

# What is put
begin a
on put a 1
ends 'a put ends it' 0 "a${tab}1" ''
begin b
on put c 1
goes_on 'a put of another key does not'
on put b 2
ends 'a put of its own does' 0 "b${tab}2" ''
on clear
begin a b c
on put b 'the second'
ends 'any one of several' 0 "b${tab}the second" ''
on clear
begin 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
on put 16 last
ends 'the last one of sixteen' 0 "16${tab}last" ''
begin a --json
on put a 5 --flags 3
at_last is_gone "$waiter"
normalize "$temporary/waited"
ends 'JSON of what was put' 0 \
	'{"key":"a","version":N,"flags":3,"ttl_ms":60000,"value_len":1,"value":"5"}' ''
begin count
on incr count >/dev/null
ends 'an addition is a put' 0 "count${tab}1" ''
begin -e '\xff'
on put "$(printf '\377')" 1
ends 'an escaped key' 0 "$(printf '\377')${tab}1" ''
begin loaded
printf 'loaded\tyes\n' | on load >/dev/null 2>&1
ends 'a load puts' 0 "loaded${tab}yes" ''
on clear
begin a a
on put a 1
ends 'the same key twice' 0 "a${tab}1" ''
on rm a
begin a
kill -STOP "$waiter"
on put a 1
on rm a
kill -CONT "$waiter"
at_last holds requests 1
goes_on 'what is gone again is waited for again'
on put a 2
ends 'until it stays' 0 "a${tab}2" ''
on clear
begin a
before=$(on stat | sed -n 's/^requests: //p')
on clear
at_last counts requests $((before + 1))
at_last holds requests 1
goes_on 'a clear does not end it'
on put a 3
ends 'a put after it does' 0 "a${tab}3" ''
on clear

# How long
begin a
on advance 30d
goes_on 'it does not time out'
on put a 1
ends 'it waits until there is something' 0 "a${tab}1" ''
on clear
begin a --timeout never
on advance 30d
goes_on 'nor with --timeout never'
on put a 1
ends 'but until there is something' 0 "a${tab}1" ''
on clear
begin a --timeout 1h
on advance 59m
goes_on 'before its time is over'
on advance 2m
ends 'it times out' 1 '' "timed out: the entry was not put in belt 'main'"
begin a b --timeout 10s
on advance 1m
ends 'it times out for several' 1 '' \
	"timed out: none of the entries was put in belt 'main'"
begin a --timeout 1h --json
on advance 2h
ends 'it times out, JSON' 1 '' 'timed out: *'
is 'belt time stands still, ours does not' 1 '' 'timed out: *' on wait a --timeout 20ms
result 'nothing is left of that' "$(holds requests 0 || on info --json)"

# By hand
is 'complete nothing' 1 0 "nobody waits for 'a' in belt 'main'" on complete a
json 'complete nothing, JSON' 1 '{"key":"a","completed":0}' 'nobody waits for *' \
	on complete a --json
begin a b
is 'complete one' 0 1 '' on complete b
ends 'it ends, and there is nothing' 1 '' \
	"the wait for 'b' in belt 'main' was completed, and nothing put"
begin a
json 'complete one, JSON' 0 '{"key":"a","completed":1}' '' on complete a --json
ends 'it ends, JSON' 1 '' "the wait for 'a' in belt 'main' was completed, *"
begin -e 'x\ty'
is 'complete an escaped key' 0 1 '' on complete -e 'x\ty'
ends 'it is escaped' 1 '' "the wait for 'x\\\\ty' in belt 'main' was completed, *"
begin a
is 'complete another' 1 0 "nobody waits for 'b' in belt 'main'" on complete b
goes_on 'it is not for that'
on put a 1
ends 'but for its own' 0 "a${tab}1" ''
on clear

# What else
begin a
kill -KILL "$waiter"
wait "$waiter" 2>/dev/null
result 'who is killed waits no more' "$(at_last holds requests 0 || on info --json)"
begin a
kill "$waiter"
ends 'who is asked to end does' 143 '' ''
result 'no request is left when all waiters have ended' "$(at_last holds requests 0 || on info --json)"
belt gone
begin a
hbctl destroy gone
ends 'the belt is destroyed' 3 '' "belt 'gone' was destroyed: *"
belt full --max-entries 1
on put a 1
is 'no room to wait' 4 '' "belt 'full' is full: *" on wait b
is 'what is there needs none' 0 "a${tab}1" '' on wait a
belt evicts --max-entries 1 --when-full evict
begin a
on put b 1
ends 'it makes room' 4 '' "the wait had to make room: belt 'evicts' is full"
chmod 666 /dev/hashbelt
hbctl create shown --mode 0644
hbctl -b shown put a 1
hbctl create hidden --mode 0600
is 'nobody: who may read sees what is there' 0 "a${tab}1" '' nobody -b shown wait a
is 'nobody: but does not wait' 3 '' "no right to read and write belt 'shown': *" \
	nobody -b shown wait b
is 'nobody: but not complete' 3 '' "no right to write belt 'shown': *" \
	nobody -b shown complete a
is 'nobody: nor wait where he may not read' 3 '' \
	"no right to read and write belt 'hidden': *" \
	nobody -b hidden wait a
chmod 600 /dev/hashbelt

# What is counted
belt counted
for key in a b c; do
	begin $key
	on put $key 1
	at_last is_gone "$waiter"
done
begin d
on complete d >/dev/null
at_last is_gone "$waiter"
begin e --timeout 1h
on advance 2h
at_last is_gone "$waiter"
like 'stat: requests' 0 '*
requests: 5
completed: 4
timed_out: 1
*' '' on stat
on stat --prometheus >"$temporary/out"
result 'stat --prometheus: requests' "$(
	grep -qx 'hashbelt_completed_total{belt="counted"} 4' "$temporary/out" ||
		cat "$temporary/out")"
begin f
like 'info: what waits' 0 '*
requests:     1
*' '' on info
on stat --prometheus >"$temporary/out"
result 'stat --prometheus: what waits' "$(
	grep -qx 'hashbelt_waiting_requests{belt="counted"} 1' "$temporary/out" ||
		cat "$temporary/out")"
on put f 1
ends 'it has waited' 0 "f${tab}1" ''

# Many
belt many
for waiter in $(seq 50); do
	on wait all --timeout 1m >"$temporary/all.$waiter" 2>&1 &
done
at_last holds requests 50
is 'many are completed' 0 50 '' on complete all
wait
for waiter in $(seq 50); do
	on wait all "none.$waiter" --timeout 1m >"$temporary/all.$waiter" 2>&1 &
done
at_last holds requests 50
on put all here
wait
cat "$temporary"/all.* | sort | uniq -c | sed 's/^ *//' >"$temporary/out"
printf '50 all\there\n' >"$temporary/wanted"
result 'a put tells each of them once' "$(same)"
# Put and wait at the same time: neither order loses it.
for round in $(seq 60); do
	on wait "race.$round" --timeout 1m >"$temporary/race.$round" 2>&1 &
	on put "race.$round" "$round"
done
wait
for round in $(seq 60); do
	cat "$temporary/race.$round"
done >"$temporary/out"
seq 60 | sed "s/.*/race.&${tab}&/" >"$temporary/wanted"
result 'no put is missed' "$(same)"
result 'nothing is left of all that' "$(holds requests 0 || on info --json)"
finish
