// SPDX-License-Identifier: GPL-2.0
/*
 * A shard: how entries are found, linked, counted and unlinked, under its lock.
 */
#include <linux/log2.h>
#include <linux/minmax.h>

#include "belt.h"
#include "limbo.h"
#include "link.h"
#include "queue.h"
#include "shard.h"
#include "trace.h"
#include "usage.h"

/* Sparse cannot follow locks that are taken in a loop: do not tell it. */
void hb_lock_all(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		spin_lock_nest_lock(&shard->lock, &belt->clear_lock);
		__release(&shard->lock);
	}
}

void hb_unlock_all(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		__acquire(&shard->lock);
		spin_unlock(&shard->lock);
	}
}

/* What is set under all shards' locks can be read under one. */
u64 hb_interval(struct hashbelt_belt *belt)
{
	u64 interval;

	spin_lock(&belt->shards->lock);
	interval = belt->geometry->width[0];
	spin_unlock(&belt->shards->lock);
	return interval;
}

/* Counting, linking and unlinking, under the shard's lock */

/* Counts an entry that has its version and is attached to its client. */
void hb_shard_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	hb_shard_count(shard, 1);
	shard->live++;
	shard->live_bytes += hb_entry_size(entry);
	if (unlikely(hb_kind(entry)))
		hb_ops(entry)->link(shard, entry);
}

/* Unlinks the tail of an entry, in the way of its kind. */
static noinline void unlink_tail(struct hb_shard *shard, struct hashbelt_entry *entry,
				 bool cleared)
{
	if (hb_kind(entry))
		hb_ops(entry)->unlink(shard, entry, cleared);
	else
		hb_detach_put(hb_tail(entry));
	if (hb_is_sparse(shard->belt, shard))
		hb_kick_worker(shard->belt);
}

/* Undoes hb_shard_link(). */
void hb_shard_unlink(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	bool cleared = hb_is_cleared(shard->belt, entry);

	lockdep_assert_held(&shard->lock);
	hb_shard_count(shard, -1);
	/* An eviction need not look here. */
	if (unlikely(!shard->count))
		WRITE_ONCE(shard->nearest, HB_NOTHING);
	if (!cleared) {
		shard->live--;
		shard->live_bytes -= hb_entry_size(entry);
	}
	if (unlikely(entry->hash & (HB_KIND | HB_TAILED)))
		unlink_tail(shard, entry, cleared);
}

/*
 * Puts an entry of another kind than HB_ENTRY into the belt, whose key is not there;
 * under the shard's lock. -ENOSPC: there is no room; -EIDRM: its client has gone, or
 * the belt.
 */
int hb_shard_insert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 deadline, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	if (belt->dead)
		return -EIDRM;
	if (!hb_charge(belt, entry))
		return -ENOSPC;
	/* A task that closes the descriptor may claim an attached request without this lock. */
	atomic64_set(&entry->node.deadline, deadline);
	if (!hb_attach(hb_tail(entry))) {
		hb_uncharge(belt, entry);
		return -EIDRM;
	}
	entry->version = hb_version(shard);
	hb_index_insert(&belt->index, entry);
	hb_shard_link(shard, entry);
	return 0;
}

/* Puts an entry on the wheel. Returns when the worker must look at it. */
u64 hb_schedule(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	/* A request may be claimed at any moment, and has its deadline still. */
	u64 deadline = hb_node_deadline(&entry->node);

	lockdep_assert_held(&shard->lock);
	if (deadline < shard->nearest)
		WRITE_ONCE(shard->nearest, deadline);
	return hb_wheel_add(&shard->wheel, &entry->node, now);
}

/* Whether an entry that is claimed becomes an event of its belt. */
static bool is_reported(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	return (likely(!hb_kind(entry)) || hb_ops(entry)->reported) &&
	       hb_reports(belt, hb_reason(atomic64_read(&entry->node.deadline)));
}

