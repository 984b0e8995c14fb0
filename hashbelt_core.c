// SPDX-License-Identifier: GPL-2.0
/*
 * A belt.
 *
 * An entry stands in two places: in the index, where readers find it under RCU,
 * and in a bucket of a wheel, where it waits for its deadline. Both belong to
 * the shard of its hash, and so does the lock under which they change. What a
 * reader may change without it is the deadline alone (see hashbelt_wheel.h).
 *
 * The life of an entry: hashbelt_put() links it. It is unlinked, once, by
 * whoever claims its deadline: a put that replaces it, a remove, an expire, the
 * drain of its bucket, or the sweep after a clear. Then it goes to the handler
 * if it expired and the belt has one (shard->expired, in the order of claims:
 * an event of a key's next life comes later), and in the end to the shard's
 * limbo, where it waits for a grace period and for readers with a reference.
 *
 * Versions come from a counter in each shard, its number in the lower bits:
 * unique in the belt, growing for each key, and no line is shared by all
 * writers. A clear holds every shard's lock for a moment and notes the largest
 * version given so far: what is not above this floor is not there any more, for
 * all readers at once. The worker sweeps it out.
 *
 * Who does what later: one work item drains fallen buckets, hands out expired
 * entries, sweeps what was cleared and moves chains of a growing index, a batch
 * of each in turn, and no lock is held longer than a batch takes.
 *
 * Lock order: belt->step_lock, belt->clear_lock, shard->lock (all of them in
 * the order of their numbers for a clear), clock->lock.
 */
#include <linux/export.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "hashbelt_clock.h"
#include "hashbelt_core.h"
#include "hashbelt_index.h"
#include "hashbelt_memory.h"

/* Nodes or chains that are looked at under a shard's lock in one go. */
#define BATCH		64

/* Chains that one call of a scan looks at: it may find no entry in them. */
#define SCAN_CHAINS	4096

#define SHARD_BITS_MIN	1
#define SHARD_BITS_MAX	6

/* Shards times buckets: many buckets make room for fewer shards. */
#define SLOTS_MAX	BIT(18)

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
	spinlock_t lock;		/* a link of the lock order above */
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

/* Drains, sweeps, frees; and what waits for those to end, apart from them. */
static struct workqueue_struct *belt_wq;
static struct workqueue_struct *destroy_wq;
static atomic_t belts = ATOMIC_INIT(0);

static void count_by(struct hashbelt_belt *belt, enum hashbelt_counter counter, u64 n)
{
	this_cpu_add(belt->stats->count[counter], n);
}

static void count(struct hashbelt_belt *belt, enum hashbelt_counter counter)
{
	count_by(belt, counter, 1);
}

static u32 hash_of(const struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	return hsiphash(key, key_len, &belt->seed);
}

static struct hb_shard *shard_of(struct hashbelt_belt *belt, u32 hash)
{
	return &belt->shards[hash >> (32 - belt->shard_bits)];
}

/* One past the last shard. */
static struct hb_shard *shards_end(struct hashbelt_belt *belt)
{
	return belt->shards + (1u << belt->shard_bits);
}

/* Entries: allocation, limbo */

static size_t entry_size(const struct hashbelt_entry *entry)
{
	return hb_object_size(entry, struct_size(entry, data, entry->key_len +
						 entry->value_len));
}

static void entry_free(struct hashbelt_entry *entry)
{
	hb_object_free(entry, struct_size(entry, data,
					  entry->key_len + entry->value_len));
}

/**
 * hashbelt_entry_put() - give up a reference to an entry
 * @entry:	from hashbelt_entry_alloc(), or with a reference that was taken
 *		by refcount_inc_not_zero() under RCU
 *
 * Context: may sleep.
 */
void hashbelt_entry_put(struct hashbelt_entry *entry)
{
	if (refcount_dec_and_test(&entry->ref))
		entry_free(entry);
}
EXPORT_SYMBOL_GPL(hashbelt_entry_put);

static void limbo_leave(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->in_limbo, !hlist_empty(&shard->limbo));
	if (!shard->in_limbo)
		return;
	hlist_move_list(&shard->limbo, &shard->leaving);
	queue_rcu_work(belt_wq, &shard->free);
}

/* Frees an unlinked entry, when no reader can be looking at it any more. */
static void limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	hlist_add_head(&entry->node.slot, &shard->limbo);
	if (!shard->in_limbo)
		limbo_leave(shard);
}

static void limbo_free(struct work_struct *work)
{
	struct hb_shard *shard = container_of(to_rcu_work(work), struct hb_shard, free);
	struct hashbelt_entry *entry;
	struct hlist_node *next;
	HLIST_HEAD(leaving);

	spin_lock(&shard->lock);
	hlist_move_list(&shard->leaving, &leaving);
	spin_unlock(&shard->lock);
	hlist_for_each_entry_safe(entry, next, &leaving, node.slot) {
		hashbelt_entry_put(entry);
		cond_resched();
	}
	spin_lock(&shard->lock);
	limbo_leave(shard);
	spin_unlock(&shard->lock);
}

static bool is_in_limbo(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < shards_end(belt); shard++)
		if (READ_ONCE(shard->in_limbo))
			return true;
	return false;
}

/* Waits until what is in limbo now is freed: what leaves, and who waits behind. */
static void limbo_flush(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int round;

	for (round = 0; round < 2 && is_in_limbo(belt); round++) {
		/* One for all shards, then each one's work is at least queued. */
		rcu_barrier();
		for (shard = belt->shards; shard < shards_end(belt); shard++)
			flush_work(&shard->free.work);
	}
}

