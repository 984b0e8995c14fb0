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

static void one_task_that_misses_gets_the_fill_lease(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_fill long_lease = { .lease_ms = HASHBELT_TTL_MAX_MS + 1 };
	struct fixture *f = test->priv;
	unsigned int key = 1;
	u64 token, other;

	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), 0);
	KUNIT_EXPECT_GT(test, token, 0ULL);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &other), -EBUSY);
	KUNIT_EXPECT_EQ(test, fill_key(f, 2, false, &other), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key), &long_lease, false),
			-EINVAL);
	check_accounting(test, belt);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 2ULL);
	put(belt, key);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), -EAGAIN);
	KUNIT_EXPECT_EQ(test, give_up_key(f, key, token), -ENOENT);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 2, other), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_FILLS), 2ULL);
	take_out(belt, key);
	expect_empty(test);
	hb_kill(belt);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), -EIDRM);
	KUNIT_EXPECT_EQ(test, give_up_key(f, key, token), -EIDRM);
}

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
	struct hb_acquire *acquire = kunit_kzalloc(test, sizeof(*acquire), GFP_KERNEL);
	struct hashbelt_entry *spare;
	unsigned int i, key = 1;

	KUNIT_ASSERT_NOT_NULL(test, acquire);
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

	waiters = kunit_kcalloc(test, MANY, sizeof(*waiters), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, waiters);
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
static void the_lease_expires(struct fixture *f, u64 token)
{
	hashbelt_advance(f->belt, 10 * SEC);
	waiter_has_ended(&f->waiters[0]);
}

static void another_task_finds_it_expired(struct fixture *f, u64 token)
{
	move_time_only(f->belt, 10 * SEC);
	fill_key(f, 1, false, &token);
}

static void it_is_drained(struct fixture *f, u64 token)
{
	hashbelt_advance(f->belt, 10 * SEC + INTERVAL);
}

static void it_is_given_up(struct fixture *f, u64 token)
{
	give_up_key(f, 1, token + 1);
	give_up_key(f, 1, token);
}

static void the_client_leaves(struct fixture *f, u64 token)
{
	drop_client(f, 0);
}

static void the_key_is_removed(struct fixture *f, u64 token)
{
	take_out(f->belt, 1);
}

static void the_key_is_expired(struct fixture *f, u64 token)
{
	unsigned int key = 1;

	hashbelt_expire(f->belt, &key, sizeof(key));
}

static void it_is_cleared(struct fixture *f, u64 token)
{
	hashbelt_clear(f->belt);
	flush_work(&f->belt->work);
}

static void it_is_evicted(struct fixture *f, u64 token)
{
	hb_evict(f->belt, HASHBELT_EVICTED, 1);
}

struct end_of_lease {
	const char *name;
	void (*act)(struct fixture *f, u64 token);
};

static const struct end_of_lease ends_of_lease[] = {
	{ "the waiter finds the lease expired", the_lease_expires },
	{ "another task finds the lease expired", another_task_finds_it_expired },
	{ "the lease is drained", it_is_drained },
	{ "the lease is given up", it_is_given_up },
	{ "the client closes", the_client_leaves },
	{ "the absent key is removed", the_key_is_removed },
	{ "the absent key is expired", the_key_is_expired },
	{ "the belt is cleared", it_is_cleared },
	{ "the lease is evicted", it_is_evicted },
};

static void end_of_lease_name(const struct end_of_lease *end_of_lease, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", end_of_lease->name);
}

KUNIT_ARRAY_PARAM(end_of_lease, ends_of_lease, end_of_lease_name);

static void expect_lease_handed_over(struct kunit *test, unsigned int others)
{
	const struct end_of_lease *end_of_lease = test->param_value;
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
	end_of_lease->act(f, fill.token);
	check_accounting(test, belt);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_FILL], 1ULL);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), -EBUSY);
	KUNIT_EXPECT_EQ(test, give_up_key(f, key, fill.token), -ENOENT);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, 0);
	KUNIT_EXPECT_GT(test, waiter->fill.token, fill.token);
	KUNIT_EXPECT_EQ(test, f->turn, 1u);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, key, HB_FILL), others);
	put(belt, key);
	for (i = 1; i <= others; i++) {
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -EAGAIN);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	take_out(belt, key);
	expect_empty(test);
}

