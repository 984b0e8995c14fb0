#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis-set-two-replies.sh - how many replies a SET has whose digest is too short.
#
# IFDEQ compares the digest of the present value, 16 hexadecimal digits. A program that formats the number itself may
# leave out leading zeros: one value of sixteen then has a digest of 15 digits. Redis answers such a SET with an error;
# with GET as well it answers the old value and, behind it, the error. The client takes the error for the reply of the
# next request if that has been sent already, and each reply for that of the request behind: a GET of one key has the
# value of another. If no request waits, node-redis drops the reply without a word. DELEX has one reply. Redis 8.6.3
# with node-redis 6.3.1.
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
mmdebstrap --quiet --variant=extract --include=redis-tools=5:8.6.3-1 \
	--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Install-Recommends "false"' sid "$root" \
	"deb $mirror sid main" "deb $mirror experimental main" 2>"$work/log" || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund redis@6.3.1 >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
cat >"$work/ask.mjs" <<'END'
import { createClient } from 'redis';

const client = createClient({ socket: { path: process.argv[2] } });
client.on('error', () => {});
await client.connect();
const tell = async (...words) => {
  let reply;
  try {
    reply = await client.sendCommand(words);
  } catch (error) {
    reply = `error: ${error.message}`;
  }
  console.log(`${words.join(' ')}: ${reply}`);
};
let value, digest = '';
for (let i = 0; !digest.startsWith('0'); i++) {
  value = `value${i}`;
  await client.set('lease', value);
  digest = await client.sendCommand(['DIGEST', 'lease']);
}
const short = BigInt(`0x${digest}`).toString(16);
await client.mSet(['a', 'of a', 'b', 'of b']);
await tell('SET', 'lease', 'next', 'IFDEQ', short);
await tell('DELEX', 'lease', 'IFDEQ', short);
await tell('SET', 'lease', 'next', 'IFDEQ', short, 'GET');
await tell('GET', 'a');
console.log('in one pipeline:');
await Promise.all([['SET', 'lease', 'next', 'IFDEQ', short, 'GET'], ['GET', 'a'], ['GET', 'b'], ['GET', 'a']].map(
  words => tell(...words)));
await tell('GET', 'b');
client.destroy();
END
loader=$(find "$root" -name 'ld-linux-x86-64.so.2' ! -type l | head -n 1)
run() {
	LC_ALL=C "$loader" --argv0 redis-server --library-path "$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu" \
		"$root/usr/bin/redis-check-rdb" "$@"
}
run --port 0 --unixsocket "$work/socket" --save '' --dir "$work" >"$work/log" &
server=$!
while [ ! -S "$work/socket" ]; do
	kill -0 $server
	sleep 0.1
done
run --version | cut -d ' ' -f 1-3
timeout 60 node "$work/ask.mjs" "$work/socket" >"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
SET lease next IFDEQ DIGEST: error: ERR must be exactly 16 hexadecimal characters
DELEX lease IFDEQ DIGEST: error: ERR must be exactly 16 hexadecimal characters
SET lease next IFDEQ DIGEST GET: VALUE
GET a: of a
in one pipeline:
SET lease next IFDEQ DIGEST GET: VALUE
GET a: error: ERR must be exactly 16 hexadecimal characters
GET b: of a
GET a: of b
GET b: of b
END
sed -E 's/IFDEQ [0-9a-f]{15}( |:)/IFDEQ DIGEST\1/; s/value[0-9]+$/VALUE/' "$work/found" | cmp - "$work/expected" || {
	echo "The behaviour is another one than that which was seen." >&2
	exit 1
}
