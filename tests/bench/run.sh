#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [SCENARIO]... - measure scenarios of figures.sh: peers, times, sizes, serve, python, native, one of expiry, or
# expiry with all of these, and without an argument the first three. Prints tables, and leaves the lines of figures.sh
# in .cache/build/bench.json.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
file=$top/.cache/build/bench.json

# table NAME HEADLINE
table() {
	printf '\n%s\n\n' "$2"
	"$here/table.sh" "$file" "$1"
}

# show SCENARIO - print the tables of a scenario.
show() {
	case $1 in
	peers)
		table instructions "Instructions of an operation, in a cache of 100,000 entries"
		table ratios "The same with the work that the kernel does meanwhile, as multiples of an ioctl that returns at once"
		;;
	times) table times "Their time in an emulated machine, as multiples of that ioctl: the 64 calls in a row that took least" ;;
	sizes) table sizes "The time of operations on belts in an emulated machine, as multiples of that ioctl" ;;
	serve)
		table serve "Instructions of a request to a server with one thread, over a unix socket, client included"
		table served "Of these, those of the server: a put has a time-to-live, as SET with EX; a count is INCR"
		table clients "The same by memcslap, with what this client does; it chooses sizes of keys and values at random"
		;;
	expiry) table expiry "Microseconds of a get each millisecond, before and while a million other entries expire on one processor" ;;
	expiry-busy) table expiry-busy "The same on two processors, each with a task that never pauses, in instructions of both" ;;
	*-lazy) table "$1" "${1%-lazy} on the newest kernel, with lazy preemption" ;;
	*-full) table "$1" "${1%-full} on the newest kernel, with full preemption" ;;
	*-rt) table "$1" "${1%-rt} on a kernel with PREEMPT_RT" ;;
	native) table native "Nanoseconds of a read on this machine, without the module: 64 in a row that were the median" ;;
	python)
		table python "Operations in Python, as multiples of an ioctl through ctypes that returns at once"
		;;
	esac
}

[ $# -gt 0 ] || set -- peers times sizes
case " $* " in
*" expiry "*)
	set -- "$@" expiry-busy
	for kernel in lazy full rt; do
		set -- "$@" expiry-$kernel expiry-busy-$kernel
	done
	;;
esac
mkdir -p "${file%/*}"
"$here/figures.sh" "$@" >"$file.new"
mv "$file.new" "$file"
for scenario; do
	show "$scenario"
done
printf '\nAll figures, as lines of JSON: %s\n' "$file"
