#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module.sh KDIR DIRECTORY [ARGUMENT]... - build hashbelt.ko for the kernel whose
# build folder is KDIR, in a folder of its own, so that one tree serves several
# kernels. More arguments are for make.
set -eu

kdir=$1
directory=$2
shift 2
top=$(cd "$(dirname "$0")/.." && pwd)

[ -e "$kdir/Makefile" ] || {
	echo "module.sh: $kdir is not a kernel's build folder;" \
		"install the kernel's headers, or say KDIR=..." >&2
	exit 1
}
mkdir -p "$directory"
# Only what changed is copied, so that only that is compiled again.
for file in "$top"/Kbuild "$top"/*.c "$top"/*.h; do
	cmp -s "$file" "$directory/${file##*/}" || cp "$file" "$directory"
done
log=$directory/build.log
make -C "$kdir" M="$directory" "$@" modules >"$log" 2>&1 || {
	cat "$log" >&2
	exit 1
}
# What the compiler thinks of it is shown, not fatal: compilers differ.
grep -E 'warning:|WARNING:|error:' "$log" >&2 || true
