// SPDX-License-Identifier: GPL-2.0-only
//
// koa.mjs SOCKET - sessions of npm's koa, koa-session and koa-redis on a server.
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import Koa from 'koa';
import { createSession } from 'koa-session';
import { about, show } from './show.mjs';

const require = createRequire(import.meta.url);
const redisStore = require('koa-redis');
const path = process.argv[2];
const direct = new Redis({ path });
const app = new Koa();

await direct.flushdb();
app.keys = ['a secret'];
app.use(createSession({ store: redisStore({ path }), key: 'id', maxAge: 1000000, rolling: true }, app));
app.use((context) => {
	if (context.path === '/leave')
		context.session = null;
	else
		context.session.count = (context.session.count ?? 0) + 1;
	context.body = `visit ${context.session?.count}`;
});
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
let cookie = '';

for (const visited of ['/', '/', '/', '/leave', '/']) {
	await show(visited, async () => {
		const response = await fetch(`http://127.0.0.1:${server.address().port}${visited}`, { headers: { cookie } });

		cookie = response.headers.getSetCookie().map((one) => one.split(';')[0]).join('; ') || cookie;
		return response.text();
	});
	await show('sessions and their time', async () => {
		const keys = await direct.keys('*');

		// koa-session adds ten seconds.
		return [keys.length, ...await Promise.all(keys.map(async (key) => about(1010000, await direct.pttl(key))))];
	});
}
process.exit();
