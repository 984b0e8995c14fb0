/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A get has two steps, in one RCU read-side section: hb_find() finds the entry of a key, and
 * hb_hit() or hb_miss() ends the get. Between them the caller reads the value. If hb_hit() returns
 * false, the entry has changed meanwhile, and the get starts over.
 *
 * A get takes no lock and no reference: the entry is the belt's, and valid until rcu_read_unlock().
 * The steps of almost every get are inlined here; get.c has the others.
 */
#ifndef _HASHBELT_GET_H
#define _HASHBELT_GET_H

#include "belt/belt.h"
#include "belt/ground/compat.h"
#include "belt/ground/trace.h"
#include "belt/shard/shard.h"

/**
 * struct hb_seen - what a reader has seen of the entry that it has found
 * @version:	of the entry, read before all else of it
 * @deadline:	later than the reader's time; perhaps sealed, which makes no difference in
 *		milliseconds
 */
struct hb_seen {
	u64 version;
	u64 deadline;
};

struct hashbelt_entry *hb_find_again(struct hashbelt_belt *belt, u32 hash,
				     struct hashbelt_entry *entry, u64 now, struct hb_seen *seen,
				     u32 *gone);
bool hb_touch_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now, struct hb_seen seen);
u64 hb_set_deadline(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now, u64 to,
		    struct hb_seen seen);
void hb_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone, u32 how);
struct hashbelt_entry *hb_find_stale(struct hashbelt_belt *belt, const void *key, u32 key_len,
				     u64 now, struct hb_seen *seen);
bool hb_hit_stale(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now, struct hb_seen seen);
int hb_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   const struct hashbelt_item *item);

/*
 * Sets the deadline of an entry of the belt. A later one is only stored: the drain of the bucket
 * finds it. For an earlier one the entry must change its bucket. Return: the deadline that holds
 * now; HB_GONE if it was too late, or HB_ELSEWHERE if the entry was replaced. Under the shard's
 * lock.
 */
static __always_inline u64 hb_set_deadline_locked(struct hb_shard *shard,
						  struct hashbelt_entry *entry, u64 now, u64 to)
{
	bool sooner;
	u64 is;

	lockdep_assert_held(&shard->lock);
	is = hb_window_set_deadline(shard, entry, now, to, &sooner);
	if (sooner && is == to) {
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_schedule(shard, entry, now);
	}
	return is;
}

/*
 * Context: no lock; RCU or a reference to @entry. Return: true if no put has overwritten the entry
 * since the reader has seen it: all that the reader has read of it belongs together.
 */
static __always_inline bool hb_is_unchanged(const struct hashbelt_entry *entry,
					    struct hb_seen seen)
{
	/* Pairs with smp_wmb() in overwrite(). */
	smp_rmb();
	return likely(READ_ONCE(entry->version) == seen.version);
}

/*
 * hashbelt_find(), of which a part is done: @entry is that of the key in the index, or NULL. *@seen
 * is for hb_hit().
 */
static __always_inline struct hashbelt_entry *
hb_find_in(struct hashbelt_belt *belt, u32 hash, struct hashbelt_entry *entry, u64 now,
	   struct hb_seen *seen, u32 *gone)
{
	struct hb_seen again HB_UNINITIALIZED;

	if (!entry) {
		if (gone)
			*gone = hb_why_gone(&belt->index, hash, false);
		return NULL;
	}
	/* Pairs with smp_store_release() in overwrite(). 0 is below every floor. */
	seen->version = smp_load_acquire(&entry->version);
	if (likely(seen->version > READ_ONCE(belt->floor))) {
		seen->deadline = atomic64_read(&entry->node.deadline);
		if (likely((s64)seen->deadline > (s64)now))
			return entry;
	}
	entry = hb_find_again(belt, hash, entry, now, &again, gone);
	*seen = again;
	return entry;
}

/* hashbelt_find() of a key in words (hash.h). *@seen is for hb_hit(). */
static __always_inline struct hashbelt_entry *
hb_find(struct hashbelt_belt *belt, const u64 *key, u32 key_len, u64 now, struct hb_seen *seen,
	u32 *gone)
{
	u32 hash = hb_hash_words(belt, key, key_len);

	return hb_find_in(belt, hash, hb_index_walk(&belt->index, hash, key, key_len, true, false),
			  now, seen, gone);
}

/*
 * Ends a hit, as hashbelt_hit(). @seen: the deadline, which is later than @now, and the version to
 * which the value and @item->flags belong. The get is linearized at @now, or at its refresh; later
 * changes of the entry do not matter.
 */
static __always_inline void hb_end_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				       struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	if (likely(!(item->how & HASHBELT_NO_REFRESH))) {
		if (hb_evicts(belt))
			hb_set_read(entry);
		hb_count(belt, HASHBELT_STAT_HITS);
	}
	/* Otherwise the arguments would be loaded even if nothing traces. */
	if (trace_hashbelt_get_enabled())
		trace_hashbelt_get(belt->id, entry->data, entry->key_len, seen.version, 0);
	item->value_len = entry->value_len;
	item->ttl_ms = hb_ms_left(seen.deadline, now);
	item->version = seen.version;
}

/* hb_hit() without HASHBELT_AND_TOUCH. Passes @item to no call: it may be in registers. */
static __always_inline bool hb_plain_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
					 struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	bool refreshes;

	/* If gets of the belt refresh, no put overwrites a value from now on. */
	refreshes = READ_ONCE(belt->settings.policy) & HASHBELT_REFRESH_ON_GET &&
		    !(item->how & HASHBELT_NO_REFRESH);
	item->flags = READ_ONCE(entry->flags);
	if (unlikely(!hb_is_unchanged(entry, seen)))
		return false;
	if (refreshes) {
		seen.deadline = hb_node_move(&entry->node, now,
					     now + READ_ONCE(belt->settings.ttl), false);
		if (unlikely(seen.deadline <= now))
			return false;
	}
	hb_end_hit(belt, entry, item, now, seen);
	return true;
}

/* Completes a get that found an entry: hashbelt_hit(). @seen: from hb_find(). */
static __always_inline bool hb_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
				   struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	return unlikely(item->how & HASHBELT_AND_TOUCH) ?
		hb_touch_hit(belt, entry, item, now, seen) :
		hb_plain_hit(belt, entry, item, now, seen);
}

#endif /* _HASHBELT_GET_H */
