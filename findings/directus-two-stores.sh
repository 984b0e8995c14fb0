#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# directus-two-stores.sh - whether a store of @directus/memory does the same in Redis as in the memory of a process.
#
# One interface has two stores: in memory for one process, in Redis for several. With "ttl: 2000" an engineer expects
# all values to live for 2 s in both. In Redis only those do that set() has put: increment() makes a counter that never
# expires, and setMax() takes the time from a value that has one. In memory both give the value its whole time again.
# setMax() returns whether the number was larger than the one that was there, so that of several processes one does the
# work. In Redis it returns true each time: its script returns false, which is null for the client, and the library
# compares that with 0. @directus/memory 4.0.5 with ioredis 5.8.2 and Redis 7.0.15 of Debian 12.
#
# Needs root, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server='' failed=''
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-tools=5:7.0.15-1~deb12u7 \
	--aptopt='APT::Install-Recommends "false"' bookworm "$root" "$mirror" 2>"$work/log" &
npm install --prefix "$work/npm" --no-audit --no-fund --ignore-scripts @directus/memory@4.0.5 ioredis@5.8.2 \
	>"$work/log.npm" 2>&1 || failed=1
wait $! || failed=1
[ -z "$failed" ] || {
	cat "$work/log" "$work/log.npm"
	exit 1
}
cat >"$work/npm/stores.mjs" <<'END'
import { createKv } from '@directus/memory';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';

const redis = new Redis(process.argv[2]);
const ttl = 2000;
const stores = {
  memory: createKv({ type: 'local', ttl, maxKeys: 100 }),
  Redis: createKv({ type: 'redis', namespace: 'store', redis, ttl }),
};

for (const store of Object.values(stores)) {
  store.won = [await store.setMax('run', 5), await store.setMax('run', 5), await store.setMax('run', 4)];
  await store.set('text', 'x');
  await store.increment('count');
  await store.set('largest', 1);
  await store.setMax('largest', 2);
}
await sleep(4000);
for (const [name, store] of Object.entries(stores)) {
  const kept = [];
  for (const key of ['text', 'count', 'run', 'largest']) {
    if (await store.get(key) !== undefined) {
      kept.push(key);
    }
  }
  console.log(`${name}: setMax() returned ${store.won.join(', ')}; kept after 4 s: ${kept.join(', ') || 'nothing'}`);
}
process.exit();
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
	"$root/usr/bin/redis-check-rdb" --port 0 --unixsocket "$work/socket" --save '' --dir "$work" >"$work/log" &
server=$!
while [ ! -S "$work/socket" ]; do
	kill -0 $server
	sleep 0.1
done
echo "@directus/memory 4.0.5: setMax() to 5, 5 and 4, and values that live for 2 s"
timeout 60 node "$work/npm/stores.mjs" "$work/socket" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
memory: setMax() returned true, false, false; kept after 4 s: nothing
Redis: setMax() returned true, true, true; kept after 4 s: count, run, largest
END
diff "$work/expected" "$work/found"
