// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the module.
 *
 * What a belt allocates goes through here, but for its counters, one set for each
 * processor, which only a memory cgroup is charged with. It is charged to the
 * memory cgroup of the task that allocates (__GFP_ACCOUNT), to the account of
 * the belt's owner, and to one counter for the whole module. Accounts and the
 * module have a limit. Their counters are per CPU and exact: near the limit they are
 * summed, and a charge that exceeds the limit is undone and fails. So the sum of
 * granted charges never exceeds a limit.
 *
 * A cache is no reason to kill anybody: what cannot be had without the OOM
 * killer, the system's or a cgroup's, is not had (__GFP_RETRY_MAYFAIL).
 *
 * Objects, the entries, come from slab caches: in steps of 16 bytes up to 320,
 * then four to each doubling. The kernel's own size classes would waste a third
 * of an entry of 144 bytes, and nearly half of one with a value of 1 KiB. Larger
 * ones take whole pages.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "memory.h"

#define STEP		16
#define SMALLEST	80
#define FINE_MAX	320
#define LARGEST		4096

/* Up to FINE_MAX, and then from 384 to LARGEST: three, and three times four. */
#define FINE_CLASSES	((FINE_MAX - SMALLEST) / STEP + 1)
#define CLASSES		(FINE_CLASSES + 15)

/* What a CPU may hold back from the common count. */
#define BATCH		(256 * 1024)

static struct kmem_cache *classes[CLASSES];
static struct percpu_counter used;
static u64 limit = S64_MAX;	/* percpu_counter compares signed */
static u64 account_limit = S64_MAX;

/* The class of an object, or CLASSES for one that has none. */
static unsigned int class_of(size_t size)
{
	unsigned int bits;

	if (size <= SMALLEST)
		return 0;
	if (size <= FINE_MAX)
		return (size - SMALLEST + STEP - 1) / STEP;
	if (size > LARGEST)
		return CLASSES;
	/* The quarter between two powers of two in which it lies. */
	bits = ilog2(size - 1);
	return FINE_CLASSES - 1 + (bits - 8) * 4 + (((size - 1) >> (bits - 2)) & 3);
}

/* The size of the objects of a class. */
static size_t class_size(unsigned int class)
{
	unsigned int quarters, bits;

	if (class < FINE_CLASSES)
		return SMALLEST + class * STEP;
	quarters = class - (FINE_CLASSES - 1);
	bits = 8 + quarters / 4;
	return (5 + quarters % 4) << (bits - 2);
}

static void destroy_classes(unsigned int n)
{
	while (n--)
		kmem_cache_destroy(classes[n]);
}

/**
 * hb_memory_init() - make the size classes, with no limit
 * @payload:	offset of that part of an object that is copied from and to user
 *		space
 *
 * Return: 0 or -ENOMEM.
 */
