#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# start.sh [HASHBELT.KO HBCTL] - count the instructions of commands of hbctl, each a process, and of
# gets by a coprocess, in a guest: of this tree, or of that hbctl with that module. Prints the version
# of the C library as a comment, and then sorted lines "NAME COUNT", which start.c explains.
#
# "Empty program" is one whose main() returns at once, with the C library as its only one. All are
# linked as Debian's packages are.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$tests/../.cache/build/payload
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/payload"
cp "${1:-$payload/hashbelt.ko}" "$work/payload/hashbelt.ko"
cp "${2:-$payload/hbctl}" "$work/payload/hbctl"
cp "$payload/start" "$tests/bench/start_guest.sh" "$work/payload"
echo 'int main(void) { return 0; }' |
	gcc -O2 -Wl,-z,relro -Wl,-z,now -x c -o "$work/payload/empty" -
"$tests/vm/copy.sh" --libraries "$work/payload/host" "$work/payload/hbctl"
"$tests/vm/run.sh" --count-instructions --memory 1024 "$work/payload" ./start_guest.sh \
	>"$work/output"
echo "# libc: $(ldd --version | head -n 1)"
sed -n '/ [0-9]*$/p' "$work/output" | LC_ALL=C sort
