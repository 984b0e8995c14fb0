// SPDX-License-Identifier: GPL-2.0-only
//
// glide.mjs SOCKET - calls of npm's @valkey/valkey-glide, whose core is a program of its own, on a server, with RESP 3
// and 2. It connects to TCP alone, so this program passes its bytes on to the socket.
import net from 'node:net';
import { Batch, ExpireOptions, GlideClient, Logger, ProtocolVersion, Script, TimeUnit }
	from '@valkey/valkey-glide';
import { about, show } from './show.mjs';

const relay = net.createServer((client) => {
	const server = net.connect(process.argv[2]);

	client.pipe(server).pipe(client);
	client.on('error', () => server.destroy());
	server.on('error', () => client.destroy());
});
await new Promise((resolve) => relay.listen(0, '127.0.0.1', resolve));
const release = new Script("if redis.call('get', KEYS[1]) == ARGV[1] " +
	"then return redis.call('del', KEYS[1]) else return 0 end");

Logger.setLoggerConfig('off');
for (const protocol of [ProtocolVersion.RESP3, ProtocolVersion.RESP2]) {
	const client = await GlideClient.createClient({ addresses: [{ host: '127.0.0.1', port: relay.address().port }],
		protocol, requestTimeout: 60000, clientName: 'glide' });

	await client.flushdb();
	await show('set', () => client.set('k', 'v', { expiry: { type: TimeUnit.Seconds, count: 1000 } }));
	await show('get', () => client.get('k'));
	await show('get of a missing key', () => client.get('none'));
	await show('ttl', async () => about(1000, await client.ttl('k')));
	await show('set NX of a present key', () => client.set('k', 'x', { conditionalSet: 'onlyIfDoesNotExist' }));
	await show('mset and mget', async () => [await client.mset({ a: '1', b: '2' }),
		await client.mget(['a', 'none', 'b'])]);
	await show('incrBy', () => client.incrBy('a', 41));
	await show('incr of a text', () => client.incr('k').catch((error) => error.name));
	await show('getex and pttl', async () => [
		await client.getex('a', { expiry: { type: TimeUnit.Seconds, duration: 100 } }),
		about(100000, await client.pttl('a'))]);
	await show('expire NX', () => client.expire('a', 50, { expireOption: ExpireOptions.HasNoExpiry }));
	await show('MULTI', () => client.exec(new Batch(true).set('t', '1').incr('t').get('t'), true));
	await show('pipeline', () => client.exec(new Batch(false).set('t', '1').incr('t').exists(['t', 'none']), true));
	await show('a script that releases a lock', async () => [
		await client.invokeScript(release, { keys: ['k'], args: ['x'] }),
		await client.invokeScript(release, { keys: ['k'], args: ['v'] })]);
	await show('scan', async () => (await client.scan('0', { count: 100 }))[1].sort());
	await show('del', () => client.del(['a', 'b', 'none']));
	client.close();
}
process.exit();
