// SPDX-License-Identifier: GPL-2.0-only
/* The queue of events. Guarantees 11 and 12 of docs/guarantees.md. */
#include <kunit/test.h>

#include "belt.h"

static struct hashbelt_belt *make_notifying(struct kunit *test, u32 reasons)
{
	return one_belt(test, .handler = HASHBELT_NOTIFY, .reasons = reasons);
}

static struct hashbelt_belt *make_reinserting(struct kunit *test)
{
	return one_belt(test, .handler = HASHBELT_REINSERT);
}

/* Takes one event and settles it. The reason in the record is 0 if there is none. */
static struct hashbelt_event take(struct hashbelt_belt *belt, unsigned int *key)
{
	struct hashbelt_event record = {};
	struct hb_fifo events = {};
	u64 lost;

	if (hb_take_events(belt, &events, SIZE_MAX, 1, false, &lost))
		return record;
	hashbelt_describe_event(events.first, &record);
	record.lost = lost;
	memcpy(key, hb_event_entry(events.first)->data, sizeof(*key));
	hb_settle_events(belt, &events, false);
	return record;
}

static void expect(struct kunit *test, unsigned int key, enum hashbelt_reason reason)
{
	struct hashbelt_event event;
	unsigned int is = ~0;

	event = take(test->priv, &is);
	KUNIT_EXPECT_EQ(test, event.reason, (u32)reason);
	KUNIT_EXPECT_EQ(test, is, key);
}

static void expect_none(struct kunit *test)
{
	unsigned int key;

	KUNIT_EXPECT_EQ(test, take(test->priv, &key).reason, 0u);
}

/* Waits until the index has been resized and its old table is freed. */
static void wait_for_resize(struct hashbelt_belt *belt)
{
	flush_work(&belt->work);
	hashbelt_flush();
}

static void the_event_of_an_expired_entry_takes_no_further_memory(struct kunit *test)
{
	struct hashbelt_belt *belt = make_notifying(test, 0);
	unsigned int i, key;
	u64 used;

	put_many(test, belt, 0, 100);
	wait_for_resize(belt);
	used = hb_memory_used();
	hashbelt_advance(belt, 300 * SEC);
	wait_for_resize(belt);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 100ULL);
	KUNIT_EXPECT_LE(test, hb_memory_used(), used);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, take(belt, &key).reason, (u32)HASHBELT_EXPIRED);
	expect_none(test);
	hb_limbo_flush(belt);
	KUNIT_EXPECT_LE(test, hb_memory_used(), used - 100 * 80);
}

/* The set and the push each drop a bounded number of events; the worker drops the rest. */
static void a_queue_over_its_limit_is_trimmed_in_batches(struct kunit *test)
{
	struct hashbelt_belt *belt = make_notifying(test, 0);
	u64 most = HB_BATCH << belt->shard_bits, queued;
	unsigned int key, more;

	put_many(test, belt, 0, 3000);
	hashbelt_advance(belt, 300 * SEC);
	wait_for_resize(belt);
	/* Keep the worker out. A change of settings makes one step by itself. */
	atomic_inc(&belt->movers);
	change(belt, MAX_EVENTS, .max_events = 10);
	mutex_lock(&belt->round_lock);
	put(belt, 1);
	expire(belt, 1);
	queued = belt->queue.waiting.count;
	KUNIT_EXPECT_EQ(test, queued, 3001 - most - HB_BATCH);
	do {
		more = hb_step(belt, hb_clock_now(&belt->clock));
		KUNIT_ASSERT_GE(test, belt->queue.waiting.count + most, queued);
		queued = belt->queue.waiting.count;
	} while (more);
	mutex_unlock(&belt->round_lock);
	atomic_dec(&belt->movers);
	KUNIT_EXPECT_EQ(test, queued, 10ULL);
	KUNIT_EXPECT_EQ(test, take(belt, &key).lost, 2991ULL);
}

