// SPDX-License-Identifier: GPL-2.0
/*
 * Limits and settings: the accounts are exact, the order of eviction is that of
 * the deadlines, and what is set anew loses nothing. One of the belt's files is
 * included so that a test can be the system that is short of memory.
 */
#include <kunit/test.h>

#include "belt/evict.c"
#include "belt.h"

static struct hashbelt_belt *make_full(struct kunit *test, u32 policy, unsigned int entries)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.policy = policy, .max_entries = entries,
	});
	unsigned int key;

	for (key = 0; key < entries; key++)
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
	return belt;
}

/* The sum over what is there, counted by looking at each. */
struct stock {
	struct hashbelt_belt *belt;
	u64 entries;
	u64 bytes;
};

static void count_entry(struct hashbelt_entry *entry, void *arg)
{
	struct stock *stock = arg;

	if (hb_is_cleared(stock->belt, entry))
		return;
	stock->entries++;
	stock->bytes += hb_cost(entry);
}

static struct stock take_stock(struct hashbelt_belt *belt)
{
	struct stock stock = { .belt = belt };
	struct hashbelt_entry *event;
	struct hb_node *node;
	u64 place;

	for (place = 0; place < HB_INDEX_END; )
		place = hb_index_scan(&belt->index, place, count_entry, &stock);
	event = belt->queue.waiting.first;
	for (node = event ? &event->node : NULL; node; node = node->next) {
		event = container_of(node, struct hashbelt_entry, node);
		if (event->key_len && hb_stays_charged(hb_reason(atomic64_read(&node->deadline)))) {
			stock.entries++;
			stock.bytes += hb_cost(event);
		}
	}
	return stock;
}

static void read_some(struct hashbelt_belt *belt, unsigned int most, bool hold)
{
	struct hb_fifo events = {};
	u64 lost;

	if (hashbelt_take_events(belt, &events, SIZE_MAX, most, hold, &lost))
		return;
	if (most % 2)
		hashbelt_settle_events(belt, &events, hold);
	else
		hashbelt_return_events(belt, &events, hold, lost);
}

static void change_something(struct hashbelt_belt *belt, u32 random)
{
	struct hashbelt_config config = {
		.ttl = (1 + random % 1000) * SEC,
		.buckets = 2 + random % 50,
		.policy = random % 3 ? HASHBELT_EVICT : 0,
		.handler = random % 3,
		.reasons = random % 2 ? HASHBELT_REPORT_ALL : 0,
		.max_entries = random % 5 ? 50 + random % 200 : 0,
		.max_bytes = random % 5 == 1 ? 0 : 10000 + random % 30000,
		.max_events = 1 + random % 100,
	};

	hashbelt_set(belt, &config, (random >> 8) & HASHBELT_SET_ALL &
		     ~(HASHBELT_SET_MODE | HASHBELT_SET_GID));
}

static void the_account_is_the_sum_over_what_is_there(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY, .reasons = HASHBELT_REPORT_ALL,
		.policy = HASHBELT_EVICT, .max_entries = 100, .max_events = 50,
	});
	struct rnd_state rnd;
	unsigned int i;

	prandom_seed_state(&rnd, 20150517);
	for (i = 0; i < 30000; i++) {
		unsigned int key = prandom_u32_state(&rnd) % 300;
		u32 random = prandom_u32_state(&rnd);
		struct hashbelt_info info;
		struct stock stock;

		switch (random % 16) {
		case 4:
			move_time_only(belt, SEC);
			break;
		case 5:
			read_some(belt, 1 + random / 16 % 20, random / 1024 % 2);
			break;
		case 6:
			if (i % 20 == 0)
				change_something(belt, prandom_u32_state(&rnd));
			break;
		default:
			if (!end_some(belt, key, random % 16, i % 50 == 0))
				put_ttl(belt, key, 1 + random / 16 % 400000);
		}
		if (i % 100)
			continue;
		info = info_of(belt);
		stock = take_stock(belt);
		KUNIT_ASSERT_EQ(test, info.used_entries, stock.entries);
		KUNIT_ASSERT_EQ(test, info.used_bytes, stock.bytes);
	}
	hashbelt_clear(belt);
	read_some(belt, 1000001, false);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
}

