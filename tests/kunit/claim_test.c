// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other calls in between the steps in which a request is registered, claimed and completed.
 * Guarantee 19 of docs/guarantees.md. request.c is included, so that a case can take the steps
 * one by one.
 */
#include <kunit/test.h>

#include "belt/wait/request.c"
#include "request.h"

/* Takes a request out as the drain does: it is claimed under the lock of its shard. */
static void expire_request(struct kunit *test, u64 id)
{
	struct fixture *f = test->priv;
	struct name name = { .client = f->clients[0]->id, .id = id };
	u32 hash = hb_hash(f->belt, &name, sizeof(name));
	struct hb_shard *shard = hb_shard_of(f->belt, hash);
	struct hashbelt_entry *entry;

	spin_lock(&shard->lock);
	entry = hb_find_locked(shard, (hash & HB_HASH) | HB_REQUEST, &name, sizeof(name));
	if (entry && hb_node_try_claim(&entry->node, HASHBELT_EXPIRED)) {
		hb_wheel_del(&shard->wheel, &entry->node);
		hb_leave(shard, entry, hashbelt_now(f->belt));
	}
	spin_unlock(&shard->lock);
	KUNIT_EXPECT_NOT_NULL(test, entry);
}

/* The id is free when the first request has left, so its completion must be queued by then. */
static void completions_of_one_id_come_in_the_order_of_its_requests(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 7, 1, 1000), 0);
	expire_request(test, 7);
	KUNIT_EXPECT_EQ(test, ask(f, 7, 2, 1000), 0);
	put(belt, 2);
	expect_completion(test, 7, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_completion(test, 7, HASHBELT_BY_PUT, 2);
	expect_no_completion(test);
	take_out(belt, 2);
	expect_empty(test);
}

static void a_put_completes_no_request_that_was_registered_after_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int key = 1;
	struct hb_shard *shard = hb_shard_of(belt, hb_hash(belt, &key, sizeof(key)));
	u64 stamp;

	/* A put that completes requests drops the lock between two batches. */
	KUNIT_EXPECT_EQ(test, ask(f, 1, key, 0), 0);
	spin_lock(&shard->lock);
	stamp = ++shard->versions;
	spin_unlock(&shard->lock);
	KUNIT_EXPECT_EQ(test, ask(f, 2, key, 0), 0);
	KUNIT_EXPECT_EQ(test, 1u, hb_requests_complete(belt, hb_hash(belt, &key, sizeof(key)),
						       &key, sizeof(key), HASHBELT_BY_PUT,
						       stamp));
	expect_completion(test, 1, HASHBELT_BY_PUT, key);
	expect_no_completion(test);
	KUNIT_EXPECT_EQ(test, complete_key(belt, key), 1u);
	expect_completion(test, 2, HASHBELT_BY_COMPLETE, key);
	expect_empty(test);
}

static void hash_watches(struct fixture *f, struct hashbelt_entry *entry)
{
	struct hb_request *request = hb_tail(entry);
	u32 i;

	for (i = 0; i < entry->flags; i++)
		request->watches[i].hash = hb_hash(f->belt, hashbelt_entry_value(entry) +
						   request->watches[i].at,
						   request->watches[i].len);
}

/* Registers a request for the keys 1 and 2 up to its first watch. Return: its shard. */
static struct hb_shard *register_half(struct kunit *test, struct hashbelt_entry **entry)
{
	static const unsigned int keys[] = { 1, 2 };
	struct fixture *f = test->priv;
	struct hb_request *request;
	struct hb_shard *shard;

	*entry = draft(f, 0, 1, keys, 2);
	KUNIT_ASSERT_FALSE(test, IS_ERR(*entry));
	shard = hb_shard_of(f->belt, (*entry)->hash);
	request = hb_tail(*entry);
	KUNIT_ASSERT_EQ(test, request_insert(shard, *entry, 0, NULL), 0);
	hash_watches(f, *entry);
	KUNIT_ASSERT_EQ(test, link_watch(f->belt, *entry, &request->watches[0]), 0);
	return shard;
}

