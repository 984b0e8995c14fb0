#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# thirty-days-one-millisecond.sh - how long caches of Node.js keep a value that is to live for 30 days.
#
# For a millisecond, if they give each value a timer: setTimeout() takes at most 2,147,483,647 ms, 24.8 days, and makes
# 1 ms of more, with a warning and without an error. So a value that should live longest is gone first, and a limit of
# one request in 30 days allows each request. With 24 days all keep it. lru-cache with ttlAutopurge keeps the value, but
# its timer begins anew each millisecond. memory-cache 0.2.0, mem 10.0.0, expiry-map 2.0.0, apicache 1.6.3,
# rate-limiter-flexible 11.4.0, lru-cache 11.5.3; node-cache 5.1.2 and keyv 5.6.0 keep it as well. Node.js 20.
#
# Needs node and npm. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts memory-cache@0.2.0 mem@10.0.0 expiry-map@2.0.0 \
	apicache@1.6.3 rate-limiter-flexible@11.4.0 lru-cache@11.5.3 node-cache@5.1.2 keyv@5.6.0 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
cat >"$work/keep.mjs" <<'END'
import { setTimeout as sleep } from 'node:timers/promises';
import http from 'node:http';
import apicache from 'apicache';
import ExpiryMap from 'expiry-map';
import Keyv from 'keyv';
import { LRUCache } from 'lru-cache';
import mem from 'mem';
import memoryCache from 'memory-cache';
import NodeCache from 'node-cache';
import { RateLimiterMemory } from 'rate-limiter-flexible';

const calls = cached => {
  let n = 0;
  const call = cached(() => ++n);
  call();
  return () => (call() === 1 ? 'kept' : 'gone');
};

// Each stores a value for so many seconds, and returns a function that looks for it.
const caches = {
  'memory-cache': s => {
    const cache = new memoryCache.Cache();
    cache.put('k', 'v', s * 1000);
    return () => (cache.get('k') ? 'kept' : 'gone');
  },
  mem: s => calls(f => mem(f, { maxAge: s * 1000 })),
  'expiry-map': s => {
    const cache = new (ExpiryMap.default ?? ExpiryMap)(s * 1000);
    cache.set('k', 'v');
    return () => (cache.get('k') ? 'kept' : 'gone');
  },
  apicache: async s => {
    const middleware = apicache.newInstance().middleware(`${s / 86400} days`);
    let made = 0;
    const server = http.createServer((request, response) => middleware(request, response, () => response.end(`${++made}`)));
    await new Promise(done => server.listen(0, '127.0.0.1', done));
    const ask = async () => (await fetch(`http://127.0.0.1:${server.address().port}/`)).text();
    await ask();
    return async () => ((await ask()) === '1' ? 'kept' : 'gone');
  },
  'rate-limiter-flexible': async s => {
    const limiter = new RateLimiterMemory({ points: 1, duration: s });
    await limiter.consume('user');
    return () => limiter.consume('user').then(() => 'gone', () => 'kept');
  },
  'node-cache': s => {
    const cache = new NodeCache();
    cache.set('k', 'v', s);
    return () => (cache.get('k') ? 'kept' : 'gone');
  },
  keyv: async s => {
    const cache = new Keyv();
    await cache.set('k', 'v', s * 1000);
    return async () => ((await cache.get('k')) ? 'kept' : 'gone');
  },
};

for (const days of [24, 30]) {
  for (const [name, store] of Object.entries(caches)) {
    const look = await store(days * 86400);
    await sleep(200);
    console.log(`${days} days, ${name}: ${await look()} 0.2 s later`);
  }
  let timers = 0;
  const begin = globalThis.setTimeout;
  globalThis.setTimeout = (...words) => {
    timers++;
    return begin(...words);
  };
  const cache = new LRUCache({ max: 10, ttl: days * 86400 * 1000, ttlAutopurge: true });
  cache.set('k', 'v');
  await new Promise(done => begin(done, 1000));
  globalThis.setTimeout = begin;
  console.log(`# ${timers} timers`);
  console.log(`${days} days, lru-cache: ${cache.get('k') ? 'kept' : 'gone'}, ${timers > 20 ? 'many timers' : 'a timer'} in a second`);
  cache.clear();
}
process.exit();
END
node -p 'process.version + ", " + JSON.stringify(require(process.argv[1]).dependencies)' "$work/package.json"
(cd "$work" && timeout 60 node --no-warnings keep.mjs) >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
24 days, memory-cache: kept 0.2 s later
24 days, mem: kept 0.2 s later
24 days, expiry-map: kept 0.2 s later
24 days, apicache: kept 0.2 s later
24 days, rate-limiter-flexible: kept 0.2 s later
24 days, node-cache: kept 0.2 s later
24 days, keyv: kept 0.2 s later
24 days, lru-cache: kept, a timer in a second
30 days, memory-cache: gone 0.2 s later
30 days, mem: gone 0.2 s later
30 days, expiry-map: gone 0.2 s later
30 days, apicache: gone 0.2 s later
30 days, rate-limiter-flexible: gone 0.2 s later
30 days, node-cache: kept 0.2 s later
30 days, keyv: kept 0.2 s later
30 days, lru-cache: kept, many timers in a second
END
grep -v '^#' "$work/found" | diff "$work/expected" -
