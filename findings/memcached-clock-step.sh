#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached-clock-step.sh - how long memcached keeps a value with a Unix time after the clock was set.
#
# memcached notes the time of the day when it starts, and counts seconds from then on by a clock that nobody sets. If
# the date is set later, as by NTP after a boot or when a virtual machine goes on, it still compares a Unix time with
# the old one. After a step of an hour forward a value that is to live for a minute lives for 3660 s; after one back it
# is stored and gone at once, without an error. A time in seconds is right, but clients send a Unix time for all above 30
# days, as Django and Dalli do. memcached 1.6.18 of Debian 12, and 1.6.45.
#
# Needs root, mmdebstrap, apt and python3. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
cat >"$work/ask.py" <<'END'
import socket
import sys
import time

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
replies = connection.makefile('rb')


def ask(text):
    connection.sendall(text.encode() + b'\r\n')
    line = replies.readline().decode().strip()
    if line.startswith('VA '):
        replies.readline()
    return line


def left(line):
    """The reply to mg with t: to the minute, as seconds pass meanwhile."""
    return f'{round(int(line.split()[2][1:]) / 60)} min left' if line.startswith('VA ') else 'gone'


now = int(time.time()) + int(sys.argv[2])
for name, until in ('Unix time', now + 60), ('seconds', 60):
    stored = ask(f'set k 0 {until} 1\r\nx')
    print(f'one minute as {name}: {stored}, {left(ask("mg k t v"))}')
END

# set_clock SECONDS - let the clock of the server be ahead of ours by so much.
set_clock() {
	printf '%+d\n' "$1" >"$work/new"
	mv "$work/new" "$work/clock"
}

# step BEFORE AFTER - set the clock of a running server, and store values.
step() {
	set_clock "$1"
	LD_PRELOAD=$root/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1 FAKETIME_TIMESTAMP_FILE=$work/clock \
		FAKETIME_NO_CACHE=1 DONT_FAKE_MONOTONIC=1 "$loader" \
		--library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" "$root/usr/bin/memcached" -u root \
		-s "$work/socket" &
	server=$!
	while [ ! -S "$work/socket" ]; do
		kill -0 $server
		sleep 0.1
	done
	set_clock "$2"
	timeout 60 python3 "$work/ask.py" "$work/socket" "$2" | sed "s/^/the clock is set by $(($2 - $1)) s, /"
	kill $server
	wait $server || true
	server=
	rm -f "$work/socket"
}

for release in bookworm=memcached=1.6.18-1,libfaketime=0.9.10-2.1 sid=memcached=1.6.45-1,libfaketime=0.9.12-0.2; do
	root=$work/${release%%=*}
	mmdebstrap --quiet --variant=extract --include="${release#*=}" --aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' "${release%%=*}" "$root" "$mirror" 2>"$work/log" || {
		cat "$work/log" >&2
		exit 1
	}
	loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
	echo "# ${release#*=}"
	step 0 0
	step 0 3600
	step 3600 0
done >"$work/found"
cat "$work/found"
for release in bookworm sid; do
	cat <<'END'
the clock is set by 0 s, one minute as Unix time: STORED, 1 min left
the clock is set by 0 s, one minute as seconds: STORED, 1 min left
the clock is set by 3600 s, one minute as Unix time: STORED, 61 min left
the clock is set by 3600 s, one minute as seconds: STORED, 1 min left
the clock is set by -3600 s, one minute as Unix time: STORED, gone
the clock is set by -3600 s, one minute as seconds: STORED, 1 min left
END
done >"$work/expected"
grep -v '^#' "$work/found" | diff "$work/expected" -
