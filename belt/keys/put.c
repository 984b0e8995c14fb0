// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts, and the part that additions share with them.
 *
 * A put makes one or more tries. A try runs under the lock of the key's shard. It finds the present
 * entry, checks the condition, and charges the new entry. Then it copies the value into the present
 * entry (put_into()), puts the new entry in its place (replace()), or adds the key. At last it ends
 * the fill lease of the key, and claims requests that wait for the key.
 *
 * A try that lacks room, chains or a grace period changes nothing and returns HB_RETRY_*.
 * try_again() provides what was lacking, without the lock, for another try. After the last try,
 * without the lock, the put finishes the requests that it has claimed.
 */
#include <linux/kcsan-checks.h>
#include <linux/preempt.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "belt/ground/compat.h"
#include "belt/ground/trace.h"
#include "belt/room/evict.h"
#include "belt/room/fit.h"
#include "belt/room/hand.h"
#include "belt/shard/shard.h"
#include "belt/wait/fill.h"
#include "belt/wait/request.h"
#include "belt/wait/waits.h"
#include "put.h"

/*
 * Return: 0 if the conditions of a put hold for @old, the present entry or NULL.
 * hb_fill_condition() checks HASHBELT_IF_LEASE.
 */
static int put_condition(const struct hashbelt_belt *belt, const struct hashbelt_entry *old,
			 const struct hashbelt_item *item)
{
	u32 demands = item->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION | HASHBELT_IF_LEASE);

	if (!old)
		return demands & ~HASHBELT_IF_LEASE ? -ENOENT : 0;
	if (demands & HASHBELT_IF_VERSION && old->version != item->version)
		return -ESTALE;
	if (item->how & HASHBELT_IF_ABSENT ||
	    (!demands && READ_ONCE(belt->settings.policy) & HASHBELT_KEEP_ON_PUT))
		return -EEXIST;
	return 0;
}

/* Charging, under the shard's lock */

/* Bytes that a put adds to the usage. */
static s64 cost_of_put(const struct hashbelt_entry *old, const struct hashbelt_entry *new)
{
	return hb_cost(new) - (old ? hb_cost(old) : 0);
}

/*
 * Charges a put. The room of the key's fill lease counts as free, because the put ends that.
 * Return: false if there is no room.
 */
static bool charge(struct hb_put *put, const struct hashbelt_entry *old)
{
	const struct hashbelt_entry *lease = NULL;
	struct hb_shard *shard = put->shard;

	lockdep_assert_held(&shard->lock);
	if (likely(!shard->belt->usage.limited))
		return true;
	if (shard->fills)
		lease = hb_fill_find(shard, put->entry, put->now);
	return hb_usage_add(&shard->belt->usage, !old, cost_of_put(old, put->entry), &put->room,
			    lease ? hb_cost(lease) : 0);
}

/* Undoes charge() and hb_attach() for an entry that is not inserted. */
static void undo_charge(struct hb_put *put, const struct hashbelt_entry *old)
{
	struct hashbelt_belt *belt = put->shard->belt;

	if (belt->usage.limited)
		hb_usage_change(&belt->usage, -!old, -cost_of_put(old, put->entry));
	if (hb_hash_of(put->entry) & HB_TAILED)
		hb_detach_put(hb_tail(put->entry));
}

/* Copying a value into the entry that is there, under the shard's lock */

/*
 * Return: true if the value of the put may be copied over that of @old if no task has a reference
 * to that: no event is to have the old value, and readers wait for a short copy only.
 */
static inline bool can_overwrite(const struct hb_shard *shard, const struct hashbelt_entry *old,
				 const struct hashbelt_entry *new)
{
	lockdep_assert_held(&shard->lock);
	return shard->belt->overwrites && old->value_len == new->value_len &&
	       hb_span_of(new) <= HB_FINE_MAX && !((hb_hash_of(old) | new->hash) & HB_TAILED) &&
	       !hb_reports(shard->belt, HASHBELT_REPLACED);
}

