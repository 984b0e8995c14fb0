#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis-pong-overtakes.sh - whether the answer to PING comes behind the invalidations of earlier writes.
#
# A client that tracks keys (CLIENT TRACKING, redirected to a connection that subscribes to
# __redis__:invalidate) would ask PING there, to know that it was told all writes that were acknowledged before.
# In Redis 8.6.3 with io-threads 8 and other clients that write, the answer comes before the invalidation of such
# a write in 8 to 27 of a hundred cases. The answer to the next PING never does: so an answer proves the
# question before it. With one thread no answer overtakes.
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
mmdebstrap --quiet --variant=extract --include=redis-tools=5:8.6.3-1 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "deb $mirror sid main" "deb $mirror experimental main" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/count.py" <<'END'
import os, socket, sys

port = int(sys.argv[1])


class Client:
    def __init__(self):
        self.socket = socket.create_connection(('127.0.0.1', port))
        self.replies = self.socket.makefile('rb')

    def send(self, *words):
        self.socket.sendall(b'*%d\r\n' % len(words) + b''.join(b'$%d\r\n%s\r\n' % (len(word), word.encode()) for word in words))

    def reply(self):
        line = self.replies.readline().rstrip(b'\r\n')
        kind, rest = line[:1], line[1:]
        if kind == b'$':
            return None if rest == b'-1' else self.replies.read(int(rest) + 2)[:-2]
        if kind == b'*':
            return None if rest == b'-1' else [self.reply() for _ in range(int(rest))]
        return rest

    def ask(self, *words):
        self.send(*words)
        return self.reply()


subscriber, commander = Client(), Client()
hello = subscriber.ask('HELLO', '2')
number = hello[hello.index(b'id') + 1].decode()
version = hello[hello.index(b'version') + 1].decode()
subscriber.ask('SUBSCRIBE', '__redis__:invalidate')
commander.ask('CLIENT', 'TRACKING', 'ON', 'REDIRECT', number, 'BCAST', 'PREFIX', 'key')
threads = commander.ask('CONFIG', 'GET', 'io-threads')[1].decode()
child = os.fork()
if not child:
    others = [Client() for _ in range(6)]
    try:
        while True:
            for other in others:
                other.socket.sendall(b'*3\r\n$3\r\nSET\r\n$5\r\nother\r\n$1\r\n1\r\n' * 50)
            for other in others:
                for _ in range(50):
                    other.reply()
    finally:
        os._exit(0)
writers = [Client() for _ in range(4)]
late = [0, 0]
for i in range(600):
    key = f'key{i}'
    assert writers[i % 4].ask('SET', key, 'x') == b'OK'
    told = False
    for question in (0, 1):
        subscriber.send('PING')
        while (message := subscriber.reply())[0] != b'pong':
            told |= key.encode() in (message[2] or [])
        late[question] += not told
    while not told:
        told = key.encode() in (subscriber.reply()[2] or [])
os.kill(child, 9)
print(f'# {late[0]} of 600')
print(f'Redis {version}, io-threads {threads}: {"some" if late[0] else "no"} answers overtake an invalidation, and',
      f'{"some" if late[1] else "no"} second ones')
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
port=$((20000 + $$ % 20000))
for threads in 1 8; do
	"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/redis-check-rdb" --port $port --bind 127.0.0.1 --save '' --dir "$work" --io-threads $threads >"$work/log" &
	server=$!
	while ! grep -q 'Ready to accept' "$work/log"; do
		kill -0 $server
		sleep 0.1
	done
	timeout 60 python3 "$work/count.py" $port
	kill $server
	wait $server || true
	server=
	port=$((port + 1))
done >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
Redis 8.6.3, io-threads 1: no answers overtake an invalidation, and no second ones
Redis 8.6.3, io-threads 8: some answers overtake an invalidation, and no second ones
END
grep -v '^#' "$work/found" | diff "$work/expected" -
