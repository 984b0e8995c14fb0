// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: granting a lock or the right to fill a key, and waiting for one.
 *
 * Tasks wait in lines, for the lock of that name and for the right to fill the key.
 * A waiter allocates the entry of its own lock or right before it waits. The task that
 * unlinks the present entry links the first waiter's in its place, under the same lock,
 * and wakes that waiter alone. So no other task can come in between, and no task wakes
 * in vain.
 *
 * The first waiter in a line also wakes at the end of the present lease, because the
 * worker may come later. The task that makes it the first, or changes the lease, sets
 * its timer. A waiter that leaves the line passes this duty on to the next. Timers are
 * in belt time: a task that moves belt time by hand wakes all sleepers of the belt, and
 * they set their timers anew.
 */
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "belt.h"
#include "compat.h"
#include "evict.h"
#include "lease.h"
#include "shard.h"
#include "waitpoint.h"

/* Granting */

/*
 * The lock or the right to fill of a key that somebody has; @hash has the kind. One
 * whose lease is over goes to the first of those who wait. Under the shard's lock.
 */
struct hashbelt_entry *hb_find_hold(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now)
{
	bool awaited = shard->points;
	struct hashbelt_entry *hold = hb_find_live(shard, hash, key, key_len, now);

	if (hold || !awaited)
		return hold;
	/* It may have been handed over just now, to the last of those who waited. */
	rcu_read_lock();
	hold = hb_index_find(&shard->belt->index, hash, key, key_len);
	rcu_read_unlock();
	return hold;
}

/* Memory for a lock or a right to fill; the holder may be NULL. Context: may sleep. */
struct hashbelt_entry *hb_hold_alloc(struct hashbelt_belt *belt, enum hb_kind kind,
				     struct hb_holder *holder, const void *key,
				     u32 key_len, const void *owner, u32 owner_len)
{
	struct hashbelt_entry *hold;
	struct hb_bond *bond;

	hold = hb_entry_get_memory(belt, kind | HB_TAILED, 0, key_len, owner_len);
	if (IS_ERR(hold))
		return hold;
	hold->hash |= hb_hash(belt, key, key_len);
	memcpy(hold->data, key, key_len);
	memcpy(hashbelt_entry_value(hold), owner, owner_len);
	bond = hb_tail(hold);
	bond->holder = holder;
	return hold;
}

/*
 * Gives somebody a lock or a right that nobody has; under the shard's lock. @hold is
 * the belt's then. Errors as hb_admit().
 */
int hb_grant(struct hb_shard *shard, struct hashbelt_entry *hold, u64 lease, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hb_lease *tail = hb_tail(hold);
	int err;

	tail->since = now;
	err = hb_admit(shard, hold, now + lease, now);
	if (err)
		return err;
	hb_clock_wake_at(&belt->clock, hb_wait(shard, hold, now));
	hb_count(belt, hb_kind(hold) == HB_LOCK ? HASHBELT_STAT_LOCKS : HASHBELT_STAT_FILLS);
	return 0;
}

/* An entry that somebody has leaves the belt; under the shard's lock. */
void hb_give_back(struct hb_shard *shard, struct hashbelt_entry *hold, u64 now)
{
	hb_node_claim(&hold->node, HASHBELT_REMOVED);
	hb_wheel_del(&hold->node);
	hb_leave(shard, hold, now);
}

/* Lines */

/* The line for what @hold is. */
static struct list_head *line_of(struct hb_point *point, const struct hashbelt_entry *hold)
{
	return &point->waiters[hb_kind(hold) - HB_LOCK];
}

/* Wakes the task when its time is over or, if it is the first, at @lease. */
static void arm(struct hb_waiter *waiter, u64 lease)
{
	struct list_head *line = line_of(waiter->point, waiter->hold);
	u64 at = waiter->until;

	if (list_is_first(&waiter->place, line))
		at = min(at, lease);
	hb_clock_arm(&waiter->belt->clock, &waiter->timer, at);
}

