// SPDX-License-Identifier: GPL-2.0-only
/* The order of eviction in which entries that were read have a second chance: guarantee 14. */
#include <kunit/test.h>

#include "belt.h"

/* Presence is checked by has(), which is no read; get() is one. */
static struct hashbelt_belt *make(struct kunit *test, unsigned int entries, u32 buckets)
{
	return one_belt(test, .policy = HASHBELT_EVICT, .max_entries = entries, .buckets = buckets);
}

static void set_policy(struct kunit *test, struct hashbelt_belt *belt, u32 policy)
{
	KUNIT_ASSERT_EQ(test, change(belt, POLICY, .policy = policy), 0);
}

static void set_max_entries(struct kunit *test, struct hashbelt_belt *belt, unsigned int most)
{
	KUNIT_ASSERT_EQ(test, change(belt, MAX_ENTRIES, .max_entries = most), 0);
}

static void put_range(struct kunit *test, struct hashbelt_belt *belt, unsigned int from,
		      unsigned int to, u64 ttl_ms)
{
	unsigned int key;

	for (key = from; key < to; key++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, ttl_ms), 0);
}

static unsigned int count_present(struct hashbelt_belt *belt, unsigned int from, unsigned int to)
{
	unsigned int key, present = 0;

	for (key = from; key < to; key++)
		present += has(belt, key);
	return present;
}

/* Keys from ENTRIES on never expire, so they are behind the others in the order. */
static void unread_entries_leave_in_the_order_of_their_buckets(struct kunit *test)
{
	enum { ENTRIES = 5000, ROUND = 500 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 500);
	u64 interval = hb_interval(belt), deadline, gone, there;
	unsigned int key, put;

	for (key = 0; key < ENTRIES; key++)
		put_ttl(belt, key, (1 + key * 7919 % ENTRIES) * (TTL / ENTRIES / MS));
	for (put = 0; put < ENTRIES; put += ROUND) {
		put_range(test, belt, ENTRIES + put, ENTRIES + put + ROUND, HASHBELT_TTL_NEVER);
		gone = 0;
		there = HB_NEVER;
		for (key = 0; key < ENTRIES; key++) {
			deadline = (1 + key * 7919 % ENTRIES) * (TTL / ENTRIES);
			if (has(belt, key))
				there = min(there, deadline);
			else
				gone = max(gone, deadline);
		}
		KUNIT_EXPECT_LT(test, gone, there + interval);
		KUNIT_EXPECT_EQ(test, count_present(belt, 0, ENTRIES), ENTRIES - put - ROUND);
	}
}

/* The @n-th key of the first shard. */
static unsigned int key_in_shard(struct hashbelt_belt *belt, unsigned int n)
{
	unsigned int key = 0;

	while (hb_shard_of(belt, hb_hash(belt, &key, sizeof(key))) != belt->shards || n--)
		key++;
	return key;
}

/* Each entry is alone in its bucket. All are in one shard, for an exact order. */
static void an_entry_that_was_read_is_passed(struct kunit *test)
{
	enum { ENTRIES = 16 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 500);
	unsigned int keys[3 * ENTRIES], i, next = ENTRIES;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = key_in_shard(belt, i);
	for (i = 0; i < ENTRIES; i++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, keys[i], (1 + i) * 10000), 0);
	for (i = 0; i < ENTRIES; i += 3)
		KUNIT_ASSERT_TRUE(test, get(belt, keys[i]));
	for (i = 0; i < ENTRIES; i++) {
		if (i % 3 == 0)
			continue;
		KUNIT_EXPECT_TRUE(test, has(belt, keys[i]));
		KUNIT_ASSERT_EQ(test, put_ttl(belt, keys[next++], HASHBELT_TTL_NEVER), 0);
		KUNIT_EXPECT_FALSE(test, has(belt, keys[i]));
	}
	for (i = 0; i < ENTRIES; i += 3)
		KUNIT_EXPECT_TRUE(test, has(belt, keys[i]));
	/* The hand goes on to the later entries. If those were read, it comes back. */
	for (i = ENTRIES; i < next; i++)
		KUNIT_ASSERT_TRUE(test, get(belt, keys[i]));
	for (i = 0; i < ENTRIES; i += 3) {
		KUNIT_EXPECT_TRUE(test, has(belt, keys[i]));
		KUNIT_ASSERT_EQ(test, put_ttl(belt, keys[next], HASHBELT_TTL_NEVER), 0);
		KUNIT_ASSERT_TRUE(test, get(belt, keys[next++]));
		KUNIT_EXPECT_FALSE(test, has(belt, keys[i]));
	}
}

