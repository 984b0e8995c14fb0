// SPDX-License-Identifier: GPL-2.0-only
/*
 * Entries, handlers, memory, scans and settings of a belt. The guarantees are those of
 * docs/design.md.
 *
 * Belt time is moved by hand.
 */
#include <kunit/test.h>

#include "belt/belts/set.h"
#include "fixture.h"

/* Guarantee 1 */
static void a_put_is_visible_byte_for_byte_until_its_deadline(struct kunit *test)
{
	static const struct { u32 key_len, value_len; } sizes[] = {
		{ 1, 0 }, { 1, 1 }, { 15, 1 }, { 16, 64 }, { 17, 239 }, { 16, 240 },
		{ 16, 241 }, { 1024, 0 }, { 1024, 4096 }, { 3, 65536 },
		{ 1024, HASHBELT_VALUE_MAX },
	};
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	u8 *bytes = kvmalloc(HASHBELT_KEY_MAX + HASHBELT_VALUE_MAX, GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	prandom_bytes_state(&f->rnd, bytes, HASHBELT_KEY_MAX + HASHBELT_VALUE_MAX);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *value = bytes + HASHBELT_KEY_MAX;
		struct hashbelt_item item = { .flags = 0xfffffff0 + i };
		struct hashbelt_entry *entry;

		KUNIT_EXPECT_EQ(test, 0, put_bytes(belt, bytes, sizes[i].key_len, value,
						   sizes[i].value_len, &item));
		move_time_only(belt, 240 * SEC - HB_GRAIN);
		rcu_read_lock();
		entry = hashbelt_find(belt, bytes, sizes[i].key_len, hashbelt_now(belt), NULL);
		if (entry) {
			KUNIT_EXPECT_EQ(test, entry->flags, 0xfffffff0 + i);
			KUNIT_EXPECT_EQ(test, (u32)entry->value_len, sizes[i].value_len);
			KUNIT_EXPECT_EQ(test, 0, memcmp(hashbelt_entry_value(entry), value,
							sizes[i].value_len));
		}
		rcu_read_unlock();
		KUNIT_EXPECT_NOT_NULL(test, entry);
		move_time_only(belt, HB_GRAIN);
		rcu_read_lock();
		entry = hashbelt_find(belt, bytes, sizes[i].key_len, hashbelt_now(belt), NULL);
		rcu_read_unlock();
		KUNIT_EXPECT_NULL(test, entry);
	}
	kvfree(bytes);
}

/* Guarantee 3 */
static void no_read_returns_an_expired_entry_however_late_the_worker(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);

	put(belt, 1);
	put_ttl(belt, 2, 1);
	move_time_only(belt, MS);
	KUNIT_EXPECT_FALSE(test, get(belt, 2));
	KUNIT_EXPECT_EQ(test, touch(belt, 2, 0), -ENOENT);
	move_time_only(belt, 240 * SEC - MS);
	KUNIT_EXPECT_FALSE(test, get(belt, 1));
	KUNIT_EXPECT_EQ(test, take_out(belt, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
}

/* The bucket is on an overflow wheel, where it falls off when its interval begins. */
static void a_grace_time_that_ends_with_a_bucket_ends_on_time(struct kunit *test)
{
	struct fixture *f = test->priv;
	const u64 width = 5 * INTERVAL;

	f->belt = still_belt(test, .handler = HASHBELT_NOTIFY, .event = record_event, .arg = f,
			     .grace = INTERVAL);
	hashbelt_advance(f->belt, width - hashbelt_now(f->belt) % width);
	put_ttl(f->belt, 1, (3 * width - INTERVAL) / MS);
	hashbelt_advance(f->belt, 3 * width - HB_GRAIN);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	hashbelt_advance(f->belt, HB_GRAIN);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
}

static void a_put_over_an_expired_entry_reports_it_first(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	u64 first, second;

	put(belt, 1);
	first = version_of(belt, 1);
	move_time_only(belt, 240 * SEC);
	put_ttl(belt, 1, 1);
	second = version_of(belt, 1);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
	KUNIT_EXPECT_EQ(test, f->last_version, first);
	hashbelt_advance(belt, 120 * SEC);
	KUNIT_EXPECT_EQ(test, f->expired, 2u);
	KUNIT_EXPECT_EQ(test, f->last_version, second);
}

/* Guarantee 5 */
static void memory_is_freed_after_a_grace_period(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 empty = hb_memory_used();
	unsigned int i;

	for (i = 0; i < 100; i++)
		put(belt, 1);
	hb_limbo_flush(belt);
	KUNIT_EXPECT_EQ(test, hb_memory_used() - empty, 80ULL);
	take_out(belt, 1);
	hb_limbo_flush(belt);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), empty);
	put(belt, 1);
	put(belt, 2);
	hashbelt_clear(belt);
	flush_work(&belt->work);
	hb_limbo_flush(belt);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), empty);
}

