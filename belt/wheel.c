// SPDX-License-Identifier: GPL-2.0
/*
 * Hierarchical timing wheels: where an entry waits for its deadline.
 *
 * A wheel is a ring of buckets; a bucket is a list of the nodes whose deadlines
 * fall in one interval. The front wheel (level 0) has the belt's interval, each
 * further level (an overflow wheel) has buckets as wide as the whole level
 * before it, and is made when a deadline first needs it.
 *
 * Buckets are numbered by ticks that count up for ever; tick t stands in slot
 * t % size and falls off at the moment t * width. For level 0 that is the END
 * of its interval, when all of its nodes are due:
 *
 *	tick = deadline / width + 1
 *
 * and for the others it is the BEGINNING, when its nodes must go on to the
 * finer levels:
 *
 *	tick = deadline / width
 *
 * One loop, hb_wheel_drain(), serves expiry, refresh and cascade: the nodes of
 * a bucket that fell off are judged one by one. A deadline that is reached is
 * claimed; one that is ahead (it was refreshed, or it stood on an overflow
 * wheel) puts the node into the bucket of its deadline. Thus a refresh need not
 * touch the wheel: it stores a later deadline, and the drain finds it.
 *
 * A bucket is a queue: with one time-to-live for all, the first in a bucket is
 * the nearest to its deadline, which hb_wheel_nearest() makes use of.
 *
 * Wheels whose measures change start anew, and the old levels are unloaded onto
 * them bucket by bucket: what they held has fallen, and is judged like all else.
 *
 * A bitmap of the slots that may hold something lets the worker find the next
 * one without looking at empty ones. Bits are cleared by the drain and by
 * the search for the first bucket alone, so taking a node off costs nothing but the list.
 *
 * After George Varghese and Tony Lauck, "Hashed and Hierarchical Timing Wheels"
 * (1987); the cascade at drain time after Kafka's SystemTimer.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "clock.h"
#include "memory.h"
#include "wheel.h"

/* A smaller ring would need more levels than HB_LEVELS for the longest ttl. */
#define OVERFLOW_SIZE_MIN	64

/* Finer buckets than this only cost: the coarse clock moves by 1 ms at best. */
#define WIDTH_MIN		NSEC_PER_MSEC

/* Stale bits that may be cleared under the lock in one search. */
#define STALE_MAX		1024

/* Nodes of a bucket among which the nearest is sought, and how often anew. */
#define SAMPLE			16
#define SAMPLES			4

/* Buckets that may be passed over in one search, because what they hold has no grace. */
#define PASSED_MAX		64

/**
 * struct hb_level - one ring of buckets
 * @done:	every tick up to this one has fallen off
 * @width:	nanoseconds that a bucket stands for; constant
 * @size:	number of buckets; constant
 * @slots:	the buckets, in the same allocation, after @map
 * @map:	a bit for each slot that may hold something
 */
struct hb_level {
	u64 done;
	u64 width;
	u32 size;
	struct list_head *slots;
	unsigned long map[];
};

static size_t map_size(u32 size)
{
	return BITS_TO_LONGS(size) * sizeof(long);
}

static size_t level_size(u32 size)
{
	return sizeof(struct hb_level) + map_size(size) +
	       size * sizeof(struct list_head);
}

/**
 * hb_geometry_init() - measure the wheels for a belt
 * @geometry:	the measures
 * @ttl:	the belt's time-to-live, nanoseconds, at least one
 * @buckets:	buckets of the front wheel, at least 2
 *
 * The front wheel reaches just as far as @ttl: interval = ttl / (buckets - 1).
 */
