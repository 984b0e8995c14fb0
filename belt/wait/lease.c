// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases: granting a lock or a fill lease, and waiting for one. docs/design.md, "Waiting", has the
 * protocol.
 *
 * The first waiter in a line has a timer for the end of the present lease, so that it does not
 * depend on the worker. The task that makes a waiter the first, or changes the present lease, sets
 * that timer. So does a waiter that leaves the line, for the next one.
 *
 * The task that asks for a lease owns its entry until it is granted; then the belt does.
 */
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/ground/compat.h"
#include "belt/ground/usage.h"
#include "belt/room/evict.h"
#include "belt/room/fit.h"
#include "belt/shard/shard.h"
#include "lease.h"
#include "waitpoint.h"

/* Granting */

/*
 * Return: the lock or fill lease of a key, or NULL; @hash has the kind. Hands a lease that has
 * ended over to the first waiter. Under the shard's lock; the result is valid as long as that is
 * held.
 */
struct hashbelt_entry *hb_lease_find(struct hb_shard *shard, u32 hash, const void *key,
				     u32 key_len, u64 now)
{
	bool awaited = shard->waitpoints;
	struct hashbelt_entry *lease = hb_find_live(shard, hash, key, key_len, now);

	lockdep_assert_held(&shard->lock);
	if (lease || !awaited)
		return lease;
	/* It may just have been handed over to the last waiter. */
	return hb_find_locked(shard, hash, key, key_len);
}

/*
 * Grants a lease that is free; the belt owns its entry then. Under the shard's lock. Return: 0, or
 * an error of hb_shard_insert(), to which it passes @room.
 */
static int grant(struct hb_shard *shard, struct hb_acquire *acquire, u64 now,
		 struct hb_room *room)
{
	struct hashbelt_entry *lease = acquire->lease;
	struct hashbelt_belt *belt = shard->belt;
	struct hb_lease *tail = hb_tail(lease);
	int err;

	lockdep_assert_held(&shard->lock);
	tail->since = now;
	err = hb_shard_insert(shard, lease, now + acquire->duration, room);
	if (err)
		return err;
	acquire->token = lease->version;
	hb_schedule(shard, lease, now);
	hb_count(belt, hb_ops(lease)->granted);
	return 0;
}

/* Lines */

/* The line of waiters for a lease of the kind of @lease. */
static struct list_head *line_of(struct hb_waitpoint *waitpoint, const struct hashbelt_entry *lease)
{
	return &waitpoint->waiters[hb_ops(lease)->line];
}

/*
 * Sets the timer of a waiter: for the end of its wait, and if it is the first in its line also for
 * @end, that of the present lease.
 */
static void arm(struct hb_waiter *waiter, u64 end)
{
	struct list_head *line = line_of(waiter->waitpoint, waiter->acquire->lease);
	u64 at = waiter->until;

	if (list_is_first(&waiter->place, line))
		at = min(at, end);
	hb_clock_arm(&waiter->acquire->belt->clock, &waiter->timer, at);
}

static void arm_first(struct list_head *line, u64 end)
{
	struct hb_waiter *first = list_first_entry_or_null(line, struct hb_waiter, place);

	if (first)
		arm(first, end);
}

static u64 lease_end(const struct hashbelt_entry *lease)
{
	return lease ? hb_node_deadline(&lease->node) : HB_NEVER;
}

static void leave_line(struct hb_waiter *waiter, int result)
{
	list_del_init(&waiter->place);
	waiter->waitpoint = NULL;
	waiter->result = result;
}

/*
 * Grants a lease that is free to the first waiter of @line. If that fails, because its lease needs
 * more room than @room or its descriptor is closed, the waiter gets the error, and the next one has
 * its turn: HB_BATCH waiters at most. Under the shard's lock. Return: true if the lease is still
 * free, and waiters are left.
 */
static bool grant_next(struct hb_shard *shard, struct list_head *line, u64 now,
		       struct hb_room *room)
{
	struct hb_acquire *acquire;
	struct hb_waiter *first;
	u64 end = HB_NEVER;
	int err = -ENOENT;
	unsigned int n;

