/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_EVICT_H
#define _HASHBELT_EVICT_H

#include "entry.h"

struct hb_room;
struct hb_shard;

bool hb_make_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
		  struct hb_room *room);
int hb_make_chains(struct hashbelt_belt *belt, struct hb_shard *shard);
unsigned int hb_evict(struct hashbelt_belt *belt, enum hashbelt_reason reason, unsigned int most);
struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 keys,
					   u32 key_len, u32 value_len);
void hb_come_back(struct hb_shard *shard, struct hashbelt_entry *entry);
bool hb_free_memory(struct hb_account *account, struct hashbelt_belt *belt, size_t size,
		    unsigned int *step);
bool hb_evicts_ahead(const struct hashbelt_belt *belt);
void hb_evict_ahead(struct hashbelt_belt *belt, const struct hashbelt_entry *put);
int hb_evict_init(void);
void hb_evict_exit(void);
void hb_evict_add_belt(struct hashbelt_belt *belt);
void hb_evict_del_belt(struct hashbelt_belt *belt);
void hb_evict_wait(struct hashbelt_belt *belt);

struct hashbelt_entry *hashbelt_entry_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					    u32 key_len, u32 value_len);

#endif /* _HASHBELT_EVICT_H */
