/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * inject.h - lets each call of the module fail that can.
 *
 * The module for the fault tests is built with this file before the first line of each of its
 * own. Each allocation, each copy from or to user space, and each registration becomes a site:
 * it may fail as a whole, and then prints its file, line and name to the kernel log. The kernel's
 * own fault injection cannot do that: it has no hook in get_user() and its like, one fault does
 * not make an allocation fail that has a fallback, and allocations with __GFP_NOWARN fail
 * silently. A fault that the kernel injects inside a site is printed as well.
 *
 * mode.h says which sites and hooks fail. All sites that were compiled are in the section
 * hb_sites.
 */
#ifndef _INJECT_H
#define _INJECT_H

#include <linux/anon_inodes.h>
#include <linux/fault-inject.h>
#include <linux/fs.h>
#include <linux/list_lru.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/percpu_counter.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "mode.h"

#define HB_SITE_SIZE	64

/* FAULT_ALLOCATIONS, after the n-th allocation: each further one fails. */
#define HB_EXHAUSTED	(FAULT_ALLOCATIONS_BASE - FAULT_STEP)

static struct fault_attr hb_fault __maybe_unused;

/* FAULT_ALLOCATIONS: counts an allocation. Whether it is the n-th, or a later one. */
static inline bool hb_is_exhausted(void)
{
	unsigned int left = READ_ONCE(current->fail_nth);

	if (left < FAULT_STEP)
		return false;
	if (left < FAULT_ALLOCATIONS_BASE)
		return true;
	left = round_up(left, FAULT_STEP) - FAULT_STEP;
	WRITE_ONCE(current->fail_nth, left > FAULT_ALLOCATIONS_BASE ? left : HB_EXHAUSTED);
	return left <= FAULT_ALLOCATIONS_BASE;
}

static inline bool hb_counts_sites(void)
{
	unsigned int left = READ_ONCE(current->fail_nth);

	return left >= FAULT_SITE_BASE && left < FAULT_MODULE_POINT_BASE;
}

/* FAULT_SITE: counts a site. Whether it is the n-th. */
static inline bool hb_is_nth_site(void)
{
	unsigned int left = round_up(READ_ONCE(current->fail_nth), FAULT_STEP) - FAULT_STEP;

	WRITE_ONCE(current->fail_nth, left > FAULT_SITE_BASE ? left : 0);
	return left <= FAULT_SITE_BASE;
}

/* FAULT_MODULE_POINT: at the first site it becomes FAULT_POINT. */
static inline void hb_begin_module_points(void)
{
	unsigned int left = READ_ONCE(current->fail_nth);

	if (left >= FAULT_MODULE_POINT_BASE)
		WRITE_ONCE(current->fail_nth,
			   (left - FAULT_MODULE_POINT_BASE + FAULT_STEP - 1) / FAULT_STEP);
}

static inline bool hb_is_fault_due(bool allocates)
{
	if (hb_counts_sites())
		return hb_is_nth_site();
	hb_begin_module_points();
	return (allocates && hb_is_exhausted()) || should_fail(&hb_fault, 1);
}

static inline bool hb_fails(const char *site, bool allocates)
{
	if (!in_task() || !READ_ONCE(current->fail_nth))
		return false;
	if (!hb_is_fault_due(allocates))
		return false;
	pr_notice("hashbelt: fault at %s\n", site);
	return true;
}

/* Prints the site if the kernel has injected the fault inside its call. */
static inline void hb_report_inside(const char *site, unsigned int left)
{
	if (in_task() && left && !READ_ONCE(current->fail_nth))
		pr_notice("hashbelt: fault inside of %s, %u\n", site, left);
}

#define HB_SITE(what)							\
	static const char hb_site[HB_SITE_SIZE] __used __section("hb_sites") = \
		__FILE_NAME__ ":" __stringify(__LINE__) " " what

#define HB_CALL(what, allocates, type, call, failure)			\
({									\
	HB_SITE(what);							\
	unsigned int hb_left;						\
	type hb_result;							\
									\
	if (hb_fails(hb_site, allocates)) {				\
		hb_result = failure;					\
	} else {							\
		hb_left = READ_ONCE(current->fail_nth);			\
		hb_result = call;					\
		hb_report_inside(hb_site, hb_left);				\
	}								\
	hb_result;							\
})

#define HB_ALLOC(name, ...)	HB_CALL(#name, true, void *, name(__VA_ARGS__), NULL)

