// SPDX-License-Identifier: GPL-2.0-only
//
// memcache.mjs SOCKET PORT - calls of npm's memcache on a server. Prints the result of each.
import { Memcache } from 'memcache';
import { show } from './show.mjs';

const uri = `127.0.0.1:${process.argv[3]}`;
const client = new Memcache({ nodes: [uri], timeout: 60000, maxValueSize: 4 << 20, maxExpiration: 2 ** 33 });

// Shows the result of a call; of a long text its length.
const attempt = (name, call) => show(name, async () => {
	const found = await call();

	return found instanceof Map ? Object.fromEntries([...found].sort()) :
		found?.length > 300 ? `${found.length} bytes` : found;
});

// The reply to a line of its own.
const ask = (line, options) => client.nodes[0].command(line, options);

client.on('error', () => {});
await attempt('version', async () => [...(await client.version()).values()]);
await attempt('flush', () => client.flush());
await attempt('get of a missing key', () => client.get('none'));
await attempt('set', () => client.set('k', 'value', 100));
await attempt('get', () => client.get('k'));
await attempt('set of an empty value', () => client.set('empty', ''));
await attempt('get of an empty value', () => client.get('empty'));
await attempt('set with flags', () => client.set('k', 'value', 100, 4294967295));
await attempt('set with flags of 33 bits', () => client.set('k', 'value', 100, 4294967296));
await attempt('get after flags of 33 bits', () => client.get('k'));
await client.set('k', 'value', 100);
await attempt('add of a present key', () => client.add('k', 'x'));
await attempt('add', () => client.add('new', 'x'));
await attempt('replace', () => client.replace('new', 'y'));
await attempt('replace of a missing key', () => client.replace('none', 'y'));
await attempt('append', () => client.append('new', '>'));
await attempt('prepend', () => client.prepend('new', '<'));
await attempt('append to a missing key', () => client.append('none', '>'));
await attempt('get after append', () => client.get('new'));
await attempt('incr of a missing key', () => client.incr('n', 2));
await client.set('n', '40');
await attempt('incr', () => client.incr('n', 2));
await attempt('decr below 0', () => client.decr('n', 50));
await attempt('incr of a text', () => client.incr('k', 1));
await attempt('touch', () => client.touch('k', 50));
await attempt('touch of a missing key', () => client.touch('none', 50));
await Promise.all(['a', 'b', 'ü'].map((key) => client.set(key, `${key}!`)));
await attempt('gets', () => client.gets(['a', 'b', 'ü', 'none']));
await attempt('delete', () => client.delete('a'));
await attempt('delete of a missing key', () => client.delete('a'));
const told = await ask('gets k', { isMultiline: true, requestedKeys: ['k'] });
await attempt('cas of a version that never was', () => client.cas('k', 'v', '1'));
await attempt('cas of a missing key', () => client.cas('none', 'v', '1'));
await attempt('cas of a text', () => client.cas('k', 'v', 'x'));
await attempt('get after cas', () => client.get('k'));
await attempt('stats', async () => 'curr_connections' in [...(await client.stats()).values()][0]);

// Requests that are refused, and what follows on the same connection. The client checks keys, so they are sent by
// its connection.
await client.set('sync', 'in step');
const store = (key, value) => ask(`set ${key} 0 0 ${value.length}\r\n${value}`);
for (const [name, key] of Object.entries({
	'a key with a NUL': 'a\0b',
	'a key of 250 bytes': 'k'.repeat(250),
	'a key of 251 bytes': 'k'.repeat(251),
	'a key of 2000 bytes': 'k'.repeat(2000),
})) {
	await attempt(`set of ${name}`, () => store(key, 'flush_all\r\nflush_all'));
	await attempt(`delete of ${name}`, () => ask(`delete ${key}`));
	await attempt(`incr of ${name}`, () => ask(`incr ${key} 1`));
	await attempt(`in step after ${name}`, () => client.get('sync'));
}
for (const [name, length] of Object.entries({
	'a value of 1 MiB less 1000 bytes': (1 << 20) - 1000,
	'a value of 1 MiB': 1 << 20,
	'a value of 2 MiB': 2 << 20,
})) {
	await client.set('large', 'old');
	await attempt(`set of ${name}`, () => client.set('large', 'v'.repeat(length)));
	await attempt(`get of ${name}`, () => client.get('large'));
	await attempt(`in step after ${name}`, () => client.get('sync'));
}
await attempt('many calls at once', async () => {
	const numbers = [...Array(1000).keys()];

	await Promise.all(numbers.map((i) => client.set(`many${i}`, `${i}`)));
	const found = await Promise.all(numbers.map((i) => client.get(`many${i}`)));
	return numbers.every((i) => found[i] === `${i}`);
});
await client.quit();
process.exit();
