#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# unpack.sh PACKAGE[|PACKAGE]... PATH - print the path of a file of a Debian package, such as
# "promtool|prometheus usr/bin/promtool": of the first of these packages that there is. In the package
# the path may begin with usr/, and the file may be compressed by xz, as a module of a newer kernel is.
#
# Installing the package would start a server, or load a policy into the kernel of this machine. So
# this script unpacks the file into the cache, and installs the libraries that the package depends on. The
# first call downloads the package.
set -eu
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
packages=$1
path=$2
cache=$("$tests/cache.sh" programs)
file=$cache/${packages##*|}/$path
work=''

fail() {
	echo "unpack.sh: $1" >&2
	exit 1
}

# shellcheck disable=SC2317 # called by the trap
cleanup() {
	[ -z "$work" ] || rm -rf "$work"
}

# choose - sets package to the first of the packages that apt knows.
choose() {
	for package in $(echo "$packages" | tr '|' ' '); do
		[ -z "$(apt-cache show "$package" 2>/dev/null)" ] || return 0
	done
	false
}

download() {
	choose && apt-get download -q -o APT::Sandbox::User=root "$package" >>log 2>&1
}

# extract - print the file, which may have another path in the package.
extract() {
	found=$(dpkg-deb --fsys-tarfile "$package"_*.deb | tar -t |
		grep -xF -e "./$path" -e "./usr/$path" -e "./$path.xz" -e "./usr/$path.xz") || fail "the package $package has no file $path"
	dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x -O "$found" |
		case $found in
		*.xz) xz -dc ;;
		*) cat ;;
		esac
}

# fetch - get the file into the cache. A rename makes that atomic.
fetch() {
	work=$(mktemp -d "$cache/new.XXXXXX")
	cd "$work"
	: >log
	# An outdated package list names versions that the mirror no longer has.
	download || { apt-get update -q >>log 2>&1 && download; } || {
		grep -E '^(E|Err)' log | sort -u >&2
		fail "cannot download the package $package"
	}
	# shellcheck disable=SC2046 # names without spaces
	"$tests/need.sh" xz-utils $(dpkg-deb -f "$package"_*.deb Depends | tr ',' '\n' |
		sed -n 's/^ *\(lib[^ :|]*\).*/\1/p')
	extract >new
	chmod 755 new
	mkdir -p "${file%/*}"
	mv new "$file"
}

trap cleanup EXIT
exec 9>"$cache/lock"
flock 9
[ -x "$file" ] || fetch
echo "$file"
