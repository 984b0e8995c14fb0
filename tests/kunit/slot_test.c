// SPDX-License-Identifier: GPL-2.0-only
/*
 * The slots of a window: which entries get one, how they leave it, and what SET does. window_test.c
 * has what a reader sees between two accesses.
 */
#include <kunit/test.h>

#include "belt/belts/set.h"
#include "belt/shard/window.h"
#include "fixture.h"

#define SIZE	HASHBELT_WINDOW_MIN

#define make_windowed(test, ...) make(test, .window_bytes = SIZE, __VA_ARGS__)

/* Looking at a window that no other task changes */

static struct hb_window *window_of(struct hashbelt_belt *belt)
{
	return rcu_dereference_protected(belt->window, true);
}

static struct hashbelt_window *shown_by(struct hashbelt_belt *belt)
{
	return window_of(belt)->shown;
}

static struct hashbelt_window_slot *slots_of(struct hashbelt_window *shown)
{
	return (void *)shown + shown->slots_at;
}

/* The slot that has a copy of a key, wherever it is; NULL: none has. */
static struct hashbelt_window_slot *slot_with(struct hashbelt_belt *belt, const void *key,
					      u32 key_len)
{
	struct hashbelt_window *shown = shown_by(belt);
	struct hashbelt_window_slot *slot = slots_of(shown), *found = NULL;
	unsigned int i;

	for (i = 0; i < shown->sets * HASHBELT_WINDOW_WAYS; i++, slot++)
		if (slot->version && slot->key_len == key_len && !memcmp(slot->data, key, key_len))
			found = slot;
	return found;
}

static struct hashbelt_window_slot *slot_of(struct hashbelt_belt *belt, unsigned int key)
{
	return slot_with(belt, &key, sizeof(key));
}

/* The hash that hashbelt.h describes, of a key of 8 bytes at most. */
static u64 hash_of(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	u64 hash = shown_by(belt)->seed ^ key_len, word = 0;

	memcpy(&word, key, key_len);
	return hashbelt_window_mix(hash, word);
}

static u32 set_of(struct hashbelt_belt *belt, unsigned int key)
{
	return hash_of(belt, &key, sizeof(key)) & (shown_by(belt)->sets - 1);
}

/* The belt's entry of a key, with a reference for the caller. */
static struct hashbelt_entry *take_entry(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_entry *entry = entry_of_key(belt, key);

	if (entry)
		refcount_inc(&entry->ref);
	return entry;
}

/* The references to the entry of a key; 0: there is no entry. */
static unsigned int references(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_entry *entry = entry_of_key(belt, key);

	return entry ? refcount_read(&entry->ref) : 0;
}

/* Checks that the table of entries, the slots and the number of used ones agree. */
static void check_slots(struct kunit *test, struct hashbelt_belt *belt)
{
	struct hb_window *window = window_of(belt);
	struct hashbelt_window_slot *slot = slots_of(window->shown);
	unsigned int i, used = 0, wrong = 0;

	for (i = 0; i < window->shown->sets * HASHBELT_WINDOW_WAYS; i++, slot++) {
		struct hb_window_set *set = &window->set[i / HASHBELT_WINDOW_WAYS];
		struct hashbelt_entry *entry = set->entry[i % HASHBELT_WINDOW_WAYS];

		wrong += slot->sequence % 2;
		if (entry) {
			used++;
			wrong += slot->version != entry->version ||
				 slot->key_len != entry->key_len ||
				 slot->value_len != entry->value_len ||
				 slot->flags != entry->flags ||
				 slot->deadline_ns > hb_node_deadline(&entry->node) ||
				 refcount_read(&entry->ref) < 2;
		} else {
			wrong += !!memchr_inv((void *)slot + sizeof(slot->sequence), 0,
					      sizeof(*slot) - sizeof(slot->sequence));
			wrong += !!set->heat[i % HASHBELT_WINDOW_WAYS];
		}
	}
	KUNIT_ASSERT_EQ(test, wrong, 0u);
	KUNIT_ASSERT_EQ(test, (unsigned int)atomic_read(&window->used), used);
	KUNIT_ASSERT_EQ(test, info_of(belt).window_used, used);
	check_accounting(test, belt);
}