void hb_geometry_init(struct hb_geometry *geometry, u64 ttl, u32 buckets)
{
	u32 overflow = max_t(u32, buckets, OVERFLOW_SIZE_MIN);
	u64 width = div64_u64(ttl + buckets - 2, buckets - 1);
	unsigned int i;

	geometry->grace = 0;
	geometry->has_grace = NULL;
	width = max_t(u64, width, WIDTH_MIN);
	for (i = 0; i < HB_LEVELS; i++) {
		geometry->width[i] = width;
		geometry->size[i] = i ? overflow : buckets;
		geometry->levels = i + 1;
		if (width >= div64_u64(HB_TIME_MAX, geometry->size[i]))
			break;
		width *= geometry->size[i];
	}
}

/**
 * hb_geometry_set_grace() - let nodes stay beyond their deadline
 * @geometry:	the measures
 * @grace:	for how long, nanoseconds
 * @has_grace:	which nodes
 */
void hb_geometry_set_grace(struct hb_geometry *geometry, u64 grace,
			   bool (*has_grace)(const struct hb_node *node))
{
	geometry->grace = grace;
	geometry->has_grace = grace ? has_grace : NULL;
}

/* When a node with this deadline is to be judged. */
static u64 due_at(const struct hb_geometry *geometry, const struct hb_node *node, u64 deadline)
{
	if (likely(!geometry->grace) || deadline == HB_NEVER || !geometry->has_grace(node))
		return deadline;
	return deadline + geometry->grace;
}

/**
 * hb_level_new() - make one level
 * @geometry:	the belt's measures
 * @number:	which
 * @account:	whom to charge, or NULL
 *
 * Context: may sleep. Return: the level, owned by the caller; errors as
 * hb_zalloc().
 */
struct hb_level *hb_level_new(const struct hb_geometry *geometry, unsigned int number,
			      struct hb_account *account)
{
	u32 size = geometry->size[number], slot;
	struct hb_level *level = hb_zalloc(account, level_size(size));

	if (IS_ERR(level))
		return level;
	level->width = geometry->width[number];
	level->size = size;
	level->slots = (void *)level->map + map_size(size);
	for (slot = 0; slot < size; slot++)
		INIT_LIST_HEAD(&level->slots[slot]);
	return level;
}

/**
 * hb_level_free() - free one level
 * @level:	the level, or NULL
 * @account:	who was charged
 *
 * Context: may sleep.
 */
void hb_level_free(struct hb_level *level, struct hb_account *account)
{
	if (level)
		hb_free(account, level, level_size(level->size));
}

/**
 * hb_wheel_init() - make a wheel with its front level
 * @wheel:	the wheel
 * @geometry:	the belt's measures, which must outlive it
 * @account:	whom to charge for the levels, or NULL; outlives it as well
 *
 * Context: may sleep. Return: 0; errors as hb_zalloc().
 */
int hb_wheel_init(struct hb_wheel *wheel, const struct hb_geometry *geometry,
		  struct hb_account *account)
{
	struct hb_level *level = hb_level_new(geometry, 0, account);

	memset(wheel, 0, sizeof(*wheel));
	INIT_LIST_HEAD(&wheel->due);
	INIT_LIST_HEAD(&wheel->permanent);
	wheel->geometry = geometry;
	wheel->account = account;
	if (IS_ERR(level))
		return PTR_ERR(level);
	wheel->level[0] = level;
	return 0;
}

/**
 * hb_wheel_destroy() - free all levels; nodes on them are forgotten
 * @wheel:	the wheel; may be zeroed memory
 *
 * Context: may sleep.
 */
void hb_wheel_destroy(struct hb_wheel *wheel)
{
	unsigned int i;

	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++)
		hb_level_free(wheel->level[i], wheel->account);
}

/* The tick at whose fall a node with this deadline must be judged. */
static u64 tick_of(const struct hb_geometry *geometry, unsigned int number, u64 deadline)
{
	return div64_u64(deadline, geometry->width[number]) + !number;
}

/**
 * hb_wheel_wants() - which level a deadline needs that is not made yet
 * @wheel:	the wheel
 * @now:	belt time
 * @deadline:	belt time, HB_NEVER needs none
 *
 * Context: the shard's lock.
 *
 * Return: the number of the next level to make, 0 for none.
 */
