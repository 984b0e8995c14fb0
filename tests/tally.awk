# SPDX-License-Identifier: GPL-2.0
#
# Reads TAP of many programs, each between "# begin NAME" and "# end NAME STATUS",
# prints a line for each program and all that failed, and in the end
# "N passed, N failed, N skipped". A program fails as a whole, beside its own
# tests, if it did not run as many tests as it planned, or none, or ended badly.
# Exit status 0 only if nothing failed.

function fault(what) {
	print "not ok - " name ": " what
	failed++
	bad++
}

function finish() {
	if (name == "")
		return
	if (!ended)
		fault("did not end")
	else if (status != 0 && !bad)
		fault("ended with status " status)
	if (planned < 0)
		fault("announced no plan")
	else if (planned != seen)
		fault(planned " tests planned, " seen " run")
	else if (!seen && !skipall)
		fault("ran no test")
	if (!bad)
		printf "ok   %-30s %4d\n", name, seen
	name = ""
	fflush()
}

{ sub(/\r$/, "") }

/^# begin / {
	finish()
	name = $3
	planned = -1
	seen = bad = status = ended = skipall = 0
	next
}

/^# end / {
	ended = 1
	status = $4
	finish()
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
	held = ""
	next
}

/^not ok / {
	seen++
	failed++
	bad++
	print name ": " $0
	if (held != "")
		printf "%s", held
	held = ""
	next
}

/^Bail out!/ {
	fault($0)
	next
}

# Remarks may come before the result that they explain, or after it.
/^#/ {
	if (bad)
		print "  " $0
	held = held "  " $0 "\n"
	if (length(held) > 4000)
		held = ""
}

END {
	finish()
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed != 0 || passed == 0
}
