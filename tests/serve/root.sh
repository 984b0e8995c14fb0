#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh [full] - print the path of a directory with clients of memcached and Redis of this machine's Debian, for the
# root directory of a guest: libmemcached's tools, redis-cli, Python with its clients. With "full" there are
# PHP, nginx, Node.js with clients from npm, and a client in Go as well.
#
# cache.sh keeps the directory. The first call takes half a minute, or some minutes with "full". Needs root.
#
# With "full", the directory /go has what only the compiler of Go needs.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

full=php-cli,php-memcached,nginx-core,libnginx-mod-http-memc,nodejs
full=$full,golang-go,golang-github-bradfitz-gomemcache-dev
clients=libmemcached-tools,python3,python3-pymemcache,python3-pylibmc,python3-memcache,python3-redis,redis-tools

# trim - remove what no test needs.
trim() {
	cd "$work/root"
	rm -rf usr/share/doc usr/share/man usr/share/locale usr/share/info usr/include var etc/init.d \
		dev tmp
	shorten
	gather
}

# add_modules - install the client from npm that examples/serve/counter.js uses.
add_modules() {
	command -v npm >/dev/null || "$tests/need.sh" npm
	npm install --silent --ignore-scripts --no-audit --no-fund --prefix "$work/npm" memcached
	mkdir -p "$work/root/usr/share/npm"
	mv "$work/npm/node_modules" "$work/root/usr/share/npm"
	rm -rf "$work/npm"
}

# set_up_php - what the scripts of the packages would do: PHP loads its modules.
set_up_php() {
	cd "$work/root"
	(cd usr/bin && ln -s php8.[0-9] php)
	(cd etc/php/8.* && cat mods-available/igbinary.ini mods-available/msgpack.ini \
		mods-available/memcached.ini >cli/conf.d/all.ini)
}

# set_go_apart - move the compiler of Go to a directory of its own.
set_go_apart() {
	cd "$work/root"
	mkdir -p go/usr/lib go/usr/share
	mv usr/lib/go* go/usr/lib
	mv usr/share/go* go/usr/share
}

bootstrap() {
	extract "$release" "$clients${kind:+,$full}" "$work/root"
	trim
	compile "$work/root"
	[ -z "$kind" ] || {
		add_modules
		set_up_php
		set_go_apart
	}
}

case $#${1-} in
0 | 1full) ;;
*) fail "usage: root.sh [full]" ;;
esac
kind=${1-}
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
release=$(release)
keep serve "clients-$release${kind:+-$kind}" "a directory with clients of memcached" bootstrap
echo "$kept/root"
