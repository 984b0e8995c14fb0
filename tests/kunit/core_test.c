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

/* Guarantee 8; tests/history/threads.c has the race itself, on two CPUs */
static void a_refreshed_entry_stays_and_a_get_past_the_deadline_is_a_miss(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);
	struct fixture *f = test->priv;

	put(belt, 1);
	put(belt, 2);
	hashbelt_advance(belt, 240 * SEC - HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	hashbelt_advance(belt, 60 * SEC);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_FALSE(test, get(belt, 2));
	KUNIT_EXPECT_EQ(test, f->expired_of[1], 0u);
	KUNIT_EXPECT_EQ(test, f->expired_of[2], 1u);
	KUNIT_EXPECT_GE(test, stat_of(belt, HASHBELT_STAT_CASCADED), 1ULL);
}

static void a_reader_that_finds_a_replaced_entry_looks_again(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	unsigned int key = 1;
	u64 now = hashbelt_now(belt);

	put(belt, key);
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), now, NULL);
	rcu_read_unlock();
	/* The kernel has no preemption, so nothing is freed until this case sleeps. */
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
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), before, NULL);
	rcu_read_unlock();
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

/* Guarantee 10 */
static void versions_grow_across_removal_expiry_and_clear(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 version, last = 0;
	unsigned int i;

	for (i = 0; i < 400; i++) {
		KUNIT_ASSERT_EQ(test, put(belt, i % 4), 0);
		version = version_of(belt, i % 4);
		if (i % 4 == 3) {
			KUNIT_ASSERT_GT(test, version, last);
			last = version;
		}
		if (i % 16 == 0)
			take_out(belt, 3);
		if (i % 16 == 4)
			hashbelt_clear(belt);
		if (i % 16 == 8)
			hashbelt_advance(belt, 300 * SEC);
	}
}

static void versions_are_unique_within_the_belt(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	unsigned int i, j;

	for (i = 0; i < 300; i++) {
		put(belt, i);
		f->deadlines[i] = version_of(belt, i);
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_NE(test, f->deadlines[i], f->deadlines[j]);
	}
}

static void a_refresh_never_makes_the_deadline_earlier(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);

	put_ttl(belt, 1, 1000000);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 1000000ULL);
	put_ttl(belt, 2, 1000);
	KUNIT_EXPECT_TRUE(test, get(belt, 2));
	KUNIT_EXPECT_EQ(test, left_of(belt, 2), 240000ULL);
}

/* Conditions */
static int put_if(struct hashbelt_belt *belt, unsigned int key, u32 how, u64 *version)
{
	struct hashbelt_item item = { .how = how, .version = *version };
	int err = put_bytes(belt, &key, sizeof(key), "x", 1, &item);

	*version = item.version;
	return err;
}

static void put_and_remove_check_their_conditions(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct hashbelt_item item = { .how = HASHBELT_IF_VERSION };
	unsigned int key = 1;
	u64 version = 0, first, stale;

	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_PRESENT, &version), -ENOENT);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_VERSION, &version), -ENOENT);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_ABSENT, &version), 0);
	first = version;
	version = 0;
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_ABSENT, &version), -EEXIST);
	KUNIT_EXPECT_EQ(test, version, first);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_VERSION, &version), 0);
	stale = first;
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_VERSION, &stale), -ESTALE);
	KUNIT_EXPECT_EQ(test, stale, version);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_PRESENT, &version), 0);
	item.version = first;
	KUNIT_EXPECT_EQ(test, hashbelt_remove(belt, &key, sizeof(key), &item), -ESTALE);
	KUNIT_EXPECT_EQ(test, item.version, version);
	KUNIT_EXPECT_EQ(test, hashbelt_remove(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_remove(belt, &key, sizeof(key), &item), -ENOENT);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REFUSED), 4ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REMOVES_REFUSED), 1ULL);
}

static void a_put_of_a_live_key_into_a_keep_on_put_belt_returns_eexist(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_KEEP_ON_PUT, 0);
	u64 version = 0, first;

	KUNIT_EXPECT_EQ(test, put_if(belt, 1, 0, &version), 0);
	first = version;
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, 0, &version), -EEXIST);
	KUNIT_EXPECT_EQ(test, version, first);
	/* A put with a condition that is met replaces the entry even here. */
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_VERSION, &version), 0);
	move_time_only(belt, 240 * SEC);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, 0, &version), 0);
}

static struct kunit_case core_test_cases[] = {
	KUNIT_CASE(a_get_takes_no_lock),
	KUNIT_CASE(a_refreshed_entry_stays_and_a_get_past_the_deadline_is_a_miss),
	KUNIT_CASE(a_reader_that_finds_a_replaced_entry_looks_again),
	KUNIT_CASE(after_a_miss_no_slower_reader_gets_the_entry),
	KUNIT_CASE(a_get_that_touches_makes_the_levels_for_its_ttl),
	KUNIT_CASE(versions_grow_across_removal_expiry_and_clear),
	KUNIT_CASE(versions_are_unique_within_the_belt),
	KUNIT_CASE(a_refresh_never_makes_the_deadline_earlier),
	KUNIT_CASE(put_and_remove_check_their_conditions),
	KUNIT_CASE(a_put_of_a_live_key_into_a_keep_on_put_belt_returns_eexist),
	{}
};

static struct kunit_suite core_suite = {
	.name = "hashbelt_core",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = core_test_cases,
};

kunit_test_suites(&core_suite);
