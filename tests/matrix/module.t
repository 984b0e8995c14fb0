#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module.t SUITE DIRECTORY - the module builds for the stock kernel of a suite of
# Debian, with all warnings on and none given; it is left in DIRECTORY. Says so in TAP.
set -u

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# In a new place: what is there already would be built, and complained about, no more.
build() {
	rm -rf "$2"
	"$here/kernel.sh" "$1" module "$2" || echo "status $?"
}

echo 1..1
build "$1" "$2" >"$log" 2>&1
if [ ! -s "$log" ] && [ -s "$2/hashbelt.ko" ]; then
	echo "ok 1 - the module builds on $1 without a warning"
else
	echo "not ok 1 - the module builds on $1 without a warning"
	echo "# $(place 'the module builds on'): expected no word, and hashbelt.ko; found:"
	sed 's/^/# /' "$log"
	exit 1
fi
