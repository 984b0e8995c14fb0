// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on one key, and the interface for other modules. docs/design.md describes the life of
 * an entry, versions and the worker, and has the lock order.
 */
#include <linux/export.h>
#include <linux/kcsan-checks.h>
#include <linux/preempt.h>

#include "belt/belt.h"
#include "belt/compat.h"
#include "belt/evict.h"
#include "belt/fill.h"
#include "belt/read.h"
#include "belt/request.h"
#include "belt/shard.h"
#include "belt/trace.h"
#include "belt/usage.h"
#include "belt/waitpoint.h"
#include "hashbelt_core.h"

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

/* Returns 0 if the conditions of a put, but HASHBELT_IF_LEASE, hold for the entry that is there. */
static int put_condition(const struct hashbelt_belt *belt, const struct hashbelt_entry *old,
			 const struct hashbelt_item *item)
{
	u32 demands = item->how & (HASHBELT_IF_PRESENT | HASHBELT_IF_VERSION | HASHBELT_IF_LEASE);

	if (!old)
		return demands & ~HASHBELT_IF_LEASE ? -ENOENT : 0;
	if (demands & HASHBELT_IF_VERSION && old->version != item->version)
		return -ESTALE;
	if (item->how & HASHBELT_IF_ABSENT ||
	    (!demands && READ_ONCE(belt->policy) & HASHBELT_KEEP_ON_PUT))
		return -EEXIST;
	return 0;
}

/*
 * Gives @new the place of @old; under the shard's lock. @new is put behind @old before @old is
 * claimed: a reader that finds @old claimed goes on to @new, and a reader that comes before stops
 * at @old.
 *
 * Returns false if a reader was told meanwhile that @old has expired. Then no reader has found
 * @new, but readers may stand on it until the end of a grace period.
 */