unsigned int hb_wheel_wants(const struct hb_wheel *wheel, u64 now, u64 deadline)
{
	const struct hb_geometry *geometry = wheel->geometry;
	unsigned int i;

	if (deadline == HB_NEVER)
		return 0;
	for (i = 0; i < geometry->levels; i++) {
		if (!wheel->level[i])
			return i;
		if (deadline <= now + geometry->width[i] * (geometry->size[i] - 1))
			return 0;
	}
	return 0;
}

/**
 * hb_wheel_reach() - how far ahead the levels reach that have been made
 * @wheel:	the wheel
 *
 * Context: the shard's lock. Return: nanoseconds.
 */
u64 hb_wheel_reach(const struct hb_wheel *wheel)
{
	unsigned int i = 0;

	while (i + 1 < HB_LEVELS && wheel->level[i + 1])
		i++;
	return wheel->level[i]->width * (wheel->level[i]->size - 1);
}

/**
 * hb_wheel_grow() - add a level
 * @wheel:	the wheel
 * @number:	which; the levels before it are there
 * @level:	from hb_level_new(); set to NULL if it was taken, left to the
 *		caller if somebody else was faster, or changed the measures
 * @now:	belt time
 *
 * Context: the shard's lock.
 */
void hb_wheel_grow(struct hb_wheel *wheel, unsigned int number,
		   struct hb_level **level, u64 now)
{
	const struct hb_geometry *geometry = wheel->geometry;

	if (!wheel->level[number - 1] || wheel->level[number] ||
	    (*level)->width != geometry->width[number] ||
	    (*level)->size != geometry->size[number])
		return;
	(*level)->done = div64_u64(now, (*level)->width);
	wheel->level[number] = *level;
	*level = NULL;
}

static u32 slot_of(u64 tick, u32 size)
{
	u32 slot;

	div_u64_rem(tick, size, &slot);
	return slot;
}

/* The first tick from @from to @to whose slot may hold something, or @to + 1. */
static u64 first_tick(const struct hb_level *level, u32 size, u64 from, u64 to)
{
	u32 start, end, bit;

	if (from > to)
		return to + 1;
	start = slot_of(from, size);
	end = start + min_t(u64, to - from + 1, size);
	bit = find_next_bit(level->map, min(end, size), start);
	if (bit < min(end, size))
		return from + (bit - start);
	if (end > size) {
		bit = find_next_bit(level->map, end - size, 0);
		if (bit < end - size)
			return from + (size - start) + bit;
	}
	return to + 1;
}

/* Lets the empty buckets up to tick @reached fall off. */
static void catch_up(struct hb_level *level, u32 size, u64 reached)
{
	u64 to = min(reached, level->done + size);
	u64 tick = first_tick(level, size, level->done + 1, to);

	level->done = tick > to ? reached : tick - 1;
}

/* Puts a node into the bucket of a tick; returns when that bucket falls off. */
static u64 enter(struct hb_wheel *wheel, unsigned int number, u64 tick,
		 struct hb_node *node)
{
	struct hb_level *level = wheel->level[number];
	u32 slot = slot_of(tick, wheel->geometry->size[number]);

	list_add_tail(&node->slot, &level->slots[slot]);
	__set_bit(slot, level->map);
	return tick * wheel->geometry->width[number];
}

/**
 * hb_wheel_add() - put a node into the bucket of its deadline
 * @wheel:	the wheel
 * @node:	a node that is on no wheel; one that never expires goes beside it
 * @now:	belt time
 *
 * Cannot fail: where a level that the deadline needs is missing, the node goes
 * as far as the levels reach, and on from there when its bucket falls off.
 *
 * Context: the shard's lock.
 *
 * Return: when the bucket falls off, or HB_NEVER.
 */
