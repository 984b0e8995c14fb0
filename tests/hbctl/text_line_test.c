// SPDX-License-Identifier: GPL-2.0-only
/* text_line_test - lines are read whole, and their ends told apart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "../device/tap.h"
#include "array_size.h"
#include "text_line.h"

/* Bytes that a line of these tests may have. */
#define MOST	300

/* The lines of a file, each with a | behind it and the way in which the last read has ended. */
static const struct lines_case {
	const char *bytes, *lines;
	enum text_line_end end;
} cases[] = {
	{ "", "", TEXT_LINE_NONE }, { "\n", "|", TEXT_LINE_NONE }, { "\r\n", "|", TEXT_LINE_NONE },
	{ "a b\n\nc\n", "a b||c|", TEXT_LINE_NONE }, { "a\r", "a|", TEXT_LINE_CUT },
	{ "a\r\nb\rc\r\r\n", "a|b\rc\r|", TEXT_LINE_NONE }, { "a\nb", "a|b|", TEXT_LINE_CUT },
	{ "\r", "|", TEXT_LINE_CUT },
};

/* A stream with these bytes. fmemopen() of 0 bytes fails. */
static FILE *open_bytes(const char *bytes, size_t len)
{
	FILE *file = fmemopen((char *)bytes, len + !len, "r");

	if (!len)
		getc(file);
	return file;
}

static void test_lines(const struct lines_case *test, size_t number)
{
	FILE *file = open_bytes(test->bytes, strlen(test->bytes));
	struct text_line line = { .most = MOST };
	enum text_line_end end;
	char found[64] = "";
	size_t read = 0;

	do {
		end = text_line_read(&line, file);
		read += line.read;
		if (end <= TEXT_LINE_CUT)
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s|",
				 line.text);
	} while (end == TEXT_LINE_WHOLE);
	is_int(end, test->end, "cases[%zu] ends so", number);
	ok(!strcmp(found, test->lines), "cases[%zu] has these lines", number);
	is_int(read, strlen(test->bytes), "cases[%zu] is counted", number);
	free(line.text);
	fclose(file);
}

/* Lines of the largest length, and of one and two bytes more. */
static void test_bound(const char *line_end)
{
	char bytes[MOST + 8];
	size_t more;

	for (more = 0; more <= 2; more++) {
		struct text_line line = { .most = MOST };
		enum text_line_end end;
		FILE *file;

		memset(bytes, 'k', MOST + more);
		strcpy(bytes + MOST + more, line_end);
		file = open_bytes(bytes, strlen(bytes));
		end = text_line_read(&line, file);
		ok(more ? end == TEXT_LINE_LONG : end <= TEXT_LINE_CUT && line.len == MOST,
		   "a line of %zu bytes and an end of %zu", MOST + more, strlen(line_end));
		free(line.text);
		fclose(file);
	}
}

static ssize_t fail_read(void *cookie, char *buffer, size_t size)
{
	int *left = cookie;

	if (!*left) {
		errno = EIO;
		return -1;
	}
	size = size < (size_t)*left ? size : (size_t)*left;
	memset(buffer, 'k', size);
	*left -= size;
	return size;
}

static ssize_t endless_read(void *cookie, char *buffer, size_t size)
{
	*(size_t *)cookie += size;
	memset(buffer, 'k', size);
	return size;
}

static void test_failures(void)
{
	struct text_line line = { .most = MOST };
	char text[TEXT_LINE_WRONG];
	size_t taken = 0;
	int left = 5;
	FILE *file;

	file = fopencookie(&left, "r", (cookie_io_functions_t){ .read = fail_read });
	is_int(text_line_read(&line, file), TEXT_LINE_FAILED,
	       "an error behind some bytes of a line is no end of the file");
	is_int(line.err, EIO, "the error is kept");
	fclose(file);
	file = fopencookie(&taken, "r", (cookie_io_functions_t){ .read = endless_read });
	is_int(text_line_read(&line, file), TEXT_LINE_LONG, "a line without an end is too long");
	ok(taken <= MOST + BUFSIZ, "not more of it is read than needed");
	ok(!strcmp(text_line_wrong(&line, TEXT_LINE_LONG, text), "has more than 300 bytes"),
	   "the message has the bound");
	fclose(file);
	free(line.text);
}

/* The first line of some bytes without its byte order mark, if it @had one. */
static void test_mark(const char *bytes, size_t len, const char *want, size_t want_len, bool had)
{
	FILE *file = open_bytes(bytes, len);
	struct text_line line = { .most = MOST };

	text_line_read(&line, file);
	ok(text_line_drop_mark(&line) == had && line.len == want_len &&
	   !memcmp(line.text, want, want_len + 1),
	   "of %zu bytes %zu stay behind the mark", len, want_len);
	free(line.text);
	fclose(file);
}

#define MARK(bytes, want, had)	test_mark(bytes, sizeof(bytes) - 1, want, sizeof(want) - 1, had)

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_lines(&cases[i], i);
	test_bound("");
	test_bound("\n");
	test_bound("\r\n");
	test_bound("\r");
	test_failures();
	MARK("a\0b\nc", "a\0b", false);
	MARK("\357\273\277abc\n", "abc", true);
	MARK("\357\273\277\n", "", true);
	MARK("\357\273abc\n", "\357\273abc", false);
	MARK("a\357\273\277\n", "a\357\273\277", false);
	return done_testing();
}
