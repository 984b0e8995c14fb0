#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# promtool.sh - print the path of promtool, of Debian's package prometheus.
#
# Installing the package would start a server. So this script unpacks the program into the cache,
# unless it is installed already. The first call downloads 19 MB.
set -eu

tests=$(cd "$(dirname "$0")/.." && pwd)
command -v promtool && exit

cache=$("$tests/cache.sh" promtool)
promtool=$cache/usr/bin/promtool
[ ! -x "$promtool" ] || {
	echo "$promtool"
	exit
}
work=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

download() {
	apt-get download -q -o APT::Sandbox::User=root prometheus >>log 2>&1
}

# An outdated package list names versions that the mirror no longer has.
download || { apt-get update -q >>log 2>&1 && download; } || {
	tail -n 20 log >&2
	echo "promtool.sh: cannot download the package prometheus" >&2
	exit 1
}
dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
mkdir -p "$cache/usr/bin"
mv usr/bin/promtool "$promtool"
echo "$promtool"
