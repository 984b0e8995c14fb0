/* SPDX-License-Identifier: GPL-2.0-only */
/* The structures of a belt and its shards. */
#ifndef _HASHBELT_BELT_H
#define _HASHBELT_BELT_H

#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "belt/ground/clock.h"
#include "belt/ground/entry.h"
#include "belt/ground/fifo.h"
#include "belt/ground/hash.h"
#include "belt/ground/index.h"
#include "belt/ground/memory.h"
#include "belt/ground/pace.h"
#include "belt/ground/poller.h"
#include "belt/ground/usage.h"
#include "belt/settings.h"

/* Nodes or chains that are handled under a shard's lock in one go. */
#define HB_BATCH	64

/* Eviction takes plain entries first, and entries of other kinds when there are no others. */
enum hb_class { HB_PLAIN, HB_LEASES, HB_CLASSES };

/* The shard has no entry; later than HB_NEVER. */
#define HB_NOTHING	U64_MAX

/**
 * struct hb_place - where a hand stands
 * @lap:	how often it has begun, with the other hands of the belt; 0: the shard had no plain
 *		entry, and its hand is to join the others
 * @deadline:	of the entry that it came to
 *
 * The hands of a belt's shards are kept together: that with the least place moves next.
 */
struct hb_place {
	u64 lap;
	u64 deadline;
};

/**
 * struct hb_shard - a share of a belt's entries, by the upper bits of the hash
 * @in_limbo:	@free is queued, or its grace period goes on. Read without @lock by a task that
 *		waits for the entries in limbo
 * @hastened:	a bucket of @wheel that fell off before its end may not be drained yet. Read without
 *		@lock as a hint
 * @versions:	number of versions given
 * @count:	entries linked, waitpoints included. Read without @lock to see whether the chains
 *		are too long: the next put looks again
 * @live:	those above the belt's floor, but for waitpoints
 * @live_bytes:	bytes that @live entries count for under the limits, without their share of the
 *		index
 * @waitpoints:	number of waitpoints
 * @fills:	number of fill leases
 * @locks:	number of locks above the belt's floor
 * @requests:	number of requests above the belt's floor
 * @done:	links of requests that have left the belt and whose watches the worker has to take
 *		out
 * @unfinished:	waitpoints with waits that the worker has to end
 * @nearest:	lower bounds of the deadlines on @wheel and on @leases; HB_NOTHING if there is none.
 *		Read without @lock as a hint
 * @hand:	where the hand of @wheel stands. Read without @lock as a hint
 * @term:	1 to 3: entries that the hand has found read in this term are protected
 * @evicted:	entries that the hand has evicted in this lap
 * @protected_read: entries that were protected in the last term, and that the hand has found read
 *		in this one
 * @protected_unread: entries that were protected in the last term, and that the hand has found not
 *		read in this one
 * @added:	new plain entries since @ignores_ghosts was last set
 * @ghost_hits:	those of them whose keys had ghosts
 * @unstable:	the keys that are in use change, or nothing is known about that: many of the entries
 *		that were protected in the last term were not read in this one
 * @ignores_ghosts: most new entries have keys with ghosts, so ghosts protect none of them
 * @next:	lower bound of when a bucket of @wheel or @leases falls off. Read without @lock by
 *		the worker
 * @wheel:	where plain entries wait for their deadlines
 * @old:	a wheel of another geometry, while it is being unloaded
 * @level:	the front level of another geometry, while belt->set_lock is held
 * @leases:	where entries of other kinds wait: locks, fill leases and requests
 * @limbo:	entries that wait for a grace period to begin
 * @leaving:	entries whose grace period has begun
 * @rounds:	how often @free has freed @leaving. Read without @lock by a task that waits
 * @awaited:	the number of rounds that a flush waits for; under belt->flush.lock
 * @free:	frees @leaving
 * @belt:	the belt; constant
 */
