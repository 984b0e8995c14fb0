/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The window of a belt: copies of hot small entries, in pages that readers map. hashbelt.h has its
 * layout, docs/window.md the steps of a reader.
 */
#ifndef _HASHBELT_WINDOW_H
#define _HASHBELT_WINDOW_H

#include <linux/fs.h>
#include <linux/rwsem.h>

#include "belt/belt.h"

/* Each protects the sets whose number modulo this is its own. */
#define HB_WINDOW_LOCKS		16

/**
 * struct hb_window_set - what the kernel knows of a set of slots
 * @entry:	of each slot the entry whose copy it has, with a reference; NULL: it is empty
 * @tag:	of each slot the tag of the last key; read without a lock as a hint
 * @offered:	parts of the hashes of keys that were offered; a hint, without a lock
 * @heat:	of each slot; docs/design.md, "The window"
 */
struct hb_window_set {
	struct hashbelt_entry *entry[HASHBELT_WINDOW_WAYS];
	u32 tag[HASHBELT_WINDOW_WAYS];
	u16 offered[HASHBELT_WINDOW_WAYS];
	u8 heat[HASHBELT_WINDOW_WAYS];
};

/**
 * struct hb_window - the window of a belt
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references
 * @mapping:	all mappings
 * @bytes:	of a mapping; constant
 * @account:	charged for the pages and @set, with a reference, or NULL; constant
 * @shown:	the pages; NULL once the window is closed, which empties it first. Written under
 *		@gate, too
 * @is_open:	the window takes entries. Read under a lock of @lock: the task that closes the
 *		window takes that lock later
 * @seed:	of the hash by which readers choose a set; constant
 * @used:	slots that are not empty
 * @set:	the sets; freed when the belt gives the window up
 *
 * A slot is a seqlock. The task that fills it holds the lock of the entry's shard and then that of
 * the set. A task that empties it needs the lock of the shard only if the entry leaves the belt.
 */
struct hb_window {
	refcount_t ref;
	struct address_space mapping;
	size_t bytes;
	struct hb_account *account;
	/**
	 * @gate: held for reading while a mapping gets a page, for writing while the window is
	 * closed. Taken inside a process's mmap_lock. Inside it: window->head, window->lock,
	 * clock->lock, memory.
	 */
	struct rw_semaphore gate;
	/** @head: protects the first page but for its clock, and the next two. Inside it: none. */
	spinlock_t head;
	struct hashbelt_window *shown;
	bool is_open;
	u64 seed;
	atomic_t used;
	/** @lock: each protects some of the sets, and their slots. Inside it: none. */
	spinlock_t lock[HB_WINDOW_LOCKS];
	struct hb_window_set *set;
};

int hb_window_init(void);
void hb_window_exit(void);

bool hb_window_is_size(u64 bytes);
struct hb_window *hb_window_new(struct hb_account *account, size_t bytes);
void hb_window_free(struct hb_window *window);
void hb_window_install(struct hashbelt_belt *belt, struct hb_window *window);
void hb_window_open(struct hashbelt_belt *belt);
void hb_window_close(struct hashbelt_belt *belt);
struct hb_window *hb_window_get(struct hashbelt_belt *belt);
void hb_window_put(struct hb_window *window);
unsigned long hb_window_pfn(struct hb_window *window, pgoff_t page);

void hb_window_clear(struct hashbelt_belt *belt, u64 floor, bool dead);
void hb_window_set_renews(struct hashbelt_belt *belt);
void hb_window_clear_renews(struct hashbelt_belt *belt);
void hb_window_offer(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 value_len);
void hb_window_remove_slow(struct hb_shard *shard, struct hashbelt_entry *entry);
u64 hb_window_set_deadline_slow(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now,
				u64 to, bool *sooner);

/*
 * Takes an entry out of the window before a put overwrites it, or before it is claimed for a reason
 * other than its deadline: no reader of the window must miss that. An entry of which the window has
 * a copy has a second reference. Under the lock of its shard, which a fill holds as well. Return:
 * true if no task has a reference to the entry.
 */
static __always_inline bool hb_window_remove(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	/*
	 * Control dependency: where a fill has given the slot to another entry, the change comes
	 * after that. Pairs with refcount_dec() in drop_copy().
	 */
	if (likely(refcount_read(&entry->ref) == 1))
		return true;
	hb_window_remove_slow(shard, entry);
	return refcount_read(&entry->ref) == 1;
}

/*
 * Sets the deadline of the entry and of its copy. Arguments and result are those of hb_node_set().
 * Under the lock of its shard.
 */
static __always_inline u64 hb_window_set_deadline(struct hb_shard *shard,
						  struct hashbelt_entry *entry, u64 now, u64 to,
						  bool *sooner)
{
	/* Control dependency, and pairs with refcount_dec() in drop_copy(). */
	return likely(refcount_read(&entry->ref) == 1) ?
		hb_node_set(&entry->node, now, to, sooner) :
		hb_window_set_deadline_slow(shard, entry, now, to, sooner);
}

#endif /* _HASHBELT_WINDOW_H */
