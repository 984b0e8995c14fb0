// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the module.
 *
 * Everything that a belt allocates goes through here. It is charged twice: to
 * the memory cgroup of the task that allocates (__GFP_ACCOUNT), and to one
 * counter for the whole module, which has a limit. The counter is per CPU and
 * exact: near the limit it is summed, and whoever is over it gives back what
 * it took, so that the limit is never exceeded by what was granted.
 *
 * Objects, the entries, come from slab caches: in steps of 16 bytes up to 320,
 * then four to each doubling. The kernel's own size classes would waste a third
 * of an entry of 144 bytes, and nearly half of one with a value of 1 KiB. Larger
 * ones take whole pages.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu_counter.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "hashbelt_memory.h"

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
 * hb_memory_used() - what the module holds
 *
 * Return: bytes, exact when nothing is going on.
 */
u64 hb_memory_used(void)
{
	return percpu_counter_sum_positive(&used);
}

static void uncharge(size_t size)
{
	percpu_counter_add_batch(&used, -(s64)size, BATCH);
}

static bool charge(size_t size)
{
	percpu_counter_add_batch(&used, size, BATCH);
	if (likely(__percpu_counter_compare(&used, READ_ONCE(limit), BATCH) <= 0))
		return true;
	uncharge(size);
	return false;
}

/**
 * hb_zalloc() - memory for a table, zeroed
 * @size:	bytes
 *
 * Context: may sleep.
 *
 * Return: the memory, owned by the caller, to be freed with hb_free(); NULL if
 * there is none or the limit is reached.
 */
void *hb_zalloc(size_t size)
{
	void *p;

	if (!charge(size))
		return NULL;
	p = kvzalloc(size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!p)
		uncharge(size);
	return p;
}

/**
 * hb_free() - free what hb_zalloc() gave
 * @p:		the memory, or NULL
 * @size:	what hb_zalloc() was asked for
 *
 * Context: may sleep.
 */
void hb_free(void *p, size_t size)
{
	if (!p)
		return;
	kvfree(p);
	uncharge(size);
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

/* Whole pages: in one piece, unless too much of that would be wasted. */
static void *pages_alloc(size_t size)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_NOWARN;

	if (roundup_pow_of_two(size) - size > size / 4)
		return __vmalloc(size, gfp);
	return kvmalloc(size, gfp);
}

/**
 * hb_object_alloc() - memory for an entry, not zeroed
 * @size:	bytes
 *
 * Context: may sleep.
 *
 * Return: the object, owned by the caller, to be freed with hb_object_free();
 * ERR_PTR(-ENOMEM), or ERR_PTR(-ENOSPC) when the module's limit is reached.
 */
void *hb_object_alloc(size_t size)
{
	unsigned int class = class_of(size);
	void *object;

	if (likely(class < CLASSES))
		object = kmem_cache_alloc(classes[class], GFP_KERNEL | __GFP_NOWARN);
	else
		object = pages_alloc(size);
	if (!object)
		return ERR_PTR(-ENOMEM);
	if (likely(charge(hb_object_size(object, size))))
		return object;
	if (class < CLASSES)
		kmem_cache_free(classes[class], object);
	else
		kvfree(object);
	return ERR_PTR(-ENOSPC);
}

/**
 * hb_object_free() - free an entry's memory
 * @object:	from hb_object_alloc()
 * @size:	what it was asked for
 *
 * Context: may sleep (a large object may be in vmalloc space).
 */
void hb_object_free(void *object, size_t size)
{
	unsigned int class = class_of(size);

	uncharge(hb_object_size(object, size));
	if (likely(class < CLASSES))
		kmem_cache_free(classes[class], object);
	else
		kvfree(object);
}
