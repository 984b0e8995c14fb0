// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait, the right to fill, the grace time, numbers; and that the kinds of
 * entries do not meet.
 *
 * Belt time is moved by hand. belt/request.c is included, so that a case can come in
 * between the steps in which a request is made and completed.
 */
#include <kunit/test.h>

#include "belt/request.c"
#include "fixture.h"

#define NO_KEY	(~0u)

/**
 * struct lives - what a case knows of the keys, and what the handler was told
 * @deadlines:	of each key
 * @over:	of each key: its grace time has ended, too
 * @expired:	as the handler was told
 * @wrong:	of them early, late, or with another deadline
 */
static struct lives {
	u64 deadlines[1000];
	bool over[1000];
	unsigned int expired;
	unsigned int wrong;
} lives;

static int request_init(struct kunit *test)
{
	memset(&lives, 0, sizeof(lives));
	return fixture_init(test);
}

static struct hashbelt_belt *make_plain(struct kunit *test)
{
	return make(test, (struct hashbelt_config){});
}

/* Requests */

static struct hashbelt_entry *draft(struct fixture *f, unsigned int client, u64 id,
				    const unsigned int *keys, u32 count)
{
	struct hashbelt_entry *entry;
	u32 i;

	entry = hashbelt_request_alloc(f->belt, f->clients[client], id, count,
				       count * sizeof(*keys));
	if (IS_ERR(entry))
		return entry;
	for (i = 0; i < count; i++)
		memcpy(hashbelt_request_key(entry, i, i * sizeof(*keys), sizeof(*keys)),
		       &keys[i], sizeof(*keys));
	return entry;
}

static int ask_for(struct fixture *f, unsigned int client, u64 id, const unsigned int *keys,
		   u32 count, u64 ttl_ms)
{
	struct hashbelt_entry *entry = draft(f, client, id, keys, count);

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	return hashbelt_request(f->belt, entry, ttl_ms);
}

/* For one key, by the first client. */
static int ask(struct fixture *f, u64 id, unsigned int key, u64 ttl_ms)
{
	return ask_for(f, 0, id, &key, 1, ttl_ms);
}

static u32 complete_key(struct hashbelt_belt *belt, unsigned int key)
{
	return hashbelt_complete(belt, &key, sizeof(key));
}

/* Takes what a client is told next, and settles it: the cause, 0 if there is nothing. */
static u32 told(struct fixture *f, unsigned int client, struct hashbelt_event *record,
		unsigned int *key)
{
	struct hb_fifo events = {};
	const void *data;

	*key = NO_KEY;
	*record = (struct hashbelt_event){};
	if (hashbelt_take_completed(f->clients[client], &events, SIZE_MAX, 1))
		return 0;
	data = hashbelt_describe_event(events.first, record);
	if (record->key_len == sizeof(*key))
		memcpy(key, data, sizeof(*key));
	hashbelt_settle_completed(f->belt, &events);
	return record->reason;
}

/* The first client is told this, and nothing else. */
static void expect_told(struct kunit *test, u64 id, enum hashbelt_cause cause,
			unsigned int key)
{
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int is;

	KUNIT_EXPECT_EQ(test, told(f, 0, &record, &is), (u32)cause);
	KUNIT_EXPECT_EQ(test, record.version, id);
	KUNIT_EXPECT_EQ(test, is, key);
}

static void expect_nothing_told(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key;

	for (i = 0; i < ARRAY_SIZE(f->clients); i++)
		if (f->clients[i])
			KUNIT_EXPECT_EQ(test, told(f, i, &record, &key), 0u);
}

/* 19 */

static void where_nobody_reads_there_are_no_new_requests(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){ .max_bytes = 16384 });
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int key, id, first;

	for (id = 0; id < 1000 && !ask(f, id, 1, 0); id++)
		complete_key(belt, 1);
	KUNIT_EXPECT_GT(test, id, 20u);
	KUNIT_EXPECT_LT(test, id, 200u);
	KUNIT_EXPECT_EQ(test, ask(f, id, 1, 0), -ENOSPC);
	KUNIT_EXPECT_NE(test, told(f, 0, &record, &key), 0u);
	KUNIT_EXPECT_EQ(test, ask(f, id, 1, 0), 0);
	complete_key(belt, 1);
	for (first = 1; first <= id; first++)
		expect_told(test, first, HASHBELT_BY_COMPLETE, 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&belt->clients.undelivered_bytes), 0LL);
}

static void a_put_completes_what_waits_for_its_key(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2, 3 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask_for(f, 0, 77, keys, 3, 0), 0);
	KUNIT_EXPECT_EQ(test, ask_for(f, 1, 77, &keys[1], 2, 0), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 78, 9, 0), 0);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 3ULL);
	put(belt, 4);
	expect_nothing_told(test);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 2ULL);
	expect_told(test, 77, HASHBELT_BY_PUT, 1);
	put(belt, 1);
	expect_nothing_told(test);
	put(belt, 9);
	expect_told(test, 78, HASHBELT_BY_PUT, 9);
	expect_nothing_told(test);
	hashbelt_clear(belt);
	flush_work(&belt->work);
	drop_holder(f, 1);
	expect_nothing_told(test);
	expect_empty(test);
}

static void others_are_told_of_their_own(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, ask_for(f, i, 100 + i, keys, 2, 0), 0);
	put(belt, 2);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, told(f, i, &record, &key), (u32)HASHBELT_BY_PUT);
		KUNIT_EXPECT_EQ(test, record.version, 100ULL + i);
		KUNIT_EXPECT_EQ(test, record.sequence, 1ULL);
		KUNIT_EXPECT_EQ(test, key, 2u);
	}
	expect_nothing_told(test);
	take_out(belt, 2);
	expect_empty(test);
}

static void an_event_says_what_there_was(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	u64 now = hashbelt_now(belt);
	struct hashbelt_event record;
	unsigned int key;

	KUNIT_EXPECT_EQ(test, ask(f, 7, 5, 100000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, ~0ULL, 6, HASHBELT_TTL_NEVER), 0);
	hashbelt_advance(belt, SEC);
	put(belt, 5);
	hashbelt_advance(belt, SEC);
	KUNIT_EXPECT_EQ(test, told(f, 0, &record, &key), (u32)HASHBELT_BY_PUT);
	KUNIT_EXPECT_EQ(test, record.kind, (u32)HASHBELT_REQUEST);
	KUNIT_EXPECT_EQ(test, record.size, 72u);
	KUNIT_EXPECT_EQ(test, record.sequence, 1ULL);
	KUNIT_EXPECT_EQ(test, record.deadline_ns, now + 100 * SEC);
	KUNIT_EXPECT_EQ(test, record.handed_ns, now + SEC);
	KUNIT_EXPECT_EQ(test, record.version, 7ULL);
	KUNIT_EXPECT_EQ(test, record.flags, 0u);
	KUNIT_EXPECT_EQ(test, record.key_len, 4u);
	KUNIT_EXPECT_EQ(test, record.value_len, 0u);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 6), 1u);
	KUNIT_EXPECT_EQ(test, told(f, 0, &record, &key), (u32)HASHBELT_BY_COMPLETE);
	KUNIT_EXPECT_EQ(test, record.sequence, 2ULL);
	KUNIT_EXPECT_EQ(test, record.deadline_ns, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, record.version, ~0ULL);
}

static void complete_says_how_many_there_were(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 0u);
	KUNIT_EXPECT_EQ(test, ask_for(f, 0, 1, keys, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, ask_for(f, 0, 2, keys, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, ask_for(f, 0, 3, keys + 1, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 2u);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 0u);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 2), 1u);
	expect_told(test, 1, HASHBELT_BY_COMPLETE, 1);
	expect_told(test, 2, HASHBELT_BY_COMPLETE, 1);
	expect_told(test, 3, HASHBELT_BY_COMPLETE, 2);
	expect_nothing_told(test);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REQUESTS), 3ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_COMPLETED), 3ULL);
	expect_empty(test);
}

static void a_request_times_out_as_entries_expire(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 2, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 1, HASHBELT_TTL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 4, 1, 1000000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 5, 1, HASHBELT_TTL_MAX_MS + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, ask(f, 5, 1, HASHBELT_TTL_KEEP), -EINVAL);
	hashbelt_advance(belt, SEC + INTERVAL);
	expect_told(test, 1, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_nothing_told(test);
	hashbelt_advance(belt, TTL - SEC);
	expect_told(test, 2, HASHBELT_BY_TIMEOUT, NO_KEY);
	hashbelt_advance(belt, 1000 * SEC);
	expect_told(test, 4, HASHBELT_BY_TIMEOUT, NO_KEY);
	hashbelt_advance(belt, 1000000 * SEC);
	expect_nothing_told(test);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 3ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 1ULL);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 1u);
	expect_told(test, 3, HASHBELT_BY_COMPLETE, 1);
	expect_empty(test);
}

