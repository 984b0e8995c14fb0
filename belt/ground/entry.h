/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_ENTRY_H
#define _HASHBELT_ENTRY_H

#include <linux/kernel.h>
#include <linux/build_bug.h>
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/stddef.h>

#include "memory.h"
#include "wheel.h"

struct hashbelt_belt;
struct hb_client;
struct hb_room;
struct hb_seed;
struct hb_shard;

/**
 * struct hashbelt_entry - one key with its value
 * @node:	place on the wheel, and deadline; of an event its place in a queue
 * @chain:	place in the index, under the shard's lock; readers walk it under RCU
 * @next:	of an event: followed by readers that still hold the entry (@chain.next)
 * @sequence:	of an event: its number; under the queue's lock
 * @version:	unique in the belt; once the entry is in the index a put changes it only if it
 *		overwrites the value, under the shard's lock. 0 while it does
 * @hash:	of the key, with enum hb_kind, HB_TAILED and HB_READ_BITS in the lowest bits; those
 *		bits change, all others are constant
 * @flags:	the user's bits; as @version. Of a fill lease: HASHBELT_FAILED or 0, under the
 *		shard's lock
 * @keys:	of a request: the number of its keys; constant
 * @key_len:	bytes; constant
 * @value_len:	bytes; constant
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references
 * @data:	the key, which is constant once in the index, then the value, which is as @version.
 *		After them, at a multiple of 8, the tail if there is one
 *
 * Only puts on the belts of the device overwrite (struct hashbelt_config), and only an entry
 * without other references. A module that finds an entry of a belt that it has made reads a value
 * that does not change.
 *
 * Owned by the task that allocated it until hashbelt_put() takes it; then by the belt. Unlinked
 * entries go to the shard's limbo and are freed after a grace period; those that are reported go
 * through the belt's queue of events first.
 *
 * An entry with an empty key is a proxy: an event about an entry that lives on. Its data is a
 * pointer to that entry, with a reference.
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

/* One cache line: a reader that compares the hash has the key's length as well. */
static_assert(offsetof(struct hashbelt_entry, data) == 64);

/* The number of an event must not overwrite the pointer that readers follow. */
static_assert(offsetof(struct hashbelt_entry, next) == offsetof(struct hashbelt_entry, chain.next));

/* The key in words (hash.h). */
static inline const u64 *hb_entry_key(const struct hashbelt_entry *entry)
{
	return (const u64 *)entry->data;
}

static inline u8 *hashbelt_entry_value(struct hashbelt_entry *entry)
{
	return entry->data + entry->key_len;
}

/* The hash of a key of the kind HB_ENTRY. */
u32 hb_hash_key(const struct hb_seed *seed, const void *key, u32 key_len);

/*
 * The kind is part of the hash, so keys of different kinds never meet. All entries of one key are
 * in the same shard, under the same lock.
 */
enum hb_kind {
	HB_ENTRY	= 0,	/* a key with its value */
	HB_LOCK		= 8,	/* a lock that is held; the value is the owner */
	HB_FILL		= 9,	/* a fill lease */
	HB_WAITPOINT	= 10,	/* where waiters of a key meet */
	HB_REQUEST	= 11,	/* waits for the keys that are its value */
};

#define HB_KINDS	12

/* The lowest bits of a hash. Other kinds have their numbers in the place of HB_READ_BITS. */
#define HB_TERM		0x03	/* of an HB_ENTRY: the term in which the hand found it read */
#define HB_READ		0x04	/* of an HB_ENTRY: it was read since the hand has passed it */
#define HB_READ_BITS	(HB_TERM | HB_READ)
#define HB_OTHER	0x08	/* it is no HB_ENTRY */
#define HB_TAILED	0x10	/* there is a tail */
#define HB_HASH		(~(u32)(HB_READ_BITS | HB_OTHER | HB_TAILED))

/* Of an entry in the belt: readers may set HB_READ meanwhile. */
static inline u32 hb_hash_of(const struct hashbelt_entry *entry)
{
	return READ_ONCE(entry->hash);
}

