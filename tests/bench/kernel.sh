#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh [OPTION]... - measure operations inside the kernel (tests/bench/kernel), in a guest with
# OPTIONs of tests/vm/run.sh. With --count-instructions a nanosecond of the table is one instruction.
set -eu
unset CDPATH
top=$(cd "$(dirname "$0")/../.." && pwd)
payload=$top/.cache/build/payload
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$payload/hashbelt.ko" "$payload/hashbelt_bench.ko" "$work"
# The guest sleeps first: the kernel's work after booting would be measured otherwise.
# shellcheck disable=SC2016 # for the guest's shell to expand
"$top/tests/vm/run.sh" --memory 2048 "$@" "$work" sh -c '
	sleep 3
	insmod hashbelt.ko && insmod hashbelt_bench.ko
	status=$?
	dmesg | sed -n "s/.*hashbelt_bench: //p"
	rmmod hashbelt_bench hashbelt && exit $status'
