// SPDX-License-Identifier: GPL-2.0-only
/* stats_test - requests are counted by prefixes that clients choose, at a bounded cost. */
#include <stdio.h>
#include <string.h>

#include "../device/tap.h"
#include "stats.h"

/* The most prefixes that are counted: see stats.c. */
#define PREFIXES	4096

/* Prefixes are compared so often at most to find one: twice the depth of a tree that is full. */
#define COMPARES_MAX	26

static unsigned int compares;

int __wrap_memcmp(const void *a, const void *b, size_t len)
{
	const unsigned char *first = a, *second = b;

	compares++;
	for (; len && *first == *second; len--) {
		first++;
		second++;
	}
	return len ? *first - *second : 0;
}

/*
 * Makes the key of a number. To many hashes that read a text from its beginning, such as
 * hash * 31 + byte, all these prefixes are equal.
 */
static size_t make_key(char *key, unsigned int number)
{
	unsigned int bit;

	for (bit = 0; bit < 13; bit++)
		memcpy(key + 2 * bit, number >> bit & 1 ? "Aa" : "BB", 2);
	memcpy(key + 26, ":k", 2);
	return 28;
}

static void record(unsigned int number, enum detail what)
{
	char key[32];
	size_t len = make_key(key, number);

	detail_record(key, len, what);
}

static unsigned int listed, counted, unordered;
static char last[32];

static void look(void *arg, const char *prefix, size_t len, const uint64_t *counts)
{
	(void)arg;
	if (listed++ && memcmp(last, prefix, len) >= 0)
		unordered++;
	memcpy(last, prefix, len);
	counted += counts[DETAIL_GET] + counts[DETAIL_HIT] + counts[DETAIL_SET] +
		   counts[DETAIL_DELETE];
}

static void list(void)
{
	listed = 0;
	counted = 0;
	unordered = 0;
	detail_list(look, NULL);
}

static void test_counts(void)
{
	detail_record("plain", 5, DETAIL_GET);
	detail_record(":k", 2, DETAIL_GET);
	list();
	ok(!listed, "a key without a prefix is not counted");
	detail_record("a:1", 3, DETAIL_GET);
	detail_record("a:2", 3, DETAIL_SET);
	detail_record("ab:2", 4, DETAIL_HIT);
	detail_record("b:2", 3, DETAIL_DELETE);
	list();
	ok(listed == 3 && counted == 4 && !unordered,
	   "each prefix is listed once, in order, with all its requests");
	detail_reset();
	list();
	ok(!listed, "a reset forgets all prefixes");
}

static void test_many(void)
{
	unsigned int i, most = 0;

	for (i = 0; i < PREFIXES; i++)
		record(i, DETAIL_GET);
	list();
	ok(listed == PREFIXES && !unordered, "4096 prefixes are counted");
	for (i = 0; i < PREFIXES; i++) {
		compares = 0;
		record(i, DETAIL_HIT);
		most = compares > most ? compares : most;
	}
	note("comparisons to find a prefix: at most %u", most);
	ok(most && most <= COMPARES_MAX, "no choice of prefixes makes one slow to find");
	compares = 0;
	record(PREFIXES, DETAIL_GET);
	list();
	ok(listed == PREFIXES && counted == 2 * PREFIXES, "a prefix more is not counted");
	detail_reset();
}

int main(void)
{
	test_counts();
	test_many();
	return done_testing();
}
