// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts that copy their value into the entry that is there, as the device's puts do; and the readers
 * that have found this entry before.
 */
#include <kunit/test.h>

#include "fixture.h"

/* A belt as those of the device. */
static struct hashbelt_belt *make_overwriting(struct kunit *test)
{
	struct fixture *f = test->priv;

	f->belt = still_belt(test, .handler = HASHBELT_NOTIFY, .event = record_event, .arg = f,
			     .overwrites = true);
	return f->belt;
}

static void set_policy(struct kunit *test, struct hashbelt_belt *belt, u32 policy)
{
	KUNIT_ASSERT_EQ(test, change(belt, POLICY, .policy = policy), 0);
}

/* Puts @value under the key 1, and frees an entry that is not needed. Return: that of hb_put(). */
static int put_in_mode(struct hashbelt_belt *belt, const void *value, u32 value_len,
		       struct hashbelt_item *item, enum hb_put_mode mode)
{
	struct hashbelt_entry *entry = new_entry(belt, NULL, 1, value_len);
	int err;

	if (!entry)
		return -ENOMEM;
	memcpy(hashbelt_entry_value(entry), value, value_len);
	entry->flags = item->flags;
	err = hb_put(belt, entry, item, mode);
	if (err == HB_PUT_COPIED || mode == HB_PUT_COPY)
		hashbelt_entry_put(belt, entry);
	return err;
}

static int put_text(struct hashbelt_belt *belt, const char *text, u64 ttl_ms)
{
	return put_in_mode(belt, text, strlen(text), &(struct hashbelt_item){ .ttl_ms = ttl_ms },
			   HB_PUT_ENTRY);
}

/* The entry of the key 1, as a reader sees it; NULL: there is none. */
static struct hashbelt_entry *see(struct hashbelt_belt *belt, struct hb_seen *seen)
{
	const unsigned int key = 1;
	u32 hash = hb_hash(belt, &key, sizeof(key));
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hb_index_find(&belt->index, hash, &key, sizeof(key));
	entry = hb_find_in(belt, hash, entry, hashbelt_now(belt), seen, NULL);
	rcu_read_unlock();
	return entry;
}

static bool has_value(struct hashbelt_entry *entry, const void *value, u32 value_len)
{
	return entry->value_len == value_len &&
	       !memcmp(hashbelt_entry_value(entry), value, value_len);
}

static void a_value_of_the_same_length_is_copied_into_the_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	struct hashbelt_item item = { .flags = 7, .ttl_ms = 5000 };
	struct hb_seen first, second;
	struct hashbelt_entry *entry;
	u64 used;

	KUNIT_ASSERT_EQ(test, put_text(belt, "a value", 0), 0);
	used = hb_memory_used();
	entry = see(belt, &first);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "another", 7, &item, HB_PUT_ENTRY), HB_PUT_COPIED);
	KUNIT_EXPECT_PTR_EQ(test, see(belt, &second), entry);
	KUNIT_EXPECT_TRUE(test, has_value(entry, "another", 7));
	KUNIT_EXPECT_EQ(test, entry->flags, 7u);
	KUNIT_EXPECT_GT(test, second.version, first.version);
	KUNIT_EXPECT_EQ(test, item.version, second.version);
	KUNIT_EXPECT_EQ(test, item.ttl_ms, 5000ULL);
	KUNIT_EXPECT_EQ(test, second.deadline, hashbelt_now(belt) + 5 * SEC);
	KUNIT_EXPECT_TRUE(test, hb_hash_of(entry) & HB_READ);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_PUTS_REPLACED), 1ULL);
}

/* Each length has other words at its end. */
static void every_byte_of_the_value_is_copied(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	u8 bytes[HB_FINE_MAX], old[HB_FINE_MAX] = {};
	struct hashbelt_entry *entry;
	struct hb_seen seen;
	u32 len, i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = 1 + i % 251;
	for (len = 0; len <= HB_FINE_MAX - sizeof(*entry) - 4; len++) {
		put_in_mode(belt, old, len, &(struct hashbelt_item){}, HB_PUT_ENTRY);
		KUNIT_ASSERT_EQ(test, put_in_mode(belt, bytes, len, &(struct hashbelt_item){},
						  HB_PUT_ENTRY),
			HB_PUT_COPIED);
		entry = see(belt, &seen);
		KUNIT_ASSERT_NOT_NULL(test, entry);
		KUNIT_ASSERT_EQ(test, *(u32 *)entry->data, 1u);
		KUNIT_ASSERT_TRUE(test, has_value(entry, bytes, len));
	}
}

