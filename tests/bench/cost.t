#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What an operation costs, counted in instructions: that knows nothing of caches and repeats
# exactly.
#
# - It costs the same whatever the belt is: with 2 buckets or 65,536, a thousand entries or a
#   hundred thousand, one level or several. The bound is 15 percent.
# - It costs what tests/bench/instructions says. The bound is 3 percent, in both directions:
#   the file must follow a fall, or a later rise up to the old count would go unnoticed.
set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bail_out() {
	echo "Bail out! $1"
	exit 1
}

# measure NAME ENTRIES BUCKETS
measure() {
	"$here/count.sh" "$2" "$3" >"$work/$1" || bail_out "the guest that counts failed"
}

measure base 1000 5
measure few 1000 2
measure many 1000 65536
measure large 100000 5
"$here/cost.sh" --reference "$(grep '^#' "$work/base")" >"$work/reference" ||
	bail_out "nothing to compare the counts with"

awk -v flat=15 -v bound=3 '
function report(good, what) {
	print (good ? "ok " : "not ok ") ++tests " - " what
	bad = bad || !good
}

# The counts of two belts, or two modules, are within so many percent of each other.
function is_near(cost, other, percent) {
	return cost > 0 && cost <= other * (1 + percent / 100) &&
		cost >= other * (1 - percent / 100)
}

function check_flat(name, 	f, line, good) {
	line = of["base", name]
	good = 1
	for (f = 1; f <= 3; f++) {
		line = line ", " files[f] " " of[files[f], name]
		good = good && is_near(of[files[f], name], of["base", name], flat)
	}
	print "# " name ": " line " instructions"
	report(good, name " costs the same everywhere")
}

# The complaint about a count; "" if it is right.
function complaint(cost, was) {
	if (was == "")
		return "it has none: run tests/bench/cost.sh --update"
	if (cost == "")
		return "nobody counted it now: run tests/bench/cost.sh --update"
	if (cost > was * (1 + bound / 100))
		return sprintf("%d now, %.1f %% more than %d", cost, 100 * (cost - was) / was, was)
	if (cost < was * (1 - bound / 100))
		return sprintf("%d now, %.1f %% less than %d: update tests/bench/instructions (%s)",
			cost, 100 * (was - cost) / was, was, "tests/bench/cost.sh --update")
	return ""
}

function check_count(name, 	wrong) {
	wrong = complaint(of["base", name], of["reference", name])
	report(wrong == "", name " takes the instructions that tests/bench/instructions says" \
		(wrong == "" ? "" : ": " wrong))
}

/^#/ {
	if (FILENAME ~ /reference$/)
		print
	next
}
{
	cost = $NF
	name = $0
	sub(/ [0-9]+$/, "", name)
	file = FILENAME
	sub(/.*\//, "", file)
	if (!(name in known)) {
		known[name] = 1
		order[++n] = name
	}
	of[file, name] = cost
}
END {
	split("few many large", files, " ")
	print "1.." 2 * n + 1
	for (i = 1; i <= n; i++)
		check_flat(order[i])
	report(is_near(of["base", "put for a year"], of["base", "put replace"], flat),
		"a put several levels up costs the same")
	for (i = 1; i <= n; i++)
		check_count(order[i])
	exit bad || !n
}' "$work/base" "$work/few" "$work/many" "$work/large" "$work/reference"