/* A deadline is exact, whichever task comes first afterwards. */
static void what_has_timed_out_is_not_completed(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 2, 2, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 3, 1000), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 4, 1, 1001), 0);
	move_time_only(belt, SEC);
	put(belt, 1);
	expect_told(test, 1, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_told(test, 4, HASHBELT_BY_PUT, 1);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 2), 0u);
	expect_told(test, 2, HASHBELT_BY_TIMEOUT, NO_KEY);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 3), -ENOENT);
	expect_told(test, 3, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_nothing_told(test);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 3ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_COMPLETED), 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

static void a_cancelled_request_is_gone_and_nobody_is_told(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2, 2, 1 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, ask_for(f, 0, 1, keys, 4, 0), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[1], 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 1), -ENOENT);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 0u);
	expect_nothing_told(test);
	expect_empty(test);
	KUNIT_EXPECT_EQ(test, ask_for(f, 0, 1, keys, 4, 0), 0);
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 1), -ENOENT);
	expect_told(test, 1, HASHBELT_BY_PUT, 2);
}

static void an_id_is_free_when_its_request_is_completed(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int key = 1;

	KUNIT_EXPECT_EQ(test, ask(f, 1, key, 0), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 2, 0), -EEXIST);
	KUNIT_EXPECT_EQ(test, ask_for(f, 1, 1, &key, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, complete_key(belt, key), 2u);
	/* It need not have been read. */
	KUNIT_EXPECT_EQ(test, ask(f, 1, key, 0), 0);
	KUNIT_EXPECT_EQ(test, complete_key(belt, key), 1u);
	expect_told(test, 1, HASHBELT_BY_COMPLETE, key);
	expect_told(test, 1, HASHBELT_BY_COMPLETE, key);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REQUESTS), 3ULL);
}

static void what_is_there_already_completes_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int key = 1;

	put(belt, key);
	KUNIT_EXPECT_EQ(test, ask(f, 1, key, 0), 0);
	KUNIT_EXPECT_TRUE(test, has(belt, key));
	touch(belt, key, 1000);
	KUNIT_EXPECT_EQ(test, put_bytes(belt, &key, sizeof(key), "", 0, &(struct hashbelt_item){
		.how = HASHBELT_IF_ABSENT }), -EEXIST);
	take_out(belt, key);
	expect_nothing_told(test);
	put(belt, key);
	expect_told(test, 1, HASHBELT_BY_PUT, key);
}

static void an_addition_is_a_put(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_sum sum = { .by = 1 };
	struct fixture *f = test->priv;
	unsigned int key = 1;

	KUNIT_EXPECT_EQ(test, ask(f, 1, key, 0), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){},
					   &sum), 0);
	expect_told(test, 1, HASHBELT_BY_PUT, key);
	KUNIT_EXPECT_EQ(test, ask(f, 2, key, 0), 0);
	sum.by = S64_MAX;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){},
					   &sum), -EOVERFLOW);
	expect_nothing_told(test);
}

static void who_takes_entries_away_tells_the_cause(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_entries = 2,
	});
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 1000), 0);
	put(belt, 2);
	put(belt, 3);
	flush_work(&belt->work);
	expect_told(test, 1, HASHBELT_BY_EVICTION, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 2, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 2ULL);
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 1), 1u);
	flush_work(&belt->work);
	expect_told(test, 2, HASHBELT_BY_PRESSURE, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 1, 1000), 0);
	hashbelt_clear(belt);
	flush_work(&belt->work);
	expect_told(test, 3, HASHBELT_BY_CLEAR, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 4, 1, 1000), 0);
	hashbelt_kill(belt);
	flush_work(&belt->work);
	expect_told(test, 4, HASHBELT_BY_CLEAR, NO_KEY);
	KUNIT_EXPECT_EQ(test, ask(f, 5, 1, 1000), -EIDRM);
	expect_nothing_told(test);
	expect_empty(test);
}

/* The sweep has not come by when the time is over as well: its end was the clearing. */
static void what_was_cleared_is_told_so_past_its_timeout(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key, told_of = 0;
	u32 cause;

	for (i = 0; i < 4000; i++)
		put(belt, 1000 + i);
	/* The index has grown: the sweep takes many steps. */
	come_to_rest(belt);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ(test, ask(f, i, i, 1000), 0);
	mutex_lock(&belt->round_lock);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, hb_clock_advance(&belt->clock, SEC + 2 * INTERVAL), 0);
	mutex_unlock(&belt->round_lock);
	hb_kick_worker(belt);
	come_to_rest(belt);
	while ((cause = told(f, 0, &record, &key))) {
		KUNIT_EXPECT_EQ(test, cause, (u32)HASHBELT_BY_CLEAR);
		told_of++;
	}
	KUNIT_EXPECT_EQ(test, told_of, 200u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 0ULL);
	expect_empty(test);
}

/* A request leaves as the drain lets it: claimed under the lock of its shard. */
static void let_leave(struct kunit *test, u64 id)
{
	struct fixture *f = test->priv;
	struct name name = { .client = f->clients[0]->id, .id = id };
	u32 hash = hb_hash(f->belt, &name, sizeof(name));
	struct hb_shard *shard = hb_shard_of(f->belt, hash);
	struct hashbelt_entry *entry;

	spin_lock(&shard->lock);
	entry = find_request(shard, hash, &name);
	if (entry && hb_node_try_claim(&entry->node, HASHBELT_EXPIRED)) {
		hb_wheel_del(&entry->node);
		hb_leave(shard, entry, hashbelt_now(f->belt));
	}
	spin_unlock(&shard->lock);
	KUNIT_EXPECT_NOT_NULL(test, entry);
}

/* Its id is free at once, so its end must have been told before that of the next. */
static void of_one_id_the_earlier_end_is_told_first(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 7, 1, 1000), 0);
	let_leave(test, 7);
	KUNIT_EXPECT_EQ(test, ask(f, 7, 2, 1000), 0);
	put(belt, 2);
	expect_told(test, 7, HASHBELT_BY_TIMEOUT, NO_KEY);
	expect_told(test, 7, HASHBELT_BY_PUT, 2);
	expect_nothing_told(test);
	take_out(belt, 2);
	expect_empty(test);
}

static void requests_go_with_their_holder_and_what_it_had_not_read(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2, 3, 4, 5 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, ask_for(f, i % 2, i, keys, 1 + i % 5, 0), 0);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 5), 20u);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 41u);
	hashbelt_client_close(belt, f->clients[0]);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 40ULL);
	/* Nothing waits for anything in its name. */
	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 40u);
	KUNIT_EXPECT_EQ(test, f->clients[0]->completed.count, 0ULL);
	KUNIT_EXPECT_EQ(test, f->clients[1]->completed.count, 50ULL);
	drop_holder(f, 0);
	drop_holder(f, 1);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	expect_empty(test);
}

static void one_put_completes_all_and_in_their_order(struct kunit *test)
{
	enum { MANY = 1000 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key;

	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_EQ(test, ask(f, i, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 1ULL);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
	for (i = 0; i < MANY; i++) {
		KUNIT_ASSERT_EQ(test, told(f, 0, &record, &key), (u32)HASHBELT_BY_PUT);
		KUNIT_ASSERT_EQ(test, record.version, (u64)i);
		KUNIT_ASSERT_EQ(test, record.sequence, i + 1ULL);
	}
	expect_nothing_told(test);
	take_out(belt, 1);
	expect_empty(test);
}

static void what_begins_to_wait_after_a_put_is_not_completed_by_it(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int key = 1;
	struct hb_shard *shard = hb_shard_of(belt, hb_hash(belt, &key, sizeof(key)));
	u64 stamp;

	/* As for a put that has given its lock up in between two batches. */
	KUNIT_EXPECT_EQ(test, ask(f, 1, key, 0), 0);
	spin_lock(&shard->lock);
	stamp = ++shard->versions;
	spin_unlock(&shard->lock);
	KUNIT_EXPECT_EQ(test, ask(f, 2, key, 0), 0);
	KUNIT_EXPECT_EQ(test, 1u, hb_requests_complete(belt, hb_hash(belt, &key, sizeof(key)),
						       &key, sizeof(key), HASHBELT_BY_PUT,
						       stamp));
	expect_told(test, 1, HASHBELT_BY_PUT, key);
	expect_nothing_told(test);
	KUNIT_EXPECT_EQ(test, complete_key(belt, key), 1u);
	expect_told(test, 2, HASHBELT_BY_COMPLETE, key);
	expect_empty(test);
}

static void a_request_counts_as_an_entry_until_it_is_completed(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .max_entries = 2,
	});
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 0), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 2, 2, 0), 0);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 3, 0), -ENOSPC);
	KUNIT_EXPECT_EQ(test, put(belt, 1), -ENOSPC);
	expect_nothing_told(test);
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 1), 1u);
	/* It waits to be read now, and takes nobody's place. */
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	KUNIT_EXPECT_EQ(test, put(belt, 2), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	KUNIT_EXPECT_EQ(test, ask(f, 3, 3, 1000), 0);
	/* One whose time is over makes room. */
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, put(belt, 4), 0);
	flush_work(&belt->work);
	expect_told(test, 1, HASHBELT_BY_COMPLETE, 1);
	expect_told(test, 2, HASHBELT_BY_PUT, 2);
	expect_told(test, 3, HASHBELT_BY_TIMEOUT, NO_KEY);
	take_out(belt, 2);
	take_out(belt, 4);
	expect_empty(test);
}

