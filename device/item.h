/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_ITEM_H
#define _HASHBELT_ITEM_H

#include "call.h"

long hb_call_get(struct hb_file *file, struct hashbelt_item __user *arg);
long hb_call_item(struct hb_file *file, struct hashbelt_item __user *arg, u32 op);
int hb_check_key(u32 key_len);
int hb_get(struct hashbelt_belt *belt, struct hashbelt_item *item, const u64 *key, bool stale);
int hb_get_again(struct hashbelt_belt *belt, struct hashbelt_item *item, const u64 *key);
int hb_item(struct hb_session *session, struct hashbelt_item *item, u32 op);

#endif /* _HASHBELT_ITEM_H */
