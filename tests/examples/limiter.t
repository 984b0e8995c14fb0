#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# limiter.t - a rate limiter with a fixed window.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

usage limiter
example limiter
said "five requests of a window pass, and no more" \
	" 0 s  ann    request 1 of the window passes" \
	" 4 s  ann    request 5 of the window passes" \
	" 5 s  ann    request 6 of the window is refused" \
	" 9 s  ann    request 10 of the window is refused"
said "a window ends after 10 seconds, whether requests were refused or not" \
	" 9 s  ann    request 10 of the window is refused" \
	"10 s  ann    request 1 of the window passes" \
	"20 s  ann    request 1 of the window passes"
holds "at most five requests pass in each window of 10 seconds" '
	/ passes$/ {
		seen = 1
		if ($5 == 1)
			began[$3] = $1
		if ($5 > 5 || $1 - began[$3] >= 10)
			print
	}'
lines "each request of a client below the limit passes" 9 \
	' bob    request [1-4] of the window passes$'
said "of 4000 requests by four processes exactly the allowed 1500 pass" \
	"processes 4 tried 4000 limit 1500 passed 1500"
finish
