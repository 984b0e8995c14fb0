/* SPDX-License-Identifier: GPL-2.0 */
/* The set of belts that /dev/hashbelt serves: their names, and who may what. */
#ifndef _HASHBELT_REGISTRY_H
#define _HASHBELT_REGISTRY_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/uidgid.h>

#include "hashbelt_core.h"

struct hb_user;

/* Most belts: in all, and of one user other than root. */
extern unsigned int hb_max_belts;
extern unsigned int hb_user_max_belts;

/**
 * struct hb_named_belt - a belt with an owner and perhaps a name
 * @node:	place in the tree of names, which is worth one reference; under the
 *		registry's lock
 * @ref:	references; the belt is given up with the last one
 * @belt:	the belt; constant
 * @uid:	owner; constant
 * @user:	what that user has, the belt among it; constant
 * @rights:	group and permission bits in one word, so that nobody sees the one as it
 *		is and the other as it was; written under the registry's lock
 * @name:	empty for a nameless belt; constant
 * @rcu:	for freeing it
 */
struct hb_named_belt {
	struct rb_node node;
	refcount_t ref;
	struct hashbelt_belt *belt;
	kuid_t uid;
	struct hb_user *user;
	u64 rights;
	char name[HASHBELT_NAME_SIZE];
	struct rcu_head rcu;
};

struct hb_named_belt *hb_registry_create(const char *name, kgid_t gid, umode_t mode,
					 const struct hashbelt_config *config);
struct hb_named_belt *hb_registry_open(const char *name);
struct hb_named_belt *hb_registry_next(const char *name);
int hb_registry_destroy(const char *name);
void hb_registry_exit(void);
bool hb_registry_has_users(void);

int hb_group(u32 number, kgid_t *gid);
u32 hb_named_belt_access(const struct hb_named_belt *named);
void hb_named_belt_info(const struct hb_named_belt *named, struct hashbelt_info *info);
void hb_named_belt_set_rights(struct hb_named_belt *named, const kgid_t *gid,
			      const umode_t *mode);
void hb_named_belt_put(struct hb_named_belt *named);

#endif /* _HASHBELT_REGISTRY_H */
