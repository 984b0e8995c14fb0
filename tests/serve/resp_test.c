// SPDX-License-Identifier: GPL-2.0-only
/*
 * resp_test - bytes become the requests of the protocol of Redis, wherever reads split them, and
 * scripts that mean the same have one form.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "form.h"
#include "glob.h"
#include "hashbelt.h"
#include "lifetime.h"
#include "resp.h"

static const struct resp_limits limits = { .count = 100, .bulk = 20, .all = 60 };
static const struct resp_limits stranger = {
	.count = 3, .bulk = 20, .all = 60, .is_strict = true,
};

/* Requests, and what they become: their arguments in brackets, or an error. */
static const struct request_case {
	const char *text;
	const char *becomes;
	const char *of_stranger;	/* if that differs */
} cases[] = {
	{ "*1\r\n$4\r\nPING\r\n", "[PING]", NULL },
	{ "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", "[SET][k][]", NULL },
	{ "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n1234567890\r\n", "[SET][k][1234567890]",
	  NULL },
	{ "*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n", "[GET][a\r\nb]", NULL },
	{ "*2\r\n$3\r\nGET\r\n$12\r\n*1\r\n$1\r\nA\r\nx\r\n", "[GET][*1\r\n$1\r\nA\r\nx]",
	  NULL },
	{ "*0\r\n", "", NULL },
	{ "*-1\r\n", "", NULL },
	{ "\r\n", "", NULL },
	{ "\n", "", NULL },
	{ "  \r\n", "", NULL },
	{ "PING\r\n", "[PING]", NULL },
	{ "PING\n", "[PING]", NULL },
	{ "set k  \"a b\"\r\n", "[set][k][a b]", NULL },
	{ "a \"\\x41\\n\\r\\t\\\"\\\\\\q\"\r\n", "[a][A\n\r\t\"\\q]", NULL },
	{ "a 'b\\'\\n'\r\n", "[a][b'\\n]", NULL },
	{ "a \"\" ''\r\n", "[a][][]", NULL },
	{ "a\"b c\" d\r\n", "[ab c][d]", NULL },
	{ "a \"b\"c\r\n", "unbalanced", NULL },
	{ "a \"b\r\n", "unbalanced", NULL },
	{ "a 'b\r\n", "unbalanced", NULL },
	{ "POST / HTTP/1.1\r\n", "closed", NULL },
	{ "host: a\r\n", "closed", NULL },
	{ "*x\r\n", "ERR Protocol error: invalid multibulk length", NULL },
	{ "*1\n", "ERR Protocol error: invalid multibulk length", NULL },
	{ "*+1\r\n", "ERR Protocol error: invalid multibulk length", NULL },
	{ "*101\r\n", "ERR Protocol error: invalid multibulk length",
	  "ERR Protocol error: unauthenticated multibulk length" },
	{ "*123456789012345678901234567890123\r\n",
	  "ERR Protocol error: invalid multibulk length", NULL },
	{ "*1\r\n:4\r\n", "ERR Protocol error: expected '$', got ':'", NULL },
	{ "*1\r\n$x\r\n", "ERR Protocol error: invalid bulk length", NULL },
	{ "*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length", NULL },
	{ "*1\r\n$536870913\r\n", "ERR Protocol error: invalid bulk length", NULL },
	{ "*1\r\n$01\r\na\r\n", "ERR Protocol error: invalid bulk length", NULL },
	{ "*1\r\n$18446744073709551617\r\na\r\n",
	  "ERR Protocol error: invalid bulk length", NULL },
	{ "*18446744073709551617\r\n$1\r\na\r\n",
	  "ERR Protocol error: invalid multibulk length", NULL },
	{ "*1\r\n$4\r\nPINGxx", "ERR Protocol error: invalid CRLF in request", NULL },
	{ "*2\r\n$1\r\nA\r\n$21\r\n123456789012345678901\r\n", "dropped",
	  "ERR Protocol error: unauthenticated bulk length" },
	{ "*3\r\n$1\r\nA\r\n$21\r\n123456789012345678901\r\n$1\r\nB\r\n", "dropped",
	  "ERR Protocol error: unauthenticated bulk length" },
	{ "*3\r\n$20\r\n12345678901234567890\r\n$20\r\n12345678901234567890\r\n$20\r\n"
	  "12345678901234567890\r\n", "dropped", NULL },
};

static void describe_words(const char *at, uint32_t count, char *to)
{
	struct word word;

	while (count--) {
		resp_next(&at, &word);
		*to++ = '[';
		to = mempcpy(to, word.at, word.len);
		*to++ = ']';
	}
	*to = '\0';
}

