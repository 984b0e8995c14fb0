/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_ITEM_H
#define _HASHBELT_ITEM_H

#include "call.h"

/**
 * enum hb_get_kind - what a get may do
 * @HB_GET_PLAIN:	neither touches nor returns old values; its item stays in registers
 * @HB_GET_RUN:	neither touches nor returns old values; of a batch, with page faults disabled
 * @HB_GET_ANY:	may touch
 * @HB_GET_STALE:	may touch, and return the value of an entry in its grace time
 */
enum hb_get_kind { HB_GET_PLAIN, HB_GET_RUN, HB_GET_ANY, HB_GET_STALE };

long hb_call_get(struct hb_file *file, struct hashbelt_item __user *arg);
long hb_call_item(struct hb_file *file, struct hashbelt_item __user *arg, u32 op);
int hb_check_key(u32 key_len);
int hb_get(struct hashbelt_belt *belt, struct hashbelt_item *item, const u64 *key,
	   enum hb_get_kind kind);
int hb_item(struct hb_session *session, struct hashbelt_item *item, u32 op);

#endif /* _HASHBELT_ITEM_H */
