// SPDX-License-Identifier: GPL-2.0-only
/* encoding_test - bytes are escaped and unescaped; UTF-8 is recognized; base64. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "encoding.h"

/* The bytes of a string literal that may contain NULs. */
#define BYTES(literal) { literal, sizeof(literal) - 1 }

struct bytes {
	const char *at;
	size_t len;
};

static const struct escape_case {
	struct bytes bytes;
	const char *text;
} escape_cases[] = {
	{ BYTES(""), "" },
	{ BYTES("plain text"), "plain text" },
	{ BYTES("a\tb\nc\\d\0e"), "a\\tb\\nc\\\\d\\x00e" },
	{ BYTES("\r\033[2J\177"), "\\x0d\\x1b[2J\\x7f" },
	{ BYTES("\303\244\377\240"), "\303\244\377\240" },
	/* U+0080, U+009F and U+00A0; U+00C0, whose second byte is 0x80. */
	{ BYTES("a\302\200b\302\237\302\240"), "a\\xc2\\x80b\\xc2\\x9f\302\240" },
	{ BYTES("\303\200\304\233"), "\303\200\304\233" },
	/* Bytes outside of UTF-8; sequences that are cut, too long, or half of a pair. */
	{ BYTES("\2332J\200\237\240\377"), "\\x9b2J\\x80\\x9f\240\377" },
	{ BYTES("\302"), "\302" },
	{ BYTES("\302\033"), "\302\\x1b" },
	{ BYTES("\340\200\233"), "\340\\x80\\x9b" },
	{ BYTES("\355\240\200"), "\355\240\\x80" },
	{ BYTES("\364\220\233\200"), "\364\\x90\\x9b\\x80" },
	/* The byte order mark, and the characters beside it. */
	{ BYTES("\357\273\277a"), "\\xef\\xbb\\xbfa" },
	{ BYTES("\357\273\276\357\273"), "\357\273\276\357\273" },
};

static const struct escape_case json_cases[] = {
	{ BYTES(""), "\"\"" },
	{ BYTES("a/\303\200"), "\"a/\303\200\"" },
	{ BYTES("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"" },
	{ BYTES("a\0\1\37b"), "\"a\\u0000\\u0001\\u001fb\"" },
	{ BYTES("\302\2332J\177\357\273\277"), "\"\\u009b2J\\u007f\\ufeff\"" },
};

static const struct escape_case mask_cases[] = {
	{ BYTES("plain \303\200\\"), "plain \303\200\\" },
	{ BYTES("a\033b\302\233c\233\377\357\273\277"), "a?b?c?\377?" },
};

static const struct unescape_case {
	const char *text;
	const char *bytes;
	ssize_t len;
} unescape_cases[] = {
	{ "\\x41\\x7A\\x7a", "Azz", 3 },
	{ "\\x00", "\0", 1 },
	{ "\\xff", "\377", 1 },
	{ "\\\\t", "\\t", 2 },
	{ "\\", "", -1 },
	{ "a\\", "", -1 },
	{ "\\q", "", -1 },
	{ "\\x", "", -1 },
	{ "\\x4", "", -1 },
	{ "\\x4g", "", -1 },
	{ "\\xg4", "", -1 },
	{ "\\X41", "", -1 },
	{ "\\r", "", -1 },
	{ "\\0", "", -1 },
};

static const struct utf8_case {
	struct bytes bytes;
	bool valid;
} utf8_cases[] = {
	{ BYTES(""), true },
	{ BYTES("ascii\0\177"), true },
	{ BYTES("\302\200"), true },
	{ BYTES("\337\277"), true },
	{ BYTES("\340\240\200"), true },
	{ BYTES("\355\237\277"), true },
	{ BYTES("\356\200\200"), true },
	{ BYTES("\357\277\277"), true },
	{ BYTES("\360\220\200\200"), true },
	{ BYTES("\364\217\277\277"), true },
	{ BYTES("\200"), false },
	{ BYTES("a\277"), false },
	{ BYTES("\300\200"), false },
	{ BYTES("\301\277"), false },
	{ BYTES("\302"), false },
	{ BYTES("\302a"), false },
	{ BYTES("\340\237\277"), false },
	{ BYTES("\340\240"), false },
	{ BYTES("\340\240a"), false },
	{ BYTES("\355\240\200"), false },
	{ BYTES("\355\277\277"), false },
	{ BYTES("\360\217\277\277"), false },
	{ BYTES("\364\220\200\200"), false },
	{ BYTES("\365\200\200\200"), false },
	{ BYTES("\360\220\200"), false },
	{ BYTES("\377"), false },
};

static const struct escape_case base64_cases[] = {
	{ BYTES(""), "" },
	{ BYTES("f"), "Zg==" },
	{ BYTES("fo"), "Zm8=" },
	{ BYTES("foo"), "Zm9v" },
	{ BYTES("foob"), "Zm9vYg==" },
	{ BYTES("fooba"), "Zm9vYmE=" },
	{ BYTES("foobar"), "Zm9vYmFy" },
	{ BYTES("\0\377\376\373"), "AP/++w==" },
};

static void test_escape(const struct escape_case *test, size_t number)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	ssize_t len;

	escape_print(file, test->bytes.at, test->bytes.len);
	fclose(file);
	if (!ok(!strcmp(text, test->text), "escape_cases[%zu] is escaped", number))
		note("expected '%s', found '%s'", test->text, text);
	len = unescape(text, size);
	ok(len == (ssize_t)test->bytes.len && !memcmp(text, test->bytes.at, len),
	   "escape_cases[%zu] is restored when it is unescaped", number);
	free(text);
}

static void test_json(const struct escape_case *test, size_t number)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	json_string_print(file, test->bytes.at, test->bytes.len);
	fclose(file);
	if (!ok(!strcmp(text, test->text), "json_cases[%zu] is printed", number))
		note("expected '%s', found '%s'", test->text, text);
	free(text);
}

