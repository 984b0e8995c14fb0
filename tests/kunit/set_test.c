// SPDX-License-Identifier: GPL-2.0-only
/* Changing the settings of a belt. Guarantee 15 of docs/guarantees.md. */
#include <kunit/test.h>

#include "belt/belts/worker.h"
#include "belt.h"

static void another_geometry_loses_no_entry_and_keeps_all_deadlines(struct kunit *test)
{
	static const struct { u64 ttl; u32 buckets; } geometries[] = {
		{ SEC, 2 }, { 86400 * SEC, 2 }, { MS, 2 }, { 240 * SEC, 65536 },
		{ HASHBELT_TTL_MAX_MS * MS, 3 }, { 10 * SEC, 500 },
	};
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int key, i;

	for (key = 0; key < 3000; key++)
		put_ttl(belt, key, 1000 * (1 + key));
	for (i = 0; i < ARRAY_SIZE(geometries); i++) {
		struct hashbelt_config config = {
			.ttl = geometries[i].ttl, .buckets = geometries[i].buckets,
		};

		KUNIT_ASSERT_EQ(test, hb_set(belt, &config, HASHBELT_SET_TTL |
					     HASHBELT_SET_BUCKETS), 0);
		KUNIT_EXPECT_EQ(test, belt->settings.ttl, geometries[i].ttl);
		KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 500 * SEC), 0);
		for (key = 0; key < 3000; key++)
			KUNIT_ASSERT_EQ(test, has(belt, key), key >= (i + 1) * 500);
		/* Entries are drained at most one new interval late. */
		if (geometries[i].ttl <= 10 * SEC)
			KUNIT_EXPECT_LE(test, entries_of(belt), 3000 - 500ULL * (i + 1) + 2);
	}
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, SEC), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
}

static u64 count_due(struct hashbelt_belt *belt)
{
	struct list_head *node;
	u64 left = 0;

	hb_for_each_shard(shard, belt)
		list_for_each(node, &shard->wheel.due)
			left++;
	return left;
}

static void entries_move_to_another_geometry_in_batches(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	u64 most = HB_BATCH << belt->shard_bits, left;
	unsigned int more;

	put_many(test, belt, 0, 5000);
	flush_work(&belt->work);
	KUNIT_ASSERT_EQ(test, change(belt, BUCKETS, .buckets = 500), 0);
	/* All entries were in one bucket, which the first step unloads. */
	mutex_lock(&belt->round_lock);
	hb_step(belt, hb_clock_now(&belt->clock));
	left = count_due(belt);
	KUNIT_EXPECT_GE(test, left, 5000ULL / 2);
	do {
		more = hb_step(belt, hb_clock_now(&belt->clock));
		KUNIT_ASSERT_GE(test, count_due(belt) + most, left);
		left = count_due(belt);
	} while (more);
	mutex_unlock(&belt->round_lock);
	KUNIT_EXPECT_EQ(test, left, 0ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 5000ULL);
}

static void a_set_that_fails_changes_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	u64 used = hb_memory_used();

	KUNIT_EXPECT_EQ(test, change(belt, ALL, .buckets = 1, .policy = HASHBELT_EVICT), -EINVAL);
	hb_memory_limit(used + 1000);
	KUNIT_EXPECT_EQ(test, change(belt, ALL, .buckets = 65536,
				     .policy = HASHBELT_EVICT), -ENOSPC);
	hb_memory_limit(U64_MAX);
	KUNIT_EXPECT_EQ(test, belt->geometry->size[0], 5u);
	KUNIT_EXPECT_EQ(test, belt->settings.policy, 0u);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

/* With fewer levels, entries far ahead would be requeued far more often. */
static void new_wheels_have_as_many_levels_as_the_old_ones(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);

	put_ttl(belt, 1, 1000000000);
	KUNIT_EXPECT_EQ(test, info_of(belt).levels, 3u);
	KUNIT_EXPECT_EQ(test, change(belt, TTL, .ttl = TTL), 0);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, info_of(belt).levels, 3u);
}

/* A set of a limit or a policy costs no memory, and no entry moves. */
static void only_a_set_of_geometry_makes_new_wheels(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	const struct hb_geometry *geometry = belt->shards->wheel.geometry;
	struct hashbelt_config config = { .ttl = TTL, .buckets = 5 };
	u32 field;

	for (field = 1; field & HASHBELT_SET_ALL; field <<= 1) {
		bool is_geometry = field & (HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS |
					    HASHBELT_SET_GRACE);

		KUNIT_ASSERT_EQ(test, hb_set(belt, &config, field), 0);
		KUNIT_EXPECT_EQ(test, belt->shards->wheel.geometry != geometry, is_geometry);
		geometry = belt->shards->wheel.geometry;
		flush_work(&belt->work);
	}
}

static struct kunit_case set_cases[] = {
	KUNIT_CASE(another_geometry_loses_no_entry_and_keeps_all_deadlines),
	KUNIT_CASE(entries_move_to_another_geometry_in_batches),
	KUNIT_CASE(a_set_that_fails_changes_nothing),
	KUNIT_CASE(new_wheels_have_as_many_levels_as_the_old_ones),
	KUNIT_CASE(only_a_set_of_geometry_makes_new_wheels),
	{}
};

TEST_SUITE(set, one_belt_init, one_belt_exit);
