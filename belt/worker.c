// SPDX-License-Identifier: GPL-2.0
/*
 * What is done to a belt as a whole, and later: clearing, draining, handing out
 * events, sweeping, resizing; and moving its time.
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/sched/signal.h>

#include "belt.h"
#include "lease.h"
#include "link.h"
#include "queue.h"
#include "request.h"
#include "shard.h"
#include "trace.h"
#include "usage.h"
#include "worker.h"

/* Nothing that is in the belt now is there any more; @dead: nor will it be. */
static void clear(struct hashbelt_belt *belt, bool dead)
{
	u64 versions = 0, cleared = 0, bytes = 0;
	struct hb_shard *shard;

	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		versions = max(versions, shard->versions);
	WRITE_ONCE(belt->floor, ((versions + 1) << belt->shard_bits) - 1);
	WRITE_ONCE(belt->dead, belt->dead || dead);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		shard->versions = versions;
		cleared += shard->live;
		bytes += shard->live_bytes;
		shard->live = 0;
		shard->live_bytes = 0;
		shard->locks = 0;
		shard->requests = 0;
	}
	hb_usage_change(belt, -cleared, -(bytes + cleared * HB_INDEX_SHARE));
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
	hb_count_by(belt, HASHBELT_STAT_CLEARED, cleared);
	hb_kick_worker(belt);
}

/**
 * hashbelt_clear() - drop all entries
 * @belt:	the belt
 *
 * Readers see it at once and as one act; memory, and events where the belt
 * reports them, follow in batches. Events that wait already stay.
 *
 * Context: may sleep.
 */
void hashbelt_clear(struct hashbelt_belt *belt)
{
	clear(belt, false);
}
EXPORT_SYMBOL_GPL(hashbelt_clear);

/**
 * hashbelt_kill() - end the use of a belt that others still hold
 * @belt:	the belt
 *
 * Its entries and events are gone, and every later call on it returns -EIDRM. Context:
 * may sleep.
 */
void hashbelt_kill(struct hashbelt_belt *belt)
{
	clear(belt, true);
	wake_up_all(&belt->queue.wait);
	hb_sleepers_wake(belt);
	hb_clients_wake(belt);
	/* Nobody can read them any more. */
	while (hb_event_drop_oldest(belt))
		cond_resched();
}

/* Judges a batch of a shard's nodes that fell off by a moment. True if there are more. */
static bool drain_step(struct hashbelt_belt *belt, struct hb_shard *shard, u64 until)
{
	struct hb_drain_result result = { .expired = LIST_HEAD_INIT(result.expired) };
	struct hashbelt_entry *entry, *next;
	unsigned int number = shard - belt->shards, expired = 0;
	bool more;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	more = hb_wheel_drain(&shard->wheel, until, now, HB_BATCH, &result);
	if (result.buckets)
		trace_hashbelt_rotate(belt->id, number, result.buckets, now);
	list_for_each_entry_safe(entry, next, &result.expired, node.slot) {
		/* Limbo and the queue have uses of their own for the words. */
		hb_wheel_del(&entry->node);
		hb_expire(shard, entry, now);
		expired++;
	}
	spin_unlock(&shard->lock);
	if (expired || result.cascaded)
		trace_hashbelt_drain(belt->id, number, expired, result.cascaded);

	hb_count_by(belt, HASHBELT_STAT_CASCADED, result.cascaded);
	hb_count_by(belt, HASHBELT_STAT_DRAINED, result.buckets);
	return more;
}

/* Unloads a few buckets of a wheel that has been replaced. True if there are more. */
static bool unload_step(struct hb_shard *shard)
{
	struct hb_wheel done = {};
	bool more;

	spin_lock(&shard->lock);
	more = hb_wheel_unload(&shard->old, &shard->wheel, HB_BATCH);
	if (!more) {
		done.account = shard->old.account;
		memcpy(done.level, shard->old.level, sizeof(done.level));
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
		hb_take_out(shard, entry, HASHBELT_CLEARED,
			    hb_clock_now(&shard->belt->clock));
}

static bool needs_sweep(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	bool needs = false;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		needs |= shard->count != shard->live + shard->points;
		spin_unlock(&shard->lock);
	}
	return needs;
}

/* Discards what was cleared in a few chains. Returns true if there is more. */
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

/* Moves a few chains of an index that is being resized. True if there are more. */
static bool resize_step(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int chains;
	u64 hash;

	for (chains = 0; chains < HB_BATCH; chains++) {
		hash = hb_index_moving(&belt->index);
		if (hash == HB_INDEX_END)
			return false;
		shard = hb_shard_of(belt, hash);
		spin_lock(&shard->lock);
		hb_index_move(&belt->index);
		spin_unlock(&shard->lock);
		/* A chain may be long. */
		cond_resched();
	}
	return true;
}

/*
 * A batch of everything that is to be done later; buckets fall off up to belt time @until.
 * HB_MORE_DUE and HB_MORE_WORK for what there is more of. Under belt->round_lock.
 */
unsigned int hb_step(struct hashbelt_belt *belt, u64 until)
{
	bool due = false, work;
	struct hb_shard *shard;

	lockdep_assert_held(&belt->round_lock);
	work = sweep_step(belt);
	work |= resize_step(belt);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		if (hb_is_unloading(shard))
			due |= unload_step(shard);
		due |= drain_step(belt, shard, until);
		if (!list_empty(&shard->done))
			hb_requests_step(shard);
	}
	work |= hb_queue_step(belt);
	return (due ? HB_MORE_DUE : 0) | (work ? HB_MORE_WORK : 0);
}

