// SPDX-License-Identifier: GPL-2.0
/*
 * What a belt promises, numbered as the guarantees are in docs/design.md.
 *
 * Belt time is moved by hand and the worker is driven by the test; two of
 * the belt's files are included so that a test can take the worker's single steps.
 */
#include <kunit/test.h>

#include "belt/create.c"
#include "belt/worker.c"
#include "belt.h"

struct fixture {
	struct hashbelt_belt *belt;
	struct rnd_state rnd;
	struct hashbelt_event last;	/* what the handler was called with */
	unsigned int expired;		/* its calls for expired entries */
	unsigned int expired_of[1000];	/* and by key, where keys are numbers */
	u64 last_version;		/* of the entry it was called for last */
	u64 lateness;			/* the most, nanoseconds */
	u64 deadlines[1000];		/* what a test knows of the keys */
};

static void on_event(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		     const struct hashbelt_event *event, void *arg)
{
	struct fixture *f = arg;
	unsigned int i;

	might_sleep();
	f->last = *event;
	if (event->reason != HASHBELT_EXPIRED)
		return;
	f->expired++;
	f->last_version = entry->version;
	if (entry->key_len != sizeof(i))
		return;
	memcpy(&i, entry->data, sizeof(i));
	if (i < ARRAY_SIZE(f->expired_of)) {
		f->expired_of[i]++;
		if (f->deadlines[i])
			f->lateness = max(f->lateness,
					  hashbelt_now(belt) - f->deadlines[i]);
	}
}

static int belt_suite_init(struct kunit_suite *suite)
{
	return hb_core_init();
}

static void belt_suite_exit(struct kunit_suite *suite)
{
	hb_core_exit();
}

static int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	prandom_seed_state(&f->rnd, 20150517);
	test->priv = f;
	return 0;
}

static void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (!IS_ERR_OR_NULL(f->belt))
		hashbelt_destroy(f->belt);
	wait_var_event(&belts, !atomic_read(&belts));
	hashbelt_flush();
	KUNIT_EXPECT_EQ(test, hb_memory_used(), 0ULL);
}

static struct hashbelt_belt *make_with(struct kunit *test, u32 policy, u32 buckets)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, (struct hashbelt_config){
		.policy = policy, .buckets = buckets,
		.handler = HASHBELT_NOTIFY, .event = on_event, .arg = f,
	});
	return f->belt;
}

static struct hashbelt_belt *make(struct kunit *test, u32 policy)
{
	return make_with(test, policy, 0);
}

/* 1 */
static void a_put_is_visible_byte_for_byte_until_its_deadline(struct kunit *test)
{
	static const struct { u32 key_len, value_len; } sizes[] = {
		{ 1, 0 }, { 1, 1 }, { 15, 1 }, { 16, 64 }, { 17, 239 }, { 16, 240 },
		{ 16, 241 }, { 1024, 0 }, { 1024, 4096 }, { 3, 65536 },
		{ 1024, HASHBELT_VALUE_MAX },
	};
	struct hashbelt_belt *belt = make(test, 0);
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
		entry = hashbelt_find(belt, bytes, sizes[i].key_len, hashbelt_now(belt),
				      NULL);
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
		entry = hashbelt_find(belt, bytes, sizes[i].key_len, hashbelt_now(belt),
				      NULL);
		rcu_read_unlock();
		KUNIT_EXPECT_NULL(test, entry);
	}
	kvfree(bytes);
}

/* 2, 3 and 4, over a random history of puts, touches and time */
static void exact_reads_and_timely_handlers(struct kunit *test, u32 buckets)
{
	enum { KEYS = 200, ROUNDS = 4000 };
	struct hashbelt_belt *belt = make_with(test, 0, buckets);
	struct fixture *f = test->priv;
	unsigned int round, key, lives = 0;

	for (round = 0; round < ROUNDS; round++) {
		u64 ttl = 1 + prandom_u32_state(&f->rnd) % (round % 7 ? 240000 : 90000000);
		u64 now = hashbelt_now(belt);

		key = prandom_u32_state(&f->rnd) % KEYS;
		if (round % 3) {
			if (f->deadlines[key] <= now)
				lives++;
			f->deadlines[key] = now + ttl * MS;
			KUNIT_ASSERT_EQ(test, put_ttl(belt, key, ttl), 0);
		} else {
			KUNIT_ASSERT_EQ(test, touch(belt, key, ttl),
					f->deadlines[key] > now ? 0 : -ENOENT);
			if (f->deadlines[key] > now)
				f->deadlines[key] = now + ttl * MS;
		}
		/* A replaced deadline is not late: only rotate by hand here. */
		KUNIT_ASSERT_EQ(test, hashbelt_advance(belt, prandom_u32_state(&f->rnd) %
						       (3 * SEC)), 0);
		key = prandom_u32_state(&f->rnd) % KEYS;
		KUNIT_ASSERT_EQ(test, has(belt, key),
				f->deadlines[key] > hashbelt_now(belt));
	}
	for (key = 0; key < KEYS; key++)
		f->deadlines[key] = 0;
	KUNIT_ASSERT_EQ(test, hashbelt_advance(belt, 100000 * SEC), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	KUNIT_EXPECT_EQ(test, f->expired, lives);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), (u64)lives);
}

