// SPDX-License-Identifier: GPL-2.0-only
#include <linux/string.h>

#include "belt/belt.h"
#include "entry.h"

const struct hb_kind_ops *hb_kinds[HB_KINDS] __ro_after_init;

size_t hb_tail_size(u32 hash, u32 keys)
{
	const struct hb_kind_ops *ops = hb_kinds[hb_hash_kind(hash)];

	return ops->tail_size + keys * ops->key_size;
}

u32 hb_hash(const struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	return hb_siphash(key, key_len, &belt->seed, false) & HB_HASH;
}

static void wipe(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (READ_ONCE(belt->settings.policy) & HASHBELT_WIPE)
		memzero_explicit(entry->data, entry->key_len + entry->value_len);
}

/*
 * Drops a reference to an entry, from hashbelt_entry_alloc() or from refcount_inc_not_zero() under
 * RCU. Context: may sleep.
 */
void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (!refcount_dec_and_test(&entry->ref))
		return;
	wipe(belt, entry);
	hb_object_free(belt->account, entry, hb_span_of(entry));
}

/*
 * As hashbelt_entry_put(), but the entry may be freed as late as hb_bundle_free(). @bundle has the
 * belt's account.
 */
void hb_entry_put_in(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		     struct hb_bundle *bundle)
{
	if (!refcount_dec_and_test(&entry->ref))
		return;
	wipe(belt, entry);
	hb_bundle_add(bundle, entry, hb_span_of(entry));
}

/*
 * @kind has HB_TAILED for an entry with a tail, which is zeroed but for its link to the entry.
 * @keys: number of a request's keys; else 0. Errors as hb_object_alloc().
 */
struct hashbelt_entry *hb_entry_alloc(struct hashbelt_belt *belt, u32 kind, u32 keys,
				      u32 key_len, u32 value_len, gfp_t gfp)
{
	size_t span = hb_span(kind, keys, key_len + value_len);
	struct hashbelt_entry *entry;
	struct hb_link *link;

	entry = hb_object_alloc(belt->account, span, gfp);
	if (IS_ERR(entry))
		return entry;
	hb_entry_init(entry, kind, keys, key_len, value_len);
	if (likely(!(kind & HB_TAILED)))
		return entry;
	link = hb_tail(entry);
	/* It is of whole words; memset() stores single bytes. */
	memset64((u64 *)link, 0, hb_tail_size(kind, keys) / sizeof(u64));
	link->entry = entry;
	return entry;
}
