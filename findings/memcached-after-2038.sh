#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached-after-2038.sh - how long memcached keeps a value that is to expire after January 2038.
#
# A value that is to live for twelve years is sent with a Unix time, as is each of more than 30 days, and that time
# does not fit into 32 bits. "set" cuts it and answers STORED, but the value has expired already, and the one that was
# there before is gone. touch, gat and the meta command ms refuse the same time with an error, and change nothing. From
# the end of January 2028 on that is so for ten years, which programs write for "always". 0 would be right. memcached
# 1.6.45.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=memcached=1.6.45-1 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/ask.py" <<'END'
import calendar
import socket
import sys

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
replies = connection.makefile('rb')


def ask(text):
    """Send a command, and return the first line of the answer."""
    connection.sendall(text.encode() + b'\r\n')
    return replies.readline().decode().strip()


print('#', ask('version'))
for year in 2037, 2039:
    until = calendar.timegm((year, 1, 1, 0, 0, 0))
    for name, command in (('set', f'set k 0 {until} 1\r\nx'), ('touch', f'touch k {until}'),
                          ('gat', f'gat {until} k'), ('ms', f'ms k 1 T{until}\r\nx')):
        ask('set k 0 60 1\r\nx')
        answer = ask(command)
        if answer.startswith('VALUE'):
            replies.readline()
            replies.readline()
        if name == 'ms' and answer.startswith('CLIENT_ERROR'):
            # The value has no answer of its own.
            assert ask('mn') == 'MN'
        left = ask('mg k t')
        print(f"until {year}, {name}: {answer}, {'gone' if left == 'EN' else 'there'}")
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
"$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" "$root/usr/bin/memcached" -u root \
	-s "$work/socket" &
server=$!
while [ ! -S "$work/socket" ]; do
	kill -0 $server
	sleep 0.1
done
timeout 60 python3 "$work/ask.py" "$work/socket" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
until 2037, set: STORED, there
until 2037, touch: TOUCHED, there
until 2037, gat: VALUE k 0 1, there
until 2037, ms: HD, there
until 2039, set: STORED, gone
until 2039, touch: CLIENT_ERROR invalid exptime argument, there
until 2039, gat: CLIENT_ERROR invalid exptime argument, there
until 2039, ms: CLIENT_ERROR bad token in command line format, there
END
grep -v '^#' "$work/found" | diff "$work/expected" -