/* Asking */

/* Asks for a slot, as a get that has found this value of the key. */
static void ask_for(struct hashbelt_belt *belt, const void *key, u32 key_len, u32 value_len)
{
	u64 words[HASHBELT_KEY_MAX / 8] = {};

	memcpy(words, key, key_len);
	hb_window_offer(belt, words, key_len, value_len);
}

static int ask(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_item item = {};
	int err = get_item(belt, key, &item);

	if (!err)
		ask_for(belt, &key, sizeof(key), item.value_len);
	return err;
}

static void bring_in(struct kunit *test, struct hashbelt_belt *belt, unsigned int key)
{
	KUNIT_ASSERT_EQ(test, ask(belt, key), 0);
	KUNIT_ASSERT_EQ(test, ask(belt, key), 0);
	KUNIT_ASSERT_NOT_NULL(test, slot_of(belt, key));
}

/* Which entries get a slot */

static void a_slot_has_what_the_entry_has(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	struct hashbelt_item item = { .flags = 7, .ttl_ms = 1000 };
	struct hashbelt_window_slot *slot;
	unsigned int key = 5, value = 6;
	u64 hash;

	KUNIT_ASSERT_EQ(test, put_bytes(belt, &key, sizeof(key), &value, sizeof(value), &item), 0);
	hash = hash_of(belt, &key, sizeof(key));
	bring_in(test, belt, key);
	slot = slot_of(belt, key);
	KUNIT_EXPECT_EQ(test, (u64)(slot - slots_of(shown_by(belt))) / HASHBELT_WINDOW_WAYS,
			(u64)set_of(belt, key));
	KUNIT_EXPECT_EQ(test, slot->sequence, 2ULL);
	KUNIT_EXPECT_EQ(test, slot->version, item.version);
	KUNIT_EXPECT_EQ(test, slot->deadline_ns, hashbelt_now(belt) + SEC);
	KUNIT_EXPECT_EQ(test, slot->tag, (u32)(hash >> 32));
	KUNIT_EXPECT_EQ(test, slot->flags, 7u);
	KUNIT_EXPECT_EQ(test, slot->value_len, 4u);
	KUNIT_EXPECT_EQ(test, slot->data[0], 5ULL);
	KUNIT_EXPECT_EQ(test, slot->data[1], 6ULL);
	check_slots(test, belt);
}

/* Each length of a key, with the longest value that has room beside it, and with one byte more. */
static void an_entry_gets_a_slot_if_key_and_value_have_room(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	u8 key[HASHBELT_WINDOW_DATA + 8], value[HASHBELT_WINDOW_DATA + 1];
	u32 key_len, most, more, i;

	memset(value, 'v', sizeof(value));
	for (key_len = 1; key_len <= HASHBELT_WINDOW_DATA; key_len++) {
		most = HASHBELT_WINDOW_DATA - round_up(key_len, 8);
		for (more = 0; more < 2; more++) {
			memset(key, 'a' + more, sizeof(key));
			KUNIT_ASSERT_EQ(test, put_bytes(belt, key, key_len, value, most + more,
							&(struct hashbelt_item){}), 0);
			for (i = 0; i < 2; i++)
				ask_for(belt, key, key_len, most + more);
			KUNIT_EXPECT_EQ_MSG(test, !slot_with(belt, key, key_len), more,
					    "key of %u bytes, value of %u", key_len, most + more);
		}
	}
	check_slots(test, belt);
}

/* Changes of an entry after a get has found it, and before it asks. */
static const struct way late_ways[] = {
	{ "a reader finds it expired", { DO_PASS, DO_SEAL } },
	{ "a remove", { DO_REMOVE } },
	{ "expiry by hand", { DO_EXPIRE } },
	{ "a clear", { DO_CLEAR } },
	{ "the end of the belt", { DO_KILL } },
};

KUNIT_ARRAY_PARAM_DESC(late, late_ways, name);

