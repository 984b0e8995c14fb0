#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# purgatory.t - Kafka's request purgatory.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

# steady REQUESTS - checks of the many requests, for any number of them.
steady() {
	lines "all $1 requests are completed by puts, none times out" 1 \
		"^requests $1 completed $(($1 + 4)) timed out 1 "
	holds "a steady 1% of $1 requests wait at a time" '
		$2 == "registered," {
			seen = 1
			if ($3 != n / 100)
				print
		}' n="$1"
	holds "memory stays within 20% while $1 requests are completed at a steady rate" '
		$2 == "registered," {
			seen++
			if (seen == 1 || $5 < least)
				least = $5
			if ($5 > most)
				most = $5
		}
		END { if (most > least * 1.2) print least " to " most " bytes" }'
	holds "used bytes return to their start when all $1 requests are completed" '
		$1 == "requests" {
			seen = 1
			if ($NF > $(NF - 2))
				print
		}'
}

# SCALE is a percentage of the usual size.
many=$((1000 * ${SCALE:-100}))
some=$((many / 10))
[ $some -ge 2000 ] || some=2000

usage purgatory
example purgatory ${SCALE:+"$many"}
holds "an overflow wheel is made when a request needs it" '
	/ requests wait, on / { seen = 1; if ($5 < 1) print }'
said "a put completes a request that names its key second" \
	"a put of orders-1 completes all that wait for it" \
	"  request 1: by a put of orders-1" \
	"puts of orders-1 and orders-0 complete no request again"
said "a put completes a request that names its key first" \
	"a put of orders-1 completes all that wait for it" \
	"  request 2: by a put of orders-1" \
	"puts of orders-1 and orders-0 complete no request again"
said "puts of the keys of completed requests complete nothing" \
	"puts of orders-1 and orders-0 complete no request again" \
	"  no event" \
	"payments-0 is completed by hand"
said "COMPLETE of a key completes the request that waits for it" \
	"payments-0 is completed by hand" \
	"  request 3: by hand, for payments-0" \
	"three seconds pass: a timeout of two seconds is over"
said "a request times out after two seconds, another is completed by a put" \
	"three seconds pass: a timeout of two seconds is over" \
	"  request 4: timed out" \
	"a put of orders-2 completes a request with a longer timeout" \
	"  request 5: by a put of orders-2"
said "a completed request does not time out later" \
	"seven seconds pass: no completed request times out" \
	"  no event" \
	"a put of audit-0 does not complete a cancelled request" \
	"  no event"
lines "five completions are reported for five requests" 5 '^  request [1-5]: '
holds "no request is reported twice" '/^  request/ { seen = 1; if (told[$2]++) print }'
steady "$many"

example purgatory $some
steady $some
finish