u64 hb_wheel_add(struct hb_wheel *wheel, struct hb_node *node, u64 now)
{
	const struct hb_geometry *geometry = wheel->geometry;
	u64 deadline = due_at(geometry, node, hb_node_deadline(node));
	u64 reached, tick;
	unsigned int i;

	if (deadline == HB_NEVER) {
		list_add_tail(&node->slot, &wheel->permanent);
		return HB_NEVER;
	}
	for (i = 0; ; i++) {
		struct hb_level *level = wheel->level[i];
		u32 size = geometry->size[i];

		/* @now may have been read before the last drain. */
		reached = max(div64_u64(now, geometry->width[i]), level->done);
		tick = max(tick_of(geometry, i, deadline), reached + 1);
		if (tick > level->done + size)
			catch_up(level, size, reached);
		if (tick <= reached + size)
			return enter(wheel, i, tick, node);
		if (i + 1 == geometry->levels || !wheel->level[i + 1])
			return enter(wheel, i, reached + size, node);
	}
}

/*
 * A ring that is behind by more than its length: each of its buckets stands for many ticks,
 * but needs to fall off for one of them only. From the same bucket on, for the order's sake.
 */
static void skip_laps(struct hb_level *level, u32 size, u64 reached)
{
	u64 laps = div_u64(reached - level->done, size);

	if (unlikely(laps > 1))
		level->done += (laps - 1) * size;
}

/* Takes one bucket off the belt, the first that is due at a moment; false if none is. */
static bool rotate(struct hb_wheel *wheel, u64 until)
{
	const struct hb_geometry *geometry = wheel->geometry;
	unsigned int i;

	for (i = 0; i < geometry->levels && wheel->level[i]; i++) {
		struct hb_level *level = wheel->level[i];
		u32 size = geometry->size[i];
		u64 reached = div64_u64(until, geometry->width[i]);
		u32 slot;

		if (level->done >= reached)
			continue;
		skip_laps(level, size, reached);
		catch_up(level, size, reached);
		if (level->done == reached)
			continue;
		slot = slot_of(++level->done, size);
		__clear_bit(slot, level->map);
		list_splice_tail_init(&level->slots[slot], &wheel->due);
		return true;
	}
	return false;
}

/* Whether a node is due, and then claimed. It may be sealed, and have a grace time. */
static bool claim_due(const struct hb_geometry *geometry, struct hb_node *node, u64 now)
{
	if (unlikely(geometry->grace) &&
	    due_at(geometry, node, hb_node_deadline(node)) > now)
		return false;
	return hb_node_claim_due(node, now);
}

/* What the whole design turns on: ahead - back on the wheel; reached - claimed. */
static void expire_or_requeue(struct hb_wheel *wheel, struct hb_node *node, u64 now,
			      struct hb_drain_result *result)
{
	hb_wheel_del(node);
	if (claim_due(wheel->geometry, node, now)) {
		list_add_tail(&node->slot, &result->expired);
	} else {
		hb_wheel_add(wheel, node, now);
		result->cascaded++;
	}
}

/**
 * hb_wheel_drain() - judge the nodes of the buckets that have fallen off
 * @wheel:	the wheel
 * @until:	belt time up to which buckets fall off, not after @now; 0: no more do
 * @now:	belt time
 * @budget:	most nodes and empty buckets to look at before the lock should be
 *		given up
 * @result:	what came of it, initialised by the caller
 *
 * What is put back is ahead of @now. So with one @until there is an end to it, however
 * short the lives are.
 *
 * Context: the shard's lock. What was not judged yet stays on the wheel.
 *
 * Return: true if there is more to do.
 */
bool hb_wheel_drain(struct hb_wheel *wheel, u64 until, u64 now, unsigned int budget,
		    struct hb_drain_result *result)
{
	while (budget--) {
		if (list_empty(&wheel->due)) {
			if (!rotate(wheel, until))
				return false;
			result->buckets++;
		} else {
			expire_or_requeue(wheel, list_first_entry(&wheel->due,
								  struct hb_node, slot),
					  now, result);
		}
	}
	return true;
}