static bool is_same(const struct word *found, const struct word *expected)
{
	return found->at == expected->at && found->len == expected->len;
}

/* Whether the first two arguments of a request stand in it. */
static bool has_first(const struct resp_request *request)
{
	struct word name = { NULL, 0 }, key = { NULL, 0 };
	const char *at = request->args;

	if (request->count)
		resp_next(&at, &name);
	if (request->count > 1)
		resp_next(&at, &key);
	return is_same(&request->name, &name) && is_same(&request->key, &key);
}

static void describe_line(const struct resp_request *request, char *to)
{
	size_t len = request->end - request->args, size;
	char *space = malloc((len + 1) * RESP_INLINE_GROWTH);
	uint32_t count;

	if (resp_inline(request->args, len, space, &size, &count))
		describe_words(space, count, to);
	else
		strcpy(to, "unbalanced");
	free(space);
}

static void describe(enum parsed parsed, const struct resp_request *request, char *to)
{
	*to = '\0';
	if (parsed == PARSED_CLOSE)
		strcpy(to, request->error ?: "closed");
	else if (request->is_dropped)
		strcpy(to, "dropped");
	else if (request->is_inline)
		describe_line(request, to);
	else if (!has_first(request))
		strcpy(to, "other first arguments");
	else if (request->count)
		describe_words(request->args, request->count, to);
}

/*
 * Parses a text that comes in two parts, or byte by byte (@first is 0), from memory of exactly the
 * size of what there is. Return: the bytes of the request with those that were dropped.
 */
static size_t parse(const char *text, size_t len, size_t first, const struct resp_limits *with,
		    char *found)
{
	size_t gone = 0, there = first ?: 1;
	struct resp_place place = { 0 };
	struct resp_request request;
	enum parsed parsed;
	char *copy;

	for (;;) {
		copy = malloc(there - gone);
		memcpy(copy, text + gone, there - gone);
		parsed = resp_parse(copy, there - gone, with, &place, &request);
		if (parsed != PARSED_PART || there == len)
			break;
		free(copy);
		gone += request.dropped;
		there = first ? len : there + 1;
		if (there == gone)
			return 0;
	}
	strcpy(found, "a part");
	if (parsed != PARSED_PART)
		describe(parsed, &request, found);
	free(copy);
	return gone + request.size;
}

static void test_case(const struct request_case *one, const struct resp_limits *with)
{
	const char *becomes = with->is_strict && one->of_stranger ? one->of_stranger :
								   one->becomes;
	size_t len = strlen(one->text), first, size;
	const char *whose = with->is_strict ? " of a stranger" : "";
	bool closes = !strncmp(becomes, "ERR", 3) || !strcmp(becomes, "closed");
	char found[256];

	for (first = 0; first <= len; first++) {
		size = parse(one->text, len, first, with, found);
		if (strcmp(found, becomes) || (!closes && size != len))
			break;
	}
	if (first <= len)
		note("expected '%s' of %zu bytes, found '%s' of %zu, first part of %zu",
		     becomes, len, found, size, first);
	ok(first > len, "request %zu%s becomes the same wherever it is split",
	   (size_t)(one - cases), whose);
}

/* Several requests in a row: each ends where the next one begins. */
static void test_row(void)
{
	const char *text = "*1\r\n$1\r\nA\r\nB c\r\n*0\r\n*2\r\n$1\r\nD\r\n$0\r\n\r\n", *at = text;
	size_t left = strlen(text), size;
	char all[256] = "", found[256];

	while (left) {
		size = parse(at, left, left, &limits, found);
		if (!size || size > left)
			break;
		strcat(all, found);
		at += size;
		left -= size;
	}
	ok(!left && !strcmp(all, "[A][B][c][D][]"), "requests in a row are found one by one");
}

static const struct {
	const char *text;
	bool good;
	int64_t number;
} numbers[] = {
	{ "0", true, 0 }, { "7", true, 7 }, { "-7", true, -7 },
	{ "9223372036854775807", true, INT64_MAX },
	{ "-9223372036854775808", true, INT64_MIN },
	{ "9223372036854775808", false, 0 }, { "-9223372036854775809", false, 0 },
	{ "", false, 0 }, { "-", false, 0 }, { "-0", false, 0 }, { "00", false, 0 },
	{ "05", false, 0 }, { "+5", false, 0 }, { " 5", false, 0 }, { "5 ", false, 0 },
	{ "5x", false, 0 }, { "--5", false, 0 },
};

static void test_numbers(void)
{
	int64_t number;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		bool good = resp_integer(numbers[i].text, strlen(numbers[i].text), &number);

		ok(good == numbers[i].good && (!good || number == numbers[i].number),
		   "'%s' is %s", numbers[i].text, numbers[i].good ? "a number" : "no number");
	}
}

