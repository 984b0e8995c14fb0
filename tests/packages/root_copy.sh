# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# root_copy.sh - sourced first by the tests that change a root directory of root.sh: functions for a copy
# of it. The packages are those that sources.t leaves.

# shellcheck source=tests/overlay.sh
. "$(dirname "$0")/../overlay.sh"

# shellcheck disable=SC2034 # for the test
new=$(sed -n 's/^#define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h")
# shellcheck disable=SC2034 # for the test; sources.t gives this version to the packages before
old=0.0.9
# shellcheck disable=SC2034 # for the test; sources.t gives this version to newer RPM packages
newer=99.0.0
packages='hashbelt-dkms hashbelt-follow hashbelt-server hbctl hbctl-store libhashbelt-dev libhashbelt0 python3-hashbelt'

# enter COMMAND - run a command in the root directory, until a part of it fails.
enter() {
	env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root \
		DEBIAN_FRONTEND=noninteractive chroot "$root" sh -ec "$1" </dev/null
}

# succeeds COMMAND - run a command there, and print the end of its output if it fails.
succeeds() {
	enter "$1" >"$temporary/log" 2>&1 || {
		echo "expected status 0, found $?:"
		tail -n 40 "$temporary/log"
	}
}

# open_root RELEASE [KIND] - make the copy.
open_root() {
	base=$("$tests/packages/root.sh" "$@") && make_overlay "$base" &&
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
		mkdir "$root/packages"
}

# copy_packages DIRECTORY PLACE - copy the packages of that directory of .cache/build into one below /packages.
copy_packages() {
	mkdir "$root/packages/$2"
	for package in $packages; do
		cp "$top/.cache/build/$1/${package}_"*.deb "$root/packages/$2" || return
	done
}

# make_root RELEASE [KIND] - make the copy, with the packages of the version before in /packages/before,
# and those of this version in /packages/now.
make_root() {
	open_root "$@" || return
	all=$packages
	# It is built with the hiredis of Debian 12. Later releases have another, so that of sources_in.sh is new there.
	[ "$1" = bookworm ] || packages=$(echo "$packages" | sed 's/ hashbelt-follow//')
	copy_packages deb-before before && copy_packages deb now || return
	[ "$1" = bookworm ] || cp "$top/.cache/build/deb-$1"/hashbelt-follow_*.deb "$root/packages/now" || return
	packages=$all
}

# list_kernels - sets kernels, to those that have headers.
list_kernels() {
	kernels=$(ls "$root/usr/lib/modules")
	for kernel in $kernels; do
		enter "depmod $kernel" >"$temporary/depmod" 2>&1 || return
	done
}

# files - print all files and directories, but those that package managers, depmod and DKMS write for
# themselves, and former versions of /etc/group and the like, with their lock.
files() {
	enter "find / -xdev \( -path /packages -o -path /tmp -o -path /proc -o -path /dev \
		-o -path /var/lib/dpkg -o -path /var/lib/rpm -o -path /var/log -o -path /var/cache \) -prune -o -print" |
		grep -vE -e '^(/usr)?/lib/modules/[^/]*/modules\.' -e '^/var/lib/dkms/mok\.' \
			-e '^/etc/((group|gshadow|passwd|shadow)-|\.pwd\.lock)$' | LC_ALL=C sort
}

# modules - print "KERNEL VERSION" for each kernel that has the module, as modprobe finds it. There are
# headers of these kernels, but no kernels. Recent versions of DKMS then run depmod only as long as a
# kernel has a module.
modules() {
	for kernel in $kernels; do
		enter "depmod $kernel" >"$temporary/depmod" 2>&1 || cat "$temporary/depmod"
		found=$(enter "modinfo -k $kernel -F version hashbelt" 2>/dev/null) &&
			echo "$kernel $found"
	done
}

# versions VERSION KERNEL... - print what modules() has to print.
versions() {
	wanted=$1
	shift
	for kernel; do
		echo "$kernel $wanted"
	done
}

# different WANTED FOUND - print both if they are not the same.
different() {
	[ "$1" = "$2" ] || printf 'expected:\n%s\nfound:\n%s\n' "$1" "$2"
}
