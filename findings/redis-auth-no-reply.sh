#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis-auth-no-reply.sh - whether each command of a pipeline gets a reply, also an AUTH with a wrong password.
#
# In Redis 8.0.6 and 8.6.3 an AUTH that is refused gets no reply while the reply to an earlier command of the same
# pipeline waits: PING, AUTH, ECHO get two replies. A client counts replies, so it takes the one to ECHO for the one
# to AUTH, and each later one for that of the command before. Alone, or as the first one, the AUTH gets its error, as it
# does always in Redis 7.0.15 and Valkey 9.1.2.
#
# Needs root, python3, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)

# ask NAME PROGRAM - start that server, and print how it answers.
ask() {
	"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/$2" --port 0 --unixsocket "$work/socket" --save '' --dir "$work" >"$work/log" &
	server=$!
	while [ ! -S "$work/socket" ]; do
		kill -0 $server
		sleep 0.1
	done
	timeout 60 python3 - "$1" "$work/socket" <<'END'
import socket, sys

for pipeline in ('AUTH', 'AUTH, ECHO', 'PING, AUTH, ECHO'):
    words = {'AUTH': 'AUTH nobody wrong', 'ECHO': 'ECHO end', 'PING': 'PING'}
    client = socket.socket(socket.AF_UNIX)
    client.connect(sys.argv[2])
    # The server closes the connection behind the reply to QUIT.
    client.sendall('\r\n'.join([words[command] for command in pipeline.split(', ')] + ['QUIT', '']).encode())
    replies = client.makefile().read().split('\n')
    told = [line.split()[0] for line in replies if line[:1] in ('+', '-', '$')]
    print(f'{sys.argv[1]}: {pipeline}, QUIT: {" ".join(told)}')
END
	kill $server
	wait $server || true
	server=
	rm -f "$work/socket"
}

root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-tools=5:8.6.3-1,valkey-tools=9.1.2-1 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" \
	"deb $mirror sid main" "deb $mirror experimental main" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
{
	ask "Redis 8.6.3" redis-check-rdb
	ask "Valkey 9.1.2" valkey-check-rdb
} >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
Redis 8.6.3: AUTH, QUIT: -WRONGPASS +OK
Redis 8.6.3: AUTH, ECHO, QUIT: -WRONGPASS $3 +OK
Redis 8.6.3: PING, AUTH, ECHO, QUIT: +PONG $3 +OK
Valkey 9.1.2: AUTH, QUIT: -WRONGPASS +OK
Valkey 9.1.2: AUTH, ECHO, QUIT: -WRONGPASS $3 +OK
Valkey 9.1.2: PING, AUTH, ECHO, QUIT: +PONG -WRONGPASS $3 +OK
END
diff "$work/expected" "$work/found"