	lockdep_assert_held(&shard->lock);
	for (n = 0; err && n < HB_BATCH && !list_empty(line); n++) {
		first = list_first_entry(line, struct hb_waiter, place);
		acquire = first->acquire;
		err = grant(shard, acquire, now, room);
		if (!err) {
			end = lease_end(acquire->lease);
			if (hb_ops(acquire->lease)->awaited >= 0)
				hb_count(shard->belt, hb_ops(acquire->lease)->awaited);
		}
		leave_line(first, err);
		wake_up_process(first->task);
	}
	arm_first(line, end);
	return err && !list_empty(line);
}

/*
 * Grants the next lease to the first waiter, after the lease @left has left the index; @room is the
 * room that it had. The worker goes on where grant_next() stops. Under the shard's lock.
 */
void hb_lease_hand_over(struct hb_shard *shard, struct hashbelt_entry *left, u64 now,
			struct hb_room *room)
{
	struct hb_waitpoint *waitpoint = hb_waitpoint_of(shard, left);

	lockdep_assert_held(&shard->lock);
	if (!waitpoint)
		return;
	if (grant_next(shard, line_of(waitpoint, left), now, room))
		hb_waitpoint_leave_to_worker(shard, waitpoint);
	else
		hb_waitpoint_release(shard, waitpoint);
}

/*
 * For the worker: grants the leases of a waitpoint that are free to the first waiters. Under the
 * shard's lock; the caller releases the waitpoint. Return: true if there is more to do.
 */
bool hb_leases_step(struct hb_shard *shard, struct hb_waitpoint *waitpoint, u64 now)
{
	struct hashbelt_entry *want;
	struct hb_waiter *first;
	bool more = false;
	unsigned int i;

	lockdep_assert_held(&shard->lock);
	for (i = 0; i < ARRAY_SIZE(waitpoint->waiters); i++) {
		first = list_first_entry_or_null(&waitpoint->waiters[i], struct hb_waiter, place);
		if (!first)
			continue;
		want = first->acquire->lease;
		if (!hb_find_locked(shard, want->hash & ~HB_TAILED, want->data, want->key_len))
			more |= grant_next(shard, &waitpoint->waiters[i], now, NULL);
	}
	return more;
}

/* Sets the end of a lease; without @shorten only to a later one. Under the shard's lock. */
void hb_lease_set(struct hb_shard *shard, struct hashbelt_entry *lease, u64 duration, u64 now,
		  bool shorten)
{
	struct hb_waitpoint *waitpoint;

	lockdep_assert_held(&shard->lock);
	if (hb_node_move(&lease->node, now, now + duration, shorten) != now + duration)
		return;
	hb_wheel_del(&shard->leases, &lease->node);
	hb_schedule(shard, lease, now);
	waitpoint = hb_waitpoint_of(shard, lease);
	if (waitpoint)
		arm_first(line_of(waitpoint, lease), lease_end(lease));
}

/*
 * The key was put, or its fill has failed. The tasks that wait for its fill lease leave the line,
 * so no end of a lease hands that over to one of them. hb_waiters_wake() wakes them. Under the
 * shard's lock.
 */
void hb_waiters_filled(struct hb_waitpoint *waitpoint)
{
	list_splice_tail_init(&waitpoint->waiters[HB_FILLERS], &waitpoint->filled);
}

/*
 * Wakes a batch of the tasks whose key was put or whose fill has failed. Under the shard's lock;
 * the caller releases the waitpoint. Return: true if there are more.
 */
bool hb_waiters_wake(struct hb_waitpoint *waitpoint)
{
	struct hb_waiter *waiter;
	unsigned int n;

	for (n = 0; n < HB_BATCH && !list_empty(&waitpoint->filled); n++) {
		waiter = list_first_entry(&waitpoint->filled, struct hb_waiter, place);
		leave_line(waiter, HB_FILLED);
		wake_up_process(waiter->task);
	}
	return !list_empty(&waitpoint->filled);
}

/*
 * If tasks wait for @lease and it is free, the worker is about to hand it over. Under the shard's
 * lock. Return: true if tasks wait for it.
 */
static bool is_awaited(struct hb_shard *shard, const struct hashbelt_entry *lease)
{
	struct hb_waitpoint *waitpoint = hb_waitpoint_of(shard, lease);

	lockdep_assert_held(&shard->lock);
	return waitpoint && !list_empty(line_of(waitpoint, lease));
}

/*
 * Grants a lease if @other, the present one, is NULL and no task waits; else puts @waiter, if that
 * is not NULL, at the end of the line. Under the shard's lock. Return: 0: the belt owns the lease;
 * -EBUSY: another task has it; -EINPROGRESS: the waiter is in the line; or an error of
 * hb_shard_insert(), to which it passes @room.
 */
