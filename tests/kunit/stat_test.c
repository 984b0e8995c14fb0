// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters. Each case compares all of them with the numbers that it expects, so it fails if a
 * counter is raised twice, not at all, or instead of another one.
 *
 * The wakeups of idle belts are counted over hours of the guest's time, which jumps. A case may
 * not take longer than 300 s of that time. So the hours pass before the first case of the suite,
 * and the cases check the counts of those hours.
 */
#include <kunit/test.h>

#include "request.h"

#define HOUR	(3600 * SEC)

struct counts {
	u64 of[HASHBELT_STAT_COUNT];
	u64 lags[HASHBELT_LAGS];
};

/* The count depends on the shards of the keys, and so on the belt's seed. */
#define ANY	U64_MAX

/* The counts at begin_count(). One case runs at a time. */
static struct counts before;

static void read_counts(struct hashbelt_belt *belt, struct counts *counts)
{
	hb_stat(belt, counts->of, counts->lags);
}

static void begin_count(struct hashbelt_belt *belt)
{
	read_counts(belt, &before);
}

/* Checks that the counters have risen by @expected since begin_count(). */
static void expect_counts(struct kunit *test, struct hashbelt_belt *belt, const u64 *expected)
{
	static struct counts now;
	unsigned int i;

	read_counts(belt, &now);
	for (i = 0; i < HASHBELT_STAT_COUNT; i++)
		if (expected[i] != ANY)
			KUNIT_EXPECT_EQ_MSG(test, now.of[i] - before.of[i], expected[i],
					    "counter %u of enum hashbelt_counter", i);
}

#define EXPECT_COUNTS(test, belt, ...)						\
	do {									\
		static const u64 expected[HASHBELT_STAT_COUNT] = { __VA_ARGS__ };	\
										\
		expect_counts(test, belt, expected);				\
	} while (0)

/*
 * Moves belt time to a moment at which intervals of all levels begin, even with an interval of half
 * an hour. Then it is known when each bucket falls off.
 */
static void align(struct hashbelt_belt *belt)
{
	u64 all = 3 * 64 * 5 * INTERVAL, past;

	div64_u64_rem(hashbelt_now(belt), all, &past);
	move_time_only(belt, all - past);
}

static struct hashbelt_belt *make_aligned(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt = make(test, config);

	align(belt);
	return belt;
}

/* Gets a key as the device does, which counts a miss. */
static void look(struct hashbelt_belt *belt, unsigned int key, struct hashbelt_item item)
{
	u64 now = hashbelt_now(belt);
	struct hashbelt_entry *entry;
	u32 gone;

	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), now, &gone);
	if (!entry || !hashbelt_hit(belt, entry, &item, now))
		hashbelt_miss(belt, &key, sizeof(key), gone);
	rcu_read_unlock();
}

static void look_plainly(struct hashbelt_belt *belt, unsigned int key)
{
	look(belt, key, (struct hashbelt_item){});
}

static int put_if(struct hashbelt_belt *belt, unsigned int key, u32 how, u64 version)
{
	return put_bytes(belt, &key, sizeof(key), &key, sizeof(key),
			 &(struct hashbelt_item){ .how = how, .version = version });
}

static int add_one(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_sum sum = { .by = 1 };

	return hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){}, &sum);
}

static int expire(struct hashbelt_belt *belt, unsigned int key)
{
	return hashbelt_expire(belt, &key, sizeof(key));
}

static void hits_and_misses_are_counted_once_each(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.policy = HASHBELT_REFRESH_ON_GET,
	});
	unsigned int absent = 100;

	put(belt, 1);
	put(belt, 2);
	begin_count(belt);
	look_plainly(belt, 1);
	look_plainly(belt, 1);
	look(belt, 1, (struct hashbelt_item){ .how = HASHBELT_NO_REFRESH });
	look_plainly(belt, absent);
	hb_miss(belt, &absent, sizeof(absent), 0, HASHBELT_NO_REFRESH);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_HITS] = 2, [HASHBELT_STAT_MISSES] = 1);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, expire(belt, 1), 0);
	look_plainly(belt, 1);
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 1), 1u);
	look_plainly(belt, 2);
	look_plainly(belt, 2);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_EXPIRED] = 1, [HASHBELT_STAT_PRESSURE] = 1,
		      [HASHBELT_STAT_MISSES] = 3, [HASHBELT_STAT_MISSES_EXPIRED] = 1,
		      [HASHBELT_STAT_MISSES_EVICTED] = 2);
}

