// SPDX-License-Identifier: GPL-2.0-only
/*
 * parser_test - the longest lines, numbers and keys in base64. The requests that bytes become:
 * tests/serve/dialogues. Where they end: tests/fuzz/request_fuzz.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "parser.h"

#define VALUE_MAX	100

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

static void test_number(const char *text, bool is_number, uint64_t want)
{
	uint64_t number = 0;
	bool found = parser_number(text, strlen(text), &number);

	ok(found == is_number && (!found || number == want), "parser_number() of '%s' %s", text,
	   is_number ? "returns it" : "refuses it");
}

/* @seconds: 0 if the time is refused. */
static void test_time(const char *request, int64_t seconds)
{
	struct request found;
	char text[100];
	enum parsed parsed;

	strcpy(text, request);
	parsed = parser_request(text, strlen(text), VALUE_MAX, &found);
	ok(parsed == PARSED_REQUEST && !found.error == !!seconds &&
	   (!seconds || found.exptime == seconds),
	   "parser_request() of '%.*s': the time is %lld", (int)strcspn(request, "\r"), request,
	   (long long)seconds);
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
	test_number("0", true, 0);
	test_number("18446744073709551615", true, UINT64_MAX);
	test_number("18446744073709551616", false, 0);
	test_number(" 12 ", true, 12);
	test_number("+5", true, 5);
	test_number("-5", false, 0);
	test_number("12ab", false, 0);
	test_number("", false, 0);
	test_number("-", false, 0);
	test_time("set k 0 2177452800 1\r\na\r\n", 2177452800);
	test_time("cas k 0 9223372036854775807 1 1\r\na\r\n", INT64_MAX);
	test_time("set k 0 -4294967296 1\r\na\r\n", -4294967296);
	test_time("add k 0 9223372036854775808 1\r\na\r\n", 0);
	test_time("touch k 2177452800\r\n", 2177452800);
	test_time("gat 9223372036854775807 k\r\n", INT64_MAX);
	test_time("touch k 9223372036854775808\r\n", 0);
	test_time("ms k 1 T2177452800\r\na\r\n", 2177452800);
	test_time("mg k T-4294967296\r\n", -4294967296);
	test_time("flush_all 2147483647\r\n", INT32_MAX);
	test_time("flush_all 2147483648\r\n", 0);
	test_base64("", "");
	test_base64("f", "Zg==");
	test_base64("fo", "Zm8=");
	test_base64("foo", "Zm9v");
	return done_testing();
}
