// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker: its steps, its rounds, and tasks that are killed in one. Guarantee 9 of
 * docs/guarantees.md. worker.c is included, so that a case can take its steps one by one.
 *
 * Belt time is moved by hand.
 *
 * Hostile user: keeps the workqueue of its account busy; result: polling tasks of other accounts
 * are woken.
 *
 * Hostile user: gives up 20 belts with 60,000 entries; result: `CREATE` of another user at its
 * limit does not wait for them.
 */
#include <kunit/test.h>

#include "belt/ground/poller.h"
#include "belt/wait/request.h"
#include "belt/ground/trace.h"
#include "fixture.h"

static unsigned int locks_taken;

static void count_lock(spinlock_t *lock)
{
	locks_taken++;
	spin_lock(lock);
}

#define spin_lock count_lock
#include "belt/belts/worker.c"
#undef spin_lock

static void a_drain_step_is_bounded_by_the_batch_size(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	unsigned int i, before, steps = 0;

	put_many(test, belt, 0, 5000);
	/* Keep the worker out. */
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

/* The locks that a step takes. */
static unsigned int locks_of_step(struct hashbelt_belt *belt)
{
	locks_taken = 0;
	hb_step(belt, hb_clock_now(&belt->clock));
	return locks_taken;
}

/* Of the others it reads without a lock when their next bucket falls off. */
static void a_step_takes_the_locks_of_shards_that_have_something_due(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	unsigned int shards = 1u << belt->shard_bits;
	struct fixture *f = test->priv;

	put_many(test, belt, 1, 101);
	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	KUNIT_EXPECT_EQ(test, locks_of_step(belt), 0u);
	move_time_only(belt, 300 * SEC);
	KUNIT_EXPECT_EQ(test, locks_of_step(belt), shards);
	KUNIT_EXPECT_EQ(test, locks_of_step(belt), 0u);
	KUNIT_ASSERT_EQ(test, put(belt, 101), 0);
	KUNIT_EXPECT_EQ(test, locks_of_step(belt), 0u);
	move_time_only(belt, 300 * SEC);
	KUNIT_EXPECT_EQ(test, locks_of_step(belt), 1u);
	kunit_info(test, "1 of %u locks where one shard has something due, 0 where none has\n",
		   shards);
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 101u);
}

/* Also where belt time has gone on since the round began. What falls off later is not touched. */
static void a_step_drains_the_buckets_that_have_fallen_off_by_its_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	u64 start = hb_clock_now(&belt->clock);

	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	move_time_only(belt, 2 * INTERVAL);
	KUNIT_ASSERT_EQ(test, put(belt, 2), 0);
	move_time_only(belt, 2 * TTL);
	while (hb_step(belt, start + TTL + INTERVAL))
		;
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
	while (hb_step(belt, hb_clock_now(&belt->clock)))
		;
	KUNIT_EXPECT_EQ(test, f->expired, 2u);
	end_round(belt);
	flush_work(&belt->work);
}

