// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: registering, completing, cancelling, timeouts, limits, and reading completions.
 * Guarantee 19 of docs/guarantees.md.
 *
 * Hostile user: registers 1,000,000 requests, or any number of waits, for a key; result: a put of
 * the key ends 64; the worker ends the others.
 */
#include <kunit/test.h>

#include "belt/room/evict.h"
#include "request.h"

/* Other users choose how many requests wait for a key. */
static void a_put_completes_a_batch_of_requests_and_the_worker_the_others(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int id;

	for (id = 1; id <= 200; id++)
		KUNIT_ASSERT_EQ(test, ask(f, id, 1, 0), 0);
	/* The worker waits. */
	mutex_lock(&belt->round_lock);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 200ULL - HB_BATCH);
	/* This one waits for the next put. */
	KUNIT_EXPECT_EQ(test, ask(f, 201, 1, 0), 0);
	mutex_unlock(&belt->round_lock);
	hb_kick_worker(belt);
	flush_work(&belt->work);
	for (id = 1; id <= 200; id++)
		expect_completion(test, id, HASHBELT_BY_PUT, 1);
	expect_no_completion(test);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 1ULL);
	put(belt, 1);
	expect_completion(test, 201, HASHBELT_BY_PUT, 1);
	expect_no_completion(test);
}

static void each_client_reads_its_own_completions(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, ask_for(f, i, 100 + i, keys, 2, 100000), 0);
	hashbelt_advance(belt, SEC);
	put(belt, 2);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, take_completion(f, i, &record, &key), (u32)HASHBELT_BY_PUT);
		KUNIT_EXPECT_EQ(test, record.id, 100ULL + i);
		KUNIT_EXPECT_EQ(test, record.sequence, 1ULL);
		KUNIT_EXPECT_EQ(test, record.handed_ns, hashbelt_now(belt));
		KUNIT_EXPECT_EQ(test, record.deadline_ns, record.handed_ns + 99 * SEC);
		KUNIT_EXPECT_EQ(test, key, 2u);
	}
	expect_no_completion(test);
	take_out(belt, 2);
	expect_empty(test);
}

/* A request past its deadline times out, whichever task finds it first. */
static void a_request_past_its_deadline_is_not_completed(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 2, 2, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 3, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 4, 1, 1001), 0);
	move_time_only(belt, SEC);
	put(belt, 1);
	expect_completion(test, 1, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_completion(test, 4, HASHBELT_BY_PUT, 1);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 2), 0u);
	expect_completion(test, 2, HASHBELT_BY_TIMEOUT, NO_KEY);
	KUNIT_EXPECT_EQ(test, hb_request_cancel(belt, f->clients[0], 3), -ENOENT);
	expect_completion(test, 3, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_no_completion(test);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 3ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_COMPLETED), 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

static void an_evicted_or_cleared_request_is_completed_with_the_cause(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_EVICT, .max_entries = 1);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 1000), 0);
	put(belt, 2);
	flush_work(&belt->work);
	expect_completion(test, 1, HASHBELT_BY_EVICTION, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 2, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 1), 1u);
	flush_work(&belt->work);
	expect_completion(test, 2, HASHBELT_BY_PRESSURE, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 1, 1000), 0);
	hashbelt_clear(belt);
	flush_work(&belt->work);
	expect_completion(test, 3, HASHBELT_BY_CLEAR, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 4, 1, 1000), 0);
	hb_kill(belt);
	flush_work(&belt->work);
	expect_completion(test, 4, HASHBELT_BY_CLEAR, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 5, 1, 1000), -EIDRM);
	expect_no_completion(test);
	expect_empty(test);
}