static void an_entry_that_is_not_live_gets_no_slot(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	struct fixture *f = test->priv;
	unsigned int key = 1, i;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	KUNIT_ASSERT_EQ(test, ask(belt, 1), 0);
	do_way(f, test->param_value);
	for (i = 0; i < 3; i++)
		ask_for(belt, &key, sizeof(key), sizeof(key));
	KUNIT_EXPECT_EQ(test, atomic_read(&window_of(belt)->used), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_WINDOW_FILLS), 0ULL);
	come_to_rest(belt);
	if (!belt->dead)
		check_slots(test, belt);
}

/* A get that is late has found another value before, which may have been a short one. */
static void an_ask_brings_in_the_entry_that_is_there_now(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	char value[HASHBELT_WINDOW_DATA] = "long";
	unsigned int key = 1, i;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	KUNIT_ASSERT_EQ(test, ask(belt, 1), 0);
	KUNIT_ASSERT_EQ(test, put_bytes(belt, &key, sizeof(key), value, sizeof(value),
					&(struct hashbelt_item){}), 0);
	for (i = 0; i < 3; i++)
		ask_for(belt, &key, sizeof(key), sizeof(key));
	KUNIT_EXPECT_NULL(test, slot_of(belt, 1));
	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	ask_for(belt, &key, sizeof(key), sizeof(key));
	KUNIT_ASSERT_NOT_NULL(test, slot_of(belt, 1));
	KUNIT_EXPECT_EQ(test, slot_of(belt, 1)->version, version_of(belt, 1));
	check_slots(test, belt);
}

static void an_entry_that_is_bound_to_a_client_gets_no_slot(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	struct fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, put_bound(belt, f->clients[0], 1), 0);
	KUNIT_EXPECT_EQ(test, ask(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, ask(belt, 1), 0);
	KUNIT_EXPECT_NULL(test, slot_of(belt, 1));
	/* The first ask is only remembered. */
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_WINDOW_REFUSED), 1ULL);
	drop_client(f, 0);
	check_slots(test, belt);
}

/* The first ask is remembered, and the second gets the slot. Other gets ask for nothing. */
static void an_entry_gets_a_slot_when_it_is_asked_for_again(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_EQ(test, ask(belt, 1), 0);
	KUNIT_EXPECT_NULL(test, slot_of(belt, 1));
	KUNIT_EXPECT_EQ(test, references(belt, 1), 1u);
	KUNIT_EXPECT_EQ(test, ask(belt, 1), 0);
	KUNIT_EXPECT_NOT_NULL(test, slot_of(belt, 1));
	KUNIT_EXPECT_EQ(test, references(belt, 1), 2u);
	/* A renewal of the copy is no second reference. */
	KUNIT_EXPECT_EQ(test, ask(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, references(belt, 1), 2u);
	KUNIT_EXPECT_EQ(test, slot_of(belt, 1)->sequence, 4ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_WINDOW_FILLS), 2ULL);
	check_slots(test, belt);
}

/* Keys of one set, @count of them. */
static void keys_of_a_set(struct hashbelt_belt *belt, unsigned int *keys, unsigned int count)
{
	unsigned int found = 0, key;

	for (key = 1; found < count; key++)
		if (!found || set_of(belt, key) == set_of(belt, keys[0]))
			keys[found++] = key;
}

/* Puts entries of @count keys that share a set. Those of the first keys take its slots. */
static void fill_a_set(struct kunit *test, struct hashbelt_belt *belt, unsigned int *keys,
		       unsigned int count)
{
	unsigned int i;

	keys_of_a_set(belt, keys, count);
	for (i = 0; i < count; i++)
		KUNIT_ASSERT_EQ(test, put(belt, keys[i]), 0);
	for (i = 0; i < HASHBELT_WINDOW_WAYS; i++)
		bring_in(test, belt, keys[i]);
}

