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

#include "hashbelt_belt.h"

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
	if (hb_is_cleared(belt, entry)) {
		hb_node_claim(&entry->node, HB_CLAIMED);
		hb_wheel_del(&entry->node);
		hb_discard(shard, entry);
		return NULL;
	}
	if (hb_node_claim_due(&entry->node, now)) {
		hb_wheel_del(&entry->node);
		hb_count(belt, HASHBELT_STAT_EXPIRED);
		*kick |= hb_retire(shard, entry);
		return NULL;
	}
	return entry;
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
	struct hb_shard *shard = hb_shard_of(belt, hash);
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
	hb_unlink(shard, old);
	hb_limbo_enter(shard, old);
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
		hb_count(belt, HASHBELT_STAT_PUTS_REPLACED);
	} else {
		hb_index_insert(&belt->index, new);
		hb_count(belt, HASHBELT_STAT_PUTS_NEW);
	}
	hb_link(shard, new);
	item->version = new->version;
	item->ttl_ms = hb_ms_left(atomic64_read(&new->node.deadline), now);
	return hb_wheel_add(&shard->wheel, &new->node, now);
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
	hb_index_resize(&belt->index, hb_bits_for(belt, shard_count << belt->shard_bits));
	hb_kick_worker(belt);
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
	entry->hash = hb_hash(belt, entry->data, entry->key_len);
	make_levels(belt, entry->hash, item->ttl_ms);

	shard = hb_shard_of(belt, entry->hash);
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
		hb_kick_worker(belt);
	if (unlikely(crowded))
		grow(belt, shard_count);
	if (err) {
		if (err != -EIDRM)
			hb_count(belt, HASHBELT_STAT_REFUSED);
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
	u32 hash = hb_hash(belt, key, key_len);
	struct hashbelt_entry *entry;
	s64 deadline;

	for (;;) {
		entry = hb_index_find(&belt->index, hash, key, key_len);
		if (!entry || hb_is_cleared(belt, entry))
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
	struct hb_shard *shard = hb_shard_of(belt, entry->hash);
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
			hb_count(belt, HASHBELT_STAT_TOUCHES);
	} else if (belt->policy & HASHBELT_REFRESH_ON_GET &&
		   !(item->how & HASHBELT_NO_REFRESH)) {
		deadline = hb_node_move(&entry->node, now, now + belt->ttl, false);
	} else {
		/* It was there @now: that somebody has claimed it since is later. */
		deadline = max_t(u64, atomic64_read(&entry->node.deadline), now + 1);
	}
	if (unlikely(deadline <= now))
		return false;
	hb_count(belt, HASHBELT_STAT_HITS);
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
 */
void hashbelt_miss(struct hashbelt_belt *belt)
{
	hb_count(belt, HASHBELT_STAT_MISSES);
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
	make_levels(belt, hb_hash(belt, key, key_len), item->ttl_ms);
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
	make_levels(belt, hb_hash(belt, key, key_len), item->ttl_ms);
	rcu_read_lock();
	do {
		now = hb_clock_now(&belt->clock);
		to = deadline_of(belt, now, item->ttl_ms);
		entry = hashbelt_find(belt, key, key_len, now);
		is = entry ? set_deadline(belt, entry, now, to) : HB_CLAIMED;
	} while (is == HB_REPLACED);
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
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
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
		hb_discard(shard, entry);
		kick |= is_sparse(belt, shard);
	}
	spin_unlock(&shard->lock);
	if (kick)
		hb_kick_worker(belt);
	if (!err)
		hb_count(belt, HASHBELT_STAT_REMOVES);
	else if (err == -ESTALE)
		hb_count(belt, HASHBELT_STAT_REFUSED);
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
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	bool kick = false;

	spin_lock(&shard->lock);
	entry = find_live(shard, hash, key, key_len, hb_clock_now(&belt->clock), &kick);
	if (entry) {
		hb_node_claim(&entry->node, HB_CLAIMED);
		hb_wheel_del(&entry->node);
		hb_count(belt, HASHBELT_STAT_EXPIRED);
		kick |= hb_retire(shard, entry);
	}
	spin_unlock(&shard->lock);
	if (kick)
		hb_kick_worker(belt);
	if (!entry)
		return hashbelt_is_dead(belt) ? -EIDRM : -ENOENT;
	return 0;
}
EXPORT_SYMBOL_GPL(hashbelt_expire);

