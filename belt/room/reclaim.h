/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_RECLAIM_H
#define _HASHBELT_RECLAIM_H

#include "belt/belt.h"

void hb_reclaim_init(void);
void hb_reclaim_add_belt(struct hashbelt_belt *belt);
void hb_reclaim_del_belt(struct hashbelt_belt *belt);
void hb_reclaim_wait(struct hashbelt_belt *belt);
bool hb_frees_by_expiring(const struct hashbelt_belt *belt);
size_t hb_evict_expired(struct hashbelt_belt *belt, enum hb_class class,
			enum hashbelt_reason reason, const struct hashbelt_entry *put);
bool hb_expire_hidden(struct hb_shard *shard);
bool hb_expire_some_hidden(struct hashbelt_belt *belt);
bool hb_free_memory(struct hb_account *account, struct hashbelt_belt *belt, size_t size,
		    unsigned int *step);

#endif /* _HASHBELT_RECLAIM_H */