static void puts_are_counted_by_their_result(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});

	begin_count(belt);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 2), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_ABSENT, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, put_if(belt, 3, HASHBELT_IF_PRESENT, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_VERSION, ~0), -ESTALE);
	KUNIT_EXPECT_EQ(test, put_ttl(belt, 1, HASHBELT_TTL_MAX_MS + 1), -EINVAL);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 2, [HASHBELT_STAT_PUTS_REPLACED] = 1,
		      [HASHBELT_STAT_REFUSED] = 3);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, add_one(belt, 10), 0);
	KUNIT_EXPECT_EQ(test, add_one(belt, 10), 0);
	KUNIT_EXPECT_EQ(test, add_one(belt, 1), -EBADMSG);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_ADDS] = 2, [HASHBELT_STAT_PUTS_NEW] = 1,
		      [HASHBELT_STAT_PUTS_REPLACED] = 1);
	hb_kill(belt);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, put(belt, 1), -EIDRM);
	KUNIT_EXPECT_EQ(test, add_one(belt, 1), -EIDRM);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, 0), -EIDRM);
	KUNIT_EXPECT_EQ(test, take_out(belt, 1), -EIDRM);
	flush_work(&belt->work);
	EXPECT_COUNTS(test, belt, 0);
}

static void a_full_belt_counts_what_it_rejects_or_evicts(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.max_entries = 2,
	});

	put(belt, 1);
	put(belt, 2);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, put(belt, 3), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add_one(belt, 4), -ENOSPC);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_REJECTED] = 2);
	hb_set(belt, &(struct hashbelt_config){ .policy = HASHBELT_EVICT },
	       HASHBELT_SET_POLICY);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, put(belt, 3), 0);
	KUNIT_EXPECT_EQ(test, add_one(belt, 4), 0);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_EVICTED] = 2, [HASHBELT_STAT_PUTS_NEW] = 2,
		      [HASHBELT_STAT_ADDS] = 1);
}

static void touches_and_removes_that_succeed_are_counted(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});
	struct hashbelt_item stale = { .how = HASHBELT_IF_VERSION, .version = ~0 };
	unsigned int key = 1;

	put(belt, key);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, touch(belt, key, 500000), 0);
	KUNIT_EXPECT_EQ(test, touch(belt, key, 1000), 0);
	look(belt, key, (struct hashbelt_item){ .how = HASHBELT_AND_TOUCH });
	KUNIT_EXPECT_EQ(test, touch(belt, 2, 1000), -ENOENT);
	KUNIT_EXPECT_EQ(test, hashbelt_remove(belt, &key, sizeof(key), &stale), -ESTALE);
	KUNIT_EXPECT_EQ(test, take_out(belt, key), 0);
	KUNIT_EXPECT_EQ(test, take_out(belt, key), -ENOENT);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_TOUCHES] = 3, [HASHBELT_STAT_HITS] = 1,
		      [HASHBELT_STAT_REMOVES] = 1, [HASHBELT_STAT_REMOVES_REFUSED] = 1);
}

/* A cleared entry is counted as cleared only, even if a drain finds it before the sweep does. */
static void cleared_entries_are_counted_by_the_clear_alone(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});
	struct fixture *f = test->priv;
	struct hashbelt_entry *bound;
	unsigned int key;

	for (key = 0; key < 100; key++)
		put(belt, key);
	bound = hashbelt_entry_alloc(belt, f->clients[0], sizeof(key), 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR(bound));
	memcpy(bound->data, &key, sizeof(key));
	KUNIT_ASSERT_EQ(test, hashbelt_put(belt, bound, &(struct hashbelt_item){}), 0);
	begin_count(belt);
	mutex_lock(&belt->round_lock);	/* keeps the sweep waiting */
	hashbelt_clear(belt);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, take_out(belt, 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 10), 10u);
	KUNIT_EXPECT_EQ(test, expire(belt, 2), -ENOENT);
	drop_client(f, 0);
	mutex_unlock(&belt->round_lock);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 5 * INTERVAL), 0);
	KUNIT_EXPECT_EQ(test, count_linked(belt), 0ULL);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_CLEARED] = 101, [HASHBELT_STAT_ROTATIONS] = 5,
		      [HASHBELT_STAT_DRAINED] = ANY);
}