/* The example of docs/design.md, "Which entry goes": a letter is a key. */
static const struct {
	char put;
	char leaves;
	const char *read;	/* after the put */
} example_rows[] = {
	{ 'K', 'A', "" },
	{ 'L', 'C', "" },
	{ 'M', 'D', "" },
	{ 'N', 'F', "" },
	{ 'O', 'G', "" },
	{ 'P', 'I', "JKLMOP" },
	{ 'Q', 'N', "" },
	{ 'R', 'Q', "E" },
	{ 'S', 'B', "" },
	{ 'T', 'H', "" },
	{ 'U', 'J', "" },
};

static void put_letter(struct kunit *test, struct hashbelt_belt *belt, char letter)
{
	unsigned int second = letter == 'N' ? 1 : 2 * (letter - 'A' + 1);

	KUNIT_ASSERT_EQ(test, put_ttl(belt, key_in_shard(belt, letter - 'A'), second * 1000), 0);
}

static void read_letters(struct kunit *test, struct hashbelt_belt *belt, const char *letters)
{
	for (; *letters; letters++)
		KUNIT_ASSERT_TRUE(test, get(belt, key_in_shard(belt, *letters - 'A')));
}

static bool has_letter(struct hashbelt_belt *belt, char letter)
{
	return has(belt, key_in_shard(belt, letter - 'A'));
}

static void ten_entries_leave_as_the_design_says(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 10, 500);
	unsigned int i;
	char letter;

	for (letter = 'A'; letter <= 'J'; letter++)
		put_letter(test, belt, letter);
	read_letters(test, belt, "BEH");
	for (i = 0; i < ARRAY_SIZE(example_rows); i++) {
		KUNIT_EXPECT_TRUE(test, has_letter(belt, example_rows[i].leaves));
		put_letter(test, belt, example_rows[i].put);
		KUNIT_EXPECT_EQ(test, entries_of(belt), 10ULL);
		KUNIT_EXPECT_FALSE_MSG(test, has_letter(belt, example_rows[i].leaves),
				       "a put of %c does not evict %c", example_rows[i].put,
				       example_rows[i].leaves);
		read_letters(test, belt, example_rows[i].read);
	}
}

/* A get without a refresh is no read, and the entry of a removed key is a new one. */
static void gets_touches_and_puts_of_a_present_key_are_reads(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 10, 5);
	struct hashbelt_item item = { .how = HASHBELT_IF_SOONER, .ttl_ms = 1000 };
	unsigned int key = 4;

	put_many(test, belt, 1, 5);
	KUNIT_EXPECT_TRUE(test, has(belt, 1));
	KUNIT_EXPECT_EQ(test, count_read(belt), 0u);
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_TRUE(test, get(belt, 1));
	KUNIT_EXPECT_EQ(test, count_read(belt), 1u);
	KUNIT_EXPECT_EQ(test, touch(belt, 2, 1000), 0);
	KUNIT_EXPECT_EQ(test, count_read(belt), 2u);
	KUNIT_EXPECT_EQ(test, put(belt, 3), 0);
	KUNIT_EXPECT_EQ(test, count_read(belt), 3u);
	KUNIT_ASSERT_EQ(test, hashbelt_touch(belt, &key, sizeof(key), &item), 0);
	KUNIT_EXPECT_EQ(test, count_read(belt), 4u);
	KUNIT_ASSERT_EQ(test, add_one(belt, 5), 0);
	KUNIT_EXPECT_EQ(test, count_read(belt), 4u);
	KUNIT_ASSERT_EQ(test, add_one(belt, 5), 0);
	KUNIT_EXPECT_EQ(test, count_read(belt), 5u);
	take_out(belt, 1);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, count_read(belt), 4u);
}

