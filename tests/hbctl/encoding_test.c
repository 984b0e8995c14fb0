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

/* A function, and the texts that it prints of bytes. */
static const struct printer {
	const char *name;
	void (*print)(FILE *file, const void *bytes, size_t len);
	struct {
		struct bytes bytes;
		const char *text;
	} cases[16];
} printers[] = {
	{ "escape_print()", escape_print, {
		{ BYTES(""), "" }, { BYTES("plain text"), "plain text" },
		{ BYTES("a\tb\nc\\d\0e"), "a\\tb\\nc\\\\d\\x00e" },
		{ BYTES("\r\033[2J\177"), "\\x0d\\x1b[2J\\x7f" },
		{ BYTES("\303\244\377\240"), "\303\244\377\240" },
		/* U+0080, U+009F and U+00A0; U+00C0, whose second byte is 0x80. */
		{ BYTES("a\302\200b\302\237\302\240"), "a\\xc2\\x80b\\xc2\\x9f\302\240" },
		{ BYTES("\303\200\304\233"), "\303\200\304\233" },
		/* Bytes outside of UTF-8; sequences that are cut, too long, or half of a pair. */
		{ BYTES("\2332J\200\237\240\377"), "\\x9b2J\\x80\\x9f\240\377" },
		{ BYTES("\302"), "\302" }, { BYTES("\302\033"), "\302\\x1b" },
		{ BYTES("\340\200\233"), "\340\\x80\\x9b" },
		{ BYTES("\355\240\200"), "\355\240\\x80" },
		{ BYTES("\364\220\233\200"), "\364\\x90\\x9b\\x80" },
		/* The byte order mark, and the characters beside it. */
		{ BYTES("\357\273\277a"), "\\xef\\xbb\\xbfa" },
		{ BYTES("\357\273\276\357\273"), "\357\273\276\357\273" },
	} },
	{ "json_string_print()", json_string_print, {
		{ BYTES(""), "\"\"" }, { BYTES("a/\303\200"), "\"a/\303\200\"" },
		{ BYTES("\"\\\b\f\n\r\t"), "\"\\\"\\\\\\b\\f\\n\\r\\t\"" },
		{ BYTES("a\0\1\37b"), "\"a\\u0000\\u0001\\u001fb\"" },
		{ BYTES("\302\2332J\177\357\273\277"), "\"\\u009b2J\\u007f\\ufeff\"" },
	} },
	{ "base64_print()", base64_print, {
		{ BYTES(""), "" }, { BYTES("f"), "Zg==" }, { BYTES("fo"), "Zm8=" },
		{ BYTES("foo"), "Zm9v" }, { BYTES("foob"), "Zm9vYg==" },
		{ BYTES("fooba"), "Zm9vYmE=" }, { BYTES("foobar"), "Zm9vYmFy" },
		{ BYTES("\0\377\376\373"), "AP/++w==" },
	} },
};

static const char * const masked[][2] = {
	{ "plain \303\200\\", "plain \303\200\\" },
	{ "a\033b\302\233c\233\377\357\273\277", "a?b?c?\377?" },
};

static const struct unescape_case {
	const char *text;
	struct bytes bytes;
} unescaped[] = {
	{ "\\x41\\x7A\\x7a", BYTES("Azz") }, { "\\x00", BYTES("\0") }, { "\\xff", BYTES("\377") },
	{ "\\\\t", BYTES("\\t") },
};

/* Texts that unescape() refuses. */
static const char * const refused[] = {
	"\\", "a\\", "\\q", "\\x", "\\x4", "\\x4g", "\\xg4", "\\X41", "\\r", "\\0",
};

static const struct bytes valid[] = {
	BYTES(""), BYTES("ascii\0\177"), BYTES("\302\200"), BYTES("\337\277"),
	BYTES("\340\240\200"), BYTES("\355\237\277"), BYTES("\356\200\200"),
	BYTES("\357\277\277"), BYTES("\360\220\200\200"), BYTES("\364\217\277\277"),
}, invalid[] = {
	BYTES("\200"), BYTES("a\277"), BYTES("\300\200"), BYTES("\301\277"), BYTES("\302"),
	BYTES("\302a"), BYTES("\340\237\277"), BYTES("\340\240"), BYTES("\340\240a"),
	BYTES("\355\240\200"), BYTES("\355\277\277"), BYTES("\360\217\277\277"),
	BYTES("\364\220\200\200"), BYTES("\365\200\200\200"), BYTES("\360\220\200"),
	BYTES("\377"),
};

static void is_text(const char *found, const char *want, const char *name, size_t number)
{
	if (!ok(!strcmp(found, want), "%s, case %zu", name, number))
		note("expected '%s', found '%s'", want, found);
}

static void test_printer(const struct printer *printer)
{
	const struct bytes *bytes;
	char *text = NULL;
	size_t i, size;
	ssize_t len;

	for (i = 0; printer->cases[i].text; i++) {
		FILE *file = open_memstream(&text, &size);

		bytes = &printer->cases[i].bytes;
		printer->print(file, bytes->at, bytes->len);
		fclose(file);
		is_text(text, printer->cases[i].text, printer->name, i);
		if (printer->print == escape_print) {
			len = unescape(text, size);
			ok(len == (ssize_t)bytes->len && !memcmp(text, bytes->at, len),
			   "unescape() restores case %zu", i);
		}
		free(text);
	}
}

int main(void)
{
	char text[64];
	ssize_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(printers); i++)
		test_printer(&printers[i]);
	for (i = 0; i < ARRAY_SIZE(masked); i++) {
		strcpy(text, masked[i][0]);
		mask_controls(text);
		is_text(text, masked[i][1], "mask_controls()", i);
	}
	for (i = 0; i < ARRAY_SIZE(unescaped); i++) {
		strcpy(text, unescaped[i].text);
		len = unescape(text, strlen(text));
		ok(len == (ssize_t)unescaped[i].bytes.len &&
		   !memcmp(text, unescaped[i].bytes.at, len),
		   "unescape() takes '%s'", unescaped[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		strcpy(text, refused[i]);
		is_errno(unescape(text, strlen(text)), EINVAL, "unescape() refuses '%s'",
			 refused[i]);
	}
	for (i = 0; i < ARRAY_SIZE(valid); i++)
		ok(is_utf8(valid[i].at, valid[i].len), "valid[%zu] is UTF-8", i);
	for (i = 0; i < ARRAY_SIZE(invalid); i++)
		ok(!is_utf8(invalid[i].at, invalid[i].len), "invalid[%zu] is not UTF-8", i);
	return done_testing();
}
