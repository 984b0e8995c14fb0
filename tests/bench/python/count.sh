#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# count.sh [SOURCE HASHBELT.KO] - count the instructions that operations of the package for Python take,
# in a guest with the Python of this machine's Debian, or of the suite DEBIAN in the environment, trixie or sid: of
# this tree, or of the tree SOURCE with that module. cost.py has the operations. Prints the version of Python as a
# comment, and then sorted lines "python OPERATION COUNT".
set -eu
unset CDPATH

top=$(cd "$(dirname "$0")/../../.." && pwd)
payload=$top/.cache/build/payload
source=${1:-$top}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make -s -C "$top/tests" module hbctl >&2
"$source/tests/python/payload.sh" "$payload" "$top/.cache/build/tools-guest" "$work/payload" ${DEBIAN:+"$DEBIAN"} >&2
cp "${2:-$payload/hashbelt.ko}" "$work/payload/hashbelt.ko"
cp -p "$top/tests/bench/python/cost.py" "$work/payload"
memory=1024 python=python3
[ -z "${DEBIAN-}" ] || memory=2048 python=tests/python/full/later.sh
# The guest sleeps first: the kernel's work after booting would be counted otherwise. Hashes and addresses
# are the same in each run.
# shellcheck disable=SC2016 # for the shell of the guest
"$top/tests/vm/run.sh" --count-instructions --memory $memory "$work/payload" sh -c '
	export PATH=$PATH:/usr/bin PYTHONPATH=/payload/bindings/python PYTHONDONTWRITEBYTECODE=1
	export HASHBELT_BACKEND=native PYTHONHASHSEED=0
	echo 0 >/proc/sys/kernel/randomize_va_space
	sleep 3; insmod hashbelt.ko && '"$python"' ./cost.py 1000 20 hashbelt && rmmod hashbelt' >"$work/output"
sed -n 's/^python: /# python: /p' "$work/output"
sed -n 's/.*"operation":"\([^"]*\)".*"cost":\([0-9]*\).*/python \1 \2/p' "$work/output" |
	grep -v ' LocMemCache ' | LC_ALL=C sort