static void nothing_is_evicted_before_the_limit(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, HASHBELT_EVICT, 100);
	unsigned int key;

	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
	/* A put over an entry takes its place. */
	for (key = 0; key < 100; key++)
		KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	for (key = 100; key < 150; key++)
		KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 50ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
}

static void a_belt_that_does_not_evict_rejects(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, 0, 100);

	KUNIT_EXPECT_EQ(test, put(belt, 100), -ENOSPC);
	KUNIT_EXPECT_EQ(test, put(belt, 5), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_REJECTED), 1ULL);
	take_out(belt, 7);
	KUNIT_EXPECT_EQ(test, put(belt, 100), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 101), -ENOSPC);
	/* What has expired gives its place, drained or not. */
	move_time_only(belt, 240 * SEC);
	KUNIT_EXPECT_EQ(test, put(belt, 101), 0);
}

static const u32 bucket_cases[] = { 2, 5, 500 };

static void bucket_case_name(const u32 *buckets, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u buckets", *buckets);
}

KUNIT_ARRAY_PARAM(bucket, bucket_cases, bucket_case_name);

/* Small enough for the order to be exact, whatever hash the keys have. */
static void the_nearest_to_its_deadline_goes_first(struct kunit *test)
{
	enum { ENTRIES = 16 };
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_entries = ENTRIES,
		.buckets = *(const u32 *)test->param_value,
	});
	unsigned int key;

	/* Deadlines in the reverse order of the puts, the first for ever. */
	put_ttl(belt, 0, HASHBELT_TTL_NEVER);
	for (key = 1; key < ENTRIES; key++)
		put_ttl(belt, key, 10000000 >> key);
	for (key = ENTRIES - 1; key; key--) {
		KUNIT_EXPECT_TRUE(test, has(belt, key));
		put_ttl(belt, 100 + key, HASHBELT_TTL_NEVER);
		KUNIT_EXPECT_FALSE(test, has(belt, key));
	}
	KUNIT_EXPECT_TRUE(test, has(belt, 0));
	/* When all are for ever, one of them goes. */
	KUNIT_EXPECT_EQ(test, put(belt, 200), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), (u64)ENTRIES);
	KUNIT_EXPECT_EQ(test, put(belt, 201), 0);
	KUNIT_EXPECT_FALSE(test, has(belt, 200));
}

/* Lives of all lengths, in no order: who goes is of the first bucket that holds anybody. */
static void among_many_nobody_goes_an_interval_before_his_turn(struct kunit *test)
{
	enum { ENTRIES = 10000, ROUND = 1000 };
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_entries = ENTRIES,
		.buckets = *(const u32 *)test->param_value,
	});
	u64 interval = hb_interval(belt), deadline, gone, there;
	unsigned int key, put = 0, present;

	for (key = 0; key < ENTRIES; key++)
		put_ttl(belt, key, (1 + key * 7919 % ENTRIES) * (TTL / ENTRIES / MS));
	while (put < ENTRIES) {
		for (key = 0; key < ROUND; key++, put++)
			put_ttl(belt, ENTRIES + put, HASHBELT_TTL_NEVER);
		gone = 0;
		there = HB_NEVER;
		present = 0;
		for (key = 0; key < ENTRIES; key++) {
			deadline = (1 + key * 7919 % ENTRIES) * (TTL / ENTRIES);
			if (has(belt, key))
				there = min(there, deadline);
			else
				gone = max(gone, deadline);
			present += has(belt, key);
		}
		KUNIT_EXPECT_EQ(test, present, ENTRIES - put);
		KUNIT_EXPECT_LT(test, gone, there + interval);
	}
}

/* With one time-to-live for all, a shard's first is its nearest at any size. */
static void the_oldest_goes_first_where_all_live_as_long(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, HASHBELT_EVICT, 5000);
	unsigned int key, wrong = 0;

	hashbelt_clear(belt);
	flush_work(&belt->work);
	for (key = 0; key < 10000; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		move_time_only(belt, MS);
	}
	for (key = 0; key < 10000; key++)
		wrong += has(belt, key) != (key >= 5000);
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

