// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts on condition of a fill lease, its renewal, and fills that fail. Guarantee 20 of
 * docs/guarantees.md.
 */
#include <kunit/test.h>

#include "belt/room/evict.h"
#include "belt/wait/fill.h"
#include "request.h"

#define KEY	1u
#define LEASE	(10 * SEC)	/* the default */

static int put_how(struct fixture *f, u32 how, u64 version)
{
	unsigned int key = KEY;

	return put_bytes(f->belt, &key, sizeof(key), "late", 4,
			 &(struct hashbelt_item){ .how = how, .version = version });
}

static int put_late(struct fixture *f, u64 token)
{
	return put_how(f, HASHBELT_IF_LEASE, token);
}

static int renew(struct fixture *f, u64 token, u64 lease_ms)
{
	unsigned int key = KEY;

	return hashbelt_fill_renew(f->belt, &key, sizeof(key), &(struct hashbelt_fill){
		.token = token, .lease_ms = lease_ms,
	});
}

static int fail(struct fixture *f, u64 token, u64 retry_ms)
{
	unsigned int key = KEY;

	return hashbelt_fill_fail(f->belt, &key, sizeof(key), &(struct hashbelt_fill){
		.token = token, .lease_ms = retry_ms,
	});
}

static int expire_key(struct fixture *f)
{
	unsigned int key = KEY;

	return hashbelt_expire(f->belt, &key, sizeof(key));
}

static int remove_version(struct fixture *f, u64 version)
{
	unsigned int key = KEY;

	return hashbelt_remove(f->belt, &key, sizeof(key), &(struct hashbelt_item){
		.how = HASHBELT_IF_VERSION, .version = version,
	});
}

static int add_one(struct fixture *f)
{
	unsigned int key = KEY;

	return hashbelt_add(f->belt, &key, sizeof(key), &(struct hashbelt_item){},
			    &(struct hashbelt_sum){ .by = 1 });
}

/* Deeds of callers after the grant of the lease. They return 0 if their calls end as they must. */

static int does_put(struct fixture *f, u64 token)
{
	return put(f->belt, KEY);
}

static int does_put_twice(struct fixture *f, u64 token)
{
	return put_late(f, token);
}

static int does_add(struct fixture *f, u64 token)
{
	return add_one(f);
}

static int does_remove(struct fixture *f, u64 token)
{
	int err = take_out(f->belt, KEY);

	return err == -ENOENT ? 0 : err;
}

static int does_put_and_remove(struct fixture *f, u64 token)
{
	return put(f->belt, KEY) ?: take_out(f->belt, KEY);
}

static int does_expire(struct fixture *f, u64 token)
{
	int err = expire_key(f);

	return err == -ENOENT ? 0 : err;
}

static int does_clear(struct fixture *f, u64 token)
{
	hashbelt_clear(f->belt);
	return 0;
}

static int does_clear_and_sweep(struct fixture *f, u64 token)
{
	hashbelt_clear(f->belt);
	flush_work(&f->belt->work);
	return 0;
}

static int does_wait(struct fixture *f, u64 token)
{
	move_time_only(f->belt, LEASE);
	return 0;
}

static int does_wait_and_drain(struct fixture *f, u64 token)
{
	return hashbelt_advance(f->belt, LEASE + INTERVAL);
}

static int does_give_up(struct fixture *f, u64 token)
{
	return give_up_key(f, KEY, token);
}

static int does_close(struct fixture *f, u64 token)
{
	drop_client(f, 0);
	return 0;
}

static int does_evict(struct fixture *f, u64 token)
{
	while (hb_evict(f->belt, HASHBELT_EVICTED, 16))
		;
	return 0;
}

static int does_fail(struct fixture *f, u64 token)
{
	return fail(f, token, 1);
}

static int does_get(struct fixture *f, u64 token)
{
	get(f->belt, KEY);
	return 0;
}

static int does_touch(struct fixture *f, u64 token)
{
	int err = touch(f->belt, KEY, 1234);

	return err == -ENOENT ? 0 : err;
}

static int does_remove_another_version(struct fixture *f, u64 token)
{
	int err = remove_version(f, token);

	return err == -ENOENT || err == -ESTALE ? 0 : -EINVAL;
}

static int does_fail_to_put(struct fixture *f, u64 token)
{
	return put_how(f, HASHBELT_IF_VERSION, token) ? 0 : -EINVAL;
}