static void an_index_is_resized_in_steps(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	unsigned int is;
	bool more;

	put_many(test, belt, 0, 20000);
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

/* A user can see which shard a key is in, and put all keys into one. */
static void an_index_does_not_shrink_below_what_one_shard_needs(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct hb_shard *shard = belt->shards;
	u64 count;

	mutex_lock(&belt->round_lock);
	KUNIT_ASSERT_TRUE(test, hb_index_resize(&belt->index, 12));
	while (hb_step(belt, 0))
		;
	spin_lock(&shard->lock);
	count = shard->count;
	WRITE_ONCE(shard->count, 500);
	spin_unlock(&shard->lock);
	do {
		while (resize_step(belt))
			;
	} while (fit_index(belt));
	KUNIT_EXPECT_EQ(test, belt->index.bits, 11u);
	KUNIT_EXPECT_FALSE(test, hb_is_crowded(belt, shard));
	spin_lock(&shard->lock);
	WRITE_ONCE(shard->count, count);
	spin_unlock(&shard->lock);
	end_round(belt);
}

/* Removes entries of keys below @keys until no shard has more than @count. */
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

/* A shard asks for fewer chains below one entry for 16 chains. Here each shard has 4096 chains. */
static void the_index_shrinks_when_entries_are_gone(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 empty = hb_memory_used();

	put_many(test, belt, 0, 20000);
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

#define AGAIN	5000

/* A handler that puts and expires another entry each time. */
static void expire_another(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			   const struct hashbelt_event *event, void *arg)
{
	struct fixture *f = arg;
	unsigned int key = 1;

	if (++f->expired >= AGAIN)
		return;
	put(belt, key);
	expire(belt, key);
}

/* A task that clears an empty belt in a loop takes no time of its account's worker. */
static void a_clear_of_an_empty_belt_does_not_queue_the_worker(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	/* A worker that runs now sets belt->missed. */
	mutex_lock(&belt->round_lock);
	flush_work(&belt->work);
	WRITE_ONCE(belt->missed, 0);
	hashbelt_clear(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_TRUE(test, belt->missed);
	while (hb_step(belt, 0))
		;
	WRITE_ONCE(belt->missed, 0);
	hashbelt_clear(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_FALSE(test, belt->missed);
	mutex_unlock(&belt->round_lock);
}

static void a_round_ends_although_its_events_cause_others(struct kunit *test)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, .handler = HASHBELT_NOTIFY, .event = expire_another, .arg = f);
	put(f->belt, 1);
	hashbelt_advance(f->belt, 300 * SEC);
	KUNIT_EXPECT_GT(test, f->expired, 0u);
	KUNIT_EXPECT_LT(test, f->expired, (unsigned int)AGAIN);
	while (f->expired < AGAIN)
		flush_work(&f->belt->work);
}

static void the_worker_does_not_wait_for_a_task_that_makes_a_round(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;

	put(belt, 1);
	/* A task that advances belt time is delayed during its round. */
	mutex_lock(&belt->round_lock);
	move_time_only(belt, 300 * SEC);
	hb_kick_worker(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
}

/* At the end of its turn the worker makes one step, and is queued for the rest. */
static void a_turn_of_the_worker_ends_in_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	unsigned long end = jiffies;
	unsigned int i;

	put_many(test, belt, 0, 5000);
	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	move_time_only(belt, 300 * SEC);
	run_rounds(belt, &end);
	KUNIT_EXPECT_GT(test, f->expired, 0u);
	KUNIT_EXPECT_LE(test, f->expired, HB_BATCH << belt->shard_bits);
	end_round(belt);
	/* Each turn makes a step at least. */
	for (i = 0; i < 5000 && f->expired < 5000; i++)
		flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 5000u);
}

/* The worker is kept from its rounds. */
static void a_change_of_settings_drains_what_is_due(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	u64 most;

	put(belt, 1);
	flush_work(&belt->work);
	atomic_inc(&belt->movers);
	move_time_only(belt, 300 * SEC);
	for (most = 1; most <= 10; most++)
		KUNIT_EXPECT_EQ(test, change(belt, MAX_EVENTS, .max_events = most), 0);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
	atomic_dec(&belt->movers);
}

/* A handler that waits. */
struct gate {
	struct completion entered;	/* completed when the handler is called */
	struct completion open;		/* completed by the case; the handler returns then */
};

static void wait_at_gate(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			 const struct hashbelt_event *event, void *arg)
{
	struct gate *gate = arg;

	complete(&gate->entered);
	wait_for_completion(&gate->open);
}

static void put_and_expire(struct kunit *test, struct hashbelt_belt *belt)
{
	unsigned int key = 1;

	KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	KUNIT_EXPECT_EQ(test, expire(belt, key), 0);
}

/* A belt with so many entries that are due; no task but this one makes a round. */
static struct hashbelt_belt *make_due(struct kunit *test, unsigned int entries)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0);

	put_many(test, belt, 0, entries);
	mutex_lock(&belt->round_lock);
	flush_work(&belt->work);
	move_time_only(belt, 300 * SEC);
	belt->crew.until = hb_clock_now(&belt->clock);
	belt->crew.end = jiffies + 60 * HZ;
	atomic_set(&belt->crew.next, 0);
	return belt;
}

