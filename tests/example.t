#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# example.t - make run EXAMPLE=NAME. Runs where the sources are, and boots guests itself.
set -u

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"
# shellcheck source=tests/examples/example.sh
. "$tests/examples/example.sh"

# unlisted - prints the examples that $temporary/err does not list.
unlisted() {
	for source in "$tests"/../examples/*.c; do
		name=$(basename "$source" .c)
		grep -q "^$name  *[a-z]" "$temporary/err" || echo "$name is not listed"
	done
}

# make_run [ARGUMENT]... - as people call it.
# shellcheck disable=SC2317 # called by run
make_run() {
	make -s -C "$tests/.." run "$@"
}

plan 5
run make_run EXAMPLE=nonsense
result "an unknown name lists the examples that there are" \
	"$(unlisted; [ "$status" != 0 ] || echo "status 0")"
run make_run EXAMPLE=limiter
said "an example runs in a guest, and says what it has to say" \
	"processes 4 tried 4000 limit 1500 passed 1500"
run make_run EXAMPLE='timecache 60 5'
said "it may have arguments" "75.00 s: expired once-0, put once, which lived 75.00 s"
run make_run EXAMPLE='timecache 60 1'
result "its error is passed on" "$([ "$status" != 0 ] || echo "status 0"
	grep -q 'at least 2 buckets' "$temporary/out" "$temporary/err" || echo "nothing was said")"
run make_run EXAMPLE=sessions
lines "sessions has a log to count" 1 '^requests [0-9]+ clients [0-9]+ sessions [0-9]+$'
finish
