#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# module.t KERNEL DIRECTORY COMMAND... - a test: COMMAND builds the module in DIRECTORY, and
# prints nothing. KERNEL is the kernel's name in the test's description.
set -u
unset CDPATH

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"
kernel=$1 directory=$2
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# In a new directory, so that each file is compiled and can warn.
rm -rf "$directory"
"$@" >"$log" 2>&1 || echo "status $?" >>"$log"
echo 1..1
if [ ! -s "$log" ] && [ -s "$directory/hashbelt.ko" ]; then
	echo "ok 1 - the module builds for $kernel without a warning"
else
	echo "not ok 1 - the module builds for $kernel without a warning"
	echo "# $(place 'the module builds for'): expected no output, and hashbelt.ko; found:"
	sed 's/^/# /' "$log"
	exit 1
fi
