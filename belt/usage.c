// SPDX-License-Identifier: GPL-2.0
/*
 * Usage: what counts against the limits of a belt.
 *
 * The usage of a belt is kept up only where it has a limit, under one lock, so
 * that it is exact: no put is granted above a limit, and none is refused, nor
 * anything evicted, below it.
 */
#include "belt.h"
#include "usage.h"

bool hb_usage_fits(const struct hb_usage *usage, s64 entries, s64 bytes)
{
	return (entries <= 0 || usage->entries + entries <= usage->max_entries) &&
	       (bytes <= 0 || usage->bytes + bytes <= usage->max_bytes);
}

/* What a put adds to a belt with limits; false if it does not fit. Under a shard's lock. */
bool hb_usage_add(struct hashbelt_belt *belt, s64 entries, s64 bytes)
{
	struct hb_usage *usage = &belt->usage;
	bool granted;

	spin_lock(&usage->lock);
	granted = hb_usage_fits(usage, entries, bytes);
	if (granted) {
		usage->entries += entries;
		usage->bytes += bytes;
	}
	spin_unlock(&usage->lock);
	return granted;
}

/* Under a shard's lock or the queue's, so that no limit is set meanwhile. */
void hb_usage_change(struct hashbelt_belt *belt, u64 entries, u64 bytes)
{
	struct hb_usage *usage = &belt->usage;

	if (!usage->limited)
		return;
	spin_lock(&usage->lock);
	usage->entries += entries;
	usage->bytes += bytes;
	spin_unlock(&usage->lock);
}
