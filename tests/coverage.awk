# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.awk -v each=PERCENT -v prefix=PREFIX FILE.gcov...
#
# Reads the .gcov files of gcov, whose names begin with "prefix", and prints a table: file, lines
# of code, lines run, percent; branches, branches taken at least once, percent. A file of which less
# than "each" percent is run is followed by the lines that were not run, as ranges: blank lines
# and comments do not interrupt a range. The last line is the total.
#
# A line of a .gcov is COUNT:NUMBER:TEXT, and its branches follow it, one on each line. Code that
# was compiled more than once, such as a function in a header, appears more than once: a line has
# run if any copy has run, and a branch was taken if it was taken in any copy.

function report(	i, covered, lines, first, last, ranges, branch, branches, taken) {
	for (i = 1; i <= highest; i++) {
		if (!(i in run))
			continue
		lines++
		covered += run[i]
		if (run[i] && first) {
			ranges = ranges " " first (last > first ? "-" last : "")
			first = 0
		}
		if (!run[i]) {
			first = first ? first : i
			last = i
		}
	}
	if (first)
		ranges = ranges " " first (last > first ? "-" last : "")
	for (branch in went) {
		branches++
		taken += went[branch]
	}
	if (lines)
		row(file, lines, covered, branches, taken, ranges)
	all += lines
	all_covered += covered
	all_branches += branches
	all_taken += taken
	highest = 0
	split("", run)
	split("", went)
}

function percent(part, whole) {
	return whole ? 100 * part / whole : 0
}

function row(name, lines, covered, branches, taken, ranges) {
	printf "%-22s %6d %6d %6.1f %8d %6d %6.1f\n", name, lines, covered,
		percent(covered, lines), branches, taken, percent(taken, branches)
	if (percent(covered, lines) < each && ranges != "")
		print "    not run:" ranges
}

BEGIN {
	FS = ":"
	printf "%-22s %6s %6s %6s %8s %6s %6s\n", "file", "lines", "run", "%", "branches",
		"taken", "%"
}

FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	name = substr(name, length(prefix) + 1)
	sub(/\.gcov$/, "", name)
	gsub(/#/, "/", name)
	if (file != "" && name != file)
		report()
	file = name
}

# branch  0 taken 12 (fallthrough)
/^branch +[0-9]/ {
	split($0, words, " ")
	branch = number " " words[2]
	went[branch] = went[branch] || (words[3] == "taken" && words[4] > 0)
	next
}

{
	count = $1
	number = $2 + 0
	gsub(/[ *]/, "", count)
}

NF >= 3 && number && count ~ /^([0-9]+|#####|=====)$/ {
	run[number] = run[number] || count + 0 > 0
	if (number > highest)
		highest = number
}

END {
	report()
	row("total", all, all_covered, all_branches, all_taken, "")
}
