#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# guest.t RELEASE - the guest has the kernel that was meant, and two processors. It
# started with one (maxcpus=1): newer kernels patch their own code while they boot, and
# the emulated second processor may stumble over that.

# shellcheck source=tests/where.sh
. "$(cd "$(dirname "$0")" && echo "$PWD/" | sed 's|\(.*/tests\)/.*|\1|')/where.sh"

processors=/sys/devices/system/cpu
number=0 failed=0

ok() {
	promise=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $promise"
	else
		echo "not ok $number - $promise"
		echo "# $(place "$promise"): expected success of: $*"
		failed=1
	fi
}

# shellcheck disable=SC2317 # called by ok
second_comes() {
	echo 1 >"$processors/cpu1/online" && grep -qx 0-1 "$processors/online"
}

echo 1..2
ok "the kernel is $1" test "$(uname -r)" = "$1"
ok "the second processor comes" second_comes
exit $failed