static void exact_reads_and_timely_handlers_2_buckets(struct kunit *test)
{
	exact_reads_and_timely_handlers(test, 2);
}

static void exact_reads_and_timely_handlers_500_buckets(struct kunit *test)
{
	exact_reads_and_timely_handlers(test, 500);
}

/* 3 */
static void no_read_returns_an_expired_entry_however_late_the_worker(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);

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

/* 4 */
static void the_handler_runs_once_and_at_most_an_interval_late(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	unsigned int key;

	put_thousand(test, belt, &f->rnd, f->deadlines);
	while (belt->clock.wake != HB_NEVER)
		KUNIT_ASSERT_EQ(test, advance_to_alarm(belt), 0);
	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, f->expired_of[key], 1u);
	KUNIT_EXPECT_LE(test, f->lateness, 60 * SEC);
}

static void the_handler_hears_of_what_comes_back(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int lives;

	f->belt = still_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_REINSERT, .event = on_event, .arg = f,
	});
	put(f->belt, 1);
	for (lives = 1; lives < 4; lives++) {
		hashbelt_advance(f->belt, 360 * SEC);
		KUNIT_EXPECT_EQ(test, f->expired_of[1], lives);
		KUNIT_EXPECT_TRUE(test, get(f->belt, 1));
	}
	KUNIT_EXPECT_EQ(test, stat_of(f->belt, HASHBELT_STAT_REINSERTED), 3ULL);
}

/* On an overflow wheel, whose buckets fall off when the first of their moments is reached. */
static void a_grace_time_that_ends_with_a_bucket_ends_with_it(struct kunit *test)
{
	struct fixture *f = test->priv;
	const u64 width = 5 * INTERVAL;

	f->belt = still_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY, .event = on_event, .arg = f, .grace = INTERVAL,
	});
	hashbelt_advance(f->belt, width - hashbelt_now(f->belt) % width);
	put_ttl(f->belt, 1, (3 * width - INTERVAL) / MS);
	hashbelt_advance(f->belt, 3 * width - HB_GRAIN);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	hashbelt_advance(f->belt, HB_GRAIN);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
}

#define AGAIN	5000

/* Expires another entry for each one that expires. */
static void expire_another(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			   const struct hashbelt_event *event, void *arg)
{
	struct fixture *f = arg;
	unsigned int key = 1;

	if (++f->expired >= AGAIN)
		return;
	put(belt, key);
	hashbelt_expire(belt, &key, sizeof(key));
}

static void a_round_ends_though_its_events_cause_others(struct kunit *test)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY, .event = expire_another, .arg = f,
	});
	put(f->belt, 1);
	hashbelt_advance(f->belt, 300 * SEC);
	KUNIT_EXPECT_GT(test, f->expired, 0u);
	KUNIT_EXPECT_LT(test, f->expired, (unsigned int)AGAIN);
	while (f->expired < AGAIN)
		flush_work(&f->belt->work);
}

static void a_put_over_an_expired_entry_reports_it_first(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
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

static void expire_goes_through_the_handler(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	unsigned int key = 1;

	put_ttl(belt, key, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, hashbelt_expire(belt, &key, sizeof(key)), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_expire(belt, &key, sizeof(key)), -ENOENT);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired_of[1], 1u);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
}

static void removed_replaced_and_cleared_entries_do_not_expire(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;

	put(belt, 1);
	put(belt, 1);
	take_out(belt, 1);
	put(belt, 2);
	hashbelt_clear(belt);
	hashbelt_advance(belt, 1000 * SEC);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
}

/* 5 */
static void memory_returns_after_one_grace_period(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
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

/* Removes the entries of keys below @keys until each shard has @count. */
static void thin_out(struct kunit *test, struct hashbelt_belt *belt, unsigned int keys,
		     unsigned int count)
{
	struct hb_shard *shard;
	unsigned int key;

	for (key = 0; key < keys; key++) {
		shard = hb_shard_of(belt, hb_hash(belt, &key, sizeof(key)));
		if (has(belt, key) && shard->count > count)
			KUNIT_ASSERT_EQ(test, take_out(belt, key), 0);
	}
}

/* A shard asks for fewer chains when it has less than one entry for 16: here it has 4096. */
static void the_index_shrinks_when_entries_are_gone(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	u64 empty = hb_memory_used();
	unsigned int i;

	for (i = 0; i < 20000; i++)
		KUNIT_ASSERT_EQ(test, put(belt, i), 0);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, belt->index.bits, 14u);
	KUNIT_ASSERT_EQ(test, belt->shard_bits, 2u);
	thin_out(test, belt, 20000, 256);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, belt->index.bits, 14u);
	thin_out(test, belt, 20000, 255);
	flush_work(&belt->work);
	KUNIT_EXPECT_LT(test, belt->index.bits, 14u);
	thin_out(test, belt, 20000, 0);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, belt->index.bits, (unsigned int)HB_INDEX_BITS_MIN);
	hb_limbo_flush(belt);
	hashbelt_flush();
	KUNIT_EXPECT_EQ(test, hb_memory_used(), empty);
}

