// SPDX-License-Identifier: GPL-2.0-only
//
// limiter.mjs SOCKET PORT - the limits of rate-limiter-flexible on a server, by npm's memcached. Prints the results.
import Memcached from 'memcached';
import limiters from 'rate-limiter-flexible';

const client = new Memcached(`127.0.0.1:${process.argv[3]}`, { timeout: 60000 });
const limit = (settings) => new limiters.RateLimiterMemcache({
	storeClient: client, points: 2, duration: 1000, ...settings });
const tell = ({ consumedPoints, remainingPoints, msBeforeNext }) => [consumedPoints, remainingPoints, about(msBeforeNext)];
// The figures of a call, or the reason of its refusal.
const told = (call) => call.then((found) => found && tell(found), (error) => error.message ?? ['refused', ...tell(error)]);

// The hundreds of seconds, rounded up.
function about(ms) {
	return Math.ceil(ms / 100000) * 100;
}

async function show(name, calls) {
	const results = [];

	for (const call of calls)
		results.push(await told(call()));
	console.log(`${name}: ${JSON.stringify(results)}`);
}

await new Promise((resolve) => client.flush(resolve));
const plain = limit({ keyPrefix: 'plain' });
const strict = limit({ keyPrefix: 'strict', blockDuration: 5000 });
await show('consume', [1, 2, 3].map(() => () => plain.consume('u')));
await show('get', [() => plain.get('u'), () => plain.get('none')]);
await show('consume and block', [1, 2, 3, 4].map(() => () => strict.consume('u')));
await show('penalty', [() => plain.penalty('p', 2), () => plain.get('p')]);
await show('set and block', [() => plain.set('s', 2, 500), () => plain.block('b', 5000), () => plain.get('b')]);
await show('delete', [() => plain.delete('u').then(() => null), () => plain.get('u'), () => plain.consume('u')]);
const many = await Promise.all(Array.from({ length: 20 }, () => limit({ keyPrefix: 'many', points: 5 }).consume('u')
	.then(() => 1, () => 0)));
console.log(`many at once: ${many.reduce((sum, one) => sum + one)}`);
client.end();
