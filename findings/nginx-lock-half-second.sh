#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# nginx-lock-half-second.sh - when nginx answers the requests that wait for another one to fill its cache.
#
# With proxy_cache_lock one request asks the origin, and others of the same key wait, as the manual says, until the
# response is in the cache or the lock is released. Nothing wakes them: each looks every 500 ms. So a response that the
# origin makes in 50 ms comes to the others after half a second. If the response must not be cached, here by no-store,
# one of those that wait asks the origin each half second, and the fifth has its answer after 2.5 s. Without the lock
# all have it after 50 ms. nginx 1.30.6.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
servers=
# shellcheck disable=SC2086 # process ids
trap '[ -z "$servers" ] || kill $servers 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=nginx=1.30.6-2 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/nginx.conf" <<END
daemon off;
master_process off;
pid $work/nginx.pid;
error_log $work/log;
events {}
http {
	access_log off;
	client_body_temp_path $work/body;
	fastcgi_temp_path $work/fastcgi;
	proxy_temp_path $work/proxy;
	scgi_temp_path $work/scgi;
	uwsgi_temp_path $work/uwsgi;
	proxy_cache_path $work/cache keys_zone=cache:1m;
	server {
		listen unix:$work/nginx;
		proxy_cache cache;
		location / {
			proxy_pass http://unix:$work/origin:;
			proxy_cache_lock on;
		}
		location /unlocked/ {
			proxy_pass http://unix:$work/origin:;
		}
	}
}
END
cat >"$work/ask.py" <<'END'
import asyncio
import statistics
import sys
import time

CLIENTS = 6
work = sys.argv[1]


async def origin(reader, writer):
    """Answer a request after 50 ms; the response to /shared/ may be cached."""
    request = await reader.readuntil(b'\r\n\r\n')
    await asyncio.sleep(0.05)
    control = b'max-age=600' if b'/shared/' in request else b'no-store'
    writer.write(b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\nCache-Control: %s\r\n\r\nx' % control)
    await writer.drain()
    writer.close()


async def answer(reader, begin):
    """The time that an answer takes."""
    assert b' 200 ' in await reader.readline()
    while await reader.read(1000):
        pass
    return time.monotonic() - begin


async def times(path):
    """How long after the first answer the second and the last one come, if clients ask at once."""
    streams = [await asyncio.open_unix_connection(f'{work}/nginx') for _ in range(CLIENTS)]
    begin = time.monotonic()
    for _, writer in streams:
        writer.write(b'GET %s HTTP/1.1\r\nHost: cache\r\nConnection: close\r\n\r\n' % path.encode())
    found = sorted(await asyncio.gather(*(answer(reader, begin) for reader, _ in streams)))
    for _, writer in streams:
        writer.close()
    return found[1] - found[0], found[-1] - found[0]


async def main():
    """Ask for several keys of each kind."""
    server = await asyncio.start_unix_server(origin, f'{work}/origin')
    for name, path in (('cached, with the lock', '/shared/'), ('no-store, with the lock', '/alone/'),
                       ('no-store, without the lock', '/unlocked/')):
        rounds = [await times(f'{path}{key}') for key in range(5)]
        second, last = (statistics.median(column) for column in zip(*rounds))
        print(f'# {name}: the second answer is {second:.2f} s after the first, the last {last:.2f} s')
        print(f"{name}: the second answer comes {'later' if second > 0.2 else 'at once'}, "
              f"the last {'2 s later' if last > 1.8 else 'later' if last > 0.2 else 'at once'}")
    server.close()


asyncio.run(main())
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
set -- "$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" "$root/usr/sbin/nginx" \
	-e "$work/log" -c "$work/nginx.conf"
"$@" -v 2>&1
"$@" &
servers=$!
while [ ! -S "$work/nginx" ]; do
	kill -0 "$servers"
	sleep 0.1
done
timeout 100 python3 "$work/ask.py" "$work" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
cached, with the lock: the second answer comes later, the last later
no-store, with the lock: the second answer comes later, the last 2 s later
no-store, without the lock: the second answer comes at once, the last at once
END
grep -v '^#' "$work/found" | diff "$work/expected" -
