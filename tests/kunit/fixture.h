/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a case about locks or requests has: a belt, clients to bind what it makes to, and
 * tasks that wait.
 */
#ifndef _FIXTURE_H
#define _FIXTURE_H

#include <linux/prandom.h>

#include "belt.h"

#define WAITERS	12

struct fixture {
	struct hashbelt_belt *belt;
	struct hb_client *clients[4];
	struct waiter waiters[WAITERS];
	unsigned int turn;
	u64 besides;		/* memory of the empty belt itself */
	struct rnd_state rnd;
};

static inline int fixture_init(struct kunit *test)
{
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	prandom_seed_state(&f->rnd, 20150517);
	test->priv = f;
	return hb_core_init();
}

static inline void drop_holder(struct fixture *f, unsigned int i)
{
	if (!f->clients[i])
		return;
	/* A case may have let it go already. */
	if (!f->clients[i]->gone)
		hashbelt_client_close(f->belt, f->clients[i]);
	hashbelt_client_put(f->clients[i]);
	f->clients[i] = NULL;
}

static inline void drop_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(f->waiters); i++)
		waiter_stop(&f->waiters[i]);
	for (i = 0; i < ARRAY_SIZE(f->clients); i++)
		drop_holder(f, i);
	hashbelt_destroy(f->belt);
	f->belt = NULL;
}

/* That all memory has been given back is for hb_memory_exit() to say. */
static inline void fixture_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (f->belt) {
		/* Nobody waits on, whatever a case has left. */
		hashbelt_kill(f->belt);
		drop_all(f);
	}
	hb_core_exit();
}

static inline struct hashbelt_belt *make(struct kunit *test, struct hashbelt_config config)
{
	struct hashbelt_belt *belt = still_belt(test, config);
	struct fixture *f = test->priv;
	unsigned int i;

	f->belt = belt;
	for (i = 0; i < ARRAY_SIZE(f->clients); i++) {
		f->clients[i] = hashbelt_client_new(belt);
		KUNIT_ASSERT_NOT_NULL(test, f->clients[i]);
	}
	f->besides = memory_besides(belt);
	return belt;
}

/* That the belt is empty, and everything that was in it is free. */
static inline void expect_empty(struct kunit *test)
{
	struct fixture *f = test->priv;

	come_to_rest(f->belt);
	check_books(test, f->belt);
	KUNIT_EXPECT_EQ(test, hb_count_entries(f->belt), 0ULL);
	KUNIT_EXPECT_EQ(test, memory_besides(f->belt), f->besides);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->belt->waiters.list));
}

#endif /* _FIXTURE_H */
