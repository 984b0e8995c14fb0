#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# servers.sh DIRECTORY - copy memcached, redis-server and memcslap, the benchmark of libmemcached, with
# their libraries, to DIRECTORY, for a guest. The packages memcached and redis-server are not installed
# here: they would start servers. The server of Redis is in redis-tools as well, under another name.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	[ ! -e "$work/log" ] || cat "$work/log" >&2
	echo "servers.sh: $1" >&2
	exit 1
}

"$tests/need.sh" redis-tools libevent-2.1-7 libmemcached-tools
mkdir -p "$1"
"$tests/vm/copy.sh" "$1" /usr/bin/redis-check-rdb /usr/bin/memcslap
mv "$1/usr/bin/redis-check-rdb" "$1/usr/bin/redis-server"
(cd "$work" && apt-get download -q memcached && dpkg-deb -x memcached_*.deb .) >"$work/log" 2>&1 ||
	fail "cannot download memcached: apt-get update may help"
"$tests/vm/copy.sh" "$1" "$work/usr/bin/memcached"
mv "$1$work/usr/bin/memcached" "$1/usr/bin"
rm -r "${1:?}$work"