struct hb_shard {
	/**
	 * @lock: protects all below; the chains of the shard's hashes; and of its keys the
	 * waitpoints, and all lists of waiters and watches. Each insertion into the index, and each
	 * unlinking, is under it. Taken inside the shrinker. Only a task with belt->clear_lock has
	 * several, taken by their numbers. list_lru's lock is taken inside it as well.
	 * Inside it: window->head, window->lock, queue->lock, usage->lock, owners->lock,
	 * client->lock, pollers->lock, clock->lock.
	 */
	spinlock_t lock;
	bool in_limbo;
	bool unstable;
	bool ignores_ghosts;
	bool hastened;
	u64 versions;
	u64 count;
	u64 live;
	u64 live_bytes;
	u64 waitpoints;
	u64 fills;
	u64 locks;
	u64 requests;
	struct list_head done;
	struct list_head unfinished;
	u64 nearest[HB_CLASSES];
	struct hb_place hand;
	u32 term;
	u64 evicted;
	u64 protected_read;
	u64 protected_unread;
	u64 added;
	u64 ghost_hits;
	u64 next;
	struct hb_wheel wheel;
	struct hb_wheel old;
	struct hb_level *level;
	struct hb_wheel leases;
	struct list_head limbo;
	struct list_head leaving;
	u64 rounds;
	u64 awaited;
	struct rcu_work free;
	struct hashbelt_belt *belt;
} ____cacheline_aligned_in_smp;

struct hb_window;

struct hb_stats {
	u64 count[HASHBELT_STAT_COUNT];
	u64 lags[HASHBELT_LAGS];
};

/**
 * struct hb_queue - events of a belt that wait for a reader
 * @waiting:	the events, owned by the queue
 * @dropped:	dropped events, until the worker frees them
 * @bytes:	memory of events that wait or are in flight; of entries that live on as well, once
 *		for each of their events
 * @pressed:	the part of @bytes of entries that were evicted because memory was short
 * @kept_entries: events that stay charged to the belt's limits, those in flight included
 * @kept_bytes:	bytes charged for them
 * @in_flight:	events that were taken, and neither settled nor returned
 * @sequence:	number of the newest event
 * @lost:	events lost that no reader has been told of
 * @max_events:	most events that wait or are in flight
 * @max_bytes:	most of @bytes
 * @wait:	tasks that wait in a read: an event wakes one, a change of the settings all
 */
struct hb_queue {
	/** @lock: protects all below. Inside it: usage->lock. */
	spinlock_t lock;
	struct hb_fifo waiting;
	struct hb_fifo dropped;
	u64 bytes;
	u64 pressed;
	u64 kept_entries;
	u64 kept_bytes;
	u64 in_flight;
	u64 sequence;
	u64 lost;
	u64 max_events;
	u64 max_bytes;
	wait_queue_head_t wait;
};

/**
 * struct hb_waiters - the tasks that wait in a belt
 * @list:	by struct hb_waiter
 */
struct hb_waiters {
	/** @lock: protects @list. Inside it: none. */
	spinlock_t lock;
	struct list_head list;
};

/**
 * struct hb_owners - the locks of a belt
 * @locks:	by owner and then by version
 */
struct hb_owners {
	/** @lock: protects @locks. Inside it: none. */
	spinlock_t lock;
	struct rb_root locks;
};

/**
 * struct hb_clients - the descriptors to which entries of a belt are bound
 * @list:	by struct hb_client
 * @undelivered_bytes: memory of completed requests that no reader has read; atomic
 */
struct hb_clients {
	/** @lock: protects @list. Inside it: none. */
	spinlock_t lock;
	struct list_head list;
	atomic64_t undelivered_bytes;
};

/**
 * struct hb_flush - waiting until the entries in limbo are freed
 * @wait:	where that task waits
 * @begun:	number of flushes that have begun; written under @lock
 * @ended:	number of the last flush that came to its end; under @lock
 */
struct hb_flush {
	/**
	 * @lock: one task at a time waits for the shards' rounds, and others for the lock.
	 * Inside it: shard->lock.
	 */
	struct mutex lock;
	wait_queue_head_t wait;
	u64 begun;
	u64 ended;
};

/* Most tasks that drain a belt at the same time. */
#define HB_DRAINERS	8u

/**
 * struct hb_helper - a work item that drains shards beside the task that makes a round
 * @work:	the item; pending or running only during a round
 * @belt:	constant
 */
struct hb_helper {
	struct work_struct work;
	struct hashbelt_belt *belt;
};

/**
 * struct hb_crew - the tasks that drain a belt at the same time
 * @helpers:	those beside the task that makes the round
 * @next:	number of the shard that is the next to be drained
 * @until:	belt time up to which buckets fall off; written while no helper is at work
 * @end:	jiffies at which all stop; written while no helper is at work
 * @yields:	the round is the worker's, which gives way; written while no helper is at work
 * @pause_from:	time from which on the worker may pause, nanoseconds; written by it while no
 *		helper is at work
 * @owed:	nanoseconds for which the worker is to work before it may pause, between its turns:
 *		other belts of the account have the thread meanwhile; only the worker uses it
 * @first:	a step begins with the shard of this number, modulo theirs; under belt->round_lock
 */
