/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that differs between the kernels that hashbelt builds on, 5.10 and later: stand-ins for what
 * the kernel's headers lack. They have the names of the newest kernel. compat.mk looks into
 * the headers and defines HB_HAVE_*. A comment tells since which version Linux itself has each.
 */
#ifndef _HASHBELT_COMPAT_H
#define _HASHBELT_COMPAT_H

#include <linux/file.h>
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/list_lru.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/preempt.h>
#include <linux/rbtree.h>
#include <linux/shrinker.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/time_namespace.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

/* hrtimer_init() and a bare assignment became hrtimer_setup() in 6.13. */
#ifndef HB_HAVE_hrtimer_setup
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

#ifndef HB_HAVE_hrtimer_setup_on_stack
static inline void hrtimer_setup_on_stack(struct hrtimer *timer,
					  enum hrtimer_restart (*fn)(struct hrtimer *),
					  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(timer, clock, mode);
	timer->function = fn;
}
#endif

typedef unsigned long hb_shrink_fn(struct shrinker *shrinker, struct shrink_control *control);

/* The kernel tells the shrinker for which node and which memory cgroup it shrinks. */
#define HB_SHRINKER_FLAGS	(SHRINKER_NUMA_AWARE | SHRINKER_MEMCG_AWARE)

/*
 * Since 6.7 the kernel allocates a shrinker and later registers it. Before, the caller allocated
 * it, and an LRU could refer to it only after it was registered: callbacks may come before
 * hb_shrinker_register().
 */
#ifndef HB_HAVE_shrinker_alloc
/* Since 6.0 a shrinker has a name. */
#ifdef HB_HAVE_unnamed_shrinker
#define hb_register_shrinker register_shrinker
#else
#define hb_register_shrinker(shrinker) register_shrinker(shrinker, "hashbelt")
#endif

static inline struct shrinker *hb_shrinker_new(hb_shrink_fn *count, hb_shrink_fn *scan)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
	shrinker->flags = HB_SHRINKER_FLAGS;
	if (!hb_register_shrinker(shrinker))
		return shrinker;
	kfree(shrinker);
	return NULL;
}

static inline void hb_shrinker_register(struct shrinker *shrinker)
{
}

static inline void hb_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(shrinker);
}
#else
static inline struct shrinker *hb_shrinker_new(hb_shrink_fn *count, hb_shrink_fn *scan)
{
	struct shrinker *shrinker = shrinker_alloc(HB_SHRINKER_FLAGS, "hashbelt");

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	return shrinker;
}

#define hb_shrinker_register shrinker_register
#define hb_shrinker_free shrinker_free
#endif

/*
 * Pages that the present reclaim was given besides those of its LRU lists. The number had another
 * name until 6.4. From then on only global reclaim counts it, and sets it to 0.
 */
#ifdef HB_HAVE_reclaimed_slab
#define HB_RECLAIMED reclaimed_slab
#else
#define HB_RECLAIMED reclaimed
#endif

static inline unsigned long hb_reclaimed_pages(void)
{
	return current->reclaim_state ? current->reclaim_state->HB_RECLAIMED : 0;
}

static inline void hb_add_reclaimed_pages(unsigned long pages)
{
	if (current->reclaim_state)
		current->reclaim_state->HB_RECLAIMED += pages;
}

/* Since 6.3 the flags of a mapping are changed by functions. */
#ifndef HB_HAVE_vm_flags_set
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}
#endif

#ifndef HB_HAVE_vm_flags_clear
static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Since 6.8 list_lru_add() that finds the memory cgroup of the object has this name. */
#ifndef HB_HAVE_list_lru_add_obj
#define list_lru_add_obj list_lru_add
#endif
#ifndef HB_HAVE_list_lru_del_obj
#define list_lru_del_obj list_lru_del
#endif

/* The parameters of a list_lru_walk_cb: until 6.13 it was told the lock that is held. */
#ifdef HB_HAVE_lru_walk_lock
#define HB_LRU_WALK_ARGS \
	struct list_head *item, struct list_lru_one *list, spinlock_t *lock, void *arg
#else
#define HB_LRU_WALK_ARGS struct list_head *item, struct list_lru_one *list, void *arg
#endif

/* Since 5.18 an object and its place in the list of its memory cgroup are allocated together. */
#ifndef HB_HAVE_kmem_cache_alloc_lru
#define kmem_cache_alloc_lru(cache, lru, gfp) kmem_cache_alloc(cache, gfp)
#endif

/* Since 5.12 trees are searched by a function that compares. */
#ifndef HB_HAVE_rb_add
static inline void rb_add(struct rb_node *node, struct rb_root *tree,
			  bool (*less)(struct rb_node *node, const struct rb_node *other))
{
	struct rb_node **link = &tree->rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = less(node, parent) ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, tree);
}
#endif

