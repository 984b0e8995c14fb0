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
static struct hashbelt_belt *align(struct hashbelt_belt *belt)
{
	u64 all = 3 * 64 * 5 * INTERVAL, past;

	div64_u64_rem(hashbelt_now(belt), all, &past);
	move_time_only(belt, all - past);
	return belt;
}

#define make_aligned(test, ...) align(make(test, __VA_ARGS__))

/* A cleared entry is counted as cleared only, even if a drain finds it before the sweep does. */
static void cleared_entries_are_counted_by_the_clear_alone(struct kunit *test)
{
	struct hashbelt_belt *belt = make_aligned(test);
	struct fixture *f = test->priv;

	put_many(test, belt, 0, 100);
	KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], 100), 0);
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
	struct hashbelt_belt *belt = make_aligned(test);
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
	struct hashbelt_belt *belt = make_aligned(test, .handler = HASHBELT_NOTIFY,
						  .max_events = 3);
	unsigned int key;

	put_many(test, belt, 0, 5);
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
	struct hashbelt_belt *belt = make_aligned(test, .handler = HASHBELT_NOTIFY);
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
	struct hashbelt_belt *belt = make_aligned(test, .handler = HASHBELT_REINSERT);

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
	struct hashbelt_belt *belt = make(test);
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
	struct hashbelt_belt *belt = make_aligned(test, .grace = 100 * SEC,
						  .handler = HASHBELT_NOTIFY,
						  .policy = HASHBELT_PINNED);
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

static struct kunit_case stat_cases[] = {
	KUNIT_CASE(cleared_entries_are_counted_by_the_clear_alone),
	KUNIT_CASE(drained_buckets_and_requeued_entries_are_counted),
	KUNIT_CASE(each_event_is_counted_as_queued_lost_read_and_returned),
	KUNIT_CASE(events_that_no_reader_got_never_count_as_read),
	KUNIT_CASE(a_reinserted_entry_counts_as_expired_and_reinserted),
	KUNIT_CASE(the_lag_of_a_hand_over_is_counted_by_its_power_of_two),
	KUNIT_CASE(with_a_grace_time_the_lag_begins_at_its_end),
	{}
};

static struct kunit_suite stat_suite = {
	.name = "hashbelt_stat",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = stat_cases,
};

/* Wakeups */

#define HOURS	5

/* A belt that is not used for HOURS. */
static struct idle {
	const char *name;		/* for the test line */
	struct hashbelt_config config;	/* of the belt */
	u64 ttl_ms;			/* time-to-live of the one entry; 0: there is none */
	bool removed;			/* the entry is removed at once */
	bool halted;			/* belt time is halted at once */
	unsigned int resumed;		/* hours after which belt time is resumed; 0: it is not */
	u64 moved;			/* belt time is moved by this at once, nanoseconds */
	u64 wakeups;			/* expected wakeups of the worker */
	u64 expired;			/* expected number of entries that expire */
	unsigned int lag;		/* expected bin of their lag in the histogram */
	struct hashbelt_belt *belt;	/* the belt */
	struct counts counts;		/* its counters at the end */
} idles[] = {
	{ .name = "an empty belt", },
	{ .name = "an entry that never expires", .ttl_ms = HASHBELT_TTL_NEVER },
	{ .name = "an entry due in a day", .ttl_ms = 86400000, .config = { .ttl = 48 * HOUR } },
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

KUNIT_ARRAY_PARAM_DESC(idle, idles, name);

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

static struct kunit_case idle_cases[] = {
	KUNIT_CASE_PARAM(an_idle_belt_wakes_only_for_what_is_due, idle_gen_params),
	{}
};

static struct kunit_suite idle_suite = {
	.name = "hashbelt_idle",
	.suite_init = idle_suite_init,
	.test_cases = idle_cases,
};

kunit_test_suites(&stat_suite, &idle_suite);
