// SPDX-License-Identifier: GPL-2.0-only
/* parser_test - bytes become the requests that memcached 1.6.18 would make of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "parser.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#define VALUE_MAX	100

/* A key of 250 bytes. */
#define K250 \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" \
	"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define O32	"O123456789012345678901234567890x"

/* A request, and what is known of it in words: see describe(). */
static const struct request_case {
	const char *text;
	const char *words;
} cases[] = {
	{ "get a\r\n", "command 1 size 7" },
	{ "get a\n", "command 1 size 6" },
	{ "  get  a  b \r\n", "command 1 size 14" },
	{ "gets " K250 "\r\n", "command 2 size 257" },
	{ "get a " K250 "k\r\n", "error CLIENT_ERROR bad command line format" },
	{ "get\r\n", "error ERROR" },
	{ "gat 10 a\r\n", "command 3 size 10 exptime 10" },
	{ "gat x a\r\n", "error CLIENT_ERROR invalid exptime argument" },
	{ "gats -1 a\r\n", "command 4 size 11 exptime -1" },
	{ "bget a\r\n", "command 1 size 8" },
	{ "set a 5 100 3\r\nxyz\r\n", "command 5 size 20 key a value xyz flags 5 exptime 100" },
	{ "set a 5 100 3 noreply\r\nxyz\r\n",
	  "command 5 quiet size 28 key a value xyz flags 5 exptime 100" },
	{ "set a 0 0 0\r\n\r\n", "command 5 size 15 key a value" },
	{ "set a 4294967296 0 0\r\n\r\n", "command 5 size 24 key a value" },
	{ "set a -1 0 0\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 -1\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 2147483646\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 0 0\r\n", "error ERROR" },
	{ "set a 0 0 3 noreply x\r\n", "error ERROR" },
	{ "set " K250 "k 0 0 1\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 3\r\nxyzz\r", "error CLIENT_ERROR bad data chunk" },
	{ "set a 0 0 3 noreply\r\nxyzz\r", "quiet error CLIENT_ERROR bad data chunk" },
	{ "set a 0 0 101\r\n", "large skip 103 error SERVER_ERROR object too large for cache" },
	{ "add a 0 0 1\r\nx\r\n", "command 6 size 16 key a value x" },
	{ "replace a 0 0 1\r\nx\r\n", "command 7 size 20 key a value x" },
	{ "append a 0 0 1\r\nx\r\n", "command 8 size 19 key a value x" },
	{ "prepend a 0 0 1\r\nx\r\n", "command 9 size 20 key a value x" },
	{ "cas a 0 0 1 18446744073709551615\r\nx\r\n",
	  "command 10 size 37 key a value x unique 18446744073709551615" },
	{ "cas a 0 0 1 18446744073709551616\r\nx\r\n",
	  "error CLIENT_ERROR bad command line format" },
	{ "cas a 0 0 1\r\n", "error ERROR" },
	{ "incr a 7\r\n", "command 11 size 10 key a delta 7" },
	{ "decr a 7 noreply\r\n", "command 12 quiet size 18 key a delta 7" },
	{ "incr a -1\r\n", "error CLIENT_ERROR invalid numeric delta argument" },
	{ "touch a 2147483647\r\n", "command 13 size 20 key a exptime 2147483647" },
	{ "touch a\r\n", "error ERROR" },
	{ "delete a\r\n", "command 14 size 10 key a" },
	{ "delete a 0 noreply\r\n", "command 14 quiet size 20 key a" },
	{ "delete a 1\r\n",
	  "error CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]" },
	{ "mg a\r\n", "command 15 size 6 key a delta 1" },
	{ "mg a v t T30 N5 R10 q\r\n",
	  "command 15 quiet size 23 key a exptime 30 vivify 5 recache 10 delta 1 given NRTqtv" },
	{ "mg Zm9v b\r\n", "command 15 size 11 key foo delta 1 given b" },
	{ "mg Zm9 b\r\n", "error CLIENT_ERROR error decoding key" },
	{ "mg ==== b\r\n", "error CLIENT_ERROR error decoding key" },
	{ "mg a v v\r\n", "error CLIENT_ERROR duplicate flag" },
	{ "mg a l\r\n", "error CLIENT_ERROR invalid flag" },
	{ "mg a h\r\n", "error CLIENT_ERROR invalid flag" },
	{ "mg a E1\r\n", "error CLIENT_ERROR invalid flag" },
	{ "mg a Tx\r\n", "error CLIENT_ERROR bad token in command line format" },
	{ "mg a " O32 "\r\n", "command 15 size 39 key a delta 1 given O" },
	{ "mg a " O32 "y\r\n", "error CLIENT_ERROR opaque token too long" },
	{ "mg a b c d e f g h i j k l m n o p q r s\r\n",
	  "error CLIENT_ERROR options flags are too long" },
	{ "mg\r\n", "error ERROR" },
	{ "ms a 1 T30 F7 C9\r\nx\r\n",
	  "command 16 as 10 size 21 key a value x flags 7 exptime 30 unique 9 delta 1 given CFT" },
	{ "ms a 1 MA\r\nx\r\n", "command 16 as 8 size 14 key a value x delta 1 given M" },
	{ "ms a 1 MR C1\r\nx\r\n",
	  "command 16 as 10 size 17 key a value x unique 1 delta 1 given CM" },
	{ "ms a 1 MX q\r\n", "skip 3 error CLIENT_ERROR invalid mode for ms M token" },
	{ "ms a 1 Fx\r\n", "skip 3 error CLIENT_ERROR bad command line format" },
	{ "ms a 101 q\r\n", "large skip 103 error SERVER_ERROR object too large for cache" },
	{ "ms a\r\n", "error CLIENT_ERROR bad command line format" },
	{ "ms Zm9v 1 b\r\nx\r\n", "command 16 as 5 size 16 key foo value x delta 1 given b" },
	{ "md a I T30\r\n", "command 17 size 12 key a exptime 30 delta 1 given IT" },
	{ "md a Cx\r\n", "error CLIENT_ERROR invalid or duplicate flag" },
	{ "md a h\r\n", "command 17 size 8 key a delta 1 given h" },
	{ "ma a MD D5 J7\r\n", "command 18 mode D size 15 key a delta 5 initial 7 given DJM" },
	{ "ma a M+\r\n", "command 18 mode I size 9 key a delta 1 given M" },
	{ "ma a MX q\r\n", "error CLIENT_ERROR invalid mode for ma M token" },
	{ "mn\r\n", "command 19 size 4" },
	{ "me a\r\n", "command 20 size 6 key a" },
	{ "me\r\n", "error CLIENT_ERROR bad command line format" },
	{ "mq a\r\n", "error ERROR" },
	{ "flush_all\r\n", "command 21 size 11" },
	{ "flush_all 9 noreply\r\n", "command 21 quiet size 21 exptime 9" },
	{ "flush_all x\r\n", "error CLIENT_ERROR invalid exptime argument" },
	{ "stats items\r\n", "command 22 size 13" },
	{ "version\r\n", "command 23 size 9" },
	{ "verbosity 1\r\n", "command 24 size 13 flags 1" },
	{ "verbosity x\r\n", "error CLIENT_ERROR bad command line format" },
	{ "quit\r\n", "command 25 size 6" },
	{ "shutdown\r\n", "command 26 size 10" },
	{ "lru_crawler crawl all\r\n", "error CLIENT_ERROR lru crawler disabled" },
	{ "slabs reassign 1 2\r\n", "error CLIENT_ERROR slab reassignment disabled" },
	{ "watch\r\n", "error CLIENT_ERROR watch commands not allowed" },
	{ "\r\n", "error ERROR" },
	{ "x\r\n", "error ERROR" },
	{ "foo bar\r\n", "error ERROR" },
	{ "getx a HTTP/1.1\r\n", "error ERROR" },
	{ "GET / HTTP/1.1\r\n", "close it speaks HTTP" },
};

