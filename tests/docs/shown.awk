# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the commands that a Markdown document, or the EXAMPLES of a manual page, shows, each with
# the kind of test that runs it:
#
#	guest		a line that begins with "$ ": commands.t, in a guest. Lines that follow it and
#			do not begin with "$ " are its output.
#	manual		a block of EXAMPLES: commands.t, too
#	store		a block of EXAMPLES that uses a database: tests/store/manual.t
#	models		a line that uses the trail of a model: tests/models/trail.t
#	tests		a line that runs tests or checks. Such commands are what CI and developers run;
#			links.t checks their targets, scripts, suites and names of programs.
#	machine		any other line: install.t, in a copy of this machine, and in a guest what needs
#			the module
#	boot		a line of docs/packages.md: tests/packages/boot.t; or another of docs/hardening.md:
#			tests/packages/secureboot.t
#	confined	a line of docs/hardening.md or docs/hbserve.md that begins with "$ ": the tests of
#			tests/confined, on a Debian with systemd
#	unknown		a fenced block of Markdown that has no kind, or a command in a fenced block.
#			No test runs it: links.t fails.
#
# A block of Markdown that is indented by four spaces or a tab has commands only. A fenced block is
# no command, and names its kind: ```c is source, ```text is output, pseudo code or a picture, and
# ```python is source that tests/python/documents_test.py runs.
#
# The output has lines "KIND<tab>LINE<tab>COMMAND", then "+<tab>TEXT" for each further line of the
# command, and "=<tab>TEXT" for each line of its output. The variable "kinds", if it is set, selects
# kinds: "guest manual". Comments behind a command of the last four kinds are removed.

function kind_of(command) {
	if (command ~ /\.cache\/build\/models\//)
		return "models"
	if (command ~ /^([A-Z]+=("[^"]*"|[^ ]*) )*tests\/((kunit|models|mutation)\/)?run\.sh( |$)/)
		return "tests"
	if (FILENAME ~ /(^|\/)(packages|hardening)\.md$/)
		return "boot"
	if (command ~ /^make (quick|check|findings|test|test-[a-z]+|soak)( |$)/)
		return "tests"
	return "machine"
}

function show(kind, line, command) {
	chosen = kinds == "" || index(" " kinds " ", " " kind " ")
	if (chosen)
		print kind "\t" line "\t" command
}

# A line of a block that is indented.
function look_at_command(	line) {
	line = $0
	sub(/^(    |\t)/, "", line)
	if (!inside)
		prompts = line ~ /^\$ /
	inside = 1
	if (sub(/^\$ /, "", line)) {
		show(FILENAME ~ /(^|\/)(hardening|hbserve)\.md$/ ? "confined" : "guest", FNR, line)
	} else if (prompts) {
		if (chosen)
			print "=\t" line
	} else {
		sub(/[ \t]+#.*/, "", line)
		show(kind_of(line), FNR, line)
	}
}

FNR == 1 { inside = fenced = examples = block = 0; before = "" }

FILENAME ~ /\.[1-9]$/ {
	if (/^\.Sh /) {
		examples = /^\.Sh EXAMPLES/
	} else if (examples && /^\.Bd/) {
		block = 1
		text = ""
	} else if (examples && /^\.Ed/) {
		block = 0
		show(text ~ /--store/ ? "store" : "manual", first, text)
	} else if (block) {
		if (text == "")
			first = FNR
		line = $0
		gsub(/\\e/, "\\", line)
		text = text (text == "" ? "" : "\n+\t") line
	}
	next
}

/^[ \t]*(```|~~~)/ {
	fenced = !fenced
	if (fenced && $0 !~ /^```(c|text)$/ && (FILENAME !~ /python\.md$/ || $0 != "```python"))
		show("unknown", FNR, $0)
	inside = 0
	next
}

fenced {
	if (/^[ \t]*\$ /)
		show("unknown", FNR, $0)
	next
}

/^(    |\t)/ && (inside || before == "") { look_at_command() }
!/^(    |\t)/ { inside = 0 }
{ before = $0 }