/* The first tick from @tick on of a bucket that holds something; 0: there is none. */
static u64 level_from(struct hb_level *level, u64 tick)
{
	u64 last = level->done + level->size;
	unsigned int stale = STALE_MAX;

	for (;;) {
		u32 slot;

		tick = first_tick(level, level->size, tick, last);
		if (tick > last)
			return 0;
		slot = slot_of(tick, level->size);
		if (!list_empty(&level->slots[slot]) || !--stale)
			return tick;
		__clear_bit(slot, level->map);
	}
}

static u64 level_first(struct hb_level *level)
{
	return level_from(level, level->done + 1);
}

/**
 * hb_wheel_next() - when the worker has to look again
 * @wheel:	the wheel
 *
 * Context: the shard's lock.
 *
 * Return: belt time at which the first bucket that holds something falls off
 * (0: it has fallen and is not judged yet), HB_NEVER if nothing waits.
 */
u64 hb_wheel_next(struct hb_wheel *wheel)
{
	u64 next = HB_NEVER, tick;
	unsigned int i;

	if (!list_empty(&wheel->due))
		return 0;
	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++) {
		tick = level_first(wheel->level[i]);
		if (tick)
			next = min(next, tick * wheel->level[i]->width);
	}
	return next;
}

/* Whether a node has no grace time where others have: its bucket is in another order. */
static bool lacks_grace(const struct hb_geometry *geometry, const struct hb_node *node)
{
	return unlikely(geometry->grace) && !geometry->has_grace(node);
}

/*
 * The earliest deadline among the first nodes of a bucket, but for odd ones unless @no_grace;
 * NULL: there is none.
 */
static struct hb_node *sample(const struct hb_geometry *geometry, struct list_head *bucket,
			      bool no_grace)
{
	struct hb_node *node, *best = NULL;
	unsigned int left = SAMPLE;
	u64 deadline, least = U64_MAX;

	list_for_each_entry(node, bucket, slot) {
		deadline = hb_node_deadline(node);
		if (deadline < least && lacks_grace(geometry, node) <= no_grace) {
			least = deadline;
			best = node;
		}
		if (!--left)
			break;
	}
	return best;
}

/* Puts the first nodes of a bucket where they belong: they have been refreshed. */
static void relocate(struct hb_wheel *wheel, struct list_head *bucket, u64 now)
{
	struct hb_node *node, *next;
	unsigned int left = SAMPLE;

	list_for_each_entry_safe(node, next, bucket, slot) {
		hb_wheel_del(node);
		hb_wheel_add(wheel, node, now);
		if (!--left)
			break;
	}
}

/* The nearest node among what has fallen. */
static struct hb_node *due_nearest(struct hb_wheel *wheel, u64 now, bool no_grace)
{
	unsigned int samples = SAMPLES;
	struct hb_node *node;

	for (;;) {
		node = sample(wheel->geometry, &wheel->due, no_grace);
		if (!node || !samples-- ||
		    hb_node_deadline(node) <= now)
			return node;
		relocate(wheel, &wheel->due, now);
	}
}

/* The nearest node of a level. Buckets with none but odd ones are passed over. */
static struct hb_node *level_nearest(struct hb_wheel *wheel, unsigned int number, u64 now,
				     bool no_grace)
{
	struct hb_level *level = wheel->level[number];
	unsigned int samples = SAMPLES, passed = PASSED_MAX;
	u64 tick = level_first(level), due;
	struct list_head *bucket;
	struct hb_node *node;

	while (tick) {
		bucket = &level->slots[slot_of(tick, level->size)];
		node = sample(wheel->geometry, bucket, no_grace);
		if (!node) {
			tick = passed-- ? level_from(level, tick + 1) : 0;
			continue;
		}
		due = due_at(wheel->geometry, node, hb_node_deadline(node));
		if (!samples-- || due < (tick + !!number) * level->width)
			return node;
		relocate(wheel, bucket, now);
		tick = level_first(level);
	}
	return NULL;
}

