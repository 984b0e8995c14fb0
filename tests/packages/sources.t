#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# sources.t - the Debian packages build, lintian finds no error in them, hashbelt.spec has none, and
# make uninstall removes what make install put. Leaves the packages in .cache/build/deb, those of
# a version before in .cache/build/deb-before, for debian.t, and in .cache/build/rpm what rpm.t needs. Runs in
# the source tree. sources_in.sh runs it on another release of Debian.
# shellcheck disable=SC2317 # functions that succeeds and is call
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")/.." && pwd)
top=$(cd "$tests/.." && pwd)
# shellcheck source=tests/hbctl/tap.sh
. "$tests/hbctl/tap.sh"

built=$top/.cache/build/deb
before=$top/.cache/build/deb-before
built_rpm=$top/.cache/build/rpm
staged=$temporary/root

# names DIRECTORY - print the names of the packages in the directory.
names() {
	for package in "$1"/*.deb; do
		dpkg-deb -f "$package" Package
	done | grep -v -e '-dbgsym$' | LC_ALL=C sort
}

# succeeds COMMAND... - print the end of the command's output if it fails.
succeeds() {
	"$@" >"$temporary/log" 2>&1 || {
		echo "expected status 0, found $?:"
		tail -n 40 "$temporary/log"
	}
}

# errors - print the errors that lintian finds. Its warnings are remarks.
errors() {
	lintian --allow-root --fail-on error "$built"/*.changes \
		>"$temporary/lintian" 2>"$temporary/lintian.err"
	status=$?
	grep '^W: ' "$temporary/lintian" | sed 's/^/# lintian: /' >&3
	grep '^E: ' "$temporary/lintian"
	[ $status = 0 ] || {
		echo "lintian: expected status 0, found $status"
		cat "$temporary/lintian.err"
	}
}

# spec_errors - print the errors that rpmlint finds in hashbelt.spec. %mklibname is Mandriva's.
spec_errors() {
	rpmlint "$top/hashbelt.spec" >"$temporary/rpmlint" 2>&1
	grep ': E: ' "$temporary/rpmlint" | grep -v 'without-%mklibname'
	grep -q '1 specfiles checked' "$temporary/rpmlint" || cat "$temporary/rpmlint"
}

# build_rpms VERSION RELEASE - build the packages of hashbelt.spec, with this machine's compiler and libraries,
# and leave that of the module in .cache/build/rpm/VERSION-RELEASE. Debian has no rpm packages, so rpmbuild
# cannot find what the build requires.
build_rpms() {
	tree=$temporary/rpm
	source=$tree/tmp/hashbelt-$1
	mkdir -p "$tree/SOURCES" "$source" "$built_rpm/$1-$2" &&
		tar -C "$top" -c --exclude=./.git --exclude=./.cache . | tar -C "$source" -x &&
		sed -i "s/\"$version\"/\"$1\"/" "$source/hashbelt_version.h" &&
		sed -e "s/^Version:.*/Version: $1/" -e "s/^Release: *1/Release: $2/" "$top/hashbelt.spec" \
			>"$tree/hashbelt.spec" &&
		tar -C "$tree/tmp" -czf "$tree/SOURCES/hashbelt-$1.tar.gz" "hashbelt-$1" &&
		rpmbuild -bb --nodeps --define "_topdir $tree" --define "_tmppath $tree/tmp" \
			"$tree/hashbelt.spec" &&
		cp "$tree/RPMS/noarch/hashbelt-dkms-$1-$2"*.rpm "$built_rpm/$1-$2"
}

# rpm_names - print the names of the rpm packages.
rpm_names() {
	find "$temporary/rpm/RPMS" -name '*.rpm' -exec rpm -qp --nosignature --qf '%{name}\n' {} + \
		2>/dev/null | grep -v -e '-debug' | LC_ALL=C sort
}

# python_packages RELEASE - print the packages for Python that hashbelt.spec has on that release of RHEL.
python_packages() {
	rpmspec -q --define "rhel $1" --qf '%{name}\n' "$top/hashbelt.spec" | grep python || :
}

# files - print the files below the directory into which make has installed.
files() {
	(cd "$staged" && find . ! -type d | LC_ALL=C sort)
}

# make_in TARGET... - make with another root, and another directory for what is built.
make_in() {
	make -s -C "$top" O="$temporary/build" DESTDIR="$staged" LIBPQ=yes LIBEVENT=yes LIBHIREDIS=yes "$@" \
		>"$temporary/log" 2>&1 || tail -n 20 "$temporary/log"
}

# uninstalled - install and uninstall, and print what is wrong. A file that was there must stay.
uninstalled() {
	mkdir -p "$staged/usr/local/bin" "$staged/usr/local/include/hashbelt" "$staged/usr/src"
	make_in install-tools install-dkms
	for file in usr/local/bin/hbctl usr/local/lib/libhashbelt.so \
		"usr/src/hashbelt-$version/dkms.conf" "usr/src/hashbelt-$version/belt/belt.h" \
		"usr/src/hashbelt-$version/belt/ground/compat.mk"; do
		[ -s "$staged/$file" ] || echo "make install: expected $file"
	done
	: >"$staged/usr/local/bin/other"
	make_in uninstall
	[ "$(files)" = ./usr/local/bin/other ] ||
		printf 'make uninstall: expected ./usr/local/bin/other alone, found:\n%s\n' "$(files)"
	find "$staged" -depth -type d -name '*hashbelt*'
}

"$tests/need.sh" build-essential debhelper dh-dkms dh-python lintian rpm rpmlint libevent-dev libhiredis-dev libinih-dev \
	libncurses-dev libpq-dev libsmartcols-dev libssl-dev libsystemd-dev pkg-config \
	pybuild-plugin-pyproject python3-dev python3-pip python3-setuptools python3-wheel || exit 1
exec 3>&1
version=$(sed -n 's/^#define HASHBELT_VERSION[^"]*"\(.*\)"/\1/p' "$top/hashbelt_version.h")

result "make deb builds the Debian packages" "$(succeeds make -s -C "$top" deb)"
is "make deb builds these packages" 0 'hashbelt-dkms
hashbelt-follow
hashbelt-server
hbctl
hbctl-store
libhashbelt-dev
libhashbelt0
python3-hashbelt' '' names "$built"
result "lintian finds no error in the packages" "$(errors)"
result "the packages of a version before build" \
	"$(succeeds env VERSION=0.0.9 "$top/tools/make_deb.sh" "$before" -b)"
result "rpmlint finds no error in hashbelt.spec" "$(spec_errors)"
rm -rf "$built_rpm"
result "rpmbuild builds the packages of hashbelt.spec" "$(succeeds build_rpms "$version" 1)"
is "rpmbuild builds these packages" 0 'hashbelt-devel
hashbelt-dkms
hashbelt-follow
hashbelt-libs
hashbelt-server
hbctl
hbctl-store
python3-hashbelt' '' rpm_names
for rhel in 9 10; do
	is "on RHEL $rhel, hashbelt.spec has these packages for Python" 0 \
		"$([ $rhel = 9 ] || echo python3-hashbelt)" '' python_packages $rhel
done
result "rpmbuild builds another release of the same version, and a newer version" \
	"$(succeeds build_rpms "$version" 2; succeeds build_rpms 99.0.0 1)"
result "make uninstall removes what make install put, and no other file" "$(uninstalled)"
finish