static const struct {
	const char *pattern;
	const char *text;
	bool matches;
} patterns[] = {
	{ "", "", true }, { "", "a", false }, { "*", "", true }, { "*", "abc", true },
	{ "a*c", "abbc", true }, { "a*c", "abbd", false }, { "*a*b*", "xaybz", true },
	{ "?", "a", true }, { "?", "", false }, { "a?c", "abc", true },
	{ "[abc]", "b", true }, { "[abc]", "d", false }, { "[a-c]x", "bx", true },
	{ "[c-a]", "b", true }, { "[^a-c]", "b", false }, { "[^a-c]", "d", true },
	{ "[\\]]", "]", true }, { "[a", "a", true }, { "\\*", "*", true }, { "\\*", "a", false },
	{ "a\\", "a\\", true }, { "**", "a", true }, { "a**b", "ab", true },
	{ "*aaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
	{ "*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
};

static void test_patterns(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++) {
		struct word pattern = { patterns[i].pattern, strlen(patterns[i].pattern) };

		ok(glob_matches(&pattern, patterns[i].text, strlen(patterns[i].text)) ==
		   patterns[i].matches, "'%s' %s '%s'", patterns[i].pattern,
		   patterns[i].matches ? "matches" : "does not match", patterns[i].text);
	}
}

static void test_lifetimes(void)
{
	struct lifetime life;

	ok(lifetime_of(5, UNIT_SECONDS, 0, &life) && life.ttl_ms == 5000, "5 s are 5000 ms");
	ok(lifetime_of(5, UNIT_AT_SECONDS, 2000, &life) && life.ttl_ms == 3000,
	   "the second 5 is 3000 ms after the second 2");
	ok(lifetime_of(5, UNIT_AT_MILLISECONDS, 5, &life) && life.is_over,
	   "a moment that is reached is over");
	ok(lifetime_of(INT64_MIN / 1000, UNIT_SECONDS, 0, &life) && life.is_over,
	   "a time below 0 is over");
	ok(!lifetime_of(INT64_MAX, UNIT_SECONDS, 0, &life), "a time beyond 64 bits is refused");
	ok(!lifetime_of(INT64_MIN, UNIT_AT_MILLISECONDS, 1, &life),
	   "a moment before 64 bits is refused");
	ok(lifetime_of(HASHBELT_TTL_MAX_MS, UNIT_MILLISECONDS, 0, &life) && !life.is_over,
	   "the longest time of a belt is taken");
	ok(!lifetime_of(HASHBELT_TTL_MAX_MS + 1, UNIT_MILLISECONDS, 0, &life),
	   "a longer time than a belt has is refused");
	ok(lifetime_left(1499, UNIT_SECONDS, 0) == 1 && lifetime_left(1500, UNIT_SECONDS, 0) == 2,
	   "seconds left are rounded to the nearest");
	ok(lifetime_left(HASHBELT_TTL_NEVER, UNIT_AT_SECONDS, 5) == -1,
	   "an entry that does not expire has -1 seconds left");
	ok(lifetime_left(500, UNIT_AT_MILLISECONDS, 1000) == 1500, "a time of expiry is absolute");
}

/* The forms of scripts. */
#define DEL		"redis.call(\"del\",KEYS[1])"
#define IF_EQUAL	"if redis.call(\"get\",KEYS[1])==ARGV[1]then "
#define DELETES		IF_EQUAL "return " DEL "end return 0"
#define RENEWS		IF_EQUAL "redis.call(\"pexpire\",KEYS[1],ARGV[2])return 1 end return 0"
#define COUNT		"local$a=redis.call(\"incr\",KEYS[1])"
#define COUNTS		COUNT "if$a==1 then redis.call(\"expire\",KEYS[1],ARGV[1])end return$a"

/* Parts of their texts. */
#define TEXT_IF		"if redis.call('get', KEYS[1]) == ARGV[1] then "
#define TEXT_DELETE	"return redis.call('del', KEYS[1])"

/* More variables than are kept. */
#define LOCALS	9

/* Scripts, and their forms. NULL: they have none. */
static const struct {
	const char *text;
	const char *form;
} scripts[] = {
	{ TEXT_IF TEXT_DELETE " else return 0 end", DELETES },
	{ "if redis.call(\"GET\",KEYS[1])==ARGV[1] then\n"
	  "  return redis.call(\"DEL\",KEYS[1]);\nend\nreturn 0;\n", DELETES },
	{ "-- unlock\nif (redis.call('get', KEYS[1]) == ARGV[1]) then\n"
	  TEXT_DELETE " end return 0", DELETES },
	{ "if (redis.call('get', KEYS[1])) then return 1 end",
	  "if redis.call(\"get\",KEYS[1])then return 1 end" },
	{ "if (redis.call('exists', KEYS[1]) == 1) then return 1 end",
	  "if redis.call(\"exists\",KEYS[1])==1 then return 1 end" },
	{ "local key = KEYS[1]\nlocal id = ARGV[1]\nlocal value = redis.call('get', key)\n"
	  "if value == id then\nreturn redis.call('del', key)\nend\nreturn 0 -- not ours",
	  DELETES },
	{ "local key, id = KEYS[1], ARGV[1] return 0", NULL },
	{ "local a, b = unpack(ARGV) return redis.call('get', b)",
	  "return redis.call(\"get\",ARGV[2])" },
	{ "local a, b = unpack(ARGV", NULL },
	{ "local a, b = unpack(KEYS) return a", NULL },
	{ "local a,", NULL },
	{ "local a,,=unpack(ARGV)", NULL },
	{ "local k=KEYS[1] local a,b,c,d,e,f,g,k=unpack(ARGV) return k", NULL },
	{ "local k=KEYS[1] local k=KEYS[2] return k", "return KEYS[2]" },
	{ "local k = KEYS[1] local x = k redis.call('del', x) return 0",
	  "local$a=KEYS[1]redis.call(\"del\",x)return 0" },
	{ "local x = KEYS[redis.call('incr', KEYS[2])] return 0",
	  "local$a=KEYS[redis.call(\"incr\",KEYS[2])]return 0" },
	{ "local v = redis.call('get', redis.call('set', KEYS[1], ARGV[1])) return 0",
	  "local$a=redis.call(\"get\",redis.call(\"set\",KEYS[1],ARGV[1]))return 0" },
	{ "local t = tonumber(ARGV[2])\n"
	  TEXT_IF "redis.call('pexpire', KEYS[1], t) return 1 else return 0 end", RENEWS },
	{ "local key = KEYS[1] local n = redis.call('INCR', key)\n"
	  "if tonumber(n) == 1 then redis.call('EXPIRE', key, ARGV[1]) end return n", COUNTS },
	/* These mean something else. */
	{ "if redis.call('get', KEYS[1]) == tonumber(ARGV[1]) then " TEXT_DELETE " end",
	  "if redis.call(\"get\",KEYS[1])==tonumber(ARGV[1])then return " DEL "end" },
	{ "local x = redis.call('incr', KEYS[1]) return a", COUNT "return a" },
	{ "local x = redis.call('incr', KEYS[1]) + 1 return x", COUNT "+1 return$a" },
	{ "local KEYS = ARGV[1] return KEYS[1]", "return ARGV[1][1]" },
	{ "return 'GET'", "return\"GET\"" },
	{ "local get = KEYS[1] return redis.get", "return redis.get" },
	/* No known script has these. */
	{ "return 'a\",b'", NULL },
	{ "return \"a\\\"b\"", NULL },
	{ "return 'a b'", NULL },
	{ "return 'ab", NULL },
	{ "--[[ a\n]] return 1", NULL },
	{ "return $a", NULL },
	{ "local", NULL },
	{ "local x", NULL },
	{ "local x = (", NULL },
	{ "local x = redis.call('get'", NULL },
	{ "", "" },
};

static void test_forms(void)
{
	char long_one[2 * FORM_SIZE + 1], many[LOCALS * 16] = "", form[FORM_SIZE];
	bool has_form;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(scripts); i++) {
		struct word text = { scripts[i].text, strlen(scripts[i].text) };

		has_form = form_of(&text, form);
		ok(scripts[i].form ? has_form && !strcmp(form, scripts[i].form) : !has_form,
		   "script %zu has its form, or none: found %s", i, has_form ? form : "none");
	}
	memset(long_one, 'x', sizeof(long_one));
	ok(!form_of(&(struct word){ long_one, sizeof(long_one) }, form),
	   "a long script has no form");
	for (i = 0; i < LOCALS; i++)
		strcat(many, "local x=KEYS[1]");
	ok(!form_of(&(struct word){ many, strlen(many) }, form),
	   "a script with many variables has no form");
	ok(!form_of(&(struct word){ "return\0 1", 9 }, form),
	   "a script with a zero byte has no form");
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		test_case(&cases[i], &limits);
		test_case(&cases[i], &stranger);
	}
	test_row();
	test_numbers();
	test_patterns();
	test_lifetimes();
	test_forms();
	return done_testing();
}
