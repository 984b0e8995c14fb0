// SPDX-License-Identifier: GPL-2.0-only
//
// caches.mjs SOCKET - npm's unstorage, cacheable, BentoCache with the locks of Verrou, catbox of hapi, and the storage
// of Better Auth on a server.
import { redisStorage } from '@better-auth/redis-storage';
import { Client } from '@hapi/catbox';
import { Engine } from '@hapi/catbox-redis';
import KeyvRedis from '@keyv/redis';
import { Verrou } from '@verrou/core';
import { redisStore } from '@verrou/core/drivers/redis';
import { BentoCache, bentostore } from 'bentocache';
import { redisDriver } from 'bentocache/drivers/redis';
import { Cacheable } from 'cacheable';
import { Redis } from 'ioredis';
import { createStorage } from 'unstorage';
import unstorageDriver from 'unstorage/drivers/redis';
import { about, show } from './show.mjs';

const path = process.argv[2];
const redis = new Redis({ path });

await redis.flushdb();

const storage = createStorage({ driver: unstorageDriver({ path, base: 'un', ttl: 1000 }) });
await show('unstorage: set and get', async () => {
	await storage.setItem('a', { x: 1 });
	await storage.setItem('b:c', 'v', { ttl: 500 });
	await storage.setItemRaw('raw', Buffer.from([0, 255, 1]));
	return [await storage.getItem('a'), await storage.getItem('none'), await storage.hasItem('b:c'),
		[...await storage.getItemRaw('raw')]];
});
await show('unstorage: many, and keys', async () => [await storage.getItems(['a', 'b:c']),
	(await storage.getKeys()).sort(), await storage.getKeys('b')]);
await show('unstorage: times', async () => [about(1000, await redis.ttl('un:a')), about(500, await redis.ttl('un:b:c'))]);
await show('unstorage: remove and clear', async () => {
	await storage.removeItem('a');
	await storage.clear();
	return storage.getKeys();
});

const cacheable = () => new Cacheable({ secondary: new KeyvRedis({ socket: { path } }), ttl: '1000s' });
const first = cacheable(), second = cacheable();
await show('cacheable: another process reads', async () => [await first.set('a', 1), await first.set('b', 'v', '500s'),
	await second.get('a'), await second.getMany(['b', 'none']), await second.has('b')]);
await show('cacheable: time', async () => about(500, await redis.ttl('keyv::keyv:b')));
await show('cacheable: take, and a value that is made', async () => [await second.take('b'),
	await redis.exists('keyv::keyv:b'), await second.getOrSet('w', async () => 9), await redis.exists('keyv::keyv:w')]);
await show('cacheable: clear', async () => {
	await first.clear();
	return redis.dbsize();
});

const bento = () => new BentoCache({ default: 'l2', stores: {
	l2: bentostore().useL2Layer(redisDriver({ connection: redis })),
} });
const one = bento(), other = bento();
await show('bentocache: another process reads', async () => [await one.set({ key: 'a', value: { v: 1 }, ttl: '1000s' }),
	await other.get({ key: 'a' }), about(1000, await redis.ttl('bentocache:a'))]);
await show('bentocache: a value that is made, with grace', async () => {
	const make = (value) => other.getOrSet({ key: 'b', factory: () => value, ttl: '500s', grace: '1000s' });

	return [await make(7), await make(8), about(1000, await redis.ttl('bentocache:b'))];
});
await show('bentocache: a namespace', async () => {
	await one.namespace('n').set({ key: 'x', value: 1 });
	await other.namespace('n').clear();
	return [await one.namespace('n').has({ key: 'x' }), await one.has({ key: 'a' })];
});
await show('bentocache: a tag', async () => {
	await one.set({ key: 't', value: 1, tags: ['g'] });
	await other.deleteByTag({ tags: ['g'] });
	return one.has({ key: 't' });
});
await show('bentocache: delete and clear', async () => {
	await one.delete({ key: 'a' });
	await one.clear();
	return redis.dbsize();
});

const verrou = new Verrou({ default: 'r', stores: { r: { driver: redisStore({ connection: redis }) } } });
const lock = verrou.createLock('k', '1000s'), another = verrou.createLock('k', '1000s');
await show('verrou: one of two gets the lock', async () => [await lock.acquireImmediately(),
	await another.acquireImmediately()]);
await show('verrou: extend', async () => {
	await lock.extend('2000s');
	return about(2000, await redis.ttl('k'));
});
await show('verrou: release by another', () => another.release());
await show('verrou: release', async () => [await lock.release(), await another.acquireImmediately()]);

const catbox = new Client(Engine, { socket: path, partition: 'p' });
await show('catbox: set, get, drop', async () => {
	const key = { segment: 's', id: 'i' };

	await catbox.start();
	await catbox.set(key, { a: 1 }, 1000000);
	const found = [(await catbox.get(key)).item, about(1000000, await redis.pttl('p:s:i'))];

	await catbox.drop(key);
	found.push(await catbox.get(key));
	await catbox.stop();
	return found;
});

await redis.flushdb();
const auth = redisStorage({ client: redis });
await show('better-auth: a session', async () => [await auth.set('s', 'v', 1000), await auth.get('s'),
	about(1000, await redis.ttl('better-auth:s')), await auth.getAndDelete('s'), await auth.get('s')]);
await show('better-auth: a limit', async () => [await auth.increment('n', 60), await auth.increment('n', 60),
	about(60, await redis.ttl('better-auth:n'))]);
await show('better-auth: list and clear', async () => [await auth.listKeys(), await auth.clear(), await redis.dbsize()]);
process.exit();
