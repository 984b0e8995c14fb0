#!/usr/bin/env node
// SPDX-License-Identifier: GPL-2.0-only
//
// counter.js SERVER - the counter and the cached report of counter.py, with npm's memcached, which knows TCP
// only.
//
//	hbserve -l 127.0.0.1 -p 11211 -b reports
//	node counter.js 127.0.0.1:11211
'use strict';

const { promisify } = require('util');
const Memcached = require('memcached');

async function main(server) {
	const client = new Memcached(server);
	const call = (name, ...words) => promisify(client[name].bind(client))(...words);

	// It fails if the counter is there.
	await call('add', 'visits', '0', 0).catch(() => {});
	console.log(`visit ${await call('incr', 'visits', 1)}`);

	let report = await call('get', 'report');
	const how = report ? 'cached' : 'made';
	if (!report) {
		report = JSON.stringify({ visits: Number(await call('get', 'visits')) });
		await call('set', 'report', report, 60);
	}
	console.log(`report (${how}): ${JSON.parse(report).visits} visits`);
	client.end();
}

main(process.argv[2]);