static void whole_events_are_taken_and_can_be_put_back(struct kunit *test)
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
	hashbelt_return_completed(belt, f->clients[0], &events);
	KUNIT_EXPECT_EQ(test, events.count, 0ULL);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, told(f, 0, &record, &key), (u32)HASHBELT_BY_PUT);
		KUNIT_EXPECT_EQ(test, record.version, (u64)i);
		KUNIT_EXPECT_EQ(test, record.sequence, i + 1ULL);
	}
	KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, SIZE_MAX, 9), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &(struct hb_fifo){},
						      SIZE_MAX, 9), -EAGAIN);
	hashbelt_client_close(belt, f->clients[0]);
	hashbelt_return_completed(belt, f->clients[0], &events);
	KUNIT_EXPECT_EQ(test, f->clients[0]->completed.count, 0ULL);
	drop_holder(f, 0);
	take_out(belt, 1);
	expect_empty(test);
}

#define KEYS	200

/* What a case knows of a request. */
struct asked {
	bool waits;
	unsigned int client;
	u64 id;
	u64 deadline;
	u32 count;
	unsigned int keys[HASHBELT_REQUEST_KEYS];
};

/**
 * struct model - requests as they should be
 * @asked:	those that wait, and free places
 * @last_id:	the newest id
 * @heard:	by cause, how many the clients were told of after the last step
 */
struct model {
	struct asked asked[60];
	u64 last_id;
	unsigned int heard[HASHBELT_BY_PRESSURE + 1];
};

static bool waits_for(const struct asked *asked, unsigned int key)
{
	u32 i;

	for (i = 0; asked->waits && i < asked->count; i++)
		if (asked->keys[i] == key)
			return true;
	return false;
}

static struct asked *asked_of(struct model *model, unsigned int client, u64 id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		if (model->asked[i].waits && model->asked[i].client == client &&
		    model->asked[i].id == id)
			return &model->asked[i];
	return NULL;
}

/* All that clients are told is of a request that waits, and for this reason. */
static void hear_all(struct kunit *test, struct model *model, enum hashbelt_cause cause,
		     unsigned int key)
{
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int client, is;
	struct asked *asked;

	memset(model->heard, 0, sizeof(model->heard));
	for (client = 0; client < ARRAY_SIZE(f->clients); client++) {
		while (told(f, client, &record, &is)) {
			asked = asked_of(model, client, record.version);
			KUNIT_ASSERT_NOT_NULL(test, asked);
			KUNIT_ASSERT_EQ(test, record.deadline_ns, asked->deadline == HB_NEVER ?
					HASHBELT_TTL_NEVER : asked->deadline);
			/* It has timed out, and may be cleared after that. */
			if (asked->deadline <= hashbelt_now(f->belt) &&
			    record.reason != HASHBELT_BY_CLEAR) {
				KUNIT_ASSERT_EQ(test, record.reason, (u32)HASHBELT_BY_TIMEOUT);
				KUNIT_ASSERT_EQ(test, is, NO_KEY);
			} else {
				KUNIT_ASSERT_EQ(test, record.reason, (u32)cause);
				KUNIT_ASSERT_EQ(test, is, key);
				KUNIT_ASSERT_TRUE(test, key == NO_KEY || waits_for(asked, key));
			}
			model->heard[record.reason]++;
			asked->waits = false;
		}
	}
}

static void ask_and_compare(struct kunit *test, struct model *model)
{
	struct fixture *f = test->priv;
	unsigned int i = prandom_u32_state(&f->rnd) % ARRAY_SIZE(model->asked);
	struct asked *asked = &model->asked[i];
	u64 ttl_ms;
	u32 n;

	if (asked->waits) {
		/* Its id is in use until its timeout, and free after it. */
		if (asked->deadline > hashbelt_now(f->belt))
			KUNIT_ASSERT_EQ(test, ask_for(f, asked->client, asked->id, asked->keys,
						      1, 0), -EEXIST);
		return;
	}
	ttl_ms = 1 + prandom_u32_state(&f->rnd) % 240000;
	asked->client = prandom_u32_state(&f->rnd) % ARRAY_SIZE(f->clients);
	asked->count = 1 + prandom_u32_state(&f->rnd) % HASHBELT_REQUEST_KEYS;
	for (n = 0; n < asked->count; n++)
		asked->keys[n] = n % 3 == 2 ? asked->keys[n / 2] :
				 prandom_u32_state(&f->rnd) % KEYS;
	asked->id = ++model->last_id;
	asked->deadline = hashbelt_now(f->belt) + ttl_ms * MS;
	if (asked->id % 8 == 0) {
		asked->deadline = HB_NEVER;
		ttl_ms = HASHBELT_TTL_NEVER;
	}
	KUNIT_ASSERT_EQ(test, 0, ask_for(f, asked->client, asked->id, asked->keys,
					 asked->count, ttl_ms));
	asked->waits = true;
}

/* Nothing waits for this key any more. */
static void expect_completed(struct kunit *test, struct model *model, unsigned int key)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		KUNIT_ASSERT_FALSE(test, waits_for(&model->asked[i], key));
}

static void complete_and_compare(struct kunit *test, struct model *model, unsigned int key)
{
	struct fixture *f = test->priv;
	u32 count = complete_key(f->belt, key);

	hear_all(test, model, HASHBELT_BY_COMPLETE, key);
	expect_completed(test, model, key);
	KUNIT_ASSERT_EQ(test, count, model->heard[HASHBELT_BY_COMPLETE]);
}

static void put_and_compare(struct kunit *test, struct model *model, unsigned int key,
			    u32 random)
{
	struct fixture *f = test->priv;
	int err;

	if (random % 2)
		err = put_bytes(f->belt, &key, sizeof(key), "7", 1, &(struct hashbelt_item){});
	else
		err = hashbelt_add(f->belt, &key, sizeof(key), &(struct hashbelt_item){},
				   &(struct hashbelt_sum){ .by = 1 });
	KUNIT_ASSERT_EQ(test, err, 0);
	hear_all(test, model, HASHBELT_BY_PUT, key);
	expect_completed(test, model, key);
}

static void cancel_and_compare(struct kunit *test, struct model *model, u32 random)
{
	struct asked *asked = &model->asked[random % ARRAY_SIZE(model->asked)];
	struct fixture *f = test->priv;
	bool waits = asked->waits && asked->deadline > hashbelt_now(f->belt);

	KUNIT_ASSERT_EQ(test, hashbelt_cancel(f->belt, f->clients[asked->client], asked->id),
			waits ? 0 : -ENOENT);
	if (waits)
		asked->waits = false;
	hear_all(test, model, 0, NO_KEY);
	KUNIT_ASSERT_FALSE(test, asked->waits);
}

static void advance_and_compare(struct kunit *test, struct model *model, u64 by)
{
	struct fixture *f = test->priv;
	unsigned int i;

	hashbelt_advance(f->belt, by);
	hear_all(test, model, 0, NO_KEY);
	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		KUNIT_ASSERT_TRUE(test, !model->asked[i].waits ||
				  model->asked[i].deadline + INTERVAL > hashbelt_now(f->belt));
}

static void leave_and_compare(struct kunit *test, struct model *model, unsigned int client)
{
	struct fixture *f = test->priv;
	unsigned int i;

	drop_holder(f, client);
	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		if (model->asked[i].client == client)
			model->asked[i].waits = false;
	f->clients[client] = hashbelt_client_new(f->belt);
	KUNIT_ASSERT_NOT_NULL(test, f->clients[client]);
}

