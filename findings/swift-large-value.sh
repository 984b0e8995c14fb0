#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# swift-large-value.sh - what Swift's client of memcached does after values that are too large.
#
# memcached refuses a value of 1 MiB with SERVER_ERROR, and serves on. Swift's MemcacheRing counts that as a failure
# of the server: after 11 such values within a minute the process does not use that server for a minute, and finds no
# token, listing or rate limit there, although the server is well. set() returns no error. Swift 2.38.2 and memcached
# 1.6.45.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=memcached=1.6.45-1,python3,python3-swift=2.38.2-3 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' \
	sid "$root" "$mirror" >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
for directory in bin lib lib64; do
	[ -e "$root/$directory" ] || ln -s usr/$directory "$root/$directory"
done
echo 'root:x:0:0:::' >"$root/etc/passwd"
cat >"$root/tmp/large.py" <<'END'
import logging
import sys

import swift
from swift.common.memcached import MemcacheRing
from swift.common.utils import get_logger

logging.raiseExceptions = False     # there is no syslog
servers = [f'127.0.0.1:{sys.argv[1]}']
ring = MemcacheRing(servers, logger=get_logger({}))
print('# Swift', swift.__version__)
ring.set('token', 'valid', time=3600)
for count in range(12):
    print(f'after {count} values that are too large, the token is', ring.get('token') or 'not found')
    ring.set(f'listing {count}', 'x' * (1 << 20), time=3600)
print('for a new MemcacheRing the token is', MemcacheRing(servers, logger=get_logger({})).get('token') or 'not found')
END
port=$((20000 + $$ % 20000))
LC_ALL=C chroot "$root" /usr/bin/memcached -u root -l 127.0.0.1 -p $port &
server=$!
while ! grep -q "$(printf ':%04X 00000000:0000 0A' $port)" /proc/net/tcp; do
	kill -0 $server
	sleep 0.1
done
timeout 60 chroot "$root" /usr/bin/python3 /tmp/large.py $port >"$work/found" 2>"$work/log"
echo "# $(chroot "$root" /usr/bin/memcached -V)" >>"$work/found"
cat "$work/found"
{
	for count in 0 1 2 3 4 5 6 7 8 9 10; do
		echo "after $count values that are too large, the token is valid"
	done
	echo "after 11 values that are too large, the token is not found"
	echo "for a new MemcacheRing the token is valid"
} >"$work/expected"
grep -v '^#' "$work/found" | diff "$work/expected" -
