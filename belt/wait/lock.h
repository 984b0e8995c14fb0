/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_LOCK_H
#define _HASHBELT_LOCK_H

#include <linux/rbtree.h>

#include "lease.h"

/**
 * struct hb_lock - tail of a lock
 * @lease:	its lease
 * @by_owner:	place in the tree of all locks, under belt->owners.lock
 */
struct hb_lock {
	struct hb_lease lease;
	struct rb_node by_owner;
};

extern const struct hb_kind_ops hb_lock_ops;

int hb_lock_acquire(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
		    const void *owner, struct hashbelt_lock *lock);
int hb_lock_release(struct hashbelt_belt *belt, const void *key, const void *owner,
		    struct hashbelt_lock *lock);
int hb_lock_renew(struct hashbelt_belt *belt, const void *key, const void *owner,
		  struct hashbelt_lock *lock);
int hb_lock_query(struct hashbelt_belt *belt, const void *key, void *owner,
		  struct hashbelt_lock *lock);
int hb_locks_release(struct hashbelt_belt *belt, const void *owner,
		     struct hashbelt_lock *lock);
int hb_locks_list(struct hashbelt_belt *belt, const void *owner,
		  struct hashbelt_locks *locks, void *buffer, u32 *used);

#endif /* _HASHBELT_LOCK_H */
