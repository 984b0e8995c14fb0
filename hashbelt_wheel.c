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
 * A bitmap of the slots that may hold something lets the worker find the next
 * one without looking at empty ones. Bits are cleared by the drain and by
 * hb_wheel_next() alone, so taking a node off costs nothing but the list.
 *
 * After George Varghese and Tony Lauck, "Hashed and Hierarchical Timing Wheels"
 * (1987); the cascade at drain time after Kafka's SystemTimer.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "hashbelt_clock.h"
#include "hashbelt_memory.h"
#include "hashbelt_wheel.h"

/* A smaller ring would need more levels than HB_LEVELS for the longest ttl. */
#define OVERFLOW_SIZE_MIN	64

/* Finer buckets than this only cost: the coarse clock moves by 1 ms at best. */
#define WIDTH_MIN		NSEC_PER_MSEC

/* Stale bits that hb_wheel_next() may clear under the lock in one call. */
#define STALE_MAX		1024

/**
 * struct hb_level - one ring of buckets
 * @done:	every tick up to this one has fallen off
 * @slots:	the buckets, in the same allocation, after @map
 * @map:	a bit for each slot that may hold something
 */
struct hb_level {
	u64 done;
	struct hlist_head *slots;
	unsigned long map[];
};

static size_t map_size(u32 size)
{
	return BITS_TO_LONGS(size) * sizeof(long);
}

static size_t level_size(u32 size)
{
	return sizeof(struct hb_level) + map_size(size) +
	       size * sizeof(struct hlist_head);
}

/**
 * hb_gauge_init() - measure the wheels for a belt
 * @gauge:	the measures
 * @ttl:	the belt's time-to-live, nanoseconds, at least one
 * @buckets:	buckets of the front wheel, at least 2
 *
 * The front wheel reaches just as far as @ttl: interval = ttl / (buckets - 1).
 */
void hb_gauge_init(struct hb_gauge *gauge, u64 ttl, u32 buckets)
{
	u32 overflow = max_t(u32, buckets, OVERFLOW_SIZE_MIN);
	u64 width = div64_u64(ttl + buckets - 2, buckets - 1);
	unsigned int i;

	width = max_t(u64, width, WIDTH_MIN);
	for (i = 0; i < HB_LEVELS; i++) {
		gauge->width[i] = width;
		gauge->size[i] = i ? overflow : buckets;
		gauge->levels = i + 1;
		if (width >= div64_u64(HB_TIME_MAX, gauge->size[i]))
			break;
		width *= gauge->size[i];
	}
}

/**
 * hb_level_new() - make one level
 * @gauge:	the belt's measures
 * @number:	which
 *
 * Context: may sleep. Return: the level, owned by the caller, or NULL.
 */
struct hb_level *hb_level_new(const struct hb_gauge *gauge, unsigned int number)
{
	u32 size = gauge->size[number];
	struct hb_level *level = hb_zalloc(level_size(size));

	if (level)
		level->slots = (void *)level->map + map_size(size);
	return level;
}

/**
 * hb_level_free() - free one level
 * @gauge:	the belt's measures
 * @number:	which
 * @level:	the level, or NULL
 *
 * Context: may sleep.
 */
void hb_level_free(const struct hb_gauge *gauge, unsigned int number,
		   struct hb_level *level)
{
	hb_free(level, level_size(gauge->size[number]));
}

/**
 * hb_wheel_init() - make a wheel with its front level
 * @wheel:	the wheel
 * @gauge:	the belt's measures, which must outlive it
 *
 * Context: may sleep. Return: 0 or -ENOMEM.
 */
int hb_wheel_init(struct hb_wheel *wheel, const struct hb_gauge *gauge)
{
	memset(wheel, 0, sizeof(*wheel));
	wheel->gauge = gauge;
	wheel->level[0] = hb_level_new(gauge, 0);
	return wheel->level[0] ? 0 : -ENOMEM;
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
		hb_level_free(wheel->gauge, i, wheel->level[i]);
}

/* The tick at whose fall a node with this deadline must be judged. */
static u64 tick_of(const struct hb_gauge *gauge, unsigned int number, u64 deadline)
{
	return div64_u64(deadline, gauge->width[number]) + !number;
}

/**
 * hb_wheel_wants() - which level a deadline needs that is not made yet
 * @wheel:	the wheel
 * @now:	belt time
 * @deadline:	belt time, HB_NEVER needs none
 *
 * Context: any; without the lock the answer may be one that has just been made.
 *
 * Return: the number of the next level to make, 0 for none.
 */
unsigned int hb_wheel_wants(const struct hb_wheel *wheel, u64 now, u64 deadline)
{
	const struct hb_gauge *gauge = wheel->gauge;
	unsigned int i;

	if (deadline == HB_NEVER)
		return 0;
	for (i = 0; i < gauge->levels; i++) {
		if (!READ_ONCE(wheel->level[i]))
			return i;
		if (deadline <= now + gauge->width[i] * (gauge->size[i] - 1))
			return 0;
	}
	return 0;
}

