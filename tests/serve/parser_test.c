// SPDX-License-Identifier: GPL-2.0-only
/*
 * parser_test - bytes become the requests that memcached would make of them, and no value becomes a
 * request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "parser.h"

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
	{ "get\r\n", "error CLIENT_ERROR bad command line format" },
	{ "gat 10 a\r\n", "command 3 size 10 exptime 10" },
	{ "gat x a\r\n", "error CLIENT_ERROR invalid exptime argument" },
	{ "gats -1 a\r\n", "command 4 size 11 exptime -1" },
	{ "bget a\r\n", "command 1 size 8" },
	{ "set a 5 100 3\r\nxyz\r\n", "command 5 size 20 key a value xyz flags 5 exptime 100" },
	{ "set a 5 100 3 noreply\r\nxyz\r\n",
	  "command 5 quiet size 28 key a value xyz flags 5 exptime 100" },
	{ "set a 0 0 0\r\n\r\n", "command 5 size 15 key a value" },
	{ "set a 4294967295 -2147483648 0\r\n\r\n",
	  "command 5 size 34 key a value flags 4294967295 exptime -2147483648" },
	{ "set a 4294967296 0 0\r\n\r\n", "removes error CLIENT_ERROR bad command line format" },
	{ "set a 4294967296 0 0 noreply\r\n\r\n",
	  "removes quiet error CLIENT_ERROR bad command line format" },
	{ "set a 18446744073709551615 0 0\r\n\r\n",
	  "removes error CLIENT_ERROR bad command line format" },
	{ "set a 18446744073709551616 0 0\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 4294967296 x 0\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set " K250 "k 4294967296 0 0\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "add a 4294967296 0 0\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "replace a 4294967296 0 0\r\n\r\n",
	  "removes error CLIENT_ERROR bad command line format" },
	{ "cas a 4294967296 0 0 1\r\n\r\n", "removes error CLIENT_ERROR bad command line format" },
	{ "cas a 4294967296 0 0 x\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "append a 4294967297 0 0\r\n\r\n", "command 8 size 27 key a value flags 1" },
	{ "set a 0 4294967297 0\r\n\r\n", "command 5 size 24 key a value exptime 1" },
	{ "touch a 1700000000000\r\n", "error CLIENT_ERROR invalid exptime argument" },
	{ "gat 2147483648 a\r\n", "error CLIENT_ERROR invalid exptime argument" },
	{ "flush_all 2147483648\r\n", "error CLIENT_ERROR invalid exptime argument" },
	{ "mg a T2147483648\r\n", "error CLIENT_ERROR bad token in command line format" },
	{ "ms a 1 F4294967296\r\nx\r\n", "error CLIENT_ERROR bad command line format" },
	{ "verbosity 4294967296\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a -1 0 0\r\n\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 -1\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 2147483645\r\n",
	  "removes skip 2147483647 error SERVER_ERROR object too large for cache" },
	{ "set a 0 0 2147483646\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 4294967299\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 +3\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 003\r\nxyz\r\n", "command 5 size 20 key a value xyz" },
	{ "set a 0 0\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "set a b 0 0 3\r\nxyz\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 3 noreply x\r\nxyz\r\n", "command 5 size 28 key a value xyz" },
	{ "set a 0 0 3 x noreply\r\nxyz\r\n", "command 5 quiet size 28 key a value xyz" },
	{ "set " K250 "k 0 0 1\r\na\r\n", "error CLIENT_ERROR bad command line format" },
	{ "set a 0 0 3\r\nxyzz\r", "closes error CLIENT_ERROR bad data chunk" },
	{ "set a 0 0 3 noreply\r\nxyzz\r", "quiet closes error CLIENT_ERROR bad data chunk" },
	{ "set a 0 0 101\r\n", "removes skip 103 error SERVER_ERROR object too large for cache" },
	{ "add a 0 0 1\r\nx\r\n", "command 6 size 16 key a value x" },
	{ "replace a 0 0 1\r\nx\r\n", "command 7 size 20 key a value x" },
	{ "append a 0 0 1\r\nx\r\n", "command 8 size 19 key a value x" },
	{ "prepend a 0 0 1\r\nx\r\n", "command 9 size 20 key a value x" },
	{ "cas a 0 0 1 18446744073709551615\r\nx\r\n",
	  "command 10 size 37 key a value x unique 18446744073709551615" },
	{ "cas a 0 0 1 18446744073709551616\r\nx\r\n",
	  "error CLIENT_ERROR bad command line format" },
	{ "cas a 0 0 1\r\nx\r\n", "error CLIENT_ERROR bad command line format" },
	{ "incr a 7\r\n", "command 11 size 10 key a delta 7" },
	{ "decr a 7 noreply\r\n", "command 12 quiet size 18 key a delta 7" },
	{ "incr a -1\r\n", "error CLIENT_ERROR invalid numeric delta argument" },
	{ "touch a 2147483647\r\n", "command 13 size 20 key a exptime 2147483647" },
	{ "touch a\r\n", "error CLIENT_ERROR bad command line format" },
	{ "delete a\r\n", "command 14 size 10 key a" },
	{ "delete a 0 noreply\r\n", "command 14 quiet size 20 key a" },
	{ "delete a 1\r\n", "command 14 size 12 key a" },
	{ "delete a noreply x\r\n", "command 14 size 20 key a" },
	{ "gat 0\r\n", "error CLIENT_ERROR bad command line format" },
	{ "incr a 1 2 3\r\n", "command 11 size 14 key a delta 1" },
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
	{ "mg a b c d e f g h i j k l m n o p q r s t\r\n",
	  "error CLIENT_ERROR options flags are too long" },
	{ "mg\r\n", "error CLIENT_ERROR bad command line format" },
	{ "ms a 1 T30 F7 C9\r\nx\r\n",
	  "command 16 as 10 size 21 key a value x flags 7 exptime 30 unique 9 delta 1 given CFT" },
	{ "ms a 1 MA\r\nx\r\n", "command 16 as 8 size 14 key a value x delta 1 given M" },
	{ "ms a 1 MR C1\r\nx\r\n",
	  "command 16 as 10 size 17 key a value x unique 1 delta 1 given CM" },
	{ "ms a 1 MA N60\r\nx\r\n",
	  "command 16 as 8 size 18 key a value x vivify 60 delta 1 given MN" },
	{ "ms a 1 x\r\ny\r\n", "command 16 as 5 size 13 key a value y delta 1 given x" },
	{ "ms a 1 E5\r\nx\r\n", "removes error CLIENT_ERROR invalid flag" },
	{ "ms a 1 E5 Tx\r\nx\r\n", "error CLIENT_ERROR bad token in command line format" },
	{ "ms a 1 MX q\r\nx\r\n", "error CLIENT_ERROR invalid mode for ms M token" },
	{ "ms a 1 Fx\r\nx\r\n", "error CLIENT_ERROR bad command line format" },
	{ "ms a 101 q\r\n", "removes skip 103 error SERVER_ERROR object too large for cache" },
	{ "ms a\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "ms a S1\r\n", "closes error CLIENT_ERROR bad command line format" },
	{ "ms Zm9v 1 b\r\nx\r\n", "command 16 as 5 size 16 key foo value x delta 1 given b" },
	{ "md a I T30\r\n", "command 17 size 12 key a exptime 30 delta 1 given IT" },
	{ "md a Cx\r\n", "error CLIENT_ERROR bad token in command line format" },
	{ "md a x T5 F7\r\n", "command 17 size 14 key a flags 7 exptime 5 delta 1 given FTx" },
	{ "md a I E9\r\n", "command 17 size 11 key a delta 1 given EI" },
	{ "md a Ex\r\n", "error CLIENT_ERROR bad token in command line format" },
	{ "md a h\r\n", "command 17 size 8 key a delta 1 given h" },
	{ "ma a MD D5 J7\r\n", "command 18 mode D size 15 key a delta 5 initial 7 given DJM" },
	{ "ma a M+\r\n", "command 18 mode I size 9 key a delta 1 given M" },
	{ "ma a E5\r\n", "removes error CLIENT_ERROR invalid or duplicate flag" },
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
	{ "lru_crawler metadump all\r\n", "command 27 size 26 delta -1" },
	{ "lru_crawler mgdump hash\r\n", "command 27 size 25 delta -1" },
	{ "stats cachedump 1 0\r\n", "command 27 size 21 delta -1" },
	{ "stats cachedump 1 3\r\n", "command 27 size 21 delta 3" },
	{ "stats cachedump 2 3\r\n", "command 27 size 21" },
	{ "stats cachedump 64 0\r\n", "error CLIENT_ERROR Illegal slab id" },
	{ "lru_crawler metadump x\r\n", "error BADCLASS invalid class id" },
	{ "lru_crawler crawl all\r\n", "error CLIENT_ERROR lru crawler disabled" },
	{ "slabs reassign 1 2\r\n", "error CLIENT_ERROR slab reassignment disabled" },
	{ "watch\r\n", "error CLIENT_ERROR watch commands not allowed" },
	{ "\r\n", "error CLIENT_ERROR bad command line format" },
	{ "x\r\n", "error CLIENT_ERROR bad command line format" },
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
		append(text, "%s%s%s", request->removes ? " removes" : "",
		       request->quiet ? " quiet" : "", request->closes ? " closes" : "");
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
	char text[] = "set a\0b 0 0 1\r\nx\r\n";
	struct request request;
	enum parsed parsed = parser_request(text, sizeof(text) - 1, VALUE_MAX, &request);

	ok(parsed == PARSED_REQUEST && request.size == sizeof(text) - 1 && !request.error &&
	   request.key_len == 3 && !memcmp(request.key, "a\0b", 3), "a NUL byte is one of a key");
}

/* A value that is a request, and lines in which a store names it. L: its length; N: a NUL byte. */
#define VALUE		"flush_all\r\nflush_all"

