#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module.t KERNEL DIRECTORY COMMAND... - the command builds the module for a kernel in
# DIRECTORY, with all warnings on and none given. KERNEL is the kernel's name for people.
# Says so in TAP.
set -u

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"
kernel=$1 directory=$2
shift 2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# In a new place: what is there already would be built, and complained about, no more.
rm -rf "$directory"
"$@" >"$log" 2>&1 || echo "status $?" >>"$log"
echo 1..1
if [ ! -s "$log" ] && [ -s "$directory/hashbelt.ko" ]; then
	echo "ok 1 - the module builds for $kernel without a warning"
else
	echo "not ok 1 - the module builds for $kernel without a warning"
	echo "# $(place 'the module builds for'): expected no word, and hashbelt.ko; found:"
	sed 's/^/# /' "$log"
	exit 1
fi
