#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# servers.sh DIRECTORY - copy memcached and redis-server, with their libraries, to DIRECTORY, for a
# guest. memcached's package is not installed here: that would start a server.
set -eu

tests=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	cat "$work/log" >&2
	echo "servers.sh: $1" >&2
	exit 1
}

"$tests/need.sh" redis-tools libevent-2.1-7
mkdir -p "$1"
"$tests/vm/copy.sh" "$1" /usr/bin/redis-server
(cd "$work" && apt-get download -q memcached && dpkg-deb -x memcached_*.deb .) >"$work/log" 2>&1 ||
	fail "cannot download memcached: apt-get update may help"
"$tests/vm/copy.sh" "$1" "$work/usr/bin/memcached"
mv "$1$work/usr/bin/memcached" "$1/usr/bin"
rm -r "${1:?}$work"
