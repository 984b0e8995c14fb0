#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# example.t - make run EXAMPLE=NAME. Runs in the source tree, and boots guests itself.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$tests/examples/example.sh"

# unlisted OUTPUT - prints the examples that $temporary/OUTPUT does not list.
unlisted() {
	for source in "$tests"/../examples/*.c; do
		name=$(basename "$source" .c)
		grep -q "^$name  *[a-z]" "$temporary/$1" || echo "$name is not listed"
	done
}

# make_run [ARGUMENT]... - "make run", as a user calls it.
# shellcheck disable=SC2317 # called by run
make_run() {
	make -s -C "$tests/.." run "$@"
}

run make_run EXAMPLE=list
result "make run EXAMPLE=list lists the examples" \
	"$(unlisted out; [ "$status" = 0 ] || echo "status $status"; cat "$temporary/err")"
run make_run EXAMPLE=nonsense
result "make run with an unknown EXAMPLE lists the examples and fails" \
	"$(unlisted err; [ "$status" != 0 ] || echo "status 0")"
run make_run EXAMPLE=limiter
said "make run EXAMPLE=limiter runs the example in a guest" \
	"processes 4 tried 4000 limit 1500 passed 1500"
run make_run EXAMPLE='timecache 60 5'
said "make run EXAMPLE='timecache 60 5' passes the arguments on" \
	"75.00 s: expired once-0, put once, which lived 75.00 s"
run make_run EXAMPLE='timecache 60 1'
result "make run fails if the example fails, and prints its error" "$(
	[ "$status" != 0 ] || echo "expected a status other than 0, found 0"
	grep -q 'at least 2 buckets' "$temporary/out" "$temporary/err" ||
		echo "expected the error of the example, found none"
)"
run make_run EXAMPLE=sessions
lines "make run EXAMPLE=sessions counts the sessions of access.log" 1 \
	'^requests [0-9]+ clients [0-9]+ sessions [0-9]+$'
finish