static bool replace(struct hb_shard *shard, struct hashbelt_entry *old,
		    struct hashbelt_entry *new, u64 now, bool keep_time)
{
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

/*
 * The value of @new may be copied over that of @old: no task reads @old with a reference, no event
 * is to have the old value, and readers wait for a short copy only. Under the shard's lock.
 */
static inline bool can_overwrite(const struct hb_shard *shard, const struct hashbelt_entry *old,
				 const struct hashbelt_entry *new)
{
	/* The write that follows depends on the read of the last other reference. */
	return shard->belt->overwrites && old->value_len == new->value_len &&
	       hb_span_of(new) <= HB_FINE_MAX && !((hb_hash_of(old) | new->hash) & HB_TAILED) &&
	       refcount_read(&old->ref) == 1 && !hb_reports(shard->belt, HASHBELT_REPLACED);
}

/* Copies a value in words, where these may begin at any address: a call takes longer. */
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
 * Gives @old the version, the flags, the value and the deadline of @new; under the shard's lock. A
 * seqlock whose sequence is the version: a reader waits while that is 0, which takes no longer than
 * the copy, and begins anew if it has changed. Returns as hb_node_renew().
 */
static __always_inline u64 overwrite(struct hashbelt_entry *old, struct hashbelt_entry *new,
				     u64 deadline, bool keep_time)
{
	u64 version = old->version, was;

	/* Or on a real-time kernel a reader could wait for a task that does not run. */
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

/* Bytes that a put adds to the usage that counts against the belt's limits. */
static s64 cost_of_put(const struct hashbelt_entry *old, const struct hashbelt_entry *new)
{
	return hb_cost(new) - (old ? hb_cost(old) : 0);
}

/* Charges a put, which ends the fill lease of its key. Under the shard's lock. */
static bool charge(struct hb_shard *shard, const struct hashbelt_entry *old,
		   const struct hashbelt_entry *new, u64 now, struct hb_room *room)
{
	const struct hashbelt_entry *lease = NULL;

	if (likely(!shard->belt->usage.limited))
		return true;
	if (shard->fills)
		lease = hb_fill_find(shard, new, now);
	return hb_usage_add(shard->belt, !old, cost_of_put(old, new), room,
			    lease ? hb_cost(lease) : 0);
}

/*
 * Why a key is not there: one of enum hashbelt_reason, 0 if that is not known. @locked as for
 * hb_table_walk().
 */
static __always_inline u32 why_gone(struct hb_index *index, u32 hash, const bool locked)
{
	u16 ghost = READ_ONCE(*hb_ghost_slot(index, hash, locked));
	enum hashbelt_reason reason = ghost & HB_REASON;

	return ghost == hb_ghost(hash, reason) ? reason : 0;
}

/*
 * A new entry takes the place of the ghost of its key. Under the shard's lock; before the entry is
 * in the index.
 */
static void end_ghost(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hb_index *index = &shard->belt->index;

	shard->added++;
	if (likely(!why_gone(index, entry->hash, true)))
		return;
	WRITE_ONCE(*hb_ghost_slot(index, entry->hash, true), 0);
	if (READ_ONCE(index->bits) >= HB_AGAIN_BITS)
		hb_come_back(shard, entry);
}

/* Puts an entry on the wheel. Under the shard's lock. */
static void put_on_wheel(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	hb_clock_wake_at(&shard->belt->clock, hb_schedule(shard, entry, now));
}

/* After an entry was put: the results of the put. Under the shard's lock. */
static __always_inline void tell_put(struct hashbelt_belt *belt, const struct hashbelt_entry *entry,
				     struct hashbelt_item *item, u64 now)
{
	trace_hashbelt_put(belt->id, entry, 0);
	item->version = entry->version;
	item->ttl_ms = hb_ms_left(atomic64_read(&entry->node.deadline), now);
}

/*
 * Puts the value of @new into @old; under the shard's lock. As for a refresh, a later deadline is
 * only stored: the drain of the bucket finds it. Returns as replace().
 */
static bool put_into(struct hb_shard *shard, struct hashbelt_entry *old,
		     struct hashbelt_entry *new, struct hashbelt_item *item, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 deadline = hb_deadline_of(belt, now, item->ttl_ms), was;
	bool keep_time = item->ttl_ms == HASHBELT_TTL_KEEP;

	new->version = hb_version(shard);
	was = overwrite(old, new, deadline, keep_time);
	if (unlikely(!was))
		return false;
	if (unlikely(was > deadline && !keep_time)) {
		hb_wheel_del(&shard->wheel, &old->node);
		put_on_wheel(shard, old, now);
	}
	/* A key that is put again is in use, as one that is read. */
	hb_mark_read(old);
	hb_count(belt, HASHBELT_STAT_PUTS_REPLACED);
	tell_put(belt, old, item, now);
	return true;
}

/* Puts @new into the belt; under the shard's lock. Returns as replace(). */
static bool insert(struct hb_shard *shard, struct hashbelt_entry *old,
		   struct hashbelt_entry *new, struct hashbelt_item *item, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	new->version = hb_version(shard);
	atomic64_set(&new->node.deadline, hb_deadline_of(belt, now, item->ttl_ms));
	if (old) {
		/* As in put_into(). */
		new->hash |= HB_READ | (hb_hash_of(old) & HB_TERM);
		if (unlikely(!replace(shard, old, new, now,
				      item->ttl_ms == HASHBELT_TTL_KEEP)))
			return false;
		hb_count(belt, HASHBELT_STAT_PUTS_REPLACED);
	} else {
		end_ghost(shard, new);
		hb_index_insert(&belt->index, new);
		hb_shard_link(shard, new);
		hb_count(belt, HASHBELT_STAT_PUTS_NEW);
	}
	tell_put(belt, new, item, now);
	put_on_wheel(shard, new, now);
	return true;
}

/**
 * struct completions - what a put has reserved and done, and the requests that it has completed
 * @room:	reserved for the entry, while the put makes room
 * @claimed:	those requests
 * @mode:	of the put
 * @added:	no entry was replaced
 * @copied:	the value was copied into the entry that was there
 */
struct completions {
	struct hb_room room;
	struct list_head claimed;
	enum hb_put_mode mode;
	bool added;
	bool copied;
};

/* Undoes the charge of an entry that is not inserted. */
static void undo_charge(struct hashbelt_belt *belt, struct hashbelt_entry *old,
			struct hashbelt_entry *entry)
{
	if (belt->usage.limited)
		hb_usage_change(belt, -!old, -cost_of_put(old, entry));
	if (hb_hash_of(entry) & HB_TAILED)
		hb_detach_put(hb_tail(entry));
}

/*
 * Inserts an entry whose condition holds, if there is room. -EAGAIN: its value can only be copied,
 * and not into @old. -EXFULL: the shard takes no further key. -ETIME: the entry that it was to
 * replace expired meanwhile. After the last two, and after -ENOSPC, see try_again().
 */
static __always_inline int charge_and_insert(struct hb_shard *shard, struct hashbelt_entry *old,
					     struct hashbelt_entry *entry,
					     struct hashbelt_item *item, u64 now,
					     struct completions *completions)
{
	bool tailed = entry->hash & HB_TAILED;

	completions->copied = completions->mode != HB_PUT_ENTRY && old &&
			      can_overwrite(shard, old, entry);
	if (completions->mode == HB_PUT_COPY && !completions->copied)
		return -EAGAIN;
	if (!old && unlikely(hb_is_overfull(shard->belt, shard)))
		return -EXFULL;
	if (unlikely(tailed) && !hb_attach(hb_tail(entry)))
		return -EIDRM;
	if (unlikely(!charge(shard, old, entry, now, &completions->room))) {
		if (tailed)
			hb_detach_put(hb_tail(entry));
		return -ENOSPC;
	}
	if (unlikely(!(completions->copied ? put_into(shard, old, entry, item, now) :
					     insert(shard, old, entry, item, now)))) {
		undo_charge(shard->belt, old, entry);
		return -ETIME;
	}
	completions->added = !old;
	if (unlikely(shard->waitpoints || shard->fills))
		hb_end_waits(shard, entry, shard->versions, now, &completions->claimed);
	return 0;
}

/* True if a put that failed is to be tried again; else *@err is its result. Context: may sleep. */
static bool try_again(struct hashbelt_belt *belt, struct hashbelt_entry *entry, int *err,
		      struct hb_room *room)
{
	if (*err == -ENOSPC)
		return hb_make_room(belt, entry, room);
	if (*err == -EXFULL) {
		*err = hb_make_chains(belt, hb_shard_of(belt, entry->hash));
		return !*err;
	}
	if (*err != -ETIME)
		return false;
	/*
	 * The entry goes to another place in the index, from where readers that stand on it would
	 * go on.
	 */
	synchronize_rcu();
	return true;
}

/* The entry whose key @entry has, as hb_find_live(). @entry is not in the belt. */
static __always_inline struct hashbelt_entry *
find_like(struct hb_shard *shard, const struct hashbelt_entry *entry, u64 now)
{
	struct hashbelt_entry *old;

	old = hb_index_walk(&shard->belt->index, entry->hash & HB_HASH, hb_entry_key(entry),
			    entry->key_len, true, true);
	return hb_live(shard, old, now);
}

/* -EAGAIN, -ENOSPC, -EXFULL, -ETIME: see charge_and_insert(). */
static int try_put(struct hb_shard *shard, struct hashbelt_entry *entry,
		   struct hashbelt_item *item, struct completions *completions)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *old;
	u64 now;
	int err;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	old = find_like(shard, entry, now);
	err = belt->dead ? -EIDRM : put_condition(belt, old, item);
	if (unlikely(item->how & HASHBELT_IF_LEASE) && err != -EIDRM)
		err = hb_fill_condition(shard, entry, item->version, now) ?: err;
	if (unlikely(err) && (old || err == -ESTALE))
		item->version = old ? old->version : 0;
	if (likely(!err))
		err = charge_and_insert(shard, old, entry, item, now, completions);
	spin_unlock(&shard->lock);
	return err;
}

/* Before a put: true, with a reference to the entry, if hb_evict_ahead() is to follow. */
static bool hold_to_evict(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			  enum hb_put_mode mode)
{
	if (mode == HB_PUT_COPY || likely(!hb_evicts_ahead(belt)))
		return false;
	refcount_inc(&entry->ref);
	return true;
}

/* After the tries of a put or an addition: @ahead as returned by hold_to_evict(). */
static __always_inline void end_put(struct hb_shard *shard, struct hashbelt_entry *entry,
				    struct completions *completions, bool ahead, int err)
{
	struct hashbelt_belt *belt = shard->belt;

