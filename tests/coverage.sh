#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# coverage.sh OUTPUT DIRECTORY TABLE - which lines of the module a guest has run.
#
#   OUTPUT     what the guest said, with the counts that guest.sh added
#   DIRECTORY  where the module was built that it ran
#   TABLE      a file to be written: for each of the module's files the lines of code,
#              those that were run, and where much was not, which
#
# Says in TAP whether there are enough.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
enough=90

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Without counts a file was never run; gcov takes that for what it is.
cp "$2"/hashbelt*.gcno "$work"
rm -f "$work"/hashbelt.mod.gcno
sed -n 's/^# gcda //p' "$1" | tr -d '\r' | base64 -d | tar -xz -C "$work"
(cd "$work" && gcov-12 ./*.gcno) >"$work/log" 2>&1 || {
	echo "1..1"
	sed 's/^/# /' "$work/log"
	echo "not ok 1 - the counts can be read"
	exit 1
}
awk -v enough="$enough" -f "$here/coverage.awk" "$work"/hashbelt*.gcov >"$3"
echo 1..1
sed 's/^/# /' "$3"
tail -n 1 "$3" | awk -v enough="$enough" '
	{ percent = $NF + 0 }
	END {
		good = $1 == "total" && percent >= enough
		printf "%sok 1 - %s %% of the lines were run, of %s that are wanted\n",
			good ? "" : "not ", percent, enough
		exit !good
	}'
