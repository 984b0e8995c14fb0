# SPDX-License-Identifier: GPL-2.0-only
#
# Reports what tests/run.sh runs, while it runs. Each line of the input is "SUITE<tab>LINE", so that
# suites may run side by side. A LINE is TAP of a program, which is between "# begin NAME [ARGUMENT]..."
# and "# end NAME STATUS", or one of these:
#
#	# suite-begin NAME
#	# suite NAME STATUS [SECONDS PROCESSOR-SECONDS]	the suite has come to its end
#	# all SECONDS PROCESSOR-SECONDS			what all suites took
#	# tick SECONDS			once a second, on a terminal: the time since the run began
#
# Prints a line for each program. Prints a failure at once: the check, its remarks, and the command
# that runs it alone. At the end it prints the failures again, where the time went, and "N passed,
# N failed, N skipped". A program fails as a whole, in addition to its tests, if it ran no test or
# fewer than it planned, if its status is not 0, or if its shell has not found a command.
# Lines "# figure: ..." are always printed, and "# now: ..." at once.
#
# "# begin-check NAME" replaces "# begin" where run.sh cannot run NAME alone: for a check of a
# guest, or of a build for it. "# begin-cases NAME" replaces it where run.sh can run each test of the
# program alone, by the name before the first colon of its line.
#
# Variables:
#	suites		suites that must come to their end: otherwise the tests of a killed suite would be
#			missing without a failure
#	weights		"NAME:SECONDS ...", the processor time that each suite is expected to take
#	workers		suites that run at a time
#	columns		of the terminal on which one line shows what runs and how much is left; 0: none
#	size		"--short " where suites run in the sizes of "make test", as an argument of run.sh
#	settings	the settings of the tests, "SEED=1 "
#
# The exit status is 0 only if no test failed and none was skipped: the guests have all that the
# tests need.

BEGIN {
	FS = "[ \t]"
	# At most so many remarks for one failure, and lines of remarks in the summary: a guest
	# that crashes prints more than a reader needs.
	most = 60
	enough = 400
	awaiting = split(suites, awaited, " ")
	n = split(weights, rows, " ")
	for (i = 1; i <= n; i++) {
		split(rows[i], row, ":")
		weight[row[1]] = row[2]
	}
}

# Prints a line above the line of the terminal that shows what runs.
function say(line) {
	if (drawn)
		printf "\r\033[K"
	drawn = 0
	print line
	fflush()
}

# Keeps a line for the summary at the end.
function keep(line) {
	complained[at] = complained[at] line "\n"
}

function complain(line) {
	say(line)
	keep(line)
}

function remark(line) {
	say(line)
	if (remarked++ < enough)
		keep(line)
}

# Prints the last remarks before a failure, oldest first.
function explain(	i) {
	for (i = remarks[at] > most ? remarks[at] - most : 0; i < remarks[at]; i++)
		remark(held[at, i % most])
	remarks[at] = 0
}

# A failure of a program as a whole.
function fault(what) {
	complain("not ok - " name[at] ": " what)
	failed++
	bad[at]++
}

# A failure of a suite as a whole.
function blame(suite, what) {
	at = suite
	complain("not ok - suite " suite ": " what)
	complain(command_for(suite, ""))
	failed++
}

# The command that runs a program of a suite again, or the whole suite.
function command_for(suite, program) {
	return "  again: " settings (program == "" ? "" : "ONLY=\"" program "\" ") \
		"tests/run.sh " size suite
}

