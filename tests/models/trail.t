#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# trail.t - the command of docs/races.md that prints the trail of a model's error.
set -u
unset CDPATH

# shellcheck source=tests/result.sh
. "$(dirname "$0")/../result.sh"

tests=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$tests/.." || exit 1

"$tests/models/run.sh" entry >"$work/log"
result $? "tests/models/run.sh entry leaves the trails of its cases" "$work/log"
awk -v kinds=models -f "$tests/docs/shown.awk" docs/races.md >"$work/shown"
[ -s "$work/shown" ]
result $? "docs/races.md shows how to print a trail" "$work/shown"
while IFS="$(printf '\t')" read -r _ line command <&7; do
	sh -c "$command" >"$work/log" 2>&1 && grep -q 'trail ends after' "$work/log"
	result $? "docs/races.md:$line: $command" "$work/log"
done 7<"$work/shown"
finish
