/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for tests of locks, in a pinned belt. Keys are numbers. */
#ifndef _LOCK_H
#define _LOCK_H

#include "belt/room/evict.h"
#include "fixture.h"

static inline struct hashbelt_belt *make_pinned(struct kunit *test)
{
	return make(test, .policy = HASHBELT_PINNED);
}

static inline void set_policy(struct hashbelt_belt *belt, u32 policy)
{
	change(belt, POLICY, .policy = policy);
}

static inline int renew_as(struct hashbelt_belt *belt, unsigned int key, char owner, u64 ttl_ms,
			   struct hashbelt_lock *lock)
{
	*lock = (struct hashbelt_lock){
		.key_len = sizeof(key), .owner_len = sizeof(owner), .ttl_ms = ttl_ms,
	};
	return hashbelt_renew(belt, &key, &owner, lock);
}

static inline void settle_some(struct hashbelt_belt *belt, unsigned int most)
{
	struct hb_fifo events = {};
	u64 lost;

	if (!hb_take_events(belt, &events, SIZE_MAX, most, false, &lost))
		hb_settle_events(belt, &events, false);
}

/* Lists the locks of @owner, or all if it is 0. Return: the sum of their tokens. */
static inline u64 list_all(struct kunit *test, char owner, u64 *count)
{
	static u64 list[256];	/* the records of one call */
	struct hashbelt_locks locks = { .owner_len = !!owner };
	struct fixture *f = test->priv;
	u64 sum = 0, last = 0;
	u32 used, at;

	*count = 0;
	do {
		/* All locks of a chain must fit one buffer; those of an owner come one by one. */
		locks.size = owner ? 256 : sizeof(list);
		KUNIT_ASSERT_EQ(test, hb_locks_list(f->belt, &owner, &locks, list, &used), 0);
		for (at = 0; at < used; ) {
			struct hashbelt_lock_record *record = (void *)list + at;

			if (owner)
				KUNIT_ASSERT_GT(test, record->token, last);
			last = record->token;
			sum += record->token;
			++*count;
			at += record->size;
		}
	} while (locks.cursor);
	return sum;
}

#endif /* _LOCK_H */
