// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "encoding.h"

/* Whether a byte has to be escaped. */
static bool is_special(unsigned char byte)
{
	return byte < ' ' || byte == '\\' || byte == 0x7f;
}

static void print_special(FILE *file, unsigned char byte)
{
	if (byte == '\t')
		fputs("\\t", file);
	else if (byte == '\n')
		fputs("\\n", file);
	else if (byte == '\\')
		fputs("\\\\", file);
	else
		fprintf(file, "\\x%02x", byte);
}

/**
 * escape_print() - print bytes as one field of a line
 * @file:	where
 * @bytes:	the bytes
 * @len:	their number
 *
 * A tab becomes \t, a newline \n, a backslash \\, other control characters
 * \xHH: nothing that is printed can be taken for the end of a field or steer a
 * terminal. All other bytes stay as they are.
 */
void escape_print(FILE *file, const void *bytes, size_t len)
{
	const unsigned char *p = bytes, *end = p + len, *plain;

	while (p < end) {
		for (plain = p; p < end && !is_special(*p); p++)
			;
		fwrite(plain, 1, p - plain, file);
		if (p < end)
			print_special(file, *p++);
	}
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (at - digits) % 16 : -1;
}

/*
 * The byte that an escape stands for; @text is behind the backslash. Returns
 * the length of the escape without the backslash, 0 if it is none.
 */
static size_t unescape_one(const char *text, size_t len, char *byte)
{
	int high, low;

	if (!len)
		return 0;
	switch (text[0]) {
	case 't':
		*byte = '\t';
		return 1;
	case 'n':
		*byte = '\n';
		return 1;
	case '\\':
		*byte = '\\';
		return 1;
	case 'x':
		high = len < 3 ? -1 : hex_digit(text[1]);
		low = len < 3 ? -1 : hex_digit(text[2]);
		*byte = high * 16 + low;
		return high < 0 || low < 0 ? 0 : 3;
	default:
		return 0;
	}
}

/**
 * unescape() - undo escape_print(), in place
 * @text:	the text
 * @len:	its length
 *
 * Return: the length of the bytes that are there now, or -EINVAL for a backslash
 * that does not begin one of \t \n \\ \xHH.
 */
ssize_t unescape(char *text, size_t len)
{
	size_t from = 0, to = 0, used;

	while (from < len) {
		if (text[from] != '\\') {
			text[to++] = text[from++];
			continue;
		}
		used = unescape_one(text + from + 1, len - from - 1, &text[to]);
		if (!used)
			return -EINVAL;
		to++;
		from += used + 1;
	}
	return to;
}

/* Length of the UTF-8 sequence at @p, 0 if there is none within @len bytes. */
static size_t utf8_length(const unsigned char *p, size_t len)
{
	size_t need, i;
	unsigned int code;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len < need)
		return 0;
	code = p[0] & (0x7f >> need);
	for (i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	/* Neither longer than it must be, nor half of a surrogate pair. */
	if (need == 3 && (code < 0x800 || (code >= 0xd800 && code < 0xe000)))
		return 0;
	if (need == 4 && (code < 0x10000 || code > 0x10ffff))
		return 0;
	return need;
}

/**
 * is_utf8() - whether bytes are valid UTF-8
 * @bytes:	the bytes
 * @len:	how many
 *
 * Return: whether.
 */
bool is_utf8(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	size_t used;

	for (; len; p += used, len -= used) {
		used = utf8_length(p, len);
		if (!used)
			return false;
	}
	return true;
}

/**
 * base64_encode() - write bytes in base64
 * @bytes:	the bytes
 * @len:	how many
 *
 * Return: the text, padded, in one line, to be freed with free(3); NULL if
 * there is no memory.
 */
char *base64_encode(const void *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;
	char *text = malloc((len + 2) / 3 * 4 + 1), *to = text;
	unsigned int group;
	size_t i;

	if (!text)
		return NULL;
	for (i = 0; i < len; i += 3, to += 4) {
		group = p[i] << 16;
		group |= i + 1 < len ? p[i + 1] << 8 : 0;
		group |= i + 2 < len ? p[i + 2] : 0;
		to[0] = digits[group >> 18];
		to[1] = digits[group >> 12 & 63];
		to[2] = i + 1 < len ? digits[group >> 6 & 63] : '=';
		to[3] = i + 2 < len ? digits[group & 63] : '=';
	}
	*to = '\0';
	return text;
}