static const char * const wrong_stores[] = {
	"% " K250 "k 0 0 L", "% a x 0 L", "% a -1 0 L", "% a 0 x L",
	"% a 0 99999999999999999999 L", "% a 99999999999999999999 0 L", "% aNb 0 0 L",
	"% N 0 0 L", "% a 0N 0 L", "% a 0 0 L x", "% a 0 0 L x y z", "% a 0 0 L noreply",
	"% a 0 0 L noreply x", "% a 0 0 L x noreply", "% a 0 0 L -1", "% a 0 0 L N",
	"% " K250 "k 0 0 L noreply", "% a x 0 L noreply", "% a\t 0 0 L", "%  a  0  0  L  ",
	"% a 0 0 00L", "% a 0 0 L a b c d e f g h i j k l m n o p q r s t u v w x y z",
};

static const char * const wrong_meta_stores[] = {
	"ms " K250 "k L", "ms " K250 "k L b", "ms a L b", "ms a L !", "ms a L x x", "ms a L T",
	"ms a L Tx", "ms a L Cx", "ms a L MX", "ms a L M", "ms a L Fx",
	"ms a L F99999999999999999999", "ms a L " O32 "y", "ms aNb L", "ms N L", "ms a L N",
	"ms a L q N", "ms a L \377", "ms a L Ix 5 0", "ms a L MN",
	"ms a L a b c d e f g h i j k l m n o p q r s t u v w x y z",
};

