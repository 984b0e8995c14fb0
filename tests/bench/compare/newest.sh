#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# newest.sh DIRECTORY sid|experimental - copy redis-server, valkey-server and memcached of Debian's unstable
# to DIRECTORY, which is in the clone, with their libraries; or Redis of experimental, which is newer.
# Needs root.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")/../.." && pwd)
top=$(cd "$tests/.." && pwd)
directory=${1#"$top/"}

# copy ARGUMENT... - let copy.sh copy from unstable.
copy() {
	"$tests/newest/enter.sh" tests/vm/copy.sh "$@"
}

case $2 in
sid) copy "$directory" /usr/bin/redis-server /usr/bin/valkey-server /usr/bin/memcached ;;
experimental)
	copy "$directory" /usr/bin/valkey-server /usr/bin/memcached
	experimental=$("$tests/newest/redis_experimental.sh")
	cp "$experimental/redis-server" "$top/$directory/usr/bin"
	copy --libraries "$directory" "$directory/usr/bin/redis-server"
	;;
*)
	echo "newest.sh: there is no '$2': SERVERS is sid, for the servers of Debian's unstable, experimental, or not set" >&2
	exit 1
	;;
esac
