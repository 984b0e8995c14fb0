#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# prometheus.t [PROGRAM] - a Prometheus server scrapes recorded metrics of hbctl, evaluates the alert
# rules of docs/monitoring, and answers each query of the dashboard.
#
# The server and a web server with the metrics run in a network namespace of their own, so that their
# ports are free. The rules lose their "for": alerts_test.yml has cases for these times.
# shellcheck disable=SC2317 # functions that at_last calls
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)

if [ $# = 0 ]; then
	"$tests/need.sh" busybox-static curl jq || exit 1
	prometheus=$("$tests/unpack.sh" prometheus usr/bin/prometheus) || exit 1
	[ "$(id -u)" = 0 ] || set -- --map-root-user
	exec unshare "$@" --net "$0" "$prometheus"
fi
prometheus=$1

# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

recorded=$tests/hbctl/recorded.prom
monitoring=$top/docs/monitoring
api=http://127.0.0.1:9090/api/v1

# ask PATH [OPTION]... - print the server's answer.
ask() {
	path=$1
	shift
	curl --silent --noproxy '*' "$@" "$api/$path"
}

# query EXPRESSION - print the status and the number of results of an expression.
query() {
	ask query --get --data-urlencode "query=$1" | jq -r '"\(.status) \(.data.result | length)"'
}

# serve FILE - let the web server give this file as the metrics.
serve() {
	cp "$1" "$temporary/web/new"
	mv "$temporary/web/new" "$temporary/web/metrics"
}

# good - print the recorded metrics, with the node exporter's age of a file that has just been written.
good() {
	cat "$recorded"
	echo "node_textfile_mtime_seconds{file=\"hashbelt.prom\"} $(date +%s)"
}

# bad - print the metrics of a later time: events were lost, puts refused, entries handed over after
# more than 35 minutes; the memory is nearly full, and the file is old.
bad() {
	awk '
		/^hashbelt_(events_lost|rejected)_total/ { $NF += 100 }
		/^hashbelt_expired_lag_seconds_bucket.*le="(4194.304|[+]Inf)"/ { $NF += 100 }
		/^hashbelt_expired_lag_seconds_count/ { $NF += 100 }
		/^hashbelt_module_max_bytes/ { most = $NF }
		/^hashbelt_module_used_bytes/ { next }
		{ print }
		END {
			printf "hashbelt_module_used_bytes %d\n", most * 0.95
			print "node_textfile_mtime_seconds{file=\"hashbelt.prom\"} 1000"
		}' "$recorded"
}

# scraped NUMBER - the server has scraped the metrics this many times.
scraped() {
	times=$(ask query --get --data-urlencode 'query=count_over_time(hashbelt_build_info[1h])' |
		jq -r '.data.result[0].value[1] // 0')
	[ "${times:-0}" -ge "$1" ]
}

# rules FILTER - print what jq finds in the rules.
rules() {
	ask rules | jq -r "[.data.groups[].rules[]] | $1"
}

evaluated() {
	[ "$(rules 'map(select(.health == "ok")) | length')" = "$alerts" ]
}

all_fire() {
	[ "$(rules 'map(select(.state == "firing")) | length')" = "$alerts" ]
}

# expressions - print the expressions of the dashboard, with values in the place of its variables.
expressions() {
	jq -r '.panels[].targets[].expr | gsub("[$]__rate_interval"; "1m") | gsub("[$](instance|belt)"; ".*")' \
		"$monitoring/dashboard.json"
}

# empty - print each expression that fails or has no result.
empty() {
	expressions >"$temporary/expressions"
	[ -s "$temporary/expressions" ] || echo "found no expression"
	while read -r expression; do
		answer=$(query "$expression")
		case $answer in
		'success 0' | error* | '') echo "$expression: $answer" ;;
		esac
	done <"$temporary/expressions"
}

# no_values - print each variable of the dashboard for which the server has no value.
no_values() {
	jq -r '.templating.list[] | select(.type == "query") | .query.query |
		capture("label_values[(](?<series>.*), (?<label>[a-z]*)[)]") |
		"\(.label) \(.series | gsub("[$]instance"; ".*"))"' "$monitoring/dashboard.json" \
		>"$temporary/variables"
	[ "$(wc -l <"$temporary/variables")" = 2 ] || echo "expected two variables"
	while read -r label series; do
		found=$(ask "label/$label/values" --get --data-urlencode "match[]=$series" |
			jq '.data | length')
		[ "${found:-0}" -gt 0 ] || echo "$label: no value"
	done <"$temporary/variables"
}

mkdir "$temporary/web" "$temporary/data"
busybox ip link set lo up || exit 1
sed '/^ *for:/d' "$monitoring/alerts.yml" >"$temporary/alerts.yml"
alerts=$(grep -c 'alert:' "$temporary/alerts.yml")
cat >"$temporary/prometheus.yml" <<END
global:
  scrape_interval: 1s
  evaluation_interval: 1s
rule_files:
  - $temporary/alerts.yml
scrape_configs:
  - job_name: hashbelt
    static_configs:
      - targets: ['127.0.0.1:9101']
END
good >"$temporary/good"
bad >"$temporary/bad"
serve "$temporary/good"
busybox httpd -f -p 127.0.0.1:9101 -h "$temporary/web" &
web=$!
"$prometheus" --config.file="$temporary/prometheus.yml" --storage.tsdb.path="$temporary/data" \
	--web.listen-address=127.0.0.1:9090 >"$temporary/log" 2>&1 &
server=$!
# shellcheck disable=SC2064 # the numbers of now
trap "kill $web $server; wait; leave" EXIT

result "Prometheus scrapes the metrics of hbctl" "$(at_last scraped 3 || tail -n 5 "$temporary/log")"
result "Prometheus evaluates each alert rule without an error" \
	"$(at_last evaluated || rules 'map([.name, .health, .lastError])')"
result "no alert fires while nothing is wrong" "$(rules '.[] | select(.state != "inactive") | .name')"
result "each expression of the dashboard has a result" "$(empty)"
result "the variables of the dashboard have values" "$(no_values)"
serve "$temporary/bad"
result "each alert fires when its state is there" \
	"$(at_last all_fire || rules '.[] | select(.state != "firing") | .name')"
finish
