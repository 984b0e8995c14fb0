#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# modules.sh - print the path of a directory with clients of memcached from npm. They have the versions below, and what
# they load besides has the versions of a day. cache.sh keeps the directory.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

day=2026-11-28
modules='memcache@1.10.0 hashery@3.0.5 hookified@3.0.4
	@keyv/memcache@2.0.2 keyv@5.6.0 @keyv/serialize@1.1.1 memjs@1.3.2 buffer@6.0.3 base64-js@1.5.1 ieee754@1.2.1
	memcached@2.2.2 hashring@3.2.0 connection-parse@0.0.7 simple-lru-cache@0.0.2 jackpot@0.0.6 retry@0.6.0
	memcache-client@1.0.5 memcache-parser@1.0.1 lodash.defaults@4.2.0 optional-require@1.1.8 tslib@2.1.0
	rate-limiter-flexible@11.4.0 express@5.3.0 express-session@1.19.0 connect-memcached@3.0.0
	express-rate-limit@8.7.4 rate-limit-memcached@1.0.1'

# The programs run with the Node.js of unstable, which is newer than what npm may find here.
bootstrap() {
	command -v npm >/dev/null || "$tests/need.sh" npm
	# shellcheck disable=SC2086 # a list, split on purpose
	npm install --before=$day --silent --ignore-scripts --no-audit --no-fund --prefix "$work" $modules
	rm -f "$work/node_modules/.package-lock.json"
}

keep newest modules "a directory with clients from npm" bootstrap
echo "$kept"
