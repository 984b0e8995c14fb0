#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# plot.sh [SCENARIO]... - measure scenarios of figures.sh, by default all that count instructions,
# and replace their lines in docs/pictures/bench.json. Then draw the pictures, and fill in the
# tables of docs/performance.md.
#
# plot.sh --draw - measure nothing, and do the rest.
#
# plot.sh --check - print what --draw would change.
set -eu
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
data=$top/docs/pictures/bench.json
page=$top/docs/performance.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

measure() {
	for scenario; do
		"$here/figures.sh" "$scenario" >"$work/lines"
		{
			grep -v "^{\"scenario\":\"$scenario\"" "$data" || true
			cat "$work/lines"
		} >"$work/data"
		cp "$work/data" "$data"
	done
}

# filled - print the page: a table of table.sh stands between "<!-- table NAME -->" and "<!-- end -->".
filled() {
	while IFS= read -r line; do
		case $line in
		'<!-- table '*)
			name=${line#<!-- table }
			printf '%s\n\n' "$line"
			"$here/table.sh" "$data" "${name% -->}"
			printf '\n'
			inside=yes
			;;
		'<!-- end -->') inside='' ;;
		esac
		[ "${inside-}" ] || printf '%s\n' "$line"
	done <"$page"
}

case ${1-} in
--draw) ;;
--check)
	"$top/docs/pictures/make.sh" --check
	filled | cmp -s - "$page" ||
		echo "docs/performance.md: its tables are not those of tests/bench/plot.sh --draw"
	exit
	;;
'') measure peers entries buckets belts memory expiry ;;
*) measure "$@" ;;
esac
"$top/docs/pictures/make.sh" --draw
filled >"$work/page"
cp "$work/page" "$page"
