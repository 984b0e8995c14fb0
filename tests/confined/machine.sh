#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# machine.sh LOGS ARGUMENTS TEST... - run tests of this folder one after the other in a virtual machine,
# on a Debian 12 with systemd, podman, docker and SELinux's policy. ARGUMENTS are more arguments for the
# kernel. The disk is made from an overlay of a root directory that root.sh keeps, into which this script
# installs hashbelt with DKMS. Prints the tests' TAP with the marks of tally.awk, and leaves the
# console's output in LOGS. Runs as root.
set -u

# shellcheck source=tests/packages/machine.sh
. "$(dirname "$0")/../packages/machine.sh"

# fill_root TEST... - install hashbelt, build the module, and let systemd run the tests and power off. The
# tests are in /payload, as in other guests.
fill_root() {
	make -s -C "$top" O="$temporary/build" DESTDIR="$root" PREFIX=/usr LIBPQ= \
		install-tools install-dkms &&
		mkdir "$root/payload" &&
		cp -r "$top/.cache/build/payload/tests" "$top/.cache/build/payload/docs" \
			"$tests/vm/copy.sh" "$root/payload" || return
	cat >"$root/payload/tests.sh" <<-END
		for test in $*; do
			echo "# begin \$test"
			"/payload/\$test"
			echo "# end \$test \$?"
		done
		systemctl poweroff
	END
	enter "dkms install hashbelt/$new -k \$(ls /lib/modules)
		systemd-sysusers
		useradd -m -s /bin/sh alice
		usermod -aG hashbelt alice" &&
		run_at_boot "/bin/sh /payload/tests.sh" multi-user.target docker.service
}

# label - give the files the types of SELinux's policy, if the guest has SELinux. Without -m, setfiles would
# pass over the files of a kernel that has none. It stays on one device.
label() {
	case $1 in
	*security=selinux*) enter 'setfiles -m -F /etc/selinux/default/contexts/files/file_contexts /' ;;
	esac
}

# make_machine ARGUMENTS TEST... - make the disk.
make_machine() {
	open_root bookworm confined || return
	kernel=$1
	shift
	fill_root "$@" && label "$kernel" && make_disk
}

"$tests/need.sh" e2fsprogs qemu-system-x86 && keep_logs "$1" || exit 1
name=${1##*/}
arguments=$2
shift 2
status=''
if make_machine "$arguments" "$@" >"$logs/disk" 2>&1; then
	boot_kernel "$arguments" -no-reboot
	status=$?
	tr -d '\r' <"$logs/checks"
else
	tail -n 40 "$logs/disk" >"$logs/err"
fi
echo "# begin-check guest-of-$name"
report_end "the guest powers off" 0 "${status:-no disk}"
plan
echo "# end guest-of-$name 0"
[ "$failures" = 0 ]
