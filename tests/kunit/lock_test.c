// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks: granting, unlocking, renewing, releasing, listing, limits. Guarantee 16 of
 * docs/guarantees.md. lock.c is included with a memcmp() that counts, since comparisons are
 * the cost of a search among owners.
 */
#include <kunit/test.h>
#include <linux/log2.h>

#include "lock.h"

static unsigned int comparisons;

static int counted_memcmp(const void *a, const void *b, size_t len)
{
	comparisons++;
	return memcmp(a, b, len);
}

#define memcmp counted_memcmp
#include "belt/wait/lock.c"
#undef memcmp

static void a_renewal_for_at_least_a_time_shortens_no_lease(struct kunit *test)
{
	static const struct {
		u64 least;
		u64 left;
	} renewals[] = {
		{ 500, 1000 }, { 2000, 2000 }, { 240001, 240000 }, { 1, 240000 },
	};
	struct hashbelt_belt *belt = make_pinned(test);
	struct hashbelt_lock lock = { .ttl_ms = 1000 };
	unsigned int i;

	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', HASHBELT_AT_LEAST, &lock), -EDOM);
	for (i = 0; i < ARRAY_SIZE(renewals); i++) {
		KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', HASHBELT_AT_LEAST | renewals[i].least,
					       &lock), 0);
		KUNIT_EXPECT_EQ(test, lock.ttl_ms, renewals[i].left);
	}
	change(belt, TTL, .ttl = 2 * SEC);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', HASHBELT_AT_LEAST | 1500, &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 240000ULL);
}

static void a_belt_that_may_evict_grants_no_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);

	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), -EOPNOTSUPP);
	set_policy(belt, HASHBELT_PINNED | HASHBELT_EVICT);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), -EOPNOTSUPP);
	set_policy(belt, HASHBELT_PINNED);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	/* Unlock works even if the belt grants no locks any more. */
	set_policy(belt, HASHBELT_EVICT);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	expect_empty(test);
}

/* The most comparisons to find @own locks of one owner among @all locks. */
static unsigned int search_cost(unsigned int own, unsigned int all)
{
	/* A red-black tree is at most twice as deep as it must be; one more compares the owner. */
	return (own + 1) * (2 * (ilog2(all + 1) + 1) + 1);
}