static void a_refresh_keeps_an_entry_from_going_first(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, HASHBELT_EVICT | HASHBELT_REFRESH_ON_GET,
					       1000);
	unsigned int key;

	move_time_only(belt, 100 * SEC);
	for (key = 0; key < 1000; key += 2)
		get(belt, key);
	for (key = 1000; key < 1500; key++)
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, has(belt, key), key % 2 == 0);
}

static void what_cannot_fit_is_refused_and_costs_nobody_his_place(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_bytes = 10000,
	});
	unsigned int key;
	u8 *value = kunit_kzalloc(test, 20000, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, value);
	for (key = 0; key < 100; key++)
		KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	/* 80 bytes, and 16 of the index. */
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 9600ULL);
	key = 500;
	KUNIT_EXPECT_EQ(test, -ENOSPC, put_bytes(belt, &key, sizeof(key), value, 20000,
						 &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
	KUNIT_EXPECT_EQ(test, 0, put_bytes(belt, &key, sizeof(key), value, 3000,
					   &(struct hashbelt_item){}));
	KUNIT_EXPECT_LE(test, info_of(belt).used_bytes, 10000ULL);
	KUNIT_EXPECT_GE(test, entries_of(belt), 70ULL);
}

static int put_larger(struct hashbelt_belt *belt, unsigned int key, u32 len,
		      struct hashbelt_item *item)
{
	static const u8 value[4000];

	return put_bytes(belt, &key, sizeof(key), value, len, item);
}

/* Its condition holds, and there is room when others go: the nearest of these. */
static void a_put_that_grows_does_not_evict_what_it_replaces(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_bytes = 10000,
	});
	struct hashbelt_item item, was;
	unsigned int key;

	for (key = 0; key < 1000; key++) {
		item = (struct hashbelt_item){ .ttl_ms = 1000 + key };
		KUNIT_ASSERT_EQ(test, 0, put_larger(belt, key, 10, &item));
		was = item;
		put(belt, key + 100000);
		item.how = HASHBELT_IF_VERSION;
		item.ttl_ms = HASHBELT_TTL_KEEP;
		KUNIT_ASSERT_EQ(test, 0, put_larger(belt, key, 300 + key, &item));
		KUNIT_ASSERT_EQ(test, item.ttl_ms, was.ttl_ms);
		KUNIT_ASSERT_GT(test, item.version, was.version);
		KUNIT_ASSERT_TRUE(test, has(belt, key));
		KUNIT_ASSERT_LE(test, info_of(belt).used_bytes, 10000ULL);
	}
	/* It may be all that there is in the end; beyond that it stays as it was. */
	key = 0;
	put_ttl(belt, key, 1);
	KUNIT_EXPECT_EQ(test, 0, put_larger(belt, key, 4000, &(struct hashbelt_item){}));
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, 0, put_larger(belt, key, 100, &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, 0, put_larger(belt, key, 4000, &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
}

/* What is held counts, and nothing but the entry itself could make room. */
static void what_it_replaces_stays_where_a_put_does_not_fit(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .max_bytes = 1000, .handler = HASHBELT_NOTIFY,
	});
	struct hb_fifo events = {};
	unsigned int key = 1;
	u64 lost;

	KUNIT_ASSERT_EQ(test, 0, put_larger(belt, key, 600, &(struct hashbelt_item){}));
	hashbelt_expire(belt, &key, sizeof(key));
	KUNIT_ASSERT_EQ(test, 0, hashbelt_take_events(belt, &events, SIZE_MAX, 1, true, &lost));
	KUNIT_ASSERT_EQ(test, 0, put(belt, 2));
	KUNIT_EXPECT_EQ(test, -ENOSPC, put_larger(belt, 2, 700, &(struct hashbelt_item){}));
	KUNIT_EXPECT_TRUE(test, has(belt, 2));
	hashbelt_settle_events(belt, &events, true);
	KUNIT_EXPECT_EQ(test, 0, put_larger(belt, 2, 700, &(struct hashbelt_item){}));
}

