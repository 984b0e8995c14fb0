# SPDX-License-Identifier: GPL-2.0
#
# Reads TAP of many programs, each between "# begin NAME" and "# end NAME STATUS",
# prints a line for each program and all that failed, and in the end what failed once
# more and "N passed, N failed, N skipped". A program fails as a whole, beside its own
# tests, if it did not run as many tests as it planned, or none, or ended badly.
# What a program says behind "# figure:" is printed also if all went well.
#
# "# suite NAME STATUS" says that a suite has come to its end. Each of those in the variable
# suites must have: one whose shell was killed would only count less.
#
# Exit status 0 only if nothing failed, and nothing was skipped: these machines have all
# that is asked for.

# What is said of a failure is said again at the end, where a long run is read first.
function complain(line) {
	print line
	if (complaints++ < 60)
		complained = complained line "\n"
}

# The last @said remarks may say why.
function fault(what, said,	i) {
	complain("not ok - " name ": " what)
	for (i = 1; i <= said; i++)
		complain(held[i])
	failed++
	bad++
}

# What is wrong with a suite, beside what it has said itself.
function blame(suite, what) {
	complain("not ok - suite " suite ": " what)
	failed++
}

function finish() {
	if (name == "")
		return
	if (!ended)
		fault("did not end")
	else if (status != 0 && !bad)
		fault("ended with status " status, remarks)
	if (planned < 0)
		fault("announced no plan")
	else if (planned != seen)
		fault(planned " tests planned, " seen " run")
	else if (!seen && !skipall)
		fault("ran no test")
	if (!bad)
		printf "ok   %-30s %4d\n", name, seen
	printf "%s", figures
	figures = ""
	name = ""
	fflush()
}

{ sub(/\r$/, "") }

/^# begin / {
	finish()
	name = $3
	planned = -1
	seen = bad = status = ended = skipall = remarks = 0
	next
}

/^# end / {
	ended = 1
	status = $4
	finish()
	next
}

/^# suite / {
	finish()
	ended_suites[$3] = 1
	if ($4 != 0 && failed == blamed)
		blame($3, "ended with status " $4)
	blamed = failed
	next
}

/^1\.\.[0-9]+/ {
	planned = substr($1, 4) + 0
	if (planned == 0 && /# *[Ss][Kk][Ii][Pp]/) {
		skipall = 1
		skipped++
		print "skip " name ": " $0
	}
	next
}

/^ok / {
	seen++
	if (/# *[Ss][Kk][Ii][Pp]/) {
		skipped++
		print "skip " name ": " $0
	} else {
		passed++
	}
	remarks = 0
	next
}

/^not ok / {
	seen++
	failed++
	bad++
	complain(name ": " $0)
	for (i = 1; i <= remarks; i++)
		complain(held[i])
	remarks = 0
	next
}

/^Bail out!/ {
	fault($0)
	next
}

/^# figure: / {
	figures = figures "  " substr($0, 11) "\n"
	next
}

# Counts of lines that were run, for coverage.sh.
/^# gcda / { next }

# Remarks may come before the result that they explain, or after it.
/^#/ {
	if (bad)
		complain("  " $0)
	if (remarks == 60)
		remarks = 0
	held[++remarks] = "  " $0
}

END {
	finish()
	n = split(suites, awaited, " ")
	for (i = 1; i <= n; i++)
		if (!(awaited[i] in ended_suites))
			blame(awaited[i], "did not come to its end")
	if (failed)
		printf "-- what failed\n%s", complained
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed != 0 || skipped != 0 || passed == 0
}
