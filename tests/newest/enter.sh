#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# enter.sh COMMAND... - run a command in a root directory of Debian's unstable, which has the newest released
# engines, servers and libraries that hashbelt works with, and a compiler. The clone is /source there, and
# the directory in which the command begins; each command gets an empty /tmp.
#
#	Redis		/usr/bin/redis-server
#	Valkey		/engines/valkey/redis-server
#	PostgreSQL	below /usr/lib/postgresql
#	pgbouncer	/usr/sbin/pgbouncer
#	memcached	/usr/bin/memcached
#
# ENTER_PATH is a list of directories that are searched for programs first. ENTER_ROOT is a root directory to use in place
# of that one.
#
# cache.sh keeps the root directory; to get newer releases, remove it. The first call takes two minutes. Needs
# root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

compiler=make,gcc,libc6-dev,pkgconf,libevent-dev,libhiredis-dev,libpq-dev,libssl-dev,libsystemd-dev
engines=redis-server,valkey-server,postgresql,pgbouncer,memcached,openssl
clients=python3,python3-redis,python3-psycopg2
# Of memcached. modules.sh has those from npm.
clients=$clients,python3-pymemcache,python3-pylibmc,libmemcached-tools,liburi-perl,ruby-dalli,php-cli,php-memcached,nodejs

# bootstrap - make the root directory. Valkey takes the command line of Redis, so a test of Redis finds it by
# that name. The package lists of unstable are often older than their Valid-Until date allows.
bootstrap() {
	"$tests/need.sh" mmdebstrap
	mmdebstrap --variant=apt --components=main --include="$compiler,$engines,$clients" \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		sid "$work/root" "$(mirror)"
	mkdir -p "$work/root/source" "$work/root/engines/valkey"
	ln -s /usr/bin/valkey-server "$work/root/engines/valkey/redis-server"
}

[ $# != 0 ] || fail "usage: enter.sh COMMAND..."
[ "$(id -u)" = 0 ] || fail "only root can make and use a root directory"
root=${ENTER_ROOT-}
[ "$root" ] || {
	keep newest sid "a root directory of unstable" bootstrap
	root=$kept/root
}
export root top
# The mounts end with the command.
# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount sh -ec '
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	mount --bind "$top" "$root/source"
	exec env -i PATH="${ENTER_PATH:+$ENTER_PATH:}/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C HOME=/root \
		chroot "$root" sh -c "cd /source && exec \"\$@\"" sh "$@"' sh "$@"
