// SPDX-License-Identifier: GPL-2.0-only
//
// frameworks.mjs SOCKET - npm's limiters of fastify, Hono, Express and Nest, and the locks of redis-semaphore,
// redlock-universal and Medusa, with ioredis on a server. No two libraries have the same texts of scripts.
import rateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { rateLimiter, RedisStore } from 'hono-rate-limiter';
import { Redis } from 'ioredis';
import Module, { createRequire } from 'node:module';
import { Mutex, Semaphore } from 'redis-semaphore';
import { createLock, IoredisAdapter } from 'redlock-universal';
import { RedisStore as ExpressStore } from 'rate-limit-redis5';
import { about, show } from './show.mjs';

const load = createRequire(import.meta.url), resolve = Module._resolveFilename;
// The locks of Medusa run without Medusa.
const medusa = {
	MedusaError: class extends Error {
		static Types = {};
		constructor(type, text) {
			super(text);
		}
	},
	promiseAll: (all) => Promise.all(all),
};

Module._resolveFilename = (name, ...more) => name === '@medusajs/framework/utils' ? name : resolve(name, ...more);
Module._cache['@medusajs/framework/utils'] = { exports: medusa, loaded: true };
const { RedisLockingProvider } = load('@medusajs/locking-redis/dist/services/redis-lock.js');
const { ThrottlerStorageRedisService } = load('@nest-lab/throttler-storage-redis');
const path = process.argv[2];
const redis = new Redis({ path });

await redis.flushdb();

// Pages of fastify that have a limit of two visits.
async function pages(name, options = {}) {
	const app = Fastify();

	await app.register(rateLimit, { redis, max: 2, timeWindow: 1000000, nameSpace: `${name}:`, ...options });
	const look = app.createRateLimit();

	app.get('/', async () => 'served');
	// A page that does not count says how many visits are left.
	app.get('/look', { config: { rateLimit: false } },
		async (request) => (await look(request, { increment: false })).remaining);
	return async (page = '/') => {
		const { statusCode, headers, body } = await app.inject(page);

		if (page !== '/')
			return body;

		return [statusCode, headers['x-ratelimit-remaining'], about(1000, Number(headers['x-ratelimit-reset'])),
			about(1000, await redis.ttl(`${name}:127.0.0.1`))];
	};
}

const plain = await pages('plain'), again = await pages('again', { continueExceeding: true });
const slow = await pages('slow', { exponentialBackoff: true });
await show('fastify: three visits', async () => [await plain(), await plain(), await plain()]);
await show('fastify: a look at the visits that are left', async () => [await again('/look'), await again(),
	await again('/look'), await redis.del('again:127.0.0.1')]);
await show('fastify: after the end of the window', async () => {
	await redis.pexpire('plain:127.0.0.1', 0);
	return plain();
});
await show('fastify: a visit too many begins the window anew', async () => {
	const found = [await again(), await again()];

	await redis.expire('again:127.0.0.1', 10);
	return [...found, await again()];
});
await show('fastify: visits too many make it longer', async () => {
	const found = [await slow(), await slow(), await slow()];

	await slow();
	return [...found, about(2000, await redis.ttl('slow:127.0.0.1'))];
});

// The client of Hono's and of Express' limiter.
const client = {
	scriptLoad: (text) => redis.script('LOAD', text),
	evalsha: (digest, keys, values) => redis.evalsha(digest, keys.length, ...keys, ...values),
	decr: (key) => redis.decr(key), del: (key) => redis.del(key),
};
const honoStore = new RedisStore({ client });
const hono = new Hono().use(rateLimiter({ windowMs: 1000000, limit: 2, keyGenerator: () => 'k', store: honoStore }));

