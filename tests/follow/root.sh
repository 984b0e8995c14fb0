#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh - print the path of a directory with Redis, PostgreSQL and Python with their clients, of Debian 12,
# for the root directory of a guest. /usr/share/store is a database cluster of the user nobody, who is a
# superuser in it.
#
# cache.sh keeps the directory. The first call takes a minute. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

packages=redis-server,redis-tools,postgresql-15,python3,python3-redis,python3-psycopg2

# trim - remove what no test needs.
trim() {
	cd "$work/root"
	find usr/share -mindepth 1 -maxdepth 1 ! -name zoneinfo ! -name postgresql -exec rm -rf {} +
	rm -rf usr/include var etc dev tmp usr/lib/python3.11/test usr/lib/python3.11/idlelib \
		usr/lib/python3.11/lib2to3 usr/lib/postgresql/15/lib/bitcode usr/lib/postgresql/15/lib/llvmjit.so \
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
	chroot --userspec=65534:65534 "$work/root" /usr/lib/postgresql/15/bin/initdb -D /usr/share/store \
		--no-sync --wal-segsize=1 --encoding=UTF8 --no-locale --auth=trust
	rm -rf "$work/root/etc" "$work/root/dev" "$work/root/tmp" "$work/root/bin"
}

bootstrap() {
	extract bookworm "$packages" "$work/root"
	trim
	make_cluster
	compile "$work/root" /usr/lib/python3 /usr/lib/python3.11
}

[ $# = 0 ] || fail "usage: root.sh"
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep follow root "a directory with Redis and PostgreSQL" bootstrap
echo "$kept/root"
