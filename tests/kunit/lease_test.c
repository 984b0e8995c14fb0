// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for a lock: the hand-over, and the ends of a wait. Guarantee 17 of docs/guarantees.md.
 *
 * A waiter is a task of its own. On one CPU and without preemption it runs when the case
 * sleeps, so a case sees the belt after a hand-over and before the waiter has woken.
 *
 * Hostile user: registers 1,000,000 requests, or any number of waits, for a key.
 */
#include <kunit/test.h>

#include "belt/ground/compat.h"
#include "belt/room/evict.h"
#include "belt/wait/lease.h"
#include "belt/shard/shard.h"
#include "belt/wait/waitpoint.h"
#include "lock.h"

/* Starts a task that waits for a lock with a lease of @ttl_ms. */
static struct waiter *line_up_for(struct kunit *test, unsigned int i, unsigned int key,
				  char owner, u64 ttl_ms, u64 wait_ms)
{
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[i];

	*waiter = (struct waiter){
		.belt = f->belt, .client = waiter->client, .key = key, .turn = &f->turn,
		.lock = { .owner_len = 1, .ttl_ms = ttl_ms, .wait_ms = wait_ms },
	};
	waiter->owner[0] = owner;
	KUNIT_ASSERT_TRUE(test, waiter_start(waiter));
	return waiter;
}

/* With the longest lease that the belt allows; @wait_ms 0 means without a time limit. */
static struct waiter *line_up(struct kunit *test, unsigned int i, unsigned int key,
			      char owner, u64 wait_ms)
{
	return line_up_for(test, i, key, owner, 0, wait_ms ?: HASHBELT_TTL_NEVER);
}

static void lock_for(struct kunit *test, struct hashbelt_belt *belt, char owner, u64 ttl_ms)
{
	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, owner,
				      &(struct hashbelt_lock){ .ttl_ms = ttl_ms }), 0);
}

static void waiters_get_the_lock_in_fifo_order(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	unsigned int i;
	u64 last;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'z'), 0);
	last = token_of(belt, 1);
	for (i = 0; i < WAITERS; i++)
		line_up(test, i, 1, 'a' + i, 0);
	for (i = 0; i < WAITERS; i++) {
		KUNIT_ASSERT_EQ(test, unlock_as(belt, 1, i ? 'a' + i - 1 : 'z'), 0);
		/* The waiter holds the lock before it wakes. */
		KUNIT_ASSERT_EQ(test, owner_of(belt, 1, &lock), 'a' + i);
		expect_end(test, &f->waiters[i], 0);
		KUNIT_ASSERT_EQ(test, f->waiters[i].ended, i + 1);
		KUNIT_ASSERT_EQ(test, f->waiters[i].lock.token, lock.token);
		KUNIT_ASSERT_GT(test, lock.token, last);
		last = lock.token;
		KUNIT_ASSERT_EQ(test, f->turn, i + 1);
		KUNIT_ASSERT_EQ(test, line_of_key(belt, 1, HB_LOCK), WAITERS - i - 1);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_LOCK_WAITS), (u64)WAITERS);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'a' + WAITERS - 1), 0);
	expect_empty(test);
}

static unsigned long switches_of(struct task_struct *task)
{
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
}

static void the_end_of_a_lock_wakes_one_task(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	unsigned long before[WAITERS];
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'z'), 0);
	for (i = 0; i < WAITERS; i++) {
		line_up(test, i, 1, 'a' + i, 0);
		schedule_timeout_uninterruptible(1);
		before[i] = switches_of(f->waiters[i].task);
	}
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'z'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	schedule_timeout_uninterruptible(HZ);
	for (i = 1; i < WAITERS; i++)
		KUNIT_EXPECT_EQ(test, switches_of(f->waiters[i].task), before[i]);
}

