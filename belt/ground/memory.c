// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of the module: accounts, limits, and slab caches for entries. See docs/design.md,
 * "Memory". Near its limit a counter is summed exactly, and a charge that would exceed the limit is
 * undone and fails. Allocations fail rather than invoke the OOM killer, the system's or a cgroup's
 * (__GFP_RETRY_MAYFAIL).
 *
 * Slab caches have steps of 16 bytes up to 320, then four to each doubling up to 4096, and then
 * parts of a slab of 32 KiB, the largest of the kernel's: 7 to 3. An entry with 80 bytes of key and
 * value takes 144; with four to each doubling throughout it would take 160, in the kernel's own
 * caches 192. One with a value of 1 KiB takes 1280, in the kernel's 2048. Larger entries take whole
 * pages.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "memory.h"

/* The largest of four to each doubling. */
#define QUARTERED	4096

/* Objects in a slab of the classes after that one. */
#define PARTS_MOST	7
#define PARTS_LEAST	3
#define PART_OF(parts)	round_down(SZ_32K / (parts), 8)

/* 3 classes from 384 to 512, and 4 for each of the three doublings to QUARTERED. */
#define FINE_CLASSES	((HB_FINE_MAX - HB_SMALLEST) / HB_STEP + 1)
#define STEP_CLASSES	(FINE_CLASSES + 15)
#define CLASSES		(STEP_CLASSES + PARTS_MOST - PARTS_LEAST + 1)

/* Bytes that a CPU may add to its share before the common count sees them. */
#define BATCH		(256 * 1024)

/*
 * Puts on belts that evict make room ahead from this share of a limit on, or so many bytes for each
 * CPU below the limit: what they evict is freed before they come to the limit.
 */
#define AHEAD_SHARE	16
#define AHEAD_MOST	(4 * 1024 * 1024)

static struct kmem_cache *classes[CLASSES];
static struct percpu_counter used;
static u64 limit = S64_MAX;	/* percpu_counter compares signed */
static u64 account_limit = S64_MAX;
static u64 part_limit = S64_MAX;

/* CLASSES: larger than any class. */
static __always_inline unsigned int class_of(size_t size)
{
	unsigned int bits;

	if (size <= HB_SMALLEST)
		return 0;
	if (size <= HB_FINE_MAX)
		return (size - HB_SMALLEST + HB_STEP - 1) / HB_STEP;
	if (size > PART_OF(PARTS_LEAST))
		return CLASSES;
	if (size > QUARTERED)
		return STEP_CLASSES + PARTS_MOST - SZ_32K / round_up(size, 8);
	bits = ilog2(size - 1);
	return FINE_CLASSES - 1 + (bits - 8) * 4 + (((size - 1) >> (bits - 2)) & 3);
}

static size_t class_size(unsigned int class)
{
	unsigned int quarters, bits;

	if (class < FINE_CLASSES)
		return HB_SMALLEST + class * HB_STEP;
	if (class >= STEP_CLASSES)
		return PART_OF(STEP_CLASSES + PARTS_MOST - class);
	quarters = class - (FINE_CLASSES - 1);
	bits = 8 + quarters / 4;
	return (5 + quarters % 4) << (bits - 2);
}

void hb_memory_exit(void)
{
	unsigned int i;

	WARN_ON_ONCE(hb_memory_used());
	for (i = 0; i < CLASSES; i++)
		kmem_cache_destroy(classes[i]);
	percpu_counter_destroy(&used);
}

/*
 * Makes the slab caches, without limits. User space copies from and to an object from byte @payload
 * on. Return: 0 or -ENOMEM.
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
			hb_memory_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

/* Later charges may not exceed @bytes; memory that is charged already stays. */
void hb_memory_limit(u64 bytes)
{
	WRITE_ONCE(limit, min_t(u64, bytes, S64_MAX));
}

void hb_memory_account_limit(u64 bytes)
{
	WRITE_ONCE(account_limit, min_t(u64, bytes, S64_MAX));
}

/* The limit of each part of an account. */
void hb_memory_part_limit(u64 bytes)
{
	WRITE_ONCE(part_limit, min_t(u64, bytes, S64_MAX));
}

/* Bytes that the module holds; exact while nothing is allocated or freed. */
u64 hb_memory_used(void)
{
	/* Benign race: what other CPUs charge meanwhile may be missing from the sum. */
	return data_race(percpu_counter_sum_positive(&used));
}

/*
 * Called now and then by a task that frees many pages. The kernel keeps free pages for each CPU,
 * and returns them to all in batches, with interrupts off. Since Linux 5.14 it doubles the batch
 * each time, up to 2016 pages, which took 0.6 ms; but a task that allocates one halves it.
 */
void hb_memory_soothe(void)
{
	free_page(get_zeroed_page(__GFP_NOWARN));
}

