#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_own.sh - print the path of a directory with tests from Debian's sources: in redis those of unstable's Redis, in
# django Debian 13's Django with its tests. The harness of Redis asks a server for things that no test here needs, such
# as its settings, so that is taken out. cache.sh keeps the directory; to get newer ones, remove it. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

# fetch SUITE PACKAGE DIRECTORY PATH... - unpack these parts of the package's source.
fetch() {
	release=$1 package=$2 into=$work/$3
	shift 3
	extract "$release" base-files "$work/root" --extract-hook="mkdir \"\$1/src\" && cd \"\$1/src\" && \
		APT_CONFIG=\$MMDEBSTRAP_APT_CONFIG apt-get source --download-only -o APT::Sandbox::User=root $package"
	mkdir "$into"
	tar -xf "$work/root/src/$package"_*.orig.tar.gz -C "$into" --strip-components=1 --wildcards "$@"
	basename "$work/root/src/$package"_*.orig.tar.gz .orig.tar.gz | tr _ ' ' >"$into/version"
	rm -rf "$work/root"
}

bootstrap() {
	fetch sid redis redis '*/runtest' '*/tests'
	sed -i 's/^    r flushall$/    r flushdb/; /^    r function flush$/d; /^    r config resetstat$/d
		s/\[r config get \*\]/{}/' "$work/redis/tests/support/server.tcl"
	fetch trixie python-django django '*/django' '*/tests'
}

[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
"$tests/need.sh" tcl
keep newest own-redis "the tests of Redis and Django" bootstrap
echo "$kept"
