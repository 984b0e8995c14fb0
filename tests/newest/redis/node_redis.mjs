// SPDX-License-Identifier: GPL-2.0-only
//
// node_redis.mjs SOCKET - calls of npm's redis (node-redis) on a server. It speaks RESP 3.
import { createClient } from 'redis';
import { about, show } from './show.mjs';

const socket = { path: process.argv[2], tls: false, reconnectStrategy: false };

async function connect(options) {
	const client = createClient({ socket, ...options });

	client.on('error', () => {});
	return client.connect();
}

const client = await connect();
await show('ping', () => client.ping());
await show('flushDb', () => client.flushDb());
await show('get of a missing key', () => client.get('none'));
await show('set with options', () => client.set('k', 'v', { expiration: { type: 'EX', value: 1000 }, condition: 'NX' }));
await show('set NX of a present key', () => client.set('k', 'x', { condition: 'NX' }));
await show('set KEEPTTL', () => client.set('k', 'w', { expiration: 'KEEPTTL' }));
await show('ttl', async () => about(1000, await client.ttl('k')));
await show('getEx', () => client.getEx('k', { type: 'PX', value: 2000000 }));
await show('pTTL', async () => about(2000000, await client.pTTL('k')));
await show('expire with a condition', async () => [await client.expire('k', 1000, 'GT'),
	await client.expire('k', 1000, 'LT'), await client.expire('k', 1, 'NX'), await client.persist('k'),
	await client.ttl('k')]);
await show('setEx, pSetEx, setNX, getSet, getDel', async () => [await client.setEx('x', 1000, '1'),
	await client.pSetEx('x', 1000000, '2'), await client.setNX('x', '3'), await client.getSet('x', '4'),
	await client.ttl('x'), await client.getDel('x')]);
await show('mSet and mGet', async () => [await client.mSet({ a: '1', b: 'ü' }),
	await client.mGet(['a', 'none', 'b'])]);
await show('incr and others', async () => [await client.incr('n'), await client.incrBy('n', 41),
	await client.decr('n'), await client.decrBy('n', 50), await client.strLen('n'),
	await client.append('n', '0'), await client.getRange('n', 0, 0)]);
await show('incr of a text', () => client.incr('b'));
await show('exists and del', async () => [await client.exists(['a', 'a', 'none']), await client.del(['a', 'none']),
	await client.unlink('b')]);
await show('multi', () => client.multi().set('m', '1').incr('m').get('m').exec());
await show('multi with an error', async () => {
	try {
		return await client.multi().set('m', 'x').incr('m').exec();
	} catch (error) {
		return error.replies.map(String);
	}
});
await show('pipeline', () => client.multi().set('m', '1').incr('m').execAsPipeline());
await show('scanIterator', async () => {
	const found = new Set();

	await Promise.all([...Array(1000).keys()].map((i) => client.set(`scan:${i}`, `${i}`)));
	for await (const keys of client.scanIterator({ MATCH: 'scan:*', COUNT: 100, TYPE: 'string' }))
		keys.forEach((key) => found.add(key));
	return found.size;
});
await show('a database of its own', async () => {
	const other = await connect({ database: 1 });
	const found = [await other.set('k', 'other'), await client.get('k'), await other.flushDb()];

	await other.close();
	return [...found, await client.get('k')];
});
await show('a user and a password', async () => {
	const named = await connect({ username: 'default', password: 'any', name: 'web' });

	try {
		return [await named.get('k'), await named.clientGetName()];
	} finally {
		await named.close();
	}
});
await show('RESP 2', async () => {
	const old = await connect({ RESP: 2 });
	const found = [await old.get('k'), await old.mGet(['k', 'none'])];

	await old.close();
	return found;
});
await show('eval of an unknown script', () => client.eval('return 1'));
await show('hSet', () => client.hSet('h', 'f', '1'));
await show('the connection after it', () => client.ping());
await client.close();
