/* SPDX-License-Identifier: GPL-2.0 */
/* An entry: one cache line of header, the key and the value after it. */
#ifndef _HASHBELT_ENTRY_H
#define _HASHBELT_ENTRY_H

#include <linux/build_bug.h>
#include <linux/refcount.h>
#include <linux/stddef.h>

#include "hashbelt_wheel.h"

/**
 * struct hashbelt_entry - one key with its value
 * @node:	place on the wheel, and deadline
 * @chain:	place in the index, under the shard's lock; readers walk it
 *		under RCU
 * @version:	unique in the belt; constant once the entry is in the index
 * @hash:	of the key; constant likewise
 * @flags:	the user's bits; constant likewise
 * @key_len:	bytes; constant
 * @value_len:	bytes; constant
 * @ref:	one reference for being in the belt, one for each reader that
 *		copies the value outside RCU
 * @data:	the key, then the value; constant once in the index
 *
 * Owned by who allocated it until hashbelt_put() takes it; then by the belt.
 * Unlinked entries go to the shard's limbo and are freed after a grace period.
 */
struct hashbelt_entry {
	struct hb_node node;
	struct hlist_node chain;
	u64 version;
	u32 hash;
	u32 flags;
	u32 key_len:11;
	u32 value_len:21;
	refcount_t ref;
	u8 data[];
};

/* One cache line: a reader who compares the hash has the key's length as well. */
static_assert(offsetof(struct hashbelt_entry, data) == 64);

static inline u8 *hashbelt_entry_value(struct hashbelt_entry *entry)
{
	return entry->data + entry->key_len;
}

#endif /* _HASHBELT_ENTRY_H */
