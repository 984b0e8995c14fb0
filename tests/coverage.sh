#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# coverage.sh TABLE DIRECTORY OUTPUT - which lines of the module a guest has run. Where that
# are fewer than there should be, tests/uncovered has to say why, "FILE: WHY".
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
table=$1 directory=$2 output=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "1..1"
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - $1"
	exit 1
}

# What gcov makes of it. Without counts a file was never run; gcov takes that for what it is.
count() {
	cp "$directory"/hashbelt*.gcno "$work"
	rm -f "$work"/hashbelt.mod.gcno
	sed -n 's/^# gcda //p' "$output" | tr -d '\r' | base64 -d | tar -xz -C "$work"
	(cd "$work" && gcov-12 ./*.gcno)
}

"$here/need.sh" gcc-12
count >"$work/log" 2>&1 || fail "$output has counts that can be read"
awk -v enough="$enough" -f "$here/coverage.awk" "$work"/hashbelt*.gcov >"$table"
echo 1..2
sed 's/^/# figure: /' "$table"
tail -n 1 "$table" | awk -v enough="$enough" '
	{ percent = $NF + 0 }
	END {
		good = $1 == "total" && percent >= enough
		printf "%sok 1 - %s %% of the lines were run, of %s that are wanted\n",
			good ? "" : "not ", percent, enough
		exit !good
	}'
# One reason for each file that has too few, and none for another.
awk -v enough="$enough" '
	FNR == NR && /^#/ { next }
	FNR == NR { why[$1] = $0; next }
	!/^hashbelt_/ { next }
	$NF + 0 >= enough && $1 ":" in why { print "it has enough, and a reason: " $1; bad = 1 }
	$NF + 0 >= enough { next }
	$1 ":" in why { print why[$1 ":"]; next }
	{ print "too few lines of " $1 ", and no reason"; bad = 1 }
	END { exit bad }' "$here/uncovered" "$table" >"$work/why" && good='' || good='not '
sed 's/^/# figure: /' "$work/why"
echo "${good}ok 2 - where a file has fewer there is a reason"
