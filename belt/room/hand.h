/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_HAND_H
#define _HASHBELT_HAND_H

#include "belt/belt.h"
#include "nearest.h"

/*
 * Entries that the hands skip at most: for one eviction, for a batch of evictions, or in one RCU
 * read-side section of the shrinker. The next entry leaves, read or not. Without this limit,
 * one eviction could skip all entries of a belt.
 */
#define HB_PASS_MOST	1024

void hb_ghost_hit(struct hb_shard *shard, struct hashbelt_entry *entry);
struct hashbelt_entry *hb_find_unread(struct hb_shard *shard, struct hb_search *search, u64 now);
size_t hb_evict_by_hand(struct hashbelt_belt *belt, enum hashbelt_reason reason,
			const struct hashbelt_entry *put, unsigned int *passes);

#endif /* _HASHBELT_HAND_H */
