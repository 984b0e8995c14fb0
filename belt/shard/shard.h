/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_SHARD_H
#define _HASHBELT_SHARD_H

#include <linux/minmax.h>

#include "belt/belt.h"
#include "window.h"

struct hb_room;

void hb_lock_all(struct hashbelt_belt *belt);
void hb_unlock_all(struct hashbelt_belt *belt);
u64 hb_interval(struct hashbelt_belt *belt);
void hb_shard_link(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_shard_unlink(struct hb_shard *shard, struct hashbelt_entry *entry);
int hb_shard_insert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 deadline,
		    struct hb_room *room);
void hb_schedule(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_leave_replaced(struct hb_shard *shard, struct hashbelt_entry *entry,
		       struct hashbelt_entry *by, u64 now);
void hb_expire(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
bool hb_expire_due(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
unsigned int hb_expire_drained(struct hb_shard *shard, struct hb_drain_result *result, u64 now);
struct hashbelt_entry *hb_find_locked(struct hb_shard *shard, u32 hash, const void *key,
				      u32 key_len);
struct hashbelt_entry *hb_find_live(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now);
struct hashbelt_entry *hb_live_again(struct hb_shard *shard, struct hashbelt_entry *entry,
				     u64 now);
struct hashbelt_entry *hb_peek(struct hb_shard *shard, u32 hash, const void *key, u32 key_len,
			       u64 now);
void hb_grow_levels(struct hashbelt_belt *belt, struct hb_shard *shard, struct hb_wheel *wheel,
		    u64 ahead);

/* Under the shard's lock. */
static inline u64 hb_version(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	return ++shard->versions << shard->belt->shard_bits | (shard - shard->belt->shards);
}

/* @count is also read without the lock, to guess what size the index should have. */
static inline void hb_shard_count(struct hb_shard *shard, s64 by)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->count, shard->count + by);
}

static inline enum hb_class hb_class(const struct hashbelt_entry *entry)
{
	return hb_is_plain(entry) ? HB_PLAIN : HB_LEASES;
}

static inline struct hb_wheel *hb_wheel_of(struct hb_shard *shard, enum hb_class class)
{
	return likely(class == HB_PLAIN) ? &shard->wheel : &shard->leases;
}

/* When the worker has to look at this shard again. Under its lock. */
static inline u64 hb_shard_next(struct hb_shard *shard)
{
	return min(hb_wheel_next(&shard->wheel), hb_wheel_next(&shard->leases));
}

/* The wheel that was replaced is not empty yet. */
static inline bool hb_is_unloading(const struct hb_shard *shard)
{
	/*
	 * Benign race with a task that replaces or empties it: the caller looks again under the
	 * lock.
	 */
	return data_race(shard->old.level[0]);
}

/* The shard has far too many chains for its entries. */
static inline bool hb_is_sparse(const struct hashbelt_belt *belt, const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return READ_ONCE(shard->count) < (1ULL << bits) / 16;
}

/* The entry gets a new deadline when it expires. */
static inline bool hb_lives_on(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	return READ_ONCE(belt->settings.handler) == HASHBELT_REINSERT && hb_ops(entry)->reinserted;
}

/* An entry that leaves for this reason becomes an event, if its kind is reported. */
static inline bool hb_reports(const struct hashbelt_belt *belt, enum hashbelt_reason reason)
{
	return READ_ONCE(belt->settings.handler) != HASHBELT_DROP &&
	       READ_ONCE(belt->settings.reasons) & HASHBELT_REPORT(reason) &&
	       !READ_ONCE(belt->dead);
}

/* A ghost says why a key is not there. */
static inline u16 hb_ghost(u32 hash, enum hashbelt_reason reason)
{
	return hash >> 5 << 3 | reason;
}

/*
 * Why a key is not there: one of enum hashbelt_reason, 0 if that is not known. @locked as for
 * hb_table_walk().
 */
static __always_inline u32 hb_why_gone(struct hb_index *index, u32 hash, const bool locked)
{
	u16 ghost = READ_ONCE(*hb_ghost_slot(index, hash, locked));
	enum hashbelt_reason reason = ghost & HB_REASON;

	return ghost == hb_ghost(hash, reason) ? reason : 0;
}

/* Entries that leave for other reasons leave no ghost. */
static inline bool hb_leaves_ghost(enum hashbelt_reason reason)
{
	return reason == HASHBELT_EXPIRED || reason == HASHBELT_EVICTED ||
	       reason == HASHBELT_PRESSURE;
}

/* The deadline of a time-to-live that begins @now. */
static inline u64 hb_deadline_of(const struct hashbelt_belt *belt, u64 now, u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return HB_NEVER;
	if (ttl_ms == HASHBELT_TTL_BELT || ttl_ms == HASHBELT_TTL_KEEP)
		return now + READ_ONCE(belt->settings.ttl);
	return now + ttl_ms * NSEC_PER_MSEC;
}

/*
 * Claims an entry and takes it out of the belt. Return: false if another task has claimed it, which
 * happens only to requests, and takes it out.
 */
static inline bool hb_take_out(struct hb_shard *shard, struct hashbelt_entry *entry,
			       enum hashbelt_reason reason, u64 now)
{
	lockdep_assert_held(&shard->lock);
	hb_wheel_del(&shard->wheel, &entry->node);
	hb_window_remove(shard, entry);
	if (!hb_node_try_claim(&entry->node, reason))
		return false;
	hb_leave(shard, entry, now);
	return true;
}

/*
 * hb_find_live() of which the search is done: @entry is that of the index, or NULL. Inlined where
 * it is live, which is almost always.
 */
static inline struct hashbelt_entry *hb_live(struct hb_shard *shard, struct hashbelt_entry *entry,
					     u64 now)
{
	s64 word;

	lockdep_assert_held(&shard->lock);
	if (!entry)
		return NULL;
	word = atomic64_read(&entry->node.deadline);
	if (likely(!hb_is_cleared(shard->belt, entry) && word > (s64)now && !(word & HB_SEALED)))
		return entry;
	return hb_live_again(shard, entry, now);
}

/* Makes the levels for a time-to-live that is longer than the belt's. Context: may sleep. */
static inline void hb_make_levels(struct hashbelt_belt *belt, u32 hash, u64 ttl_ms)
{
	struct hb_shard *shard = hb_shard_of(belt, hash);
	u64 grace = READ_ONCE(belt->settings.grace);

	if (likely(!grace && (ttl_ms > HASHBELT_TTL_MAX_MS ||
			      ttl_ms * NSEC_PER_MSEC <= READ_ONCE(belt->settings.ttl))))
		return;
	if (ttl_ms != HASHBELT_TTL_NEVER)
		hb_grow_levels(belt, shard, &shard->wheel,
			       hb_deadline_of(belt, 0, ttl_ms) + grace);
}

/*
 * Makes the levels for a lock, a fill lease or a request that ends @ahead of now, nanoseconds.
 * Context: may sleep.
 */
static inline void hb_make_lease_levels(struct hashbelt_belt *belt, u32 hash, u64 ahead)
{
	struct hb_shard *shard = hb_shard_of(belt, hash);

	/* A level that was made stays. The geometry of these wheels never changes. */
	if (ahead < HB_NEVER && hb_wheel_wants(&shard->leases, 0, ahead))
		hb_grow_levels(belt, shard, &shard->leases, ahead);
}

static inline bool hb_ttl_is_plain(u64 ttl_ms)
{
	return ttl_ms <= HASHBELT_TTL_MAX_MS || ttl_ms == HASHBELT_TTL_NEVER;
}

#endif /* _HASHBELT_SHARD_H */