/*
 * There is one entry, so one bucket of one shard is not empty. Belt time moves from alarm to alarm.
 * The front wheel is 300 s long, and the next one has buckets of 300 s.
 */
static void drained_buckets_and_requeued_entries_are_counted(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});
	u64 start = hashbelt_now(belt);

	begin_count(belt);
	/* Due at 100 s: its bucket falls off at 120 s. */
	put_ttl(belt, 1, 100 * 1000);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), start + 120 * SEC);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 1, [HASHBELT_STAT_EXPIRED] = 1,
		      [HASHBELT_STAT_DRAINED] = 1, [HASHBELT_STAT_ROTATIONS] = 2);
	/* Due at 1120 s: on the second level until 900 s, and then on the first until 1140 s. */
	begin_count(belt);
	put_ttl(belt, 1, 1000 * 1000);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), start + 900 * SEC);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 1, [HASHBELT_STAT_CASCADED] = 1,
		      [HASHBELT_STAT_DRAINED] = 1, [HASHBELT_STAT_ROTATIONS] = 13);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), start + 1140 * SEC);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 1, [HASHBELT_STAT_CASCADED] = 1,
		      [HASHBELT_STAT_EXPIRED] = 1, [HASHBELT_STAT_DRAINED] = 2,
		      [HASHBELT_STAT_ROTATIONS] = 17);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
}

static void a_refreshed_entry_is_counted_as_requeued(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});
	u64 start = hashbelt_now(belt);

	begin_count(belt);
	/* Due at 240 s, in the bucket that falls off at 300 s; then due at 360 s. */
	put(belt, 1);
	move_time_only(belt, 120 * SEC);
	touch(belt, 1, 0);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), start + 300 * SEC);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 1, [HASHBELT_STAT_TOUCHES] = 1,
		      [HASHBELT_STAT_CASCADED] = 1, [HASHBELT_STAT_DRAINED] = 1,
		      [HASHBELT_STAT_ROTATIONS] = 5);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), start + 420 * SEC);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 1, [HASHBELT_STAT_TOUCHES] = 1,
		      [HASHBELT_STAT_CASCADED] = 1, [HASHBELT_STAT_DRAINED] = 2,
		      [HASHBELT_STAT_EXPIRED] = 1, [HASHBELT_STAT_ROTATIONS] = 7);
}

/* The drain is late by many intervals, and passes over all empty buckets. */
static void a_late_drain_counts_the_buckets_that_held_something(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});

	begin_count(belt);
	put_ttl(belt, 1, 30 * 1000);
	put_ttl(belt, 2, 90 * 1000);
	put_ttl(belt, 3, 210 * 1000);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 1000 * INTERVAL), 0);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 3, [HASHBELT_STAT_EXPIRED] = 3,
		      [HASHBELT_STAT_DRAINED] = 3, [HASHBELT_STAT_ROTATIONS] = 1000);
}

static u64 take_events(struct hashbelt_belt *belt, unsigned int most, bool return_them)
{
	struct hb_fifo events = {};
	u64 lost = 0;

	if (hb_take_events(belt, &events, SIZE_MAX, most, false, &lost))
		return 0;
	hb_count_read(belt, events.count);
	if (return_them)
		hb_return_events(belt, &events, false, lost, true);
	else
		hb_settle_events(belt, &events, false);
	return lost;
}

static void each_event_is_counted_as_queued_lost_read_and_returned(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY, .max_events = 3,
	});
	unsigned int key;

	for (key = 0; key < 5; key++)
		put(belt, key);
	begin_count(belt);
	for (key = 0; key < 5; key++)
		expire(belt, key);
	flush_work(&belt->work);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_EXPIRED] = 5,
		      [HASHBELT_STAT_EVENTS] = 5, [HASHBELT_STAT_EVENTS_LOST] = 2);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, take_events(belt, 2, true), 2ULL);
	KUNIT_EXPECT_EQ(test, take_events(belt, 10, false), 2ULL);
	KUNIT_EXPECT_EQ(test, take_events(belt, 10, false), 0ULL);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_EVENTS_READ] = 5,
		      [HASHBELT_STAT_EVENTS_RETURNED] = 2);
}

