#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# half-second-for-ever.sh - how long clients keep a value that is to live for half a second.
#
# For ever, if they count in whole seconds: they cut 0.5 to 0, and an expiration of 0 is no deadline. There is no
# error. A limiter that allows a user one request in half a second allows one, and then refuses that user for good,
# where its counter is in Redis or memcached; in memory it counts in milliseconds. rate-limiter-flexible 11.4.0 with
# ioredis 6.0.0 and memcached 2.2.2, memjs 1.3.2, and Dalli 3.0.6, with Redis 7.0.15 and memcached 1.6.18 of Debian
# 12.
#
# Needs root, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
servers=
# shellcheck disable=SC2086 # words
trap '[ -z "$servers" ] || kill $servers 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-tools=5:7.0.15-1~deb12u7,memcached=1.6.18-1,ruby,ruby-dalli=3.0.6-1.1 \
	--aptopt='APT::Install-Recommends "false"' bookworm "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund rate-limiter-flexible@11.4.0 ioredis@6.0.0 memcached@2.2.2 \
	memjs@1.3.2 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
cat >"$work/limit.mjs" <<'END'
import { RateLimiterMemcache, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import Redis from 'ioredis';
import Memcached from 'memcached';
import memjs from 'memjs';
import { setTimeout as sleep } from 'node:timers/promises';

const [path, port] = process.argv.slice(2);
const redis = new Redis({ path });
const memcached = new Memcached(`127.0.0.1:${port}`);
const client = memjs.Client.create(`127.0.0.1:${port}`);
const limit = { points: 1, duration: 0.5 };
const limiters = {
  memory: new RateLimiterMemory(limit),
  Redis: new RateLimiterRedis({ ...limit, storeClient: redis }),
  memcached: new RateLimiterMemcache({ ...limit, storeClient: memcached }),
};

for (const limiter of Object.values(limiters)) {
  await limiter.consume('user');
}
await client.set('value', 'x', { expires: 0.5 });
await sleep(3000);
for (const [name, limiter] of Object.entries(limiters)) {
  const result = await limiter.consume('user').then(() => 'allowed', result => `refused (${result.msBeforeNext} ms left)`);
  console.log(`rate-limiter-flexible, ${name}: ${result}`);
}
console.log(`Redis: ${await redis.pttl('rlflx:user')} ms left`);
console.log(`memjs: ${(await client.get('value')).value ? 'present' : 'gone'}`);
process.exit();
END
cat >"$root/tmp/dalli.rb" <<'END'
require 'dalli'
client = Dalli::Client.new("127.0.0.1:#{ARGV[0]}")
client.set('of dalli', 'x', 0.5)
sleep 3
puts "Dalli: #{client.get('of dalli') ? 'present' : 'gone'}"
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)

# run PROGRAM WORD... - replace the shell by a program of the root directory.
run() {
	program=$1
	shift
	exec "$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/$program" "$@"
}

port=$((20000 + $$ % 20000))
run redis-check-rdb --port 0 --unixsocket "$work/socket" --save '' --dir "$work" >"$work/log" &
servers=$!
run memcached -u root -l 127.0.0.1 -p $port &
servers="$servers $!"
while [ ! -S "$work/socket" ]; do
	sleep 0.1
done
{
	timeout 60 node "$work/limit.mjs" "$work/socket" $port
	timeout 60 chroot "$root" /usr/bin/ruby /tmp/dalli.rb $port
} >"$work/found"
(run redis-check-rdb --version) | cut -d ' ' -f 1-3
(run memcached --version)
echo "Three seconds after a put for half a second:"
cat "$work/found"
cat >"$work/expected" <<'END'
rate-limiter-flexible, memory: allowed
rate-limiter-flexible, Redis: refused (-1 ms left)
rate-limiter-flexible, memcached: refused (-1 ms left)
Redis: -1 ms left
memjs: present
Dalli: present
END
diff "$work/expected" "$work/found"
