#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# make.sh [--check|--draw] - make the pictures in README.md and docs/performance.md.
#
#	--draw	from belt.picture, info.txt, top.txt and bench.json in this directory
#	--check	print the names of pictures that --draw would change
#
# Without an option, info.txt and top.txt are first made anew, from what hbctl prints in a guest.
# `make bench-plot` makes bench.json anew.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cd "$here"
"$top/tests/need.sh" jq

# lines SCENARIO PANEL SERIES X Y - what chart.awk reads; the last four are jq's filters for a line
# of bench.json.
lines() {
	jq -r "select(.scenario == \"$1\") | [$2, $3, $4, $5] | @tsv" bench.json
}

# chart X Y X-LABEL Y-LABEL - draw such lines, with these axes.
chart() {
	awk -v x="$1" -v y="$2" -v x_label="$3" -v y_label="$4" -f svg.awk -f chart.awk
}

# drawn NAME - the picture, on stdout.
drawn() {
	case $1 in
	belt) awk -f svg.awk -f draw.awk belt.picture ;;
	info | top) awk -f svg.awk -f draw.awk "$1.txt" ;;
	bench-entries)
		lines entries .operation .peer .entries .cost |
			chart log log "entries" "instructions"
		;;
	bench-buckets)
		lines buckets '""' .operation .buckets .cost |
			chart log linear "buckets" "instructions"
		;;
	bench-belts)
		lines belts '""' .operation .belts .cost |
			chart log linear "belts over which 100,000 entries are spread" "instructions"
		;;
	bench-memory)
		{
			lines memory '""' .peer .value_size .bytes
			lines memory '""' '"key and value"' .value_size '(.value_size + 16)'
		} | chart log log "bytes of a value" "bytes of an entry"
		;;
	bench-native)
		lines native '""' .peer .entries .cost | chart log log "keys" "nanoseconds of a get"
		;;
	bench-expiry)
		lines expiry .phase .peer .percentile '(.ns / 1000)' |
			chart percentile log "share of gets" "microseconds"
		;;
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
	cp screens.sh "$guest/tests/hbctl"
	"$top/tests/vm/run.sh" "$guest" sh tests/hbctl/screens.sh | tr -d '\r' >"$guest/printed"
	shown info "$guest/printed"
	shown top "$guest/printed"
	;;
*)
	sed -n '/^# make.sh/,/^set/s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
for picture in belt info top bench-entries bench-buckets bench-belts bench-memory bench-expiry bench-native; do
	if [ "${1-}" != --check ]; then
		drawn $picture >$picture.svg
	elif ! drawn $picture | cmp -s - $picture.svg; then
		echo "docs/pictures/$picture.svg: not what docs/pictures/make.sh --draw makes"
	fi
done