static void a_belt_that_does_not_evict_records_no_reads(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);

	put(belt, 1);
	get(belt, 1);
	KUNIT_EXPECT_EQ(test, count_read(belt), 0u);
	set_policy(test, belt, HASHBELT_EVICT);
	get(belt, 1);
	KUNIT_EXPECT_EQ(test, count_read(belt), 1u);
}

/* Puts entries all over the order, so that the hand comes round again and again. */
static void put_everywhere(struct kunit *test, struct hashbelt_belt *belt, unsigned int from,
			   unsigned int to, bool read)
{
	unsigned int key;

	for (key = from; key < to; key++) {
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, (1 + key * 7919 % 4001) * 50), 0);
		if (read)
			get(belt, key);
	}
}

static void an_entry_that_was_found_read_stays_while_laps_evict_many(struct kunit *test)
{
	enum { ENTRIES = 800, KEPT = 200, MANY = 5000 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 500);
	unsigned int key;

	put_everywhere(test, belt, 0, KEPT, true);
	put_everywhere(test, belt, KEPT, KEPT + MANY, false);
	KUNIT_EXPECT_EQ(test, count_present(belt, 0, KEPT), (unsigned int)KEPT);
	KUNIT_EXPECT_EQ(test, count_read(belt), 0u);
	KUNIT_EXPECT_EQ(test, count_flagged(belt, HB_TERM), (unsigned int)KEPT);
	KUNIT_EXPECT_GE(test, belt->hand.lap, 4ULL);
	/* The new entry of a key that is put again has the term of the old one. */
	for (key = 0; key < KEPT; key += 2)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 100000), 0);
	KUNIT_EXPECT_EQ(test, count_flagged(belt, HB_TERM), (unsigned int)KEPT);
	KUNIT_EXPECT_EQ(test, count_read(belt), KEPT / 2u);
	/* Laps that evict few entries end the term. Those that were put again outlast one more. */
	put_everywhere(test, belt, KEPT + MANY, KEPT + MANY + 4 * ENTRIES, true);
	KUNIT_EXPECT_EQ(test, count_present(belt, 0, KEPT), 0u);
}

/* The only entry of a shard is found read. */
static void a_lap_that_evicts_nothing_ends_the_term(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 1, 500);
	unsigned int n;
	u64 lap;

	for (n = 0; n < 10; n++) {
		lap = belt->hand.lap;
		KUNIT_ASSERT_EQ(test, put(belt, key_in_shard(belt, n)), 0);
		KUNIT_EXPECT_LE(test, belt->hand.lap, lap + 2);
		KUNIT_EXPECT_TRUE(test, get(belt, key_in_shard(belt, n)));
	}
}

static void one_eviction_skips_at_most_1024_entries(struct kunit *test)
{
	enum { ENTRIES = 5000 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 5);
	unsigned int key, read, left;

	put_range(test, belt, 0, ENTRIES, 0);
	for (key = 0; key < ENTRIES; key++)
		get(belt, key);
	left = count_read(belt);
	KUNIT_ASSERT_EQ(test, left, (unsigned int)ENTRIES);
	for (key = ENTRIES; left; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		read = count_read(belt);
		/* One more goes that was read. */
		KUNIT_ASSERT_LE(test, left - read, 1025u);
		KUNIT_ASSERT_LT(test, read, left);
		KUNIT_ASSERT_EQ(test, entries_of(belt), (u64)ENTRIES);
		left = read;
	}
	KUNIT_EXPECT_GE(test, count_present(belt, 0, ENTRIES), ENTRIES - 10u);
}

/* A reader reads all entries again between two evictions. */
static void an_eviction_ends_where_all_entries_are_always_read(struct kunit *test)
{
	enum { ENTRIES = 100 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 5);
	unsigned int key, read;

	for (key = 0; key < 5 * ENTRIES; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		for (read = 0; read <= key; read++)
			get(belt, read);
	}
	KUNIT_EXPECT_EQ(test, entries_of(belt), (u64)ENTRIES);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 4ULL * ENTRIES);
}