static void what_is_queued_counts_and_the_oldest_event_goes_last(struct kunit *test)
{
	struct hashbelt_config config = { .policy = HASHBELT_EVICT };
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY, .max_entries = 3,
	});
	unsigned int key;

	for (key = 0; key < 3; key++) {
		put(belt, key);
		hashbelt_expire(belt, &key, sizeof(key));
	}
	KUNIT_EXPECT_EQ(test, put(belt, 10), -ENOSPC);
	hashbelt_set(belt, &config, HASHBELT_SET_POLICY);
	KUNIT_EXPECT_EQ(test, put(belt, 10), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVENTS_LOST), 1ULL);
	/* An entry is there to be evicted; its event counts on its own. */
	KUNIT_EXPECT_EQ(test, put(belt, 11), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVENTS_LOST), 1ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 1ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 3ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 3ULL);
	read_some(belt, 9, false);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
}

static void what_lives_on_makes_no_room_by_expiring(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_REINSERT, .max_entries = 3,
	});
	unsigned int key;

	for (key = 0; key < 3; key++)
		put(belt, key);
	move_time_only(belt, 240 * SEC);
	KUNIT_EXPECT_EQ(test, put(belt, 10), -ENOSPC);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 3ULL);
	hashbelt_set(belt, &(struct hashbelt_config){ .policy = HASHBELT_EVICT },
		     HASHBELT_SET_POLICY);
	KUNIT_EXPECT_EQ(test, put(belt, 10), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 1ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 3ULL);
}

static void a_lower_limit_makes_a_belt_full_and_no_more(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, 0, 100);

	hashbelt_set(belt, &(struct hashbelt_config){ .max_entries = 10 },
		     HASHBELT_SET_MAX_ENTRIES);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
	KUNIT_EXPECT_EQ(test, put(belt, 100), -ENOSPC);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	hashbelt_set(belt, &(struct hashbelt_config){ .policy = HASHBELT_EVICT },
		     HASHBELT_SET_POLICY);
	KUNIT_EXPECT_EQ(test, put(belt, 100), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 10ULL);
}

static unsigned int released;

static void account_release(struct hb_account *account)
{
	released++;
	kfree(account);
}

static void an_account_has_a_limit_of_its_own(struct kunit *test)
{
	struct hb_account *account = kzalloc(sizeof(*account), GFP_KERNEL);
	struct hashbelt_belt *belt, *other;
	unsigned int key;
	int err = 0;

	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_ASSERT_EQ(test, hb_account_init(account, account_release), 0);
	released = 0;
	belt = one_belt(test, (struct hashbelt_config){ .account = account });
	other = hashbelt_create(&(struct hashbelt_config){ });
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	hb_memory_account_limit(percpu_counter_sum(&account->used) + 8000);
	for (key = 0; key < 1000 && !err; key++)
		err = put(belt, key);
	KUNIT_EXPECT_EQ(test, err, -EDQUOT);
	/* The index grows as well. */
	KUNIT_EXPECT_LE(test, key, 101u);
	KUNIT_EXPECT_GE(test, key, 90u);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(hashbelt_create(&(struct hashbelt_config){
		.account = account })), -EDQUOT);
	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, put(other, key), 0);
	hb_memory_account_limit(U64_MAX);
	hashbelt_destroy(other);
	hb_account_put(account);
	/* The belt keeps it. */
	KUNIT_EXPECT_EQ(test, released, 0u);
}