int hb_memory_init(size_t payload)
{
	unsigned int i;
	char name[32];
	int err;

	err = percpu_counter_init(&used, 0, GFP_KERNEL);
	if (err)
		return err;
	for (i = 0; i < CLASSES; i++) {
		size_t size = class_size(i);

		snprintf(name, sizeof(name), "hashbelt_entry_%zu", size);
		classes[i] = kmem_cache_create_usercopy(name, size, 8, SLAB_ACCOUNT,
							payload, size - payload, NULL);
		if (!classes[i]) {
			destroy_classes(i);
			percpu_counter_destroy(&used);
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * hb_memory_exit() - destroy the size classes; everything has been freed
 */
void hb_memory_exit(void)
{
	WARN_ON_ONCE(hb_memory_used());
	destroy_classes(CLASSES);
	percpu_counter_destroy(&used);
}

/**
 * hb_memory_limit() - set the most that may be allocated from now on
 * @bytes:	the limit. What is over it already stays
 */
void hb_memory_limit(u64 bytes)
{
	WRITE_ONCE(limit, min_t(u64, bytes, S64_MAX));
}

/**
 * hb_memory_account_limit() - set the most that may be charged to an account
 * @bytes:	the limit of each account
 */
void hb_memory_account_limit(u64 bytes)
{
	WRITE_ONCE(account_limit, min_t(u64, bytes, S64_MAX));
}

/**
 * hb_memory_used() - what the module holds
 *
 * Return: bytes, exact when nothing is going on.
 */
u64 hb_memory_used(void)
{
	/* What the other CPUs add meanwhile may be in the sum or not: who looks has to bear it. */
	return data_race(percpu_counter_sum_positive(&used));
}

/**
 * hb_account_init() - open an account
 * @account:	the account, which gets a reference for the caller
 * @release:	what frees it in the end; called where the last reference is given up, in
 *		a context that may sleep
 *
 * Context: may sleep. Return: 0 or -ENOMEM.
 */
int hb_account_init(struct hb_account *account,
		    void (*release)(struct hb_account *account))
{
	refcount_set(&account->ref, 1);
	account->release = release;
	/*
	 * Benign race in the allocator for per-processor memory: it counts its free pages under
	 * a lock, and reads the count without the lock to see whether it needs more.
	 */
	return data_race(percpu_counter_init(&account->used, 0, GFP_KERNEL_ACCOUNT));
}

/**
 * hb_account_get() - take a reference
 * @account:	the account, or NULL
 *
 * Return: @account.
 */
struct hb_account *hb_account_get(struct hb_account *account)
{
	if (account)
		refcount_inc(&account->ref);
	return account;
}

/**
 * hb_account_put() - give up a reference
 * @account:	the account, or NULL; closed with its last reference, when all
 *		that was charged to it has been freed
 */
void hb_account_put(struct hb_account *account)
{
	if (!account || !refcount_dec_and_test(&account->ref))
		return;
	WARN_ON_ONCE(percpu_counter_sum(&account->used));
	/* As in hb_account_init(). */
	data_race((percpu_counter_destroy(&account->used), 0));
	account->release(account);
}

static bool charge_one(struct percpu_counter *counter, size_t size, u64 most)
{
	percpu_counter_add_batch(counter, size, BATCH);
	/*
	 * A look at the common count without its lock, which is meant: where the CPUs' shares
	 * could make a difference they are summed under the lock.
	 */
	if (likely(data_race(__percpu_counter_compare(counter, most, BATCH)) <= 0))
		return true;
	percpu_counter_add_batch(counter, -(s64)size, BATCH);
	return false;
}

static void uncharge(struct hb_account *account, size_t size)
{
	percpu_counter_add_batch(&used, -(s64)size, BATCH);
	if (account)
		percpu_counter_add_batch(&account->used, -(s64)size, BATCH);
}

static int charge(struct hb_account *account, size_t size)
{
	/* The account first: a charge beyond it never touches the counter that all users share. */
	if (account && unlikely(!charge_one(&account->used, size, READ_ONCE(account_limit))))
		return -EDQUOT;
	if (likely(charge_one(&used, size, READ_ONCE(limit))))
		return 0;
	if (account)
		percpu_counter_add_batch(&account->used, -(s64)size, BATCH);
	return -ENOSPC;
}

/**
 * hb_zalloc() - memory for a table, zeroed
 * @account:	whom to charge, or NULL
 * @size:	bytes
 *
 * Context: may sleep.
 *
 * Return: the memory, owned by the caller, to be freed with hb_free();
 * ERR_PTR(-ENOMEM), ERR_PTR(-ENOSPC) when the module's limit is reached, or
 * ERR_PTR(-EDQUOT) when the account's is.
 */
void *hb_zalloc(struct hb_account *account, size_t size)
{
	int err = charge(account, size);
	void *p;

	if (err)
		return ERR_PTR(err);
	p = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (p)
		return p;
	uncharge(account, size);
	return ERR_PTR(-ENOMEM);
}

/**
 * hb_free() - free what hb_zalloc() gave
 * @account:	who was charged
 * @p:		the memory, or NULL
 * @size:	what hb_zalloc() was asked for
 *
 * Context: may sleep.
 */
void hb_free(struct hb_account *account, void *p, size_t size)
{
	if (!p)
		return;
	kvfree(p);
	uncharge(account, size);
}

/**
 * hb_object_size() - what an object really takes
 * @object:	from hb_object_alloc()
 * @size:	what was asked for
 *
 * Return: bytes.
 */
size_t hb_object_size(const void *object, size_t size)
{
	unsigned int class = class_of(size);

	if (class < CLASSES)
		return class_size(class);
	return is_vmalloc_addr(object) ? PAGE_ALIGN(size) : ksize(object);
}

/*
 * Whole pages: in one piece, unless too much of that would be wasted. Within a page the
 * kernel's own size classes waste less than a page does, which may be of 64 KiB.
 */
static void *pages_alloc(size_t size, gfp_t gfp)
{
	if (!gfpflags_allow_blocking(gfp))
		return NULL;
	if (size > PAGE_SIZE && roundup_pow_of_two(size) - size > size / 4)
		return __vmalloc(size, gfp | __GFP_ACCOUNT);
	return kvmalloc(size, gfp | __GFP_ACCOUNT);
}

static void object_free(void *object, unsigned int class)
{
	if (likely(class < CLASSES))
		kmem_cache_free(classes[class], object);
	else
		kvfree(object);
}

/**
 * hb_object_alloc() - memory for an entry, not zeroed
 * @account:	whom to charge, or NULL
 * @size:	bytes
 * @gfp:	GFP_KERNEL; or GFP_NOWAIT, for one that has a size class
 *
 * Context: as @gfp says.
 *
 * Return: the object, owned by the caller, to be freed with hb_object_free();
 * errors as hb_zalloc().
 */
void *hb_object_alloc(struct hb_account *account, size_t size, gfp_t gfp)
{
	unsigned int class = class_of(size);
	void *object;
	int err;

	gfp |= __GFP_NOWARN;
	if (gfpflags_allow_blocking(gfp))
		gfp |= __GFP_RETRY_MAYFAIL;
	if (likely(class < CLASSES))
		object = kmem_cache_alloc(classes[class], gfp);
	else
		object = pages_alloc(size, gfp);
	if (!object)
		return ERR_PTR(-ENOMEM);
	err = charge(account, hb_object_size(object, size));
	if (likely(!err))
		return object;
	object_free(object, class);
	return ERR_PTR(err);
}

/**
 * hb_object_free() - free an entry's memory
 * @account:	who was charged
 * @object:	from hb_object_alloc()
 * @size:	what it was asked for
 *
 * Context: may sleep (a large object may be in vmalloc space).
 */
void hb_object_free(struct hb_account *account, void *object, size_t size)
{
	uncharge(account, hb_object_size(object, size));
	object_free(object, class_of(size));
}
