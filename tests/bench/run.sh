#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh - measure the operations of belts of several sizes, and the same operations of belts and of
# what they are compared with, in guests. Prints tables, and leaves the lines of figures.sh in
# .cache/build/bench.json.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
file=$top/.cache/build/bench.json

# table NAME HEADLINE
table() {
	printf '\n%s\n\n' "$2"
	"$here/table.sh" "$file" "$1"
}

mkdir -p "${file%/*}"
"$here/figures.sh" peers times sizes >"$file.new"
mv "$file.new" "$file"
table instructions "Instructions of an operation, in a cache of 100,000 entries"
table ratios "The same with the work that the kernel does meanwhile, as multiples of an ioctl that returns at once"
table times "Their time in an emulated machine, as multiples of that ioctl: the 64 calls in a row that took least"
table sizes "The time of operations on belts in an emulated machine, as multiples of that ioctl"
printf '\nAll figures, as lines of JSON: %s\n' "$file"
