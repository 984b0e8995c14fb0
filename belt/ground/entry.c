// SPDX-License-Identifier: GPL-2.0-only
#include <linux/string.h>

#include "entry.h"
#include "hash.h"

const struct hb_kind_ops *hb_kinds[HB_KINDS] __ro_after_init;

size_t hb_tail_size(u32 hash, u32 keys)
{
	const struct hb_kind_ops *ops = hb_kinds[hb_hash_kind(hash)];

	return ops->tail_size + keys * ops->key_size;
}

u32 hb_hash_key(const struct hb_seed *seed, const void *key, u32 key_len)
{
	return hb_siphash(key, key_len, seed, false) & HB_HASH;
}

/*
 * @kind has HB_TAILED for an entry with a tail, which is zeroed but for its link to the entry.
 * @keys: number of a request's keys; else 0. Return: the entry, or an error of
 * hb_object_alloc().
 */
struct hashbelt_entry *hb_entry_alloc(struct hb_account *account, u32 kind, u32 keys,
				      u32 key_len, u32 value_len, gfp_t gfp)
{
	size_t span = hb_span(kind, keys, key_len + value_len);
	struct hashbelt_entry *entry;
	struct hb_link *link;

	entry = hb_object_alloc(account, span, gfp);
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
