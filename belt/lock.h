/* SPDX-License-Identifier: GPL-2.0 */
/* Locks. */
#ifndef _HASHBELT_LOCK_H
#define _HASHBELT_LOCK_H

#include <linux/rbtree.h>

#include "lease.h"

/**
 * struct hb_lock - tail of a lock
 * @lease:	to whom it was granted, and when
 * @by_owner:	place in the tree of all locks, under belt->desk.lock
 */
struct hb_lock {
	struct hb_lease lease;
	struct rb_node by_owner;
};

extern const struct hb_kind_ops hb_lock_ops;

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
