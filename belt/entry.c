// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of entries: allocation, references, and limbo, where an entry that left
 * its belt waits for a grace period.
 */
#include <linux/export.h>
#include <linux/sched.h>

#include "belt.h"
#include "entry.h"

struct workqueue_struct *hb_limbo_wq;

/* What an entry takes, its share of the index not counted. */
size_t hb_entry_size(const struct hashbelt_entry *entry)
{
	return hb_object_size(entry, hb_span_of(entry));
}

static void entry_free(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	size_t span = hb_span_of(entry);

	if (READ_ONCE(belt->policy) & HASHBELT_WIPE)
		memzero_explicit(entry->data, entry->key_len + entry->value_len);
	hb_object_free(belt->account, entry, span);
}

/**
 * hashbelt_entry_put() - give up a reference to an entry
 * @belt:	the belt that it is of
 * @entry:	from hashbelt_entry_alloc(), or with a reference that was taken
 *		by refcount_inc_not_zero() under RCU
 *
 * Context: may sleep.
 */
void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (refcount_dec_and_test(&entry->ref))
		entry_free(belt, entry);
}
EXPORT_SYMBOL_GPL(hashbelt_entry_put);

static void limbo_leave(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->in_limbo, !list_empty(&shard->limbo));
	if (!shard->in_limbo)
		return;
	list_splice_init(&shard->limbo, &shard->leaving);
	queue_rcu_work(hb_limbo_wq, &shard->free);
}

/* Frees an unlinked entry, when no reader can be looking at it any more. */
void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	list_add(&entry->node.slot, &shard->limbo);
	if (!shard->in_limbo)
		limbo_leave(shard);
}

void hb_limbo_free(struct work_struct *work)
{
	struct hb_shard *shard = container_of(to_rcu_work(work), struct hb_shard, free);
	struct hashbelt_entry *entry, *next;
	LIST_HEAD(leaving);

	spin_lock(&shard->lock);
	list_splice_init(&shard->leaving, &leaving);
	spin_unlock(&shard->lock);
	list_for_each_entry_safe(entry, next, &leaving, node.slot) {
		hashbelt_entry_put(shard->belt, entry);
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
		for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
			/* Where it is queued is looked up anew under the lock: its own affair. */
			data_race(flush_work(&shard->free.work));
		}
	}
}

/*
 * An entry of a kind, with HB_TAILED for one that has a tail, which is zeroed but for
 * what ties it together.
 */
struct hashbelt_entry *hb_entry_alloc(struct hashbelt_belt *belt, u32 kind, u32 flags,
				      u32 key_len, u32 value_len, gfp_t gfp)
{
	size_t span = hb_span(kind, flags, key_len + value_len);
	struct hashbelt_entry *entry;
	struct hb_bond *bond;

	entry = hb_object_alloc(belt->account, span, gfp);
	if (IS_ERR(entry))
		return entry;
	INIT_LIST_HEAD(&entry->node.slot);
	entry->hash = kind;
	entry->flags = flags;
	entry->key_len = key_len;
	entry->value_len = value_len;
	refcount_set(&entry->ref, 1);
	if (likely(!(kind & HB_TAILED)))
		return entry;
	bond = hb_tail(entry);
	memset(bond, 0, hb_tail_size(kind, flags));
	bond->entry = entry;
	return entry;
}
