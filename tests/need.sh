#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# need.sh PACKAGE... - see to it that these Debian packages are installed.
#
# Silent and quick when they are. Otherwise installs what is missing (as root), says so on a
# terminal only, for what a caller prints may have to be empty, and shows the package manager's
# own words only if that fails.
set -eu

have() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# look PACKAGE... - sets missing; succeeds if nothing is.
look() {
	missing=
	for package; do
		have "$package" || missing="$missing $package"
	done
	[ -z "$missing" ]
}

look "$@" && exit 0

fail() {
	echo "need.sh: $1" >&2
	exit 1
}

command -v apt-get >/dev/null ||
	fail "missing:$missing (no apt-get here: install them by hand)"
[ "$(id -u)" = 0 ] ||
	fail "missing:$missing (run as root, or: apt-get install$missing)"

# Several may find something missing at once, and apt-get would refuse the second.
exec 9>/var/lock/hashbelt-need
flock 9
look "$@" && exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# What others need must not go for it: packages may be at odds with each other.
install() {
	# shellcheck disable=SC2086 # a list of names, split on purpose
	apt-get install -y -q --no-remove --no-install-recommends $missing >>"$log" 2>&1
}

[ ! -t 2 ] || echo "installing:$missing" >&2
# A package list that is out of date names versions that are gone: refresh and
# try again before giving up.
install || { apt-get update -q >>"$log" 2>&1 && install; } || true
look "$@" || {
	tail -n 20 "$log" >&2
	fail "cannot install$missing"
}
