// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of a belt, and changing them while it runs: at one moment, after all that may fail.
 * See docs/design.md, "Settings".
 */
#include <linux/math64.h>
#include <linux/sched/signal.h>

#include "belt.h"
#include "mark.h"
#include "reclaim.h"
#include "set.h"
#include "shard.h"
#include "worker.h"

#define POLICY_ALL	(HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT | HASHBELT_EVICT | \
			 HASHBELT_PINNED | HASHBELT_WIPE | HASHBELT_EVICT_DEADLINE)

#define GEOMETRY_FIELDS	(HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS | HASHBELT_SET_GRACE)
#define LIMIT_FIELDS		(HASHBELT_SET_MAX_ENTRIES | HASHBELT_SET_MAX_BYTES | \
				 HASHBELT_SET_MAX_EVENTS)

/* Returns 0, or -EINVAL if one of the settings that @fields names is out of range. */
int hb_check_config(const struct hashbelt_config *config, u32 fields)
{
	const u64 longest = HASHBELT_TTL_MAX_MS * NSEC_PER_MSEC;

	if ((fields & HASHBELT_SET_TTL && config->ttl > longest) ||
	    (fields & HASHBELT_SET_GRACE && config->grace > longest) ||
	    (fields & HASHBELT_SET_BUCKETS && config->buckets &&
	     (config->buckets < HASHBELT_BUCKETS_MIN || config->buckets > HASHBELT_BUCKETS_MAX)) ||
	    (fields & HASHBELT_SET_POLICY && config->policy & ~POLICY_ALL) ||
	    (fields & HASHBELT_SET_HANDLER && config->handler > HASHBELT_REINSERT) ||
	    (fields & HASHBELT_SET_REASONS && config->reasons & ~HASHBELT_REPORT_ALL))
		return -EINVAL;
	return 0;
}

/* Under all shards' locks, the queue's and the usage's. */
static void recount_usage(struct hashbelt_belt *belt)
{
	struct hb_usage *usage = &belt->usage;

	usage->epoch++;
	usage->rooms = 0;
	usage->entries = belt->queue.kept_entries;
	usage->bytes = belt->queue.kept_bytes;
	hb_for_each_shard(shard, belt) {
		usage->entries += shard->live;
		usage->bytes += shard->live_bytes + shard->live * HB_INDEX_SHARE;
	}
}

static u64 limit_of(u64 most)
{
	return most ? min_t(u64, most, S64_MAX) : S64_MAX;
}

/* Under all shards' locks, or while no other task knows the belt. */
void hb_set_limits(struct hashbelt_belt *belt, const struct hashbelt_config *config, u32 fields)
{
	struct hb_usage *usage = &belt->usage;
	struct hb_queue *queue = &belt->queue;

	spin_lock(&queue->lock);
	if (fields & HASHBELT_SET_MAX_EVENTS)
		queue->max_events = config->max_events ?: HASHBELT_EVENTS_DEFAULT;
	if (fields & HASHBELT_SET_MAX_BYTES)
		WRITE_ONCE(queue->max_bytes, limit_of(config->max_bytes));
	spin_lock(&usage->lock);
	if (fields & HASHBELT_SET_MAX_ENTRIES)
		usage->max_entries = limit_of(config->max_entries);
	if (fields & HASHBELT_SET_MAX_BYTES)
		WRITE_ONCE(usage->max_bytes, limit_of(config->max_bytes));
	usage->limited = usage->max_entries != S64_MAX || usage->max_bytes != S64_MAX;
	recount_usage(belt);
	spin_unlock(&usage->lock);
	spin_unlock(&queue->lock);
}

/* Under all shards' locks, or while no other task knows the belt. */
void hb_set_policy(struct hashbelt_belt *belt, u32 policy)
{
	if (policy & HASHBELT_REFRESH_ON_GET)
		/* As below. */
		smp_store_release(&belt->overwrites, false);
	/*
	 * Pairs with smp_rmb() in hb_is_unchanged(): a reader that finds the word changed finds the
	 * version of the last put that overwrote.
	 */
	smp_store_release(&belt->policy, policy);
	WRITE_ONCE(belt->unread, policy & HASHBELT_EVICT && !(policy & HASHBELT_EVICT_DEADLINE));
	WRITE_ONCE(belt->index.remembers, belt->unread);
}

/**
 * struct new_geometry - wheels that are being prepared
 * @geometry:	in the place of the belt that is free; NULL: the present one stays
 * @ttl:	the belt's time-to-live, nanoseconds
 * @grace:	how long entries stay beyond their deadlines, nanoseconds
 */
struct new_geometry {
	struct hb_geometry *geometry;
	u64 ttl;
	u64 grace;
};

static bool is_unloading(struct hashbelt_belt *belt)
{
	hb_for_each_shard(shard, belt)
		if (hb_is_unloading(shard))
			return true;
	return false;
}