static int used_init(struct hb_account *account)
{
	/*
	 * Benign race in the per-CPU allocator: it reads its count of free pages without the lock
	 * to see whether it needs more.
	 */
	return data_race(percpu_counter_init(&account->used, 0, GFP_KERNEL_ACCOUNT));
}

static void used_exit(struct hb_account *account)
{
	WARN_ON_ONCE(percpu_counter_sum(&account->used));
	/* Benign race in the per-CPU allocator, which used_init() explains. */
	data_race((percpu_counter_destroy(&account->used), 0));
}

void hb_kin_init(struct hb_kin *kin)
{
	spin_lock_init(&kin->lock);
	INIT_LIST_HEAD(&kin->belts);
	mutex_init(&kin->reclaim);
}

/*
 * Opens an account with one reference. @release frees it when the last reference is dropped, in a
 * context that may sleep. Return: 0 or -ENOMEM. Context: may sleep.
 */
int hb_account_init(struct hb_account *account, void (*release)(struct hb_account *account))
{
	refcount_set(&account->ref, 1);
	atomic_set(&account->dying, 0);
	hb_kin_init(&account->kin);
	account->whole = NULL;
	account->release = release;
	/* Without WQ_MEM_RECLAIM, which costs a thread: no allocation waits for this work. */
	account->wq = alloc_ordered_workqueue("hashbelt_user", 0);
	if (!account->wq)
		return -ENOMEM;
	account->free_wq = alloc_ordered_workqueue("hashbelt_user_free", 0);
	if (!account->free_wq)
		goto err_wq;
	if (!used_init(account))
		return 0;
	destroy_workqueue(account->free_wq);
err_wq:
	destroy_workqueue(account->wq);
	return -ENOMEM;
}

/*
 * Opens a part of an account, which hb_account_exit_part() closes in the @release of the whole.
 * Return: 0 or -ENOMEM. Context: may sleep.
 */
int hb_account_init_part(struct hb_account *part, struct hb_account *whole)
{
	int err = used_init(part);

	if (err)
		return err;
	part->whole = whole;
	part->wq = whole->wq;
	part->free_wq = whole->free_wq;
	return 0;
}

/* Nothing is charged to the part any more. One of zeros, which was not opened, is left alone. */
void hb_account_exit_part(struct hb_account *part)
{
	if (part->whole)
		used_exit(part);
}

/* The account that has the references and counts the dying belts of @account; NULL if that is. */
struct hb_account *hb_account_whole(struct hb_account *account)
{
	return account && account->whole ? account->whole : account;
}

/* The account may be NULL. */
struct hb_account *hb_account_get(struct hb_account *account)
{
	if (account)
		refcount_inc(&hb_account_whole(account)->ref);
	return account;
}

/*
 * The account may be NULL. With the last reference nothing may be charged to it any more, and no
 * work may be queued on its workqueues. Context: may sleep, but not in work of these workqueues.
 */
void hb_account_put(struct hb_account *account)
{
	account = hb_account_whole(account);
	if (!account || !refcount_dec_and_test(&account->ref))
		return;
	destroy_workqueue(account->free_wq);
	destroy_workqueue(account->wq);
	used_exit(account);
	account->release(account);
}

/* Inlined with charge(), as class_of(), into each allocation. */
static __always_inline bool charge_one(struct percpu_counter *counter, size_t size, u64 most)
{
	percpu_counter_add_batch(counter, size, BATCH);
	/*
	 * The first step of __percpu_counter_compare(), which mostly suffices. Benign race: as
	 * below.
	 */
	if (data_race(percpu_counter_read(counter)) +
		   (s64)BATCH * num_online_cpus() < (s64)most)
		return true;
	/*
	 * Benign race: the common count is read without its lock. Where the CPUs' shares could make
	 * a difference, they are summed under the lock.
	 */
	if (data_race(__percpu_counter_compare(counter, most, BATCH)) <= 0)
		return true;
	percpu_counter_add_batch(counter, -(s64)size, BATCH);
	return false;
}

/* Uncharges @account and the accounts that it is a part of, up to @end, which stays charged. */
static void uncharge_accounts(struct hb_account *account, const struct hb_account *end, size_t size)
{
	for (; account != end; account = account->whole)
		percpu_counter_add_batch(&account->used, -(s64)size, BATCH);
}

static void uncharge(struct hb_account *account, size_t size)
{
	percpu_counter_add_batch(&used, -(s64)size, BATCH);
	uncharge_accounts(account, NULL, size);
}

static inline u64 limit_of(const struct hb_account *account)
{
	return account->whole ? READ_ONCE(part_limit) : READ_ONCE(account_limit);
}

