#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [SUITE]... - run tests and count. Without a name, all of them:
#
#	native	what needs no kernel: parsers, usage
#	device	every ioctl, in 64 and 32 bits, and the module itself
#	hbctl	the tool, against the module
#	examples	what the examples count
#	stress	everything at once on two processors
#	cost	the cost of an operation does not depend on the size of a belt
#	kunit	the core without a device, under User-Mode Linux
#	harness	that the machine for the tests can fail
#
# What each suite said stays in .cache/build/test. Ends with "N passed, N failed,
# N skipped"; exit status 0 only if none failed.
set -u

tests=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$tests/.." && pwd)
payload=$top/.cache/build/payload
logs=$top/.cache/build/test

begin() {
	echo "# begin $1"
}

end() {
	echo "# end $1 $2"
}

# one NAME COMMAND... - a command that prints TAP.
one() {
	name=$1
	shift
	begin "$name"
	"$@"
	end "$name" $?
}

# guest NAME OPTIONS PROGRAM... - run programs of the payload in a guest, and
# say whether the guest came through that in good order.
guest() {
	guest_name=$1
	options=$2
	shift 2
	# shellcheck disable=SC2086 # options, split on purpose
	"$tests/vm/run.sh" --keep "$logs/$guest_name" $options "$payload" \
		sh ./guest.sh "$@" 2>"$logs/$guest_name.err"
	guest_status=$?
	begin "guest-of-$guest_name"
	echo 1..1
	if [ $guest_status = 0 ]; then
		echo "ok 1 - the kernel had nothing to complain about"
	else
		sed 's/^/# /' "$logs/$guest_name.err"
		echo "not ok 1 - the guest ended in good order (status $guest_status)"
	fi
	end "guest-of-$guest_name" 0
}

suite_native() {
	one duration "$top/.cache/build/native/duration_test"
	one encoding "$top/.cache/build/native/encoding_test"
	PATH=$payload:$PATH one usage "$tests/hbctl/usage.t"
}

suite_device() {
	set --
	for source in "$tests"/device/*.c; do
		program=device/$(basename "$source" .c)
		set -- "$@" "$program" "$program-32"
	done
	guest device "--timeout 300" "$@" tests/device/module.t
}

suite_hbctl() {
	guest hbctl "--timeout 300" client_test tests/hbctl/hbctl.t
}

suite_examples() {
	guest examples "" tests/examples/sessions.t
}

suite_stress() {
	guest stress "--timeout 300" "stress 1" "stress 2" "stress $(date +%s)"
}

suite_cost() {
	one cost "$tests/bench/cost.t"
}

suite_kunit() {
	one kunit "$tests/kunit/run.sh"
}

suite_harness() {
	one harness "$tests/vm/selftest.sh"
}

mkdir -p "$logs"
make -s -C "$tests" payload native >"$logs/build.log" 2>&1 || {
	cat "$logs/build.log" >&2
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
}
if [ -n "${ACCESS_LOG:-}" ]; then
	gzip -dcf "$ACCESS_LOG" >"$payload/real.log"
else
	rm -f "$payload/real.log"
fi
# lane SUITE... - one after the other. What a suite said is passed on as a whole,
# so that lanes do not mix.
lane() {
	for suite; do
		echo "-- $suite" >&2
		"suite_$suite" >"$logs/$suite.tap" 2>"$logs/$suite.stderr"
		flock "$logs/lock" cat "$logs/$suite.tap"
	done
}

# Two at a time. Those that build a kernel or take long begin early.
if [ $# -gt 0 ]; then
	lane "$@"
else
	lane kunit cost harness &
	lane native device hbctl examples stress
	wait
fi | awk -f "$tests/tally.awk"
