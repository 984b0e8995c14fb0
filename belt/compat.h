/* SPDX-License-Identifier: GPL-2.0-only */
/* All that differs between the kernels that hashbelt builds on, 6.1 and later. */
#ifndef _HASHBELT_COMPAT_H
#define _HASHBELT_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/list_lru.h>
#include <linux/mm.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/version.h>

/* hrtimer_init() and a bare assignment became hrtimer_setup() in 6.13. No macro tells. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hb_hrtimer_setup(struct hrtimer *timer,
				    enum hrtimer_restart (*fn)(struct hrtimer *),
				    clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}

static inline void hb_hrtimer_setup_on_stack(struct hrtimer *timer,
					     enum hrtimer_restart (*fn)(struct hrtimer *),
					     clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init_on_stack(timer, clock, mode);
	timer->function = fn;
}
#else
#define hb_hrtimer_setup hrtimer_setup
#define hb_hrtimer_setup_on_stack hrtimer_setup_on_stack
#endif

typedef unsigned long hb_shrink_fn(struct shrinker *shrinker, struct shrink_control *control);

/* The kernel tells the shrinker for which node and which memory cgroup it shrinks. */
#define HB_SHRINKER_FLAGS	(SHRINKER_NUMA_AWARE | SHRINKER_MEMCG_AWARE)

/*
 * Since 6.7 the kernel allocates a shrinker and later registers it. Before, the caller allocated
 * it, and an LRU could refer to it only after it was registered: callbacks may come before
 * hb_shrinker_register().
 */
#ifndef SHRINKER_ALLOCATED
static inline struct shrinker *hb_shrinker_new(hb_shrink_fn *count, hb_shrink_fn *scan)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);

	if (!shrinker)
		return NULL;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker->seeks = DEFAULT_SEEKS;
	shrinker->flags = HB_SHRINKER_FLAGS;
	if (!register_shrinker(shrinker, "hashbelt"))
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

/* Since 6.3 the flags of a mapping are changed by functions. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* Since 6.8 list_lru_add() that finds the memory cgroup of the object has this name. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define list_lru_add_obj list_lru_add
#define list_lru_del_obj list_lru_del
#endif

/* The parameters of a list_lru_walk_cb: until 6.13 it was told the lock that is held. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define HB_LRU_WALK_ARGS \
	struct list_head *item, struct list_lru_one *list, spinlock_t *lock, void *arg
#else
#define HB_LRU_WALK_ARGS struct list_head *item, struct list_lru_one *list, void *arg
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
