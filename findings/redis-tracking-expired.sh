#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis-tracking-expired.sh - whether a client that caches keys returns them after their deadline.
#
# node-redis with clientSideCache keeps a value until the server invalidates it. The server invalidates a key that has
# expired when it deletes the key: when a client asks the server for it, or when the sampling of the server finds it.
# Of 100 keys that live for two seconds the client returns most 3 s after their deadline if the server has 100,000
# others with a later one, and none if it has no others. A GET of another client ends that; one of this client does
# not come to the server. node-redis 6.3.1 with Redis 8.6.3 and Valkey 9.1.2.
#
# Needs root, node, npm, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=redis-tools=5:8.6.3-1,valkey-tools=9.1.2-1 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" \
	"deb $mirror sid main" "deb $mirror experimental main" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund redis@6.3.1 @redis/client@6.3.1 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
cat >"$work/count.mjs" <<'END'
import { createClient, BasicClientSideCache } from '@redis/client';
import { setTimeout as sleep } from 'node:timers/promises';

const [name, path] = process.argv.slice(2);
const socket = { path };
const writer = await createClient({ socket }).connect();
const reader = await createClient({ socket, RESP: 3, clientSideCache: new BasicClientSideCache() }).connect();
const count = async (client, leases) => (await Promise.all(leases.map(key => client.get(key)))).filter(value => value).length;

for (const others of [0, 100000]) {
  const leases = Array.from({ length: 100 }, (_, i) => `lease${i} beside ${others}`);
  for (let i = 0; i < others; i += 1000) {
    const keys = Array.from({ length: 1000 }, (_, j) => `other${i + j}`);
    await Promise.all(keys.map(key => writer.set(key, 'x', { EX: 3600 })));
  }
  await Promise.all(leases.map(key => writer.set(key, 'x', { PX: 2000 })));
  const before = await count(reader, leases);
  await sleep(5000);
  const after = await count(reader, leases);
  const asked = await count(writer, leases);
  await sleep(1000);
  console.log(`# ${name}: ${after} of ${before}`);
  console.log(`${name}, ${others} other keys: ${after > 50 ? 'most' : after ? 'some' : 'none'} 3 s after the deadline,`,
    `${asked} for another client, ${await count(reader, leases)} after that`);
}
reader.destroy();
writer.destroy();
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
for engine in "Redis 8.6.3" "Valkey 9.1.2"; do
	program=redis-check-rdb
	[ "$engine" = "Redis 8.6.3" ] || program=valkey-check-rdb
	"$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/$program" --port 0 --unixsocket "$work/socket" --save '' --dir "$work" >"$work/log" &
	server=$!
	while [ ! -S "$work/socket" ]; do
		kill -0 $server
		sleep 0.1
	done
	timeout 60 node "$work/count.mjs" "$engine" "$work/socket"
	kill $server
	wait $server || true
	server=
	rm -f "$work/socket"
done >"$work/found"
cat "$work/found"
for engine in "Redis 8.6.3" "Valkey 9.1.2"; do
	echo "$engine, 0 other keys: none 3 s after the deadline, 0 for another client, 0 after that"
	echo "$engine, 100000 other keys: most 3 s after the deadline, 0 for another client, 0 after that"
done >"$work/expected"
grep -v '^#' "$work/found" | diff "$work/expected" -
