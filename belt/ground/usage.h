/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_USAGE_H
#define _HASHBELT_USAGE_H

#include "belt/belt.h"

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
bool hb_usage_add(struct hashbelt_belt *belt, s64 entries, s64 bytes, struct hb_room *room,
		  u64 leaving);
void hb_room_reserve(struct hashbelt_belt *belt, struct hb_room *room, u64 bytes);
bool hb_room_yield(struct hashbelt_belt *belt, struct hb_room *room);
void hb_room_give_back(struct hashbelt_belt *belt, struct hb_room *room);
void hb_usage_change(struct hashbelt_belt *belt, u64 entries, u64 bytes);

/* Gives back room that was not used. */
static inline void hb_room_release(struct hashbelt_belt *belt, struct hb_room *room)
{
	if (unlikely(room->entries || room->bytes))
		hb_room_give_back(belt, room);
}

/* Bytes that an entry counts for under the limits. */
static inline u64 hb_cost(const struct hashbelt_entry *entry)
{
	u64 cost = hb_entry_size(entry) + HB_INDEX_SHARE;

	if (unlikely(hb_ops(entry)->besides))
		cost += hb_ops(entry)->besides(entry);
	return cost;
}

/* Context: as hb_usage_change(). */
static inline void hb_uncharge(struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	if (unlikely(belt->usage.limited))
		hb_usage_change(belt, -1, -hb_cost(entry));
}

#endif /* _HASHBELT_USAGE_H */
