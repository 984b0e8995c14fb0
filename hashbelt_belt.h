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
#include "hashbelt_event.h"
#include "hashbelt_holder.h"
#include "hashbelt_index.h"
#include "hashbelt_memory.h"

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
 * struct hb_desk - who wants something of a belt
 * @lock:	protects what follows, up to @holders; taken inside of shards' locks,
 *		nothing in it
 * @owners:	locks, by owner and then by version
 * @sleepers:	tasks that wait, by struct hb_waiter
 * @holders:	descriptors to which entries are bound
 * @told_bytes:	what completed requests take that nobody has read yet; atomic
 */
struct hb_desk {
	spinlock_t lock;		/* taken inside of shards' locks */
	struct rb_root owners;
	struct list_head sleepers;
	struct list_head holders;
	atomic64_t told_bytes;
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
 * @gauges:	measures of the wheels, in turn those of now and those before
 * @gauge:	those of now; changed under all shards' locks
 * @rotated:	intervals of earlier measures that have passed; likewise
 * @measured:	belt time since which @gauge holds; likewise
 * @handler:	one of enum hashbelt_handler; written under all shards' locks
 * @reasons:	HASHBELT_REPORT() bits that the handler reports; likewise
 * @queue:	events that wait
 * @usage:	what counts against the limits
 * @desk:	owners, sleepers, holders
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
	struct hb_gauge gauges[2];
	struct hb_gauge *gauge;
	u64 rotated;
	u64 measured;
	struct hb_queue queue;
	struct hb_usage usage;
	struct hb_desk desk;
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

/* Frees what has left. */
extern struct workqueue_struct *hb_limbo_wq;

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
static inline bool hb_haunts(enum hashbelt_reason reason)
{
	return reason == HASHBELT_EXPIRED || reason == HASHBELT_EVICTED ||
	       reason == HASHBELT_PRESSURE;
}

/* Whether the event of an entry keeps the place that it had under the limits. */
static inline bool hb_keeps_place(enum hashbelt_reason reason)
{
	return reason == HASHBELT_EXPIRED || reason == HASHBELT_REMOVED ||
	       reason == HASHBELT_RELEASED;
}

/**
 * struct hb_waiter - a task that waits for a lock, or for a key to be filled
 * @belt:	the belt
 * @place:	in the line at the point, under the shard's lock
 * @asleep:	in belt->desk.sleepers, under belt->desk.lock
 * @task:	the task that waits
 * @timer:	wakes the task at @until; the first in the line also at the end of the
 *		present lease. Under the shard's lock while @place is in the line
 * @hold:	what it will get: the belt's once @result is 0
 * @point:	the point, while it is in the line
 * @lease:	how long it will have it, nanoseconds
 * @until:	belt time when it gives up, HB_NEVER for not
 * @token:	version of what it has got
 * @result:	HB_WAITING; 0, it has it; HB_FILLED; a negative errno; under the
 *		shard's lock
 *
 * Lives on the stack of the task.
 */
struct hb_waiter {
	struct hashbelt_belt *belt;
	struct list_head place;
	struct list_head asleep;
	struct task_struct *task;
	struct hrtimer timer;
	struct hashbelt_entry *hold;
	struct hb_point *point;
	u64 lease;
	u64 until;
	u64 token;
	int result;
};

#define HB_WAITING	1	/* in the line */
#define HB_FILLED	2	/* somebody has put the key */

/* What hb_step() has left. */
#define HB_MORE_FALLEN	0x1	/* nodes that are to be judged */
#define HB_MORE_WORK	0x2	/* anything else */

/* Chains of the index that one call of a scan looks at: it may find nothing in them. */
#define HB_SCAN_CHAINS	4096

/* hashbelt_belt.c */
u64 hb_interval(struct hashbelt_belt *belt);

/* hashbelt_shard.c */
struct hashbelt_entry *hb_entry_alloc(struct hashbelt_belt *belt, u32 kind, u32 flags,
				      u32 key_len, u32 value_len, gfp_t gfp);
struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 flags,
					   u32 key_len, u32 value_len);
size_t hb_entry_size(const struct hashbelt_entry *entry);

/* What an entry counts as under the limits. */
static inline u64 hb_cost(const struct hashbelt_entry *entry)
{
	return hb_entry_size(entry) + HB_INDEX_SHARE;
}

bool hb_usage_add(struct hashbelt_belt *belt, s64 entries, s64 bytes);

/* Room under the limits for an entry that takes no other's place. */
static inline bool hb_charge(struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	return likely(!belt->usage.limited) || hb_usage_add(belt, 1, hb_cost(entry));
}

