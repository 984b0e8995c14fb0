/* SPDX-License-Identifier: GPL-2.0 */
/* Shards: what is done to entries under the lock of their shard. */
#ifndef _HASHBELT_SHARD_H
#define _HASHBELT_SHARD_H

#include "belt.h"

/* By how much an index is resized at once, as a power of two. */
#define HB_RESIZE_MOST	6u

void hb_lock_all(struct hashbelt_belt *belt);
void hb_unlock_all(struct hashbelt_belt *belt);
u64 hb_interval(struct hashbelt_belt *belt);
void hb_shard_link(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_shard_unlink(struct hb_shard *shard, struct hashbelt_entry *entry);
int hb_shard_insert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 deadline, u64 now);
u64 hb_schedule(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_leave_replaced(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_expire(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
bool hb_expire_due(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
struct hashbelt_entry *hb_find_locked(struct hb_shard *shard, u32 hash, const void *key,
				      u32 key_len);
struct hashbelt_entry *hb_find_live(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now);
struct hashbelt_entry *hb_peek(struct hb_shard *shard, u32 hash, const void *key, u32 key_len,
			       u64 now);
void hb_grow_levels(struct hashbelt_belt *belt, struct hb_shard *shard, u64 ahead);
u64 hb_count_entries(struct hashbelt_belt *belt);
unsigned int hb_bits_for(const struct hashbelt_belt *belt, u64 entries);
bool hb_resize(struct hashbelt_belt *belt, u64 entries);
void hb_grow_index(struct hashbelt_belt *belt, u64 shard_count);

/* The next version of a shard, under its lock. */
static inline u64 hb_version(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	return ++shard->versions << shard->belt->shard_bits | (shard - shard->belt->shards);
}

/* @count is read without the lock as well, to guess what size the index should have. */
static inline void hb_shard_count(struct hb_shard *shard, s64 by)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->count, shard->count + by);
}

/* Whether the wheel that was replaced has not been emptied yet. */
static inline bool hb_is_unloading(const struct hb_shard *shard)
{
	/* Races with who replaces or empties it: it will be looked at again, under the lock. */
	return data_race(shard->old.level[0]);
}

/* Whether a shard has far too many chains for its entries. */
static inline bool hb_is_sparse(const struct hashbelt_belt *belt,
				const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return READ_ONCE(shard->count) < (1ULL << bits) / 16;
}

/* Whether an entry that expires has a new life. */
static inline bool hb_lives_on(const struct hashbelt_belt *belt,
			       const struct hashbelt_entry *entry)
{
	return READ_ONCE(belt->handler) == HASHBELT_REINSERT && hb_kind(entry) == HB_ENTRY;
}

/* Whether an entry that leaves for this reason becomes an event. */
static inline bool hb_reports(const struct hashbelt_belt *belt,
			      enum hashbelt_reason reason)
{
	return READ_ONCE(belt->handler) != HASHBELT_DROP &&
	       READ_ONCE(belt->reasons) & HASHBELT_REPORT(reason) &&
	       !READ_ONCE(belt->dead);
}

/*
 * Why misses miss: a fixed number of ghosts, written without a lock, for what a key
 * costs nothing once it is gone. A newer ghost takes the place of an older one.
 */
static inline u16 *hb_ghost_slot(struct hashbelt_belt *belt, u32 hash)
{
	return &belt->ghosts[hash >> (32 - HB_GHOST_BITS)];
}

static inline u16 hb_ghost(u32 hash, enum hashbelt_reason reason)
{
	return hash >> 4 << 3 | reason;
}

/* Whether an entry that leaves for this reason may be missed. */
static inline bool hb_leaves_ghost(enum hashbelt_reason reason)
{
	return reason == HASHBELT_EXPIRED || reason == HASHBELT_EVICTED ||
	       reason == HASHBELT_PRESSURE;
}

/* When a time-to-live that begins @now ends. */
static inline u64 hb_deadline_of(const struct hashbelt_belt *belt, u64 now, u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return HB_NEVER;
	if (ttl_ms == HASHBELT_TTL_BELT || ttl_ms == HASHBELT_TTL_KEEP)
		return now + READ_ONCE(belt->ttl);
	return now + ttl_ms * NSEC_PER_MSEC;
}

/*
 * Takes an entry out of the belt. False if another task has claimed it, which happens to requests
 * alone: that task takes it out.
 */
static inline bool hb_take_out(struct hb_shard *shard, struct hashbelt_entry *entry,
			       enum hashbelt_reason reason, u64 now)
{
	lockdep_assert_held(&shard->lock);
	hb_wheel_del(&entry->node);
	if (!hb_node_try_claim(&entry->node, reason))
		return false;
	hb_leave(shard, entry, now);
	return true;
}

/* Makes the levels that a time-to-live needs which is longer than the belt's. */
static inline void hb_make_levels(struct hashbelt_belt *belt, u32 hash, u64 ttl_ms)
{
	u64 grace = READ_ONCE(belt->grace);

	if (likely(!grace && (ttl_ms > HASHBELT_TTL_MAX_MS ||
			      ttl_ms * NSEC_PER_MSEC <= READ_ONCE(belt->ttl))))
		return;
	if (ttl_ms != HASHBELT_TTL_NEVER)
		hb_grow_levels(belt, hb_shard_of(belt, hash),
			       hb_deadline_of(belt, 0, ttl_ms) + grace);
}

static inline bool hb_ttl_is_plain(u64 ttl_ms)
{
	return ttl_ms <= HASHBELT_TTL_MAX_MS || ttl_ms == HASHBELT_TTL_NEVER;
}

/* Whether a shard has too many entries for its chains. */
static inline bool hb_is_crowded(const struct hashbelt_belt *belt,
				 const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return READ_ONCE(shard->count) * 2 > 3ULL << bits;
}

/* Gives the index another size if a shard has got too crowded. Context: may sleep. */
static inline void hb_fit_index(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	if (unlikely(hb_is_crowded(belt, shard)))
		hb_grow_index(belt, READ_ONCE(shard->count));
}

#endif /* _HASHBELT_SHARD_H */
