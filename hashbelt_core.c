// SPDX-License-Identifier: GPL-2.0
/*
 * A belt.
 *
 * An entry stands in two places: in the index, where readers find it under RCU,
 * and in a bucket of a wheel, where it waits for its deadline. Both belong to
 * the shard of its hash, and so does the lock under which they change. What a
 * reader may change without it is the deadline alone (see hashbelt_wheel.h).
 *
 * The life of an entry: hashbelt_put() links it. One task claims its deadline, and
 * unlinks it: a put that replaces it, a remove, an expire, the drain of its bucket,
 * an eviction, or the sweep after a clear. If the belt reports this reason, the entry
 * then goes to the belt's queue of events, in the order of claims: the event of a
 * key's next life comes later. In the end it goes to the shard's limbo, where it
 * waits for a grace period and for readers with a reference. On a belt that
 * reinserts, an entry that expires stays where it is and gets a new deadline.
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
 * Lock order: belt->set_lock, belt->round_lock, belt->clear_lock, shard->lock (all of
 * them, in the order of their numbers, for what is to happen to the whole belt at
 * once), queue->lock and in it usage->lock, or client->lock, or the lock
 * of belt->clients, belt->owners or belt->waiters; clock->lock inside of any.
 */
#include <linux/export.h>

#include "belt/belt.h"
#include "belt/evict.h"
#include "belt/fill.h"
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

/**
 * hashbelt_wipes() - whether no copy of a key or value may stay behind
 * @belt:	the belt
 *
 * Return: whether.
 */
bool hashbelt_wipes(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->policy) & HASHBELT_WIPE;
}
EXPORT_SYMBOL_GPL(hashbelt_wipes);

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
	    (!demands && READ_ONCE(belt->policy) & HASHBELT_KEEP_ON_PUT))
		return -EEXIST;
	return 0;
}

/*
 * Gives @new the place of @old; under the shard's lock. @new stands behind @old before
 * that is claimed: readers who find it claimed go on from there, and those who come before
 * get no further than @old.
 *
 * Return: false if a reader was told meanwhile that @old has expired. Then nobody has
 * found @new, but readers may stand on it until the end of a grace period.
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
	hb_wheel_del(&old->node);
	hb_leave_replaced(shard, old, now);
	return true;
}

/* What a put adds to what counts against the belt's limits, bytes. */
static s64 cost_of_put(const struct hashbelt_entry *old, const struct hashbelt_entry *new)
{
	return hb_cost(new) - (old ? hb_cost(old) : 0);
}

/* Charges a put to the belt's limits. */
static bool charge(struct hashbelt_belt *belt, const struct hashbelt_entry *old,
		   const struct hashbelt_entry *new)
{
	if (likely(!belt->usage.limited))
		return true;
	return hb_usage_add(belt, !old, cost_of_put(old, new));
}

/* Why a key is not there: one of enum hashbelt_reason, 0 if that is not known. */
static u32 why_gone(struct hashbelt_belt *belt, u32 hash)
{
	u16 ghost = READ_ONCE(*hb_ghost_slot(belt, hash));
	enum hashbelt_reason reason = ghost & HB_REASON;

	return ghost == hb_ghost(hash, reason) ? reason : 0;
}

/* A key that is put is missed no more. */
static void ghost_clear(struct hashbelt_belt *belt, u32 hash)
{
	if (unlikely(why_gone(belt, hash)))
		WRITE_ONCE(*hb_ghost_slot(belt, hash), 0);
}

