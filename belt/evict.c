// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: what counts against them, and who goes when there is no room.
 *
 * The usage of a belt is kept up only where it has a limit, under one lock, so
 * that it is exact: no put is granted above a limit, and none is refused, nor
 * anything evicted, below it.
 *
 * The entry nearest its deadline goes first. Each shard has a lower bound of its
 * deadlines; the shard with the least one is looked at, which makes its bound
 * exact, until it is still the least: two shards for each eviction, mostly, and
 * not all of them. Inside a shard the wheel knows (hb_wheel_nearest()).
 *
 * When the system is short of memory the shrinker does the same, to the belt
 * whose next entry has the least time left, a few entries at a time, and passes
 * over belts that are pinned. It may be called from any allocation, and so from
 * one of our own: it takes shards' locks and those inside of them, which are
 * never held where memory is allocated, and waits for none of our own work for
 * longer than a moment.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/rculist.h>
#include <linux/sched/signal.h>

#include "belt.h"
#include "compat.h"
#include "evict.h"
#include "limbo.h"
#include "queue.h"
#include "shard.h"
#include "trace.h"
#include "usage.h"

/* Entries that the shrinker takes from a belt before it compares belts again. */
#define SHRINK_BATCH	16

/* Belts that turned out to have nothing, after which the shrinker gives up: next time. */
#define SHRINK_MISSES	32

/* How long it goes on, once it has something: with many belts each comparison takes long. */
#define SHRINK_LASTS	DIV_ROUND_UP(HZ, 50)

/* For the shrinker: what an entry takes, about, of the memory that it could get. */
#define SHRINK_UNIT	128

/* Entries that direct reclaim takes before it waits, for how long, and until when. */
#define LIMBO_MUCH	512
#define LIMBO_WAIT	DIV_ROUND_UP(HZ, 50)
#define LIMBO_LASTS	(HZ / 2)

/* Attempts to allocate an entry: after the first, the belt gives something up. */
#define ALLOC_TRIES	4

static LIST_HEAD(belts);
static struct shrinker *shrinker;
static DEFINE_SPINLOCK(belts_lock);	/* to change the list; readers are under RCU */

/**
 * struct search - for the entry nearest its deadline
 * @put:	what there is to be room for: what has its key now is spared; or NULL
 * @home:	its shard
 * @others:	lower bound of the deadlines there, that of its key apart
 * @shard:	returned: the shard whose bound is the least
 * @least:	returned: that, or HB_NOTHING
 * @next:	returned: the least one of the other shards
 */
struct search {
	const struct hashbelt_entry *put;
	const struct hb_shard *home;
	u64 others;
	struct hb_shard *shard;
	u64 least;
	u64 next;
};

static void find_shard(struct hashbelt_belt *belt, struct search *search)
{
	struct hb_shard *shard;

	search->least = HB_NOTHING;
	search->next = HB_NOTHING;
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		u64 nearest = READ_ONCE(shard->nearest);

		if (shard == search->home)
			nearest = max(nearest, search->others);
		if (nearest < search->least) {
			search->next = search->least;
			search->least = nearest;
			search->shard = shard;
		} else {
			search->next = min(search->next, nearest);
		}
	}
}

static struct hashbelt_entry *nearest_entry(struct hb_shard *shard, u64 now)
{
	struct hb_node *node = hb_wheel_nearest(&shard->wheel, now), *old;

	lockdep_assert_held(&shard->lock);
	if (shard->old.level[0]) {
		old = hb_wheel_nearest(&shard->old, now);
		if (old && (!node || hb_node_deadline(old) <
				     hb_node_deadline(node)))
			node = old;
	}
	return node ? container_of(node, struct hashbelt_entry, node) : NULL;
}

static u64 deadline_of(const struct hashbelt_entry *entry)
{
	return entry ? hb_node_deadline(&entry->node) : HB_NOTHING;
}

