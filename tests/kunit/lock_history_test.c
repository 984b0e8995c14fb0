// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks over random histories, step by step against a model. Guarantee 16 of docs/guarantees.md.
 */
#include <kunit/test.h>

#include "lock.h"

static const char owners[] = "ABCDEF";

static void end_some_locks(struct kunit *test, u32 random)
{
	struct hashbelt_lock lock = { .owner_len = 1 };
	struct fixture *f = test->priv;
	unsigned int i;

	switch (random % 8) {
	case 0:
		hashbelt_advance(f->belt, TTL + INTERVAL);
		break;
	case 1:
		move_time_only(f->belt, TTL);
		break;
	case 2:
		hashbelt_clear(f->belt);
		break;
	case 3:
		hashbelt_clear(f->belt);
		come_to_rest(f->belt);
		break;
	case 4:
		hashbelt_release_owner(f->belt, &owners[random / 8 % 6], &lock);
		break;
	case 5:
		evict_some(f->belt, 3);
		break;
	default:
		i = random / 8 % ARRAY_SIZE(f->clients);
		drop_client(f, i);
		f->clients[i] = hashbelt_client_new(f->belt);
		KUNIT_ASSERT_NOT_NULL(test, f->clients[i]);
	}
}

static void tokens_grow_with_each_grant_however_the_last_lease_ended(struct kunit *test)
{
	enum { NAMES = 20, GRANTS = 10000 };
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	unsigned int granted = 0, round;
	u64 last[NAMES] = {};

	for (round = 0; granted < GRANTS; round++) {
		struct hb_client *client = f->clients[prandom_u32_state(&f->rnd) % 4];
		unsigned int key = prandom_u32_state(&f->rnd) % NAMES;
		char owner = owners[prandom_u32_state(&f->rnd) % 6];
		struct hashbelt_lock lock = {};

		KUNIT_ASSERT_LT(test, round, 20u * GRANTS);
		if (round % 16 == 0)
			end_some_locks(test, prandom_u32_state(&f->rnd));
		if (round % 2)
			unlock_as(belt, key, owner);
		if (lock_as(belt, round % 3 ? client : NULL, key, owner, &lock))
			continue;
		/* The owner held the lock already. */
		if (lock.token == last[key])
			continue;
		KUNIT_ASSERT_GT(test, lock.token, last[key]);
		last[key] = lock.token;
		granted++;
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_LOCKS), (u64)GRANTS);
	hashbelt_clear(belt);
	expect_empty(test);
}

/* A lock as the case expects it. */
struct known {
	char owner;
	int client;
	u64 deadline;
	u64 token;
};

/**
 * struct model - the locks as the case expects them
 * @locks:	by key; deadline 0: free
 * @now:	belt time
 */
struct model {
	struct known locks[30];
	u64 now;
};

static bool is_held(const struct model *model, unsigned int key)
{
	return model->locks[key].deadline > model->now;
}

static int expected_of_owner(const struct model *model, unsigned int key, char owner)
{
	if (!is_held(model, key))
		return -ENOENT;
	return model->locks[key].owner == owner ? 0 : -EACCES;
}

static void lock_and_compare(struct kunit *test, struct model *model, unsigned int key,
			     char owner, u32 random)
{
	struct known *known = &model->locks[key];
	struct hashbelt_lock lock = { .ttl_ms = 1 + random % 240000 };
	struct fixture *f = test->priv;
	u64 deadline = model->now + lock.ttl_ms * MS;
	int client = random % 5 - 1, err;

	err = lock_as(f->belt, client < 0 ? NULL : f->clients[client], key, owner, &lock);
	if (is_held(model, key) && known->owner != owner) {
		KUNIT_ASSERT_EQ(test, err, -EBUSY);
		return;
	}
	if (err == -ENOSPC && !is_held(model, key)) {
		KUNIT_ASSERT_GE(test, info_of(f->belt).used_entries,
				f->belt->usage.max_entries);
		known->deadline = 0;
		return;
	}
	KUNIT_ASSERT_EQ(test, err, 0);
	if (is_held(model, key)) {
		known->deadline = max(known->deadline, deadline);
		KUNIT_ASSERT_EQ(test, lock.token, known->token);
	} else {
		KUNIT_ASSERT_GT(test, lock.token, known->token);
		*known = (struct known){ owner, client, deadline, lock.token };
	}
	KUNIT_ASSERT_EQ(test, lock.ttl_ms, hb_ms_left(known->deadline, model->now));
}

