#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# words.t - words.awk prints each line that breaks a rule of writing, and no other.
set -u
unset CDPATH

tests=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/result.sh
. "$tests/result.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# finds FILE LINES DESCRIPTION TEXT - of a FILE with this TEXT, the lines with these numbers are
# printed as "FILE:LINE: TEXT"; "" for none.
finds() {
	printf '%s\n' "$4" >"$1"
	for line in $2; do
		printf '%s:%s: ' "$1" "$line"
		sed -n "$line{s/^[[:blank:]]*//;p}" "$1"
	done >expected
	awk -f "$tests/words.awk" "$1" >found 2>&1
	diff expected found >difference
	result $? "$3" difference
}

for word in he Him HIS she her whoever; do
	finds a.c 1 "the word $word is printed" "/* If $word waits. */"
done
finds a.c '' 'a longer word that contains "he" is not printed' '/* The others, there; the_he, he_said */'
finds a.sh '' 'the end of a path is not printed' 'complete /tmp/he'
finds a.c 1 '"own affair" is printed' '	 * That is its Own affair.'

# Comments
finds a.c 1 'a comment on one line that begins with What is printed' '/* What is left. */'
finds a.c 1 'a comment behind code that begins with Who is printed' '	int owner; /* Who has it */'
finds a.c 1 'a comment behind // that begins with What is printed' '// What is left'
finds a.sh 1 'a comment behind # that begins with Who is printed' '# Who waits is told.'
finds a.sh 1 'a comment behind code and # that begins with What is printed' 'wait	# What is left'
finds a.sql 1 'a comment behind -- that begins with What is printed' 'select 1; -- What is left'
finds a.litmus 1 'a comment of a litmus test that begins with Who is printed' '(* Who finds it reads it *)'
finds a.1 1 'a comment of a manual page that begins with What is printed' '.\" What is left'
finds a.c 2 'a block comment that begins with What is printed' '/*
 * What is left
 * is freed.
 */'
finds a.c 4 'the second paragraph of a block comment is printed' '/**
 * A heading.
 *
 * What is left is freed.
 */'
finds a.sh 3 'the second paragraph of a comment behind # is printed' '# A heading.
#
# What is left is freed.'
finds a.sh 2 'a comment behind the line with the licence is printed' "# SPDX""-License-Identifier: GPL-2.0
# What is left"
finds a.c '3 4' 'kernel-doc of an argument that begins with what or Who is printed' '/**
 * free_entry() - free
 * @entry:	what is freed
 * @owner: Who has it
 */'
finds a.c 2 'the short description of a function that begins with What is printed' '/**
 * bytes() - What an entry takes
 */'
finds a.c '' 'a line inside a paragraph may begin with what or What' '/*
 * The worker frees
 * what is left.
 * What it frees is counted.
 * @entry:	the caller sets
 * what is freed
 */'
finds a.c '' 'a comment may begin with a word that begins like What' '/* Whatever. Whole. */'

# References
for word in 'As hb_put(), but' 'See hb_put().' 'Likewise, without a lock.'; do
	finds a.c 1 "a comment that begins with ${word%%[ ,]*} is printed" "/* $word */"
done
finds a.c 2 'a block comment that begins with See is printed' '/*
 * See hb_put().
 */'
finds a.sh 1 'a comment behind # that begins with As is printed' '# As in the other case'
finds a.c 1 'a comment behind code that begins with As is printed' '	x++; /* As above */'
finds a.c 2 'kernel-doc of an argument that begins with likewise is printed' '/**
 * @min:	likewise
 */'
finds a.c 1 'a comment with "Return: as" is printed' '/* Puts. Return: as hb_put(). */'
finds a.c '1 3' 'sentences of comments that begin with Returns are printed' '/* Puts. Returns 0. */
/*
 * Returns 0.
 */'
finds a.c '' 'a comment may have as, see, likewise and returns' '/*
 * A task may see it as
 * As in a list, the put returns 0, likewise the get.
 */
ok(1, "Returns 0");
/* Assets. Seed. Return: 0 */'

# Strings
finds a.c 1 'a string that begins with What is printed' '	ok(x, "What is put is read back");'
finds a.sh 1 'a string between single quotation marks is printed' "check 'Who waits is told'"

# Prose
finds a.md '3 5' 'paragraphs of Markdown that begin with What or Who are printed' '# Heading

What is left is freed.

Who waits is told.
Who puts is not.'
finds a.md '1 2 3' 'items of lists in Markdown are printed' '- What is left
* **Who** waits
1. What is put'
finds a.md 3 'a cell of a table in Markdown is printed' '| a | b |
| --- | --- |
| x | What is left |'
finds a.md '' 'a heading of Markdown may begin with What' '## What a hostile user meets'
finds a.1 '2 4' 'paragraphs of a manual page are printed' '.Pp
What is left is freed.
.It Fl -mode
Who may read.'
finds a.1 '' 'a line inside a paragraph of a manual page may begin with What' '.Pp
A group, in
.Pa /etc/group .
What is not there is refused.'

# Questions
finds a.c '' 'questions in comments and strings are not printed' '/* What is left? */
/*
 * Who has it? The caller.
 *
 * What is left of it when the
 * worker is done?
 */
puts("What is left?"); // Who knows?'
finds a.sh '' 'a question behind # that goes on in the next line is not printed' '# What is left
# of it?'
finds a.md '' 'questions in Markdown are not printed' 'What is left
of it? Nothing.

- Who waits?

| What for? | Who? |'
finds a.1 '' 'a question in a manual page is not printed' '.Pp
What is left?'
finds a.c 1 'a statement before a question is printed' '/* What is left is freed. When? */'
finish
