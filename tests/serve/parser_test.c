// SPDX-License-Identifier: GPL-2.0-only
/*
 * parser_test - no value becomes a request, and no line is read beyond its end. The requests that
 * bytes become: tests/serve/dialogues.
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

/* A copy of just these bytes, so that a sanitizer sees reads behind them. */
static char *copy(const char *text, size_t len)
{
	return memcpy(malloc(len ? len : 1), text, len);
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

static void test_no_key(void)
{
	static const char *const lines[] = {
		"get\r\n", "get  \r\n", " gets \r\n", "bget    \r\n", "gat 1\r\n", "gats x \r\n",
	};
	struct request request;
	char text[16];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		strcpy(text, lines[i]);
		ok(parser_request(text, strlen(text), VALUE_MAX, &request) == PARSED_REQUEST &&
		   request.error && !strcmp(request.error, "CLIENT_ERROR bad command line format"),
		   "%.*s without a key is refused", (int)strcspn(lines[i], "\r"), lines[i]);
	}
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
	test_long();
	test_no_key();
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
