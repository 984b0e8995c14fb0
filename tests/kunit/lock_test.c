// SPDX-License-Identifier: GPL-2.0
/*
 * Locks, waiting for them, and what is bound to a descriptor.
 *
 * Belt time is moved by hand. Who waits is a task of its own: on one CPU and without
 * preemption it runs when a case gives way, so that a case sees what the moment
 * between a hand-over and the waking of a task looks like. belt/lock.c is included,
 * with a memcmp() that counts: that is what a search among owners costs.
 */
#include <kunit/test.h>
#include <linux/log2.h>

#include "fixture.h"

static unsigned int comparisons;

static int counted_memcmp(const void *a, const void *b, size_t len)
{
	comparisons++;
	return memcmp(a, b, len);
}

#define memcmp counted_memcmp
#include "belt/lock.c"
#undef memcmp

static struct hashbelt_belt *make_plain(struct kunit *test)
{
	return make(test, (struct hashbelt_config){ .policy = HASHBELT_PINNED });
}

static void set_policy(struct hashbelt_belt *belt, u32 policy)
{
	hashbelt_set(belt, &(struct hashbelt_config){ .policy = policy },
		     HASHBELT_SET_POLICY);
}

/* Takes the lock nearest its end away, as nobody can from a belt that is pinned. */
static unsigned int evict_some(struct hashbelt_belt *belt, unsigned int most)
{
	unsigned int done;

	set_policy(belt, HASHBELT_EVICT);
	done = hb_evict(belt, HASHBELT_EVICTED, most);
	set_policy(belt, HASHBELT_PINNED);
	return done;
}

/* Granting and giving back */

static void a_free_lock_is_granted_and_a_held_one_refused(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = { .ttl_ms = 1000 };

	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	KUNIT_EXPECT_GT(test, lock.token, 0ULL);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 1000ULL);
	KUNIT_EXPECT_EQ(test, lock.held_ms, 0ULL);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'B'), -EBUSY);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 2, 'B'), 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'A');
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'B'), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_LOCKS), 3ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_LOCK_WAITS), 0ULL);
	unlock_as(belt, 1, 'B');
	unlock_as(belt, 2, 'B');
	expect_empty(test);
}

static void for_its_owner_a_lock_only_lasts_longer(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = { .ttl_ms = 10000 };
	u64 token;

	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	token = lock.token;
	move_time_only(belt, 3 * SEC);
	lock.ttl_ms = 1000;
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 7000ULL);
	KUNIT_EXPECT_EQ(test, lock.held_ms, 3000ULL);
	KUNIT_EXPECT_EQ(test, lock.token, token);
	lock.ttl_ms = 20000;
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 20000ULL);
	KUNIT_EXPECT_EQ(test, lock.token, token);
	/* One unlock is enough. */
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), -ENOENT);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_LOCKS), 1ULL);
	expect_empty(test);
}

static int renew_as(struct hashbelt_belt *belt, unsigned int key, char owner, u64 ttl_ms,
		    struct hashbelt_lock *lock)
{
	*lock = (struct hashbelt_lock){
		.key_len = sizeof(key), .owner_len = sizeof(owner), .ttl_ms = ttl_ms,
	};
	return hashbelt_renew(belt, &key, &owner, lock);
}

static void only_the_holder_unlocks_and_renews(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = {};
	u64 token;

	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), -ENOENT);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 1000, &lock), -ENOENT);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	token = token_of(belt, 1);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), -EACCES);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'B', 1000, &lock), -EACCES);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'A');
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 240000ULL);
	move_time_only(belt, 5 * SEC);
	/* From now on, shorter or longer. */
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 1000, &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 1000ULL);
	KUNIT_EXPECT_EQ(test, lock.held_ms, 5000ULL);
	KUNIT_EXPECT_EQ(test, lock.token, token);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 0, &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 240000ULL);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 1000, &lock), 0);
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 1000, &lock), -ENOENT);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), -ENOENT);
	expect_empty(test);
}

static void a_lease_is_at_most_the_belts_time_to_live(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = { .ttl_ms = 240001 };

	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), -EDOM);
	lock.ttl_ms = HASHBELT_TTL_NEVER;
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), -EDOM);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	lock.ttl_ms = 0;
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 240000ULL);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 240001, &lock), -EDOM);
	move_time_only(belt, TTL - HB_GRAIN);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'A');
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'B'), -EBUSY);
	move_time_only(belt, HB_GRAIN);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'B'), 0);
}

static void a_belt_that_may_take_entries_away_grants_no_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){});

	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), -EOPNOTSUPP);
	set_policy(belt, HASHBELT_PINNED | HASHBELT_EVICT);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), -EOPNOTSUPP);
	set_policy(belt, HASHBELT_PINNED);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	/* What is held can be given back whatever the belt has become. */
	set_policy(belt, HASHBELT_EVICT);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	expect_empty(test);
}

static void a_destroyed_belt_has_no_locks(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = {};
	unsigned int key = 1;
	char owner[HASHBELT_OWNER_MAX];

	KUNIT_EXPECT_EQ(test, lock_plainly(belt, key, 'A'), 0);
	hashbelt_kill(belt);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, key, 'A'), -EIDRM);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 2, 'B'), -EIDRM);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, key, 'A'), -EIDRM);
	KUNIT_EXPECT_EQ(test, renew_as(belt, key, 'A', 0, &lock), -EIDRM);
	KUNIT_EXPECT_EQ(test, hashbelt_query(belt, &key, owner, &lock), -EIDRM);
}

/* 16 */

static const char owners[] = "ABCDEF";

static void some_way_to_end_them(struct kunit *test, u32 random)
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
		drop_holder(f, i);
		f->clients[i] = hashbelt_client_new(f->belt);
		KUNIT_ASSERT_NOT_NULL(test, f->clients[i]);
	}
}

