# SPDX-License-Identifier: GPL-2.0-only
#
# coverage.awk -v each=PERCENT [prefix=PREFIX FILE.gcov...]...
#
# Reads the .gcov files of gcov, whose names begin with "prefix", and prints a table: file, lines
# of code, lines run, percent; branches, branches taken at least once, percent. A file of which less
# than "each" percent is run is followed by the lines that were not run, as ranges: blank lines
# and comments do not interrupt a range. The last line is the total.
#
# A line of a .gcov is COUNT:NUMBER:TEXT, and its branches follow it, one on each line. Code that
# was compiled more than once, such as a function in a header, or for two kernels, appears more than
# once: a line has run if any copy has run, and a branch was taken if it was taken in any copy.

function report(file,	i, covered, lines, first, last, ranges) {
	for (i = 1; i <= highest[file]; i++) {
		if (!((file, i) in run))
			continue
		lines++
		covered += run[file, i]
		if (run[file, i] && first) {
			ranges = ranges " " first (last > first ? "-" last : "")
			first = 0
		}
		if (!run[file, i]) {
			first = first ? first : i
			last = i
		}
	}
	if (first)
		ranges = ranges " " first (last > first ? "-" last : "")
	if (lines)
		row(file, lines, covered, branches[file], taken[file], ranges)
	all += lines
	all_covered += covered
	all_branches += branches[file]
	all_taken += taken[file]
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
	file = substr(FILENAME, length(prefix) + 1)
	sub(/\.gcov$/, "", file)
	gsub(/#/, "/", file)
	if (!(file in highest)) {
		files[++n] = file
		highest[file] = 0
	}
}

# branch  0 taken 12 (fallthrough)
/^branch +[0-9]/ {
	split($0, words, " ")
	branch = file " " number " " words[2]
	if (!(branch in went)) {
		went[branch] = 0
		branches[file]++
	}
	if (!went[branch] && words[3] == "taken" && words[4] > 0) {
		went[branch] = 1
		taken[file]++
	}
	next
}

{
	count = $1
	number = $2 + 0
	gsub(/[ *]/, "", count)
}

NF >= 3 && number && count ~ /^([0-9]+|#####|=====)$/ {
	run[file, number] = run[file, number] || count + 0 > 0
	if (number > highest[file])
		highest[file] = number
}

END {
	for (i = 1; i <= n; i++)
		report(files[i])
	row("total", all, all_covered, all_branches, all_taken, "")
}