# Tells once for each program or case, when it fails first, how to run it alone.
function tell(program) {
	if ((at, name[at], program) in told)
		return
	told[at, name[at], program] = 1
	say(command_for(at, program))
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

# Ends the program that the suite has run last.
function finish() {
	if (name[at] == "")
		return
	if (!ended[at])
		fault("did not end")
	else if (status[at] != 0 && !bad[at])
		fault("ended with status " status[at])
	if (bad[at])
		explain()
	if (planned[at] < 0)
		fault("announced no plan")
	else if (planned[at] != seen[at])
		fault(planned[at] " tests planned, " seen[at] " run")
	else if (!seen[at] && !skipall[at])
		fault("ran no test")
	if (!bad[at]) {
		say(sprintf("ok   %-30s %4d", name[at], seen[at]))
	} else {
		tell(command[at])
		keep(command_for(at, command[at]))
	}
	if (figures[at] != "")
		say(figures[at])
	figures[at] = ""
	name[at] = ""
}

function start(what) {
	finish()
	name[at] = what
	command[at] = ""
	cases[at] = 0
	planned[at] = -1
	seen[at] = bad[at] = status[at] = ended[at] = skipall[at] = remarks[at] = telling[at] = 0
}

# "75 s" or "4 min".
function about(seconds) {
	return seconds < 100 ? int(seconds + 0.5) " s" : int(seconds / 60 + 0.5) " min"
}

# Shows on one line of the terminal what runs, and how much is left.
function draw(now,	i, suite, left, done, what, line) {
	for (i = 1; i <= awaiting; i++) {
		suite = awaited[i]
		if (suite in ended_suites) {
			done++
		} else if (suite in since) {
			what = what (what == "" ? "" : ", ") suite \
				(name[suite] == "" || name[suite] == suite ? "" : ": " name[suite])
			left += weight[suite] > now - since[suite] ? weight[suite] - (now - since[suite]) : 0
		} else {
			left += weight[suite]
		}
	}
	line = sprintf("%d:%02d, %d of %d stages done, %d failed, about %s left; %s", now / 60, now % 60,
		       done, awaiting, failed, about(left / workers), what)
	printf "\r\033[K%s", substr(line, 1, columns - 1)
	drawn = 1
	fflush()
}

# Tells which five suites took the most time.
function tell_longest(	i, suite, longest, text) {
	for (i = 1; i <= 5; i++) {
		longest = ""
		for (suite in spent)
			if (longest == "" || spent[suite] > spent[longest])
				longest = suite
		if (longest == "")
			break
		text = text (i == 1 ? "" : ", ") longest " " spent[longest]
		delete spent[longest]
	}
	if (i > 2)
		say("-- the longest stages, in seconds of processor time: " text)
}

{
	sub(/\r$/, "")
	at = $1
	sub(/^[^\t]*\t/, "")
}

/^# tick / {
	now = $3
	draw(now)
	next
}

/^# begin / {
	start($3)
	command[at] = only(substr($0, 9))
	next
}

/^# begin-check / {
	start($3)
	next
}

/^# begin-cases / {
	start($3)
	cases[at] = 1
	next
}

/^# end / {
	ended[at] = 1
	status[at] = $4
	finish()
	next
}

/^# suite-begin / {
	since[at] = now + 0
	if (!columns)
		say("-- " at)
	next
}

/^# suite / {
	finish()
	ended_suites[at] = 1
	if ($4 != 0 && complained[at] == "")
		blame(at, "ended with status " $4)
	if (NF > 4) {
		spent[at] = $6
		say("-- " at " ended after " $5 " s, " $6 " s of processor time")
	}
	next
}

/^# all / {
	all = sprintf("-- all ended after %d s, %d s of processor time", $3, $4)
	next
}

/^1\.\.[0-9]+/ {
	planned[at] = substr($1, 4) + 0
	if (planned[at] == 0 && /# *[Ss][Kk][Ii][Pp]/) {
		skipall[at] = 1
		skipped++
		say("skip " name[at] ": " $0)
	}
	next
}

/^ok / {
	seen[at]++
	if (/# *[Ss][Kk][Ii][Pp]/) {
		skipped++
		say("skip " name[at] ": " $0)
	} else {
		passed++
	}
	remarks[at] = telling[at] = 0
	next
}

/^not ok / {
	seen[at]++
	failed++
	bad[at]++
	if (cases[at])
		command[at] = join(command[at], case_of($0))
	complain(name[at] ": " $0)
	explain()
	tell(cases[at] ? case_of($0) : command[at])
	telling[at] = most
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
	figures[at] = figures[at] (figures[at] == "" ? "" : "\n") "  " substr($0, 11)
	next
}

/^# now: / {
	say("-- " at ": " substr($0, 8))
	next
}

# Counts of lines, for coverage.sh.
/^# gcda / { next }

# A remark explains the next result, or the failure before it.
/^#/ {
	if (telling[at]) {
		telling[at]--
		remark("  " $0)
	} else {
		held[at, remarks[at]++ % most] = "  " $0
	}
}

END {
	for (i = 1; i <= awaiting; i++) {
		at = awaited[i]
		finish()
		if (!(at in ended_suites))
			blame(at, "did not come to its end")
	}
	if (failed) {
		say("-- what failed")
		for (i = 1; i <= awaiting; i++)
			printf "%s", complained[awaited[i]]
	}
	tell_longest()
	if (all != "")
		say(all)
	if (settings != "")
		printf "with %s\n", settings
	printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
	exit failed != 0 || skipped != 0 || passed == 0
}