/* The bits that the hashes of two entries of one kind and key have in common. */
static inline u32 hb_hash_mask(u32 hash)
{
	return hash & HB_OTHER ? ~HB_TAILED : ~(HB_TAILED | HB_READ_BITS);
}

static inline enum hb_kind hb_hash_kind(u32 hash)
{
	return hash & HB_OTHER ? hash & (HB_OTHER | HB_READ_BITS) : HB_ENTRY;
}

/*
 * Sets HB_READ of an HB_ENTRY; writes nothing if it is set. No lock: of two tasks that change
 * HB_READ_BITS at the same time one counts. Context: a task that may use the entry.
 */
static inline void hb_set_read(struct hashbelt_entry *entry)
{
	u32 hash = hb_hash_of(entry);

	if (!(hash & HB_READ))
		WRITE_ONCE(entry->hash, hash | HB_READ);
}

/* Terms are counted modulo 3; 0 is none. */
static inline u32 hb_next_term(u32 term)
{
	return term % 3 + 1;
}

static inline u32 hb_last_term(u32 term)
{
	return hb_next_term(hb_next_term(term));
}

/*
 * The hand passes an HB_ENTRY. Under the shard's lock. Return: true if it stays: it is protected in
 * this term of its shard; or it was read, which clears HB_READ and protects it; or it has the
 * number of the next term, which it loses.
 */
static inline bool hb_second_chance(struct hashbelt_entry *entry, u32 term)
{
	u32 hash = hb_hash_of(entry);
	bool once = (hash & HB_TERM) == hb_next_term(term);

	if ((hash & HB_TERM) == term)
		return true;
	if (!(hash & HB_READ) && !once)
		return false;
	WRITE_ONCE(entry->hash, (hash & ~HB_READ_BITS) | (hash & HB_READ ? term : 0));
	return true;
}

static inline enum hb_kind hb_kind(const struct hashbelt_entry *entry)
{
	return hb_hash_kind(hb_hash_of(entry));
}

/* An HB_ENTRY: a key with its value. */
static inline bool hb_is_plain(const struct hashbelt_entry *entry)
{
	return likely(!(hb_hash_of(entry) & HB_OTHER));
}

/**
 * struct hb_link - the link of an entry to a client; the tail, or its first member
 * @entry:	the entry; constant. NULL: the link is a place in @client->entries, of a task that
 *		walks over them
 * @client:	the descriptor, with a reference once the entry is attached; or NULL
 * @held:	place in @client->entries, under @client->lock; of a request that has left the belt,
 *		in its shard's @done, under the shard's lock
 */
struct hb_link {
	struct hashbelt_entry *entry;
	struct hb_client *client;
	struct list_head held;
};

/* Offset of the tail in the data. */
static inline size_t hb_tail_at(const struct hashbelt_entry *entry)
{
	return ALIGN(entry->key_len + entry->value_len, 8);
}

/**
 * struct hb_kind_ops - what the entries of a kind do
 * @tail_size:	bytes of the tail
 * @key_size:	bytes that the tail has besides for each of a request's keys
 * @besides:	bytes that an entry counts for under the limits besides its own; NULL: none
 * @link:	counts an entry that was put into the index, and links its tail; NULL: nothing to do
 * @unlink:	undoes @link. @cleared: a clear has reset the counters since. NULL: detaches the
 *		tail from its client
 * @leave:	takes a claimed entry, which is off its wheel, out of the belt; NULL: as hb_leave()
 * @left:	called when an entry has left, with the room that it leaves; NULL: nothing to do
 * @release:	takes an entry out with its descriptor. False: another task has claimed it. NULL: it
 *		leaves under its shard's lock, as HASHBELT_RELEASED
 * @describe:	fills in the fields of an event's record that differ by kind, and returns the key,
 *		with the value after it; NULL: none differ
 * @granted:	of leases: the counter of grants
 * @awaited:	of leases: the counter of grants to a task that has waited; -1: none
 * @line:	of leases: index of the waiters of that kind at a waitpoint
 * @reported:	an entry that leaves becomes an event of its belt
 * @ghosts:	an entry that leaves may leave a ghost
 * @grace:	an entry stays for the belt's grace time
 * @reinserted:	an entry that expires gets a new deadline on a belt with HASHBELT_REINSERT
 * @listed:	scans and buckets list an entry
 * @releases:	a release is counted
 * @own_keys:	the keys of the kind are no keys of users
 *
 * The functions are called under the lock of the entry's shard, but for @besides, @release and
 * @describe. A waitpoint is not linked and unlinked by hb_shard_link() and hb_shard_unlink(), and
 * has only @tail_size.
 */
