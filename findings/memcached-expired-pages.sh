#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached-expired-pages.sh - how many new values a memcached keeps when all of its old ones have expired.
#
# A memcached of 64 MB is filled with values of 900 bytes that live for ten seconds. When they have expired, 100
# values of 20 kB come, 2 MB together, to live for an hour. Each is stored, and 52 of them are evicted at once,
# although no other living value is in the server: memory that was divided for small values stays so. slab_automove,
# on by default, moves it some ten seconds later. memcached 1.6.38 of Debian 13, and 1.6.45.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/fill.py" <<'END'
import socket
import sys
import time

client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
replies = client.makefile()


def put(keys, size, deadline):
    command = '0 %d %d\r\n%s\r\n' % (deadline, size, 'x' * size)
    client.sendall(''.join(f'set {key} {command}' for key in keys).encode())
    return sum(replies.readline() == 'STORED\n' for key in keys)


def is_present(key):
    client.sendall(f'mg {key}\r\n'.encode())
    return replies.readline() == 'HD\n'


def stats():
    client.sendall(b'stats\r\n')
    lines = iter(replies.readline, 'END\n')
    return {name: value for _, name, value in map(str.split, lines)}


now = int(time.time())
small = sum(put([f'small{i + j}' for j in range(100)], 900, now + 10) for i in range(0, 70000, 100))
while is_present('small69999'):
    time.sleep(0.1)
before = stats()
large = sum(put([f'large{i}'], 20000, now + 3600) for i in range(100))
evicted = int(stats()['evictions']) - int(before['evictions'])
present = sum(is_present(f'large{i}') for i in range(100))
print(f'memcached {before["version"]}: of {large} values for an hour {evicted} are evicted, and {present} present')
sys.exit(not (small == 70000 and large == 100 and evicted > 40 and present == 100 - evicted))
END
for release in sid=1.6.45-1 trixie=1.6.38-1; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="memcached=${release#*=}" --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" "$mirror" 2>"$work/log" || {
		cat "$work/log"
		exit 1
	}
	loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
	"$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" "$root/usr/bin/memcached" -u root \
		-m 64 -s "$work/socket" &
	server=$!
	while [ ! -S "$work/socket" ]; do
		kill -0 $server
		sleep 0.1
	done
	timeout 80 python3 "$work/fill.py" "$work/socket"
	kill $server
	wait $server || true
	server=
	rm -f "$work/socket"
done
