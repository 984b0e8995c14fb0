// SPDX-License-Identifier: GPL-2.0-only
//
// keyv.mjs SOCKET PORT - calls of npm's @keyv/memcache, and of memjs below it, on a server. Prints the result of
// each. Both speak the binary protocol only.
import Keyv from 'keyv';
import KeyvMemcache from '@keyv/memcache';
import memjs from 'memjs';

const uri = `127.0.0.1:${process.argv[3]}`;
// A call that waits for as long as this has found no answer.
const options = { retries: 1, timeout: 60, conntimeout: 60, logger: { log() {} } };
const began = Date.now();

async function attempt(name, call) {
	try {
		const found = await call();

		console.log(`${name}: ${JSON.stringify(Buffer.isBuffer(found) ? found.toString() : found)}`);
	} catch (error) {
		console.log(`${name}: an error`);
	}
}

const client = memjs.Client.create(uri, options);
await attempt('memjs: set', () => client.set('k', 'value', { expires: 100 }));
await attempt('memjs: get', async () => (await client.get('k')).value);
await attempt('memjs: add', () => client.add('k', 'value', {}));
await attempt('memjs: increment', async () => (await client.increment('n', 2, { initial: 40 })).value);
await attempt('memjs: delete', () => client.delete('k'));
await attempt('memjs: calls at once', async () => {
	const found = await Promise.allSettled(['a', 'b', 'c'].map((key) => client.set(key, key, {})));

	return found.map((one) => one.status);
});
client.close();

const store = new KeyvMemcache(uri, options);
const keyv = new Keyv({ store, emitErrors: false, throwOnErrors: true });

store.on('error', () => {});
await attempt('keyv: set', () => keyv.set('k', { name: 'Ann' }, 100000));
await attempt('keyv: get', () => keyv.get('k'));
await attempt('keyv: get of several keys', () => keyv.get(['k', 'none']));
await attempt('keyv: has', () => keyv.has('k'));
await attempt('keyv: delete', () => keyv.delete('k'));
await attempt('keyv: get of a missing key', () => keyv.get('k'));
await attempt('keyv: clear', () => keyv.clear());
console.log(`all calls end before a timeout: ${Date.now() - began < 60000}`);
process.exit();
