// SPDX-License-Identifier: GPL-2.0-only
/* Entries and locks that are bound to a descriptor. Guarantee 18 of docs/guarantees.md. */
#include <kunit/test.h>

#include "belt/keys/key.h"
#include "lock.h"

#define TTL_MS	(TTL / NSEC_PER_MSEC)

static void nothing_can_be_bound_to_a_closed_client(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .max_entries = 9);
	struct fixture *f = test->priv;
	struct hashbelt_fill fill = {};
	struct hashbelt_entry *request;
	unsigned int key = 1;

	put(belt, 2);
	hashbelt_client_close(belt, f->clients[0]);
	KUNIT_EXPECT_EQ(test, put_bound(belt, f->clients[0], key), -EIDRM);
	KUNIT_EXPECT_EQ(test, put_bound(belt, f->clients[0], 2), -EIDRM);
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
	check_accounting(test, belt);
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	drop_client(f, 0);
	take_out(belt, 2);
	expect_empty(test);
}

/* Ways in which the entry of key 1 leaves, or is replaced by one not bound to the first client. */
static const struct way detachments[] = {
	{ "a remove", { DO_REMOVE } },
	{ "a put that is not bound", { DO_PUT } },
	{ "an addition", { DO_PUT_NUMBER, DO_ADD } },
	{ "expiry by hand", { DO_EXPIRE } },
	{ "the drain", { DO_DRAIN } },
	{ "eviction", { DO_EVICT } },
	{ "a clear", { DO_CLEAR, DO_REST } },
};

KUNIT_ARRAY_PARAM_DESC(detachment, detachments, name);

static void an_entry_that_leaves_is_detached_from_its_client(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	bool there;

	KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&f->clients[0]->entries));
	do_way(f, test->param_value);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->clients[0]->entries));
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	check_accounting(test, belt);
	there = has(belt, 1);
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, has(belt, 1), there);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	drop_client(f, 1);
	take_out(belt, 1);
	expect_empty(test);
}

static void a_refused_put_or_lock_is_not_attached_to_the_client(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .max_entries = 1);
	struct hashbelt_item item = { .how = HASHBELT_IF_ABSENT };
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_put(belt, new_entry(belt, f->clients[0], 1, 1), &item),
			-EEXIST);
	KUNIT_EXPECT_EQ(test, put_bound(belt, f->clients[0], 2), -ENOSPC);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 2, 'A',
				      &(struct hashbelt_lock){}), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->clients[0]->entries));
	KUNIT_EXPECT_EQ(test, refcount_read(&f->clients[0]->ref), 1u);
	check_accounting(test, belt);
	take_out(belt, 1);
	expect_empty(test);
}

/* An entry past its deadline expires, whichever task finds it first. */
static void entries_past_their_deadline_expire_when_their_client_closes(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, put_bound(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, lock_as(belt, f->clients[0], 1, 'A', &(struct hashbelt_lock){}), 0);
	move_time_only(belt, TTL);
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_RELEASED), 0ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 2ULL);
	expect_empty(test);
}

static int touch_client(struct hashbelt_belt *belt, struct hb_client *client, u64 ttl_ms,
			u64 *count)
{
	struct hashbelt_item item = { .ttl_ms = ttl_ms };
	int err = hb_touch_client(belt, client, &item);

	*count = item.version;
	return err;
}

