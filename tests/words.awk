# SPDX-License-Identifier: GPL-2.0-only
#
# Prints "FILE:LINE: TEXT" for each line of its input files that breaks a rule of writing:
#
# - a word that makes a person the actor (he, him, his, she, her, whoever) and is no part of a
#   path; or "own affair";
# - a comment, paragraph, table cell or string that begins with "Who" or "What" and asks nothing;
# - a comment that begins with "As", "Likewise" or "See", or says "Return: as", so that a reader has
#   to look elsewhere first;
# - a comment of C whose sentence begins with "Returns": the word is "Return:", as in kernel-doc.
#
# Paragraphs begin after the opening of a comment, after an empty line, and at a bullet of Markdown.
# A description behind "@argument:" may begin with a small letter. A line inside of a paragraph
# may begin with any word.

BEGIN {
	word = "(^|[^a-z0-9_/])(he|him|his|she|her|whoever)([^a-z0-9_]|$)"
	opens = "^[*_\"]*(Who|What)[*_]*[ \t]"
	leader = "^[ \t]*(/\\*+|\\(\\*|\\*+\\)?|//|#+|\\.\\\\\")"
	behind_code = "(/\\*+|//|\\(\\*|[ \t]#+|[ \t]--)[ \t]+(Who|What)[ \t]"
	refers = "^(As|Likewise|See)[ ,.:;]"
	argument_refers = "^@[^ \t]*:[ \t]+([Ll]ikewise|[Ss]ee)([ ,.:;]|$)"
	code_refers = "(/\\*+|//|[ \t]#+)[ \t]+(As|Likewise|See)[ ,.:;]"
}

function complain(where, line) {
	if (where in complained)
		return
	complained[where] = 1
	sub(/^[ \t]+/, "", line)
	print where ": " line
}

# Whether the first sentence of the text ends in a question mark.
function is_question(text) {
	sub(/[ \t]*\*[\/)].*/, "", text)
	if (!match(text, /[.?!][*_"')]*([ \t|]|$)/))
		return 0
	return substr(text, RSTART, 1) == "?"
}

# begin TEXT - the first sentence may go on in the lines that follow.
function begin(text) {
	finish()
	pending = text
	place = FILENAME ":" FNR
	first = $0
}

function finish() {
	if (pending != "" && !is_question(pending))
		complain(place, first)
	pending = ""
}

# "What ..." between quotation marks.
function look_at_strings(line,	text, mark) {
	while (match(line, /["'](Who|What) /)) {
		mark = substr(line, RSTART, 1)
		text = substr(line, RSTART + 1)
		line = text
		if (index(text, mark))
			text = substr(text, 1, index(text, mark) - 1)
		if (!is_question(text))
			complain(FILENAME ":" FNR, $0)
	}
}

# Inside is whether the line before belongs to a paragraph that goes on here.
function look_at_code(	text, comment) {
	comment = $0 ~ leader
	text = $0
	sub(leader "[ \t]*", "", text)
	if (!comment || text == "" || $0 ~ /^[ \t]*(\/\*|\(\*)/) {
		inside = 0
		finish()
	}
	if (pending != "")
		pending = pending " " text
	if (comment ? (!inside && text ~ refers) || text ~ argument_refers : $0 ~ code_refers)
		complain(FILENAME ":" FNR, $0)
	if (is_c && comment && text ~ /(^|[.;:)*] )(Returns( |$)|Return: as )/)
		complain(FILENAME ":" FNR, $0)
	if (!comment && match($0, behind_code)) {
		text = substr($0, RSTART)
		sub(/^[^W]*/, "", text)
		begin(text)
		finish()
	} else if (comment && text ~ /^@[^ \t]*:[ \t]+[Ww]h(o|at)[ \t]/) {
		sub(/^@[^ \t]*:[ \t]+/, "", text)
		begin(text)
	} else if (comment && !inside && text ~ opens) {
		begin(text)
	} else if (comment && !inside && text ~ /^[^.:;]* - (Who|What)[ \t]/) {
		sub(/^.* - /, "", text)
		begin(text)
	}
	inside = comment && text != "" && !/SPDX-|^#!/
	if (/\*[\/)][ \t]*$/) {
		inside = 0
		finish()
	}
	look_at_strings($0)
}

function look_at_markdown(	text, cells, i) {
	text = $0
	sub(/^[ \t>]+/, "", text)
	if (text == "" || text ~ /^(#|<!--|```)/) {
		inside = 0
		finish()
		return
	}
	if (text ~ /^\|/) {
		cells = split(text, cell, "|")
		for (i = 1; i <= cells; i++) {
			sub(/^[ \t]+/, "", cell[i])
			if (cell[i] ~ opens)
				begin(cell[i])
			finish()
		}
		inside = 0
		return
	}
	if (sub(/^([-*+]|[0-9]+[.)])[ \t]+/, "", text)) {
		inside = 0
		finish()
	}
	if (pending != "")
		pending = pending " " text
	else if (!inside && text ~ opens)
		begin(text)
	inside = 1
}

# Requests that name a word, such as .Fl, do not end a paragraph.
function look_at_manual(	text) {
	text = $0
	if (text == "" || /^\.(\\"|$)/ || /^\.(It|Pp|Sh|Ss|Bd|Ed|Bl|El|PP|TP|IP|SH|SS)([ \t]|$)/) {
		finish()
		inside = 0
		if (!sub(/^\.\\"[ \t]*/, "", text))
			return
	}
	if (pending != "")
		pending = pending " " text
	else if (!inside && text ~ opens)
		begin(text)
	inside = $0 !~ /^\.\\" SPDX/
}

FNR == 1 {
	finish()
	inside = 0
	markdown = FILENAME ~ /\.md$/
	manual = FILENAME ~ /\.[1-9]$/
	is_c = FILENAME ~ /\.[ch]$/
}

tolower($0) ~ word || tolower($0) ~ /own affair/ { complain(FILENAME ":" FNR, $0) }

{
	if (markdown)
		look_at_markdown()
	else if (manual)
		look_at_manual()
	else
		look_at_code()
}

END { finish() }
