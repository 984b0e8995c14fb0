/* SPDX-License-Identifier: GPL-2.0 */
/* The inside of a belt, for the files that it is made of. */
#ifndef _HASHBELT_BELT_H
#define _HASHBELT_BELT_H

#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/siphash.h>

#include "clock.h"
#include "entry.h"
#include "index.h"
#include "lease.h"
#include "link.h"
#include "lock.h"
#include "memory.h"
#include "queue.h"

/* Nodes or chains that are looked at under a shard's lock in one go. */
#define HB_BATCH	64

/* What an entry takes of the index: it has up to four chains for three entries. */
#define HB_INDEX_SHARE	16

/* log2 of the keys of which a belt knows why they left. */
#define HB_GHOST_BITS	10

/* Nothing in a shard can be evicted; later than HB_NEVER. */
#define HB_NOTHING	U64_MAX

/**
 * struct hb_shard - a share of a belt's entries, by the upper bits of the hash
 * @lock:	protects all below, and the chains of the shard's hashes
 * @versions:	versions given
 * @count:	entries linked, points among them. Read without @lock by who asks
 *		whether the chains are too long: the next put asks again
 * @live:	those of them above the belt's floor, but for points
 * @live_bytes:	memory that those take, without their share of the index
 * @points:	points
 * @fills:	rights to fill
 * @locks:	locks above the belt's floor
 * @requests:	requests above the belt's floor
 * @done:	requests that are out of the belt, by their bonds, until somebody takes
 *		their watches out
 * @nearest:	no entry has an earlier deadline, as far as the last look at the
 *		wheel could tell; HB_NOTHING if there is none. Read without @lock
 *		as a hint
 * @wheel:	where they wait
 * @old:	a wheel of other measures, while it is being unloaded
 * @limbo:	entries that wait for a grace period to begin
 * @leaving:	entries whose grace period has begun
 * @in_limbo:	@free is queued, or its grace period goes on. Read without @lock by
 *		who waits for what went in before
 * @free:	frees @leaving
 * @belt:	the belt; constant
 */
struct hb_shard {
	spinlock_t lock;		/* see the order in hashbelt_core.c */
	bool in_limbo;
	u64 versions;
	u64 count;
	u64 live;
	u64 live_bytes;
	u64 points;
	u64 fills;
	u64 locks;
	u64 requests;
	struct list_head done;
	u64 nearest;
	struct hb_wheel wheel;
	struct hb_wheel old;
	struct list_head limbo;
	struct list_head leaving;
	struct rcu_work free;
	struct hashbelt_belt *belt;
} ____cacheline_aligned_in_smp;

struct hb_stats {
	u64 count[HASHBELT_STAT_COUNT];
	u64 lags[HASHBELT_LAGS];
};

/**
 * struct hb_usage - what counts against a belt's limits
 * @lock:	protects all below; the last in the lock order but the clock's
 * @limited:	there is a limit, and so @entries and @bytes are kept up; changed
 *		under all shards' locks
 * @entries:	entries that are there, or wait as events with their place kept
 * @bytes:	what they cost
 * @max_entries: most entries, S64_MAX for no limit
 * @max_bytes:	most bytes, likewise; read without @lock by who finds no room, and
 *		is told so by the one limit or the other
 */
struct hb_usage {
	spinlock_t lock;		/* taken inside of shards' locks and the queue's */
	bool limited;
	u64 entries;
	u64 bytes;
	u64 max_entries;
	u64 max_bytes;
};