static void the_shrinker_takes_the_nearest_of_all_belts_but_pinned_ones(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 100 };
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){}), *late, *pinned;
	unsigned int key;

	late = hashbelt_create(&(struct hashbelt_config){});
	pinned = hashbelt_create(&(struct hashbelt_config){ .policy = HASHBELT_PINNED });
	KUNIT_ASSERT_FALSE(test, IS_ERR(late) || IS_ERR(pinned));
	for (key = 0; key < 1000; key++) {
		put_ttl(belt, key, 1000 * (200 + key));
		put_ttl(late, key, 1000 * (250 + key));
		put_ttl(pinned, key, 100000);
	}
	KUNIT_EXPECT_GT(test, shrink_count(NULL, &control), 1500UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 100UL);
	KUNIT_EXPECT_EQ(test, entries_of(pinned), 1000ULL);
	/* The first 50 of one are nearer than any of the other; then in turn. */
	KUNIT_EXPECT_LE(test, entries_of(belt), 940ULL);
	KUNIT_EXPECT_LE(test, entries_of(late), 995ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt) + entries_of(late), 1900ULL);
	for (key = 0; key < 50; key++)
		KUNIT_EXPECT_FALSE(test, has(belt, key));
	control.nr_to_scan = 100000;
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 1900UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), SHRINK_STOP);
	KUNIT_EXPECT_EQ(test, entries_of(pinned), 1000ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_PRESSURE) +
			      stat_of(late, HASHBELT_STAT_PRESSURE), 2000ULL);
	hashbelt_destroy(late);
	hashbelt_destroy(pinned);
}

static void pressure_takes_memory_from_a_belt_that_reports_it_too(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){
		.handler = HASHBELT_NOTIFY,
	});
	u8 *value = kunit_kzalloc(test, 3000, GFP_KERNEL);
	unsigned int key;

	KUNIT_ASSERT_NOT_NULL(test, value);
	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, 0, put_bytes(belt, &key, sizeof(key), value, 3000,
						   &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 1000), 1000u);
	KUNIT_EXPECT_EQ(test, info_of(belt).sequence, 1000ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 1048576ULL / 3072);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVENTS_LOST),
			1000 - 1048576ULL / 3072);
	read_some(belt, 1001, false);
	put(belt, 1);
	hb_evict(belt, HASHBELT_PRESSURE, 1);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 1ULL);
}

static void other_measures_lose_no_entry_and_keep_all_deadlines(struct kunit *test)
{
	static const struct { u64 ttl; u32 buckets; } measures[] = {
		{ SEC, 2 }, { 86400 * SEC, 2 }, { MS, 2 }, { 240 * SEC, 65536 },
		{ HASHBELT_TTL_MAX_MS * MS, 3 }, { 10 * SEC, 500 },
	};
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});
	unsigned int key, i;

	for (key = 0; key < 3000; key++)
		put_ttl(belt, key, 1000 * (1 + key));
	for (i = 0; i < ARRAY_SIZE(measures); i++) {
		struct hashbelt_config config = {
			.ttl = measures[i].ttl, .buckets = measures[i].buckets,
		};

		KUNIT_ASSERT_EQ(test, hashbelt_set(belt, &config, HASHBELT_SET_TTL |
						   HASHBELT_SET_BUCKETS), 0);
		KUNIT_EXPECT_EQ(test, belt->ttl, measures[i].ttl);
		KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 500 * SEC), 0);
		for (key = 0; key < 3000; key++)
			KUNIT_ASSERT_EQ(test, has(belt, key), key >= (i + 1) * 500);
		/* The new interval is the bound for what is drained. */
		if (measures[i].ttl <= 10 * SEC)
			KUNIT_EXPECT_LE(test, entries_of(belt), 3000 - 500ULL * (i + 1) + 2);
	}
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, SEC), 0);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	KUNIT_EXPECT_EQ(test, belt->clock.wake, HB_NEVER);
}

static u64 nearest_of(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	u64 nearest = HB_NOTHING;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		nearest = min(nearest, shard->nearest);
	return nearest;
}

static void a_belt_that_is_empty_has_nothing_to_evict(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});
	unsigned int key;

	for (key = 0; key < 100; key++)
		put(belt, key);
	KUNIT_EXPECT_LE(test, nearest_of(belt), HB_NEVER);
	for (key = 0; key < 100; key++)
		take_out(belt, key);
	KUNIT_EXPECT_EQ(test, nearest_of(belt), HB_NOTHING);
}

