#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# need.sh PACKAGE... - install those of these Debian packages that are missing.
#
# Prints nothing if none is missing. Installing needs root. It prints a message on a terminal
# only, because the output of a caller may have to be empty, and the output of the package
# manager only if that fails.
set -eu

have() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# look PACKAGE... - sets missing to the packages that are not installed; true if there are none.
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

# Several processes may need packages at once, and a second apt-get would fail.
exec 9>/var/lock/hashbelt-need
flock 9
look "$@" && exit 0

log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
# --no-remove: a package must not replace one that conflicts with it, which another test needs.
install() {
	# shellcheck disable=SC2086 # a list of names, split on purpose
	apt-get install -y -q --no-remove --no-install-recommends $missing >>"$log" 2>&1
}

[ ! -t 2 ] || echo "installing:$missing" >&2
# An outdated package list names versions that the mirror no longer has: update it and try again.
install || { apt-get update -q >>"$log" 2>&1 && install; } || true
look "$@" || {
	tail -n 20 "$log" >&2
	fail "cannot install$missing"
}