/* Copies a value word by word. The words may be unaligned; cheaper than memcpy(). */
static __always_inline void copy_value(u8 *to, const u8 *from, u32 len)
{
	u32 at;

	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) || unlikely(len < sizeof(u64))) {
		memcpy(to, from, len);
		return;
	}
	for (at = 0; at + sizeof(u64) <= len; at += sizeof(u64))
		WRITE_ONCE(*(u64 *)(to + at), hb_word(from + at));
	/* The last word overlaps the one before. */
	at = len - sizeof(u64);
	WRITE_ONCE(*(u64 *)(to + at), hb_word(from + at));
}

/*
 * Gives @old the version, the flags, the value and the deadline of @new. This is a seqlock whose
 * sequence is the version: a reader waits while it is 0, which takes no longer than the copy, and
 * starts over if it has changed. Return: the deadline that @old had; 0 if it is sealed.
 */
static __always_inline u64 overwrite(struct hashbelt_entry *old, struct hashbelt_entry *new,
				     u64 deadline, bool keep_time)
{
	u64 version = old->version, was;

	/* On a real-time kernel a reader would otherwise wait for a preempted task. */
	preempt_disable_nested();
	kcsan_nestable_atomic_begin();
	WRITE_ONCE(old->version, 0);
	/* Pairs with smp_rmb() in hb_is_unchanged(). */
	smp_wmb();
	was = hb_node_renew(&old->node, deadline, keep_time);
	if (likely(was)) {
		version = new->version;
		WRITE_ONCE(old->flags, new->flags);
		copy_value(hashbelt_entry_value(old), hashbelt_entry_value(new), new->value_len);
	}
	/* Pairs with smp_load_acquire() in hb_find_in(). */
	smp_store_release(&old->version, version);
	kcsan_nestable_atomic_end();
	preempt_enable_nested();
	return was;
}

/* Fills in the results of a put that has succeeded; @in: the entry in the belt. */
static __always_inline void return_put(struct hb_put *put, const struct hashbelt_entry *in)
{
	trace_hashbelt_put(put->shard->belt->id, in, 0);
	put->item->version = in->version;
	put->item->ttl_ms = hb_ms_left(atomic64_read(&in->node.deadline), put->now);
}

/*
 * Copies the value into @old; put->entry stays the caller's. A later deadline is only stored: the
 * drain of the bucket finds it. Return: false if a reader was told meanwhile that @old has expired,
 * and nothing has changed.
 */
static bool put_into(struct hb_put *put, struct hashbelt_entry *old)
{
	bool keep_time = put->item->ttl_ms == HASHBELT_TTL_KEEP;
	struct hb_shard *shard = put->shard;
	struct hashbelt_belt *belt = shard->belt;
	u64 deadline = hb_deadline_of(belt, put->now, put->item->ttl_ms), was;

	put->entry->version = hb_version(shard);
	was = overwrite(old, put->entry, deadline, keep_time);
	if (unlikely(!was))
		return false;
	if (unlikely(was > deadline && !keep_time)) {
		hb_wheel_del(&shard->wheel, &old->node);
		hb_schedule(shard, old, put->now);
	}
	/* A key that is put again is in use. */
	hb_set_read(old);
	hb_count(belt, HASHBELT_STAT_PUTS_REPLACED);
	return_put(put, old);
	return true;
}

/* Inserting, under the shard's lock */

/*
 * Gives @new the place of @old. @new is linked behind @old before @old is claimed: a reader that
 * finds @old claimed goes on to @new, and an earlier reader stops at @old.
 *
 * Return: true: the belt owns @new, and @old has left; false: a reader was told meanwhile that @old
 * has expired, and @new is the caller's again. No reader has found it, but readers may stand on it
 * until a grace period ends.
 */
static bool replace(struct hb_shard *shard, struct hashbelt_entry *old,
		    struct hashbelt_entry *new, u64 now, bool keep_time)
{
	lockdep_assert_held(&shard->lock);
	hb_window_remove(shard, old);
	hlist_add_behind_rcu(&new->chain, &old->chain);
	if (unlikely(!hb_node_supersede(&old->node, &new->node, keep_time))) {
		hlist_del_rcu(&new->chain);
		return false;
	}
	hlist_del_rcu(&old->chain);
	hb_wheel_del(&shard->wheel, &old->node);
	hb_leave_replaced(shard, old, new, now);
	return true;
}