static void take_away_and_compare(struct kunit *test, struct model *model, u32 random)
{
	struct fixture *f = test->priv;
	enum hashbelt_cause cause = HASHBELT_BY_CLEAR;
	unsigned int i, done = ~0;

	if (random % 8) {
		cause = random % 2 ? HASHBELT_BY_EVICTION : HASHBELT_BY_PRESSURE;
		done = hb_evict(f->belt, (enum hashbelt_reason)cause, random % 5);
	} else {
		hashbelt_clear(f->belt);
	}
	flush_work(&f->belt->work);
	hear_all(test, model, cause, NO_KEY);
	KUNIT_ASSERT_LE(test, model->heard[cause], done);
	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		KUNIT_ASSERT_TRUE(test, cause != HASHBELT_BY_CLEAR || !model->asked[i].waits);
}

static void one_step(struct kunit *test, struct model *model, u32 op, u32 random)
{
	unsigned int key = random % KEYS;
	struct fixture *f = test->priv;

	switch (op % 32) {
	case 0 ... 2:
		put_and_compare(test, model, key, random / KEYS);
		break;
	case 3 ... 4:
		complete_and_compare(test, model, key);
		break;
	case 5 ... 6:
		cancel_and_compare(test, model, random);
		break;
	case 7 ... 8:
		advance_and_compare(test, model, random % (40 * SEC));
		break;
	case 9:
		move_time_only(f->belt, random % (10 * SEC));
		break;
	case 10:
		if (random % 4 == 0)
			leave_and_compare(test, model, random / 4 % 4);
		break;
	case 11:
		take_away_and_compare(test, model, random / KEYS);
		break;
	case 12:
		take_out(f->belt, key);
		hear_all(test, model, 0, NO_KEY);
		break;
	default:
		ask_and_compare(test, model);
	}
}

static unsigned int count_waiting(const struct model *model)
{
	unsigned int i, count = 0;

	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		count += model->asked[i].waits;
	return count;
}

static void requests_are_completed_once_in_any_history(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .handler = HASHBELT_NOTIFY, .max_events = 100,
	});
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, model);
	for (i = 0; i < 8000; i++) {
		u32 op = prandom_u32_state(&f->rnd);

		one_step(test, model, op, prandom_u32_state(&f->rnd));
		check_books(test, belt);
		KUNIT_ASSERT_EQ(test, info_of(belt).requests, (u64)count_waiting(model));
		if (i % 500 == 0)
			KUNIT_ASSERT_EQ(test, memory_besides(belt), f->besides);
	}
	KUNIT_EXPECT_GT(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 50ULL);
	KUNIT_EXPECT_GT(test, stat_of(belt, HASHBELT_STAT_COMPLETED), 500ULL);
	for (i = 0; i < ARRAY_SIZE(f->clients); i++)
		leave_and_compare(test, model, i);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 0ULL);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
}

static void what_expires_in_one_batch_leaves_whatever_it_is(struct kunit *test)
{
	enum { EACH = 300 };
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .buckets = 2, .handler = HASHBELT_NOTIFY,
		.reasons = HASHBELT_REPORT_ALL,
	});
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
		check_books(test, belt);
		/* The worker drains and sweeps; or only sweeps. */
		if (round < 2)
			hashbelt_advance(belt, TTL + SEC);
		else
			hashbelt_clear(belt);
		come_to_rest(belt);
		check_books(test, belt);
		KUNIT_EXPECT_EQ(test, hb_count_entries(belt), 0ULL);
		KUNIT_EXPECT_EQ(test, f->clients[0]->completed.count, (u64)EACH);
		KUNIT_EXPECT_EQ(test, info_of(belt).queued, 2ULL * EACH);
		events = (struct hb_fifo){};
		KUNIT_EXPECT_EQ(test, hashbelt_take_completed(f->clients[0], &events, SIZE_MAX,
							      U64_MAX), 0);
		hashbelt_settle_completed(belt, &events);
		KUNIT_EXPECT_EQ(test, hashbelt_take_events(belt, &events, SIZE_MAX, U64_MAX,
							   false, &lost), 0);
		hashbelt_settle_events(belt, &events, false);
		expect_empty(test);
	}
}

/* Registering */

static void what_fails_for_want_of_memory_leaves_nothing(struct kunit *test)
{
	unsigned int keys[HASHBELT_REQUEST_KEYS], i, failed = 0;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	int err = -ENOSPC;
	u64 room;

	/* The last one is there already, and needs no point of its own. */
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
		expect_nothing_told(test);
		expect_empty(test);
		KUNIT_ASSERT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	}
	/* At every one of the 15 points, and before. */
	KUNIT_EXPECT_GE(test, failed, 16u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REQUESTS), 1ULL);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 107), 1u);
	expect_told(test, 1, HASHBELT_BY_COMPLETE, 107);
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

/* A request for the keys 1 and 2 of which the first watch stands; its shard. */
static struct hb_shard *begin(struct kunit *test, struct hashbelt_entry **entry)
{
	static const unsigned int keys[] = { 1, 2 };
	struct fixture *f = test->priv;
	struct hb_request *request;
	struct hb_shard *shard;

	*entry = draft(f, 0, 1, keys, 2);
	KUNIT_ASSERT_FALSE(test, IS_ERR(*entry));
	shard = hb_shard_of(f->belt, (*entry)->hash);
	request = hb_tail(*entry);
	KUNIT_ASSERT_EQ(test, request_insert(shard, *entry, 0), 0);
	hash_watches(f, *entry);
	KUNIT_ASSERT_EQ(test, link_watch(f->belt, *entry, &request->watches[0]), 0);
	return shard;
}

/* What can come in between. */
static void a_put_comes(struct fixture *f)
{
	put(f->belt, 1);
}

static void a_complete_comes(struct fixture *f)
{
	complete_key(f->belt, 1);
}

static void a_cancel_comes(struct fixture *f)
{
	hashbelt_cancel(f->belt, f->clients[0], 1);
}

static void a_clear_comes(struct fixture *f)
{
	hashbelt_clear(f->belt);
	come_to_rest(f->belt);
}

static void its_holder_goes(struct fixture *f)
{
	hashbelt_client_close(f->belt, f->clients[0]);
}

static void the_belt_ends(struct fixture *f)
{
	hashbelt_kill(f->belt);
	come_to_rest(f->belt);
}

static void a_put_comes_that_it_does_not_see(struct fixture *f)
{
	put(f->belt, 2);
}

static void its_time_is_over(struct fixture *f)
{
	hashbelt_advance(f->belt, TTL + INTERVAL);
}

static void the_belt_gives_all_up(struct fixture *f)
{
	hb_evict(f->belt, HASHBELT_PRESSURE, 9);
}

struct middle {
	const char *name;
	void (*act)(struct fixture *f);
	enum hashbelt_cause cause;	/* that is told; 0: none */
	unsigned int key;
	bool stays;			/* until it is made, and until it is completed by hand */
};

static const struct middle middles[] = {
	{ "a put", a_put_comes, HASHBELT_BY_PUT, 1, false },
	{ "a complete", a_complete_comes, HASHBELT_BY_COMPLETE, 1, false },
	{ "a cancel", a_cancel_comes, 0, 0, false },
	{ "a clear", a_clear_comes, HASHBELT_BY_CLEAR, NO_KEY, false },
	{ "its holder's end", its_holder_goes, 0, 0, false },
	{ "the belt's end", the_belt_ends, HASHBELT_BY_CLEAR, NO_KEY, false },
	{ "a put of the other key", a_put_comes_that_it_does_not_see, 0, 0, true },
	{ "its deadline", its_time_is_over, HASHBELT_BY_TIMEOUT, NO_KEY, true },
	{ "want of memory", the_belt_gives_all_up, 0, 0, true },
};

static void middle_name(const struct middle *middle, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", middle->name);
}

KUNIT_ARRAY_PARAM(middle, middles, middle_name);

static void what_comes_while_it_is_made_completes_it_once(struct kunit *test)
{
	const struct middle *middle = test->param_value;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	struct hb_request *request;
	struct hb_shard *shard = begin(test, &entry);

	request = hb_tail(entry);
	middle->act(f);
	/* It is told at once, and who makes it takes it apart, though it was read. */
	if (middle->cause && !middle->stays)
		expect_told(test, 1, middle->cause, middle->key);
	expect_nothing_told(test);
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, middle->stays ? 1ULL : 0ULL);
	KUNIT_ASSERT_EQ(test, link_watch(belt, entry, &request->watches[1]), 0);
	request_arm(shard, entry);
	check_books(test, belt);
	if (middle->stays) {
		KUNIT_EXPECT_EQ(test, complete_key(belt, 2), middle->cause ? 0u : 1u);
		expect_told(test, 1, middle->cause ?: HASHBELT_BY_COMPLETE,
			    middle->cause ? middle->key : 2);
	}
	expect_nothing_told(test);
	if (f->clients[0]->gone)
		drop_holder(f, 0);
	take_out(belt, 1);
	take_out(belt, 2);
	expect_empty(test);
}

