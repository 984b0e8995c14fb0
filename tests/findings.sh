#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# findings.sh [NAME]... - run the programs of findings/, or those of these names, and print a line for each: "ok" if
# the software of others behaves as the program says. Fails if one does not. Needs root, and downloads packages.
set -u
unset CDPATH

top=$(cd "$(dirname "$0")/.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
[ $# != 0 ] || set -- "$top"/findings/*.sh
for finding; do
	name=$(basename "$finding" .sh)
	if timeout 180 "$top/findings/$name.sh" >"$log" 2>&1; then
		echo "ok      $name"
	else
		status=1
		echo "changed $name: $(tail -n 1 "$log")"
	fi
done
exit $status