static void tokens_grow_with_each_grant_whatever_has_ended_the_last(struct kunit *test)
{
	enum { NAMES = 20, GRANTS = 10000 };
	struct hashbelt_belt *belt = make_plain(test);
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
			some_way_to_end_them(test, prandom_u32_state(&f->rnd));
		if (round % 2)
			unlock_as(belt, key, owner);
		if (lock_as(belt, round % 3 ? client : NULL, key, owner, &lock))
			continue;
		/* It may have had it already. */
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

/* What a test knows of a lock. */
struct known {
	char owner;
	int client;
	u64 deadline;
	u64 token;
};

/**
 * struct model - locks as they should be
 * @locks:	by their names; deadline 0: not held
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

/* The evicted leases are nearest their ends: no lease that is left ends earlier. */
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

static void leave_and_compare(struct kunit *test, struct model *model, int client)
{
	struct fixture *f = test->priv;
	unsigned int key;

	for (key = 0; key < ARRAY_SIZE(model->locks); key++)
		if (model->locks[key].client == client)
			model->locks[key].deadline = 0;
	drop_holder(f, client);
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

static void settle_some(struct hashbelt_belt *belt, unsigned int most)
{
	struct hb_fifo events = {};
	u64 lost;

	if (!hashbelt_take_events(belt, &events, SIZE_MAX, most, false, &lost))
		hashbelt_settle_events(belt, &events, false);
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
		leave_and_compare(test, model, random % 4);
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

/* A list of an owner's locks, or of all: the sum of the tokens, and how many. */
static u64 list_all(struct kunit *test, char owner, u64 *count)
{
	static u64 list[256];	/* a piece of it */
	struct hashbelt_locks locks = { .owner_len = !!owner };
	struct fixture *f = test->priv;
	u64 sum = 0, last = 0;
	u32 used, at;

	*count = 0;
	do {
		/* Those of a chain come at once, those of an owner one by one. */
		locks.size = owner ? 256 : sizeof(list);
		KUNIT_ASSERT_EQ(test, hashbelt_locks(f->belt, &owner, &locks, list, &used), 0);
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
	check_books(test, f->belt);
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
		 "where entries live on, and have a grace time" : "plain");
}

KUNIT_ARRAY_PARAM(history, histories, history_name);

static void owners_and_accounts_say_what_is_held_at_each_step(struct kunit *test)
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
		check_books(test, f->belt);
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

/* Releasing and named */

/* Comparisons for an owner's @own locks among @all that are held. */
static unsigned int search_cost(unsigned int own, unsigned int all)
{
	/* The tree is at most twice as deep as need be; one more to know the owner. */
	return (own + 1) * (2 * (ilog2(all + 1) + 1) + 1);
}

static void release_and_list_cost_what_the_owner_has(struct kunit *test)
{
	enum { LOCKS = 8000, OWN = 10 };
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = { .owner_len = 1 };
	u64 count;
	unsigned int key;

	for (key = 0; key < LOCKS; key++)
		KUNIT_ASSERT_EQ(test, lock_plainly(belt, key, key % (LOCKS / OWN) ? 'A' : 'B'),
				0);
	comparisons = 0;
	list_all(test, 'B', &count);
	KUNIT_EXPECT_EQ(test, count, (u64)OWN);
	/* Each piece of the list looks once more for what did not fit. */
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

static int lock_long(struct hashbelt_belt *belt, unsigned int key, const char *owner,
		     u32 owner_len)
{
	struct hashbelt_lock lock = { .key_len = sizeof(key), .owner_len = owner_len };

	return hashbelt_lock(belt, NULL, &key, owner, &lock);
}

static void owners_are_told_apart_by_all_their_bytes(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = {};
	char owner[HASHBELT_OWNER_MAX];
	u32 len;

	memset(owner, 0, sizeof(owner));
	/* Each is the beginning of the next. */
	for (len = 1; len <= HASHBELT_OWNER_MAX; len++) {
		KUNIT_ASSERT_EQ(test, lock_long(belt, len, owner, len), 0);
		KUNIT_ASSERT_EQ(test, lock_long(belt, 100 + len, owner, len), 0);
		if (len > 1)
			KUNIT_ASSERT_EQ(test, lock_long(belt, len - 1, owner, len), -EBUSY);
	}
	check_books(test, belt);
	owner[HASHBELT_OWNER_MAX - 1] = 1;
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

static void a_list_says_what_its_buffer_lacks(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_locks locks = { .owner_len = 1, .size = 8 };
	struct hashbelt_lock_record *record;
	struct fixture *f = test->priv;
	u64 buffer[8];
	u32 used;

	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 7, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 9000 }), 0);
	move_time_only(belt, 2 * SEC);
	KUNIT_EXPECT_EQ(test, hashbelt_locks(belt, "A", &locks, buffer, &used), -ERANGE);
	KUNIT_EXPECT_EQ(test, locks.size, (u32)sizeof(*record) + 8);
	KUNIT_ASSERT_LE(test, locks.size, (u32)sizeof(buffer));
	KUNIT_EXPECT_EQ(test, hashbelt_locks(belt, "A", &locks, buffer, &used), 0);
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
	KUNIT_EXPECT_EQ(test, hashbelt_locks(belt, NULL, &locks, buffer, &used), -EINVAL);
}

/* Limits */

static void a_lock_counts_as_an_entry_under_the_limits(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .max_entries = 3,
	});

	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 1000 }), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 2, 'A'), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 3ULL);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 3, 'A'), -ENOSPC);
	KUNIT_EXPECT_EQ(test, put(belt, 2), -ENOSPC);
	/* Who has it needs no room for it. */
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 2, 'A'), 0);
	/* What has expired gives its place, drained or not. */
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 3, 'A'), 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 4, 'A'), -ENOSPC);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 2, 'A'), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 2), 0);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).locks, 1ULL);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).locks, 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
	expect_empty(test);
}

/* 17 */