/* What has the key of what is put, if it is in this shard and has not expired. */
static struct hashbelt_entry *find_spared(struct hb_shard *shard, const struct search *search,
					  u64 now)
{
	const struct hashbelt_entry *put = search->put;

	if (shard != search->home)
		return NULL;
	return hb_peek(shard, put->hash & ~HB_TAILED, put->data, put->key_len, now);
}

/* The entry of a shard that may go first; the shard's bound is exact then. */
static struct hashbelt_entry *find_nearest(struct hb_shard *shard, struct search *search,
					   u64 now)
{
	struct hashbelt_entry *entry = nearest_entry(shard, now);
	struct hashbelt_entry *spared = find_spared(shard, search, now);

	WRITE_ONCE(shard->nearest, deadline_of(entry));
	if (unlikely(spared && entry == spared)) {
		hb_wheel_del(&spared->node);
		entry = nearest_entry(shard, now);
		hb_wheel_add(&shard->wheel, &spared->node, now);
	}
	if (shard == search->home)
		search->others = deadline_of(entry);
	return entry;
}

/*
 * Takes out what find_nearest() found, as whatever it is. One that has expired
 * has expired; but where that gives it a new life it has to go all the same. A request
 * may be completed at this moment, and is on its way out then.
 */
static void evict_entry(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
			enum hashbelt_reason reason)
{
	struct hashbelt_belt *belt = shard->belt;
	bool cleared = hb_is_cleared(belt, entry);
	u64 deadline = hb_node_deadline(&entry->node);

	if (hb_expire_due(shard, entry, now))
		return;
	if (!hb_take_out(shard, entry, cleared ? HASHBELT_CLEARED : reason, now) || cleared)
		return;
	/* It is not freed before the lock is given up. */
	trace_hashbelt_evict(belt->id, entry, reason, deadline);
	hb_count(belt, reason == HASHBELT_PRESSURE ? HASHBELT_STAT_PRESSURE :
						     HASHBELT_STAT_EVICTED);
}

/*
 * Takes out the entry nearest its deadline, if that is not after @until, and not the one
 * that @put is to replace. False if there is none.
 */
static bool evict_one(struct hashbelt_belt *belt, enum hashbelt_reason reason, u64 until,
		      const struct hashbelt_entry *put)
{
	struct search search = {
		.put = put, .home = put ? hb_shard_of(belt, put->hash) : NULL,
	};
	struct hashbelt_entry *entry;
	u64 now, deadline;
	bool done = false;

	while (!done) {
		find_shard(belt, &search);
		if (search.least > until)
			return false;
		spin_lock(&search.shard->lock);
		now = hb_clock_now(&belt->clock);
		entry = find_nearest(search.shard, &search, now);
		deadline = deadline_of(entry);
		done = entry && deadline <= search.next && deadline <= until;
		if (done)
			evict_entry(search.shard, entry, now, reason);
		spin_unlock(&search.shard->lock);
	}
	return true;
}

/* Evicts up to @most entries, those nearest their deadlines first; how many. */
unsigned int hb_evict(struct hashbelt_belt *belt, enum hashbelt_reason reason,
		      unsigned int most)
{
	unsigned int done = 0;

	while (done < most && evict_one(belt, reason, HB_NEVER, NULL))
		done++;
	return done;
}

/*
 * Whether a belt has no room for what is put, and holds nothing that could make some.
 * Without all shards' locks, one might see neither the entry that another put has just
 * taken out, nor the one that it is about to put on the wheel in that place.
 */
static bool is_exhausted(struct hashbelt_belt *belt, const struct hashbelt_entry *put)
{
	struct search search = { .put = put, .home = hb_shard_of(belt, put->hash) };
	struct hashbelt_entry *spared;
	struct hb_shard *shard;
	bool exhausted;
	u64 now;

	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	now = hb_clock_now(&belt->clock);
	spared = find_spared(hb_shard_of(belt, put->hash), &search, now);
	spin_lock(&belt->queue.lock);
	exhausted = !belt->queue.waiting.first &&
		    !hb_usage_fits(&belt->usage, !spared,
			  hb_cost(put) - (spared ? hb_cost(spared) : 0));
	spin_unlock(&belt->queue.lock);
	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		exhausted &= shard->nearest == HB_NOTHING ||
			     (spared && shard == search.home &&
			      !find_nearest(shard, &search, now));
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
	return exhausted;
}

