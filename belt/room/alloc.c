// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocating an entry, with other attempts after one that fails.
 *
 * Before each further attempt the memory of expired entries is reclaimed (reclaim.c), or else some
 * entries are evicted, if the belt evicts (evict.c).
 */
#include <linux/err.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "alloc.h"
#include "evict.h"
#include "reclaim.h"

/*
 * Attempts to allocate an entry after the first; all but one of these evict some entries before.
 * Other writers may take that memory, which hb_evict_ahead() makes rare.
 */
#define ALLOC_TRIES	4

/*
 * Evicts some entries, and waits until they are freed. That helps after an allocation has failed at
 * the limit of an account or the module. After -ENOMEM the system or a cgroup is short, and the
 * belt's entries may be charged to others: that is left to the shrinker. Return: false if the
 * allocation is to fail.
 */
static bool evict_some(struct hashbelt_belt *belt, int err)
{
	return err != -ENOMEM && hb_frees_by_evicting(belt) &&
	       hb_evict(belt, HASHBELT_EVICTED, HB_BATCH) && !hb_limbo_flush(belt);
}

/* Allocates an entry of any kind, and makes room for it. Context: may sleep. */
struct hashbelt_entry *hb_entry_get_memory(struct hashbelt_belt *belt, u32 kind, u32 keys,
					   u32 key_len, u32 value_len)
{
	size_t size = hb_span(kind, keys, key_len + value_len);
	unsigned int step = 0, evictions = 0;
	struct hashbelt_entry *entry;

	entry = hb_entry_alloc(belt->account, kind, keys, key_len, value_len, GFP_KERNEL);
	while (IS_ERR(entry)) {
		if (!hb_free_memory(belt->account, belt, size, &step) &&
		    !(++evictions < ALLOC_TRIES && evict_some(belt, PTR_ERR(entry))))
			break;
		entry = hb_entry_alloc(belt->account, kind, keys, key_len, value_len, GFP_KERNEL);
	}
	return entry;
}

/* Allocates a plain entry: hashbelt_entry_alloc(). Context: may sleep. */
struct hashbelt_entry *hb_entry_new(struct hashbelt_belt *belt, struct hb_client *client,
				    u32 key_len, u32 value_len)
{
	struct hashbelt_entry *entry;
	struct hb_link *link;

	/* It can never fit: do not even charge the account. */
	if (unlikely(value_len > READ_ONCE(belt->usage.max_bytes))) {
		hb_count(belt, HASHBELT_STAT_REJECTED);
		return ERR_PTR(-ENOSPC);
	}
	if (likely(!client)) {
		entry = hb_entry_alloc(belt->account, HB_ENTRY, 0, key_len, value_len,
				       GFP_KERNEL);
		if (IS_ERR(entry))
			entry = hb_entry_get_memory(belt, HB_ENTRY, 0, key_len, value_len);
		return entry;
	}
	entry = hb_entry_get_memory(belt, HB_ENTRY | HB_TAILED, 0, key_len, value_len);
	if (IS_ERR(entry))
		return entry;
	link = hb_tail(entry);
	link->client = client;
	return entry;
}