/**
 * hb_wheel_grow() - add a level
 * @wheel:	the wheel
 * @number:	which; the levels before it are there
 * @level:	from hb_level_new(); set to NULL if it was taken, left to the
 *		caller if somebody else was faster
 * @now:	belt time
 *
 * Context: the shard's lock.
 */
void hb_wheel_grow(struct hb_wheel *wheel, unsigned int number,
		   struct hb_level **level, u64 now)
{
	if (wheel->level[number])
		return;
	(*level)->done = div64_u64(now, wheel->gauge->width[number]);
	WRITE_ONCE(wheel->level[number], *level);
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
	u32 slot = slot_of(tick, wheel->gauge->size[number]);

	hlist_add_head(&node->slot, &level->slots[slot]);
	__set_bit(slot, level->map);
	return tick * wheel->gauge->width[number];
}

/**
 * hb_wheel_add() - put a node into the bucket of its deadline
 * @wheel:	the wheel
 * @node:	a node that is on no wheel; one that never expires goes on none
 * @now:	belt time
 *
 * Cannot fail: where a level that the deadline needs is missing, the node goes
 * as far as the levels reach, and on from there when its bucket falls off.
 *
 * Context: the shard's lock. Return: when the bucket falls off.
 */
u64 hb_wheel_add(struct hb_wheel *wheel, struct hb_node *node, u64 now)
{
	const struct hb_gauge *gauge = wheel->gauge;
	u64 deadline = atomic64_read(&node->deadline);
	u64 reached, tick;
	unsigned int i;

	INIT_HLIST_NODE(&node->slot);
	if (deadline == HB_NEVER)
		return HB_NEVER;
	for (i = 0; ; i++) {
		struct hb_level *level = wheel->level[i];
		u32 size = gauge->size[i];

		/* @now may have been read before the last drain. */
		reached = max(div64_u64(now, gauge->width[i]), level->done);
		tick = max(tick_of(gauge, i, deadline), reached + 1);
		if (tick > level->done + size)
			catch_up(level, size, reached);
		if (tick <= reached + size)
			return enter(wheel, i, tick, node);
		if (i + 1 == gauge->levels || !wheel->level[i + 1])
			return enter(wheel, i, reached + size, node);
	}
}

/* Takes one bucket off the belt, the first that is due; false if none is. */
static bool rotate(struct hb_wheel *wheel, u64 now)
{
	const struct hb_gauge *gauge = wheel->gauge;
	unsigned int i;

	for (i = 0; i < gauge->levels && wheel->level[i]; i++) {
		struct hb_level *level = wheel->level[i];
		u32 size = gauge->size[i];
		u64 reached = div64_u64(now, gauge->width[i]);
		u32 slot;

		if (level->done >= reached)
			continue;
		catch_up(level, size, reached);
		if (level->done == reached)
			continue;
		slot = slot_of(++level->done, size);
		__clear_bit(slot, level->map);
		hlist_move_list(&level->slots[slot], &wheel->fallen);
		return true;
	}
	return false;
}

/* What the whole design turns on: ahead - back on the wheel; reached - claimed. */
static void judge(struct hb_wheel *wheel, struct hb_node *node, u64 now,
		  struct hb_fall *fall)
{
	hb_wheel_del(node);
	if (hb_node_claim_due(node, now)) {
		list_add_tail(&node->queue, &fall->expired);
	} else {
		hb_wheel_add(wheel, node, now);
		fall->cascaded++;
	}
}

/**
 * hb_wheel_drain() - judge the nodes of the buckets that have fallen off
 * @wheel:	the wheel
 * @now:	belt time
 * @budget:	most nodes and empty buckets to look at before the lock should be
 *		given up
 * @fall:	what came of it, initialised by the caller
 *
 * Context: the shard's lock. What was not judged yet stays on the wheel.
 *
 * Return: true if there is more to do.
 */
bool hb_wheel_drain(struct hb_wheel *wheel, u64 now, unsigned int budget,
		    struct hb_fall *fall)
{
	while (budget--) {
		if (hlist_empty(&wheel->fallen)) {
			if (!rotate(wheel, now))
				return false;
			fall->buckets++;
		} else {
			judge(wheel, hlist_entry(wheel->fallen.first,
						 struct hb_node, slot),
			      now, fall);
		}
	}
	return true;
}

/* When the first bucket of a level that holds something falls off. */
static u64 level_next(struct hb_level *level, u64 width, u32 size)
{
	u64 last = level->done + size;
	u64 tick = level->done + 1;
	unsigned int stale = STALE_MAX;

	for (;;) {
		u32 slot;

		tick = first_tick(level, size, tick, last);
		if (tick > last)
			return HB_NEVER;
		slot = slot_of(tick, size);
		if (!hlist_empty(&level->slots[slot]) || !--stale)
			return tick * width;
		__clear_bit(slot, level->map);
	}
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
	const struct hb_gauge *gauge = wheel->gauge;
	u64 next = HB_NEVER;
	unsigned int i;

	if (!hlist_empty(&wheel->fallen))
		return 0;
	for (i = 0; i < gauge->levels && wheel->level[i]; i++)
		next = min(next, level_next(wheel->level[i], gauge->width[i],
					    gauge->size[i]));
	return next;
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
		*bytes += level_size(wheel->gauge->size[i]);
	return i;
}