/* Nothing is left of one that failed and was completed meanwhile: it counts as made. */
static void what_fails_after_it_was_completed_is_told_all_the_same(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_entry *entry;
	struct hb_shard *shard = begin(test, &entry);

	put(belt, 1);
	KUNIT_EXPECT_FALSE(test, hb_request_release(belt, entry));
	request_arm(shard, entry);
	expect_told(test, 1, HASHBELT_BY_PUT, 1);
	expect_nothing_told(test);
	take_out(belt, 1);
	expect_empty(test);
}

/* Completing */

/* Claims what waits for a key, as a put does that has the lock of its shard. */
static void claim_all(struct fixture *f, unsigned int key, struct list_head *claimed)
{
	u32 hash = hb_hash(f->belt, &key, sizeof(key));
	struct hb_shard *shard = hb_shard_of(f->belt, hash);
	struct hb_waitpoint *point;

	spin_lock(&shard->lock);
	point = hb_waitpoint_find(shard, hash, &key, sizeof(key));
	if (point)
		hb_requests_claim(shard, point, HASHBELT_BY_PUT, U64_MAX, claimed);
	spin_unlock(&shard->lock);
}

static void one_that_is_claimed_before_it_is_made_is_told_once(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	struct hb_request *request;
	struct hb_shard *shard = begin(test, &entry);
	LIST_HEAD(claimed);

	request = hb_tail(entry);
	KUNIT_ASSERT_EQ(test, link_watch(belt, entry, &request->watches[1]), 0);
	claim_all(f, 1, &claimed);
	request_arm(shard, entry);
	expect_nothing_told(test);
	KUNIT_EXPECT_EQ(test, hb_requests_finish(belt, &claimed), 1u);
	expect_told(test, 1, HASHBELT_BY_PUT, 1);
	expect_nothing_told(test);
	expect_empty(test);
}

/* A task that finds a request claimed leaves it to the task that has claimed it. */
static void one_that_is_claimed_is_nobody_elses(struct kunit *test)
{
	static const unsigned int keys[] = { 1, 2, 1, 3 };
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	LIST_HEAD(claimed);

	KUNIT_ASSERT_EQ(test, ask_for(f, 0, 1, keys, 4, 1000), 0);
	claim_all(f, 1, &claimed);
	KUNIT_EXPECT_EQ(test, complete_key(belt, 2), 0u);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 1), -ENOENT);
	KUNIT_EXPECT_LE(test, hb_evict(belt, HASHBELT_EVICTED, 1), 1u);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, TTL + INTERVAL), 0);
	expect_nothing_told(test);
	/* The sweep would try until it is gone: it is, when the worker comes. */
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, hb_requests_finish(belt, &claimed), 1u);
	expect_told(test, 1, HASHBELT_BY_PUT, 1);
	expect_nothing_told(test);
	expect_empty(test);
}

/* 20 */

static int fill_key(struct fixture *f, unsigned int key, bool ahead, u64 *token)
{
	struct hashbelt_fill fill = { .ahead_ms = HASHBELT_TTL_NEVER };
	int err = hashbelt_fill(f->belt, NULL, &key, sizeof(key), &fill, ahead);

	*token = fill.token;
	return err;
}

static int give_up_key(struct fixture *f, unsigned int key, u64 token)
{
	return hashbelt_give_up(f->belt, &key, sizeof(key), token);
}

/* A task that waits for somebody to fill a key, for ever. */
static struct waiter *line_up(struct kunit *test, unsigned int i, unsigned int key,
			      struct hb_client *client)
{
	struct fixture *f = test->priv;
	struct waiter *waiter = &f->waiters[i];

	*waiter = (struct waiter){
		.belt = f->belt, .client = client, .key = key, .turn = &f->turn, .fills = true,
		.fill = { .wait_ms = HASHBELT_TTL_NEVER },
	};
	KUNIT_ASSERT_TRUE(test, waiter_start(waiter));
	return waiter;
}

static void one_of_those_who_miss_may_fill(struct kunit *test)
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
	check_books(test, belt);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 2ULL);
	put(belt, key);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), -EAGAIN);
	KUNIT_EXPECT_EQ(test, give_up_key(f, key, token), -ENOENT);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 2, other), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_FILLS), 2ULL);
	take_out(belt, key);
	expect_empty(test);
	hashbelt_kill(belt);
	KUNIT_EXPECT_EQ(test, fill_key(f, key, false, &token), -EIDRM);
	KUNIT_EXPECT_EQ(test, give_up_key(f, key, token), -EIDRM);
}

static void a_put_by_whoever_it_is_ends_the_waiting(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	unsigned int i;
	u64 token;

	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	for (i = 0; i < 3; i++)
		line_up(test, i, 1, NULL);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 1, 0), 0);
	check_books(test, belt);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_FILL], 0ULL);
	expect_told(test, 1, HASHBELT_BY_PUT, 1);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[i]));
		/* To look again: there is a value. */
		KUNIT_EXPECT_EQ(test, f->waiters[i].err, -EAGAIN);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_FILLS), 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

/* Ways in which somebody's right to fill key 1 ends without a put. */
static void the_lease_ends(struct fixture *f, u64 token)
{
	hashbelt_advance(f->belt, 10 * SEC);
	waiter_has_ended(&f->waiters[0]);
}

static void the_lease_is_over_when_another_looks(struct fixture *f, u64 token)
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

static void the_holder_leaves(struct fixture *f, u64 token)
{
	drop_holder(f, 0);
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

struct ending {
	const char *name;
	void (*act)(struct fixture *f, u64 token);
};

static const struct ending endings[] = {
	{ "the lease ends", the_lease_ends },
	{ "the lease is over when another looks", the_lease_is_over_when_another_looks },
	{ "it is drained", it_is_drained },
	{ "it is given up", it_is_given_up },
	{ "the holder leaves", the_holder_leaves },
	{ "it is cleared", it_is_cleared },
	{ "it is evicted", it_is_evicted },
};

static void ending_name(const struct ending *ending, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", ending->name);
}

KUNIT_ARRAY_PARAM(ending, endings, ending_name);

static void the_right_is_handed_over(struct kunit *test, unsigned int others)
{
	const struct ending *ending = test->param_value;
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	struct hashbelt_fill fill = {};
	struct waiter *waiter = &f->waiters[0];
	unsigned int key = 1, i;
	u64 token;

	KUNIT_ASSERT_EQ(test, hashbelt_fill(belt, f->clients[0], &key, sizeof(key), &fill,
					    false), 0);
	for (i = 0; i <= others; i++)
		line_up(test, i, key, f->clients[1]);
	ending->act(f, fill.token);
	check_books(test, belt);
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

static void the_only_one_who_waits_may_fill_next(struct kunit *test)
{
	the_right_is_handed_over(test, 0);
}

static void the_first_of_many_who_wait_may_fill_next(struct kunit *test)
{
	the_right_is_handed_over(test, 2);
}

static void ahead_one_is_asked_while_there_is_a_value(struct kunit *test)
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
	/* The right is not the value's: it stays when that goes. */
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, true, &token), 0);
	take_out(belt, 1);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &other), -EBUSY);
	KUNIT_EXPECT_EQ(test, give_up_key(f, 1, token), 0);
	expect_empty(test);
}

static void a_right_to_fill_counts_as_an_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .max_entries = 2,
	});
	struct fixture *f = test->priv;
	u64 token;

	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, fill_key(f, 3, false, &token), -ENOSPC);
	check_books(test, belt);
	take_out(belt, 2);
	/* The value beside the right, and then in its place. */
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

/* 22 */

static bool is_stale(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hashbelt_find_stale(belt, &key, sizeof(key), hashbelt_now(belt));
	rcu_read_unlock();
	return entry;
}

static void on_event(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		     const struct hashbelt_event *event, void *arg)
{
	unsigned int key;
	u64 due;

	if (event->reason != HASHBELT_EXPIRED || event->kind != HASHBELT_ENTRY)
		return;
	memcpy(&key, entry->data, sizeof(key));
	due = lives.deadlines[key] + belt->grace;
	lives.wrong += event->deadline_ns != lives.deadlines[key] || event->handed_ns < due ||
		    event->handed_ns > due + INTERVAL;
	lives.expired++;
}

static struct hashbelt_belt *make_graceful(struct kunit *test, u64 grace)
{
	struct hashbelt_config config = {
		.handler = HASHBELT_NOTIFY, .event = on_event, .grace = grace,
	};