/**
 * hashbelt_entry_alloc() - memory for an entry
 * @belt:	the belt that it is for
 * @key_len:	1 to HASHBELT_KEY_MAX bytes
 * @value_len:	0 to HASHBELT_VALUE_MAX bytes
 *
 * Context: may sleep. The caller has checked the lengths.
 *
 * Return: the entry, owned by the caller, who writes key, value and flags and
 * then gives it to hashbelt_put() or hashbelt_entry_put(); ERR_PTR(-ENOMEM), or
 * ERR_PTR(-ENOSPC) when the module's memory limit is reached.
 */
struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt, u32 key_len,
					    u32 value_len)
{
	struct hashbelt_entry *entry;
	size_t size = struct_size(entry, data, key_len + value_len);

	entry = hb_object_alloc(size);
	if (IS_ERR(entry)) {
		/* What the belt let go of lately may be all that is missing. */
		limbo_flush(belt);
		entry = hb_object_alloc(size);
	}
	if (IS_ERR(entry))
		return entry;
	INIT_HLIST_NODE(&entry->node.slot);
	entry->flags = 0;
	entry->key_len = key_len;
	entry->value_len = value_len;
	refcount_set(&entry->ref, 1);
	return entry;
}
EXPORT_SYMBOL_GPL(hashbelt_entry_alloc);

/* Linking and unlinking, under the shard's lock */

static void link_entry(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	size_t size = entry_size(entry);

	shard->count++;
	shard->bytes += size;
	shard->live++;
	shard->live_bytes += size;
}

static bool is_cleared(const struct hashbelt_belt *belt,
		       const struct hashbelt_entry *entry)
{
	return entry->version <= READ_ONCE(belt->floor);
}

static void unlink_entry(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	size_t size = entry_size(entry);

	shard->count--;
	shard->bytes -= size;
	if (is_cleared(shard->belt, entry))
		return;
	shard->live--;
	shard->live_bytes -= size;
}

/* An entry that is claimed, and off its wheel, leaves the belt. */
static void discard(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	hlist_del_rcu(&entry->chain);
	unlink_entry(shard, entry);
	limbo_enter(shard, entry);
}

/* The same for one that expired. Returns true if the worker is needed. */
static bool retire(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hashbelt_belt *belt = shard->belt;

	if (!belt->expired || is_cleared(belt, entry)) {
		discard(shard, entry);
		return false;
	}
	hlist_del_rcu(&entry->chain);
	unlink_entry(shard, entry);
	list_add_tail(&entry->node.queue, &shard->expired);
	return true;
}

/* Operations on one key */

/*
 * The entry of a key as a writer must see it: an entry that is cleared or has
 * expired is not there any more, and what remains to be done about it is done
 * here and now, so that it comes before whatever the writer does.
 */
static struct hashbelt_entry *find_live(struct hb_shard *shard, u32 hash,
					const void *key, u32 key_len, u64 now,
					bool *kick)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *entry;

	lockdep_assert_held(&shard->lock);
	rcu_read_lock();
	entry = hb_index_find(&belt->index, hash, key, key_len);
	rcu_read_unlock();
	if (!entry)
		return NULL;
	if (is_cleared(belt, entry)) {
		hb_node_claim(&entry->node, HB_CLAIMED);
		hb_wheel_del(&entry->node);
		discard(shard, entry);
		return NULL;
	}
	if (hb_node_claim_due(&entry->node, now)) {
		hb_wheel_del(&entry->node);
		count(belt, HASHBELT_STAT_EXPIRED);
		*kick |= retire(shard, entry);
		return NULL;
	}
	return entry;
}

static void kick_worker(struct hashbelt_belt *belt)
{
	queue_work(belt_wq, &belt->work);
}

static u64 ms_left(u64 deadline, u64 now)
{
	if (deadline == HB_NEVER)
		return HASHBELT_TTL_NEVER;
	return div_u64(deadline - now + NSEC_PER_MSEC - 1, NSEC_PER_MSEC);
}

/* When a time-to-live that begins @now ends. Even, as both are. */
static u64 deadline_of(const struct hashbelt_belt *belt, u64 now, u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return HB_NEVER;
	if (ttl_ms == HASHBELT_TTL_BELT || ttl_ms == HASHBELT_TTL_KEEP)
		return now + belt->ttl;
	return now + ttl_ms * NSEC_PER_MSEC;
}

/*
 * Makes the levels that a time-to-live needs. If there is no memory for one,
 * entries wait nearer by and are looked at more often: no error.
 */
static void make_levels(struct hashbelt_belt *belt, u32 hash, u64 ttl_ms)
{
	struct hb_shard *shard = shard_of(belt, hash);
	struct hb_level *level;
	unsigned int number;
	u64 now;

	for (;;) {
		now = hb_clock_now(&belt->clock);
		number = hb_wheel_wants(&shard->wheel, now,
					deadline_of(belt, now, ttl_ms));
		if (!number)
			return;
		level = hb_level_new(&belt->gauge, number);
		if (!level)
			return;
		spin_lock(&shard->lock);
		hb_wheel_grow(&shard->wheel, number, &level, now);
		spin_unlock(&shard->lock);
		hb_level_free(&belt->gauge, number, level);
	}
}

static bool ttl_is_plain(u64 ttl_ms)
{
	return ttl_ms <= HASHBELT_TTL_MAX_MS || ttl_ms == HASHBELT_TTL_NEVER;
}

