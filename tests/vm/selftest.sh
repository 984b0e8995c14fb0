#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# selftest.sh - plant each fault that run.sh must notice, and check that run.sh
# notices it. Prints TAP; fails if any case fails.
set -u
unset CDPATH

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
# The temporary files tell this script's guests from others.
export TMPDIR="$scratch"

# guest [OPTION]... PAYLOAD COMMAND... - run a guest; sets status. The output is in
# the files stdout and stderr.
guest() {
	"$here/run.sh" "$@" >"$scratch/stdout" 2>"$scratch/stderr"
	status=$?
}

# expect STATUS DESCRIPTION [PATTERN] - a test: the last guest has STATUS, and stderr
# matches PATTERN.
expect() {
	[ "$status" = "$1" ] &&
		{ [ $# = 2 ] || grep -q "$3" "$scratch/stderr"; }
	result $? "$2 (expected status $1, found $status)" "$scratch/stderr"
}

# silence - a limit of 8 seconds, and a command that prints for 12 seconds.
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
	expect 3 'silence.sh does not end a command that prints once a second for 12 seconds'
	"$here/../silence.sh" 2 "$scratch/progress" -- sleep 1000 2>"$scratch/stderr"
	status=$?
	expect 124 'silence.sh ends a command that prints nothing'
	EVIDENCE="exec sleep 1000" timeout --preserve-status 60 \
		"$here/../silence.sh" 2 "$scratch/progress" -- sleep 1000 2>"$scratch/stderr"
	status=$?
	expect 124 'silence.sh ends a command about which it learns nothing'
}

statuses() {
	guest "$payload" true
	expect 0 'run.sh returns the status 0 of the command'
	guest "$payload" sh -c 'exit 3'
	expect 3 'run.sh returns the status 3 of the command'
}

deaths() {
	guest --silence 8 "$payload" sleep 1000
	expect 124 'run.sh ends a guest that hangs' 'nothing was printed for 8 s'
	expect 124 'run.sh tells where each processor of a guest that hangs is' '^RIP=.* HLT='
	guest "$payload" sh -c 'echo c >/proc/sysrq-trigger; sleep 30'
	expect 125 'run.sh returns 125 after a panic' 'Kernel panic'
	guest "$payload" sh -c 'cd /proc/sys/kernel && cat hung_task_panic panic_on_rcu_stall | grep -cx 1 | grep -x 2'
	expect 0 'a task or a processor that hangs makes the kernel of a guest panic'
	guest --append rdinit=/none --append panic=-1 "$payload" true
	expect 125 'run.sh says that a guest that panics at boot did not come to its command' \
		'did not come to its command'
	guest "$payload" poweroff -f
	expect 125 'run.sh returns 125 if the guest ends without a verdict' 'without a verdict'
}

# race_report - write a script that prints a report in KCSAN's form. Its argument says of what:
#
#	ours		a race with a module in a stack
#	cut		a report without an end
#	calling		a race in a module that an interrupt has called
#	against		a race of a module with an interrupt
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
	say " asm_sysvec_apic_timer_interrupt+0x16/0x20"
	say " between+0x5/0x6 [a_module]"
}
case $1 in
calling) interrupt 'ring+0x9/0xa [a_module]' ;;
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
	expect 126 'run.sh returns 126 after a warning in the log' '! .*planted'
	guest "$payload" sh ./race ours
	expect 126 'run.sh returns 126 after a data race with a module in a stack' 'data-race in ours'
	guest "$payload" sh ./race calling
	expect 126 'run.sh returns 126 after a data race in a module that an interrupt has called' \
		'data-race in calling'
	guest "$payload" sh ./race against
	expect 126 'run.sh returns 126 after a data race of a module with an interrupt' \
		'data-race in against'
	guest "$payload" sh ./race cut
	expect 126 'run.sh returns 126 after a report of a data race that was cut short' \
		'data-race in cut'
	guest "$payload" sh -c 'echo 512 >/proc/sys/kernel/tainted'
	expect 126 'run.sh returns 126 if the kernel becomes tainted' 'tainted: 0 before, 512'
	guest "$payload" dmesg -n 1
	expect 126 'run.sh returns 126 if the kernel does not print its log' 'incomplete'
}

transport() {
	set -- '%s|' "it's" '' ' *  "y" \\ ' '-n' 'two
lines
'
	guest "$payload" printf "$@"
	# shellcheck disable=SC2059 # the format is among the arguments
	printf "$@" | cmp -s - "$scratch/stdout"
	result $? 'arguments of a command arrive unchanged' "$scratch/stderr"
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
	expect 3 'run.sh ignores a forged verdict on the console, the log and stdout'
	guest "$payload" sh -c 'echo "0 0 0 0" >/dev/ttyS2; exit 3'
	expect 125 'run.sh returns 125 after a forged verdict on the port of verdicts'
}

# guests - print the processes of this script's guests: qemu's command line names its files.
# The bracket keeps grep from finding itself.
guests() {
	grep -lsa "initrd.[/]${scratch#/}" /proc/[0-9]*/cmdline
}

# gone - wait until no guest is left: on a busy machine that takes many seconds.
gone() {
	for _ in $(seq 60); do
		sleep 1
		[ -n "$(guests)" ] || return 0
	done
	echo "still there: $(guests)" >>"$scratch/stderr"
	false
}

# orphans - kill run.sh by signals with and without a handler.
orphans() {
	for signal in TERM INT KILL; do
		# Discard the output of the last guest.
		: >"$scratch/stdout"
		# A shell starts background commands with SIGINT ignored.
		env --default-signal=INT "$here/run.sh" "$payload" \
			sh -c 'echo up; sleep 1000' \
			>"$scratch/stdout" 2>"$scratch/stderr" &
		running=$!
		until grep -q up "$scratch/stdout"; do
			kill -0 "$running" || break
			sleep 0.2
		done
		started=$(guests)
		[ "$started" ] || echo "expected a guest, found none" >>"$scratch/stderr"
		kill -s "$signal" "$running"
		wait "$running" 2>/dev/null
		gone && [ "$started" ]
		result $? "no guest is left after SIG$signal to run.sh" "$scratch/stderr"
	done
	running=
}

silence
statuses
deaths
complaints
transport
forgeries
orphans
finish