static void a_full_set_keeps_the_entries_that_are_asked_for(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	unsigned int keys[6], i, asks;

	fill_a_set(test, belt, keys, ARRAY_SIZE(keys));
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, ask(belt, keys[i]), 0);
	bring_in(test, belt, keys[4]);
	KUNIT_EXPECT_NULL(test, slot_of(belt, keys[3]));
	KUNIT_EXPECT_EQ(test, references(belt, keys[3]), 1u);
	check_slots(test, belt);
	/* Each entry that is there has been asked for once more than it needed. */
	KUNIT_ASSERT_EQ(test, ask(belt, keys[4]), 0);
	for (asks = 0; !slot_of(belt, keys[5]); asks++) {
		KUNIT_ASSERT_EQ(test, ask(belt, keys[5]), 0);
		KUNIT_ASSERT_LT(test, asks, 100u);
	}
	/* The first is remembered, eight lower the heat, and the last gets the slot. */
	KUNIT_EXPECT_EQ(test, asks, 10u);
	KUNIT_EXPECT_EQ(test, atomic_read(&window_of(belt)->used), 4);
	check_slots(test, belt);
}

/* However often an entry was asked for, others get its slot after some dozens of asks. */
static void heat_has_a_bound(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	unsigned int keys[5], i, asks;

	fill_a_set(test, belt, keys, ARRAY_SIZE(keys));
	for (i = 0; i < 4000; i++)
		KUNIT_ASSERT_EQ(test, ask(belt, keys[i % 4]), 0);
	for (asks = 0; !slot_of(belt, keys[4]) && asks < 100; asks++)
		KUNIT_ASSERT_EQ(test, ask(belt, keys[4]), 0);
	KUNIT_EXPECT_EQ(test, asks, 33u);
	check_slots(test, belt);
}

/* How entries leave */

static const struct way leaving_ways[] = {
	{ "a remove", { DO_REMOVE } },
	{ "expiry by hand", { DO_EXPIRE } },
	{ "a put of the same length", { DO_PUT } },
	{ "a put of a longer value", { DO_PUT_LONGER } },
	{ "expiry", { DO_DRAIN } },
	{ "a put after its deadline", { DO_PASS, DO_PUT } },
	{ "a clear", { DO_CLEAR, DO_REST } },
	{ "a put after a clear", { DO_CLEAR, DO_PUT } },
	{ "eviction", { DO_EVICT } },
};

KUNIT_ARRAY_PARAM_DESC(leaving, leaving_ways, name);

static void a_change_of_the_entry_empties_the_slot(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test, .policy = HASHBELT_EVICT,
						   .max_entries = 10, .overwrites = true);
	struct fixture *f = test->priv;
	struct hashbelt_window_slot *slot;
	struct hashbelt_entry *entry;
	u64 version;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	slot = slot_of(belt, 1);
	entry = take_entry(belt, 1);
	version = entry->version;
	KUNIT_ASSERT_EQ(test, slot->sequence, 2ULL);
	KUNIT_ASSERT_EQ(test, refcount_read(&entry->ref), 3u);
	do_way(f, test->param_value);
	KUNIT_EXPECT_EQ(test, slot->sequence, 4ULL);
	KUNIT_EXPECT_EQ(test, slot->version, 0ULL);
	/* A put never writes into an entry that a reader refers to. */
	KUNIT_EXPECT_EQ(test, entry->version, version);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_WINDOW_EMPTIED), 1ULL);
	come_to_rest(belt);
	KUNIT_EXPECT_LE(test, refcount_read(&entry->ref), 2u);
	hashbelt_entry_put(belt, entry);
	check_slots(test, belt);
}

static const struct way touching_ways[] = {
	{ "a touch", { DO_TOUCH } },
	{ "a touch for longer", { DO_TOUCH_LONGER } },
	{ "a get that touches", { DO_GET_AND_TOUCH } },
};

KUNIT_ARRAY_PARAM_DESC(touching, touching_ways, name);

