#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD TOOLS PYTHON [full|debug|pypy|SUITE|PROCESSOR] - make the payload PYTHON of the guest that runs the tests of
# this folder. It has the module and hbctl of the PAYLOAD of other guests, libhashbelt of the directory TOOLS, the
# package, its examples, and the Python of root.sh. The package has its extension, but for PyPy and other
# processors.
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
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$payload/hbctl-manage.so" "$tests/guest.sh" "$python"
cp -rp "$tests/python" "$python/tests"
cp -p "$top/docs/python.md" "$python/docs"
cp -rp "$top/examples/python" "$python/examples"
cp -rp "$top/bindings/python/hashbelt" "$python/bindings/python"
"$top/bindings/python/generate.py" "$python/bindings/python/hashbelt/_abi.py"
for place in "$python"/host/usr/lib/*-linux-gnu "$python"/host/later/usr/lib/*-linux-gnu; do
	[ ! -d "$place" ] || cp -p "$tools/libhashbelt.so.0" "$place"
done
case ${4-} in
arm64 | s390x | pypy) ;;
# The debug build counts the references that the extension takes only if this is so.
debug) CFLAGS=-DPy_DEBUG "$tests/python/extension.sh" "$tools" "$python/bindings/python" ;;
*) "$tests/python/extension.sh" "$tools" "$python/bindings/python" ;;
esac
case ${4-} in
arm64 | s390x) rm -rf "$python/host/usr/include" "$python"/host/usr/lib/*/*.a ;;
*) "$tests/vm/copy.sh" --libraries "$python/host" "$python/hbctl" ;;
esac
