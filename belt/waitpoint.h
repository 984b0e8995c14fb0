/* SPDX-License-Identifier: GPL-2.0 */
/* Waitpoints: where the tasks and requests that wait for one key meet. */
#ifndef _HASHBELT_WAITPOINT_H
#define _HASHBELT_WAITPOINT_H

#include "entry.h"

struct hb_shard;

struct hashbelt_entry *hb_point_alloc(struct hashbelt_belt *belt, u32 hash,
				      const void *key, u32 key_len);
struct hb_point *hb_point_find(struct hb_shard *shard, u32 hash, const void *key,
			       u32 key_len);
struct hb_point *hb_point_get(struct hb_shard *shard, struct hashbelt_entry **spare);
void hb_point_release(struct hb_shard *shard, struct hb_point *point);

#endif /* _HASHBELT_WAITPOINT_H */
