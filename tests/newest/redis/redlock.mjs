// SPDX-License-Identifier: GPL-2.0-only
//
// redlock.mjs SOCKET - locks of npm's redlock 4 and 5 and of its successor, with ioredis, and of @redis-kit/lock, on a
// server. Two more processes count in a file, each time with the lock.
import { fork } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Redlock as Successor } from '@sesamecare-oss/redlock';
import { Redlock as Kit } from '@redis-kit/lock';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { about, show } from './show.mjs';

const require = createRequire(import.meta.url);
const Redlock4 = require('redlock');
const Redlock5 = require('redlock5').default;
const path = process.argv[2];
const client = new Redis({ path });
const once = { retryCount: 0 }, patient = { retryCount: 10000, retryDelay: 1, retryJitter: 3 };
const file = `${path}.count`;

if (process.send) {
	const redlock = new Redlock5([client], patient);

	for (let i = 0; i < 50; i++) {
		const lock = await redlock.acquire(['counter'], 100000);
		const count = Number(readFileSync(file));

		await client.ping();
		writeFileSync(file, `${count + 1}`);
		await lock.release();
	}
	process.exit();
}

// Makes the calls of one kind of lock, whose functions have different names.
async function locks(name, redlock, acquire, extend, release) {
	const time = async (key) => about(1000000, await client.pttl(key));
	let lock;

	await show(`${name}: acquire`, async () => {
		lock = await acquire(redlock, ['a'], 1000000);
		return time('a');
	});
	await show(`${name}: acquire of a lock that is held`, async () => {
		await acquire(redlock, ['a'], 1000);
		return 'acquired';
	});
	await show(`${name}: it is still held`, () => time('a'));
	await show(`${name}: extend`, async () => {
		await client.pexpire('a', 1000);
		lock = await extend(lock, 1000000);
		return time('a');
	});
	await show(`${name}: release`, async () => {
		await release(lock);
		return client.exists('a');
	});
	await show(`${name}: release again`, async () => {
		await release(lock);
		return 'released';
	});
	await show(`${name}: the lock of another owner`, async () => {
		lock = await acquire(redlock, ['a'], 1000000);
		await client.set('a', 'other');
		await extend(lock, 1000000).then(() => console.log('it is extended'), () => {});
		await release(lock).then(() => {}, () => {});
		return client.get('a');
	});
	await client.del('a');
	await show(`${name}: two keys`, async () => {
		lock = await acquire(redlock, ['a', 'b'], 1000000);
		const found = [await time('a'), await time('b')];

		await release(lock);
		return [...found, await client.exists('a', 'b')];
	});
}

await client.flushdb();
await locks('redlock 4', new Redlock4([client], once), (redlock, keys, ms) => redlock.lock(keys, ms),
	(lock, ms) => lock.extend(ms), (lock) => lock.unlock());
for (const [name, Class] of [['redlock 5', Redlock5], ['sesamecare', Successor]])
	await locks(name, new Class([client], once), (redlock, keys, ms) => redlock.acquire(keys, ms),
		(lock, ms) => lock.extend(ms), (lock) => lock.release());

const kit = createClient({ socket: { path } });
// It returns null or false in place of an error.
const succeed = async (result) => (await result) || Promise.reject(new Error('it is held'));

await kit.connect();
await locks('@redis-kit/lock', new Kit([kit], { maxRetryAttempts: 0 }),
	(redlock, keys, ms) => succeed(redlock.acquire(keys, ms)),
	async (lock, ms) => (await succeed(lock.extend(ms)), lock), (lock) => lock.release());
await kit.close();
await show('two processes count 100 with the lock', async () => {
	writeFileSync(file, '0');
	await Promise.all([1, 2].map(() => new Promise((resolve) => {
		fork(fileURLToPath(import.meta.url), [path]).once('exit', resolve);
	})));
	return readFileSync(file, 'utf8');
});
await client.quit();
