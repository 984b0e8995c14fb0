/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_LEVEL_H
#define _HASHBELT_LEVEL_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

struct hb_account;

/* Enough for HASHBELT_TTL_MAX_MS with two buckets of one millisecond. */
#define HB_LEVELS	8

/**
 * struct hb_geometry - the widths and sizes that all shards' wheels of one sort share
 * @width:	nanoseconds of a bucket of each level
 * @size:	buckets of each level
 * @levels:	number of levels that the longest time-to-live needs
 * @grace:	nanoseconds that nodes stay beyond their deadline
 *
 * Constant after hb_geometry_init().
 */
struct hb_geometry {
	u64 width[HB_LEVELS];
	u32 size[HB_LEVELS];
	unsigned int levels;
	u64 grace;
};

/**
 * struct hb_level - one ring of buckets
 * @done:	every tick up to this one has fallen off
 * @width:	nanoseconds of a bucket; constant
 * @size:	number of buckets; constant
 * @slots:	the buckets, in the same allocation, after @map
 * @map:	a bit for each slot that may hold a node
 */
struct hb_level {
	u64 done;
	u64 width;
	u32 size;
	struct list_head *slots;
	unsigned long map[];
};

void hb_geometry_init(struct hb_geometry *geometry, u64 ttl, u32 buckets, u64 grace);
size_t hb_level_size(u32 size);
struct hb_level *hb_level_new(const struct hb_geometry *geometry, unsigned int number,
			      struct hb_account *account);
void hb_level_free(struct hb_level *level, struct hb_account *account);
u64 hb_level_after(struct hb_level *level, u64 from);
u64 hb_level_first(struct hb_level *level);

/* The slot of a bucket in a ring of @size. */
static inline u32 hb_slot_of(u64 tick, u32 size)
{
	u32 slot;

	div_u64_rem(tick, size, &slot);
	return slot;
}

/* The first tick from @from to @to whose slot may hold a node, or @to + 1. */
static inline u64 hb_first_tick(const struct hb_level *level, u32 size, u64 from, u64 to)
{
	u32 start, end, bit;

	if (from > to)
		return to + 1;
	start = hb_slot_of(from, size);
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
static inline void hb_level_catch_up(struct hb_level *level, u32 size, u64 reached)
{
	u64 to = min(reached, level->done + size);
	u64 tick = hb_first_tick(level, size, level->done + 1, to);

	level->done = tick > to ? reached : tick - 1;
}

#endif /* _HASHBELT_LEVEL_H */
