#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# session_keys.t - Grosso's updating belt, and ends that are recorded exactly once.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

plan 10
ends=$temporary/ends
usage session_keys
printf '17 something old\n' >"$ends"
example session_keys "$ends"
said "a session lives while it is used, and no longer than 30 minutes and an interval after" \
	"minute 20: 8 sessions" \
	"minute 40: 7 sessions" \
	"minute 60: 5 sessions" \
	"minute 80: 2 sessions" \
	"minute 100: 0 sessions"
said "the recorder is killed after a read, in a line, and before it acknowledges" \
	"recorder: 0 lines written, 0 were there, killed after a read" \
	"recorder: 1 lines written, 0 were there, killed in the middle of a line" \
	"recorder: 2 lines written, 0 were there, killed before an acknowledgment" \
	"recorder: 5 lines written, 1 were there, done"
said "each session is recorded in the end" "sessions 8 killed 3 recorded 8"

# The rest is about the file itself.
cp "$ends" "$temporary/out"
lines "each end is a line of the file" 8 '^[1-8] session-[0-7] (timed|logged) out$'
result "session ends print no other line" "$(grep -vE '^[1-8] session-[0-7] (timed|logged) out$' "$ends")"
holds "each end is recorded exactly once" '
	{ seen++ }
	told[$2]++ { print }
	END { for (i = 0; i < 8; i++) if (told["session-" i] != 1) print "session-" i }'
holds "in order, without gaps" '{ seen = 1 } $1 != NR { print }'
said "with its cause" "5 session-4 timed out" "6 session-7 logged out" "7 session-5 timed out"
finish
