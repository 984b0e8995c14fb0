/* SPDX-License-Identifier: GPL-2.0-only */
/* The frame of a suite. */
#ifndef _SUITE_H
#define _SUITE_H

#include <kunit/test.h>
#include <linux/slab.h>

/* A suite of @suite##_cases, each of which has a begin and an end. */
#define TEST_SUITE(suite, begin, end)					\
	static struct kunit_suite suite##_suite = {			\
		.name = "hashbelt_" #suite, .init = begin, .exit = end,	\
		.test_cases = suite##_cases,				\
	};								\
	kunit_test_suites(&suite##_suite)

#ifndef KUNIT_ARRAY_PARAM_DESC	/* before 6.9 */
#define KUNIT_ARRAY_PARAM_DESC(param, array, member)				\
	static void param##_describe(typeof(&(array)[0]) one, char *desc)	\
	{									\
		strscpy(desc, one->member, KUNIT_PARAM_DESC_SIZE);		\
	}									\
	KUNIT_ARRAY_PARAM(param, array, param##_describe)
#endif

/* Zeroed memory that the case has until it ends. */
static inline void *must_alloc(struct kunit *test, size_t size)
{
	void *memory = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

#define MS	((u64)NSEC_PER_MSEC)
#define SEC	((u64)NSEC_PER_SEC)

#endif /* _SUITE_H */
