#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# copy.sh DIRECTORY PROGRAM... - copy programs of this machine, given by their paths, and their
# libraries to the same paths below DIRECTORY, for a guest. The guest copies these to its root
# directory.
set -eu

directory=$1
shift
for program; do
	{
		echo "$program"
		ldd "$program" | sed -n 's|^[^/]*\(/[^ ]*\) (.*|\1|p'
	} | while read -r file; do
		mkdir -p "$directory${file%/*}"
		cp -L "$file" "$directory$file"
	done
done