static void a_touch_changes_the_deadline_of_the_copy(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test, .overwrites = true);
	struct fixture *f = test->priv;
	struct hashbelt_window_slot *slot;
	u64 deadline;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	slot = slot_of(belt, 1);
	deadline = slot->deadline_ns;
	do_way(f, test->param_value);
	KUNIT_EXPECT_EQ(test, slot->sequence, 4ULL);
	KUNIT_EXPECT_NE(test, slot->deadline_ns, deadline);
	KUNIT_EXPECT_EQ(test, slot->deadline_ns, hashbelt_now(belt) + left_of(belt, 1) * MS);
	KUNIT_EXPECT_EQ(test, references(belt, 1), 2u);
	check_slots(test, belt);
}

/* The slot is emptied first, and then the put needs no new entry. */
static void a_put_overwrites_an_entry_that_only_the_window_refers_to(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test, .overwrites = true);
	struct hashbelt_entry *entry;
	u64 version;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	entry = entry_of_key(belt, 1);
	version = entry->version;
	KUNIT_ASSERT_EQ(test, references(belt, 1), 2u);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_NULL(test, slot_of(belt, 1));
	KUNIT_EXPECT_EQ(test, references(belt, 1), 1u);
	KUNIT_EXPECT_PTR_EQ(test, entry_of_key(belt, 1), entry);
	KUNIT_EXPECT_GT(test, version_of(belt, 1), version);
	check_slots(test, belt);
}

static void a_reinserted_entry_leaves_the_window(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test, .handler = HASHBELT_REINSERT,
						   .event = record_event, .arg = test->priv);

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	hashbelt_advance(belt, TTL + INTERVAL);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_NULL(test, slot_of(belt, 1));
	KUNIT_EXPECT_EQ(test, ask(belt, 1), 0);
	KUNIT_EXPECT_GT(test, slot_of(belt, 1)->deadline_ns, hashbelt_now(belt));
	check_slots(test, belt);
}

/* SET, and the end */

static int set_window(struct hashbelt_belt *belt, u64 bytes)
{
	return change(belt, WINDOW, .window_bytes = bytes);
}

static void set_of_another_size_begins_with_an_empty_window(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	struct fixture *f = test->priv;
	u64 seed = shown_by(belt)->seed, used;
	unsigned int key;

	for (key = 0; key < 100; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		bring_in(test, belt, key);
	}
	come_to_rest(belt);
	used = hb_memory_used();
	KUNIT_EXPECT_EQ(test, set_window(belt, 2 * SIZE), 0);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->sets, 256u);
	KUNIT_EXPECT_NE(test, shown_by(belt)->seed, seed);
	KUNIT_EXPECT_EQ(test, atomic_read(&window_of(belt)->used), 0);
	for (key = 0; key < 100; key++)
		KUNIT_ASSERT_EQ(test, references(belt, key), 1u);
	bring_in(test, belt, 7);
	check_slots(test, belt);
	/* The same size is no change. */
	KUNIT_EXPECT_EQ(test, set_window(belt, 2 * SIZE), 0);
	KUNIT_EXPECT_NOT_NULL(test, slot_of(belt, 7));
	KUNIT_EXPECT_EQ(test, set_window(belt, 0), 0);
	KUNIT_EXPECT_NULL(test, window_of(belt));
	KUNIT_EXPECT_EQ(test, references(belt, 7), 1u);
	KUNIT_EXPECT_EQ(test, ask(belt, 7), 0);
	KUNIT_EXPECT_EQ(test, set_window(belt, SIZE), 0);
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	check_slots(test, belt);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, memory_besides(belt), f->besides);
}

static void a_new_window_shows_time_floor_and_policy_of_the_belt(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test, .policy = HASHBELT_REFRESH_ON_GET);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, shown_by(belt)->state, HASHBELT_WINDOW_RENEWS);
	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->floor, belt->floor);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, set_window(belt, (2 + i) / 2 * 2 * SIZE * (i + 1)), 0);
		KUNIT_EXPECT_EQ(test, shown_by(belt)->floor, belt->floor);
		KUNIT_EXPECT_EQ(test, shown_by(belt)->state, HASHBELT_WINDOW_RENEWS);
		KUNIT_EXPECT_EQ(test, shown_by(belt)->halted_ns, hashbelt_now(belt));
		KUNIT_EXPECT_EQ(test, shown_by(belt)->clock % 2, 0ULL);
	}
	hashbelt_advance(belt, SEC);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->halted_ns, hashbelt_now(belt));
	hb_resume(belt);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->halted_ns, 0ULL);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->offset_ns, (s64)belt->clock.offset);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->clock, 4ULL);
}

