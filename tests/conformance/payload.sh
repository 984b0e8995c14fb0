#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD TOOLS BUILD JUDGED [PROCESSOR] - make the payload JUDGED of the guest that runs the conformance
# suite: that of the tests of the package for Python, with the runners, and hbserve of the directory BUILD.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$1 tools=$2 build=$3 judged=$4
"$tests/python/payload.sh" "$payload" "$tools" "$judged" ${5:+"$5"}
cp -p "$build/hbserve" "$judged"
cp -rp "$tests/conformance" "$judged/tests"
[ "${5-}" ] || "$tests/vm/copy.sh" --libraries "$judged/host" "$judged/hbserve"
