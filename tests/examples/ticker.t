#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ticker.t - Grosso's reinserting belt: a call every N intervals.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

usage ticker
example ticker
holds "each client gets a push every 5 intervals from its arrival on" '
	$3 == "comes," { last[$2] = $1 }
	$2 == "push" {
		seen = 1
		client = substr($4, 1, length($4) - 1)
		if (!(client in last))
			print "a push to " client ", before its arrival"
		else if ($1 - last[client] != 5)
			print client ": expected a push at " last[client] + 5 ", found one at " $1
		last[client] = $1
	}'
lines "client alice gets all of its 4 pushes" 4 '^[0-9 ]+ push to alice:'
lines "client bob gets all of its 4 pushes" 4 '^[0-9 ]+ push to bob:'
said "a push contains the prices of its interval" \
	" 5  push to alice: ACME 105.05 INIT 105.72" \
	"10  push to alice: ACME 104.88 INIT 105.55"
holds "a client that has left gets no more pushes" '
	/ carol leaves$/ { seen = 1 }
	seen && / push to carol:/ { print }'
lines "client carol gets two pushes before it leaves" 2 ' push to carol: ACME '
finish
