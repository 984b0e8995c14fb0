// SPDX-License-Identifier: GPL-2.0-only
/*
 * A shard: how writers find, link, count and unlink entries under its lock.
 *
 * An entry comes into the belt by hb_index_insert(), hb_shard_link() and hb_schedule(). From then
 * on the belt owns it. To leave, it is claimed and taken off its wheel. hb_leave() then takes it
 * out of the index, uncharges it, and passes it to the queue of events or to limbo, which own it
 * then. A reader may still use it until a grace period ends.
 */
#include <linux/minmax.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "belt/events/queue.h"
#include "belt/ground/compat.h"
#include "belt/ground/trace.h"
#include "belt/ground/usage.h"
#include "mark.h"
#include "shard.h"

/* Sparse cannot follow locks that are taken in a loop: hide them. */
void hb_lock_all(struct hashbelt_belt *belt)
{
	hb_for_each_shard(shard, belt) {
		spin_lock_nest_lock(&shard->lock, &belt->clear_lock);
		__release(&shard->lock);
	}
}

void hb_unlock_all(struct hashbelt_belt *belt)
{
	hb_for_each_shard(shard, belt) {
		__acquire(&shard->lock);
		spin_unlock(&shard->lock);
	}
}

/* Nanoseconds. The geometry is written under all shards' locks, so one of them is enough. */
u64 hb_interval(struct hashbelt_belt *belt)
{
	u64 interval;

	spin_lock(&belt->shards->lock);
	interval = belt->geometry->width[0];
	spin_unlock(&belt->shards->lock);
	return interval;
}

/* Counting, linking and unlinking, under the shard's lock */

/* Counts a new entry, which has its version and is attached to its client. */
void hb_shard_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	hb_shard_count(shard, 1);
	if (unlikely(!shard->live++))
		hb_mark_changed(shard->belt);
	shard->live_bytes += hb_entry_size(entry);
	if (unlikely(hb_ops(entry)->link))
		hb_ops(entry)->link(shard, entry);
}

static noinline void unlink_tail(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared)
{
	lockdep_assert_held(&shard->lock);
	if (hb_ops(entry)->unlink)
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
	/* Evictions skip an empty shard. */
	if (unlikely(!shard->count)) {
		WRITE_ONCE(shard->nearest[HB_PLAIN], HB_NOTHING);
		WRITE_ONCE(shard->nearest[HB_LEASES], HB_NOTHING);
		WRITE_ONCE(shard->hand.lap, 0);
	}
	if (!cleared) {
		shard->live--;
		shard->live_bytes -= hb_entry_size(entry);
	}
	if (unlikely(hb_hash_of(entry) & (HB_OTHER | HB_TAILED)))
		unlink_tail(shard, entry, cleared);
}

/*
 * Charges an entry of another kind than HB_ENTRY, whose key is absent, and puts it into the index.
 * The belt owns it then; the caller puts it on the wheel. Uses up @room, which is reserved for it.
 * Under the shard's lock. -ENOSPC: there is no room; -EIDRM: the client is closed, or the belt is
 * destroyed. After an error the entry is the caller's.
 */
int hb_shard_insert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 deadline,
		    struct hb_room *room)
{
	struct hashbelt_belt *belt = shard->belt;

	lockdep_assert_held(&shard->lock);
	if (belt->dead)
		return -EIDRM;
	if (unlikely(belt->usage.limited) &&
	    !hb_usage_add(&belt->usage, 1, hb_cost(entry), room, 0))
		return -ENOSPC;
	/*
	 * Before hb_attach(): once a request is attached, a task that closes the descriptor may
	 * claim it without this lock.
	 */
	atomic64_set(&entry->node.deadline, deadline);
	if (!hb_attach(hb_tail(entry))) {
		hb_uncharge(&belt->usage, entry);
		return -EIDRM;
	}
	entry->version = hb_version(shard);
	hb_index_insert(&belt->index, entry);
	hb_shard_link(shard, entry);
	return 0;
}

/* Puts an entry on its wheel, and has the worker woken in time for its bucket. */
void hb_schedule(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	/* A claimed request still has its deadline in the word. */
	u64 deadline = hb_node_deadline(&entry->node), next;
	enum hb_class class = hb_class(entry);

	lockdep_assert_held(&shard->lock);
	if (deadline < shard->nearest[class])
		WRITE_ONCE(shard->nearest[class], deadline);
	next = hb_wheel_add(hb_wheel_of(shard, class), &entry->node, now);
	if (next < shard->next)
		WRITE_ONCE(shard->next, next);
	hb_clock_wake_at(&shard->belt->clock, next);
}