/* The first in a line has to look at @lease. */
static void arm_first(struct list_head *line, u64 lease)
{
	struct hb_waiter *first = list_first_entry_or_null(line, struct hb_waiter, place);

	if (first)
		arm(first, lease);
}

static u64 lease_of(const struct hashbelt_entry *hold)
{
	return hold ? hb_deadline(atomic64_read(&hold->node.deadline)) : HB_NEVER;
}

/* A waiter leaves its line, with what has come of it. */
static void leave_line(struct hb_waiter *waiter, int result)
{
	list_del_init(&waiter->place);
	waiter->point = NULL;
	waiter->result = result;
}

/*
 * Gives what @left was to the first of those who wait for it. If there is no room for
 * that one any more it learns that, and it is the next one's turn. Under the
 * shard's lock; @left is out of the index.
 */
void hb_hand_over(struct hb_shard *shard, struct hashbelt_entry *left, u64 now)
{
	struct list_head *line;
	struct hb_waiter *first;
	struct hb_point *point;
	u64 lease = HB_NEVER;
	int err = -ENOENT;

	point = hb_point_find(shard, left->hash & HB_HASH, left->data, left->key_len);
	if (!point)
		return;
	line = line_of(point, left);
	while (err && (first = list_first_entry_or_null(line, struct hb_waiter, place))) {
		err = hb_grant(shard, first->hold, first->lease, now);
		if (!err) {
			first->token = first->hold->version;
			lease = lease_of(first->hold);
			if (hb_kind(first->hold) == HB_LOCK)
				hb_count(shard->belt, HASHBELT_STAT_LOCK_WAITS);
		}
		leave_line(first, err);
		wake_up_process(first->task);
	}
	arm_first(line, lease);
	hb_point_release(shard, point);
}

/* The lease of what somebody has is another one; under the shard's lock. */
void hb_lease_changed(struct hb_shard *shard, struct hashbelt_entry *hold)
{
	struct hb_point *point;

	point = hb_point_find(shard, hold->hash & HB_HASH, hold->data, hold->key_len);
	if (point)
		arm_first(line_of(point, hold), lease_of(hold));
}

/* Those who wait for a key to be filled may look: it was put. Under the shard's lock. */
void hb_filled(struct hb_point *point)
{
	struct list_head *line = &point->waiters[HB_FILL - HB_LOCK];
	struct hb_waiter *waiter, *next;

	list_for_each_entry_safe(waiter, next, line, place) {
		leave_line(waiter, HB_FILLED);
		wake_up_process(waiter->task);
	}
}

/* Goes to the end of the line; under the shard's lock. */
void hb_waiter_line_up(struct hb_waiter *waiter, struct hb_point *point)
{
	waiter->point = point;
	list_add_tail(&waiter->place, line_of(point, waiter->hold));
}

/*
 * Takes what is free, or lines up. @waiter: NULL for not, and then @spare is not
 * needed. Under the shard's lock. Returns 0; -EBUSY: somebody has it; -EINPROGRESS:
 * the waiter is in the line; errors as hb_admit().
 */
int hb_take(struct hb_shard *shard, struct hashbelt_entry *other,
	    struct hashbelt_entry *hold, u64 lease, u64 now, struct hb_waiter *waiter,
	    struct hashbelt_entry **spare)
{
	if (!other)
		return hb_grant(shard, hold, lease, now);
	if (!waiter)
		return -EBUSY;
	hb_waiter_line_up(waiter, hb_point_get(shard, spare));
	return -EINPROGRESS;
}

/* Sleeping */

/* When somebody gives up who waits that long. */
u64 hb_until(struct hashbelt_belt *belt, u64 wait_ms)
{
	if (wait_ms == HASHBELT_TTL_NEVER)
		return HB_NEVER;
	return hb_clock_now(&belt->clock) + wait_ms * NSEC_PER_MSEC;
}

