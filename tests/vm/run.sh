#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh [OPTION]... PAYLOAD COMMAND [ARGUMENT]...
#
# Boot a small guest, run COMMAND in it in a copy of the directory PAYLOAD, and
# check the result. The guest has only busybox and the payload: programs in the payload have
# to be linked statically, or their libraries have to be in PAYLOAD/host, which copy.sh
# fills: the guest moves that to its root directory.
#
#   --silence SECONDS      end a guest that prints nothing for SECONDS; 0: never (300)
#   --memory MB            memory of the guest (1024)
#   --cpus N               processors of the guest (2; with --count-instructions 1)
#   --count-instructions   one nanosecond of the guest's clocks is one instruction, of any
#                          processor: results repeat exactly
#   --shift N              with that, 2^N nanoseconds are one instruction (0)
#   --numa                 two nodes, each with half of processors and memory
#   --interactive          a prompt on this terminal, after COMMAND, which is
#                          optional; no limit on silence. The guest ends with the terminal
#   --append ARGUMENTS     more kernel arguments; may be given several times
#   --monitor PATH         the emulator's monitor reads commands from the named pipe PATH.in, which
#                          run.sh makes, and answers on PATH.out
#   --keep DIRECTORY       leave kernel.log, output.log, qemu.log there
#   --image FILE           a kernel, vmlinuz or vmlinux, instead of the stock one
#   --machine pc|arm64|s390x
#                          the processor; others than that of a pc are always emulated (pc)
#   --accel kvm|tcg        use this accelerator without a trial
#
# Exit status: 124 if the guest was silent for too long; 125 if the guest ended without a
# verdict or the harness failed; 126 if the kernel warned, whatever the command's status;
# otherwise the command's status. The reason is on stderr. stdout has the command's stdout
# and stderr, live and unchanged.

set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
# shellcheck source=tests/environment.sh
. "$top/tests/environment.sh"
cache=$("$here/../cache.sh" vm)

say() {
	echo "run.sh: $1" >&2
}

fail() {
	say "$1"
	exit 125
}

usage() {
	sed -n '/^# run.sh/,/^$/s/^# \{0,1\}//p' "$0"
	exit 0
}

# Patterns of the kernel's warnings. Lockdep, RCU, UBSAN and kmemleak do not taint the
# kernel, so only the log shows their warnings.
complaints='BUG:|WARNING:|Oops|Kernel panic|general protection|Internal error'
complaints="$complaints|KASAN|KCSAN|KMSAN|KFENCE|UBSAN|ODEBUG:"
complaints="$complaints|unreferenced object|suspected memory leak|refcount_t"
complaints="$complaints|scheduling while atomic|sleeping function called"
complaints="$complaints|suspicious RCU|Voluntary context switch within RCU"
complaints="$complaints|possible (circular|recursive|irq)|inconsistent lock"
complaints="$complaints|bad unlock balance|held lock freed|Invalid wait context"
complaints="$complaints|non-static key|lock held when returning|still has locks"
complaints="$complaints|nested lock was not taken|DEADLOCK"
complaints="$complaints|rcu.*[ -]stall|detected stall|workqueue lockup"
complaints="$complaints|(soft|hard) lockup|hard LOCKUP|hung task"
complaints="$complaints|blocked for more than|list_(add|del) corruption"
complaints="$complaints|slab error|Poison overwritten|Redzone|Object already free"
complaints="$complaints|Bad page|bad usercopy|usercopy: Kernel memory"
complaints="$complaints|messages dropped|kmemleak: (Cannot|Memory|.* disabled)"

# The taint flags that hashbelt and its tests set: out of tree (4096), unsigned (8192), a live patch
# (32768), a test suite (262144).
permitted=$((4096 | 8192 | 32768 | 262144))

silence='' memory=1024 cpus='' append='' keep='' image='' accel=''
count='' shift=0 numa='' console='' monitor='' interactive='' machine=pc emulator=qemu-system-x86_64
work='' guest='' reader='' watcher='' terminal=''

# cleanup - end the guest, the reader and the watcher, restore the terminal, remove temporary files.
# shellcheck disable=SC2317 # called by the trap
cleanup() {
	trap '' HUP INT TERM
	for process in $guest $reader $watcher; do
		kill "$process" 2>/dev/null || true
		wait "$process" || true
	done
	[ -z "$terminal" ] || stty "$terminal" || true
	[ -z "$work" ] || rm -rf "$work"
}