int hb_lease_take(struct hb_shard *shard, struct hashbelt_entry *other,
		  struct hb_acquire *acquire, u64 now, struct hb_waiter *waiter,
		  struct hb_room *room)
{
	lockdep_assert_held(&shard->lock);
	if (!other && !is_awaited(shard, acquire->lease))
		return grant(shard, acquire, now, room);
	if (!waiter)
		return -EBUSY;
	waiter->waitpoint = hb_waitpoint_get(shard, &waiter->spare);
	list_add_tail(&waiter->place, line_of(waiter->waitpoint, acquire->lease));
	return -EINPROGRESS;
}

/* Waiting */

/**
 * hb_wait_until() - make the end of a wait absolute
 * @belt:	the belt
 * @wait_ms:	time to wait, as a caller passes it; not 0
 *
 * A call that is made again after a signal then waits no longer than the first one.
 *
 * Return: HASHBELT_WAIT_UNTIL and the belt time when the wait ends; HASHBELT_TTL_NEVER.
 */
u64 hb_wait_until(struct hashbelt_belt *belt, u64 wait_ms)
{
	/* HASHBELT_TTL_NEVER has that bit, too. */
	if (wait_ms & HASHBELT_WAIT_UNTIL)
		return wait_ms;
	return HASHBELT_WAIT_UNTIL | (hb_clock_now(&belt->clock) + wait_ms * NSEC_PER_MSEC);
}

static enum hrtimer_restart alarm_expired(struct hrtimer *timer)
{
	wake_up_process(container_of(timer, struct hb_waiter, timer)->task);
	return HRTIMER_NORESTART;
}

static int reason_to_go(const struct hb_waiter *waiter, u64 now)
{
	if (waiter->acquire->belt->dead)
		return -EIDRM;
	if (now >= waiter->until)
		return -ETIMEDOUT;
	return signal_pending(current) ? -EINTR : 0;
}

/* Arms the waiter again, or ends its wait if there is a reason; under the shard's lock. */
static void waiter_check(struct hb_shard *shard, struct hb_waiter *waiter)
{
	struct hashbelt_entry *want = waiter->acquire->lease, *lease;
	u64 now = hb_clock_now(&shard->belt->clock);
	struct hb_waitpoint *waitpoint;
	int err;

	lockdep_assert_held(&shard->lock);
	/* If the present lease has ended, this hands it over, perhaps to this waiter. */
	lease = hb_lease_find(shard, want->hash & ~HB_TAILED, want->data, want->key_len, now);
	if (waiter->result != HB_WAITING)
		return;
	err = reason_to_go(waiter, now);
	if (!err) {
		arm(waiter, lease_end(lease));
		return;
	}
	waitpoint = waiter->waitpoint;
	leave_line(waiter, err);
	arm_first(line_of(waitpoint, want), lease_end(lease));
	hb_waitpoint_release(shard, waitpoint);
}

/* Sleeps until the waiter, which is in a line, has a @result, and returns that. */
static int waiter_sleep(struct hb_shard *shard, struct hb_waiter *waiter)
{
	int result;

	for (;;) {
		/*
		 * TASK_FREEZABLE: a system that suspends does not wake the task, which would look
		 * like a signal.
		 */
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		spin_lock(&shard->lock);
		if (waiter->result == HB_WAITING)
			waiter_check(shard, waiter);
		result = waiter->result;
		spin_unlock(&shard->lock);
		if (result != HB_WAITING)
			break;
		hb_schedule_freezable();
	}
	__set_current_state(TASK_RUNNING);
	return result;
}

/* Acquiring */

/* Makes one try. Return: what hb_lease_take() returns, or an error of @acquire->refuses. */
static int try_acquire(struct hb_shard *shard, struct hb_acquire *acquire,
		       struct hb_waiter *waiter, struct hb_room *room)
{
	struct hashbelt_entry *lease = acquire->lease, *other;
	u64 now;
	int err;

	spin_lock(&shard->lock);
	now = hb_clock_now(&shard->belt->clock);
	other = hb_lease_find(shard, lease->hash & ~HB_TAILED, lease->data, lease->key_len, now);
	err = acquire->refuses(shard, acquire, other, now) ?:
	      hb_lease_take(shard, other, acquire, now, waiter, room);
	spin_unlock(&shard->lock);
	return err;
}

