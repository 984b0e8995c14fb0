/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_FIT_H
#define _HASHBELT_FIT_H

#include "belt/belt.h"

/* One resize changes the index by this at most, log2. */
#define HB_RESIZE_MOST	6u

/*
 * Entries for each chain of a shard from which on no key is added: every search under the shard's
 * lock walks a chain. A shard has so many only where there is memory for entries, and none for a
 * larger table.
 */
#define HB_CHAIN_MOST	64

u64 hb_index_demand(struct hashbelt_belt *belt, u64 *sum);
unsigned int hb_bits_for(const struct hashbelt_belt *belt, u64 entries);
bool hb_resize(struct hashbelt_belt *belt, u64 entries);
void hb_grow_index(struct hashbelt_belt *belt, u64 shard_count);
int hb_make_chains(struct hashbelt_belt *belt, struct hb_shard *shard);

/* The shard has too many entries for its chains. */
static inline bool hb_is_crowded(const struct hashbelt_belt *belt, const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return READ_ONCE(shard->count) * 2 > 3ULL << bits;
}

/* The shard takes no further key, unless its entries are being moved to more chains already. */
static inline bool hb_is_overfull(struct hashbelt_belt *belt, const struct hb_shard *shard)
{
	unsigned int bits = READ_ONCE(belt->index.bits) - belt->shard_bits;

	return unlikely(READ_ONCE(shard->count) >= (u64)HB_CHAIN_MOST << bits) &&
	       !hb_index_is_moving(&belt->index);
}

/* Enlarges the index if the shard is crowded. Context: may sleep. */
static inline void hb_fit_index(struct hashbelt_belt *belt, struct hb_shard *shard)
{
	if (unlikely(hb_is_crowded(belt, shard)))
		hb_grow_index(belt, READ_ONCE(shard->count));
}

#endif /* _HASHBELT_FIT_H */
