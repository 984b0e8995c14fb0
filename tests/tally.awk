# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the TAP of many programs, each between "# begin NAME [ARGUMENT]..." and "# end NAME STATUS".
# Prints a line for each program and for each failure. At the end it prints the failures again, the
# commands that run them again, and "N passed, N failed, N skipped". A program fails as a whole, in
# addition to its tests, if it ran no test or fewer than it planned, if its status is not 0, or if
# its shell has not found a command.
# Lines "# figure: ..." are always printed.
#
# "# begin-check NAME" replaces "# begin" where run.sh cannot run NAME alone: for a check of a
# guest, or of a build for it. "# begin-cases NAME" replaces it where run.sh can run each test of the
# program alone, by the name before the first colon of its line.
#
# The output of a suite is between "# suite-begin NAME" and "# suite NAME STATUS". Each suite in the
# variable "suites" must have come to its end: otherwise the tests of a killed suite would be
# missing without a failure. The variable "settings" has the settings of the tests, "SEED=1".
#
# The exit status is 0 only if no test failed and none was skipped: the guests have all that the
# tests need.

BEGIN {
	# At most so many remarks for one failure, and lines of remarks in the summary: a guest
	# that crashes prints more than a reader needs.
	most = 60
	enough = 400
}

# Prints a line of a failure, and keeps it for the summary at the end.
function complain(line) {
	print line
	complained = complained line "\n"
}

function remark(line) {
	print line
	if (remarked++ < enough)
		complained = complained line "\n"
}

# The last remarks before a failure, oldest first.
function explain(	i) {
	for (i = remarks > most ? remarks - most : 0; i < remarks; i++)
		remark(held[i % most])
	remarks = 0
}

function fault(what) {
	complain("not ok - " name ": " what)
	failed++
	bad++
}

# A failure of a suite as a whole.
function blame(suite, what) {
	complain("not ok - suite " suite ": " what)
	again(suite, "")
	failed++
}

# Prints the command that runs a program of a suite again, or the whole suite.
function again(suite, program) {
	complain("  again: " settings (program == "" ? "" : "ONLY=\"" program "\" ") \
		"tests/run.sh " suite)
}

# "device/stress 2 8000" is "stress:2:8000" for run.sh's ONLY.
function only(command) {
	sub(/^[^ ]*\//, "", command)
	gsub(/ /, ":", command)
	return command
}

# The case of "not ok 3 - hashbelt_wheel.expires: wide" is "hashbelt_wheel.expires".
function case_of(line) {
	sub(/^not ok [0-9]+ - /, "", line)
	sub(/:.*/, "", line)
	return line
}

# Adds a word to a list of words that does not have it yet.
function join(list, word) {
	if (list == "" || list == word)
		return word
	return index(" " list " ", " " word " ") ? list : list " " word
}

function finish() {
	if (name == "")
		return
	if (!ended)
		fault("did not end")
	else if (status != 0 && !bad)
		fault("ended with status " status)
	if (bad)
		explain()
	if (planned < 0)
		fault("announced no plan")
	else if (planned != seen)
		fault(planned " tests planned, " seen " run")
	else if (!seen && !skipall)
		fault("ran no test")
	if (!bad)
		printf "ok   %-30s %4d\n", name, seen
	else
		again(running, command)
	printf "%s", figures
	figures = ""
	name = ""
	fflush()
}

function start(what) {
	finish()
	name = what
	command = ""
	cases = 0
	planned = -1
	seen = bad = status = ended = skipall = remarks = telling = 0
}

{ sub(/\r$/, "") }

/^# begin / {
	start($3)
	command = only(substr($0, 9))
	next
}

/^# begin-check / {
	start($3)
	next
}

/^# begin-cases / {
	start($3)
	cases = 1
	next
}

/^# end / {
	ended = 1
	status = $4
	finish()
	next
}

/^# suite-begin / {
	finish()
	running = $3
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
	remarks = telling = 0
	next
}

/^not ok / {
	seen++
	failed++
	bad++
	if (cases)
		command = join(command, case_of($0))
	complain(name ": " $0)
	explain()
	telling = most
	next
}

/^Bail out!/ {
	fault($0)
	explain()
	next
}

# A shell goes on without a command that it has not found, and what that was to check is not checked.
/^[^ ]+: (line )?[0-9]+: [^ ]+: (command )?not found$/ {
	fault($0)
	next
}

/^# figure: / {
	figures = figures "  " substr($0, 11) "\n"
	next
}

# Counts of lines, for coverage.sh.
/^# gcda / { next }

# A remark explains the next result, or the failure before it.
/^#/ {
	if (telling) {
		telling--
		remark("  " $0)
	} else {
		held[remarks++ % most] = "  " $0
	}
}

END {
	finish()
	n = split(suites, awaited, " ")
	for (i = 1; i <= n; i++)
		if (!(awaited[i] in ended_suites))
			blame(awaited[i], "did not come to its end")
	if (failed)
		printf "-- what failed\n%s", complained
	if (settings != "")
		printf "with %s\n", settings
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed != 0 || skipped != 0 || passed == 0
}