/* Whether a put may go on, given what is there. */
static int put_condition(const struct hashbelt_belt *belt,
			 const struct hashbelt_entry *old,
			 const struct hashbelt_item *item)
{
	u32 demands = item->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION);

	if (!old)
		return demands ? -ENOENT : 0;
	if (demands & HASHBELT_IF_VERSION && old->version != item->version)
		return -ESTALE;
	if (item->how & HASHBELT_IF_ABSENT ||
	    (!demands && belt->policy & HASHBELT_KEEP_ON_PUT))
		return -EEXIST;
	return 0;
}

/* Gives @new the place of @old; under the shard's lock. */
static void replace(struct hb_shard *shard, struct hashbelt_entry *old,
		    struct hashbelt_entry *new, u64 now, bool keep_time)
{
	u64 deadline;

	if (keep_time)
		atomic64_set(&new->node.deadline, atomic64_read(&old->node.deadline));
	hlist_replace_rcu(&old->chain, &new->chain);
	/* Readers who find it claimed look again, and find the new one. */
	deadline = hb_node_claim(&old->node, HB_REPLACED);
	if (keep_time)
		hb_node_move(&new->node, now, deadline, false);
	hb_wheel_del(&old->node);
	unlink_entry(shard, old);
	limbo_enter(shard, old);
}

/* Puts @new into the belt; under the shard's lock. Returns when to look at it. */
static u64 admit(struct hb_shard *shard, struct hashbelt_entry *old,
		 struct hashbelt_entry *new, struct hashbelt_item *item, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	new->version = ++shard->versions << belt->shard_bits | (shard - belt->shards);
	atomic64_set(&new->node.deadline, deadline_of(belt, now, item->ttl_ms));
	if (old) {
		replace(shard, old, new, now, item->ttl_ms == HASHBELT_TTL_KEEP);
		count(belt, HASHBELT_STAT_PUTS_REPLACED);
	} else {
		hb_index_insert(&belt->index, new);
		count(belt, HASHBELT_STAT_PUTS_NEW);
	}
	link_entry(shard, new);
	item->version = new->version;
	item->ttl_ms = ms_left(atomic64_read(&new->node.deadline), now);
	return hb_wheel_add(&shard->wheel, &new->node, now);
}

/* Log2 of the chains for @entries: between 3/4 and 3/2 of an entry each. */
static unsigned int bits_for(const struct hashbelt_belt *belt, u64 entries)
{
	unsigned int bits = ilog2(max_t(u64, entries * 4 / 3, 1));

	return clamp_t(unsigned int, bits,
		       max_t(unsigned int, belt->shard_bits, HB_INDEX_BITS_MIN),
		       HB_INDEX_BITS_MAX);
}

static bool is_crowded(const struct hashbelt_belt *belt, const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return shard->count * 2 > 3ULL << bits;
}

static bool is_sparse(const struct hashbelt_belt *belt, const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return shard->count < (1ULL << bits) / 16;
}

static void grow(struct hashbelt_belt *belt, u64 shard_count)
{
	hb_index_resize(&belt->index, bits_for(belt, shard_count << belt->shard_bits));
	kick_worker(belt);
}

/**
 * hashbelt_put() - put an entry into a belt
 * @belt:	the belt
 * @entry:	from hashbelt_entry_alloc(), filled; the belt's from now on, also
 *		if the put fails
 * @item:	@how: HASHBELT_IF_*; @ttl_ms; @version with HASHBELT_IF_VERSION.
 *		Returns @ttl_ms and @version
 *
 * Context: may sleep.
 *
 * Return: 0; -EEXIST, -ENOENT or -ESTALE if the condition does not hold; -EINVAL
 * for a time-to-live that is too long; -EIDRM if the belt was destroyed.
 */
int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item)
{
	struct hashbelt_entry *old;
	struct hb_shard *shard;
	bool kick = false, crowded = false;
	u64 now, wake = HB_NEVER, shard_count;
	int err;

	if (!ttl_is_plain(item->ttl_ms) && item->ttl_ms != HASHBELT_TTL_KEEP) {
		hashbelt_entry_put(entry);
		return -EINVAL;
	}
	entry->hash = hash_of(belt, entry->data, entry->key_len);
	make_levels(belt, entry->hash, item->ttl_ms);

	shard = shard_of(belt, entry->hash);
	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	old = find_live(shard, entry->hash, entry->data, entry->key_len, now, &kick);
	err = belt->dead ? -EIDRM : put_condition(belt, old, item);
	if (!err) {
		wake = admit(shard, old, entry, item, now);
		crowded = is_crowded(belt, shard);
	} else if (old) {
		item->version = old->version;
	}
	shard_count = shard->count;
	spin_unlock(&shard->lock);

	hb_clock_wake_at(&belt->clock, wake);
	if (kick)
		kick_worker(belt);
	if (unlikely(crowded))
		grow(belt, shard_count);
	if (err) {
		if (err != -EIDRM)
			count(belt, HASHBELT_STAT_REFUSED);
		hashbelt_entry_put(entry);
	}
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_put);