/* A new entry takes the place of the ghost of its key. Before the entry is in the index. */
static void end_ghost(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hb_index *index = &shard->belt->index;

	lockdep_assert_held(&shard->lock);
	shard->added++;
	if (likely(!hb_why_gone(index, entry->hash, true)))
		return;
	WRITE_ONCE(*hb_ghost_slot(index, entry->hash, true), 0);
	if (READ_ONCE(index->bits) >= HB_GHOST_MIN_BITS)
		hb_ghost_hit(shard, entry);
}

/*
 * Links put->entry, in the place of @old or as a new key. Readers may stand on put->entry until a
 * grace period ends. Return: false if a reader was told meanwhile that @old has expired, and
 * nothing has changed.
 */
static bool insert(struct hb_put *put, struct hashbelt_entry *old)
{
	struct hb_shard *shard = put->shard;
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *new = put->entry;

	new->version = hb_version(shard);
	atomic64_set(&new->node.deadline, hb_deadline_of(belt, put->now, put->item->ttl_ms));
	if (old) {
		/* A key that is put again is in use. */
		new->hash |= HB_READ | (hb_hash_of(old) & HB_TERM);
		if (unlikely(!replace(shard, old, new, put->now,
				      put->item->ttl_ms == HASHBELT_TTL_KEEP)))
			return false;
		hb_count(belt, HASHBELT_STAT_PUTS_REPLACED);
	} else {
		end_ghost(shard, new);
		hb_index_insert(&belt->index, new);
		hb_shard_link(shard, new);
		hb_count(belt, HASHBELT_STAT_PUTS_NEW);
	}
	return_put(put, new);
	hb_schedule(shard, new, put->now);
	return true;
}

/*
 * Makes a put whose condition holds; @old: the entry that it replaces, or NULL. Return: an outcome,
 * or -EIDRM: the descriptor of the entry is closed. After HB_PUT_DONE the belt owns put->entry.
 */
static __always_inline int charge_and_insert(struct hb_put *put, struct hashbelt_entry *old)
{
	struct hb_shard *shard = put->shard;
	struct hashbelt_entry *entry = put->entry;
	bool copies, tailed = entry->hash & HB_TAILED;

	copies = old && can_overwrite(shard, old, entry) && hb_window_remove(shard, old);
	if (put->mode == HB_PUT_COPY && !copies)
		return HB_PUT_NEEDS_ENTRY;
	if (!old && unlikely(hb_is_overfull(shard->belt, shard)))
		return HB_RETRY_CHAINS;
	if (unlikely(tailed) && !hb_attach(hb_tail(entry)))
		return -EIDRM;
	if (unlikely(!charge(put, old))) {
		if (tailed)
			hb_detach_put(hb_tail(entry));
		return HB_RETRY_ROOM;
	}
	if (unlikely(!(copies ? put_into(put, old) : insert(put, old)))) {
		undo_charge(put, old);
		return HB_RETRY_EXPIRED;
	}
	put->added = !old;
	if (unlikely(shard->waitpoints || shard->fills))
		hb_end_waits(shard, entry, shard->versions, put->now, &put->claimed);
	return copies ? HB_PUT_COPIED : HB_PUT_DONE;
}

/* Begins a try: sets its time, and returns the entry that has the key now, or NULL. */
static __always_inline struct hashbelt_entry *find_old(struct hb_put *put)
{
	struct hb_shard *shard = put->shard;
	struct hashbelt_entry *entry = put->entry, *old;

	put->now = hb_clock_now(&shard->belt->clock);
	old = hb_index_walk(&shard->belt->index, entry->hash & HB_HASH, hb_entry_key(entry),
			    entry->key_len, true, true);
	return hb_live(shard, old, put->now);
}

/* Makes one try. Return: an outcome, or an error. */
static int try_put(struct hb_put *put)
{
	struct hashbelt_item *item = put->item;
	struct hb_shard *shard = put->shard;
	struct hashbelt_entry *old;
	int outcome;

	spin_lock(&shard->lock);
	old = find_old(put);
	if (unlikely(shard->belt->dead))
		outcome = -EIDRM;
	else if (unlikely(put->compute))
		outcome = put->compute(put, old);
	else
		outcome = put_condition(shard->belt, old, item);
	if (unlikely(item->how & HASHBELT_IF_LEASE) && outcome != -EIDRM)
		outcome = hb_fill_condition(shard, put->entry, item->version, put->now) ?: outcome;
	if (unlikely(outcome) && (old || outcome == -ESTALE))
		item->version = old ? old->version : 0;
	if (likely(!outcome))
		outcome = charge_and_insert(put, old);
	spin_unlock(&shard->lock);
	return outcome;
}