/* Scans, limits, the end of a belt, settings */

static void a_scan_reports_each_live_key_once_and_refreshes_none(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, HASHBELT_REFRESH_ON_GET, 0);
	struct hashbelt_scan scan = {};
	struct fixture *f = test->priv;
	u8 *buffer = must_alloc(test, 1024);
	unsigned int i, seen = 0;
	u32 used, at;

	for (i = 0; i < 500; i++)
		put_ttl(belt, i, i < 400 ? 1000000 : 1);
	flush_work(&belt->work);	/* the index grows, so its chains are short */
	move_time_only(belt, MS);
	do {
		scan.size = 1024;
		KUNIT_ASSERT_EQ(test, hb_scan(belt, &scan, buffer, &used), 0);
		KUNIT_ASSERT_LE(test, used, 1024u);
		for (at = 0; at < used; seen++) {
			struct hashbelt_record *record = (void *)(buffer + at);

			KUNIT_ASSERT_EQ(test, record->key_len, 4u);
			memcpy(&i, record + 1, sizeof(i));
			KUNIT_ASSERT_LT(test, i, 400u);
			f->expired_of[i]++;
			KUNIT_ASSERT_EQ(test, record->ttl_ms, 999999ULL);
			at += record->size;
		}
	} while (scan.cursor);
	KUNIT_EXPECT_EQ(test, seen, 400u);
	for (i = 0; i < 400; i++)
		KUNIT_ASSERT_EQ(test, f->expired_of[i], 1u);
	scan.cursor = HB_INDEX_END;
	KUNIT_EXPECT_EQ(test, hb_scan(belt, &scan, buffer, &used), -EINVAL);
}

static void a_scan_into_too_small_a_buffer_returns_the_size_it_needs(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct hashbelt_scan scan = { .size = 8 };
	u32 used;
	u64 buffer;

	put(belt, 1);
	KUNIT_EXPECT_EQ(test, hb_scan(belt, &scan, &buffer, &used), -ERANGE);
	KUNIT_EXPECT_EQ(test, scan.size, (u32)sizeof(struct hashbelt_record) + 8);
	KUNIT_EXPECT_EQ(test, scan.cursor, 0ULL);
}

/* The values of settings that a call does not change are ignored. */
static void a_setting_is_checked_only_if_it_is_changed(struct kunit *test)
{
	static const struct { u32 field; struct hashbelt_config config; } wrong[] = {
		{ HASHBELT_SET_TTL, { .ttl = HASHBELT_TTL_MAX_MS * MS + 1 } },
		{ HASHBELT_SET_GRACE, { .grace = HASHBELT_TTL_MAX_MS * MS + 1 } },
		{ HASHBELT_SET_BUCKETS, { .buckets = HASHBELT_BUCKETS_MIN - 1 } },
		{ HASHBELT_SET_BUCKETS, { .buckets = HASHBELT_BUCKETS_MAX + 1 } },
		{ HASHBELT_SET_POLICY, { .policy = ~0 } },
		{ HASHBELT_SET_HANDLER, { .handler = HASHBELT_REINSERT + 1 } },
		{ HASHBELT_SET_REASONS, { .reasons = ~0 } },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		u32 others = HASHBELT_SET_ALL & ~wrong[i].field;

		KUNIT_EXPECT_EQ(test, hb_check_config(&wrong[i].config, wrong[i].field), -EINVAL);
		KUNIT_EXPECT_EQ(test, hb_check_config(&wrong[i].config, others), 0);
		KUNIT_EXPECT_EQ(test, hb_check_config(&wrong[i].config, 0), 0);
	}
}

static struct kunit_case belt_cases[] = {
	KUNIT_CASE(a_put_is_visible_byte_for_byte_until_its_deadline),
	KUNIT_CASE(no_read_returns_an_expired_entry_however_late_the_worker),
	KUNIT_CASE(a_grace_time_that_ends_with_a_bucket_ends_on_time),
	KUNIT_CASE(a_put_over_an_expired_entry_reports_it_first),
	KUNIT_CASE(memory_is_freed_after_a_grace_period),
	KUNIT_CASE(a_scan_reports_each_live_key_once_and_refreshes_none),
	KUNIT_CASE(a_scan_into_too_small_a_buffer_returns_the_size_it_needs),
	KUNIT_CASE(a_setting_is_checked_only_if_it_is_changed),
	{}
};

TEST_SUITE(belt, fixture_init, fixture_exit);
