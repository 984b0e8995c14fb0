/* SPDX-License-Identifier: GPL-2.0 */
/*
 * inject.h - lets every call of the module fail that can.
 *
 * The module for the fault tests is built with this before the first line of each of
 * its files. An allocation, a copy from or to user space, and what registers something
 * becomes a site: it may fail as a whole, and says so in the kernel log, by file, line
 * and name. That is what the kernel's own injection cannot do: it has no hook in
 * get_user() and its like, an allocation with a fallback does not fail by one fault,
 * and it is silent about those with __GFP_NOWARN. Its faults, which are inside of a
 * site, are named as well.
 *
 * Both go by /proc/PID/fail-nth. Below HB_STEP that is the number of the one point, site
 * or hook of the kernel, that fails. From HB_LACK on it counts in steps: all sites that
 * allocate fail, from the n-th on. From HB_SITES on the n-th site fails, whatever the kernel
 * passes in between. From HB_START on it counts in steps as well: the n-th point fails,
 * counted from the first site that is come to. The kernel counts down by one for each hook
 * that it passes, which is why a step is so long.
 *
 * All sites that were compiled are in the section hb_sites.
 */
#ifndef _INJECT_H
#define _INJECT_H

#include <linux/fault-inject.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/percpu_counter.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#define HB_SITE_SIZE	64
#define HB_STEP		0x10000u
#define HB_LACK		0x40000000u
#define HB_LACKING	(HB_LACK - HB_STEP)
#define HB_SITES	0x60000000u
#define HB_START	0x80000000u

static struct fault_attr hb_fault __maybe_unused;

/* Whether memory is to be had no more. */
static inline bool hb_lacks(void)
{
	unsigned int left = READ_ONCE(current->fail_nth);

	if (left < HB_STEP)
		return false;
	if (left < HB_LACK)
		return true;
	left = round_up(left, HB_STEP) - HB_STEP;
	WRITE_ONCE(current->fail_nth, left > HB_LACK ? left : HB_LACKING);
	return left <= HB_LACK;
}

static inline bool hb_counts_sites(void)
{
	unsigned int left = READ_ONCE(current->fail_nth);

	return left >= HB_SITES && left < HB_START;
}

/* Whether this site is the one. */
static inline bool hb_is_turn(void)
{
	unsigned int left = round_up(READ_ONCE(current->fail_nth), HB_STEP) - HB_STEP;

	WRITE_ONCE(current->fail_nth, left > HB_SITES ? left : 0);
	return left <= HB_SITES;
}

/* Begins to count if that was to wait for the first site. */
static inline void hb_start(void)
{
	unsigned int left = READ_ONCE(current->fail_nth);

	if (left >= HB_START)
		WRITE_ONCE(current->fail_nth, (left - HB_START + HB_STEP - 1) / HB_STEP);
}

/* Whether a fault is to be here. */
static inline bool hb_strikes(bool allocates)
{
	if (hb_counts_sites())
		return hb_is_turn();
	hb_start();
	return (allocates && hb_lacks()) || should_fail(&hb_fault, 1);
}

static inline bool hb_fails(const char *site, bool allocates)
{
	if (!in_task() || !READ_ONCE(current->fail_nth))
		return false;
	if (!hb_strikes(allocates))
		return false;
	pr_notice("hashbelt: fault at %s\n", site);
	return true;
}

/* Says so if the one fault was somewhere in the call of a site. */
static inline void hb_look_back(const char *site, unsigned int left)
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
		hb_look_back(hb_site, hb_left);				\
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
#define kmem_cache_alloc(...)	HB_ALLOC(kmem_cache_alloc, __VA_ARGS__)
#define kmem_cache_zalloc(...)	HB_ALLOC(kmem_cache_zalloc, __VA_ARGS__)
#define alloc_workqueue(...)	HB_ALLOC(alloc_workqueue, __VA_ARGS__)
#define kmem_cache_create_usercopy(...) \
	HB_ALLOC(kmem_cache_create_usercopy, __VA_ARGS__)

#undef alloc_percpu_gfp
#define alloc_percpu_gfp(type, gfp)					\
	((typeof(type) __percpu *)					\
	 HB_ALLOC(__alloc_percpu_gfp, sizeof(type), __alignof__(type), gfp))

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
#define misc_register(misc) \
	HB_CALL("misc_register", true, int, misc_register(misc), -ENOMEM)

#define copy_from_user(to, from, n) \
	HB_CALL("copy_from_user", false, unsigned long, copy_from_user(to, from, n), n)
#define copy_to_user(to, from, n) \
	HB_CALL("copy_to_user", false, unsigned long, copy_to_user(to, from, n), n)

#undef get_user
#define get_user(x, from)						\
	HB_CALL("get_user:" #x, false, int, access_ok(from, sizeof(*(from))) ? \
		__get_user(x, from) : -EFAULT, -EFAULT)
#undef put_user
#define put_user(x, to)							\
	HB_CALL("put_user:" #x, false, int, access_ok(to, sizeof(*(to))) ?	\
		__put_user(x, to) : -EFAULT, -EFAULT)

/* Nothing but user space may be looked at once this has begun. */
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
