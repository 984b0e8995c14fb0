/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A get, inlined: hashbelt_find() and hashbelt_hit() are calls of these. The device includes them,
 * where the calls, and what they save and restore, took 60 instructions of a get.
 */
#ifndef _HASHBELT_READ_H
#define _HASHBELT_READ_H

#include "belt.h"
#include "trace.h"

struct hashbelt_entry *hb_find_again(struct hashbelt_belt *belt, u32 hash,
				     struct hashbelt_entry *entry, u64 now, u32 *gone);
u64 hb_touch_found(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now, u64 ttl_ms);

/* The deadline of an entry that was found @now, when it was later. */
static __always_inline u64 hb_deadline_seen(const struct hashbelt_entry *entry, u64 now)
{
	return max(hb_node_deadline(&entry->node), now + 1);
}

/*
 * As hashbelt_find() for the entry that the index has, or NULL. *@deadline: that of the entry,
 * later than @now; perhaps sealed, which makes no difference in milliseconds.
 */
static __always_inline struct hashbelt_entry *
hb_find_in(struct hashbelt_belt *belt, u32 hash, struct hashbelt_entry *entry, u64 now,
	   u64 *deadline, u32 *gone)
{
	if (likely(entry && !hb_is_cleared(belt, entry))) {
		*deadline = atomic64_read(&entry->node.deadline);
		if (likely((s64)*deadline > (s64)now))
			return entry;
	}
	entry = hb_find_again(belt, hash, entry, now, gone);
	if (entry)
		*deadline = hb_deadline_seen(entry, now);
	return entry;
}

/* As hashbelt_find(), with a key in words (hash.h). *@deadline is for hb_hit(). */
static __always_inline struct hashbelt_entry *
hb_find(struct hashbelt_belt *belt, const u64 *key, u32 key_len, u64 now, u64 *deadline, u32 *gone)
{
	u32 hash = hb_hash_words(belt, key, key_len);

	return hb_find_in(belt, hash, hb_index_walk(&belt->index, hash, key, key_len, true, false),
			  now, deadline, gone);
}

/* As hashbelt_hit(). @deadline: that of the entry when it was found. */
static __always_inline bool hb_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				   struct hashbelt_item *item, u64 now, u64 deadline)
{
	if (unlikely(item->how & HASHBELT_AND_TOUCH))
		deadline = hb_touch_found(belt, entry, now, item->ttl_ms);
	else if (READ_ONCE(belt->policy) & HASHBELT_REFRESH_ON_GET &&
		 !(item->how & HASHBELT_NO_REFRESH))
		deadline = hb_node_move(&entry->node, now, now + READ_ONCE(belt->ttl), false);
	/* Otherwise the get is linearized at @now; a later claim does not matter. */
	if (unlikely(deadline <= now))
		return false;
	if (READ_ONCE(belt->unread) && !(item->how & HASHBELT_NO_REFRESH))
		hb_mark_read(entry);
	hb_count(belt, HASHBELT_STAT_HITS);
	trace_hashbelt_get(belt->id, entry->data, entry->key_len, entry->version, 0);
	item->flags = entry->flags;
	item->value_len = entry->value_len;
	item->ttl_ms = hb_ms_left(deadline, now);
	item->version = entry->version;
	return true;
}

#endif /* _HASHBELT_READ_H */