static void a_touch_of_a_client_gives_all_its_entries_one_deadline(struct kunit *test)
{
	static const u64 ttls[] = { TTL_MS / 2, 10 * TTL_MS, HASHBELT_TTL_NEVER };
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hashbelt_lock lock = {};
	unsigned int key, i;
	u64 count;

	for (key = 0; key < 100; key++)
		KUNIT_ASSERT_EQ(test, 0, hashbelt_put(belt,
						      new_entry(belt, f->clients[key % 2], key, 1),
						      &(struct hashbelt_item){
						      .ttl_ms = ttls[key % 3] }));
	KUNIT_ASSERT_EQ(test, 0, lock_as(belt, f->clients[0], 0, 'A', &lock));
	put(belt, 1000);
	for (i = 0; i < 3; i++) {
		move_time_only(belt, TTL / 4);
		KUNIT_EXPECT_EQ(test, 0, touch_client(belt, f->clients[0], TTL_MS, &count));
		KUNIT_EXPECT_EQ(test, count, 50ULL);
		for (key = 0; key < 100; key += 2)
			KUNIT_ASSERT_EQ(test, left_of(belt, key), TTL_MS);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TOUCHES), 150ULL);
	KUNIT_EXPECT_FALSE(test, has(belt, 3));
	KUNIT_EXPECT_EQ(test, left_of(belt, 1), 37 * TTL_MS / 4);
	KUNIT_EXPECT_EQ(test, left_of(belt, 1000), TTL_MS / 4);
	move_time_only(belt, TTL - HB_GRAIN);
	KUNIT_EXPECT_EQ(test, owner_of(belt, 0, &lock), 0);
	for (key = 0; key < 100; key += 2)
		KUNIT_ASSERT_TRUE(test, has(belt, key));
	move_time_only(belt, HB_GRAIN);
	for (key = 0; key < 100; key += 2)
		KUNIT_ASSERT_FALSE(test, has(belt, key));
	KUNIT_EXPECT_EQ(test, -ENOENT, touch_client(belt, f->clients[0], TTL_MS, &count));
	come_to_rest(belt);
	check_accounting(test, belt);
	drop_client(f, 0);
	drop_client(f, 1);
	take_out(belt, 1000);
	expect_empty(test);
}

static void a_touch_of_a_client_reaches_no_entry_that_has_left(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	u64 count;

	KUNIT_EXPECT_EQ(test, touch_client(belt, f->clients[0], TTL_MS, &count), -ENOENT);
	KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, touch_client(belt, f->clients[0], HASHBELT_TTL_KEEP, &count),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, touch_client(belt, f->clients[0], 0, &count), 0);
	do_way(f, test->param_value);
	KUNIT_EXPECT_EQ(test, touch_client(belt, f->clients[0], 10 * TTL_MS, &count), -ENOENT);
	KUNIT_EXPECT_LE(test, left_of(belt, 1), TTL_MS);
	/* The worker does not sweep what is cleared now. */
	KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], 2), 0);
	atomic_inc(&belt->movers);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, touch_client(belt, f->clients[0], TTL_MS, &count), -ENOENT);
	atomic_dec(&belt->movers);
	hb_kick_worker(belt);
	check_accounting(test, belt);
	drop_client(f, 0);
	drop_client(f, 1);
	take_out(belt, 1);
	expect_empty(test);
}

static void the_close_of_a_client_passes_the_places_of_a_touch(struct kunit *test)
{
	struct hashbelt_belt *belt = make_pinned(test);
	struct fixture *f = test->priv;
	struct hb_link places[2] = {};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		list_add_tail(&places[i].held, &f->clients[0]->entries);
		KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], i), 0);
	}
	hashbelt_client_close(belt, f->clients[0]);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, has(belt, i));
		list_del(&places[i].held);
	}
	KUNIT_EXPECT_TRUE(test, list_empty(&f->clients[0]->entries));
	drop_client(f, 0);
	drop_client(f, 1);
	expect_empty(test);
}

static void a_touch_of_a_client_is_no_use_of_an_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_EVICT, .max_entries = 9);
	struct fixture *f = test->priv;
	u64 count;

	KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, touch_client(belt, f->clients[0], TTL_MS, &count), 0);
	KUNIT_EXPECT_EQ(test, count_read(belt), 0u);
	touch(belt, 1, TTL_MS);
	KUNIT_EXPECT_EQ(test, count_read(belt), 1u);
	drop_client(f, 0);
	drop_client(f, 1);
	expect_empty(test);
}

static struct kunit_case client_cases[] = {
	KUNIT_CASE(nothing_can_be_bound_to_a_closed_client),
	KUNIT_CASE_PARAM(an_entry_that_leaves_is_detached_from_its_client, detachment_gen_params),
	KUNIT_CASE(a_refused_put_or_lock_is_not_attached_to_the_client),
	KUNIT_CASE(entries_past_their_deadline_expire_when_their_client_closes),
	KUNIT_CASE(a_touch_of_a_client_gives_all_its_entries_one_deadline),
	KUNIT_CASE_PARAM(a_touch_of_a_client_reaches_no_entry_that_has_left, detachment_gen_params),
	KUNIT_CASE(the_close_of_a_client_passes_the_places_of_a_touch),
	KUNIT_CASE(a_touch_of_a_client_is_no_use_of_an_entry),
	{}
};

TEST_SUITE(client, fixture_init, fixture_exit);
