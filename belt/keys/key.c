// SPDX-License-Identifier: GPL-2.0-only
/* Touching, removing and expiring the entry of a key; touching those that are bound to a client. */
#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "belt/shard/shard.h"
#include "belt/wait/fill.h"
#include "get.h"
#include "key.h"

/* Whether conditions on a deadline exclude each other. */
static bool excludes(u32 how)
{
	return (how & HASHBELT_IF_LASTING &&
		how & HB_DEADLINE_CONDITIONS & ~HASHBELT_IF_LASTING) ||
	       (how & HASHBELT_IF_LATER && how & HASHBELT_IF_SOONER);
}

/* Whether the conditions hold for a change from the deadline @is to @to. */
static bool deadline_allows(u32 how, u64 is, u64 to)
{
	return !(how & HASHBELT_IF_LASTING && is != HB_NEVER) &&
	       !(how & HASHBELT_IF_EXPIRING && is == HB_NEVER) &&
	       !(how & HASHBELT_IF_LATER && to <= is) && !(how & HASHBELT_IF_SOONER && to >= is);
}

/* The deadline that a touch gives an entry in the place of @is. 0: it is too late for any entry. */
static u64 next_deadline(const struct hashbelt_belt *belt, const struct hashbelt_item *item,
			 u64 now, u64 is)
{
	u64 to;

	if (!(item->how & HASHBELT_FROM_DEADLINE))
		return hb_deadline_of(belt, now, item->ttl_ms);
	if (is == HB_NEVER)
		return is;
	to = hb_deadline_of(belt, is, item->ttl_ms);
	return to == HB_NEVER || to - now <= HASHBELT_TTL_MAX_MS * NSEC_PER_MSEC ? to : 0;
}

/*
 * Sets the deadline of an entry if the conditions hold for the one that it has in that moment:
 * readers without the lock may store a later one meanwhile. The entry leaves the window, which
 * shows its deadline. Under the shard's lock. Return: 0, with the new deadline in @to; -EALREADY;
 * -EINVAL; -ENOENT if a reader with a later time has sealed it.
 */
static int move_if(struct hb_shard *shard, struct hashbelt_entry *entry,
		   const struct hashbelt_item *item, u64 now, u64 *to)
{
	s64 word = atomic64_read(&entry->node.deadline);

	lockdep_assert_held(&shard->lock);
	hb_window_remove(shard, entry);
	do {
		if (word <= (s64)now || word & HB_SEALED)
			return -ENOENT;
		*to = next_deadline(shard->belt, item, now, word);
		if (!*to)
			return -EINVAL;
		if (!deadline_allows(item->how, word, *to))
			return -EALREADY;
	} while (!atomic64_try_cmpxchg(&entry->node.deadline, &word, *to));
	if (word > (s64)*to) {
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_schedule(shard, entry, now);
	}
	return 0;
}

/* A touch with conditions. */
static int touch_if(struct hashbelt_belt *belt, const void *key, u32 key_len,
		    struct hashbelt_item *item)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	u64 now, to, wanted = item->version;
	int err;

	if (excludes(item->how))
		return -EINVAL;
	hb_make_levels(belt, hash, item->ttl_ms);
	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	entry = hb_find_live(shard, hash, key, key_len, now);
	err = entry ? 0 : belt->dead ? -EIDRM : -ENOENT;
	if (entry)
		item->version = entry->version;
	if (entry && item->how & HASHBELT_IF_VERSION && wanted != entry->version)
		err = -ESTALE;
	if (!err)
		err = move_if(shard, entry, item, now, &to);
	if (!err) {
		if (hb_evicts(belt))
			hb_set_read(entry);
		item->flags = entry->flags;
		item->ttl_ms = hb_ms_left(to, now);
	}
	spin_unlock(&shard->lock);
	if (!err)
		hb_count(belt, HASHBELT_STAT_TOUCHES);
	return err;
}

