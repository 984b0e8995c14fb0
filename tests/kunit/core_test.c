// SPDX-License-Identifier: GPL-2.0-only
/*
 * Get, put, touch and remove: refreshes, versions, times-to-live, conditions. The guarantees are
 * those of docs/design.md.
 *
 * Belt time is moved by hand.
 */
#include <kunit/test.h>

#include "fixture.h"

/* Guarantee 9 */
static void a_get_takes_no_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);
	struct hb_shard *shard;

	put(belt, 1);
	put_ttl(belt, 2, 1);
	hashbelt_advance(belt, SEC);
	shard = hb_shard_of(belt, 0);
	/* If a get took a lock, lockdep would report a second lock of this class. */
	spin_lock(&shard->lock);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_FALSE(test, get(belt, 2));
	KUNIT_EXPECT_FALSE(test, get(belt, 3));
	spin_unlock(&shard->lock);
}

static void a_reader_that_finds_a_replaced_entry_looks_again(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	unsigned int key = 1;
	u64 now = hashbelt_now(belt);

	put(belt, key);
	entry = entry_of_key(belt, key);
	refcount_inc(&entry->ref);
	put(belt, key);
	KUNIT_EXPECT_FALSE(test, hashbelt_hit(belt, entry, &item, now));
	KUNIT_EXPECT_TRUE(test, get(belt, key));
	hashbelt_entry_put(belt, entry);
}

static void after_a_miss_no_slower_reader_gets_the_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);
	u64 before = hashbelt_now(belt);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	unsigned int key = 1;

	put(belt, key);
	entry = entry_of_key(belt, key);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	/* The worker does not drain the entry, but one get has returned a miss. */
	move_time_only(belt, 240 * SEC);
	KUNIT_EXPECT_FALSE(test, has(belt, key));
	KUNIT_EXPECT_FALSE(test, hashbelt_hit(belt, entry, &item, before));
	item = (struct hashbelt_item){ .how = HASHBELT_AND_TOUCH };
	KUNIT_EXPECT_FALSE(test, hashbelt_hit(belt, entry, &item, before));
	KUNIT_EXPECT_FALSE(test, has(belt, key));
}

static void a_get_that_touches_makes_the_levels_for_its_ttl(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct hashbelt_item item = { .how = HASHBELT_AND_TOUCH, .ttl_ms = 240000 };
	unsigned int key = 1;

	put(belt, key);
	KUNIT_EXPECT_EQ(test, hb_get_prepare(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).levels, 1u);
	item.ttl_ms++;
	KUNIT_EXPECT_EQ(test, hb_get_prepare(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).levels, 2u);
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(a_get_takes_no_lock),
	KUNIT_CASE(a_reader_that_finds_a_replaced_entry_looks_again),
	KUNIT_CASE(after_a_miss_no_slower_reader_gets_the_entry),
	KUNIT_CASE(a_get_that_touches_makes_the_levels_for_its_ttl),
	{}
};

TEST_SUITE(core, fixture_init, fixture_exit);