static void expired_entries_leave_first(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 100, 5);
	unsigned int key;

	put_range(test, belt, 0, 50, 0);
	/* The hands are far ahead of the entries that expire. */
	set_policy(test, belt, HASHBELT_EVICT);
	put_range(test, belt, 50, 150, 0);
	put_range(test, belt, 150, 200, 1000);
	for (key = 150; key < 200; key++)
		get(belt, key);
	move_time_only(belt, SEC);
	key = count_present(belt, 0, 150);
	put_range(test, belt, 200, 240, 0);
	KUNIT_EXPECT_EQ(test, count_present(belt, 0, 150), key);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), 40ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 100ULL);
}

/* The entry that an eviction would come to next is removed, or its bucket falls off. */
static void the_hand_goes_on_when_its_entry_has_left(struct kunit *test)
{
	enum { ENTRIES = 100 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 500);
	unsigned int key;

	for (key = 0; key < ENTRIES; key++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, (1 + key) * 1000), 0);
	for (key = 0; key < ENTRIES; key += 4) {
		KUNIT_ASSERT_EQ(test, put_ttl(belt, 1000 + key, HASHBELT_TTL_NEVER), 0);
		KUNIT_EXPECT_FALSE(test, has(belt, key));
		KUNIT_EXPECT_EQ(test, take_out(belt, key + 1), 0);
		hashbelt_advance(belt, 3 * SEC);
		KUNIT_EXPECT_FALSE(test, has(belt, key + 2));
		KUNIT_EXPECT_EQ(test, has(belt, key + 3), key + 3 < ENTRIES);
		hashbelt_advance(belt, SEC);
		/* Of the room of four entries one is used. */
		put_range(test, belt, 2000 + key, 2003 + key, HASHBELT_TTL_NEVER);
	}
	KUNIT_EXPECT_EQ(test, entries_of(belt), (u64)ENTRIES);
}

static void a_refreshed_entry_goes_to_the_place_of_its_deadline(struct kunit *test)
{
	enum { ENTRIES = 1000 };
	struct hashbelt_belt *belt = one_belt(test,
					      .policy = HASHBELT_EVICT | HASHBELT_REFRESH_ON_GET,
					      .max_entries = ENTRIES);
	unsigned int key;

	put_range(test, belt, 0, ENTRIES, 0);
	move_time_only(belt, 100 * SEC);
	for (key = 0; key < ENTRIES; key += 2)
		get(belt, key);
	put_range(test, belt, ENTRIES, ENTRIES + ENTRIES / 2, 0);
	for (key = 0; key < ENTRIES; key++)
		KUNIT_ASSERT_EQ(test, has(belt, key), key % 2 == 0);
}

static void another_geometry_leaves_no_entry_out(struct kunit *test)
{
	enum { ENTRIES = 3000 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 500);
	unsigned int key, next = ENTRIES;

	for (key = 0; key < ENTRIES; key++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, (1 + key) * 70), 0);
	/* The worker drains nothing meanwhile: the entries stay on the old wheels, or are due. */
	atomic_inc(&belt->movers);
	put_range(test, belt, next, next + 100, HASHBELT_TTL_NEVER);
	next += 100;
	KUNIT_ASSERT_EQ(test, change(belt, BUCKETS, .buckets = 7), 0);
	put_range(test, belt, next, next + 1000, HASHBELT_TTL_NEVER);
	atomic_dec(&belt->movers);
	KUNIT_EXPECT_EQ(test, entries_of(belt), (u64)ENTRIES);
	hashbelt_advance(belt, SEC);
	put_range(test, belt, next + 1000, next + 1000 + ENTRIES, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, count_present(belt, 0, ENTRIES), 0u);
	check_accounting(test, belt);
}

