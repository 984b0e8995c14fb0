// SPDX-License-Identifier: GPL-2.0-only
/*
 * The settings of a belt: taking them from user space and showing them there, and changing them
 * while the belt runs, at one moment, after all that may fail. See docs/design.md, "Settings".
 */
#include <linux/math64.h>
#include <linux/sched/signal.h>

#include "belt/belt.h"
#include "belt/room/reclaim.h"
#include "belt/shard/mark.h"
#include "belt/shard/shard.h"
#include "belt/shard/window.h"
#include "set.h"
#include "worker.h"

#define GEOMETRY_FIELDS	(HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS | HASHBELT_SET_GRACE)
#define LIMIT_FIELDS		(HASHBELT_SET_MAX_ENTRIES | HASHBELT_SET_MAX_BYTES | \
				 HASHBELT_SET_MAX_EVENTS)

static u64 same(u64 value)
{
	return value;
}

static bool any(u64 value)
{
	return true;
}

static u64 ns_of(u64 ms)
{
	return ms <= HASHBELT_TTL_MAX_MS ? ms * NSEC_PER_MSEC : U64_MAX;
}

static u64 ms_of(u64 ns)
{
	return div_u64(ns, NSEC_PER_MSEC);
}

static bool is_time(u64 ns)
{
	return ns <= HASHBELT_TTL_MAX_MS * NSEC_PER_MSEC;
}

static bool is_policy(u64 policy)
{
	return !(policy & ~(u64)HASHBELT_POLICY_ALL);
}

static bool is_handler(u64 handler)
{
	return handler <= HASHBELT_REINSERT;
}

static bool are_reasons(u64 reasons)
{
	return !(reasons & ~(u64)HASHBELT_REPORT_ALL);
}

static bool are_buckets(u64 buckets)
{
	return !buckets || (buckets >= HASHBELT_BUCKETS_MIN && buckets <= HASHBELT_BUCKETS_MAX);
}

static u64 given_ttl(u64 ttl)
{
	return ALIGN(ttl ?: HASHBELT_TTL_DEFAULT, HB_GRAIN);
}

static u64 given_reasons(u64 reasons)
{
	return reasons ?: HASHBELT_REPORT_DEFAULT;
}

static u64 given_buckets(u64 buckets)
{
	return buckets ?: HASHBELT_BUCKETS_DEFAULT;
}

static u64 given_events(u64 most)
{
	return most ?: HASHBELT_EVENTS_DEFAULT;
}

static u64 limit_of(u64 most)
{
	return most < S64_MAX ? most : 0;
}

