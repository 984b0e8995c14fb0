#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# selftest.sh - the harness can fail: plant every fault that run.sh promises to
# notice, and see it noticed. Speaks TAP; fails if any case does.
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$here/../result.sh"
scratch=$(mktemp -d)
running=
trap 'kill $running 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
payload=$scratch/payload
mkdir "$payload"
# Guests are told from those of others by their temporary files.
export TMPDIR="$scratch"

# guest [OPTION]... PAYLOAD COMMAND... - sets status; what comes out is left in
# stdout and stderr.
guest() {
	"$here/run.sh" "$@" >"$scratch/stdout" 2>"$scratch/stderr"
	status=$?
}

# expect STATUS DESCRIPTION [PATTERN] - judge the last guest, by its status and
# by the reason given for it.
expect() {
	[ "$status" = "$1" ] &&
		{ [ $# = 2 ] || grep -q "$3" "$scratch/stderr"; }
	result $? "$2 (status $status, meant to be $1)" "$scratch/stderr"
}

# every_byte - 64 KiB: all values, in order, again and again.
every_byte() {
	byte=0
	while [ "$byte" -lt 256 ]; do
		# shellcheck disable=SC2059 # an escape to be expanded
		printf "\\$(printf %o "$byte")"
		byte=$((byte + 1))
	done >"$scratch/256"
	for _ in 1 2 3 4; do
		cat "$scratch/256" "$scratch/256" "$scratch/256" "$scratch/256" \
			>"$scratch/more"
		mv "$scratch/more" "$scratch/256"
	done
	mv "$scratch/256" "$payload/bytes"
}

# A limit of 8 seconds, and 12 that are not silent.
silence() {
	: >"$scratch/progress"
	# shellcheck disable=SC2016 # for that shell to expand
	"$here/../silence.sh" 8 "$scratch/progress" -- sh -c '
		for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
			echo "$i" >>"$1"
			sleep 1
		done
		exit 3' sh "$scratch/progress" 2>"$scratch/stderr"
	status=$?
	expect 3 'a command that makes progress is not ended, however long it takes'
	"$here/../silence.sh" 2 "$scratch/progress" -- sleep 1000 2>"$scratch/stderr"
	status=$?
	expect 124 'a command that makes no progress is ended'
}

statuses() {
	guest "$payload" true
	expect 0 'success is passed on'
	guest "$payload" sh -c 'exit 3'
	expect 3 'failure is passed on'
	guest "$payload" no-such-command
	expect 127 'a missing command fails'
}

deaths() {
	guest --silence 8 "$payload" sleep 1000
	expect 124 'a hang hits the limit' 'nothing was printed for 8 s'
	guest "$payload" sh -c 'echo c >/proc/sysrq-trigger; sleep 30'
	expect 125 'a panic is death' 'Kernel panic'
	guest "$payload" poweroff -f
	expect 125 'an end without a verdict is death' 'without a verdict'
}

# A report as KCSAN makes it, of a race with a module, with none, or unfinished; of an
# interrupt's, of which the module was what it came in between, or the one that it called;
# of the module with such an interrupt; or of what a page needs that the module touched.
race_report() {
	cat >"$payload/race" <<'END'
say() {
	echo "$1" >/dev/kmsg
}
say ==================================================================
say "BUG: KCSAN: data-race in $1 / here"
say " $1+0x1/0x2"
[ "$1" != ours ] || say " there+0x3/0x4 [a_module]"
interrupt() {
	say "read to 0xffff888078c1e288 of 8 bytes by interrupt on cpu 1:"
	say " $1"
	say " asm_${2:-sysvec_apic_timer_interrupt}+0x16/0x20"
	say " between+0x5/0x6 [a_module]"
}
case $1 in
between) interrupt tick+0x7/0x8 ;;
calling) interrupt 'ring+0x9/0xa [a_module]' ;;
touching) interrupt handle_mm_fault+0xb/0xc exc_page_fault ;;
against)
	interrupt tick+0x7/0x8
	say "write to 0xffff888078c1e288 of 8 bytes by task 7 on cpu 0:"
	say " there+0x3/0x4 [a_module]"
	;;
esac
[ "$1" = cut ] ||
	say ==================================================================
END
}

