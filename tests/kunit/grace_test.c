// SPDX-License-Identifier: GPL-2.0-only
/* The grace time. Guarantee 22 of docs/guarantees.md. */
#include <kunit/test.h>

#include "request.h"

/* The keys of a case, and the calls of the handler. */
static struct lives {
	u64 deadlines[1000];	/* deadline of each key */
	bool over[1000];	/* whether the grace time of each key has ended */
	unsigned int expired;	/* calls of the handler */
	unsigned int wrong;	/* calls that were early, late, or had another deadline */
} lives;

static int grace_init(struct kunit *test)
{
	memset(&lives, 0, sizeof(lives));
	return fixture_init(test);
}

static void on_event(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		     const struct hashbelt_event *event, void *arg)
{
	unsigned int key;
	u64 due;

	if (event->reason != HASHBELT_EXPIRED || event->kind != HASHBELT_ENTRY)
		return;
	memcpy(&key, entry->data, sizeof(key));
	due = lives.deadlines[key] + belt->settings.grace;
	lives.wrong += event->deadline_ns != lives.deadlines[key] || event->handed_ns < due ||
		    event->handed_ns > due + INTERVAL;
	lives.expired++;
}

static struct hashbelt_belt *make_with_grace(struct kunit *test, u64 grace)
{
	return make(test, .handler = HASHBELT_NOTIFY, .event = on_event, .grace = grace);
}

static void an_old_value_stays_for_its_grace_time_and_is_a_miss_for_get(struct kunit *test)
{
	struct hashbelt_belt *belt = make_with_grace(test, 100 * SEC);
	struct hashbelt_item item = { .ttl_ms = 77 };
	struct hashbelt_entry *entry;
	unsigned int key = 1;
	struct hb_seen seen;
	u64 now;

	put(belt, key);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	move_time_only(belt, TTL - HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, has(belt, key));
	move_time_only(belt, HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	KUNIT_EXPECT_FALSE(test, has(belt, key));
	/* The miss has sealed the entry. */
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	now = hashbelt_now(belt);
	rcu_read_lock();
	entry = hb_find_stale(belt, &key, sizeof(key), now, &seen);
	if (entry)
		KUNIT_EXPECT_TRUE(test, hb_hit_stale(belt, entry, &item, now, seen));
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 0ULL);
	KUNIT_EXPECT_EQ(test, item.value_len, 4u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_STALE), 1ULL);
	move_time_only(belt, 100 * SEC - HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	move_time_only(belt, HB_GRAIN);
	KUNIT_EXPECT_FALSE(test, is_stale(belt, key));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_HITS), 0ULL);
}

static void the_handler_runs_at_most_an_interval_after_the_grace_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make_with_grace(test, 100 * SEC + 12345 * MS);
	struct fixture *f = test->priv;

	put_thousand(test, belt, &f->rnd, lives.deadlines);
	while (belt->clock.wake != HB_NEVER) {
		KUNIT_ASSERT_EQ(test, advance_to_alarm(belt), 0);
		/* A miss seals some of the entries. */
		has(belt, prandom_u32_state(&f->rnd) % 1000);
	}
	KUNIT_EXPECT_EQ(test, lives.expired, 1000u);
	KUNIT_EXPECT_EQ(test, lives.wrong, 0u);
	expect_empty(test);
}

/* With deadlines and grace times that are multiples of the interval, and with others. */
static void a_sealed_entry_is_not_drained_before_its_grace_time_ends(struct kunit *test)
{
	static const u64 graces[] = { 1000, 60000, 61000, 120000, 600000, 86400000 };
	struct hashbelt_belt *belt = make_with_grace(test, SEC);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(graces); i++) {
		u64 now, grace = graces[i] * MS;

		KUNIT_ASSERT_EQ(test, change(belt, GRACE, .grace = grace), 0);
		/* In turn the deadline is at the border of a bucket and 7 ms behind it. */
		now = hashbelt_now(belt);
		hashbelt_advance(belt, INTERVAL - now % INTERVAL + (i % 2 ? 7 * MS : 0));
		lives.deadlines[1] = hashbelt_now(belt) + 120 * SEC;
		put_ttl(belt, 1, 120000);
		hashbelt_advance(belt, 120 * SEC);
		KUNIT_EXPECT_FALSE(test, has(belt, 1));
		for (now = 0; now < grace - HB_GRAIN; now += min(grace - HB_GRAIN - now,
								 INTERVAL / 2)) {
			KUNIT_ASSERT_EQ(test, lives.expired, i);
			KUNIT_ASSERT_TRUE(test, is_stale(belt, 1));
			hashbelt_advance(belt, min(grace - HB_GRAIN - now, INTERVAL / 2));
		}
		KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
		KUNIT_EXPECT_EQ(test, lives.expired, i);
		hashbelt_advance(belt, HB_GRAIN + INTERVAL);
		KUNIT_EXPECT_EQ(test, lives.expired, i + 1);
		KUNIT_EXPECT_EQ(test, lives.wrong, 0u);
	}
	expect_empty(test);
}

static int leave_stale(struct hashbelt_belt *belt, unsigned int key, u64 version)
{
	struct hashbelt_item item = {
		.how = HASHBELT_LEAVE_STALE | (version ? HASHBELT_IF_VERSION : 0),
		.version = version,
	};

	return hashbelt_remove(belt, &key, sizeof(key), &item);
}

