// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker of a belt.
 *
 * A step is a batch of each kind of work: draining, unloading wheels that were replaced, sweeping,
 * resizing the index, ending waits, and dropping or delivering events. A round makes steps until
 * nothing is due that was due when it began. One task at a time makes rounds, under
 * belt->round_lock: two would keep each other busy with the buckets that fall off meanwhile.
 *
 * - The worker gives way. It takes the lock only if no task holds it or waits for it, because a
 *   task of low priority may hold it for any time, and the worker's thread serves other belts, too.
 *   The task queues the worker again afterwards. A turn of the worker ends after TURN milliseconds;
 *   the belt then goes to the end of its workqueue, which all belts of an account share. Where
 *   much is due, a round ends earlier if another task wants the processor, and the worker pauses
 *   (pace.c), without a lock.
 * - A task that moves belt time (hb_run_rounds()) waits for the lock, and makes a round to its end.
 * - A task that changes the settings (hb_step_once()) makes one step. It competes with the worker
 *   for the lock, so such tasks do not keep the worker from its rounds.
 *
 * If a task is killed while it waits for the lock, the worker does the work.
 *
 * On a belt without an account, a round that finds much due calls helpers: work items that each
 * drain one shard at a time. They run only during the round, which waits for their end.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "belt/belt.h"
#include "belt/events/link.h"
#include "belt/events/queue.h"
#include "belt/ground/trace.h"
#include "belt/ground/usage.h"
#include "belt/room/fit.h"
#include "belt/shard/shard.h"
#include "belt/wait/lease.h"
#include "belt/wait/request.h"
#include "belt/wait/waits.h"
#include "worker.h"

/* Milliseconds for which the worker serves a belt before the user's other belts. */
#define TURN	4

/* Microseconds of a pause in which the worker gives way. */
#define PAUSE	30

/* Nodes that are drained before the worker looks whether it is to give way. */
#define FEW	4

/* Steps that a round makes alone, each with a batch of each shard, before it calls helpers. */
#define STEPS_ALONE	4

/* This is the worker or a helper, and another task waits for its processor. */
static bool is_in_way(const struct hashbelt_belt *belt)
{
	return belt->crew.yields && hb_is_in_way(&belt->pace, belt->crew.pause_from);
}

/*
 * Drains a batch of plain entries, or of fewer if the worker is to give way. Return: the number of
 * those that have expired; *@more: as drain_step() returns it.
 */
static unsigned int drain_plain(struct hb_shard *shard, u64 until, u64 now, unsigned int *more,
				struct hb_drain_result *result)
{
	unsigned int expired = 0, left;
	bool ended;

	for (left = HB_BATCH; left; left -= FEW) {
		ended = !hb_wheel_drain(&shard->wheel, until, now, FEW, result);
		expired += hb_expire_drained(shard, result, now);
		if (ended)
			return expired;
		if (is_in_way(shard->belt)) {
			*more = HB_IN_WAY;
			break;
		}
	}
	*more |= HB_MORE_DUE;
	/* Limbo is to give way as well, until it has freed what is drained now. */
	if (shard->belt->crew.yields)
		hb_pace_begin(&shard->belt->pace);
	return expired;
}

/*
 * Drains a batch of nodes of each of a shard's wheels, from buckets that have fallen off by @until.
 * Return: HB_MORE_DUE if there are more, and HB_IN_WAY.
 */
static unsigned int drain_step(struct hashbelt_belt *belt, struct hb_shard *shard, u64 until)
{
	struct hb_drain_result result = { .expired = LIST_HEAD_INIT(result.expired) };
	unsigned int number = shard - belt->shards, expired, more = 0;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	expired = drain_plain(shard, until, now, &more, &result);
	if (hb_wheel_drain(&shard->leases, until, now, HB_BATCH, &result))
		more |= HB_MORE_DUE;
	expired += hb_expire_drained(shard, &result, now);
	if (result.buckets)
		trace_hashbelt_rotate(belt->id, number, result.buckets, now);
	if (!more)
		WRITE_ONCE(shard->next, hb_shard_next(shard));
	spin_unlock(&shard->lock);
	if (expired || result.cascaded)
		trace_hashbelt_drain(belt->id, number, expired, result.cascaded);

	hb_count_by(belt, HASHBELT_STAT_CASCADED, result.cascaded);
	hb_count_by(belt, HASHBELT_STAT_DRAINED, result.buckets);
	return more;
}

