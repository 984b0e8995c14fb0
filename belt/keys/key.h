/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_KEY_H
#define _HASHBELT_KEY_H

#include "belt/ground/entry.h"

/* Parts of @how that depend on the deadline of the present entry. */
#define HB_EXPIRE_CONDITIONS	(HASHBELT_IF_LASTING | HASHBELT_IF_EXPIRING)
#define HB_DEADLINE_CONDITIONS	(HB_EXPIRE_CONDITIONS | HASHBELT_IF_LATER | HASHBELT_IF_SOONER | \
				 HASHBELT_FROM_DEADLINE)
#define HB_TOUCH_CONDITIONS	(HASHBELT_IF_VERSION | HB_DEADLINE_CONDITIONS)

int hb_touch(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item);
int hb_touch_client(struct hashbelt_belt *belt, struct hb_client *client,
		    struct hashbelt_item *item);
int hb_remove(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item);
int hb_expire_key(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 how);

#endif /* _HASHBELT_KEY_H */