static void each_shard_that_has_something_due_is_drained_by_one_task(struct kunit *test)
{
	struct hashbelt_belt *belt = make_due(test, 5000);
	struct hb_shard *idle = &belt->shards[1];

	while (drain_step(belt, idle, belt->crew.until))
		;
	hb_for_each_shard(shard, belt)
		if (shard != idle)
			KUNIT_EXPECT_PTR_EQ(test, next_shard(belt), shard);
	KUNIT_EXPECT_NULL(test, next_shard(belt));
	end_round(belt);
}

static void a_helper_drains_shards_until_its_time_is_up(struct kunit *test)
{
	struct hashbelt_belt *belt = make_due(test, 5000);

	belt->crew.end = jiffies;
	help(&belt->crew.helpers[0].work);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 0ULL);
	belt->crew.end = jiffies + 60 * HZ;
	help(&belt->crew.helpers[0].work);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 5000ULL);
	end_round(belt);
}

/* With one processor there is no helper. */
static void all_is_drained_and_no_helper_is_at_work_at_the_end(struct kunit *test)
{
	struct hashbelt_belt *belt = make_due(test, 50000);
	struct hb_helper *helpers = belt->crew.helpers;
	struct fixture *f = test->priv;
	unsigned int i;

	drain_together(belt, belt->crew.until, jiffies);
	for (i = 0; i < ARRAY_SIZE(belt->crew.helpers); i++)
		KUNIT_EXPECT_EQ(test, work_busy(&helpers[i].work), 0u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 0ULL);
	drain_together(belt, belt->crew.until, jiffies + 60 * HZ);
	for (i = 0; i < ARRAY_SIZE(belt->crew.helpers); i++)
		KUNIT_EXPECT_EQ(test, work_busy(&helpers[i].work), 0u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 50000ULL);
	while (hb_step(belt, belt->crew.until))
		;
	KUNIT_EXPECT_EQ(test, f->expired, 50000u);
	check_accounting(test, belt);
	end_round(belt);
}

static void an_account_has_no_helpers(struct kunit *test)
{
	struct hashbelt_belt *belt = make_recording(test, 0, 0), *other;
	unsigned int most = min(num_online_cpus(), 1u << belt->shard_bits);
	struct hb_account *account = make_account(test);

	other = still_belt(test, .account = account);
	KUNIT_EXPECT_EQ(test, count_helpers(belt), min(most, 8u) - 1);
	KUNIT_EXPECT_EQ(test, count_helpers(other), 0u);
	hashbelt_destroy(other);
	end_account(account);
}

/* A belt of @account whose worker waits at a gate, so it cannot be freed. */
static struct hashbelt_belt *make_slow(struct kunit *test, struct hb_account *account,
				       struct gate *gate)
{
	struct hashbelt_belt *belt = still_belt(test, .handler = HASHBELT_NOTIFY,
						.event = wait_at_gate, .arg = gate,
						.account = account);

	init_completion(&gate->entered);
	init_completion(&gate->open);
	put_and_expire(test, belt);
	wait_for_completion(&gate->entered);
	return belt;
}

