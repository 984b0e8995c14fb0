#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tally.t - tally.awk notices each kind of failure, and missing results.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
log=$(mktemp)
trap 'rm -f "$log" "$log.all"' EXIT

# the output of a suite that passes
good='# suite-begin good
# begin a
ok 1 - one
ok 2 - two
1..2
# end a 0
# suite good 0'

# tallied STATUS PATTERN DESCRIPTION SUITES TEXT - a test: with the input TEXT, and SUITES that
# must be in it, tally.awk exits with STATUS, and its summary matches PATTERN.
tallied() {
	echo "$5" | awk '/^# suite(-begin)? / { suite = $3 } { print suite "\t" $0 }' |
		awk -v suites="$4" -v settings='SEED=7 ' -f "$tests/tally.awk" >"$log.all" 2>&1
	status=$?
	sed '1,/^-- what failed/d' "$log.all" >"$log"
	[ -s "$log" ] || cp "$log.all" "$log"
	[ $status = "$1" ] && grep -q "$2" "$log"
	result $? "$3" "$log.all"
}

# program PATTERN DESCRIPTION LINE... - a test: a program with the output LINE... makes the tally
# fail, and the summary matches PATTERN.
program() {
	pattern=$1 what=$2
	shift 2
	tallied 1 "$pattern" "$what" 'good bad' "$good
# suite-begin bad
# begin ${begun:-b}
$(printf '%s\n' "$@")
# suite bad 0"
}

tallied 0 '^2 passed, 0 failed, 0 skipped$' 'tests that pass are counted' good "$good"
tallied 0 '^with SEED=7' 'the seed is printed if all tests pass' good "$good"
program 'b: not ok 2 - two' 'a test that fails is counted' \
	1..2 'ok 1 - one' 'not ok 2 - two' '# end b 1'
program 'b: 2 tests planned, 1 run' 'a planned test that did not run is a failure' \
	1..2 'ok 1 - one' '# end b 0'
program 'b: announced no plan' 'a program without a plan fails' 'ok 1 - one' '# end b 0'
program 'b: announced no plan' 'a program that dies before its plan fails' 'ok 1 - one' '# end b 139'
program 'b: 1 tests planned, 2 run' 'a test after the plan is a failure' \
	'ok 1 - one' 1..1 'ok 2 - two' '# end b 0'
program 'b: ran no test' 'a program without a test fails' 1..0 '# end b 0'
program 'b: ended with status 3' 'a program that exits with 3 fails' 1..1 'ok 1 - one' '# end b 3'
program 'b: did not end' 'a program without an end fails' 1..1 'ok 1 - one'
program 'b: Bail out! no' 'a program that bails out fails' \
	1..1 'ok 1 - one' 'Bail out! no' '# end b 1'
program 'b: b.t: 20: judge: not found' 'a command that the shell does not find is a failure' \
	1..1 'b.t: 20: judge: not found' 'ok 1 - one' '# end b 0'
program 'b: b.t: line 20: judge: command not found' 'so is one that bash does not find' \
	1..1 'b.t: line 20: judge: command not found' 'ok 1 - one' '# end b 0'
program '0 failed, 1 skipped' 'a skipped test makes the tally fail' 1..1 'ok 1 # SKIP no' '# end b 0'
tallied 1 'suite late: did not come' 'a suite that is not in the output is a failure' 'good late' "$good"
tallied 1 'suite late: ended with status 143' 'a suite that was killed is a failure' 'good late' "$good
# suite late 143"
tallied 1 '0 passed' 'empty input is a failure' '' ''

# The summary of failures
program '^  # b.c:5: before' 'a remark before a failure is in the summary' \
	1..2 'ok 1 - one' '# b.c:5: before' 'not ok 2 - two' '# end b 1'
program '^  again: SEED=7 ONLY="b" tests/run.sh bad$' 'the summary says how to run a program again' \
	1..1 'not ok 1 - one' '# end b 1'
begun='device/b-32 8 9'
program '^  again: SEED=7 ONLY="b-32:8:9" tests/run.sh bad$' \
	'the command that runs a program again has its arguments' 1..1 'not ok 1 - one' '# end b 1'
tallied 1 '^  again: SEED=7 ONLY="a.two b.four" tests/run.sh bad$' \
	'the command that runs cases again names each failed case once' bad "# suite-begin bad
# begin-cases cases
1..5
ok 1 - a.one
not ok 2 - a.two: first
not ok 3 - a.two: second
ok 4 - b.three
not ok 5 - b.four
# end cases 1
# suite bad 0"
finish
