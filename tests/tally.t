#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# tally.t - who counts the results can fail: whatever is wrong, or not there, is seen.
set -u

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# a suite that is as it has to be
good='# begin a
1..2
ok 1 - one
ok 2 - two
# end a 0
# suite good 0'

# tallied STATUS PATTERN DESCRIPTION SUITES TEXT - what comes of TEXT, where SUITES were to
# come.
tallied() {
	echo "$5" | awk -v suites="$4" -f "$tests/tally.awk" >"$log" 2>&1
	[ $? = "$1" ] && grep -q "$2" "$log"
	result $? "$3" "$log"
}

# program LINE... - what is wrong with a program fails the whole.
program() {
	pattern=$1 what=$2
	shift 2
	tallied 1 "$pattern" "$what" 'good bad' "$good
# begin b
$(printf '%s\n' "$@")
# suite bad 0"
}

tallied 0 '^2 passed, 0 failed, 0 skipped$' 'what is good is counted' good "$good"
program 'b: not ok 2 - two' 'a test that fails' 1..2 'ok 1 - one' 'not ok 2 - two' '# end b 1'
program 'b: 2 tests planned, 1 run' 'one that was not run' 1..2 'ok 1 - one' '# end b 0'
program 'b: announced no plan' 'no plan' 'ok 1 - one' '# end b 0'
program 'b: ran no test' 'no test' 1..0 '# end b 0'
program 'b: ended with status 3' 'a status' 1..1 'ok 1 - one' '# end b 3'
program 'b: did not end' 'no end' 1..1 'ok 1 - one'
program 'b: Bail out! no' 'a program that gives up' 1..1 'ok 1 - one' 'Bail out! no' '# end b 1'
program '0 failed, 1 skipped' 'a test that is skipped' 1..1 'ok 1 # SKIP no' '# end b 0'
tallied 1 'suite late: did not come' 'a suite that does not come' 'good late' "$good"
tallied 1 'suite late: ended with status 143' 'one that was killed' 'good late' "$good
# suite late 143"
tallied 1 '0 passed' 'nothing at all' '' ''
finish