static struct hb_node *nearer(struct hb_node *a, struct hb_node *b)
{
	if (!a || !b)
		return a ?: b;
	return hb_node_deadline(b) < hb_node_deadline(a) ? b : a;
}

/* The nearest node of all that expire. */
static struct hb_node *nearest(struct hb_wheel *wheel, u64 now, bool no_grace)
{
	struct hb_node *best = due_nearest(wheel, now, no_grace);
	unsigned int i;

	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++)
		best = nearer(best, level_nearest(wheel, i, now, no_grace));
	return best;
}

/**
 * hb_wheel_nearest() - find the node nearest to its deadline
 * @wheel:	the wheel
 * @now:	belt time
 *
 * Looks at the first nodes of the first bucket of each level that holds
 * something. That is exact for buckets of up to 16 nodes, and wherever nodes
 * were added in the order of their deadlines. Nodes that were refreshed are put
 * where they belong on the way. Those that never expire are the last. Where some have
 * a grace time, those that have none come after them, for the buckets are in the order
 * in which nodes are due.
 *
 * Context: the shard's lock. Return: the node, or NULL if there is none at all.
 */
struct hb_node *hb_wheel_nearest(struct hb_wheel *wheel, u64 now)
{
	struct hb_node *best = nearest(wheel, now, false);

	if (!best && wheel->geometry->grace)
		best = nearest(wheel, now, true);
	return best ?: list_first_entry_or_null(&wheel->permanent, struct hb_node, slot);
}

/**
 * hb_wheel_set_geometry() - give a wheel other measures
 * @wheel:	the wheel
 * @geometry:	the measures, which must outlive it
 * @level:	its new front level, from hb_level_new()
 * @old:	an empty wheel, which gets the old levels with what is on them
 * @now:	belt time
 *
 * Context: the shard's lock.
 */
void hb_wheel_set_geometry(struct hb_wheel *wheel, const struct hb_geometry *geometry,
			   struct hb_level *level, struct hb_wheel *old, u64 now)
{
	old->geometry = wheel->geometry;
	old->account = wheel->account;
	memcpy(old->level, wheel->level, sizeof(old->level));
	memset(wheel->level, 0, sizeof(wheel->level));
	wheel->geometry = geometry;
	wheel->level[0] = level;
	level->done = div64_u64(now, level->width);
}

/**
 * hb_wheel_unload() - take the nodes off the levels of a wheel that was replaced
 * @old:	from hb_wheel_set_geometry()
 * @wheel:	where they are to be judged
 * @budget:	most buckets to take before the lock should be given up
 *
 * Context: the shard's lock. Return: true if there is more to do.
 */
bool hb_wheel_unload(struct hb_wheel *old, struct hb_wheel *wheel, unsigned int budget)
{
	unsigned int i;
	u32 slot;

	for (i = 0; i < HB_LEVELS && old->level[i]; i++) {
		struct hb_level *level = old->level[i];

		for (;;) {
			slot = find_first_bit(level->map, level->size);
			if (slot >= level->size)
				break;
			if (!budget--)
				return true;
			__clear_bit(slot, level->map);
			list_splice_tail_init(&level->slots[slot], &wheel->due);
		}
	}
	/* What looked for the nearest there meanwhile may have put some aside. */
	list_splice_tail_init(&old->permanent, &wheel->permanent);
	return false;
}

/**
 * hb_wheel_levels() - how many levels have been made
 * @wheel:	the wheel
 * @bytes:	the memory that they take is added to this
 *
 * Context: the shard's lock. Return: their number.
 */
unsigned int hb_wheel_levels(const struct hb_wheel *wheel, u64 *bytes)
{
	unsigned int i;

	for (i = 0; i < HB_LEVELS && wheel->level[i]; i++)
		*bytes += level_size(wheel->level[i]->size);
	return i;
}