/* Unloads a few buckets of a wheel that was replaced. Return: true if there are more. */
static bool unload_step(struct hb_shard *shard)
{
	struct hb_wheel done = {};
	bool more;

	spin_lock(&shard->lock);
	more = hb_wheel_unload(&shard->old, &shard->wheel, HB_BATCH);
	/* The nodes of the old wheel are due now. */
	WRITE_ONCE(shard->next, 0);
	if (!more) {
		done = shard->old;
		memset(shard->old.level, 0, sizeof(shard->old.level));
	}
	spin_unlock(&shard->lock);
	hb_wheel_destroy(&done);
	return more;
}

static void sweep_one(struct hashbelt_entry *entry, void *arg)
{
	struct hb_shard *shard = arg;

	if (hb_is_cleared(shard->belt, entry))
		hb_take_out(shard, entry, HASHBELT_CLEARED, hb_clock_now(&shard->belt->clock));
}

/* Return: true if the belt still has cleared entries. */
static bool needs_sweep(struct hashbelt_belt *belt)
{
	bool needs = false;

	if (!READ_ONCE(belt->unswept))
		return false;
	/* A later clear sets it again; an earlier one is seen below. */
	WRITE_ONCE(belt->unswept, false);
	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		needs |= shard->count != shard->live + shard->waitpoints;
		spin_unlock(&shard->lock);
	}
	if (needs)
		WRITE_ONCE(belt->unswept, true);
	return needs;
}

/* Takes out the cleared entries of a few chains. Return: true if there may be more. */
static bool sweep_step(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int chains;

	if (!needs_sweep(belt))
		return false;
	for (chains = 0; chains < HB_BATCH; chains++) {
		if (belt->sweep == HB_INDEX_END)
			belt->sweep = 0;
		shard = hb_shard_of(belt, belt->sweep);
		spin_lock(&shard->lock);
		belt->sweep = hb_index_scan(&belt->index, belt->sweep, sweep_one, shard);
		spin_unlock(&shard->lock);
	}
	return true;
}

/*
 * Moves chains of an index that is being resized: as many as a step may drain entries, so that the
 * index grows in time where much is due. Return: true if there are more.
 */
static bool resize_step(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int chains;
	u64 hash;

	for (chains = 0; chains < HB_BATCH << belt->shard_bits; chains++) {
		hash = hb_index_moving(&belt->index);
		if (hash == HB_INDEX_END)
			return false;
		shard = hb_shard_of(belt, hash);
		spin_lock(&shard->lock);
		hb_index_move(&belt->index);
		spin_unlock(&shard->lock);
		if (chains % FEW == FEW - 1 && is_in_way(belt))
			break;
		/* A chain may be long. */
		cond_resched();
	}
	return true;
}

/*
 * A hint: run_rounds() looks again under the shard's lock, and so sees an entry that another task
 * puts there meanwhile. Return: true if a bucket of the shard falls off by @until.
 */
static bool is_due(const struct hb_shard *shard, u64 until)
{
	return READ_ONCE(shard->next) <= until;
}

/*
 * A batch of each shard that has something due. If it gives way before it has come to all shards,
 * the next step begins with the next one. Return: HB_MORE_DUE if there is more, and HB_IN_WAY.
 */
static unsigned int drain_steps(struct hashbelt_belt *belt, u64 until)
{
	unsigned int shards = 1 << belt->shard_bits, more = 0, i;
	struct hb_crew *crew = &belt->crew;

	for (i = 0; i < shards && !(more & HB_IN_WAY); i++) {
		struct hb_shard *shard = &belt->shards[(crew->first + i) % shards];

		if (hb_is_unloading(shard) && unload_step(shard))
			more |= HB_MORE_DUE;
		if (is_due(shard, until))
			more |= drain_step(belt, shard, until);
		if (more && !(more & HB_IN_WAY) && is_in_way(belt))
			more |= HB_IN_WAY;
	}
	if (more & HB_IN_WAY)
		crew->first += i;
	return more;
}

/* A batch of each kind of work but draining. Return: true if there is more. */
static bool work_steps(struct hashbelt_belt *belt)
{
	bool work = sweep_step(belt);

	work |= resize_step(belt);
	hb_for_each_shard(shard, belt) {
		if (!list_empty(&shard->done))
			work |= hb_requests_step(shard);
		if (!list_empty(&shard->unfinished))
			work |= hb_unfinished_step(shard);
	}
	return work | hb_queue_step(belt);
}

/*
 * A batch of each kind of work; buckets fall off up to belt time @until. Takes the locks of shards
 * that have something to do. Return: HB_MORE_DUE and HB_MORE_WORK for the work that is left, and
 * HB_IN_WAY. Under belt->round_lock.
 */
unsigned int hb_step(struct hashbelt_belt *belt, u64 until)
{
	unsigned int more;

	lockdep_assert_held(&belt->round_lock);
	more = drain_steps(belt, until);
	/* Entries that have just been drained may be work. */
	return more | (work_steps(belt) ? HB_MORE_WORK : 0);
}

