// SPDX-License-Identifier: GPL-2.0-only
//
// frameworks.mjs SOCKET - npm's @fastify/rate-limit, the throttler of Nest, and the locks of redis-semaphore and
// redlock-universal, with ioredis on a server. No two libraries have the same texts of scripts.
import rateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { createRequire } from 'node:module';
import { Mutex, Semaphore } from 'redis-semaphore';
import { createLock, IoredisAdapter } from 'redlock-universal';
import { about, show } from './show.mjs';

const { ThrottlerStorageRedisService } = createRequire(import.meta.url)('@nest-lab/throttler-storage-redis');
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
	const semaphore = new Semaphore(redis, 's', 2, options);

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
process.exit();
