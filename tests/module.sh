#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module.sh KERNEL DIRECTORY [ARGUMENT]... - build hashbelt.ko in a folder of its own, so
# that one tree serves several kernels. KERNEL is a kernel's build folder, and more
# arguments are for make; or it is the name of one of ours (see kernel/kernel.sh).
set -eu

kernel=$1
directory=$2
top=$(cd "$(dirname "$0")/.." && pwd)
shift 2

build() {
	case $kernel in
	*/*) make -C "$kernel" M="$directory" "$@" modules ;;
	*) "$top/tests/kernel/kernel.sh" "$kernel" module "$directory" ;;
	esac
}

case $kernel in
*/*)
	[ -e "$kernel/Makefile" ] || {
		echo "module.sh: $kernel is not a kernel's build folder;" \
			"install the kernel's headers, or say KDIR=..." >&2
		exit 1
	}
	;;
esac
mkdir -p "$directory"
# Only what changed is copied, so that only that is compiled again.
for file in "$top"/Kbuild "$top"/*.c "$top"/*.h; do
	cmp -s "$file" "$directory/${file##*/}" || cp "$file" "$directory"
done
log=$directory/build.log
build "$@" >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
# What the compiler thinks of it is shown, not fatal: compilers differ.
grep -E 'warning:|WARNING:|error:' "$log" >&2 || true
