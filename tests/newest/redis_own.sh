#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_own.sh - print the path of a directory with the tests that are in unstable's source of Redis. The harness asks a
# server for things that no test here needs, such as its settings, so that is taken out. cache.sh keeps the directory; to
# get newer ones, remove it. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

bootstrap() {
	# shellcheck disable=SC2016 # for mmdebstrap
	extract sid base-files "$work/root" --extract-hook='mkdir "$1/src" && cd "$1/src" && \
		APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get source --download-only -o APT::Sandbox::User=root redis'
	tar -xf "$work"/root/src/redis_*.orig.tar.gz -C "$work" --strip-components=1 --wildcards '*/runtest' '*/tests'
	basename "$work"/root/src/redis_*.orig.tar.gz .orig.tar.gz | tr _ ' ' >"$work/version"
	rm -rf "$work/root"
	sed -i 's/^    r flushall$/    r flushdb/; /^    r function flush$/d; /^    r config resetstat$/d
		s/\[r config get \*\]/{}/' "$work/tests/support/server.tcl"
}

[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
"$tests/need.sh" tcl
keep newest own-redis "the tests of Redis" bootstrap
echo "$kept"