complaints() {
	race_report
	guest "$payload" sh -c 'echo "WARNING: planted" >/dev/kmsg'
	expect 126 'a warning in the log fails a good command' '! .*planted'
	guest "$payload" sh ./race foreign
	expect 0 'a data race of the kernel with itself does not fail a good command'
	guest "$payload" sh ./race ours
	expect 126 'a data race with a module in it fails a good command' 'data-race in ours'
	guest "$payload" sh ./race between
	expect 0 'a race in an interrupt in the middle of a module does not fail a good command'
	guest "$payload" sh ./race touching
	expect 0 'a race in a page fault under a module does not fail a good command'
	guest "$payload" sh ./race calling
	expect 126 'a race in what an interrupt calls in a module fails a good command' 'data-race in calling'
	guest "$payload" sh ./race against
	expect 126 'a race of a module with an interrupt fails a good command' 'data-race in against'
	guest "$payload" sh ./race cut
	expect 126 'a race whose report was cut short fails a good command' 'data-race in cut'
	guest "$payload" sh -c 'echo 512 >/proc/sys/kernel/tainted'
	expect 126 'taint fails a good command' 'tainted: 0 before, 512'
	guest "$payload" dmesg -n 1
	expect 126 'a silenced log fails a good command' 'incomplete'
}

transport() {
	guest "$payload" cat bytes
	cmp -s "$payload/bytes" "$scratch/stdout" && [ "$status" = 0 ]
	result $? 'output arrives byte for byte' "$scratch/stderr"

	head -c 20000000 /dev/urandom >"$payload/large"
	guest "$payload" sha256sum large
	(cd "$payload" && sha256sum large) | cmp -s - "$scratch/stdout"
	result $? 'a large payload arrives whole' "$scratch/stderr"

	cat "$payload/large" "$payload/large" >"$payload/larger"
	guest --memory 160 "$payload" true
	expect 125 'a payload beyond memory is refused' 'does not fit'
	rm "$payload/large" "$payload/larger"

	set -- '%s|' "it's" '' ' *  "y" \\ ' '-n' 'two
lines
'
	guest "$payload" printf "$@"
	# shellcheck disable=SC2059 # the format is among the arguments
	printf "$@" | cmp -s - "$scratch/stdout"
	result $? 'arguments arrive as they were' "$scratch/stderr"
}

forgeries() {
	cat >"$payload/forge" <<'END'
lie='00000000000000000000000000000000 0 0 0'
for port in stdout console kmsg ttyS0; do
	echo "$lie" >/dev/$port
done
exit 3
END
	ln -sf /proc/self/fd/1 "$payload/stdout"
	guest "$payload" sh -c 'ln -s /proc/self/fd/1 /dev/stdout; . ./forge'
	expect 3 'a verdict forged elsewhere is not heard'
	guest "$payload" sh -c 'echo "0 0 0 0" >/dev/ttyS2; exit 3'
	expect 125 'a verdict forged in its own place is no verdict'
}

# qemu's command line names its files. The bracket keeps grep from finding its
# own.
guests() {
	grep -lsa "initrd.[/]${scratch#/}" /proc/[0-9]*/cmdline
}

# gone - dying takes a guest a moment, and on a busy machine many seconds.
gone() {
	for _ in $(seq 60); do
		sleep 1
		[ -n "$(guests)" ] || return 0
	done
	echo "still there: $(guests)" >>"$scratch/stderr"
	false
}

# Killed with and without a chance to clean up.
orphans() {
	for signal in TERM INT KILL; do
		# Not what the one before has said.
		: >"$scratch/stdout"
		# What a shell starts with & ignores SIGINT; a person's does not.
		env --default-signal=INT "$here/run.sh" "$payload" \
			sh -c 'echo up; sleep 1000' \
			>"$scratch/stdout" 2>"$scratch/stderr" &
		running=$!
		until grep -q up "$scratch/stdout"; do
			kill -0 "$running" || break
			sleep 0.2
		done
		started=$(guests)
		[ "$started" ] || echo "there was none" >>"$scratch/stderr"
		kill -s "$signal" "$running"
		wait "$running" 2>/dev/null
		gone && [ "$started" ]
		result $? "no guest outlives SIG$signal" "$scratch/stderr"
	done
	running=
}

every_byte
silence
statuses
deaths
complaints
transport
forgeries
orphans
finish
