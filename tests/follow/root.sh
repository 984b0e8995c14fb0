#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh - print the path of a directory with Redis, PostgreSQL and Python with their clients, of Debian 12,
# for the root directory of a guest. /usr/share/store is a database cluster of the user nobody, who is a
# superuser in it.
#
# cache.sh keeps the directory. The packages are unpacked and not installed: no server is started here.
# The first call takes a minute. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

packages=redis-server,redis-tools,postgresql-15,python3,python3-redis,python3-psycopg2

unpack() {
	"$tests/need.sh" mmdebstrap
	mmdebstrap --variant=extract --components=main --include="$packages" \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		bookworm "$work/root" "$(mirror)"
}

# trim - remove what no test needs, and put programs where the guest, which has a /bin of its own, finds
# them.
trim() {
	cd "$work/root"
	find usr/share -mindepth 1 -maxdepth 1 ! -name zoneinfo ! -name postgresql -exec rm -rf {} +
	rm -rf usr/include var etc dev tmp usr/lib/python3.11/test usr/lib/python3.11/idlelib \
		usr/lib/python3.11/lib2to3 usr/lib/postgresql/15/lib/bitcode usr/lib/postgresql/15/lib/llvmjit.so \
		usr/lib/x86_64-linux-gnu/libLLVM* usr/lib/x86_64-linux-gnu/libz3* usr/lib/x86_64-linux-gnu/perl* \
		usr/share/perl* usr/lib/gcc usr/lib/x86_64-linux-gnu/libclang*
	ln -sf ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 lib64/ld-linux-x86-64.so.2
	mkdir -p usr/bin
	for programs in bin sbin usr/sbin; do
		[ ! -d $programs ] || find $programs -mindepth 1 -exec mv -f -t usr/bin {} +
		rm -rf "$programs"
	done
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

# compile - compile what Python imports: an emulated processor would take seconds for that. A time in a
# file's name does not matter then.
compile() {
	chroot "$work/root" /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash \
		/usr/lib/python3 /usr/lib/python3.11 >/dev/null
}

bootstrap() {
	unpack
	trim
	make_cluster
	compile
}

[ $# = 0 ] || fail "usage: root.sh"
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep follow root "a directory with Redis and PostgreSQL" bootstrap
echo "$kept/root"
