#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# tour.sh - run the tour of examples/ in a guest.
set -eu
unset CDPATH
top=$(cd "$(dirname "$0")/.." && pwd)
echo "Booting a virtual machine (some seconds) ..."
exec "$top/tests/vm/run.sh" "$top/.cache/build/payload" sh ./tour.sh