/**
 * hashbelt_find() - find the entry of a key
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @now:	hashbelt_now()
 *
 * Exact: no entry at or past its deadline is found, whether or not the worker
 * has come by. A get ends with hashbelt_hit() or hashbelt_miss().
 *
 * Context: rcu_read_lock(), which also bounds how long the entry is valid;
 * refcount_inc_not_zero() on its @ref extends that.
 *
 * Return: the entry, or NULL.
 */
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now)
{
	u32 hash = hash_of(belt, key, key_len);
	struct hashbelt_entry *entry;
	s64 deadline;

	for (;;) {
		entry = hb_index_find(&belt->index, hash, key, key_len);
		if (!entry || is_cleared(belt, entry))
			return NULL;
		deadline = atomic64_read(&entry->node.deadline);
		if (likely(deadline > (s64)now))
			return entry;
		if (deadline == HB_CLAIMED)
			return NULL;
		if (deadline != HB_REPLACED && hb_node_seal(&entry->node, deadline))
			return NULL;
		/* Refreshed just now; or replaced first, and marked so then. */
		smp_rmb();
	}
}
EXPORT_SYMBOL_GPL(hashbelt_find);

/*
 * Sets the deadline of an entry that was found under RCU. A later one is only
 * stored: the drain of the bucket it stands in will find it. For an earlier
 * one the entry must change its bucket.
 */
static u64 set_deadline(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			u64 now, u64 to)
{
	struct hb_shard *shard = shard_of(belt, entry->hash);
	u64 wake = HB_NEVER, is;

	is = hb_node_move(&entry->node, now, to, false);
	if (is <= to)
		return is;
	spin_lock(&shard->lock);
	is = hb_node_move(&entry->node, now, to, true);
	if (is == to) {
		hb_wheel_del(&entry->node);
		wake = hb_wheel_add(&shard->wheel, &entry->node, now);
	}
	spin_unlock(&shard->lock);
	hb_clock_wake_at(&belt->clock, wake);
	return is;
}

/**
 * hashbelt_hit() - complete a get that found an entry
 * @belt:	the belt
 * @entry:	from hashbelt_find(), in the same read-side section or with a
 *		reference
 * @item:	@how, and @ttl_ms with HASHBELT_AND_TOUCH, checked by
 *		hashbelt_get_prepare(). Returns @flags, @value_len, @ttl_ms and
 *		@version
 * @now:	hashbelt_now() as it was for hashbelt_find()
 *
 * Refreshes the entry where the belt or the caller wants that. That can come
 * too late: then the value that was read does not count.
 *
 * Context: rcu_read_lock() or a reference to @entry.
 *
 * Return: true; false if the caller must find the entry again.
 */
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now)
{
	u64 deadline;

	if (unlikely(item->how & HASHBELT_AND_TOUCH)) {
		deadline = set_deadline(belt, entry, now,
					deadline_of(belt, now, item->ttl_ms));
		if (deadline > now)
			count(belt, HASHBELT_STAT_TOUCHES);
	} else if (belt->policy & HASHBELT_REFRESH_ON_GET &&
		   !(item->how & HASHBELT_NO_REFRESH)) {
		deadline = hb_node_move(&entry->node, now, now + belt->ttl, false);
	} else {
		/* It was there @now: that somebody has claimed it since is later. */
		deadline = max_t(u64, atomic64_read(&entry->node.deadline), now + 1);
	}
	if (unlikely(deadline <= now))
		return false;
	count(belt, HASHBELT_STAT_HITS);
	item->flags = entry->flags;
	item->value_len = entry->value_len;
	item->ttl_ms = ms_left(deadline, now);
	item->version = entry->version;
	return true;
}
EXPORT_SYMBOL_GPL(hashbelt_hit);

/**
 * hashbelt_miss() - complete a get that found nothing
 * @belt:	the belt
 */
void hashbelt_miss(struct hashbelt_belt *belt)
{
	count(belt, HASHBELT_STAT_MISSES);
}
EXPORT_SYMBOL_GPL(hashbelt_miss);

/**
 * hashbelt_get_prepare() - check and prepare a get
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	what is asked for
 *
 * Context: may sleep. Return: 0 or -EINVAL.
 */
int hashbelt_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
			 const struct hashbelt_item *item)
{
	if (likely(!(item->how & HASHBELT_AND_TOUCH)))
		return 0;
	if (!ttl_is_plain(item->ttl_ms) || item->how & HASHBELT_NO_REFRESH)
		return -EINVAL;
	make_levels(belt, hash_of(belt, key, key_len), item->ttl_ms);
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_get_prepare);

/**
 * hashbelt_touch() - give an entry a new deadline
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@ttl_ms. Returns @flags, @ttl_ms and @version
 *
 * Context: may sleep.
 *
 * Return: 0; -ENOENT; -EINVAL for a time-to-live that is too long.
 */
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item)
{
	struct hashbelt_entry *entry;
	u64 now, to, is;

	if (!ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	make_levels(belt, hash_of(belt, key, key_len), item->ttl_ms);
	rcu_read_lock();
	do {
		now = hb_clock_now(&belt->clock);
		to = deadline_of(belt, now, item->ttl_ms);
		entry = hashbelt_find(belt, key, key_len, now);
		is = entry ? set_deadline(belt, entry, now, to) : HB_CLAIMED;
	} while (is == HB_REPLACED);
	if (is > now) {
		item->flags = entry->flags;
		item->ttl_ms = ms_left(is, now);
		item->version = entry->version;
	}
	rcu_read_unlock();
	if (is <= now)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	count(belt, HASHBELT_STAT_TOUCHES);
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_touch);

/**
 * hashbelt_remove() - take an entry out, without the handler
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@how: 0 or HASHBELT_IF_VERSION, and @version. Returns @version
 *
 * Context: may sleep.
 *
 * Return: 0; -ENOENT; -ESTALE if the version is another.
 */
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item)
{
	u32 hash = hash_of(belt, key, key_len);
	struct hb_shard *shard = shard_of(belt, hash);
	struct hashbelt_entry *entry;
	bool kick = false;
	int err = 0;

	spin_lock(&shard->lock);
	entry = find_live(shard, hash, key, key_len, hb_clock_now(&belt->clock), &kick);
	if (!entry) {
		err = belt->dead ? -EIDRM : -ENOENT;
	} else if (item->how & HASHBELT_IF_VERSION && entry->version != item->version) {
		item->version = entry->version;
		err = -ESTALE;
	} else {
		item->version = entry->version;
		hb_node_claim(&entry->node, HB_CLAIMED);
		hb_wheel_del(&entry->node);
		discard(shard, entry);
		kick |= is_sparse(belt, shard);
	}
	spin_unlock(&shard->lock);
	if (kick)
		kick_worker(belt);
	if (!err)
		count(belt, HASHBELT_STAT_REMOVES);
	else if (err == -ESTALE)
		count(belt, HASHBELT_STAT_REFUSED);
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_remove);