	hb_room_release(belt, &completions->room);
	if (likely(!err)) {
		if (unlikely(!list_empty(&completions->claimed)))
			hb_requests_finish(belt, &completions->claimed);
		hb_fit_index(belt, shard);
	} else {
		if (err != -EAGAIN)
			trace_hashbelt_put(belt->id, entry, err);
		if (completions->mode != HB_PUT_COPY)
			hashbelt_entry_put(belt, entry);
	}
	if (likely(!ahead))
		return;
	if (completions->added)
		hb_evict_ahead(belt, entry);
	hashbelt_entry_put(belt, entry);
}

/*
 * As hashbelt_put(), of an entry that has its hash already. 1: the value was copied, and the entry
 * is the caller's. -EAGAIN: it cannot be copied, with HB_PUT_COPY alone.
 */
int hb_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry, struct hashbelt_item *item,
	   enum hb_put_mode mode)
{
	struct completions completions = {
		.claimed = LIST_HEAD_INIT(completions.claimed), .mode = mode,
	};
	struct hb_shard *shard;
	bool ahead;
	int err;

	if (!hb_ttl_is_plain(item->ttl_ms) && item->ttl_ms != HASHBELT_TTL_KEEP) {
		if (mode != HB_PUT_COPY)
			hashbelt_entry_put(belt, entry);
		return -EINVAL;
	}
	hb_make_levels(belt, entry->hash, item->ttl_ms);
	shard = hb_shard_of(belt, entry->hash);
	ahead = hold_to_evict(belt, entry, mode);
	do {
		err = try_put(shard, entry, item, &completions);
	} while (unlikely(err) && try_again(belt, entry, &err, &completions.room));
	if (unlikely(err) && err != -EIDRM && err != -EAGAIN)
		hb_count(belt, err == -ENOSPC ? HASHBELT_STAT_REJECTED : HASHBELT_STAT_REFUSED);
	end_put(shard, entry, &completions, ahead, err);
	return err ?: completions.copied;
}

