#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# reward-locks-out.sh - what a reward of a rate limit on memcached does.
#
# reward() of rate-limiter-flexible gives a user points back, for instance after a login that succeeds. Its limiter
# for memcached sends "incr" with a negative number, which memcached refuses. If the user has no counter yet, the
# limiter adds one of -1, as a text that memcached cannot count on: from then on each consume() of this user is an
# error until the time of the limit is over, ten minutes here. If there is a counter, reward() itself is an error. The
# limiter in memory can do both. rate-limiter-flexible 11.4.0 by memcached 2.2.2 of npm, with memcached 1.6.45.
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
mmdebstrap --quiet --variant=extract --include=memcached=1.6.45-1 --aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' sid "$root" "$mirror" >"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
npm install --prefix "$work" --no-audit --no-fund --ignore-scripts rate-limiter-flexible@11.4.0 memcached@2.2.2 \
	>"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
for directory in bin lib lib64; do
	[ -e "$root/$directory" ] || ln -s usr/$directory "$root/$directory"
done
echo 'root:x:0:0:::' >"$root/etc/passwd"
cat >"$work/reward.mjs" <<'END'
import Memcached from 'memcached';
import limiters from 'rate-limiter-flexible';

const storeClient = new Memcached(`127.0.0.1:${process.argv[2]}`);
const settings = { points: 5, duration: 600 };
const told = call => call.then(found => `consumed ${found.consumedPoints}`, error => error.message ?? 'refused');

for (const [name, limiter] of Object.entries({
  memory: new limiters.RateLimiterMemory(settings),
  memcached: new limiters.RateLimiterMemcache({ storeClient, ...settings }),
})) {
  await limiter.consume('old', 3);
  console.log(`${name}, reward after 3 points: ${await told(limiter.reward('old', 1))}`);
  console.log(`${name}, reward before the first point: ${await told(limiter.reward('new', 1))}`);
  for (const count of [1, 2]) {
    console.log(`${name}, then consume ${count}: ${await told(limiter.consume('new', 1))}`);
  }
}
process.exit();
END
port=$((20000 + $$ % 20000))
LC_ALL=C chroot "$root" /usr/bin/memcached -u root -l 127.0.0.1 -p $port &
server=$!
while ! grep -q "$(printf ':%04X 00000000:0000 0A' $port)" /proc/net/tcp; do
	kill -0 $server
	sleep 0.1
done
(cd "$work" && timeout 60 node --no-deprecation reward.mjs $port) >"$work/found"
echo "# $(chroot "$root" /usr/bin/memcached -V)" >>"$work/found"
cat "$work/found"
cat >"$work/expected" <<'END'
memory, reward after 3 points: consumed 2
memory, reward before the first point: consumed -1
memory, then consume 1: consumed 0
memory, then consume 2: consumed 1
memcached, reward after 3 points: Can not add key
memcached, reward before the first point: consumed -1
memcached, then consume 1: Can not add key
memcached, then consume 2: Can not add key
END
grep -v '^#' "$work/found" | diff "$work/expected" -
