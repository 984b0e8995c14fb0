# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# headers.sh - sourced first by tests of compat.mk, whose first argument is a suite of kernel.sh: they
# compile in a copy of that suite's root directory, which is discarded at the end.

unset CDPATH
# shellcheck source=tests/overlay.sh
. "$(dirname "$0")/../overlay.sh"

suite=$1
kernel=$tests/matrix/kernel.sh
release=$("$kernel" "$suite" release) || exit
kept=$(dirname "$("$kernel" "$suite" image)")
make_overlay "$kept/root" || exit
mount -t proc proc "$root/proc" || exit
# The directory with the headers that all kernels of a version share.
headers=$(echo "$root"/usr/src/linux-headers-*-common/include)
headers=${headers#"$root"}

# build_in DIRECTORY ARGUMENT... - run the kernel's make for a directory of the root directory.
build_in() {
	directory=$1
	shift
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C chroot "$root" \
		make -s -C "/lib/modules/$release/build" M="$directory" W=1 "$@" 2>&1
}