/**
 * hashbelt_put() - put an entry into a belt
 * @belt:	the belt
 * @entry:	from hashbelt_entry_alloc(), filled; the belt's from now on, also if the put fails
 * @item:	@how: HASHBELT_IF_*; @ttl_ms; @version with HASHBELT_IF_VERSION, and the token with
 *		HASHBELT_IF_LEASE. Returns @ttl_ms and @version
 *
 * Context: may sleep. Return: 0; -EEXIST, -ENOENT or -ESTALE if the condition does not hold;
 * -EINVAL for a time-to-live that is too long; -ENOSPC if the belt is full, and does not evict or
 * has no entry to evict; -EDQUOT, -ENOSPC, -ENOMEM if the index is full and there is no memory for
 * a larger one; -EINTR: the same, and the task is being killed; -EIDRM if the belt was destroyed.
 */
int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item)
{
	hb_entry_hash(belt, entry);
	return hb_put(belt, entry, item, HB_PUT_ENTRY);
}
EXPORT_SYMBOL_GPL(hashbelt_put);

/* Most characters of a number in decimal, its sign included. */
#define DIGITS_MAX	20

/* Reads a number: '-' if it is negative, and 1 to 19 digits. Else returns -EBADMSG. */
static int parse(const u8 *text, u32 len, s64 *number)
{
	bool negative = len && *text == '-';
	u64 value = 0;
	u32 i;

	if (len <= negative || len - negative >= DIGITS_MAX)
		return -EBADMSG;
	for (i = negative; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EBADMSG;
		value = value * 10 + (text[i] - '0');
	}
	if (value > (u64)S64_MAX + negative)
		return -EBADMSG;
	*number = negative ? -value : value;
	return 0;
}

/* Writes the sum as text to @text. Returns its length, or an error. */
static int add_up(struct hashbelt_entry *old, const struct hashbelt_sum *sum, s64 *result,
		  char text[DIGITS_MAX + 1])
{
	s64 is = sum->value;
	int err = 0;

	if (old)
		err = parse(hashbelt_entry_value(old), old->value_len, &is);
	if (err)
		return err;
	if (check_add_overflow(is, sum->by, result))
		return -EOVERFLOW;
	return snprintf(text, DIGITS_MAX + 1, "%lld", *result);
}

/*
 * -EAGAIN: @entry must have a value of @len bytes, and with HB_PUT_COPY must be one for
 * HB_PUT_ENTRY.
 */
