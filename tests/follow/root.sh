#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh - print the path of a directory with Redis, PostgreSQL and Python with their clients, of this
# machine's Debian, for the root directory of a guest. /usr/share/store is a database cluster of the user
# nobody, who is a superuser in it.
#
# cache.sh keeps the directory. The first call takes a minute. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

packages=redis-server,redis-tools,postgresql,python3,python3-redis,python3-psycopg2

# trim - remove what no test needs.
trim() {
	cd "$work/root"
	find usr/share -mindepth 1 -maxdepth 1 ! -name zoneinfo ! -name postgresql -exec rm -rf {} +
	shorten
	rm -rf usr/include var etc dev tmp usr/lib/postgresql/*/lib/bitcode usr/lib/postgresql/*/lib/llvmjit.so \
		usr/lib/x86_64-linux-gnu/libLLVM* usr/lib/x86_64-linux-gnu/libz3* usr/lib/x86_64-linux-gnu/perl* \
		usr/share/perl* usr/lib/gcc usr/lib/x86_64-linux-gnu/libclang*
	gather
}

# make_cluster - initdb refuses to run as root, and has to find the name of its user. An emulated processor
# would take a minute for this.
make_cluster() {
	"$tests/need.sh" busybox-static
	mkdir "$work/root/etc" "$work/root/dev" "$work/root/tmp" "$work/root/bin" "$work/root/usr/share/store"
	cp /bin/busybox "$work/root/bin/sh"
	echo nobody:x:65534:65534::/:/bin/sh >"$work/root/etc/passwd"
	: >"$work/root/dev/null"
	chmod 777 "$work/root/dev/null"
	chown 65534:65534 "$work/root/usr/share/store"
	initdb=$(find "$work/root/usr/lib/postgresql" -path '*/bin/initdb' -printf 'usr/lib/postgresql/%P')
	chroot --userspec=65534:65534 "$work/root" "/$initdb" -D /usr/share/store \
		--no-sync --wal-segsize=1 --encoding=UTF8 --no-locale --auth=trust
	rm -rf "$work/root/etc" "$work/root/dev" "$work/root/tmp" "$work/root/bin"
}

bootstrap() {
	extract "$release" "$packages" "$work/root"
	trim
	make_cluster
	compile "$work/root"
}

[ $# = 0 ] || fail "usage: root.sh"
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
release=$(release)
keep follow "root-$release" "a directory with Redis and PostgreSQL" bootstrap
echo "$kept/root"