/* A belt without an account is served meanwhile. */
static void belts_of_an_account_are_served_one_at_a_time(struct kunit *test)
{
	struct fixture *f = test->priv, *beside = must_alloc(test, sizeof(*beside));
	struct hb_account *account = make_account(test);
	struct hashbelt_belt *slow, *other;
	struct gate gate;

	slow = make_slow(test, account, &gate);
	f->belt = still_belt(test, .handler = HASHBELT_NOTIFY, .event = record_event, .arg = f,
			     .account = account);
	other = still_belt(test, .handler = HASHBELT_NOTIFY, .event = record_event, .arg = beside);
	put_and_expire(test, f->belt);
	put_and_expire(test, other);
	flush_work(&other->work);
	KUNIT_EXPECT_EQ(test, beside->expired, 1u);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	KUNIT_EXPECT_TRUE(test, work_pending(&f->belt->work));
	complete(&gate.open);
	/* Before the gate goes. */
	flush_work(&slow->work);
	flush_work(&f->belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
	hashbelt_destroy(slow);
	hashbelt_destroy(other);
	hashbelt_destroy(f->belt);
	f->belt = NULL;
	end_account(account);
}

/* A belt with a descriptor that one task polls. */
struct polled {
	struct hashbelt_belt *belt;	/* the belt */
	struct hb_poller poller;	/* the descriptor */
	wait_queue_head_t wait;		/* of its file */
	wait_queue_entry_t entry;	/* the task's, in @wait */
	unsigned int wakeups;		/* how often the task was woken */
};

static int count_wakeup(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	container_of(entry, struct polled, entry)->wakeups++;
	return 1;
}

static struct polled *polled_of(struct kunit *test, struct hb_account *account)
{
	struct polled *polled = must_alloc(test, sizeof(*polled));

	polled->belt = still_belt(test, .handler = HASHBELT_NOTIFY, .account = account);
	init_waitqueue_head(&polled->wait);
	init_waitqueue_func_entry(&polled->entry, count_wakeup);
	add_wait_queue(&polled->wait, &polled->entry);
	hb_poller_init(&polled->poller, &polled->belt->pollers, HB_POLL_EVENTS);
	hb_poller_arm(&polled->poller, &polled->wait);
	return polled;
}

static void polled_end(struct polled *polled)
{
	hb_poller_close(&polled->poller);
	hashbelt_destroy(polled->belt);
}

/* The work of Alice's account takes long. Bob's does not wait for it. */
static void tasks_that_poll_are_woken_on_the_workqueue_of_the_account(struct kunit *test)
{
	struct hb_account *alice = make_account(test), *bob = make_account(test);
	struct polled *alices = polled_of(test, alice), *bobs = polled_of(test, bob);
	struct hashbelt_belt *slow;
	struct gate gate;

	slow = make_slow(test, alice, &gate);
	put_and_expire(test, alices->belt);
	put_and_expire(test, bobs->belt);
	flush_work(&bobs->belt->pollers.work);
	KUNIT_EXPECT_EQ(test, bobs->wakeups, 1u);
	KUNIT_EXPECT_EQ(test, alices->wakeups, 0u);
	KUNIT_EXPECT_TRUE(test, work_pending(&alices->belt->pollers.work));
	complete(&gate.open);
	/* Before the gate goes. */
	flush_work(&slow->work);
	flush_work(&alices->belt->pollers.work);
	KUNIT_EXPECT_EQ(test, alices->wakeups, 1u);
	hashbelt_destroy(slow);
	polled_end(alices);
	polled_end(bobs);
	end_account(alice);
	end_account(bob);
}

static void belts_of_an_account_are_freed_beside_those_of_another(struct kunit *test)
{
	struct hb_account *slow = make_account(test), *other = make_account(test);
	struct hashbelt_config config = { .account = other };
	struct hashbelt_belt *belt;
	struct gate gate;

	hashbelt_destroy(make_slow(test, slow, &gate));
	hashbelt_destroy(still_belt_as(test, config));
	flush_account(other);
	KUNIT_EXPECT_EQ(test, percpu_counter_sum(&other->used), 0LL);
	/* At its limit, a task waits for no belt of another account. */
	hb_memory_account_limit(100);
	belt = hb_create_patiently(&config);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(belt), -EDQUOT);
	/* For those of its own it waits a second. */
	config.account = slow;
	belt = hb_create_patiently(&config);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(belt), -EDQUOT);
	hb_memory_account_limit(U64_MAX);
	KUNIT_EXPECT_GT(test, percpu_counter_sum(&slow->used), 0LL);
	complete(&gate.open);
	end_account(slow);
	hb_account_put(other);
}

