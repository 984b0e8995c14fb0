#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.t - hbctl bench: its counts, and what it leaves. Times are not judged.
set -u

# shellcheck source=tests/hbctl/belt.sh
. "$(dirname "$0")/belt.sh"

# numbers NAME EXPRESSION ARGUMENT... - bench --json with ARGUMENTs prints numbers for which the
# expression of awk holds
numbers() {
	name=$1 expression=$2
	shift 2
	run hbctl bench --json "$@"
	result "$name" "$(check_status 0; check_error ''
		sed 's/[{}"]//g; s/name:[^,]*,//; s/:/=/g; s/,/;/g; s/null/"null"/g' "$temporary/out" |
			sed "s/\$/; if (!($expression)) print \"expected $expression, found: \" all/" \
				>"$temporary/program"
		echo "BEGIN { all = \"$(sed 's/"//g' "$temporary/out")\"; $(cat "$temporary/program") }" \
			>"$temporary/bench.awk"
		awk -f "$temporary/bench.awk" 2>&1)"
}

# none - print the belts of bench that are there
none() {
	hbctl belts --raw --noheadings -o name | grep bench
	true
}

numbers 'bench makes as many operations as it is told' \
	'operations == 1000 \&\& gets + puts == 1000' --operations 1000 --keys 100
numbers 'hits and misses of bench are its gets' 'hits + misses == gets \&\& gets > 850 \&\& gets < 950' \
	--operations 1000 --keys 100
numbers 'bench --warm hits on each get' 'hits == gets \&\& misses == 0 \&\& evicted == 0' \
	--operations 1000 --keys 100 --warm
numbers 'bench --gets 0 only puts' 'puts == 500 \&\& gets == 0 \&\& get_calls == 0 \&\& get_max_ns == \"null\"' \
	--operations 500 --gets 0 --keys 10
numbers 'bench --gets 100 only gets' 'gets == 500 \&\& misses == 500 \&\& put_calls == 0' \
	--operations 500 --gets 100
numbers 'bench divides the operations between threads' \
	'operations == 1001 \&\& threads == 4 \&\& get_calls + put_calls == 1001' \
	--operations 1001 --threads 4 --keys 50
numbers 'bench --batch makes operations of several in a call' \
	'operations == 1000 \&\& get_calls + put_calls == 16 \&\& batch == 64' \
	--operations 1000 --batch 64 --keys 50
numbers 'bench --max-entries evicts' 'evicted >= 50 \&\& evicted <= 60 \&\& refused == 0' \
	--operations 600 --gets 0 --keys 100000000 --max-entries 545
numbers 'percentiles of bench grow up to the longest call' \
	'get_p50_ns <= get_p90_ns \&\& get_p90_ns <= get_p99_ns \&\& get_p99_ns <= get_p999_ns \&\& get_p999_ns <= get_max_ns \&\& get_p50_ns > 0' \
	--operations 1000 --value-size 1k --zipf 0.99
numbers 'bench --duration ends after that time' 'elapsed_ns >= 50000000 \&\& operations > 0' \
	--duration 50ms --threads 2
valid 'bench --json prints valid JSON' hbctl bench --json --operations 10
hbctl bench --json --operations 500 --seed 7 2>/dev/null | sed 's/.*"gets":\([0-9]*\).*/\1/' >"$temporary/wanted"
hbctl bench --json --operations 500 --seed 7 2>/dev/null | sed 's/.*"gets":\([0-9]*\).*/\1/' >"$temporary/out"
result 'bench with the same seed makes the same gets' "$(same)"
like 'bench prints a row for gets and one for puts' 0 'CALL  OPERATIONS * OP/S * P50 * P90 * P99 * P99.9 * MAX
get * 9[0-9][0-9] *
put * [0-9]* *
1000 operations in * s: * a second
9* hits, 0 misses, 0 refused puts, 0 evictions' '' \
	hbctl bench --operations 1000 --gets 95 --keys 10 --warm
