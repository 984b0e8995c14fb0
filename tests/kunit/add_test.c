// SPDX-License-Identifier: GPL-2.0-only
/* Numbers in decimal, and adding to them. Guarantee 21 of docs/guarantees.md. */
#include <kunit/test.h>

#include "fixture.h"

static int put_text(struct hashbelt_belt *belt, unsigned int key, const char *text)
{
	return put_bytes(belt, &key, sizeof(key), text, strlen(text),
			 &(struct hashbelt_item){ .flags = 5 });
}

/* The value of a key as text, "nothing" if there is no such key. */
static void get_text(struct hashbelt_belt *belt, unsigned int key, char text[32])
{
	struct hashbelt_entry *entry;

	strscpy(text, "nothing", 32);
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), hashbelt_now(belt), NULL);
	if (entry && entry->value_len < 32) {
		memcpy(text, hashbelt_entry_value(entry), entry->value_len);
		text[entry->value_len] = 0;
	}
	rcu_read_unlock();
}

static int add_to(struct hashbelt_belt *belt, unsigned int key, s64 by, s64 *sum)
{
	struct hashbelt_sum is = { .by = by, .value = *sum };
	int err = hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){}, &is);

	*sum = is.value;
	return err;
}

struct text {
	const char *is;
	s64 by;
	int err;
	const char *becomes;
};

static const struct text texts[] = {
	{ "0", 0, 0, "0" },
	{ "-0", 0, -EBADMSG, NULL },
	{ "7", 3, 0, "10" },
	{ "10", -1, 0, "9" },
	{ "007", 1, -EBADMSG, NULL },
	{ "00", 1, -EBADMSG, NULL },
	{ "-01", 1, -EBADMSG, NULL },
	{ "0", 1, 0, "1" },
	{ "-5", 5, 0, "0" },
	{ "5", -6, 0, "-1" },
	{ "-0000000000000000001", 2, -EBADMSG, NULL },
	{ "-1", 2, 0, "1" },
	{ "9223372036854775807", 0, 0, "9223372036854775807" },
	{ "9223372036854775806", 1, 0, "9223372036854775807" },
	{ "9223372036854775807", 1, -EOVERFLOW, NULL },
	{ "9223372036854775808", 0, -EBADMSG, NULL },
	{ "9223372036854775807", S64_MIN, 0, "-1" },
	{ "9999999999999999999", 0, -EBADMSG, NULL },
	/* 2^64 + 1 */
	{ "18446744073709551617", 0, -EBADMSG, NULL },
	{ "-9223372036854775808", 0, 0, "-9223372036854775808" },
	{ "-9223372036854775808", -1, -EOVERFLOW, NULL },
	{ "-9223372036854775808", S64_MAX, 0, "-1" },
	{ "-9223372036854775809", 0, -EBADMSG, NULL },
	{ "-9999999999999999999", 0, -EBADMSG, NULL },
	{ "-1", S64_MIN, -EOVERFLOW, NULL },
	{ "00000000000000000001", 0, -EBADMSG, NULL },
	{ "", 0, -EBADMSG, NULL },
	{ "-", 0, -EBADMSG, NULL },
	{ "--1", 0, -EBADMSG, NULL },
	{ "+1", 0, -EBADMSG, NULL },
	{ " 1", 0, -EBADMSG, NULL },
	{ "1 ", 0, -EBADMSG, NULL },
	{ "1\n", 0, -EBADMSG, NULL },
	{ "1.0", 0, -EBADMSG, NULL },
	{ "0x1", 0, -EBADMSG, NULL },
	{ "1-", 0, -EBADMSG, NULL },
	{ "/", 0, -EBADMSG, NULL },
	{ ":", 0, -EBADMSG, NULL },
};

static void an_addition_accepts_decimal_numbers_and_nothing_else(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	unsigned int i;
	char text[32];
	u64 version;
	s64 sum;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		sum = 12345;
		put_text(belt, i, texts[i].is);
		version = version_of(belt, i);
		KUNIT_EXPECT_EQ(test, add_to(belt, i, texts[i].by, &sum), texts[i].err);
		get_text(belt, i, text);
		KUNIT_EXPECT_STREQ(test, text, texts[i].becomes ?: texts[i].is);
		if (texts[i].err) {
			KUNIT_EXPECT_EQ(test, version_of(belt, i), version);
			KUNIT_EXPECT_EQ(test, sum, 12345LL);
		} else {
			KUNIT_EXPECT_GT(test, version_of(belt, i), version);
		}
	}
	check_accounting(test, belt);
}

