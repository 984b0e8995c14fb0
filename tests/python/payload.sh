#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD TOOLS PYTHON [full|newest] - make the payload PYTHON of the guest that runs the tests of this
# folder. It has the module and hbctl of the PAYLOAD of other guests, libhashbelt of the directory TOOLS, the
# package, its examples, and the Python of root.sh.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
payload=$1 tools=$2 python=$3
"$tests/need.sh" python3
root=$("$tests/python/root.sh" ${4:+"$4"})
rm -rf "$python"
mkdir -p "$python/tests" "$python/bindings/python" "$python/docs" "$python/examples" "$python/host"
cp -a "$root"/* "$python/host"
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$tests/guest.sh" "$python"
for place in usr later/usr; do
	[ ! -d "$python/host/$place/lib/x86_64-linux-gnu" ] ||
		cp -p "$tools/libhashbelt.so.0" "$python/host/$place/lib/x86_64-linux-gnu"
done
cp -rp "$tests/python" "$python/tests"
cp -p "$top/docs/python.md" "$python/docs"
cp -rp "$top/examples/python" "$python/examples"
cp -rp "$top/bindings/python/hashbelt" "$python/bindings/python"
"$top/bindings/python/generate.py" "$python/bindings/python/hashbelt/_abi.py"
"$tests/vm/copy.sh" --libraries "$python/host" "$python/hbctl"
