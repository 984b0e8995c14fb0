#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# clients.sh DIRECTORY - unpack pymemcache and diskcache to DIRECTORY, for a guest with the Python of
# tests/python/root.sh. This machine may have another Python.
set -eu
unset CDPATH

directory=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
apt-get download -q python3-pymemcache python3-six python3-diskcache >log 2>&1 || {
	cat log >&2
	echo "clients.sh: cannot download the packages: apt-get update may help" >&2
	exit 1
}
for package in *.deb; do
	dpkg-deb --fsys-tarfile "$package" | tar -C "$directory" -x ./usr/lib/python3
done