/* Expects that a put makes a new entry, in the place of the one that is there. */
static void expect_replaced(struct kunit *test, struct hashbelt_belt *belt, const char *text)
{
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	struct hb_seen seen;

	entry = see(belt, &seen);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, text, strlen(text), &item, HB_PUT_ENTRY),
			HB_PUT_DONE);
	KUNIT_EXPECT_PTR_NE(test, see(belt, &seen), entry);
}

static void an_entry_is_replaced_by_a_value_of_another_length(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);

	put_text(belt, "short", 0);
	expect_replaced(test, belt, "longer");
}

static void an_entry_is_replaced_by_a_large_value(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	char *text = must_alloc(test, HB_FINE_MAX + 1);

	memset(text, 'x', HB_FINE_MAX);
	put_text(belt, text, 0);
	expect_replaced(test, belt, text);
}

/* A module that reads a value without RCU has a reference. */
static void an_entry_to_which_a_task_has_a_reference_is_replaced(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	struct hashbelt_entry *entry;
	struct hb_seen seen;

	put_text(belt, "a value", 0);
	entry = see(belt, &seen);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	refcount_inc(&entry->ref);
	expect_replaced(test, belt, "another");
	KUNIT_EXPECT_TRUE(test, has_value(entry, "a value", 7));
	hashbelt_entry_put(belt, entry);
}

static void an_entry_whose_replacement_is_reported_is_replaced(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	struct fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, change(belt, REASONS,
				     .reasons = HASHBELT_REPORT(HASHBELT_REPLACED)), 0);
	put_text(belt, "a value", 0);
	expect_replaced(test, belt, "another");
	hashbelt_advance(belt, 0);
	KUNIT_EXPECT_EQ(test, f->last.reason, (u32)HASHBELT_REPLACED);
}

/* @how and @ttl_ms: of the get. */
static void expect_look_again(struct kunit *test, struct hashbelt_belt *belt, u32 how, u64 ttl_ms)
{
	struct hashbelt_item item = { .how = how, .ttl_ms = ttl_ms };
	u64 now = hashbelt_now(belt), hits, touches;
	struct hashbelt_entry *entry;
	struct hb_seen seen;

	put_text(belt, "a value", 0);
	entry = see(belt, &seen);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_ASSERT_EQ(test, put_text(belt, "another", 0), 1);
	hits = stat_of(belt, HASHBELT_STAT_HITS);
	touches = stat_of(belt, HASHBELT_STAT_TOUCHES);
	KUNIT_EXPECT_FALSE(test, hb_hit(belt, entry, &item, now, seen));
	KUNIT_EXPECT_FALSE(test, hb_hit_stale(belt, entry, &item, now, seen));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_HITS), hits);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_TOUCHES), touches);
	KUNIT_EXPECT_EQ(test, hb_node_deadline(&entry->node), now + TTL);
	see(belt, &seen);
	KUNIT_EXPECT_TRUE(test, hb_hit(belt, entry, &item, now, seen));
	KUNIT_EXPECT_EQ(test, item.version, seen.version);
}

static void a_reader_of_a_value_that_was_overwritten_looks_again(struct kunit *test)
{
	expect_look_again(test, make_overwriting(test), 0, 0);
}

/* Nor does it after gets have ceased to refresh: a slow get may still do so. */
static void a_belt_whose_gets_have_refreshed_overwrites_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);

	put_text(belt, "a value", 0);
	KUNIT_EXPECT_EQ(test, put_text(belt, "another", 0), 1);
	set_policy(test, belt, HASHBELT_REFRESH_ON_GET);
	expect_replaced(test, belt, "a third");
	set_policy(test, belt, 0);
	expect_replaced(test, belt, "fourth!");
}

/* The reader has found the first value; gets refresh from the moment on at which it ends. */
static void a_get_refreshes_no_value_that_it_has_not_seen(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	u64 now = hashbelt_now(belt);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	struct hb_seen seen;

	put_text(belt, "a value", 0);
	entry = see(belt, &seen);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	KUNIT_ASSERT_EQ(test, put_text(belt, "another", 1000), 1);
	set_policy(test, belt, HASHBELT_REFRESH_ON_GET);
	KUNIT_EXPECT_FALSE(test, hb_hit(belt, entry, &item, now, seen));
	KUNIT_EXPECT_EQ(test, hb_node_deadline(&entry->node), now + SEC);
}

