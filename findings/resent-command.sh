#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# resent-command.sh - what clients of Redis do with a command whose answer is lost with the connection.
#
# The server has executed the command, and the connection breaks before the answer arrives, as at a restart of a load
# balancer. By their defaults redis-py, redis-rb, ioredis and iovalkey connect again and send the command once more,
# without an error: one INCR counts two; SET NX finds its own lock, so the program takes it for that of another owner,
# and nobody releases it; GETDEL returns nothing, and the job that it took is lost. node-redis reports an error.
# redis-py 6.4.0, redis-rb 6.0.0, ioredis 6.0.0, iovalkey 0.4.0, node-redis 6.3.1, with Redis 8.0.6.
#
# Needs root, python3, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server='' proxy=''
trap 'kill $server $proxy 2>/dev/null || true; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract \
	--include=python3,python3-redis=6.4.0-3,ruby,ruby-redis=6.0.0-2,redis-server=5:8.0.6-3,redis-tools=5:8.0.6-3 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' \
	sid "$root" "$mirror" >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts ioredis@6.0.0 iovalkey@0.4.0 redis@6.3.1 \
	>"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
for directory in bin lib lib64; do
	[ -e "$root/$directory" ] || ln -s usr/$directory "$root/$directory"
done

# Passes bytes on. After the first request with each key that begins with "once", it drops the answer and closes.
cat >"$work/proxy.py" <<'END'
import re
import selectors
import socket
import sys
import threading

seen = set()


def serve(client):
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[2])
    poll = selectors.DefaultSelector()
    poll.register(client, selectors.EVENT_READ, server)
    poll.register(server, selectors.EVENT_READ, client)
    breaks = False
    while True:
        for key, _ in poll.select():
            data = key.fileobj.recv(65536)
            if not data or (breaks and key.fileobj is server):
                client.close()
                server.close()
                return
            if key.fileobj is client:
                new = set(re.findall(rb'once [a-z-]+ [a-z]+', data)) - seen
                seen.update(new)
                breaks = breaks or bool(new)
            key.data.sendall(data)


listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
while True:
    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()
END
cat >"$root/tmp/client.py" <<'END'
import redis

client, direct = (redis.Redis(unix_socket_path=path) for path in ('/tmp/proxy', '/tmp/server'))
print('# redis-py', redis.__version__, 'Redis', direct.info()['redis_version'])
client.ping()
print('redis-py: incr gives', client.incr('once redis-py n'))
lock = client.lock('once redis-py lock', timeout=600, blocking=False)
print('redis-py: a lock gives', lock.acquire(), 'and is', 'held' if direct.exists('once redis-py lock') else 'free')
direct.set('once redis-py job', 'job')
print('redis-py: getdel gives', client.getdel('once redis-py job'), 'and the job is',
      'there' if direct.exists('once redis-py job') else 'gone')
END
cat >"$root/tmp/client.rb" <<'END'
require 'redis'

client, direct = %w[proxy server].map { |name| Redis.new(path: "/tmp/#{name}") }
puts "# redis-rb #{Redis::VERSION}"
client.ping
puts "redis-rb: incr gives #{client.incr('once redis-rb n')}"
got = client.set('once redis-rb lock', 'me', nx: true, ex: 600)
puts "redis-rb: set NX gives #{got} and the lock is #{direct.exists?('once redis-rb lock') ? 'held' : 'free'}"
direct.set('once redis-rb job', 'job')
got = client.getdel('once redis-rb job')
puts "redis-rb: getdel gives #{got.inspect} and the job is #{direct.exists?('once redis-rb job') ? 'there' : 'gone'}"
END
cat >"$work/client.mjs" <<'END'
import { Redis } from 'ioredis';
import Valkey from 'iovalkey';
import { createClient } from 'redis';

const [proxy, server] = process.argv.slice(2);
const direct = new Redis({ path: server });
const ask = call => call().catch(() => 'an error');

async function tell(name, client, set) {
  const there = async key => await direct.exists(key) === 1;
  client.on('error', () => {});
  await client.ping();
  const sum = await ask(() => client.incr(`once ${name} n`));
  console.log(`${name}: incr gives ${sum}, and the sum is ${await direct.get(`once ${name} n`)}`);
  const got = await ask(() => set(`once ${name} lock`));
  console.log(`${name}: set NX gives ${got} and the lock is ${await there(`once ${name} lock`) ? 'held' : 'free'}`);
  await direct.set(`once ${name} job`, 'job');
  const job = await ask(() => (client.getdel ?? client.getDel).call(client, `once ${name} job`));
  console.log(`${name}: getdel gives ${job} and the job is ${await there(`once ${name} job`) ? 'there' : 'gone'}`);
}

for (const [name, Class] of [['ioredis', Redis], ['iovalkey', Valkey]]) {
  const client = new Class({ path: proxy });
  await tell(name, client, key => client.set(key, 'me', 'PX', 600000, 'NX'));
}
const nodeRedis = createClient({ socket: { path: proxy } });
nodeRedis.on('error', () => {});
await nodeRedis.connect();
await tell('node-redis', nodeRedis, key => nodeRedis.set(key, 'me', { PX: 600000, NX: true }));
process.exit();
END
LC_ALL=C chroot "$root" /usr/bin/redis-server --port 0 --unixsocket /tmp/server --save '' --dir /tmp >"$work/log" &
server=$!
python3 "$work/proxy.py" "$root/tmp/proxy" "$root/tmp/server" &
proxy=$!
while [ ! -S "$root/tmp/server" ] || [ ! -S "$root/tmp/proxy" ]; do
	kill -0 $server $proxy
	sleep 0.1
done
{
	timeout 60 chroot "$root" /usr/bin/python3 /tmp/client.py
	timeout 60 chroot "$root" /usr/bin/ruby -W0 /tmp/client.rb
	timeout 60 node "$work/client.mjs" "$root/tmp/proxy" "$root/tmp/server"
} >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
redis-py: incr gives 2
redis-py: a lock gives False and is held
redis-py: getdel gives None and the job is gone
redis-rb: incr gives 2
redis-rb: set NX gives false and the lock is held
redis-rb: getdel gives nil and the job is gone
ioredis: incr gives 2, and the sum is 2
ioredis: set NX gives null and the lock is held
ioredis: getdel gives null and the job is gone
iovalkey: incr gives 2, and the sum is 2
iovalkey: set NX gives null and the lock is held
iovalkey: getdel gives null and the job is gone
node-redis: incr gives an error, and the sum is 1
node-redis: set NX gives an error and the lock is held
node-redis: getdel gives an error and the job is gone
END
grep -v '^#' "$work/found" | diff "$work/expected" -