hono.get('/', (context) => context.text('served'));
await show('hono: three visits', async () => {
	const visit = async () => (await hono.request('/')).status;

	return [await visit(), await visit(), await visit(), about(1000, await redis.ttl('hrl:k'))];
});
await show('hono: a visit is taken back', async () => {
	await honoStore.decrement('k');
	await honoStore.decrement('none');
	const found = await honoStore.get('k');

	await honoStore.resetKey('k');
	return [found.totalHits, await redis.keys('hrl:*')];
});
for (const resetExpiryOnChange of [false, true])
	await show(`express: ${resetExpiryOnChange ? 'each visit begins a window' : 'visits of one window'}`, async () => {
		const store = new ExpressStore({ sendCommand: (...words) => redis.call(...words), resetExpiryOnChange });
		const visit = async () => [(await store.increment('k')).totalHits, about(1000, await redis.ttl('rl:k'))];

		store.init({ windowMs: 1000000 });
		const found = [await visit()];

		await redis.expire('rl:k', 500);
		found.push([(await store.increment('k')).totalHits, (await store.get('k')).totalHits, await redis.ttl('rl:k') > 500]);
		await store.resetKey('k');
		return found;
	});

const throttler = new ThrottlerStorageRedisService(redis);
async function visit() {
	const found = await throttler.increment('k', 1000000, 2, 500000, 'default');

	return [found.totalHits, about(1000, found.timeToExpire), found.isBlocked, about(500, found.timeToBlockExpire)];
}

await show('throttler: visits up to the limit', async () => [await visit(), await visit()]);
await show('throttler: one too many is blocked', async () => [await visit(), await visit()]);
await show('throttler: times', async () => [about(1000, await redis.ttl('{k:default}:hits')),
	about(500, await redis.ttl('{k:default}:blocked'))]);
await show('throttler: after the end of the block', async () => {
	await redis.del('{k:default}:hits', '{k:default}:blocked');
	return visit();
});

const options = { lockTimeout: 1000000, refreshInterval: 0, acquireTimeout: 1, retryInterval: 1 };
const mutex = new Mutex(redis, 'a', { ...options, refreshInterval: 10 }), other = new Mutex(redis, 'a', options);
await show('mutex: one of two gets it', async () => [await mutex.tryAcquire(), await other.tryAcquire(),
	about(1000000, await redis.pttl('mutex:a'))]);
await show('mutex: its owner refreshes it', async () => {
	await redis.pexpire('mutex:a', 100000);
	while (await redis.pttl('mutex:a') <= 100000)
		;
	return mutex.isAcquired;
});
await show('mutex: release', async () => [await mutex.release(), await other.tryAcquire()]);
await show('mutex: the old owner leaves it', async () => [await mutex.release(), await redis.exists('mutex:a'),
	await other.release(), await redis.exists('mutex:a')]);
await show('semaphore', async () => {
	const semaphore = new Semaphore(redis, 's', 2, { ...options, acquireTimeout: 1000000 });

	return [await semaphore.acquire(), await semaphore.release()];
});

const adapter = new IoredisAdapter(redis);
const lock = createLock({ adapter, key: 'u', ttl: 1000000, retryAttempts: 0, logger: { debug() {}, info() {}, warn() {},
	error() {} } });
await show('universal: acquire, extend, release', async () => {
	const handle = await lock.acquire(), found = [about(1000, await redis.ttl('u'))];

	found.push(await lock.extend(handle, 2000000), about(2000, await redis.ttl('u')));
	return [...found, await lock.release(handle), await redis.exists('u'), await lock.release(handle)];
});

const locks = new RedisLockingProvider({ redisClient: redis, logger: console }, {});
const owner = (ownerId, expire = 1000) => locks.acquire('m', { ownerId, expire });
await show('medusa: one of two gets the lock', async () => [await owner('a'), about(1000, await redis.ttl('medusa_lock:m')),
	await owner('b').catch((error) => error.message)]);
await show('medusa: its owner takes it again', async () => [await owner('a', 2000),
	about(2000, await redis.ttl('medusa_lock:m'))]);
await show('medusa: release', async () => [await locks.release('m', { ownerId: 'b' }),
	await locks.release('m', { ownerId: 'a' }), await redis.exists('medusa_lock:m')]);
await show('medusa: work under two locks', async () => [await locks.execute(['x', 'y'],
	() => redis.keys('medusa_lock:*').then((found) => found.length)), await redis.keys('medusa_lock:*')]);
process.exit();
