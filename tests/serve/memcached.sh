#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached.sh [SUITE] - print the path of a directory with memcached of a suite of Debian: of Debian 13, which can
# be a proxy; that of Debian 12 (bookworm) cannot, and is that of the dialogues. Its programs "run" and
# "bin/memcached" start it with the C library of that suite.
#
# cache.sh keeps the directory. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

bootstrap() {
	"$tests/need.sh" mmdebstrap
	mmdebstrap --variant=extract --components=main --include=memcached \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		"$suite" "$work/root" "$(mirror)"
	mkdir "$work/lib"
	cp -a "$work/root/usr/lib/$(uname -m)-linux-gnu/." "$work/lib"
	# Debian 12 has some libraries in /lib.
	[ ! -d "$work/root/lib" ] || cp -a "$work/root/lib/$(uname -m)-linux-gnu/." "$work/lib"
	mv "$work/root/usr/bin/memcached" "$work"
	rm -rf "$work/root"
	cat >"$work/run" <<'END'
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here"/lib/ld-linux-*.so.? --library-path "$here/lib" "$here/memcached" "$@"
END
	chmod +x "$work/run"
	mkdir "$work/bin"
	ln -s ../run "$work/bin/memcached"
}

[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
suite=${1-trixie}
keep serve "memcached-$suite" "a directory with memcached of $suite" bootstrap
echo "$kept"