/* Lines without a length that can be relied on. */
static const char * const endless[] = {
	"%", "% a", "% a 0", "% a 0 0", "%  0 0 L", "% a 0 0 -L", "% a 0 0 +L", "% a 0 0 Lx",
	"% a 0 0 L.0", "% a 0 0 0xL", "% a 0 0 LN", "% a 0 0 L\t", "% a 0 0 \tL",
	"% a 0 0 2147483646", "% a 0 0 2147483648", "% a 0 0 4294967296",
	"% a 0 0 18446744073709551616", "% a 0 0 x noreply",
};

static const char * const endless_meta[] = {
	"ms", "ms a", "ms  L", "ms a -L", "ms a +L", "ms a SL", "ms a Lx", "ms a LN",
	"ms a 2147483646", "ms a 4294967296", "ms a b L", "ms a x q",
};

/* Writes a line of these lists and the value behind it. Return: the length. */
static size_t write_store(const char *line, const char *command, char *text)
{
	char *to = text;

	for (; *line; line++) {
		if (*line == '%')
			to = stpcpy(to, command);
		else if (*line == 'L')
			to += sprintf(to, "%zu", strlen(VALUE));
		else
			*to++ = *line == 'N' ? '\0' : *line;
	}
	return stpcpy(to, "\r\n" VALUE "\r\n") - text;
}

/*
 * Of a store with its value, whatever is wrong with it: all of it is one request, and no beginning
 * of it is. @is_endless: its line alone is the request, and ends the connection.
 */
static bool test_store(const char *line, const char *command, bool is_endless)
{
	char written[1024];
	size_t whole = write_store(line, command, written), len, size;
	struct request request;
	enum parsed parsed;
	bool right = true;
	char *text;

	if (is_endless)
		whole -= strlen(VALUE "\r\n");
	for (len = 1; len <= whole && right; len++) {
		text = copy(written, len);
		parsed = parser_request(text, len, VALUE_MAX, &request);
		size = request.size;
		if (len < whole)
			right = parsed == PARSED_PART && size > len && size <= whole;
		else
			right = parsed == PARSED_REQUEST && size == whole && !request.skip &&
				request.closes == is_endless && (!is_endless || request.error);
		free(text);
	}
	if (!right)
		note("%s: of '%s', %zu of %zu bytes make %d, size %zu", command, line, len - 1,
		     whole, parsed, size);
	return right;
}

static void test_stores(void)
{
	static const char * const commands[] = {
		"set", "add", "replace", "append", "prepend", "cas",
	};
	size_t i, j, wrong;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		for (j = wrong = 0; j < ARRAY_SIZE(wrong_stores); j++)
			wrong += !test_store(wrong_stores[j], commands[i], false);
		is_int(wrong, 0, "the value of %s is a part of it, whatever its line has",
		       commands[i]);
		for (j = wrong = 0; j < ARRAY_SIZE(endless); j++)
			wrong += !test_store(endless[j], commands[i], true);
		is_int(wrong, 0, "%s without a length ends the connection", commands[i]);
	}
	for (j = wrong = 0; j < ARRAY_SIZE(wrong_meta_stores); j++)
		wrong += !test_store(wrong_meta_stores[j], "ms", false);
	is_int(wrong, 0, "the value of ms is a part of it, whatever its line has");
	for (j = wrong = 0; j < ARRAY_SIZE(endless_meta); j++)
		wrong += !test_store(endless_meta[j], "ms", true);
	is_int(wrong, 0, "ms without a length ends the connection");
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
	test_stores();
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
