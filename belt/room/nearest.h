/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_NEAREST_H
#define _HASHBELT_NEAREST_H

#include "belt/belt.h"

/**
 * struct hb_search - a search for an entry to evict, by deadline or by the hands
 * @class:	of the entry that is searched for
 * @put:	the entry to make room for, or NULL. The entry that it replaces and the fill lease
 *		of its key are spared
 * @home:	the shard of @put
 * @home_bound:	lower bound of the deadlines in @home without that of the spared entry
 * @shard:	returned: the shard to search next
 * @least:	returned, by deadline: the bound of @shard, or HB_NOTHING
 * @second:	returned, by deadline: the least bound of the other shards
 * @second_place: returned, by the hands: the least place of the hands of the other shards
 * @passes:	by the hands: entries that they may still skip; several searches may share it
 */
struct hb_search {
	enum hb_class class;
	const struct hashbelt_entry *put;
	const struct hb_shard *home;
	u64 home_bound;
	struct hb_shard *shard;
	u64 least;
	u64 second;
	struct hb_place second_place;
	unsigned int *passes;
};

void hb_search_shard(struct hashbelt_belt *belt, struct hb_search *search);
struct hashbelt_entry *hb_nearest_entry(struct hb_shard *shard, enum hb_class class, u64 now,
					u64 *bound);
struct hashbelt_entry *hb_find_spared(struct hb_shard *shard, const struct hb_search *search,
				      u64 now);
void hb_set_bound(struct hb_shard *shard, enum hb_class class, u64 bound);
struct hashbelt_entry *hb_find_nearest(struct hb_shard *shard, struct hb_search *search, u64 now,
				       u64 *deadline);
void hb_evict_entry(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
		    enum hashbelt_reason reason);
size_t hb_evict_nearest(struct hashbelt_belt *belt, enum hb_class class,
			enum hashbelt_reason reason, u64 until, const struct hashbelt_entry *put);

#endif /* _HASHBELT_NEAREST_H */