/* Ways in which the lock of A, bound to the first client, becomes free. */
static const struct way ends_of_lock[] = {
	{ "unlock", { DO_UNLOCK } },
	{ "release", { DO_RELEASE } },
	{ "the close of the client", { DO_CLOSE } },
	{ "eviction", { DO_EVICT } },
	{ "the drain", { DO_DRAIN } },
	{ "the end of the lease", { DO_WAKE } },
	{ "a lock of another owner after its end", { DO_PASS, DO_LOCK_OTHER } },
	{ "a lock of its owner after its end", { DO_PASS, DO_LOCK } },
	{ "an unlock after its end", { DO_PASS, DO_UNLOCK } },
	{ "a clear", { DO_CLEAR, DO_REST } },
	{ "a lock of another owner after a clear", { DO_CLEAR, DO_LOCK_OTHER } },
	{ "the close of the client after its end", { DO_PASS, DO_CLOSE } },
};

KUNIT_ARRAY_PARAM_DESC(end_of_lock, ends_of_lock, name);

/* @others: waiters behind the first */
static void expect_lock_handed_over(struct kunit *test, unsigned int others)
{
	struct hashbelt_lock lock = {}, own = {};
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_as(belt, f->clients[0], 1, 'A', &own), 0);
	for (i = 0; i <= others; i++)
		line_up(test, i, 1, 'a' + i, 0);
	do_way(f, test->param_value);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'a');
	KUNIT_EXPECT_GT(test, lock.token, own.token);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 240000ULL);
	KUNIT_EXPECT_EQ(test, lock.held_ms, 0ULL);
	check_accounting(test, belt);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'C'), -EBUSY);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), -EACCES);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), others);
	expect_end(test, &f->waiters[0], 0);
	KUNIT_EXPECT_EQ(test, f->waiters[0].lock.token, lock.token);
	KUNIT_EXPECT_EQ(test, f->turn, 1u);
	for (i = 0; i <= others; i++) {
		KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'a' + i), 0);
		if (i < others)
			KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i + 1]));
	}
	expect_empty(test);
}

static void the_first_waiter_holds_a_lock_once_it_is_free(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_lock_handed_over(test, 0);
	drop_all(f);
	f->turn = 0;
	expect_lock_handed_over(test, 2);
}

static void waiters_of_a_destroyed_belt_return_eidrm(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	for (i = 0; i < 3; i++)
		line_up(test, i, 1, 'a' + i, 0);
	hb_kill(belt);
	for (i = 0; i < 3; i++)
		expect_end(test, &f->waiters[i], -EIDRM);
	expect_empty(test);
}

static void a_wait_is_measured_in_belt_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct hashbelt_lock lock = {};
	struct waiter *waiter;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	waiter = line_up(test, 0, 1, 'B', 1000);
	/* Belt time is halted. */
	schedule_timeout_uninterruptible(10 * HZ);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	hashbelt_advance(belt, SEC - HB_GRAIN);
	KUNIT_EXPECT_FALSE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	hashbelt_advance(belt, HB_GRAIN);
	expect_end(test, waiter, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'A');
	unlock_as(belt, 1, 'A');
	expect_empty(test);
}

static void a_lease_that_ends_with_the_wait_is_handed_over(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct waiter *waiter;

	lock_for(test, belt, 'A', 1000);
	waiter = line_up(test, 0, 1, 'B', 1000);
	hashbelt_advance(belt, SEC);
	expect_end(test, waiter, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	expect_empty(test);
}

/* Belt time runs: the task ends at @time, or less than a second later. */
static void expect_end_after(struct kunit *test, struct waiter *waiter, int err, u64 time)
{
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&waiter->done, 100 * HZ));
	KUNIT_EXPECT_EQ(test, waiter->err, err);
	KUNIT_EXPECT_GE(test, hashbelt_now(waiter->belt), time);
	KUNIT_EXPECT_LT(test, hashbelt_now(waiter->belt), time + SEC);
}

/*
 * Belt time runs, but the worker makes no rounds: it would take an expired lock out within
 * milliseconds. So only the waiters' own timers wake them.
 */
static struct hashbelt_belt *make_without_worker(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);

	atomic_inc(&belt->movers);
	hb_resume(belt);
	return belt;
}

static void a_waiter_gets_an_expired_lock_before_the_drain(struct kunit *test)
{
	struct hashbelt_belt *belt = make_without_worker(test);
	struct waiter *waiter;
	u64 now;

	lock_for(test, belt, 'A', 2000);
	now = hashbelt_now(belt);
	waiter = line_up(test, 0, 1, 'B', 0);
	expect_end_after(test, waiter, 0, now + 2 * SEC);
}

