// SPDX-License-Identifier: GPL-2.0-only
/* The index: finding, resizing and scanning. */
#include <linux/random.h>
#include <linux/siphash.h>

#include "belt/ground/index.h"
#include "belt/ground/memory.h"
#include "suite.h"

#define ENTRIES	2000

struct fixture {
	struct hb_index index;
	struct workqueue_struct *wq;
	struct hashbelt_entry *entries[ENTRIES];
};

static int index_suite_init(struct kunit_suite *suite)
{
	return hb_memory_init(0);
}

static void index_suite_exit(struct kunit_suite *suite)
{
	hb_memory_exit();
}

static int index_init(struct kunit *test)
{
	struct fixture *f = must_alloc(test, sizeof(*f));
	unsigned int i;

	test->priv = f;
	f->wq = alloc_workqueue("hashbelt_index_test", WQ_UNBOUND, 0);
	if (!f->wq)
		return -ENOMEM;
	for (i = 0; i < ENTRIES; i++) {
		struct hashbelt_entry *entry = must_alloc(test, sizeof(*entry) + 8);

		entry->key_len = sizeof(i);
		memcpy(entry->data, &i, sizeof(i));
		/* Spread over the whole range. Each tenth entry has the hash of the one before. */
		entry->hash = (i - i % 10 / 9) * 2654435761u;
		f->entries[i] = entry;
	}
	return hb_index_init(&f->index, HB_INDEX_BITS_MIN, f->wq, NULL);
}

static void index_exit(struct kunit *test)
{
	struct fixture *f = test->priv;

	if (f->wq) {
		/* Replaced tables are freed on it, after a grace period. */
		rcu_barrier();
		destroy_workqueue(f->wq);
	}
	hb_index_destroy(&f->index);
}

static struct hashbelt_entry *find(struct fixture *f, unsigned int i)
{
	struct hashbelt_entry *entry;

	rcu_read_lock();
	entry = hb_index_find(&f->index, f->entries[i]->hash, &i, sizeof(i));
	rcu_read_unlock();
	return entry;
}

static void insert_all(struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		hb_index_insert(&f->index, f->entries[i]);
}

static void expect_all(struct kunit *test, struct fixture *f)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_PTR_EQ(test, find(f, i), f->entries[i]);
}

static bool move_one(struct fixture *f)
{
	if (hb_index_moving(&f->index) == HB_INDEX_END)
		return false;
	hb_index_move(&f->index);
	return true;
}

static void find_compares_the_whole_key(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int stranger = ENTRIES;

	insert_all(f);
	expect_all(test, f);
	rcu_read_lock();
	KUNIT_EXPECT_NULL(test, hb_index_find(&f->index, f->entries[0]->hash,
					      &stranger, sizeof(stranger)));
	KUNIT_EXPECT_NULL(test, hb_index_find(&f->index, f->entries[7]->hash,
					      f->entries[7]->data, 3));
	rcu_read_unlock();
}

static void find_sees_every_entry_at_each_step_of_growing(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int steps = 0;

	insert_all(f);
	hb_index_resize(&f->index, 6);
	do
		expect_all(test, f);
	while (move_one(f) && ++steps);
	/* Chains of 250 entries are moved in pieces. */
	KUNIT_EXPECT_GE(test, steps, ENTRIES / HB_INDEX_MOVES);
	KUNIT_EXPECT_LE(test, steps, ENTRIES / HB_INDEX_MOVES + (1u << HB_INDEX_BITS_MIN));
	KUNIT_EXPECT_EQ(test, f->index.bits, 6u);
}

static void find_sees_every_entry_at_each_step_of_shrinking(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int steps = 0;

	hb_index_resize(&f->index, 6);
	while (move_one(f))
		;
	insert_all(f);
	hb_index_resize(&f->index, 4);
	do
		expect_all(test, f);
	while (move_one(f) && ++steps);
	KUNIT_EXPECT_EQ(test, steps, 1u << 6);
	KUNIT_EXPECT_EQ(test, f->index.bits, 4u);
}