/* A task that waits in line for a lock, and then has it for @ttl_ms. */
static struct waiter *line_up_for(struct kunit *test, unsigned int i, unsigned int key,
				  char owner, u64 ttl_ms, u64 wait_ms)
{
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[i];

	*waiter = (struct waiter){
		.belt = f->belt, .client = waiter->client, .key = key, .turn = &f->turn,
		.lock = { .owner_len = 1, .ttl_ms = ttl_ms, .wait_ms = wait_ms },
	};
	waiter->owner[0] = owner;
	KUNIT_ASSERT_TRUE(test, waiter_start(waiter));
	return waiter;
}

/* For as long as the belt allows; it waits for ever unless @wait_ms says how long. */
static struct waiter *line_up(struct kunit *test, unsigned int i, unsigned int key,
			      char owner, u64 wait_ms)
{
	return line_up_for(test, i, key, owner, 0, wait_ms ?: HASHBELT_TTL_NEVER);
}

static void who_waits_has_it_in_the_order_of_coming(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	unsigned int i;
	u64 last;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'z'), 0);
	last = token_of(belt, 1);
	for (i = 0; i < WAITERS; i++)
		line_up(test, i, 1, 'a' + i, 0);
	for (i = 0; i < WAITERS; i++) {
		KUNIT_ASSERT_EQ(test, unlock_as(belt, 1, i ? 'a' + i - 1 : 'z'), 0);
		/* The waiter holds the lock before it wakes. */
		KUNIT_ASSERT_EQ(test, owner_of(belt, 1, &lock), 'a' + i);
		KUNIT_ASSERT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		KUNIT_ASSERT_EQ(test, f->waiters[i].err, 0);
		KUNIT_ASSERT_EQ(test, f->waiters[i].ended, i + 1);
		KUNIT_ASSERT_EQ(test, f->waiters[i].lock.token, lock.token);
		KUNIT_ASSERT_GT(test, lock.token, last);
		last = lock.token;
		KUNIT_ASSERT_EQ(test, f->turn, i + 1);
		KUNIT_ASSERT_EQ(test, line_of_key(belt, 1, HB_LOCK), WAITERS - i - 1);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_LOCK_WAITS), (u64)WAITERS);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'a' + WAITERS - 1), 0);
	expect_empty(test);
}

static unsigned long switches_of(struct task_struct *task)
{
	return READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
}

static void what_frees_a_lock_wakes_one_task(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	unsigned long before[WAITERS];
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'z'), 0);
	for (i = 0; i < WAITERS; i++) {
		line_up(test, i, 1, 'a' + i, 0);
		schedule_timeout_uninterruptible(1);
		before[i] = switches_of(f->waiters[i].task);
	}
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'z'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	schedule_timeout_uninterruptible(HZ);
	for (i = 1; i < WAITERS; i++)
		KUNIT_EXPECT_EQ(test, switches_of(f->waiters[i].task), before[i]);
}

/* Ways in which a lock that A has, bound to the first client, becomes free. */
static void by_unlock(struct fixture *f)
{
	unlock_as(f->belt, 1, 'A');
}

static void by_release(struct fixture *f)
{
	hashbelt_release_owner(f->belt, "A", &(struct hashbelt_lock){ .owner_len = 1 });
}

static void by_leaving(struct fixture *f)
{
	drop_holder(f, 0);
}

static void by_eviction(struct fixture *f)
{
	set_policy(f->belt, HASHBELT_EVICT);
	hb_evict(f->belt, HASHBELT_EVICTED, 1);
	set_policy(f->belt, HASHBELT_PINNED);
}

static void by_the_drain(struct fixture *f)
{
	hashbelt_advance(f->belt, TTL + INTERVAL);
}

static void by_the_end_of_the_lease(struct fixture *f)
{
	/* Its bucket has not fallen: the waiter looks for himself. */
	hashbelt_advance(f->belt, TTL);
	waiter_has_ended(&f->waiters[0]);
}

static void by_somebody_who_looks_after_its_end(struct fixture *f)
{
	move_time_only(f->belt, TTL);
	lock_plainly(f->belt, 1, 'C');
}

static void by_its_owner_who_comes_after_its_end(struct fixture *f)
{
	move_time_only(f->belt, TTL);
	lock_plainly(f->belt, 1, 'A');
}

static void by_an_unlock_after_its_end(struct fixture *f)
{
	move_time_only(f->belt, TTL);
	unlock_as(f->belt, 1, 'A');
}

static void by_clear(struct fixture *f)
{
	hashbelt_clear(f->belt);
	flush_work(&f->belt->work);
}

static void by_somebody_who_looks_after_a_clear(struct fixture *f)
{
	hashbelt_clear(f->belt);
	lock_plainly(f->belt, 1, 'C');
}

static void by_its_holders_leaving_after_its_end(struct fixture *f)
{
	move_time_only(f->belt, TTL);
	drop_holder(f, 0);
}

struct freeing {
	const char *name;
	void (*act)(struct fixture *f);
};

#define FREEING(name) { #name, name }

static const struct freeing freeings[] = {
	FREEING(by_unlock),
	FREEING(by_release),
	FREEING(by_leaving),
	FREEING(by_eviction),
	FREEING(by_the_drain),
	FREEING(by_the_end_of_the_lease),
	FREEING(by_somebody_who_looks_after_its_end),
	FREEING(by_its_owner_who_comes_after_its_end),
	FREEING(by_an_unlock_after_its_end),
	FREEING(by_clear),
	FREEING(by_somebody_who_looks_after_a_clear),
	FREEING(by_its_holders_leaving_after_its_end),
};

static void freeing_name(const struct freeing *freeing, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", freeing->name);
}

KUNIT_ARRAY_PARAM(freeing, freeings, freeing_name);