static void release_and_compare(struct kunit *test, struct model *model, char owner)
{
	struct hashbelt_lock lock = { .owner_len = 1 };
	struct fixture *f = test->priv;
	unsigned int key;
	u64 count = 0;

	for (key = 0; key < ARRAY_SIZE(model->locks); key++) {
		if (!is_held(model, key) || model->locks[key].owner != owner)
			continue;
		model->locks[key].deadline = 0;
		count++;
	}
	KUNIT_ASSERT_EQ(test, hashbelt_release_owner(f->belt, &owner, &lock), 0);
	KUNIT_ASSERT_EQ(test, lock.count, count);
}

/* Checks that no remaining lease ends before an evicted one. */
static void evict_and_compare(struct kunit *test, struct model *model, unsigned int most)
{
	struct fixture *f = test->priv;
	unsigned int key, gone = 0, done = evict_some(f->belt, most);
	u64 last_gone = 0, first_left = HB_NEVER;

	for (key = 0; key < ARRAY_SIZE(model->locks); key++) {
		struct known *known = &model->locks[key];

		if (!is_held(model, key))
			continue;
		if (token_of(f->belt, key)) {
			first_left = min(first_left, known->deadline);
			continue;
		}
		last_gone = max(last_gone, known->deadline);
		known->deadline = 0;
		gone++;
	}
	KUNIT_ASSERT_LE(test, gone, done);
	KUNIT_ASSERT_LE(test, last_gone, first_left);
}

static void close_and_compare(struct kunit *test, struct model *model, int client)
{
	struct fixture *f = test->priv;
	unsigned int key;

	for (key = 0; key < ARRAY_SIZE(model->locks); key++)
		if (model->locks[key].client == client)
			model->locks[key].deadline = 0;
	drop_client(f, client);
	f->clients[client] = hashbelt_client_new(f->belt);
	KUNIT_ASSERT_NOT_NULL(test, f->clients[client]);
}

static void clear_and_compare(struct kunit *test, struct model *model, bool sweep)
{
	struct fixture *f = test->priv;
	unsigned int key;

	for (key = 0; key < ARRAY_SIZE(model->locks); key++)
		model->locks[key].deadline = 0;
	hashbelt_clear(f->belt);
	if (sweep)
		flush_work(&f->belt->work);
}

static void renew_and_compare(struct kunit *test, struct model *model, unsigned int key,
			      char owner, u64 ttl_ms)
{
	int expected = expected_of_owner(model, key, owner);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock;

	KUNIT_ASSERT_EQ(test, renew_as(f->belt, key, owner, ttl_ms, &lock), expected);
	if (expected)
		return;
	model->locks[key].deadline = model->now + ttl_ms * MS;
	KUNIT_ASSERT_EQ(test, lock.token, model->locks[key].token);
}

static void unlock_and_compare(struct kunit *test, struct model *model, unsigned int key,
			       char owner)
{
	int expected = expected_of_owner(model, key, owner);
	struct fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, unlock_as(f->belt, key, owner), expected);
	if (!expected)
		model->locks[key].deadline = 0;
}

