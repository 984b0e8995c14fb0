/* SPDX-License-Identifier: GPL-2.0 */
/* Usage: what counts against the limits of a belt. */
#ifndef _HASHBELT_USAGE_H
#define _HASHBELT_USAGE_H

#include "belt.h"

bool hb_usage_fits(const struct hb_usage *usage, s64 entries, s64 bytes);
bool hb_usage_add(struct hashbelt_belt *belt, s64 entries, s64 bytes);
void hb_usage_change(struct hashbelt_belt *belt, u64 entries, u64 bytes);

/* What an entry counts as under the limits. */
static inline u64 hb_cost(const struct hashbelt_entry *entry)
{
	return hb_entry_size(entry) + HB_INDEX_SHARE;
}

/* Room under the limits for an entry that takes no other's place. */
static inline bool hb_charge(struct hashbelt_belt *belt, const struct hashbelt_entry *entry)
{
	return likely(!belt->usage.limited) || hb_usage_add(belt, 1, hb_cost(entry));
}

/* An entry counts no more; like hb_usage_change(). */
static inline void hb_uncharge(struct hashbelt_belt *belt,
			       const struct hashbelt_entry *entry)
{
	if (unlikely(belt->usage.limited))
		hb_usage_change(belt, -1, -hb_cost(entry));
}

#endif /* _HASHBELT_USAGE_H */
