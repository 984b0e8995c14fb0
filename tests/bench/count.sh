#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# count.sh ENTRIES BUCKETS [HASHBELT.KO] - count the instructions that each operation takes on a
# belt of that size, in a guest. Prints the kernel and the compiler as comments, and then sorted
# lines "OPERATION COUNT".
#
# The guest has only the module and bench: other files would change the time at which it is
# ready, and so the times at which the kernel frees replaced entries.
set -eu
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd)
payload=$top/.cache/build/payload
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/payload"
cp "${3:-$payload/hashbelt.ko}" "$work/payload/hashbelt.ko"
cp "$payload/bench" "$work/payload"
# The guest sleeps first: the kernel's work after booting would be counted otherwise.
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