static void the_index_grows_with_additions(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct hashbelt_item item = {};
	struct hashbelt_sum sum = {};
	unsigned int i;

	for (i = 0; i < 20000; i++)
		KUNIT_ASSERT_EQ(test, hashbelt_add(belt, &i, sizeof(i), &item, &sum), 0);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, belt->index.bits, 14u);
}

/* 7 */
static void a_belt_on_which_nothing_is_due_sets_no_timer(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);

	hashbelt_resume(belt);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
	put_ttl(belt, 1, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
	put(belt, 2);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_advance(belt, 300 * SEC);
	KUNIT_EXPECT_FALSE(test, has(belt, 2));
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
}

static void a_halted_belt_sets_no_timer(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);

	hashbelt_resume(belt);
	put(belt, 1);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_halt(belt);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_resume(belt);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(&belt->clock.timer));
	hashbelt_halt(belt);
	KUNIT_EXPECT_FALSE(test, hrtimer_active(&belt->clock.timer));
}

static void the_alarm_is_set_for_the_first_non_empty_bucket(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	u64 now = hashbelt_now(belt);

	put_ttl(belt, 1, 200 * 1000);
	KUNIT_EXPECT_GT(test, belt->clock.wake, now + 200 * SEC);
	KUNIT_EXPECT_LE(test, belt->clock.wake, now + 260 * SEC);
	put_ttl(belt, 2, 1);
	KUNIT_EXPECT_GT(test, belt->clock.wake, now);
	KUNIT_EXPECT_LE(test, belt->clock.wake, now + 60 * SEC + MS);
}

static void the_worker_comes_by_itself(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int tries;

	f->belt = hashbelt_create(&(struct hashbelt_config){
		.ttl = 20 * MS, .buckets = 3,
		.handler = HASHBELT_NOTIFY, .event = on_event, .arg = f,
	});
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->belt));
	put(f->belt, 1);
	/* The one case with real time in it: waiting longer changes nothing. */
	for (tries = 0; tries < 1000 && !READ_ONCE(f->expired); tries++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->expired), 1u);
	KUNIT_EXPECT_GE(test, stat_of(f->belt, HASHBELT_STAT_WAKEUPS), 1ULL);
}

static void a_get_takes_no_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);
	struct hb_shard *shard;

	put(belt, 1);
	put_ttl(belt, 2, 1);
	hashbelt_advance(belt, SEC);
	shard = hb_shard_of(belt, 0);
	/* Lockdep reports a second lock of the same class. */
	spin_lock(&shard->lock);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_FALSE(test, get(belt, 2));
	KUNIT_EXPECT_FALSE(test, get(belt, 3));
	spin_unlock(&shard->lock);
}

/* 8; the race itself is for the stress on two CPUs */
static void a_refresh_in_time_lives_on_and_one_too_late_is_a_miss(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);
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

static void a_reader_who_finds_a_replaced_entry_looks_again(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	unsigned int key = 1;
	u64 now = hashbelt_now(belt);

	put(belt, key);
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), now, NULL);
	rcu_read_unlock();
	/* Without preemption nothing is freed until this case gives way. */
	refcount_inc(&entry->ref);
	put(belt, key);
	KUNIT_EXPECT_FALSE(test, hashbelt_hit(belt, entry, &item, now));
	KUNIT_EXPECT_TRUE(test, get(belt, key));
	hashbelt_entry_put(belt, entry);
}

static void a_miss_is_final_even_for_a_reader_who_was_slow(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);
	u64 before = hashbelt_now(belt);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	unsigned int key = 1;

	put(belt, key);
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), before, NULL);
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, entry);
	/* Nobody drains; but somebody has been told that it is gone. */
	move_time_only(belt, 240 * SEC);
	KUNIT_EXPECT_FALSE(test, has(belt, key));
	KUNIT_EXPECT_FALSE(test, hashbelt_hit(belt, entry, &item, before));
	item = (struct hashbelt_item){ .how = HASHBELT_AND_TOUCH };
	KUNIT_EXPECT_FALSE(test, hashbelt_hit(belt, entry, &item, before));
	KUNIT_EXPECT_FALSE(test, has(belt, key));
}

