/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_MEMORY_H
#define _HASHBELT_MEMORY_H

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/percpu_counter.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct hb_kin - the belts of an account, or those without one
 * @belts:	the belts, those first at which a task has looked longest ago
 * @count:	their number
 * @takes:	how often a task has taken something; written under @reclaim
 */
struct hb_kin {
	/** @lock: protects @belts and @count. Inside it: none. */
	spinlock_t lock;
	struct list_head belts;
	unsigned int count;
	/**
	 * @reclaim: one task at a time takes what has expired in belts that it does not use, and no
	 * such belt is freed meanwhile. Inside it: flush->lock, kin->lock, shard->lock.
	 */
	struct mutex reclaim;
	u64 takes;
};

/**
 * struct hb_account - the memory and the workers of one user's belts
 * @used:	bytes; exact when summed
 * @whole:	the account that this one is a part of, and that is charged as well; NULL: this is
 *		no part. Constant
 * @wq:		where the belts' work is queued: serves one belt at a time, in FIFO order. A part
 *		has those of @whole
 * @free_wq:	frees belts, one at a time, in FIFO order
 * @dying:	number of belts that were given up and are not freed yet; of a part: not used
 * @kin:	the belts; of a part: not used
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references;
 *		of a part: not used
 * @release:	called when the last reference is dropped; nothing is charged any more then. It
 *		closes the parts
 *
 * A part has a limit of its own below that of the whole. A reference to a part is one to the
 * whole, so that all parts exist as long as the whole does.
 */
struct hb_account {
	struct percpu_counter used;
	struct hb_account *whole;
	struct workqueue_struct *wq;
	struct workqueue_struct *free_wq;
	atomic_t dying;
	struct hb_kin kin;
	refcount_t ref;
	void (*release)(struct hb_account *account);
};

/* Objects in a bundle. */
#define HB_BUNDLE	16

/**
 * struct hb_bundle - objects that are allocated together, or are to be freed together
 * @account:	charged for them, or NULL; constant
 * @bytes:	bytes that are charged for objects of the bundle
 * @class:	the class of @objects
 * @count:	number of @objects
 * @objects:	the objects
 */
struct hb_bundle {
	struct hb_account *account;
	size_t bytes;
	unsigned int class;
	unsigned int count;
	void *objects[HB_BUNDLE];
};

int hb_memory_init(size_t payload);
void hb_memory_exit(void);
void hb_memory_limit(u64 bytes);
void hb_memory_account_limit(u64 bytes);
void hb_memory_part_limit(u64 bytes);
u64 hb_memory_used(void);
void hb_memory_soothe(void);
bool hb_memory_is_scarce(struct hb_account *account);

void hb_kin_init(struct hb_kin *kin);
int hb_account_init(struct hb_account *account, void (*release)(struct hb_account *account));
int hb_account_init_part(struct hb_account *part, struct hb_account *whole);
void hb_account_exit_part(struct hb_account *part);
struct hb_account *hb_account_whole(struct hb_account *account);
struct hb_account *hb_account_get(struct hb_account *account);
void hb_account_put(struct hb_account *account);

int hb_percpu_alloc(struct hb_account *account, size_t size, void __percpu **memory);
void hb_percpu_free(struct hb_account *account, void __percpu *memory, size_t size);
void *hb_zalloc(struct hb_account *account, size_t size);
void *hb_zalloc_pages(struct hb_account *account, size_t size);
void hb_free(struct hb_account *account, void *p, size_t size);
int hb_parts_alloc(struct hb_account *account, void **parts, unsigned int n, size_t size);
void hb_parts_free(struct hb_account *account, void **parts, unsigned int n, size_t size);

void *hb_object_alloc(struct hb_account *account, size_t size, gfp_t gfp);
void hb_object_free(struct hb_account *account, void *object, size_t size);

/* An empty bundle for objects that are charged to @account, which may be NULL. */
static inline void hb_bundle_init(struct hb_bundle *bundle, struct hb_account *account)
{
	bundle->account = account;
	bundle->bytes = 0;
	bundle->class = 0;
	bundle->count = 0;
}

void hb_bundle_fill(struct hb_bundle *bundle, size_t size, unsigned int count);
void hb_bundle_add(struct hb_bundle *bundle, void *object, size_t size);
void hb_bundle_free(struct hb_bundle *bundle);
size_t hb_large_size(const void *object, size_t size);

/* Classes up to HB_FINE_MAX: multiples of HB_STEP from HB_SMALLEST on. */
#define HB_STEP		16
#define HB_SMALLEST	80
#define HB_FINE_MAX	320

/* Bytes of the class for objects of @size, HB_FINE_MAX at most. */
static inline size_t hb_fine_size(size_t size)
{
	return max_t(size_t, round_up(size, HB_STEP), HB_SMALLEST);
}

/* One fine class has objects of both sizes. */
static inline bool hb_is_one_class(size_t size, size_t other)
{
	return max(size, other) <= HB_FINE_MAX && hb_fine_size(size) == hb_fine_size(other);
}

/*
 * Bytes that an object takes which was allocated with @size. Inlined for the fine classes: a put
 * that replaces asks three times.
 */
static inline size_t hb_object_size(const void *object, size_t size)
{
	return likely(size <= HB_FINE_MAX) ? hb_fine_size(size) : hb_large_size(object, size);
}

/*
 * Takes an object for @size, as from hb_object_alloc(), out of a bundle that hb_bundle_fill() has
 * filled for a size of the same class. NULL: there is none.
 */
static inline void *hb_bundle_take(struct hb_bundle *bundle, size_t size)
{
	if (unlikely(!bundle->count))
		return NULL;
	bundle->bytes -= hb_fine_size(size);
	return bundle->objects[--bundle->count];
}

/* Gives an object back that hb_bundle_take() took for @size. */
static inline void hb_bundle_give_back(struct hb_bundle *bundle, void *object, size_t size)
{
	bundle->bytes += hb_fine_size(size);
	bundle->objects[bundle->count++] = object;
}

#endif /* _HASHBELT_MEMORY_H */
