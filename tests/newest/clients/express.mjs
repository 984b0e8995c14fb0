// SPDX-License-Identifier: GPL-2.0-only
//
// express.mjs SOCKET PORT - sessions of npm's express by connect-memcached, and limits of its requests by
// rate-limit-memcached, on a server. Prints the answers.
import { createRequire } from 'node:module';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import session from 'express-session';
import { MemcachedStore } from 'rate-limit-memcached';

const require = createRequire(import.meta.url);
const SessionStore = require('connect-memcached')(session);
const address = `127.0.0.1:${process.argv[3]}`;
const config = { timeout: 60000 };
const store = new SessionStore({ hosts: [address], ...config });
const limits = new MemcachedStore({ locations: [address], config });
const app = express();

app.use(session({ store, secret: 'a secret', resave: false, saveUninitialized: false, rolling: true,
	cookie: { maxAge: 600000 } }));
app.get('/count', (request, response) => {
	request.session.count = (request.session.count ?? 0) + 1;
	response.send(`visit ${request.session.count}`);
});
app.get('/look', (request, response) => response.send(`visits ${request.session.count}`));
app.get('/leave', (request, response) => request.session.destroy(() => response.send('bye')));
app.use('/api', rateLimit({ store: limits, windowMs: 600000, limit: 2, legacyHeaders: true,
	keyGenerator: (request) => request.query.user }));
app.get('/api', (request, response) => response.send('served'));

const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
let cookie = '';

async function show(path) {
	const response = await fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { cookie } });
	const left = response.headers.get('x-ratelimit-remaining');

	cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
	console.log(`${path}: ${response.status} ${await response.text()}${left ? `, ${left} left` : ''}`);
}

for (const path of ['/count', '/count', '/look', '/count', '/leave', '/look', '/count'])
	await show(path);
for (const user of ['ann', 'ann', 'ann', 'bob'])
	await show(`/api?user=${user}`);
await limits.resetKey('ann');
await show('/api?user=ann');
await limits.decrement('ann');
await show('/api?user=ann');
process.exit();
