#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memory.sh [COMMIT]... - print how long batches of 64 take in belts that are smaller and larger than
# the processor's caches: with the module as it is, and as each COMMIT has it.
#
# An emulator hides what the processor does while it waits for memory. The guest here is User-Mode
# Linux, whose code runs on this machine's processor. Its calls are slow, some 12000 ns each, so only
# batches tell something. The time is that of the cheapest 64 calls in a row of three turns.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
tests=$top/tests
work=$(mktemp -d)
guest=''
trap '[ -z "$guest" ] || kill "$guest" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# build NAME SOURCES - build the module of these sources for the guest.
build() {
	"$2/tests/module.sh" "$kernel" "$work/build/$1" ARCH=um SUBARCH=x86_64 \
		CC=gcc-12 HOSTCC=gcc-12 >&2
	cp "$work/build/$1/hashbelt.ko" "$root/modules/$1.ko"
}

# prepare [COMMIT]... - make the root directory of the guest.
prepare() {
	mkdir -p "$root/bin" "$root/dev" "$root/modules" "$root/proc" "$root/sys" "$work/build"
	make -s -C "$tests" "$top/.cache/build/payload/bench" >&2
	cp /bin/busybox "$top/.cache/build/payload/bench" "$root/bin"
	cp "$here/memory.init" "$root/init"
	build present "$top"
	for commit; do
		mkdir "$work/$commit"
		git -C "$top" archive "$commit" | tar -x -C "$work/$commit"
		build "$commit" "$work/$commit"
	done
}

"$tests/need.sh" busybox-static util-linux git
kernel=$("$tests/kernel/kernel.sh" plain build)
root=$work/root
prepare "$@"
: >"$work/console"
"$tests/kernel/uml.sh" "$kernel/image" "$root" "$work" 300 mem=1500M loglevel=4 \
	</dev/null >"$work/console" 2>&1 &
guest=$!
wait "$guest" || true
guest=''
grep -q '^memory: ends' "$work/console" || {
	cat "$work/console" >&2
	echo "memory.sh: the guest did not come to its end" >&2
	exit 1
}
tr -d '\r' <"$work/console" | awk '
	/^memory: module / { measured = $3 SUBSEP $4 }
	/ ns \(floor/ {
		operation = substr($0, 1, 18)
		cost = $0
		sub(/ ns .*/, "", cost)
		sub(/.* /, "", cost)
		at = measured SUBSEP operation
		if (!(at in least))
			order[++n] = at
		if (!(at in least) || cost + 0 < least[at])
			least[at] = cost + 0
	}
	END {
		printf "%-10s %8s  %-18s %s\n", "module", "entries", "operation", "ns each"
		for (i = 1; i <= n; i++) {
			split(order[i], part, SUBSEP)
			printf "%-10s %8d  %s %7d\n", part[1], part[2], part[3], least[order[i]]
		}
	}'
