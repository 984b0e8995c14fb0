#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# root.sh [full|debug|pypy|SUITE|PROCESSOR] - print the path of a directory with Python and frameworks of this machine's
# Debian, for the root directory of a guest. With "full" they are those of Debian 12, and there are servers for these as
# well; in /later the Python of Debian 13, with Django 4.2 and Flask-Session; and in /django Django's own tests of
# caches, as 3.2/tests and 4.2/tests. With a suite of Debian, trixie or sid, there are, instead of all that, in /later
# its Python and its frameworks; with "pypy" the PyPy of unstable. With "debug" it is Python's debug build, without
# frameworks. With a PROCESSOR, arm64 or s390x, all is that of this
# machine's Debian for it, with headers and libraries for a cross compiler.
#
# cache.sh keeps the directory. The first call takes half a minute, or a minute with an argument. To get newer
# releases, remove it. Needs root.

# shellcheck source=tests/kept.sh
. "$(dirname "$0")/../kept.sh"

python=python3,python3-pytest,python3-gevent,python3-eventlet
frameworks=python3-django,python3-cachelib,python3-limits,python3-dogpile.cache
flask=python3-flask-caching,python3-flask-limiter
hbctl=libinih1,libsmartcols1,libncursesw6	# what hbctl needs
developed=libc6-dev,libncurses-dev,libinih-dev,libsmartcols-dev,libevent-dev,libssl-dev,libsystemd-dev
later=python3,python3-pytest,python3-django,python3-flask-session,python3-msgspec
servers=gunicorn,python3-fastapi,python3-uvicorn,$flask

# remove_texts - remove from the present directory what no test needs: documents, other languages,
# Python's own tests.
remove_texts() {
	find usr/share -mindepth 1 -maxdepth 1 ! -name zoneinfo -exec rm -rf {} +
	rm -rf var etc dev tmp usr/lib/debug
	find usr/lib -name '*.a' -path '*config-3*' -delete
	[ "$processor" ] || rm -rf usr/include
	shorten
	find usr/lib/python3 -name '*.po' -delete
	find usr/lib/python3 -name '*.mo' ! -path '*/en/*' -delete
}

# with_tests SUITE PACKAGES DIRECTORY - extract packages, and the source of Django below src.
with_tests() {
	# shellcheck disable=SC2016 # for mmdebstrap
	extract "$@" --extract-hook='mkdir "$1/src" && cd "$1/src" && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG \
		apt-get source --download-only -o APT::Sandbox::User=root python-django'
}

# move_tests DIRECTORY VERSION - move Django's tests of caches and sessions from that source.
move_tests() {
	mkdir -p "$work/root/django/$2"
	tar -xf "$1"/src/python-django_*.orig.tar.gz -C "$work/root/django/$2" --strip-components=1 \
		--wildcards --no-wildcards-match-slash '*/tests/cache' '*/tests/sessions_tests' '*/tests/templates' '*/tests/*.py'
	rm -rf "$1/src"
}

# trim_later - make a root directory of its own of what was extracted to /later.
trim_later() {
	cd "$work/root/later"
	remove_texts
	ln -s usr/lib64 usr/lib .
	compile "$work/root/later"
	[ -e usr/bin/pypy3 ] || return 0
	# PyPy demands a locale that is there. It cannot compile the files that test its parser.
	rm -rf usr/lib/pypy3.*/test
	# shellcheck disable=SC2046 # names without spaces
	LC_ALL=C chroot . /usr/bin/pypy3 -m compileall -q --invalidation-mode unchecked-hash \
		/usr/lib/python3 $(printf '/%s\n' usr/lib/pypy3.*) >/dev/null 2>&1 || :
}

bootstrap() {
	case $kind in
	pypy)
		mkdir "$work/root"
		extract sid pypy3,python3-pytest "$work/root/later"
		trim_later
		return
		;;
	trixie | sid)
		mkdir "$work/root"
		extract "$kind" "$python,$frameworks,$flask,$hbctl" "$work/root/later"
		trim_later
		return
		;;
	full)
		with_tests bookworm "$python,$frameworks,$servers" "$work/root"
		move_tests "$work/root" 3.2
		with_tests trixie "$later" "$work/root/later"
		move_tests "$work/root/later" 4.2
		trim_later
		;;
	debug) extract "$release" python3,python3-dbg,python3-pytest "$work/root" ;;
	arm64 | s390x)
		extract "$release" "$python,$frameworks,$developed" "$work/root" --architectures="$kind"
		;;
	*) extract "$release" "$python,$frameworks" "$work/root" ;;
	esac
	cd "$work/root"
	remove_texts
	gather
	[ "$processor" ] || {
		compile "$work/root"
		return
	}
	# This machine's Python is of the same release, and writes the same files.
	/usr/bin/python3 -m compileall -q --invalidation-mode unchecked-hash -s . -p / usr/lib/python3 usr/lib/python3.*
}

case $#${1-} in
0 | 1full | 1debug | 1pypy | 1trixie | 1sid) processor= ;;
1arm64 | 1s390x) processor=$1 ;;
*) fail "usage: root.sh [full|debug|pypy|trixie|sid|arm64|s390x]" ;;
esac
kind=${1-}
[ "$(id -u)" = 0 ] || fail "only root can make a root directory"
release=$(release)
keep python "${kind:-root-$release}" "a directory with Python" bootstrap
echo "$kept/root"
