#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# machine.sh LOGS ARGUMENTS TEST... - run tests of this folder one after the other in a virtual machine,
# on a Debian 12 with systemd, podman, docker and SELinux's policy. ARGUMENTS are more arguments for the
# kernel. The disk is made from an overlay of a root directory that root.sh keeps, into which this script
# installs hashbelt with DKMS. Prints the tests' TAP with the marks of tally.awk, and leaves the
# console's output in LOGS. Runs as root.
set -eu

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)

# Without a directory in the environment, run this script in a mount namespace of its own. The mounts
# end with it.
if [ -z "${MACHINE-}" ]; then
	MACHINE=$(mktemp -d)
	export MACHINE
	status=0
	unshare --mount "$0" "$@" || status=$?
	rmdir "$MACHINE"
	exit $status
fi
logs=$1
arguments=$2
shift 2
name=${logs##*/}
root=$MACHINE/root
version=$(sed -n 's/^#define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h")

# enter COMMAND - run a command in the root directory.
enter() {
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		chroot "$root" sh -ec "$1" </dev/null
}

# make_root - make the root directory, with hashbelt, and with the tests in /payload, as other guests
# have them.
make_root() {
	base=$("$tests/packages/root.sh" bookworm confined) &&
		mount -t tmpfs tmpfs "$MACHINE" &&
		mkdir "$MACHINE/upper" "$MACHINE/work" "$root" &&
		mount -t overlay overlay "$root" \
			-o "lowerdir=$base,upperdir=$MACHINE/upper,workdir=$MACHINE/work,xino=on,metacopy=on" &&
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
		make -s -C "$top" O="$MACHINE/build" DESTDIR="$root" PREFIX=/usr LIBPQ= \
			install-tools install-dkms &&
		mkdir "$root/payload" &&
		cp -r "$top/.cache/build/payload/tests" "$top/.cache/build/payload/docs" \
			"$tests/vm/copy.sh" "$root/payload"
}

# fill_root TEST... - build the module, and let systemd run the tests and power off.
fill_root() {
	cat >"$root/payload/tests.sh" <<-END
		#!/bin/sh
		for test in $*; do
			echo "# begin \$test"
			"/payload/\$test"
			echo "# end \$test \$?"
		done
		systemctl poweroff
	END
	cat >"$root/etc/systemd/system/tests.service" <<-END
		[Unit]
		After=multi-user.target docker.service
		[Service]
		ExecStart=/bin/sh /payload/tests.sh
		Type=idle
		StandardOutput=file:/dev/ttyS1
		StandardError=journal+console
		[Install]
		WantedBy=multi-user.target
	END
	echo '/dev/vda / ext4 errors=remount-ro 0 1' >"$root/etc/fstab"
	enter "dkms install hashbelt/$version -k \$(ls /lib/modules)
		systemd-sysusers
		useradd -m -s /bin/sh alice
		usermod -aG hashbelt alice
		systemctl enable tests"
}

# label - give the files the types of SELinux's policy. Without -m, setfiles would pass over the files of a
# kernel that has no SELinux. It stays on one device: the overlay has one only with xino=on.
label() {
	enter 'setfiles -m -F /etc/selinux/default/contexts/files/file_contexts /'
}

# make_disk - write a file system with the files of the root directory.
make_disk() {
	case $arguments in
	*security=selinux*) label ;;
	esac &&
		umount -l "$root/dev" "$root/proc" &&
		mke2fs -q -t ext4 -d "$root" -L root "$work/disk" 4G
}

# run_guest - boot the machine, until it powers off. The boot arguments that keep a busy host from
# disturbing the guest's clocks are those of vm/run.sh.
run_guest() {
	clock=$(awk '/^bogomips/ {
		printf "tsc=reliable tsc_early_khz=%d lpj=%d", $3 * 500, $3 * 2000
		exit
	}' /proc/cpuinfo)
	EVIDENCE='' setpriv --pdeathsig TERM "$tests/silence.sh" 600 "$logs/console" "$logs/tap" -- \
		qemu-system-x86_64 -nodefaults -nic none -display none -m 2048 \
		-accel tcg,thread=multi -smp 2,sockets=2 -cpu max,cx16=off \
		-kernel "$(echo "$root"/boot/vmlinuz-*)" -initrd "$(echo "$root"/boot/initrd.img-*amd64)" \
		-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" \
		-serial "file:$logs/console" -serial "file:$logs/tap" -no-reboot \
		-append "root=/dev/vda rw console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check $clock $arguments"
}

# complaints - print what the kernel has to complain about.
complaints() {
	grep -aE 'BUG:|WARNING:|Oops|Kernel panic|Call Trace|soft lockup|hung task' "$logs/console"
}

# report STATUS - print a test of the guest itself.
report() {
	echo "# begin-check guest-of-$name"
	echo 1..1
	if [ "$1" = 0 ] && ! complaints >"$work/complaints"; then
		echo "ok 1 - the guest ended in good order, and the kernel had nothing to complain about"
	else
		cat "$work/err" "$work/complaints" | sed 's/^/# /'
		tail -n 40 "$logs/console" | tr -d '\r' | sed 's/^/# /'
		echo "not ok 1 - the guest ended in good order (status $1)"
	fi
	echo "# end guest-of-$name 0"
}

"$tests/need.sh" e2fsprogs qemu-system-x86
mkdir -p "$logs"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$logs/tap"
: >"$work/complaints"
if ! { make_root && fill_root "$@" && make_disk; } >"$logs/disk" 2>"$work/err"; then
	report "no disk was made"
	exit
fi
status=0
run_guest 2>"$work/err" || status=$?
tr -d '\r' <"$logs/tap"
report $status