/* The first waiter, whose timer is set for the end of the lease, returns @err before that. */
static void expect_next_gets_expired_lock(struct kunit *test, int err)
{
	struct hashbelt_belt *belt = make_without_worker(test);
	struct waiter *first, *second;
	u64 now;

	lock_for(test, belt, 'A', 5000);
	now = hashbelt_now(belt);
	first = line_up(test, 0, 1, 'B', err == -ETIMEDOUT ? 1000 : 0);
	second = line_up(test, 1, 1, 'C', 0);
	if (err == -EINTR)
		send_sig(SIGUSR1, first->task, 1);
	expect_end_after(test, first, err, err == -EINTR ? now : now + SEC);
	expect_end_after(test, second, 0, now + 5 * SEC);
}

static void when_the_first_waiter_leaves_the_next_gets_an_expired_lock(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_next_gets_expired_lock(test, -ETIMEDOUT);
	hb_kill(f->belt);
	drop_all(f);
	expect_next_gets_expired_lock(test, -EINTR);
}

static void leases_that_expire_in_turn_give_every_waiter_the_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make_without_worker(test);
	struct fixture *f = test->priv;
	unsigned int i;
	u64 now;

	lock_for(test, belt, 'z', 2000);
	now = hashbelt_now(belt);
	for (i = 0; i < 4; i++)
		line_up_for(test, i, 1, 'a' + i, 2000, HASHBELT_TTL_NEVER);
	for (i = 0; i < 4; i++) {
		expect_end_after(test, &f->waiters[i], 0, now + 2 * SEC);
		KUNIT_EXPECT_EQ(test, f->waiters[i].ended, i + 1);
		now = hashbelt_now(belt);
	}
}

static void a_waiter_follows_a_renewed_lease(struct kunit *test)
{
	struct hashbelt_belt *belt = make_without_worker(test);
	struct hashbelt_lock lock = { .ttl_ms = 2000 };
	struct waiter *waiter;
	u64 now;

	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	waiter = line_up(test, 0, 1, 'B', 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	schedule_timeout_uninterruptible(10 * HZ);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 3000, &lock), 0);
	now = hashbelt_now(belt);
	expect_end_after(test, waiter, 0, now + 3 * SEC);
}

static void a_wait_goes_on_when_a_halted_belt_resumes(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct waiter *waiter;
	u64 now;

	hb_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	now = hashbelt_now(belt);
	waiter = line_up(test, 0, 1, 'B', 2000);
	hashbelt_halt(belt);
	schedule_timeout_uninterruptible(10 * HZ);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	hb_resume(belt);
	expect_end_after(test, waiter, -ETIMEDOUT, now + 2 * SEC);
}

static void a_signal_ends_a_wait(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct waiter *first, *second;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	first = line_up(test, 0, 1, 'B', 0);
	second = line_up(test, 1, 1, 'C', 0);
	send_sig(SIGUSR1, first->task, 1);
	expect_end(test, first, -EINTR);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	expect_end(test, second, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

/* The signal comes after the grant: the waiter holds the lock. */
static void a_signal_after_the_hand_over_leaves_the_waiter_the_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct waiter *waiter;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	waiter = line_up(test, 0, 1, 'B', 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	send_sig(SIGUSR1, waiter->task, 1);
	expect_end(test, waiter, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	expect_empty(test);
}

static void a_waiter_that_times_out_in_the_middle_stops_no_other(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'z'), 0);
	for (i = 0; i < 5; i++)
		line_up(test, i, 1, 'a' + i, i % 2 ? 1000 : 0);
	hashbelt_advance(belt, SEC);
	for (i = 1; i < 5; i += 2)
		expect_end(test, &f->waiters[i], -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 3u);
	unlock_as(belt, 1, 'z');
	for (i = 0; i < 5; i += 2) {
		KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'a' + i);
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		unlock_as(belt, 1, 'a' + i);
	}
	expect_empty(test);
}