/* Shards that have been empty do not fall behind the others. */
static void a_small_belt_evicts_the_oldest_entry_that_was_not_read(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, 3, 500);
	unsigned int key;

	for (key = 0; key < 300; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		move_time_only(belt, MS);
		if (key >= 3)
			KUNIT_EXPECT_FALSE(test, has(belt, key - 3));
	}
	KUNIT_EXPECT_EQ(test, count_present(belt, 297, 300), 3u);
	get(belt, 297);
	get(belt, 299);
	put(belt, 1000);
	KUNIT_EXPECT_TRUE(test, has(belt, 297));
	KUNIT_EXPECT_FALSE(test, has(belt, 298));
	KUNIT_EXPECT_TRUE(test, has(belt, 299));
}

enum how { EVICTED, EXPIRED, REMOVED };

/* Keys that left the belt and are put again. */
struct return_case {
	const char *name;	/* of the case */
	unsigned int bits;	/* log2 of the chains of the index */
	enum how how;		/* the keys leave */
	bool stays;		/* their new entries stay when the hand passes them */
};

static const struct return_case return_cases[] = {
	{ "evicted", HB_GHOST_BITS + 1, EVICTED, true },
	{ "expired", HB_GHOST_BITS + 1, EXPIRED, true },
	{ "removed", HB_GHOST_BITS + 1, REMOVED, false },
	{ "evicted, from 256 chains", HB_GHOST_MIN_BITS, EVICTED, true },
	{ "evicted, from fewer chains", HB_GHOST_MIN_BITS - 1, EVICTED, false },
};

/* Number of keys that come back. */
#define RETURNS		2

KUNIT_ARRAY_PARAM_DESC(return, return_cases, name);

/* The first RETURNS keys leave, come back, and evict the next ones: no two may share a ghost. */
static bool has_own_ghost(struct hashbelt_belt *belt, const unsigned int *keys, unsigned int i,
			  unsigned int key)
{
	u32 slot = hb_hash(belt, &key, sizeof(key)) >> (32 - HB_GHOST_MIN_BITS);

	if (i >= 2 * RETURNS)
		return true;
	while (i--)
		if (hb_hash(belt, &keys[i], sizeof(key)) >> (32 - HB_GHOST_MIN_BITS) == slot)
			return false;
	return true;
}

/* Keys of the first shard, where the order is exact. */
static unsigned int *keys_of_shard(struct kunit *test, struct hashbelt_belt *belt, unsigned int n)
{
	unsigned int *keys = must_alloc(test, n * sizeof(*keys)), key = 0, i = 0;

	for (; i < n; key++)
		if (hb_shard_of(belt, hb_hash(belt, &key, sizeof(key))) == belt->shards &&
		    has_own_ghost(belt, keys, i, key))
			keys[i++] = key;
	return keys;
}

static void put_keys(struct kunit *test, struct hashbelt_belt *belt, const unsigned int *keys,
		     unsigned int n, u64 ttl_ms)
{
	while (n--)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, *keys++, ttl_ms), 0);
}

static unsigned int count_keys(struct hashbelt_belt *belt, const unsigned int *keys, unsigned int n)
{
	unsigned int present = 0;

	while (n--)
		present += has(belt, *keys++);
	return present;
}

/* The first keys are put, leave, and are put again as the newest of a full belt. */
static void put_again(struct kunit *test, struct hashbelt_belt *belt,
		      const struct return_case *c, const unsigned int *keys, unsigned int entries)
{
	unsigned int i;

	put_keys(test, belt, keys, RETURNS, c->how == EXPIRED ? 1000 : HASHBELT_TTL_NEVER);
	put_keys(test, belt, keys + RETURNS, entries - RETURNS, HASHBELT_TTL_NEVER);
	/* Moves the entries to a larger index. */
	flush_work(&belt->work);
	KUNIT_ASSERT_EQ(test, belt->index.bits, c->bits);
	for (i = 0; i < RETURNS && c->how == REMOVED; i++)
		KUNIT_ASSERT_EQ(test, take_out(belt, keys[i]), 0);
	if (c->how == EXPIRED)
		hashbelt_advance(belt, 2 * SEC);
	put_keys(test, belt, keys + entries, RETURNS, HASHBELT_TTL_NEVER);
	KUNIT_ASSERT_EQ(test, count_keys(belt, keys, RETURNS), 0u);
	put_keys(test, belt, keys, RETURNS, HASHBELT_TTL_NEVER);
	KUNIT_ASSERT_EQ(test, count_keys(belt, keys, RETURNS), RETURNS);
	KUNIT_EXPECT_EQ(test, count_read(belt), 0u);
}