/* As a request may be, by who completes it before it is on the wheel. */
static void the_bound_of_a_claimed_entry_is_its_deadline(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});
	unsigned int key = 1;
	struct hashbelt_entry *entry;
	struct hb_shard *shard;
	s64 word;

	put(belt, key);
	rcu_read_lock();
	entry = hashbelt_find(belt, &key, sizeof(key), hashbelt_now(belt), NULL);
	rcu_read_unlock();
	KUNIT_ASSERT_NOT_NULL(test, entry);
	shard = hb_shard_of(belt, entry->hash);
	word = atomic64_read(&entry->node.deadline);
	spin_lock(&shard->lock);
	hb_wheel_del(&entry->node);
	shard->nearest = HB_NOTHING;
	KUNIT_EXPECT_TRUE(test, hb_node_try_claim(&entry->node, HASHBELT_REMOVED));
	hb_schedule(shard, entry, hashbelt_now(belt));
	KUNIT_EXPECT_EQ(test, shard->nearest, (u64)word);
	atomic64_set(&entry->node.deadline, word);
	spin_unlock(&shard->lock);
}

static u64 left_to_judge(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	struct list_head *node;
	u64 left = 0;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		list_for_each(node, &shard->wheel.due)
			left++;
	return left;
}

static void other_measures_are_taken_in_batches(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});
	u64 most = HB_BATCH << belt->shard_bits, left;
	unsigned int key, more;

	for (key = 0; key < 5000; key++)
		put(belt, key);
	flush_work(&belt->work);
	KUNIT_ASSERT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){
		.buckets = 500 }, HASHBELT_SET_BUCKETS), 0);
	/* All were in one bucket, which the first step takes off. */
	mutex_lock(&belt->round_lock);
	hb_step(belt, hb_clock_now(&belt->clock));
	left = left_to_judge(belt);
	KUNIT_EXPECT_GE(test, left, 5000ULL / 2);
	do {
		more = hb_step(belt, hb_clock_now(&belt->clock));
		KUNIT_ASSERT_GE(test, left_to_judge(belt) + most, left);
		left = left_to_judge(belt);
	} while (more);
	mutex_unlock(&belt->round_lock);
	KUNIT_EXPECT_EQ(test, left, 0ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 5000ULL);
}

static void what_cannot_be_set_changes_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});
	u64 used = hb_memory_used();

	KUNIT_EXPECT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){
		.buckets = 1, .policy = HASHBELT_EVICT }, HASHBELT_SET_ALL), -EINVAL);
	hb_memory_limit(used + 1000);
	KUNIT_EXPECT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){
		.buckets = 65536, .policy = HASHBELT_EVICT }, HASHBELT_SET_ALL), -ENOSPC);
	hb_memory_limit(U64_MAX);
	KUNIT_EXPECT_EQ(test, belt->geometry->size[0], 5u);
	KUNIT_EXPECT_EQ(test, belt->policy, 0u);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

static int look_up(struct hashbelt_belt *belt, unsigned int key)
{
	u32 gone = 0;

	rcu_read_lock();
	if (!hashbelt_find(belt, &key, sizeof(key), hashbelt_now(belt), &gone))
		hashbelt_miss(belt, &key, sizeof(key), gone);
	rcu_read_unlock();
	return gone;
}

static void a_miss_knows_why_where_that_is_not_long_ago(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, HASHBELT_EVICT, 2);

	KUNIT_EXPECT_EQ(test, look_up(belt, 100), 0);
	touch(belt, 0, 1000);
	put(belt, 2);
	KUNIT_EXPECT_EQ(test, look_up(belt, 0), HASHBELT_EVICTED);
	hashbelt_advance(belt, 300 * SEC);
	KUNIT_EXPECT_EQ(test, look_up(belt, 1), HASHBELT_EXPIRED);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, look_up(belt, 1), 0);
	take_out(belt, 1);
	KUNIT_EXPECT_EQ(test, look_up(belt, 1), 0);
	put_ttl(belt, 3, 1000);
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, look_up(belt, 3), HASHBELT_EXPIRED);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_MISSES), 5ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_MISSES_EVICTED), 1ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_MISSES_EXPIRED), 2ULL);
}

