#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# coverage.sh TABLE DIRECTORY OUTPUT [DIRECTORY OUTPUT]... - which lines of the module some
# guests have run.
#
#   TABLE      a file to be written: for each of the module's files the lines of code,
#              those that were run, and where much was not, which
#   DIRECTORY  where the module was built that a guest ran
#   OUTPUT     what the guest said, with the counts that guest.sh added
#
# Says in TAP whether there are enough.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
enough=90
table=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "1..1"
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - $1"
	exit 1
}

# count NUMBER DIRECTORY OUTPUT - what gcov makes of it, in a folder of its own. Without
# counts a file was never run; gcov takes that for what it is.
count() {
	mkdir "$work/$1"
	cp "$2"/hashbelt*.gcno "$work/$1"
	rm -f "$work/$1"/hashbelt.mod.gcno
	sed -n 's/^# gcda //p' "$3" | tr -d '\r' | base64 -d | tar -xz -C "$work/$1"
	(cd "$work/$1" && gcov-12 ./*.gcno)
}

"$here/need.sh" gcc-12
guests=0
while [ $# -gt 0 ]; do
	guests=$((guests + 1))
	count "$guests" "$1" "$2" >"$work/log" 2>&1 || fail "$2 has counts that can be read"
	shift 2
done
# All that is about one file, one after the other.
find "$work" -name 'hashbelt*.gcov' | awk -F / '{ print $NF, $0 }' | sort |
	cut -d ' ' -f 2 | xargs awk -v enough="$enough" -f "$here/coverage.awk" >"$table"
echo 1..1
sed 's/^/# figure: /' "$table"
tail -n 1 "$table" | awk -v enough="$enough" '
	{ percent = $NF + 0 }
	END {
		good = $1 == "total" && percent >= enough
		printf "%sok 1 - %s %% of the lines were run, of %s that are wanted\n",
			good ? "" : "not ", percent, enough
		exit !good
	}'
