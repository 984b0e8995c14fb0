#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# unpack.sh PACKAGE PATH - print the path of a program of a Debian package, such as
# "prometheus usr/bin/promtool".
#
# Installing the package would start a server, or load a policy into the kernel of this machine. So
# this script unpacks the program into the cache. The first call downloads the package.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
package=$1
path=$2
cache=$("$tests/cache.sh" programs)
program=$cache/$package/$path
work=''

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$work" ] || rm -rf "$work"
}

download() {
	apt-get download -q -o APT::Sandbox::User=root "$package" >>log 2>&1
}

# fetch - get the program into the cache. A rename makes that atomic.
fetch() {
	work=$(mktemp -d "$cache/new.XXXXXX")
	cd "$work"
	# An outdated package list names versions that the mirror no longer has.
	download || { apt-get update -q >>log 2>&1 && download; } || {
		tail -n 20 log >&2
		echo "unpack.sh: cannot download the package $package" >&2
		exit 1
	}
	dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x "./$path"
	mkdir -p "${program%/*}"
	mv "$path" "$program"
}

trap cleanup EXIT
exec 9>"$cache/lock"
flock 9
[ -x "$program" ] || fetch
echo "$program"
