/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_WAITS_H
#define _HASHBELT_WAITS_H

#include "belt/ground/entry.h"

struct hb_shard;

void hb_end_waits(struct hb_shard *shard, const struct hashbelt_entry *put, u64 stamp, u64 now,
		  struct list_head *claimed);
bool hb_unfinished_step(struct hb_shard *shard);

#endif /* _HASHBELT_WAITS_H */
