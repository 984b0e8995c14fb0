// SPDX-License-Identifier: GPL-2.0-only
/*
 * Patterns of KEYS and SCAN: * for any bytes, ? for one, [a-z] for one of some, [^a] for one of the
 * others, and \ before a byte that stands for itself.
 *
 * After a mismatch only the last * takes one more byte, so the time is at most the product of both
 * lengths.
 */
#include "glob.h"

/* Reads a byte of a set, perhaps after a backslash. */
static unsigned char set_byte(const char **at, const char *end)
{
	if (**at == '\\' && end - *at > 1)
		++*at;
	return *(*at)++;
}

/* Whether a byte is in the set that begins behind @at, which is moved behind the set. */
static bool in_set(const char **at, const char *end, unsigned char byte)
{
	bool negated = *at < end && **at == '^', found = false;
	unsigned char low, high, swap;

	*at += negated;
	while (*at < end && **at != ']') {
		low = set_byte(at, end);
		high = low;
		if (end - *at > 1 && **at == '-') {
			++*at;
			high = set_byte(at, end);
		}
		if (low > high) {
			swap = low;
			low = high;
			high = swap;
		}
		found |= byte >= low && byte <= high;
	}
	*at += *at < end;
	return found != negated;
}

/* Whether the part of a pattern at @at takes the byte; that is moved behind the part. */
static bool takes(const char **at, const char *end, unsigned char byte)
{
	char part = *(*at)++;

	if (part == '?')
		return true;
	if (part == '[')
		return in_set(at, end, byte);
	if (part == '\\' && *at < end)
		part = *(*at)++;
	return (unsigned char)part == byte;
}

/**
 * glob_matches() - whether a text matches a pattern
 * @pattern:	the pattern
 * @text:	the text
 * @len:	its length, bytes
 *
 * Return: whether.
 */
bool glob_matches(const struct word *pattern, const char *text, size_t len)
{
	const char *at = pattern->at, *end = at + pattern->len, *stop = text + len;
	const char *star = NULL, *from = NULL;

	while (text < stop) {
		if (at < end && *at == '*') {
			star = ++at;
			from = text;
			continue;
		}
		if (at < end && takes(&at, end, *text)) {
			text++;
			continue;
		}
		if (!star)
			return false;
		at = star;
		text = ++from;
	}
	while (at < end && *at == '*')
		at++;
	return at == end;
}