static void events_that_no_reader_got_never_count_as_read(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY,
	});
	struct hb_fifo events = {};
	u64 lost = 0;

	put(belt, 1);
	expire(belt, 1);
	begin_count(belt);
	KUNIT_ASSERT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, 1, true, &lost), 0);
	/* Not even for a moment: a counter never decreases. */
	EXPECT_COUNTS(test, belt, 0);
	hb_return_events(belt, &events, true, lost, false);
	EXPECT_COUNTS(test, belt, 0);
	KUNIT_EXPECT_EQ(test, take_events(belt, 1, false), 0ULL);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_EVENTS_READ] = 1);
}

static void a_reinserted_entry_counts_as_expired_and_reinserted(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.handler = HASHBELT_REINSERT,
	});

	begin_count(belt);
	put(belt, 1);
	/* Due at 240 s, handed over at 300 s; due again at 540 s. */
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_PUTS_NEW] = 1, [HASHBELT_STAT_EXPIRED] = 1,
		      [HASHBELT_STAT_REINSERTED] = 1, [HASHBELT_STAT_EVENTS] = 1,
		      [HASHBELT_STAT_DRAINED] = 1, [HASHBELT_STAT_ROTATIONS] = 5);
	/* Without memory for the event it is lost, and the entry is reinserted all the same. */
	begin_count(belt);
	hb_memory_limit(0);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	hb_memory_limit(U64_MAX);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	EXPECT_COUNTS(test, belt,
		      [HASHBELT_STAT_EXPIRED] = 1, [HASHBELT_STAT_REINSERTED] = 1,
		      [HASHBELT_STAT_EVENTS] = 1, [HASHBELT_STAT_EVENTS_LOST] = 1,
		      [HASHBELT_STAT_DRAINED] = 1, [HASHBELT_STAT_ROTATIONS] = 5);
	take_events(belt, 10, false);
}

static void a_value_in_its_grace_time_is_counted_as_stale(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.grace = 100 * SEC,
	});
	struct hashbelt_entry *entry;
	struct hashbelt_item item = {};
	unsigned int key = 1;
	struct hb_seen seen;
	u64 now;

	put(belt, key);
	move_time_only(belt, 250 * SEC);
	now = hashbelt_now(belt);
	begin_count(belt);
	rcu_read_lock();
	entry = hb_find_stale(belt, &key, sizeof(key), now, &seen);
	KUNIT_EXPECT_TRUE(test, entry && hb_hit_stale(belt, entry, &item, now, seen));
	rcu_read_unlock();
	look_plainly(belt, key);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_STALE] = 1,
		      [HASHBELT_STAT_MISSES] = 1, [HASHBELT_STAT_MISSES_EXPIRED] = 1);
}

static void locks_are_counted_when_granted_waited_for_and_released(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED,
	});
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[0];
	struct hashbelt_lock bound = { .how = HASHBELT_BOUND };

	begin_count(belt);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'B'), -EBUSY);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 2, 'A', &bound), 0);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_LOCKS] = 2);
	begin_count(belt);
	*waiter = (struct waiter){
		.belt = belt, .key = 1, .owner = "C", .turn = &f->turn,
		.lock = { .owner_len = 1, .wait_ms = HASHBELT_TTL_NEVER },
	};
	KUNIT_ASSERT_TRUE(test, waiter_start(waiter));
	EXPECT_COUNTS(test, belt, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(waiter));
	drop_client(f, 0);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_LOCKS] = 1,
		      [HASHBELT_STAT_LOCK_WAITS] = 1, [HASHBELT_STAT_RELEASED] = 1);
	begin_count(belt);
	/* The lease of C ends at 240 s; its bucket falls off at 300 s. */
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 300 * SEC), 0);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_EXPIRED] = 1,
		      [HASHBELT_STAT_ROTATIONS] = 5,
		      [HASHBELT_STAT_DRAINED] = ANY);
}

static int ask_to_fill(struct hashbelt_belt *belt, struct hb_client *client, unsigned int key)
{
	struct hashbelt_fill fill = { .how = client ? HASHBELT_BOUND : 0 };

	return hashbelt_fill(belt, client, &key, sizeof(key), &fill, false);
}