/* Puts @new into the belt; under the shard's lock. Return: as replace(). */
static bool insert(struct hb_shard *shard, struct hashbelt_entry *old,
		   struct hashbelt_entry *new, struct hashbelt_item *item, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;

	new->version = hb_version(shard);
	atomic64_set(&new->node.deadline, hb_deadline_of(belt, now, item->ttl_ms));
	if (old) {
		if (unlikely(!replace(shard, old, new, now,
				      item->ttl_ms == HASHBELT_TTL_KEEP)))
			return false;
		hb_count(belt, HASHBELT_STAT_PUTS_REPLACED);
	} else {
		hb_index_insert(&belt->index, new);
		ghost_clear(belt, new->hash);
		hb_count(belt, HASHBELT_STAT_PUTS_NEW);
	}
	hb_shard_link(shard, new);
	trace_hashbelt_put(belt->id, new, 0);
	item->version = new->version;
	item->ttl_ms = hb_ms_left(atomic64_read(&new->node.deadline), now);
	hb_clock_wake_at(&belt->clock, hb_schedule(shard, new, now));
	return true;
}

/**
 * struct completions - requests that a put has completed
 * @claimed:	those of them that were claimed
 * @entry:	what was put, with a reference, if there may be more; else NULL
 * @stamp:	what waits since before this is completed
 */
struct completions {
	struct list_head claimed;
	struct hashbelt_entry *entry;
	u64 stamp;
};

/* Tells those who wait for the key of an entry that was put; under the shard's lock. */
static void complete_waiters(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
			     struct completions *completions)
{
	struct hb_waitpoint *point;

	point = hb_waitpoint_find(shard, entry->hash & HB_HASH, entry->data, entry->key_len);
	if (shard->fills)
		hb_fill_end(shard, entry, point, now);
	/* Who waited to fill may have been all there was. */
	if (point)
		point = hb_waitpoint_find(shard, entry->hash & HB_HASH, entry->data,
					  entry->key_len);
	if (!point)
		return;
	completions->stamp = shard->versions;
	if (hb_requests_claim(shard, point, HASHBELT_BY_PUT, completions->stamp,
			      &completions->claimed)) {
		refcount_inc(&entry->ref);
		completions->entry = entry;
	}
}

/* The rest of what is to be done for them, with no lock. */
static void finish_completions(struct hashbelt_belt *belt, struct completions *completions)
{
	struct hashbelt_entry *entry = completions->entry;

	hb_requests_finish(belt, &completions->claimed);
	if (likely(!entry))
		return;
	hb_requests_complete(belt, entry->hash, entry->data, entry->key_len,
			     HASHBELT_BY_PUT, completions->stamp);
	hashbelt_entry_put(belt, entry);
}

/* Takes back what was done for an entry that does not go in. */
static void undo_charge(struct hashbelt_belt *belt, struct hashbelt_entry *old,
			struct hashbelt_entry *entry)
{
	if (belt->usage.limited)
		hb_usage_change(belt, -!old, -cost_of_put(old, entry));
	if (entry->hash & HB_TAILED)
		hb_detach_put(hb_tail(entry));
}

/*
 * An entry with its condition fulfilled goes in, if there is room. -ETIME: what it was to
 * replace has expired in the middle of it; then as after -ENOSPC, see try_again().
 */
static __always_inline int charge_and_insert(struct hb_shard *shard, struct hashbelt_entry *old,
					     struct hashbelt_entry *entry,
					     struct hashbelt_item *item, u64 now,
					     struct completions *completions)
{
	bool tailed = entry->hash & HB_TAILED;

	if (unlikely(tailed) && !hb_attach(hb_tail(entry)))
		return -EIDRM;
	if (unlikely(!charge(shard->belt, old, entry))) {
		if (tailed)
			hb_detach_put(hb_tail(entry));
		return -ENOSPC;
	}
	if (unlikely(!insert(shard, old, entry, item, now))) {
		undo_charge(shard->belt, old, entry);
		return -ETIME;
	}
	if (unlikely(shard->points || shard->fills))
		complete_waiters(shard, entry, now, completions);
	return 0;
}

/* Whether to try a put anew that failed. Context: may sleep. */
static bool try_again(struct hashbelt_belt *belt, struct hashbelt_entry *entry, int err)
{
	if (err == -ENOSPC)
		return hb_make_room(belt, entry);
	if (err != -ETIME)
		return false;
	/* It goes to another place, from where readers who stand on it would go on. */
	synchronize_rcu();
	return true;
}

