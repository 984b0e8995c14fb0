/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_KEY_H
#define _HASHBELT_KEY_H

#include "belt/ground/entry.h"

int hb_touch(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item);
int hb_touch_client(struct hashbelt_belt *belt, struct hb_client *client,
		    struct hashbelt_item *item);
int hb_remove(struct hashbelt_belt *belt, const void *key, u32 key_len, struct hashbelt_item *item);
int hb_expire_key(struct hashbelt_belt *belt, const void *key, u32 key_len);

#endif /* _HASHBELT_KEY_H */
