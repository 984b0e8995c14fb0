// SPDX-License-Identifier: GPL-2.0-only
//
// node_memcached.mjs SOCKET PORT - calls of npm's memcached and memcache-client on a server. Prints the result of each.
import { MemcacheClient } from 'memcache-client';
import Memcached from 'memcached';
import { show } from './show.mjs';

const server = `127.0.0.1:${process.argv[3]}`;
const old = new Memcached(server, { timeout: 60000 });

// The result of a call of memcached.
const call = (name, ...words) => new Promise((resolve, reject) => {
	old[name](...words, (error, found) => error ? reject(error) : resolve(found));
});

await show('memcached: flush', () => call('flush'));
await show('memcached: set and get', async () => [await call('set', 'k', { x: 1 }, 100), await call('get', 'k'),
	await call('get', 'none')]);
await show('memcached: add of a present key', () => call('add', 'k', 1, 100));
await show('memcached: replace, append, prepend', async () => [await call('replace', 'k', 'v', 100),
	await call('append', 'k', '!'), await call('prepend', 'k', '?'), await call('get', 'k')]);
await show('memcached: replace of a missing key', () => call('replace', 'none', 'v', 100));
await show('memcached: many', async () => [await call('set', 'n', 5, 0), await call('getMulti', ['k', 'n', 'none'])]);
await show('memcached: incr and decr', async () => [await call('incr', 'n', 2), await call('decr', 'n', 9),
	await call('incr', 'none', 1)]);
await show('memcached: incr of text', () => call('incr', 'k', 1));
await show('memcached: cas', async () => {
	const { cas } = await call('gets', 'n');

	return [await call('cas', 'n', 1, cas, 100), await call('cas', 'n', 2, cas, 100), await call('get', 'n')];
});
await show('memcached: touch and del', async () => [await call('touch', 'k', 50), await call('touch', 'none', 50),
	await call('del', 'k'), await call('del', 'k'), await call('get', 'k')]);
await show('memcached: a value of 300 kB', async () => [await call('set', 'long', 'x'.repeat(300000), 100),
	(await call('get', 'long')).length]);
await show('memcached: version', async () => (await call('version'))[0].version);
await show('memcached: stats', async () => typeof (await call('stats'))[0].curr_items);
old.end();

const client = new MemcacheClient({ server, cmdTimeout: 60000 });
await show('memcache-client: set and get', async () => [await client.set('k', { x: 1 }, { lifetime: 100 }),
	(await client.get('k')).value, await client.get('none')]);
await show('memcache-client: add of a present key', () => client.add('k', 1));
await show('memcache-client: many', async () => [await client.set('n', 5),
	Object.keys(await client.get(['k', 'n', 'none']))]);
await show('memcache-client: incr and decr', async () => [await client.incr('n', 2), await client.decr('n', 1)]);
await show('memcache-client: cas', async () => {
	const { casUniq } = await client.gets('n');

	return [await client.cas('n', 1, { casUniq }), await client.cas('n', 2, { casUniq }).catch((error) => error.message)];
});
await show('memcache-client: touch and delete', async () => [await client.touch('k', '50'), await client.delete('k'),
	await client.delete('k').catch((error) => error.message), await client.get('k')]);
client.shutdown();
