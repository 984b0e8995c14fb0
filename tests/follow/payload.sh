#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD TOOLS BUILD FOLLOWED - make the payload FOLLOWED of guests that run the tests of this
# folder. It has the module and hbctl of the PAYLOAD of other guests, libhashbelt of the directory TOOLS,
# hbfollow and hbserve of the directory BUILD, the package for Python, the engines of root.sh, certificates for
# TLS, and the programs of examples/follow.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
payload=$1 tools=$2
build=$(cd "$3" && pwd)
followed=$4

root=$("$tests/follow/root.sh")
rm -rf "$followed"
mkdir -p "$followed/host" "$followed/tests/serve" "$followed/bindings/python" "$followed/examples"
find "$root" -mindepth 1 -maxdepth 1 -exec cp -a -t "$followed/host" {} +
cp -rp "$tests/follow" "$tests/where.sh" "$followed/tests"
cp -p "$tests/serve/serve.py" "$followed/tests/serve"
mkdir "$followed/docs"
cp -p "$top/docs/hbfollow.8" "$followed/docs"
cp -rp "$top/bindings/python/hashbelt" "$followed/bindings/python"
"$top/bindings/python/generate.py" "$followed/bindings/python/hashbelt/_abi.py"
cp -p "$tools/libhashbelt.so.0" "$followed/host/usr/lib/x86_64-linux-gnu"
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$payload/hbctl-manage.so" "$tests/guest.sh" "$build/hbfollow" "$build/hbserve" "$followed"
cp -rp "$top/examples/follow" "$followed/examples"
"$tests/vm/copy.sh" --libraries "$followed/host" "$followed/hbctl" "$followed/hbfollow" "$followed/hbserve"
"$tests/follow/certify.sh" "$followed/tests/follow/tls"
