/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_INDEX_H
#define _HASHBELT_INDEX_H

#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/prefetch.h>
#include <linux/rculist.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "entry.h"
#include "hash.h"

struct hb_account;

/* log2 of the number of chains of a table. */
#define HB_INDEX_BITS_MIN	3
#define HB_INDEX_BITS_MAX	27	/* an entry has other bits in the lowest five of its hash */

/*
 * log2 of the chains in a part of a table, and of the ghosts in one: a part has 512 KiB. The kernel
 * frees it at once if it is in one piece. A table of 8 MiB took 0.8 ms, mostly with interrupts off.
 */
#define HB_PART_BITS		16u
#define HB_GHOST_PART_BITS	18u

/* The place after the last of a scan; and "no chain is to be moved". */
#define HB_INDEX_END		BIT_ULL(32)

/* Chains that one call of a scan looks at: it may find no entry in them. */
#define HB_SCAN_CHAINS		4096

/* Entries that hb_index_move() moves at most. */
#define HB_INDEX_MOVES		64

/* log2 of the number of ghosts that every index has. */
#define HB_GHOST_BITS		10u

/*
 * log2 of the chains of the index from which on ghosts protect new entries. With many more ghosts
 * than entries most new keys would have one, and ghosts would not tell which of them to keep. So
 * a table of this size has one for each chain.
 */
#define HB_GHOST_MIN_BITS	8u

/**
 * struct hb_table - one generation of the index
 * @free:	frees it after a grace period
 * @account:	charged for the table, with a reference: a table outlives its index
 * @next:	the table that takes this one's place, while entries move there
 * @ghosts:	of keys that expired or were evicted: some bits of the hash and the reason. By the
 *		upper bits of the hash, so that those of a shard are written under its lock. In
 *		each part 1 << HB_GHOST_PART_BITS; the parts are constant
 * @ghost_bits:	log2 of their number; constant
 * @moved:	chains that have been moved; the resizer's
 * @bits:	log2 of the number of chains; constant
 * @parts:	the chains, 1 << HB_PART_BITS in each part; constant. Behind the pointers to them
 *		stand those of @ghosts
 */
struct hb_table {
	struct rcu_work free;
	struct hb_account *account;
	struct hb_table __rcu *next;
	u16 **ghosts;
	unsigned int ghost_bits;
	u32 moved;
	unsigned int bits;
	struct hlist_head *parts[];
};

/**
 * struct hb_index - the entries of a belt by their keys
 * @table:	where a search starts
 * @bits:	log2 of the number of chains of the newest table
 * @retry:	after an allocation has failed, jiffies when the next one is tried
 * @err:	why it failed; under @resize_lock
 * @wq:		where tables are freed
 * @account:	charged for them, or NULL; outlives them
 * @remembers:	new tables of 1 << HB_GHOST_MIN_BITS chains, or of more than 1 << HB_GHOST_BITS,
 *		have a ghost for each chain
 * @ghosts:	those of all other tables
 */
struct hb_index {
	struct hb_table __rcu *table;
	unsigned int bits;
	/** @resize_lock: one task at a time allocates a table. Inside it: memory. */
	struct mutex resize_lock;
	unsigned long retry;
	int err;
	struct workqueue_struct *wq;
	struct hb_account *account;
	bool remembers;
	u16 ghosts[1 << HB_GHOST_BITS];
};

int hb_index_init(struct hb_index *index, unsigned int bits,
		  struct workqueue_struct *wq, struct hb_account *account);
void hb_index_destroy(struct hb_index *index);
size_t hb_index_bytes(struct hb_index *index);
bool hb_index_resize(struct hb_index *index, unsigned int bits);
int hb_index_enlarge(struct hb_index *index, unsigned int bits);
bool hb_index_is_moving(struct hb_index *index);
u64 hb_index_moving(struct hb_index *index);
void hb_index_move(struct hb_index *index);
void hb_index_insert(struct hb_index *index, struct hashbelt_entry *entry);
u64 hb_index_scan(struct hb_index *index, u64 place,
		  void (*visit)(struct hashbelt_entry *entry, void *arg), void *arg);

/* The table where entries are inserted. @locked: the caller has a shard's lock, else RCU. */
static inline struct hb_table *hb_index_newest(struct hb_index *index, const bool locked)
{
	struct hb_table *table = rcu_dereference_check(index->table, locked), *next;

	while ((next = rcu_dereference_check(table->next, locked)))
		table = next;
	return table;
}

/*
 * The ghost that keys of a hash share; a newer one replaces an older one. @locked: the caller has
 * the lock of the shard, else RCU.
 */
