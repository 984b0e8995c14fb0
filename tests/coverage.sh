#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.sh TABLE DIRECTORY OUTPUT STATUS KUNIT COUNTS - check how many lines of the module the
# programs of a guest and the cases of KUnit have run together. A file with too few needs a reason in
# tests/uncovered, "FILE: WHY". Branches are counted and printed, and no bound holds for them.
#
#   TABLE      the file to write: for each of the module's files the lines of code and those
#              that were run, the branches and those that were taken; for files with too few
#              lines run, the numbers of the missing lines
#   DIRECTORY  the directory in which the guest's module was built
#   OUTPUT     the guest's output, with the counts that guest.sh printed
#   STATUS     the guest's status
#   KUNIT      the directory in which the module of KUnit was built
#   COUNTS     the directory with its counts (see kunit/run.sh --keep)
#
# Prints TAP. Fails if too few lines were run, or if the counts are missing.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
enough=98	# percent of all lines that have to be run: the suite reaches slightly more
each=90		# percent of the lines of each file, unless tests/uncovered has a reason
ample=95	# from so many percent on, a file must not have a reason
table=$1 directory=$2 output=$3 status=$4 kunit=$5 counts=$6

work=$(mktemp -d)
mkdir "$work/guest" "$work/kunit"
trap 'rm -rf "$work"' EXIT

# not_measured WHY - fail without a percentage: a guest that did not come to its end has printed
# no counts.
not_measured() {
	rm -f "$table"
	echo "1..1"
	[ ! -s "$work/log" ] || sed 's/^/# /' "$work/log"
	echo "not ok 1 - coverage was not measured: $1"
	exit 1
}

# unpack - unpack the counts. They are the end of the guest's output; an archive that was cut
# short cannot be read.
unpack() {
	grep -q '^# gcda ' "$output" &&
		sed -n 's/^# gcda //p' "$output" | tr -d '\r' | base64 -d >"$work/counts" &&
		tar -xzf "$work/counts" -C "$work/guest"
}

# count DIRECTORY TOP - run gcov for the counts in DIRECTORY. Each object of a loaded module has counts,
# and was built in TOP or a folder of it; what else is there is of sources that are gone. gcov names its
# results by the paths of the sources, with "#" for "/": the kernel has headers of the same names as
# the module.
count() {
	for object in "$1"/*.gcda; do
		object=${object##*/}
		find "$2" -name "${object%.gcda}.gcno" -exec cp {} "$1" \;
	done
	(cd "$1" && gcov-12 -b -c -p ./*.gcno)
}

# named DIRECTORY - print how the names begin that gcov gives to the results of DIRECTORY's sources.
named() {
	(cd "$1" && pwd | tr / '#')
}

"$here/need.sh" gcc-12
# With these statuses (see vm/run.sh) OUTPUT may be cut short, or from an earlier guest.
case $status in
124 | 125) not_measured "the debug guest ended with status $status" ;;
esac
unpack >"$work/log" 2>&1 || not_measured "the debug guest ended with status $status"
rm -f "$work/log"
cp "$counts"/*.gcda "$work/kunit" 2>"$work/log" || not_measured "KUnit's cases have left no counts"
count "$work/guest" "$directory" >"$work/log" 2>&1 ||
	not_measured "gcov cannot read the counts of the debug guest"
count "$work/kunit" "$kunit" >"$work/log" 2>&1 || not_measured "gcov cannot read the counts of KUnit"
ours=$work/guest/$(named "$directory")'#'
theirs=$work/kunit/$(named "$kunit")'#'	# and the cases, in tests/kunit
awk -v each="$each" -f "$here/coverage.awk" prefix="$ours" "$ours"[a-z]*.gcov \
	prefix="$theirs" "$theirs"[!t]*.gcov >"$table"
set +e	# from here on a failed command is a failed test
echo 1..2
sed 's/^/# figure: /' "$table"
tail -n 1 "$table" | awk -v enough="$enough" '
	{ percent = $4 + 0 }
	END {
		good = $1 == "total" && percent >= enough
		printf "%sok 1 - at least %s %% of the lines of the module are run: %s %%\n",
			good ? "" : "not ", enough, percent
		exit !good
	}'
lines=$?
# Each file with too few lines run needs a reason, and none with ample lines may have one. Between
# the two bounds both are right: whether the kernel reclaims memory while a test runs decides if
# some lines of the shrinker are run.
awk -v each="$each" -v ample="$ample" '
	FNR == NR && /^#/ { next }
	FNR == NR { why[$1] = $0; next }
	$1 !~ /\.[ch]$/ { next }
	$4 + 0 >= ample && $1 ":" in why {
		print "enough lines are run, so remove the reason for " $1
		bad = 1
	}
	$4 + 0 >= each { next }
	$1 ":" in why { print why[$1 ":"]; next }
	{ print "too few lines of " $1 " are run, and tests/uncovered has no reason"; bad = 1 }
	END { exit bad }' "$here/uncovered" "$table" >"$work/why"
reasons=$?
sed 's/^/# figure: /' "$work/why"
[ $reasons = 0 ] || printf 'not '
echo "ok 2 - tests/uncovered has a reason for each file of which less than $each % is run"
[ "$lines$reasons" = 00 ]
