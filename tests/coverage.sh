#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# coverage.sh TABLE DIRECTORY OUTPUT STATUS - which lines of the module a guest has run. Where a
# file has fewer than it should have, tests/uncovered has to say why, "FILE: WHY". Branches are
# counted and shown, and no bound holds for them.
#
#   TABLE      a file to be written: for each of the module's files the lines of code and those
#              that were run, the branches and those that were taken; and where much was not
#              run, which lines
#   DIRECTORY  where the module was built that a guest ran
#   OUTPUT     what the guest said, with the counts that guest.sh added
#   STATUS     with what status the guest ended
#
# Says in TAP whether there are enough; or that nothing was measured, if the counts are missing.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
enough=97	# percent of all lines that have to be run: what the suite reaches
each=90		# percent of the lines of each file, unless tests/uncovered has a reason
table=$1 directory=$2 output=$3 status=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# not_measured WHY - a guest that did not come to its end has counted nothing. That says nothing
# about the lines, so no share of them is told.
not_measured() {
	rm -f "$table"
	echo "1..1"
	[ ! -s "$work/log" ] || sed 's/^/# /' "$work/log"
	echo "not ok 1 - coverage was not measured: $1"
	exit 1
}

# The counts are the last that the guest says: all of them, or their archive cannot be read.
unpack() {
	grep -q '^# gcda ' "$output" &&
		sed -n 's/^# gcda //p' "$output" | tr -d '\r' | base64 -d >"$work/counts" &&
		tar -xzf "$work/counts" -C "$work"
}

# Without counts a file was never run; gcov takes that for what it is. It names its results by the
# paths of the sources, with "#" for "/": the kernel has headers of the same names as the module.
count() {
	cp "$directory"/*.gcno "$directory"/belt/*.gcno "$directory"/device/*.gcno "$work" || return
	rm -f "$work"/hashbelt.mod.gcno
	(cd "$work" && gcov-12 -b -c -p ./*.gcno)
}

"$here/need.sh" gcc-12
# Without a verdict (124, 125) OUTPUT may be that of an earlier guest, or cut short.
case $status in
124 | 125) not_measured "the debug guest ended with status $status" ;;
esac
unpack >"$work/log" 2>&1 || not_measured "the debug guest ended with status $status"
count >"$work/log" 2>&1 || not_measured "gcov cannot read the counts of the debug guest"
prefix=$(cd "$directory" && pwd | tr / '#')'#'
awk -v each="$each" -v prefix="$prefix" -f "$here/coverage.awk" \
	"$work/$prefix"[a-z]*.gcov >"$table"
set +e	# what follows is judged
echo 1..2
sed 's/^/# figure: /' "$table"
tail -n 1 "$table" | awk -v enough="$enough" '
	{ percent = $4 + 0 }
	END {
		good = $1 == "total" && percent >= enough
		printf "%sok 1 - %s %% of the lines were run, of %s that are wanted\n",
			good ? "" : "not ", percent, enough
		exit !good
	}'
lines=$?
# One reason for each file that has too few, and none for another.
awk -v each="$each" '
	FNR == NR && /^#/ { next }
	FNR == NR { why[$1] = $0; next }
	$1 !~ /\.[ch]$/ { next }
	$4 + 0 >= each && $1 ":" in why { print "it has enough, and a reason: " $1; bad = 1 }
	$4 + 0 >= each { next }
	$1 ":" in why { print why[$1 ":"]; next }
	{ print "too few lines of " $1 ", and no reason"; bad = 1 }
	END { exit bad }' "$here/uncovered" "$table" >"$work/why"
reasons=$?
sed 's/^/# figure: /' "$work/why"
[ $reasons = 0 ] || printf 'not '
echo "ok 2 - where a file has fewer there is a reason"
[ "$lines$reasons" = 00 ]
