#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_payload.sh PAYLOAD TOOLS HBSERVE GO CLIENTS - make the payload CLIENTS of the guest in which clients of Redis,
# those of redis_root.sh, use belts. It has the module and hbctl of the PAYLOAD of other guests, the library of the directory
# TOOLS with the package for Python, the program HBSERVE, and the program GO of redis_go.sh.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
payload=$1 tools=$2 hbserve=$3 go=$4 clients=$5
root=$("$tests/newest/redis_root.sh")
rm -rf "$clients"
mkdir -p "$clients/host" "$clients/tests"
for directory in etc lib lib64 usr; do
	cp -a "$root/$directory" "$clients/host"
done
# The guest needs no server of Redis, nor what belongs to sanitizers.
rm -f "$clients"/host/usr/bin/redis-* "$clients"/host/usr/lib/*/lib[au]*san.so.*
cp -p "$go" "$clients/host/usr/bin"
cp -rp "$tests/newest" "$tests/serve" "$clients/tests"
cp -rp "$top/bindings/python/hashbelt" "$clients"
"$top/bindings/python/generate.py" "$clients/hashbelt/_abi.py"
cp -p "$tools/libhashbelt.so.0" "$clients/host/usr/lib/$(uname -m)-linux-gnu"
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$payload/hbctl-manage.so" "$tests/guest.sh" "$hbserve" "$clients"
