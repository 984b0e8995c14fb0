#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# belts.sh [DIRECTORY] - in the guest: load a dump and a saved belt of DIRECTORY, which a guest with another processor
# has made, and compare their entries. Then make both here, and print each file as "file NAME BASE64".
set -eu

PATH=$PWD:$PATH
kept=${1-}
here=$(mktemp -d)

# entries BELT - print the belt's entries without times left, in order.
entries() {
	hbctl -b "$1" dump | cut -f 1,2,4 | LC_ALL=C sort
}

# loaded BELT - true if the belt has the entries of the other guest.
loaded() {
	entries "$1" | diff "$kept/entries" - || {
		echo "$1: above are the entries of the other guest, and those that were loaded"
		exit 1
	}
}

insmod hashbelt.ko
printf '[saved]\nttl = 30d\nsave = yes\n' >"$here/conf"
if [ "$kept" ]; then
	hbctl -b dumped load "$kept/dump"
	loaded dumped
	hbctl apply --load "$kept" "$here/conf"
	loaded saved
	hbctl destroy saved
fi
hbctl apply "$here/conf"
hbctl -b saved put plain value --ttl 9d
hbctl -b saved put forever 'no end' --ttl never --flags 4294967295
hbctl -b saved put empty ''
printf '\000\001\377' | hbctl -b saved put -e 'k\t\n\\\x00\x01\x7f\xff' - --flags 7
hbctl -b saved incr number 4886718345 --init 0
entries saved >"$here/entries"
hbctl -b saved dump --settings --absolute >"$here/dump"
hbctl save "$here" "$here/conf"
for file in entries dump saved.belt; do
	echo "file $file $(base64 -w 0 "$here/$file")"
done
