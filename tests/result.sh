# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# result.sh - sourced by scripts each of whose checks is a run of something long: each is
# one line of TAP. Those of hbctl have hbctl/tap.sh.

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"

count=0 failures=0

# result STATUS DESCRIPTION LOG - one line of TAP; if that is not good, the place and the end of LOG.
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

# finish - the last thing to call.
finish() {
	echo "1..$count"
	[ "$failures" = 0 ]
}
