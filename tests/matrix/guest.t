#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.t RELEASE - the guest has the kernel RELEASE and two processors. It boots with one
# processor (maxcpus=1): newer kernels patch their own code while they boot, and an emulated
# second processor may crash then.

unset CDPATH
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
ok "the guest runs kernel $1" test "$(uname -r)" = "$1"
ok "the second processor can be taken online" second_comes
exit $failed