/* Nothing has changed yet when this fails. */
static int prepare_geometry(struct hashbelt_belt *belt, const struct hashbelt_config *config,
			    u32 fields, struct new_geometry *to)
{
	u32 buckets = belt->geometry->size[0];
	unsigned int step = 0;
	int err;

	lockdep_assert_held(&belt->set_lock);
	to->ttl = belt->ttl;
	if (fields & HASHBELT_SET_TTL)
		to->ttl = ALIGN(config->ttl ?: HASHBELT_TTL_DEFAULT, HB_GRAIN);
	to->grace = fields & HASHBELT_SET_GRACE ? config->grace : belt->grace;
	if (fields & HASHBELT_SET_BUCKETS)
		buckets = config->buckets ?: HASHBELT_BUCKETS_DEFAULT;
	while (is_unloading(belt)) {
		if (!hb_step_once(belt) || fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	to->geometry = belt->geometry == belt->geometries ? belt->geometries + 1 : belt->geometries;
	hb_geometry_init(to->geometry, to->ttl, buckets, to->grace);
	hb_for_each_shard(shard, belt) {
		do {
			shard->level = hb_level_new(to->geometry, 0, belt->account);
		} while (IS_ERR(shard->level) &&
			 hb_free_memory(belt->account, belt, buckets * sizeof(struct list_head),
					&step));
		err = PTR_ERR_OR_ZERO(shard->level);
		if (!err)
			continue;
		while (--shard >= belt->shards)
			hb_level_free(shard->level, belt->account);
		return err;
	}
	return 0;
}

/* Under all shards' locks. */
static void switch_geometry(struct hashbelt_belt *belt, struct new_geometry *to)
{
	u64 now = hb_clock_now(&belt->clock);

	hb_for_each_shard(shard, belt)
		hb_wheel_set_geometry(&shard->wheel, to->geometry, shard->level, &shard->old, now);
	belt->rotated += div64_u64(now, belt->geometry->width[0]) -
			 div64_u64(belt->geometry_since, belt->geometry->width[0]);
	belt->geometry_since = now;
	belt->geometry = to->geometry;
	WRITE_ONCE(belt->ttl, to->ttl);
	WRITE_ONCE(belt->grace, to->grace);
}

static u64 reach_of(struct hashbelt_belt *belt)
{
	u64 reach = 0;

	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		reach = max(reach, hb_wheel_reach(&shard->wheel));
		spin_unlock(&shard->lock);
	}
	return min_t(u64, reach, HASHBELT_TTL_MAX_MS * NSEC_PER_MSEC);
}

static void set_all(struct hashbelt_belt *belt, const struct hashbelt_config *config,
		    u32 fields, struct new_geometry *to)
{
	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	if (fields & HASHBELT_SET_POLICY) {
		hb_set_policy(belt, config->policy);
		hb_mark_changed(belt);
	}
	if (fields & HASHBELT_SET_HANDLER)
		WRITE_ONCE(belt->handler, config->handler);
	if (fields & HASHBELT_SET_REASONS)
		WRITE_ONCE(belt->reasons, config->reasons ?: HASHBELT_REPORT_DEFAULT);
	if (fields & LIMIT_FIELDS)
		hb_set_limits(belt, config, fields);
	if (to->geometry)
		switch_geometry(belt, to);
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
}

/**
 * hb_set() - change settings of a belt
 * @belt:	the belt
 * @config:	the new settings
 * @fields:	HASHBELT_SET_*: which of them are to be changed; HASHBELT_SET_MODE and
 *		HASHBELT_SET_GID are ignored
 *
 * Context: may sleep. Return: 0; -EINVAL; -ENOMEM, -ENOSPC or -EDQUOT if there is no memory for
 * other buckets; -EINTR if the caller is being killed. Nothing has changed on failure.
 */
int hb_set(struct hashbelt_belt *belt, const struct hashbelt_config *config, u32 fields)
{
	struct new_geometry to = {};
	u64 reach = 0;
	int err = hb_check_config(config, fields);

	if (err)
		return err;
	mutex_lock(&belt->set_lock);
	if (fields & GEOMETRY_FIELDS) {
		reach = reach_of(belt);
		err = prepare_geometry(belt, config, fields, &to);
	}
	if (!err) {
		set_all(belt, config, fields, &to);
		/* So entries of the old wheels are not looked at more often than before. */
		if (to.geometry)
			hb_for_each_shard(shard, belt)
				hb_grow_levels(belt, shard, &shard->wheel, reach);
	}
	mutex_unlock(&belt->set_lock);
	/* For a small belt one batch is all the work; but the worker has to set its alarm. */
	if (!err)
		hb_step_once(belt);
	hb_kick_worker(belt);
	/* Readers that wait for events which are not reported any more find out. */
	wake_up_all(&belt->queue.wait);
	return err;
}
