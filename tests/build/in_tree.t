#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# in_tree.t - a test: "make in-tree" puts the module into the source of this machine's Debian's kernel, and kunit.py
# builds User-Mode Linux from that, with the KUnit tests, and runs them. Source and kernel are in
# .cache/build/in-tree.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"

place=$top/.cache/build/in-tree
kernel=$place/linux
log=$place/log
# The patches are signed off by this user, whatever git knows.
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=hashbelt
export GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=hashbelt@hashbelt.invalid
export GIT_COMMITTER_NAME=hashbelt GIT_COMMITTER_EMAIL=hashbelt@hashbelt.invalid

# source_of - unpack the source of the kernel, without large parts that User-Mode Linux does not have, and put into a
# repository what the patches change there.
source_of() {
	archive=$(find /usr/src -name 'linux-source-*.tar.xz' | sort -V | tail -n 1)
	inside=$(basename "$archive" .tar.xz)
	mkdir -p "$kernel" &&
		xz -dc -T 2 "$archive" | tar -x -C "$kernel" --strip-components=1 \
			--exclude="$inside/arch/[a-tvwyz]*/*.[chS]" --exclude="$inside/drivers/gpu/*.[ch]" \
			--exclude="$inside/drivers/net/*/*.[ch]" --exclude="$inside/sound/*.[ch]" \
			--exclude="$inside/Documentation/devicetree/*" --exclude="$inside/tools/perf" \
			--exclude="$inside/tools/testing/selftests" &&
		git -C "$kernel" init -q && git -C "$kernel" add -f MAINTAINERS drivers/misc/Kconfig \
			drivers/misc/Makefile Documentation/misc-devices/index.rst &&
		git -C "$kernel" commit -q -m base && git -C "$kernel" tag base
}

# without_driver - bring the source back to what it was.
without_driver() {
	[ -e "$kernel/.git/refs/tags/base" ] || { rm -rf "$kernel" && source_of; } || return
	git -C "$kernel" am -q --abort 2>/dev/null
	git -C "$kernel" checkout -q -f base && rm -rf "$kernel/drivers/misc/hashbelt"
}

# put - put the driver into the source; each patch has to be a commit there.
put() {
	without_driver && make -s -C "$top" in-tree KERNEL="$kernel" PATCHES="$place/patches" &&
		[ "$(git -C "$kernel" rev-list --count base..HEAD)" = "$(find "$place/patches" -name '*.patch' | wc -l)" ]
}

# refused KERNEL REASON - fail if "make in-tree" takes this directory, or refuses it in other words.
refused() {
	! make -s -C "$top" in-tree KERNEL="$1" PATCHES="$place/none" || return
	grep -q "^in_tree.sh: .*$2" "$log" && [ ! -e "$place/none" ]
}

# check_patches - print what checkpatch finds. It finds macros that are rows of a list wrong, and the first patch has the
# entry of MAINTAINERS for all. It runs a program that needs Debian's Python.
check_patches() {
	find "$place/patches" -name '*.patch' | sort | PATH=/usr/bin:$PATH xargs -n 1 -P "$(nproc)" \
		perl "$kernel/scripts/checkpatch.pl" --quiet --no-summary \
		--ignore COMPLEX_MACRO,MULTISTATEMENT_MACRO_USE_DO_WHILE,TRAILING_SEMICOLON,FILE_PATH_CHANGES
}

# kunit - run the tests, without the caller's environment: each suite has to appear.
kunit() {
	(cd "$kernel" && exec env -i PATH="$PATH" HOME="$HOME" LC_ALL=C TMPDIR="$place" \
		CCACHE_DIR="${CCACHE_DIR:-$("$tests/cache.sh" kernel)/ccache}" \
		/usr/bin/python3 tools/testing/kunit/kunit.py run --build_dir="$place/um" --jobs="$(nproc)" \
		--make_options='CC=ccache gcc' --kunitconfig=drivers/misc/hashbelt \
		--kernel_args=time-travel=inf-cpu --timeout=1200)
	ran=$?
	sed -n 's/^static struct kunit_case \([a-z_]*\)_cases.*/hashbelt_\1/p' "$tests"/kunit/*_test.c |
			while read -r suite; do
		grep -q "= $suite (" "$log" || {
			echo "suite $suite did not run"
			exit 1
		}
	done && return $ran
}

"$tests/need.sh" linux-source gcc libc6-dev make bison flex bc libelf-dev xz-utils ccache patch git python3 \
	python3-git python3-ply || exit
mkdir -p "$place"
put >"$log" 2>&1
result $? "make in-tree puts hashbelt into a kernel by patches that git am takes" "$log"
refused "$place" "not the source of a kernel" >"$log" 2>&1
result $? "make in-tree refuses a directory that is not the source of a kernel" "$log"
refused "$kernel" "has drivers/misc/hashbelt" >"$log" 2>&1
result $? "make in-tree refuses a kernel that has hashbelt" "$log"
check_patches >"$log" 2>&1
result $? "checkpatch accepts the patches" "$log"
kunit >"$log" 2>&1
result $? "the KUnit tests pass by kunit.py" "$log"
finish
