// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <string.h>

#include "words.h"

/* Characters that are not plain in a shell, outside of quotes and between double ones. */
#define SPECIAL		"$`;&|<>()"
#define SPECIAL_QUOTED	"$`"

#define WRONG_SPECIAL	"one of " SPECIAL " has no meaning here: quote it with ' or a backslash"
#define WRONG_QUOTED	"$ and ` have no meaning here: quote them with ' or a backslash"

/* Characters before which a backslash is removed between double quotes. */
#define ESCAPABLE	"$`\"\\"

/**
 * struct cut - a line that is cut into words, in place
 * @from:	the next character
 * @to:		where the next character of the present word goes
 */
struct cut {
	const char *from;
	char *to;
};

/* Copies the text between single quotes; the first is at @cut->from. */
static const char *take_single(struct cut *cut)
{
	const char *end = strchr(cut->from + 1, '\'');
	size_t len;

	if (!end)
		return "a ' is not closed";
	len = end - cut->from - 1;
	memmove(cut->to, cut->from + 1, len);
	cut->to += len;
	cut->from = end + 1;
	return NULL;
}

/* Copies the text between double quotes; the first is at @cut->from. */
static const char *take_double(struct cut *cut)
{
	for (cut->from++; *cut->from != '"'; cut->from++) {
		if (!*cut->from)
			return "a \" is not closed";
		if (strchr(SPECIAL_QUOTED, *cut->from))
			return WRONG_QUOTED;
		if (*cut->from == '\\' && cut->from[1] && strchr(ESCAPABLE, cut->from[1]))
			cut->from++;
		*cut->to++ = *cut->from;
	}
	cut->from++;
	return NULL;
}

/* Copies the characters of a word up to a blank. */
static const char *take_word(struct cut *cut)
{
	const char *wrong = NULL;

	while (!wrong && *cut->from && !strchr(" \t", *cut->from)) {
		if (*cut->from == '\'') {
			wrong = take_single(cut);
		} else if (*cut->from == '"') {
			wrong = take_double(cut);
		} else if (strchr(SPECIAL, *cut->from)) {
			wrong = WRONG_SPECIAL;
		} else {
			if (*cut->from == '\\')
				cut->from++;
			if (!*cut->from)
				return "a backslash ends the line, and no line goes on in the next";
			*cut->to++ = *cut->from++;
		}
	}
	return wrong;
}

/**
 * words_split() - split a line into words, as a shell would
 * @line:	the line, without its newline and ended by a NUL; the words are in it afterwards
 * @len:	its length
 * @words:	returned: pointers to the words, ended by NULL; room for @len + 1
 * @count:	returned: their number
 *
 * Words are separated by spaces and tabs. A backslash, ' and " quote as in sh(1), and # begins
 * a comment at the beginning of a word. A line with a character that has another meaning in a
 * shell is refused, but for * ? [ ] { } ~ and =, which stand for themselves.
 *
 * Return: NULL; or what is wrong with the line.
 */
const char *words_split(char *line, size_t len, char **words, int *count)
{
	struct cut cut = { .from = line, .to = line };
	const char *wrong = NULL;
	bool more = true;

	*count = 0;
	if (strlen(line) != len)
		return "there is a NUL byte";
	while (!wrong && more) {
		cut.from += strspn(cut.from, " \t");
		if (!*cut.from || *cut.from == '#')
			break;
		words[(*count)++] = cut.to;
		wrong = take_word(&cut);
		more = *cut.from;
		cut.from += more;
		*cut.to++ = '\0';
	}
	words[*count] = NULL;
	return wrong;
}