/* It had the time before the remove, and is answered as of then; its refresh comes too late. */
static void a_reader_with_an_older_time_cannot_refresh_what_was_left_stale(struct kunit *test)
{
	struct hashbelt_belt *belt = make_with_grace(test, 100 * SEC);
	struct hashbelt_entry *entry;
	unsigned int key = 1;
	struct hb_seen seen;
	u64 then;

	put(belt, key);
	then = hashbelt_now(belt);
	move_time_only(belt, HB_GRAIN);
	KUNIT_EXPECT_EQ(test, leave_stale(belt, key, 0), 0);
	rcu_read_lock();
	entry = hb_find_stale(belt, &key, sizeof(key), then, &seen);
	KUNIT_EXPECT_NOT_NULL(test, entry);
	if (entry)
		KUNIT_EXPECT_EQ(test, hb_node_move(&entry->node, then, then + TTL, false), HB_GONE);
	rcu_read_unlock();
	KUNIT_EXPECT_FALSE(test, has(belt, key));
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
}

static void changing_the_grace_time_loses_no_entry(struct kunit *test)
{
	static const u64 graces[] = {
		100 * SEC, 0, 1000 * SEC, 10 * SEC, HASHBELT_TTL_MAX_MS * MS, 30 * SEC, MS,
	};
	struct hashbelt_belt *belt = make_plain(test);
	unsigned int key, step;
	u64 grace = 0, now;

	for (key = 0; key < 900; key++) {
		lives.deadlines[key] = hashbelt_now(belt) + (1 + key) * SEC;
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000 * (1 + key)), 0);
	}
	for (step = 0; step < 4 * ARRAY_SIZE(graces); step++) {
		if (step % 4 == 0)
			grace = graces[step / 4];
		KUNIT_ASSERT_EQ(test, hb_set(belt, &(struct hashbelt_config){
			.grace = grace, .buckets = 2 + step % 3 }, HASHBELT_SET_GRACE |
			(step % 2 ? HASHBELT_SET_BUCKETS : 0)), 0);
		KUNIT_EXPECT_EQ(test, info_of(belt).grace_ms, grace / MS);
		for (now = 0; now < 2; now++) {
			for (key = 0; key < 900; key++) {
				u64 is = hashbelt_now(belt), end = lives.deadlines[key];

				lives.over[key] |= end + grace <= is;
				KUNIT_ASSERT_EQ(test, has(belt, key), end > is);
				if (end + grace <= is)
					KUNIT_ASSERT_FALSE(test, is_stale(belt, key));
				else if (!lives.over[key])
					KUNIT_ASSERT_TRUE(test, is_stale(belt, key));
			}
			if (!now)
				hashbelt_advance(belt, 25 * SEC);
		}
		check_accounting(test, belt);
	}
	hashbelt_advance(belt, 1000 * SEC);
	hashbelt_advance(belt, 1000 * SEC);
	expect_empty(test);
}

static void the_longest_time_to_live_and_grace_time_fit(struct kunit *test)
{
	struct hashbelt_belt *belt = make_with_grace(test, HASHBELT_TTL_MAX_MS * MS);

	lives.deadlines[1] = hashbelt_now(belt) + HASHBELT_TTL_MAX_MS * MS;
	KUNIT_EXPECT_EQ(test, put_ttl(belt, 1, HASHBELT_TTL_MAX_MS), 0);
	KUNIT_EXPECT_EQ(test, put_ttl(belt, 2, HASHBELT_TTL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HASHBELT_TTL_MAX_MS * MS), 0);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
	KUNIT_EXPECT_TRUE(test, has(belt, 2));
	KUNIT_EXPECT_EQ(test, lives.expired, 0u);
	KUNIT_EXPECT_EQ(test, change(belt, GRACE, .grace = 0), 0);
	hashbelt_advance(belt, INTERVAL);
	KUNIT_EXPECT_EQ(test, lives.expired, 1u);
}

static void only_plain_entries_have_a_grace_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .grace = 10000 * SEC);
	struct fixture *f = test->priv;
	u64 token;

	put_ttl(belt, 1, 1000);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 2, 1000), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 1000 }), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, 2, false, &token), 0);
	hashbelt_advance(belt, 10 * SEC + INTERVAL);
	expect_completion(test, 1, HASHBELT_BY_TIMEOUT, NO_KEY);
	KUNIT_EXPECT_EQ(test, count_linked(belt), 1ULL);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

/* The request stands in an earlier bucket, since it has no grace time. */
static void an_entry_in_its_grace_time_makes_room_before_a_live_request(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .max_entries = 2, .grace = 100 * SEC);
	struct fixture *f = test->priv;
	unsigned int round;

	/* Both are in one shard in some rounds, and in two in others. */
	for (round = 0; round < 20; round++) {
		KUNIT_ASSERT_EQ(test, put_ttl(belt, round, 1000), 0);
		KUNIT_ASSERT_EQ(test, ask(f, round, 100, 50000), 0);
		move_time_only(belt, 2 * SEC);
		KUNIT_ASSERT_EQ(test, put(belt, 50 + round), 0);
		KUNIT_EXPECT_EQ(test, info_of(belt).requests, 1ULL);
		hashbelt_clear(belt);
		come_to_rest(belt);
	}
}

static struct kunit_case grace_cases[] = {
	KUNIT_CASE(an_old_value_stays_for_its_grace_time_and_is_a_miss_for_get),
	KUNIT_CASE(the_handler_runs_at_most_an_interval_after_the_grace_time),
	KUNIT_CASE(a_sealed_entry_is_not_drained_before_its_grace_time_ends),
	KUNIT_CASE(a_reader_with_an_older_time_cannot_refresh_what_was_left_stale),
	KUNIT_CASE(changing_the_grace_time_loses_no_entry),
	KUNIT_CASE(the_longest_time_to_live_and_grace_time_fit),
	KUNIT_CASE(only_plain_entries_have_a_grace_time),
	KUNIT_CASE(an_entry_in_its_grace_time_makes_room_before_a_live_request),
	{}
};

TEST_SUITE(grace, grace_init, fixture_exit);