void hb_link(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_unlink(struct hb_shard *shard, struct hashbelt_entry *entry);
int hb_admit(struct hb_shard *shard, struct hashbelt_entry *entry, u64 deadline, u64 now);
u64 hb_wait(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_leave_place(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_expire(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_limbo_free(struct work_struct *work);
void hb_limbo_flush(struct hashbelt_belt *belt);
bool hb_is_in_limbo(struct hashbelt_belt *belt);

/* hashbelt_core.c */
struct hashbelt_entry *hb_peek(struct hb_shard *shard, u32 hash, const void *key, u32 key_len,
			       u64 now);
struct hashbelt_entry *hb_find_live(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now);
void hb_make_levels(struct hashbelt_belt *belt, u32 hash, u64 ttl_ms);
u64 hb_deadline_of(const struct hashbelt_belt *belt, u64 now, u64 ttl_ms);
bool hb_ttl_is_plain(u64 ttl_ms);
void hb_fit(struct hashbelt_belt *belt, struct hb_shard *shard);

/* hashbelt_holder.c */
bool hb_tie(struct hb_bond *bond);
void hb_untie(struct hb_bond *bond);
void hb_untie_put(struct hb_bond *bond);
bool hb_holder_tell(struct hashbelt_belt *belt, struct hashbelt_entry *request);
void hb_holders_wake(struct hashbelt_belt *belt);

/* hashbelt_wait.c */
struct hashbelt_entry *hb_point_alloc(struct hashbelt_belt *belt, u32 hash,
				      const void *key, u32 key_len);
struct hb_point *hb_point_find(struct hb_shard *shard, u32 hash, const void *key,
			       u32 key_len);
struct hb_point *hb_point_get(struct hb_shard *shard, struct hashbelt_entry **spare);
void hb_point_release(struct hb_shard *shard, struct hb_point *point);
void hb_waiter_init(struct hb_waiter *waiter, struct hashbelt_belt *belt,
		    struct hashbelt_entry *hold, u64 lease, u64 until);
void hb_waiter_end(struct hb_waiter *waiter);
void hb_waiter_line_up(struct hb_waiter *waiter, struct hb_point *point);
int hb_waiter_sleep(struct hb_shard *shard, struct hb_waiter *waiter);
void hb_hand_over(struct hb_shard *shard, struct hashbelt_entry *left, u64 now);
void hb_lease_changed(struct hb_shard *shard, struct hashbelt_entry *hold);
void hb_filled(struct hb_point *point);
void hb_sleepers_wake(struct hashbelt_belt *belt);

/* hashbelt_lock.c */
void hb_owner_add(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
void hb_owner_del(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
struct hashbelt_entry *hb_find_hold(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now);
struct hashbelt_entry *hb_hold_alloc(struct hashbelt_belt *belt, enum hb_kind kind,
				     struct hb_holder *holder, const void *key,
				     u32 key_len, const void *owner, u32 owner_len);
int hb_grant(struct hb_shard *shard, struct hashbelt_entry *hold, u64 lease, u64 now);
int hb_take(struct hb_shard *shard, struct hashbelt_entry *other,
	    struct hashbelt_entry *hold, u64 lease, u64 now, struct hb_waiter *waiter,
	    struct hashbelt_entry **spare);
void hb_give_back(struct hb_shard *shard, struct hashbelt_entry *hold, u64 now);
u64 hb_until(struct hashbelt_belt *belt, u64 wait_ms);
u64 hb_wait_left(struct hashbelt_belt *belt, u64 until);

/* hashbelt_fill.c */
void hb_fill_end(struct hb_shard *shard, struct hashbelt_entry *put, struct hb_point *point,
		 u64 now);

/* hashbelt_request.c */
bool hb_requests_claim(struct hb_shard *shard, struct hb_point *point,
		       enum hashbelt_cause cause, u64 stamp, struct list_head *claimed);
unsigned int hb_requests_finish(struct hashbelt_belt *belt, struct list_head *claimed);
void hb_request_leave(struct hb_shard *shard, struct hashbelt_entry *entry);
unsigned int hb_requests_complete(struct hashbelt_belt *belt, u32 hash, const void *key,
				  u32 key_len, enum hashbelt_cause cause, u64 stamp);
bool hb_request_release(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
void hb_requests_step(struct hb_shard *shard);

/* hashbelt_event.c */
bool hb_event_push(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now);
void hb_event_push_proxy(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			 u64 now);
bool hb_event_step(struct hashbelt_belt *belt);
bool hb_event_drop_oldest(struct hashbelt_belt *belt);
void hb_event_free_all(struct hashbelt_belt *belt);

/* hashbelt_limit.c */
void hb_usage_force(struct hashbelt_belt *belt, u64 entries, u64 bytes);

/* An entry counts no more; like hb_usage_force(). */
static inline void hb_uncharge(struct hashbelt_belt *belt,
			       const struct hashbelt_entry *entry)
{
	if (unlikely(belt->usage.limited))
		hb_usage_force(belt, -1, -hb_cost(entry));
}

bool hb_make_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put);
unsigned int hb_evict(struct hashbelt_belt *belt, enum hashbelt_reason reason,
		      unsigned int most);
int hb_limit_init(void);
void hb_limit_exit(void);
void hb_limit_enlist(struct hashbelt_belt *belt);
void hb_limit_delist(struct hashbelt_belt *belt);

/* hashbelt_worker.c */
void hb_lock_all(struct hashbelt_belt *belt);
void hb_unlock_all(struct hashbelt_belt *belt);
unsigned int hb_step(struct hashbelt_belt *belt, u64 until);
bool hb_step_once(struct hashbelt_belt *belt);
void hb_belt_work(struct work_struct *work);
unsigned int hb_bits_for(const struct hashbelt_belt *belt, u64 entries);
bool hb_resize(struct hashbelt_belt *belt, u64 entries);
u64 hb_count_entries(struct hashbelt_belt *belt);

/* hashbelt_set.c */
int hb_check_config(const struct hashbelt_config *config, u32 fields);
void hb_set_grace(struct hashbelt_belt *belt, struct hb_gauge *gauge, u64 grace);
void hb_set_limits(struct hashbelt_belt *belt, const struct hashbelt_config *config,
		   u32 fields);

#endif /* _HASHBELT_BELT_H */