static void release_and_list_cost_in_proportion_to_the_owners_locks(struct kunit *test)
{
	enum { LOCKS = 8000, OWN = 10 };
	struct hashbelt_belt *belt = make_pinned(test);
	struct hashbelt_lock lock = { .owner_len = 1 };
	u64 count;
	unsigned int key;

	for (key = 0; key < LOCKS; key++)
		KUNIT_ASSERT_EQ(test, lock_plainly(belt, key, key % (LOCKS / OWN) ? 'A' : 'B'), 0);
	comparisons = 0;
	list_all(test, 'B', &count);
	KUNIT_EXPECT_EQ(test, count, (u64)OWN);
	/* Each call of the list searches again for the record that did not fit before. */
	KUNIT_EXPECT_LE(test, comparisons, search_cost(2 * OWN, LOCKS));
	comparisons = 0;
	KUNIT_EXPECT_EQ(test, hashbelt_release_owner(belt, "B", &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.count, (u64)OWN);
	KUNIT_EXPECT_GT(test, comparisons, (unsigned int)OWN);
	KUNIT_EXPECT_LE(test, comparisons, search_cost(OWN, LOCKS));
	comparisons = 0;
	KUNIT_EXPECT_EQ(test, hashbelt_release_owner(belt, "C", &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.count, 0ULL);
	KUNIT_EXPECT_LE(test, comparisons, search_cost(0, LOCKS));
	KUNIT_EXPECT_EQ(test, info_of(belt).locks, (u64)(LOCKS - OWN));
	comparisons = 0;
	KUNIT_EXPECT_EQ(test, hashbelt_release_owner(belt, "A", &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.count, (u64)(LOCKS - OWN));
	KUNIT_EXPECT_LE(test, comparisons, search_cost(LOCKS, LOCKS));
	expect_empty(test);
}

static int lock_long(struct hashbelt_belt *belt, unsigned int key, const char *owner, u32 owner_len)
{
	struct hashbelt_lock lock = { .key_len = sizeof(key), .owner_len = owner_len };

	return hashbelt_lock(belt, NULL, &key, owner, &lock);
}

static void owners_are_compared_by_all_their_bytes(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct hashbelt_lock lock = {};
	char owner[HASHBELT_OWNER_MAX];
	u32 len;

	memset(owner, 0, sizeof(owner));
	/* Each name is a prefix of the next. */
	for (len = 1; len <= HASHBELT_OWNER_MAX; len++) {
		KUNIT_ASSERT_EQ(test, lock_long(belt, len, owner, len), 0);
		KUNIT_ASSERT_EQ(test, lock_long(belt, 100 + len, owner, len), 0);
		if (len > 1) {
			KUNIT_ASSERT_EQ(test, lock_long(belt, len - 1, owner, len), -EBUSY);
			KUNIT_ASSERT_EQ(test, lock_long(belt, len, owner, len - 1), -EBUSY);
		}
	}
	check_accounting(test, belt);
	owner[HASHBELT_OWNER_MAX - 1] = 1;
	KUNIT_EXPECT_EQ(test, lock_long(belt, HASHBELT_OWNER_MAX, owner, HASHBELT_OWNER_MAX),
			-EBUSY);
	lock.owner_len = HASHBELT_OWNER_MAX;
	KUNIT_EXPECT_EQ(test, hashbelt_release_owner(belt, owner, &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.count, 0ULL);
	owner[HASHBELT_OWNER_MAX - 1] = 0;
	for (len = 1; len <= HASHBELT_OWNER_MAX; len++) {
		lock.owner_len = len;
		KUNIT_ASSERT_EQ(test, hashbelt_release_owner(belt, owner, &lock), 0);
		KUNIT_ASSERT_EQ(test, lock.count, 2ULL);
		KUNIT_ASSERT_EQ(test, info_of(belt).locks, 2ULL * (HASHBELT_OWNER_MAX - len));
	}
	expect_empty(test);
}

static void a_list_into_too_small_a_buffer_returns_the_size_it_needs(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct hashbelt_locks locks = { .owner_len = 1, .size = 8 };
	struct hashbelt_lock_record *record;
	struct fixture *f = test->priv;
	u64 buffer[8];
	u32 used;

	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 7, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 9000 }), 0);
	move_time_only(belt, 2 * SEC);
	KUNIT_EXPECT_EQ(test, hb_locks_list(belt, "A", &locks, buffer, &used), -ERANGE);
	KUNIT_EXPECT_EQ(test, locks.size, (u32)sizeof(*record) + 8);
	KUNIT_ASSERT_LE(test, locks.size, (u32)sizeof(buffer));
	KUNIT_EXPECT_EQ(test, hb_locks_list(belt, "A", &locks, buffer, &used), 0);
	KUNIT_EXPECT_EQ(test, used, locks.size);
	KUNIT_EXPECT_EQ(test, locks.count, 1u);
	KUNIT_EXPECT_EQ(test, locks.cursor, 0ULL);
	record = (void *)buffer;
	KUNIT_EXPECT_EQ(test, record->key_len, 4u);
	KUNIT_EXPECT_EQ(test, record->owner_len, 1u);
	KUNIT_EXPECT_EQ(test, record->how, (u32)HASHBELT_BOUND);
	KUNIT_EXPECT_EQ(test, record->ttl_ms, 7000ULL);
	KUNIT_EXPECT_EQ(test, record->held_ms, 2000ULL);
	KUNIT_EXPECT_EQ(test, record->token, token_of(belt, 7));
	KUNIT_EXPECT_EQ(test, *(u32 *)(record + 1), 7u);
	KUNIT_EXPECT_EQ(test, ((char *)(record + 1))[4], 'A');
	locks = (struct hashbelt_locks){ .cursor = HB_INDEX_END, .size = 64 };
	KUNIT_EXPECT_EQ(test, hb_locks_list(belt, NULL, &locks, buffer, &used), -EINVAL);
}

static void a_lock_counts_as_an_entry_under_the_limits(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .max_entries = 3);

	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 1000 }), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 2, 'A'), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 3ULL);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 3, 'A'), -ENOSPC);
	KUNIT_EXPECT_EQ(test, put(belt, 2), -ENOSPC);
	/* Locking again as the owner needs no room. */
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 2, 'A'), 0);
	/* An expired lock makes room before it is drained. */
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 3, 'A'), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 4, 'A'), -ENOSPC);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 2, 'A'), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 2), 0);
	check_accounting(test, belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).locks, 1ULL);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).locks, 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
	expect_empty(test);
}

static struct kunit_case lock_cases[] = {
	KUNIT_CASE(a_renewal_for_at_least_a_time_shortens_no_lease),
	KUNIT_CASE(a_belt_that_may_evict_grants_no_lock),
	KUNIT_CASE(release_and_list_cost_in_proportion_to_the_owners_locks),
	KUNIT_CASE(owners_are_compared_by_all_their_bytes),
	KUNIT_CASE(a_list_into_too_small_a_buffer_returns_the_size_it_needs),
	KUNIT_CASE(a_lock_counts_as_an_entry_under_the_limits),
	{}
};

TEST_SUITE(lock, fixture_init, fixture_exit);
