// SPDX-License-Identifier: GPL-2.0
/*
 * A shard: how entries come into being, are linked and counted, and leave.
 */
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "hashbelt_belt.h"
#include "hashbelt_memory.h"

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
	queue_rcu_work(hb_belt_wq, &shard->free);
}

/* Frees an unlinked entry, when no reader can be looking at it any more. */
void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	hlist_add_head(&entry->node.slot, &shard->limbo);
	if (!shard->in_limbo)
		limbo_leave(shard);
}

void hb_limbo_free(struct work_struct *work)
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

bool hb_is_in_limbo(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		if (READ_ONCE(shard->in_limbo))
			return true;
	return false;
}

/* Waits until what is in limbo now is freed: what leaves, and who waits behind. */
void hb_limbo_flush(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int round;

	for (round = 0; round < 2 && hb_is_in_limbo(belt); round++) {
		/* One for all shards, then each one's work is at least queued. */
		rcu_barrier();
		for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
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
		hb_limbo_flush(belt);
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

void hb_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	size_t size = entry_size(entry);

	shard->count++;
	shard->bytes += size;
	shard->live++;
	shard->live_bytes += size;
}

void hb_unlink(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	size_t size = entry_size(entry);

	shard->count--;
	shard->bytes -= size;
	if (hb_is_cleared(shard->belt, entry))
		return;
	shard->live--;
	shard->live_bytes -= size;
}

/* An entry that is claimed, and off its wheel, leaves the belt. */
void hb_discard(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	hlist_del_rcu(&entry->chain);
	hb_unlink(shard, entry);
	hb_limbo_enter(shard, entry);
}

/* The same for one that expired. Returns true if the worker is needed. */
bool hb_retire(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hashbelt_belt *belt = shard->belt;

	if (!belt->expired || hb_is_cleared(belt, entry)) {
		hb_discard(shard, entry);
		return false;
	}
	hlist_del_rcu(&entry->chain);
	hb_unlink(shard, entry);
	list_add_tail(&entry->node.queue, &shard->expired);
	return true;
}