/* Tries, without the lock */

/*
 * After a try: provides what it lacked. Context: may sleep. Return: true: try again; false:
 * *@outcome is that of the put.
 */
static noinline bool try_again(struct hb_put *put, int *outcome)
{
	struct hashbelt_belt *belt = put->shard->belt;

	switch (*outcome) {
	case HB_RETRY_ROOM:
		*outcome = hb_make_room(belt, put->entry, &put->room) ? 0 : -ENOSPC;
		break;
	case HB_RETRY_CHAINS:
		*outcome = hb_make_chains(belt, put->shard);
		break;
	case HB_RETRY_EXPIRED:
		/*
		 * The next try links the entry elsewhere. Readers that stand on it now would go on
		 * from there.
		 */
		synchronize_rcu();
		*outcome = 0;
		break;
	default:
		return false;
	}
	return !*outcome;
}

/*
 * Before the first try. hb_evict_ahead() needs the entry after the put, so the put takes a
 * reference for it, which release_put() drops.
 */
static void prepare_put(struct hb_put *put, struct hashbelt_belt *belt)
{
	put->shard = hb_shard_of(belt, put->entry->hash);
	put->ahead = put->mode != HB_PUT_COPY && unlikely(hb_evicts_ahead(belt));
	if (put->ahead)
		refcount_inc(&put->entry->ref);
	put->added = false;
	put->room = (struct hb_room){};
	INIT_LIST_HEAD(&put->claimed);
}

static noinline void count_failure(struct hashbelt_belt *belt, const struct hb_put *put, int err)
{
	if (err == -ENOSPC)
		hb_count(belt, HASHBELT_STAT_REJECTED);
	else if (err != -EIDRM && !put->compute)
		hb_count(belt, HASHBELT_STAT_REFUSED);
}

/*
 * After the last try. Gives back the room and the reference that the put still has. Unless the put
 * has succeeded, drops the caller's reference to an HB_PUT_ENTRY as well.
 */
static void release_put(struct hb_put *put, int outcome)
{
	struct hashbelt_belt *belt = put->shard->belt;

	hb_room_release(&belt->usage, &put->room);
	if (likely(outcome == HB_PUT_DONE || outcome == HB_PUT_COPIED)) {
		if (unlikely(!list_empty(&put->claimed)))
			hb_requests_finish(belt, &put->claimed);
		hb_fit_index(belt, put->shard);
	} else {
		if (outcome < 0)
			trace_hashbelt_put(belt->id, put->entry, outcome);
		if (put->mode != HB_PUT_COPY)
			hashbelt_entry_put(belt, put->entry);
	}
	if (likely(!put->ahead))
		return;
	if (put->added)
		hb_evict_ahead(belt, put->entry);
	hashbelt_entry_put(belt, put->entry);
}

/**
 * hb_put_run() - make a put
 * @belt:	the belt
 * @put:	@entry, with its hash, @item, @compute and @mode
 *
 * Takes over an HB_PUT_ENTRY, and frees it if the put fails; after HB_PUT_COPIED it is the caller's
 * again. An HB_PUT_COPY stays the caller's. Context: may sleep. Return: HB_PUT_*, or an error of
 * hashbelt_put() or @compute.
 */
int hb_put_run(struct hashbelt_belt *belt, struct hb_put *put)
{
	u64 ttl_ms = put->item->ttl_ms;
	int outcome;

	if (!hb_ttl_is_plain(ttl_ms) && ttl_ms != HASHBELT_TTL_KEEP) {
		if (put->mode != HB_PUT_COPY)
			hashbelt_entry_put(belt, put->entry);
		return -EINVAL;
	}
	hb_make_levels(belt, put->entry->hash, ttl_ms);
	prepare_put(put, belt);
	do {
		outcome = try_put(put);
	} while (unlikely(outcome >= HB_RETRY_ROOM) && try_again(put, &outcome));
	if (unlikely(outcome < 0))
		count_failure(belt, put, outcome);
	release_put(put, outcome);
	return outcome;
}