/* A claimed entry, out of the index and uncharged, becomes an event or goes to limbo. */
static __always_inline void leave_place(struct hb_shard *shard, struct hashbelt_entry *entry,
					u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	hb_shard_unlink(shard, entry);
	if (!is_reported(belt, entry) || !hb_event_push(belt, entry, now))
		hb_limbo_enter(shard, entry);
}

/*
 * An entry that is claimed, off its wheel, and not in the index any more, because
 * another one has its place there and under the limits: becomes an event, or is
 * freed.
 */
void hb_leave_replaced(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	leave_place(shard, entry, now);
}

/* An entry that is claimed, and off its wheel, leaves the index and the belt. */
void hb_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 word = atomic64_read(&entry->node.deadline);

	if (unlikely(hb_kind(entry)) && hb_ops(entry)->leave) {
		hb_ops(entry)->leave(shard, entry, now);
		return;
	}
	if (hb_leaves_ghost(hb_reason(word)) && likely(!hb_kind(entry)))
		WRITE_ONCE(*hb_ghost_slot(belt, entry->hash),
			   hb_ghost(entry->hash, hb_reason(word)));
	hlist_del_rcu(&entry->chain);
	if (hb_is_cleared(belt, entry))
		/* Whatever it was claimed for; and the clear has uncharged it. */
		atomic64_set(&entry->node.deadline,
			     (word & ~HB_REASON) | HASHBELT_CLEARED);
	else if (!hb_stays_charged(hb_reason(word)) || !is_reported(belt, entry))
		hb_uncharge(belt, entry);
	leave_place(shard, entry, now);
	/* The entry is in limbo or an event. No task frees it before this lock is given up. */
	if (unlikely(hb_kind(entry)) && hb_ops(entry)->left)
		hb_ops(entry)->left(shard, entry, now);
}

static void count_lag(struct hashbelt_belt *belt, u64 due, u64 now)
{
	u64 lag = now > due ? div_u64(now - due, NSEC_PER_MSEC) : 0;

	this_cpu_inc(belt->stats->lags[min_t(unsigned int, fls64(lag), HASHBELT_LAGS - 1)]);
}

/* Reports an expired entry and gives it a new life, without taking it out. */
static void reinsert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	if (hb_reports(belt, HASHBELT_EXPIRED))
		hb_event_push_proxy(belt, entry, now);
	hb_count(belt, HASHBELT_STAT_REINSERTED);
	atomic64_set(&entry->node.deadline, now + belt->ttl);
	hb_clock_wake_at(&belt->clock, hb_schedule(shard, entry, now));
}

/* What becomes of an entry that is claimed as expired, and off its wheel. */
void hb_expire(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 deadline = hb_node_deadline(&entry->node);

	if (hb_is_cleared(belt, entry) ||
	    unlikely(hb_kind(entry) && !hb_ops(entry)->reported)) {
		hb_leave(shard, entry, now);
		return;
	}
	hb_count(belt, HASHBELT_STAT_EXPIRED);
	trace_hashbelt_expire(belt->id, entry, now - deadline);
	if (deadline <= now)
		count_lag(belt, deadline + belt->grace * !hb_kind(entry), now);
	if (hb_lives_on(belt, entry))
		reinsert(shard, entry, now);
	else
		hb_leave(shard, entry, now);
}

/*
 * Lets an entry expire that is past its deadline, though the worker has not come by. False if it is
 * not, was cleared, or would live on.
 */
bool hb_expire_due(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	if (hb_is_cleared(shard->belt, entry) || hb_lives_on(shard->belt, entry) ||
	    !hb_node_claim_due(&entry->node, now))
		return false;
	hb_wheel_del(&entry->node);
	hb_expire(shard, entry, now);
	return true;
}

/* Finding, under the shard's lock */