number() {
	case $2 in
	'' | *[!0-9]*) fail "$1: not a number: $2" ;;
	esac
}

# set_option NAME VALUE
set_option() {
	case $1 in
	--silence) number "$@" && silence=$2 ;;
	--memory) number "$@" && memory=$2 ;;
	--cpus) number "$@" && cpus=$2 ;;
	--shift) number "$@" && shift=$2 ;;
	--append) append="$append $2" ;;
	--keep) keep=$2 ;;
	--monitor) monitor=$2 ;;
	--image) image=$2 ;;
	--accel)
		case $2 in
		kvm | tcg) accel=$2 ;;
		*) fail "$1: neither kvm nor tcg: $2" ;;
		esac
		;;
	--machine)
		case $2 in
		pc) ;;
		arm64) emulator=qemu-system-aarch64 accel=tcg ;;
		s390x) emulator=qemu-system-s390x accel=tcg ;;
		*) fail "$1: none of pc, arm64 and s390x: $2" ;;
		esac
		machine=$2
		;;
	*) fail "no such option: $1 (see --help)" ;;
	esac
}

# quote WORD... - print each word on a line, quoted for a shell.
quote() {
	for word; do
		printf '%s\n' "$word" |
			sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/' \\\\/"
	done
}

# task WORD... - print the file /task for the guest's init. The nonce is in that file and
# not on the kernel's command line: the command could read it there, and it would change
# the kernel's random numbers, and so the counts of instructions.
task() {
	echo "nonce=$nonce prompt=$interactive TERM=${TERM:-linux}"
	# A terminal that does not know its size says 0 0.
	size=$(stty size 2>/dev/null | sed -n '/^0/d; s/ / cols /; s/^/rows /p')
	echo "size='$size'"
	printf 'set -- %s\n' "\\"
	quote "$@"
	echo
}

# archive WORD... - make the guest's file system. It is not compressed: unpacking costs the
# guest more than loading. It is always the same for the same payload, so that counted
# instructions repeat, whatever umask the payload was built with.
archive() {
	root=$work/root
	mkdir -p "$root/bin" "$root/payload"
	cp "$busybox" "$root/bin/busybox"
	cp "$here/init" "$root/init"
	[ ! "$console" ] || cp "$console" "$root/virtio_console.ko"
	chmod 755 "$root/init"
	cp -a "$payload/." "$root/payload/"
	chmod -R u+rwX,go+rX,go-w "$root/payload"
	# Sorts after the payload: init checks by it that the archive is complete.
	task "$@" >"$root/task"
	find "$root" -exec touch -h -d @0 {} +
	(cd "$root" && find . -print0 | LC_ALL=C sort -z |
		cpio -o -0 -H newc -R +0:+0 --reproducible --quiet) \
		>"$work/initramfs"
	rm -r "$root"
}

# choose_accel - sets accel. A guest with /dev/kvm may hang, so use KVM only if a trial guest
# came to its end. The answer is cached until this machine is restarted. Failures other than
# a hang are quick, and not cached.
choose_accel() {
	accel=tcg
	[ -w /dev/kvm ] || return 0
	answer=$cache/accel-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -s "$answer" ]; then
		mkdir "$work/empty"
		"$0" --accel kvm --silence 5 --image "$image" "$work/empty" \
			true >/dev/null 2>&1 &
		guest=$!
		result=0
		wait "$guest" || result=$?
		guest=
		rm -f "$cache"/accel-*
		case $result in
		0) echo kvm >"$work/answer" ;;
		124) echo tcg >"$work/answer" ;;
		*) return 0 ;;
		esac
		cp "$work/answer" "$answer.$$" && mv "$answer.$$" "$answer"
	fi
	read -r accel <"$answer"
}

