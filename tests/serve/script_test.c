// SPDX-License-Identifier: GPL-2.0-only
/* script_test - the forms of scripts, and the times-to-live of Redis. */
#include <stdio.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "form.h"
#include "hashbelt.h"
#include "lifetime.h"
#include "resp.h"

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
	test_lifetimes();
	test_forms();
	return done_testing();
}
