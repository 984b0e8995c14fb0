// SPDX-License-Identifier: GPL-2.0-only
//
// session.mjs SOCKET - express, whose sessions express-session and connect-redis keep on a server. A program of its
// own, which is "session.mjs SOCKET PORT serve", serves the pages on SOCKET.http. It is started anew between requests.
import { fork } from 'node:child_process';
import { rmSync } from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';
import { RedisStore } from 'connect-redis';
import express from 'express';
import session from 'express-session';
import { createClient } from 'redis';
import { about, show } from './show.mjs';

const [, , path, , serving] = process.argv;
const client = await createClient({ socket: { path, tls: false } }).connect();
const store = new RedisStore({ client, prefix: 'sess:', ttl: 1000 });

// The server of the pages.
function serve() {
	const pages = express();

	pages.use(session({ store, secret: 'not secret', resave: false, saveUninitialized: false }));
	pages.get('/visit', (request, response) => {
		request.session.visits = (request.session.visits ?? 0) + 1;
		response.send(`visit ${request.session.visits}`);
	});
	pages.get('/look', (request, response) => response.send(`visits: ${request.session.visits ?? 'none'}`));
	pages.get('/leave', (request, response) => request.session.destroy(() => response.send('left')));
	pages.listen(`${path}.http`, () => process.send?.('listens'));
}

async function begin() {
	rmSync(`${path}.http`, { force: true });
	const server = fork(fileURLToPath(import.meta.url), [path, '0', 'serve']);

	await new Promise((resolve) => server.once('message', resolve));
	return server;
}

async function end(server) {
	server.kill();
	await new Promise((resolve) => server.once('exit', resolve));
}

// Gets a page. Returns its text, and keeps the cookie of the visitor.
function get(page, visitor) {
	return new Promise((resolve, reject) => {
		const headers = visitor.cookie ? { cookie: visitor.cookie } : {};

		http.get({ socketPath: `${path}.http`, path: page, headers, agent: false }, (response) => {
			let text = '';

			visitor.cookie = response.headers['set-cookie']?.[0].split(';')[0] ?? visitor.cookie;
			response.on('data', (part) => (text += part)).on('end', () => resolve(text));
		}).on('error', reject);
	});
}

if (serving) {
	serve();
} else {
	const ann = {}, bob = {};
	const key = () => `sess:${decodeURIComponent(ann.cookie.split('=')[1]).slice(2).split('.')[0]}`;

	await client.flushDb();
	let server = await begin();
	await show('a first visit', () => get('/visit', ann));
	await show('the second visit', () => get('/visit', ann));
	await show('another visitor', () => get('/visit', bob));
	await show('the time that the session has', async () => about(1000, await client.ttl(key())));
	await client.expire(key(), 10);
	await show('a page that changes nothing', () => get('/look', ann));
	await show('it has its time again', async () => about(1000, await client.ttl(key())));
	await end(server);
	server = await begin();
	await show('a visit after node was started anew', () => get('/visit', ann));
	await show('sessions', async () => [await store.length(), (await store.all()).map((one) => one.visits).sort()]);
	await client.pExpire(key(), 0);
	await show('a visit after the session has expired', () => get('/look', ann));
	await show('the other visitor leaves', () => get('/leave', bob));
	await show('and is a stranger', () => get('/look', bob));
	await show('a new session', () => get('/visit', bob));
	await show('all are removed', async () => [await store.clear(), await store.length()]);
	await end(server);
	process.exit();
}