struct hb_kind_ops {
	size_t tail_size;
	size_t key_size;
	size_t (*besides)(const struct hashbelt_entry *entry);
	void (*link)(struct hb_shard *shard, struct hashbelt_entry *entry);
	void (*unlink)(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared);
	void (*leave)(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now);
	void (*left)(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
		     struct hb_room *room);
	bool (*release)(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
	const void *(*describe)(struct hashbelt_entry *event, struct hashbelt_event *record);
	int granted;
	int awaited;
	unsigned int line;
	bool reported;
	bool ghosts;
	bool grace;
	bool reinserted;
	bool listed;
	bool releases;
	bool own_keys;
};

/* In each file, so that the compiler knows what a plain entry does. */
static const __maybe_unused struct hb_kind_ops hb_plain_ops = {
	.tail_size = sizeof(struct hb_link),
	.reported = true,
	.ghosts = true,
	.grace = true,
	.reinserted = true,
	.listed = true,
	.releases = true,
};

/* By enum hb_kind. hb_core_init() fills it in. */
extern const struct hb_kind_ops *hb_kinds[HB_KINDS];

/* Inlined, so that nothing is loaded for a plain entry. */
static __always_inline const struct hb_kind_ops *hb_ops(const struct hashbelt_entry *entry)
{
	return hb_is_plain(entry) ? &hb_plain_ops :
				    hb_kinds[hb_hash_of(entry) & (HB_OTHER | HB_READ_BITS)];
}

/* Bytes of the tail of an entry with HB_TAILED and the kind in @hash. */
size_t hb_tail_size(u32 hash, u32 keys);

/* Only for an entry with a tail. */
static inline void *hb_tail(const struct hashbelt_entry *entry)
{
	return (void *)entry->data + hb_tail_at(entry);
}

/* Bytes of an entry in all: its header, @data bytes, and the tail if it has one. */
static inline size_t hb_span(u32 hash, u32 keys, u32 data)
{
	size_t span = offsetof(struct hashbelt_entry, data) + data;

	if (likely(!(hash & HB_TAILED)))
		return span;
	return ALIGN(span, 8) + hb_tail_size(hash, keys);
}

static inline size_t hb_span_of(const struct hashbelt_entry *entry)
{
	return hb_span(hb_hash_of(entry), entry->keys, entry->key_len + entry->value_len);
}

/* Memory of an entry, without its share of the index. */
static inline size_t hb_entry_size(const struct hashbelt_entry *entry)
{
	return hb_object_size(entry, hb_span_of(entry));
}

struct hashbelt_entry *hb_entry_alloc(struct hb_account *account, u32 kind, u32 keys,
				      u32 key_len, u32 value_len, gfp_t gfp);

static __always_inline void hb_entry_init(struct hashbelt_entry *entry, u32 kind, u32 keys,
					  u32 key_len, u32 value_len)
{
	INIT_LIST_HEAD(&entry->node.slot);
	entry->hash = kind;
	entry->keys = keys;
	entry->key_len = key_len;
	entry->value_len = value_len;
	refcount_set(&entry->ref, 1);
}

/*
 * An entry of the kind HB_ENTRY without a tail, in an object of @bundle, which hb_bundle_fill() has
 * filled for the same class. NULL: the bundle is empty.
 */
static __always_inline struct hashbelt_entry *
hb_entry_take(struct hb_bundle *bundle, u32 key_len, u32 value_len)
{
	struct hashbelt_entry *entry;

	entry = hb_bundle_take(bundle, hb_span(HB_ENTRY, 0, key_len + value_len));
	if (entry)
		hb_entry_init(entry, HB_ENTRY, 0, key_len, value_len);
	return entry;
}

#endif /* _HASHBELT_ENTRY_H */
