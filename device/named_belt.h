/* SPDX-License-Identifier: GPL-2.0-only */
/* A belt with an owner, which registry.c makes, and rights.c reads. */
#ifndef _HASHBELT_NAMED_BELT_H
#define _HASHBELT_NAMED_BELT_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "hashbelt.h"

struct hashbelt_belt;
struct hb_user;

/**
 * struct hb_named_belt - a belt with an owner and perhaps a name
 * @node:	place in the tree of names; under names_lock
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references.
 *		With the last one the belt is destroyed
 * @belt:	constant
 * @uid:	owner; constant
 * @user:	number of belts, and account, of the user that is charged; NULL: none is. Constant
 * @pinnable:	it may be pinned: it has no account, or was created pinned. Constant
 * @counted:	it counts as a belt of its user and in all; under names_lock
 * @sessions:	of the descriptors that are bound to the belt
 * @destroyed:	no descriptor is bound to the belt any more
 * @rights:	group, permission bits and consumers in one word, so that a reader sees all of
 *		the same moment; written under names_lock
 * @name:	empty for a nameless belt; constant
 * @rcu:	for freeing it
 */
struct hb_named_belt {
	struct rb_node node;
	refcount_t ref;
	struct hashbelt_belt *belt;
	kuid_t uid;
	struct hb_user *user;
	bool pinnable;
	bool counted;
	/**
	 * @lock: protects @sessions and @destroyed. A task that binds a file, and DESTROY, exchange
	 * file->session under it, so a file has a session of this belt while that is in @sessions;
	 * the close of a file exchanges it without. Inside it: none.
	 */
	spinlock_t lock;
	struct list_head sessions;
	bool destroyed;
	u64 rights;
	char name[HASHBELT_NAME_SIZE];
	struct rcu_head rcu;
};

#endif /* _HASHBELT_NAMED_BELT_H */