is 'bench -o prints these columns alone' 0 'put 100 25' '' \
	sh -c 'hbctl bench --operations 100 --gets 0 --batch 4 --raw --noheadings -o call,operations,calls |
		grep put'
like 'bench --window prints rows for the window and for the empty call' 0 'CALL  * OPERATIONS * MAX
get  * 1000 *
put  * 0 *
window-get  * 1000 *
window-put  * 0 *
getppid  * 1000 *
1000 operations in * s: * a second
1000 hits, 0 misses, 0 refused puts, 0 evictions
1000 operations with the window in * s: * a second
1000 hits, 9*.* % of them in the window' '' \
	hbctl bench --operations 1000 --gets 100 --keys 10 --warm --window on
numbers 'bench --window makes the same calls by the window' \
	'gets == window_gets \&\& puts == window_puts \&\& operations == window_operations \&\& getppid_calls == 1000' \
	--operations 1000 --keys 100 --warm --window 64k
numbers 'the window answers most gets of keys that are read often' \
	'window_hits == 5000 \&\& in_window > 4500 \&\& in_window <= 4930' \
	--operations 5000 --gets 100 --keys 20 --warm --window 64k --threads 2
numbers 'the window answers no get without a hit' 'window_misses == 500 \&\& in_window == 0' \
	--operations 500 --gets 100 --window on
is 'bench --window off exits with 2' 2 '' "bench: --window: 'off' measures nothing: *" hbctl bench --window off
is 'bench --window --batch 2 exits with 2' 2 '' 'bench: --window and --batch exclude each other: *' \
	hbctl bench --window on --batch 2
is 'no belt of bench is left' 0 '' '' none

# A belt that is there
belt mine --ttl 1h
hbctl -b mine resume
numbers 'bench -b uses that belt' 'puts == 300 \&\& refused == 0' -b mine --operations 300 --gets 0 --keys 20
is 'bench -b leaves the belt and the entries' 0 20 '' sh -c 'hbctl -b mine keys bench: | wc -l'
is 'bench -b --window of a belt without a window exits with 4' 4 '' \
	"belt 'mine' has no window: let its owner run 'hbctl set mine --window on'" \
	hbctl bench -b mine --window on --operations 10
is 'bench -b --window 64k exits with 2' 2 '' 'bench: --window 64k is for the belt that bench makes, *' \
	hbctl bench -b mine --window 64k
hbctl set mine --window 64k
numbers 'bench -b --window on uses the window of that belt' 'window_gets == 500 \&\& in_window > 400' \
	-b mine --operations 500 --gets 100 --keys 10 --window on
belt keeps --policy standard
numbers 'bench counts puts that the belt refuses' 'puts == 300 \&\& refused == 280' \
	-b keeps --operations 300 --gets 0 --keys 20 --seed 3 --zipf 0.01
is 'bench -b of a missing belt exits with 3' 3 '' "there is no belt 'absent', *" hbctl bench -b absent

# Signals, sent in the foreground: a job in the background would ignore SIGINT.

# stop_later SIGNAL - once bench has made its belt, whose name ends in its process id, send a signal
stop_later() {
	at_last sh -c 'hbctl belts --raw --noheadings -o name | grep -q bench'
	kill "-$1" "$(hbctl belts --raw --noheadings -o name | sed -n 's/^hbctl-bench-//p')"
}

for signal in INT TERM; do
	stop_later $signal &
	status=0
	hbctl bench --duration 1m >"$temporary/out" 2>"$temporary/err" || status=$?
	wait $!
	result "bench destroys its belt after SIG$signal, and prints what it has counted" "$(none
		grep -q ' operations in ' "$temporary/out" || echo "no result: $(cat "$temporary/err")"
		[ $status -gt 128 ] || echo "expected a status above 128, found $status")"
done
is 'bench leaves no belt' 0 '' '' none
finish