/* Users leave an eighth of the module's memory to belts without an account, which are root's. */
static inline u64 limit_for(const struct hb_account *account)
{
	u64 most = READ_ONCE(limit);

	return account ? most - most / 8 : most;
}

static __always_inline int charge(struct hb_account *account, size_t size)
{
	struct hb_account *each;

	/*
	 * The account first: a charge beyond its limit never touches the counter that all users
	 * share.
	 */
	for (each = account; each; each = each->whole) {
		if (charge_one(&each->used, size, limit_of(each)))
			continue;
		uncharge_accounts(account, each, size);
		return -EDQUOT;
	}
	if (charge_one(&used, size, limit_for(account)))
		return 0;
	uncharge_accounts(account, NULL, size);
	return -ENOSPC;
}

static bool is_near(struct percpu_counter *counter, u64 most)
{
	u64 ahead = min_t(u64, most / AHEAD_SHARE, (u64)AHEAD_MOST * num_online_cpus());

	/* Benign race: as in charge_one(). */
	return data_race(__percpu_counter_compare(counter, most - ahead, BATCH)) > 0;
}

/*
 * The memory of @account, which may be NULL, of an account that it is a part of, or of the module
 * comes near its limit.
 */
bool hb_memory_is_scarce(struct hb_account *account)
{
	struct hb_account *each;

	for (each = account; each; each = each->whole)
		if (is_near(&each->used, limit_of(each)))
			return true;
	return is_near(&used, limit_for(account));
}

/*
 * Zeroed per-CPU memory, charged to @account, which may be NULL, as much as all possible CPUs take;
 * freed by hb_percpu_free(). Return: 0 with *@memory set, or an error of hb_zalloc(). Context: may
 * sleep.
 */
int hb_percpu_alloc(struct hb_account *account, size_t size, void __percpu **memory)
{
	int err = charge(account, size * num_possible_cpus());

	if (err)
		return err;
	/* Benign race in the per-CPU allocator, which used_init() explains. */
	*memory = data_race(__alloc_percpu_gfp(size, sizeof(u64), GFP_KERNEL_ACCOUNT));
	if (*memory)
		return 0;
	uncharge(account, size * num_possible_cpus());
	return -ENOMEM;
}

/* @size is what hb_percpu_alloc() was asked for; @memory may be NULL. Context: may sleep. */
void hb_percpu_free(struct hb_account *account, void __percpu *memory, size_t size)
{
	if (!memory)
		return;
	/* Benign race in the per-CPU allocator, which used_init() explains. */
	data_race((free_percpu(memory), 0));
	uncharge(account, size * num_possible_cpus());
}

#define TABLE_FLAGS	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

static void *zalloc(struct hb_account *account, size_t size,
		    void *(*alloc)(size_t size, gfp_t gfp))
{
	int err = charge(account, size);
	void *p;

	if (err)
		return ERR_PTR(err);
	p = alloc(size, TABLE_FLAGS);
	if (p)
		return p;
	uncharge(account, size);
	return ERR_PTR(-ENOMEM);
}

/* Reclaims no memory for pages in a row: single pages do. kvmalloc() would, with these flags. */
static void *table_alloc(size_t size, gfp_t gfp)
{
	if (size <= PAGE_SIZE)
		return kmalloc(size, gfp);
	return kmalloc(size, (gfp & ~__GFP_RETRY_MAYFAIL) | __GFP_NORETRY) ?: __vmalloc(size, gfp);
}

/*
 * Zeroed memory for a table, charged to @account, which may be NULL; freed by hb_free(). Return:
 * ERR_PTR(-ENOMEM), ERR_PTR(-ENOSPC) at the module's limit, or ERR_PTR(-EDQUOT) at the account's.
 * Context: may sleep.
 */
void *hb_zalloc(struct hb_account *account, size_t size)
{
	return zalloc(account, size, table_alloc);
}

static void *vmalloc_pages(size_t size, gfp_t gfp)
{
	return __vmalloc(size, gfp);
}

/* hb_zalloc() of single pages in a row, for mappings: vmalloc_to_pfn() finds them. */
void *hb_zalloc_pages(struct hb_account *account, size_t size)
{
	return zalloc(account, size, vmalloc_pages);
}

/* @size is what hb_zalloc() was asked for; @p may be NULL. Context: may sleep. */
void hb_free(struct hb_account *account, void *p, size_t size)
{
	if (!p)
		return;
	kvfree(p);
	uncharge(account, size);
}

static void free_parts(void **parts, unsigned int n)
{
	while (n--) {
		kvfree(parts[n]);
		cond_resched();
	}
}

/*
 * Zeroed memory in @n parts of @size bytes each, charged at once as hb_zalloc() does; freed by
 * hb_parts_free(). Return: 0, or an error of hb_zalloc(). Context: may sleep.
 */
