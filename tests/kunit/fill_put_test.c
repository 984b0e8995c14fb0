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

static int put_late(struct fixture *f, u64 token)
{
	return put_if(f->belt, KEY, HASHBELT_IF_LEASE, token);
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

static int remove_version(struct fixture *f, u64 version)
{
	unsigned int key = KEY;

	return hashbelt_remove(f->belt, &key, sizeof(key), &(struct hashbelt_item){
		.how = HASHBELT_IF_VERSION, .version = version,
	});
}

/* Ways to end the lease before the put. */
static const struct way ends[] = {
	{ "a put", { DO_PUT } },
	{ "the put that it was for", { DO_PUT_FILLED } },
	{ "an addition", { DO_ADD } },
	{ "a remove", { DO_REMOVE } },
	{ "a put and a remove", { DO_PUT, DO_REMOVE } },
	{ "expiry by hand", { DO_EXPIRE } },
	{ "a clear", { DO_CLEAR } },
	{ "a clear with its sweep", { DO_CLEAR, DO_REST } },
	{ "time", { DO_PASS } },
	{ "time and the drain", { DO_DRAIN } },
	{ "giving up", { DO_GIVE_UP } },
	{ "closing the descriptor", { DO_CLOSE } },
	{ "eviction", { DO_EVICT, DO_EVICT } },
	{ "a failure", { DO_FAIL } },
};

KUNIT_ARRAY_PARAM_DESC(end, ends, name);

static u64 grant_bound(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct hashbelt_fill fill = { .ahead_ms = HASHBELT_TTL_NEVER };
	unsigned int key = KEY;

	KUNIT_ASSERT_EQ(test, hashbelt_fill(f->belt, f->clients[0], &key, sizeof(key), &fill, true),
			0);
	f->token = fill.token;
	f->span = LEASE;
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

/* Grants a lease on a key that is absent, or present with a number. */
static u64 grant_in(struct kunit *test, u32 policy, bool present)
{
	struct fixture *f = test->priv;

	make(test, .policy = policy, .ttl = 1000 * SEC);
	if (present)
		do_deed(f, DO_PUT_NUMBER);
	return grant_bound(test);
}

static void expect_ended(struct kunit *test, u32 policy, bool present)
{
	struct fixture *f = test->priv;
	u64 token = grant_in(test, policy, present), version;

	do_way(f, test->param_value);
	expect_late(test, token);
	KUNIT_EXPECT_EQ(test, renew(f, token, 1000), -ENOENT);
	KUNIT_EXPECT_EQ(test, fail(f, token, 1000), -ENOENT);
	KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, token), -ENOENT);
	check_accounting(test, f->belt);
	version = version_of(f->belt, KEY);
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, version_of(f->belt, KEY), version);
	hashbelt_clear(f->belt);
	expect_empty(test);
	drop_all(f);
}

static void a_value_is_stored_only_while_its_lease_holds(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		expect_ended(test, i / 2 ? HASHBELT_KEEP_ON_PUT : 0, i % 2);
}

/* In a belt where puts keep what is there, or not; the key is absent or present. */
static void a_lease_outlasts_what_does_not_concern_it(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 token, version;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		token = grant_in(test, i / 2 ? HASHBELT_KEEP_ON_PUT : 0, i % 2);
		version = version_of(f->belt, KEY);
		do_way(f, &(struct way){ .deeds = { DO_GET, DO_TOUCH_LONGER, DO_PUT_OTHER } });
		KUNIT_EXPECT_EQ(test, remove_version(f, token), i % 2 ? -ESTALE : -ENOENT);
		KUNIT_EXPECT_NE(test, put_if(f->belt, KEY, HASHBELT_IF_VERSION, token), 0);
		KUNIT_EXPECT_EQ(test, put_late(f, token + 1), -ESTALE);
		KUNIT_EXPECT_EQ(test, put_late(f, 0), -ESTALE);
		KUNIT_EXPECT_EQ(test, give_up_key(f, KEY, token + 1), -ENOENT);
		hashbelt_advance(f->belt, LEASE - MS);
		KUNIT_EXPECT_EQ(test, renew(f, token, 2000), 0);
		hashbelt_advance(f->belt, 2 * SEC - MS);
		KUNIT_EXPECT_EQ(test, version_of(f->belt, KEY), version);
		KUNIT_EXPECT_EQ(test, put_late(f, token), 0);
		KUNIT_EXPECT_GT(test, version_of(f->belt, KEY), max(version, token));
		expect_late(test, token);
		hashbelt_clear(f->belt);
		expect_empty(test);
		drop_all(f);
	}
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
	expect_end(test, waiter, 0);
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

static struct kunit_case fill_put_cases[] = {
	KUNIT_CASE_PARAM(a_value_is_stored_only_while_its_lease_holds, end_gen_params),
	KUNIT_CASE(a_lease_outlasts_what_does_not_concern_it),
	KUNIT_CASE(a_remove_spares_the_lease_that_it_hands_over),
	KUNIT_CASE(a_waiter_sleeps_until_the_end_of_a_renewed_lease),
	KUNIT_CASE(all_waiters_learn_that_a_fill_has_failed),
	KUNIT_CASE(a_dead_belt_changes_no_lease),
	{}
};

TEST_SUITE(fill_put, fixture_init, fixture_exit);
