#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# session_keys.t - Grosso's updating belt, and ends that are recorded exactly once.
# shellcheck disable=SC2016 # programs of awk
set -u

# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$(dirname "$0")/example.sh"

ends=$temporary/ends
usage session_keys
printf '17 something old\n' >"$ends"
example session_keys "$ends"
said "a session ends at most 30 minutes and an interval after its last use" \
	"minute 20: 8 sessions" \
	"minute 40: 7 sessions" \
	"minute 60: 5 sessions" \
	"minute 80: 2 sessions" \
	"minute 100: 0 sessions"
said "the recorder is killed after a read, within a line, and before an ack" \
	"recorder: 0 lines written, 0 were there, killed after a read" \
	"recorder: 1 lines written, 0 were there, killed in the middle of a line" \
	"recorder: 2 lines written, 0 were there, killed before an acknowledgment" \
	"recorder: 5 lines written, 1 were there, done"
said "all 8 sessions are recorded though the recorder was killed 3 times" \
	"sessions 8 killed 3 recorded 8"

# The checks below read the file.
cp "$ends" "$temporary/out"
lines "the file has a line for the end of each session" 8 '^[1-8] session-[0-7] (timed|logged) out$'
result "the file has no line but those of session ends" \
	"$(grep -vE '^[1-8] session-[0-7] (timed|logged) out$' "$ends")"
holds "the end of each session is recorded exactly once" '
	{ seen++ }
	told[$2]++ { print }
	END { for (i = 0; i < 8; i++) if (told["session-" i] != 1) print "session-" i }'
holds "ends of sessions are recorded in order, without gaps" '{ seen = 1 } $1 != NR { print }'
said "the end of each session is recorded with its cause" "5 session-4 timed out" \
	"6 session-7 logged out" "7 session-5 timed out"
finish
