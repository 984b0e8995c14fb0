/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_LIMBO_H
#define _HASHBELT_LIMBO_H

#include "belt/belt.h"

extern struct workqueue_struct *hb_limbo_wq;

void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
void hb_limbo_leave(struct hb_shard *shard);
void hb_limbo_free(struct work_struct *work);
int hb_limbo_flush(struct hashbelt_belt *belt);
bool hb_is_in_limbo(struct hashbelt_belt *belt);

/* Takes over the belt's reference to an unlinked entry. Under the shard's lock. */
static inline void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	list_add(&entry->node.slot, &shard->limbo);
	if (!shard->in_limbo)
		hb_limbo_leave(shard);
}

/* Takes over the belt's reference to an unlinked entry, and takes the shard's lock for that. */
static inline void hb_limbo_add(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	struct hb_shard *shard = hb_shard_of(belt, hb_hash_of(entry));

	spin_lock(&shard->lock);
	hb_limbo_enter(shard, entry);
	spin_unlock(&shard->lock);
}

#endif /* _HASHBELT_LIMBO_H */