struct hb_crew {
	struct hb_helper helpers[HB_DRAINERS - 1];
	atomic_t next;
	u64 until;
	unsigned long end;
	bool yields;
	u64 pause_from;
	u64 owed;
	unsigned int first;
};

/**
 * struct hashbelt_belt - one cache
 * @index:	the entries by key
 * @seed:	of the hash; constant
 * @floor:	versions up to this one are cleared; written under all shards' locks
 * @shard_bits:	log2 of the number of shards; constant
 * @dead:	the belt is destroyed and takes no entries; written under all shards' locks
 * @overwrites:	a put may copy its value into the entry that is there; written under all shards'
 *		locks, and never set again once it is false. Not on a belt whose gets refresh:
 *		without the shard's lock they could not tell which of two values they refresh
 * @settings:	with the default in the place of 0, and @ttl a multiple of HB_GRAIN; written
 *		under all shards' locks
 * @id:		unique; constant
 * @window:	copies of entries for readers without a system call, or NULL; under RCU, and changed
 *		under all shards' locks
 * @stats:	per CPU, by enum hashbelt_counter
 * @event:	takes the events, in place of user space; constant
 * @arg:	its argument; constant
 * @account:	charged for the memory, with a reference; constant
 * @clock:	belt time and the worker's alarm
 * @geometries:	of the wheels: the present and the previous one
 * @geometry:	the present one; written under all shards' locks
 * @rotated:	intervals of previous geometries that have passed; written under all shards' locks
 * @geometry_since: belt time since which @geometry holds; written under all shards' locks
 * @queue:	events that wait
 * @usage:	usage that counts against the limits
 * @owners:	locks, by their owners
 * @waiters:	tasks that wait
 * @clients:	descriptors to which entries are bound
 * @pollers:	descriptors that are polled
 * @mark:	stands for the belt in the shrinker's list; NULL once the belt is given up
 * @listed:	it is in that list, or a task with a shard's lock adds it. Pairs of barriers decide
 *		between that task and the shrinker: see hb_mark_changed()
 * @kin:	place in the list of its account's belts
 * @hand:	where the hand of the last shard stood that has evicted an entry; written under that
 *		shard's lock, so it is a hint
 * @work:	the worker
 * @crew:	drains beside it; used under @round_lock
 * @pace:	when the worker, its helpers and limbo give way
 * @movers:	tasks that wait for @round_lock; the worker does not compete with them
 * @missed:	the worker did not get @round_lock, and is to be queued when it is free
 * @sweep:	place where the sweep goes on; under @round_lock
 * @unswept:	there may be cleared entries; set under all shards' locks
 * @flush:	waiting for limbo
 * @free:	frees what is in the belt after a grace period
 * @last:	frees the belt of an account after that
 * @shards:	the shards
 *
 * A word that is written under all shards' locks is constant under any one of them. Without such a
 * lock READ_ONCE() reads a value that may just have changed.
 */
struct hashbelt_belt {
	struct hb_index index;
	struct hb_seed seed;
	u64 floor;
	unsigned int shard_bits;
	bool dead;
	bool overwrites;
	struct hb_settings settings;
	u64 id;
	struct hb_window __rcu *window;
	struct hb_stats __percpu *stats;
	void (*event)(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      const struct hashbelt_event *event, void *arg);
	void *arg;
	struct hb_account *account;
	struct hb_clock clock ____cacheline_aligned_in_smp;
	struct hb_geometry geometries[2];
	struct hb_geometry *geometry;
	u64 rotated;
	u64 geometry_since;
	struct hb_queue queue ____cacheline_aligned_in_smp;
	struct hb_usage usage ____cacheline_aligned_in_smp;
	struct hb_owners owners;
	struct hb_waiters waiters;
	struct hb_clients clients;
	struct hb_pollers pollers;
	struct hb_mark *mark;
	bool listed;
	struct list_head kin;
	struct hb_place hand;
	struct work_struct work;
	struct hb_crew crew;
	struct hb_pace pace;
	/**
	 * @set_lock: one task at a time changes the settings. Inside it: belt->round_lock,
	 * belt->clear_lock, kin->reclaim, flush->lock, window->gate, shard->lock, window->head,
	 * window->lock, memory.
	 */
	struct mutex set_lock;
	/**
	 * @round_lock: one task at a time drains, delivers, sweeps and resizes, and waits for the
	 * helpers, which take shards' locks. A round only tries index->resize_lock, inside which it
	 * allocates memory. The callback of a module may take the locks of all operations on
	 * entries. Inside it: shard->lock, queue->lock, clock->lock.
	 */
	struct mutex round_lock;
	atomic_t movers;
	int missed;
	u64 sweep;
	bool unswept;
	/** @clear_lock: one task at a time takes all shards' locks. Inside it: shard->lock. */
	struct mutex clear_lock;
	struct hb_flush flush;
	struct rcu_work free;
	struct work_struct last;
	struct hb_shard shards[];
};