/* 9 */
static void a_batch_is_bounded(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	unsigned int i, before, steps = 0;

	for (i = 0; i < 5000; i++)
		KUNIT_ASSERT_EQ(test, put(belt, i), 0);
	/* The worker would be at it. */
	mutex_lock(&belt->round_lock);
	flush_work(&belt->work);
	move_time_only(belt, 300 * SEC);
	do {
		before = f->expired;
		steps++;
		i = hb_step(belt, hb_clock_now(&belt->clock));
		KUNIT_ASSERT_LE(test, f->expired - before, HB_BATCH << belt->shard_bits);
	} while (i);
	mutex_unlock(&belt->round_lock);
	KUNIT_EXPECT_EQ(test, f->expired, 5000u);
	KUNIT_EXPECT_GE(test, steps, (5000u / HB_BATCH) >> belt->shard_bits);
}

static void an_index_is_resized_in_steps(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	unsigned int i, is;
	bool more;

	for (i = 0; i < 20000; i++)
		KUNIT_ASSERT_EQ(test, put(belt, i), 0);
	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	KUNIT_ASSERT_GT(test, belt->index.bits, hb_bits_for(belt, 0) + HB_RESIZE_MOST);
	hashbelt_clear(belt);
	do {
		while (hb_step(belt, 0))
			;
		is = belt->index.bits;
		more = fit_index(belt);
		KUNIT_EXPECT_LE(test, is, belt->index.bits + HB_RESIZE_MOST);
	} while (more);
	KUNIT_EXPECT_EQ(test, belt->index.bits, hb_bits_for(belt, 0));
	end_round(belt);
}

static void the_worker_waits_for_nobody_who_makes_a_round(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;

	put(belt, 1);
	/* As if somebody who moves the belt's time were kept from going on. */
	mutex_lock(&belt->round_lock);
	move_time_only(belt, 300 * SEC);
	hb_kick_worker(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
}

/* A task that is killed */

/**
 * struct victim - a task that is killed, before it does something or while it waits
 * @f:		has the belt
 * @act:	what it does
 * @at_once:	it is killed first
 * @err:	what it was told
 * @expired:	entries that had expired when it was told
 * @done:	it has ended
 * @task:	the task, with a reference
 */
struct victim {
	struct fixture *f;
	int (*act)(struct hashbelt_belt *belt);
	bool at_once;
	int err;
	u64 expired;
	struct completion done;
	struct task_struct *task;
};

static int victim_main(void *arg)
{
	struct victim *victim = arg;

	allow_signal(SIGKILL);
	if (victim->at_once)
		send_sig(SIGKILL, current, 1);
	victim->err = victim->act(victim->f->belt);
	victim->expired = stat_of(victim->f->belt, HASHBELT_STAT_EXPIRED);
	complete_all(&victim->done);
	return 0;
}

static void victim_start(struct kunit *test, struct victim *victim)
{
	victim->f = test->priv;
	init_completion(&victim->done);
	victim->task = kthread_create(victim_main, victim, "hashbelt_victim");
	KUNIT_ASSERT_FALSE(test, IS_ERR(victim->task));
	get_task_struct(victim->task);
	wake_up_process(victim->task);
}

static void victim_end(struct kunit *test, struct victim *victim)
{
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&victim->done, HZ), 0UL);
	put_task_struct(victim->task);
}

/* Kills a task that waits until the round is over which the case makes. */
static void kill_in_line(struct kunit *test, struct victim *victim, int movers)
{
	struct hashbelt_belt *belt = ((struct fixture *)test->priv)->belt;
	unsigned int tries;

	victim_start(test, victim);
	for (tries = 0; tries < 100 && atomic_read(&belt->movers) != movers + 1; tries++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, atomic_read(&belt->movers), movers + 1);
	KUNIT_EXPECT_FALSE(test, completion_done(&victim->done));
	send_sig(SIGKILL, victim->task, 1);
	victim_end(test, victim);
	/* The round goes on, and the task counts no more among those that want one. */
	KUNIT_EXPECT_TRUE(test, mutex_is_locked(&belt->round_lock));
	KUNIT_EXPECT_EQ(test, atomic_read(&belt->movers), movers);
}

static int advance_300(struct hashbelt_belt *belt)
{
	return hashbelt_advance(belt, 300 * SEC);
}

static int set_7_buckets(struct hashbelt_belt *belt)
{
	return hashbelt_set(belt, &(struct hashbelt_config){ .buckets = 7 },
			    HASHBELT_SET_BUCKETS);
}

static int set_one_event(struct hashbelt_belt *belt)
{
	return hashbelt_set(belt, &(struct hashbelt_config){ .max_events = 1 },
			    HASHBELT_SET_MAX_EVENTS);
}

/* The time has moved; what is due is for the worker, once the round of another is over. */
static void a_task_killed_in_line_for_a_round_leaves_it_to_the_worker(struct kunit *test)
{
	struct victim victim = { .act = advance_300 };
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	u64 now = hashbelt_now(belt);

	put(belt, 1);
	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	kill_in_line(test, &victim, 0);
	KUNIT_EXPECT_EQ(test, victim.err, 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), now + 300 * SEC);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->round_lock));
	/* The next caller finds all in order. */
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, advance_300(belt), 0);
	KUNIT_EXPECT_EQ(test, f->expired, 2u);
}

