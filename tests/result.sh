# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# result.sh - sourced by scripts whose checks have long logs; prints TAP. (The tests of hbctl
# use hbctl/tap.sh.)

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"

count=0 failures=0

# result STATUS DESCRIPTION LOG - print a line of TAP; after a failure the place and the end of LOG.
result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failures=$((failures + 1))
		echo "# $(place "$2"): expected what the line above says, found:"
		tail -n 40 "$3" | sed 's/^/# /'
	fi
}

# finish - print the plan; the last call of a script.
finish() {
	echo "1..$count"
	[ "$failures" = 0 ]
}
