#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# two-level-time.sh - how long a process keeps a value that it finds in the second level of its cache.
#
# A value lives for 6 s. One process stores it, in its memory and in a store that all share. Another process finds it
# in the store after 4 s, and copies it to its own memory. An engineer expects the copy to live for the remaining 2 s.
# wrap() of cache-manager gives the copy all 6 s again, so a value is served for up to twice its time. getItem() of
# Symfony's ChainAdapter gives it the adapters' default time, and without one the copy lives for ever. Both return it
# when the store has it no more. get() of cache-manager makes no copy. For get() of ChainAdapter, for cacheable and for
# bentocache the copy has the deadline of the value. cache-manager 7.2.9, cacheable 2.5.0 and bentocache 1.6.1 with
# keyv 5.6.0; Symfony 5.4.53 with PHP 8.2 of Debian 12.
#
# Needs root, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts cache-manager@7.2.9 cacheable@2.5.0 keyv@5.6.0 \
	bentocache@1.6.1 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=php8.2-cli,php-symfony-cache=5.4.53+dfsg-0+deb12u1 \
	--aptopt='APT::Install-Recommends "false"' bookworm "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/levels.mjs" <<'END'
import { BentoCache, bentostore } from 'bentocache';
import { memoryDriver } from 'bentocache/drivers/memory';
import { createCache } from 'cache-manager';
import { Cacheable } from 'cacheable';
import { Keyv } from 'keyv';
import { setTimeout as sleep } from 'node:timers/promises';

const ttl = 6000;

// A store that all share, for bentocache: it says itself when a value has expired.
const values = new Map();
const shared = {
  options: {},
  factory: () => ({
    type: 'l2',
    namespace() {
      return this;
    },
    get: async key => values.get(key),
    set: async (key, value) => Boolean(values.set(key, value)),
    delete: async key => values.delete(key),
    disconnect: async () => {},
  }),
};
const stores = { 'cache-manager, wrap()': new Map(), 'cache-manager, get()': new Map(), 'cacheable, get()': new Map() };
const manager = name => createCache({ stores: [new Keyv(), new Keyv({ store: stores[name] })] });

// A process has a memory of its own: each makes one, and returns functions that store and find.
const processes = {
  'cache-manager, wrap()': () => {
    const cache = manager('cache-manager, wrap()');
    return { store: () => cache.wrap('k', () => 'old', ttl), find: () => cache.wrap('k', () => 'new', ttl) };
  },
  'cache-manager, get()': () => {
    const cache = manager('cache-manager, get()');
    return { store: () => cache.set('k', 'old', ttl), find: async () => (await cache.get('k')) ?? 'new' };
  },
  'cacheable, get()': () => {
    const secondary = new Keyv({ store: stores['cacheable, get()'] });
    const cache = new Cacheable({ primary: new Keyv(), secondary });
    return { store: () => cache.set('k', 'old', ttl), find: async () => (await cache.get('k')) ?? 'new' };
  },
  'bentocache, getOrSet()': () => {
    const levels = bentostore().useL1Layer(memoryDriver({})).useL2Layer(shared);
    const cache = new BentoCache({ default: 'levels', stores: { levels } });
    const call = value => cache.getOrSet({ key: 'k', ttl, factory: () => value });
    return { store: () => call('old'), find: () => call('new') };
  },
};

await Promise.all(Object.entries(processes).map(async ([name, begin]) => {
  await begin().store();
  await sleep(4000);
  const second = begin();
  const found = await second.find();
  await sleep(3500);
  console.log(`${name}: after 4 s ${found}, after 7.5 s ${await second.find()}`);
}));
process.exit();
END
cat >"$work/chain.php" <<'END'
<?php
require "$argv[1]/usr/share/php/Symfony/Component/Cache/autoload.php";
use Symfony\Component\Cache\Adapter\ArrayAdapter;
use Symfony\Component\Cache\Adapter\ChainAdapter;
use Symfony\Component\Cache\Adapter\FilesystemAdapter;

// A process has a memory of its own, and all share the files.
$begin = fn() => new ChainAdapter([new ArrayAdapter(), new FilesystemAdapter('', 0, $argv[2])]);
$first = $begin();
foreach (['item', 'get'] as $key) {
    $item = $first->getItem($key);
    $first->save($item->set('old')->expiresAfter(6));
}
$first->get('computed', fn($item) => $item->expiresAfter(6) ? 'old' : '');
$second = $begin();
$find = [
    'getItem()' => fn() => $second->getItem('item')->get() ?? 'new',
    'get() of a computed one' => fn() => $second->get('computed', fn() => 'new'),
];
sleep(4);
$found = array_map(fn($call) => $call(), $find);
foreach ([3500000 => '7.5', 7000000 => '14.5'] as $wait => $when) {
    usleep($wait);
    foreach ($find as $name => $call) {
        if ($when === '7.5' || $name === 'getItem()') {
            echo "ChainAdapter, $name: after 4 s $found[$name], after $when s ", $call(), "\n";
        }
    }
}
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
node -p 'process.version + ", " + JSON.stringify(require(process.argv[1]).dependencies)' "$work/package.json"
(cd "$work" && timeout 60 node levels.mjs) >"$work/node" &
client=$!
timeout 60 "$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" "$root/usr/bin/php8.2" \
	-n "$work/chain.php" "$root" "$work/files" >"$work/php"
wait $client
LC_ALL=C sort "$work/node" "$work/php" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
ChainAdapter, get() of a computed one: after 4 s old, after 7.5 s new
ChainAdapter, getItem(): after 4 s old, after 14.5 s old
ChainAdapter, getItem(): after 4 s old, after 7.5 s old
bentocache, getOrSet(): after 4 s old, after 7.5 s new
cache-manager, get(): after 4 s old, after 7.5 s new
cache-manager, wrap(): after 4 s old, after 7.5 s old
cacheable, get(): after 4 s old, after 7.5 s new
END
diff "$work/expected" "$work/found"