/* It makes one step, and the worker all others: also where no event calls it, nor an alarm. */
static void a_task_killed_in_a_round_does_not_stay_for_the_end(struct kunit *test)
{
	struct victim victim = { .act = advance_300, .at_once = true };
	struct fixture *f = test->priv;
	struct hashbelt_belt *belt;
	unsigned int i;

	belt = still_belt(test, (struct hashbelt_config){});
	f->belt = belt;
	for (i = 0; i < 5000; i++)
		KUNIT_ASSERT_EQ(test, put(belt, i), 0);
	flush_work(&belt->work);
	victim_start(test, &victim);
	victim_end(test, &victim);
	KUNIT_EXPECT_EQ(test, victim.err, 0);
	KUNIT_EXPECT_LE(test, victim.expired, (u64)HB_BATCH << belt->shard_bits);
	KUNIT_EXPECT_EQ(test, atomic_read(&belt->movers), 0);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 5000ULL);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->round_lock));
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
}

/* Fills more buckets than are unloaded in one step, and gives the belt other ones. */
static void begin_to_unload(struct kunit *test, struct hashbelt_belt *belt)
{
	unsigned int i;

	for (i = 0; i < 5000; i++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, i, 1 + i * 40), 0);
	flush_work(&belt->work);
	/* As if somebody moved the belt's time: the worker gives way. */
	atomic_inc(&belt->movers);
	KUNIT_ASSERT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){ .buckets = 400 },
					   HASHBELT_SET_BUCKETS), 0);
	KUNIT_ASSERT_TRUE(test, hb_is_unloading(belt->shards));
}

/* To set measures anew is to wait until the old wheels are empty. */
static void a_task_killed_while_it_sets_measures_changes_nothing(struct kunit *test)
{
	struct victim victim = { .act = set_7_buckets };
	struct hashbelt_belt *belt = make_with(test, 0, 500);
	struct fixture *f = test->priv;
	u64 used;

	begin_to_unload(test, belt);
	hb_limbo_flush(belt);
	mutex_lock(&belt->round_lock);
	used = hb_memory_used();
	kill_in_line(test, &victim, 1);
	KUNIT_EXPECT_EQ(test, victim.err, -EINTR);
	KUNIT_EXPECT_EQ(test, belt->geometry->size[0], 400u);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->set_lock));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->clear_lock));
	atomic_dec(&belt->movers);
	end_round(belt);
	KUNIT_EXPECT_EQ(test, set_7_buckets(belt), 0);
	KUNIT_EXPECT_EQ(test, belt->geometry->size[0], 7u);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 5000ULL);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 250 * SEC), 0);
	KUNIT_EXPECT_EQ(test, f->expired, 5000u);
}

/* One that is killed behind a round that it makes itself has changed nothing either. */
static void a_killed_task_does_not_empty_old_wheels(struct kunit *test)
{
	struct victim victim = { .act = set_7_buckets, .at_once = true };
	struct hashbelt_belt *belt = make_with(test, 0, 500);
	u64 bytes = info_of(belt).bytes;

	begin_to_unload(test, belt);
	victim_start(test, &victim);
	victim_end(test, &victim);
	KUNIT_EXPECT_EQ(test, victim.err, -EINTR);
	KUNIT_EXPECT_EQ(test, belt->geometry->size[0], 400u);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->set_lock));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->round_lock));
	atomic_dec(&belt->movers);
	hb_kick_worker(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_FALSE(test, hb_is_unloading(belt->shards));
	KUNIT_EXPECT_GT(test, info_of(belt).bytes, bytes);
}

/* What was set is in force; the step that makes room at once is left to the worker. */
static void a_task_killed_after_it_has_set_something_has_set_it(struct kunit *test)
{
	struct victim victim = { .act = set_one_event };
	struct fixture *f = test->priv;
	struct hashbelt_belt *belt;
	unsigned int key;

	belt = still_belt(test, (struct hashbelt_config){ .handler = HASHBELT_NOTIFY });
	f->belt = belt;
	for (key = 0; key < 10; key++) {
		put(belt, key);
		hashbelt_expire(belt, &key, sizeof(key));
	}
	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	kill_in_line(test, &victim, 0);
	KUNIT_EXPECT_EQ(test, victim.err, 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).max_events, 1ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 10ULL);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->set_lock));
	flush_work(&belt->work);
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 1ULL);
}

static int put_key_2(struct hashbelt_belt *belt)
{
	return put(belt, 2);
}

