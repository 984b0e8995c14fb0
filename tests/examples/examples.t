#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# examples.t - the programs of examples/ keep their promises. A program checks each of its promises itself; these
# checks are of its end, and of what only all lines together show. sessions.t has another one.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

# SCALE is a percentage of the usual size.
many=$((1000 * ${SCALE:-100}))
some=$((many / 10))
[ $some -ge 2000 ] || some=2000
tenth=$((many / 10))

usage connections
example connections ${SCALE:+"$many"}
said "each of $many connections times out" \
	" 60 s  $many open, $((69 * tenth)) refreshed, 0 timed out" \
	"240 s  $tenth open, $((189 * tenth)) refreshed, $((9 * tenth)) timed out" \
	"242 s  0 open, $((189 * tenth)) refreshed, $many timed out"
example connections 1

usage editing
example editing
said "four concurrent editors lose none of 2000 edits" "editors 4 edits 2000 sum 2000"

usage fill
example fill
said "one of eight concurrent readers fills, and seven wait for its page" \
	"readers 8 made the page 1 were told to wait 7 have it 8"

usage limiter
example limiter
lines "five requests of a window pass, and no more" 15 ' ann    request [1-5] of the window passes$'
lines "each request of a client below the limit passes" 9 ' bob    request [1-4] of the window passes$'
said "of 4000 requests by four processes exactly the allowed 1500 pass" \
	"processes 4 tried 4000 limit 1500 passed 1500"

usage locks
example locks
said "the example leaves no lock" "locks left 0"

usage purgatory
for requests in "$many" "$some"; do
	example purgatory "$requests"
	lines "all $requests requests are completed by puts, none times out" 1 \
		"^requests $requests completed $((requests + 4)) timed out 1 "
done

ends=$temporary/ends
usage session_keys
printf '17 something old\n' >"$ends"
example session_keys "$ends"
said "all 8 sessions are recorded though the recorder was killed 3 times" "sessions 8 killed 3 recorded 8"
result "the file has no line but those of session ends" \
	"$(grep -vE '^[1-8] session-[0-7] (timed|logged) out$' "$ends")"

usage ticker
example ticker
said "each client gets all of its pushes" "alice: 4 pushes" "bob: 4 pushes" "carol: 2 pushes"

usage timecache
for buckets in 0 1; do
	run timecache 30 $buckets
	result "timecache with $buckets buckets exits with 2 and names the least number" "$(check_status 2
		[ ! -s "$temporary/out" ] || echo "expected no output, found some"
		echo "timecache: there must be at least 2 buckets, not $buckets" | cmp - "$temporary/err" 2>&1)"
done
for arguments in '' '60 5' '20 2' '28 8'; do
	# shellcheck disable=SC2086 # words
	example timecache $arguments
	# shellcheck disable=SC2086 # words
	set -- ${arguments:-30 3}
	lines "the callback is called for each of 7 expired entries: T $1, N $2" 1 "^ttl $1.00 buckets $2 deaths 7 "
done

usage weather
example weather
lines "three of all reads ask the station" 3 '^ .* Oslo .* asked the station'
lines "seven of all reads are served from the belt" 7 '^ .* Oslo .* from the belt'
finish
