# SPDX-License-Identifier: GPL-2.0
#
# Reads what gcov wrote about some files, a .gcov each, and prints a table: file, lines
# of code, lines run, percent. After files with less than "enough" percent come the
# lines that were not run, as ranges: blank lines and comments do not interrupt them.
# The last line is the total.
#
# A line of a .gcov is COUNT:NUMBER:TEXT. What was compiled more than once, as functions
# in headers are, comes again for each time: a line has run if it ever has.

function report(	i, covered, lines, first, last, ranges) {
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
	if (lines)
		row(file, lines, covered, ranges)
	all += lines
	all_covered += covered
	highest = 0
	split("", run)
}

function row(name, lines, covered, ranges) {
	printf "%-22s %6d %6d %6.1f\n", name, lines, covered, 100 * covered / lines
	if (100 * covered / lines < enough && ranges != "")
		print "    not run:" ranges
}

BEGIN {
	FS = ":"
	printf "%-22s %6s %6s %6s\n", "file", "lines", "run", "%"
}

FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.gcov$/, "", name)
	if (file != "" && name != file)
		report()
	file = name
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
	row("total", all, all_covered, "")
}
