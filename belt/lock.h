/* SPDX-License-Identifier: GPL-2.0 */
/* Locks. */
#ifndef _HASHBELT_LOCK_H
#define _HASHBELT_LOCK_H

#include "entry.h"

struct hb_shard;

void hb_owner_add(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
void hb_owner_del(struct hashbelt_belt *belt, struct hashbelt_entry *entry);

int hashbelt_lock(struct hashbelt_belt *belt, struct hb_holder *holder, const void *key,
		  const void *owner, struct hashbelt_lock *lock);
int hashbelt_unlock(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock);
int hashbelt_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		   struct hashbelt_lock *lock);
int hashbelt_query(struct hashbelt_belt *belt, const void *key, void *owner,
		   struct hashbelt_lock *lock);
int hashbelt_release_owner(struct hashbelt_belt *belt, const void *owner,
			   struct hashbelt_lock *lock);
int hashbelt_locks(struct hashbelt_belt *belt, const void *owner,
		   struct hashbelt_locks *locks, void *buffer, u32 *used);

#endif /* _HASHBELT_LOCK_H */
