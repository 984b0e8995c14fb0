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
		mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev"
}

# make_root RELEASE [KIND] - make the copy, with the packages of the version before in /packages/before,
# and those of this version in /packages/now.
make_root() {
	# It is built with the hiredis of Debian 12, and later releases have another.
	[ "$1" = bookworm ] || packages=$(echo "$packages" | sed 's/ hashbelt-follow//')
	open_root "$@" &&
		mkdir "$root/packages" "$root/packages/before" "$root/packages/now" || return
	for package in $packages; do
		cp "$top/.cache/build/deb-before/${package}_"*.deb "$root/packages/before" &&
			cp "$top/.cache/build/deb/${package}_"*.deb "$root/packages/now" || return
	done
}
