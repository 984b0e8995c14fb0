#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# builtin.t - the kernel has the driver built in, and was booted with hashbelt.max_belts=77777 hashbelt.buckets=7.

unset CDPATH
# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"
parameters=/sys/module/hashbelt/parameters
number=0 failed=0

# is NAME FOUND EXPECTED
is() {
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1: $3"
	else
		echo "not ok $number - $1: $3"
		echo "# $(place "$1"): expected $3, found $2"
		failed=1
	fi
}

# A module that was loaded has a state there.
is "files of the driver's state as a module" "$(find /sys/module/hashbelt -name initstate | wc -l)" 0
is "the limit of the kernel's command line" "$(cat $parameters/max_belts)" 77777
is "belts at boot" "$(hbctl belts --raw --noheadings -o name)" default
is "buckets of that belt, as on the kernel's command line" \
	"$(hbctl -b default info --json | sed 's/.*"buckets":\([0-9]*\).*/\1/')" 7
echo "1..$number"
exit $failed