static void each_task_of_an_owner_waits_its_turn(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct waiter *first, *second;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	first = line_up(test, 0, 1, 'B', 0);
	second = line_up(test, 1, 1, 'B', 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(first));
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(second));
	KUNIT_EXPECT_GT(test, second->lock.token, first->lock.token);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	expect_empty(test);
}

static u64 charged_at_hand_over;

static void count_and_hand_over(struct hb_shard *shard, struct hashbelt_entry *left, u64 now,
				struct hb_room *room)
{
	charged_at_hand_over = shard->belt->usage.entries;
	hb_lease_hand_over(shard, left, now, room);
}

/* Until the next lock is granted no other put may take the place of the one that has left. */
static void a_lock_that_is_handed_over_keeps_its_place(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .max_entries = 1);
	struct hb_kind_ops ops = hb_lock_ops;
	struct hashbelt_lock lock = {};

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	line_up(test, 0, 1, 'B', 0);
	ops.left = count_and_hand_over;
	hb_kinds[HB_LOCK] = &ops;
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	hb_kinds[HB_LOCK] = &hb_lock_ops;
	KUNIT_EXPECT_EQ(test, charged_at_hand_over, 1ULL);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'B');
	KUNIT_EXPECT_EQ(test, belt->usage.entries, 1ULL);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	KUNIT_EXPECT_EQ(test, belt->usage.entries, 0ULL);
}

static void a_waiter_without_room_returns_enospc_and_the_next_gets_the_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0] = (struct waiter){
		.belt = belt, .key = 1, .turn = &f->turn,
		.lock = { .owner_len = HASHBELT_OWNER_MAX, .wait_ms = HASHBELT_TTL_NEVER },
	};
	memset(f->waiters[0].owner, 'B', HASHBELT_OWNER_MAX);
	KUNIT_ASSERT_TRUE(test, waiter_start(&f->waiters[0]));
	line_up(test, 1, 1, 'C', 0);
	/* Room for a lock whose owner has a short name. */
	change(belt, MAX_BYTES, .max_bytes = info_of(belt).used_bytes);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'C');
	expect_end(test, &f->waiters[0], -ENOSPC);
	expect_end(test, &f->waiters[1], 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

/* The event of an expired lock stays charged to the belt. */
static void waiters_return_enospc_where_events_fill_the_belt(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED,
					  .handler = HASHBELT_NOTIFY, .max_entries = 1);
	struct hashbelt_lock lock = {};
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	for (i = 0; i < 2; i++)
		line_up(test, i, 1, 'a' + i, 0);
	hashbelt_advance(belt, TTL);
	for (i = 0; i < 2; i++)
		expect_end(test, &f->waiters[i], -ENOSPC);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), -ENOSPC);
	settle_some(belt, 1);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	unlock_as(belt, 1, 'A');
	settle_some(belt, 1);
	expect_empty(test);
}

static void a_waiter_of_a_closed_client_returns_eidrm_and_the_next_gets_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	struct waiter *gone, *next;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0].client = f->clients[0];
	gone = line_up(test, 0, 1, 'B', 0);
	next = line_up(test, 1, 1, 'C', 0);
	hashbelt_client_close(belt, f->clients[0]);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'C');
	expect_end(test, gone, -EIDRM);
	expect_end(test, next, 0);
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

static void a_lock_that_was_waited_for_is_bound_to_the_waiters_client(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0].client = f->clients[0];
	line_up(test, 0, 1, 'B', 0);
	unlock_as(belt, 1, 'A');
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'B');
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	expect_empty(test);
}