/* Return: true if a claimed entry of this kind and reason becomes an event of its belt. */
static bool is_reported(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	return hb_ops(entry)->reported &&
	       hb_reports(belt, hb_reason(atomic64_read(&entry->node.deadline)));
}

/* Passes a claimed entry that is out of the index to the queue of events or to limbo. */
static __always_inline void leave_place(struct hb_shard *shard, struct hashbelt_entry *entry,
					bool reported, u64 now)
{
	lockdep_assert_held(&shard->lock);
	if (!reported || !hb_event_push(shard->belt, entry, now))
		hb_limbo_enter(shard, entry);
}

/*
 * For an entry that was live, and is claimed as replaced, off its wheel and out of the index:
 * counts @by in its place, which has taken over its charge, and passes it to the queue of events or
 * to limbo.
 */
void hb_leave_replaced(struct hb_shard *shard, struct hashbelt_entry *entry,
		       struct hashbelt_entry *by, u64 now)
{
	lockdep_assert_held(&shard->lock);
	if (likely(!((hb_hash_of(entry) | hb_hash_of(by)) & (HB_OTHER | HB_TAILED)))) {
		/* Of the counters that hb_shard_link() changes only this one changes. */
		shard->live_bytes += hb_entry_size(by) - hb_entry_size(entry);
	} else {
		hb_shard_unlink(shard, entry);
		hb_shard_link(shard, by);
	}
	leave_place(shard, entry, is_reported(shard->belt, entry), now);
}

/* Uncharges an entry that leaves. The room of a lease goes to @room, for the first waiter. */
static void free_room(struct hashbelt_belt *belt, const struct hashbelt_entry *entry,
		      struct hb_room *room)
{
	if (likely(!belt->usage.limited))
		return;
	if (unlikely(hb_ops(entry)->left))
		*room = (struct hb_room){
			.epoch = belt->usage.epoch, .entries = 1, .bytes = hb_cost(entry),
		};
	else
		hb_uncharge(&belt->usage, entry);
}

/*
 * Takes a claimed entry that is off its wheel out of the index, and passes it to the queue of
 * events or to limbo. The caller may use it until it drops the shard's lock.
 */
void hb_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 word = atomic64_read(&entry->node.deadline);
	bool cleared = hb_is_cleared(belt, entry), reported;
	struct hb_room room = {};

	lockdep_assert_held(&shard->lock);
	if (unlikely(hb_ops(entry)->leave)) {
		hb_ops(entry)->leave(shard, entry, now);
		return;
	}
	if (hb_leaves_ghost(hb_reason(word)) && hb_ops(entry)->ghosts)
		WRITE_ONCE(*hb_ghost_slot(&belt->index, hb_hash_of(entry), true),
			   hb_ghost(hb_hash_of(entry), hb_reason(word)));
	hlist_del_rcu(&entry->chain);
	/* Whatever it was claimed for, it leaves as cleared. The clear has uncharged it. */
	if (cleared)
		atomic64_set(&entry->node.deadline,
			     (word & ~HB_REASON) | HASHBELT_CLEARED);
	reported = is_reported(belt, entry);
	if (!cleared && !(reported && hb_stays_charged(hb_reason(word))))
		free_room(belt, entry, &room);
	hb_shard_unlink(shard, entry);
	leave_place(shard, entry, reported, now);
	/* A spinlock is an RCU read-side section: the entry is not freed before the unlock. */
	if (unlikely(hb_ops(entry)->left)) {
		hb_ops(entry)->left(shard, entry, now, &room);
		hb_room_release(&belt->usage, &room);
	}
}

static void count_lag(struct hashbelt_belt *belt, u64 due, u64 now)
{
	u64 lag = now > due ? div_u64(now - due, NSEC_PER_MSEC) : 0;

	this_cpu_inc(belt->stats->lags[min_t(unsigned int, fls64(lag), HASHBELT_LAGS - 1)]);
}

/* Reports an expired entry and gives it a new deadline, without taking it out. */
static void reinsert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	lockdep_assert_held(&shard->lock);
	if (hb_reports(belt, HASHBELT_EXPIRED))
		hb_event_push_proxy(belt, entry, now);
	hb_count(belt, HASHBELT_STAT_REINSERTED);
	atomic64_set(&entry->node.deadline, now + belt->settings.ttl);
	hb_schedule(shard, entry, now);
}