/**
 * hashbelt_expire() - let an entry expire now, through the handler
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 *
 * Context: may sleep. Return: 0 or -ENOENT.
 */
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	u32 hash = hash_of(belt, key, key_len);
	struct hb_shard *shard = shard_of(belt, hash);
	struct hashbelt_entry *entry;
	bool kick = false;

	spin_lock(&shard->lock);
	entry = find_live(shard, hash, key, key_len, hb_clock_now(&belt->clock), &kick);
	if (entry) {
		hb_node_claim(&entry->node, HB_CLAIMED);
		hb_wheel_del(&entry->node);
		count(belt, HASHBELT_STAT_EXPIRED);
		kick |= retire(shard, entry);
	}
	spin_unlock(&shard->lock);
	if (kick)
		kick_worker(belt);
	if (!entry)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_expire);

/* The belt as a whole */

/**
 * hashbelt_now() - belt time
 * @belt:	the belt
 *
 * Return: nanoseconds; moves with the kernel's tick.
 */
u64 hashbelt_now(struct hashbelt_belt *belt)
{
	return hb_clock_now(&belt->clock);
}
EXPORT_SYMBOL_GPL(hashbelt_now);

/* Sparse cannot follow locks that are taken in a loop: do not tell it. */
static void lock_all(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		spin_lock_nest_lock(&shard->lock, &belt->clear_lock);
		__release(&shard->lock);
	}
}

static void unlock_all(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		__acquire(&shard->lock);
		spin_unlock(&shard->lock);
	}
}

/* Nothing that is in the belt now is there any more; @dead: nor will it be. */
static void clear(struct hashbelt_belt *belt, bool dead)
{
	struct hb_shard *shard;
	u64 versions = 0, cleared = 0;

	mutex_lock(&belt->clear_lock);
	lock_all(belt);
	for (shard = belt->shards; shard < shards_end(belt); shard++)
		versions = max(versions, shard->versions);
	WRITE_ONCE(belt->floor, ((versions + 1) << belt->shard_bits) - 1);
	WRITE_ONCE(belt->dead, belt->dead || dead);
	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		shard->versions = versions;
		cleared += shard->live;
		shard->live = 0;
		shard->live_bytes = 0;
	}
	unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
	count_by(belt, HASHBELT_STAT_CLEARED, cleared);
	kick_worker(belt);
}

/**
 * hashbelt_clear() - drop all entries, without the handler
 * @belt:	the belt
 *
 * Readers see it at once and as one event; memory follows in batches.
 *
 * Context: may sleep.
 */
void hashbelt_clear(struct hashbelt_belt *belt)
{
	clear(belt, false);
}
EXPORT_SYMBOL_GPL(hashbelt_clear);

/**
 * hashbelt_kill() - end the use of a belt that others still hold
 * @belt:	the belt
 *
 * Its entries are gone, and whoever uses it gets -EIDRM. Context: may sleep.
 */
void hashbelt_kill(struct hashbelt_belt *belt)
{
	clear(belt, true);
}

/**
 * hashbelt_is_dead() - whether hashbelt_kill() was called
 * @belt:	the belt
 *
 * Return: whether.
 */
bool hashbelt_is_dead(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->dead);
}

/* Judges a batch of fallen nodes in a shard. Returns true if there are more. */
static bool drain_step(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	struct hb_fall fall = { .expired = LIST_HEAD_INIT(fall.expired) };
	struct hashbelt_entry *entry, *next;
	unsigned int expired = 0;
	bool more;

	spin_lock(&shard->lock);
	more = hb_wheel_drain(&shard->wheel, hb_clock_now(&belt->clock), BATCH, &fall);
	list_for_each_entry_safe(entry, next, &fall.expired, node.queue) {
		expired += !is_cleared(belt, entry);
		retire(shard, entry);
	}
	spin_unlock(&shard->lock);

	count_by(belt, HASHBELT_STAT_EXPIRED, expired);
	count_by(belt, HASHBELT_STAT_CASCADED, fall.cascaded);
	count_by(belt, HASHBELT_STAT_DRAINED, fall.buckets);
	return more;
}

/* Hands a batch of a shard's expired entries to the handler. */
static bool handle_step(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	struct hashbelt_entry *entry, *next;
	unsigned int budget = BATCH;
	LIST_HEAD(batch);
	bool more;

	spin_lock(&shard->lock);
	list_for_each_entry_safe(entry, next, &shard->expired, node.queue) {
		if (!budget--)
			break;
		list_move_tail(&entry->node.queue, &batch);
	}
	more = !list_empty(&shard->expired);
	spin_unlock(&shard->lock);

	list_for_each_entry(entry, &batch, node.queue)
		belt->expired(belt, entry, belt->arg);

	spin_lock(&shard->lock);
	list_for_each_entry_safe(entry, next, &batch, node.queue)
		limbo_enter(shard, entry);
	spin_unlock(&shard->lock);
	return more;
}

