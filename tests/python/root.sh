#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh - print the path of a directory with Python and frameworks of Debian 12, for the root directory of a
# guest.
#
# cache.sh keeps the directory. The packages are unpacked and not installed. The first call takes half a
# minute. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

frameworks=python3-django,python3-cachelib,python3-limits,python3-dogpile.cache

unpack() {
	"$tests/need.sh" mmdebstrap
	mmdebstrap --variant=extract --components=main --include="python3,python3-pytest,$frameworks" \
		--aptopt='APT::Install-Recommends "false"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		bookworm "$work/root" "$(mirror)"
}

# trim - remove what no test needs, and put programs where the guest, which has a /bin of its own, finds
# them.
trim() {
	cd "$work/root"
	find usr/share -mindepth 1 -maxdepth 1 ! -name zoneinfo -exec rm -rf {} +
	rm -rf usr/include var etc usr/lib/python3.11/test usr/lib/python3.11/idlelib \
		usr/lib/python3.11/lib2to3 dev tmp
	ln -sf ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 lib64/ld-linux-x86-64.so.2
	find bin sbin usr/sbin -mindepth 1 -exec mv -f -t usr/bin {} +
	rm -rf bin sbin usr/sbin
	# Texts of Django in other languages.
	find usr/lib/python3 -name '*.po' -delete
	find usr/lib/python3 -name '*.mo' ! -path '*/en/*' -delete
}

# compile - compile what Python imports: an emulated processor would take seconds for that. A time in a
# file's name does not matter then.
compile() {
	chroot "$work/root" /usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash \
		/usr/lib/python3 /usr/lib/python3.11 >/dev/null
}

bootstrap() {
	unpack
	trim
	compile
}

[ $# = 0 ] || fail "usage: root.sh"
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
keep python root "a directory with Python" bootstrap
echo "$kept/root"
