// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workers that give way. Guarantees 4 and 5 of docs/guarantees.md. pace.c is included, so that a
 * case can say whether another task wants the processor.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/sched/stat.h>

#include "fixture.h"

/* Another task always wants the processor. */
static bool crowded;

static bool is_alone(void)
{
	return !crowded && single_task_running();
}

/* Pauses that have begun, and tasks that pause now. While @held is set, no pause ends. */
static atomic_t pauses;
static atomic_t pausing;
static bool held;

/* Nanoseconds that each pause takes, and that have passed for pace.c. 0: those of the kernel. */
static u64 pause_ns;
static u64 fake_ns;

static u64 get_ns(void)
{
	return pause_ns ? fake_ns : ktime_get_ns();
}

static void pause_for(unsigned long min, unsigned long max)
{
	fake_ns += pause_ns;
	atomic_inc(&pauses);
	atomic_inc(&pausing);
	do {
		usleep_range(min, max);
	} while (READ_ONCE(held));
	atomic_dec(&pausing);
}

#define single_task_running is_alone
#define usleep_range pause_for
#define ktime_get_ns get_ns
#include "belt/ground/pace.c"
#undef ktime_get_ns
#undef usleep_range
#undef single_task_running

#define ENTRIES	2000u

static void workers_give_way_while_much_is_to_do(struct kunit *test)
{
	struct hb_pace pace;

	crowded = true;
	hb_pace_init(&pace);
	KUNIT_EXPECT_FALSE(test, hb_is_in_way(&pace, 0));
	hb_pace_begin(&pace);
	KUNIT_EXPECT_TRUE(test, hb_is_in_way(&pace, 0));
	pace.begun -= HB_PATIENCE;
	KUNIT_EXPECT_FALSE(test, hb_is_in_way(&pace, 0));
	hb_pace_begin(&pace);
	KUNIT_EXPECT_TRUE(test, hb_is_in_way(&pace, 0));
	hb_pace_end(&pace);
	hb_pace_begin(&pace);
	KUNIT_EXPECT_FALSE(test, hb_is_in_way(&pace, 0));
	pace.begun -= HB_PATIENCE;
	KUNIT_EXPECT_TRUE(test, hb_is_in_way(&pace, 0));
}

static void a_worker_works_for_a_quarter_of_a_pause_before_the_next(struct kunit *test)
{
	struct hb_pace pace;
	u64 from = 0;

	crowded = true;
	pause_ns = NSEC_PER_MSEC;
	hb_pace_init(&pace);
	hb_pace_begin(&pace);
	hb_give_way(&pace, &from, 10);
	KUNIT_EXPECT_EQ(test, from, fake_ns + pause_ns / 4);
	KUNIT_EXPECT_FALSE(test, hb_is_in_way(&pace, from));
	fake_ns += pause_ns / 4;
	KUNIT_EXPECT_TRUE(test, hb_is_in_way(&pace, from));
}

static void no_worker_gives_way_while_memory_is_short(struct kunit *test)
{
	struct hb_pace pace;

	crowded = true;
	hb_pace_init(&pace);
	hb_pace_begin(&pace);
	hb_hurry();
	KUNIT_EXPECT_FALSE(test, hb_is_in_way(&pace, 0));
	WRITE_ONCE(hurry_until, jiffies);
	KUNIT_EXPECT_TRUE(test, hb_is_in_way(&pace, 0));
}

static struct hashbelt_belt *make_due(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	put_many(test, belt, 0, ENTRIES);
	flush_work(&belt->work);
	move_time_only(belt, 300 * SEC);
	return belt;
}

/* A task that moves time finds the lock free, and does the work of a worker that pauses. */
static void a_worker_that_pauses_holds_no_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make_due(test);
	struct fixture *f = test->priv;

	crowded = true;
	WRITE_ONCE(held, true);
	hb_kick_worker(belt);
	while (!atomic_read(&pausing))
		usleep_range(20, 30);
	KUNIT_EXPECT_GT(test, f->expired, 0u);
	KUNIT_EXPECT_LT(test, f->expired, ENTRIES);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 0), 0);
	KUNIT_EXPECT_EQ(test, f->expired, ENTRIES);
	KUNIT_EXPECT_GT(test, atomic_read(&pausing), 0);
	WRITE_ONCE(held, false);
	cancel_work_sync(&belt->work);
}