/* Appends to a text of 512 bytes. */
static __printf(2, 3) void append(char *text, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, 512 - len, format, args);
	va_end(args);
}

static void append_number(char *text, const char *name, long long number)
{
	if (number)
		append(text, " %s %lld", name, number);
}

static void append_given(char *text, uint64_t given)
{
	char flag;

	if (given)
		append(text, " given ");
	for (flag = 'A'; flag <= 'z'; flag++)
		if (given & meta_bit(flag))
			append(text, "%c", flag);
}

/* Writes a request, without the parts that are 0; of one that is refused, the answer. */
static const char *describe(const struct request *request, enum parsed parsed, char *text)
{
	*text = '\0';
	if (parsed != PARSED_REQUEST || request->error) {
		append(text, "%s%s", request->too_large ? " large" : "",
		       request->quiet ? " quiet" : "");
		append_number(text, "skip", request->skip);
		append(text, " %s %s", parsed == PARSED_CLOSE ? "close" : "error", request->error);
		return text + 1;
	}
	append_number(text, "command", request->command);
	if (request->command == COMMAND_META_SET)
		append_number(text, "as", request->stores);
	if (request->command == COMMAND_META_ARITHMETIC)
		append(text, " mode %c", request->mode);
	append(text, "%s", request->quiet ? " quiet" : "");
	append_number(text, "size", request->size);
	if (request->key)
		append(text, " key %.*s", (int)request->key_len, request->key);
	if (request->value)
		append(text, " value%s%.*s", request->value_len ? " " : "",
		       (int)request->value_len, request->value);
	append_number(text, "flags", request->flags);
	append_number(text, "exptime", request->exptime);
	append_number(text, "vivify", request->vivify);
	append_number(text, "recache", request->recache);
	if (request->unique)
		append(text, " unique %llu", (unsigned long long)request->unique);
	append_number(text, "delta", request->delta);
	append_number(text, "initial", request->initial);
	append_given(text, request->given);
	return text + 1;
}

