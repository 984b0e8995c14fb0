// SPDX-License-Identifier: GPL-2.0-only
//
// client.js PORT - calls of npm's memcached and memcache-client on a server at 127.0.0.1, and a call of
// memjs, which speaks the binary protocol only: it has to fail. Prints each call that does not do what it
// should, and exits with 1 then.
'use strict';

const { promisify } = require('util');
const Memcached = require('memcached');
const { MemcacheClient } = require('memcache-client');
const memjs = require('memjs');

const server = `127.0.0.1:${process.argv[2]}`;

function check(name, good, found) {
	if (good)
		return;
	console.log(`${name}: found ${JSON.stringify(found)}`);
	process.exitCode = 1;
}

async function tryMemcached() {
	const client = new Memcached(server, { retries: 0, timeout: 60000 });
	const call = (name, ...words) => promisify(client[name].bind(client))(...words);

	await call('flush');
	await call('set', 'k', { name: 'Ann' }, 100);
	let found = await call('get', 'k');
	check('memcached: get', found && found.name === 'Ann', found);
	check('memcached: get of a missing key', (await call('get', 'none')) === undefined);
	await call('set', 'n', 40, 100);
	found = await call('incr', 'n', 2);
	check('memcached: incr', found === 42, found);
	found = await call('getMulti', ['k', 'n', 'none']);
	check('memcached: getMulti', Object.keys(found).length === 2, found);
	found = await call('gets', 'k');
	check('memcached: cas', await call('cas', 'k', 'next', found.cas, 100), false);
	await call('append', 'k', '>');
	await call('touch', 'k', 50);
	found = await call('get', 'k');
	check('memcached: append', found === 'next>', found);
	check('memcached: del', await call('del', 'k'), false);
	client.end();
}

async function tryMemcacheClient() {
	const client = new MemcacheClient({ server, cmdTimeout: 60000, connectTimeout: 60000 });

	await client.set('k', { name: 'Bob' }, { lifetime: 100 });
	let found = await client.get('k');
	check('memcache-client: get', found && found.value.name === 'Bob', found);
	found = await client.get(['k', 'none']);
	check('memcache-client: get of several keys', Object.keys(found).length === 1, found);
	await client.set('n', '7');
	found = await client.incr('n', 3);
	check('memcache-client: incr', Number(found) === 10, found);
	found = await client.gets('k');
	await client.cas('k', 'next', { casUniq: found.casUniq });
	found = await client.get('k');
	check('memcache-client: cas', found && found.value === 'next', found);
	await client.delete('k');
	check('memcache-client: get after delete', (await client.get('k')) === undefined);
	client.shutdown();
}

async function tryMemjs() {
	const client = memjs.Client.create(server, { retries: 1, timeout: 5, conntimeout: 5 });
	let failed = false;

	try {
		await client.set('k', 'v', {});
	} catch (error) {
		failed = true;
	}
	check('memjs: set fails', failed, false);
	client.close();
}

tryMemcached().then(tryMemcacheClient).then(tryMemjs).catch((error) => {
	console.log(error);
	process.exitCode = 1;
}).finally(() => process.exit());