static void read_keys(struct hashbelt_belt *belt, const unsigned int *keys, unsigned int n)
{
	while (n--)
		get(belt, *keys++);
}

/* Puts and reads keys until the term of the shard ends. Return: the first key that is left. */
static unsigned int *put_for_a_term(struct kunit *test, struct hashbelt_belt *belt,
				    unsigned int *keys)
{
	unsigned int term = belt->shards->term, most = 100;

	for (; belt->shards->term == term; keys++) {
		KUNIT_ASSERT_NE(test, most--, 0u);
		put_keys(test, belt, keys, 1, HASHBELT_TTL_NEVER);
		read_keys(belt, keys, 1);
	}
	return keys;
}

/* A belt that has just been filled does not know whether the keys that are in use change. */
static void an_entry_whose_key_came_back_stays_for_a_term_in_a_new_belt(struct kunit *test)
{
	const struct return_case *c = test->param_value;
	struct hashbelt_belt *belt = make(test, 1u << c->bits, 5);
	/* All entries are in one shard, and the index has chains as if all shards were as full. */
	unsigned int entries = (1u << c->bits) >> belt->shard_bits;
	unsigned int *keys = keys_of_shard(test, belt, 6 * entries);
	unsigned int *next = keys + 2 * entries, lap;

	set_max_entries(test, belt, entries);
	put_again(test, belt, c, keys, entries);
	/* So many evictions come to the last of these entries. */
	for (lap = 0; lap < 2; lap++, next += entries) {
		put_keys(test, belt, next, entries, HASHBELT_TTL_NEVER);
		KUNIT_EXPECT_EQ(test, count_keys(belt, keys, RETURNS), c->stays ? RETURNS : 0u);
	}
	read_keys(belt, next - entries, entries);
	next = put_for_a_term(test, belt, next);
	put_keys(test, belt, next, entries, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_EQ(test, count_keys(belt, keys, RETURNS), 0u);
	check_accounting(test, belt);
}

/* Entries that stay in a term, and are not read in the next one. */
struct shift_case {
	const char *name;	/* of the case */
	unsigned int unread;	/* number of those entries, of 1500 */
	bool term;		/* new entries whose keys have come back stay for a term */
};

static const struct shift_case shift_cases[] = {
	{ "two in five are not read", 600, true },
	{ "a third but one is not read", 499, false },
};

KUNIT_ARRAY_PARAM_DESC(shift, shift_cases, name);

static void an_entry_whose_key_came_back_stays_for_a_term_where_keys_change(struct kunit *test)
{
	enum { ENTRIES = 1500, CHANGED = 50 };
	const struct shift_case *c = test->param_value;
	struct hashbelt_belt *belt = make(test, ENTRIES, 5);
	unsigned int *keys = keys_of_shard(test, belt, 4 * ENTRIES), *next = keys + ENTRIES;
	unsigned int leave = c->unread - 20, *returned = keys + leave - CHANGED;

	put_keys(test, belt, keys, ENTRIES, HASHBELT_TTL_NEVER);
	/* Moves the entries to a larger index. */
	flush_work(&belt->work);
	read_keys(belt, keys, ENTRIES);
	next = put_for_a_term(test, belt, next);
	read_keys(belt, keys + c->unread, ENTRIES - c->unread);
	put_keys(test, belt, next, leave, HASHBELT_TTL_NEVER);
	KUNIT_ASSERT_EQ(test, count_keys(belt, returned, CHANGED), 0u);
	read_keys(belt, next, leave);
	next = put_for_a_term(test, belt, next + leave);

	/* The hand passes them, and after what was read it comes to them again. */
	put_keys(test, belt, returned, CHANGED, HASHBELT_TTL_NEVER);
	put_keys(test, belt, next, ENTRIES, HASHBELT_TTL_NEVER);
	KUNIT_EXPECT_GE(test, count_keys(belt, returned, CHANGED), CHANGED / 2u);
	read_keys(belt, next, ENTRIES);
	put_keys(test, belt, next + ENTRIES, CHANGED + 2, HASHBELT_TTL_NEVER);
	if (c->term)
		KUNIT_EXPECT_GE(test, count_keys(belt, returned, CHANGED), CHANGED / 2u);
	else
		KUNIT_EXPECT_EQ(test, count_keys(belt, returned, CHANGED), 0u);
	check_accounting(test, belt);
}

/* Whether an entry, which is there, is protected because its key has come back. */
static bool is_protected(struct hashbelt_belt *belt, unsigned int key)
{
	struct hashbelt_entry *entry = entry_of_key(belt, key);

	return entry && hb_hash_of(entry) & HB_TERM;
}

/* Puts the keys that are not there. Return: how many of their entries are protected. */
static unsigned int put_missing(struct kunit *test, struct hashbelt_belt *belt, unsigned int from,
				unsigned int to)
{
	unsigned int key, protected = 0;

	for (key = from; key < to; key++) {
		if (has(belt, key))
			continue;
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		protected += is_protected(belt, key);
	}
	return protected;
}

static void keys_that_came_back_are_not_protected_where_most_do(struct kunit *test)
{
	enum { ENTRIES = 1500, KEYS = ENTRIES + 100, ROUNDS = 10 };
	struct hashbelt_belt *belt = make(test, ENTRIES, 5);
	unsigned int key, protected = 0;

	put_missing(test, belt, 0, ENTRIES);
	/* Moves the entries to a larger index. */
	flush_work(&belt->work);
	put_missing(test, belt, ENTRIES, KEYS);
	for (key = 0; key < ROUNDS; key++)
		protected += put_missing(test, belt, 0, KEYS);
	KUNIT_EXPECT_GT(test, protected, 0u);
	KUNIT_EXPECT_EQ(test, put_missing(test, belt, 0, KEYS), 0u);
	/* Now a fifth of the keys that are put comes back. */
	for (key = KEYS, protected = 0; key < ROUNDS * KEYS; key++) {
		put_missing(test, belt, key, key + 1);
		if (key % 4 == 0)
			protected += put_missing(test, belt, key - KEYS, key - KEYS + 1);
	}
	KUNIT_EXPECT_GT(test, protected, 0u);
	check_accounting(test, belt);
}

static struct kunit_case unread_cases[] = {
	KUNIT_CASE(unread_entries_leave_in_the_order_of_their_buckets),
	KUNIT_CASE(an_entry_that_was_read_is_passed),
	KUNIT_CASE(ten_entries_leave_as_the_design_says),
	KUNIT_CASE(gets_touches_and_puts_of_a_present_key_are_reads),
	KUNIT_CASE(a_belt_that_does_not_evict_records_no_reads),
	KUNIT_CASE(an_entry_that_was_found_read_stays_while_laps_evict_many),
	KUNIT_CASE(a_lap_that_evicts_nothing_ends_the_term),
	KUNIT_CASE(one_eviction_skips_at_most_1024_entries),
	KUNIT_CASE(an_eviction_ends_where_all_entries_are_always_read),
	KUNIT_CASE(expired_entries_leave_first),
	KUNIT_CASE(the_hand_goes_on_when_its_entry_has_left),
	KUNIT_CASE(a_refreshed_entry_goes_to_the_place_of_its_deadline),
	KUNIT_CASE(another_geometry_leaves_no_entry_out),
	KUNIT_CASE(a_small_belt_evicts_the_oldest_entry_that_was_not_read),
	KUNIT_CASE_PARAM(an_entry_whose_key_came_back_stays_for_a_term_in_a_new_belt,
			 return_gen_params),
	KUNIT_CASE_PARAM(an_entry_whose_key_came_back_stays_for_a_term_where_keys_change,
			 shift_gen_params),
	KUNIT_CASE(keys_that_came_back_are_not_protected_where_most_do),
	{}
};

TEST_SUITE(unread, one_belt_init, one_belt_exit);