/* A copy of just these bytes, so that a sanitizer sees reads behind them. */
static char *copy(const char *text, size_t len)
{
	return memcpy(malloc(len ? len : 1), text, len);
}

/* The words for a text without its end of the line, in which the description of the test is. */
static void test_case(const struct request_case *test)
{
	size_t len = strlen(test->text);
	char *text = copy(test->text, len), found[512];
	struct request request;
	enum parsed parsed = parser_request(text, len, VALUE_MAX, &request);

	if (!ok(!strcmp(describe(&request, parsed, found), test->words),
		"a line that begins with '%.*s' becomes: %.60s",
		(int)strcspn(test->text, "\r\n") < 40 ? (int)strcspn(test->text, "\r\n") : 40,
		test->text, test->words))
		note("found %s", found + 1);
	free(text);
}

/* Each shorter text is a part of the request, and does not name a size beyond the whole. */
static void test_parts(const struct request_case *test)
{
	size_t whole = strlen(test->text), len, wrong = 0;
	struct request request;
	enum parsed parsed;
	char *text;

	if (strstr(test->words, "error") || strstr(test->words, "close"))
		return;
	for (len = 0; len < whole; len++) {
		text = copy(test->text, len);
		parsed = parser_request(text, len, VALUE_MAX, &request);
		wrong += parsed != PARSED_PART || request.size <= len || request.size > whole ||
			 memcmp(text, test->text, len);
		free(text);
	}
	is_int(wrong, 0, "each part of the request '%.*s' is a part",
	       (int)strcspn(test->text, "\r\n") < 40 ? (int)strcspn(test->text, "\r\n") : 40,
	       test->text);
}

/* A line of @len bytes that begins with @begin, without an end. */
static enum parsed parse_long(const char *begin, size_t len)
{
	char *text = malloc(len);
	struct request request;
	enum parsed parsed;

	memset(text, 'x', len);
	memcpy(text, begin, strlen(begin));
	parsed = parser_request(text, len, VALUE_MAX, &request);
	free(text);
	return parsed;
}

static void test_long(void)
{
	is_int(parse_long("set ", 2048), PARSED_PART, "2048 bytes without an end are a part");
	is_int(parse_long("set ", 2049), PARSED_CLOSE,
	       "2049 bytes of a set without an end are refused");
	is_int(parse_long("get ", 2049), PARSED_PART, "a get may be longer");
	is_int(parse_long("   gats 1 ", PARSER_LINE_MAX), PARSED_PART,
	       "a gats may have PARSER_LINE_MAX bytes");
	is_int(parse_long("get ", PARSER_LINE_MAX + 1), PARSED_CLOSE, "a longer get is refused");
}

static void test_nul(void)
{
	char text[] = "get a\0b c\r\n";
	struct request request;
	enum parsed parsed = parser_request(text, sizeof(text) - 1, VALUE_MAX, &request);

	ok(parsed == PARSED_REQUEST && request.size == sizeof(text) - 1 &&
	   request.words_end == text + 5, "a NUL byte ends the words of a line");
}

static void test_number(const char *text, bool is_number, uint64_t want)
{
	uint64_t number = 0;
	bool found = parser_number(text, strlen(text), &number);

	ok(found == is_number && (!found || number == want), "parser_number() of '%s' %s", text,
	   is_number ? "returns it" : "refuses it");
}

static void test_base64(const char *key, const char *want)
{
	char text[PARSER_BASE64_MAX];
	size_t len = parser_encode(key, strlen(key), text);

	ok(len == strlen(want) && !memcmp(text, want, len), "parser_encode() of '%s' is %s", key,
	   want);
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_case(&cases[i]);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_parts(&cases[i]);
	test_long();
	test_nul();
	test_number("0", true, 0);
	test_number("18446744073709551615", true, UINT64_MAX);
	test_number("18446744073709551616", false, 0);
	test_number(" 12 ", true, 12);
	test_number("+5", true, 5);
	test_number("-5", false, 0);
	test_number("12ab", false, 0);
	test_number("", false, 0);
	test_number("-", false, 0);
	test_base64("", "");
	test_base64("f", "Zg==");
	test_base64("fo", "Zm8=");
	test_base64("foo", "Zm9v");
	return done_testing();
}
