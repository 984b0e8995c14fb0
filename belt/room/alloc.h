/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_ALLOC_H
#define _HASHBELT_ALLOC_H

#include "belt/ground/entry.h"

struct hb_client;

struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 keys,
					   u32 key_len, u32 value_len);
struct hashbelt_entry *hb_entry_new(struct hashbelt_belt *belt, struct hb_client *client,
				    u32 key_len, u32 value_len);

#endif /* _HASHBELT_ALLOC_H */