static int does_put_late_with_another_token(struct fixture *f, u64 token)
{
	return put_late(f, token + 1) == -ESTALE && put_late(f, 0) == -ESTALE ? 0 : -EINVAL;
}

static int does_give_up_another_token(struct fixture *f, u64 token)
{
	return give_up_key(f, KEY, token + 1) == -ENOENT ? 0 : -EINVAL;
}

static int does_put_another_key(struct fixture *f, u64 token)
{
	return put(f->belt, KEY + 1) ?: take_out(f->belt, KEY + 1);
}

static int does_wait_less(struct fixture *f, u64 token)
{
	return hashbelt_advance(f->belt, LEASE - MS);
}

static int does_renew(struct fixture *f, u64 token)
{
	return hashbelt_advance(f->belt, LEASE - MS) ?: renew(f, token, 2000) ?:
	       hashbelt_advance(f->belt, 2 * SEC - MS);
}

/**
 * struct deed - a step between the grant of a fill lease and the put
 * @name:	for the output of the test
 * @act:	the step. Return: 0 if it went as it has to
 * @ends:	the step ends the fill lease
 */
struct deed {
	const char *name;
	int (*act)(struct fixture *f, u64 token);
	bool ends;
};

static const struct deed deeds[] = {
	{ "a put ends the lease", does_put, true },
	{ "the put that it was for ends the lease", does_put_twice, true },
	{ "an addition ends the lease", does_add, true },
	{ "a remove ends the lease", does_remove, true },
	{ "a put and a remove end the lease", does_put_and_remove, true },
	{ "an expire ends the lease", does_expire, true },
	{ "a clear ends the lease", does_clear, true },
	{ "a clear with its sweep ends the lease", does_clear_and_sweep, true },
	{ "the lease ends in time", does_wait, true },
	{ "the lease is drained", does_wait_and_drain, true },
	{ "giving up ends the lease", does_give_up, true },
	{ "closing the descriptor ends the lease", does_close, true },
	{ "an eviction ends the lease", does_evict, true },
	{ "a failure ends the lease", does_fail, true },
	{ "a get does not end the lease", does_get, false },
	{ "a touch does not end the lease", does_touch, false },
	{ "a remove of another version does not", does_remove_another_version, false },
	{ "a put that fails does not", does_fail_to_put, false },
	{ "a late put of another lease does not", does_put_late_with_another_token, false },
	{ "giving up another token does not", does_give_up_another_token, false },
	{ "a put of another key does not", does_put_another_key, false },
	{ "the lease holds until its last moment", does_wait_less, false },
	{ "a lease that is renewed holds", does_renew, false },
};

static void deed_name(const struct deed *deed, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", deed->name);
}

KUNIT_ARRAY_PARAM(deed, deeds, deed_name);

static u64 grant_bound(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct hashbelt_fill fill = { .ahead_ms = HASHBELT_TTL_NEVER };
	unsigned int key = KEY;

	KUNIT_ASSERT_EQ(test, hashbelt_fill(f->belt, f->clients[0], &key, sizeof(key), &fill, true),
			0);
	return fill.token;
}

/* The put that is late stores nothing, and leaves what is there as it is. */
static void expect_late(struct kunit *test, u64 token)
{
	struct fixture *f = test->priv;
	struct hashbelt_item item = { .how = HASHBELT_IF_LEASE, .version = token };
	u64 version = version_of(f->belt, KEY), left = left_of(f->belt, KEY);
	unsigned int key = KEY;

	KUNIT_EXPECT_EQ(test, put_bytes(f->belt, &key, sizeof(key), "late", 4, &item), -ESTALE);
	KUNIT_EXPECT_EQ(test, item.version, version);
	KUNIT_EXPECT_EQ(test, version_of(f->belt, KEY), version);
	KUNIT_EXPECT_EQ(test, left_of(f->belt, KEY), left);
}