static void it_is_handed_over(struct kunit *test, unsigned int others)
{
	const struct freeing *freeing = test->param_value;
	struct hashbelt_lock lock = {}, own = {};
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_as(belt, f->clients[0], 1, 'A', &own), 0);
	for (i = 0; i <= others; i++)
		line_up(test, i, 1, 'a' + i, 0);
	freeing->act(f);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'a');
	KUNIT_EXPECT_GT(test, lock.token, own.token);
	KUNIT_EXPECT_EQ(test, lock.ttl_ms, 240000ULL);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'C'), -EBUSY);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), -EACCES);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), others);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	KUNIT_EXPECT_EQ(test, f->waiters[0].err, 0);
	KUNIT_EXPECT_EQ(test, f->waiters[0].lock.token, lock.token);
	KUNIT_EXPECT_EQ(test, f->turn, 1u);
	for (i = 0; i <= others; i++) {
		KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'a' + i), 0);
		if (i < others)
			KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i + 1]));
	}
	expect_empty(test);
}

static void the_only_one_who_waits_has_it_in_place(struct kunit *test)
{
	it_is_handed_over(test, 0);
}

static void the_first_of_many_who_wait_has_it_in_place(struct kunit *test)
{
	it_is_handed_over(test, 2);
}

static void a_destroyed_belt_lets_nobody_wait(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	for (i = 0; i < 3; i++)
		line_up(test, i, 1, 'a' + i, 0);
	hashbelt_kill(belt);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -EIDRM);
	}
	expect_empty(test);
}

static void a_wait_ends_by_belt_time_and_not_by_any_other(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = {};
	struct waiter *waiter;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	waiter = line_up(test, 0, 1, 'B', 1000);
	/* Time stands still. */
	schedule_timeout_uninterruptible(10 * HZ);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	hashbelt_advance(belt, SEC - HB_GRAIN);
	KUNIT_EXPECT_FALSE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	hashbelt_advance(belt, HB_GRAIN);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'A');
	unlock_as(belt, 1, 'A');
	expect_empty(test);
}

static void where_both_end_at_once_the_lock_is_had(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *waiter;

	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 1000 }), 0);
	waiter = line_up(test, 0, 1, 'B', 1000);
	hashbelt_advance(belt, SEC);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	expect_empty(test);
}

static void a_wait_that_is_too_short_is_over_at_once(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	hashbelt_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0] = (struct waiter){
		.belt = belt, .key = 1, .owner = "B", .turn = &f->turn,
		.lock = { .owner_len = 1, .wait_ms = 1 },
	};
	waiter_start(&f->waiters[0]);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	KUNIT_EXPECT_EQ(test, f->waiters[0].err, -ETIMEDOUT);
	unlock_as(belt, 1, 'A');
	expect_empty(test);
}

/* Time runs by itself in these; how long that takes does not matter. */

static void a_waiter_sees_the_end_of_a_lease_before_the_drain(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *waiter;
	u64 now;

	hashbelt_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 2000 }), 0);
	now = hashbelt_now(belt);
	waiter = line_up(test, 0, 1, 'B', 0);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&waiter->done, 100 * HZ));
	KUNIT_EXPECT_EQ(test, waiter->err, 0);
	KUNIT_EXPECT_GE(test, hashbelt_now(belt), now + 2 * SEC);
	KUNIT_EXPECT_LT(test, hashbelt_now(belt), now + 3 * SEC);
}

static void the_next_one_sees_it_when_the_first_has_given_up(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *first, *second;
	u64 now;

	hashbelt_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 5000 }), 0);
	now = hashbelt_now(belt);
	first = line_up(test, 0, 1, 'B', 1000);
	second = line_up(test, 1, 1, 'C', 0);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&first->done, 100 * HZ));
	KUNIT_EXPECT_EQ(test, first->err, -ETIMEDOUT);
	KUNIT_EXPECT_LT(test, hashbelt_now(belt), now + 2 * SEC);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&second->done, 100 * HZ));
	KUNIT_EXPECT_EQ(test, second->err, 0);
	KUNIT_EXPECT_GE(test, hashbelt_now(belt), now + 5 * SEC);
	KUNIT_EXPECT_LT(test, hashbelt_now(belt), now + 6 * SEC);
}

static void leases_that_end_one_after_the_other_let_all_have_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;
	u64 now;

	hashbelt_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, 'z',
				      &(struct hashbelt_lock){ .ttl_ms = 2000 }), 0);
	now = hashbelt_now(belt);
	for (i = 0; i < 4; i++)
		line_up_for(test, i, 1, 'a' + i, 2000, HASHBELT_TTL_NEVER);
	for (i = 0; i < 4; i++) {
		struct waiter *waiter = &f->waiters[i];

		KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&waiter->done, 100 * HZ));
		KUNIT_EXPECT_EQ(test, waiter->err, 0);
		KUNIT_EXPECT_EQ(test, waiter->ended, i + 1);
		KUNIT_EXPECT_GE(test, hashbelt_now(belt), now + 2 * SEC);
		KUNIT_EXPECT_LT(test, hashbelt_now(belt), now + 3 * SEC);
		now = hashbelt_now(belt);
	}
}

static void a_waiter_follows_a_lease_that_is_changed(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_lock lock = { .ttl_ms = 2000 };
	struct waiter *waiter;
	u64 now;

	hashbelt_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, 1, 'A', &lock), 0);
	waiter = line_up(test, 0, 1, 'B', 0);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	schedule_timeout_uninterruptible(10 * HZ);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	KUNIT_EXPECT_EQ(test, renew_as(belt, 1, 'A', 3000, &lock), 0);
	now = hashbelt_now(belt);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&waiter->done, 100 * HZ));
	KUNIT_EXPECT_EQ(test, waiter->err, 0);
	KUNIT_EXPECT_GE(test, hashbelt_now(belt), now + 3 * SEC);
	KUNIT_EXPECT_LT(test, hashbelt_now(belt), now + 4 * SEC);
}

static void a_wait_goes_on_where_time_stood_still(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *waiter;
	u64 now;

	hashbelt_resume(belt);
	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	now = hashbelt_now(belt);
	waiter = line_up(test, 0, 1, 'B', 2000);
	hashbelt_halt(belt);
	schedule_timeout_uninterruptible(10 * HZ);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	hashbelt_resume(belt);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&waiter->done, 100 * HZ));
	KUNIT_EXPECT_EQ(test, waiter->err, -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, hashbelt_now(belt), now + 2 * SEC);
	KUNIT_EXPECT_LT(test, hashbelt_now(belt), now + 3 * SEC);
}