static int try_add(struct hb_shard *shard, struct hashbelt_entry *entry, struct hashbelt_item *item,
		   struct hashbelt_sum *sum, u32 *len, struct completions *completions)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_item put = { .ttl_ms = item->ttl_ms };
	struct hashbelt_entry *old;
	char text[DIGITS_MAX + 1];
	s64 result;
	u64 now;
	int err;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	old = find_like(shard, entry, now);
	err = belt->dead ? -EIDRM : add_up(old, sum, &result, text);
	if (err > 0) {
		*len = err;
		if (completions->mode == HB_PUT_COPY)
			entry->value_len = err;
	}
	if (err > 0 && err != entry->value_len) {
		err = -EAGAIN;
	} else if (err > 0) {
		memcpy(hashbelt_entry_value(entry), text, err);
		entry->flags = old ? old->flags : item->flags;
		if (old)
			put.ttl_ms = HASHBELT_TTL_KEEP;
		err = charge_and_insert(shard, old, entry, &put, now, completions);
	}
	spin_unlock(&shard->lock);
	if (err)
		return err;
	sum->value = result;
	item->version = put.version;
	item->ttl_ms = put.ttl_ms;
	return 0;
}

/* An addition with @entry, which has its key and its hash. As try_add(). */
static int add_with(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		    struct hashbelt_item *item, struct hashbelt_sum *sum, u32 *len,
		    enum hb_put_mode mode)
{
	struct completions completions = {
		.claimed = LIST_HEAD_INIT(completions.claimed), .mode = mode,
	};
	struct hb_shard *shard = hb_shard_of(belt, entry->hash);
	bool ahead = hold_to_evict(belt, entry, mode);
	int err;

	do {
		err = try_add(shard, entry, item, sum, len, &completions);
	} while (err && try_again(belt, entry, &err, &completions.room));
	end_put(shard, entry, &completions, ahead, err);
	return err;
}

/* An addition with an entry whose value has @len bytes. As try_add(). */
static int add(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 hash,
	       struct hashbelt_item *item, struct hashbelt_sum *sum, u32 *len)
{
	struct hashbelt_entry *entry = hashbelt_entry_alloc(belt, NULL, key_len, *len);

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, key, key_len);
	entry->hash = hash;
	return add_with(belt, entry, item, sum, len, HB_PUT_ENTRY);
}

/* Longest key of an addition whose sum is copied into the entry that is there. */
#define ADD_KEY_MAX	(HB_FINE_MAX - offsetof(struct hashbelt_entry, data) - DIGITS_MAX)

/* An addition that allocates no memory. -EAGAIN: that cannot be, and @len is the length. */
static noinline int add_copy(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 hash,
			     struct hashbelt_item *item, struct hashbelt_sum *sum, u32 *len)
{
	u64 words[HB_FINE_MAX / sizeof(u64)] HB_UNINITIALIZED;
	struct hashbelt_entry *entry = (struct hashbelt_entry *)words;
	int err;

	if (key_len > ADD_KEY_MAX)
		return -EAGAIN;
	hb_entry_init(entry, HB_ENTRY, 0, key_len, 0);
	memcpy(entry->data, key, key_len);
	entry->hash = hash;
	err = add_with(belt, entry, item, sum, len, HB_PUT_COPY);
	if (hashbelt_wipes(belt))
		memzero_explicit(entry->data, key_len + entry->value_len);
	return err;
}

/* As hashbelt_add(). @mode: HB_PUT_ENTRY, or HB_PUT_EITHER as for hb_put(). */
int hb_add(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item,
	   struct hashbelt_sum *sum, enum hb_put_mode mode)
{
	u32 hash = hb_hash(belt, key, key_len), len = 1;
	int err = -EAGAIN;

