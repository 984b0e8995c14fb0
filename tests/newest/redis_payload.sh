#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_payload.sh PAYLOAD HBSERVE GO CLIENTS - make the payload CLIENTS of the guest in which clients of Redis, those of
# redis_root.sh, use belts. It has the module and hbctl of the PAYLOAD of other guests, the program HBSERVE, and the
# program GO of redis_go.sh.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$1 hbserve=$2 go=$3 clients=$4
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
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$payload/hbctl-manage.so" "$tests/guest.sh" "$hbserve" "$clients"
