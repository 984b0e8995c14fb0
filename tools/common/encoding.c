// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "encoding.h"

/* The byte order mark. It is not seen, and the beginning of a file is where it is looked for. */
#define MARK	0xfeff

/* The code of the UTF-8 sequence at @p. Return: its length, 0 if none is within @len bytes. */
static size_t utf8_decode(const unsigned char *p, size_t len, unsigned int *code)
{
	size_t need, i;

	*code = p[0];
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (len < need)
		return 0;
	*code = p[0] & (0x7f >> need);
	for (i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	/* Neither longer than it must be, nor half of a surrogate pair. */
	if (need == 3 && (*code < 0x800 || (*code >= 0xd800 && *code < 0xe000)))
		return 0;
	if (need == 4 && (*code < 0x10000 || *code > 0x10ffff))
		return 0;
	return need;
}

/*
 * The code of the character at @p, or the byte there if it is not UTF-8, which a terminal may take
 * for a character of Latin-1. Return: its length.
 */
static size_t next_character(const unsigned char *p, size_t len, unsigned int *code)
{
	size_t used = utf8_decode(p, len, code);

	if (!used)
		*code = *p;
	return used ? used : 1;
}

/* Whether a character is not to be printed as it is. */
static bool is_special(unsigned int code)
{
	return code < ' ' || (code >= 0x7f && code <= 0x9f) || code == MARK;
}

static void print_special(FILE *file, const unsigned char *p, size_t len)
{
	if (*p == '\t')
		fputs("\\t", file);
	else if (*p == '\n')
		fputs("\\n", file);
	else if (*p == '\\')
		fputs("\\\\", file);
	else
		for (; len; len--)
			fprintf(file, "\\x%02x", *p++);
}

/**
 * escape_print() - print bytes as one field of a line
 * @file:	where
 * @bytes:	the bytes
 * @len:	their number
 *
 * A tab becomes \t, a newline \n, a backslash \\. Each byte of another control character becomes
 * \xHH, also of U+0080 to U+009F, and so do bytes 0x80 to 0x9f outside of UTF-8 and the bytes of
 * U+FEFF: nothing that is printed can be taken for the end of a field or the mark of a file, or
 * steer a terminal. All other bytes stay as they are.
 */
void escape_print(FILE *file, const void *bytes, size_t len)
{
	const unsigned char *p = bytes, *end = p + len, *plain = p;
	unsigned int code;
	size_t used;

	for (; p < end; p += used) {
		used = next_character(p, end - p, &code);
		if (!is_special(code) && code != '\\')
			continue;
		fwrite(plain, 1, p - plain, file);
		print_special(file, p, used);
		plain = p + used;
	}
	fwrite(plain, 1, end - plain, file);
}

/* A character in a string of JSON that cannot stand there as it is, or is_special(). */
static void print_json_special(FILE *file, unsigned int code)
{
	static const char codes[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
	const char *at = code && code < 0x80 ? strchr(codes, code) : NULL;

	if (at)
		fprintf(file, "\\%c", letters[at - codes]);
	else
		fprintf(file, "\\u%04x", code);
}

/**
 * json_string_print() - print a string of JSON
 * @file:	where
 * @bytes:	the string, in UTF-8
 * @len:	its length, bytes
 *
 * Control characters, also those that JSON lets stand in strings, and U+FEFF, become \uHHHH, or \n
 * and such.
 */
void json_string_print(FILE *file, const void *bytes, size_t len)
{
	const unsigned char *p = bytes, *end = p + len, *plain = p;
	unsigned int code;
	size_t used;

	putc('"', file);
	for (; p < end; p += used) {
		used = next_character(p, end - p, &code);
		if (!is_special(code) && code != '"' && code != '\\')
			continue;
		fwrite(plain, 1, p - plain, file);
		print_json_special(file, code);
		plain = p + used;
	}
	fwrite(plain, 1, end - plain, file);
	putc('"', file);
}

/**
 * mask_controls() - replace what escape_print() escapes, but for backslashes, by question marks
 * @text:	the text, changed in place
 */
void mask_controls(char *text)
{
	const unsigned char *from = (const unsigned char *)text, *end = from + strlen(text);
	char *to = text;
	unsigned int code;
	size_t used;

	for (; from < end; from += used) {
		used = next_character(from, end - from, &code);
		if (is_special(code)) {
			*to++ = '?';
			continue;
		}
		memmove(to, from, used);
		to += used;
	}
	*to = '\0';
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (at - digits) % 16 : -1;
}

/*
 * The byte that an escape stands for; @text is behind the backslash. Return:
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
	unsigned int code;
	size_t used;

	for (; len; p += used, len -= used) {
		used = utf8_decode(p, len, &code);
		if (!used)
			return false;
	}
	return true;
}

/**
 * base64_print() - print bytes in base64
 * @file:	where
 * @bytes:	the bytes
 * @len:	how many
 *
 * The text is padded, and in one line.
 */
void base64_print(FILE *file, const void *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = bytes;
	unsigned int group;
	char four[4];
	size_t i;

	for (i = 0; i < len; i += 3) {
		group = p[i] << 16;
		group |= i + 1 < len ? p[i + 1] << 8 : 0;
		group |= i + 2 < len ? p[i + 2] : 0;
		four[0] = digits[group >> 18];
		four[1] = digits[group >> 12 & 63];
		four[2] = i + 1 < len ? digits[group >> 6 & 63] : '=';
		four[3] = i + 2 < len ? digits[group & 63] : '=';
		fwrite(four, 1, sizeof(four), file);
	}
}
