// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waitpoints: where the tasks and requests that wait for one key meet. The first waiter makes an
 * entry for it in the key's shard, the last one removes it.
 */
#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/room/alloc.h"
#include "belt/room/evict.h"
#include "belt/room/fit.h"
#include "belt/shard/shard.h"
#include "waitpoint.h"

/* Memory of the waitpoint of a key of @key_len bytes. */
size_t hb_waitpoint_size(u32 key_len)
{
	/* It is never so large that the object matters. */
	return hb_object_size(NULL, hb_span(HB_WAITPOINT | HB_TAILED, 0, key_len));
}

/*
 * An entry with a tail, and with the key of the caller; @hash is the key's. Context:
 * may sleep. Return: the entry; an error of hashbelt_entry_alloc(); -EINTR.
 */
struct hashbelt_entry *hb_tailed_alloc(struct hashbelt_belt *belt, enum hb_kind kind, u32 hash,
				       const void *key, u32 key_len, u32 value_len)
{
	int err = hb_make_chains(belt, hb_shard_of(belt, hash));
	struct hashbelt_entry *entry;

	if (err)
		return ERR_PTR(err);
	entry = hb_entry_get_memory(belt, kind | HB_TAILED, 0, key_len, value_len);
	if (IS_ERR(entry))
		return entry;
	entry->hash |= hash;
	memcpy(entry->data, key, key_len);
	return entry;
}

/*
 * Memory for a waitpoint, in case the key has none yet; @hash is the key's. The caller gives it to
 * hb_waitpoint_get(), and frees it if that leaves it. Context: may sleep. Return: the memory, or an
 * error of hb_tailed_alloc().
 */
struct hashbelt_entry *hb_waitpoint_alloc(struct hashbelt_belt *belt, u32 hash,
					  const void *key, u32 key_len)
{
	struct hashbelt_entry *entry = hb_tailed_alloc(belt, HB_WAITPOINT, hash, key, key_len, 0);
	struct hb_waitpoint *waitpoint;

	if (IS_ERR(entry))
		return entry;
	entry->version = U64_MAX;	/* no clear reaches it */
	atomic64_set(&entry->node.deadline, HB_NEVER);
	waitpoint = hb_tail(entry);
	INIT_LIST_HEAD(&waitpoint->waiters[HB_LOCKERS]);
	INIT_LIST_HEAD(&waitpoint->waiters[HB_FILLERS]);
	INIT_LIST_HEAD(&waitpoint->filled);
	INIT_LIST_HEAD(&waitpoint->watches);
	INIT_LIST_HEAD(&waitpoint->unfinished);
	return entry;
}

/* The waitpoint of a key, or NULL; @hash is the key's. Under the shard's lock. */
struct hb_waitpoint *hb_waitpoint_find(struct hb_shard *shard, u32 hash, const void *key,
				       u32 key_len)
{
	struct hashbelt_entry *entry;

	lockdep_assert_held(&shard->lock);
	if (!shard->waitpoints)
		return NULL;
	entry = hb_find_locked(shard, hash | HB_WAITPOINT, key, key_len);
	return entry ? hb_tail(entry) : NULL;
}

/* The waitpoint of an entry's key, or NULL. Under the shard's lock. */
struct hb_waitpoint *hb_waitpoint_of(struct hb_shard *shard, const struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	return hb_waitpoint_find(shard, hb_hash_of(entry) & HB_HASH, entry->data, entry->key_len);
}

/*
 * The waitpoint of the key that *@spare was made for. If there is none, *@spare becomes it, and is
 * set to NULL. Under the shard's lock.
 */
struct hb_waitpoint *hb_waitpoint_get(struct hb_shard *shard, struct hashbelt_entry **spare)
{
	struct hashbelt_entry *entry = *spare;
	struct hb_waitpoint *waitpoint = hb_waitpoint_of(shard, entry);

	lockdep_assert_held(&shard->lock);
	if (waitpoint)
		return waitpoint;
	hb_index_insert(&shard->belt->index, entry);
	shard->waitpoints++;
	hb_shard_count(shard, 1);
	*spare = NULL;
	return hb_tail(entry);
}

/* The worker ends further waits at a waitpoint. Under the shard's lock. */
void hb_waitpoint_leave_to_worker(struct hb_shard *shard, struct hb_waitpoint *waitpoint)
{
	lockdep_assert_held(&shard->lock);
	list_move_tail(&waitpoint->unfinished, &shard->unfinished);
	hb_kick_worker(shard->belt);
}

/* Removes a waitpoint if nothing waits there any more. Under the shard's lock. */
void hb_waitpoint_release(struct hb_shard *shard, struct hb_waitpoint *waitpoint)
{
	lockdep_assert_held(&shard->lock);
	if (!list_empty(&waitpoint->waiters[HB_LOCKERS]) ||
	    !list_empty(&waitpoint->waiters[HB_FILLERS]) ||
	    !list_empty(&waitpoint->filled) || !list_empty(&waitpoint->watches))
		return;
	list_del(&waitpoint->unfinished);
	shard->waitpoints--;
	hb_shard_count(shard, -1);
	hlist_del_rcu(&waitpoint->entry->chain);
	hb_limbo_enter(shard, waitpoint->entry);
}

const struct hb_kind_ops hb_waitpoint_ops = { .tail_size = sizeof(struct hb_waitpoint) };
