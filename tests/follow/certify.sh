#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# certify.sh DIRECTORY - make keys and certificates in a new directory: ca.pem of an authority, server.pem
# and client.pem of it, and stranger.pem of another authority. Keys are in .key.
set -eu

# certify NAME SUBJECT - make a key, and a certificate of the authority.
certify() {
	openssl req -new -newkey rsa:2048 -nodes -subj "$2" -keyout "$1.key" -out "$1.request"
	openssl x509 -req -in "$1.request" -days 36500 -CA ca.pem -CAkey ca.key -CAcreateserial \
		-out "$1.pem" -extfile names
}

# authority NAME - make a key, and a certificate that it signs itself.
authority() {
	openssl req -new -x509 -newkey rsa:2048 -nodes -days 36500 -subj "/CN=$1/" -keyout "$1.key" -out "$1.pem"
}

make() {
	echo 'subjectAltName = DNS:localhost, IP:127.0.0.1' >names
	authority ca
	authority stranger
	certify server /CN=localhost/
	certify client /CN=client/
	# PostgreSQL refuses a key that others may read.
	chmod 600 -- *.key
}

mkdir -p "$1"
cd "$1"
make >log 2>&1 || {
	cat log >&2
	exit 1
}