/* The clear comes before the timeout, and the sweep after both. */
static void a_cleared_request_past_its_timeout_is_completed_as_cleared(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key, completed = 0;
	u32 cause;

	for (i = 0; i < 4000; i++)
		put(belt, 1000 + i);
	/* The index has grown, so the sweep takes many steps. */
	come_to_rest(belt);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ(test, ask(f, i, i, 1000), 0);
	mutex_lock(&belt->round_lock);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, hb_clock_advance(&belt->clock, SEC + 2 * INTERVAL), 0);
	mutex_unlock(&belt->round_lock);
	hb_kick_worker(belt);
	come_to_rest(belt);
	while ((cause = take_completion(f, 0, &record, &key))) {
		KUNIT_EXPECT_EQ(test, cause, (u32)HASHBELT_BY_CLEAR);
		completed++;
	}
	KUNIT_EXPECT_EQ(test, completed, 200u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 0ULL);
	expect_empty(test);
}

/* The wheels for requests reach 60 ms ahead. */
static void a_request_makes_the_levels_for_its_timeout(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int id;

	for (id = 0; id < 100; id++)
		KUNIT_ASSERT_EQ(test, ask(f, id, 1, 60), 0);
	hb_for_each_shard(shard, belt)
		KUNIT_EXPECT_NULL(test, shard->leases.level[1]);
	for (; id < 200; id++)
		KUNIT_ASSERT_EQ(test, ask(f, id, 1, 61), 0);
	hb_for_each_shard(shard, belt)
		KUNIT_EXPECT_NOT_NULL(test, shard->leases.level[1]);
}

static void unread_completions_over_max_bytes_refuse_new_requests(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .max_bytes = 16384);
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int key, id, first;
	u64 most;

	for (id = 0; id < 1000 && !ask(f, id, 1, 0); id++)
		complete_key(belt, 1);
	KUNIT_EXPECT_GT(test, id, 20u);
	KUNIT_EXPECT_LT(test, id, 200u);
	KUNIT_EXPECT_EQ(test, ask(f, id, 1, 0), -ENOSPC);
	KUNIT_EXPECT_NE(test, take_completion(f, 0, &record, &key), 0u);
	KUNIT_EXPECT_EQ(test, ask(f, id, 1, 0), 0);
	complete_key(belt, 1);
	most = atomic64_read(&belt->clients.undelivered_bytes);
	belt->queue.max_bytes = most;
	KUNIT_EXPECT_EQ(test, ask(f, ++id, 1, 0), 0);
	belt->queue.max_bytes = most - 1;
	KUNIT_EXPECT_EQ(test, ask(f, id + 1, 1, 0), -ENOSPC);
	complete_key(belt, 1);
	for (first = 1; first <= id; first++)
		expect_completion(test, first, HASHBELT_BY_COMPLETE, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&belt->clients.undelivered_bytes), 0LL);
}

static void completions_are_taken_whole_and_can_be_returned(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hb_fifo events = {};
	struct hashbelt_event record;
	unsigned int i, key;

	for (i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, ask(f, i, 1, 0), 0);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, 71, 9), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, 150, 9), 0);
	KUNIT_EXPECT_EQ(test, events.count, 2ULL);
	hb_return_completed(belt, f->clients[0], &events);
	KUNIT_EXPECT_EQ(test, events.count, 0ULL);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, take_completion(f, 0, &record, &key), (u32)HASHBELT_BY_PUT);
		KUNIT_EXPECT_EQ(test, record.id, (u64)i);
		KUNIT_EXPECT_EQ(test, record.sequence, i + 1ULL);
	}
	KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, SIZE_MAX, 9), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &(struct hb_fifo){},
						      SIZE_MAX, 9), -EAGAIN);
	hashbelt_client_close(belt, f->clients[0]);
	hb_return_completed(belt, f->clients[0], &events);
	KUNIT_EXPECT_EQ(test, f->clients[0]->completed.count, 0ULL);
	drop_client(f, 0);
	take_out(belt, 1);
	expect_empty(test);
}

