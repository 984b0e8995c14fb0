#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# memcached.sh - print the path of a directory with memcached of Debian 13, which can be a proxy; that of
# Debian 12 cannot. Its program "run" starts it with the C library of that suite.
#
# cache.sh keeps the directory. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

bootstrap() {
	"$tests/need.sh" mmdebstrap
	mmdebstrap --variant=extract --components=main --include=memcached \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		trixie "$work/root" "$(mirror)"
	mkdir "$work/lib"
	cp -a "$work/root/usr/lib/$(uname -m)-linux-gnu/." "$work/lib"
	mv "$work/root/usr/bin/memcached" "$work"
	rm -rf "$work/root"
	cat >"$work/run" <<'END'
#!/bin/sh
here=$(dirname "$0")
exec "$here"/lib/ld-linux-*.so.? --library-path "$here/lib" "$here/memcached" "$@"
END
	chmod +x "$work/run"
}

[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep serve memcached-proxy "a directory with memcached of Debian 13" bootstrap
echo "$kept"