/*
 * Makes some room for what is being put: takes out an entry that has expired; else, if
 * the belt evicts, another one, but not what has the same key: that is replaced, or stays;
 * else, if it evicts and holds nothing but events, the oldest of these. False if there is
 * nothing to be had, all there is would not do, or the caller is being killed. Context:
 * may sleep.
 */
bool hb_make_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put)
{
	if (hb_cost(put) > READ_ONCE(belt->usage.max_bytes) || READ_ONCE(belt->dead) ||
	    fatal_signal_pending(current))
		return false;
	/* A limit that was lowered may leave a million entries for one put to evict. */
	cond_resched();
	/* Where what expires lives on, that makes no room. */
	if (READ_ONCE(belt->handler) != HASHBELT_REINSERT &&
	    evict_one(belt, HASHBELT_EVICTED, hb_clock_now(&belt->clock), put))
		return true;
	if (!(READ_ONCE(belt->policy) & HASHBELT_EVICT))
		return false;
	return evict_one(belt, HASHBELT_EVICTED, HB_NEVER, put) ||
	       hb_event_drop_oldest(belt) || !is_exhausted(belt, put);
}

/* Allocating an entry, with eviction where that helps */

/*
 * Whether evicting entries of a belt helps after an allocation has failed, and may be done.
 * It does under the limits of an account or the module. Where the system or a cgroup has no
 * memory, what there is may be somebody else's: that is for the shrinker.
 */
static bool may_evict(const struct hashbelt_belt *belt, int err)
{
	return err != -ENOMEM && READ_ONCE(belt->policy) & HASHBELT_EVICT &&
	       !hb_reports(belt, HASHBELT_EVICTED);
}

/* Memory for an entry of a kind; as hashbelt_entry_alloc(). */
struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 keys,
					   u32 key_len, u32 value_len)
{
	struct hashbelt_entry *entry;
	unsigned int tries;

	entry = hb_entry_alloc(belt, kind, keys, key_len, value_len, GFP_KERNEL);
	for (tries = 0; IS_ERR(entry) && tries < ALLOC_TRIES; tries++) {
		/* What the belt let go of lately may be all that is missing. */
		if (tries && !(may_evict(belt, PTR_ERR(entry)) &&
			       hb_evict(belt, HASHBELT_EVICTED, HB_BATCH)))
			break;
		hb_limbo_flush(belt);
		entry = hb_entry_alloc(belt, kind, keys, key_len, value_len, GFP_KERNEL);
	}
	return entry;
}

/**
 * hashbelt_entry_alloc() - memory for an entry
 * @belt:	the belt that it is for
 * @client:	the descriptor that it is to be bound to, or NULL
 * @key_len:	1 to HASHBELT_KEY_MAX bytes
 * @value_len:	0 to HASHBELT_VALUE_MAX bytes
 *
 * Context: may sleep. The caller has checked the lengths.
 *
 * Return: the entry, owned by the caller, who writes key, value and flags and
 * then gives it to hashbelt_put() or hashbelt_entry_put(); ERR_PTR(-ENOMEM),
 * ERR_PTR(-ENOSPC) when the module's memory limit is reached, or
 * ERR_PTR(-EDQUOT) when that of the belt's account is.
 */
struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt,
					    struct hb_client *client, u32 key_len,
					    u32 value_len)
{
	struct hashbelt_entry *entry;
	struct hb_link *link;

	if (likely(!client))
		return hb_entry_get_memory(belt, HB_ENTRY, 0, key_len, value_len);
	entry = hb_entry_get_memory(belt, HB_ENTRY | HB_TAILED, 0, key_len, value_len);
	if (IS_ERR(entry))
		return entry;
	link = hb_tail(entry);
	link->client = client;
	return entry;
}
EXPORT_SYMBOL_GPL(hashbelt_entry_alloc);

