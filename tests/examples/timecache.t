#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# timecache.t - Storm's TimeCacheMap.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

# refused NAME BUCKETS - checks that a number of buckets is refused with an error.
refused() {
	run timecache 30 "$2"
	result "$1" "$([ "$status" = 2 ] || echo "status $status"
		[ ! -s "$temporary/out" ] || echo "expected no output, found some"
		wanted="timecache: there must be at least 2 buckets, not $2"
		[ "$(cat "$temporary/err")" = "$wanted" ] || cat "$temporary/err")"
}

# lives TTL BUCKETS - checks when entries expire, and that the callback is called once.
lives() {
	holds "entries expire between T and T*(1+1/(N-1)): T $1, N $2" '
		$2 == "s:" && $3 == "expired" {
			seen++
			age = $(NF - 1)
			if (age < ttl || age > ttl * (1 + 1 / (n - 1)))
				print
		}' ttl="$1" n="$2"
	lines "the callback is called for each of 7 expired entries: T $1, N $2" 7 \
		'^[0-9.]+ s: expired'
	holds "the callback is called once for each entry: T $1, N $2" '
		$3 == "expired" && told[$4]++ { print }
		$3 == "expired" { seen = 1 }'
}

usage timecache
refused "timecache with one bucket exits with 2 and names the least number" 1
refused "timecache with no bucket exits with 2 and names the least number" 0

example timecache
lines "timecache without arguments has 3 buckets" 1 '^ttl 30.00 buckets 3 '
said "put replaces a value, size counts entries, remove removes both" \
	"a is 2, size 2" \
	"removed both, size 0"
lives 30 3
said "an entry that is read all the time expires with one that is not" \
	"45.00 s: expired once-0, put once, which lived 45.00 s" \
	"45.00 s: expired read, read all the time, which lived 45.00 s"
said "an entry that is put again expires after its last put" \
	"90.00 s: expired again, put 4 times, which lived 44.25 s"
lines "6 entries of one bucket expire together" 6 '^45.00 s: expired '

example timecache 60 5
lives 60 5
example timecache 20 2
lives 20 2
example timecache 28 8
lives 28 8
finish
