// SPDX-License-Identifier: GPL-2.0-only
/* Waiting for locks over a random history. Guarantee 17 of docs/guarantees.md. */
#include <kunit/test.h>

#include "lock.h"

/* Starts a task that asks for a lock, as an owner of its own, unless it waits already. */
static void start_a_waiter(struct kunit *test, unsigned int key, u32 random)
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

static void random_step(struct kunit *test, unsigned int key, u32 op, u32 random)
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
		start_a_waiter(test, key, random);
	}
}

/* Checks the results of the waiters that have ended. Return: how many have got the lock. */
static unsigned int collect_ended(struct kunit *test, u64 *last)
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

static void no_task_waits_for_a_free_lock_over_a_random_history(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	unsigned int i, key, granted = 0;
	u64 last[3] = {};

	for (i = 0; i < 4000; i++) {
		u32 op = prandom_u32_state(&f->rnd);

		random_step(test, i % 3, op, prandom_u32_state(&f->rnd));
		schedule_timeout_uninterruptible(1);
		granted += collect_ended(test, last);
		check_accounting(test, belt);
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
	hb_kill(belt);
	for (i = 0; i < WAITERS; i++)
		waiter_stop(&f->waiters[i]);
	drop_client(f, 0);
	expect_empty(test);
}

static struct kunit_case lease_history_test_cases[] = {
	KUNIT_CASE(no_task_waits_for_a_free_lock_over_a_random_history),
	{}
};

static struct kunit_suite lease_history_suite = {
	.name = "hashbelt_lease_history",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = lease_history_test_cases,
};

kunit_test_suites(&lease_history_suite);
