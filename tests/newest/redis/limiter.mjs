// SPDX-License-Identifier: GPL-2.0-only
//
// limiter.mjs SOCKET - rate-limiter-flexible with ioredis and with node-redis, and rate-limit-redis, on a server. Two
// more processes count at once.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { rateLimit } from 'express-rate-limit';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { RedisStore } from 'rate-limit-redis';
import { createClient } from 'redis';
import { about, show } from './show.mjs';

const path = process.argv[2];
const old = new Redis({ path });
const limiter = new RateLimiterRedis({ storeClient: old, keyPrefix: 'old', points: 600, duration: 1000 });

// The figures of a limiter.
const told = (found) => found && [found.remainingPoints, found.consumedPoints, about(1000000, found.msBeforeNext)];
const answer = (call) => call.then(told, (refused) => (refused instanceof Error ? refused.message :
	['refused', ...told(refused)]));

// Takes 500 points, some at once. Returns how many were given.
async function take() {
	let given = 0;

	for (let i = 0; i < 500; i += 50)
		await Promise.all([...Array(50)].map(() => limiter.consume('both').then(() => given++, () => {})));
	return given;
}

if (process.send) {
	process.send(await take());
	process.exit();
}
await old.flushdb();
await show('two processes at once', async () => {
	const found = await Promise.all([1, 2].map(() => new Promise((resolve) => {
		fork(fileURLToPath(import.meta.url), [path]).once('message', resolve);
	})));

	return found[0] + found[1];
});
await show('the next one', () => answer(limiter.consume('both')));
await show('get', () => answer(limiter.get('both')));
await show('get of a missing key', () => answer(limiter.get('none')));
await show('consume', () => answer(limiter.consume('k', 2)));
await show('penalty and reward', async () => [await answer(limiter.penalty('k', 3)), await answer(limiter.reward('k', 1))]);
await show('block', async () => [await answer(limiter.block('k', 1000)), await answer(limiter.consume('k'))]);
await show('delete', async () => [await limiter.delete('k'), await answer(limiter.consume('k'))]);
await show('set', async () => [await answer(limiter.set('k', 599, 1000)), await answer(limiter.consume('k')),
	await answer(limiter.consume('k'))]);

const client = await createClient({ socket: { path, tls: false } }).connect();
const other = new RateLimiterRedis({
	storeClient: client, useRedisPackage: true, keyPrefix: 'new', points: 2, duration: 1000, blockDuration: 1000,
});
await show('node-redis: consume', async () => [await answer(other.consume('k')), await answer(other.consume('k')),
	await answer(other.consume('k')), await answer(other.get('k'))]);
await show('node-redis: after its end', async () => {
	await client.pExpire('new:k', 0);
	return answer(other.consume('k'));
});
await show('node-redis: block', async () => [await answer(other.block('k', 1000)), await answer(other.get('k'))]);

// A limiter of express. Its store is that of the package.
const store = new RedisStore({ sendCommand: (...words) => client.sendCommand(words), prefix: 'rl:' });
const limit = rateLimit({ windowMs: 1000000, limit: 2, store, validate: false, keyGenerator: (request) => request.ip });

function visit(ip) {
	return new Promise((resolve) => {
		const response = {
			setHeader() {}, headersSent: false, statusCode: 200, writableEnded: false, on() {},
			status(code) { this.statusCode = code; return this; },
			send() { resolve(this.statusCode); },
		};

		limit({ ip, method: 'GET', app: { get() {} }, headers: {} }, response, () => resolve('served'));
	});
}

await show('express-rate-limit', async () => [await visit('a'), await visit('a'), await visit('a'), await visit('b')]);
await show('express-rate-limit: the time that a window has', async () => about(1000, await client.ttl('rl:a')));
await show('express-rate-limit: get', async () => (await store.get('a')).totalHits);
await show('express-rate-limit: decrement', async () => {
	await store.decrement('a');
	return (await store.get('a')).totalHits;
});
await show('express-rate-limit: resetKey', async () => {
	await store.resetKey('a');
	return visit('a');
});
process.exit();