int hb_parts_alloc(struct hb_account *account, void **parts, unsigned int n, size_t size)
{
	int err = charge(account, n * size);
	unsigned int i;

	if (err)
		return err;
	for (i = 0; i < n; i++) {
		parts[i] = table_alloc(size, TABLE_FLAGS);
		if (!parts[i]) {
			free_parts(parts, i);
			uncharge(account, n * size);
			return -ENOMEM;
		}
		cond_resched();
	}
	return 0;
}

/* Context: may sleep. */
void hb_parts_free(struct hb_account *account, void **parts, unsigned int n, size_t size)
{
	free_parts(parts, n);
	uncharge(account, n * size);
}

/* hb_object_size() for objects larger than HB_FINE_MAX. */
size_t hb_large_size(const void *object, size_t size)
{
	unsigned int class = class_of(size);

	if (class < CLASSES)
		return class_size(class);
	return is_vmalloc_addr(object) ? PAGE_ALIGN(size) : ksize(object);
}

/*
 * In one piece, unless that would waste more than a quarter. Up to one page, which may be of 64
 * KiB, the kernel's own slab caches waste less than a page does.
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
	if (class < CLASSES)
		kmem_cache_free(classes[class], object);
	else
		kvfree(object);
}

static inline gfp_t object_flags(gfp_t gfp)
{
	gfp |= __GFP_NOWARN;
	return gfpflags_allow_blocking(gfp) ? gfp | __GFP_RETRY_MAYFAIL : gfp;
}

/*
 * Memory for an entry, not zeroed, charged to @account, which may be NULL; freed by
 * hb_object_free(). @gfp is GFP_KERNEL; or GFP_NOWAIT, which fails for an object larger than any
 * class. Return: the memory, or an error of hb_zalloc().
 */
void *hb_object_alloc(struct hb_account *account, size_t size, gfp_t gfp)
{
	unsigned int class = class_of(size);
	void *object;
	int err;

	gfp = object_flags(gfp);
	if (class < CLASSES)
		object = kmem_cache_alloc(classes[class], gfp);
	else
		object = pages_alloc(size, gfp);
	if (!object)
		return ERR_PTR(-ENOMEM);
	err = charge(account, hb_object_size(object, size));
	if (!err)
		return object;
	object_free(object, class);
	return ERR_PTR(err);
}

/* @size is what hb_object_alloc() was asked for. Context: may sleep, as vfree() may. */
void hb_object_free(struct hb_account *account, void *object, size_t size)
{
	uncharge(account, hb_object_size(object, size));
	object_free(object, class_of(size));
}

/* Frees the objects of a bundle that are of one class. @bundle->bytes stay charged. */
static void free_class(struct hb_bundle *bundle)
{
	if (bundle->count)
		kmem_cache_free_bulk(classes[bundle->class], bundle->count, bundle->objects);
	bundle->count = 0;
}

/*
 * Allocates objects of @size into a bundle until it has @count, HB_BUNDLE at most, and charges
 * them: for objects of the fine classes, if memory and limits allow all of them. Else the bundle
 * has fewer, and hb_object_alloc() says why. Objects of another class are freed. Context: may
 * sleep.
 */
void hb_bundle_fill(struct hb_bundle *bundle, size_t size, unsigned int count)
{
	unsigned int class = class_of(size), more;
	size_t bytes;

	if (class != bundle->class)
		hb_bundle_free(bundle);
	if (class >= FINE_CLASSES || bundle->count >= count)
		return;
	more = count - bundle->count;
	bytes = class_size(class) * more;
	if (charge(bundle->account, bytes))
		return;
	if (!kmem_cache_alloc_bulk(classes[class], object_flags(GFP_KERNEL), more,
				   bundle->objects + bundle->count)) {
		uncharge(bundle->account, bytes);
		return;
	}
	bundle->class = class;
	bundle->count = count;
	bundle->bytes += bytes;
}

/*
 * Frees and uncharges an object, at the latest in hb_bundle_free(). Context: may sleep.
 */
void hb_bundle_add(struct hb_bundle *bundle, void *object, size_t size)
{
	unsigned int class = class_of(size);

	if (class == CLASSES) {
		hb_object_free(bundle->account, object, size);
		/* It may have had many pages. */
		cond_resched();
		return;
	}
	if (class != bundle->class)
		free_class(bundle);
	bundle->class = class;
	bundle->bytes += hb_object_size(object, size);
	bundle->objects[bundle->count++] = object;
	if (bundle->count == HB_BUNDLE)
		hb_bundle_free(bundle);
}

/* Frees what is in a bundle, which is empty then. */
void hb_bundle_free(struct hb_bundle *bundle)
{
	free_class(bundle);
	if (bundle->bytes)
		uncharge(bundle->account, bundle->bytes);
	bundle->bytes = 0;
}
