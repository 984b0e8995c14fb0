// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fill leases, and waiting for a key to be filled. Guarantee 20 of docs/guarantees.md.
 *
 * Hostile user: registers 1,000,000 requests, or any number of waits, for a key.
 */
#include <kunit/test.h>

#include "belt/room/evict.h"
#include "belt/wait/fill.h"
#include "belt/wait/lease.h"
#include "belt/shard/shard.h"
#include "belt/wait/waitpoint.h"
#include "request.h"

static void any_put_ends_the_fill_lease_and_wakes_all_waiters(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;
	u64 token;

	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	for (i = 0; i < 3; i++)
		line_up_to_fill(test, i, 1, NULL);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 0), 0);
	check_accounting(test, belt);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_FILL], 0ULL);
	expect_completion(test, 1, HASHBELT_BY_PUT, 1);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		/* The caller is to get the value, which is there now. */
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -EAGAIN);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_FILLS), 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

#define MANY	(2 * HB_BATCH + 3)

/* The number of these waiters for which the key was filled. */
static unsigned int count_filled(const struct hb_waiter *waiters)
{
	unsigned int i, filled = 0;

	for (i = 0; i < MANY; i++)
		filled += waiters[i].result == HB_FILLED;
	return filled;
}

/* Lines up waiters for the lease of key 1 that stand for a task each. */
static void line_up_many(struct kunit *test, struct hb_shard *shard, struct hashbelt_entry *lease,
			 struct hb_waiter *waiters)
{
	struct hb_acquire *acquire = must_alloc(test, sizeof(*acquire));
	struct hashbelt_entry *spare;
	unsigned int i, key = 1;

	*acquire = (struct hb_acquire){ .belt = shard->belt, .lease = lease, .duration = SEC };
	spare = hb_waitpoint_alloc(shard->belt, lease->hash & HB_HASH, &key, sizeof(key));
	KUNIT_ASSERT_FALSE(test, IS_ERR(spare));
	spin_lock(&shard->lock);
	for (i = 0; i < MANY; i++) {
		waiters[i] = (struct hb_waiter){
			.acquire = acquire, .task = current, .spare = spare, .result = HB_WAITING,
		};
		hb_lease_take(shard, lease, acquire, 0, &waiters[i], NULL);
	}
	spin_unlock(&shard->lock);
}

/*
 * The worker has not come yet when the descriptor of the task that has put the key is closed, which
 * ends the fill lease. None of the other waiters gets it.
 */
static void a_put_wakes_a_batch_of_waiters_and_hands_no_lease_over(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	u32 key = 1, hash = hb_hash(belt, &key, sizeof(key));
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *lease;
	struct hb_waiter *waiters;
	LIST_HEAD(claimed);
	u64 token;

	waiters = must_alloc(test, MANY * sizeof(*waiters));
	KUNIT_ASSERT_EQ(test, fill_key(test->priv, key, false, &token), 0);
	spin_lock(&shard->lock);
	lease = hb_find_locked(shard, hash | HB_FILL, &key, sizeof(key));
	spin_unlock(&shard->lock);
	KUNIT_ASSERT_NOT_NULL(test, lease);
	line_up_many(test, shard, lease, waiters);
	spin_lock(&shard->lock);
	hb_end_waits(shard, lease, shard->versions, 0, &claimed);
	KUNIT_EXPECT_EQ(test, count_filled(waiters), HB_BATCH + 0U);
	KUNIT_EXPECT_EQ(test, shard->fills, 0ULL);
	spin_unlock(&shard->lock);
	KUNIT_EXPECT_EQ(test, give_up_key(test->priv, key, token), -ENOENT);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, count_filled(waiters), MANY + 0U);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_FILLS), 1ULL);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
	expect_empty(test);
}

/* Ways in which the fill lease of key 1 ends without a put. */
static const struct way ends_of_lease[] = {
	{ "the waiter finds the lease expired", { DO_WAKE } },
	{ "another task finds the lease expired", { DO_PASS, DO_FILL } },
	{ "the lease is drained", { DO_DRAIN } },
	{ "the lease is given up", { DO_GIVE_UP } },
	{ "the client closes", { DO_CLOSE } },
	{ "the absent key is removed", { DO_REMOVE } },
	{ "the absent key is expired", { DO_EXPIRE } },
	{ "the belt is cleared", { DO_CLEAR, DO_REST } },
	{ "the lease is evicted", { DO_EVICT } },
};

KUNIT_ARRAY_PARAM_DESC(end_of_lease, ends_of_lease, name);

/* @others: waiters behind the first */
static void expect_lease_handed_over(struct kunit *test, unsigned int others)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_fill fill = {};
	struct waiter *waiter = &f->waiters[0];
	unsigned int key = 1, i;
	u64 token;

	KUNIT_ASSERT_EQ(test, hashbelt_fill(belt, f->clients[0], &key, sizeof(key), &fill,
					    false), 0);
	for (i = 0; i <= others; i++)
		line_up_to_fill(test, i, key, f->clients[1]);
	f->token = fill.token;
	f->span = 10 * SEC;
	do_way(f, test->param_value);
	check_accounting(test, belt);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_FILL], 1ULL);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), -EBUSY);
	KUNIT_EXPECT_EQ(test, give_up_key(f, key, fill.token), -ENOENT);
	expect_end(test, waiter, 0);
	KUNIT_EXPECT_GT(test, waiter->fill.token, fill.token);
	KUNIT_EXPECT_EQ(test, f->turn, 1u);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, key, HB_FILL), others);
	KUNIT_EXPECT_EQ(test, put_if(belt, key, HASHBELT_IF_LEASE, waiter->fill.token), 0);
	for (i = 1; i <= others; i++)
		expect_end(test, &f->waiters[i], -EAGAIN);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	take_out(belt, key);
	expect_empty(test);
}

static void the_first_waiter_gets_the_next_fill_lease(struct kunit *test)
{
	struct fixture *f = test->priv;

	expect_lease_handed_over(test, 0);
	drop_all(f);
	f->turn = 0;
	expect_lease_handed_over(test, 2);
}

/* The deadlines of the lease and of the request come before those of the entries. */
static void puts_evict_entries_before_fill_leases_and_requests(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_EVICT, .max_entries = 10);
	struct fixture *f = test->priv;
	u64 token, other;

	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 2, 1000), 0);
	put_many(test, belt, 100, 200);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &other), -EBUSY);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 1ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 10ULL);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, token), 0);
}

static void a_put_ends_the_fill_lease_that_fills_its_belt(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_EVICT, .max_entries = 1);
	struct waiter *waiter;
	u64 token;

	KUNIT_EXPECT_EQ(test, fill_key(test->priv, 1, false, &token), 0);
	waiter = line_up_to_fill(test, 0, 1, NULL);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	expect_end(test, waiter, -EAGAIN);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	check_accounting(test, belt);
}

static struct kunit_case fill_cases[] = {
	KUNIT_CASE(any_put_ends_the_fill_lease_and_wakes_all_waiters),
	KUNIT_CASE(puts_evict_entries_before_fill_leases_and_requests),
	KUNIT_CASE(a_put_ends_the_fill_lease_that_fills_its_belt),
	KUNIT_CASE(a_put_wakes_a_batch_of_waiters_and_hands_no_lease_over),
	KUNIT_CASE_PARAM(the_first_waiter_gets_the_next_fill_lease, end_of_lease_gen_params),
	{}
};

TEST_SUITE(fill, fixture_init, fixture_exit);