/* A step that may come before the second watch. */
static const struct interruption {
	struct way way;
	enum hashbelt_cause cause;	/* of the completion; 0: there is none */
	unsigned int key;
	bool stays;			/* registered, at least until request_arm() */
} interruptions[] = {
	{ { "a put", { DO_PUT } }, HASHBELT_BY_PUT, 1, false },
	{ { "a complete", { DO_COMPLETE } }, HASHBELT_BY_COMPLETE, 1, false },
	{ { "a cancel", { DO_CANCEL } }, 0, 0, false },
	{ { "a clear", { DO_CLEAR, DO_REST } }, HASHBELT_BY_CLEAR, NO_KEY, false },
	{ { "the close of its client", { DO_CLOSE } }, 0, 0, false },
	{ { "a destroy of the belt", { DO_KILL, DO_REST } }, HASHBELT_BY_CLEAR, NO_KEY, false },
	{ { "a put of the other key", { DO_PUT_OTHER } }, 0, 0, true },
	{ { "its deadline", { DO_DRAIN } }, HASHBELT_BY_TIMEOUT, NO_KEY, true },
	{ { "memory pressure", { DO_PRESS } }, 0, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(interruption, interruptions, way.name);

static void a_request_that_ends_while_it_is_registered_completes_once(struct kunit *test)
{
	const struct interruption *interruption = test->param_value;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	struct hb_request *request;
	struct hb_shard *shard = register_half(test, &entry);

	request = hb_tail(entry);
	do_way(f, &interruption->way);
	/* The completion is queued at once, before the registering task unlinks the request. */
	if (interruption->cause && !interruption->stays)
		expect_completion(test, 1, interruption->cause, interruption->key);
	expect_no_completion(test);
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, interruption->stays ? 1ULL : 0ULL);
	KUNIT_ASSERT_EQ(test, link_watch(belt, entry, &request->watches[1]), 0);
	request_arm(shard, entry);
	check_accounting(test, belt);
	if (interruption->stays) {
		KUNIT_EXPECT_EQ(test, complete_key(belt, 2), interruption->cause ? 0u : 1u);
		expect_completion(test, 1, interruption->cause ?: HASHBELT_BY_COMPLETE,
				  interruption->cause ? interruption->key : 2);
	}
	expect_no_completion(test);
	take_out(belt, 1);
	take_out(belt, 2);
	expect_empty(test);
}

/* A request that was completed before its registration failed counts as registered. */
static void a_request_completed_before_its_registration_fails_is_reported(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_entry *entry;
	struct hb_shard *shard = register_half(test, &entry);

	put(belt, 1);
	KUNIT_EXPECT_FALSE(test, request_release(belt, entry));
	request_arm(shard, entry);
	expect_completion(test, 1, HASHBELT_BY_PUT, 1);
	expect_no_completion(test);
	take_out(belt, 1);
	expect_empty(test);
}

/* Claims the requests for a key under the lock of its shard, as a put does. */
static void claim_all(struct fixture *f, unsigned int key, struct list_head *claimed)
{
	u32 hash = hb_hash(f->belt, &key, sizeof(key));
	struct hb_shard *shard = hb_shard_of(f->belt, hash);
	struct hb_waitpoint *waitpoint;

	spin_lock(&shard->lock);
	waitpoint = hb_waitpoint_find(shard, hash, &key, sizeof(key));
	if (waitpoint)
		hb_requests_claim(shard, waitpoint, HASHBELT_BY_PUT, U64_MAX, claimed);
	spin_unlock(&shard->lock);
}

static void a_request_claimed_before_it_is_registered_completes_once(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	struct hb_request *request;
	struct hb_shard *shard = register_half(test, &entry);
	LIST_HEAD(claimed);

	request = hb_tail(entry);
	KUNIT_ASSERT_EQ(test, link_watch(belt, entry, &request->watches[1]), 0);
	claim_all(f, 1, &claimed);
	request_arm(shard, entry);
	expect_no_completion(test);
	KUNIT_EXPECT_EQ(test, hb_requests_finish(belt, &claimed), 1u);
	expect_completion(test, 1, HASHBELT_BY_PUT, 1);
	expect_no_completion(test);
	expect_empty(test);
}

/* A task that finds a request claimed leaves it to the claiming task. */
static void a_claimed_request_is_completed_by_the_claiming_task_alone(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2, 1, 3 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	LIST_HEAD(claimed);

	KUNIT_ASSERT_EQ(test, ask_for(f, 0, 1, keys, 4, 1000), 0);
	claim_all(f, 1, &claimed);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 2), 0u);
	KUNIT_EXPECT_EQ(test, hb_request_cancel(belt, f->clients[0], 1), -ENOENT);
	KUNIT_EXPECT_LE(test, hb_evict(belt, HASHBELT_EVICTED, 1), 1u);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, TTL + INTERVAL), 0);
	expect_no_completion(test);
	/* The sweep tries until the request is gone, so it is completed before the worker runs. */
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, hb_requests_finish(belt, &claimed), 1u);
	expect_completion(test, 1, HASHBELT_BY_PUT, 1);
	expect_no_completion(test);
	expect_empty(test);
}

/* The key of a request is its client's number and its id. An entry may have the same bytes. */
static void an_entry_with_the_key_of_a_request_does_not_affect_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct name name = { .client = f->clients[0]->id, .id = 1 };

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_remove(belt, &name, sizeof(name),
					      &(struct hashbelt_item){}), -ENOENT);
	KUNIT_EXPECT_EQ(test, put_bytes(belt, &name, sizeof(name), "", 0,
					&(struct hashbelt_item){}), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_expire(belt, &name, sizeof(name)), 0);
	expect_no_completion(test);
	KUNIT_EXPECT_EQ(test, hb_request_cancel(belt, f->clients[0], 1), 0);
	expect_empty(test);
}

/* The evicted requests wait for the worker to unlink their watches, and it is stopped before. */
static void a_belt_is_freed_with_evicted_requests_still_linked(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2, 3, 4 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, ask_for(f, i % 4, i, keys, 4, 0), 0);
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 10), 10u);
	cancel_work_sync(&belt->work);
	drop_all(f);
}

static struct kunit_case claim_cases[] = {
	KUNIT_CASE(completions_of_one_id_come_in_the_order_of_its_requests),
	KUNIT_CASE(a_put_completes_no_request_that_was_registered_after_it),
	KUNIT_CASE_PARAM(a_request_that_ends_while_it_is_registered_completes_once,
			 interruption_gen_params),
	KUNIT_CASE(a_request_completed_before_its_registration_fails_is_reported),
	KUNIT_CASE(a_request_claimed_before_it_is_registered_completes_once),
	KUNIT_CASE(a_claimed_request_is_completed_by_the_claiming_task_alone),
	KUNIT_CASE(an_entry_with_the_key_of_a_request_does_not_affect_it),
	KUNIT_CASE(a_belt_is_freed_with_evicted_requests_still_linked),
	{}
};

TEST_SUITE(claim, fixture_init, fixture_exit);
