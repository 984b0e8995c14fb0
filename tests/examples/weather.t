#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# weather.t - Grosso's standard belt: get does not refresh, put keeps an old value, drop.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

usage weather
example weather
said "an entry that is read each minute expires after four minutes" \
	" 0 min  Oslo    5 degrees at minute 0, asked the station, 240 s to live" \
	" 1 min  Oslo    5 degrees at minute 0, from the belt, 180 s to live" \
	" 2 min  Oslo    5 degrees at minute 0, from the belt, 120 s to live" \
	" 3 min  Oslo    5 degrees at minute 0, from the belt, 60 s to live" \
	" 4 min  Oslo    3 degrees at minute 4, asked the station, 240 s to live" \
	" 7 min  Oslo    3 degrees at minute 4, from the belt, 60 s to live" \
	" 8 min  Oslo    12 degrees at minute 8, asked the station, 240 s to live"
lines "three of all reads ask the station" 3 '^ .* Oslo .* asked the station'
lines "seven of all reads are served from the belt" 7 '^ .* Oslo .* from the belt'
said "put over an entry keeps its value and its deadline" \
	" 2 min  Oslo    5 degrees at minute 0, from the belt, 120 s to live" \
	" 2 min  Oslo    a put of '4 degrees at minute 2': there is one" \
	" 3 min  Oslo    5 degrees at minute 0, from the belt, 60 s to live"
lines "an entry that is not read expires as well" 2 '^ .* Bergen .* asked the station'
said "expired entries leave no memory and no event" \
	"the end: 0 entries, 0 bytes more than at first, no events"
finish