static void sweep_one(struct hashbelt_entry *entry, void *arg)
{
	struct hb_shard *shard = arg;

	if (!is_cleared(shard->belt, entry))
		return;
	hb_node_claim(&entry->node, HB_CLAIMED);
	hb_wheel_del(&entry->node);
	discard(shard, entry);
}

static bool needs_sweep(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	bool needs = false;

	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		needs |= shard->count != shard->live;
		spin_unlock(&shard->lock);
	}
	return needs;
}

/* Discards what was cleared in a few chains. Returns true if there is more. */
static bool sweep_step(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int chains;

	if (!needs_sweep(belt))
		return false;
	for (chains = 0; chains < BATCH; chains++) {
		if (belt->sweep == HB_INDEX_END)
			belt->sweep = 0;
		shard = shard_of(belt, belt->sweep);
		spin_lock(&shard->lock);
		belt->sweep = hb_index_scan(&belt->index, belt->sweep, sweep_one, shard);
		spin_unlock(&shard->lock);
	}
	return true;
}

/* Moves a few chains of an index that is being resized. True if there are more. */
static bool resize_step(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int chains;
	u64 hash;

	for (chains = 0; chains < BATCH; chains++) {
		hash = hb_index_moving(&belt->index);
		if (hash == HB_INDEX_END)
			return false;
		shard = shard_of(belt, hash);
		spin_lock(&shard->lock);
		hb_index_move(&belt->index);
		spin_unlock(&shard->lock);
	}
	return true;
}

/* A batch of everything that is to be done later. True if there is more. */
static bool step(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	bool more;

	mutex_lock(&belt->step_lock);
	more = sweep_step(belt);
	more |= resize_step(belt);
	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		more |= drain_step(belt, shard);
		if (belt->expired)
			more |= handle_step(belt, shard);
	}
	mutex_unlock(&belt->step_lock);
	return more;
}

static u64 count_entries(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	u64 entries = 0;

	for (shard = belt->shards; shard < shards_end(belt); shard++)
		entries += READ_ONCE(shard->count);
	return entries;
}

/*
 * Gives the index another size if it is far too large, or crowded still.
 * Returns true if there are chains to be moved now.
 */
static bool fit_index(struct hashbelt_belt *belt)
{
	u64 entries = count_entries(belt);
	u64 chains = 1ULL << READ_ONCE(belt->index.bits);

	if (entries >= chains / 8 && entries <= chains * 3 / 2)
		return false;
	return hb_index_resize(&belt->index, bits_for(belt, entries));
}

/* Does all that is due, and sets the alarm for the next bucket. */
static void run(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	u64 next = HB_NEVER;

	hb_clock_reset_alarm(&belt->clock);
	do {
		while (step(belt) && !fatal_signal_pending(current))
			cond_resched();
	} while (fit_index(belt) && !fatal_signal_pending(current));
	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		next = min(next, hb_wheel_next(&shard->wheel));
		spin_unlock(&shard->lock);
	}
	hb_clock_wake_at(&belt->clock, next);
	if (fatal_signal_pending(current))
		kick_worker(belt);
}

static void belt_work(struct work_struct *work)
{
	run(container_of(work, struct hashbelt_belt, work));
}

/**
 * hashbelt_halt() - stop belt time: nothing expires until hashbelt_resume()
 * @belt:	the belt
 */
void hashbelt_halt(struct hashbelt_belt *belt)
{
	hb_clock_halt(&belt->clock);
}
EXPORT_SYMBOL_GPL(hashbelt_halt);

/**
 * hashbelt_resume() - let belt time go on from where it stood
 * @belt:	the belt
 */
void hashbelt_resume(struct hashbelt_belt *belt)
{
	hb_clock_resume(&belt->clock);
}
EXPORT_SYMBOL_GPL(hashbelt_resume);

/**
 * hashbelt_advance() - move belt time on, halted or not
 * @belt:	the belt
 * @by:		nanoseconds
 *
 * When it returns, all buckets that fell off by this have been drained, and their
 * expired entries have been through the handler (unless the caller is being
 * killed: then the worker does the rest).
 *
 * Context: may sleep. Return: 0, or -EOVERFLOW if belt time would leave its
 * range of some 146 years.
 */
int hashbelt_advance(struct hashbelt_belt *belt, u64 by)
{
	int err = hb_clock_advance(&belt->clock, by);

	if (!err)
		run(belt);
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_advance);

/**
 * hashbelt_rotate() - move belt time on by one interval
 * @belt:	the belt
 *
 * Context: may sleep. Return: as hashbelt_advance().
 */
int hashbelt_rotate(struct hashbelt_belt *belt)
{
	return hashbelt_advance(belt, belt->gauge.width[0]);
}
EXPORT_SYMBOL_GPL(hashbelt_rotate);

/* Scan and figures */

struct scan_buffer {
	struct hashbelt_belt *belt;
	u8 *bytes;
	u64 now;
	u32 size;
	u64 used;	/* may be more than fits: then nothing is written */
	u32 count;
};