static void expect_deed(struct kunit *test, u32 policy, bool present)
{
	const struct deed *deed = test->param_value;
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = policy, .ttl = 1000 * SEC,
	});
	struct fixture *f = test->priv;
	unsigned int key = KEY;
	u64 token, before = 0;

	if (present) {
		/* A number, for the addition. */
		KUNIT_ASSERT_EQ(test, put_bytes(belt, &key, sizeof(key), "7", 1,
						&(struct hashbelt_item){}), 0);
		before = version_of(belt, KEY);
	}
	token = grant_bound(test);
	/* A put over a present key needs a condition there. */
	if (present && policy & HASHBELT_KEEP_ON_PUT && deed->act == does_put)
		KUNIT_ASSERT_EQ(test, put_how(f, HASHBELT_IF_PRESENT, 0), 0);
	else if (present && policy & HASHBELT_KEEP_ON_PUT && deed->act == does_put_and_remove)
		KUNIT_ASSERT_EQ(test, take_out(belt, KEY), 0);
	else
		KUNIT_ASSERT_EQ(test, deed->act(f, token), 0);
	if (deed->ends) {
		expect_late(test, token);
		KUNIT_EXPECT_EQ(test, renew(f, token, 1000), -ENOENT);
		KUNIT_EXPECT_EQ(test, fail(f, token, 1000), -ENOENT);
		KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, token), -ENOENT);
	} else {
		KUNIT_EXPECT_EQ(test, put_late(f, token), 0);
		KUNIT_EXPECT_GT(test, version_of(belt, KEY), max(before, token));
		expect_late(test, token);
	}
	check_accounting(test, belt);
	before = version_of(belt, KEY);
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, version_of(belt, KEY), before);
	hashbelt_clear(belt);
	expect_empty(test);
}

static void a_value_is_stored_only_while_its_lease_holds(struct kunit *test)
{
	expect_deed(test, 0, false);
}

static void a_value_is_replaced_only_while_its_lease_holds(struct kunit *test)
{
	expect_deed(test, 0, true);
}

static void a_standard_belt_stores_only_while_the_lease_holds(struct kunit *test)
{
	expect_deed(test, HASHBELT_KEEP_ON_PUT, false);
}

static void a_standard_belt_replaces_only_while_the_lease_holds(struct kunit *test)
{
	expect_deed(test, HASHBELT_KEEP_ON_PUT, true);
}

/* Ways to invalidate an absent key. */
static const struct deed invalidations[] = {
	{ "a remove", does_remove, true },
	{ "an expire", does_expire, true },
	{ "a clear", does_clear_and_sweep, true },
};

KUNIT_ARRAY_PARAM(invalidation, invalidations, deed_name);

static void the_first_waiter_gets_a_lease_that_stores(struct kunit *test)
{
	const struct deed *invalidation = test->param_value;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 token = grant_bound(test);
	unsigned int i;

	for (i = 0; i < 2; i++)
		line_up_to_fill(test, i, KEY, NULL);
	KUNIT_ASSERT_EQ(test, invalidation->act(f, token), 0);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	KUNIT_EXPECT_EQ(test, f->waiters[0].err, 0);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, KEY, HB_FILL), 1u);
	expect_late(test, token);
	KUNIT_EXPECT_EQ(test, put_late(f, f->waiters[0].fill.token), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[1]));
	KUNIT_EXPECT_EQ(test, f->waiters[1].err, -EAGAIN);
	take_out(belt, KEY);
	expect_empty(test);
}

/* The lease was over when the key was removed: the waiter was granted the next one before that. */
static void a_remove_spares_the_lease_that_it_hands_over(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[0];
	u64 token = grant_bound(test);

	line_up_to_fill(test, 0, KEY, NULL);
	move_time_only(belt, LEASE);
	KUNIT_EXPECT_EQ(test, take_out(belt, KEY), -ENOENT);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_GT(test, waiter->fill.token, token);
	KUNIT_EXPECT_EQ(test, put_late(f, waiter->fill.token), 0);
	take_out(belt, KEY);
	expect_empty(test);
}

static void a_renewed_lease_ends_when_that_says(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 token = grant_bound(test), other;

	KUNIT_EXPECT_EQ(test, renew(f, token, 20000), 0);
	hashbelt_advance(belt, 20 * SEC - MS);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), -EBUSY);
	/* Also to an earlier end. */
	KUNIT_EXPECT_EQ(test, renew(f, token, 20000), 0);
	KUNIT_EXPECT_EQ(test, renew(f, token, 100), 0);
	hashbelt_advance(belt, 99 * MS);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), -EBUSY);
	hashbelt_advance(belt, MS);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), 0);
	/* The next lease is not bound to this descriptor. */
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, renew(f, token, 100), -ENOENT);
	KUNIT_EXPECT_EQ(test, renew(f, other, HASHBELT_TTL_MAX_MS + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, renew(f, other, 0), 0);
	hashbelt_advance(belt, LEASE - MS);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &token), -EBUSY);
	KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, other), 0);
	expect_empty(test);
}

