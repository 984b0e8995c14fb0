/* SPDX-License-Identifier: GPL-2.0 */
/* The inside of a belt, for the files that it is made of. */
#ifndef _HASHBELT_BELT_H
#define _HASHBELT_BELT_H

#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/siphash.h>

#include "hashbelt_clock.h"
#include "hashbelt_core.h"
#include "hashbelt_index.h"

/* Nodes or chains that are looked at under a shard's lock in one go. */
#define HB_BATCH	64

/**
 * struct hb_shard - a share of a belt's entries, by the upper bits of the hash
 * @lock:	protects all below, and the chains of the shard's hashes
 * @versions:	versions given
 * @count:	entries linked
 * @bytes:	memory that they take
 * @live:	those of them above the belt's floor
 * @live_bytes:	likewise
 * @wheel:	where they wait
 * @expired:	entries that wait for the handler, claimed and unlinked
 * @limbo:	entries that wait for a grace period to begin
 * @leaving:	entries whose grace period has begun
 * @in_limbo:	@free is queued, or its grace period goes on
 * @free:	frees @leaving
 * @belt:	the belt; constant
 */
struct hb_shard {
	spinlock_t lock;		/* see the order in hashbelt_core.c */
	bool in_limbo;
	u64 versions;
	u64 count;
	u64 bytes;
	u64 live;
	u64 live_bytes;
	struct hb_wheel wheel;
	struct list_head expired;
	struct hlist_head limbo;
	struct hlist_head leaving;
	struct rcu_work free;
	struct hashbelt_belt *belt;
} ____cacheline_aligned_in_smp;

struct hb_stats {
	u64 count[HASHBELT_STAT_COUNT];
};

/**
 * struct hashbelt_belt - one cache
 * @index:	the entries by key
 * @seed:	of the hash; constant
 * @ttl:	nanoseconds, even; constant
 * @floor:	versions up to this one are cleared; written under all shards'
 *		locks
 * @policy:	HASHBELT_REFRESH_ON_GET, HASHBELT_KEEP_ON_PUT; constant
 * @shard_bits:	log2 of the number of shards; constant
 * @dead:	the belt is destroyed: nothing goes in; written under all shards'
 *		locks
 * @stats:	per CPU, by enum hashbelt_counter
 * @clock:	belt time and the worker's alarm
 * @gauge:	measures of the wheels; constant
 * @expired:	the handler; constant
 * @arg:	its argument; constant
 * @work:	the worker
 * @step_lock:	one at a time drains, hands out, sweeps and resizes
 * @sweep:	where the sweep goes on; under @step_lock
 * @clear_lock:	makes way through all shards' locks for one at a time
 * @free:	frees the belt when its last readers are gone
 * @shards:	the shards
 */
struct hashbelt_belt {
	struct hb_index index;
	hsiphash_key_t seed;
	u64 ttl;
	u64 floor;
	u32 policy;
	unsigned int shard_bits;
	bool dead;
	struct hb_stats __percpu *stats;
	struct hb_clock clock ____cacheline_aligned_in_smp;
	struct hb_gauge gauge;
	void (*expired)(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			void *arg);
	void *arg;
	struct work_struct work;
	struct mutex step_lock;		/* the first in the lock order */
	u64 sweep;
	struct mutex clear_lock;	/* the second */
	struct rcu_work free;
	struct hb_shard shards[];
};

/* Drains, sweeps, and frees what left. */
extern struct workqueue_struct *hb_belt_wq;

static inline void hb_count_by(struct hashbelt_belt *belt,
			       enum hashbelt_counter counter, u64 n)
{
	this_cpu_add(belt->stats->count[counter], n);
}

static inline void hb_count(struct hashbelt_belt *belt, enum hashbelt_counter counter)
{
	hb_count_by(belt, counter, 1);
}

static inline u32 hb_hash(const struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	return hsiphash(key, key_len, &belt->seed);
}

static inline struct hb_shard *hb_shard_of(struct hashbelt_belt *belt, u32 hash)
{
	return &belt->shards[hash >> (32 - belt->shard_bits)];
}

/* One past the last shard. */
static inline struct hb_shard *hb_shards_end(struct hashbelt_belt *belt)
{
	return belt->shards + (1u << belt->shard_bits);
}

static inline bool hb_is_cleared(const struct hashbelt_belt *belt,
				 const struct hashbelt_entry *entry)
{
	return entry->version <= READ_ONCE(belt->floor);
}

static inline void hb_kick_worker(struct hashbelt_belt *belt)
{
	queue_work(hb_belt_wq, &belt->work);
}

static inline u64 hb_ms_left(u64 deadline, u64 now)
{
	if (deadline == HB_NEVER)
		return HASHBELT_TTL_NEVER;
	return div_u64(deadline - now + NSEC_PER_MSEC - 1, NSEC_PER_MSEC);
}

/* hashbelt_shard.c */
void hb_link(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_unlink(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_discard(struct hb_shard *shard, struct hashbelt_entry *entry);
bool hb_retire(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_limbo_free(struct work_struct *work);
void hb_limbo_flush(struct hashbelt_belt *belt);
bool hb_is_in_limbo(struct hashbelt_belt *belt);

/* hashbelt_worker.c */
void hb_belt_work(struct work_struct *work);
unsigned int hb_bits_for(const struct hashbelt_belt *belt, u64 entries);
u64 hb_count_entries(struct hashbelt_belt *belt);

#endif /* _HASHBELT_BELT_H */
