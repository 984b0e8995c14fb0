// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries between a clear and the sweep that frees them: no call finds one. The worker is kept out,
 * as if it came late.
 */
#include <kunit/test.h>

#include "fixture.h"

#define GRACE	(1000 * SEC)

/* The state of an entry in which a belt is cleared, by the time that passes before. */
struct age {
	const char *name;
	u64 before;	/* the clear */
	u64 after;	/* it */
};

static const struct age ages[] = {
	{ "live", 0, 0 },
	{ "live, expired since", 0, TTL },
	{ "in its grace time", TTL, 0 },
	{ "in its grace time since", 0, TTL + SEC },
	{ "past its grace time", TTL + GRACE, 0 },
};

KUNIT_ARRAY_PARAM_DESC(age, ages, name);

/* Keys of the entries, each for one call: a writer takes out what it finds. */
enum call {
	GET, STALE, FILL, FILL_AHEAD, TOUCH, REMOVE, EXPIRE, PUT, PUT_ABSENT, PUT_PRESENT,
	PUT_VERSION, PUT_KEEP, ADD, LOCKED, FILLED,
	CALLS
};

static u64 versions[CALLS];

/* A belt with entries, a lock and a fill lease, which is cleared and not swept. */
static struct hashbelt_belt *make_cleared(struct kunit *test)
{
	const struct age *age = test->param_value;
	struct fixture *f = test->priv;
	struct hashbelt_belt *belt;
	struct hashbelt_fill fill = { .lease_ms = 1000000 };
	struct hashbelt_lock lock = {};
	unsigned int key;

	belt = still_belt(test, .handler = HASHBELT_NOTIFY, .event = record_event, .arg = f,
			  .grace = GRACE, .overwrites = true, .policy = HASHBELT_PINNED);
	f->belt = belt;
	for (key = 0; key < LOCKED; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		versions[key] = version_of(belt, key);
	}
	key = LOCKED;
	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, key, 'a', &lock), 0);
	key = FILLED;
	KUNIT_ASSERT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false), 0);
	atomic_inc(&belt->movers);
	flush_work(&belt->work);
	move_time_only(belt, age->before);
	hashbelt_clear(belt);
	move_time_only(belt, age->after);
	KUNIT_ASSERT_EQ(test, count_linked(belt), (u64)CALLS);
	return belt;
}

/* Lets the worker sweep. No cleared entry may have been reported as expired. */
static void sweep(struct kunit *test, struct hashbelt_belt *belt)
{
	struct fixture *f = test->priv;

	atomic_dec(&belt->movers);
	hb_kick_worker(belt);
	hashbelt_advance(belt, 0);
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 0ULL);
	check_accounting(test, belt);
}

static int fill(struct hashbelt_belt *belt, unsigned int key, bool ahead)
{
	struct hashbelt_fill fill = { .ahead_ms = 1 };

	return hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, ahead);
}

static void no_reader_finds_a_cleared_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make_cleared(test);
	struct hashbelt_scan scan = { .size = 4096 };
	struct hashbelt_info info = info_of(belt);
	struct hashbelt_lock lock = {};
	u64 counts[5] = {}, cursor = 0;
	char *buffer = must_alloc(test, 4096);
	unsigned int i;
	u32 used;

	KUNIT_EXPECT_FALSE(test, has(belt, GET));
	KUNIT_EXPECT_FALSE(test, get(belt, GET));
	KUNIT_EXPECT_FALSE(test, is_stale(belt, STALE));
	KUNIT_EXPECT_EQ(test, owner_of(belt, LOCKED, &lock), 0);
	KUNIT_EXPECT_EQ(test, info.entries, 0ULL);
	KUNIT_EXPECT_EQ(test, info.used_entries, 0ULL);
	KUNIT_EXPECT_EQ(test, info.used_bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, info.locks, 0ULL);
	do {
		KUNIT_ASSERT_EQ(test, hb_scan(belt, &scan, buffer, &used), 0);
		KUNIT_EXPECT_EQ(test, scan.count, 0u);
	} while (scan.cursor);
	do {
		KUNIT_ASSERT_EQ(test, hb_buckets(belt, &cursor, counts, 5), 0);
	} while (cursor);
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		KUNIT_EXPECT_EQ(test, counts[i], 0ULL);
	KUNIT_EXPECT_EQ(test, count_linked(belt), (u64)CALLS);
	sweep(test, belt);
	KUNIT_EXPECT_EQ(test, count_linked(belt), 0ULL);
}

