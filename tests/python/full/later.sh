#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# later.sh [--pypy] PROGRAM [ARGUMENT]... - run a program of the payload with the Python and the frameworks
# of Debian 13 or unstable, or with its PyPy, in a guest: with the root directory /later of root.sh, which
# sees the device and the tests.
set -eu
unset CDPATH

root=/later
top=$(cd "$(dirname "$0")/../../.." && pwd)
python=python3
[ "$1" != --pypy ] || {
	shift
	# Debian's pytest is for both. PyPy demands a locale that is there.
	export PYTHONPATH=/usr/lib/python3/dist-packages LC_ALL=C
	python=pypy3
}
program=$top/$1
shift

# show PATH... - let the root directory have these directories, too, if the guest has them.
show() {
	for path; do
		[ -d "$path" ] || continue
		mkdir -p "$root$path"
		grep -Fq " $root$path " /proc/mounts || mount --bind "$path" "$root$path"
	done
}

mkdir -p "$root/tmp"
show /dev /proc /sys /django "$top"
exec chroot "$root" "/usr/bin/$python" "$program" "$@"
