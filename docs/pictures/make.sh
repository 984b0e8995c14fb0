#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# make.sh [--check|--draw] - make the pictures in README.md.
#
#	--draw	from belt.picture, info.txt and top.txt in this directory
#	--check	print the names of pictures that --draw would change
#
# Without an option, info.txt and top.txt are first made anew, from what hbctl prints in a guest.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$here"

# drawn NAME - the picture, on stdout.
drawn() {
	case $1 in
	belt) awk -f draw.awk belt.picture ;;
	*) awk -f draw.awk "$1.txt" ;;
	esac
}

# shown NAME FILE - what the guest printed between the line "=== NAME" and the next such line.
shown() {
	awk -v name="$1" '/^=== / { inside = $2 == name; next } inside' "$2" >"$1.txt"
}

case ${1-} in
--check | --draw) ;;
'')
	make -s -C "$top/tests" payload
	guest=$(mktemp -d)
	trap 'rm -rf "$guest"' EXIT
	cp -r "$top/.cache/build/payload/." "$guest"
	cp screens.sh "$guest"
	"$top/tests/vm/run.sh" "$guest" sh ./screens.sh | tr -d '\r' >"$guest/printed"
	shown info "$guest/printed"
	shown top "$guest/printed"
	;;
*)
	sed -n '/^# make.sh/,/^set/s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
for picture in belt info top; do
	if [ "${1-}" != --check ]; then
		drawn $picture >$picture.svg
	elif ! drawn $picture | cmp -s - $picture.svg; then
		echo "docs/pictures/$picture.svg: not what docs/pictures/make.sh --draw makes"
	fi
done
