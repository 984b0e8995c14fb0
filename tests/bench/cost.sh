#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cost.sh --update - count the instructions of each operation, and write the counts to
# tests/bench/instructions, with which the suite cost compares.
#
# cost.sh --reference VERSIONS - print the counts to compare with: those of that file.
# If they were made with another kernel, compiler, Python or C library, a change of a count may be
# theirs. Then the module, the package for Python, hbctl and hbserve of the commit that last wrote the file
# are built and counted with the present ones.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
file=$here/instructions
entries=1000 buckets=5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "cost.sh: $1" >&2
	exit 1
}

# update - count twice: counts that do not repeat cannot be compared with.
update() {
	make -s -C "$top/tests" payload
	for counts in first second; do
		{
			"$here/count.sh" $entries $buckets
			"$here/python/count.sh"
			"$here/start.sh"
			"$here/serve.sh"
		} >"$work/$counts"
	done
	cmp -s "$work/first" "$work/second" || {
		diff "$work/first" "$work/second" >&2 || true
		fail "two guests counted differently: $file is unchanged"
	}
	{
		sed '/^# kernel:/,$d' "$file"
		grep '^#' "$work/first"
		grep -v '^#' "$work/first"
	} >"$work/file"
	cp "$work/file" "$file"
	echo "$file is written: commit it with the change that it belongs to"
}

# rebuild REASON - build what is counted of the commit that last wrote the counts with the present
# kernel, compiler and libraries, and count it.
rebuild() {
	"$top/tests/need.sh" git
	cd "$top" || exit
	commit=$(git log -1 --format=%H -- tests/bench/instructions 2>/dev/null) || commit=''
	[ "$commit" ] || fail "$1, and git does not have the commit that wrote it: \
run tests/bench/cost.sh --update on sources that are known to be good"
	mkdir "$work/source"
	git archive "$commit" | tar -x -C "$work/source"
	"$work/source/tests/module.sh" "$("$top/tests/vm/kernel.sh" headers)" "$work/module" >&2
	echo "# $1: compared with the module of commit $commit"
	"$here/count.sh" $entries $buckets "$work/module/hashbelt.ko" | grep -v '^#'
	# A commit before the package had its extension has no counts of it.
	[ ! -e "$work/source/tests/python/extension.sh" ] ||
		"$here/python/count.sh" "$work/source" "$work/module/hashbelt.ko" | grep -v '^#'
	# A commit whose hbctl was not counted has no counts of it.
	[ ! -e "$work/source/tests/bench/start.sh" ] || {
		make -s -C "$work/source" -f tools/Makefile O="$work/tools" LIBPQ= LIBEVENT= \
			LIBHIREDIS= LDFLAGS="-Wl,-z,relro -Wl,-z,now" >&2
		"$here/start.sh" "$work/module/hashbelt.ko" "$work/tools/hbctl" | grep -v '^#'
	}
	# Nor has one whose hbserve was not counted any of it.
	[ ! -e "$work/source/tests/bench/serve.sh" ] || {
		make -s -C "$work/source" -f tools/Makefile O="$work/serve" LIBPQ= "$work/serve/hbserve" >&2
		"$here/serve.sh" "$work/module/hashbelt.ko" "$work/serve/hbserve"
	}
}

reference() {
	if [ "$(grep -E '^# (kernel|compiler|python|libc):' "$file")" = "$1" ]; then
		grep -v '^#' "$file"
	else
		rebuild "tests/bench/instructions was counted with other versions"
	fi
}

case ${1-}$# in
--update1) update ;;
--reference2) reference "$2" ;;
*) fail "usage: cost.sh --update | --reference VERSIONS" ;;
esac