static void a_signal_ends_a_wait(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *first, *second;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	first = line_up(test, 0, 1, 'B', 0);
	second = line_up(test, 1, 1, 'C', 0);
	send_sig(SIGUSR1, first->task, 1);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(first));
	KUNIT_EXPECT_EQ(test, first->err, -EINTR);
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(second));
	KUNIT_EXPECT_EQ(test, second->err, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

/* The signal comes after the grant: the waiter holds the lock. */
static void a_signal_after_the_hand_over_comes_too_late(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *waiter;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	waiter = line_up(test, 0, 1, 'B', 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	send_sig(SIGUSR1, waiter->task, 1);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(waiter));
	KUNIT_EXPECT_EQ(test, waiter->err, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	expect_empty(test);
}

static void who_gives_up_in_the_middle_holds_nobody_up(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'z'), 0);
	for (i = 0; i < 5; i++)
		line_up(test, i, 1, 'a' + i, i % 2 ? 1000 : 0);
	hashbelt_advance(belt, SEC);
	for (i = 1; i < 5; i += 2) {
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -ETIMEDOUT);
	}
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 3u);
	unlock_as(belt, 1, 'z');
	for (i = 0; i < 5; i += 2) {
		KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'a' + i);
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		unlock_as(belt, 1, 'a' + i);
	}
	expect_empty(test);
}

static void each_task_of_an_owner_waits_its_turn(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct waiter *first, *second;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	first = line_up(test, 0, 1, 'B', 0);
	second = line_up(test, 1, 1, 'B', 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(first));
	KUNIT_EXPECT_EQ(test, line_of_key(belt, 1, HB_LOCK), 1u);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(second));
	KUNIT_EXPECT_GT(test, second->lock.token, first->lock.token);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'B'), 0);
	expect_empty(test);
}

static void a_waiter_for_whom_there_is_no_room_is_told_and_the_next_has_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0] = (struct waiter){
		.belt = belt, .key = 1, .turn = &f->turn,
		.lock = { .owner_len = HASHBELT_OWNER_MAX, .wait_ms = HASHBELT_TTL_NEVER },
	};
	memset(f->waiters[0].owner, 'B', HASHBELT_OWNER_MAX);
	KUNIT_ASSERT_TRUE(test, waiter_start(&f->waiters[0]));
	line_up(test, 1, 1, 'C', 0);
	/* As much as the lock of a short name takes. */
	hashbelt_set(belt, &(struct hashbelt_config){ .max_bytes = info_of(belt).used_bytes },
		     HASHBELT_SET_MAX_BYTES);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'C');
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	KUNIT_EXPECT_EQ(test, f->waiters[0].err, -ENOSPC);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[1]));
	KUNIT_EXPECT_EQ(test, f->waiters[1].err, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

/* The event of a lock that has expired keeps its place. */
static void where_events_fill_the_belt_nobody_has_the_lock(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .handler = HASHBELT_NOTIFY, .max_entries = 1,
	});
	struct hashbelt_lock lock = {};
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	for (i = 0; i < 2; i++)
		line_up(test, i, 1, 'a' + i, 0);
	hashbelt_advance(belt, TTL);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -ENOSPC);
	}
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), -ENOSPC);
	settle_some(belt, 1);
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	unlock_as(belt, 1, 'A');
	settle_some(belt, 1);
	expect_empty(test);
}

static void a_waiter_whose_holder_is_gone_gets_nothing_and_the_next_has_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	struct waiter *gone, *next;

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0].client = f->clients[0];
	gone = line_up(test, 0, 1, 'B', 0);
	next = line_up(test, 1, 1, 'C', 0);
	hashbelt_client_close(belt, f->clients[0]);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'C');
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(gone));
	KUNIT_EXPECT_EQ(test, gone->err, -EIDRM);
	KUNIT_ASSERT_TRUE(test, waiter_has_ended(next));
	KUNIT_EXPECT_EQ(test, next->err, 0);
	drop_holder(f, 0);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

static void a_lock_that_was_waited_for_is_bound_as_it_was_asked_for(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};

	KUNIT_ASSERT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	f->waiters[0].client = f->clients[0];
	line_up(test, 0, 1, 'B', 0);
	unlock_as(belt, 1, 'A');
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 'B');
	drop_holder(f, 0);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1, &lock), 0);
	expect_empty(test);
}

/* A task of an owner of its own asks for one of some locks; those who ask may be many. */
static void somebody_comes(struct kunit *test, unsigned int key, u32 random)
{
	struct fixture *f = test->priv;
	unsigned int i = random % WAITERS;
	struct waiter *waiter = &f->waiters[i];

	if (waiter->task)
		return;
	*waiter = (struct waiter){
		.belt = f->belt, .key = key, .turn = &f->turn,
		.client = random / 16 % 2 ? f->clients[0] : NULL,
		.lock = {
			.owner_len = 1,
			.ttl_ms = 1 + random / 32 % 240000,
			.wait_ms = random % 3 ? HASHBELT_TTL_NEVER : 1 + random % 100000,
		},
	};
	waiter->owner[0] = 'a' + i;
	KUNIT_ASSERT_TRUE(test, waiter_run(waiter));
}