/* The entry of a key, whatever its deadline, or NULL; @hash has the kind. */
struct hashbelt_entry *hb_find_locked(struct hb_shard *shard, u32 hash, const void *key,
				      u32 key_len)
{
	struct hashbelt_entry *entry;

	lockdep_assert_held(&shard->lock);
	rcu_read_lock();
	entry = hb_index_find(&shard->belt->index, hash, key, key_len);
	rcu_read_unlock();
	return entry;
}

/*
 * The entry of a key as a writer must see it: an entry that is cleared or has
 * expired is not there any more, and what remains to be done about it is done
 * here and now, so that it comes before whatever the writer does. On a belt that
 * reinserts, an entry that has expired is there again.
 */
struct hashbelt_entry *hb_find_live(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *entry;

	lockdep_assert_held(&shard->lock);
	entry = hb_find_locked(shard, hash, key, key_len);
	if (!entry)
		return NULL;
	if (unlikely(hb_is_cleared(belt, entry))) {
		hb_take_out(shard, entry, HASHBELT_CLEARED, now);
		return NULL;
	}
	if (unlikely(hb_node_claim_due(&entry->node, now))) {
		hb_wheel_del(&entry->node);
		hb_expire(shard, entry, now);
		return hb_lives_on(belt, entry) ? entry : NULL;
	}
	return entry;
}

/* The entry of a key, if it has a value; all is left as it is if not. */
struct hashbelt_entry *hb_peek(struct hb_shard *shard, u32 hash, const void *key, u32 key_len,
			       u64 now)
{
	struct hashbelt_entry *entry = hb_find_locked(shard, hash, key, key_len);

	if (!entry || hb_is_cleared(shard->belt, entry) ||
	    atomic64_read(&entry->node.deadline) <= (s64)now)
		return NULL;
	return entry;
}

/* The levels of the wheel, and the size of the index */

/*
 * Makes the levels of a shard's wheel that deadlines @ahead of now need, nanoseconds. If there is
 * no memory for one, entries wait nearer by and are looked at more often: no error.
 */
void hb_grow_levels(struct hashbelt_belt *belt, struct hb_shard *shard, u64 ahead)
{
	struct hb_geometry geometry;
	struct hb_level *level;
	unsigned int number;
	u64 now;

	for (;;) {
		now = hb_clock_now(&belt->clock);
		spin_lock(&shard->lock);
		number = hb_wheel_wants(&shard->wheel, now, now + ahead);
		geometry = *belt->geometry;
		spin_unlock(&shard->lock);
		if (!number)
			return;
		level = hb_level_new(&geometry, number, belt->account);
		if (IS_ERR(level))
			return;
		spin_lock(&shard->lock);
		hb_wheel_grow(&shard->wheel, number, &level, now);
		spin_unlock(&shard->lock);
		hb_level_free(level, belt->account);
	}
}

u64 hb_count_entries(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	u64 entries = 0;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		entries += READ_ONCE(shard->count);
	return entries;
}

/* Log2 of the chains for @entries: between 3/4 and 3/2 of an entry each. */
unsigned int hb_bits_for(const struct hashbelt_belt *belt, u64 entries)
{
	unsigned int bits = ilog2(max_t(u64, entries * 4 / 3, 1));

	return clamp_t(unsigned int, bits,
		       max_t(unsigned int, belt->shard_bits, HB_INDEX_BITS_MIN),
		       HB_INDEX_BITS_MAX);
}

/*
 * Begins to give the index the size for so many entries, or goes as far towards that as one
 * step may: what stands in one chain of the smaller table is looked at in one go. False if
 * there is nothing to do, or no memory.
 */
bool hb_resize(struct hashbelt_belt *belt, u64 entries)
{
	unsigned int is = READ_ONCE(belt->index.bits);

	return hb_index_resize(&belt->index,
			       clamp(hb_bits_for(belt, entries),
				     is - min(is, HB_RESIZE_MOST), is + HB_RESIZE_MOST));
}

void hb_grow_index(struct hashbelt_belt *belt, u64 shard_count)
{
	hb_resize(belt, shard_count << belt->shard_bits);
	hb_kick_worker(belt);
}