#define kmalloc(...)		HB_ALLOC(kmalloc, __VA_ARGS__)
#define kzalloc(...)		HB_ALLOC(kzalloc, __VA_ARGS__)
#define kcalloc(...)		HB_ALLOC(kcalloc, __VA_ARGS__)
#define kmalloc_array(...)	HB_ALLOC(kmalloc_array, __VA_ARGS__)
#define kmemdup(...)		HB_ALLOC(kmemdup, __VA_ARGS__)
#define kstrdup(...)		HB_ALLOC(kstrdup, __VA_ARGS__)
#define kvmalloc(...)		HB_ALLOC(kvmalloc, __VA_ARGS__)
#define kvzalloc(...)		HB_ALLOC(kvzalloc, __VA_ARGS__)
#define kvcalloc(...)		HB_ALLOC(kvcalloc, __VA_ARGS__)
#define kvmalloc_array(...)	HB_ALLOC(kvmalloc_array, __VA_ARGS__)
#define vmalloc(...)		HB_ALLOC(vmalloc, __VA_ARGS__)
#define vzalloc(...)		HB_ALLOC(vzalloc, __VA_ARGS__)
#define __vmalloc(...)		HB_ALLOC(__vmalloc, __VA_ARGS__)
#define get_zeroed_page(...) \
	HB_CALL("get_zeroed_page", true, unsigned long, get_zeroed_page(__VA_ARGS__), 0)
#define anon_inode_getfile(...) \
	HB_CALL("anon_inode_getfile", true, struct file *, anon_inode_getfile(__VA_ARGS__), \
		ERR_PTR(-ENOMEM))
#define kmem_cache_alloc(...)	HB_ALLOC(kmem_cache_alloc, __VA_ARGS__)
#define kmem_cache_alloc_lru(...)	HB_ALLOC(kmem_cache_alloc_lru, __VA_ARGS__)
#define kmem_cache_create(...)	HB_ALLOC(kmem_cache_create, __VA_ARGS__)
#define kmem_cache_zalloc(...)	HB_ALLOC(kmem_cache_zalloc, __VA_ARGS__)
#define kmem_cache_alloc_bulk(...) \
	HB_CALL("kmem_cache_alloc_bulk", true, int, kmem_cache_alloc_bulk(__VA_ARGS__), 0)
#define alloc_workqueue(...)	HB_ALLOC(alloc_workqueue, __VA_ARGS__)
#define kmem_cache_create_usercopy(...) \
	HB_ALLOC(kmem_cache_create_usercopy, __VA_ARGS__)

#define __alloc_percpu_gfp(...) \
	((void __percpu *)HB_ALLOC(__alloc_percpu_gfp, __VA_ARGS__))

#undef percpu_counter_init
#define percpu_counter_init(counter, value, gfp)			\
({									\
	static struct lock_class_key hb_key;				\
									\
	HB_CALL("percpu_counter_init", true, int,			\
		__percpu_counter_init(counter, value, gfp, &hb_key), -ENOMEM); \
})

#define register_shrinker(...) \
	HB_CALL("register_shrinker", true, int, register_shrinker(__VA_ARGS__), -ENOMEM)
#undef list_lru_init_memcg
#define list_lru_init_memcg(lru, shrinker)				\
	HB_CALL("list_lru_init_memcg", true, int,			\
		__list_lru_init(lru, true, NULL, shrinker), -ENOMEM)
#define misc_register(misc) \
	HB_CALL("misc_register", true, int, misc_register(misc), -ENOMEM)

#define copy_from_user(to, from, n) \
	HB_CALL("copy_from_user", false, unsigned long, copy_from_user(to, from, n), n)
#define copy_to_user(to, from, n) \
	HB_CALL("copy_to_user", false, unsigned long, copy_to_user(to, from, n), n)
#define copy_to_iter(from, n, to) \
	HB_CALL("copy_to_iter", false, size_t, copy_to_iter(from, n, to), 0)

#undef get_user
#define get_user(x, from)						\
	HB_CALL("get_user:" #x, false, int, access_ok(from, sizeof(*(from))) ? \
		__get_user(x, from) : -EFAULT, -EFAULT)
#undef put_user
#define put_user(x, to)							\
	HB_CALL("put_user:" #x, false, int, access_ok(to, sizeof(*(to))) ?	\
		__put_user(x, to) : -EFAULT, -EFAULT)

/* Between begin and end only user space may be accessed, so a fault comes before the begin. */
#define HB_BEGIN(what, from, size)					\
({									\
	HB_SITE(what);							\
									\
	!hb_fails(hb_site, false) && user_access_begin(from, size);	\
})

#undef user_read_access_begin
#define user_read_access_begin(from, size) HB_BEGIN("user_read_access_begin", from, size)
#undef user_write_access_begin
#define user_write_access_begin(to, size) HB_BEGIN("user_write_access_begin", to, size)

#endif /* _INJECT_H */
