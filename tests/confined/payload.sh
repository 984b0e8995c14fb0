#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# payload.sh PAYLOAD - add to the payload of a guest what the tests of this folder need:
# apparmor_parser, and the module signed with a key that no kernel trusts.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
payload=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$tests/need.sh" openssl
parser=$("$tests/unpack.sh" apparmor sbin/apparmor_parser)
mkdir -p "$payload/confined"
cp "$parser" "$payload/confined"
openssl req -new -x509 -newkey rsa:2048 -nodes -days 36500 -subj /CN=untrusted/ \
	-keyout "$work/key.pem" -outform DER -out "$work/certificate.der" 2>"$work/log" || {
	cat "$work/log" >&2
	exit 1
}
cp "$payload/hashbelt.ko" "$payload/confined/signed.ko"
release=$("$tests/vm/kernel.sh" version)
"$(readlink -f "/usr/src/linux-headers-$release/scripts")/sign-file" sha256 "$work/key.pem" \
	"$work/certificate.der" "$payload/confined/signed.ko"
