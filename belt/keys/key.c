// SPDX-License-Identifier: GPL-2.0-only
/* Touching, removing and expiring the entry of a key. */
#include "belt/belt.h"
#include "belt/shard/shard.h"
#include "belt/wait/fill.h"
#include "get.h"
#include "key.h"

/* As hashbelt_touch(). */
int hb_touch(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item)
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
		is = entry ? hb_set_deadline(belt, entry, now, to, seen) : HB_GONE;
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
		return hb_is_dead(belt) ? -EIDRM : -ENOENT;
	hb_count(belt, HASHBELT_STAT_TOUCHES);
	return 0;
}

/* Returns 0 if the condition of a remove holds for @entry or NULL, and its version in @item. */
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
	hb_window_leave(shard, entry);
	if (!hb_node_end(&entry->node, now))
		return -ENOENT;
	hb_wheel_del(&shard->wheel, &entry->node);
	hb_schedule(shard, entry, now);
	return 0;
}

/* As hashbelt_remove(). */
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

/* As hashbelt_expire(). */
int hb_expire_key(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	entry = hb_find_live(shard, hash, key, key_len, now);
	if (entry) {
		hb_window_leave(shard, entry);
		hb_node_claim(&entry->node, HASHBELT_EXPIRED);
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_expire(shard, entry, now);
	}
	if (shard->fills)
		hb_fill_invalidate(shard, hash, key, key_len, now);
	spin_unlock(&shard->lock);
	if (!entry)
		return hb_is_dead(belt) ? -EIDRM : -ENOENT;
	return 0;
}
