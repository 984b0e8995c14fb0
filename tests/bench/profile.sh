#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# profile.sh [--lines] OPERATION [HASHBELT.KO] - print how many instructions each function takes in a
# call of OPERATION, an operation of bench.c such as "get hit". For one whose name ends in "64 a
# call", the figures are for a key.
#
# The first table has the functions of the kernel and of the module, as /proc/kallsyms names them.
# The second divides the module's functions by the functions that the compiler inlined into them,
# or with --lines by lines of the source.
#
# A guest runs the operation in an emulator that executes one instruction at a time, and that writes
# the address of each to a pipe. Of the slices of 64 calls that bench.c makes, the cheapest counts, as
# in count.sh: so no interrupt is in it. For an operation whose name ends in "freed" all slices
# count, with interrupts and all other tasks.
set -eu
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd)
payload=$top/.cache/build/payload
work=$(mktemp -d)
guest='' watcher=''
trap 'stop; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2317 # called by the trap
stop() {
	for process in $watcher $guest; do
		kill "$process" 2>/dev/null || true
	done
	wait
}

fail() {
	echo "profile.sh: $1" >&2
	exit 1
}

# boot - start the guest. Its output is the symbols, compressed because a serial line is slow to
# emulate, the address of the module's text, and then the line of bench.c, after which the operation
# is repeated.
boot() {
	mkdir "$work/payload"
	cp "$module" "$work/payload/hashbelt.ko"
	cp "$payload/bench" "$work/payload"
	mkfifo "$work/output" "$work/trace"
	# shellcheck disable=SC2016 # for the guest's shell to expand
	"$top/tests/vm/run.sh" --count-instructions --monitor "$work/monitor" "$work/payload" \
		sh -c 'sleep 3; insmod hashbelt.ko && grep " [TtWw] " /proc/kallsyms | gzip -1 | base64 &&
		echo "text $(cat /sys/module/hashbelt/sections/.text)" &&
		./bench --rounds 400 --unit instructions --only "$1" --repeat' \
		sh "$operation" >"$work/output" 2>"$work/log" &
	guest=$!
	sed '/ instructions (/q' "$work/output" >"$work/head"
	tail -n 1 "$work/head" | grep -q ' instructions (' || {
		grep "[[:blank:]]" "$work/head" >&2 || true
		cat "$work/log" >&2
		fail "the guest did not measure '$operation'"
	}
}

# trace - let the emulator write a line for each instruction. QEMU 8.1 gave singlestep another name;
# the monitor ignores the command that it does not know. If the guest ends early, the watcher closes
# the pipe, so that the trace has an end.
trace() {
	{
		tail -f --pid="$guest" /dev/null
		: >"$work/trace"
	} &
	watcher=$!
	printf '%s\n' stop "logfile $work/trace" "singlestep on" "one-insn-per-tb on" \
		"log exec,nochain" cont 1<>"$work/monitor.in"
}

# address FUNCTION - print the address of a function of bench, as the trace has it.
address() {
	nm "$payload/bench" | awk -v name="$1" '$3 == name { print $1 }'
}

# count - read the trace, and print "ADDRESS COUNT" for the instructions of the cheapest slice, or of
# all; and before these a line "slices NUMBER COUNTED". A slice is all from one call of now_ns() to
# the next, in time_slice(). A line other than "Trace" tells that the instruction of the line before
# was not executed yet.
count() {
	awk -v slice="$(address time_slice)" -v clock="$(address now_ns)" -v flow="$flow" \
		-v limit="$limit" '
	function end_slice(	pc) {
		slices++
		if (flow || !least || total < least) {
			least = total
			if (!flow)
				split("", best)
			for (pc in counts)
				best[pc] += counts[pc]
		}
	}
	NR > limit { exit }
	!/^Trace / {
		if (stage == 2 && last != "") {
			counts[last]--
			total--
			last = ""
		}
		next
	}
	{ pc = substr($0, index($0, "/") + 1, 16) }
	pc == slice { stage = 1 }
	pc == clock && stage && ++stage == 2 {
		split("", counts)
		total = 0
	}
	stage == 3 {
		end_slice()
		stage = 0
	}
	stage == 2 {
		counts[pc]++
		total++
		last = pc
	}
	END {
		if (NR <= limit || !slices)
			exit 1
		print "slices", slices, flow ? slices : 1
		for (pc in best)
			print pc, best[pc]
	}' "$work/trace"
}

