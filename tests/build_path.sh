#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# build_path.sh DIRECTORY [ADVICE] - fail, and say why in one sentence, if nothing can be built in
# DIRECTORY: because of its path, or because it can be neither made nor written. Makes nothing.
#
# make takes most of these characters for its own, and the kernel's build hands paths to shells
# without quotes.
set -eu

directory=$1
advice=${2:-build elsewhere, with O=DIRECTORY}

fail() {
	echo "hashbelt: $(printf %s "$1: $advice" | tr '[:cntrl:]' '?')" >&2
	exit 1
}

case $directory in
/*) directory=$(readlink -m -- "$directory") ;;
esac
character=$(printf '%s' "$directory" | LC_ALL=C tr -d '[:alnum:]\200-\377/._+@~^!-' | head -c 1;
	echo .)
case ${character%.} in
'') ;;
' ') fail "the build cannot take the path '$directory', which has a blank" ;;
'
') fail "the build cannot take the path '$directory', which has the end of a line" ;;
*) fail "the build cannot take the path '$directory', which has the character ${character%.}" ;;
esac

there=$directory
while [ ! -e "$there" ]; do
	case $there in
	*/*) there=${there%/*} ;;
	*) there=. ;;
	esac
	there=${there:-/}
done
[ -d "$there" ] || fail "cannot build in $directory, because $there is no directory"
[ -w "$there" ] || fail "cannot build in $directory, because $there is read-only"
