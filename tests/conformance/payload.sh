#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD TOOLS JUDGED [PROCESSOR] - make the payload JUDGED of the guest that runs the conformance suite:
# that of the tests of the package for Python, with the runners. For another PROCESSOR it has hbserve of the directory
# TOOLS, too, and its dialogues.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$1 tools=$2 judged=$3
"$tests/python/payload.sh" "$payload" "$tools" "$judged" ${4:+"$4"}
cp -rp "$tests/conformance" "$judged/tests"
[ -z "${4-}" ] || {
	cp -p "$tools/hbserve" "$judged"
	cp -rp "$tests/serve" "$judged/tests"
}