/* Gives an entry a new deadline: hashbelt_touch(). Context: may sleep. */
int hb_touch(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item)
{
	u32 hash = hb_hash(belt, key, key_len), flags;
	struct hashbelt_entry *entry;
	struct hb_seen seen;
	u64 now, to, is;

	if (!hb_ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	if (unlikely(item->how))
		return touch_if(belt, key, key_len, item);
	hb_make_levels(belt, hash, item->ttl_ms);
	rcu_read_lock();
	do {
		now = hb_clock_now(&belt->clock);
		to = hb_deadline_of(belt, now, item->ttl_ms);
		entry = hb_index_find(&belt->index, hash, key, key_len);
		entry = hb_find_in(belt, hash, entry, now, &seen, NULL);
		flags = entry ? READ_ONCE(entry->flags) : 0;
		is = entry ? hb_set_deadline(belt, entry, now, to, seen) : HB_GONE;
	} while (is == HB_ELSEWHERE);
	if (is > now) {
		if (hb_evicts(belt))
			hb_set_read(entry);
		item->flags = flags;
		item->ttl_ms = hb_ms_left(is, now);
		item->version = seen.version;
	}
	rcu_read_unlock();
	if (is <= now)
		return hb_is_dead(belt) ? -EIDRM : -ENOENT;
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return 0;
}

/*
 * The entry of a client behind @at, with a reference. NULL: there is the place where the walk ends.
 * Moves @at, a link without an entry as well, behind the entry. Under client->walk.
 */
static struct hashbelt_entry *next_behind(struct hb_client *client, struct hb_link *at)
{
	struct hashbelt_entry *entry;
	struct hb_link *link;

	lockdep_assert_held(&client->walk);
	spin_lock(&client->lock);
	link = list_next_entry(at, held);
	entry = link->entry;
	if (entry) {
		refcount_inc(&entry->ref);
		list_move(&at->held, &link->held);
	}
	spin_unlock(&client->lock);
	return entry;
}

/*
 * Sets the deadline of an entry that was found bound. Return: false if it is no HB_ENTRY, or has
 * left.
 */
static bool touch_bound(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now, u64 to,
			u64 ttl_ms)
{
	struct hb_shard *shard = hb_shard_of(belt, hb_hash_of(entry));
	struct hb_link *link;
	u64 is = HB_GONE;

	if (!hb_is_plain(entry))
		return false;
	link = hb_tail(entry);
	hb_make_levels(belt, hb_hash_of(entry), ttl_ms);
	spin_lock(&shard->lock);
	/* Only under this lock it is known to be in the belt: a put attaches it before that. */
	if (!list_empty(&link->held) && !hb_is_cleared(belt, entry))
		is = hb_set_deadline_locked(shard, entry, now, to);
	spin_unlock(&shard->lock);
	if (is <= now)
		return false;
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return true;
}

/*
 * Sets the deadlines of the entries of a client to @to. Return: their number, or -EINTR: a signal
 * kills the task. Under client->walk.
 */
static s64 touch_all(struct hashbelt_belt *belt, struct hb_client *client, u64 now, u64 to,
		     u64 ttl_ms)
{
	struct hb_link at = {}, end = {};
	struct hashbelt_entry *entry;
	s64 touched = 0;

	spin_lock(&client->lock);
	list_add(&at.held, &client->entries);
	list_add_tail(&end.held, &client->entries);
	spin_unlock(&client->lock);
	while (touched >= 0 && (entry = next_behind(client, &at))) {
		touched += touch_bound(belt, entry, now, to, ttl_ms);
		hashbelt_entry_put(belt, entry);
		cond_resched();
		if (fatal_signal_pending(current))
			touched = -EINTR;
	}
	spin_lock(&client->lock);
	list_del(&at.held);
	list_del(&end.held);
	spin_unlock(&client->lock);
	return touched;
}

/**
 * hb_touch_client() - set the deadlines of all entries that are bound to a client
 * @belt:	the belt
 * @client:	the client, or NULL: nothing is bound
 * @item:	@ttl_ms in; returned: that, and in @version the number of the entries
 *
 * All get the same deadline. An entry that is put meanwhile may keep its own. An entry that is
 * touched thus does not count as read. Context: may sleep. Return: 0; -ENOENT, no entry is bound;
 * -EIDRM; -EINVAL; -EINTR, a signal kills the task: some have the deadline.
 */
int hb_touch_client(struct hashbelt_belt *belt, struct hb_client *client,
		    struct hashbelt_item *item)
{
	u64 now, to;
	s64 touched;

	if (!hb_ttl_is_plain(item->ttl_ms))
		return -EINVAL;
	if (!client)
		return hb_is_dead(belt) ? -EIDRM : -ENOENT;
	if (mutex_lock_killable(&client->walk))
		return -EINTR;
	now = hb_clock_now(&belt->clock);
	to = hb_deadline_of(belt, now, item->ttl_ms);
	touched = touch_all(belt, client, now, to, item->ttl_ms);
	mutex_unlock(&client->walk);
	if (touched <= 0)
		return touched ?: hb_is_dead(belt) ? -EIDRM : -ENOENT;
	item->ttl_ms = hb_ms_left(to, now);
	item->version = touched;
	return 0;
}

/* Return: 0 if the condition of a remove holds for @entry or NULL, and its version in @item. */
static int remove_condition(const struct hashbelt_belt *belt, const struct hashbelt_entry *entry,
			    struct hashbelt_item *item)
{
	bool differs;

	if (!entry)
		return belt->dead ? -EIDRM : -ENOENT;
	differs = item->how & HASHBELT_IF_VERSION && entry->version != item->version;
	item->version = entry->version;
	return differs ? -ESTALE : 0;
}

/*
 * Lets the entry of a key expire now, and leaves it to its grace time. An entry that has expired
 * stays, which hb_find_live() would take out. Under the shard's lock.
 */
static int leave_stale(struct hb_shard *shard, u32 hash, const void *key, u32 key_len,
		       struct hashbelt_item *item, u64 now)
{
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *entry;
	int err;

	lockdep_assert_held(&shard->lock);
	if (!belt->settings.grace || belt->settings.handler == HASHBELT_REINSERT)
		return -EINVAL;
	entry = hb_peek(shard, hash, key, key_len, now);
	/* A reader with a later time may have sealed it. */
	if (entry && atomic64_read(&entry->node.deadline) & HB_SEALED)
		entry = NULL;
	err = remove_condition(belt, entry, item);
	if (err)
		return err;
	hb_window_remove(shard, entry);
	if (!hb_node_end(&entry->node, now))
		return -ENOENT;
	hb_wheel_del(&shard->wheel, &entry->node);
	hb_schedule(shard, entry, now);
	return 0;
}

/* Removes an entry: hashbelt_remove(). */
int hb_remove(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item)
{
	bool stays = item->how & HASHBELT_LEAVE_STALE;
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	int err;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	if (unlikely(stays)) {
		err = leave_stale(shard, hash, key, key_len, item, now);
	} else {
		entry = hb_find_live(shard, hash, key, key_len, now);
		err = remove_condition(belt, entry, item);
		if (!err)
			hb_take_out(shard, entry, HASHBELT_REMOVED, now);
	}
	if (shard->fills && (!err || (err == -ENOENT && !(item->how & HASHBELT_IF_VERSION))))
		hb_fill_invalidate(shard, hash, key, key_len, now);
	spin_unlock(&shard->lock);
	if (!err && hb_is_sparse(belt, shard))
		hb_kick_worker(belt);
	/* One that stays is counted as expired, once its grace time is over. */
	if (!err && !stays)
		hb_count(belt, HASHBELT_STAT_REMOVES);
	else if (err == -ESTALE)
		hb_count(belt, HASHBELT_STAT_REMOVES_REFUSED);
	return err;
}

/*
 * Claims an entry as expired if the conditions hold for its deadline in that moment. Under the
 * shard's lock.
 */
static bool claim_if(struct hashbelt_entry *entry, u32 how)
{
	s64 word = atomic64_read(&entry->node.deadline);

	do {
		if (!deadline_allows(how, hb_deadline(word), 0))
			return false;
	} while (!atomic64_try_cmpxchg(&entry->node.deadline, &word,
				       HB_CLAIMED | hb_deadline(word) | HASHBELT_EXPIRED));
	return true;
}

/* Expires an entry now, through the handler, with conditions on its deadline: hashbelt_expire(). */
int hb_expire_key(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 how)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	int err = 0;
	u64 now;

	if (excludes(how))
		return -EINVAL;
	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	entry = hb_find_live(shard, hash, key, key_len, now);
	if (entry) {
		hb_window_remove(shard, entry);
		if (claim_if(entry, how)) {
			hb_wheel_del(&shard->wheel, &entry->node);
			hb_expire(shard, entry, now);
		} else {
			err = -EALREADY;
		}
	}
	if (shard->fills && !err)
		hb_fill_invalidate(shard, hash, key, key_len, now);
	spin_unlock(&shard->lock);
	if (!entry)
		return hb_is_dead(belt) ? -EIDRM : -ENOENT;
	return err;
}
