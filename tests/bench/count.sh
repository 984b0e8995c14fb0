#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# count.sh ENTRIES BUCKETS [HASHBELT.KO] - count the instructions that each operation takes on a
# belt of that size, in a guest. Prints what they depend on besides the module, as comments, and
# then "OPERATION COUNT" lines, sorted.
#
# The guest has the module and bench alone: what else is built for tests must not move its
# clock, and with it the moments at which the kernel frees what was replaced.
set -eu

top=$(cd "$(dirname "$0")/../.." && pwd)
payload=$top/.cache/build/payload
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/payload"
cp "${3:-$payload/hashbelt.ko}" "$work/payload/hashbelt.ko"
cp "$payload/bench" "$work/payload"
# The guest sleeps first: the kernel is still busy with its own start, and that would be counted.
"$top/tests/vm/run.sh" --count-instructions --memory 1024 "$work/payload" \
	sh -c "echo kernel: \$(uname -rv); sleep 3; insmod hashbelt.ko &&
	./bench --entries $1 --buckets $2 --rounds 400 --unit instructions &&
	rmmod hashbelt" >"$work/output"
sed -n 's/^kernel: /# kernel: /p' "$work/output"
echo "# compiler: $(gcc --version | head -n 1)"
awk '/ instructions / {
	name = substr($0, 1, 18)
	sub(/ +$/, "", name)
	cost = $0
	sub(/ instructions .*/, "", cost)
	sub(/.* /, "", cost)
	print name, cost
}' "$work/output" | LC_ALL=C sort