static void a_killed_task_evicts_nothing(struct kunit *test)
{
	struct victim victim = { .act = put_key_2, .at_once = true };
	struct fixture *f = test->priv;

	f->belt = still_belt(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_entries = 1 });
	put(f->belt, 1);
	victim_start(test, &victim);
	victim_end(test, &victim);
	KUNIT_EXPECT_EQ(test, victim.err, -ENOSPC);
	KUNIT_EXPECT_TRUE(test, has(f->belt, 1));
	KUNIT_EXPECT_EQ(test, put_key_2(f->belt), 0);
	KUNIT_EXPECT_FALSE(test, has(f->belt, 1));
}

/* 10 */
static void versions_grow_across_removal_expiry_and_clear(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
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
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	unsigned int i, j;

	for (i = 0; i < 300; i++) {
		put(belt, i);
		f->deadlines[i] = version_of(belt, i);
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_NE(test, f->deadlines[i], f->deadlines[j]);
	}
}

static void touch_makes_no_version(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	u64 version;

	put(belt, 1);
	version = version_of(belt, 1);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, version_of(belt, 1), version);
}

/* Times-to-live */
static void touch_sets_any_deadline(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);

	put(belt, 1);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 1000ULL);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, HASHBELT_TTL_MAX_MS), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), HASHBELT_TTL_MAX_MS);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, HASHBELT_TTL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 240000ULL);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, HASHBELT_TTL_MAX_MS + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, touch(belt, 1, HASHBELT_TTL_KEEP), -EINVAL);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 240000ULL);
}

static void a_shortened_life_ends_in_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;

	put_ttl(belt, 1, HASHBELT_TTL_NEVER);
	put_ttl(belt, 2, 1000000000);
	touch(belt, 1, 1000);
	touch(belt, 2, 1000);
	hashbelt_advance(belt, 61 * SEC);
	KUNIT_EXPECT_EQ(test, f->expired, 2u);
}

static void put_may_keep_the_time_that_is_left(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);

	put_ttl(belt, 1, 77000);
	hashbelt_advance(belt, 7 * SEC);
	put_ttl(belt, 1, HASHBELT_TTL_KEEP);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 70000ULL);
	put_ttl(belt, 2, HASHBELT_TTL_KEEP);
	KUNIT_EXPECT_EQ(test, left_of(belt, 2), 240000ULL);
	put_ttl(belt, 3, HASHBELT_TTL_NEVER);
	put_ttl(belt, 3, HASHBELT_TTL_KEEP);
	KUNIT_EXPECT_EQ(test, left_of(belt, 3), HASHBELT_TTL_NEVER);
}

static void a_refresh_never_shortens(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);

	put_ttl(belt, 1, 1000000);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 1000000ULL);
	put_ttl(belt, 2, 1000);
	KUNIT_EXPECT_TRUE(test, get(belt, 2));
	KUNIT_EXPECT_EQ(test, left_of(belt, 2), 240000ULL);
}

static void nothing_expires_while_the_belt_is_halted(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	u64 now = hashbelt_now(belt);

	put_ttl(belt, 1, 1);
	schedule_timeout_uninterruptible(2);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), now);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	hashbelt_resume(belt);
	hashbelt_halt(belt);
	KUNIT_EXPECT_LT(test, hashbelt_now(belt) - now, SEC);
}

static void rotate_moves_time_by_an_interval(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	u64 now = hashbelt_now(belt);
	unsigned int i;

	put(belt, 1);
	for (i = 1; i <= 5; i++) {
		KUNIT_EXPECT_EQ(test, has(belt, 1), i <= 4);
		KUNIT_EXPECT_EQ(test, hashbelt_rotate(belt), 0);
		KUNIT_EXPECT_EQ(test, hashbelt_now(belt), now + i * 60 * SEC);
	}
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
}

static void belt_time_cannot_leave_its_range(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);

	put_ttl(belt, 1, HASHBELT_TTL_MAX_MS);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_TIME_MAX), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_TIME_MAX / 2), 0);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_TIME_MAX / 2), -EOVERFLOW);
	put_ttl(belt, 2, HASHBELT_TTL_MAX_MS);
	KUNIT_EXPECT_EQ(test, left_of(belt, 2), HASHBELT_TTL_MAX_MS);
}

static void belt_time_reaches_the_last_moment_of_its_range(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	u64 left = HB_TIME_MAX - hashbelt_now(belt);

	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, left), -EOVERFLOW);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, left - HB_GRAIN), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), HB_TIME_MAX - HB_GRAIN);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HB_GRAIN), -EOVERFLOW);
}

/* Conditions */
static int put_if(struct hashbelt_belt *belt, unsigned int key, u32 how, u64 *version)
{
	struct hashbelt_item item = { .how = how, .version = *version };
	int err = put_bytes(belt, &key, sizeof(key), "x", 1, &item);

	*version = item.version;
	return err;
}

static void conditions_of_put_and_remove(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
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

static void a_keeping_belt_keeps_what_is_there(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_KEEP_ON_PUT);
	u64 version = 0, first;

	KUNIT_EXPECT_EQ(test, put_if(belt, 1, 0, &version), 0);
	first = version;
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, 0, &version), -EEXIST);
	KUNIT_EXPECT_EQ(test, version, first);
	/* A condition that is met says what to do. */
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, HASHBELT_IF_VERSION, &version), 0);
	move_time_only(belt, 240 * SEC);
	KUNIT_EXPECT_EQ(test, put_if(belt, 1, 0, &version), 0);
}