static void something_happens(struct kunit *test, unsigned int key, u32 op, u32 random)
{
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	char owner = owner_of(f->belt, key, &lock);

	switch (op % 24) {
	case 0 ... 3:
		if (owner)
			KUNIT_ASSERT_EQ(test, unlock_as(f->belt, key, owner), 0);
		break;
	case 4:
		if (owner)
			KUNIT_ASSERT_EQ(test, 0, renew_as(f->belt, key, owner,
							  1 + random % 240000, &lock));
		break;
	case 5 ... 6:
		hashbelt_advance(f->belt, random % (80 * SEC));
		break;
	case 7:
		move_time_only(f->belt, random % (200 * SEC));
		lock_plainly(f->belt, key, 'Z');
		hashbelt_advance(f->belt, 0);
		break;
	case 8:
		hashbelt_clear(f->belt);
		break;
	case 9:
		evict_some(f->belt, 1);
		break;
	case 10:
		if (f->waiters[random % WAITERS].task)
			send_sig(SIGUSR1, f->waiters[random % WAITERS].task, 1);
		break;
	case 11:
		lock.owner_len = 1;
		hashbelt_release_owner(f->belt, &owner, &lock);
		break;
	default:
		somebody_comes(test, key, random);
	}
}

/* Those who have ended have a reason. Returns how many have got the lock. */
static unsigned int see_who_has_ended(struct kunit *test, u64 *last)
{
	struct fixture *f = test->priv;
	unsigned int i, granted = 0;

	for (i = 0; i < WAITERS; i++) {
		struct waiter *waiter = &f->waiters[i];

		if (!waiter->task || !completion_done(&waiter->done))
			continue;
		waiter_stop(waiter);
		if (waiter->err) {
			KUNIT_ASSERT_TRUE(test, waiter->err == -ETIMEDOUT ||
					  waiter->err == -EINTR);
			continue;
		}
		last[waiter->key] = max(last[waiter->key], waiter->lock.token);
		granted++;
	}
	return granted;
}

static void nobody_waits_for_a_lock_that_is_free_in_any_history(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i, key, granted = 0;
	u64 last[3] = {};

	for (i = 0; i < 4000; i++) {
		u32 op = prandom_u32_state(&f->rnd);

		something_happens(test, i % 3, op, prandom_u32_state(&f->rnd));
		schedule_timeout_uninterruptible(1);
		granted += see_who_has_ended(test, last);
		check_books(test, belt);
		for (key = 0; key < 3; key++) {
			u64 token = token_of(belt, key);

			if (line_of_key(belt, key, HB_LOCK))
				KUNIT_ASSERT_GT(test, token, 0ULL);
			if (token)
				KUNIT_ASSERT_GE(test, token, last[key]);
		}
	}
	KUNIT_EXPECT_GT(test, granted, 500u);
	KUNIT_EXPECT_GT(test, stat_of(belt, HASHBELT_STAT_LOCK_WAITS), 200ULL);
	hashbelt_kill(belt);
	for (i = 0; i < WAITERS; i++)
		waiter_stop(&f->waiters[i]);
	drop_holder(f, 0);
	expect_empty(test);
}

/* Tasks that take a lock in turn, and look whether they are alone. */

struct crowd {
	struct hashbelt_belt *belt;
	unsigned int inside;
	unsigned int wrong;
	unsigned int rounds;
	u64 token;
};

struct member {
	struct crowd *crowd;
	char owner;
	struct task_struct *task;
	struct completion done;
};

static void member_round(struct member *member)
{
	struct hashbelt_lock lock = { .wait_ms = HASHBELT_TTL_NEVER };
	struct crowd *crowd = member->crowd;

	if (lock_as(crowd->belt, NULL, 1, member->owner, &lock)) {
		crowd->wrong++;
		return;
	}
	crowd->wrong += crowd->inside++ || lock.token <= crowd->token;
	crowd->token = lock.token;
	schedule_timeout_uninterruptible(lock.token % 3);
	crowd->wrong += --crowd->inside;
	crowd->rounds++;
	crowd->wrong += !!unlock_as(crowd->belt, 1, member->owner);
}

static int member_main(void *arg)
{
	struct member *member = arg;
	unsigned int i;

	for (i = 0; i < 100; i++)
		member_round(member);
	complete_all(&member->done);
	return 0;
}

static void a_lock_has_one_owner_at_a_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct crowd crowd = { .belt = belt };
	unsigned int i, ended = 0;
	struct member members[8];

	for (i = 0; i < ARRAY_SIZE(members); i++) {
		members[i] = (struct member){ .crowd = &crowd, .owner = 'a' + i };
		init_completion(&members[i].done);
		members[i].task = kthread_create(member_main, &members[i], "hashbelt_member");
		if (!IS_ERR(members[i].task)) {
			get_task_struct(members[i].task);
			wake_up_process(members[i].task);
		}
	}
	for (i = 0; i < ARRAY_SIZE(members); i++)
		ended += !IS_ERR(members[i].task) &&
			 wait_for_completion_timeout(&members[i].done, 100 * HZ);
	if (ended < ARRAY_SIZE(members))
		hashbelt_kill(belt);
	for (i = 0; i < ARRAY_SIZE(members); i++) {
		if (IS_ERR(members[i].task))
			continue;
		kthread_stop(members[i].task);
		put_task_struct(members[i].task);
	}
	KUNIT_EXPECT_EQ(test, ended, (unsigned int)ARRAY_SIZE(members));
	KUNIT_EXPECT_EQ(test, crowd.wrong, 0u);
	KUNIT_EXPECT_EQ(test, crowd.rounds, 100u * (unsigned int)ARRAY_SIZE(members));
	expect_empty(test);
}

