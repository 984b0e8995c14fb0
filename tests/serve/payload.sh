#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD BUILD SERVED [full] - make the payload SERVED of guests that run the tests of this folder. It
# has the module and hbctl of the PAYLOAD of other guests, hbserve of the directory BUILD, the
# clients of root.sh, and certificates for TLS. With "full" there are more clients, and hbserve is that of
# BUILD/plain, without sanitizers, whose memory grows.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$1
build=$(cd "$2" && pwd)
served=$3 kind=${4-}

# certify NAME SUBJECT - make a key, and a certificate of the authority.
certify() {
	openssl req -new -newkey rsa:2048 -nodes -subj "$2" -keyout "$1.key" -out "$1.request"
	openssl x509 -req -in "$1.request" -days 36500 -CA ca.pem -CAkey ca.key -CAcreateserial -out "$1.pem" \
		-extfile names
}

certificates() {
	cd "$served/tests/serve/tls"
	# Python 3.13 and newer want the use of the key, and the key of the authority.
	openssl req -new -x509 -newkey rsa:2048 -nodes -days 36500 -subj /CN=authority/ -keyout ca.key -out ca.pem \
		-addext keyUsage=critical,keyCertSign,cRLSign
	printf '%s\n' 'subjectAltName = DNS:localhost, IP:127.0.0.1' 'subjectKeyIdentifier = hash' \
		'authorityKeyIdentifier = keyid' >names
	certify server /CN=localhost/
	certify client /CN=client/
}

# build_go DIRECTORY PROGRAM SOURCE - build a client in Go with the compiler of that root directory.
build_go() {
	GOROOT=$(echo "$1"/go/usr/lib/go-1*) GOPATH=$1/go/usr/share/gocode GOCACHE=$build/go GOFLAGS='' \
		GO111MODULE=off CGO_ENABLED=0 "$1/go/usr/lib/go/bin/go" build -o "$served/$2" "$3"
}

"$tests/need.sh" openssl
root=$("$tests/serve/root.sh" ${kind:+"$kind"})
rm -rf "$served"
mkdir -p "$served/tests/hbctl" "$served/host" "$served/tests/serve/tls"
find "$root" -mindepth 1 -maxdepth 1 ! -name go -exec cp -a -t "$served/host" {} +
cp -rp "$tests/serve" "$tests/where.sh" "$served/tests"
cp -rp "$tests/../examples/serve" "$served/examples"
cp -p "$payload/hashbelt.ko" "$payload/hbctl" "$payload/hbctl-manage.so" "$tests/guest.sh" "$build/load" \
	"$build/${kind:+plain/}hbserve" "$served"
"$tests/vm/copy.sh" --libraries "$served/host" "$served/hbctl" "$served/hbserve"
[ -z "$kind" ] || {
	build_go "$root" goclient "$tests/serve/full/client.go"
	build_go "$root" gocounter "$tests/../examples/serve/counter.go"
}
(certificates) >"$build/openssl.log" 2>&1 || {
	cat "$build/openssl.log" >&2
	exit 1
}