static void one_step(struct kunit *test, struct model *model, u32 op, u32 random)
{
	unsigned int key = random % ARRAY_SIZE(model->locks);
	char owner = owners[random / 64 % 6];
	struct fixture *f = test->priv;

	random /= 512;
	switch (op % 32) {
	case 0 ... 5:
		unlock_and_compare(test, model, key, owner);
		break;
	case 6 ... 9:
		renew_and_compare(test, model, key, owner, 1 + random % 240000);
		break;
	case 10 ... 11:
		hashbelt_advance(f->belt, random % (70 * SEC));
		break;
	case 12 ... 13:
		move_time_only(f->belt, random % (20 * SEC));
		break;
	case 14:
		release_and_compare(test, model, owner);
		break;
	case 15:
		evict_and_compare(test, model, random % 3);
		break;
	case 16:
		close_and_compare(test, model, random % 4);
		break;
	case 17:
		if (random % 4 == 0)
			clear_and_compare(test, model, random % 8);
		break;
	case 18 ... 19:
		settle_some(f->belt, random % 8);
		break;
	default:
		lock_and_compare(test, model, key, owner, random);
	}
	model->now = hashbelt_now(f->belt);
}

static void compare_all(struct kunit *test, struct model *model)
{
	u64 sum = 0, count = 0, listed, of_owner, of_owners = 0;
	struct fixture *f = test->priv;
	unsigned int key, i;

	for (key = 0; key < ARRAY_SIZE(model->locks); key++) {
		struct known *known = &model->locks[key];
		struct hashbelt_lock lock = {};

		if (!is_held(model, key)) {
			KUNIT_ASSERT_EQ(test, owner_of(f->belt, key, &lock), 0);
			continue;
		}
		KUNIT_ASSERT_EQ(test, owner_of(f->belt, key, &lock), known->owner);
		KUNIT_ASSERT_EQ(test, lock.token, known->token);
		KUNIT_ASSERT_EQ(test, lock.ttl_ms, hb_ms_left(known->deadline, model->now));
		sum += known->token;
		count++;
	}
	KUNIT_ASSERT_EQ(test, list_all(test, 0, &listed), sum);
	KUNIT_ASSERT_EQ(test, listed, count);
	for (i = 0; i < 6; i++) {
		sum -= list_all(test, owners[i], &of_owner);
		of_owners += of_owner;
	}
	KUNIT_ASSERT_EQ(test, sum, 0ULL);
	KUNIT_ASSERT_EQ(test, of_owners, count);
	check_accounting(test, f->belt);
}

static const struct hashbelt_config histories[] = {
	{ .policy = HASHBELT_PINNED },
	{ .policy = HASHBELT_PINNED, .handler = HASHBELT_NOTIFY,
	  .reasons = HASHBELT_REPORT_ALL, .max_entries = 20, .max_events = 30 },
	{ .policy = HASHBELT_PINNED, .handler = HASHBELT_REINSERT, .grace = 100 * SEC },
};

static void history_name(const struct hashbelt_config *config, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", config->max_entries ?
		 "with limits and events" : config->grace ?
		 "with reinserted entries and a grace time" : "plain");
}

KUNIT_ARRAY_PARAM(history, histories, history_name);

static void locks_owners_and_usage_match_a_model_at_each_step(struct kunit *test)
{
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, model);
	make(test, *(const struct hashbelt_config *)test->param_value);
	model->now = hashbelt_now(f->belt);
	for (i = 0; i < 6000; i++) {
		u32 op = prandom_u32_state(&f->rnd);

		one_step(test, model, op, prandom_u32_state(&f->rnd));
		check_accounting(test, f->belt);
		if (i % 20 == 0)
			compare_all(test, model);
		if (i % 500 == 0)
			KUNIT_ASSERT_EQ(test, memory_besides(f->belt), f->besides);
	}
	hashbelt_clear(f->belt);
	come_to_rest(f->belt);
	settle_some(f->belt, 1000);
	expect_empty(test);
}

static struct kunit_case lock_history_test_cases[] = {
	KUNIT_CASE(tokens_grow_with_each_grant_however_the_last_lease_ended),
	KUNIT_CASE_PARAM(locks_owners_and_usage_match_a_model_at_each_step, history_gen_params),
	{}
};

static struct kunit_suite lock_history_suite = {
	.name = "hashbelt_lock_history",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = lock_history_test_cases,
};

kunit_test_suites(&lock_history_suite);
