#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# redis_experimental.sh - print the path of a directory with the redis-server of Debian's experimental, which runs in the
# root directory of enter.sh. cache.sh keeps the directory; to get a newer release, remove it. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

bootstrap() {
	"$tests/need.sh" mmdebstrap
	mmdebstrap --variant=extract --include=redis-tools/experimental \
		--aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Check-Valid-Until "false"' \
		sid "$work/root" "deb $(mirror) sid main" "deb $(mirror) experimental main"
	mv "$work/root/usr/bin/redis-check-rdb" "$work/redis-server"
	rm -rf "$work/root"
}

[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep newest engine-experimental "a directory with Redis of experimental" bootstrap
echo "$kept"