/* One try to put. -ENOSPC, -ETIME: see charge_and_insert(). */
static int try_put(struct hb_shard *shard, struct hashbelt_entry *entry,
		   struct hashbelt_item *item, struct completions *completions)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *old;
	u64 now;
	int err;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	old = hb_find_live(shard, entry->hash & HB_HASH, entry->data, entry->key_len, now);
	err = belt->dead ? -EIDRM : put_condition(belt, old, item);
	if (err && old)
		item->version = old->version;
	if (likely(!err))
		err = charge_and_insert(shard, old, entry, item, now, completions);
	spin_unlock(&shard->lock);
	return err;
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
 * for a time-to-live that is too long; -ENOSPC if the belt is full, and does not
 * evict or has nothing to evict; -EIDRM if the belt was destroyed.
 */
int hashbelt_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		 struct hashbelt_item *item)
{
	struct completions completions = { .claimed = LIST_HEAD_INIT(completions.claimed) };
	struct hb_shard *shard;
	int err;

	if (!hb_ttl_is_plain(item->ttl_ms) && item->ttl_ms != HASHBELT_TTL_KEEP) {
		hashbelt_entry_put(belt, entry);
		return -EINVAL;
	}
	entry->hash |= hb_hash(belt, entry->data, entry->key_len);
	hb_make_levels(belt, entry->hash, item->ttl_ms);
	shard = hb_shard_of(belt, entry->hash);
	do {
		err = try_put(shard, entry, item, &completions);
	} while (unlikely(err) && try_again(belt, entry, err));
	if (likely(!err)) {
		if (unlikely(!list_empty(&completions.claimed) || completions.entry))
			finish_completions(belt, &completions);
		if (unlikely(hb_is_crowded(belt, shard)))
			hb_grow_index(belt, READ_ONCE(shard->count));
		return 0;
	}
	if (err != -EIDRM)
		hb_count(belt, err == -ENOSPC ? HASHBELT_STAT_REJECTED :
						HASHBELT_STAT_REFUSED);
	trace_hashbelt_put(belt->id, entry, err);
	hashbelt_entry_put(belt, entry);
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_put);

/* Numbers */

/* Digits of a number in decimal, its sign included, that can be needed. */
#define DIGITS_MAX	20

/* Reads a number: '-' if it is negative, and 1 to 19 digits. -EBADMSG: it is none. */
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

/* The number that an addition results in, as text in @text; its length, or an error. */
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

/* One try to add; -EAGAIN: @entry should have a value of @len bytes. */
static int try_add(struct hb_shard *shard, struct hashbelt_entry *entry,
		   struct hashbelt_item *item, struct hashbelt_sum *sum, u32 *len,
		   struct completions *completions)
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
	old = hb_find_live(shard, entry->hash, entry->data, entry->key_len, now);
	err = belt->dead ? -EIDRM : add_up(old, sum, &result, text);
	if (err > 0 && err != entry->value_len) {
		*len = err;
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

/* An addition with an entry whose value has @len bytes; as try_add(). */
static int add(struct hashbelt_belt *belt, const void *key, u32 key_len,
	       struct hashbelt_item *item, struct hashbelt_sum *sum, u32 *len)
{
	struct completions completions = { .claimed = LIST_HEAD_INIT(completions.claimed) };
	struct hashbelt_entry *entry;
	struct hb_shard *shard;
	int err;

	entry = hashbelt_entry_alloc(belt, NULL, key_len, *len);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, key, key_len);
	entry->hash = hb_hash(belt, key, key_len);
	shard = hb_shard_of(belt, entry->hash);
	do {
		err = try_add(shard, entry, item, sum, len, &completions);
	} while (err && try_again(belt, entry, err));
	if (err) {
		if (err != -EAGAIN)
			trace_hashbelt_put(belt->id, entry, err);
		hashbelt_entry_put(belt, entry);
		return err;
	}
	finish_completions(belt, &completions);
	hb_fit_index(belt, shard);
	return 0;
}

