// SPDX-License-Identifier: GPL-2.0-only
//
// show.mjs - used by the programs for Node.js: each prints the results of calls.

// Runs a call and prints its result or its error.
export async function show(name, call) {
	try {
		console.log(`${name}: ${JSON.stringify(await call())}`);
	} catch (error) {
		console.log(`${name}: ${error.name}: ${error.message.trimEnd()}`);
	}
}

// A time that is left, or "about" the one that was set if at most a tenth is gone.
export function about(set, left) {
	return left > set - set / 10 && left <= set ? `about ${set}` : left;
}
