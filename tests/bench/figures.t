#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# figures.t - figures.sh measures each peer, and table.sh prints each line that it has. Three guests, a
# small number of entries.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

lines=$temporary/lines
every="get hit
get, hot keys
get miss
put new
put replace
touch
remove
get, 64 a call
put, 64 a call"

# lacking FIGURE FILTER - print the lines of a figure for which the filter of jq is not true.
lacking() {
	jq -c "select(.figure == \"$1\" and ($2 | not))" "$lines" 2>&1
}

# differing PEER OPERATIONS - print how the measured operations of a peer differ from these.
differing() {
	echo "$2" | sort >"$temporary/wanted"
	jq -r "select(.figure == \"cost\" and .peer == \"$1\") | .operation" "$lines" | sort |
		diff -u -L "expected of $1" -L found "$temporary/wanted" -
}

# without NAME... - print all operations but these.
without() {
	left=$every
	for name; do
		left=$(echo "$left" | grep -vx "$name")
	done
	echo "$left"
}

# wrong_latencies - print how the percentiles of latencies differ from those that are documented.
wrong_latencies() {
	lacking latency '.ns > 500'
	for phase in before during; do
		found=$(jq "select(.phase == \"$phase\").percentile" "$lines" | paste -s -d ' ')
		[ "$found" = "50 90 99 99.9 99.99 100" ] || echo "found $phase: $found"
	done
}

"$tests/need.sh" jq || exit 1
"$tests/bench/figures.sh" trial >"$lines" 2>"$temporary/log"
status=$?
result "figures.sh measures a small number of entries of each peer" "$(
	[ $status = 0 ] || { echo "expected status 0, found $status:"; tail "$temporary/log"; }
	jq -e . "$lines" 2>&1 >"$temporary/out" || echo "a line is no JSON")"
result "each peer has the operations that it offers" "$(
	for peer in hashbelt memcached hbserve; do
		differing $peer "$every"
	done
	differing redis "$every
count"
	for peer in lmdb bpf-hash bpf-hash-malloc bpf-lru; do
		differing $peer "$(without touch)"
	done
	differing window "$(without "get, 64 a call" "put, 64 a call")"
	differing echo "get hit"
	differing keyring "$(without "get, 64 a call" "put, 64 a call")"
	differing keyring-id "get hit
get, hot keys
put replace
touch")"
result "a cost has a unit and a ratio, and is above that of the floor but for batches and windows" \
	"$(lacking cost '.unit == "instructions" and .entries == 1000 and .value_size == 64 and
		.floor > 500 and .ratio > 0 and (.cost > .floor or (.operation | endswith("a call")) or .peer == "window")')"
result "a part of the cost of a request to a server is that of the server" \
	"$(lacking cost '((.server // 0) > 500) == (.peer | IN("memcached", "hbserve", "redis", "echo")) and
		(.server // 0) < .cost or (.operation | endswith("a call"))')"
result "a belt with a window has a share of gets without a system call: nearly all of those of hot keys" \
	"$(lacking cost '(.peer == "window" and .operation == "get, hot keys") == ((.share // 0) > 0.95) or
		(.peer == "window" and .operation == "get hit")')"
result "an entry of 80 bytes in a belt takes more than these, and less than 200" "$(
	lacking memory '.peer == "hashbelt" and .bytes > 80 and .bytes < 200'
	[ "$(jq 'select(.figure == "memory").bytes' "$lines" | wc -l)" = 1 ] ||
		echo "expected one line of memory")"
result "there are six percentiles of latencies before entries expire, and six from then on" "$(wrong_latencies)"
result "memcslap measures three tests of memcached and of hbserve, above the way to a server and back" "$(
	lacking client '.unit == "instructions" and .cost > 2000'
	found=$(jq -r 'select(.figure == "client") | .peer + " " + .operation' "$lines" | paste -s -d ,)
	[ "$found" = "$(printf '%s memcslap %s,' memcached get memcached mget memcached set \
		hbserve get hbserve mget hbserve set | sed 's/,$//')" ] || echo "found $found")"
sed 's/"trial"/"peers"/' "$lines" >"$temporary/peers"
result "table.sh prints a row for each peer and a column for each operation" "$(
	"$tests/bench/table.sh" "$temporary/peers" instructions >"$temporary/table"
	awk -F ' *[|] *' 'NF != 10 { print "expected 8 cells: " $0 }' "$temporary/table"
	found=$(wc -l <"$temporary/table")
	[ "$found" = 12 ] || echo "expected 12 lines, found $found")"
"$tests/bench/figures.sh" busy-trial >"$lines" 2>"$temporary/log"
status=$?
result "figures.sh measures latencies on two busy processors" "$(
	[ $status = 0 ] || { echo "expected status 0, found $status:"; tail "$temporary/log"; }
	wrong_latencies)"
"$tests/bench/figures.sh" native-trial >"$lines" 2>"$temporary/log"
status=$?
result "figures.sh measures reads from a window on this machine" "$(
	[ $status = 0 ] || { echo "expected status 0, found $status:"; tail "$temporary/log"; }
	for peer in "system call" window; do
		differing "$peer" get
	done
	lacking cost '.unit == "ns" and .entries == 1000 and .floor > 1 and .cost > 1')"
"$tests/bench/figures.sh" python-trial >"$lines" 2>"$temporary/log"
status=$?
result "figures.sh measures caches of Python" "$(
	[ $status = 0 ] || { echo "expected status 0, found $status:"; tail "$temporary/log"; }
	differing hashbelt "$(sed -n 's/^python \(.*\) [0-9]*$/\1/p' "$tests/bench/instructions"
		printf 'LocMemCache %s\n' get set incr)"
	differing pymemcache "$(printf '%s\n' get set 'get, 64 a call' 'get, 64 a call, same keys')"
	differing diskcache "$(printf '%s\n' get set)"
	lacking cost '.entries == 100 and .floor > 600 and .ratio > 0.05')"
finish