static void fill_leases_are_counted_when_granted(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});
	struct fixture *f = test->priv;

	begin_count(belt);
	KUNIT_EXPECT_EQ(test, ask_to_fill(belt, NULL, 1), 0);
	KUNIT_EXPECT_EQ(test, ask_to_fill(belt, NULL, 1), -EBUSY);
	KUNIT_EXPECT_EQ(test, ask_to_fill(belt, f->clients[0], 2), 0);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_FILLS] = 2);
	begin_count(belt);
	put(belt, 1);
	/* RELEASED counts entries and locks, and no fill leases. */
	drop_client(f, 0);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_PUTS_NEW] = 1);
}

static void requests_are_counted_when_registered_and_when_they_end(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){});
	struct fixture *f = test->priv;
	unsigned int key = 1;
	u64 id;

	begin_count(belt);
	for (id = 1; id <= 6; id++)
		KUNIT_ASSERT_EQ(test, ask(f, id, id, id < 4 ? 0 : 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 0), -EEXIST);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_REQUESTS] = 6);
	begin_count(belt);
	/* One is completed by COMPLETE, one by a put, and one is cancelled. */
	KUNIT_EXPECT_EQ(test, hb_complete(belt, &key, sizeof(key)), 1u);
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, hb_request_cancel(belt, f->clients[0], 3), 0);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_COMPLETED] = 2,
		      [HASHBELT_STAT_PUTS_NEW] = 1);
	/* The put and the cancel find requests past their deadlines. The drain finds the third. */
	begin_count(belt);
	/* The worker waits. */
	mutex_lock(&belt->round_lock);
	move_time_only(belt, SEC);
	put(belt, 4);
	KUNIT_EXPECT_EQ(test, hb_request_cancel(belt, f->clients[0], 5), -ENOENT);
	EXPECT_COUNTS(test, belt, [HASHBELT_STAT_TIMED_OUT] = 2,
		      [HASHBELT_STAT_PUTS_NEW] = 1);
	mutex_unlock(&belt->round_lock);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, SEC), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 3ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 0ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_COMPLETED), 2ULL);
}

/* Lag */

struct lag_case {
	u64 lag;	/* nanoseconds from the deadline to the hand-over */
	unsigned int bin;
};

static const struct lag_case lag_cases[] = {
	{ 0, 0 }, { MS - HB_GRAIN, 0 }, { MS, 1 }, { 2 * MS - HB_GRAIN, 1 }, { 2 * MS, 2 },
	{ 3 * MS, 2 }, { 4 * MS, 3 }, { 7 * MS, 3 }, { 8 * MS, 4 }, { 1023 * MS, 10 },
	{ 1024 * MS, 11 }, { 4194303 * MS, 22 }, { 4194304 * MS, 23 }, { 8388608 * MS, 23 },
	{ 1000 * HOUR, 23 },
};

/* Checks that since begin_count() one lag was counted, in @bin; HASHBELT_LAGS: none. */
static void expect_lag(struct kunit *test, struct hashbelt_belt *belt, unsigned int bin)
{
	static struct counts now;
	unsigned int i;

	read_counts(belt, &now);
	for (i = 0; i < HASHBELT_LAGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, now.lags[i] - before.lags[i], i == bin ? 1ULL : 0ULL,
				    "lag %u, where one was expected in %u", i, bin);
}

/* The put that finds the expired entry hands it over, so the case chooses the lag. */
static void the_lag_of_a_hand_over_is_counted_by_its_power_of_two(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){});
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lag_cases); i++) {
		put_ttl(belt, 1, 1000);
		begin_count(belt);
		move_time_only(belt, SEC + lag_cases[i].lag);
		put(belt, 1);
		expect_lag(test, belt, lag_cases[i].bin);
		take_out(belt, 1);
	}
	/* An entry that is expired by hand before its deadline has no lag. */
	put(belt, 1);
	begin_count(belt);
	expire(belt, 1);
	expect_lag(test, belt, HASHBELT_LAGS);
}