/* Clear, scan, memory, the end */
static void clear_is_one_event_for_readers(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	unsigned int i;

	for (i = 0; i < 3000; i++)
		KUNIT_ASSERT_EQ(test, put(belt, i), 0);
	mutex_lock(&belt->round_lock);	/* the sweep has to wait */
	hashbelt_clear(belt);
	for (i = 0; i < 3000; i++)
		KUNIT_ASSERT_FALSE(test, has(belt, i));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	KUNIT_EXPECT_EQ(test, hb_count_entries(belt), 3000ULL);
	KUNIT_EXPECT_EQ(test, put(belt, 7), 0);
	KUNIT_EXPECT_TRUE(test, has(belt, 7));
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_TRUE(test, has(belt, 7));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
	KUNIT_EXPECT_EQ(test, hb_count_entries(belt), 1ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_CLEARED), 3000ULL);
}

static void a_scan_reports_keys_in_pieces_and_refreshes_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, HASHBELT_REFRESH_ON_GET);
	struct hashbelt_scan scan = {};
	struct fixture *f = test->priv;
	u8 *buffer = kunit_kzalloc(test, 1024, GFP_KERNEL);
	unsigned int i, seen = 0;
	u32 used, at;

	KUNIT_ASSERT_NOT_NULL(test, buffer);
	for (i = 0; i < 500; i++)
		put_ttl(belt, i, i < 400 ? 1000000 : 1);
	flush_work(&belt->work);	/* short chains */
	move_time_only(belt, MS);
	do {
		scan.size = 1024;
		KUNIT_ASSERT_EQ(test, hashbelt_scan(belt, &scan, buffer, &used), 0);
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
	KUNIT_EXPECT_EQ(test, hashbelt_scan(belt, &scan, buffer, &used), -EINVAL);
}

static void a_scan_says_what_its_buffer_lacks(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct hashbelt_scan scan = { .size = 8 };
	u32 used;
	u64 buffer;

	put(belt, 1);
	KUNIT_EXPECT_EQ(test, hashbelt_scan(belt, &scan, &buffer, &used), -ERANGE);
	KUNIT_EXPECT_EQ(test, scan.size, (u32)sizeof(struct hashbelt_record) + 8);
	KUNIT_EXPECT_EQ(test, scan.cursor, 0ULL);
}

static void the_memory_limit_holds(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	u64 limit = hb_memory_used() + 64 * 1024;
	unsigned int i;
	int err = 0;

	hb_memory_limit(limit);
	for (i = 0; i < 10000 && !err; i++) {
		err = put(belt, i);
		if (hb_memory_used() > limit)
			break;
	}
	KUNIT_EXPECT_EQ(test, err, -ENOSPC);
	KUNIT_EXPECT_LE(test, hb_memory_used(), limit);
	KUNIT_EXPECT_GT(test, i, 500u);
	/* Room that a removal makes can be used, grace period or not. */
	KUNIT_EXPECT_EQ(test, take_out(belt, 3), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 10001), 0);
	hb_memory_limit(U64_MAX);
	KUNIT_EXPECT_EQ(test, put(belt, 10002), 0);
}

static void a_killed_belt_takes_nothing_in(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	unsigned int key = 1;

	put(belt, key);
	hashbelt_kill(belt);
	KUNIT_EXPECT_FALSE(test, has(belt, key));
	KUNIT_EXPECT_EQ(test, put(belt, key), -EIDRM);
	KUNIT_EXPECT_EQ(test, touch(belt, key, 0), -EIDRM);
	KUNIT_EXPECT_EQ(test, take_out(belt, key), -EIDRM);
	KUNIT_EXPECT_EQ(test, hashbelt_expire(belt, &key, sizeof(key)), -EIDRM);
}

static void counters_equal_what_is_there(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 0);
	struct fixture *f = test->priv;
	struct hb_shard *shard;
	unsigned int i;

	for (i = 0; i < 20000; i++) {
		unsigned int key = prandom_u32_state(&f->rnd) % 500;

		if (!end_some(belt, key, prandom_u32_state(&f->rnd) % 8, i % 50 == 0))
			put(belt, key);
	}
	hashbelt_clear(belt);
	flush_work(&belt->work);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		KUNIT_EXPECT_EQ(test, shard->count, 0ULL);
		KUNIT_EXPECT_EQ(test, shard->live, 0ULL);
		KUNIT_EXPECT_EQ(test, shard->live_bytes, 0ULL);
	}
}

/* A setting that is not among those to be changed may have any value. */
static void a_setting_is_checked_if_it_is_changed(struct kunit *test)
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