/* Where gets renew, a copy has an earlier deadline than its entry. Afterwards it must not. */
static void no_copy_from_before_survives_a_policy_that_renews(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test, .policy = HASHBELT_REFRESH_ON_GET);
	struct hashbelt_window_slot *slot;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	move_time_only(belt, SEC);
	KUNIT_ASSERT_TRUE(test, get(belt, 1));
	KUNIT_ASSERT_EQ(test, left_of(belt, 1), TTL / MS);
	KUNIT_ASSERT_LT(test, slot_of(belt, 1)->deadline_ns, hashbelt_now(belt) + TTL);
	KUNIT_ASSERT_EQ(test, change(belt, POLICY), 0);
	KUNIT_EXPECT_EQ(test, shown_by(belt)->state, 0u);
	slot = slot_of(belt, 1);
	KUNIT_EXPECT_TRUE(test, !slot || slot->deadline_ns == hashbelt_now(belt) + TTL);
	check_slots(test, belt);
}

static void a_belt_that_wipes_has_no_window(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	struct hashbelt_config config = { .ttl = SEC, .policy = HASHBELT_WIPE,
		.window_bytes = SIZE };

	KUNIT_EXPECT_EQ(test, PTR_ERR(hashbelt_create(&config)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, hb_set(belt, &config, HASHBELT_SET_POLICY), -EINVAL);
	KUNIT_EXPECT_EQ(test, belt->settings.policy, 0u);
	config.window_bytes = 0;
	KUNIT_EXPECT_EQ(test, hb_set(belt, &config, HASHBELT_SET_POLICY | HASHBELT_SET_WINDOW), 0);
	KUNIT_EXPECT_EQ(test, set_window(belt, SIZE), -EINVAL);
	KUNIT_EXPECT_NULL(test, window_of(belt));
}

/* Whatever else the call was to change. */
static void a_set_without_memory_changes_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);
	struct hashbelt_config config = { .ttl = SEC, .buckets = 3000,
		.policy = HASHBELT_EVICT, .window_bytes = 4 * SIZE };
	u32 fields = HASHBELT_SET_WINDOW | HASHBELT_SET_POLICY | HASHBELT_SET_TTL |
		     HASHBELT_SET_BUCKETS;
	struct hb_window *window = window_of(belt);
	unsigned int failures = 0;
	u64 used, more;
	int err;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	used = hb_memory_used();
	for (more = 0; ; more += 4096) {
		hb_memory_limit(used + more);
		err = hb_set(belt, &config, fields);
		hb_memory_limit(U64_MAX);
		if (!err)
			break;
		failures++;
		KUNIT_ASSERT_EQ(test, err, -ENOSPC);
		KUNIT_ASSERT_EQ(test, hb_memory_used(), used);
		KUNIT_ASSERT_PTR_EQ(test, window_of(belt), window);
		KUNIT_ASSERT_TRUE(test, window->is_open);
		KUNIT_ASSERT_NOT_NULL(test, slot_of(belt, 1));
		KUNIT_ASSERT_EQ(test, belt->settings.policy, 0u);
		KUNIT_ASSERT_EQ(test, belt->settings.window_bytes, (u64)SIZE);
		KUNIT_ASSERT_EQ(test, belt->settings.ttl, TTL);
	}
	/* Both the new window and the new wheels have failed. */
	KUNIT_EXPECT_GT(test, failures, (4 * SIZE) / 4096u + 10);
	flush_work(&belt->work);
	check_slots(test, belt);
}

