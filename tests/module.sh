#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# module.sh [--user|--bench] KERNEL DIRECTORY [ARGUMENT]... - build hashbelt.ko in DIRECTORY, so that
# one tree can be built for several kernels. With --user also a module that uses it (tests/user), in
# DIRECTORY/user; with --bench that and the benchmark of such modules (tests/bench/kernel), in
# DIRECTORY/bench. KERNEL is a kernel's build folder, and each ARGUMENT is for make; or KERNEL is the
# name of a kernel of kernel/kernel.sh.
#
# The build gets the variables of the caller's make, such as W=1, LLVM=1 or -j, but none that names a
# directory for the kernel's own build.
set -eu
unset CDPATH KBUILD_OUTPUT KBUILD_EXTMOD_OUTPUT

users=''
case $1 in
--user | --bench)
	users=$1
	shift
	;;
esac
kernel=$1
directory=$2
top=$(cd "$(dirname "$0")/.." && pwd)
shift 2
case $directory in
/*) ;;
*) directory=$PWD/$directory ;;
esac

compile() {
	where=$1
	shift
	case $kernel in
	*/*) make -C "$kernel" M="$where" "$@" modules ;;
	*) "$top/tests/kernel/kernel.sh" "$kernel" module "$where" ;;
	esac
}

# build SOURCES DIRECTORY [ARGUMENT]...
build() {
	sources=$1
	there=$2
	shift 2
	# Files that have no source are removed below: they must not be another's.
	[ -e "$there/Kbuild" ] || [ -z "$(ls "$there" 2>/dev/null)" ] || {
		echo "module.sh: $there has other files: name a directory for the module alone" >&2
		exit 1
	}
	mkdir -p "$there"
	[ -e "$there/Kbuild" ] || cp --no-preserve=mode "$sources/Kbuild" "$there"
	mkdir -p "$there/device"
	for folder in "$sources"/belt/*/; do
		[ ! -d "$folder" ] || mkdir -p "$there/${folder#"$sources"/}"
	done
	# Copy changed files only, so that only they are compiled again. The sources may be read-only.
	for file in "$sources"/Kbuild "$sources"/*.[ch] "$sources"/belt/*.h "$sources"/belt/*/*.[ch] \
		"$sources"/belt/*/*.mk "$sources"/device/*.[ch]; do
		copy=$there/${file#"$sources"/}
		[ ! -e "$file" ] || cmp -s "$file" "$copy" || cp -f --no-preserve=mode "$file" "$copy"
	done
	for file in "$there"/*.[ch] "$there"/belt/*.[ch] "$there"/belt/*.mk "$there"/belt/*/*.[ch] \
		"$there"/belt/*/*.mk "$there"/device/*.[ch]; do
		case $file in *.mod.c) continue ;; esac
		[ -e "$sources/${file#"$there"/}" ] || rm -f "$file"
	done
	log=$there/build.log
	compile "$there" "$@" >"$log" 2>&1 || {
		cat "$log" >&2
		exit 1
	}
	# Print warnings, which are no error here: the caller decides.
	grep -E 'warning:|WARNING:|error:' "$log" >&2 || true
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
"$top/tests/build_path.sh" "$directory"
build "$top" "$directory" "$@"
[ "$users" ] || exit 0
build "$top/tests/user" "$directory/user" "$@"
[ "$users" = --user ] || build "$top/tests/bench/kernel" "$directory/bench" "$@"