/*
 * Gives the index another size if it is far too large, or crowded still.
 * Returns true if there are chains to be moved now.
 */
static bool fit_index(struct hashbelt_belt *belt)
{
	u64 entries = hb_count_entries(belt);
	u64 chains = 1ULL << READ_ONCE(belt->index.bits);

	if (entries >= chains / 8 && entries <= chains * 3 / 2)
		return false;
	return hb_resize(belt, entries);
}

/* Steps in which what there is to do besides draining is done, whatever is added to it. */
static u64 steps_ahead(struct hashbelt_belt *belt)
{
	u64 most = hb_index_bytes(&belt->index) / sizeof(struct hlist_head);

	spin_lock(&belt->queue.lock);
	most = max3(most, belt->queue.waiting.count, belt->queue.dropped.count);
	spin_unlock(&belt->queue.lock);
	return most / HB_BATCH + 1;
}

/*
 * All that is due when this begins, and all other work that there is after that. There is
 * an end to it, whatever is added meanwhile: by others, by entries that come back and live
 * for less time than this takes, or by what the module does that is told of them. True if
 * there is more.
 */
static bool do_round(struct hashbelt_belt *belt)
{
	u64 until = hb_clock_now(&belt->clock), steps;
	unsigned int more;

	do {
		more = hb_step(belt, until);
		cond_resched();
	} while (more & HB_MORE_DUE && !fatal_signal_pending(current));
	for (steps = steps_ahead(belt); more && steps; steps--) {
		if (fatal_signal_pending(current))
			break;
		more = hb_step(belt, until);
		cond_resched();
	}
	return more;
}

/* Does what is due now, and sets the alarm for the next bucket; under belt->round_lock. */
static void run_rounds(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	u64 next = HB_NEVER;
	bool more;

	hb_clock_reset_alarm(&belt->clock);
	do {
		more = do_round(belt);
	} while (!fatal_signal_pending(current) && fit_index(belt));
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		next = min(next, hb_wheel_next(&shard->wheel));
		spin_unlock(&shard->lock);
	}
	hb_clock_wake_at(&belt->clock, next);
	if (more)
		hb_kick_worker(belt);
}

static bool try_round(struct hashbelt_belt *belt)
{
	return !atomic_read(&belt->movers) && mutex_trylock(&belt->round_lock);
}

/*
 * Rounds are made one at a time: two would keep each other busy with the buckets that they let
 * fall. The worker gives way to tasks that do the same work. It does not wait for them, because
 * a task of low priority may hold the round for any time, and the worker serves other belts, too.
 * end_round() queues the worker again.
 */
static bool begin_round(struct hashbelt_belt *belt)
{
	if (try_round(belt))
		return true;
	WRITE_ONCE(belt->missed, 1);
	/* Pairs with that in end_round(): it sees this, or there is nobody any more. */
	smp_mb();
	return try_round(belt);
}

static void end_round(struct hashbelt_belt *belt)
{
	mutex_unlock(&belt->round_lock);
	/* Pairs with that in begin_round(). */
	smp_mb();
	if (READ_ONCE(belt->missed) && xchg(&belt->missed, 0))
		hb_kick_worker(belt);
}

/*
 * The same for a task, to which the worker gives way. False: it is being killed, and the
 * worker does what there is to do.
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

/* A batch, for a task that changes the settings; false as enter_round(). */
bool hb_step_once(struct hashbelt_belt *belt)
{
	if (!enter_round(belt))
		return false;
	hb_step(belt, 0);
	end_round(belt);
	return true;
}

void hb_belt_work(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(work, struct hashbelt_belt, work);

	if (!begin_round(belt))
		return;
	run_rounds(belt);
	end_round(belt);
}

/**
 * hashbelt_halt() - stop belt time: nothing expires until hashbelt_resume()
 * @belt:	the belt
 */
void hashbelt_halt(struct hashbelt_belt *belt)
{
	hb_clock_halt(&belt->clock);
	hb_sleepers_wake(belt);
}
EXPORT_SYMBOL_GPL(hashbelt_halt);

/**
 * hashbelt_resume() - let belt time go on from where it stood
 * @belt:	the belt
 */
void hashbelt_resume(struct hashbelt_belt *belt)
{
	hb_clock_resume(&belt->clock);
	hb_sleepers_wake(belt);
}

/**
 * hashbelt_advance() - move belt time on, halted or not
 * @belt:	the belt
 * @by:		nanoseconds
 *
 * When it returns, all buckets that fell off by this have been drained, and their
 * expired entries are queued as events or freed, or the module that made the
 * belt has been told (unless the caller is being killed: then the worker does the
 * rest).
 *
 * Context: may sleep. Return: 0, or -EOVERFLOW if belt time would leave its
 * range of some 146 years.
 */
int hashbelt_advance(struct hashbelt_belt *belt, u64 by)
{
	int err = hb_clock_advance(&belt->clock, by);

	if (err)
		return err;
	hb_sleepers_wake(belt);
	if (enter_round(belt)) {
		run_rounds(belt);
		end_round(belt);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_advance);

/**
 * hashbelt_rotate() - move belt time on by one interval
 * @belt:	the belt
 *
 * Context: may sleep. Return: as hashbelt_advance().
 */
int hashbelt_rotate(struct hashbelt_belt *belt)
{
	return hashbelt_advance(belt, hb_interval(belt));
}
