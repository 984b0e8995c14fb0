#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.t - what tests/run.sh lets its user choose, and that a signal ends all that it has begun.
set -u
unset CDPATH ONLY

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
scratch=$(mktemp -d)
running=
trap 'kill $running 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
# The state of a run, and its temporary files: those of the run that this test is a part of are others.
export TEST_LOGS="$scratch/logs" TMPDIR="$scratch/temporary"
mkdir "$TMPDIR"
log=$scratch/log

# refused PATTERN DESCRIPTION ARGUMENT... - a test: with these arguments run.sh fails, and says why.
refused() {
	pattern=$1 what=$2
	shift 2
	! "$tests/run.sh" "$@" >"$log" 2>&1 && grep -q -e "$pattern" "$log"
	result $? "$what" "$log"
}

# lists LINE ARGUMENT... - a test: with these arguments run.sh --list prints the line.
lists() {
	line=$1
	shift
	"$tests/run.sh" "$@" --list >"$log" 2>&1 && grep -Fqx "$line" "$log"
	result $? "$* --list prints '$line'" "$log"
}

# processes - print the processes of the run.
processes() {
	grep -lsz "^TMPDIR=$TMPDIR/" /proc/[0-9]*/environ
}

# ended SIGNAL STATUS - a test: the signal ends a run with a guest, and nothing is left.
ended() {
	rm -rf "$TEST_LOGS"
	# A process in the background ignores SIGINT, unless it is told otherwise.
	ONLY=race_test env --default-signal=INT "$tests/run.sh" device >"$log" 2>&1 &
	running=$!
	until grep -aqs 'task [0-9a-f]* starts' "$TEST_LOGS/device/kernel.log"; do
		kill -0 "$running" 2>/dev/null || break
		sleep 0.2
	done
	[ "$(processes)" ] || echo "found no process of the run" >>"$log"
	kill -s "$1" "$running"
	wait "$running"
	status=$?
	running=
	processes >"$scratch/left"
	ls -A "$TMPDIR" >>"$scratch/left"
	[ "$status" = "$2" ] && [ ! -s "$scratch/left" ] && ! grep -q 'found no process' "$log"
	result $? "SIG$1 ends a run with status $2, its guest, and all that it has begun" \
		"$([ -s "$scratch/left" ] && echo "$scratch/left" || echo "$log")"
}

refused 'no such suite: devices; there are: native ' 'an unknown suite is an error that lists the suites' devices
export ONLY=no_such_test
refused 'no suite and no program of --test is named no_such_test' \
	'ONLY with a name that nothing has is an error' --test
unset ONLY
lists 'device	rights_test' --test
lists 'kunit	hashbelt_wheel' --quick
ended INT 130
ended TERM 143
grep -q '^run.sh: a signal ends the suite device$' "$log" && grep -q '/device/kernel.log, [0-9]* s old:$' "$log" &&
	grep -q 'task [0-9a-f]* starts' "$log"
result $? 'SIGTERM shows which suite it ends, and the last words of its guest' "$log"
finish