static void a_belt_is_not_made_without_memory_for_its_window(struct kunit *test)
{
	struct hashbelt_config config = { .ttl = TTL, .buckets = 5, .window_bytes = 4 * SIZE };
	struct hashbelt_belt *belt;
	unsigned int failures = 0;
	u64 used, more;

	make_windowed(test);
	used = hb_memory_used();
	for (more = 0; ; more += 4096) {
		hb_memory_limit(used + more);
		belt = hashbelt_create(&config);
		hb_memory_limit(U64_MAX);
		if (!IS_ERR(belt))
			break;
		failures++;
		KUNIT_ASSERT_EQ(test, PTR_ERR(belt), (long)-ENOSPC);
		KUNIT_ASSERT_EQ(test, hb_memory_used(), used);
	}
	KUNIT_EXPECT_GT(test, failures, (4 * SIZE) / 4096u);
	hashbelt_destroy(belt);
	hashbelt_flush();
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

/* A mapping has a reference to the window, but not to its pages. */
static void the_pages_of_a_dead_belt_are_freed_while_they_are_mapped(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .window_bytes = 16 * SIZE);
	struct hb_window *window = hb_window_get(belt);
	struct hashbelt_entry *entry;
	u64 used;

	KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
	bring_in(test, belt, 1);
	entry = take_entry(belt, 1);
	used = hb_memory_used();
	hb_kill(belt);
	KUNIT_EXPECT_LE(test, hb_memory_used() + 16 * SIZE + PAGE_SIZE, used);
	KUNIT_EXPECT_NULL(test, window->shown);
	KUNIT_EXPECT_LE(test, refcount_read(&entry->ref), 2u);
	down_read(&window->gate);
	KUNIT_EXPECT_EQ(test, hb_window_pfn(window, 0), hb_window_pfn(window, 9));
	up_read(&window->gate);
	hashbelt_entry_put(belt, entry);
	hb_window_put(window);
}

/* SET on a descriptor, beside DESTROY on another. */
static void a_dead_belt_has_no_open_window(struct kunit *test)
{
	struct hashbelt_belt *belt = make_windowed(test);

	hb_kill(belt);
	come_to_rest(belt);
	set_window(belt, 4 * SIZE);
	KUNIT_EXPECT_TRUE(test, !window_of(belt) || !window_of(belt)->shown);
	KUNIT_EXPECT_TRUE(test, !window_of(belt) || !window_of(belt)->is_open);
}

static struct kunit_case slot_cases[] = {
	KUNIT_CASE(a_slot_has_what_the_entry_has),
	KUNIT_CASE(an_entry_gets_a_slot_if_key_and_value_have_room),
	KUNIT_CASE_PARAM(an_entry_that_is_not_live_gets_no_slot, late_gen_params),
	KUNIT_CASE(an_ask_brings_in_the_entry_that_is_there_now),
	KUNIT_CASE(an_entry_that_is_bound_to_a_client_gets_no_slot),
	KUNIT_CASE(an_entry_gets_a_slot_when_it_is_asked_for_again),
	KUNIT_CASE(a_full_set_keeps_the_entries_that_are_asked_for),
	KUNIT_CASE(heat_has_a_bound),
	KUNIT_CASE_PARAM(a_change_of_the_entry_empties_the_slot, leaving_gen_params),
	KUNIT_CASE_PARAM(a_touch_changes_the_deadline_of_the_copy, touching_gen_params),
	KUNIT_CASE(a_put_overwrites_an_entry_that_only_the_window_refers_to),
	KUNIT_CASE(a_reinserted_entry_leaves_the_window),
	KUNIT_CASE(set_of_another_size_begins_with_an_empty_window),
	KUNIT_CASE(a_new_window_shows_time_floor_and_policy_of_the_belt),
	KUNIT_CASE(no_copy_from_before_survives_a_policy_that_renews),
	KUNIT_CASE(a_belt_that_wipes_has_no_window),
	KUNIT_CASE(a_set_without_memory_changes_nothing),
	KUNIT_CASE(a_belt_is_not_made_without_memory_for_its_window),
	KUNIT_CASE(the_pages_of_a_dead_belt_are_freed_while_they_are_mapped),
	KUNIT_CASE(a_dead_belt_has_no_open_window),
	{}
};

TEST_SUITE(slot, fixture_init, fixture_exit);