/* Several tasks drain */

/* A shard that has something due, and that no other task of the crew gets. NULL: none is left. */
static struct hb_shard *next_shard(struct hashbelt_belt *belt)
{
	struct hb_crew *crew = &belt->crew;
	int shards = 1 << belt->shard_bits, next;

	while ((next = atomic_fetch_inc(&crew->next)) < shards)
		if (is_due(&belt->shards[next], crew->until))
			return &belt->shards[next];
	return NULL;
}

/*
 * Drains as many batches as the belt has shards: of *@shard, which this task has got, and then of
 * further ones. Return: false if no shard is left, the time is up, or this task is to give way.
 */
static bool drain_some(struct hashbelt_belt *belt, struct hb_shard **shard)
{
	const struct hb_crew *crew = &belt->crew;
	unsigned int batches = 1 << belt->shard_bits;
	unsigned int more;

	for (; batches && time_before(jiffies, crew->end); batches--) {
		if (!*shard)
			*shard = next_shard(belt);
		if (!*shard)
			return false;
		more = drain_step(belt, *shard, crew->until);
		if (!more)
			*shard = NULL;
		if (more & HB_IN_WAY || is_in_way(belt))
			return false;
		cond_resched();
	}
	return !batches;
}

static void help(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(work, struct hb_helper, work)->belt;
	struct hb_shard *shard = NULL;

	do {
	} while (drain_some(belt, &shard));
}

void hb_crew_init(struct hashbelt_belt *belt)
{
	struct hb_helper *helper = belt->crew.helpers;

	for (; helper < belt->crew.helpers + ARRAY_SIZE(belt->crew.helpers); helper++) {
		INIT_WORK(&helper->work, help);
		helper->belt = belt;
	}
}

/*
 * Helpers that the belt may call. A belt with an account has none: they would take processor time
 * of other users.
 */
static unsigned int count_helpers(const struct hashbelt_belt *belt)
{
	unsigned int shards = 1 << belt->shard_bits;

	return belt->account ? 0 : min3(num_online_cpus(), shards, HB_DRAINERS) - 1;
}

/*
 * Drains with helpers until nothing is due or jiffies reach @end. This task does the other work
 * between its batches. No helper runs any more when this returns. Under belt->round_lock.
 */
static void drain_together(struct hashbelt_belt *belt, u64 until, unsigned long end)
{
	unsigned int helpers = count_helpers(belt), i;
	struct hb_crew *crew = &belt->crew;
	struct hb_shard *shard = NULL;

	atomic_set(&crew->next, 0);
	crew->until = until;
	crew->end = end;
	for (i = 0; i < helpers; i++)
		queue_work(belt->clock.wq, &crew->helpers[i].work);
	while (drain_some(belt, &shard))
		work_steps(belt);
	for (i = 0; i < helpers; i++)
		cancel_work_sync(&crew->helpers[i].work);
}

/*
 * Resizes the index if it is far too large, or still crowded. Return: true if there are chains to
 * be moved now.
 */
static bool fit_index(struct hashbelt_belt *belt)
{
	unsigned int bits = READ_ONCE(belt->index.bits);
	u64 chains = 1ULL << bits, sum;
	u64 demand = hb_index_demand(belt, &sum);

	if (demand <= chains * 3 / 2 && (sum >= chains / 8 || hb_bits_for(belt, demand) >= bits))
		return false;
	return hb_resize(belt, demand);
}

/* Steps that are enough for the work that there is now, draining excepted. */
static u64 steps_ahead(struct hashbelt_belt *belt)
{
	u64 most = hb_index_bytes(&belt->index) / sizeof(struct hlist_head);

	spin_lock(&belt->queue.lock);
	most = max3(most, belt->queue.waiting.count, belt->queue.dropped.count);
	spin_unlock(&belt->queue.lock);
	return most / HB_BATCH + 1;
}

/* One more tick: a part of the present one has passed. */
static unsigned long end_of_turn(void)
{
	return jiffies + msecs_to_jiffies(TURN) + 1;
}

/* @end: jiffies at which the worker's turn ends; NULL for a task, which has no turn. */
static bool must_stop(const unsigned long *end)
{
	return fatal_signal_pending(current) || (end && time_after_eq(jiffies, *end));
}

/* The round is to end before all is done. */
static bool must_break(const struct hashbelt_belt *belt, const unsigned long *end)
{
	return must_stop(end) || is_in_way(belt);
}

/*
 * Drains what is due when the round begins, and then does the other work that there is. Makes at
 * least one step, and stops when must_break() says so. It ends whatever is added meanwhile, by
 * other tasks, by the callback of a module, or by entries that are reinserted for less time than
 * the round takes. Return: that of the last hb_step().
 */