static int acquire_and_wait(struct hb_shard *shard, struct hb_acquire *acquire,
			    struct hb_room *room)
{
	struct hashbelt_entry *lease = acquire->lease;
	struct hashbelt_belt *belt = acquire->belt;
	struct hb_waiter waiter = {
		.acquire = acquire, .task = current, .result = HB_WAITING,
	};
	int err;

	acquire->wait_ms = hb_wait_until(belt, acquire->wait_ms);
	waiter.until = acquire->wait_ms == HASHBELT_TTL_NEVER ? HB_NEVER :
			acquire->wait_ms & ~HASHBELT_WAIT_UNTIL;
	waiter.spare = hb_waitpoint_alloc(belt, lease->hash & HB_HASH, lease->data,
					  lease->key_len);
	if (IS_ERR(waiter.spare))
		return PTR_ERR(waiter.spare);
	INIT_LIST_HEAD(&waiter.place);
	hrtimer_setup_on_stack(&waiter.timer, alarm_expired, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	spin_lock(&belt->waiters.lock);
	list_add_tail(&waiter.asleep, &belt->waiters.list);
	spin_unlock(&belt->waiters.lock);
	do {
		err = try_acquire(shard, acquire, &waiter, room);
	} while (err == -ENOSPC && hb_make_room(belt, lease, room));
	/* This task may sleep now, and others wait for reserved room. */
	hb_room_release(&belt->usage, room);
	if (waiter.spare)
		hashbelt_entry_put(belt, waiter.spare);
	if (err == -EINPROGRESS)
		err = waiter_sleep(shard, &waiter);
	spin_lock(&belt->waiters.lock);
	list_del(&waiter.asleep);
	spin_unlock(&belt->waiters.lock);
	hb_timer_cancel(&waiter.timer);
	destroy_hrtimer_on_stack(&waiter.timer);
	return err;
}

/*
 * Makes @acquire->lease, acquires it, and waits for it if the caller wants that. Return: 0: the
 * belt owns the lease. Otherwise it is freed: -EBUSY, -ETIMEDOUT or -EINTR: another task has it;
 * HB_FILLED: the key was put meanwhile; an error of @refuses; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 * Context: may sleep.
 */
int hb_lease_acquire(struct hb_acquire *acquire, enum hb_kind kind, struct hb_client *client,
		     const void *key, u32 key_len, const void *owner, u32 owner_len)
{
	struct hashbelt_belt *belt = acquire->belt;
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	struct hb_room room = {};
	struct hb_link *link;
	int err;

	lease = hb_tailed_alloc(belt, kind, hash, key, key_len, owner_len);
	if (IS_ERR(lease))
		return PTR_ERR(lease);
	memcpy(hashbelt_entry_value(lease), owner, owner_len);
	link = hb_tail(lease);
	link->client = client;
	acquire->lease = lease;
	hb_make_lease_levels(belt, lease->hash, acquire->duration);
	do {
		err = try_acquire(shard, acquire, NULL, &room);
	} while (err == -ENOSPC && hb_make_room(belt, lease, &room));
	if (err == -EBUSY && acquire->wait_ms)
		err = acquire_and_wait(shard, acquire, &room);
	hb_room_release(&belt->usage, &room);
	if (err)
		hashbelt_entry_put(belt, lease);
	else
		hb_fit_index(belt, shard);
	return err;
}

/* Waking all waiters */

/*
 * Wakes all waiters, because belt time has been moved or the belt is dead: each checks its lease
 * again, and sets its timer. Of two tasks that call this at the same time, each may wake waiters
 * for the other. Context: may sleep.
 */
void hb_sleepers_wake(struct hashbelt_belt *belt)
{
	struct hb_waiter *waiter;
	LIST_HEAD(asleep);
	unsigned int n;
	bool more;

	spin_lock(&belt->waiters.lock);
	list_splice_init(&belt->waiters.list, &asleep);
	spin_unlock(&belt->waiters.lock);
	do {
		spin_lock(&belt->waiters.lock);
		for (n = 0; n < HB_BATCH && !list_empty(&asleep); n++) {
			waiter = list_first_entry(&asleep, struct hb_waiter, asleep);
			list_move_tail(&waiter->asleep, &belt->waiters.list);
			wake_up_process(waiter->task);
		}
		more = !list_empty(&asleep);
		spin_unlock(&belt->waiters.lock);
		cond_resched();
	} while (more);
}