static void rotations_are_counted_across_measures(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});
	u64 before = stat_of(belt, HASHBELT_STAT_ROTATIONS);
	unsigned int i;

	for (i = 0; i < 10; i++)
		hashbelt_rotate(belt);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_ROTATIONS) - before, 10ULL);
	hashbelt_set(belt, &(struct hashbelt_config){ .ttl = SEC, .buckets = 11 },
		     HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS);
	hashbelt_advance(belt, SEC);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_ROTATIONS) - before, 20ULL);
	hashbelt_set(belt, &(struct hashbelt_config){ .ttl = 2 * SEC }, HASHBELT_SET_TTL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_ROTATIONS) - before, 20ULL);
	hashbelt_advance(belt, SEC);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_ROTATIONS) - before, 25ULL);
}

/* Without them what is far ahead would be looked at far more often. */
static void new_wheels_have_the_levels_that_the_old_ones_had(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, (struct hashbelt_config){});

	put_ttl(belt, 1, 1000000000);
	KUNIT_EXPECT_EQ(test, info_of(belt).levels, 3u);
	KUNIT_EXPECT_EQ(test, hashbelt_set(belt, &(struct hashbelt_config){ .ttl = TTL },
					   HASHBELT_SET_TTL), 0);
	flush_work(&belt->work);
	KUNIT_EXPECT_EQ(test, info_of(belt).levels, 3u);
}

static void the_shrinker_knows_when_there_is_nothing(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 100 };

	KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), SHRINK_EMPTY);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), SHRINK_STOP);
}

static struct kunit_case limit_test_cases[] = {
	KUNIT_CASE(the_account_is_the_sum_over_what_is_there),
	KUNIT_CASE(nothing_is_evicted_before_the_limit),
	KUNIT_CASE(a_belt_that_does_not_evict_rejects),
	KUNIT_CASE_PARAM(the_nearest_to_its_deadline_goes_first, bucket_gen_params),
	KUNIT_CASE_PARAM(among_many_nobody_goes_an_interval_before_his_turn, bucket_gen_params),
	KUNIT_CASE(the_oldest_goes_first_where_all_live_as_long),
	KUNIT_CASE(a_refresh_keeps_an_entry_from_going_first),
	KUNIT_CASE(what_cannot_fit_is_refused_and_costs_nobody_his_place),
	KUNIT_CASE(a_put_that_grows_does_not_evict_what_it_replaces),
	KUNIT_CASE(what_it_replaces_stays_where_a_put_does_not_fit),
	KUNIT_CASE(what_is_queued_counts_and_the_oldest_event_goes_last),
	KUNIT_CASE(what_lives_on_makes_no_room_by_expiring),
	KUNIT_CASE(a_lower_limit_makes_a_belt_full_and_no_more),
	KUNIT_CASE(an_account_has_a_limit_of_its_own),
	KUNIT_CASE(the_shrinker_takes_the_nearest_of_all_belts_but_pinned_ones),
	KUNIT_CASE(pressure_takes_memory_from_a_belt_that_reports_it_too),
	KUNIT_CASE(other_measures_lose_no_entry_and_keep_all_deadlines),
	KUNIT_CASE(a_belt_that_is_empty_has_nothing_to_evict),
	KUNIT_CASE(the_bound_of_a_claimed_entry_is_its_deadline),
	KUNIT_CASE(other_measures_are_taken_in_batches),
	KUNIT_CASE(what_cannot_be_set_changes_nothing),
	KUNIT_CASE(a_miss_knows_why_where_that_is_not_long_ago),
	KUNIT_CASE(rotations_are_counted_across_measures),
	KUNIT_CASE(new_wheels_have_the_levels_that_the_old_ones_had),
	KUNIT_CASE(the_shrinker_knows_when_there_is_nothing),
	{}
};

static struct kunit_suite limit_suite = {
	.name = "hashbelt_limit",
	.init = one_belt_init,
	.exit = one_belt_exit,
	.test_cases = limit_test_cases,
};

kunit_test_suites(&limit_suite);