/* A batch of gets reads the table and the chains of its keys before it walks them. */
static void a_walk_from_a_replaced_table_sees_every_entry(struct kunit *test)
{
	static const unsigned int bits[] = { 6, 4, 10 };
	struct fixture *f = test->priv;
	struct hashbelt_entry *entry;
	struct hb_table *table;
	unsigned int i, n;

	insert_all(f);
	for (n = 0; n < ARRAY_SIZE(bits); n++) {
		KUNIT_ASSERT_TRUE(test, hb_index_resize(&f->index, bits[n]));
		rcu_read_lock();
		table = rcu_dereference(f->index.table);
		do {
			for (i = 0; i < ENTRIES; i++) {
				u32 hash = f->entries[i]->hash;

				entry = hb_table_walk(table, hb_chain(table, hash), hash, &i,
						      sizeof(i), false, false);
				if (entry != f->entries[i])
					break;
			}
		} while (i == ENTRIES && move_one(f));
		rcu_read_unlock();
		KUNIT_ASSERT_EQ(test, i, (unsigned int)ENTRIES);
		KUNIT_ASSERT_EQ(test, hb_index_moving(&f->index), HB_INDEX_END);
	}
}

static void find_sees_inserts_and_removals_during_a_resize(struct kunit *test)
{
	struct fixture *f = test->priv;
	unsigned int i;

	for (i = 0; i < ENTRIES / 2; i++)
		hb_index_insert(&f->index, f->entries[i]);
	hb_index_resize(&f->index, 10);
	move_one(f);
	for (; i < ENTRIES; i++)
		hb_index_insert(&f->index, f->entries[i]);
	move_one(f);
	for (i = 0; i < ENTRIES; i += 2)
		hlist_del_rcu(&f->entries[i]->chain);
	while (move_one(f))
		;
	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_PTR_EQ(test, find(f, i), i % 2 ? f->entries[i] : NULL);
}

static void resize_to(struct kunit *test, struct fixture *f, unsigned int bits)
{
	KUNIT_ASSERT_TRUE(test, hb_index_resize(&f->index, bits));
	while (move_one(f))
		;
}

static void set_ghost(struct fixture *f, u32 hash, u16 ghost)
{
	rcu_read_lock();
	*hb_ghost_slot(&f->index, hash, false) = ghost;
	rcu_read_unlock();
}

static u16 ghost(struct fixture *f, u32 hash)
{
	u16 ghost;

	rcu_read_lock();
	ghost = *hb_ghost_slot(&f->index, hash, false);
	rcu_read_unlock();
	return ghost;
}

/* Two hashes whose upper 11 bits differ in the last one. */
#define ONE	0xabc00000u
#define OTHER	0xabe00000u

static void an_index_that_remembers_has_as_many_ghosts_as_chains(struct kunit *test)
{
	struct fixture *f = test->priv;
	size_t bytes;

	resize_to(test, f, HB_GHOST_BITS + 1);
	bytes = hb_index_bytes(&f->index);
	set_ghost(f, ONE, 1);
	KUNIT_EXPECT_EQ(test, ghost(f, OTHER), 1);
	f->index.remembers = true;
	resize_to(test, f, HB_GHOST_BITS);
	KUNIT_EXPECT_EQ(test, ghost(f, OTHER), 1);
	/* The first table with ghosts of its own. What was written before is forgotten. */
	resize_to(test, f, HB_GHOST_BITS + 1);
	KUNIT_EXPECT_EQ(test, hb_index_bytes(&f->index), bytes + (sizeof(u16) << 11));
	KUNIT_EXPECT_EQ(test, ghost(f, ONE), 0);
	set_ghost(f, ONE, 2);
	KUNIT_EXPECT_EQ(test, ghost(f, OTHER), 0);
	set_ghost(f, 0xffffffffu, 3);
	KUNIT_EXPECT_EQ(test, ghost(f, ONE), 2);
	resize_to(test, f, HB_GHOST_BITS);
	KUNIT_EXPECT_EQ(test, ghost(f, ONE), 0);
	KUNIT_EXPECT_EQ(test, ghost(f, OTHER), 0);
}

/* Two hashes whose upper 9 bits differ in the last one. */
#define NEAR	0xab000000u
#define NEXT	0xab800000u