/* Belt time runs: the first waiter's alarm is the end of the lease. */
static void a_waiter_sleeps_until_the_end_of_a_renewed_lease(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[0];
	u64 token = grant_bound(test);

	line_up_to_fill(test, 0, KEY, NULL);
	KUNIT_EXPECT_EQ(test, renew(f, token, 3600000), 0);
	hashbelt_advance(belt, 3599 * SEC);
	KUNIT_EXPECT_FALSE(test, completion_done(&waiter->done));
	KUNIT_EXPECT_EQ(test, renew(f, token, 1), 0);
	hb_resume(belt);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, 0);
	KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, waiter->fill.token), 0);
	expect_empty(test);
}

static void all_waiters_learn_that_a_fill_has_failed(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 token = grant_bound(test), other;
	unsigned int i;

	for (i = 0; i < 3; i++)
		line_up_to_fill(test, i, KEY, NULL);
	KUNIT_EXPECT_EQ(test, fail(f, token, 5000), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		/* The caller asks again, and gets the error below. */
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -EAGAIN);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_FILLS), 1ULL);
	/* It does not end with the descriptor. */
	drop_client(f, 0);
	check_accounting(test, belt);
	hashbelt_advance(belt, 5 * SEC - MS);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), -EKEYREJECTED);
	KUNIT_EXPECT_EQ(test, put_late(f, token), -ESTALE);
	hashbelt_advance(belt, MS);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), 0);
	KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, other), 0);
	expect_empty(test);
}

static const struct deed ends_of_failure[] = {
	{ "a put", does_put, true },
	{ "an addition", does_add, true },
	{ "a remove", does_remove, true },
	{ "an expire", does_expire, true },
	{ "a clear", does_clear, true },
	{ "time", does_wait, true },
};

KUNIT_ARRAY_PARAM(end_of_failure, ends_of_failure, deed_name);

static void a_failure_is_forgotten(struct kunit *test)
{
	const struct deed *end = test->param_value;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 token = grant_bound(test), other;

	KUNIT_ASSERT_EQ(test, fail(f, token, 0), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), -EKEYREJECTED);
	KUNIT_ASSERT_EQ(test, end->act(f, token), 0);
	if (has(belt, KEY))
		KUNIT_EXPECT_EQ(test, take_out(belt, KEY), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, KEY, false, &other), 0);
	KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, other), 0);
	hashbelt_clear(belt);
	expect_empty(test);
}

static void a_dead_belt_changes_no_lease(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 token = grant_bound(test);

	hb_kill(belt);
	KUNIT_EXPECT_EQ(test, put_late(f, token), -EIDRM);
	KUNIT_EXPECT_EQ(test, renew(f, token + 1, 0), -EIDRM);
	KUNIT_EXPECT_EQ(test, fail(f, token + 1, 0), -EIDRM);
}

static struct kunit_case fill_put_test_cases[] = {
	KUNIT_CASE_PARAM(a_value_is_stored_only_while_its_lease_holds, deed_gen_params),
	KUNIT_CASE_PARAM(a_value_is_replaced_only_while_its_lease_holds, deed_gen_params),
	KUNIT_CASE_PARAM(a_standard_belt_stores_only_while_the_lease_holds, deed_gen_params),
	KUNIT_CASE_PARAM(a_standard_belt_replaces_only_while_the_lease_holds, deed_gen_params),
	KUNIT_CASE_PARAM(the_first_waiter_gets_a_lease_that_stores, invalidation_gen_params),
	KUNIT_CASE(a_remove_spares_the_lease_that_it_hands_over),
	KUNIT_CASE(a_renewed_lease_ends_when_that_says),
	KUNIT_CASE(a_waiter_sleeps_until_the_end_of_a_renewed_lease),
	KUNIT_CASE(all_waiters_learn_that_a_fill_has_failed),
	KUNIT_CASE_PARAM(a_failure_is_forgotten, end_of_failure_gen_params),
	KUNIT_CASE(a_dead_belt_changes_no_lease),
	{}
};

static struct kunit_suite fill_put_suite = {
	.name = "hashbelt_fill_put",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = fill_put_test_cases,
};

kunit_test_suites(&fill_put_suite);