/* The limit is lowered while a reader holds the events. */
static void returned_events_are_trimmed_to_the_limit(struct kunit *test)
{
	struct hashbelt_belt *belt = make_notifying(test, 0);
	struct hb_fifo events = {};
	unsigned int key;
	u64 lost;

	put_many(test, belt, 0, 1000);
	hashbelt_advance(belt, 300 * SEC);
	KUNIT_ASSERT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, 1000, true, &lost), 0);
	change(belt, MAX_EVENTS, .max_events = 10);
	wait_for_resize(belt);
	hb_return_events(belt, &events, true, 0, true);
	wait_for_resize(belt);
	KUNIT_EXPECT_EQ(test, belt->queue.waiting.count, 10ULL);
	KUNIT_EXPECT_EQ(test, take(belt, &key).lost, 990ULL);
}

/* The worker, which drops the rest, is kept out. */
static void a_large_event_drops_a_batch_and_the_next_one_is_lost(struct kunit *test)
{
	struct hashbelt_belt *belt = make_notifying(test, HASHBELT_REPORT_ALL);
	struct hb_queue *queue = &belt->queue;
	u8 *value = kvzalloc(100000, GFP_KERNEL);
	unsigned int key, i;
	u64 queued, lost;

	KUNIT_ASSERT_NOT_NULL(test, value);
	change(belt, MAX_BYTES, .max_bytes = 300000);
	/* Events of replaced entries are not charged to the belt, so these fill the queue alone. */
	for (key = 0; key < 5000; key++)
		put(belt, 1);
	wait_for_resize(belt);
	atomic_inc(&belt->movers);
	queued = queue->waiting.count;
	key = 2;
	for (i = 0; i < 3; i++) {
		lost = queue->lost;
		put_bytes(belt, &key, sizeof(key), value, 100000, &(struct hashbelt_item){});
		if (i)
			KUNIT_EXPECT_EQ(test, queue->lost - lost, HB_BATCH + (u64)(i > 1));
	}
	/* The first is an event, the second is lost. */
	KUNIT_EXPECT_EQ(test, queue->waiting.count, queued + 1 - 2 * HB_BATCH);
	KUNIT_EXPECT_GT(test, queue->bytes, 300000ULL);
	KUNIT_EXPECT_LE(test, queue->bytes, 300000ULL + 110000);
	atomic_dec(&belt->movers);
	hb_kick_worker(belt);
	wait_for_resize(belt);
	KUNIT_EXPECT_LE(test, queue->bytes, 300000ULL);
	kvfree(value);
}

/* The events of removed and of expired entries stay charged while they are queued. */
static void an_event_that_is_lost_at_a_full_queue_gives_back_its_charge(struct kunit *test)
{
	struct hashbelt_belt *belt = make_notifying(test, HASHBELT_REPORT_ALL);
	u8 *value = kvzalloc(100000, GFP_KERNEL);
	unsigned int key, i;

	KUNIT_ASSERT_NOT_NULL(test, value);
	change(belt, MAX_BYTES, .max_bytes = 300000);
	for (key = 0; key < 5000; key++)
		put(belt, 1);
	wait_for_resize(belt);
	atomic_inc(&belt->movers);
	for (i = 0; i < 6; i++) {
		key = 2 + i;
		KUNIT_EXPECT_EQ(test, put_bytes(belt, &key, sizeof(key), value, 30000,
						&(struct hashbelt_item){}), 0);
		if (i % 2)
			expire(belt, key);
		else
			take_out(belt, key);
	}
	KUNIT_EXPECT_GT(test, belt->queue.lost, 0ULL);
	check_accounting(test, belt);
	atomic_dec(&belt->movers);
	hb_kick_worker(belt);
	wait_for_resize(belt);
	check_accounting(test, belt);
	kvfree(value);
}

static void a_full_queue_drops_the_oldest_events_and_counts_them(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .handler = HASHBELT_NOTIFY, .max_events = 10);
	struct hashbelt_event event;
	unsigned int key;

	for (key = 0; key < 25; key++) {
		put(belt, key);
		expire(belt, key);
	}
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 10ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 10ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVENTS_LOST), 15ULL);
	event = take(belt, &key);
	KUNIT_EXPECT_EQ(test, event.lost, 15ULL);
	KUNIT_EXPECT_EQ(test, event.sequence, 16ULL);
	KUNIT_EXPECT_EQ(test, key, 15u);
	event = take(belt, &key);
	KUNIT_EXPECT_EQ(test, event.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, event.sequence, 17ULL);
}

