#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# sherlock-lock-without-expiry.sh - who holds a lock of Python's sherlock in Redis that shall not expire.
#
# Everyone: each acquire() returns True, and Redis has no key. Its documentation says of expire=None that the lock
# does not expire. The library passes -1 for it, and its script compares that with the number -1. An argument of a
# script is a string, which is never equal to a number, so the script calls EXPIRE with -1, which removes the key.
# Only release() fails. With expire=100 a second acquire() is refused. sherlock 0.4.1, redis-py 6.1.0 and Redis 8.0.2
# of Debian 13.
#
# Needs root, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH
export LC_ALL=C

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-server=5:8.0.2-3+deb13u3,python3-redis=6.1.0-2,python3-sherlock=0.4.1-2 \
	--aptopt='APT::Install-Recommends "false"' trixie "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
for directory in bin lib lib64; do
	[ -e "$root/$directory" ] || ln -s "usr/$directory" "$root/$directory"
done
# For python3-requests, which sherlock loads.
mkdir -p "$root/etc/ssl/certs"
cat "$root"/usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
cat >"$root/locks.py" <<'END'
import sys

import redis
import sherlock

print('Python', sys.version.split()[0], 'redis-py', redis.__version__)
client = redis.Redis(unix_socket_path='/socket')
for expire in (100, None):
    first, second = (sherlock.RedisLock('lock', client=client, expire=expire, timeout=0.1) for _ in range(2))
    print(f'expire={expire}: first {first.acquire()}, second {second.acquire(blocking=False)}, '
          f'keys {client.keys("*")}', flush=True)
    for lock in (first, second):
        try:
            lock.release()
        except sherlock.LockException as error:
            print(f'release: {error}', flush=True)
END
chroot "$root" /usr/bin/redis-server --port 0 --unixsocket /socket --save "" --dir / >"$work/server" 2>&1 &
server=$!
for _ in $(seq 100); do
	[ ! -S "$root/socket" ] || break
	sleep 0.1
done
chroot "$root" /usr/bin/redis-server --version | cut -d ' ' -f 1-3
chroot "$root" /usr/bin/python3 -W ignore /locks.py >"$work/found" 2>"$work/log" || cat "$work/log"
cat "$work/found"
grep -qx "expire=100: first True, second False, keys \[b'lock'\]" "$work/found"
grep -qx "expire=None: first True, second True, keys \[\]" "$work/found"