# qemu ARGUMENT... - run the emulator. Death signals (pdeathsig) end it even if this script is
# killed by SIGKILL. Before a silent guest is ended, the emulator's monitor tells where each
# processor is: a guest that hangs while its kernel boots says nothing else about the cause.
qemu() {
	export EVIDENCE="echo 'info registers -a' >$monitor.in; echo 'info lapic' >$monitor.in
		timeout 3 cat $monitor.out >$work/processors"
	exec setpriv --pdeathsig TERM \
		"$here/../silence.sh" "$silence" "$logs/kernel.log" "$logs/output.log" -- \
		"$emulator" -nodefaults -nic none -no-reboot \
		-chardev pipe,id=monitor,path="$monitor" -mon chardev=monitor \
		-display none -m "$memory" -kernel "$image" \
		-initrd "$work/initramfs" "$@" 2>"$logs/qemu.log"
}

# tsc - print arguments that tell the guest the frequency of its TSC, which is the host's: half of
# the host's bogomips. On a busy host a guest that measured it was wrong by a factor of seven, and
# by another factor for each further processor: sleeps of a second took 128 ms, and the scheduler's
# clock, which the lockup watchdog uses, was as wrong. The emulator does not declare its TSC
# constant; without "reliable" the kernel would read the HPET instead, which takes a lock of the
# emulator. (A jiffy is 4 ms.)
tsc() {
	awk '/^bogomips/ {
		printf "tsc=reliable tsc_early_khz=%d lpj=%d", $3 * 500, $3 * 2000
		exit
	}' /proc/cpuinfo
}

# nodes - print options for two nodes, each with half of the processors and of the memory.
nodes() {
	half=$((cpus / 2))
	echo "-object memory-backend-ram,id=a,size=$((memory / 2))M" \
		"-object memory-backend-ram,id=b,size=$((memory - memory / 2))M" \
		"-numa node,memdev=a,cpus=0-$((half - 1))" \
		"-numa node,memdev=b,cpus=$half-$((cpus - 1))"
}

# take_turns ARGUMENT... - run an emulator that counts instructions of several processors. Each runs for a part of the
# time until the emulator's next timer, and then the next one. So there is a timer each 10 us, of a device without use.
take_turns() {
	qemu "$@" -smp "$sockets" -netdev hubport,id=none,hubid=0 \
		-object filter-buffer,id=timer,netdev=none,interval=10 \
		-append "$line nokaslr norandmaps tsc=reliable $append"
}

# machine ARGUMENT... - run qemu with the options for the kind of machine. The processor that
# qemu emulates has a faulty cmpxchg16b, which crashes kernels at random: hide it. Without
# no_timer_check a kernel panics if its first ticks are late, as they are on a busy host. Each
# processor has its own socket: the BIOS's tables, which a kernel without ACPI reads, name one
# processor for each socket. A kernel that hangs while it boots is to be silent: it does not report
# stalls of RCU, which it would do again and again; from init on they make it panic.
machine() {
	sockets="$cpus,sockets=$cpus,cores=1,threads=1"
	line="console=ttyS0 loglevel=7 panic=-1 oops=panic softlockup_panic=1 printk.devkmsg=on"
	line="$line rcupdate.rcu_cpu_stall_suppress_at_boot=1"
	# shellcheck disable=SC2046 # arguments, split on purpose
	[ ! "$numa" ] || set -- "$@" $(nodes)
	if [ "$machine" = arm64 ]; then
		# The cheapest algorithm of pointer authentication for an emulator.
		qemu "$@" -machine virt,gic-version=3 -accel tcg,thread=multi \
			-smp "$sockets" -cpu max,pauth-impdef=on -append "$line $append"
	elif [ "$machine" = s390x ]; then
		# The console waits for room for its messages.
		qemu "$@" -machine s390-ccw-virtio -accel tcg,thread=multi -smp "$sockets" -cpu max \
			-append "${line#* } console=ttysclp0 sclp_con_drop=0 $append"
	elif [ "$count" ]; then
		set -- "$@" -accel tcg,thread=single -cpu max,cx16=off,rdrand=off,rdseed=off \
			-icount "shift=$shift,sleep=off" -seed 1 \
			-rtc base=2026-01-01T00:00:00,clock=vm
		[ "$cpus" = 1 ] || take_turns "$@"
		qemu "$@" -smp 1 -append "$line nokaslr norandmaps $append"
	elif [ "$accel" = kvm ]; then
		qemu "$@" -accel kvm -smp "$sockets" -cpu host \
			-append "$line $append"
	else
		qemu "$@" -accel tcg,thread=multi -smp "$sockets" \
			-cpu max,cx16=off -append "$line no_timer_check $(tsc) $append"
	fi
}