/* Returned in batches of 64, the last events first. */
static void any_number_of_returned_events_is_read_in_order(struct kunit *test)
{
	static const unsigned int counts[] = { 1, 63, 64, 65, 127, 128, 129, 192, 200, 1000 };
	struct hashbelt_belt *belt = make_notifying(test, 0);
	struct hashbelt_event record;
	struct hb_fifo held;
	unsigned int i, key, held_too;
	u64 lost, sequence = 0;

	for (i = 0; i < 2 * ARRAY_SIZE(counts); i++) {
		held_too = i % 2;
		held = (struct hb_fifo){};
		for (key = 0; key < counts[i / 2] + 70; key++) {
			put(belt, key);
			expire(belt, key);
		}
		KUNIT_ASSERT_EQ(test, hb_take_events(belt, &held, SIZE_MAX, counts[i / 2],
						     held_too, &lost), 0);
		KUNIT_ASSERT_EQ(test, held.count, (u64)counts[i / 2]);
		hb_return_events(belt, &held, held_too, lost, false);
		KUNIT_ASSERT_EQ(test, held.count, 0ULL);
		for (key = 0; key < counts[i / 2] + 70; key++) {
			unsigned int is = U32_MAX;

			record = take(belt, &is);
			KUNIT_ASSERT_EQ(test, record.sequence, ++sequence);
			KUNIT_ASSERT_EQ(test, is, key);
		}
		KUNIT_ASSERT_EQ(test, info_of(belt).queued_bytes, 0ULL);
	}
}

static void a_read_takes_the_whole_events_that_fit(struct kunit *test)
{
	struct hashbelt_belt *belt = make_notifying(test, 0);
	struct hb_fifo events = {};
	unsigned int key;
	u64 lost;

	for (key = 1; key <= 3; key++) {
		put(belt, key);		/* 64 + 4 + 4 bytes */
		expire(belt, key);
	}
	KUNIT_EXPECT_EQ(test, hb_take_events(belt, &events, 71, 9, false, &lost), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, hb_take_events(belt, &events, 215, 9, false, &lost), 0);
	KUNIT_EXPECT_EQ(test, events.count, 2ULL);
	hb_settle_events(belt, &events, false);
	expect(test, 3, HASHBELT_EXPIRED);
	KUNIT_EXPECT_EQ(test, hb_take_events(belt, &events, 1000, 9, false, &lost), -EAGAIN);
}

static void the_event_of_a_reinserted_entry_outlives_the_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make_reinserting(test);

	put(belt, 1);
	hashbelt_advance(belt, 300 * SEC);
	take_out(belt, 1);
	hb_limbo_flush(belt);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	expect(test, 1, HASHBELT_EXPIRED);
	put(belt, 2);
	hashbelt_advance(belt, 300 * SEC);
	hashbelt_clear(belt);
	/* The queued events are freed with the belt. */
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(the_event_of_an_expired_entry_takes_no_further_memory),
	KUNIT_CASE(a_queue_over_its_limit_is_trimmed_in_batches),
	KUNIT_CASE(returned_events_are_trimmed_to_the_limit),
	KUNIT_CASE(a_large_event_drops_a_batch_and_the_next_one_is_lost),
	KUNIT_CASE(an_event_that_is_lost_at_a_full_queue_gives_back_its_charge),
	KUNIT_CASE(a_full_queue_drops_the_oldest_events_and_counts_them),
	KUNIT_CASE(any_number_of_returned_events_is_read_in_order),
	KUNIT_CASE(a_read_takes_the_whole_events_that_fit),
	KUNIT_CASE(the_event_of_a_reinserted_entry_outlives_the_entry),
	{}
};

TEST_SUITE(queue, one_belt_init, one_belt_exit);