	if (!hb_ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	hb_make_levels(belt, hash, item->ttl_ms);
	if (mode != HB_PUT_ENTRY)
		err = add_copy(belt, key, key_len, hash, item, sum, &len);
	/* The length of the number is known under the lock only. */
	while (err == -EAGAIN)
		err = add(belt, key, key_len, hash, item, sum, &len);
	if (!err)
		hb_count(belt, HASHBELT_STAT_ADDS);
	else if (err == -ENOSPC)
		hb_count(belt, HASHBELT_STAT_REJECTED);
	return err;
}

/**
 * hashbelt_add() - add to a number
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@ttl_ms and @flags of a new entry. Returns @ttl_ms, @version
 * @sum:	@by; @value of a new entry. Returns @value
 *
 * An addition is a put that replaces the entry.
 *
 * Context: may sleep. Return: 0; -EBADMSG: the value is no number; -EOVERFLOW; -EINVAL for a
 * time-to-live that is too long; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_add(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 struct hashbelt_item *item, struct hashbelt_sum *sum)
{
	return hb_add(belt, key, key_len, item, sum, HB_PUT_ENTRY);
}
EXPORT_SYMBOL_GPL(hashbelt_add);

/*
 * Returns the version of an entry, or 0 if the entry is cleared. Waits while a put overwrites the
 * entry, which sleeps nowhere.
 */
static inline u64 see_version(const struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	/* Pairs with smp_store_release() in overwrite(). */
	u64 version = smp_cond_load_acquire(&entry->version, VAL);

	return version > READ_ONCE(belt->floor) ? version : 0;
}

/*
 * hb_find_in(), when the entry that the index has may not be what it returns. @entry: NULL, or that
 * entry. @seen may be NULL.
 */
struct hashbelt_entry *hb_find_again(struct hashbelt_belt *belt, u32 hash,
				     struct hashbelt_entry *entry, u64 now, struct hb_seen *seen,
				     u32 *gone)
{
	u64 version;
	u32 why = 0;
	s64 word;

	for (;;) {
		version = entry ? see_version(belt, entry) : 0;
		if (!version) {
			why = gone ? why_gone(&belt->index, hash, false) : 0;
			break;
		}
		word = atomic64_read(&entry->node.deadline);
		if (word > (s64)now) {
			if (seen)
				*seen = (struct hb_seen){ .version = version, .deadline = word };
			return entry;
		}
		why = word < 0 ? hb_reason(word) : HASHBELT_EXPIRED;
		if (word < 0 && why == HASHBELT_REPLACED)
			entry = hb_index_successor(entry);
		else if (word < 0 || hb_node_seal(&entry->node, word))
			break;
		/* Otherwise the word has changed just now. */
	}
	if (gone)
		*gone = why;
	return NULL;
}

/**
 * hashbelt_find() - find the entry of a key
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @now:	hashbelt_now()
 * @gone:	NULL; or returned where no entry is found, for hashbelt_miss(): why, if the entry
 *		has left not long ago (enum hashbelt_reason); else 0
 *
 * Exact: no entry at or past its deadline is found, however late the worker is. A get ends with
 * hashbelt_hit() or hashbelt_miss().
 *
 * Context: rcu_read_lock(), which also bounds how long the entry is valid; refcount_inc_not_zero()
 * on its @ref extends that. Return: the entry, or NULL.
 */
struct hashbelt_entry *hashbelt_find(struct hashbelt_belt *belt, const void *key,
				     u32 key_len, u64 now, u32 *gone)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hashbelt_entry *entry = hb_index_find(&belt->index, hash, key, key_len);

	/* As hb_find_in(). No put overwrites what a module finds. */
	if (likely(entry && hb_is_live(belt, entry, now)))
		return entry;
	return hb_find_again(belt, hash, entry, now, NULL, gone);
}
EXPORT_SYMBOL_GPL(hashbelt_find);

/* True if the entry has a value, perhaps an old one. @seen is for hashbelt_hit_stale(). */
static bool see_stale(const struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now,
		      struct hb_seen *seen)
{
	s64 word;

	seen->version = see_version(belt, entry);
	if (!seen->version)
		return false;
	word = atomic64_read(&entry->node.deadline);
	seen->deadline = word;
	return word > 0 && hb_deadline(word) + READ_ONCE(belt->grace) > now;
}

/*
 * As hashbelt_find(), but also an entry in its grace time. The get ends with hashbelt_hit_stale(),
 * to which it hands @seen.
 */
struct hashbelt_entry *hashbelt_find_stale(struct hashbelt_belt *belt, const void *key,
					   u32 key_len, u64 now, struct hb_seen *seen)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;

	entry = hb_index_find(&belt->index, hash, key, key_len);
	if (entry && see_stale(belt, entry, now, seen))
		return entry;
	/* A put takes an old value out before it puts the new one in, under the lock. */
	spin_lock(&shard->lock);
	entry = hb_find_locked(shard, hash, key, key_len);
	if (entry && !see_stale(belt, entry, now, seen))
		entry = NULL;
	spin_unlock(&shard->lock);
	return entry;
}

/*
 * Completes a get with the entry from hashbelt_find_stale(), as hashbelt_hit(). For an old value it
 * returns 0 as @ttl_ms.
 */