# attach CHARDEV... - sets ports to the options for the guest's serial ports ttyS0, ttyS1 and so
# on. Only a PC has several; an arm64 gets PCI cards. A s390x has a console of its own, which is the
# first, and consoles of virtio.
attach() {
	ports=
	for chardev; do
		case $machine$ports in
		pc*) ports="$ports -serial chardev:$chardev" ;;
		arm64*) ports="$ports -device pci-serial,chardev=$chardev" ;;
		s390x) ports="-device sclpconsole,chardev=$chardev -device virtio-serial-ccw" ;;
		s390x*) ports="$ports -device virtconsole,chardev=$chardev" ;;
		esac
	done
}

# watch_terminal PID - end the guest when the terminal has gone. The signal that tells this reaches only the
# leader of the session, which may ignore it, and the emulator goes on without a terminal.
watch_terminal() {
	while stty -g <&3 >/dev/null 2>&1; do
		sleep 1
	done
	kill "$1"
}

# boot - run the guest to its end; sets ended. The output goes through a separate pipe: qemu
# would make the caller's stdout non-blocking.
boot() {
	rm -f "$logs/kernel.log" "$logs/output.log"
	set -- -chardev file,id=log,path="$logs/kernel.log" \
		-chardev file,id=verdict,path="$work/verdict"
	if [ "$interactive" ]; then
		set -- "$@" -chardev stdio,id=output,mux=on,signal=off
		terminal=$(stty -g 2>/dev/null) || terminal=
	else
		mkfifo "$work/output"
		tee "$logs/output.log" <"$work/output" &
		reader=$!
		set -- "$@" -chardev file,id=output,path="$work/output"
	fi
	attach log output verdict
	# shellcheck disable=SC2086 # options, split on purpose
	set -- "$@" $ports
	ended=0
	exec 3<&0
	machine "$@" <&3 &
	guest=$!
	[ -z "$terminal" ] || {
		watch_terminal "$guest" &
		watcher=$!
	}
	wait "$guest" || ended=$?
	guest=
	[ -z "$watcher" ] || {
		kill "$watcher" 2>/dev/null || true
		# The shell says of a child that a signal ended it.
		wait "$watcher" 2>/dev/null || true
		watcher=
	}
	[ -z "$reader" ] || wait "$reader" || true
	reader=
}

# log - print the kernel's log from the task's beginning on: warnings of the kernel's boot are
# not the task's fault. Print all of it if the task did not begin.
log() {
	tr -d '\r' <"$logs/kernel.log" >"$work/log"
	if grep -q "task $nonce starts" "$work/log"; then
		sed -n "/task $nonce starts/,\$p" "$work/log"
	else
		cat "$work/log"
	fi
}

# died REASON - there is no verdict: print the reason and the end of the logs. tests/mutation/run.sh
# looks for the words about the command.
died() {
	grep -aq "task $nonce starts" "$work/task.log" || say "the guest did not come to its command"
	say "$1; the kernel's last words:"
	tail -n 100 "$work/task.log" | sed 's/^/  /' >&2
	# The first warnings may be further up in the log.
	grep -aE "$complaints" "$work/task.log" | head -n 5 | sed 's/^/! /' >&2
	cat "$logs/qemu.log" >&2
	[ ! -s "$work/processors" ] || processors >&2
}

# processors - print each processor's place, flags and timer from what the monitor told.
processors() {
	tr -d '\r' <"$work/processors" |
		grep -aE '^CPU#|^RIP=|HLT=|^ *PC=|LVTT|LVT0|^ICR|^IRR|^ISR|Timer|count'
}

# valid - true if the verdict is exactly one line of the right form.
valid() {
	grep -aqxE "$nonce [0-9]+ [0-9]+ [0-9]+" "$work/verdict" &&
		[ "$(wc -l <"$work/verdict")" = 1 ]
}