	return make(test, config);
}

static void an_old_value_is_there_for_the_grace_time_and_for_no_get(struct kunit *test)
{
	struct hashbelt_belt *belt = make_graceful(test, 100 * SEC);
	struct hashbelt_item item = { .ttl_ms = 77 };
	struct hashbelt_entry *entry;
	unsigned int key = 1;
	u64 now;

	put(belt, key);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	move_time_only(belt, TTL - HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, has(belt, key));
	move_time_only(belt, HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	KUNIT_EXPECT_FALSE(test, has(belt, key));
	/* That has sealed it. */
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	now = hashbelt_now(belt);
	rcu_read_lock();
	entry = hashbelt_find_stale(belt, &key, sizeof(key), now);
	if (entry)
		KUNIT_EXPECT_TRUE(test, hashbelt_hit_stale(belt, entry, &item, now));
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 0ULL);
	KUNIT_EXPECT_EQ(test, item.value_len, 4u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_STALE), 1ULL);
	move_time_only(belt, 100 * SEC - HB_GRAIN);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, key));
	move_time_only(belt, HB_GRAIN);
	KUNIT_EXPECT_FALSE(test, is_stale(belt, key));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_HITS), 1ULL);
}

static void the_handler_runs_after_the_grace_and_at_most_an_interval_late(struct kunit *test)
{
	struct hashbelt_belt *belt = make_graceful(test, 100 * SEC + 12345 * MS);
	struct fixture *f = test->priv;

	put_thousand(test, belt, &f->rnd, lives.deadlines);
	while (belt->clock.wake != HB_NEVER) {
		KUNIT_ASSERT_EQ(test, advance_to_alarm(belt), 0);
		/* Some are sealed on the way. */
		has(belt, prandom_u32_state(&f->rnd) % 1000);
	}
	KUNIT_EXPECT_EQ(test, lives.expired, 1000u);
	KUNIT_EXPECT_EQ(test, lives.wrong, 0u);
	expect_empty(test);
}

/* Whatever the deadline and the grace time are multiples of. */
static void a_sealed_entry_is_not_drained_early(struct kunit *test)
{
	static const u64 graces[] = { 1000, 60000, 61000, 120000, 600000, 86400000 };
	struct hashbelt_belt *belt = make_graceful(test, SEC);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(graces); i++) {
		u64 now, grace = graces[i] * MS;

		KUNIT_ASSERT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){
			.grace = grace }, HASHBELT_SET_GRACE), 0);
		/* Onto the border of a bucket, and then off it. */
		now = hashbelt_now(belt);
		hashbelt_advance(belt, INTERVAL - now % INTERVAL + (i % 2 ? 7 * MS : 0));
		lives.deadlines[1] = hashbelt_now(belt) + 120 * SEC;
		put_ttl(belt, 1, 120000);
		hashbelt_advance(belt, 120 * SEC);
		KUNIT_EXPECT_FALSE(test, has(belt, 1));
		for (now = 0; now < grace - HB_GRAIN; now += min(grace - HB_GRAIN - now,
								 INTERVAL / 2)) {
			KUNIT_ASSERT_EQ(test, lives.expired, i);
			KUNIT_ASSERT_TRUE(test, is_stale(belt, 1));
			hashbelt_advance(belt, min(grace - HB_GRAIN - now, INTERVAL / 2));
		}
		KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
		KUNIT_EXPECT_EQ(test, lives.expired, i);
		hashbelt_advance(belt, HB_GRAIN + INTERVAL);
		KUNIT_EXPECT_EQ(test, lives.expired, i + 1);
		KUNIT_EXPECT_EQ(test, lives.wrong, 0u);
	}
	expect_empty(test);
}

static void writers_find_an_entry_in_its_grace_time_expired(struct kunit *test)
{
	struct hashbelt_belt *belt = make_graceful(test, 100 * SEC);
	struct hashbelt_sum sum = { .by = 1, .value = 41 };
	struct hashbelt_item item = { .how = HASHBELT_IF_PRESENT };
	unsigned int key;

	for (key = 1; key <= 5; key++)
		put_bytes(belt, &key, sizeof(key), "5", 1, &(struct hashbelt_item){});
	move_time_only(belt, TTL);
	key = 1;
	KUNIT_EXPECT_EQ(test, put_bytes(belt, &key, sizeof(key), "", 0, &item), -ENOENT);
	KUNIT_EXPECT_EQ(test, take_out(belt, 2), -ENOENT);
	KUNIT_EXPECT_EQ(test, touch(belt, 3, 1000), -ENOENT);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 3));
	key = 4;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){},
					   &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 42LL);
	put(belt, 5);
	flush_work(&belt->work);
	/* A writer hands the expired entries that it finds to the handler before it writes. */
	KUNIT_EXPECT_EQ(test, lives.expired, 4u);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 4ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_PUTS_REPLACED), 0ULL);
	KUNIT_EXPECT_TRUE(test, has(belt, 5));
}

static void an_old_value_does_not_keep_anybody_from_filling(struct kunit *test)
{
	struct hashbelt_belt *belt = make_graceful(test, 100 * SEC);
	struct fixture *f = test->priv;
	u64 token;

	put(belt, 1);
	move_time_only(belt, TTL);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), -EBUSY);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
	put(belt, 1);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, fill_key(f, 1, false, &token), -EAGAIN);
}

static void another_grace_time_loses_no_entry(struct kunit *test)
{
	static const u64 graces[] = {
		100 * SEC, 0, 1000 * SEC, 10 * SEC, HASHBELT_TTL_MAX_MS * MS, 30 * SEC, MS,
	};
	struct hashbelt_belt *belt = make_plain(test);
	unsigned int key, step;
	u64 grace = 0, now;

	for (key = 0; key < 900; key++) {
		lives.deadlines[key] = hashbelt_now(belt) + (1 + key) * SEC;
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000 * (1 + key)), 0);
	}
	for (step = 0; step < 4 * ARRAY_SIZE(graces); step++) {
		if (step % 4 == 0)
			grace = graces[step / 4];
		KUNIT_ASSERT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){
			.grace = grace, .buckets = 2 + step % 3 }, HASHBELT_SET_GRACE |
			(step % 2 ? HASHBELT_SET_BUCKETS : 0)), 0);
		KUNIT_EXPECT_EQ(test, info_of(belt).grace_ms, grace / MS);
		for (now = 0; now < 2; now++) {
			for (key = 0; key < 900; key++) {
				u64 is = hashbelt_now(belt), end = lives.deadlines[key];

				lives.over[key] |= end + grace <= is;
				KUNIT_ASSERT_EQ(test, has(belt, key), end > is);
				if (end + grace <= is)
					KUNIT_ASSERT_FALSE(test, is_stale(belt, key));
				else if (!lives.over[key])
					KUNIT_ASSERT_TRUE(test, is_stale(belt, key));
			}
			if (!now)
				hashbelt_advance(belt, 25 * SEC);
		}
		check_books(test, belt);
	}
	hashbelt_advance(belt, 1000 * SEC);
	hashbelt_advance(belt, 1000 * SEC);
	expect_empty(test);
}

static void the_longest_life_and_grace_fit(struct kunit *test)
{
	struct hashbelt_belt *belt = make_graceful(test, HASHBELT_TTL_MAX_MS * MS);

	lives.deadlines[1] = hashbelt_now(belt) + HASHBELT_TTL_MAX_MS * MS;
	KUNIT_EXPECT_EQ(test, put_ttl(belt, 1, HASHBELT_TTL_MAX_MS), 0);
	KUNIT_EXPECT_EQ(test, put_ttl(belt, 2, HASHBELT_TTL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, HASHBELT_TTL_MAX_MS * MS), 0);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
	KUNIT_EXPECT_TRUE(test, has(belt, 2));
	KUNIT_EXPECT_EQ(test, lives.expired, 0u);
	KUNIT_EXPECT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){ .grace = 0 },
					   HASHBELT_SET_GRACE), 0);
	hashbelt_advance(belt, INTERVAL);
	KUNIT_EXPECT_EQ(test, lives.expired, 1u);
}

static void only_entries_have_a_grace_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED, .grace = 10000 * SEC,
	});
	struct fixture *f = test->priv;
	u64 token;

	put_ttl(belt, 1, 1000);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 2, 1000), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, NULL, 1, 'A',
				      &(struct hashbelt_lock){ .ttl_ms = 1000 }), 0);
	KUNIT_EXPECT_EQ(test, fill_key(f, 2, false, &token), 0);
	hashbelt_advance(belt, 10 * SEC + INTERVAL);
	expect_told(test, 1, HASHBELT_BY_TIMEOUT, NO_KEY);
	KUNIT_EXPECT_EQ(test, hb_count_entries(belt), 1ULL);
	KUNIT_EXPECT_TRUE(test, is_stale(belt, 1));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 1ULL);
	take_out(belt, 1);
	expect_empty(test);
}