static unsigned int do_round(struct hashbelt_belt *belt, const unsigned long *end)
{
	u64 until = hb_clock_now(&belt->clock), steps = 0;
	unsigned int more;

	do {
		if (++steps > STEPS_ALONE && count_helpers(belt))
			drain_together(belt, until, end ? *end : end_of_turn());
		more = hb_step(belt, until);
		cond_resched();
	} while (more & HB_MORE_DUE && !(more & HB_IN_WAY) && !must_stop(end));
	if (more & HB_MORE_DUE)
		return more;
	for (steps = steps_ahead(belt); more && steps && !must_break(belt, end); steps--) {
		more = hb_step(belt, until);
		cond_resched();
	}
	return more;
}

/*
 * Makes rounds until the index fits or must_break() says so. Sets the alarm for the next bucket.
 * Under belt->round_lock. Return: true if there may be more work.
 */
static bool run_rounds(struct hashbelt_belt *belt, const unsigned long *end)
{
	u64 next = HB_NEVER;
	unsigned int more;
	bool stop;

	hb_clock_reset_alarm(&belt->clock);
	do {
		more = do_round(belt, end);
		stop = more & HB_IN_WAY || must_stop(end);
	} while (!stop && fit_index(belt));
	/* A later round sets the alarm. If this one stopped, the index may not fit. */
	if (more || stop)
		return true;
	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		WRITE_ONCE(shard->next, hb_shard_next(shard));
		next = min(next, shard->next);
		spin_unlock(&shard->lock);
	}
	hb_clock_wake_at(&belt->clock, next);
	return false;
}

static bool try_round(struct hashbelt_belt *belt)
{
	return !atomic_read(&belt->movers) && mutex_trylock(&belt->round_lock);
}

/* For the worker. Return: false if it gives way to a task, whose end_round() queues it again. */
static bool begin_round(struct hashbelt_belt *belt)
{
	if (try_round(belt))
		return true;
	WRITE_ONCE(belt->missed, 1);
	/*
	 * Pairs with the barrier in end_round(): that sees @missed, or no task has the lock or
	 * waits for it.
	 */
	smp_mb();
	return try_round(belt);
}

static void end_round(struct hashbelt_belt *belt)
{
	mutex_unlock(&belt->round_lock);
	/* Pairs with the barrier in begin_round(). */
	smp_mb();
	if (READ_ONCE(belt->missed) && xchg(&belt->missed, 0))
		hb_kick_worker(belt);
}

/*
 * For a task, to which the worker gives way. Return: false if the task is being killed, and the
 * worker does the work.
 */
static bool enter_round(struct hashbelt_belt *belt)
{
	int err;

	atomic_inc(&belt->movers);
	err = mutex_lock_killable(&belt->round_lock);
	atomic_dec(&belt->movers);
	if (err)
		hb_kick_worker(belt);
	return !err;
}

/*
 * Makes one step, for a task that changes the settings: it drains what is due. The worker does not
 * give way. Return: false if the task is being killed, and the worker does the work.
 */
bool hb_step_once(struct hashbelt_belt *belt)
{
	if (mutex_lock_killable(&belt->round_lock)) {
		hb_kick_worker(belt);
		return false;
	}
	hb_step(belt, hb_clock_now(&belt->clock));
	end_round(belt);
	return true;
}

/* Makes rounds to their end, for a task that has moved belt time. Context: may sleep. */
void hb_run_rounds(struct hashbelt_belt *belt)
{
	if (!enter_round(belt))
		return;
	if (run_rounds(belt, NULL))
		hb_kick_worker(belt);
	end_round(belt);
}

/* A part of the worker's turn. Return: true if there is more to do, and no other task does it. */
static bool work_some(struct hashbelt_belt *belt, const unsigned long *end)
{
	bool more;

	if (!begin_round(belt))
		return false;
	belt->crew.yields = true;
	more = run_rounds(belt, end);
	belt->crew.yields = false;
	WRITE_ONCE(belt->pace.busy, more);
	end_round(belt);
	return more;
}

/*
 * A turn of the worker, which goes on after each pause. It is queued again at the end of the turn
 * only: each time this wakes another thread of the workqueue, which would be in the way.
 */
void hb_belt_work(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(work, struct hashbelt_belt, work);
	struct hb_crew *crew = &belt->crew;
	unsigned long end = end_of_turn();
	bool more;

	crew->pause_from = hb_pace_from(crew->owed);
	do {
		more = work_some(belt, &end);
		if (more)
			hb_give_way(&belt->pace, &crew->pause_from, PAUSE);
	} while (more && time_before(jiffies, end));
	crew->owed = hb_pace_owed(crew->pause_from);
	if (more)
		hb_kick_worker(belt);
}