#ifndef HB_HAVE_rb_find
static inline struct rb_node *rb_find(const void *key, const struct rb_root *tree,
				      int (*compare)(const void *key, const struct rb_node *node))
{
	struct rb_node *node = tree->rb_node;

	while (node) {
		int order = compare(key, node);

		if (!order)
			break;
		node = order < 0 ? node->rb_left : node->rb_right;
	}
	return node;
}
#endif

#ifndef HB_HAVE_rb_find_first
static inline struct rb_node *
rb_find_first(const void *key, const struct rb_root *tree,
	      int (*compare)(const void *key, const struct rb_node *node))
{
	struct rb_node *node = tree->rb_node, *found = NULL;

	while (node) {
		int order = compare(key, node);

		if (!order)
			found = node;
		node = order <= 0 ? node->rb_left : node->rb_right;
	}
	return found;
}
#endif

#ifndef HB_HAVE_rb_find_add
static inline struct rb_node *
rb_find_add(struct rb_node *node, struct rb_root *tree,
	    int (*compare)(struct rb_node *node, const struct rb_node *other))
{
	struct rb_node **link = &tree->rb_node, *parent = NULL;

	while (*link) {
		int order;

		parent = *link;
		order = compare(node, parent);
		if (!order)
			return parent;
		link = order < 0 ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(node, parent, link);
	rb_insert_color(node, tree);
	return NULL;
}
#endif

/* Since 5.11: gives a mapping that is being made another file. */
#ifndef HB_HAVE_vma_set_file
static inline void vma_set_file(struct vm_area_struct *vma, struct file *filp)
{
	get_file(filp);
	swap(vma->vm_file, filp);
	fput(filp);
}
#endif

/* Until 5.11 this operation of a mapping had another name. */
#ifndef HB_HAVE_may_split
#define may_split split
#endif

/*
 * Since 5.16: bring in user memory. They return 0, or how many bytes are not there, here all of
 * them. fault_in_pages_readable() does not check the address. fault_in_pages_writeable() would
 * overwrite what is there.
 */
#ifndef HB_HAVE_fault_in_readable
static inline size_t fault_in_readable(const char __user *from, size_t size)
{
	return !access_ok(from, size) || fault_in_pages_readable(from, size) ? size : 0;
}
#endif

#ifndef HB_HAVE_fault_in_safe_writeable
static inline size_t fault_in_safe_writeable(const char __user *to, size_t size)
{
	unsigned long start = (unsigned long)untagged_addr(to), end = start + size, at;
	struct mm_struct *mm = current->mm;
	bool unlocked = false;
	int err = 0;

	if (!access_ok(to, size))
		return size;
	mmap_read_lock(mm);
	for (at = start & PAGE_MASK; at < end && !err; at += PAGE_SIZE)
		err = fixup_user_fault(mm, at, FAULT_FLAG_WRITE, &unlocked);
	mmap_read_unlock(mm);
	return err ? size : 0;
}
#endif

#ifndef HB_HAVE_fault_in_iov_iter_writeable
static inline size_t fault_in_iov_iter_writeable(const struct iov_iter *to, size_t bytes)
{
	const struct iovec *iov = to->iov;
	size_t skip = to->iov_offset, size;

	if (!iter_is_iovec(to))
		return 0;
	for (bytes = min(bytes, iov_iter_count(to)); bytes; bytes -= size, iov++, skip = 0) {
		size = min(bytes, iov->iov_len - skip);
		if (size && fault_in_safe_writeable(iov->iov_base + skip, size))
			return bytes;
	}
	return 0;
}
#endif

/* Since 5.15. */
#ifndef memset_after
#define memset_after(object, value, member) \
	memset((u8 *)(object) + offsetofend(typeof(*(object)), member), value, \
	       sizeof(*(object)) - offsetofend(typeof(*(object)), member))
#endif

/* Since 6.0: only on a real-time kernel is the caller, which has a spinlock, preemptible. */
#ifndef preempt_disable_nested
static inline void preempt_disable_nested(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	else
		lockdep_assert_preemption_disabled();
}

static inline void preempt_enable_nested(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}
#endif

/*
 * Since 6.1 the state of a task that sleeps tells that the freezer need not wake the task. Before,
 * the function that sleeps told it.
 */
#ifdef TASK_FREEZABLE
#define hb_schedule_freezable schedule
#else
#define TASK_FREEZABLE 0
#define hb_schedule_freezable freezable_schedule
#endif

/* Since 5.11. timespec64_to_ns() of 5.10 takes a negative time for the largest one. */
#ifndef HB_HAVE_timens_add_boottime_ns
static inline u64 timens_add_boottime_ns(u64 ns)
{
	struct timespec64 time = ns_to_timespec64(ns);

	timens_add_boottime(&time);
	return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}
#endif

/*
 * A buffer on the stack that is written before it is read: kernels that zero all automatic
 * variables need not zero it.
 */
#if __has_attribute(__uninitialized__)
#define HB_UNINITIALIZED __attribute__((__uninitialized__))
#else
#define HB_UNINITIALIZED
#endif

#endif /* _HASHBELT_COMPAT_H */