static const struct {
	const char *is;		/* NULL: the key is absent */
	s64 value, by, floor;
	int err;
	const char *becomes;
} floors[] = {
	{ "7", 0, -3, 0, 0, "4" }, { "7", 0, -7, 0, 0, "0" }, { "7", 0, -8, 0, 0, "0" },
	{ "7", 0, S64_MIN, 0, 0, "0" }, { "7", 7, -1, 7, 0, "7" }, { "0", 0, -1, 0, 0, "0" },
	{ "0", 0, -1, -1, 0, "-1" }, { "-5", 0, -10, -7, 0, "-7" }, { "7", 9, 1, 7, 0, "8" },
	{ "-9223372036854775808", 0, -1, S64_MIN, 0, "-9223372036854775808" },
	{ "-9223372036854775800", 0, S64_MIN, S64_MIN, 0, "-9223372036854775808" },
	{ "9223372036854775807", S64_MAX, -1, S64_MAX, 0, "9223372036854775807" },
	{ "9223372036854775807", 0, 1, 0, -EOVERFLOW }, { "-1", 0, 1, 0, -EBADMSG },
	{ "-1", 0, 5, 0, -EBADMSG }, { "6", 7, 5, 7, -EBADMSG }, { "x", 0, 1, 0, -EBADMSG },
	{ "7", -1, 1, 0, -EINVAL }, { NULL, 3, -2, 0, 0, "1" }, { NULL, 3, -5, 0, 0, "0" },
	{ NULL, 3, S64_MIN, 1, 0, "1" }, { NULL, -1, 5, 0, -EINVAL },
	{ NULL, S64_MAX, 1, 0, -EOVERFLOW },
};

static void a_sum_below_the_floor_is_the_floor(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	unsigned int i;
	char text[32];

	for (i = 0; i < ARRAY_SIZE(floors); i++) {
		struct hashbelt_item item = { .how = HASHBELT_FLOOR, .version = floors[i].floor };
		struct hashbelt_sum sum = { .by = floors[i].by, .value = floors[i].value };

		if (floors[i].is)
			put_text(belt, i, floors[i].is);
		KUNIT_EXPECT_EQ_MSG(test, hashbelt_add(belt, &i, sizeof(i), &item, &sum),
				    floors[i].err, "row %u", i);
		get_text(belt, i, text);
		KUNIT_EXPECT_STREQ(test, text, floors[i].becomes ?: floors[i].is ?: "nothing");
		/* An error leaves the numbers of the caller alone. */
		if (floors[i].err)
			KUNIT_EXPECT_EQ(test, sum.value, floors[i].value);
		KUNIT_EXPECT_EQ(test, item.version,
				floors[i].err ? (u64)floors[i].floor : version_of(belt, i));
	}
	/* With IF_PRESENT the number that an absent entry counts as is of no use. */
	for (; i < ARRAY_SIZE(floors) + 2; i++) {
		struct hashbelt_item item = { .how = HASHBELT_IF_PRESENT | HASHBELT_FLOOR };
		struct hashbelt_sum sum = { .by = 1, .value = -1 };

		if (i > ARRAY_SIZE(floors))
			put_text(belt, i, "5");
		KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &i, sizeof(i), &item, &sum),
				i > ARRAY_SIZE(floors) ? 0 : -ENOENT);
		KUNIT_EXPECT_EQ(test, sum.value, i > ARRAY_SIZE(floors) ? 6LL : -1LL);
	}
	check_accounting(test, belt);
}

static u32 flags_of(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	struct hashbelt_entry *entry;
	u32 flags = 0;

	rcu_read_lock();
	entry = hashbelt_find(belt, key, key_len, hashbelt_now(belt), NULL);
	if (entry)
		flags = entry->flags;
	rcu_read_unlock();
	return flags;
}

/* The longer number evicts another entry here. */
static void an_addition_keeps_the_flags_of_the_number(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_EVICT);
	static const char key[15] = "fourteen bytes";
	struct hashbelt_item item = { .ttl_ms = 1000, .flags = 1 };
	struct hashbelt_sum sum = { .value = 9 };

	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	change(belt, MAX_BYTES, .max_bytes = info_of(belt).used_bytes);
	item = (struct hashbelt_item){ .ttl_ms = 1000, .flags = 2 };
	sum = (struct hashbelt_sum){ .by = 1, .value = 5 };
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 10LL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 1ULL);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, flags_of(belt, key, sizeof(key)), 1u);
	hashbelt_expire(belt, key, sizeof(key));
	item = (struct hashbelt_item){ .ttl_ms = 1000, .flags = 2 };
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, flags_of(belt, key, sizeof(key)), 2u);
}

static struct kunit_case add_cases[] = {
	KUNIT_CASE(an_addition_accepts_decimal_numbers_and_nothing_else),
	KUNIT_CASE(a_sum_below_the_floor_is_the_floor),
	KUNIT_CASE(an_addition_keeps_the_flags_of_the_number),
	{}
};

TEST_SUITE(add, fixture_init, fixture_exit);
