#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_root.sh - print the path of a directory with the clients of Redis that unstable and npm have, with Redis
# itself, and with the libraries of hbserve and hbctl, for the root directory of a guest. Node.js finds the modules of
# npm, which have the versions below, and those that they load the versions of a day.
#
# cache.sh keeps the directory; to get newer releases of unstable, remove it. The first call takes two minutes. Needs
# root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

day=2026-11-28
modules='ioredis@6.0.0 redis@6.3.1 connect-redis@10.0.0 express@5.3.0 express-session@1.19.0
	cache-manager@7.2.9 @keyv/redis@5.1.6 keyv@5.6.0 rate-limiter-flexible@11.4.0 rate-limit-redis@6.0.1
	express-rate-limit@8.7.4 redlock@4.2.0 redlock5@npm:redlock@5.0.0-beta.2 @sesamecare-oss/redlock@1.4.0
	fastify@5.12.8 @fastify/rate-limit@11.2.0 redis-semaphore@5.8.0 redlock-universal@0.8.5
	@nest-lab/throttler-storage-redis@1.2.0 @nestjs/common@11.1.9 reflect-metadata@0.2.2 rxjs@7.8.2
	hono@4.13.19 rate-limit-redis5@npm:rate-limit-redis@5.0.0 cacheable@2.5.0
	@hapi/catbox@12.1.1 @hapi/catbox-redis@7.1.0 @valkey/valkey-glide@2.5.2
	koa@3.3.0 koa-session@7.0.2 koa-redis@4.0.1'
# Installed without peers, which would be whole frameworks, or older releases.
alone='hono-rate-limiter@0.5.4 @medusajs/locking-redis@2.21.2 unstorage@1.17.6 bentocache@1.6.1
	@verrou/core@0.5.2 @better-auth/redis-storage@1.7.5 @redis-kit/lock@0.1.0-3'
python=python3,python3-redis,python3-django,python3-django-redis,python3-limits,python3-dogpile.cache
python=$python,python3-flask-session,python3-msgspec,python3-cachelib,python3-aiocache
php="php-cli,php-redis,php-predis,php-illuminate-redis,php-illuminate-cache,php-illuminate-container,php-symfony-lock"
ruby=ruby,ruby-redis,ruby-activesupport,ruby-rack-attack
others=unbound,prometheus-redis-exporter
libraries=libevent-core-2.1-7t64,libssl3t64,libsystemd0,libasan8,libubsan1,libinih1,libsmartcols1,libncursesw6

# trim - remove what no test needs, and put the rest where a guest finds it.
trim() {
	cd "$work/root"
	rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/info usr/lib/systemd usr/lib/*/gconv \
		usr/lib/*/perl-base usr/lib/*/systemd usr/include var etc/init.d dev tmp
	find usr/lib/python3 -name '*.po' -delete
	find usr/lib/python3 -name '*.mo' ! -path '*/en/*' -delete
	shorten
	gather
	# The scripts of the packages would do that. A guest has an /etc/passwd of its own.
	(cd usr/bin && ln -sf php8.[0-9] php && ln -sf dash sh)
	(cd etc/php/8.* && {
		cat mods-available/*.ini
		printf 'extension=%s\n' ctype iconv mbstring posix tokenizer
	} >cli/conf.d/all.ini)
	# For enter.sh.
	mkdir dev proc source tmp
	compile "$work/root"
}

# install_modules MODULES [OPTION]... - install modules of npm in $work/npm.
install_modules() {
	list=$1
	shift
	# shellcheck disable=SC2086 # a list, split on purpose
	npm install --before=$day --silent --ignore-scripts --no-audit --no-fund "$@" --prefix "$work/npm" $list
}

# The programs run with the Node.js of unstable, which is newer than what npm may find here.
bootstrap() {
	command -v npm >/dev/null || "$tests/need.sh" npm
	extract sid "dash,redis-server,nodejs,$python,$php,$ruby,$others,$libraries" "$work/root"
	trim
	install_modules "$modules"
	mkdir "$work/root/usr/share/npm"
	mv "$work/npm/node_modules" "$work/root/usr/share/npm"
	rm -rf "$work/npm"
	install_modules "$alone" --legacy-peer-deps --install-strategy=nested
	rm -f "$work/npm/node_modules/.package-lock.json"
	cp -a "$work/npm/node_modules/." "$work/root/usr/share/npm/node_modules"
	rm -rf "$work/npm"
	cd "$work/root/usr/share/npm"
	find . -type f -name '*.map' -delete
	find . -type f -name '*.d.*ts' -delete
	find . -type f -name '*.md' -delete
}

[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep newest redis "a directory with clients of Redis" bootstrap
echo "$kept/root"