static void a_create_at_a_limit_waits_for_belts_that_were_given_up(struct kunit *test)
{
	struct hb_account *account = make_account(test);
	struct hashbelt_config config = { .account = account };
	struct hashbelt_belt *belt = still_belt_as(test, config);

	hb_memory_account_limit(percpu_counter_sum(&account->used));
	hashbelt_destroy(belt);
	belt = hb_create_patiently(&config);
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(belt), 0);
	hb_memory_account_limit(U64_MAX);
	hb_memory_limit(hb_memory_used() * 8 / 7 + 8);
	hashbelt_destroy(belt);
	belt = hb_create_patiently(&config);
	hb_memory_limit(U64_MAX);
	KUNIT_ASSERT_EQ(test, PTR_ERR_OR_ZERO(belt), 0);
	hashbelt_destroy(belt);
	flush_account(account);
	KUNIT_EXPECT_EQ(test, atomic_read(&account->dying), 0);
	hb_account_put(account);
}

/* A task that is killed before a call or while it waits in one. */
struct victim {
	struct fixture *f;	/* has the belt */
	int (*act)(struct hashbelt_belt *belt);	/* makes the call */
	bool at_once;	/* the task is killed before the call */
	int err;	/* result of the call */
	u64 expired;	/* entries that had expired when the call returned */
	struct completion done;	/* completed when the task ends */
	struct task_struct *task;	/* the task, with a reference */
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

/*
 * Kills a task while it waits for the end of the round that the case has begun. Meanwhile @more
 * tasks more than before keep the worker from its rounds.
 */
static void kill_in_line(struct kunit *test, struct victim *victim, int more)
{
	struct hashbelt_belt *belt = ((struct fixture *)test->priv)->belt;
	int movers = atomic_read(&belt->movers);
	unsigned int tries;

	victim_start(test, victim);
	for (tries = 0; tries < 100 && READ_ONCE(victim->task->__state) != TASK_KILLABLE; tries++)
		schedule_timeout_uninterruptible(1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(victim->task->__state), (unsigned int)TASK_KILLABLE);
	KUNIT_EXPECT_EQ(test, atomic_read(&belt->movers), movers + more);
	KUNIT_EXPECT_FALSE(test, completion_done(&victim->done));
	send_sig(SIGKILL, victim->task, 1);
	victim_end(test, victim);
	/* The round goes on, and belt->movers no longer counts the task. */
	KUNIT_EXPECT_TRUE(test, mutex_is_locked(&belt->round_lock));
	KUNIT_EXPECT_EQ(test, atomic_read(&belt->movers), movers);
}

static int advance_300(struct hashbelt_belt *belt)
{
	return hashbelt_advance(belt, 300 * SEC);
}

static int set_7_buckets(struct hashbelt_belt *belt)
{
	return change(belt, BUCKETS, .buckets = 7);
}

static int set_one_event(struct hashbelt_belt *belt)
{
	return change(belt, MAX_EVENTS, .max_events = 1);
}

/* Belt time has moved. The worker drains what is due when the other round has ended. */
static void a_task_killed_before_its_round_leaves_it_to_the_worker(struct kunit *test)
{
	struct victim victim = { .act = advance_300 };
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	struct fixture *f = test->priv;
	u64 now = hashbelt_now(belt);

	put(belt, 1);
	flush_work(&belt->work);
	mutex_lock(&belt->round_lock);
	kill_in_line(test, &victim, 1);
	KUNIT_EXPECT_EQ(test, victim.err, 0);
	KUNIT_EXPECT_EQ(test, hashbelt_now(belt), now + 300 * SEC);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 0u);
	end_round(belt);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, f->expired, 1u);
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&belt->round_lock));
	/* The next advance makes a round as usual. */
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, advance_300(belt), 0);
	KUNIT_EXPECT_EQ(test, f->expired, 2u);
}