/* Reinserts an entry that is claimed as expired and off its wheel, or lets it leave. */
void hb_expire(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 deadline = hb_node_deadline(&entry->node);

	lockdep_assert_held(&shard->lock);
	/* After the claim: no reader takes a copy whose deadline is reached. */
	hb_window_remove(shard, entry);
	if (hb_is_cleared(belt, entry) || unlikely(!hb_ops(entry)->reported)) {
		hb_leave(shard, entry, now);
		return;
	}
	hb_count(belt, HASHBELT_STAT_EXPIRED);
	trace_hashbelt_expire(belt->id, entry, now - deadline);
	if (deadline <= now)
		count_lag(belt, deadline + belt->settings.grace * hb_ops(entry)->grace, now);
	if (hb_lives_on(belt, entry))
		reinsert(shard, entry, now);
	else
		hb_leave(shard, entry, now);
}

/*
 * Expires an entry that is past its deadline, before the worker does. Return: false if it is not
 * past that, is cleared, or would be reinserted.
 */
bool hb_expire_due(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	lockdep_assert_held(&shard->lock);
	if (hb_is_cleared(shard->belt, entry) || hb_lives_on(shard->belt, entry) ||
	    !hb_node_claim_due(&entry->node, now))
		return false;
	hb_wheel_del(&shard->wheel, &entry->node);
	hb_expire(shard, entry, now);
	return true;
}

/* Expires what hb_wheel_drain() has claimed. Return: the number of entries. */
unsigned int hb_expire_drained(struct hb_shard *shard, struct hb_drain_result *result, u64 now)
{
	struct hashbelt_entry *entry, *next;
	unsigned int expired = 0;

	lockdep_assert_held(&shard->lock);
	list_for_each_entry_safe(entry, next, &result->expired, node.slot) {
		/* Limbo and the queue use the words of @slot. */
		list_del_init(&entry->node.slot);
		hb_expire(shard, entry, now);
		expired++;
	}
	return expired;
}

/* Finding, under the shard's lock */

/*
 * Return: the entry of a key, whatever its deadline, or NULL; @hash has the kind. The entry stays
 * the belt's, and is valid while the lock is held.
 */
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

/* The slow half of hb_live(): the entry may not be live. */
struct hashbelt_entry *hb_live_again(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	lockdep_assert_held(&shard->lock);
	if (unlikely(hb_is_cleared(belt, entry))) {
		hb_take_out(shard, entry, HASHBELT_CLEARED, now);
		return NULL;
	}
	if (unlikely(hb_node_claim_due(&entry->node, now))) {
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_expire(shard, entry, now);
		return hb_lives_on(belt, entry) ? entry : NULL;
	}
	return entry;
}

/*
 * Return: the entry of a key if it has a value now, or NULL. Takes out an entry that is cleared or
 * has expired, so that its event comes before what the writer does. On a belt that reinserts, an
 * expired entry gets a new deadline and is returned.
 */
struct hashbelt_entry *hb_find_live(struct hb_shard *shard, u32 hash, const void *key,
				    u32 key_len, u64 now)
{
	lockdep_assert_held(&shard->lock);
	return hb_live(shard, hb_find_locked(shard, hash, key, key_len), now);
}

/* Return: the entry of a key if it has a value now, or NULL. Changes nothing. */
struct hashbelt_entry *hb_peek(struct hb_shard *shard, u32 hash, const void *key, u32 key_len,
			       u64 now)
{
	struct hashbelt_entry *entry = hb_find_locked(shard, hash, key, key_len);

	lockdep_assert_held(&shard->lock);
	return entry && hb_is_live(shard->belt, entry, now) ? entry : NULL;
}

/* The levels of the wheel */

/*
 * Makes the levels that one of a shard's wheels needs for deadlines @ahead of now, nanoseconds. No
 * memory for a level is no error: entries wait on a finer one, and are requeued more often.
 */
void hb_grow_levels(struct hashbelt_belt *belt, struct hb_shard *shard, struct hb_wheel *wheel,
		    u64 ahead)
{
	struct hb_geometry geometry HB_UNINITIALIZED;
	struct hb_level *level;
	unsigned int number;
	u64 now;

	for (;;) {
		spin_lock(&shard->lock);
		/* How far ahead a level reaches does not depend on the time. */
		number = hb_wheel_wants(wheel, 0, ahead);
		if (unlikely(number))
			geometry = *wheel->geometry;
		spin_unlock(&shard->lock);
		if (!number)
			return;
		level = hb_level_new(&geometry, number, belt->account);
		if (IS_ERR(level))
			return;
		now = hb_clock_now(&belt->clock);
		spin_lock(&shard->lock);
		hb_wheel_grow(wheel, number, &level, now);
		spin_unlock(&shard->lock);
		hb_level_free(level, belt->account);
	}
}
