#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# monitoring.t - promtool, the checker of Prometheus, accepts the metrics of hbctl and the alert
# rules of docs/monitoring; the rules fire when they should; and rules and dashboard use metrics that
# hbctl prints.
#
# tests/hbctl/recorded.prom is the output of "hbctl stat --all --prometheus". settings.t compares
# its families with those that hbctl prints.
# shellcheck disable=SC2317 # functions that silent calls
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

recorded=$tests/hbctl/recorded.prom
monitoring=$top/docs/monitoring

# silent NAME COMMAND... - a test: the command succeeds and prints nothing.
silent() {
	name=$1
	shift
	result "$name" "$("$@" 2>&1 || echo "status $?")"
}

check_metrics() {
	"$promtool" check metrics <"$recorded"
}

# succeed COMMAND... - print the command's output if it fails.
succeed() {
	"$@" >"$temporary/log" 2>&1 || cat "$temporary/log"
}

# families - print the names of the recorded samples; node_textfile_mtime_seconds is the node
# exporter's own.
families() {
	echo node_textfile_mtime_seconds
	sed -n 's/^\([a-z_]*\)[ {].*/\1/p' "$recorded"
}

# unknown FILE - print the names of metrics in the file that hbctl does not print.
unknown() {
	families | sort -u >"$temporary/families"
	grep -o '\(hashbelt\|node\)_[a-z_]*' "$1" | sort -u >"$temporary/used"
	[ -s "$temporary/used" ] || echo "found no metric"
	comm -13 "$temporary/families" "$temporary/used"
}

# expressions - print the expressions of the dashboard as rules, with an interval in the place of
# Grafana's variable. JSON is YAML.
expressions() {
	jq '{ groups: [{ name: "dashboard", rules: [.panels[].targets[].expr] | to_entries |
		map({
			record: "dashboard:expression_\(.key)",
			expr: (.value | gsub("[$]__rate_interval"; "5m"))
		}) }] }' "$monitoring/dashboard.json"
}

# collect OUTPUT STATUS - run the command of hashbelt-metrics.service with an hbctl that prints OUTPUT
# and exits with STATUS.
collect() {
	printf '#!/bin/sh\necho "%s"\nexit %s\n' "$1" "$2" >"$temporary/bin/hbctl"
	(cd "$temporary/collected" && PATH=$temporary/bin:$PATH sh -c "$(sed -n \
		"s|^ExecStart=/bin/sh -c '\(.*\)'\$|\1|p" "$top/tools/hashbelt-metrics.service")")
}

# service - print how the files that the service writes differ from what they should be.
service() {
	mkdir -p "$temporary/bin" "$temporary/collected"
	: >"$temporary/bin/hbctl"
	chmod +x "$temporary/bin/hbctl"
	collect 'first 1' 0 || echo "the first run failed"
	collect 'second 2' 0 || echo "the second run failed"
	[ "$(cat "$temporary/collected/hashbelt.prom")" = 'second 2' ] ||
		echo "the second run did not replace hashbelt.prom"
	! collect 'third' 3 || echo "a run in which hbctl fails succeeded"
	[ "$(cat "$temporary"/collected/*.prom)" = 'second 2' ] ||
		echo "a run in which hbctl fails changed what the node exporter reads"
}

# elapses - print the times of the timer at the end of summer time if they are not 15 s apart.
elapses() {
	calendar=$(sed -n 's/^OnCalendar=//p' "$top/tools/hashbelt-metrics.timer")
	TZ=CET-1CEST,M3.5.0,M10.5.0/3 systemd-analyze calendar --iterations=4 --base-time='2026-10-25 00:59:20 UTC' \
		"$calendar" | grep -o '[0-9:]\{8\} UTC$' >"$temporary/times"
	printf '%s UTC\n' 00:59:30 00:59:45 01:00:00 01:00:15 | cmp -s - "$temporary/times" || cat "$temporary/times"
}

"$tests/need.sh" jq systemd || exit
promtool=$("$tests/unpack.sh" "promtool|prometheus" usr/bin/promtool) || exit

silent "promtool check metrics finds nothing to complain about in the output of hbctl" check_metrics
silent "promtool check rules accepts docs/monitoring/alerts.yml" \
	succeed "$promtool" check rules "$monitoring/alerts.yml"
silent "each alert fires in its case and in no other" \
	succeed "$promtool" test rules "$tests/build/alerts_test.yml"
expressions >"$temporary/dashboard.yml"
silent "promtool accepts each expression of the dashboard" \
	succeed "$promtool" check rules "$temporary/dashboard.yml"
silent "the alert rules use metrics that hbctl prints" unknown "$monitoring/alerts.yml"
silent "the dashboard uses metrics that hbctl prints" unknown "$monitoring/dashboard.json"
silent "no two panels of the dashboard have one id, and no two are at one place" jq -r '
	.panels | select((map(.id) | unique | length) != length or
		(map(.gridPos) | unique | length) != length) | "found two"' \
	"$monitoring/dashboard.json"
silent "the timer runs every 15 seconds when the clock is set back to winter time" elapses
silent "the service replaces hashbelt.prom, and keeps it where hbctl fails" service
finish
