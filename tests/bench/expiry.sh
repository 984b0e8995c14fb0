#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# expiry.sh [ENTRIES [OPTION]...] - let ENTRIES (1000000) entries expire at once, in a guest with
# OPTIONs of tests/vm/run.sh, such as --cpus 1 or --count-instructions.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
entries=${1-1000000}
[ $# = 0 ] || shift
exec "$top/tests/vm/run.sh" --memory $((1024 + entries / 3000)) "$@" "$top/.cache/build/payload" \
	sh -c "insmod hashbelt.ko && ./expiry $entries && rmmod hashbelt"