static void an_index_that_remembers_has_few_ghosts_for_256_chains(struct kunit *test)
{
	struct fixture *f = test->priv;
	size_t bytes;

	resize_to(test, f, HB_GHOST_MIN_BITS);
	bytes = hb_index_bytes(&f->index);
	f->index.remembers = true;
	resize_to(test, f, HB_GHOST_MIN_BITS - 1);
	set_ghost(f, NEAR, 1);
	KUNIT_EXPECT_EQ(test, ghost(f, NEXT), 0);
	resize_to(test, f, HB_GHOST_MIN_BITS);
	KUNIT_EXPECT_EQ(test, hb_index_bytes(&f->index), bytes + (sizeof(u16) << 8));
	KUNIT_EXPECT_EQ(test, ghost(f, NEAR), 0);
	set_ghost(f, NEAR, 2);
	KUNIT_EXPECT_EQ(test, ghost(f, NEXT), 2);
	set_ghost(f, 0xffffffffu, 3);
	KUNIT_EXPECT_EQ(test, ghost(f, NEAR), 2);
	resize_to(test, f, HB_GHOST_MIN_BITS + 1);
	KUNIT_EXPECT_EQ(test, ghost(f, NEAR), 0);
	set_ghost(f, NEAR, 4);
	KUNIT_EXPECT_EQ(test, ghost(f, NEXT), 0);
}

static void replaced_tables_are_freed(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 before = hb_memory_used();

	insert_all(f);
	hb_index_resize(&f->index, 12);
	KUNIT_EXPECT_GT(test, hb_memory_used(), before);
	while (move_one(f))
		;
	hb_index_resize(&f->index, HB_INDEX_BITS_MIN);
	while (move_one(f))
		;
	rcu_barrier();
	flush_workqueue(f->wq);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), before);
	expect_all(test, f);
}

struct visits {
	unsigned int seen[ENTRIES];
};

static void visit(struct hashbelt_entry *entry, void *arg)
{
	struct visits *visits = arg;
	unsigned int i;

	memcpy(&i, entry->data, sizeof(i));
	visits->seen[i]++;
}

static void a_scan_sees_each_entry_once_while_the_index_is_resized(struct kunit *test)
{
	static const unsigned int sizes[] = { 7, 4, 11, 3, 9, 5, 12 };
	struct fixture *f = test->priv;
	struct visits *visits = must_alloc(test, sizeof(*visits));
	unsigned int i, steps = 0;
	u64 place = 0;

	insert_all(f);
	hb_index_resize(&f->index, 10);
	while (place < HB_INDEX_END) {
		place = hb_index_scan(&f->index, place, visit, visits);
		for (i = 0; i < 30; i++)
			if (!move_one(f))
				hb_index_resize(&f->index, sizes[steps++ % ARRAY_SIZE(sizes)]);
	}
	KUNIT_EXPECT_GT(test, steps, 3u);
	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, visits->seen[i], 1u);
}

static void a_table_of_several_parts_has_each_entry_once(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct visits *visits = must_alloc(test, sizeof(*visits));
	u64 place = 0;
	unsigned int i;

	insert_all(f);
	resize_to(test, f, HB_PART_BITS + 2);
	expect_all(test, f);
	while (place < HB_INDEX_END)
		place = hb_index_scan(&f->index, place, visit, visits);
	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, visits->seen[i], 1u);
	resize_to(test, f, HB_PART_BITS);
	expect_all(test, f);
}

static void a_table_that_does_not_fit_leaves_no_charge(struct kunit *test)
{
	struct fixture *f = test->priv;
	u64 used = hb_memory_used();

	/* Room for one and a half parts. */
	hb_memory_limit(used + (sizeof(struct hlist_head) << HB_PART_BITS) / 2 * 3);
	KUNIT_EXPECT_FALSE(test, hb_index_resize(&f->index, HB_PART_BITS + 1));
	hb_memory_limit(U64_MAX);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	KUNIT_EXPECT_EQ(test, f->index.bits, (unsigned int)HB_INDEX_BITS_MIN);
}

static void one_task_at_a_time_allocates_a_table(struct kunit *test)
{
	struct fixture *f = test->priv;

	mutex_lock(&f->index.resize_lock);
	KUNIT_EXPECT_FALSE(test, hb_index_resize(&f->index, 9));
	mutex_unlock(&f->index.resize_lock);
	KUNIT_EXPECT_TRUE(test, hb_index_resize(&f->index, 9));
	KUNIT_EXPECT_FALSE(test, mutex_is_locked(&f->index.resize_lock));
}