static void a_worker_ends_though_it_is_never_alone(struct kunit *test)
{
	struct hashbelt_belt *belt = make_due(test);
	struct fixture *f = test->priv;
	unsigned long begin = jiffies, turns = 0;

	crowded = true;
	atomic_set(&pauses, 0);
	hb_kick_worker(belt);
	for (; f->expired < ENTRIES && time_before(jiffies, begin + 2 * HB_PATIENCE); turns++)
		flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, ENTRIES);
	/* A flush may see two turns end. */
	KUNIT_EXPECT_GT(test, atomic_read(&pauses), 3 * turns);
}

/*
 * The belts share a thread. While the worker of one pauses there, the others do not work. Time
 * passes in pauses alone here, so no work is ever enough for a second pause.
 */
static void pauses_of_other_belts_are_no_work(struct kunit *test)
{
	struct hb_account *account = make_account(test);
	struct hashbelt_belt *belts[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		belts[i] = still_belt(test, .account = account, .handler = HASHBELT_NOTIFY);
		put_many(test, belts[i], 0, ENTRIES);
		flush_work(&belts[i]->work);
		move_time_only(belts[i], 300 * SEC);
	}
	crowded = true;
	pause_ns = NSEC_PER_MSEC;
	atomic_set(&pauses, 0);
	for (i = 0; i < 2; i++)
		hb_kick_worker(belts[i]);
	for (i = 0; i < 2; i++)
		while (work_busy(&belts[i]->work))
			flush_work(&belts[i]->work);
	KUNIT_EXPECT_LE(test, atomic_read(&pauses), 2);
	crowded = false;
	for (i = 0; i < 2; i++)
		hashbelt_destroy(belts[i]);
	end_account(account);
}

/* Else locks and requests of later shards would wait until the first has drained its entries. */
static void steps_that_give_way_come_to_all_shards(struct kunit *test)
{
	struct hashbelt_belt *belt = make_due(test);
	unsigned int shards = 1 << belt->shard_bits, i;
	u64 *counts = must_alloc(test, shards * sizeof(*counts));

	for (i = 0; i < shards; i++)
		counts[i] = belt->shards[i].count;
	crowded = true;
	hb_pace_begin(&belt->pace);
	mutex_lock(&belt->round_lock);
	belt->crew.yields = true;
	for (i = 0; i < shards; i++)
		hb_step(belt, hb_clock_now(&belt->clock));
	belt->crew.yields = false;
	mutex_unlock(&belt->round_lock);
	for (i = 0; i < shards; i++)
		KUNIT_EXPECT_LT(test, belt->shards[i].count, counts[i]);
}

/* Elsewhere limbo would pause in each shard. One pause may begin before the flush ends them. */
static void a_flush_does_not_wait_for_limbo_that_gives_way(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 empty = hb_memory_used();
	unsigned int i;

	put_many(test, belt, 0, 100);
	flush_work(&belt->work);
	crowded = true;
	hb_pace_begin(&belt->pace);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, take_out(belt, i), 0);
	atomic_set(&pauses, 0);
	KUNIT_EXPECT_EQ(test, hb_limbo_flush(belt), 0);
	KUNIT_EXPECT_LE(test, atomic_read(&pauses), 1);
	KUNIT_EXPECT_LE(test, hb_memory_used(), empty);
}

static void clearing_a_belt_ends_its_pauses(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	crowded = true;
	hb_pace_begin(&belt->pace);
	KUNIT_EXPECT_TRUE(test, hb_is_in_way(&belt->pace, 0));
	hb_clear(belt);
	KUNIT_EXPECT_FALSE(test, hb_is_in_way(&belt->pace, 0));
}

static int pace_init(struct kunit *test)
{
	hurry_until = jiffies;
	return fixture_init(test);
}

static void pace_exit(struct kunit *test)
{
	crowded = false;
	pause_ns = 0;
	WRITE_ONCE(held, false);
	fixture_exit(test);
}

static struct kunit_case pace_cases[] = {
	KUNIT_CASE(workers_give_way_while_much_is_to_do),
	KUNIT_CASE(a_worker_works_for_a_quarter_of_a_pause_before_the_next),
	KUNIT_CASE(no_worker_gives_way_while_memory_is_short),
	KUNIT_CASE(a_worker_that_pauses_holds_no_lock),
	KUNIT_CASE(a_worker_ends_though_it_is_never_alone),
	KUNIT_CASE(pauses_of_other_belts_are_no_work),
	KUNIT_CASE(steps_that_give_way_come_to_all_shards),
	KUNIT_CASE(a_flush_does_not_wait_for_limbo_that_gives_way),
	KUNIT_CASE(clearing_a_belt_ends_its_pauses),
	{}
};

TEST_SUITE(pace, pace_init, pace_exit);