static enum hrtimer_restart no_alarm(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

#define MANY	(2 * HB_BATCH + 3)

/* Results of these waiters, which stand for a task each, that are @result. */
static unsigned int count_results(const struct hb_waiter *waiters, int result)
{
	unsigned int i, count = 0;

	for (i = 0; i < MANY; i++)
		count += waiters[i].result == result;
	return count;
}

/*
 * The names of the waiting owners are too long for the room that the lock leaves. A task that asks
 * for the lock before the worker has come gets it after them.
 */
static void a_hand_over_fails_a_batch_of_waiters_in_a_critical_section(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .max_bytes = 160);
	u32 key = 1, hash = hb_hash(belt, &key, sizeof(key));
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hb_acquire longer = { .belt = belt, .duration = SEC }, next = longer;
	struct hashbelt_entry *lease, *spare;
	struct hb_waiter *waiters;
	unsigned int i;

	waiters = must_alloc(test, MANY * sizeof(*waiters));
	KUNIT_ASSERT_EQ(test, lock_plainly(belt, key, 'A'), 0);
	longer.lease = hb_tailed_alloc(belt, HB_LOCK, hash, &key, sizeof(key), 64);
	next.lease = hb_tailed_alloc(belt, HB_LOCK, hash, &key, sizeof(key), 1);
	spare = hb_waitpoint_alloc(belt, hash, &key, sizeof(key));
	KUNIT_ASSERT_FALSE(test, IS_ERR(longer.lease) || IS_ERR(next.lease) || IS_ERR(spare));
	spin_lock(&shard->lock);
	lease = hb_find_locked(shard, hash | HB_LOCK, &key, sizeof(key));
	for (i = 0; i < MANY; i++) {
		waiters[i] = (struct hb_waiter){
			.acquire = &longer, .task = current, .spare = spare,
			.until = HB_NEVER, .result = HB_WAITING,
		};
		hrtimer_setup(&waiters[i].timer, no_alarm, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
		hb_lease_take(shard, lease, &longer, 0, &waiters[i], NULL);
	}
	hb_take_out(shard, lease, HASHBELT_REMOVED, 0);
	KUNIT_EXPECT_EQ(test, count_results(waiters, -ENOSPC), HB_BATCH + 0U);
	KUNIT_EXPECT_EQ(test, hb_lease_take(shard, NULL, &next, 0, NULL, NULL), -EBUSY);
	spin_unlock(&shard->lock);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, count_results(waiters, -ENOSPC), MANY + 0U);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, key, 'B'), 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, key, 'B'), 0);
	hashbelt_entry_put(belt, longer.lease);
	hashbelt_entry_put(belt, next.lease);
	for (i = 0; i < MANY; i++)
		hrtimer_cancel(&waiters[i].timer);
	expect_empty(test);
}

static struct kunit_case lease_cases[] = {
	KUNIT_CASE(a_hand_over_fails_a_batch_of_waiters_in_a_critical_section),
	KUNIT_CASE(waiters_get_the_lock_in_fifo_order),
	KUNIT_CASE(the_end_of_a_lock_wakes_one_task),
	KUNIT_CASE_PARAM(the_first_waiter_holds_a_lock_once_it_is_free, end_of_lock_gen_params),
	KUNIT_CASE(waiters_of_a_destroyed_belt_return_eidrm),
	KUNIT_CASE(a_wait_is_measured_in_belt_time),
	KUNIT_CASE(a_lease_that_ends_with_the_wait_is_handed_over),
	KUNIT_CASE(a_waiter_gets_an_expired_lock_before_the_drain),
	KUNIT_CASE(when_the_first_waiter_leaves_the_next_gets_an_expired_lock),
	KUNIT_CASE(leases_that_expire_in_turn_give_every_waiter_the_lock),
	KUNIT_CASE(a_waiter_follows_a_renewed_lease),
	KUNIT_CASE(a_wait_goes_on_when_a_halted_belt_resumes),
	KUNIT_CASE(a_signal_ends_a_wait),
	KUNIT_CASE(a_signal_after_the_hand_over_leaves_the_waiter_the_lock),
	KUNIT_CASE(a_waiter_that_times_out_in_the_middle_stops_no_other),
	KUNIT_CASE(each_task_of_an_owner_waits_its_turn),
	KUNIT_CASE(a_lock_that_is_handed_over_keeps_its_place),
	KUNIT_CASE(a_waiter_without_room_returns_enospc_and_the_next_gets_the_lock),
	KUNIT_CASE(waiters_return_enospc_where_events_fill_the_belt),
	KUNIT_CASE(a_waiter_of_a_closed_client_returns_eidrm_and_the_next_gets_it),
	KUNIT_CASE(a_lock_that_was_waited_for_is_bound_to_the_waiters_client),
	{}
};

TEST_SUITE(lease, fixture_init, fixture_exit);