static void an_enlargement_returns_why_there_is_no_table(struct kunit *test)
{
	struct fixture *f = test->priv;

	hb_memory_limit(hb_memory_used());
	KUNIT_EXPECT_EQ(test, hb_index_enlarge(&f->index, 9), -ENOSPC);
	hb_memory_limit(U64_MAX);
	/* The next attempt is made 100 ms later. */
	KUNIT_EXPECT_EQ(test, hb_index_enlarge(&f->index, 9), -ENOSPC);
	KUNIT_EXPECT_EQ(test, f->index.bits, (unsigned int)HB_INDEX_BITS_MIN);
	f->index.retry = jiffies;
	KUNIT_EXPECT_EQ(test, hb_index_enlarge(&f->index, 9), 0);
	KUNIT_EXPECT_EQ(test, f->index.bits, 9u);
	/* Entries are being moved: the caller is to try again, as where the index has grown. */
	KUNIT_EXPECT_EQ(test, hb_index_enlarge(&f->index, 12), 0);
	while (move_one(f))
		;
	KUNIT_EXPECT_EQ(test, hb_index_enlarge(&f->index, 8), 0);
	KUNIT_EXPECT_EQ(test, f->index.bits, 9u);
}

/* Of words, so that the word in which a key ends can be read. */
struct keys {
	u64 one[8];
	u64 other[8];
};

static struct keys *keys_new(struct kunit *test)
{
	struct keys *keys = must_alloc(test, sizeof(*keys));

	get_random_bytes(keys, sizeof(*keys));
	return keys;
}

static void a_hash_is_that_of_the_kernel(struct kunit *test)
{
	const hsiphash_key_t key = { .key = { 0x0706050403020100ul, 0x0f0e0d0c0b0a0908ul } };
	struct keys *keys = keys_new(test);
	struct hb_seed seed;
	u32 len, hash;

	hb_seed_init(&seed, &key);
	for (len = 1; len <= sizeof(keys->one); len++) {
		hash = hsiphash(keys->one, len, &key);
		KUNIT_EXPECT_EQ_MSG(test, hb_siphash(keys->one, len, &seed, true), hash,
				    "a key of %u bytes, in words", len);
		memmove((u8 *)keys->other + 1, keys->one, min_t(u32, len, 63));
		if (len < sizeof(keys->one))
			KUNIT_EXPECT_EQ_MSG(test, hb_siphash((u8 *)keys->other + 1, len, &seed,
							     false), hash,
					    "a key of %u bytes, anywhere", len);
	}
}

static void keys_in_words_differ_by_each_byte(struct kunit *test)
{
	struct keys *keys = keys_new(test);
	u8 *other = (u8 *)keys->other;
	u32 len, at;

	for (len = 1; len <= sizeof(keys->one); len++) {
		memcpy(keys->other, keys->one, len);
		KUNIT_EXPECT_TRUE_MSG(test, hb_keys_equal(keys->one, keys->other, len),
				      "%u bytes", len);
		for (at = 0; at < sizeof(keys->other); at++) {
			other[at] ^= 0x80;
			KUNIT_EXPECT_EQ_MSG(test, hb_keys_equal(keys->one, keys->other, len),
					    at >= len, "%u bytes, byte %u differs", len, at);
			other[at] ^= 0x80;
		}
	}
}

static struct kunit_case index_cases[] = {
	KUNIT_CASE(a_hash_is_that_of_the_kernel),
	KUNIT_CASE(keys_in_words_differ_by_each_byte),
	KUNIT_CASE(find_compares_the_whole_key),
	KUNIT_CASE(a_table_of_several_parts_has_each_entry_once),
	KUNIT_CASE(a_table_that_does_not_fit_leaves_no_charge),
	KUNIT_CASE(one_task_at_a_time_allocates_a_table),
	KUNIT_CASE(find_sees_every_entry_at_each_step_of_growing),
	KUNIT_CASE(find_sees_every_entry_at_each_step_of_shrinking),
	KUNIT_CASE(a_walk_from_a_replaced_table_sees_every_entry),
	KUNIT_CASE(find_sees_inserts_and_removals_during_a_resize),
	KUNIT_CASE(an_enlargement_returns_why_there_is_no_table),
	KUNIT_CASE(an_index_that_remembers_has_as_many_ghosts_as_chains),
	KUNIT_CASE(an_index_that_remembers_has_few_ghosts_for_256_chains),
	KUNIT_CASE(replaced_tables_are_freed),
	KUNIT_CASE(a_scan_sees_each_entry_once_while_the_index_is_resized),
	{}
};

static struct kunit_suite index_suite = {
	.name = "hashbelt_index",
	.suite_init = index_suite_init,
	.suite_exit = index_suite_exit,
	.init = index_init,
	.exit = index_exit,
	.test_cases = index_cases,
};

kunit_test_suites(&index_suite);
