#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# weather.t - Grosso's standard belt: get leaves alone, put keeps, drop.
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 8
usage weather
example weather
said "get leaves an entry where it is: what is read each minute gets no older than four" \
	" 0 min  Oslo    5 degrees at minute 0, asked the station, 240 s to live" \
	" 1 min  Oslo    5 degrees at minute 0, from the belt, 180 s to live" \
	" 2 min  Oslo    5 degrees at minute 0, from the belt, 120 s to live" \
	" 3 min  Oslo    5 degrees at minute 0, from the belt, 60 s to live" \
	" 4 min  Oslo    3 degrees at minute 4, asked the station, 240 s to live" \
	" 7 min  Oslo    3 degrees at minute 4, from the belt, 60 s to live" \
	" 8 min  Oslo    12 degrees at minute 8, asked the station, 240 s to live"
lines "one asks for all who read" 3 '^ .* Oslo .* asked the station'
lines "all others have it from the belt" 7 '^ .* Oslo .* from the belt'
said "put keeps what is there, and its deadline" \
	" 2 min  Oslo    5 degrees at minute 0, from the belt, 120 s to live" \
	" 2 min  Oslo    a put of '4 degrees at minute 2': there is one" \
	" 3 min  Oslo    5 degrees at minute 0, from the belt, 60 s to live"
lines "what nobody reads expires as well" 2 '^ .* Bergen .* asked the station'
said "what falls off is dropped: its memory is back, and nobody is told" \
	"the end: 0 entries, 0 bytes more than at first, nothing to be told"
finish