static void with_a_grace_time_the_lag_begins_at_its_end(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test, (struct hashbelt_config){
		.grace = 100 * SEC, .handler = HASHBELT_NOTIFY, .policy = HASHBELT_PINNED,
	});
	struct hashbelt_event record = {};
	u64 start = hashbelt_now(belt), lost;
	struct hb_fifo events = {};

	/* Due at 240 s and 100 s of grace: the bucket falls off at 360 s, 20 s late. */
	put(belt, 1);
	begin_count(belt);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 340 * SEC - HB_GRAIN), 0);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
	KUNIT_EXPECT_EQ(test, belt->clock.wake, start + 360 * SEC);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_GRAIN), 0);
	KUNIT_EXPECT_FALSE(test, is_stale(belt, 1));
	expect_lag(test, belt, HASHBELT_LAGS);
	KUNIT_EXPECT_EQ(test, advance_to_alarm(belt), 0);
	expect_lag(test, belt, 15);	/* 16384 ms or more */
	KUNIT_ASSERT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, 1, false, &lost), 0);
	hashbelt_describe_event(events.first, &record);
	KUNIT_EXPECT_EQ(test, record.deadline_ns, start + 240 * SEC);
	KUNIT_EXPECT_EQ(test, record.handed_ns, start + 360 * SEC);
	hb_settle_events(belt, &events, false);
	/* A put over an entry in its grace time hands it over with no lag. */
	put(belt, 2);
	begin_count(belt);
	move_time_only(belt, 300 * SEC);
	put(belt, 2);
	expect_lag(test, belt, 0);
	/* A put after the grace time has the lag since its end: 10 s. */
	begin_count(belt);
	move_time_only(belt, 350 * SEC);
	put(belt, 2);
	expect_lag(test, belt, 14);	/* 8192 ms or more */
	/* A lock has no grace time: the lag is 10 s, since the end of its lease. */
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 3, 'A'), 0);
	begin_count(belt);
	move_time_only(belt, 250 * SEC);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 3, 'B'), 0);
	expect_lag(test, belt, 14);
	take_events(belt, 10, false);
}

static struct kunit_case stat_test_cases[] = {
	KUNIT_CASE(hits_and_misses_are_counted_once_each),
	KUNIT_CASE(puts_are_counted_by_their_result),
	KUNIT_CASE(a_full_belt_counts_what_it_rejects_or_evicts),
	KUNIT_CASE(touches_and_removes_that_succeed_are_counted),
	KUNIT_CASE(cleared_entries_are_counted_by_the_clear_alone),
	KUNIT_CASE(drained_buckets_and_requeued_entries_are_counted),
	KUNIT_CASE(a_refreshed_entry_is_counted_as_requeued),
	KUNIT_CASE(a_late_drain_counts_the_buckets_that_held_something),
	KUNIT_CASE(each_event_is_counted_as_queued_lost_read_and_returned),
	KUNIT_CASE(events_that_no_reader_got_never_count_as_read),
	KUNIT_CASE(a_reinserted_entry_counts_as_expired_and_reinserted),
	KUNIT_CASE(a_value_in_its_grace_time_is_counted_as_stale),
	KUNIT_CASE(locks_are_counted_when_granted_waited_for_and_released),
	KUNIT_CASE(fill_leases_are_counted_when_granted),
	KUNIT_CASE(requests_are_counted_when_registered_and_when_they_end),
	KUNIT_CASE(the_lag_of_a_hand_over_is_counted_by_its_power_of_two),
	KUNIT_CASE(with_a_grace_time_the_lag_begins_at_its_end),
	{}
};

static struct kunit_suite stat_suite = {
	.name = "hashbelt_stat",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = stat_test_cases,
};

/* Wakeups */

#define HOURS	5

/**
 * struct idle - a belt that is not used for HOURS
 * @name:	for the test line
 * @config:	of the belt
 * @ttl_ms:	time-to-live of the one entry; 0: there is none
 * @removed:	the entry is removed at once
 * @halted:	belt time is halted at once
 * @resumed:	hours after which belt time is resumed; 0: it is not
 * @moved:	belt time is moved by this at once, nanoseconds
 * @wakeups:	expected wakeups of the worker
 * @expired:	expected number of entries that expire
 * @lag:	expected bin of their lag in the histogram
 * @belt:	the belt
 * @counts:	its counters at the end
 */
