# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# machine.sh - sourced first by the tests that boot a Debian 12 with systemd, its kernel and the packages
# in a virtual machine: functions for that machine. A script of this directory runs there, once after
# each boot (guest.sh).

# shellcheck source=tests/packages/root_copy.sh
. "$(dirname "$0")/root_copy.sh"

tab=$(printf '\t')

# shown DOCUMENT HEADING - print the commands below that heading. apt asks no question.
shown() {
	awk -v heading="## $2" '/^## / { inside = $0 == heading } inside' "$top/docs/$1" \
		>"$temporary/$1"
	awk -v kinds=boot -f "$tests/docs/shown.awk" "$temporary/$1" | cut -f 3 |
		sed 's/^apt /apt-get -y /'
}

# make_machine SCRIPT [ARGUMENT]... - make the root directory, with a unit that runs the script.
make_machine() {
	make_root bookworm boot && mkdir "$root/test" && chmod 755 "$root/test" &&
		cp "$tests/packages/guest.sh" "$tests/packages/$1" "$root/test" &&
		shown packages.md Install >"$root/test/install" || return
	cat >"$root/etc/systemd/system/test.service" <<END
[Service]
ExecStart=/test/$*
StandardOutput=file:/dev/ttyS1
StandardError=journal+console
Restart=no
[Install]
WantedBy=multi-user.target
END
	echo 'LABEL=root / ext4 errors=remount-ro 0 1' >"$root/etc/fstab"
	enter 'systemctl -q enable test'
}

# make_disk - write a file system with the files of the root directory.
make_disk() {
	umount -l "$root/dev" "$root/proc" &&
		mke2fs -q -t ext4 -d "$root" -L root "$temporary/disk" 3G
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
	EVIDENCE='' setpriv --pdeathsig TERM "$tests/silence.sh" 1800 \
		"$temporary/console" "$temporary/checks" -- "$@" \
		-nodefaults -nic none -display none -m 1024 \
		-accel tcg,thread=multi -smp 2,sockets=2 -cpu max,cx16=off \
		-drive "file=$temporary/disk,format=raw,if=virtio,cache=unsafe" \
		-chardev "stdio,id=console,logfile=$temporary/console,logappend=on" \
		-chardev "file,id=checks,path=$temporary/checks,append=on" \
		-serial chardev:console -serial chardev:checks \
		</dev/null >/dev/null 2>>"$temporary/err"
}

# complaints - print what the kernel has to complain about.
complaints() {
	grep -aE 'BUG:|WARNING:|Oops|Kernel panic|Call Trace|soft lockup|hung task' "$temporary/console"
}

# report_checks - make a check of each line that guest.sh has printed; sets last to the last one. UEFI
# firmware uses all serial lines as its console.
report_checks() {
	last=''
	tr -d '\r' <"$temporary/checks" |
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
	result "the guest has booted $2 times, and powers off" "$(
		[ "$1 $last" = "0 end of boot $2" ] ||
			{ echo "status $1"; cat "$temporary/err"; tail -n 40 "$temporary/console"; })"
	result "the kernel had nothing to complain about" "$(complaints)"
}
