#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# copy.sh [--libraries] DIRECTORY PROGRAM... - copy programs of this machine, given by their paths,
# and their libraries, or only these, to the same paths below DIRECTORY, for a guest. The guest puts
# these into its root directory. hbctl has an object that it loads, with libraries of its own.
set -eu

libraries=
[ "$1" != --libraries ] || {
	libraries=yes
	shift
}
directory=$1
shift

# with_loaded PROGRAM - print the paths of the program, and of the object that it loads.
with_loaded() {
	echo "$1"
	for object in "${1%/*}/../lib/hashbelt/${1##*/}-manage.so" "$1-manage.so"; do
		[ ! -e "$object" ] || {
			realpath "$object"
			return
		}
	done
}

for program; do
	with_loaded "$program" | while read -r file; do
		[ "$libraries" ] || echo "$file"
		ldd "$file" | sed -n 's|^[^/]*\(/[^ ]*\) (.*|\1|p'
	done | while read -r file; do
		mkdir -p "$directory${file%/*}"
		cp -Lu "$file" "$directory$file"
	done
done
