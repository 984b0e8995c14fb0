#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# serve.sh [HASHBELT.KO HBSERVE] - count the instructions that hbserve takes for a request, with those of
# the kernel in its name, in a guest: of this tree, or of that program with that module. Prints sorted
# lines "hbserve PROTOCOL: OPERATION COUNT"; compare.c makes the operations.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
build=$tests/../.cache/build
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

make -s -C "$tests" bench-serve
mkdir "$work/payload"
cp "${1:-$build/payload/hashbelt.ko}" "$work/payload/hashbelt.ko"
cp "${2:-$build/tools-bench/hbserve}" "$work/payload/hbserve"
cp "$build/payload-bench/compare" "$tests/bench/serve_guest.sh" "$work/payload"
"$tests/vm/copy.sh" --libraries "$work/payload/host" "$work/payload/hbserve"
"$tests/vm/run.sh" --count-instructions --memory 1024 "$work/payload" ./serve_guest.sh >"$work/output"
sed -n 's/^\(hbserve [a-z]*:\) .*"operation":"\([^"]*\)".*"server":\([0-9]*\).*/\1 \2 \3/p' "$work/output" |
	LC_ALL=C sort