/* What expires first, of those that can go, stands behind one that has no grace time. */
static void what_has_expired_makes_room_also_in_its_grace_time(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.max_entries = 2, .grace = 100 * SEC,
	});
	struct fixture *f = test->priv;
	unsigned int round;

	/* In one shard or in two. */
	for (round = 0; round < 20; round++) {
		KUNIT_ASSERT_EQ(test, put_ttl(belt, round, 1000), 0);
		KUNIT_ASSERT_EQ(test, ask(f, round, 100, 50000), 0);
		move_time_only(belt, 2 * SEC);
		KUNIT_ASSERT_EQ(test, put(belt, 50 + round), 0);
		KUNIT_EXPECT_EQ(test, info_of(belt).requests, 1ULL);
		hashbelt_clear(belt);
		come_to_rest(belt);
	}
}

/* 21 */

static int put_text(struct hashbelt_belt *belt, unsigned int key, const char *text)
{
	return put_bytes(belt, &key, sizeof(key), text, strlen(text),
			 &(struct hashbelt_item){ .flags = 5 });
}

/* What is there, as text. */
static void get_text(struct hashbelt_belt *belt, unsigned int key, char text[32])
{
	struct hashbelt_entry *entry;

	strscpy(text, "nothing", 32);
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), hashbelt_now(belt), NULL);
	if (entry && entry->value_len < 32) {
		memcpy(text, hashbelt_entry_value(entry), entry->value_len);
		text[entry->value_len] = 0;
	}
	rcu_read_unlock();
}

static int add_to(struct hashbelt_belt *belt, unsigned int key, s64 by, s64 *sum)
{
	struct hashbelt_sum is = { .by = by, .value = *sum };
	int err = hashbelt_add(belt, &key, sizeof(key), &(struct hashbelt_item){}, &is);

	*sum = is.value;
	return err;
}

struct text {
	const char *is;
	s64 by;
	int err;
	const char *becomes;
};

static const struct text texts[] = {
	{ "0", 0, 0, "0" },
	{ "-0", 0, 0, "0" },
	{ "7", 3, 0, "10" },
	{ "10", -1, 0, "9" },
	{ "007", 1, 0, "8" },
	{ "-5", 5, 0, "0" },
	{ "5", -6, 0, "-1" },
	{ "-0000000000000000001", 2, 0, "1" },
	{ "9223372036854775807", 0, 0, "9223372036854775807" },
	{ "9223372036854775806", 1, 0, "9223372036854775807" },
	{ "9223372036854775807", 1, -EOVERFLOW, NULL },
	{ "9223372036854775808", 0, -EBADMSG, NULL },
	{ "9223372036854775807", S64_MIN, 0, "-1" },
	{ "9999999999999999999", 0, -EBADMSG, NULL },
	{ "-9223372036854775808", 0, 0, "-9223372036854775808" },
	{ "-9223372036854775808", -1, -EOVERFLOW, NULL },
	{ "-9223372036854775808", S64_MAX, 0, "-1" },
	{ "-9223372036854775809", 0, -EBADMSG, NULL },
	{ "-9999999999999999999", 0, -EBADMSG, NULL },
	{ "-1", S64_MIN, -EOVERFLOW, NULL },
	{ "00000000000000000001", 0, -EBADMSG, NULL },
	{ "", 0, -EBADMSG, NULL },
	{ "-", 0, -EBADMSG, NULL },
	{ "--1", 0, -EBADMSG, NULL },
	{ "+1", 0, -EBADMSG, NULL },
	{ " 1", 0, -EBADMSG, NULL },
	{ "1 ", 0, -EBADMSG, NULL },
	{ "1\n", 0, -EBADMSG, NULL },
	{ "1.0", 0, -EBADMSG, NULL },
	{ "0x1", 0, -EBADMSG, NULL },
	{ "1-", 0, -EBADMSG, NULL },
	{ "/", 0, -EBADMSG, NULL },
	{ ":", 0, -EBADMSG, NULL },
};

static void a_number_is_what_the_contract_says_and_nothing_else(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	unsigned int i;
	char text[32];
	u64 version;
	s64 sum;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		sum = 12345;
		put_text(belt, i, texts[i].is);
		version = version_of(belt, i);
		KUNIT_EXPECT_EQ(test, add_to(belt, i, texts[i].by, &sum), texts[i].err);
		get_text(belt, i, text);
		KUNIT_EXPECT_STREQ(test, text, texts[i].becomes ?: texts[i].is);
		if (texts[i].err) {
			/* It is as it was. */
			KUNIT_EXPECT_EQ(test, version_of(belt, i), version);
			KUNIT_EXPECT_EQ(test, sum, 12345LL);
		} else {
			KUNIT_EXPECT_GT(test, version_of(belt, i), version);
		}
	}
	check_books(test, belt);
}

static void an_addition_keeps_what_the_number_has_left(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct hashbelt_item item = { .ttl_ms = 100000, .flags = 9 };
	struct hashbelt_sum sum = { .by = 5, .value = 100 };
	unsigned int key = 1;

	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 105LL);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 100000ULL);
	KUNIT_EXPECT_EQ(test, item.version, version_of(belt, key));
	hashbelt_advance(belt, 30 * SEC);
	item = (struct hashbelt_item){ .ttl_ms = 1, .flags = 10 };
	sum.value = 0;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 110LL);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 70000ULL);
	item.how = HASHBELT_NO_REFRESH;
	KUNIT_EXPECT_EQ(test, get_item(belt, key, &item), 0);
	KUNIT_EXPECT_EQ(test, item.flags, 9u);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 70000ULL);
	/* What has expired is not there. */
	move_time_only(belt, 70 * SEC);
	sum = (struct hashbelt_sum){ .by = -1, .value = 1 };
	item = (struct hashbelt_item){ .ttl_ms = HASHBELT_TTL_NEVER, .flags = 11 };
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 0LL);
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, -1LL);
	KUNIT_EXPECT_EQ(test, left_of(belt, key), HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_ADDS), 4ULL);
	item.ttl_ms = HASHBELT_TTL_KEEP;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), -EINVAL);
	item.ttl_ms = HASHBELT_TTL_MAX_MS + 1;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), -EINVAL);
	/* Nor can one that is not there begin beyond all numbers. */
	key = 2;
	sum = (struct hashbelt_sum){ .by = 1, .value = S64_MAX };
	item.ttl_ms = 0;
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), -EOVERFLOW);
	KUNIT_EXPECT_FALSE(test, has(belt, key));
}

static void sums_are_right_over_a_random_walk(struct kunit *test)
{
	struct hashbelt_belt *belt = make_plain(test);
	struct fixture *f = test->priv;
	s64 sums[8] = {}, sum, result;
	unsigned int i, key;

	for (i = 0; i < 5000; i++) {
		s64 by = (s64)((u64)prandom_u32_state(&f->rnd) << 32 |
			       prandom_u32_state(&f->rnd)) >> prandom_u32_state(&f->rnd) % 64;

		key = i % ARRAY_SIZE(sums);
		sum = 0;
		if (check_add_overflow(sums[key], by, &result)) {
			KUNIT_ASSERT_EQ(test, add_to(belt, key, by, &sum), -EOVERFLOW);
			continue;
		}
		KUNIT_ASSERT_EQ(test, add_to(belt, key, by, &sum), 0);
		KUNIT_ASSERT_EQ(test, sum, result);
		sums[key] = result;
	}
	check_books(test, belt);
}

static u32 flags_of(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	struct hashbelt_entry *entry;
	u32 flags = 0;

	rcu_read_lock();
	entry = hashbelt_find(belt, key, key_len, hashbelt_now(belt), NULL);
	if (entry)
		flags = entry->flags;
	rcu_read_unlock();
	return flags;
}

/* Also where others have to go, for it needs more room. */
static void a_number_has_the_flags_that_it_began_with(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT,
	});
	static const char key[15] = "fourteen bytes";
	struct hashbelt_item item = { .ttl_ms = 1000, .flags = 1 };
	struct hashbelt_sum sum = { .value = 9 };

	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	hashbelt_set(belt, &(struct hashbelt_config){ .max_bytes = info_of(belt).used_bytes },
		     HASHBELT_SET_MAX_BYTES);
	item = (struct hashbelt_item){ .ttl_ms = 1000, .flags = 2 };
	sum = (struct hashbelt_sum){ .by = 1, .value = 5 };
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 10LL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 1ULL);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, flags_of(belt, key, sizeof(key)), 1u);
	hashbelt_expire(belt, key, sizeof(key));
	item = (struct hashbelt_item){ .ttl_ms = 1000, .flags = 2 };
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, key, sizeof(key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, flags_of(belt, key, sizeof(key)), 2u);
}

