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
	const char *bytes;
	const char *lines;
	enum text_line_end end;
} cases[] = {
	{ "", "", TEXT_LINE_NONE },
	{ "\n", "|", TEXT_LINE_NONE },
	{ "\r\n", "|", TEXT_LINE_NONE },
	{ "a b\n\nc\n", "a b||c|", TEXT_LINE_NONE },
	{ "a\r\nb\rc\r\r\n", "a|b\rc\r|", TEXT_LINE_NONE },
	{ "a\nb", "a|b|", TEXT_LINE_CUT },
	{ "a\r", "a|", TEXT_LINE_CUT },
	{ "\r", "|", TEXT_LINE_CUT },
};

static void test_lines(const struct lines_case *test, size_t number)
{
	FILE *file = fmemopen((char *)test->bytes, strlen(test->bytes) + !*test->bytes, "r");
	struct text_line line = { .most = MOST };
	enum text_line_end end;
	char found[64] = "";
	size_t read = 0;

	/* fmemopen() of 0 bytes fails. */
	if (!*test->bytes)
		getc(file);
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

/* A line of @len bytes, and its end. */
static enum text_line_end read_long(size_t len, const char *line_end, size_t *found)
{
	struct text_line line = { .most = MOST };
	char bytes[MOST + 8];
	enum text_line_end end;
	FILE *file;

	memset(bytes, 'k', len);
	strcpy(bytes + len, line_end);
	file = fmemopen(bytes, strlen(bytes), "r");
	end = text_line_read(&line, file);
	*found = line.len;
	free(line.text);
	fclose(file);
	return end;
}

static void test_bound(void)
{
	static const char * const ends[] = { "", "\n", "\r\n", "\r" };
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		ok(read_long(MOST, ends[i], &len) <= TEXT_LINE_CUT && len == MOST,
		   "a line of the largest length is read, with end %zu", i);
		is_int(read_long(MOST + 1, ends[i], &len), TEXT_LINE_LONG,
		       "a line of a byte more is too long, with end %zu", i);
		is_int(read_long(MOST + 2, ends[i], &len), TEXT_LINE_LONG,
		       "a line of two bytes more is too long, with end %zu", i);
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

static void test_nul(void)
{
	char bytes[] = "a\0b\nc";
	FILE *file = fmemopen(bytes, sizeof(bytes) - 1, "r");
	struct text_line line = { .most = MOST };

	is_int(text_line_read(&line, file), TEXT_LINE_WHOLE, "a line with a NUL is whole");
	ok(line.len == 3 && !memcmp(line.text, "a\0b", 4), "a line keeps its NUL bytes");
	free(line.text);
	fclose(file);
}

static void test_mark(const char *bytes, const char *want, bool had)
{
	FILE *file = fmemopen((char *)bytes, strlen(bytes), "r");
	struct text_line line = { .most = MOST };

	text_line_read(&line, file);
	ok(text_line_drop_mark(&line) == had && !strcmp(line.text, want) &&
	   line.len == strlen(want),
	   "of %zu bytes %zu stay behind the mark", strlen(bytes), strlen(want));
	free(line.text);
	fclose(file);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_lines(&cases[i], i);
	test_bound();
	test_failures();
	test_nul();
	test_mark("\357\273\277abc\n", "abc", true);
	test_mark("\xef\xbb\xbf\n", "", true);
	test_mark("\357\273abc\n", "\357\273abc", false);
	test_mark("a\xef\xbb\xbf\n", "a\xef\xbb\xbf", false);
	return done_testing();
}