# functions - print "ADDRESS COUNT FUNCTION [MODULE]" for each counted instruction: the function is the
# last one that begins at or before the address.
functions() {
	{
		sed '/^text /,$d' "$work/head" | base64 -d | gzip -d | awk '{ print $1, 0, $3, $4 }'
		awk '$1 != "slices" { print $1, 1, $2 }' "$work/counts"
	} | LC_ALL=C sort -s -k 1,2 | awk '
		$2 == 0 && $1 != at {
			at = $1
			name = $3 " " $4
		}
		$2 == 1 { print $1, $3, $1 ~ /^f/ ? name : "user-space" }'
}

# inlined - print "COUNT INLINED-FUNCTION FILE FUNCTION" for each instruction of the module: the
# innermost function there that is in no header of the kernel, and the function whose code it is in.
# With --lines the file has a line.
inlined() {
	base=$(sed -n 's/^text 0xffffffff//p' "$work/head")
	grep '\[hashbelt\]$' "$work/functions" >"$work/own"
	while read -r address _; do
		printf '%x\n' $((0x${address#ffffffff} - 0x$base))
	done <"$work/own" >"$work/offsets"
	addr2line -a -i -f -e "$module" -j .text <"$work/offsets" | awk -v lines="$lines" '
		function end_address() {
			if (NR > 1)
				print name, place
		}
		/^0x/ {
			end_address()
			line = found = 0
			next
		}
		found { next }
		++line % 2 {
			name = $1
			next
		}
		{
			found = !/\/include\//
			sub(/ \(.*/, "")
			sub(/.*\//, "")
			if (!lines)
				sub(/:.*/, "")
			place = $0
		}
		END { end_address() }' >"$work/inlined"
	paste -d ' ' "$work/inlined" "$work/own" | awk '{ print $4, $1, $2, $5 }'
}

# table HEAD - read lines "COUNT NAME", and print the sum of each name, divided by the number of calls,
# the largest first; at the end the sum of all.
table() {
	printf '\n%12s  %s\n' instructions "$1"
	awk -v calls="$calls" -v sort="LC_ALL=C sort -k 1,1nr -k 2" '
		{
			count = $1
			sub(/^[^ ]+ /, "")
			of[$0] += count
			all += count
		}
		END {
			for (name in of)
				printf "%12.1f  %s\n", of[name] / calls, name | sort
			close(sort)
			printf "%12.1f  %s\n", all / calls, "all"
		}'
}

# report - print all.
report() {
	read -r _ slices counted <"$work/counts"
	calls=$((counted * 64))
	functions >"$work/functions"
	awk -v calls=$calls -v name="$operation" -v slices="$slices" -v counted="$counted" '
		FNR == NR { all += $2 * (FNR > 1); next }
		/ instructions \(/ { sub(/ instructions \(.*/, ""); bench = $NF }
		END {
			printf "%s: %.1f instructions, ", name, all / calls
			printf counted == 1 ? "in the cheapest of %d slices" : "in %d slices", slices
			printf " of 64; bench counted %d in the same guest\n", bench
		}' "$work/counts" "$work/head"
	awk '{ print $2, $3 ($4 == "" ? "" : "  " $4) }' "$work/functions" | table "function"
	inlined | awk '{ print $1, $2 " (" $3 ")" ($2 == $4 ? "" : " in " $4) }' |
		table "in the module, by inlined function"
}

lines=''
[ "${1-}" != --lines ] || {
	lines=yes
	shift
}
[ $# -ge 1 ] || fail "usage: profile.sh [--lines] OPERATION [HASHBELT.KO]"
operation=$1
module=${2:-$payload/hashbelt.ko}
case $operation in
# While tasks run, a grace period, after which the kernel frees, ends every three ticks: after
# 12,000,000 instructions.
*freed) flow=1 limit=24000000 ;;
*) flow='' limit=2000000 ;;
esac
"$top/tests/need.sh" binutils
boot
trace
count >"$work/counts" || fail "the guest ended early, or no slice ended in $limit instructions"
report