static void scan_one(struct hashbelt_entry *entry, void *arg)
{
	struct scan_buffer *buffer = arg;
	struct hashbelt_record *record = (void *)(buffer->bytes + buffer->used);
	u64 deadline = atomic64_read(&entry->node.deadline);
	u32 size = ALIGN(sizeof(*record) + entry->key_len, 8);

	if (is_cleared(buffer->belt, entry) || deadline <= buffer->now)
		return;
	buffer->used += size;
	buffer->count++;
	if (buffer->used > buffer->size)
		return;
	*record = (struct hashbelt_record){
		.size = size,
		.key_len = entry->key_len,
		.value_len = entry->value_len,
		.flags = entry->flags,
		.ttl_ms = ms_left(deadline, buffer->now),
		.version = entry->version,
	};
	memcpy(record + 1, entry->data, entry->key_len);
	memset((u8 *)(record + 1) + entry->key_len, 0,
	       size - sizeof(*record) - entry->key_len);
}

/**
 * hashbelt_scan() - report the entries of some chains
 * @belt:	the belt
 * @scan:	@cursor and @size in; @cursor and @count returned, and with
 *		-ERANGE the @size that is needed
 * @bytes:	the buffer, @scan->size bytes, aligned to 8
 * @used:	returned: bytes of it that were written
 *
 * Context: may sleep. Return: 0; -EINVAL for a cursor that no scan returned;
 * -ERANGE.
 */
int hashbelt_scan(struct hashbelt_belt *belt, struct hashbelt_scan *scan,
		  void *bytes, u32 *used)
{
	struct scan_buffer buffer = {
		.belt = belt, .bytes = bytes, .size = scan->size,
		.now = hb_clock_now(&belt->clock),
	};
	u64 place = scan->cursor;
	unsigned int chains;

	*used = 0;
	scan->count = 0;
	if (place >= HB_INDEX_END)
		return -EINVAL;
	for (chains = 0; chains < SCAN_CHAINS && place < HB_INDEX_END; chains++) {
		struct hb_shard *shard = shard_of(belt, place);
		u64 next;

		spin_lock(&shard->lock);
		next = hb_index_scan(&belt->index, place, scan_one, &buffer);
		spin_unlock(&shard->lock);
		if (buffer.used > buffer.size)
			break;
		*used = buffer.used;
		scan->count = buffer.count;
		place = next;
	}
	if (!*used && buffer.used > buffer.size) {
		scan->size = min_t(u64, buffer.used, U32_MAX);
		return -ERANGE;
	}
	scan->cursor = place < HB_INDEX_END ? place : 0;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_scan);

/**
 * hashbelt_info() - describe a belt
 * @belt:	the belt
 * @info:	filled in, but for its name, @mode, @uid, @gid and @access
 *
 * Context: may sleep.
 */
void hashbelt_info(struct hashbelt_belt *belt, struct hashbelt_info *info)
{
	struct hb_shard *shard;
	unsigned int levels;

	info->ttl_ms = div_u64(belt->ttl, NSEC_PER_MSEC);
	info->interval_ns = belt->gauge.width[0];
	info->now_ns = hb_clock_now(&belt->clock);
	info->wake_ns = READ_ONCE(belt->clock.wake);
	if (info->wake_ns == HB_NEVER)
		info->wake_ns = HASHBELT_TTL_NEVER;
	info->buckets = belt->gauge.size[0];
	info->policy = belt->policy;
	info->state = hb_clock_is_halted(&belt->clock) ? HASHBELT_HALTED : 0;
	info->table = 1ULL << READ_ONCE(belt->index.bits);
	info->entries = 0;
	info->bytes = hb_index_bytes(&belt->index);
	info->levels = 0;
	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		spin_lock(&shard->lock);
		info->entries += shard->live;
		info->bytes += shard->live_bytes;
		levels = hb_wheel_levels(&shard->wheel, &info->bytes);
		spin_unlock(&shard->lock);
		info->levels = max(info->levels, levels);
	}
}
EXPORT_SYMBOL_GPL(hashbelt_info);

/**
 * hashbelt_stat() - sum the counters
 * @belt:	the belt
 * @counters:	HASHBELT_STAT_COUNT of them, filled in
 */
void hashbelt_stat(struct hashbelt_belt *belt, u64 *counters)
{
	unsigned int i;
	int cpu;

	memset(counters, 0, HASHBELT_STAT_COUNT * sizeof(*counters));
	for_each_possible_cpu(cpu)
		for (i = 0; i < HASHBELT_STAT_COUNT; i++)
			counters[i] += READ_ONCE(per_cpu_ptr(belt->stats, cpu)->count[i]);
	counters[HASHBELT_STAT_WAKEUPS] = hb_clock_wakeups(&belt->clock);
}
EXPORT_SYMBOL_GPL(hashbelt_stat);

/* Making and freeing */

static size_t belt_size(unsigned int shard_bits)
{
	struct hashbelt_belt *belt;

	return struct_size(belt, shards, 1 << shard_bits);
}

static unsigned int choose_shard_bits(u32 buckets)
{
	unsigned int bits = ilog2(roundup_pow_of_two(2 * num_possible_cpus()));

	bits = clamp(bits, SHARD_BITS_MIN, SHARD_BITS_MAX);
	while (bits > SHARD_BITS_MIN && (buckets << bits) > SLOTS_MAX)
		bits--;
	return bits;
}

static void free_one(struct hashbelt_entry *entry, void *arg)
{
	hlist_del(&entry->chain);
	hashbelt_entry_put(entry);
}