/* What is left of a wait that a signal ends before @until, milliseconds: not 0, "do not wait". */
u64 hb_wait_left(struct hashbelt_belt *belt, u64 until)
{
	u64 now = hb_clock_now(&belt->clock);

	if (until == HB_NEVER)
		return HASHBELT_TTL_NEVER;
	return until > now ? DIV_ROUND_UP_ULL(until - now, NSEC_PER_MSEC) : 1;
}

static enum hrtimer_restart ring(struct hrtimer *timer)
{
	wake_up_process(container_of(timer, struct hb_waiter, timer)->task);
	return HRTIMER_NORESTART;
}

/*
 * Prepares the current task to wait: @hold is what it wants to have, for @lease
 * nanoseconds; it gives up at @until. Ended by hb_waiter_sleep(), or
 * hb_waiter_end() if it does not come to that.
 */
void hb_waiter_init(struct hb_waiter *waiter, struct hashbelt_belt *belt,
		    struct hashbelt_entry *hold, u64 lease, u64 until)
{
	*waiter = (struct hb_waiter){
		.belt = belt, .task = current, .hold = hold, .lease = lease,
		.until = until, .result = HB_WAITING,
	};
	INIT_LIST_HEAD(&waiter->place);
	hb_hrtimer_setup_on_stack(&waiter->timer, ring, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
	spin_lock(&belt->desk.lock);
	list_add_tail(&waiter->asleep, &belt->desk.sleepers);
	spin_unlock(&belt->desk.lock);
}

/* The waiter is in no line. */
void hb_waiter_end(struct hb_waiter *waiter)
{
	spin_lock(&waiter->belt->desk.lock);
	list_del(&waiter->asleep);
	spin_unlock(&waiter->belt->desk.lock);
	hb_timer_cancel(&waiter->timer);
	destroy_hrtimer_on_stack(&waiter->timer);
}

static int reason_to_go(const struct hb_waiter *waiter, u64 now)
{
	if (waiter->belt->dead)
		return -EIDRM;
	if (now >= waiter->until)
		return -ETIMEDOUT;
	return signal_pending(current) ? -EINTR : 0;
}

/* Looks whether there is a reason not to wait any more; under the shard's lock. */
static void look(struct hb_shard *shard, struct hb_waiter *waiter)
{
	struct hashbelt_entry *want = waiter->hold, *hold;
	u64 now = hb_clock_now(&waiter->belt->clock);
	struct hb_point *point;
	int err;

	/* If the lease of that one is over, it is handed over now, to us perhaps. */
	hold = hb_find_hold(shard, want->hash & ~HB_TAILED, want->data, want->key_len, now);
	if (waiter->result != HB_WAITING)
		return;
	err = reason_to_go(waiter, now);
	if (!err) {
		arm(waiter, lease_of(hold));
		return;
	}
	point = waiter->point;
	leave_line(waiter, err);
	arm_first(line_of(point, want), lease_of(hold));
	hb_point_release(shard, point);
}

/*
 * Sleeps until the waiter, which is in a line, has what it wants or a reason to go.
 * Returns its @result.
 */
int hb_waiter_sleep(struct hb_shard *shard, struct hb_waiter *waiter)
{
	int result;

	for (;;) {
		/* A system that suspends lets us sleep on: to wake us would look like a signal. */
		set_current_state(TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		spin_lock(&shard->lock);
		if (waiter->result == HB_WAITING)
			look(shard, waiter);
		result = waiter->result;
		spin_unlock(&shard->lock);
		if (result != HB_WAITING)
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	hb_waiter_end(waiter);
	return result;
}

/* Belt time has been moved, or the belt has ended: all look, and set their timers. */
void hb_sleepers_wake(struct hashbelt_belt *belt)
{
	struct hb_waiter *waiter;

	spin_lock(&belt->desk.lock);
	list_for_each_entry(waiter, &belt->desk.sleepers, asleep)
		wake_up_process(waiter->task);
	spin_unlock(&belt->desk.lock);
}