static void a_reader_that_touches_a_value_that_was_overwritten_looks_again(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);

	expect_look_again(test, belt, HASHBELT_AND_TOUCH, 1000000);
	expect_look_again(test, belt, HASHBELT_AND_TOUCH, 1);
}

static void a_reader_of_a_stale_value_that_was_overwritten_looks_again(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	struct hashbelt_item item = {};
	struct hashbelt_entry *entry;
	struct hb_seen seen;
	u64 now;

	KUNIT_ASSERT_EQ(test, change(belt, GRACE, .grace = 100 * SEC), 0);
	put_text(belt, "a value", 0);
	put_text(belt, "another", 0);
	entry = see(belt, &seen);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	move_time_only(belt, TTL);
	now = hashbelt_now(belt);
	KUNIT_EXPECT_TRUE(test, hb_hit_stale(belt, entry, &item, now, seen));
	seen.version--;
	KUNIT_EXPECT_FALSE(test, hb_hit_stale(belt, entry, &item, now, seen));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_STALE), 1ULL);
}

static void a_copy_never_goes_into_the_belt(struct kunit *test)
{
	struct hashbelt_belt *belt = make_overwriting(test);
	struct hashbelt_item item = {};

	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "a value", 7, &item, HB_PUT_COPY),
			HB_PUT_NEEDS_ENTRY);
	KUNIT_EXPECT_FALSE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REFUSED), 0ULL);
	put_text(belt, "a value", 0);
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "longer text", 11, &item, HB_PUT_COPY),
			HB_PUT_NEEDS_ENTRY);
	item = (struct hashbelt_item){ .how = HASHBELT_IF_ABSENT };
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "another", 7, &item, HB_PUT_COPY), -EEXIST);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REFUSED), 1ULL);
	item = (struct hashbelt_item){ .how = HASHBELT_IF_VERSION, .version = 1 };
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "another", 7, &item, HB_PUT_COPY), -ESTALE);
	item = (struct hashbelt_item){ .ttl_ms = HASHBELT_TTL_KEEP - 1 };
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "another", 7, &item, HB_PUT_COPY), -EINVAL);
	item = (struct hashbelt_item){};
	KUNIT_EXPECT_EQ(test, put_in_mode(belt, "another", 7, &item, HB_PUT_COPY), HB_PUT_COPIED);
	KUNIT_EXPECT_EQ(test, item.version, version_of(belt, 1));
}

/* A sum is copied from the stack, where there is no room for a long key. */
static void an_addition_takes_the_longest_key(struct kunit *test)
{
	static const u8 long_key[HASHBELT_KEY_MAX];
	struct hashbelt_belt *belt = make_overwriting(test);
	struct hashbelt_sum sum = { .by = 1, .value = 41 };
	struct hashbelt_item item = {};

	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, long_key, sizeof(long_key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, long_key, sizeof(long_key), &item, &sum), 0);
	KUNIT_EXPECT_EQ(test, sum.value, 43LL);
}

static struct kunit_case overwrite_cases[] = {
	KUNIT_CASE(a_value_of_the_same_length_is_copied_into_the_entry),
	KUNIT_CASE(every_byte_of_the_value_is_copied),
	KUNIT_CASE(an_entry_is_replaced_by_a_value_of_another_length),
	KUNIT_CASE(an_entry_is_replaced_by_a_large_value),
	KUNIT_CASE(an_entry_to_which_a_task_has_a_reference_is_replaced),
	KUNIT_CASE(an_entry_whose_replacement_is_reported_is_replaced),
	KUNIT_CASE(a_reader_of_a_value_that_was_overwritten_looks_again),
	KUNIT_CASE(a_belt_whose_gets_have_refreshed_overwrites_nothing),
	KUNIT_CASE(a_get_refreshes_no_value_that_it_has_not_seen),
	KUNIT_CASE(a_reader_that_touches_a_value_that_was_overwritten_looks_again),
	KUNIT_CASE(a_reader_of_a_stale_value_that_was_overwritten_looks_again),
	KUNIT_CASE(a_copy_never_goes_into_the_belt),
	KUNIT_CASE(an_addition_takes_the_longest_key),
	{}
};

TEST_SUITE(overwrite, fixture_init, fixture_exit);