static void the_only_waiter_gets_the_next_fill_lease(struct kunit *test)
{
	expect_lease_handed_over(test, 0);
}

static void the_first_of_several_waiters_gets_the_next_fill_lease(struct kunit *test)
{
	expect_lease_handed_over(test, 2);
}

static void one_task_refreshes_ahead_while_there_is_a_value(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 token, other;

	put(belt, 1);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, true, &token), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, true, &other), -EBUSY);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &other), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, true, &other), 0);
	KUNIT_EXPECT_GT(test, other, token);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, token), -ENOENT);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, other), 0);
	/* The lease ends with the value that was removed. */
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, true, &token), 0);
	take_out(belt, 1);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &other), 0);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, token), -ENOENT);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, other), 0);
	expect_empty(test);
}

static void a_fill_lease_counts_as_an_entry_under_the_limits(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .max_entries = 2,
	});
	struct fixture *f = test->priv;
	u64 token;

	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, fill_key(f, 3, false, &token), -ENOSPC);
	check_accounting(test, belt);
	take_out(belt, 2);
	/* The value is inserted beside the lease, and then the lease ends. */
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

static void a_lease_ahead_is_granted_only_near_the_deadline(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_fill fill = { .ahead_ms = 500 };
	unsigned int key = 1;

	put_ttl(belt, key, 1000);
	KUNIT_EXPECT_EQ(test, -EAGAIN, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	/* 500 ms are left, and then less. */
	move_time_only(belt, 500 * MS);
	KUNIT_EXPECT_EQ(test, -EAGAIN, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	move_time_only(belt, MS);
	KUNIT_EXPECT_EQ(test, 0, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	KUNIT_EXPECT_EQ(test, -EBUSY, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	/* A task that had looked before this put asks after it. */
	put_ttl(belt, key, 1000);
	KUNIT_EXPECT_EQ(test, -EAGAIN, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	take_out(belt, key);
	expect_empty(test);
}

/* The deadlines of the lease and of the request come before those of the entries. */
static void puts_evict_entries_before_fill_leases_and_requests(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_entries = 10,
	});
	struct fixture *f = test->priv;
	unsigned int key;
	u64 token, other;

	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 2, 1000), 0);
	for (key = 100; key < 200; key++)
		KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &other), -EBUSY);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 1ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 10ULL);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, token), 0);
}

static void a_put_ends_the_fill_lease_that_fills_its_belt(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_entries = 1,
	});
	struct waiter *waiter;
	u64 token;

	KUNIT_EXPECT_EQ(test, fill_key(test->priv, 1, false, &token), 0);
	waiter = line_up_to_fill(test, 0, 1, NULL);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, -EAGAIN);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	check_accounting(test, belt);
}

static struct kunit_case fill_test_cases[] = {
	KUNIT_CASE(one_task_that_misses_gets_the_fill_lease),
	KUNIT_CASE(any_put_ends_the_fill_lease_and_wakes_all_waiters),
	KUNIT_CASE(puts_evict_entries_before_fill_leases_and_requests),
	KUNIT_CASE(a_put_ends_the_fill_lease_that_fills_its_belt),
	KUNIT_CASE(a_put_wakes_a_batch_of_waiters_and_hands_no_lease_over),
	KUNIT_CASE_PARAM(the_only_waiter_gets_the_next_fill_lease, end_of_lease_gen_params),
	KUNIT_CASE_PARAM(the_first_of_several_waiters_gets_the_next_fill_lease,
			 end_of_lease_gen_params),
	KUNIT_CASE(one_task_refreshes_ahead_while_there_is_a_value),
	KUNIT_CASE(a_fill_lease_counts_as_an_entry_under_the_limits),
	KUNIT_CASE(a_lease_ahead_is_granted_only_near_the_deadline),
	{}
};

static struct kunit_suite fill_suite = {
	.name = "hashbelt_fill",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = fill_test_cases,
};

kunit_test_suites(&fill_suite);
