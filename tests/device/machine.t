#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# machine.t PROCESSOR KIB PREEMPTION - the guest is what its suite says: uname's name of the
# processor, the size of a page in KiB, and the model of preemption, PREEMPT_RT, PREEMPT or
# none (voluntary).

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"
number=0 failed=0

# is WHAT FOUND MEANT
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
echo 1..3
is "the processor" "$(uname -m)" "$1"
# Of the words in pairs, what is behind AT_PAGESZ, 6.
is "the size of a page in KiB" "$(od -An -tu8 -w16 /proc/self/auxv |
	awk '$1 == 6 { print $2 / 1024 }')" "$2"
is "the model of preemption" "${preemption:-none}" "$3"
exit $failed