static void test_mask(const struct escape_case *test, size_t number)
{
	char text[64];

	strcpy(text, test->bytes.at);
	mask_controls(text);
	if (!ok(!strcmp(text, test->text), "mask_cases[%zu] is masked", number))
		note("expected '%s', found '%s'", test->text, text);
}

static void test_unescape(const struct unescape_case *test, size_t number)
{
	char text[32];
	ssize_t len;

	strcpy(text, test->text);
	len = unescape(text, strlen(text));
	if (test->len < 0)
		is_errno(len, EINVAL, "unescape_cases[%zu] is refused: '%s'", number, test->text);
	else
		ok(len == test->len && !memcmp(text, test->bytes, len),
		   "unescape_cases[%zu] is unescaped: '%s'", number, test->text);
}

static void test_utf8(const struct utf8_case *test, size_t number)
{
	bool valid = is_utf8(test->bytes.at, test->bytes.len);

	is_int(valid, test->valid, "utf8_cases[%zu] is %sUTF-8", number, test->valid ? "" : "not ");
}

static void test_base64(const struct escape_case *test, size_t number)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	base64_print(file, test->bytes.at, test->bytes.len);
	fclose(file);
	if (!ok(!strcmp(text, test->text), "base64_cases[%zu] is encoded as '%s'", number,
		test->text))
		note("expected '%s', found '%s'", test->text, text);
	free(text);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(escape_cases); i++)
		test_escape(&escape_cases[i], i);
	for (i = 0; i < ARRAY_SIZE(json_cases); i++)
		test_json(&json_cases[i], i);
	for (i = 0; i < ARRAY_SIZE(mask_cases); i++)
		test_mask(&mask_cases[i], i);
	for (i = 0; i < ARRAY_SIZE(unescape_cases); i++)
		test_unescape(&unescape_cases[i], i);
	for (i = 0; i < ARRAY_SIZE(utf8_cases); i++)
		test_utf8(&utf8_cases[i], i);
	for (i = 0; i < ARRAY_SIZE(base64_cases); i++)
		test_base64(&base64_cases[i], i);
	return done_testing();
}
