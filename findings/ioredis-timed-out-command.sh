#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ioredis-timed-out-command.sh - whether a command is executed after the client has rejected it.
#
# A program asks for a lock, SET lock owner NX PX, while the server is away. ioredis rejects the command after
# commandTimeout, and the program goes on without the lock. But the command stays in the client's offline queue, and is
# executed when the server is back: an owner that does not know of it holds the lock until its time is over.
# node-redis, with the same timeout, takes the command from its queue. ioredis 6.0.0 and node-redis 6.3.1, with Redis
# 7.0.15 of Debian 12.
#
# Needs root, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-tools=5:7.0.15-1~deb12u7 \
	--aptopt='APT::Install-Recommends "false"' bookworm "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund ioredis@6.0.0 redis@6.3.1 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
cat >"$work/lock.mjs" <<'END'
import Redis from 'ioredis';
import { createClient } from 'redis';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [path, rejected] = process.argv.slice(2);
const ioredis = new Redis({ path, commandTimeout: 500, retryStrategy: () => 100 });
const nodeRedis = createClient({ socket: { path, reconnectStrategy: () => 100 }, commandOptions: { timeout: 500 } });
for (const client of [ioredis, nodeRedis]) {
  client.on('error', () => {});
}
nodeRedis.connect();
const results = await Promise.allSettled([
  ioredis.set('lock of ioredis', 'owner', 'PX', 600000, 'NX'),
  nodeRedis.set('lock of node-redis', 'owner', { PX: 600000, NX: true }),
]);
writeFileSync(rejected, '');
while (!existsSync(path)) {
  await sleep(100);
}
// A client executes the commands in its queue before this PING.
await Promise.all([ioredis, nodeRedis].map(async client => {
  while (await client.ping().catch(() => 0) !== 'PONG') {
    await sleep(100);
  }
}));
for (const [i, name] of ['ioredis', 'node-redis'].entries()) {
  const held = await nodeRedis.exists(`lock of ${name}`);
  console.log(`${name}: the command is ${results[i].status}, and the lock is then ${held ? 'held' : 'free'}`);
}
ioredis.disconnect();
nodeRedis.destroy();
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
timeout 60 node "$work/lock.mjs" "$work/socket" "$work/rejected" >"$work/found" &
client=$!
while [ ! -e "$work/rejected" ]; do
	kill -0 $client
	sleep 0.1
done
"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
	"$root/usr/bin/redis-check-rdb" --port 0 --unixsocket "$work/socket" --save '' --dir "$work" >"$work/log" &
server=$!
wait $client
"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
	"$root/usr/bin/redis-check-rdb" --version | cut -d ' ' -f 1-3
cat "$work/found"
cat >"$work/expected" <<'END'
ioredis: the command is rejected, and the lock is then held
node-redis: the command is rejected, and the lock is then free
END
diff "$work/expected" "$work/found"
