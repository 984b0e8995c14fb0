/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_USAGE_H
#define _HASHBELT_USAGE_H

#include <linux/spinlock.h>

#include "entry.h"

/*
 * Bytes of the index for each entry: there are at most four chains for three entries. A chain takes
 * 8 bytes, and 10 with a ghost.
 */
#define HB_INDEX_SHARE	16

/**
 * struct hb_usage - usage of a belt that counts against its limits
 * @limited:	there is a limit, so @entries and @bytes are kept up; changed under all shards'
 *		locks
 * @max_entries: most entries, S64_MAX for no limit; written under @lock
 * @max_bytes:	most bytes, S64_MAX for no limit; written under @lock, and read without it by a put
 * @epoch:	how often @entries and @bytes were counted anew
 * @rooms:	number of tasks that have reserved room
 * @entries:	entries in the belt, events that stay charged, and reserved room
 * @bytes:	bytes charged for them
 */
struct hb_usage {
	bool limited;
	u64 max_entries;
	u64 max_bytes;
	/** @lock: protects all below. Inside it: none. */
	spinlock_t lock ____cacheline_aligned_in_smp;
	u64 epoch;
	u64 rooms;
	u64 entries;
	u64 bytes;
};

/**
 * struct hb_room - usage that is reserved for one insertion
 * @epoch:	of the usage when it was reserved
 * @entries:	0 or 1
 * @bytes:	bytes
 * @counted:	it counts in @rooms of the usage
 * @yielded:	the task has given its room back to others, and reserves no more
 */
struct hb_room {
	u64 epoch;
	u64 entries;
	u64 bytes;
	bool counted;
	bool yielded;
};

bool hb_usage_fits(const struct hb_usage *usage, s64 entries, s64 bytes);
bool hb_usage_add(struct hb_usage *usage, s64 entries, s64 bytes, struct hb_room *room,
		  u64 leaving);
void hb_room_reserve(struct hb_usage *usage, struct hb_room *room, u64 bytes);
bool hb_room_yield(struct hb_usage *usage, struct hb_room *room);
void hb_room_give_back(struct hb_usage *usage, struct hb_room *room);
void hb_usage_change(struct hb_usage *usage, u64 entries, u64 bytes);

/* Gives back room that was not used. */
static inline void hb_room_release(struct hb_usage *usage, struct hb_room *room)
{
	if (unlikely(room->entries || room->bytes))
		hb_room_give_back(usage, room);
}

/* Bytes that an entry counts for under the limits. */
static inline u64 hb_cost(const struct hashbelt_entry *entry)
{
	u64 cost = hb_entry_size(entry) + HB_INDEX_SHARE;

	if (unlikely(hb_ops(entry)->besides))
		cost += hb_ops(entry)->besides(entry);
	return cost;
}

/* Uncharges an entry. Context: a shard's lock or the queue's. */
static inline void hb_uncharge(struct hb_usage *usage, const struct hashbelt_entry *entry)
{
	if (unlikely(usage->limited))
		hb_usage_change(usage, -1, -hb_cost(entry));
}

#endif /* _HASHBELT_USAGE_H */
