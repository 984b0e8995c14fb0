// SPDX-License-Identifier: GPL-2.0-only
/* words_test - a line of a batch is split into the words that a shell would make of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "words.h"

/* The words of a line, each with a | behind it; or what is wrong with the line. */
static const struct words_case {
	const char *line;
	const char *words;
} cases[] = {
	{ "", "" },
	{ "  \t ", "" },
	{ "# put a 1", "" },
	{ "put a 1", "put|a|1|" },
	{ "\tput  a\t1  ", "put|a|1|" },
	{ "put a 1 # as in a shell", "put|a|1|" },
	{ "put a#b 1#", "put|a#b|1#|" },
	{ "put 'a key' 'it''s'", "put|a key|its|" },
	{ "put 'a\\b$`\"#' 1", "put|a\\b$`\"#|1|" },
	{ "put \"a key\" \"\"", "put|a key||" },
	{ "put \"a\\\"b\\\\c\\$d\\`e\" 1", "put|a\"b\\c$d`e|1|" },
	{ "put \"a\\tb' #\" 1", "put|a\\tb' #|1|" },
	{ "put a\\ key \\\\ \\' \\\" \\$ \\#", "put|a key|\\|'|\"|$|#|" },
	{ "rm --match user/[0-9]*? ~ {a,b} x=1", "rm|--match|user/[0-9]*?|~|{a,b}|x=1|" },
	{ "put 'a", "a ' is not closed" },
	{ "put \"a", "a \" is not closed" },
	{ "put \"a\\\"", "a \" is not closed" },
	{ "put a \\", "a backslash ends the line, and no line goes on in the next" },
	{ "put \"a$b\"", "$ and ` have no meaning here: quote them with ' or a backslash" },
	{ "put \"`a`\"", "$ and ` have no meaning here: quote them with ' or a backslash" },
	{ "put a $b", "one of $`;&|<>() has no meaning here: quote it with ' or a backslash" },
	{ "put a b; c", "one of $`;&|<>() has no meaning here: quote it with ' or a backslash" },
	{ "put a b>c", "one of $`;&|<>() has no meaning here: quote it with ' or a backslash" },
};

static void test_line(const struct words_case *test)
{
	size_t len = strlen(test->line);
	char *line = strdup(test->line), **words = calloc(len + 1, sizeof(*words));
	char found[256] = "";
	const char *wrong;
	int count, i;

	wrong = words_split(line, len, words, &count);
	for (i = 0; !wrong && i < count; i++)
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s|", words[i]);
	if (!ok(!strcmp(wrong ? wrong : found, test->words) && (wrong || !words[count]),
		"words_split() of \"%s\" finds %s", test->line, test->words))
		note("found %s", wrong ? wrong : found);
	free(words);
	free(line);
}

int main(void)
{
	char line[] = "put a\0b", *words[sizeof(line)];
	int count;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_line(&cases[i]);
	ok(words_split(line, sizeof(line) - 1, words, &count), "words_split() refuses a NUL byte");
	return done_testing();
}
