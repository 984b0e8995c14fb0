#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# purgatory.t - Kafka's request purgatory.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

# steady REQUESTS - what must hold of the many requests, however many they are.
steady() {
	lines "all $1 are completed early, none times out" 1 \
		"^requests $1 completed $(($1 + 4)) timed out 1 "
	holds "as many wait all the time, of $1" '
		$2 == "registered," {
			seen = 1
			if ($3 != n / 100)
				print
		}' n="$1"
	holds "memory stays flat while $1 are completed at a steady rate" '
		$2 == "registered," {
			seen++
			if (seen == 1 || $5 < least)
				least = $5
			if ($5 > most)
				most = $5
		}
		END { if (most > least * 1.2) print least " to " most " bytes" }'
	holds "memory is back when all $1 are completed" '
		$1 == "requests" {
			seen = 1
			if ($NF > $(NF - 2))
				print
		}'
}

# SCALE is in percent of what is usual.
many=$((1000 * ${SCALE:-100}))
some=$((many / 10))
[ $some -ge 2000 ] || some=2000

plan 24
usage purgatory
example purgatory ${SCALE:+"$many"}
said "tick and wheel size are parameters: 1 ms and 20 unless one says" \
	"a wheel of 20 buckets, a tick of 1000000 ns"
holds "overflow wheels are made on demand" '
	/ requests wait, on / { seen = 1; if ($5 < 1) print }'
said "a put completes all requests that wait for its key" \
	"a put of orders-1 completes all that wait for it" \
	"  request 1: by a put of orders-1" \
	"puts of orders-1 and orders-0 find nobody any more"
said "whichever of its keys a request names first" \
	"a put of orders-1 completes all that wait for it" \
	"  request 2: by a put of orders-1" \
	"puts of orders-1 and orders-0 find nobody any more"
said "a request is completed by the first of its keys, and not again" \
	"puts of orders-1 and orders-0 find nobody any more" \
	"  nobody" \
	"payments-0 is completed by hand"
said "a request is completed by hand, and what was completed is not again" \
	"payments-0 is completed by hand" \
	"  request 3: by hand, for payments-0" \
	"three seconds: a timeout of two seconds is over"
said "a request is forced by its timeout" \
	"three seconds: a timeout of two seconds is over" \
	"  request 4: timed out" \
	"a put of orders-2 is in time for the other one" \
	"  request 5: by a put of orders-2"
said "a completed request leaves the timer" \
	"seven seconds: no timeout of what was completed" \
	"  nobody" \
	"the last one is cancelled, a put of its key finds nobody" \
	"  nobody"
lines "each request is told of once" 5 '^  request [1-5]: '
holds "exactly once" '/^  request/ { seen = 1; if (told[$2]++) print }'
steady "$many"

example purgatory $some 10 64
said "a tick of 10 ms, a wheel of 64" \
	"a wheel of 64 buckets, a tick of 10000000 ns"
steady $some
example purgatory 100 1 2
run purgatory 100 1 1
result "a wheel of one bucket is refused" "$([ "$status" = 2 ] || echo "status $status")"
finish
