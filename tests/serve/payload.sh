#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD BUILD SERVED [full] - make the payload SERVED of guests that run the tests of this folder. It has
# the module and hbctl of the PAYLOAD of other guests, hbserve of the directory BUILD, and the clients of root.sh. With
# "full" there are more clients, and hbserve is that of BUILD/plain, without sanitizers, whose memory grows.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$1
build=$(cd "$2" && pwd)
served=$3 kind=${4-}
root=$("$tests/serve/root.sh" ${kind:+"$kind"})
rm -rf "$served"
mkdir -p "$served/tests/hbctl" "$served/host"
find "$root" -mindepth 1 -maxdepth 1 ! -name go -exec cp -a -t "$served/host" {} +
cp -rp "$tests/serve" "$tests/where.sh" "$served/tests"
cp -rp "$tests/../examples/serve" "$served/examples"
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$payload/hbctl-manage.so" "$tests/guest.sh" \
	"$build/${kind:+plain/}hbserve" "$served"
"$tests/vm/copy.sh" --libraries "$served/host" "$served/hbctl" "$served/hbserve"
# A client in Go, built with the compiler of that root directory.
[ -z "$kind" ] || GOROOT=$(echo "$root"/go/usr/lib/go-1*) GOPATH=$root/go/usr/share/gocode GOCACHE=$build/go GOFLAGS='' \
	GO111MODULE=off CGO_ENABLED=0 "$root/go/usr/lib/go/bin/go" build -o "$served/gocounter" \
	"$tests/../examples/serve/counter.go"
