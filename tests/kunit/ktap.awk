# SPDX-License-Identifier: GPL-2.0-only
#
# awk -v nonce=N -f ktap.awk SUITES LOG - what KUnit said, as a flat TAP.
#
# SUITES has the last line of each suite's results in debugfs, LOG is the
# kernel's log. There is a line for each case, or for each parameter of a case
# that has parameters, and for each error of a suite or a case as a whole. Kernel
# messages of a case precede its "not ok" as comments.
#
# The exit status is 0 if at least one case ran and none failed.

function point(status, name, directive) {
	gsub(/#/, "\\#", name)
	total++
	if (status != "ok")
		failed++
	else if (directive == "")
		passed++
	output = output (status == "ok" ? "" : said) \
		status " " total " - " name directive "\n"
	forget()
}

# A dying kernel may print much: 50 lines are kept here, and all in the log.
function hear(line) {
	if (++heard <= 50)
		said = said "# " line "\n"
	else if (heard == 51)
		said = said "# ...\n"
}

function forget() {
	said = ""
	heard = 0
}

function wrong(what) {
	point("not ok", what, "")
}

# The name after "ok N " or "not ok N ".
function name(line) {
	sub(/^ *(not )?ok [0-9]+ /, "", line)
	sub(/^- /, "", line)
	sub(/ # SKIP.*/, "", line)
	return line
}

function status(line) {
	return line ~ /^ *not ok/ ? "not ok" : "ok"
}

function directive(line) {
	return match(line, / # SKIP.*/) ? substr(line, RSTART) : ""
}

function start_suite(line) {
	sub(/^ *# Subtest: /, "", line)
	if (suite != "")
		wrong(suite ": did not finish")
	suite = line
	planned = -1
	cases = bad = 0
	testcase = ""
	forget()
}

function start_parameters(line) {
	sub(/^ *# Subtest: /, "", line)
	testcase = line
	parameters = bad_parameters = 0
}

function end_parameter(line) {
	parameters++
	if (status(line) != "ok")
		bad_parameters++
	point(status(line), suite "." testcase ": " name(line), "")
}

function end_case(line,    parametrised) {
	cases++
	parametrised = testcase != "" && testcase == name(line)
	if (status(line) != "ok")
		bad++
	if (!parametrised)
		point(status(line), suite "." name(line), directive(line))
	else if (status(line) != "ok" && !bad_parameters)
		wrong(suite "." name(line))
	else if (!parameters)
		wrong(suite "." name(line) ": no parameters")
	testcase = ""
	forget()
}

function end_suite(line) {
	if (suite == "")	# it could not even start
		suite = name(line)
	else if (planned <= 0)
		wrong(suite ": no cases")
	else if (cases != planned)
		wrong(suite ": " cases " of " planned " cases ran")
	if (status(line) != "ok" && !bad)
		wrong(suite ": failed as a whole")
	finished[suite] = 1
	suite = ""
	forget()
}

FILENAME == ARGV[1] {
	expected[name($0)] = status($0)
	next
}

{ sub(/^\[ *[0-9]+\.[0-9]+\] /, "") }
$0 == "kunit: " nonce " starts" { inside = 1; next }
$0 == "kunit: " nonce " ends" { inside = 0; ended = 1 }
!inside { next }

/^    # Subtest: / { start_suite($0); next }
/^        # Subtest: / { start_parameters($0); next }
/^    1\.\.[0-9]+$/ && planned == -1 { planned = substr($0, 8) + 0; next }
/^        (not )?ok [0-9]+ / && testcase != "" { end_parameter($0); next }
/^    (not )?ok [0-9]+ / && suite != "" { end_case($0); next }
/^(not )?ok [0-9]+ / { end_suite($0); next }
/^ *KTAP version / || /^ *1\.\.[0-9]+$/ { next }
{ hear($0) }

END {
	if (suite != "")
		wrong(suite ": did not finish")
	for (suite in expected) {
		if (!(suite in finished))
			wrong(suite ": missing from the kernel's log")
		else if (expected[suite] != "ok" && !failed)
			wrong(suite ": failed, says debugfs")
	}
	printf "TAP version 13\n1..%d\n%s", total, output
	exit !(ended && passed && !failed)
}