/* The task makes one step and kicks the worker, which neither an event nor an alarm wakes here. */
static void a_task_killed_in_a_round_returns_after_one_step(struct kunit *test)
{
	struct victim victim = { .act = advance_300, .at_once = true };
	struct fixture *f = test->priv;
	struct hashbelt_belt *belt;

	belt = still_belt(test);
	f->belt = belt;
	put_many(test, belt, 0, 5000);
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

/* Fills more buckets than one step unloads, and gives the belt another geometry. */
static void begin_to_unload(struct kunit *test, struct hashbelt_belt *belt)
{
	unsigned int i;

	for (i = 0; i < 5000; i++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, i, 1 + i * 40), 0);
	flush_work(&belt->work);
	/* A task advances belt time: then the worker leaves the rounds to it. */
	atomic_inc(&belt->movers);
	KUNIT_ASSERT_EQ(test, change(belt, BUCKETS, .buckets = 400), 0);
	KUNIT_ASSERT_TRUE(test, hb_is_unloading(belt->shards));
}

/* A change of geometry waits until the wheels of the last change are empty. */
static void a_task_killed_while_it_sets_the_geometry_changes_nothing(struct kunit *test)
{
	struct victim victim = { .act = set_7_buckets };
	struct hashbelt_belt *belt = make_recording(test, 0, 500);
	struct fixture *f = test->priv;
	u64 used;

	begin_to_unload(test, belt);
	hb_limbo_flush(belt);
	/* Frees the tables of the index that grew. */
	hashbelt_flush();
	mutex_lock(&belt->round_lock);
	used = hb_memory_used();
	kill_in_line(test, &victim, 0);
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

/* A task that is killed before the round that empties the wheels has changed nothing either. */
static void a_killed_task_leaves_old_wheels_to_the_worker(struct kunit *test)
{
	struct victim victim = { .act = set_7_buckets, .at_once = true };
	struct hashbelt_belt *belt = make_recording(test, 0, 500);
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

/* The setting is in force. The step that trims the queue is left to the worker. */
static void a_setting_stays_when_its_task_is_killed_afterwards(struct kunit *test)
{
	struct victim victim = { .act = set_one_event };
	struct fixture *f = test->priv;
	struct hashbelt_belt *belt;
	unsigned int key;

	belt = still_belt(test, .handler = HASHBELT_NOTIFY);
	f->belt = belt;
	for (key = 0; key < 10; key++) {
		put(belt, key);
		expire(belt, key);
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

	f->belt = still_belt(test, .policy = HASHBELT_EVICT, .max_entries = 1);
	put(f->belt, 1);
	victim_start(test, &victim);
	victim_end(test, &victim);
	KUNIT_EXPECT_EQ(test, victim.err, -ENOSPC);
	KUNIT_EXPECT_TRUE(test, has(f->belt, 1));
	KUNIT_EXPECT_EQ(test, put_key_2(f->belt), 0);
	KUNIT_EXPECT_FALSE(test, has(f->belt, 1));
}

static int remove_and_flush(struct hashbelt_belt *belt)
{
	take_out(belt, 1);
	return hb_limbo_flush(belt);
}

static void a_killed_task_does_not_wait_for_limbo(struct kunit *test)
{
	struct victim victim = { .act = remove_and_flush, .at_once = true };
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 empty = hb_memory_used();

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	victim_start(test, &victim);
	victim_end(test, &victim);
	KUNIT_EXPECT_EQ(test, victim.err, -EINTR);
	/* The next task does not take that flush for one that came to its end. */
	KUNIT_EXPECT_EQ(test, hb_limbo_flush(belt), 0);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), empty);
}

static int create_another(struct hashbelt_belt *belt)
{
	struct hashbelt_config config = { .account = belt->account };
	struct hashbelt_belt *other = hb_create_patiently(&config);

	if (!IS_ERR(other))
		hashbelt_destroy(other);
	return PTR_ERR_OR_ZERO(other);
}

static void a_killed_task_does_not_wait_for_belts_that_were_given_up(struct kunit *test)
{
	struct victim victim = { .act = create_another, .at_once = true };
	struct hb_account *account = make_account(test);
	struct fixture *f = test->priv;
	struct gate gate;

	hashbelt_destroy(make_slow(test, account, &gate));
	f->belt = still_belt(test, .account = account);
	hb_memory_account_limit(100);
	victim_start(test, &victim);
	victim_end(test, &victim);
	KUNIT_EXPECT_EQ(test, victim.err, -EINTR);
	hb_memory_account_limit(U64_MAX);
	complete(&gate.open);
	hashbelt_destroy(f->belt);
	f->belt = NULL;
	end_account(account);
}

/* A task that comes while another one waits has its own entries freed. */
static void tasks_that_flush_limbo_at_once_all_find_it_empty(struct kunit *test)
{
	struct victim first = { .act = remove_and_flush }, second = first;
	struct hashbelt_belt *belt = make_recording(test, 0, 0);
	u64 begun = belt->flush.begun;
	u64 empty = hb_memory_used();

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	KUNIT_ASSERT_EQ(test, put(belt, 2), 0);
	victim_start(test, &first);
	victim_start(test, &second);
	take_out(belt, 2);
	KUNIT_EXPECT_EQ(test, hb_limbo_flush(belt), 0);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), empty);
	victim_end(test, &first);
	victim_end(test, &second);
	KUNIT_EXPECT_EQ(test, first.err, 0);
	KUNIT_EXPECT_EQ(test, second.err, 0);
	KUNIT_EXPECT_LE(test, belt->flush.begun, begun + 3);
	KUNIT_EXPECT_EQ(test, belt->flush.ended, belt->flush.begun);
}