static void a_request_that_fails_for_want_of_memory_leaves_nothing(struct kunit *test)
{
	unsigned int keys[HASHBELT_REQUEST_KEYS], i, failed = 0;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	int err = -ENOSPC;
	u64 room;

	/* The last key equals the first, and needs no waitpoint of its own. */
	for (i = 0; i < HASHBELT_REQUEST_KEYS; i++)
		keys[i] = 100 + i % 15;
	for (room = 0; err; room += 16) {
		KUNIT_ASSERT_LT(test, room, 8192ULL);
		come_to_rest(belt);
		hb_memory_limit(hb_memory_used() + room);
		err = ask_for(f, 0, 1, keys, HASHBELT_REQUEST_KEYS, 0);
		hb_memory_limit(U64_MAX);
		if (!err)
			break;
		KUNIT_ASSERT_EQ(test, err, -ENOSPC);
		failed++;
		expect_no_completion(test);
		expect_empty(test);
		KUNIT_ASSERT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	}
	/* It failed at each of the 15 waitpoints, and before. */
	KUNIT_EXPECT_GE(test, failed, 16u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REQUESTS), 1ULL);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 107), 1u);
	expect_completion(test, 1, HASHBELT_BY_COMPLETE, 107);
	expect_empty(test);
}

static void entries_of_all_kinds_expire_in_one_batch(struct kunit *test)
{
	enum { EACH = 300 };
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .buckets = 2,
					  .handler = HASHBELT_NOTIFY,
					  .reasons = HASHBELT_REPORT_ALL);
	struct fixture *f = test->priv;
	unsigned int key, round;
	struct hb_fifo events;
	u64 lost;

	for (round = 0; round < 3; round++) {
		for (key = 0; key < EACH; key++) {
			struct hashbelt_fill fill = {
				.lease_ms = 1000, .ahead_ms = HASHBELT_TTL_NEVER,
			};
			struct hashbelt_lock lock = { .ttl_ms = 1000 };

			KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000), 0);
			KUNIT_ASSERT_EQ(test, ask(f, key, key, 1000), 0);
			KUNIT_ASSERT_EQ(test, lock_as(belt, NULL, key, 'A', &lock), 0);
			KUNIT_ASSERT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill,
							    true), 0);
		}
		check_accounting(test, belt);
		/* In the first two rounds the entries expire, in the last one they are cleared. */
		if (round < 2)
			hashbelt_advance(belt, TTL + SEC);
		else
			hashbelt_clear(belt);
		come_to_rest(belt);
		check_accounting(test, belt);
		KUNIT_EXPECT_EQ(test, count_linked(belt), 0ULL);
		KUNIT_EXPECT_EQ(test, f->clients[0]->completed.count, (u64)EACH);
		KUNIT_EXPECT_EQ(test, info_of(belt).queued, 2ULL * EACH);
		events = (struct hb_fifo){};
		KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, SIZE_MAX,
							      U64_MAX), 0);
		hashbelt_settle_completed(belt, &events);
		KUNIT_EXPECT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, U64_MAX,
						     false, &lost), 0);
		hb_settle_events(belt, &events, false);
		expect_empty(test);
	}
}

static struct kunit_case request_cases[] = {
	KUNIT_CASE(a_put_completes_a_batch_of_requests_and_the_worker_the_others),
	KUNIT_CASE(each_client_reads_its_own_completions),
	KUNIT_CASE(a_request_past_its_deadline_is_not_completed),
	KUNIT_CASE(an_evicted_or_cleared_request_is_completed_with_the_cause),
	KUNIT_CASE(a_cleared_request_past_its_timeout_is_completed_as_cleared),
	KUNIT_CASE(a_request_makes_the_levels_for_its_timeout),
	KUNIT_CASE(unread_completions_over_max_bytes_refuse_new_requests),
	KUNIT_CASE(completions_are_taken_whole_and_can_be_returned),
	KUNIT_CASE(a_request_that_fails_for_want_of_memory_leaves_nothing),
	KUNIT_CASE(entries_of_all_kinds_expire_in_one_batch),
	{}
};

TEST_SUITE(request, fixture_init, fixture_exit);
