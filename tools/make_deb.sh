#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# make_deb.sh DIRECTORY [OPTION]... - build the Debian packages of the sources in DIRECTORY, which
# loses those of a former build. Prints the paths of the packages. The build runs in a copy of the sources,
# because dpkg-buildpackage writes beside them, in a temporary directory, because debhelper cannot take
# a quote in its path. Its output is in DIRECTORY/build.log. Each OPTION is for dpkg-buildpackage: -b
# builds no source package. VERSION in the environment is another version for the copy.
set -eu
unset CDPATH

top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
directory=$(cd "$1" && pwd)
shift

# now - print the version of the sources.
now() {
	sed -n 's/^#define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h"
}

# remove_former - remove what a former build has left, and nothing else.
remove_former() {
	rm -f "$directory"/*hashbelt*_* "$directory"/hbctl*_* "$directory/build.log"
}

copy() {
	mkdir "$source"
	tar -C "$top" -c --exclude=./.git --exclude=./.cache . | tar -C "$source" -x
	[ "$version" = "$(now)" ] || {
		sed -i "s/\"$(now)\"/\"$version\"/" "$source/hashbelt_version.h"
		sed -i "1s/(.*)/($version)/" "$source/debian/changelog"
	}
}

# build OPTION... - with the programs of Debian: another Python may come first in PATH.
build() {
	cd "$source" && PATH=/usr/sbin:/usr/bin:/sbin:/bin dpkg-buildpackage -us -uc "$@"
}

"$top/tests/need.sh" build-essential debhelper dh-dkms dh-python dpkg-dev libevent-dev libinih-dev \
	libncurses-dev libpq-dev libsmartcols-dev libssl-dev libsystemd-dev pkg-config \
	pybuild-plugin-pyproject python3 python3-setuptools python3-wheel
version=${VERSION:-$(now)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$top/tests/build_path.sh" "$work" "say TMPDIR=DIRECTORY"
source=$work/hashbelt-$version
remove_former
copy
# The settings of the make that called this are not those of the packages.
unset MAKEFLAGS MFLAGS MAKELEVEL VERSION
(build "$@") >"$directory/build.log" 2>&1 || {
	tail -n 40 "$directory/build.log" >&2
	echo "make_deb.sh: cannot build the packages: see $directory/build.log" >&2
	exit 1
}
rm -rf "$source"
mv "$work"/* "$directory"
ls "$directory"/*.deb
