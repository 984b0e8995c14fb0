#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# machine.t PROCESSOR KIB PREEMPTION - check that the guest is what its suite asked for:
# uname's name of the processor, the size of a page in KiB, and the preemption model:
# PREEMPT_RT, PREEMPT or none (voluntary).

unset CDPATH
# shellcheck source=tests/hbctl/tap.sh
. "$(dirname "$0")/../hbctl/tap.sh"

# same NAME FOUND EXPECTED
same() {
	result "$1 is $3" "$([ "$2" = "$3" ] || echo "expected $3, found $2")"
}

preemption=$(uname -v | grep -o 'PREEMPT[A-Z_]*')
same "the processor" "$(uname -m)" "$1"
# The auxiliary vector is pairs of words; 6 is AT_PAGESZ.
same "the size of a page in KiB" "$(od -An -tu8 -w16 /proc/self/auxv |
	awk '$1 == 6 { print $2 / 1024 }')" "$2"
same "the model of preemption" "${preemption:-none}" "$3"
finish
