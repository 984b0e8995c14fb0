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

#include "wheel.h"

struct hashbelt_belt;
struct hb_holder;

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
 * @flags:	the user's bits; of a request the number of its keys; constant likewise
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
	u32 flags;
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
	HB_POINT	= 3,	/* where those meet who wait for a key */
	HB_REQUEST	= 4,	/* waits for keys, which are its value */
};

#define HB_KIND		0x07	/* bits of a hash: enum hb_kind */
#define HB_TAILED	0x08	/* likewise: there is a tail */
#define HB_HASH		(~(u32)(HB_KIND | HB_TAILED))

static inline enum hb_kind hb_kind(const struct hashbelt_entry *entry)
{
	return entry->hash & HB_KIND;
}

/**
 * struct hb_bond - what ties an entry to a descriptor; the tail of it, or its head
 * @entry:	the entry; constant
 * @holder:	the descriptor, with a reference once the entry is tied; or NULL
 * @held:	place in @holder->entries, under @holder->lock; of a request that has left
 *		the belt, its shard's @done, under the shard's lock
 */
struct hb_bond {
	struct hashbelt_entry *entry;
	struct hb_holder *holder;
	struct list_head held;
};

/**
 * struct hb_lock - tail of a lock
 * @bond:	to the descriptor that it is bound to
 * @by_owner:	place in the tree of all locks, under belt->desk.lock
 * @since:	belt time of the grant; constant once in the index
 */
struct hb_lock {
	struct hb_bond bond;
	struct rb_node by_owner;
	u64 since;
};

/**
 * struct hb_point - tail of a point; all under the shard's lock
 * @entry:	the point
 * @waiters:	tasks that wait, in their order: for the lock, for the key to be filled
 * @watches:	of requests that wait for the key, in their order
 */
struct hb_point {
	struct hashbelt_entry *entry;
	struct list_head waiters[2];
	struct list_head watches;
};

/**
 * struct hb_watch - one key of a request
 * @place:	in @point->watches, under the lock of that shard; once off that, for
 *		who has claimed the request
 * @point:	the point while @place is there, else NULL; likewise
 * @request:	the request; constant
 * @stamp:	versions that the shard had given when it began to wait
 * @hash:	of the key; constant
 * @at:		where the key begins in the request's value, bytes; constant
 * @len:	its length; constant
 */
struct hb_watch {
	struct list_head place;
	struct hb_point *point;
	struct hb_request *request;
	u64 stamp;
	u32 hash;
	u32 at;
	u32 len;
};

/**
 * struct hb_request - tail of a request
 * @bond:	to the descriptor that is told
 * @linking:	it is being made: who does that takes its watches out; under the shard's
 *		lock
 * @done:	it was completed, and its holder told; likewise
 * @which:	the watch that completed it, or the number of them; for who has
 *		claimed it
 * @watches:	one for each key
 */
struct hb_request {
	struct hb_bond bond;
	bool linking;
	bool done;
	u32 which;
	struct hb_watch watches[];
};

/* Where the tail begins in the data. */
static inline size_t hb_tail_at(const struct hashbelt_entry *entry)
{
	return ALIGN(entry->key_len + entry->value_len, 8);
}

/* What the tail of an entry with such bits in its hash takes, bytes. */
static inline size_t hb_tail_size(u32 hash, u32 flags)
{
	struct hb_request *request;

	switch (hash & HB_KIND) {
	case HB_LOCK:
		return sizeof(struct hb_lock);
	case HB_POINT:
		return sizeof(struct hb_point);
	case HB_REQUEST:
		return struct_size(request, watches, flags);
	default:
		return sizeof(struct hb_bond);
	}
}

/* The tail of an entry that has one; which, hb_kind() tells. */
static inline void *hb_tail(struct hashbelt_entry *entry)
{
	return entry->data + hb_tail_at(entry);
}

/* What an entry takes in all, bytes: its header, @data bytes, and a tail if it has one. */
static inline size_t hb_span(u32 hash, u32 flags, u32 data)
{
	size_t span = offsetof(struct hashbelt_entry, data) + data;

	if (likely(!(hash & HB_TAILED)))
		return span;
	return ALIGN(span, 8) + hb_tail_size(hash, flags);
}

static inline size_t hb_span_of(const struct hashbelt_entry *entry)
{
	return hb_span(entry->hash, entry->flags, entry->key_len + entry->value_len);
}

struct hb_shard;
struct work_struct;
struct workqueue_struct;

/* Frees the entries that leave limbo. */
extern struct workqueue_struct *hb_limbo_wq;

size_t hb_entry_size(const struct hashbelt_entry *entry);
struct hashbelt_entry *hb_entry_alloc(struct hashbelt_belt *belt, u32 kind, u32 flags,
				      u32 key_len, u32 value_len, gfp_t gfp);
void hb_limbo_enter(struct hb_shard *shard, struct hashbelt_entry *entry);
void hb_limbo_free(struct work_struct *work);
void hb_limbo_flush(struct hashbelt_belt *belt);
bool hb_is_in_limbo(struct hashbelt_belt *belt);

void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry);

#endif /* _HASHBELT_ENTRY_H */
