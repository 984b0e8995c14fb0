#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# copy.sh [--libraries] DIRECTORY PROGRAM... - copy programs of this machine, given by their paths,
# and their libraries, or only these, to the same paths below DIRECTORY, for a guest. The guest puts
# these into its root directory.
set -eu

libraries=
[ "$1" != --libraries ] || {
	libraries=yes
	shift
}
directory=$1
shift
for program; do
	{
		[ "$libraries" ] || echo "$program"
		ldd "$program" | sed -n 's|^[^/]*\(/[^ ]*\) (.*|\1|p'
	} | while read -r file; do
		mkdir -p "$directory${file%/*}"
		cp -Lu "$file" "$directory$file"
	done
done
