// SPDX-License-Identifier: GPL-2.0-only
/* Kinds: entries, locks, fill leases, requests and waitpoints of one key do not mix. */
#include <kunit/test.h>

#include "request.h"

static struct hashbelt_entry *find_kind(struct fixture *f, unsigned int key,
					enum hb_kind kind)
{
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hb_index_find(&f->belt->index, hb_hash(f->belt, &key, sizeof(key)) | kind,
			      &key, sizeof(key));
	rcu_read_unlock();
	return entry;
}

static void expect_kinds(struct kunit *test, unsigned int key, unsigned int kinds)
{
	static const enum hb_kind all[] = { HB_ENTRY, HB_LOCK, HB_FILL, HB_WAITPOINT };
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		entry = find_kind(f, key, all[i]);
		KUNIT_EXPECT_EQ(test, !!entry, !!(kinds & BIT(all[i])));
		if (entry)
			KUNIT_EXPECT_EQ(test, hb_kind(entry), all[i]);
	}
	KUNIT_EXPECT_EQ(test, has(f->belt, key), !!(kinds & BIT(HB_ENTRY)));
	check_accounting(test, f->belt);
}

static void each_kind_of_one_key_is_found_separately(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED,
	});
	struct hashbelt_lock lock = {};
	struct fixture *f = test->priv;
	unsigned int key;
	u64 token;

	for (key = 0; key < 50; key++) {
		KUNIT_ASSERT_EQ(test, lock_plainly(belt, key, 'A'), 0);
		expect_kinds(test, key, BIT(HB_LOCK));
		KUNIT_ASSERT_EQ(test, take_out(belt, key), -ENOENT);
		KUNIT_ASSERT_EQ(test, touch(belt, key, 0), -ENOENT);
		KUNIT_ASSERT_EQ(test, hashbelt_expire(belt, &key, sizeof(key)), -ENOENT);
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		KUNIT_ASSERT_EQ(test, fill_key(f, key, true, &token), 0);
		KUNIT_ASSERT_EQ(test, ask(f, key, key, 0), 0);
		expect_kinds(test, key, BIT(HB_ENTRY) | BIT(HB_LOCK) | BIT(HB_FILL) |
			     BIT(HB_WAITPOINT));
		/* A remove ends the fill lease of its key, and nothing else. */
		KUNIT_ASSERT_EQ(test, take_out(belt, key), 0);
		expect_kinds(test, key, BIT(HB_LOCK) | BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, fill_key(f, key, true, &token), 0);
		expect_kinds(test, key, BIT(HB_LOCK) | BIT(HB_FILL) | BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, owner_of(belt, key, &lock), 'A');
		KUNIT_ASSERT_EQ(test, unlock_as(belt, key, 'A'), 0);
		expect_kinds(test, key, BIT(HB_FILL) | BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, give_up_key(f, key, token), 0);
		expect_kinds(test, key, BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		expect_kinds(test, key, BIT(HB_ENTRY));
	}
}

static void a_scan_reports_plain_entries_only(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED,
	});
	struct hashbelt_scan scan = { .size = 1024 };
	struct fixture *f = test->priv;
	u64 counts[4] = {}, cursor = 0, token;
	u64 *buffer = kunit_kzalloc(test, 1024, GFP_KERNEL);
	unsigned int records = 0;
	u32 used;

	KUNIT_ASSERT_NOT_NULL(test, buffer);
	put(belt, 1);
	lock_plainly(belt, 2, 'A');
	fill_key(f, 3, false, &token);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 4, 0), 0);
	do {
		scan.size = 1024;
		KUNIT_ASSERT_EQ(test, hb_scan(belt, &scan, buffer, &used), 0);
		records += scan.count;
	} while (scan.cursor);
	KUNIT_EXPECT_EQ(test, records, 1u);
	do {
		KUNIT_ASSERT_EQ(test, hb_buckets(belt, &cursor, counts, 4), 0);
	} while (cursor);
	KUNIT_EXPECT_EQ(test, counts[0] + counts[1] + counts[2] + counts[3], 1ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 4ULL);
}

static void entries_of_all_kinds_expire_in_one_batch(struct kunit *test)
{
	enum { EACH = 300 };
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .buckets = 2, .handler = HASHBELT_NOTIFY,
		.reasons = HASHBELT_REPORT_ALL,
	});
	struct fixture *f = test->priv;
	unsigned int key, round;
	struct hb_fifo events;
	u64 lost;

	for (round = 0; round < 3; round++) {
		for (key = 0; key < EACH; key++) {
			struct hashbelt_fill fill = {
				.lease_ms = 1000, .ahead_ms = HASHBELT_TTL_NEVER,
			};
			struct hashbelt_lock lock = { .ttl_ms = 1000 };

			KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000), 0);
			KUNIT_ASSERT_EQ(test, ask(f, key, key, 1000), 0);
			KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, key, 'A', &lock), 0);
			KUNIT_ASSERT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill,
							    true), 0);
		}
		check_accounting(test, belt);
		/* In the first two rounds the entries expire, in the last one they are cleared. */
		if (round < 2)
			hashbelt_advance(belt, TTL + SEC);
		else
			hashbelt_clear(belt);
		come_to_rest(belt);
		check_accounting(test, belt);
		KUNIT_EXPECT_EQ(test, count_linked(belt), 0ULL);
		KUNIT_EXPECT_EQ(test, f->clients[0]->completed.count, (u64)EACH);
		KUNIT_EXPECT_EQ(test, info_of(belt).queued, 2ULL * EACH);
		events = (struct hb_fifo){};
		KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, SIZE_MAX,
							      U64_MAX), 0);
		hashbelt_settle_completed(belt, &events);
		KUNIT_EXPECT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, U64_MAX,
						     false, &lost), 0);
		hb_settle_events(belt, &events, false);
		expect_empty(test);
	}
}

static struct kunit_case kind_test_cases[] = {
	KUNIT_CASE(each_kind_of_one_key_is_found_separately),
	KUNIT_CASE(a_scan_reports_plain_entries_only),
	KUNIT_CASE(entries_of_all_kinds_expire_in_one_batch),
	{}
};

static struct kunit_suite kind_suite = {
	.name = "hashbelt_kind",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = kind_test_cases,
};

kunit_test_suites(&kind_suite);