static void a_belt_refuses_what_it_cannot_be(struct kunit *test)
{
	static const struct hashbelt_config bad[] = {
		{ .buckets = 1 },
		{ .buckets = HASHBELT_BUCKETS_MAX + 1 },
		{ .ttl = (HASHBELT_TTL_MAX_MS + 1) * MS },
		{ .policy = 0x80 },
		{ .handler = HASHBELT_REINSERT + 1 },
		{ .reasons = 1 },
		{ .reasons = 0x100 },
		{ .grace = (HASHBELT_TTL_MAX_MS + 1) * MS },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(hashbelt_create(&bad[i])), -EINVAL);
}

static struct kunit_case belt_test_cases[] = {
	KUNIT_CASE(a_put_is_visible_byte_for_byte_until_its_deadline),
	KUNIT_CASE(exact_reads_and_timely_handlers_2_buckets),
	KUNIT_CASE(exact_reads_and_timely_handlers_500_buckets),
	KUNIT_CASE(no_read_returns_an_expired_entry_however_late_the_worker),
	KUNIT_CASE(the_handler_runs_once_and_at_most_an_interval_late),
	KUNIT_CASE(the_handler_hears_of_what_comes_back),
	KUNIT_CASE(a_grace_time_that_ends_with_a_bucket_ends_with_it),
	KUNIT_CASE(a_round_ends_though_its_events_cause_others),
	KUNIT_CASE(a_put_over_an_expired_entry_reports_it_first),
	KUNIT_CASE(expire_goes_through_the_handler),
	KUNIT_CASE(removed_replaced_and_cleared_entries_do_not_expire),
	KUNIT_CASE(memory_returns_after_one_grace_period),
	KUNIT_CASE(the_index_shrinks_when_entries_are_gone),
	KUNIT_CASE(the_index_grows_with_additions),
	KUNIT_CASE(a_belt_on_which_nothing_is_due_sets_no_timer),
	KUNIT_CASE(a_halted_belt_sets_no_timer),
	KUNIT_CASE(the_alarm_is_set_for_the_first_non_empty_bucket),
	KUNIT_CASE(the_worker_comes_by_itself),
	KUNIT_CASE(a_get_takes_no_lock),
	KUNIT_CASE(a_refresh_in_time_lives_on_and_one_too_late_is_a_miss),
	KUNIT_CASE(a_reader_who_finds_a_replaced_entry_looks_again),
	KUNIT_CASE(a_miss_is_final_even_for_a_reader_who_was_slow),
	KUNIT_CASE(a_batch_is_bounded),
	KUNIT_CASE(an_index_is_resized_in_steps),
	KUNIT_CASE(the_worker_waits_for_nobody_who_makes_a_round),
	KUNIT_CASE(a_task_killed_in_line_for_a_round_leaves_it_to_the_worker),
	KUNIT_CASE(a_task_killed_in_a_round_does_not_stay_for_the_end),
	KUNIT_CASE(a_task_killed_while_it_sets_measures_changes_nothing),
	KUNIT_CASE(a_killed_task_does_not_empty_old_wheels),
	KUNIT_CASE(a_task_killed_after_it_has_set_something_has_set_it),
	KUNIT_CASE(a_killed_task_evicts_nothing),
	KUNIT_CASE(versions_grow_across_removal_expiry_and_clear),
	KUNIT_CASE(versions_are_unique_within_the_belt),
	KUNIT_CASE(touch_makes_no_version),
	KUNIT_CASE(touch_sets_any_deadline),
	KUNIT_CASE(a_shortened_life_ends_in_time),
	KUNIT_CASE(put_may_keep_the_time_that_is_left),
	KUNIT_CASE(a_refresh_never_shortens),
	KUNIT_CASE(nothing_expires_while_the_belt_is_halted),
	KUNIT_CASE(rotate_moves_time_by_an_interval),
	KUNIT_CASE(belt_time_cannot_leave_its_range),
	KUNIT_CASE(belt_time_reaches_the_last_moment_of_its_range),
	KUNIT_CASE(conditions_of_put_and_remove),
	KUNIT_CASE(a_keeping_belt_keeps_what_is_there),
	KUNIT_CASE(clear_is_one_event_for_readers),
	KUNIT_CASE(a_scan_reports_keys_in_pieces_and_refreshes_nothing),
	KUNIT_CASE(a_scan_says_what_its_buffer_lacks),
	KUNIT_CASE(the_memory_limit_holds),
	KUNIT_CASE(a_killed_belt_takes_nothing_in),
	KUNIT_CASE(counters_equal_what_is_there),
	KUNIT_CASE(a_setting_is_checked_if_it_is_changed),
	KUNIT_CASE(a_belt_refuses_what_it_cannot_be),
	{}
};

static struct kunit_suite belt_suite = {
	.name = "hashbelt_belt",
	.suite_init = belt_suite_init,
	.suite_exit = belt_suite_exit,
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = belt_test_cases,
};

kunit_test_suites(&belt_suite);