/**
 * hashbelt_add() - add to a number
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@ttl_ms and @flags of an entry that is not there. Returns @ttl_ms, @version
 * @sum:	@by; @value of an entry that is not there. Returns @value
 *
 * An addition is a put: it takes the place of what was there.
 *
 * Context: may sleep.
 *
 * Return: 0; -EBADMSG: what is there is no number; -EOVERFLOW; -EINVAL for a
 * time-to-live that is too long; -ENOSPC, -EDQUOT, -ENOMEM; -EIDRM.
 */
int hashbelt_add(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 struct hashbelt_item *item, struct hashbelt_sum *sum)
{
	u32 len = 1;
	int err;

	if (!hb_ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	hb_make_levels(belt, hb_hash(belt, key, key_len), item->ttl_ms);
	/* How long the number is turns out under the lock. */
	do {
		err = add(belt, key, key_len, item, sum, &len);
	} while (err == -EAGAIN);
	if (!err)
		hb_count(belt, HASHBELT_STAT_ADDS);
	else if (err == -ENOSPC)
		hb_count(belt, HASHBELT_STAT_REJECTED);
	return err;
}
EXPORT_SYMBOL_GPL(hashbelt_add);

/**
 * hashbelt_find() - find the entry of a key
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @now:	hashbelt_now()
 * @gone:	NULL; or returned where nothing is found, for hashbelt_miss(): why,
 *		if the entry has left not long ago (enum hashbelt_reason); else 0
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
				     u32 key_len, u64 now, u32 *gone)
{
	u32 hash = hb_hash(belt, key, key_len), why = 0;
	struct hashbelt_entry *entry;
	s64 word;

	entry = hb_index_find(&belt->index, hash, key, key_len);
	for (;;) {
		if (!entry || hb_is_cleared(belt, entry)) {
			why = gone ? why_gone(belt, hash) : 0;
			break;
		}
		word = atomic64_read(&entry->node.deadline);
		if (likely(word > (s64)now))
			return entry;
		why = word < 0 ? hb_reason(word) : HASHBELT_EXPIRED;
		if (word < 0 && why == HASHBELT_REPLACED)
			entry = hb_index_successor(entry);
		else if (word < 0 || hb_node_seal(&entry->node, word))
			break;
		/* Otherwise it has changed just now. */
	}
	if (gone)
		*gone = why;
	return NULL;
}
EXPORT_SYMBOL_GPL(hashbelt_find);

/**
 * hashbelt_find_stale() - find an entry, also in its grace time
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @now:	hashbelt_now()
 *
 * Context: as hashbelt_find(). Return: the entry, to be given to hashbelt_hit_stale();
 * or NULL.
 */
struct hashbelt_entry *hashbelt_find_stale(struct hashbelt_belt *belt, const void *key,
					   u32 key_len, u64 now)
{
	struct hashbelt_entry *entry;
	s64 word;

	entry = hb_index_find(&belt->index, hb_hash(belt, key, key_len), key, key_len);
	if (!entry || hb_is_cleared(belt, entry))
		return NULL;
	word = atomic64_read(&entry->node.deadline);
	return word > 0 && hb_deadline(word) + READ_ONCE(belt->grace) > now ? entry : NULL;
}

/**
 * hashbelt_hit_stale() - complete a get that found an entry in its grace time
 * @belt:	the belt
 * @entry:	from hashbelt_find_stale()
 * @item:	as for hashbelt_hit(); of an old value, returns 0 as @ttl_ms
 * @now:	hashbelt_now() as it was for hashbelt_find_stale()
 *
 * Return: as hashbelt_hit().
 */
bool hashbelt_hit_stale(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			struct hashbelt_item *item, u64 now)
{
	/* It may have been put or refreshed just now. */
	if (atomic64_read(&entry->node.deadline) > (s64)now)
		return hashbelt_hit(belt, entry, item, now);
	hb_count(belt, HASHBELT_STAT_STALE);
	item->flags = entry->flags;
	item->value_len = entry->value_len;
	item->ttl_ms = 0;
	item->version = entry->version;
	return true;
}

