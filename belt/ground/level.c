// SPDX-License-Identifier: GPL-2.0-only
/*
 * One level of a timing wheel: a ring of buckets, and the bitmap of those that may hold a node. A
 * level is under the lock of its shard.
 */
#include <linux/bitmap.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "clock.h"
#include "level.h"
#include "memory.h"

#define OVERFLOW_SIZE_MIN	64	/* fewer buckets would need more than HB_LEVELS levels */

#define WIDTH_MIN		NSEC_PER_MSEC	/* the coarse clock moves by 1 ms at best */

/* Stale bits that one search may clear under the lock. */
#define STALE_MAX		1024

static size_t map_size(u32 size)
{
	return BITS_TO_LONGS(size) * sizeof(long);
}

/* Bytes of a level. */
size_t hb_level_size(u32 size)
{
	return sizeof(struct hb_level) + map_size(size) + size * sizeof(struct list_head);
}

/*
 * @ttl: at least 1 ns; @buckets: at least 2. The front wheel reaches just as far as @ttl:
 * interval = ttl / (buckets - 1). Nodes stay @grace nanoseconds beyond their deadlines.
 */
void hb_geometry_init(struct hb_geometry *geometry, u64 ttl, u32 buckets, u64 grace)
{
	u32 overflow = max_t(u32, buckets, OVERFLOW_SIZE_MIN);
	u64 width = div64_u64(ttl + buckets - 2, buckets - 1);
	unsigned int i;

	geometry->grace = grace;
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

/*
 * Makes a level, charged to @account or NULL. Context: may sleep. Return: the level, or an error of
 * hb_zalloc().
 */
struct hb_level *hb_level_new(const struct hb_geometry *geometry, unsigned int number,
			      struct hb_account *account)
{
	u32 size = geometry->size[number], slot;
	struct hb_level *level = hb_zalloc(account, hb_level_size(size));

	if (IS_ERR(level))
		return level;
	level->width = geometry->width[number];
	level->size = size;
	level->slots = (void *)level->map + map_size(size);
	for (slot = 0; slot < size; slot++)
		INIT_LIST_HEAD(&level->slots[slot]);
	return level;
}

/* @level may be NULL. Context: may sleep. */
void hb_level_free(struct hb_level *level, struct hb_account *account)
{
	if (level)
		hb_free(account, level, hb_level_size(level->size));
}

/*
 * The tick of the first bucket after tick @from that holds a node; 0: there is none. Gives up after
 * STALE_MAX empty buckets, and returns the next one, which may be empty as well.
 */
u64 hb_level_after(struct hb_level *level, u64 from)
{
	u64 tick = max(from, level->done) + 1, last = level->done + level->size;
	unsigned int stale = STALE_MAX;

	for (;;) {
		u32 slot;

		tick = hb_first_tick(level, level->size, tick, last);
		if (tick > last)
			return 0;
		slot = hb_slot_of(tick, level->size);
		if (!list_empty(&level->slots[slot]) || !--stale)
			return tick;
		__clear_bit(slot, level->map);
	}
}

/* The first tick of a level whose bucket has a node, or may have one; 0: no bucket has any. */
u64 hb_level_first(struct hb_level *level)
{
	return hb_level_after(level, 0);
}