static void a_fill_lease_is_granted_where_an_entry_was_cleared(struct kunit *test)
{
	struct hashbelt_belt *belt = make_cleared(test);

	KUNIT_EXPECT_EQ(test, fill(belt, FILL, false), 0);
	KUNIT_EXPECT_FALSE(test, is_stale(belt, FILL));
	KUNIT_EXPECT_EQ(test, fill(belt, FILL_AHEAD, true), 0);
	KUNIT_EXPECT_FALSE(test, is_stale(belt, FILL_AHEAD));
	KUNIT_EXPECT_EQ(test, fill(belt, FILLED, false), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, LOCKED, 'b'), 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, LOCKED, 'a'), -EACCES);
	sweep(test, belt);
	KUNIT_EXPECT_EQ(test, fill(belt, FILL, false), -EBUSY);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, LOCKED, 'a'), -EBUSY);
}

static int put_as(struct hashbelt_belt *belt, unsigned int key, u32 how, u64 ttl_ms)
{
	struct hashbelt_item item = { .how = how, .ttl_ms = ttl_ms, .version = versions[key] };

	return put_bytes(belt, &key, sizeof(key), &key, sizeof(key), &item);
}

static void no_writer_finds_a_cleared_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make_cleared(test);
	struct hashbelt_sum sum = { .by = 1, .value = 41 };
	unsigned int key = EXPIRE;

	KUNIT_EXPECT_EQ(test, touch(belt, TOUCH, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, take_out(belt, REMOVE), -ENOENT);
	KUNIT_EXPECT_EQ(test, expire(belt, key), -ENOENT);
	KUNIT_EXPECT_EQ(test, put(belt, PUT), 0);
	KUNIT_EXPECT_EQ(test, put_as(belt, PUT_ABSENT, HASHBELT_IF_ABSENT, 0), 0);
	KUNIT_EXPECT_EQ(test, put_as(belt, PUT_PRESENT, HASHBELT_IF_PRESENT, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, put_as(belt, PUT_VERSION, HASHBELT_IF_VERSION, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, put_as(belt, PUT_KEEP, 0, HASHBELT_TTL_KEEP), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, PUT_KEEP), TTL / MS);
	key = ADD;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){},
					   &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 42LL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_PUTS_REPLACED), 0ULL);
	for (key = 0; key < CALLS; key++)
		if (has(belt, key))
			KUNIT_EXPECT_GT(test, version_of(belt, key), versions[FILL_AHEAD]);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 4ULL);
	sweep(test, belt);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 4ULL);
	KUNIT_EXPECT_TRUE(test, has(belt, PUT));
	KUNIT_EXPECT_TRUE(test, has(belt, PUT_KEEP));
}

/* Puts of the device, which copy their values into entries that are there. */
static void no_value_is_copied_into_a_cleared_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make_cleared(test);
	struct hashbelt_item item = { .ttl_ms = HASHBELT_TTL_KEEP };
	struct hashbelt_entry *entry = new_entry(belt, NULL, PUT, 4);

	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, hb_put(belt, entry, &item, HB_PUT_ENTRY), 0);
	KUNIT_EXPECT_TRUE(test, has(belt, PUT));
	KUNIT_EXPECT_EQ(test, item.ttl_ms, TTL / MS);
	sweep(test, belt);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
}

static struct kunit_case cleared_cases[] = {
	KUNIT_CASE_PARAM(no_reader_finds_a_cleared_entry, age_gen_params),
	KUNIT_CASE_PARAM(a_fill_lease_is_granted_where_an_entry_was_cleared, age_gen_params),
	KUNIT_CASE_PARAM(no_writer_finds_a_cleared_entry, age_gen_params),
	KUNIT_CASE_PARAM(no_value_is_copied_into_a_cleared_entry, age_gen_params),
	{}
};

TEST_SUITE(cleared, fixture_init, fixture_exit);
