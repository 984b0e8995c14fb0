#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# timecache.t - Storm's TimeCacheMap.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

# refused NAME BUCKETS - an error that says so.
refused() {
	run timecache 30 "$2"
	result "$1" "$([ "$status" = 2 ] || echo "status $status"
		[ ! -s "$temporary/out" ] || echo "it went on"
		wanted="timecache: there must be at least 2 buckets, not $2"
		[ "$(cat "$temporary/err")" = "$wanted" ] || cat "$temporary/err")"
}

# lives TTL BUCKETS
lives() {
	holds "unrefreshed entries die between T and T*(1+1/(N-1)): T $1, N $2" '
		$2 == "s:" && $3 == "expired" {
			seen++
			age = $(NF - 1)
			if (age < ttl || age > ttl * (1 + 1 / (n - 1)))
				print
		}' ttl="$1" n="$2"
	lines "the callback is called for each entry that expires: T $1, N $2" 7 '^[0-9.]+ s: expired'
	holds "the value is put once: T $1, N $2" '
		$3 == "expired" && told[$4]++ { print }
		$3 == "expired" { seen = 1 }'
}

plan 24
usage timecache
refused "one bucket is refused, and the error says so" 1
refused "no bucket is refused, and the error says so" 0

example timecache
lines "3 buckets unless one says" 1 '^ttl 30.00 buckets 3 '
said "put replaces; size; remove" \
	"a is 2, size 2" \
	"removed both, size 0"
lives 30 3
said "get does not refresh: what is read all the time dies with what is not" \
	"45.00 s: expired once-0, put once, which lived 45.00 s" \
	"45.00 s: expired read, read all the time, which lived 45.00 s"
said "put brings to the front: what is put again dies when it is not any more" \
	"90.00 s: expired again, put 4 times, which lived 44.25 s"
lines "those of one bucket are told together" 6 '^45.00 s: expired '

example timecache 60 5
lives 60 5
example timecache 20 2
lives 20 2
example timecache 28 8
lives 28 8
finish