/**
 * struct hashbelt_belt - one cache
 * @index:	the entries by key
 * @seed:	of the hash; constant
 * @ttl:	nanoseconds, a multiple of HB_GRAIN; written under all shards' locks
 * @floor:	versions up to this one are cleared; written under all shards'
 *		locks
 * @policy:	HASHBELT_REFRESH_ON_GET to HASHBELT_WIPE; likewise
 * @shard_bits:	log2 of the number of shards; constant
 * @grace:	how long entries stay beyond their deadlines, nanoseconds; likewise
 * @dead:	the belt is destroyed: nothing goes in; written under all shards'
 *		locks
 * @stats:	per CPU, by enum hashbelt_counter
 * @clock:	belt time and the worker's alarm
 * @geometries:	measures of the wheels, in turn those of now and those before
 * @geometry:	those of now; changed under all shards' locks
 * @rotated:	intervals of earlier measures that have passed; likewise
 * @geometry_since:	belt time since which @geometry holds; likewise
 * @handler:	one of enum hashbelt_handler; written under all shards' locks
 * @reasons:	HASHBELT_REPORT() bits that the handler reports; likewise
 * @queue:	events that wait
 * @usage:	what counts against the limits
 * @owners:	locks, by their owners
 * @waiters:	tasks that wait
 * @clients:	descriptors to which entries are bound
 * @event:	takes the events, in place of user space; constant
 * @arg:	its argument; constant
 * @account:	who is charged for the memory, with a reference; constant
 * @id:		unique; constant
 * @place:	in the list of all belts
 * @work:	the worker
 * @set_lock:	one at a time changes the settings
 * @round_lock:	one at a time says what is due, drains, hands out, sweeps and resizes
 * @movers:	tasks that want it; the worker does not compete with them
 * @missed:	the worker found it taken, or wanted, and has to be woken
 * @sweep:	where the sweep goes on; under @round_lock
 * @clear_lock:	makes way through all shards' locks for one at a time
 * @free:	frees the belt when its last readers are gone
 * @ghosts:	for misses: of the keys that expired or were evicted of late, by the
 *		upper bits of the hash, some of the lower ones and the reason
 * @shards:	the shards
 *
 * What is written under all shards' locks is constant under any of them. Who has none
 * reads a word of it by READ_ONCE(), and does what was right a moment ago.
 */
struct hashbelt_belt {
	struct hb_index index;
	hsiphash_key_t seed;
	u64 ttl;
	u64 floor;
	u64 grace;
	u32 policy;
	unsigned int shard_bits;
	bool dead;
	u32 handler;
	u32 reasons;
	u64 id;
	struct hb_stats __percpu *stats;
	struct hb_clock clock ____cacheline_aligned_in_smp;
	struct hb_geometry geometries[2];
	struct hb_geometry *geometry;
	u64 rotated;
	u64 geometry_since;
	struct hb_queue queue;
	struct hb_usage usage;
	struct hb_owners owners;
	struct hb_waiters waiters;
	struct hb_clients clients;
	void (*event)(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      const struct hashbelt_event *event, void *arg);
	void *arg;
	struct hb_account *account;
	struct list_head place;
	struct work_struct work;
	struct mutex set_lock;		/* the first in the lock order */
	struct mutex round_lock;	/* the second */
	atomic_t movers;
	int missed;
	u64 sweep;
	struct mutex clear_lock;	/* the third */
	struct rcu_work free;
	u16 ghosts[1 << HB_GHOST_BITS];
	struct hb_shard shards[];
};

static inline void hb_count_by(struct hashbelt_belt *belt,
			       enum hashbelt_counter counter, u64 n)
{
	this_cpu_add(belt->stats->count[counter], n);
}

static inline void hb_count(struct hashbelt_belt *belt, enum hashbelt_counter counter)
{
	hb_count_by(belt, counter, 1);
}

/* The hash of an entry's key; that of another kind has the kind added. */
static inline u32 hb_hash(const struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	return hsiphash(key, key_len, &belt->seed) & HB_HASH;
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
	hb_clock_wake(&belt->clock);
}

static inline u64 hb_ms_left(u64 deadline, u64 now)
{
	if (deadline == HB_NEVER)
		return HASHBELT_TTL_NEVER;
	return div_u64(deadline - now + NSEC_PER_MSEC - 1, NSEC_PER_MSEC);
}

#endif /* _HASHBELT_BELT_H */
