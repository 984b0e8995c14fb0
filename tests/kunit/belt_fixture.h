/* SPDX-License-Identifier: GPL-2.0-only */
/* The fixture of cases about one belt: the belt, and a handler that records its calls. */
#ifndef _BELT_FIXTURE_H
#define _BELT_FIXTURE_H

#include "belt.h"

struct fixture {
	struct hashbelt_belt *belt;
	struct rnd_state rnd;
	struct hashbelt_event last;	/* event of the last call of the handler */
	unsigned int expired;		/* calls for expired entries */
	unsigned int expired_of[1000];	/* likewise by key, where keys are numbers */
	u64 last_version;		/* of the entry that expired last */
	u64 lateness;			/* the longest since a deadline, nanoseconds */
	u64 deadlines[1000];		/* by key, as the case has set them */
};

static inline void on_event(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			    const struct hashbelt_event *event, void *arg)
{
	struct fixture *f = arg;
	unsigned int i;

	might_sleep();
	f->last = *event;
	if (event->reason != HASHBELT_EXPIRED)
		return;
	f->expired++;
	f->last_version = entry->version;
	if (entry->key_len != sizeof(i))
		return;
	memcpy(&i, entry->data, sizeof(i));
	if (i < ARRAY_SIZE(f->expired_of)) {
		f->expired_of[i]++;
		if (f->deadlines[i])
			f->lateness = max(f->lateness,
					  hashbelt_now(belt) - f->deadlines[i]);
	}
}

static inline int belt_suite_init(struct kunit_suite *suite)
{
	return hb_core_init();
}

static inline void belt_suite_exit(struct kunit_suite *suite)
{
	hb_core_exit();
}

static inline int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	prandom_seed_state(&f->rnd, 20150517);
	test->priv = f;
	return 0;
}

static inline void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (!IS_ERR_OR_NULL(f->belt))
		hashbelt_destroy(f->belt);
	hashbelt_flush();
	KUNIT_EXPECT_EQ(test, hb_memory_used(), 0ULL);
}

static inline struct hashbelt_belt *make_with(struct kunit *test, u32 policy, u32 buckets)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, (struct hashbelt_config){
		.policy = policy, .buckets = buckets,
		.handler = HASHBELT_NOTIFY, .event = on_event, .arg = f,
	});
	return f->belt;
}

static inline struct hashbelt_belt *make(struct kunit *test, u32 policy)
{
	return make_with(test, policy, 0);
}

#endif /* _BELT_FIXTURE_H */
