#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# cost.t - the cost of each operation in instructions. Counts do not include the effect of
# caches, and repeat exactly.
#
# - The cost is the same with 2 buckets or 65,536, with a thousand entries or a hundred
#   thousand, with one level or several. The bound is 15 percent.
# - A get from a window takes at most half of an ioctl that returns at once, without the call that
#   each 64th makes.
# - A put on a belt with a window takes at most 15 percent more than one on a belt without, also of
#   a key that is in the window.
# - A command of hbctl that scripts run takes, as a process and the kernel's instructions included,
#   at most 1.15 of those of a program that returns at once. Get and lock take at most 300,000 in
#   user space. A get by a coprocess takes at most 30,000 on both sides.
# - The cost is that in tests/bench/instructions. The bound is 3 percent, in both directions:
#   if the file did not follow a fall, a later rise up to the old count would not be found.
set -u
unset CDPATH

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

bail_out() {
	echo "Bail out! $1"
	exit 1
}

# measure NAME ENTRIES BUCKETS - write the counts for a belt of that size to the file NAME.
measure() {
	"$here/count.sh" "$2" "$3" >"$work/$1" ||
		bail_out "tests/bench/count.sh $2 $3 failed in its guest"
}

measure base 1000 5
"$here/python/count.sh" >>"$work/base" || bail_out "tests/bench/python/count.sh failed in its guest"
"$here/start.sh" >>"$work/base" || bail_out "tests/bench/start.sh failed in its guest"
"$here/serve.sh" >>"$work/base" || bail_out "tests/bench/serve.sh failed in its guest"
measure few 1000 2
measure many 1000 65536
measure large 100000 5
"$here/cost.sh" --reference "$(grep '^#' "$work/base")" >"$work/reference" ||
	bail_out "tests/bench/cost.sh --reference failed: no counts to compare with"

awk -v flat=15 -v bound=3 '
function report(good, what) {
	print (good ? "ok " : "not ok ") ++tests " - " what
	bad = bad || !good
}

# True if the counts of two belts, or of two modules, are within "percent" of each other.
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
	report(good, name " costs the same with any number of buckets and entries")
}

# The error in a count; "" if it is right.
function complaint(cost, was) {
	if (was == "")
		return "the file does not have it: run tests/bench/cost.sh --update"
	if (cost == "")
		return "it was not counted now: run tests/bench/cost.sh --update"
	if (cost > was * (1 + bound / 100))
		return sprintf("%d now, %.1f %% more than %d", cost, 100 * (cost - was) / was, was)
	if (cost < was * (1 - bound / 100))
		return sprintf("%d now, %.1f %% less than %d: update tests/bench/instructions (%s)",
			cost, 100 * (was - cost) / was, was, "tests/bench/cost.sh --update")
	return ""
}

function check_most(name, cost, most, what) {
	print "# " name ": " cost " instructions, at most " most
	report(cost > 0 && cost <= most, name " takes at most " what)
}

function check_window(	most) {
	check_most("get from window", of["base", "get from window"], of["base", "floor"] / 2,
		"half of an ioctl that returns at once")
	most = of["base", "put replace"] * (1 + flat / 100)
	check_most("put, not in window", of["base", "put, not in window"], most,
		flat " percent more than a put on a belt without a window")
	check_most("put, in window", of["base", "put, in window"], most,
		flat " percent more than a put on a belt without a window")
}

# Whether another belt changes the count.
function is_of_belt(name) {
	return name !~ /^(python|hbctl|hbserve|empty program)/
}

# A count of start.sh.
function check_start(name) {
	if (name ~ /^hbctl .*, user$/)
		check_most(name, of["base", name], 300000, "300,000 instructions")
	else if (name ~ /^hbctl .*, process$/)
		check_most(name, of["base", name], of["base", "empty program, process"] * 1.15,
			"1.15 of a program that returns at once")
	else if (name ~ /^hbctl batch/)
		check_most(name, of["base", name], 30000, "30,000 instructions")
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
	for (i = 1; i <= n; i++)
		if (is_of_belt(order[i]))
			check_flat(order[i])
		else
			check_start(order[i])
	report(is_near(of["base", "put for a year"], of["base", "put replace"], flat),
		"put for a year, several levels up, costs the same as put replace")
	check_window()
	for (i = 1; i <= n; i++)
		check_count(order[i])
	print "1.." tests
	exit bad || !n
}' "$work/base" "$work/few" "$work/many" "$work/large" "$work/reference"
