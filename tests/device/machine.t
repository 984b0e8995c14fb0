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
is "the size of a page in KiB" "$(sed -n 's/^KernelPageSize: *\([0-9]*\) kB/\1/p' /proc/self/smaps |
	head -n 1)" "$2"
is "the model of preemption" "${preemption:-none}" "$3"
exit $failed