static void a_right_ahead_is_for_what_is_near_its_end_when_it_is_given(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_fill fill = { .ahead_ms = 500 };
	unsigned int key = 1;

	put_ttl(belt, key, 1000);
	KUNIT_EXPECT_EQ(test, -EAGAIN, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	move_time_only(belt, 600 * MS);
	KUNIT_EXPECT_EQ(test, 0, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	KUNIT_EXPECT_EQ(test, -EBUSY, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	/* Who looked before this put asks behind it. */
	put_ttl(belt, key, 1000);
	KUNIT_EXPECT_EQ(test, -EAGAIN, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, true));
	take_out(belt, key);
	expect_empty(test);
}

/* 18 */

static int put_bound(struct hashbelt_belt *belt, struct hb_client *client, unsigned int key,
		     struct hashbelt_item *item)
{
	struct hashbelt_entry *entry = hashbelt_entry_alloc(belt, client, sizeof(key), 1);

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, &key, sizeof(key));
	*hashbelt_entry_value(entry) = 'x';
	entry->flags = 0;
	return hashbelt_put(belt, entry, item);
}

static int put_bound_plainly(struct hashbelt_belt *belt, struct hb_client *client,
			     unsigned int key)
{
	return put_bound(belt, client, key, &(struct hashbelt_item){});
}

static void what_is_bound_goes_with_its_holder_and_not_before(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	unsigned int key;

	for (key = 0; key < 100; key++) {
		KUNIT_ASSERT_EQ(test, 0, put_bound_plainly(belt, f->clients[key % 2], key));
		KUNIT_ASSERT_EQ(test, 0, lock_as(belt, f->clients[key % 2], key, 'A',
						 &(struct hashbelt_lock){}));
	}
	put(belt, 1000);
	lock_plainly(belt, 1000, 'A');
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 101u);
	move_time_only(belt, TTL - HB_GRAIN);
	for (key = 0; key < 100; key++)
		KUNIT_ASSERT_TRUE(test, has(belt, key));
	hashbelt_client_close(belt, f->clients[0]);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	drop_holder(f, 0);
	for (key = 0; key < 100; key++) {
		KUNIT_ASSERT_EQ(test, has(belt, key), key % 2 == 1);
		KUNIT_ASSERT_EQ(test, owner_of(belt, key, &lock), key % 2 ? 'A' : 0);
	}
	KUNIT_EXPECT_TRUE(test, has(belt, 1000));
	KUNIT_EXPECT_EQ(test, owner_of(belt, 1000, &lock), 'A');
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 100ULL);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, memory_besides(belt), f->besides);
	drop_holder(f, 1);
	take_out(belt, 1000);
	unlock_as(belt, 1000, 'A');
	expect_empty(test);
}

static void a_holder_that_is_gone_takes_nothing_more(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .max_entries = 9,
	});
	struct fixture *f = test->priv;
	struct hashbelt_fill fill = {};
	struct hashbelt_entry *request;
	unsigned int key = 1;

	put(belt, 2);
	hashbelt_client_close(belt, f->clients[0]);
	KUNIT_EXPECT_EQ(test, put_bound_plainly(belt, f->clients[0], key), -EIDRM);
	KUNIT_EXPECT_EQ(test, put_bound_plainly(belt, f->clients[0], 2), -EIDRM);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], key, 'A',
				      &(struct hashbelt_lock){}), -EIDRM);
	KUNIT_EXPECT_EQ(test, hashbelt_fill(belt, f->clients[0], &key, sizeof(key), &fill,
					    false), -EIDRM);
	request = hashbelt_request_alloc(belt, f->clients[0], 1, 1, sizeof(key));
	KUNIT_ASSERT_FALSE(test, IS_ERR(request));
	memcpy(hashbelt_request_key(request, 0, 0, sizeof(key)), &key, sizeof(key));
	KUNIT_EXPECT_EQ(test, hashbelt_request(belt, request, 0), -EIDRM);
	KUNIT_EXPECT_TRUE(test, has(belt, 2));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	drop_holder(f, 0);
	take_out(belt, 2);
	expect_empty(test);
}

/* Ways in which a bound entry of key 1 ends, or is not bound any more. */
static void bond_ends_by_remove(struct fixture *f)
{
	take_out(f->belt, 1);
}

static void bond_ends_by_a_plain_put(struct fixture *f)
{
	put(f->belt, 1);
}

static void bond_ends_by_an_addition(struct fixture *f)
{
	unsigned int key = 1;

	put_bytes(f->belt, &key, sizeof(key), "1", 1, &(struct hashbelt_item){});
	put_bound_plainly(f->belt, f->clients[0], 2);
	take_out(f->belt, 2);
	hashbelt_add(f->belt, &key, sizeof(key), &(struct hashbelt_item){},
		     &(struct hashbelt_sum){ .by = 1 });
}

static void bond_ends_by_another_holders_put(struct fixture *f)
{
	put_bound_plainly(f->belt, f->clients[1], 1);
}

static void bond_ends_by_expire(struct fixture *f)
{
	unsigned int key = 1;

	hashbelt_expire(f->belt, &key, sizeof(key));
}

static void bond_ends_by_the_drain(struct fixture *f)
{
	hashbelt_advance(f->belt, TTL + INTERVAL);
}

static void bond_ends_by_eviction(struct fixture *f)
{
	hb_evict(f->belt, HASHBELT_EVICTED, 1);
}

static void bond_ends_by_clear(struct fixture *f)
{
	hashbelt_clear(f->belt);
	come_to_rest(f->belt);
}

static const struct freeing unbindings[] = {
	FREEING(bond_ends_by_remove),
	FREEING(bond_ends_by_a_plain_put),
	FREEING(bond_ends_by_an_addition),
	FREEING(bond_ends_by_another_holders_put),
	FREEING(bond_ends_by_expire),
	FREEING(bond_ends_by_the_drain),
	FREEING(bond_ends_by_eviction),
	FREEING(bond_ends_by_clear),
};

KUNIT_ARRAY_PARAM(unbinding, unbindings, freeing_name);

static void what_has_left_is_not_tied_any_more(struct kunit *test)
{
	const struct freeing *unbinding = test->param_value;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	bool there;

	KUNIT_ASSERT_EQ(test, put_bound_plainly(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&f->clients[0]->entries));
	unbinding->act(f);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->clients[0]->entries));
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	check_books(test, belt);
	there = has(belt, 1);
	drop_holder(f, 0);
	KUNIT_EXPECT_EQ(test, has(belt, 1), there);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	drop_holder(f, 1);
	take_out(belt, 1);
	expect_empty(test);
}

static void a_put_that_is_refused_ties_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .max_entries = 1,
	});
	struct hashbelt_item item = { .how = HASHBELT_IF_ABSENT };
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put_bound(belt, f->clients[0], 1, &item), -EEXIST);
	KUNIT_EXPECT_EQ(test, put_bound_plainly(belt, f->clients[0], 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 2, 'A',
				      &(struct hashbelt_lock){}), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->clients[0]->entries));
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	check_books(test, belt);
	take_out(belt, 1);
	expect_empty(test);
}

