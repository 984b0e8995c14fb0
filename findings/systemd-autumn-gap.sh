#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# systemd-autumn-gap.sh - when a timer of systemd runs that is to run every 15 minutes.
#
# With OnCalendar=*:0/15, hourly or minutely a timer does not run for more than an hour in the night in which the clock
# is set back: from 02:45 in summer time the next time is 03:00 in winter time, 75 minutes later, because each time
# of the day comes once. So a lease of half an hour that such a timer renews ends. In spring a daily timer at 02:30 does
# not run at all that day. A time zone without summer time, "*:0/15 UTC", has no gap, and OnUnitActiveSec= has none. The
# times are those of systemd-analyze calendar. systemd 252 of Debian 12, and 262.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)

# analyze WORD... - run systemd-analyze of the root directory, in a zone with the rules of most of Europe.
analyze() {
	TZ=CET-1CEST,M3.5.0,M10.5.0/3 "$loader" --library-path "$libraries:$libraries/systemd" "$root/usr/bin/systemd-analyze" "$@"
}

# elapse BASE SPECIFICATION - print the next three times behind BASE, in UTC.
elapse() {
	analyze calendar --base-time="$1" --iterations=3 "$2" >"$work/times"
	echo "$2:$(sed -n 's/.*in UTC): [A-Z][a-z]* [0-9]*-\([-0-9]*\) \([0-9:]*\):00 UTC/ \1 \2/p;
		s/.*\(Next elapse\|Iter[^:]*\): [A-Z][a-z]* [0-9]*-\([-0-9]*\) \([0-9:]*\):00 UTC.*/ \2 \3/p' "$work/times" |
		tr '\n' ',' | sed 's/,$//')"
}

for release in bookworm=252.39-1~deb12u2 sid=262.1-1; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="systemd=${release#*=}" --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" "$mirror" 2>"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
	libraries=$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu:$root/lib/systemd:$root/usr/lib/x86_64-linux-gnu
	analyze --version | sed -n "1s/^systemd \([0-9]*\).*/systemd \1/p"
	elapse '2026-10-25 00:40 UTC' '*:0/15'
	elapse '2026-10-24 23:50 UTC' hourly
	elapse '2026-10-25 00:40 UTC' '*:0/15 UTC'
	elapse '2026-03-28 00:00 UTC' '02:30'
done >"$work/found"
echo "the next three times in Europe's winter and summer time, written in UTC"
cat "$work/found"
for version in 252 262; do
	cat <<END
systemd $version
*:0/15: 10-25 00:45, 10-25 02:00, 10-25 02:15
hourly: 10-25 00:00, 10-25 02:00, 10-25 03:00
*:0/15 UTC: 10-25 00:45, 10-25 01:00, 10-25 01:15
02:30: 03-28 01:30, 03-30 00:30, 03-31 00:30
END
done | diff - "$work/found"