/*
 * Sets the deadline of an entry that was found under RCU. A later one is only
 * stored: the drain of the bucket it stands in will find it. For an earlier
 * one the entry must change its bucket.
 */
static u64 set_deadline(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			u64 now, u64 to)
{
	struct hb_shard *shard = hb_shard_of(belt, entry->hash);
	u64 is;

	is = hb_node_move(&entry->node, now, to, false);
	if (is <= to)
		return is;
	spin_lock(&shard->lock);
	is = hb_node_move(&entry->node, now, to, true);
	if (is == to) {
		hb_wheel_del(&entry->node);
		hb_clock_wake_at(&belt->clock, hb_schedule(shard, entry, now));
	}
	spin_unlock(&shard->lock);
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
					hb_deadline_of(belt, now, item->ttl_ms));
		if (deadline > now)
			hb_count(belt, HASHBELT_STAT_TOUCHES);
	} else if (READ_ONCE(belt->policy) & HASHBELT_REFRESH_ON_GET &&
		   !(item->how & HASHBELT_NO_REFRESH)) {
		deadline = hb_node_move(&entry->node, now, now + READ_ONCE(belt->ttl),
					false);
	} else {
		/* It was there @now: that somebody has claimed it since is later. */
		deadline = max(hb_node_deadline(&entry->node), now + 1);
	}
	if (unlikely(deadline <= now))
		return false;
	hb_count(belt, HASHBELT_STAT_HITS);
	trace_hashbelt_get(belt->id, entry->data, entry->key_len, entry->version, 0);
	item->flags = entry->flags;
	item->value_len = entry->value_len;
	item->ttl_ms = hb_ms_left(deadline, now);
	item->version = entry->version;
	return true;
}
EXPORT_SYMBOL_GPL(hashbelt_hit);

/**
 * hashbelt_miss() - complete a get that found nothing
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @gone:	from hashbelt_find()
 */
void hashbelt_miss(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 gone)
{
	hb_count(belt, HASHBELT_STAT_MISSES);
	trace_hashbelt_get(belt->id, key, key_len, 0, gone);
	if (gone == HASHBELT_EXPIRED)
		hb_count(belt, HASHBELT_STAT_MISSES_EXPIRED);
	else if (gone == HASHBELT_EVICTED || gone == HASHBELT_PRESSURE)
		hb_count(belt, HASHBELT_STAT_MISSES_EVICTED);
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
 * Context: may sleep.
 *
 * Return: 0; -ENOENT; -EINVAL for a time-to-live that is too long; -EIDRM.
 */
int hashbelt_touch(struct hashbelt_belt *belt, const void *key, u32 key_len,
		   struct hashbelt_item *item)
{
	struct hashbelt_entry *entry;
	u64 now, to, is;

	if (!hb_ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	hb_make_levels(belt, hb_hash(belt, key, key_len), item->ttl_ms);
	rcu_read_lock();
	do {
		now = hb_clock_now(&belt->clock);
		to = hb_deadline_of(belt, now, item->ttl_ms);
		entry = hashbelt_find(belt, key, key_len, now, NULL);
		is = entry ? set_deadline(belt, entry, now, to) : HB_GONE;
	} while (is == HB_ELSEWHERE);
	if (is > now) {
		item->flags = entry->flags;
		item->ttl_ms = hb_ms_left(is, now);
		item->version = entry->version;
	}
	rcu_read_unlock();
	if (is <= now)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_touch);

/**
 * hashbelt_remove() - take an entry out
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
 * @item:	@how: 0 or HASHBELT_IF_VERSION, and @version. Returns @version
 *
 * Context: may sleep.
 *
 * Return: 0; -ENOENT; -ESTALE if the version is another; -EIDRM.
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
 * hashbelt_expire() - let an entry expire now, through the handler
 * @belt:	the belt
 * @key:	the key
 * @key_len:	its length
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
		hb_wheel_del(&entry->node);
		hb_expire(shard, entry, now);
	}
	spin_unlock(&shard->lock);
	if (!entry)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_expire);
