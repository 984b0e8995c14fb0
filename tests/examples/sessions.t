#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# sessions.t - the number of sessions that a belt counts while a log is played on it
# equals a plain count over the same log. A request opens a session if its client made
# no request in the 30 minutes before.
set -u
unset CDPATH

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"

plain_count() {
	awk '{
		split(substr($4, 2), part, /[\/:]/)
		month = (index("JanFebMarAprMayJunJulAugSepOctNovDec", part[2]) + 2) / 3
		print mktime(part[3] " " month " " part[1] " " part[4] " " part[5] " " \
			part[6]), NR, $1
	}' "$1" | sort -n -k1,1 -k2,2 | awk '{
		if (!($3 in last)) clients++
		if (!($3 in last) || $1 - last[$3] >= 30 * 60) sessions++
		last[$3] = $1
	}
	END { print "requests", NR, "clients", clients, "sessions", sessions }'
}

number=0
failed=0
check() {
	number=$((number + 1))
	on_belt=$(./sessions "$2" | tail -n 1)
	plainly=$(plain_count "$2")
	if [ "$on_belt" = "$plainly" ]; then
		echo "ok $number - $1"
	else
		echo "# $(place "$1"): expected $plainly, found $on_belt"
		echo "not ok $number - $1"
		failed=1
	fi
}

# real.log is the log that ACCESS_LOG named when tests/run.sh built the payload.
check "the belt counts as many sessions in an artificial log as awk does" access.log
[ ! -f real.log ] || check "the belt counts as many sessions in a real log as awk does" real.log
echo "1..$number"
exit $failed