static struct kunit_case worker_cases[] = {
	KUNIT_CASE(a_drain_step_is_bounded_by_the_batch_size),
	KUNIT_CASE(a_step_takes_the_locks_of_shards_that_have_something_due),
	KUNIT_CASE(a_step_drains_the_buckets_that_have_fallen_off_by_its_time),
	KUNIT_CASE(an_index_is_resized_in_steps),
	KUNIT_CASE(an_index_does_not_shrink_below_what_one_shard_needs),
	KUNIT_CASE(the_index_shrinks_when_entries_are_gone),
	KUNIT_CASE(a_clear_of_an_empty_belt_does_not_queue_the_worker),
	KUNIT_CASE(a_round_ends_although_its_events_cause_others),
	KUNIT_CASE(the_worker_does_not_wait_for_a_task_that_makes_a_round),
	KUNIT_CASE(a_turn_of_the_worker_ends_in_time),
	KUNIT_CASE(a_change_of_settings_drains_what_is_due),
	KUNIT_CASE(each_shard_that_has_something_due_is_drained_by_one_task),
	KUNIT_CASE(a_helper_drains_shards_until_its_time_is_up),
	KUNIT_CASE(all_is_drained_and_no_helper_is_at_work_at_the_end),
	KUNIT_CASE(an_account_has_no_helpers),
	KUNIT_CASE(belts_of_an_account_are_served_one_at_a_time),
	KUNIT_CASE(tasks_that_poll_are_woken_on_the_workqueue_of_the_account),
	KUNIT_CASE(belts_of_an_account_are_freed_beside_those_of_another),
	KUNIT_CASE(a_create_at_a_limit_waits_for_belts_that_were_given_up),
	KUNIT_CASE(a_killed_task_does_not_wait_for_belts_that_were_given_up),
	KUNIT_CASE(a_task_killed_before_its_round_leaves_it_to_the_worker),
	KUNIT_CASE(a_task_killed_in_a_round_returns_after_one_step),
	KUNIT_CASE(a_task_killed_while_it_sets_the_geometry_changes_nothing),
	KUNIT_CASE(a_killed_task_leaves_old_wheels_to_the_worker),
	KUNIT_CASE(a_setting_stays_when_its_task_is_killed_afterwards),
	KUNIT_CASE(a_killed_task_evicts_nothing),
	KUNIT_CASE(a_killed_task_does_not_wait_for_limbo),
	KUNIT_CASE(tasks_that_flush_limbo_at_once_all_find_it_empty),
	{}
};

TEST_SUITE(worker, fixture_init, fixture_exit);
