#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# figures.sh SCENARIO... - measure in guests, one for each scenario, or on this machine, and print
# lines of JSON. Progress goes to stderr.
#
#	peers	instructions of operations on belts and on what they are compared with
#	times	the same in time
#	sizes	time of all operations of bench.c on small and large belts
#	entries	instructions with more and more entries
#	buckets	the same with more and more buckets
#	belts	the same with more and more belts, over which the entries are spread
#	memory	bytes of an entry, with small and large values
#	serve	instructions of the same requests to memcached and to hbserve, also by memcslap, and bytes of
#		a connection; of requests to Redis and to hbserve by its protocol; and of gets from a
#		server that only answers (echo.c). With SERVERS=sid in the environment, Redis is that
#		of Debian's unstable, and with SERVERS=experimental that of experimental; Valkey of
#		unstable is measured, too
#	python	instructions of the package for Python, and of other caches of Python
#	expiry	how long gets take before and while a million other entries expire
#	expiry-busy	the same on two processors, each with a task that never pauses. Instructions of both
#		processors count, so each takes two nanoseconds for one of its own
#	expiry-lazy, expiry-full, expiry-rt, expiry-busy-lazy, expiry-busy-full, expiry-busy-rt	these of a belt
#		and of memcached, on kernels that preempt tasks in other ways: the newest that is released, which
#		lets a task that others should preempt go on until the next tick; the same with preempt=full;
#		and Debian's with PREEMPT_RT
#	native	time of a read from a window on this machine, without the module, beside other reads
#		(window.c)
#	trial, python-trial, native-trial, busy-trial	some of each, on few entries, for figures.t
#
# A line is a figure, a JSON object with these members. New ones may come; these keep their meaning:
#
#	scenario	its name
#	figure		cost, client, memory, idle or latency
#	peer		the measured cache
#	entries, value_size	the number of entries, and the bytes of a value; keys have 16 bytes
#	buckets, belts	buckets of each belt, and belts over which the entries are spread
#	operation	cost: the operation
#			client: the client and its test
#	ratio		cost: the cost of all calls, with the work that the kernel and servers do
#			meanwhile, as a multiple of an ioctl that returns at once
#	unit		cost: "instructions" or "ns"; absent if no absolute cost was asked for, and so
#			are the next two
#	cost, floor	cost: a call of the operation, and of the ioctl that returns at once, on
#			average over the 64 calls in a row that cost least. In the scenario native
#			that of the median such row, and of a system call that returns at once
#	server		cost: the part of a server in the cost
#			client: cost alone, for a key, of the client and the server
#	bytes		memory: bytes that an entry takes, with its share of all tables
#			idle: bytes that a connection takes which waits for a request
#	share		cost: the share of gets that made no system call; absent if each makes one
#	phase		latency: "before" or "during" the expiry of all entries
#	percentile, ns	latency: so many of 100 gets took at most so many nanoseconds, or
#			instructions where these are counted
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# progress SCENARIO - print the lines, each with the scenario, and on stderr a line whenever the next
# cache or size comes, and all lines that are no JSON.
progress() {
	last=''
	while IFS= read -r line; do
		case $line in
		'{'*) ;;
		*)
			echo "$1: $line" >&2
			continue
			;;
		esac
		printf '{"scenario":"%s",%s\n' "$1" "${line#?}"
		now=${line#*'"peer":'}
		now=${now%%,'"operation"'*}
		now=${now%%,'"phase"'*}
		now=${now%%,'"bytes"'*}
		[ "$now" = "$last" ] || echo "$1: $now" | tr -d '"' >&2
		last=$now
	done
}

# use_kernel NAME - let the next guest boot another kernel, with a payload that has a module for it.
use_kernel() {
	module=$top/.cache/build/module-bench-$1
	if [ "$1" = rt ]; then
		image=$("$top/tests/vm/kernel.sh" image rt)
		headers=$("$top/tests/vm/kernel.sh" headers rt)
		"$top/tests/module.sh" "$headers" "$module" >&2
	else
		image=$("$top/tests/matrix/kernel.sh" newest image)
		"$top/tests/matrix/kernel.sh" newest module "$module" >&2
	fi
	rm -rf "$work/payload"
	cp -a "$payload" "$work/payload"
	payload=$work/payload
	strip -g -o "$payload/hashbelt.ko" "$module/hashbelt.ko"
}

# measure SCENARIO [OPTION]... - in a guest with these options, and with the payload that "make $target" has
# built. The name of a scenario may end with that of a kernel.
measure() {
	scenario=$1
	shift
	make -s -C "$top/tests" "$target" SERVERS="${SERVERS-}"
	payload=$top/.cache/build/payload-$target image=''
	case $scenario in
	*-lazy | *-full | *-rt) use_kernel "${scenario##*-}" ;;
	esac
	case $scenario in *-full) set -- "$@" --append preempt=full ;; esac
	"$top/tests/vm/run.sh" --silence 1800 ${image:+--image "$image"} "$@" "$payload" \
		sh ./guest.sh "$scenario" >"$work/pipe" &
	progress "$scenario" <"$work/pipe"
	wait $!
}

# measure_here SCENARIO KEYS... - measure on this machine, with so many keys.
measure_here() {
	scenario=$1
	shift
	make -s -C "$top/tests" window
	"$top/.cache/build/native/window" --json "$@" >"$work/pipe" &
	progress "$scenario" <"$work/pipe"
	wait $!
}

mkfifo "$work/pipe"
for scenario; do
	target=bench
	case $scenario in
	python | python-trial)
		target=bench-python
		measure "$scenario" --count-instructions --memory 2048
		;;
	native) measure_here native 1000 10000 100000 1000000 ;;
	native-trial) measure_here native-trial 1000 ;;
	times | sizes) measure "$scenario" --memory 2048 ;;
	expiry-busy | expiry-busy-lazy | expiry-busy-full | expiry-busy-rt | busy-trial)
		measure "$scenario" --count-instructions --cpus 2 --memory 2048
		;;
	belts | entries) measure "$scenario" --count-instructions --memory 4096 ;;
	peers | buckets | serve | memory | expiry | expiry-lazy | expiry-full | expiry-rt | trial)
		measure "$scenario" --count-instructions --memory 2048
		;;
	*)
		echo "figures.sh: no such scenario: $scenario" >&2
		exit 2
		;;
	esac
done
