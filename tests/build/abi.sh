#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# abi.sh LIBRARY - print the binary interface of a libhashbelt.so that was built with -g: functions
# with their arguments, and the types of hashbelt/client.h, as abidw writes them. The test
# build fails if a part of tests/build/libhashbelt.abi has changed or is gone; there may be more. Write
# that file anew before a release, and where docs/abi.md permits to break the interface:
#
#	make tools && tests/build/abi.sh .cache/build/tools/libhashbelt.so >tests/build/libhashbelt.abi
set -eu
unset CDPATH

top=$(cd "$(dirname "$0")/../.." && pwd)
headers=$(mktemp -d)
trap 'rm -rf "$headers"' EXIT

"$top/tests/need.sh" abigail-tools
# Types that client.h does not define are private: tests/device/layout.h has those of hashbelt.h.
# Paths do not name the directory of the clone.
cp "$top/tools/lib/hashbelt/client.h" "$headers"
abidw --drop-private-types --headers-dir "$headers" --no-corpus-path --no-comp-dir-path \
	--no-show-locs --no-parameter-names --no-elf-needed --no-architecture \
	--no-write-default-sizes "$1" |
	sed "s/^ *//; s|path='[^']*/tools/lib/|path='tools/lib/|; 1a <!-- $(head -n 2 "$0" | sed -n 's/^# //p') -->"