# check_results - return the exit status. The guest has ended, so its logs and its verdict are complete.
check_results() {
	log >"$work/task.log"
	if [ "$ended" = 124 ]; then
		died "nothing was printed for $silence s"
		return 124
	fi
	[ "$ended" = 0 ] || {
		died "qemu failed with status $ended"
		return 125
	}
	valid || {
		died "the guest ended without a verdict"
		return 125
	}
	read -r _ status before after <"$work/verdict"
	complain || return 126
	return "$status"
}

# complaining - print the lines of the log that match the patterns. A report of KCSAN counts only
# if one of its stacks has a module: KCSAN watches the whole kernel. A stack counts from the access
# down to an interrupt or a page fault: the code that was interrupted has no part in the race.
# (KCSAN watches a module's copies from and to user pages at the copy, not at the fault.) A report
# ends with a line of equal signs.
complaining() {
	awk -v pattern="$complaints" '
		/BUG: KCSAN:/ {
			if (held != "")
				print held
			held = $0
			interrupted = 0
			next
		}
		held != "" && / of [0-9]+ bytes by / { interrupted = 0 }
		held != "" && / asm_(sysvec_|common_interrupt|exc_page_fault)/ { interrupted = 1 }
		held != "" && !interrupted && /\[[a-z0-9_]+\]$/ {
			print held
			held = ""
		}
		held != "" && /=================$/ {
			held = ""
			next
		}
		$0 ~ pattern
		END { if (held != "") print held }
	' "$work/task.log"
}

logged() {
	grep -aq "task $nonce starts" "$work/task.log" &&
		grep -aq "task $nonce ends" "$work/task.log"
}

# complain - fail if the kernel has warned, or if its warnings would not be in the log.
complain() {
	complaining >"$work/complaints"
	if [ -s "$work/complaints" ]; then
		say "the kernel warned (the command's status was $status):"
		sed 's/^/! /' "$work/complaints" >&2
		return 1
	fi
	logged || {
		say "the kernel's log is incomplete: was the console silenced?"
		return 1
	}
	[ $((after & ~before & ~permitted)) = 0 ] || {
		say "the kernel is tainted: $before before, $after after"
		return 1
	}
}

# provide - install the emulator; sets busybox, image unless given, and console if the machine needs it.
provide() {
	case $machine in
	pc)
		flock "$cache/lock" "$here/../need.sh" qemu-system-x86 busybox-static cpio &&
			busybox=/bin/busybox &&
			image=${image:-$("$here/kernel.sh" image)} || return
		[ ! "$count" ] || [ "$cpus" = 1 ] || emulator=$("$here/emulator.sh")
		;;
	*)
		emulated=qemu-system-arm
		[ "$machine" = arm64 ] || emulated=qemu-system-misc
		flock "$cache/lock" "$here/../need.sh" $emulated cpio &&
			busybox=$("$here/../cross/kernel.sh" "$machine" busybox) &&
			image=${image:-$("$here/../cross/kernel.sh" "$machine" image)} || return
		[ "$machine" = arm64 ] || console=$("$here/../cross/kernel.sh" "$machine" console)
		;;
	esac
}

while :; do
	case ${1-} in
	--help) usage ;;
	--count-instructions) count=yes ;;
	--numa) numa=yes ;;
	--interactive) interactive=yes ;;
	--*)
		[ $# -ge 2 ] || fail "$1: value missing, or no such option"
		set_option "$1" "$2"
		shift
		;;
	*) break ;;
	esac
	shift
done
[ $# -ge 2 ] || [ "$interactive$#" = yes1 ] ||
	fail "usage: run.sh [OPTION]... PAYLOAD COMMAND... (see --help)"
[ -d "$1" ] || fail "not a directory: $1"
payload=$1
shift
: "${cpus:=$([ "$count" ] && echo 1 || echo 2)}"
: "${silence:=$([ "$interactive" ] && echo 0 || echo 300)}"

[ "$machine" = pc ] || [ ! "$count" ] || fail "--count-instructions is for the machine pc only"
mkdir -p "$cache" ${keep:+"$keep"}
provide || exit 125
[ -r "$image" ] || fail "no such kernel: $image"

trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
work=$(mktemp -d)
logs=${keep:-$work}
: "${monitor:=$work/monitor}"
mkfifo "$monitor.in" "$monitor.out" || exit 125
nonce=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
[ "$count$accel" ] || choose_accel
archive "$@"
boot
result=0
check_results || result=$?
exit "$result"