bool hashbelt_hit_stale(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	s64 word = atomic64_read(&entry->node.deadline);

	/* The key may just have been put or refreshed. */
	if (word > (s64)now)
		return hb_hit(belt, entry, item, now,
			      (struct hb_seen){ .version = seen.version, .deadline = word });
	item->flags = READ_ONCE(entry->flags);
	if (!hb_is_unchanged(entry, seen))
		return false;
	hb_count(belt, HASHBELT_STAT_STALE);
	item->value_len = entry->value_len;
	item->ttl_ms = 0;
	item->version = seen.version;
	return true;
}

/*
 * set_deadline(), under the shard's lock. A later deadline is only stored: the drain of the bucket
 * finds it. For an earlier one the entry must change its bucket.
 */
static u64 set_deadline_locked(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
			       u64 to, struct hb_seen seen)
{
	u64 is;

	if (entry->version != seen.version)
		return HB_ELSEWHERE;
	is = hb_node_move(&entry->node, now, to, false);
	if (is <= to)
		return is;
	is = hb_node_move(&entry->node, now, to, true);
	if (is == to) {
		hb_wheel_del(&shard->wheel, &entry->node);
		put_on_wheel(shard, entry, now);
	}
	return is;
}

/*
 * Sets the deadline of an entry that was found under RCU. Returns as hb_node_move(): HB_ELSEWHERE,
 * too, if a put has overwritten the value. Where puts do that, only the lock tells. What the caller
 * has read of the entry before belongs to the deadline that was set.
 */
static u64 set_deadline(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now, u64 to,
			struct hb_seen seen)
{
	struct hb_shard *shard = hb_shard_of(belt, hb_hash_of(entry));
	u64 is;

	if (!READ_ONCE(belt->overwrites)) {
		if (!hb_is_unchanged(entry, seen))
			return HB_ELSEWHERE;
		is = hb_node_move(&entry->node, now, to, false);
		if (is <= to)
			return is;
	}
	spin_lock(&shard->lock);
	is = set_deadline_locked(shard, entry, now, to, seen);
	spin_unlock(&shard->lock);
	return is;
}

/* hb_hit() with HASHBELT_AND_TOUCH. */
bool hb_touch_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now, struct hb_seen seen)
{
	item->flags = READ_ONCE(entry->flags);
	seen.deadline = set_deadline(belt, entry, now, hb_deadline_of(belt, now, item->ttl_ms),
				     seen);
	if (seen.deadline <= now)
		return false;
	hb_end_hit(belt, entry, item, now, seen);
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return true;
}

/**
 * hashbelt_hit() - complete a get that found an entry
 * @belt:	the belt
 * @entry:	from hashbelt_find(), in the same read-side section or with a reference
 * @item:	@how, and @ttl_ms with HASHBELT_AND_TOUCH, checked by hashbelt_get_prepare().
 *		Returns @flags, @value_len, @ttl_ms and @version
 * @now:	hashbelt_now() as it was for hashbelt_find()
 *
 * Refreshes the entry if the belt or the caller wants that. If that comes too late, the value that
 * was read does not count.
 *
 * Counts a hit and, on a belt that evicts what was not read, marks the entry as read, unless @how
 * has HASHBELT_NO_REFRESH.
 *
 * Context: rcu_read_lock() or a reference to @entry. Return: true; false if the caller must find
 * the entry again.
 */
bool hashbelt_hit(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		  struct hashbelt_item *item, u64 now)
{
	/* The entry was found when its deadline was later, and is not overwritten (entry.h). */
	struct hb_seen seen = {
		.version = entry->version,
		.deadline = max(hb_node_deadline(&entry->node), now + 1),
	};

	return hb_hit(belt, entry, item, now, seen);
}
EXPORT_SYMBOL_GPL(hashbelt_hit);

/* As hashbelt_miss(), of a get with @how. */
void hb_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone, u32 how)
{
	if (trace_hashbelt_get_enabled())
		trace_hashbelt_get(belt->id, key, key_len, 0, gone);
	if (unlikely(how & HASHBELT_NO_REFRESH))
		return;
	hb_count(belt, HASHBELT_STAT_MISSES);
	if (gone == HASHBELT_EXPIRED)
		hb_count(belt, HASHBELT_STAT_MISSES_EXPIRED);
	else if (gone == HASHBELT_EVICTED || gone == HASHBELT_PRESSURE)
		hb_count(belt, HASHBELT_STAT_MISSES_EVICTED);
}