/* Return: 0, or -EINVAL if one of the settings that @fields names is out of range. */
int hb_check_config(const struct hashbelt_config *config, u32 fields)
{
	bool fits = true;

#define CHECK(member, field, user, taken, may_be, ...)					\
	fits &= !(fields & HASHBELT_SET_##field) || may_be(config->member);
	HB_SETTINGS(CHECK)
#undef CHECK
	return fits ? 0 : -EINVAL;
}

/* The settings that user space passes; hb_check_config() refuses times that are too long. */
struct hashbelt_config hb_config_of(const struct hashbelt_settings *settings)
{
#define TAKE(member, field, user, taken, ...)	.member = taken(settings->user),
	return (struct hashbelt_config){ HB_SETTINGS(TAKE) };
#undef TAKE
}

/* Fills in the settings, as of one moment. */
void hb_info_settings(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	const struct hb_settings *settings = &belt->settings;

	spin_lock(&belt->shards->lock);
	info->interval_ns = belt->geometry->width[0];
#define SHOW(member, field, user, taken, may_be, given, shown, ...)			\
	info->user = shown(settings->member);
	HB_SETTINGS(SHOW)
#undef SHOW
	spin_unlock(&belt->shards->lock);
}

/* Takes over those settings that @fields names, with the default in the place of 0. */
static void take(struct hb_settings *to, const struct hb_settings *from, u32 fields)
{
#define GIVE(member, field, user, taken, may_be, given, ...)				\
	to->member = fields & HASHBELT_SET_##field ? given(from->member) : to->member;
	HB_SETTINGS(GIVE)
#undef GIVE
}

/* Whether a belt with these settings may have their window. Return: 0 or an error. */
int hb_check_window(const struct hb_settings *settings)
{
	if (!settings->window_bytes)
		return 0;
	/* Words of 64 bits are written as a whole, and user space sees what the kernel writes. */
	if (!IS_ENABLED(CONFIG_64BIT))
		return -EOPNOTSUPP;
	/* Copies that readers have made of a page are not wiped. */
	return settings->policy & HASHBELT_WIPE ? -EINVAL : 0;
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

/* Under all shards' locks, or while no other task knows the belt. */
static void set_limits(struct hashbelt_belt *belt)
{
	struct hb_usage *usage = &belt->usage;
	struct hb_queue *queue = &belt->queue;
	u64 bytes = belt->settings.max_bytes ?: S64_MAX;

	spin_lock(&queue->lock);
	queue->max_events = belt->settings.max_events;
	WRITE_ONCE(queue->max_bytes, bytes);
	spin_lock(&usage->lock);
	usage->max_entries = belt->settings.max_entries ?: S64_MAX;
	WRITE_ONCE(usage->max_bytes, bytes);
	usage->limited = usage->max_entries != S64_MAX || bytes != S64_MAX;
	recount_usage(belt);
	spin_unlock(&usage->lock);
	spin_unlock(&queue->lock);
}

/* Under all shards' locks, or while no other task knows the belt. */
static void set_policy(struct hashbelt_belt *belt, u32 policy)
{
	if (policy & HASHBELT_REFRESH_ON_GET) {
		hb_window_set_renews(belt);
		/* Pairs with smp_rmb() in hb_is_unchanged(). */
		smp_store_release(&belt->overwrites, false);
	}
	/*
	 * Pairs with smp_rmb() in hb_is_unchanged(): a reader that finds the word changed finds the
	 * version of the last put that overwrote.
	 */
	smp_store_release(&belt->settings.policy, policy);
	WRITE_ONCE(belt->index.remembers, policy & HASHBELT_EVICT);
}

/* While no other task knows the belt. */
void hb_init_settings(struct hashbelt_belt *belt, const struct hb_settings *settings)
{
	take(&belt->settings, settings, HASHBELT_SET_ALL);
	set_policy(belt, belt->settings.policy);
	set_limits(belt);
}

static bool is_unloading(struct hashbelt_belt *belt)
{
	hb_for_each_shard(shard, belt)
		if (hb_is_unloading(shard))
			return true;
	return false;
}

/*
 * Prepares wheels for the settings. Return: their geometry, in the place of the belt that is free.
 * Nothing has changed yet when this fails.
 */
static struct hb_geometry *prepare_geometry(struct hashbelt_belt *belt,
					    const struct hb_settings *settings)
{
	struct hb_geometry *to = belt->geometries;
	unsigned int step = 0;

	lockdep_assert_held(&belt->set_lock);
	while (is_unloading(belt)) {
		if (!hb_step_once(belt) || fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
		cond_resched();
	}
	if (belt->geometry == to)
		to++;
	hb_geometry_init(to, settings->ttl, settings->buckets, settings->grace);
	hb_for_each_shard(shard, belt) {
		do {
			shard->level = hb_level_new(to, 0, belt->account);
		} while (IS_ERR(shard->level) &&
			 hb_free_memory(belt->account, belt,
					settings->buckets * sizeof(struct list_head), &step));
		if (!IS_ERR(shard->level))
			continue;
		to = ERR_CAST(shard->level);
		while (--shard >= belt->shards)
			hb_level_free(shard->level, belt->account);
		return to;
	}
	return to;
}

/* Under all shards' locks. */
static void switch_geometry(struct hashbelt_belt *belt, struct hb_geometry *to,
			    const struct hb_settings *settings)
{
	u64 now = hb_clock_now(&belt->clock);

	hb_for_each_shard(shard, belt)
		hb_wheel_set_geometry(&shard->wheel, to, shard->level, &shard->old, now);
	belt->rotated += div64_u64(now, belt->geometry->width[0]) -
			 div64_u64(belt->geometry_since, belt->geometry->width[0]);
	belt->geometry_since = now;
	belt->geometry = to;
	belt->settings.buckets = settings->buckets;
	WRITE_ONCE(belt->settings.ttl, settings->ttl);
	WRITE_ONCE(belt->settings.grace, settings->grace);
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

/*
 * @geometry: of the wheels that are prepared; NULL: the present one stays. @window: takes the place
 * of the present one, which is closed.
 */
static void set_all(struct hashbelt_belt *belt, const struct hb_settings *settings, u32 fields,
		    struct hb_geometry *geometry, struct hb_window *window)
{
	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	if (fields & HASHBELT_SET_POLICY) {
		set_policy(belt, settings->policy);
		hb_mark_changed(belt);
	}
#define PLAIN(member)	WRITE_ONCE(belt->settings.member, settings->member);
#define SPECIAL(member)
#define STORE(member, field, user, taken, may_be, given, shown, store)	store(member)
	HB_SETTINGS(STORE)
#undef STORE
#undef SPECIAL
#undef PLAIN
	if (fields & LIMIT_FIELDS)
		set_limits(belt);
	if (geometry)
		switch_geometry(belt, geometry, settings);
	if (fields & HASHBELT_SET_WINDOW) {
		belt->settings.window_bytes = settings->window_bytes;
		hb_window_install(belt, window);
	}
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
}

/* Return: a window for the settings; NULL: they have none; or an error of hb_window_new(). */
static struct hb_window *prepare_window(struct hashbelt_belt *belt,
					const struct hb_settings *settings)
{
	struct hb_window *window = NULL;
	unsigned int step = 0;

	if (!settings->window_bytes)
		return NULL;
	do {
		window = hb_window_new(belt->account, settings->window_bytes);
	} while (IS_ERR(window) &&
		 hb_free_memory(belt->account, belt, settings->window_bytes, &step));
	return window;
}

/* All steps of hb_set() that may fail. Frees what it has prepared if one does. */
static int prepare(struct hashbelt_belt *belt, const struct hb_settings *settings, u32 fields,
		   struct hb_geometry **geometry, struct hb_window **window)
{
	int err = hb_check_window(settings);

	if (!err && fields & HASHBELT_SET_WINDOW) {
		*window = prepare_window(belt, settings);
		err = PTR_ERR_OR_ZERO(*window);
	}
	if (err || !(fields & GEOMETRY_FIELDS))
		return err;
	*geometry = prepare_geometry(belt, settings);
	if (IS_ERR(*geometry) && fields & HASHBELT_SET_WINDOW && *window)
		hb_window_free(*window);
	return PTR_ERR_OR_ZERO(*geometry);
}

/* Return: the present window, closed, with the belt's reference. */
static struct hb_window *close_window(struct hashbelt_belt *belt)
{
	hb_window_close(belt);
	return rcu_dereference_protected(belt->window, lockdep_is_held(&belt->set_lock));
}

/* After set_all(). Frees @before, which may be NULL. */
static void open_window(struct hashbelt_belt *belt, struct hb_window *before)
{
	synchronize_rcu();
	hb_window_open(belt);
	/* hb_kill() may have come before set_all(): then it has closed the window before. */
	if (hb_is_dead(belt))
		hb_window_close(belt);
	if (before)
		hb_window_free(before);
}

/**
 * hb_set() - change settings of a belt
 * @belt:	the belt
 * @config:	the new settings
 * @fields:	HASHBELT_SET_*: which of them are to be changed; HASHBELT_SET_MODE and
 *		HASHBELT_SET_GID are ignored
 *
 * Context: may sleep. Return: 0; -EINVAL; -EOPNOTSUPP for a window on a 32-bit kernel; -ENOMEM,
 * -ENOSPC or -EDQUOT if there is no memory for other buckets or another window; -EINTR if the
 * caller is being killed. Nothing has changed on failure.
 */
int hb_set(struct hashbelt_belt *belt, const struct hashbelt_config *config, u32 fields)
{
	struct hb_window *window = NULL, *before = NULL;
	struct hb_geometry *geometry = NULL;
	struct hb_settings settings;
	bool renewed;
	u64 reach = 0;
	int err = hb_check_config(config, fields);

	if (err)
		return err;
	mutex_lock(&belt->set_lock);
	settings = belt->settings;
	take(&settings, &config->settings, fields);
	renewed = belt->settings.policy & HASHBELT_REFRESH_ON_GET;
	if (settings.window_bytes == belt->settings.window_bytes)
		fields &= ~HASHBELT_SET_WINDOW;
	if (fields & GEOMETRY_FIELDS)
		reach = reach_of(belt);
	err = prepare(belt, &settings, fields, &geometry, &window);
	if (!err) {
		if (fields & HASHBELT_SET_WINDOW)
			before = close_window(belt);
		set_all(belt, &settings, fields, geometry, window);
		if (fields & HASHBELT_SET_WINDOW)
			open_window(belt, before);
		else if (renewed && !(settings.policy & HASHBELT_REFRESH_ON_GET))
			hb_window_clear_renews(belt);
		/* So entries of the old wheels are not looked at more often than before. */
		if (geometry)
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
