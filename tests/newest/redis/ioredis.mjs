// SPDX-License-Identifier: GPL-2.0-only
//
// ioredis.mjs SOCKET - calls of npm's ioredis on a server.
import { Redis } from 'ioredis';
import { about, show } from './show.mjs';

const path = process.argv[2];
const client = new Redis({ path });
const bytes = Buffer.from([...Array(256).keys()]);

await show('ping', () => client.ping());
await show('flushdb', () => client.flushdb());
await show('get of a missing key', () => client.get('none'));
await show('each byte is kept', async () => {
	await client.set('bytes', bytes);
	return bytes.equals(await client.getBuffer('bytes'));
});
await show('set EX', () => client.set('k', 'v', 'EX', 1000));
await show('ttl', async () => about(1000, await client.ttl('k')));
await show('pttl', async () => about(1000000, await client.pttl('k')));
await show('set NX of a present key', () => client.set('k', 'x', 'NX'));
await show('set XX KEEPTTL GET', () => client.set('k', 'w', 'XX', 'KEEPTTL', 'GET'));
await show('ttl after KEEPTTL', async () => about(1000, await client.ttl('k')));
await show('getex PERSIST', () => client.getex('k', 'PERSIST'));
await show('ttl without a time', () => client.ttl('k'));
await show('ttl of a missing key', () => client.ttl('none'));
await show('expire GT without a time', () => client.expire('k', 1000, 'GT'));
await show('expire NX', () => client.expire('k', 1000, 'NX'));
await show('expire NX again', () => client.expire('k', 2000, 'NX'));
await show('setnx, setex and psetex', async () => [await client.setnx('x', '1'), await client.setnx('x', '2'),
	await client.setex('x', 1000, '3'), await client.psetex('x', 1000000, '4'), await client.get('x')]);
await show('mset and mget', async () => [await client.mset({ a: 1, b: 'ü' }), await client.mget('a', 'none', 'b')]);
await show('incr, incrby, decr, decrby', async () => [await client.incr('n'), await client.incrby('n', 41),
	await client.decr('n'), await client.decrby('n', 50)]);
await show('incr of a text', () => client.incr('b'));
await show('append, strlen, getrange, setrange', async () => [await client.append('a', '234'),
	await client.strlen('a'), await client.getrange('a', 1, -2), await client.setrange('a', 5, 'x'),
	await client.get('a')]);
await show('exists and del', async () => [await client.exists('a', 'a', 'none'), await client.del('a', 'none'),
	await client.unlink('b')]);
await show('getdel', async () => [await client.getdel('x'), await client.get('x')]);
await show('type', async () => [await client.type('k'), await client.type('none')]);
await show('pipeline', () => client.pipeline().set('p', 'x').incr('p').get('p').exec()
	.then((found) => found.map(([error, value]) => error?.message ?? value)));
await show('multi', () => client.multi().set('m', 1).incr('m').incr('none2').get('m').exec());
await show('multi with a command that is refused', () => client.multi().set('m', 5).call('NOSUCH', 'h').exec());
await show('get after it', () => client.get('m'));
await show('multi that is discarded', async () => {
	await client.multi({ pipeline: false });
	await client.set('m', 6);
	return [await client.discard(), await client.get('m')];
});
await show('scanStream', async () => {
	const found = new Set();

	await Promise.all([...Array(1000).keys()].map((i) => client.set(`scan:${i}`, i)));
	for await (const keys of client.scanStream({ match: 'scan:*', count: 100 }))
		keys.forEach((key) => found.add(key));
	return found.size;
});
await show('keys', async () => (await client.keys('scan:9?')).length);
await show('calls at once', async () => {
	const at_once = new Redis({ path, enableAutoPipelining: true });
	const numbers = [...Array(5000).keys()];

	await Promise.all(numbers.map((i) => at_once.set(`many:${i}`, i, 'EX', 1000)));
	const found = await Promise.all(numbers.map((i) => at_once.get(`many:${i}`)));
	at_once.disconnect();
	return numbers.every((i) => found[i] === `${i}`);
});
await show('a database of its own', async () => {
	const other = new Redis({ path, db: 1 });
	const found = [await other.set('k', 'other'), await client.get('k'), await other.flushdb()];

	other.disconnect();
	return [...found, await client.get('k')];
});
await show('flushdb in a database that may be missing', async () => {
	const lost = new Redis({ path, db: 9, retryStrategy: null, maxRetriesPerRequest: 0 });

	lost.on('error', () => {});
	try {
		return await lost.flushdb();
	} finally {
		lost.disconnect();
	}
});
await show('the key of database 0 after it', () => client.get('k'));
await show('RESP 2', async () => {
	const old = new Redis({ path, protocol: 2 });
	const found = [await old.get('k'), await old.get('none'), await old.mget('k', 'none')];

	await old.quit();
	return found;
});
await show('a value of 1 MiB', async () => {
	await client.set('large', 'v'.repeat(1 << 20));
	return (await client.get('large')).length;
});
await show('hset', () => client.hset('h', 'f', 1));
await show('the connection after it', () => client.ping());
await show('quit', () => client.quit());
