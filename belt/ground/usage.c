// SPDX-License-Identifier: GPL-2.0-only
/*
 * Usage: what counts against the limits of a belt. It is kept up only for a belt that has a limit,
 * under one lock, so that it is exact. A put that evicts entries reserves the room that this makes,
 * or other puts would take it, and a large put would evict without end. The room of a lease that is
 * handed over is reserved for the next one. Reserved room counts as used.
 */
#include <linux/minmax.h>

#include "usage.h"

bool hb_usage_fits(const struct hb_usage *usage, s64 entries, s64 bytes)
{
	return (entries <= 0 || usage->entries + entries <= usage->max_entries) &&
	       (bytes <= 0 || usage->bytes + bytes <= usage->max_bytes);
}

/* Under the usage's lock. */
static void forget_room(struct hb_usage *usage, struct hb_room *room)
{
	usage->rooms -= room->counted;
	*room = (struct hb_room){ .epoch = usage->epoch, .yielded = room->yielded };
}

/* Forgets room that was reserved before usage was counted anew. Under the usage's lock. */
static void check_room(struct hb_usage *usage, struct hb_room *room)
{
	if (room->epoch == usage->epoch)
		return;
	room->counted = false;
	forget_room(usage, room);
}

/*
 * Charges a put to a belt with limits; its room, which may be NULL, is used up. @leaving: bytes of
 * an entry that counts as gone, or 0; it is uncharged before the shard's lock, which the caller
 * has, is dropped. Return: false if the put does not fit.
 */
bool hb_usage_add(struct hb_usage *usage, s64 entries, s64 bytes, struct hb_room *room,
		  u64 leaving)
{
	bool granted;

	spin_lock(&usage->lock);
	if (room) {
		check_room(usage, room);
		entries -= room->entries;
		bytes -= room->bytes;
	}
	granted = hb_usage_fits(usage, entries - !!leaving, bytes - leaving);
	if (granted) {
		usage->entries += entries;
		usage->bytes += bytes;
		if (room)
			forget_room(usage, room);
	}
	spin_unlock(&usage->lock);
	return granted;
}

/* Reserves as much as is free of what an entry of @bytes needs. */
void hb_room_reserve(struct hb_usage *usage, struct hb_room *room, u64 bytes)
{
	u64 more;

	if (room->yielded)
		return;
	spin_lock(&usage->lock);
	check_room(usage, room);
	if (usage->limited && !room->entries && usage->entries < usage->max_entries) {
		usage->entries++;
		room->entries = 1;
	}
	if (usage->limited && room->bytes < bytes && usage->bytes < usage->max_bytes) {
		more = min(bytes - room->bytes, usage->max_bytes - usage->bytes);
		usage->bytes += more;
		room->bytes += more;
	}
	if (!room->counted && (room->entries || room->bytes)) {
		room->counted = true;
		usage->rooms++;
	}
	spin_unlock(&usage->lock);
}

/* Under the usage's lock. */
static void release_room(struct hb_usage *usage, struct hb_room *room)
{
	check_room(usage, room);
	usage->entries -= room->entries;
	usage->bytes -= room->bytes;
	forget_room(usage, room);
}

/*
 * Gives room back to other tasks, for good: if two tasks gave way to each other and reserved again,
 * neither would end. Return: true if others have reserved room, so that there will be some.
 */
bool hb_room_yield(struct hb_usage *usage, struct hb_room *room)
{
	bool others;

	spin_lock(&usage->lock);
	release_room(usage, room);
	room->yielded = true;
	others = usage->rooms;
	spin_unlock(&usage->lock);
	return others;
}

/* hb_room_release(), if there is such room. */
void hb_room_give_back(struct hb_usage *usage, struct hb_room *room)
{
	spin_lock(&usage->lock);
	release_room(usage, room);
	spin_unlock(&usage->lock);
}

/* Under a shard's lock or the queue's, so that no limit is set meanwhile. */
void hb_usage_change(struct hb_usage *usage, u64 entries, u64 bytes)
{
	if (!usage->limited)
		return;
	spin_lock(&usage->lock);
	usage->entries += entries;
	usage->bytes += bytes;
	spin_unlock(&usage->lock);
}
