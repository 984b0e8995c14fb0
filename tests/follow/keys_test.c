// SPDX-License-Identifier: GPL-2.0-only
/* keys_test - keys of an engine get the names that --strip and --map give them in the belt. */
#include "../device/tap.h"
#include "keys.h"

static struct keys keys;

/* Whether a key has this name; NULL: none. */
static bool is_named(const char *key, size_t len, const char *want, size_t want_len)
{
	/* No larger than it has to be, so that a sanitizer sees a longer name. */
	char *name = malloc(HASHBELT_KEY_MAX);
	size_t name_len = keys_name(&keys, key, len, name);
	bool good = want ? name_len == want_len && !memcmp(name, want, want_len) : !name_len;

	if (!good)
		note("found %zu bytes, '%.*s'", name_len, (int)name_len, name);
	free(name);
	return good;
}

static bool becomes(const char *key, const char *want)
{
	return is_named(key, strlen(key), want, want ? strlen(want) : 0);
}

static void test_rules(void)
{
	ok(becomes("page:1", "page:1"), "without a rule a key keeps its name");
	ok(becomes("", NULL), "an empty key has no name");
	keys_add(&keys, "page:", 5, "");
	keys_add(&keys, "user:old:", 9, "archive:");
	keys_add(&keys, "user:", 5, "u");
	keys_add(&keys, "user:new:", 9, "never");
	ok(becomes("page:1", "1"), "a rule without a new prefix strips");
	ok(becomes("page:", NULL), "a key of which nothing is left has no name");
	ok(becomes("page", "page"), "a key that ends before the prefix keeps its name");
	ok(becomes("Page:1", "Page:1"), "case counts");
	ok(becomes("user:1", "u1"), "a rule replaces the prefix");
	ok(becomes("user:", "u"), "the new prefix alone is a name");
	ok(becomes("user:old:7", "archive:7"), "the first rule that fits counts");
	ok(becomes("user:new:7", "unew:7"), "a later rule does not count");
	ok(becomes("xpage:1", "xpage:1"), "a prefix is at the beginning");
	ok(is_named("page:\0a", 7, "\0a", 2), "a key may have zero bytes");
	keys_add(&keys, "", 0, "all:");
	ok(becomes("other", "all:other") && becomes("", "all:"), "an empty prefix fits all keys");
	keys_free(&keys);
}

static void test_lengths(void)
{
	static char longest[HASHBELT_KEY_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	ok(is_named(longest, HASHBELT_KEY_MAX, longest, HASHBELT_KEY_MAX),
	   "a key of %d bytes keeps its name", HASHBELT_KEY_MAX);
	ok(is_named(longest, HASHBELT_KEY_MAX + 1, NULL, 0), "a longer one has no name");
	keys_add(&keys, "xx", 2, "y");
	ok(is_named(longest, HASHBELT_KEY_MAX + 2, NULL, 0),
	   "a key that is too long when it is renamed has no name");
	longest[0] = 'y';
	memset(longest + 1, 'x', HASHBELT_KEY_MAX - 1);
	keys_free(&keys);
	keys_add(&keys, "", 0, "y");
	ok(is_named(longest + 1, HASHBELT_KEY_MAX - 1, longest, HASHBELT_KEY_MAX),
	   "a key may grow to %d bytes", HASHBELT_KEY_MAX);
	ok(is_named(longest + 1, HASHBELT_KEY_MAX, NULL, 0), "it may not grow beyond");
	keys_free(&keys);
	memset(longest, 'x', sizeof(longest));
	longest[HASHBELT_KEY_MAX + 1] = '\0';
	keys_add(&keys, "a", 1, longest);
	ok(becomes("a", NULL), "a new prefix that is too long alone gives no name");
	keys_free(&keys);
}

int main(void)
{
	test_rules();
	test_lengths();
	return done_testing();
}