/**
 * hashbelt_miss() - complete a get that found no entry, and count it as a miss
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @gone:	from hashbelt_find()
 */
void hashbelt_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone)
{
	hb_miss(belt, key, key_len, gone, 0);
}
EXPORT_SYMBOL_GPL(hashbelt_miss);

/*
 * Checks the @how and @ttl_ms of a get, and makes the levels that a touch needs. Returns 0 or
 * -EINVAL. Context: may sleep.
 */
int hashbelt_get_prepare(struct hashbelt_belt *belt, const void *key, u32 key_len,
			 const struct hashbelt_item *item)
{
	if (likely(!(item->how & HASHBELT_AND_TOUCH)))
		return 0;
	if (!hb_ttl_is_plain(item->ttl_ms) || item->how & HASHBELT_NO_REFRESH)
		return -EINVAL;
	hb_make_levels(belt, hb_hash(belt, key, key_len), item->ttl_ms);
	return 0;
}

/**
 * hashbelt_touch() - give an entry a new deadline
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@ttl_ms. Returns @flags, @ttl_ms and @version
 *
 * Context: may sleep. Return: 0; -ENOENT; -EINVAL for a time-to-live that is too long; -EIDRM.
 */
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item)
{
	u32 hash = hb_hash(belt, key, key_len), flags;
	struct hashbelt_entry *entry;
	struct hb_seen seen;
	u64 now, to, is;

	if (!hb_ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	hb_make_levels(belt, hash, item->ttl_ms);
	rcu_read_lock();
	do {
		now = hb_clock_now(&belt->clock);
		to = hb_deadline_of(belt, now, item->ttl_ms);
		entry = hb_index_find(&belt->index, hash, key, key_len);
		entry = hb_find_in(belt, hash, entry, now, &seen, NULL);
		flags = entry ? READ_ONCE(entry->flags) : 0;
		is = entry ? set_deadline(belt, entry, now, to, seen) : HB_GONE;
	} while (is == HB_ELSEWHERE);
	if (is > now) {
		if (READ_ONCE(belt->unread))
			hb_mark_read(entry);
		item->flags = flags;
		item->ttl_ms = hb_ms_left(is, now);
		item->version = seen.version;
	}
	rcu_read_unlock();
	if (is <= now)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_touch);

/**
 * hashbelt_remove() - remove an entry
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@how: 0 or HASHBELT_IF_VERSION, and @version. Returns @version
 *
 * Ends the fill lease of the key, too, unless the condition fails.
 *
 * Context: may sleep. Return: 0; -ENOENT; -ESTALE if the version differs; -EIDRM.
 */
int hashbelt_remove(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	int err = 0;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	entry = hb_find_live(shard, hash, key, key_len, now);
	if (!entry) {
		err = belt->dead ? -EIDRM : -ENOENT;
	} else if (item->how & HASHBELT_IF_VERSION && entry->version != item->version) {
		item->version = entry->version;
		err = -ESTALE;
	} else {
		item->version = entry->version;
		hb_take_out(shard, entry, HASHBELT_REMOVED, now);
	}
	if (unlikely(shard->fills) && (!err || (err == -ENOENT && !item->how)))
		hb_fill_invalidate(shard, hash, key, key_len, now);
	spin_unlock(&shard->lock);
	if (!err && hb_is_sparse(belt, shard))
		hb_kick_worker(belt);
	if (!err)
		hb_count(belt, HASHBELT_STAT_REMOVES);
	else if (err == -ESTALE)
		hb_count(belt, HASHBELT_STAT_REMOVES_REFUSED);
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_remove);

/**
 * hashbelt_expire() - expire an entry now, through the handler
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 *
 * Ends the fill lease of the key, too.
 *
 * Context: may sleep. Return: 0, -ENOENT or -EIDRM.
 */
int hashbelt_expire(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	entry = hb_find_live(shard, hash, key, key_len, now);
	if (entry) {
		hb_node_claim(&entry->node, HASHBELT_EXPIRED);
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_expire(shard, entry, now);
	}
	if (unlikely(shard->fills))
		hb_fill_invalidate(shard, hash, key, key_len, now);
	spin_unlock(&shard->lock);
	if (!entry)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_expire);
