// SPDX-License-Identifier: GPL-2.0-only
//
// cache_manager.mjs SOCKET - cache-manager with @keyv/redis on a server.
import KeyvRedis from '@keyv/redis';
import { createCache } from 'cache-manager';
import Keyv from 'keyv';
import { about, show } from './show.mjs';

const store = new KeyvRedis({ socket: { path: process.argv[2], tls: false } }, { namespace: 'pages' });
const keyv = new Keyv({ store, namespace: 'pages', useKeyPrefix: false, throwOnErrors: true });
const cache = createCache({ stores: [keyv] });
let made = 0;

await show('clear', () => cache.clear());
await show('set', () => cache.set('k', { name: 'Ann' }, 1000000));
await show('get', () => cache.get('k'));
await show('get of a missing key', () => cache.get('none'));
await show('ttl', async () => about(1000000, await cache.ttl('k') - Date.now()));
await show('mset', () => cache.mset([{ key: 'a', value: 1, ttl: 1000000 }, { key: 'b', value: [2] }]));
await show('mget', () => cache.mget(['a', 'none', 'b']));
await show('wrap makes a value', () => cache.wrap('w', () => ++made, 1000000));
await show('wrap finds it', () => cache.wrap('w', () => ++made, 1000000));
await show('has', async () => [await keyv.has('k'), await keyv.has('none')]);
await show('iterator', async () => {
	const found = [];

	for await (const [key] of keyv.iterator())
		found.push(key);
	return found.sort();
});
await show('del', async () => [await cache.del('k'), await cache.get('k')]);
await show('mdel', async () => [await cache.mdel(['a', 'none']), await cache.get('a')]);
await show('clear of a namespace', async () => {
	const client = await store.getClient();

	await client.set('other', 'kept');
	await cache.clear();
	return [await cache.get('b'), await client.get('other')];
});
await cache.disconnect();
