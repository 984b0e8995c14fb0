#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# extension.sh TOOLS DIRECTORY - build the extension of the package for Python, as setup.py does, with
# the library of the directory TOOLS, to DIRECTORY/hashbelt. A warning of the compiler is an error.
# CFLAGS and LDFLAGS are added. Its output is empty, unless it fails.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
tools=$(cd "$1" && pwd)
directory=$(mkdir -p "$2" && cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tests/need.sh" gcc python3 python3-dev python3-setuptools
cd "$top/bindings/python"
HASHBELT_BACKEND=native CFLAGS="-Wall -Wextra -Werror ${CFLAGS-}" LDFLAGS="-L$tools ${LDFLAGS-}" \
	/usr/bin/python3 setup.py -q build_ext --build-lib "$directory" \
	>"$work/log" 2>&1 || {
	cat "$work/log" >&2
	echo "extension.sh: the extension was not built" >&2
	exit 1
}
