#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached-thirty-one-days.sh - what sessions, caches and rate limits on memcached do with a time of 31 days.
#
# memcached takes a number above 30 days for a Unix time, here one in 1970: it answers STORED, and the value is gone
# at once. Most libraries that have a time-to-live as an option of their own pass it on: with connect-memcached nobody
# stays logged in, caches of Apollo and Keyv are always empty, and a limit of 2 requests allows each one, all without
# an error. With 30 days they work. memcache refuses the time with an error, and Django converts it. npm's
# connect-memcached 3.0.0, apollo-server-cache-memcached 3.3.1, @keyv/memcache 2.0.2, rate-limit-memcached 1.0.1,
# rate-limiter-flexible 11.4.0 and memcache 1.10.0, and Django 5.2.18 with pymemcache 4.0.0, with memcached 1.6.45.
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
mmdebstrap --quiet --variant=extract \
	--include=memcached=1.6.45-1,python3,python3-django=3:5.2.18-2,python3-pymemcache=4.0.0-9 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' \
	sid "$root" "$mirror" >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts --legacy-peer-deps connect-memcached@3.0.0 \
	express-session@1.19.0 apollo-server-cache-memcached@3.3.1 keyv@5.6.0 @keyv/memcache@2.0.2 rate-limit-memcached@1.0.1 \
	rate-limiter-flexible@11.4.0 memcached@2.2.2 memcache@1.10.0 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
for directory in bin lib lib64; do
	[ -e "$root/$directory" ] || ln -s usr/$directory "$root/$directory"
done
echo 'root:x:0:0:::' >"$root/etc/passwd"
cat >"$work/keep.mjs" <<'END'
import { createRequire } from 'node:module';
import KeyvMemcache from '@keyv/memcache';
import apollo from 'apollo-server-cache-memcached';
import connectMemcached from 'connect-memcached';
import session from 'express-session';
import Keyv from 'keyv';
import { Memcache } from 'memcache';
import Memcached from 'memcached';
import { MemcachedStore } from 'rate-limit-memcached';
import limiters from 'rate-limiter-flexible';

const server = `127.0.0.1:${process.argv[2]}`;
const kept = value => (value ? 'kept' : 'gone');

// Each stores a value for so many seconds, and returns what became of it.
const stores = {
  'connect-memcached': async s => {
    const store = new (connectMemcached(session))({ hosts: [server] });
    const call = (name, ...words) => new Promise((done, fail) => {
      store[name](...words, (error, result) => (error ? fail(error) : done(result)));
    });
    await call('set', 'id', { cookie: { maxAge: s * 1000 }, user: 'ann' });
    return kept(await call('get', 'id'));
  },
  apollo: async s => {
    const cache = new apollo.MemcachedCache([server]);
    await cache.set('k', 'v', { ttl: s });
    return kept(await cache.get('k'));
  },
  keyv: async s => {
    const cache = new Keyv({ store: new KeyvMemcache(server) });
    await cache.set('k', 'v', s * 1000);
    return kept(await cache.get('k'));
  },
  'rate-limit-memcached': async s => {
    const store = new MemcachedStore({ locations: [server] });
    store.init({ windowMs: s * 1000 });
    await store.increment('user');
    await store.increment('user');
    return `request 3 counts ${(await store.increment('user')).totalHits}`;
  },
  'rate-limiter-flexible': async s => {
    const storeClient = new Memcached(server);
    const limiter = new limiters.RateLimiterMemcache({ storeClient, points: 2, duration: s });
    await limiter.consume('user');
    await limiter.consume('user');
    return limiter.consume('user').then(() => 'request 3 of 2 is allowed', () => 'request 3 of 2 is refused');
  },
  memcache: async s => {
    const client = new Memcache(server);
    return client.set('k', 'v', s).then(async () => kept(await client.get('k')), error => error.message);
  },
};

for (const days of [30, 31]) {
  await new Promise(done => new Memcached(server).flush(done));
  for (const [name, store] of Object.entries(stores)) {
    console.log(`${days} days, ${name}: ${await store(days * 86400)}`);
  }
}
process.exit();
END
cat >"$root/tmp/keep.py" <<'END'
import sys

import django
import pymemcache
from django.core.cache import caches
from django.conf import settings

settings.configure(CACHES={'default': {'BACKEND': 'django.core.cache.backends.memcached.PyMemcacheCache',
                                       'LOCATION': f'127.0.0.1:{sys.argv[1]}'}})
print('# Django', django.__version__, 'pymemcache', pymemcache.__version__)
for days in 30, 31:
    caches['default'].set(f'k{days}', 'v', days * 86400)
    print(f'{days} days, Django:', 'kept' if caches['default'].get(f'k{days}') else 'gone')
END
port=$((20000 + $$ % 20000))
LC_ALL=C chroot "$root" /usr/bin/memcached -u root -l 127.0.0.1 -p $port &
server=$!
while ! grep -q "$(printf ':%04X 00000000:0000 0A' $port)" /proc/net/tcp; do
	kill -0 $server
	sleep 0.1
done
{
	(cd "$work" && timeout 60 node --no-deprecation keep.mjs $port)
	timeout 60 chroot "$root" /usr/bin/python3 /tmp/keep.py $port
	echo "# $(chroot "$root" /usr/bin/memcached -V)"
} >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
30 days, connect-memcached: kept
30 days, apollo: kept
30 days, keyv: kept
30 days, rate-limit-memcached: request 3 counts 3
30 days, rate-limiter-flexible: request 3 of 2 is refused
30 days, memcache: kept
31 days, connect-memcached: gone
31 days, apollo: gone
31 days, keyv: gone
31 days, rate-limit-memcached: request 3 counts 1
31 days, rate-limiter-flexible: request 3 of 2 is allowed
31 days, memcache: Expiration cannot exceed 2592000 seconds
30 days, Django: kept
31 days, Django: kept
END
grep -v '^#' "$work/found" | diff "$work/expected" -
