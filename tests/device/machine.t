#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# machine.t PROCESSOR KIB PREEMPTION - check that the guest is what its suite asked for:
# uname's name of the processor, the size of a page in KiB, and the preemption model:
# PREEMPT_RT, PREEMPT or none (voluntary).

unset CDPATH
# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"
number=0 failed=0

# is NAME FOUND EXPECTED
is() {
	number=$((number + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $number - $1 is $3"
	else
		echo "not ok $number - $1 is $3"
		echo "# $(place "$1"): expected $3, found $2"
		failed=1
	fi
}

preemption=$(uname -v | grep -o 'PREEMPT[A-Z_]*')
is "the processor" "$(uname -m)" "$1"
# The auxiliary vector is pairs of words; 6 is AT_PAGESZ.
is "the size of a page in KiB" "$(od -An -tu8 -w16 /proc/self/auxv |
	awk '$1 == 6 { print $2 / 1024 }')" "$2"
is "the model of preemption" "${preemption:-none}" "$3"
echo "1..$number"
exit $failed
