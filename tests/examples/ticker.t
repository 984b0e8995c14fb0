#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# ticker.t - Grosso's reinserting belt: a call every N intervals.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 8
usage ticker
example ticker
holds "each client is called every 5 intervals, from when it came" '
	$3 == "comes," { last[$2] = $1 }
	$2 == "push" {
		seen = 1
		client = substr($4, 1, length($4) - 1)
		if (!(client in last))
			print "a push to " client ", who has not come"
		else if ($1 - last[client] != 5)
			print client ": called at " $1 " after " last[client]
		last[client] = $1
	}'
lines "none of alice's calls is left out" 4 '^[0-9 ]+ push to alice:'
lines "none of bob's calls is left out" 4 '^[0-9 ]+ push to bob:'
said "a push has the prices of its interval" \
	" 5  push to alice: ACME 105.05 INIT 105.72" \
	"10  push to alice: ACME 104.88 INIT 105.55"
holds "who has left is not called any more" '
	/ carol leaves$/ { seen = 1 }
	seen && / push to carol:/ { print }'
lines "carol was called until she left" 2 ' push to carol: ACME '
finish
