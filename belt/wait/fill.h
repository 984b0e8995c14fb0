/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_FILL_H
#define _HASHBELT_FILL_H

#include "belt/ground/entry.h"

struct hb_waitpoint;
struct hb_shard;

extern const struct hb_kind_ops hb_fill_ops;

const struct hashbelt_entry *hb_fill_find(struct hb_shard *shard, const struct hashbelt_entry *put,
					  u64 now);
int hb_fill_condition(struct hb_shard *shard, const struct hashbelt_entry *put, u64 token, u64 now);
void hb_fill_invalidate(struct hb_shard *shard, u32 hash, const void *key, u32 key_len, u64 now);
void hb_fill_end(struct hb_shard *shard, const struct hashbelt_entry *put,
		 struct hb_waitpoint *waitpoint, u64 now);

int hb_fill(struct hashbelt_belt *belt, struct hb_client *client, const void *key,
	    u32 key_len, struct hashbelt_fill *fill, bool ahead);
int hb_fill_give_up(struct hashbelt_belt *belt, const void *key, u32 key_len, u64 token);
int hb_fill_renew(struct hashbelt_belt *belt, const void *key, u32 key_len,
		  const struct hashbelt_fill *fill);
int hb_fill_fail(struct hashbelt_belt *belt, const void *key, u32 key_len,
		 const struct hashbelt_fill *fill);

#endif /* _HASHBELT_FILL_H */