static inline u16 *hb_ghost_slot(struct hb_index *index, u32 hash, const bool locked)
{
	struct hb_table *table = hb_index_newest(index, locked);
	u32 number = hash >> (32 - table->ghost_bits);

	return &table->ghosts[number >> HB_GHOST_PART_BITS][number % (1u << HB_GHOST_PART_BITS)];
}

static inline struct hlist_head *hb_chain_of(struct hb_table *table, u32 number)
{
	return &table->parts[number >> HB_PART_BITS][number % (1u << HB_PART_BITS)];
}

/* A chain stands for a range of hashes. */
static inline struct hlist_head *hb_chain(struct hb_table *table, u32 hash)
{
	return hb_chain_of(table, hash >> (32 - table->bits));
}

/*
 * Begins to load the first entry of a chain: the lines with its deadline, its key, and what is
 * behind. With a key of 16 bytes and a value of 64 that is all of it. Context: rcu_read_lock().
 */
static __always_inline void hb_chain_prefetch(struct hlist_head *chain)
{
	struct hlist_node *node = rcu_dereference(hlist_first_rcu(chain));
	struct hashbelt_entry *entry;

	if (!node)
		return;
	entry = hlist_entry(node, struct hashbelt_entry, chain);
	prefetch(&entry->node.deadline);
	prefetch(entry->data);
	prefetch(entry->data + L1_CACHE_BYTES);
}

/*
 * hb_index_find() from @table on, inlined: that of the index, read since rcu_read_lock(). @chain:
 * that of @hash. @words: the key is one in words (hash.h). @locked: the caller has the lock of the
 * shard, in place of rcu_read_lock().
 */
static __always_inline struct hashbelt_entry *
hb_table_walk(struct hb_table *table, struct hlist_head *chain, u32 hash, const void *key,
	      u32 key_len, const bool words, const bool locked)
{
	u32 mask = hb_hash_mask(hash);
	struct hashbelt_entry *entry;
	struct hlist_node *node;

	for (;;) {
		/* Of nodes: hlist_for_each_entry_rcu() tests each pointer twice. */
		for (node = rcu_dereference_check(hlist_first_rcu(chain), locked);
		     node; node = rcu_dereference_check(hlist_next_rcu(node), locked)) {
			entry = hlist_entry(node, struct hashbelt_entry, chain);
			if (!((hb_hash_of(entry) ^ hash) & mask) &&
			    likely(entry->key_len == key_len) &&
			    likely(words ? hb_keys_equal(hb_entry_key(entry), key, key_len) :
					   !memcmp(entry->data, key, key_len)))
				return entry;
		}
		/* Pairs with the release in move_last(). */
		smp_rmb();
		table = rcu_dereference_check(table->next, locked);
		if (likely(!table))
			return NULL;
		chain = hb_chain(table, hash);
	}
}

/* hb_index_find(), inlined. @words and @locked are those of hb_table_walk(). */
static __always_inline struct hashbelt_entry *
hb_index_walk(struct hb_index *index, u32 hash, const void *key, u32 key_len, const bool words,
	      const bool locked)
{
	struct hb_table *table = rcu_dereference_check(index->table, locked);

	return hb_table_walk(table, hb_chain(table, hash), hash, key, key_len, words, locked);
}

/**
 * hb_index_find() - find an entry by its key
 * @index:	the index
 * @hash:	hash of the key, with the kind
 * @key:	the key
 * @key_len:	its length
 *
 * During a resize an entry stands in the old table or in the new one, and moves from the first to
 * the second; they are searched in that order. A walk that is carried over into a chain of the new
 * table has seen all of the old chain (see move_last()).
 *
 * Context: rcu_read_lock(); with the shard's lock as well, the answer stays true while that is
 * held. Return: the entry, whatever its deadline, or NULL.
 */
static inline struct hashbelt_entry *
hb_index_find(struct hb_index *index, u32 hash, const void *key, u32 key_len)
{
	return hb_index_walk(index, hash, key, key_len, false, false);
}

/*
 * The entry that has replaced @entry, which was claimed as replaced. It was put behind @entry
 * before @entry was claimed and taken out, and the successor of an entry that was taken out does
 * not change any more. Context: rcu_read_lock(), since before @entry was found.
 */
static inline struct hashbelt_entry *hb_index_successor(struct hashbelt_entry *entry)
{
	/* Pairs with the exchange in hb_node_supersede(). */
	smp_rmb();
	return hlist_entry(rcu_dereference(hlist_next_rcu(&entry->chain)),
			   struct hashbelt_entry, chain);
}

#endif /* _HASHBELT_INDEX_H */
