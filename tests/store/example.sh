#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# example.sh - run examples/offline_locks.sh on this machine, with a temporary PostgreSQL.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
make -s -C "$top/tests" store
temporary=$(mktemp -d)

# shellcheck disable=SC2317 # called by the trap of server.sh
leave() {
	ended=$?
	rm -rf "$temporary"
	exit $ended
}
# shellcheck source=tests/store/server.sh
. "$here/server.sh"
# shellcheck disable=SC2154 # server.sh's
PATH=$top/.cache/build/tools:$PATH "$top/examples/offline_locks.sh" "$store"
