# SPDX-License-Identifier: GPL-2.0-only
#
# json.awk - check that each line is a JSON object by RFC 8259, without a duplicate key.
# Prints every error; the exit status is 0 if there is no error and at least one line.

function wrong(what) {
	printf "line %d, from '%s': %s\n", NR, substr(line, at, 20), what
	failed = 1
}

function skip_space() {
	while (substr(line, at, 1) ~ /^[ \t]$/)
		at++
}

# take(CHARACTER) - skip the next character if it is this one, and return 1; else return 0
function take(c) {
	skip_space()
	if (substr(line, at, 1) != c)
		return 0
	at++
	return 1
}

# text() - skip a string and return its source text
function text(    begin, c) {
	if (!take("\"")) {
		wrong("no string")
		return ""
	}
	begin = at
	for (; !failed && (c = substr(line, at, 1)) != "\""; at++) {
		if (c == "")
			wrong("a string does not end")
		else if (c ~ /^[\001-\037]$/)
			wrong("a control character in a string")
		else if (c != "\\")
			continue
		else if (substr(line, at + 1, 5) ~ /^u[0-9a-fA-F][0-9a-fA-F][0-9a-fA-F][0-9a-fA-F]/)
			at += 5
		else if (substr(line, at + 1, 1) ~ /^["\\\/bfnrt]$/)
			at++
		else
			wrong("an unknown escape")
	}
	at++
	return substr(line, begin, at - begin - 1)
}

function object(    key, seen) {
	split("", seen)
	if (take("}"))
		return
	do {
		key = text()
		if (key in seen)
			wrong("'" key "' is there twice")
		seen[key]
		if (!take(":"))
			wrong("no colon")
		value()
	} while (!failed && take(","))
	if (!failed && !take("}"))
		wrong("an object does not end")
}

function array() {
	if (take("]"))
		return
	do
		value()
	while (!failed && take(","))
	if (!failed && !take("]"))
		wrong("an array does not end")
}

function value() {
	skip_space()
	if (failed)
		return
	if (substr(line, at, 1) == "\"")
		text()
	else if (take("{"))
		object()
	else if (take("["))
		array()
	else if (match(substr(line, at), /^(true|false|null)/))
		at += RLENGTH
	else if (match(substr(line, at), /^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/))
		at += RLENGTH
	else
		wrong("no value")
}

{
	line = $0
	at = 1
	if (!take("{"))
		wrong("no object")
	else
		object()
	skip_space()
	if (!failed && at <= length(line))
		wrong("more behind the object")
	if (failed)
		exit
}

END {
	if (!NR)
		print "there is no line"
	exit failed || !NR
}
