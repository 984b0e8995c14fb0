/* SPDX-License-Identifier: GPL-2.0 */
/* An entry: one cache line of header, the key and the value after it. */
#ifndef _HASHBELT_ENTRY_H
#define _HASHBELT_ENTRY_H

#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/overflow.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/stddef.h>

#include "memory.h"
#include "wheel.h"

struct hashbelt_belt;
struct hb_client;
struct hb_shard;

/**
 * struct hashbelt_entry - one key with its value
 * @node:	place on the wheel, and deadline; of an event its place in a queue
 * @chain:	place in the index, under the shard's lock; readers walk it
 *		under RCU
 * @next:	of an event: what readers who still stand on it follow (@chain.next)
 * @sequence:	of an event: its number; under the queue's lock
 * @version:	unique in the belt; constant once the entry is in the index
 * @hash:	of the key, and in the lowest bits enum hb_kind and HB_TAILED; constant
 *		likewise
 * @flags:	the user's bits; constant likewise
 * @keys:	of a request: the number of its keys; constant
 * @key_len:	bytes; constant
 * @value_len:	bytes; constant
 * @ref:	one reference for being in the belt, one for each reader that
 *		copies the value outside RCU
 * @data:	the key, then the value; constant once in the index. Behind them, at a
 *		multiple of 8, the tail if there is one
 *
 * Owned by who allocated it until hashbelt_put() takes it; then by the belt.
 * Unlinked entries go to the shard's limbo and are freed after a grace period;
 * those that are to be reported go by way of the belt's queue of events.
 *
 * An entry with an empty key is a proxy: an event about an entry that lives on.
 * Its data is a pointer to that entry, with a reference.
 */
struct hashbelt_entry {
	struct hb_node node;
	union {
		struct hlist_node chain;
		struct {
			struct hlist_node *next;
			u64 sequence;
		};
	};
	u64 version;
	u32 hash;
	union {
		u32 flags;
		u32 keys;
	};
	u32 key_len:11;
	u32 value_len:21;
	refcount_t ref;
	u8 data[];
};

/* One cache line: a reader who compares the hash has the key's length as well. */
static_assert(offsetof(struct hashbelt_entry, data) == 64);

/* A reader must not be led astray by the number of an event. */
static_assert(offsetof(struct hashbelt_entry, next) ==
	      offsetof(struct hashbelt_entry, chain.next));

static inline u8 *hashbelt_entry_value(struct hashbelt_entry *entry)
{
	return entry->data + entry->key_len;
}

/*
 * What an entry is. Keys of different kinds never meet: the kind is part of the hash.
 * All of one key stand in the same shard, and so under the same lock.
 */
enum hb_kind {
	HB_ENTRY	= 0,	/* a key with its value */
	HB_LOCK		= 1,	/* a lock that is held; the value is the owner */
	HB_FILL		= 2,	/* the right to fill a key, which somebody has */
	HB_WAITPOINT	= 3,	/* where those meet who wait for a key */
	HB_REQUEST	= 4,	/* waits for keys, which are its value */
};

#define HB_KINDS	8	/* more than there are: a kind is three bits of a hash */

#define HB_KIND		0x07	/* bits of a hash: enum hb_kind */
#define HB_TAILED	0x08	/* likewise: there is a tail */
#define HB_HASH		(~(u32)(HB_KIND | HB_TAILED))

static inline enum hb_kind hb_kind(const struct hashbelt_entry *entry)
{
	return entry->hash & HB_KIND;
}

/**
 * struct hb_link - the link of an entry to a client; its tail, or the head of that
 * @entry:	the entry; constant
 * @client:	the descriptor, with a reference once the entry is attached; or NULL
 * @held:	place in @client->entries, under @client->lock; of a request that has left
 *		the belt, its shard's @done, under the shard's lock
 */
struct hb_link {
	struct hashbelt_entry *entry;
	struct hb_client *client;
	struct list_head held;
};

/* Where the tail begins in the data. */
static inline size_t hb_tail_at(const struct hashbelt_entry *entry)
{
	return ALIGN(entry->key_len + entry->value_len, 8);
}

/**
 * struct hb_kind_ops - how a kind of entries differs from plain entries
 * @tail_size:	what its tail takes, bytes; @keys is the entry's
 * @link:	counts an entry that was put into the index, and links its tail
 * @unlink:	undoes @link. @cleared: a clear has reset the counters since
 * @leave:	takes a claimed entry, which is off its wheel, out of the belt. NULL: it leaves as
 *		a plain entry does
 * @left:	called when an entry has left; NULL: there is nothing to do
 * @describe:	fills in what differs in the record of an event; NULL: nothing does. Returns the
 *		key, with the value behind it
 * @reported:	an entry that leaves becomes an event of its belt
 *
 * Called under the lock of the entry's shard, but for @tail_size and @describe. A point is not
 * linked and unlinked by hb_shard_link() and hb_shard_unlink(), and has no more than @tail_size.
 */
struct hb_kind_ops {
	size_t (*tail_size)(u32 keys);
	void (*link)(struct hb_shard *shard, struct hashbelt_entry *entry);
	void (*unlink)(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared);
	void (*leave)(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
	void (*left)(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
	const void *(*describe)(struct hashbelt_entry *event, struct hashbelt_event *record);
	bool reported;
};

/* By enum hb_kind; NULL for plain entries. Filled in by hb_core_init(). */
extern const struct hb_kind_ops *hb_kinds[HB_KINDS];

/* The operations of an entry's kind, NULL for a plain entry. */
static inline const struct hb_kind_ops *hb_ops(const struct hashbelt_entry *entry)
{
	return hb_kinds[hb_kind(entry)];
}

/* What the tail of an entry with HB_TAILED and the kind in @hash takes, bytes. */
size_t hb_tail_size(u32 hash, u32 keys);

/* The tail of an entry that has one; which, hb_kind() tells. */
static inline void *hb_tail(struct hashbelt_entry *entry)
{
	return entry->data + hb_tail_at(entry);
}

/* What an entry takes in all, bytes: its header, @data bytes, and a tail if it has one. */
static inline size_t hb_span(u32 hash, u32 keys, u32 data)
{
	size_t span = offsetof(struct hashbelt_entry, data) + data;

	if (likely(!(hash & HB_TAILED)))
		return span;
	return ALIGN(span, 8) + hb_tail_size(hash, keys);
}

static inline size_t hb_span_of(const struct hashbelt_entry *entry)
{
	return hb_span(entry->hash, entry->keys, entry->key_len + entry->value_len);
}

/* What an entry takes, its share of the index not counted. */
static inline size_t hb_entry_size(const struct hashbelt_entry *entry)
{
	return hb_object_size(entry, hb_span_of(entry));
}

struct hashbelt_entry *hb_entry_alloc(struct hashbelt_belt *belt, u32 kind, u32 keys,
				      u32 key_len, u32 value_len, gfp_t gfp);

void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry);

#endif /* _HASHBELT_ENTRY_H */
