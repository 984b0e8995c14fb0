// SPDX-License-Identifier: GPL-2.0-only
/* Inline commands: lines of words, as people type them. They become the arguments of an array. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "resp.h"

/* Room for the head of an argument: its length is written once it is known. */
#define HEAD_ROOM	8

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static int digit_of(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Reads what follows a backslash between double quotes. Return: where it ends. */
static const char *unescape(const char *at, const char *end, char *byte)
{
	static const char names[] = "nrtba", bytes[] = "\n\r\t\b\a";
	const char *name;

	if (end - at >= 3 && *at == 'x' && isxdigit(at[1]) && isxdigit(at[2])) {
		*byte = digit_of(at[1]) << 4 | digit_of(at[2]);
		return at + 3;
	}
	name = *at ? strchr(names, *at) : NULL;
	*byte = name ? bytes[name - names] : *at;
	return at + 1;
}

/* Reads a word in quotes, from behind the first one. NULL: there is no second one with a blank. */
static const char *read_quoted(const char *at, const char *end, char quote, char **to)
{
	while (at < end && *at != quote) {
		if (*at == '\\' && end - at > 1 && quote == '"') {
			at = unescape(at + 1, end, (*to)++);
		} else if (*at == '\\' && end - at > 1 && at[1] == '\'') {
			*(*to)++ = '\'';
			at += 2;
		} else {
			*(*to)++ = *at++;
		}
	}
	if (at == end || (at + 1 < end && !is_blank(at[1])))
		return NULL;
	return at + 1;
}

/* Reads a word. NULL: its quotes are wrong. */
static const char *read_word(const char *at, const char *end, char **to)
{
	while (at < end && !is_blank(*at)) {
		if (*at == '"' || *at == '\'')
			return read_quoted(at + 1, end, *at, to);
		*(*to)++ = *at++;
	}
	return at;
}

/**
 * resp_inline() - turn a line into the arguments of an array
 * @line:	the line without its end
 * @len:	its length, bytes, at most RESP_INLINE_MAX
 * @to:		space for RESP_INLINE_GROWTH times as many bytes, and as many more
 * @size:	returned: bytes of the arguments
 * @count:	returned: their number
 *
 * Return: false if its quotes are not balanced.
 */
bool resp_inline(const char *line, size_t len, char *to, size_t *size, uint32_t *count)
{
	const char *at = line, *end = line + len;
	char head[HEAD_ROOM + 4], *begin = to, *word, *stop;
	int digits;

	*count = 0;
	for (;;) {
		while (at < end && is_blank(*at))
			at++;
		if (at == end)
			break;
		word = to + HEAD_ROOM;
		stop = word;
		at = read_word(at, end, &stop);
		if (!at)
			return false;
		digits = snprintf(head, sizeof(head), "$%zu\r\n", stop - word);
		memcpy(to, head, digits);
		memmove(to + digits, word, stop - word);
		to += digits + (stop - word);
		to = mempcpy(to, "\r\n", 2);
		++*count;
	}
	*size = to - begin;
	return true;
}