/* Kinds */

static struct hashbelt_entry *find_kind(struct fixture *f, unsigned int key,
					enum hb_kind kind)
{
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hb_index_find(&f->belt->index, hb_hash(f->belt, &key, sizeof(key)) | kind,
			      &key, sizeof(key));
	rcu_read_unlock();
	return entry;
}

static void expect_kinds(struct kunit *test, unsigned int key, unsigned int kinds)
{
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	enum hb_kind kind;

	for (kind = HB_ENTRY; kind <= HB_WAITPOINT; kind++) {
		entry = find_kind(f, key, kind);
		KUNIT_EXPECT_EQ(test, !!entry, !!(kinds & BIT(kind)));
		if (entry)
			KUNIT_EXPECT_EQ(test, hb_kind(entry), kind);
	}
	KUNIT_EXPECT_EQ(test, has(f->belt, key), !!(kinds & BIT(HB_ENTRY)));
	check_books(test, f->belt);
}

static void kinds_of_one_key_are_found_apart(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED,
	});
	struct hashbelt_lock lock = {};
	struct fixture *f = test->priv;
	unsigned int key;
	u64 token;

	for (key = 0; key < 50; key++) {
		KUNIT_ASSERT_EQ(test, lock_plainly(belt, key, 'A'), 0);
		expect_kinds(test, key, BIT(HB_LOCK));
		KUNIT_ASSERT_EQ(test, take_out(belt, key), -ENOENT);
		KUNIT_ASSERT_EQ(test, touch(belt, key, 0), -ENOENT);
		KUNIT_ASSERT_EQ(test, hashbelt_expire(belt, &key, sizeof(key)), -ENOENT);
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		KUNIT_ASSERT_EQ(test, fill_key(f, key, true, &token), 0);
		KUNIT_ASSERT_EQ(test, ask(f, key, key, 0), 0);
		expect_kinds(test, key, BIT(HB_ENTRY) | BIT(HB_LOCK) | BIT(HB_FILL) |
			     BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, take_out(belt, key), 0);
		expect_kinds(test, key, BIT(HB_LOCK) | BIT(HB_FILL) | BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, owner_of(belt, key, &lock), 'A');
		KUNIT_ASSERT_EQ(test, unlock_as(belt, key, 'A'), 0);
		expect_kinds(test, key, BIT(HB_FILL) | BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, give_up_key(f, key, token), 0);
		expect_kinds(test, key, BIT(HB_WAITPOINT));
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		expect_kinds(test, key, BIT(HB_ENTRY));
	}
}

/* A request is found by its name alone, even by who puts an entry of these bytes. */
static void a_request_and_an_entry_of_its_name_do_not_meet(struct kunit *test)
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
	expect_nothing_told(test);
	KUNIT_EXPECT_EQ(test, hashbelt_cancel(belt, f->clients[0], 1), 0);
	expect_empty(test);
}

static void only_entries_are_scanned(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_PINNED,
	});
	struct hashbelt_scan scan = { .size = 1024 };
	struct fixture *f = test->priv;
	u64 counts[4] = {}, cursor = 0, token;
	u64 *buffer = kunit_kzalloc(test, 1024, GFP_KERNEL);
	unsigned int records = 0;
	u32 used;

	KUNIT_ASSERT_NOT_NULL(test, buffer);
	put(belt, 1);
	lock_plainly(belt, 2, 'A');
	fill_key(f, 3, false, &token);
	KUNIT_EXPECT_EQ(test, ask(f, 1, 4, 0), 0);
	do {
		scan.size = 1024;
		KUNIT_ASSERT_EQ(test, hashbelt_scan(belt, &scan, buffer, &used), 0);
		records += scan.count;
	} while (scan.cursor);
	KUNIT_EXPECT_EQ(test, records, 1u);
	do {
		KUNIT_ASSERT_EQ(test, hashbelt_buckets(belt, &cursor, counts, 4), 0);
	} while (cursor);
	KUNIT_EXPECT_EQ(test, counts[0] + counts[1] + counts[2] + counts[3], 1ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 4ULL);
}

/* The end */

/* They left the belt, and the worker that would do the rest was stopped before. */
static void a_belt_ends_with_requests_that_are_not_settled(struct kunit *test)
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

static struct kunit_case request_test_cases[] = {
	KUNIT_CASE(where_nobody_reads_there_are_no_new_requests),
	KUNIT_CASE(a_put_completes_what_waits_for_its_key),
	KUNIT_CASE(others_are_told_of_their_own),
	KUNIT_CASE(an_event_says_what_there_was),
	KUNIT_CASE(complete_says_how_many_there_were),
	KUNIT_CASE(a_request_times_out_as_entries_expire),
	KUNIT_CASE(what_has_timed_out_is_not_completed),
	KUNIT_CASE(a_cancelled_request_is_gone_and_nobody_is_told),
	KUNIT_CASE(an_id_is_free_when_its_request_is_completed),
	KUNIT_CASE(what_is_there_already_completes_nothing),
	KUNIT_CASE(an_addition_is_a_put),
	KUNIT_CASE(who_takes_entries_away_tells_the_cause),
	KUNIT_CASE(what_was_cleared_is_told_so_past_its_timeout),
	KUNIT_CASE(of_one_id_the_earlier_end_is_told_first),
	KUNIT_CASE(requests_go_with_their_holder_and_what_it_had_not_read),
	KUNIT_CASE(one_put_completes_all_and_in_their_order),
	KUNIT_CASE(what_begins_to_wait_after_a_put_is_not_completed_by_it),
	KUNIT_CASE(a_request_counts_as_an_entry_until_it_is_completed),
	KUNIT_CASE(whole_events_are_taken_and_can_be_put_back),
	KUNIT_CASE(requests_are_completed_once_in_any_history),
	KUNIT_CASE(what_expires_in_one_batch_leaves_whatever_it_is),
	KUNIT_CASE(what_fails_for_want_of_memory_leaves_nothing),
	KUNIT_CASE_PARAM(what_comes_while_it_is_made_completes_it_once, middle_gen_params),
	KUNIT_CASE(what_fails_after_it_was_completed_is_told_all_the_same),
	KUNIT_CASE(one_that_is_claimed_before_it_is_made_is_told_once),
	KUNIT_CASE(one_that_is_claimed_is_nobody_elses),
	KUNIT_CASE(one_of_those_who_miss_may_fill),
	KUNIT_CASE(a_put_by_whoever_it_is_ends_the_waiting),
	KUNIT_CASE_PARAM(the_only_one_who_waits_may_fill_next, ending_gen_params),
	KUNIT_CASE_PARAM(the_first_of_many_who_wait_may_fill_next, ending_gen_params),
	KUNIT_CASE(ahead_one_is_asked_while_there_is_a_value),
	KUNIT_CASE(a_right_to_fill_counts_as_an_entry),
	KUNIT_CASE(an_old_value_is_there_for_the_grace_time_and_for_no_get),
	KUNIT_CASE(the_handler_runs_after_the_grace_and_at_most_an_interval_late),
	KUNIT_CASE(a_sealed_entry_is_not_drained_early),
	KUNIT_CASE(writers_find_an_entry_in_its_grace_time_expired),
	KUNIT_CASE(an_old_value_does_not_keep_anybody_from_filling),
	KUNIT_CASE(another_grace_time_loses_no_entry),
	KUNIT_CASE(the_longest_life_and_grace_fit),
	KUNIT_CASE(only_entries_have_a_grace_time),
	KUNIT_CASE(what_has_expired_makes_room_also_in_its_grace_time),
	KUNIT_CASE(a_number_is_what_the_contract_says_and_nothing_else),
	KUNIT_CASE(an_addition_keeps_what_the_number_has_left),
	KUNIT_CASE(sums_are_right_over_a_random_walk),
	KUNIT_CASE(a_number_has_the_flags_that_it_began_with),
	KUNIT_CASE(kinds_of_one_key_are_found_apart),
	KUNIT_CASE(a_request_and_an_entry_of_its_name_do_not_meet),
	KUNIT_CASE(only_entries_are_scanned),
	KUNIT_CASE(a_belt_ends_with_requests_that_are_not_settled),
	{}
};

static struct kunit_suite request_suite = {
	.name = "hashbelt_request",
	.init = request_init,
	.exit = fixture_exit,
	.test_cases = request_test_cases,
};

kunit_test_suites(&request_suite);