static void the_end_with_its_holder_is_reported(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .handler = HASHBELT_NOTIFY,
		.reasons = HASHBELT_REPORT(HASHBELT_RELEASED), .max_entries = 2,
	});
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	struct hb_fifo events = {};
	u64 lost, token;

	KUNIT_EXPECT_EQ(test, put_bound_plainly(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 1, 'A',
				      &(struct hashbelt_lock){}), 0);
	token = token_of(belt, 1);
	drop_holder(f, 0);
	/* They keep their places until they are read. */
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 2ULL);
	check_books(test, belt);
	KUNIT_ASSERT_EQ(test, 0, hashbelt_take_events(belt, &events, SIZE_MAX, 9, true, &lost));
	KUNIT_EXPECT_EQ(test, events.count, 2ULL);
	hashbelt_describe_event(events.first, &record);
	KUNIT_EXPECT_EQ(test, record.reason, (u32)HASHBELT_RELEASED);
	KUNIT_EXPECT_EQ(test, record.kind, (u32)HASHBELT_ENTRY);
	hashbelt_describe_event(events.last, &record);
	KUNIT_EXPECT_EQ(test, record.reason, (u32)HASHBELT_RELEASED);
	KUNIT_EXPECT_EQ(test, record.kind, (u32)HASHBELT_LOCK);
	KUNIT_EXPECT_EQ(test, record.version, token);
	KUNIT_EXPECT_EQ(test, record.value_len, 1u);
	hashbelt_settle_events(belt, &events, true);
	expect_empty(test);
}

/* A deadline is exact, whichever task comes first afterwards. */
static void what_had_expired_is_not_released(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, put_bound_plainly(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 1, 'A',
				      &(struct hashbelt_lock){}), 0);
	move_time_only(belt, TTL);
	drop_holder(f, 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 2ULL);
	expect_empty(test);
}

static struct kunit_case lock_test_cases[] = {
	KUNIT_CASE(a_free_lock_is_granted_and_a_held_one_refused),
	KUNIT_CASE(for_its_owner_a_lock_only_lasts_longer),
	KUNIT_CASE(only_the_holder_unlocks_and_renews),
	KUNIT_CASE(a_lease_is_at_most_the_belts_time_to_live),
	KUNIT_CASE(a_belt_that_may_take_entries_away_grants_no_lock),
	KUNIT_CASE(a_destroyed_belt_has_no_locks),
	KUNIT_CASE(tokens_grow_with_each_grant_whatever_has_ended_the_last),
	KUNIT_CASE_PARAM(owners_and_accounts_say_what_is_held_at_each_step, history_gen_params),
	KUNIT_CASE(release_and_list_cost_what_the_owner_has),
	KUNIT_CASE(owners_are_told_apart_by_all_their_bytes),
	KUNIT_CASE(a_list_says_what_its_buffer_lacks),
	KUNIT_CASE(a_lock_counts_as_an_entry_under_the_limits),
	KUNIT_CASE(who_waits_has_it_in_the_order_of_coming),
	KUNIT_CASE(what_frees_a_lock_wakes_one_task),
	KUNIT_CASE_PARAM(the_only_one_who_waits_has_it_in_place, freeing_gen_params),
	KUNIT_CASE_PARAM(the_first_of_many_who_wait_has_it_in_place, freeing_gen_params),
	KUNIT_CASE(a_destroyed_belt_lets_nobody_wait),
	KUNIT_CASE(a_wait_ends_by_belt_time_and_not_by_any_other),
	KUNIT_CASE(where_both_end_at_once_the_lock_is_had),
	KUNIT_CASE(a_wait_that_is_too_short_is_over_at_once),
	KUNIT_CASE(a_waiter_sees_the_end_of_a_lease_before_the_drain),
	KUNIT_CASE(the_next_one_sees_it_when_the_first_has_given_up),
	KUNIT_CASE(leases_that_end_one_after_the_other_let_all_have_it),
	KUNIT_CASE(a_waiter_follows_a_lease_that_is_changed),
	KUNIT_CASE(a_wait_goes_on_where_time_stood_still),
	KUNIT_CASE(a_signal_ends_a_wait),
	KUNIT_CASE(a_signal_after_the_hand_over_comes_too_late),
	KUNIT_CASE(who_gives_up_in_the_middle_holds_nobody_up),
	KUNIT_CASE(each_task_of_an_owner_waits_its_turn),
	KUNIT_CASE(a_waiter_for_whom_there_is_no_room_is_told_and_the_next_has_it),
	KUNIT_CASE(where_events_fill_the_belt_nobody_has_the_lock),
	KUNIT_CASE(a_waiter_whose_holder_is_gone_gets_nothing_and_the_next_has_it),
	KUNIT_CASE(a_lock_that_was_waited_for_is_bound_as_it_was_asked_for),
	KUNIT_CASE(nobody_waits_for_a_lock_that_is_free_in_any_history),
	KUNIT_CASE(a_lock_has_one_owner_at_a_time),
	KUNIT_CASE(a_right_ahead_is_for_what_is_near_its_end_when_it_is_given),
	KUNIT_CASE(what_is_bound_goes_with_its_holder_and_not_before),
	KUNIT_CASE(a_holder_that_is_gone_takes_nothing_more),
	KUNIT_CASE_PARAM(what_has_left_is_not_tied_any_more, unbinding_gen_params),
	KUNIT_CASE(a_put_that_is_refused_ties_nothing),
	KUNIT_CASE(the_end_with_its_holder_is_reported),
	KUNIT_CASE(what_had_expired_is_not_released),
	{}
};

static struct kunit_suite lock_suite = {
	.name = "hashbelt_lock",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = lock_test_cases,
};

kunit_test_suites(&lock_suite);