#ifdef CONFIG_SMP
/* A word that each get or put reads shares no cache line with one that other tasks often write. */
#define HB_APART(read, written)						\
	static_assert(offsetof(struct hashbelt_belt, read) / SMP_CACHE_BYTES != \
		      offsetof(struct hashbelt_belt, written) / SMP_CACHE_BYTES)
HB_APART(account, clock.lock);
HB_APART(clock.seq, clock.lock);
HB_APART(clock.halted, clock.timer);
HB_APART(usage.limited, queue.wait);
HB_APART(usage.limited, usage.lock);
HB_APART(usage.max_bytes, usage.lock);
HB_APART(usage.max_bytes, owners.lock);
HB_APART(event, work);
#endif

static inline void hb_count_by(struct hashbelt_belt *belt, enum hashbelt_counter counter, u64 n)
{
	this_cpu_add(belt->stats->count[counter], n);
}

static inline void hb_count(struct hashbelt_belt *belt, enum hashbelt_counter counter)
{
	hb_count_by(belt, counter, 1);
}

/* The hash of an entry's key. For another kind that is added. */
static inline u32 hb_hash(const struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	return hb_hash_key(&belt->seed, key, key_len);
}

/* The same of a key in words (hash.h), inlined. */
static __always_inline u32 hb_hash_words(const struct hashbelt_belt *belt, const u64 *key,
					 u32 key_len)
{
	return hb_siphash(key, key_len, &belt->seed, true) & HB_HASH;
}

/* Gives an entry the hash of its key, as hb_put() needs it. */
static __always_inline void hb_entry_hash(const struct hashbelt_belt *belt,
					  struct hashbelt_entry *entry)
{
	entry->hash |= hb_hash_words(belt, hb_entry_key(entry), entry->key_len);
}

static inline struct hb_shard *hb_shard_of(struct hashbelt_belt *belt, u32 hash)
{
	return &belt->shards[hash >> (32 - belt->shard_bits)];
}

static inline struct hb_shard *hb_shards_end(struct hashbelt_belt *belt)
{
	return belt->shards + (1u << belt->shard_bits);
}

#define hb_for_each_shard(shard, belt)					\
	for (struct hb_shard *shard = (belt)->shards;			\
	     shard < hb_shards_end(belt); shard++)

static inline bool hb_is_cleared(const struct hashbelt_belt *belt,
				 const struct hashbelt_entry *entry)
{
	return entry->version <= READ_ONCE(belt->floor);
}

/* The entry has a value @now. Its shard's lock, or RCU, keeps it valid. */
static inline bool hb_is_live(const struct hashbelt_belt *belt,
			      const struct hashbelt_entry *entry, u64 now)
{
	return !hb_is_cleared(belt, entry) && atomic64_read(&entry->node.deadline) > (s64)now;
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

/* A full belt evicts entries that were not read, so reads set HB_READ. */
static inline bool hb_evicts(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->settings.policy) & HASHBELT_EVICT;
}

static inline bool hb_is_dead(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->dead);
}

/* The belt has HASHBELT_WIPE: no copy of a key or value may be left in memory. */
static inline bool hb_wipes(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->settings.policy) & HASHBELT_WIPE;
}

static inline bool hb_has_events(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->queue.waiting.first);
}

/* Return: true if an event is queued, or the belt's handler would report one. */
static inline bool hb_reports_any(const struct hashbelt_belt *belt)
{
	return hb_has_events(belt) || READ_ONCE(belt->settings.handler) != HASHBELT_DROP;
}

#endif /* _HASHBELT_BELT_H */