static void free_entries(struct hashbelt_belt *belt)
{
	struct hashbelt_entry *entry, *next;
	struct hb_shard *shard;
	u64 place;

	for (place = 0; place < HB_INDEX_END; cond_resched())
		place = hb_index_scan(&belt->index, place, free_one, NULL);
	while (is_in_limbo(belt))
		limbo_flush(belt);
	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		list_for_each_entry_safe(entry, next, &shard->expired, node.queue)
			hashbelt_entry_put(entry);
	}
}

/* Frees what of a belt has been made; nobody uses it. */
static void belt_free(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < shards_end(belt); shard++)
		hb_wheel_destroy(&shard->wheel);
	hb_index_destroy(&belt->index);
	free_percpu(belt->stats);
	hb_free(belt, belt_size(belt->shard_bits));
	if (atomic_dec_and_test(&belts))
		wake_up_var(&belts);
}

static void belt_free_work(struct work_struct *work)
{
	struct hashbelt_belt *belt = container_of(to_rcu_work(work),
						  struct hashbelt_belt, free);

	hb_clock_stop(&belt->clock);
	cancel_work_sync(&belt->work);
	free_entries(belt);
	belt_free(belt);
}

/**
 * hashbelt_destroy() - give up a belt
 * @belt:	from hashbelt_create(). No operation on it may be going on but
 *		readers under RCU, who may still find entries. Expired entries
 *		that wait for the handler are dropped
 *
 * The belt is freed after a grace period. Context: any.
 */
void hashbelt_destroy(struct hashbelt_belt *belt)
{
	queue_rcu_work(destroy_wq, &belt->free);
}
EXPORT_SYMBOL_GPL(hashbelt_destroy);

static void shard_init(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	spin_lock_init(&shard->lock);
	INIT_LIST_HEAD(&shard->expired);
	INIT_RCU_WORK(&shard->free, limbo_free);
	shard->belt = belt;
}

/* Allocates what a belt is made of. On failure belt_free() frees what there is. */
static int belt_alloc(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	int err;

	belt->stats = alloc_percpu_gfp(struct hb_stats, GFP_KERNEL_ACCOUNT);
	if (!belt->stats)
		return -ENOMEM;
	err = hb_index_init(&belt->index, bits_for(belt, 0), belt_wq);
	if (err)
		return err;
	for (shard = belt->shards; shard < shards_end(belt); shard++) {
		err = hb_wheel_init(&shard->wheel, &belt->gauge);
		if (err)
			return err;
	}
	return 0;
}

/**
 * hashbelt_create() - make a belt
 * @config:	what it shall be; not needed any more when this returns
 *
 * Context: may sleep.
 *
 * Return: the belt, owned by the caller, to be given up with
 * hashbelt_destroy(); ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct hashbelt_belt *hashbelt_create(const struct hashbelt_config *config)
{
	u64 ttl = ALIGN(config->ttl ?: HASHBELT_TTL_DEFAULT, 2);
	u32 buckets = config->buckets ?: HASHBELT_BUCKETS_DEFAULT;
	unsigned int shard_bits = choose_shard_bits(buckets);
	struct hashbelt_belt *belt;
	struct hb_shard *shard;
	int err;

	if (ttl > HASHBELT_TTL_MAX_MS * NSEC_PER_MSEC ||
	    buckets < HASHBELT_BUCKETS_MIN || buckets > HASHBELT_BUCKETS_MAX ||
	    config->policy & ~(HASHBELT_REFRESH_ON_GET | HASHBELT_KEEP_ON_PUT))
		return ERR_PTR(-EINVAL);
	belt = hb_zalloc(belt_size(shard_bits));
	if (!belt)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&belts);
	belt->shard_bits = shard_bits;
	belt->ttl = ttl;
	belt->policy = config->policy;
	belt->expired = config->expired;
	belt->arg = config->arg;
	belt->sweep = HB_INDEX_END;
	get_random_bytes(&belt->seed, sizeof(belt->seed));
	mutex_init(&belt->step_lock);
	mutex_init(&belt->clear_lock);
	INIT_WORK(&belt->work, belt_work);
	INIT_RCU_WORK(&belt->free, belt_free_work);
	hb_clock_init(&belt->clock, belt_wq, &belt->work);
	hb_gauge_init(&belt->gauge, ttl, buckets);
	for (shard = belt->shards; shard < shards_end(belt); shard++)
		shard_init(belt, shard);
	err = belt_alloc(belt);
	if (err) {
		belt_free(belt);
		return ERR_PTR(err);
	}
	return belt;
}
EXPORT_SYMBOL_GPL(hashbelt_create);

/**
 * hb_core_init() - make what all belts share
 *
 * Return: 0 or -ENOMEM.
 */
int hb_core_init(void)
{
	int err = hb_memory_init(offsetof(struct hashbelt_entry, data));

	if (err)
		return err;
	err = -ENOMEM;
	belt_wq = alloc_workqueue("hashbelt", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!belt_wq)
		goto err_memory;
	destroy_wq = alloc_workqueue("hashbelt_destroy", WQ_UNBOUND, 0);
	if (!destroy_wq)
		goto err_belt_wq;
	return 0;

err_belt_wq:
	destroy_workqueue(belt_wq);
err_memory:
	hb_memory_exit();
	return err;
}

/**
 * hb_core_exit() - undo hb_core_init(), when all belts have been given up
 *
 * Context: may sleep: waits for the last belt to be freed.
 */
void hb_core_exit(void)
{
	wait_var_event(&belts, !atomic_read(&belts));
	destroy_workqueue(destroy_wq);
	/* Tables of indexes that were resized wait for a grace period. */
	rcu_barrier();
	destroy_workqueue(belt_wq);
	hb_memory_exit();
}