/* The shrinker */

/* What the shrinker might get, in entries. */
static unsigned long shrink_count(struct shrinker *self, struct shrink_control *control)
{
	return div_u64(hb_memory_used(), SHRINK_UNIT) ?: SHRINK_EMPTY;
}

/*
 * The belt whose next entry has the least time left, of those that have more than
 * @after; its time left in @least. Under RCU.
 */
static struct hashbelt_belt *nearest_belt(s64 after, s64 *least)
{
	struct hashbelt_belt *belt, *best = NULL;
	struct search search = {};
	s64 left;

	*least = S64_MAX;
	list_for_each_entry_rcu(belt, &belts, place) {
		if (READ_ONCE(belt->policy) & HASHBELT_PINNED)
			continue;
		find_shard(belt, &search);
		if (search.least == HB_NOTHING)
			continue;
		left = search.least - hb_clock_now(&belt->clock);
		if (left > after && left < *least) {
			*least = left;
			best = belt;
		}
	}
	return best;
}

/*
 * What was taken is free only when a grace period is over and the worker has come
 * by. Direct reclaim does not see that it will be, and would look for somebody to
 * kill: it waits a moment, now and then while it takes much, and when it finds
 * nothing more soon after. Not so the worker itself, and who is in no need.
 */
static void wait_for_limbo(unsigned int done)
{
	static atomic_t taken = ATOMIC_INIT(0);
	static unsigned long last;	/* no lock: who sees an old one waits once more, or less */

	if (done)
		WRITE_ONCE(last, jiffies);
	else if (time_after(jiffies, READ_ONCE(last) + LIMBO_LASTS))
		return;
	if (!(current->flags & PF_MEMALLOC) || fatal_signal_pending(current) ||
	    current->flags & (PF_KSWAPD | PF_WQ_WORKER))
		return;
	if (done && atomic_add_return(done, &taken) < LIMBO_MUCH)
		return;
	atomic_set(&taken, 0);
	schedule_timeout_uninterruptible(LIMBO_WAIT);
}

static unsigned long shrink_scan(struct shrinker *self, struct shrink_control *control)
{
	unsigned long left = control->nr_to_scan, freed = 0, until = jiffies + SHRINK_LASTS;
	struct hashbelt_belt *belt;
	unsigned int done, misses = 0;
	s64 after = S64_MIN, least;

	rcu_read_lock();
	while (left && misses < SHRINK_MISSES && (!freed || time_before(jiffies, until)) &&
	       (belt = nearest_belt(after, &least))) {
		done = hb_evict(belt, HASHBELT_PRESSURE, min_t(ulong, left, SHRINK_BATCH));
		left -= done;
		freed += done;
		if (!done) {
			after = least;
			misses++;
		}
	}
	rcu_read_unlock();
	wait_for_limbo(freed);
	return freed ?: SHRINK_STOP;
}

/**
 * hb_evict_init() - let the system ask for memory back
 *
 * Return: 0 or -ENOMEM.
 */
int hb_evict_init(void)
{
	shrinker = hb_shrinker_new(shrink_count, shrink_scan);
	return shrinker ? 0 : -ENOMEM;
}

/**
 * hb_evict_exit() - undo hb_evict_init()
 *
 * Context: may sleep.
 */
void hb_evict_exit(void)
{
	hb_shrinker_free(shrinker);
}

/* The shrinker may come to a belt from now on ... */
void hb_evict_add_belt(struct hashbelt_belt *belt)
{
	unsigned long flags;

	spin_lock_irqsave(&belts_lock, flags);
	list_add_tail_rcu(&belt->place, &belts);
	spin_unlock_irqrestore(&belts_lock, flags);
}

/* ... and not any more, after a grace period. */
void hb_evict_del_belt(struct hashbelt_belt *belt)
{
	unsigned long flags;

	spin_lock_irqsave(&belts_lock, flags);
	list_del_rcu(&belt->place);
	spin_unlock_irqrestore(&belts_lock, flags);
}
