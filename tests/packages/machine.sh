# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# machine.sh - sourced first by the tests that boot a Debian with systemd and its kernel in a virtual
# machine: functions for that machine. Its disk has the files of a copy of a root directory. A unit of
# systemd runs a program there in each boot: for the tests of the packages a script of this directory
# (guest.sh).

# shellcheck source=tests/packages/root_copy.sh
. "$(dirname "$0")/../packages/root_copy.sh"

tab=$(printf '\t')

# shown DOCUMENT HEADING - print the commands below that heading. apt asks no question.
shown() {
	awk -v heading="## $2" '/^## / { inside = $0 == heading } inside' "$top/docs/$1" \
		>"$temporary/$1"
	awk -v kinds=boot -f "$tests/docs/shown.awk" "$temporary/$1" | cut -f 3 |
		sed 's/^apt /apt-get -y /'
}

# keep_logs DIRECTORY - let the guest's console, and what its program prints, be in that directory.
keep_logs() {
	logs=$1
	mkdir -p "$logs" && : >"$logs/console" && : >"$logs/checks" && : >"$logs/err"
}

# run_at_boot COMMAND [UNIT]... - let systemd run a command in each boot, after these units.
run_at_boot() {
	program=$1
	shift
	cat >"$root/etc/systemd/system/test.service" <<END
[Unit]
After=$*
[Service]
ExecStart=$program
StandardOutput=file:/dev/ttyS1
StandardError=journal+console
Restart=no
[Install]
WantedBy=multi-user.target
END
	echo 'LABEL=root / ext4 errors=remount-ro 0 1' >"$root/etc/fstab"
	enter 'systemctl -q enable test'
}

# make_machine RELEASE SCRIPT [ARGUMENT]... - make the root directory, with a unit that runs the script.
make_machine() {
	keep_logs "$top/.cache/build/test/packages-$(basename "$0" .t)-$1" &&
		make_root "$1" boot && shift && mkdir "$root/test" && chmod 755 "$root/test" &&
		cp "$tests/packages/guest.sh" "$tests/packages/$1" "$root/test" &&
		shown packages.md Install >"$root/test/install" && run_at_boot "/test/$*"
}

# make_disk - write a file system with the files of the root directory.
make_disk() {
	umount -l "$root/dev" "$root/proc" &&
		mke2fs -q -t ext4 -d "$root" -L root "$temporary/disk" 4G
}

# kernel_arguments - print the arguments of the kernel. Those that keep a busy host from disturbing the
# guest's clocks are those of vm/run.sh.
kernel_arguments() {
	awk '/^bogomips/ {
		printf "tsc=reliable tsc_early_khz=%d lpj=%d ", $3 * 500, $3 * 2000
		exit
	}' /proc/cpuinfo
	echo "root=LABEL=root rw console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check"
}

# run_machine COMMAND... - run the emulator, or a program that runs it, with more options, until the
# emulator ends. It appends its first serial line to the file "console", and reads standard input from
# there. The guest prints nothing while DKMS compiles the module.
run_machine() {
	EVIDENCE='' setpriv --pdeathsig TERM "$tests/silence.sh" 1800 "$logs/console" "$logs/checks" -- "$@" \
		-nodefaults -nic none -display none -m 2048 \
		-accel tcg,thread=multi -smp 2,sockets=2 -cpu max,cx16=off \
		-drive "file=$temporary/disk,format=raw,if=virtio,cache=unsafe" \
		-chardev "stdio,id=console,logfile=$logs/console,logappend=on" \
		-chardev "file,id=checks,path=$logs/checks,append=on" \
		-serial chardev:console -serial chardev:checks \
		</dev/null >/dev/null 2>>"$logs/err"
}

# boot_kernel ARGUMENTS [OPTION]... - run the machine with the kernel of the root directory and more
# arguments for it.
boot_kernel() {
	arguments=$1
	shift
	run_machine qemu-system-x86_64 "$@" \
		-kernel "$(echo "$root"/boot/vmlinuz-*)" -initrd "$(echo "$root"/boot/initrd.img-*amd64)" \
		-append "$(kernel_arguments) $arguments"
}

# complaints - print what the kernel has to complain about.
complaints() {
	grep -aE 'BUG:|WARNING:|Oops|Kernel panic|Call Trace|soft lockup|hung task' "$logs/console"
}

# report_end NAME RIGHT FOUND - make the checks of the machine's end and of its kernel. NAME says what is
# RIGHT.
report_end() {
	result "$1" "$([ "$3" = "$2" ] ||
		{ echo "expected $2, found $3:"; cat "$logs/err"; tail -n 40 "$logs/console" | tr -d '\r'; })"
	result "the kernel had nothing to complain about" "$(complaints)"
}

# report_checks - make a check of each line that guest.sh has printed; sets last to the last one. UEFI
# firmware uses all serial lines as its console.
report_checks() {
	last=''
	tr -d '\r' <"$logs/checks" |
		awk '(at = index($0, "guest: ")) { print substr($0, at + 7) }' >"$temporary/lines"
	: >"$temporary/printed"
	while IFS="$tab" read -r code name; do
		case $code in
		'|'*) printf '%s\n' "${code#|}${name:+$tab$name}" >>"$temporary/printed" ;;
		*)
			last=$name
			result "$name" "$([ "$code" = 0 ] ||
				{ echo "expected status 0, found $code:"; cat "$temporary/printed"; })"
			: >"$temporary/printed"
			;;
		esac
	done <"$temporary/lines"
}

# report_machine STATUS BOOTS - make the checks of the guest, of its end and of its kernel. STATUS is that
# of the emulator.
report_machine() {
	report_checks
	report_end "the guest has booted $2 times, and powers off" "status 0, end of boot $2" \
		"status $1, $last"
}

# fill_machine NAME - let fill_root of the test fill the root directory, which is the check NAME, and make the disk.
fill_machine() {
	fill_root >"$temporary/filled" 2>&1
	status=$?
	result "$1" "$([ $status = 0 ] || { echo "status $status"; tail -n 40 "$temporary/filled"; })"
	make_disk >"$temporary/made" 2>&1 || {
		cat "$temporary/made"
		exit 1
	}
}

# run_boots BOOTS WHAT - run the machine until it powers off, print how long WHAT took, and make its checks.
run_boots() {
	began=$(date +%s)
	boot_kernel ''
	status=$?
	echo "# $2: $(($(date +%s) - began)) s"
	report_machine $status "$1"
}
