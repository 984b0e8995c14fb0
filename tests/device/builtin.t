#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# builtin.t - the kernel has the driver built in, and was booted with hashbelt.max_belts=77777 hashbelt.buckets=7.

unset CDPATH
# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"
parameters=/sys/module/hashbelt/parameters

# same NAME FOUND EXPECTED
same() {
	result "$1: $3" "$([ "$2" = "$3" ] || echo "expected $3, found $2")"
}

# A module that was loaded has a state there.
same "files of the driver's state as a module" "$(find /sys/module/hashbelt -name initstate | wc -l)" 0
same "the limit of the kernel's command line" "$(cat $parameters/max_belts)" 77777
same "belts at boot" "$(hbctl belts --raw --noheadings -o name)" default
same "buckets of that belt, as on the kernel's command line" \
	"$(hbctl -b default info --json | sed 's/.*"buckets":\([0-9]*\).*/\1/')" 7
finish