static struct idle {
	const char *name;
	struct hashbelt_config config;
	u64 ttl_ms;
	bool removed;
	bool halted;
	unsigned int resumed;
	u64 moved;
	u64 wakeups;
	u64 expired;
	unsigned int lag;
	struct hashbelt_belt *belt;
	struct counts counts;
} idles[] = {
	{ .name = "an empty belt", },
	{ .name = "an entry that never expires", .ttl_ms = HASHBELT_TTL_NEVER },
	{ .name = "an entry due in a day", .ttl_ms = 86400000,
	  .config = { .ttl = 48 * HOUR } },
	/* Due at 3630 s, and 1770 s later its bucket falls off. */
	{ .name = "an entry due in an hour, on the front wheel", .ttl_ms = 3600000,
	  .config = { .ttl = HOUR }, .wakeups = 1, .expired = 1, .lag = 21 },
	/* The bucket on the second level falls off 30 s before that, the other 30 s after it. */
	{ .name = "an entry due in an hour, on the second level", .ttl_ms = 3600000,
	  .config = { .ttl = TTL, .buckets = 5 }, .wakeups = 2, .expired = 1, .lag = 15 },
	/* The alarm stays set, since a remove does not search for the next one. */
	{ .name = "an entry due in an hour that was removed", .ttl_ms = 3600000,
	  .removed = true, .config = { .ttl = HOUR }, .wakeups = 1 },
	{ .name = "an entry due in an hour in a belt that is halted", .ttl_ms = 3600000,
	  .halted = true, .config = { .ttl = HOUR } },
	{ .name = "an entry due in an hour in a belt that is resumed", .ttl_ms = 3600000,
	  .halted = true, .resumed = 2, .config = { .ttl = HOUR },
	  .wakeups = 1, .expired = 1, .lag = 21 },
	/* If belt time were not moved, the bucket would fall off after HOURS. */
	{ .name = "an entry due in 6 hours, time moved by 3", .ttl_ms = 6 * 3600000,
	  .moved = 3 * HOUR, .config = { .ttl = 6 * HOUR, .buckets = 13 },
	  .wakeups = 1, .expired = 1, .lag = 21 },
};

static void idle_name(struct idle *idle, char *name)
{
	strscpy(name, idle->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(idle, idles, idle_name);

/* Puts the entry 30 s after the begin of an interval of all levels. */
static int idle_begin(struct idle *idle)
{
	int err = 0;

	idle->belt = hashbelt_create(&idle->config);
	if (IS_ERR(idle->belt))
		return PTR_ERR(idle->belt);
	align(idle->belt);
	move_time_only(idle->belt, 30 * SEC);
	if (idle->ttl_ms)
		err = put_ttl(idle->belt, 1, idle->ttl_ms);
	if (!err && idle->removed)
		err = take_out(idle->belt, 1);
	if (idle->halted)
		hashbelt_halt(idle->belt);
	if (idle->moved)
		move_time_only(idle->belt, idle->moved);
	return err;
}

static void idle_hour(unsigned int hour)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(idles); i++)
		if (hour && idles[i].resumed == hour)
			hb_resume(idles[i].belt);
	schedule_timeout_interruptible(3600 * HZ);
}

static int idle_suite_init(struct kunit_suite *suite)
{
	unsigned int i, hour;
	int err = hb_core_init();

	if (err)
		return err;
	for (i = 0; !err && i < ARRAY_SIZE(idles); i++)
		err = idle_begin(&idles[i]);
	for (hour = 0; !err && hour < HOURS; hour++)
		idle_hour(hour);
	for (i = 0; i < ARRAY_SIZE(idles) && !IS_ERR_OR_NULL(idles[i].belt); i++) {
		read_counts(idles[i].belt, &idles[i].counts);
		hashbelt_destroy(idles[i].belt);
	}
	hb_core_exit();
	return err;
}

static void an_idle_belt_wakes_only_for_what_is_due(struct kunit *test)
{
	const struct idle *idle = test->param_value;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, idle->counts.of[HASHBELT_STAT_WAKEUPS], idle->wakeups);
	KUNIT_EXPECT_EQ(test, idle->counts.of[HASHBELT_STAT_EXPIRED], idle->expired);
	for (i = 0; i < HASHBELT_LAGS; i++)
		KUNIT_EXPECT_EQ_MSG(test, idle->counts.lags[i],
				    i == idle->lag ? idle->expired : 0ULL, "lag %u", i);
}

static struct kunit_case idle_test_cases[] = {
	KUNIT_CASE_PARAM(an_idle_belt_wakes_only_for_what_is_due,
			 idle_gen_params),
	{}
};

static struct kunit_suite idle_suite = {
	.name = "hashbelt_idle",
	.suite_init = idle_suite_init,
	.test_cases = idle_test_cases,
};

kunit_test_suites(&stat_suite, &idle_suite);
