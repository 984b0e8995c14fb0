#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# etcd-thousand-leases.sh - how long after their deadline the keys of many leases of etcd are still there.
#
# The clients of 10,000 leases have renewed them for the last time within a second, as when a network fails. etcd
# revokes a thousand expired leases a second, so most keys are there at the deadline of the last one, and the last key
# ten seconds later: a get returns it, and the lock that it stands for is not free. etcd 3.5.30 of Debian's unstable.
#
# Needs root, node, mmdebstrap and apt. Fails if the behaviour changes.
set -eu
unset CDPATH

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
# shellcheck disable=SC2016 # for apt-get
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | head -n 1)
root=$work/root
mmdebstrap --quiet --variant=extract --include=etcd-server=3.5.30-2 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
cat >"$work/expire.mjs" <<'END'
import http2 from 'node:http2';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const LEASES = 10000, TTL = 40;
const session = http2.connect(process.argv[2]);

// Protocol buffers: fields that are numbers or bytes.
const varint = value => {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
    if (rest <= 127n)
      return Buffer.from(bytes);
  }
};
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, text) => Buffer.concat([varint(field << 3 | 2), varint(text.length), Buffer.from(text)]);
const numbers = message => {
  const found = {};
  const read = at => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n, at++) {
      value |= BigInt(message[at] & 127) << shift;
      if (message[at] < 128)
        return [value, at + 1];
    }
  };
  for (let at = 0; at < message.length;) {
    let key, value;
    [key, at] = read(at);
    [value, at] = read(at);
    if ((key & 7n) === 2n)
      at += Number(value);
    else
      found[key >> 3n] = value;
  }
  return found;
};
const frame = message => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};
const open = path => {
  const names = { ':method': 'POST', ':path': `/etcdserverpb.${path}`, 'content-type': 'application/grpc', te: 'trailers' };
  return session.request(names);
};
const call = async (path, message) => {
  const stream = open(path), parts = [];
  stream.on('data', part => parts.push(part));
  stream.end(frame(message));
  await once(stream, 'end');
  return numbers(Buffer.concat(parts).subarray(5));
};

const leases = [];
let next = 0;
await Promise.all(Array.from({ length: 64 }, async () => {
  while (next < LEASES) {
    const key = `lock${String(next++).padStart(6, '0')}`;
    const { 2: lease } = await call('Lease/LeaseGrant', number(1, TTL));
    await call('KV/Put', Buffer.concat([bytes(1, key), bytes(2, 'owner'), number(3, lease)]));
    leases.push(lease);
  }
}));
const renewal = open('Lease/LeaseKeepAlive');
let pending = Buffer.alloc(0), renewed = 0;
const begin = Date.now();
const all = new Promise(done => renewal.on('data', part => {
  pending = Buffer.concat([pending, part]);
  while (pending.length >= 5 && pending.length >= 5 + pending.readUInt32BE(1)) {
    pending = pending.subarray(5 + pending.readUInt32BE(1));
    if (++renewed === LEASES)
      done();
  }
}));
for (const lease of leases)
  renewal.write(frame(number(1, lease)));
await all;
const renewal_ended = Date.now();
console.log(`# all leases are renewed within ${((renewal_ended - begin) / 1000).toFixed(1)} s`);
const count = async () => (await call('KV/Range', Buffer.concat([bytes(1, 'lock'), bytes(2, 'locl'), number(9, 1)])))[4] ?? 0n;
await sleep(TTL * 1000 + renewal_ended - Date.now());
const found = await count();
console.log(`# ${found} keys are there at the last deadline`);
while (await count())
  await sleep(200);
const last = (Date.now() - renewal_ended) / 1000 - TTL;
console.log(`# the last one is there for ${last.toFixed(1)} s more`);
console.log(`most keys are there at the last deadline: ${found > LEASES / 2}`);
console.log(`the last one is there for more than 5 s: ${last > 5}`);
process.exit();
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
port=$((20000 + $$ % 20000))
url=http://127.0.0.1:$port
peer=http://127.0.0.1:$((port + 1))
"$loader" --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" "$root/usr/bin/etcd" \
	--unsafe-no-fsync --data-dir "$work/data" --listen-client-urls "$url" --advertise-client-urls "$url" \
	--listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" 2>"$work/log" &
server=$!
until grep -q 'ready to serve client requests' "$work/log"; do
	kill -0 $server
	sleep 0.2
done
timeout 150 node "$work/expire.mjs" "$url" >"$work/found"
echo "etcd 3.5.30, 10000 leases:"
cat "$work/found"
cat >"$work/expected" <<'END'
most keys are there at the last deadline: true
the last one is there for more than 5 s: true
END
grep -v '^#' "$work/found" | diff "$work/expected" -
