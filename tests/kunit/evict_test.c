// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction, and limits that it keeps. Guarantees 13 and 14 of docs/guarantees.md. Sources are
 * included of which cases call static functions.
 *
 * Hostile user: leaves no memory for a larger index; result: a chain has 64 entries on average at
 * most.
 *
 * Hostile user: fills its account with belts in which nothing has expired; result: a put at the
 * limit takes what has expired in one of 200 belts, and nothing from the others.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "belt/room/fit.h"

static unsigned int given_way;	/* calls of cond_resched() by the included sources */

static void give_way(void)
{
	given_way++;
	cond_resched();
}

/* Pages that the included sources find available; 0: as many as there are. */
static long available;

static long pages_available(void)
{
	return available ?: si_mem_available();
}

static unsigned int hurries;	/* calls of hb_hurry() by the included sources */

static void count_hurry(void)
{
	hurries++;
}

/* Called where the included sources would queue work. */
static void (*at_queueing)(void);

static bool queue(struct workqueue_struct *wq, struct rcu_work *work)
{
	if (!at_queueing)
		return queue_rcu_work(wq, work);
	at_queueing();
	return true;
}

#undef cond_resched
#define cond_resched give_way
#define si_mem_available pages_available
#define queue_rcu_work queue
#define hb_hurry count_hurry
#include "belt/room/reclaim.c"
#include "belt/room/shrink.c"
#undef hb_hurry
#undef queue_rcu_work
#undef si_mem_available
#include "belt.h"

/* Evicts from a belt that does not evict, by deadline. */
static void evict_nearest(struct kunit *test, struct hashbelt_belt *belt, unsigned int n)
{
	KUNIT_ASSERT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, n), n);
}

static void nothing_is_evicted_before_the_limit(struct kunit *test)
{
	struct hashbelt_belt *belt = make_full(test, HASHBELT_EVICT, 100);

	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
	/* A put over an entry needs no further room. */
	put_many(test, belt, 0, 100);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	put_many(test, belt, 100, 150);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 50ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
}

static const u32 bucket_cases[] = { 2, 5, 500 };

static void bucket_case_name(const u32 *buckets, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u buckets", *buckets);
}

KUNIT_ARRAY_PARAM(bucket, bucket_cases, bucket_case_name);

/* With so few entries the order is exact, whatever hashes the keys have. */
static void the_entry_nearest_its_deadline_is_evicted_first(struct kunit *test)
{
	enum { ENTRIES = 16 };
	struct hashbelt_belt *belt = one_belt(test, .buckets = *(const u32 *)test->param_value);
	unsigned int key;

	/* Deadlines are in the reverse order of the puts. The first entry never expires. */
	put_ttl(belt, 0, HASHBELT_TTL_NEVER);
	for (key = 1; key < ENTRIES; key++)
		put_ttl(belt, key, 10000000 >> key);
	for (key = ENTRIES - 1; key; key--) {
		KUNIT_EXPECT_TRUE(test, has(belt, key));
		evict_nearest(test, belt, 1);
		KUNIT_EXPECT_FALSE(test, has(belt, key));
	}
	KUNIT_EXPECT_TRUE(test, has(belt, 0));
	/* An entry that never expires is evicted when there is no other. */
	evict_nearest(test, belt, 1);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
}

/* Deadlines in no order: the evicted entry is in the first bucket that holds an entry. */
static void among_many_eviction_follows_deadlines_to_one_interval(struct kunit *test)
{
	enum { ENTRIES = 10000, ROUND = 1000 };
	struct hashbelt_belt *belt = one_belt(test, .buckets = *(const u32 *)test->param_value);
	u64 interval = hb_interval(belt), deadline, gone, there;
	unsigned int key, evicted, present;

	for (key = 0; key < ENTRIES; key++)
		put_ttl(belt, key, (1 + key * 7919 % ENTRIES) * (TTL / ENTRIES / MS));
	for (evicted = ROUND; evicted <= ENTRIES; evicted += ROUND) {
		evict_nearest(test, belt, ROUND);
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
		KUNIT_EXPECT_EQ(test, present, ENTRIES - evicted);
		KUNIT_EXPECT_LT(test, gone, there + interval);
	}
}

/* With one time-to-live, the first entry of a shard is its nearest, whatever the number. */
static void the_oldest_is_evicted_first_where_all_have_one_ttl(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int key, wrong = 0;

	for (key = 0; key < 10000; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		move_time_only(belt, MS);
	}
	evict_nearest(test, belt, 5000);
	for (key = 0; key < 10000; key++)
		wrong += has(belt, key) != (key >= 5000);
	KUNIT_EXPECT_EQ(test, wrong, 0u);
}

static void a_refreshed_entry_is_evicted_after_the_others(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_REFRESH_ON_GET);
	unsigned int key;

	put_many(test, belt, 0, 1000);
	move_time_only(belt, 100 * SEC);
	for (key = 0; key < 1000; key += 2)
		get(belt, key);
	evict_nearest(test, belt, 500);
	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, has(belt, key), key % 2 == 0);
}

static int put_sized(struct hashbelt_belt *belt, unsigned int key, u32 len,
		     struct hashbelt_item *item)
{
	static const u8 value[20000];

	return put_bytes(belt, &key, sizeof(key), value, len, item);
}

static void a_put_that_can_never_fit_is_refused_and_evicts_nothing(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_bytes = 10000);
	unsigned int key;

	put_many(test, belt, 0, 100);
	/* 80 bytes for an entry, and 16 for its share of the index. */
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 9600ULL);
	KUNIT_EXPECT_EQ(test, -ENOSPC, put_sized(belt, 500, 20000, &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 100ULL);
	KUNIT_EXPECT_EQ(test, 0, put_sized(belt, 500, 3000, &(struct hashbelt_item){}));
	KUNIT_EXPECT_LE(test, info_of(belt).used_bytes, 10000ULL);
	KUNIT_EXPECT_GE(test, entries_of(belt), 70ULL);
	/* One that needs the whole belt fits. */
	for (key = 0; key < 100; key++)
		take_out(belt, key);
	change(belt, MAX_BYTES, .max_bytes = info_of(belt).used_bytes);
	KUNIT_EXPECT_EQ(test, 0, put_sized(belt, 100, 3000, &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
}

/* The put makes room by evicting other entries. */
static void a_larger_put_does_not_evict_the_entry_it_replaces(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_bytes = 10000);
	struct hashbelt_item item, was;
	unsigned int key;

	for (key = 0; key < 1000; key++) {
		put(belt, key + 100000);
		item = (struct hashbelt_item){ .ttl_ms = 1000 + key };
		KUNIT_ASSERT_EQ(test, 0, put_sized(belt, key, 10, &item));
		was = item;
		item.how = HASHBELT_IF_VERSION;
		item.ttl_ms = HASHBELT_TTL_KEEP;
		KUNIT_ASSERT_EQ(test, 0, put_sized(belt, key, 300 + key, &item));
		KUNIT_ASSERT_EQ(test, item.ttl_ms, was.ttl_ms);
		KUNIT_ASSERT_GT(test, item.version, was.version);
		KUNIT_ASSERT_TRUE(test, has(belt, key));
		KUNIT_ASSERT_LE(test, info_of(belt).used_bytes, 10000ULL);
	}
	/* The put succeeds if the old entry is the nearest of all, or the only one. */
	key = 0;
	put_ttl(belt, key, 1);
	KUNIT_EXPECT_EQ(test, 0, put_sized(belt, key, 4000, &(struct hashbelt_item){}));
	hashbelt_clear(belt);
	KUNIT_EXPECT_EQ(test, 0, put_sized(belt, key, 100, &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, 0, put_sized(belt, key, 4000, &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 1ULL);
}

/* The held event counts, so only the old entry itself could make room. */
static void a_larger_put_that_does_not_fit_leaves_the_old_entry(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_bytes = 1000,
					      .handler = HASHBELT_NOTIFY);
	struct hb_fifo events = {};
	unsigned int key = 1;
	u64 lost;

	KUNIT_ASSERT_EQ(test, 0, put_sized(belt, key, 600, &(struct hashbelt_item){}));
	expire(belt, key);
	KUNIT_ASSERT_EQ(test, 0, hb_take_events(belt, &events, SIZE_MAX, 1, true, &lost));
	change(belt, MAX_BYTES, .max_bytes = info_of(belt).used_bytes + 95);
	KUNIT_EXPECT_EQ(test, -ENOSPC, put(belt, 2));
	change(belt, MAX_BYTES, .max_bytes = 1000);
	KUNIT_ASSERT_EQ(test, 0, put(belt, 2));
	KUNIT_EXPECT_EQ(test, -ENOSPC, put_sized(belt, 2, 700, &(struct hashbelt_item){}));
	KUNIT_EXPECT_TRUE(test, has(belt, 2));
	hb_settle_events(belt, &events, true);
	KUNIT_EXPECT_EQ(test, 0, put_sized(belt, 2, 700, &(struct hashbelt_item){}));
}

/* Memory for entries, and none for a larger index. */
static void allow_no_table(struct hashbelt_belt *belt)
{
	belt->index.err = -EDQUOT;
	belt->index.retry = jiffies + 1000 * HZ;
}

/* Makes belts for which a case has an array, and destroys them. */
static void make_others(struct kunit *test, struct hashbelt_belt **others, unsigned int n,
			u32 policy)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		others[i] = still_belt(test, .policy = policy);
}

static void destroy_others(struct hashbelt_belt **others, unsigned int n)
{
	while (n--)
		hashbelt_destroy(others[n]);
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
	belt = one_belt(test, .account = account);
	other = still_belt(test);
	hb_memory_account_limit(percpu_counter_sum(&account->used) + 8000);
	for (key = 0; key < 1000 && !err; key++)
		err = put(belt, key);
	KUNIT_EXPECT_EQ(test, err, -EDQUOT);
	/* The table of the index is charged as well. */
	KUNIT_EXPECT_LE(test, key, 101u);
	KUNIT_EXPECT_GE(test, key, 90u);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(hashbelt_create(&(struct hashbelt_config){
		.account = account })), -EDQUOT);
	put_many(test, other, 0, 1000);
	hb_memory_account_limit(U64_MAX);
	hashbelt_destroy(other);
	hb_account_put(account);
	/* The belt holds a reference. */
	KUNIT_EXPECT_EQ(test, released, 0u);
}

#define QUOTA		(256 * 1024ULL)

/* An account, and the belt of the case, which is charged to it. */
static struct hb_account *make_charged_as(struct kunit *test, struct hashbelt_config config)
{
	struct hb_account *account = kzalloc(sizeof(*account), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_ASSERT_EQ(test, hb_account_init(account, account_release), 0);
	config.account = account;
	test->priv = still_belt_as(test, config);
	return account;
}

#define make_charged(test, ...) make_charged_as(test, (struct hashbelt_config){ __VA_ARGS__ })

static void free_charged(struct hb_account *account)
{
	hb_memory_account_limit(U64_MAX);
	hb_account_put(account);
}

/* Evicted entries are freed before the next put. */
static void puts_near_the_account_limit_evict_what_they_add(struct kunit *test)
{
	struct hb_account *account = make_charged(test, .policy = HASHBELT_EVICT);
	struct hashbelt_belt *belt = test->priv;
	unsigned int key;
	u64 most = 0;

	hb_memory_account_limit(QUOTA);
	for (key = 0; key < 4000; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		come_to_rest(belt);
		most = max_t(u64, most, percpu_counter_sum(&account->used));
	}
	KUNIT_EXPECT_LE(test, most, QUOTA - QUOTA / 16);
	KUNIT_EXPECT_GT(test, most, QUOTA - QUOTA / 8);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED) + entries_of(belt), 4000ULL);
	free_charged(account);
}

/* Puts 4000 entries, and then sets a limit near to what they take. */
static void put_4000_near_limit(struct kunit *test, struct hb_account *account)
{
	struct hashbelt_belt *belt = test->priv;

	put_many(test, belt, 0, 4000);
	come_to_rest(belt);
	hb_memory_account_limit(percpu_counter_sum(&account->used) + 16000);
	KUNIT_EXPECT_TRUE(test, hb_memory_is_scarce(account));
}

static void only_puts_that_add_an_entry_evict_ahead(struct kunit *test)
{
	struct hb_account *account = make_charged(test, .policy = HASHBELT_EVICT);
	struct hashbelt_item absent = { .how = HASHBELT_IF_ABSENT };
	struct hashbelt_item present = { .how = HASHBELT_IF_PRESENT };
	struct hashbelt_belt *belt = test->priv;
	unsigned int key = 4000, i;
	static const u8 value[1000];

	put_4000_near_limit(test, account);
	for (i = 0; i < 50; i++) {
		KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
		KUNIT_ASSERT_EQ(test, put_bytes(belt, &i, sizeof(i), "", 0, &absent), -EEXIST);
		KUNIT_ASSERT_EQ(test, put_bytes(belt, &key, sizeof(key), "", 0, &present), -ENOENT);
	}
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	/* The put spares its own entry, even if that is the nearest to its deadline. */
	KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 1ULL);
	KUNIT_EXPECT_TRUE(test, has(belt, key));
	KUNIT_ASSERT_EQ(test, take_out(belt, key), 0);
	/* Adds 1280 bytes, for which 16 entries of 80 bytes leave. */
	KUNIT_ASSERT_EQ(test, put_bytes(belt, &key, sizeof(key), value, sizeof(value),
					&(struct hashbelt_item){}), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 17ULL);
	free_charged(account);
}

/* @live entries in front, and as many behind them that have expired when this returns. */
static void put_and_expire(struct kunit *test, struct hashbelt_belt *belt, unsigned int live,
			   unsigned int expired)
{
	unsigned int key;

	/* With two buckets of TTL they are in one, which begins now. */
	move_time_only(belt, hb_interval(belt) - hashbelt_now(belt) % hb_interval(belt));
	for (key = 0; key < live; key++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 100000), 0);
	for (; key < live + expired; key++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000), 0);
	move_time_only(belt, 2 * SEC);
}

static void an_expired_entry_makes_room_behind_live_ones(struct kunit *test)
{
	enum { ENTRIES = 500 };
	struct hashbelt_belt *belt = one_belt(test, .max_entries = 2 * ENTRIES,
					      .buckets = *(const u32 *)test->param_value);
	unsigned int key;

	put_and_expire(test, belt, ENTRIES, ENTRIES);
	for (key = 0; key < ENTRIES; key++)
		KUNIT_ASSERT_EQ(test, put(belt, 10000 + key), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 20000), -ENOSPC);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EXPIRED), (u64)ENTRIES);
	for (key = 0; key < ENTRIES; key++)
		KUNIT_ASSERT_TRUE(test, has(belt, key));
	check_accounting(test, belt);
}

/* The search for it moves the others of its bucket, and is not repeated before the next is due. */
static void a_full_belt_searches_for_hidden_entries_once(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .max_entries = 500, .buckets = 2);
	u64 moved;

	put_and_expire(test, belt, 499, 1);
	KUNIT_EXPECT_EQ(test, put(belt, 1000), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 1001), -ENOSPC);
	moved = stat_of(belt, HASHBELT_STAT_CASCADED);
	KUNIT_EXPECT_GT(test, moved, 0ULL);
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, put(belt, 1001), -ENOSPC);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_CASCADED), moved);
}

static void an_expired_entry_makes_room_in_the_chains(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int key;
	int err = 0;

	allow_no_table(belt);
	for (key = 0; !err && key < 10000; key++)
		err = put_ttl(belt, key, 1000);
	KUNIT_ASSERT_EQ(test, err, -EDQUOT);
	move_time_only(belt, 2 * SEC);
	KUNIT_EXPECT_EQ(test, put(belt, key - 1), 0);
}

/* The belts are charged to an account, or to its part, whose limit is then where it is. */
static void limit_to_used(struct hb_account *account)
{
	hb_memory_account_limit(percpu_counter_sum(&account->used));
}

static void at_the_account_limit_other_belts_give_up_what_has_expired(struct kunit *test)
{
	enum { BELTS = 200 };
	struct hb_account *account = make_charged(test);
	struct hashbelt_belt **others = must_alloc(test, BELTS * sizeof(*others));
	struct hashbelt_belt *belt = test->priv, *full;
	unsigned int i, key = 0;

	for (i = 0; i < BELTS; i++) {
		others[i] = still_belt(test, .account = account);
		KUNIT_ASSERT_EQ(test, put(others[i], 1), 0);
	}
	for (i = 0; i < 3; i++) {
		full = others[i * 90];
		put_and_expire(test, full, 100, 400);
		come_to_rest(full);
		limit_to_used(account);
		for (; !put(belt, key) && key < 100000; key++)
			;
		KUNIT_EXPECT_EQ(test, put(belt, key), -EDQUOT);
		KUNIT_EXPECT_GE(test, key, 200 * (i + 1));
		KUNIT_EXPECT_EQ(test, entries_of(full), 100ULL);
		hb_memory_account_limit(U64_MAX);
	}
	KUNIT_EXPECT_EQ(test, entries_of(others[1]), 1ULL);
	/* A put waits for the entries that are in limbo there. */
	limit_to_used(account);
	take_out(others[1], 1);
	KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	hb_memory_account_limit(U64_MAX);
	KUNIT_EXPECT_EQ(test, account->kin.count, (unsigned int)BELTS + 1);
	destroy_others(others, BELTS);
	KUNIT_EXPECT_EQ(test, account->kin.count, 1u);
	free_charged(account);
}

static void a_task_gives_way_after_each_expired_entry_that_it_takes(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	size_t size = SIZE_MAX;

	put_and_expire(test, belt, 0, 100);
	given_way = 0;
	KUNIT_EXPECT_TRUE(test, take_from(belt, &size));
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
	KUNIT_EXPECT_GE(test, given_way, 100u);
}

static const struct staying {
	const char *name;
	struct hashbelt_config config;
} staying_cases[] = {
	{ "reinsert", { .handler = HASHBELT_REINSERT } },
	{ "notify", { .handler = HASHBELT_NOTIFY } },
	{ "grace", { .grace = 10 * SEC } },
};

KUNIT_ARRAY_PARAM_DESC(staying, staying_cases, name);

/* Their expiry frees no memory, or not before their grace time ends. */
static void at_the_account_limit_entries_that_stay_are_left_alone(struct kunit *test)
{
	struct hashbelt_config config = ((const struct staying *)test->param_value)->config;
	struct hb_account *account = make_charged(test);
	struct hashbelt_belt *belt = test->priv, *other;
	unsigned int key;

	config.account = account;
	other = still_belt_as(test, config);
	put_and_expire(test, other, 100, 100);
	come_to_rest(belt);
	limit_to_used(account);
	for (key = 0; !put(belt, key) && key < 1000; key++)
		;
	KUNIT_EXPECT_EQ(test, put(belt, key), -EDQUOT);
	KUNIT_EXPECT_FALSE(test, take_expired(account, belt, 1));
	KUNIT_EXPECT_EQ(test, entries_of(other), 200ULL);
	KUNIT_EXPECT_EQ(test, info_of(other).queued, 0ULL);
	hb_memory_account_limit(U64_MAX);
	hashbelt_destroy(other);
	free_charged(account);
}

/* A belt that reports evictions frees nothing by them. */
static void a_belt_that_reports_evictions_evicts_none_ahead(struct kunit *test)
{
	struct hb_account *account = make_charged(test, .policy = HASHBELT_EVICT,
						  .handler = HASHBELT_NOTIFY,
						  .reasons = HASHBELT_REPORT(HASHBELT_EVICTED));
	struct hashbelt_belt *belt = test->priv;

	put_4000_near_limit(test, account);
	KUNIT_EXPECT_EQ(test, put(belt, 4000), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	KUNIT_ASSERT_EQ(test, hb_set(belt, &(struct hashbelt_config){},
				     HASHBELT_SET_POLICY | HASHBELT_SET_REASONS), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 4001), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVICTED), 0ULL);
	free_charged(account);
}

static void the_shrinker_evicts_by_deadline_from_belts_that_are_not_pinned(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 100 };
	struct hashbelt_belt *belt = one_belt(test), *late, *pinned;
	struct hashbelt_fill fill = {};
	unsigned int key;

	late = still_belt(test);
	pinned = still_belt(test, .policy = HASHBELT_PINNED);
	for (key = 0; key < 1000; key++) {
		put_ttl(belt, key, 1000 * (200 + key));
		put_ttl(late, key, 1000 * (250 + key));
		put_ttl(pinned, key, 100000);
	}
	KUNIT_EXPECT_GT(test, shrink_count(NULL, &control), 1500UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 100UL);
	KUNIT_EXPECT_EQ(test, entries_of(pinned), 1000ULL);
	/* The first 50 of @belt are nearer than any of @late; then they alternate. */
	KUNIT_EXPECT_LE(test, entries_of(belt), 940ULL);
	KUNIT_EXPECT_LE(test, entries_of(late), 995ULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt) + entries_of(late), 1900ULL);
	for (key = 0; key < 50; key++)
		KUNIT_EXPECT_FALSE(test, has(belt, key));
	control.nr_to_scan = 100000;
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 1900UL);
	/* It looks for plain entries first, of which there are none. */
	KUNIT_EXPECT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false), 0);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 1UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), SHRINK_STOP);
	KUNIT_EXPECT_EQ(test, entries_of(pinned), 1000ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_PRESSURE) +
			      stat_of(late, HASHBELT_STAT_PRESSURE), 2001ULL);
	hashbelt_destroy(late);
	hashbelt_destroy(pinned);
}

/* Each of the others had an entry, too, or is pinned and has one. */
static void the_shrinker_counts_the_entries_behind_belts_with_nothing_to_take(struct kunit *test)
{
	static const unsigned int counts[] = { 63, 64, 65, 200 };
	struct hashbelt_belt **others = must_alloc(test, 200 * sizeof(*others));
	struct shrink_control control = { .nr_to_scan = 2000 };
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int round, i, n;
	u32 policy;

	for (round = 0; round < 2 * ARRAY_SIZE(counts); round++) {
		n = counts[round / 2];
		policy = round % 2 ? HASHBELT_PINNED : 0;
		make_others(test, others, n, policy);
		for (i = 0; i < n; i++) {
			KUNIT_ASSERT_EQ(test, put(others[i], i), 0);
			if (!policy)
				KUNIT_ASSERT_EQ(test, take_out(others[i], i), 0);
		}
		put_many(test, belt, 0, 1000);
		KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), 1000UL);
		KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 1000UL);
		KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), SHRINK_EMPTY);
		KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
		for (i = 0; i < n; i++)
			KUNIT_ASSERT_EQ(test, entries_of(others[i]), policy ? 1ULL : 0ULL);
		destroy_others(others, n);
	}
}

/* Of 128 belts the first 64 have an entry each, and the others ten. */
static void the_shrinker_counts_other_belts_each_time(struct kunit *test)
{
	struct hashbelt_belt **others = must_alloc(test, 128 * sizeof(*others));
	struct shrink_control control = { .nr_to_scan = 2000 };
	unsigned int i, key;

	make_others(test, others, 128, 0);
	for (i = 0; i < 128; i++)
		for (key = 0; key < (i < 64 ? 1 : 10); key++)
			KUNIT_ASSERT_EQ(test, put(others[i], key), 0);
	KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), 128UL);
	KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), 1280UL);
	KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), 128UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 704UL);
	destroy_others(others, 128);
}

/* It takes up to 16 entries each time. */
static void a_call_of_the_shrinker_compares_belts_1024_times(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	struct shrink_control control = { .nr_to_scan = 20000 };

	put_many(test, belt, 0, 17000);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 16384UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 616UL);
}

static void no_worker_pauses_while_memory_is_short(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 1 };
	unsigned int step = 0;

	hurries = 0;
	available = LONG_MAX;
	shrink_count(NULL, &control);
	KUNIT_EXPECT_EQ(test, hurries, 0u);
	available = 1;
	shrink_count(NULL, &control);
	KUNIT_EXPECT_EQ(test, hurries, 1u);
	available = LONG_MAX;
	shrink_scan(NULL, &control);
	KUNIT_EXPECT_EQ(test, hurries, 2u);
	available = 0;
	hb_free_memory(NULL, NULL, 1, &step);
	KUNIT_EXPECT_EQ(test, hurries, 3u);
}

/* A walk takes a belt out of the list that is emptied or pinned, and not while it has entries. */
static void a_belt_is_listed_again_with_its_next_entry(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 2000 };
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int turn;

	KUNIT_EXPECT_FALSE(test, belt->listed);
	for (turn = 0; turn < 3; turn++) {
		KUNIT_ASSERT_EQ(test, put(belt, 1), 0);
		KUNIT_EXPECT_TRUE(test, belt->listed);
		KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), 1UL);
		KUNIT_ASSERT_EQ(test, change(belt, POLICY, .policy = HASHBELT_PINNED), 0);
		KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), SHRINK_STOP);
		KUNIT_EXPECT_FALSE(test, belt->listed);
		KUNIT_ASSERT_EQ(test, put(belt, 2), 0);
		KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), SHRINK_EMPTY);
		KUNIT_ASSERT_EQ(test, change(belt, POLICY, .policy = 0), 0);
		KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), 2UL);
		KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 2UL);
		KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), SHRINK_EMPTY);
		KUNIT_EXPECT_FALSE(test, belt->listed);
	}
}

static void the_shrinker_spares_entries_that_were_read_on_a_belt_that_evicts(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 100 };
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT);
	unsigned int key;

	for (key = 0; key < 200; key++) {
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000 * (200 + key)), 0);
		if (key < 100)
			get(belt, key);
	}
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 100UL);
	for (key = 0; key < 200; key++)
		KUNIT_EXPECT_EQ(test, has(belt, key), key < 100);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_PRESSURE), 100ULL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), 100UL);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), SHRINK_STOP);
}

/* These are what it passes in one RCU read-side section. */
static void the_shrinker_skips_at_most_1024_entries_for_16(struct kunit *test)
{
	enum { ENTRIES = 5000, BATCH = SHRINK_BATCH };
	struct shrink_control control = { .nr_to_scan = BATCH };
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT);
	unsigned int key;

	for (key = 0; key < ENTRIES; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		get(belt, key);
	}
	KUNIT_ASSERT_EQ(test, count_read(belt), (unsigned int)ENTRIES);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), (unsigned long)BATCH);
	KUNIT_EXPECT_GE(test, count_read(belt), (unsigned int)(ENTRIES - HB_PASS_MOST - BATCH));
}

static void under_pressure_a_belt_queues_at_most_1_mib_of_events(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .handler = HASHBELT_NOTIFY);
	u8 *value = must_alloc(test, 3000);
	unsigned int key;

	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, 0, put_bytes(belt, &key, sizeof(key), value, 3000,
						   &(struct hashbelt_item){}));
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 1000), 1000u);
	KUNIT_EXPECT_EQ(test, info_of(belt).sequence, 1000ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 1048576ULL / 3072);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_EVENTS_LOST), 1000 - 1048576ULL / 3072);
	read_some(belt, 1001, false);
	put(belt, 1);
	hb_evict(belt, HASHBELT_PRESSURE, 1);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 1ULL);
}

/* Between two of its evictions another task puts an entry, and evicts one for it. */
static void a_large_put_keeps_the_room_that_it_makes(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_bytes = 100000);
	struct hashbelt_entry *large = new_entry(belt, NULL, 0, 20000);
	unsigned int key = 1, evictions = 0;
	struct hb_room room = {};

	while (!stat_of(belt, HASHBELT_STAT_EVICTED))
		KUNIT_ASSERT_EQ(test, put(belt, key++), 0);
	while (room.bytes < hb_cost(large)) {
		KUNIT_ASSERT_TRUE(test, hb_make_room(belt, large, &room));
		KUNIT_ASSERT_EQ(test, put(belt, key++), 0);
		KUNIT_ASSERT_LE(test, ++evictions, 250u);
	}
	KUNIT_EXPECT_EQ(test, room.entries, 1ULL);
	KUNIT_EXPECT_LE(test, belt->usage.bytes, 100000ULL);
	hb_room_release(&belt->usage, &room);
	hashbelt_entry_put(belt, large);
	check_accounting(test, belt);
}

/* Each of two puts has reserved half of the belt. */
static void of_two_puts_that_are_too_large_together_one_gets_the_room(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_bytes = 30000);
	struct hashbelt_entry *one = new_entry(belt, NULL, 1, 20000);
	struct hashbelt_entry *two = new_entry(belt, NULL, 2, 20000);
	struct hb_room room = {}, other = {};

	hb_room_reserve(&belt->usage, &room, 15000);
	hb_room_reserve(&belt->usage, &other, 15000);
	KUNIT_EXPECT_EQ(test, other.bytes, 15000ULL);
	KUNIT_EXPECT_TRUE(test, hb_make_room(belt, one, &room));
	KUNIT_EXPECT_EQ(test, room.bytes, 0ULL);
	KUNIT_EXPECT_TRUE(test, hb_make_room(belt, two, &other));
	KUNIT_EXPECT_EQ(test, other.bytes, hb_cost(two));
	/* It waits for the other put, and then finds room without reserving it. */
	KUNIT_EXPECT_TRUE(test, hb_make_room(belt, one, &room));
	KUNIT_EXPECT_EQ(test, room.bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.rooms, 1ULL);
	hb_room_release(&belt->usage, &other);
	KUNIT_EXPECT_TRUE(test, hb_make_room(belt, one, &room));
	KUNIT_EXPECT_EQ(test, belt->usage.rooms, 0ULL);
	KUNIT_EXPECT_EQ(test, belt->usage.bytes, 0ULL);
	hashbelt_entry_put(belt, one);
	hashbelt_entry_put(belt, two);
}

/*
 * Each removed entry leaves the bit of its bucket set, and one search clears 1024 such bits. The
 * one entry that is left stands behind thousands of these.
 */
static void an_eviction_finds_the_entry_behind_thousands_of_empty_buckets(struct kunit *test)
{
	struct hashbelt_belt *belt;
	unsigned int key, evicts;

	for (evicts = 0; evicts < 2; evicts++) {
		belt = one_belt(test, .policy = evicts ? HASHBELT_EVICT : 0, .buckets = 60001,
				.ttl = 60000 * SEC);
		for (key = 1; key <= 40000; key++)
			KUNIT_ASSERT_EQ(test, put_ttl(belt, key, key * 1000), 0);
		/* The worker would clear some of the bits. */
		atomic_inc(&belt->movers);
		for (key = 1; key <= 40000; key++)
			KUNIT_ASSERT_EQ(test, take_out(belt, key), 0);
		KUNIT_ASSERT_EQ(test, put_ttl(belt, 50000, 50000 * 1000), 0);
		KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_EVICTED, 1), 1u);
		KUNIT_EXPECT_FALSE(test, has(belt, 50000));
		atomic_dec(&belt->movers);
		test->priv = NULL;
		hashbelt_destroy(belt);
	}
}

/* Puts keys until one is refused. Return: that key; its shard is full. */
static unsigned int fill_a_shard(struct kunit *test, struct hashbelt_belt *belt)
{
	unsigned int key = 0;
	int err;

	while (!(err = put(belt, key)) && key < 10000)
		key++;
	KUNIT_EXPECT_EQ(test, err, -EDQUOT);
	return key;
}

static void a_shard_with_64_entries_a_chain_takes_no_further_key(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_PINNED);
	struct hashbelt_item item = {};
	struct hashbelt_fill fill = {};
	struct hashbelt_sum sum = {};
	unsigned int key, present = 0;
	struct hb_shard *shard;

	allow_no_table(belt);
	key = fill_a_shard(test, belt);
	shard = hb_shard_of(belt, hb_hash(belt, &key, sizeof(key)));
	KUNIT_EXPECT_EQ(test, shard->count,
			(u64)HB_CHAIN_MOST << (belt->index.bits - belt->shard_bits));
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, key, 'a'), -EDQUOT);
	KUNIT_EXPECT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key), &fill, false), -EDQUOT);
	KUNIT_EXPECT_EQ(test, hashbelt_add(belt, &key, sizeof(key), &item, &sum), -EDQUOT);
	while (hb_shard_of(belt, hb_hash(belt, &present, sizeof(present))) != shard)
		present++;
	KUNIT_EXPECT_EQ(test, put(belt, present), 0);
	KUNIT_EXPECT_EQ(test, take_out(belt, present), 0);
	KUNIT_EXPECT_EQ(test, put(belt, key), 0);
	KUNIT_EXPECT_EQ(test, put(belt, present), -EDQUOT);
	belt->index.retry = jiffies;
	KUNIT_EXPECT_EQ(test, put(belt, present), 0);
	KUNIT_EXPECT_GT(test, belt->index.bits, (unsigned int)HB_INDEX_BITS_MIN);
}

static void a_belt_that_evicts_makes_room_in_its_chains(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT);
	u64 most = (u64)HB_CHAIN_MOST << (belt->index.bits - belt->shard_bits);
	unsigned int key;

	allow_no_table(belt);
	for (key = 0; key < 5000; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		if (key % 2)
			get(belt, key);
		hb_for_each_shard(shard, belt)
			KUNIT_ASSERT_LE(test, shard->count, most);
	}
}

static u64 nearest_of(struct hashbelt_belt *belt)
{
	u64 nearest = HB_NOTHING;

	hb_for_each_shard(shard, belt)
		nearest = min(nearest, shard->nearest[HB_PLAIN]);
	return nearest;
}

static void an_empty_belt_has_nothing_to_evict(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int key;

	put_many(test, belt, 0, 100);
	KUNIT_EXPECT_LE(test, nearest_of(belt), HB_NEVER);
	for (key = 0; key < 100; key++)
		take_out(belt, key);
	KUNIT_EXPECT_EQ(test, nearest_of(belt), HB_NOTHING);
}

/* A put may claim a request before it is on the wheel. */
static void a_claimed_entry_bounds_its_shard_by_its_deadline(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test);
	unsigned int key = 1;
	struct hashbelt_entry *entry;
	struct hb_shard *shard;
	s64 word;

	put(belt, key);
	entry = entry_of_key(belt, key);
	KUNIT_ASSERT_NOT_NULL(test, entry);
	shard = hb_shard_of(belt, entry->hash);
	word = atomic64_read(&entry->node.deadline);
	spin_lock(&shard->lock);
	hb_wheel_del(&shard->wheel, &entry->node);
	shard->nearest[HB_PLAIN] = HB_NOTHING;
	KUNIT_EXPECT_TRUE(test, hb_node_try_claim(&entry->node, HASHBELT_REMOVED));
	hb_schedule(shard, entry, hashbelt_now(belt));
	KUNIT_EXPECT_EQ(test, shard->nearest[HB_PLAIN], (u64)word);
	atomic64_set(&entry->node.deadline, word);
	spin_unlock(&shard->lock);
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

static u16 *ghost_of(struct hashbelt_belt *belt, unsigned int key)
{
	return hb_ghost_slot(&belt->index, hb_hash(belt, &key, sizeof(key)), true);
}

static void a_miss_of_a_key_that_left_recently_has_its_reason(struct kunit *test)
{
	struct hashbelt_belt *belt = one_belt(test, .policy = HASHBELT_EVICT, .max_entries = 2);
	unsigned int other = 2;

	/* One pair of keys in 1024 has a ghost in common, which tells of the last to leave. */
	while (ghost_of(belt, other) == ghost_of(belt, 1))
		other++;
	KUNIT_EXPECT_EQ(test, look_up(belt, 100), 0);
	put_ttl(belt, 0, 1000);
	put(belt, 1);
	put(belt, other);
	KUNIT_EXPECT_EQ(test, look_up(belt, 0), HASHBELT_EVICTED);
	hashbelt_advance(belt, 300 * SEC);
	KUNIT_EXPECT_EQ(test, look_up(belt, 1), HASHBELT_EXPIRED);
	put(belt, 1);
	KUNIT_EXPECT_EQ(test, look_up(belt, 1), 0);
	take_out(belt, 1);
	KUNIT_EXPECT_EQ(test, look_up(belt, 1), 0);
	put_ttl(belt, 0, 1000);
	move_time_only(belt, SEC);
	KUNIT_EXPECT_EQ(test, look_up(belt, 0), HASHBELT_EXPIRED);
	hashbelt_advance(belt, 300 * SEC);
	put(belt, other);
	KUNIT_EXPECT_EQ(test, hb_evict(belt, HASHBELT_PRESSURE, 9), 1u);
	KUNIT_EXPECT_NE(test, look_up(belt, other), 0);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_MISSES), 6ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_MISSES_EVICTED), 2ULL);
	KUNIT_EXPECT_EQ(test, stat_of(belt, HASHBELT_STAT_MISSES_EXPIRED), 2ULL);
}

static void the_shrinker_returns_empty_and_stop_without_entries(struct kunit *test)
{
	struct shrink_control control = { .nr_to_scan = 100 };

	KUNIT_EXPECT_EQ(test, shrink_count(NULL, &control), SHRINK_EMPTY);
	KUNIT_EXPECT_EQ(test, shrink_scan(NULL, &control), SHRINK_STOP);
}

/* Scans until the shrinker stops. Return: the number of entries that it has evicted. */
static u64 scan_all(struct hashbelt_belt *belt, struct reclaim_state *reclaim)
{
	struct shrink_control control = { .nr_to_scan = 100 };
	u64 before = entries_of(belt);

	current->reclaim_state = reclaim;
	while (shrink_scan(NULL, &control) != SHRINK_STOP)
		;
	current->reclaim_state = NULL;
	return before - entries_of(belt);
}

/* Each call rounds up to a page what it has evicted. */
static void a_reclaim_gets_256_kib_and_counts_them(struct kunit *test)
{
	enum { ENTRIES = 10000, VALUE = 200, MOST = SZ_256K / VALUE + 100 };
	struct hashbelt_belt *belt = one_belt(test);
	struct reclaim_state reclaim = {};
	static const u8 value[VALUE];
	unsigned int key;
	u64 evicted;

	for (key = 0; key < ENTRIES; key++)
		KUNIT_ASSERT_EQ(test, put_bytes(belt, &key, sizeof(key), value, VALUE,
						&(struct hashbelt_item){}), 0);
	evicted = scan_all(belt, &reclaim);
	KUNIT_EXPECT_GT(test, evicted, MOST / 2ULL);
	KUNIT_EXPECT_LE(test, evicted, (u64)MOST);
	KUNIT_EXPECT_GE(test, reclaim.HB_RECLAIMED, SZ_256K / PAGE_SIZE);
	KUNIT_EXPECT_LE(test, reclaim.HB_RECLAIMED, SZ_256K / PAGE_SIZE * 5 / 4);
	/* It gets no more, and the next reclaim as much. */
	KUNIT_EXPECT_EQ(test, scan_all(belt, &reclaim), 0ULL);
	reclaim.HB_RECLAIMED = 0;
	KUNIT_EXPECT_EQ(test, scan_all(belt, &reclaim), evicted);
	/* A caller that is no reclaim, such as drop_caches, gets all. */
	scan_all(belt, NULL);
	KUNIT_EXPECT_EQ(test, entries_of(belt), 0ULL);
}

static void direct_reclaim_alone_waits_for_limbo(struct kunit *test)
{
	static const struct { unsigned int flags; bool waits; } tasks[] = {
		{ 0, false },
		{ PF_MEMALLOC | PF_KSWAPD, false },
		{ PF_MEMALLOC | PF_WQ_WORKER, false },
		{ PF_MEMALLOC, true },
	};
	unsigned int flags = current->flags, i;
	enum limbo_wait wait;

	for (i = 0; i < ARRAY_SIZE(tasks); i++) {
		add_to_drain(1);
		current->flags |= tasks[i].flags;
		wait = wait_for_limbo(1);
		current->flags = flags;
		KUNIT_EXPECT_EQ(test, wait != LIMBO_NONE, tasks[i].waits);
	}
}

static void reclaim_waits_longer_where_memory_is_short(struct kunit *test)
{
	available = LONG_MAX;
	KUNIT_EXPECT_EQ(test, limbo_patience(), LIMBO_WAIT);
	available = 1;
	KUNIT_EXPECT_EQ(test, limbo_patience(), LIMBO_WAIT_LONG);
	available = 0;
}

static int wait_to_be_killed(void *arg)
{
	allow_signal(SIGKILL);
	current->flags |= PF_MEMALLOC;
	return wait_for_limbo(1);
}

/* The OOM killer may choose a task that waits. */
static void a_task_that_is_killed_waits_no_longer_for_limbo(struct kunit *test)
{
	struct task_struct *task = kthread_create(wait_to_be_killed, NULL, "waits");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	while (atomic_long_read(&drain.bytes))
		flush_rcu_work(&drain.work);
	/* No work frees this byte. */
	atomic_long_set(&drain.bytes, 1);
	get_task_struct(task);
	wake_up_process(task);
	while (!wq_has_sleeper(&drain.wait))
		schedule_timeout_uninterruptible(1);
	send_sig(SIGKILL, task, 1);
	KUNIT_EXPECT_EQ(test, kthread_stop(task), (int)LIMBO_NONE);
	put_task_struct(task);
	atomic_long_set(&drain.bytes, 0);
}

static void queue_nothing(void)
{
}

static unsigned int begun;	/* the round in which the other task began to wait */

static void evict_and_begin(void)
{
	at_queueing = queue_nothing;
	atomic_long_inc(&drain.bytes);
	begun = drain.rounds;
}

/* Another task evicts an entry after a round has read how much the next one frees. */
static void a_wait_for_limbo_ends_when_its_entry_is_freed(struct kunit *test)
{
	while (atomic_long_read(&drain.bytes))
		flush_rcu_work(&drain.work);
	flush_rcu_work(&drain.work);
	at_queueing = queue_nothing;
	add_to_drain(1);
	at_queueing = evict_and_begin;
	end_round(NULL);
	end_round(NULL);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&drain.bytes), 1L);
	KUNIT_EXPECT_EQ(test, drain.rounds - begun, 1u);
	end_round(NULL);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&drain.bytes), 0L);
	KUNIT_EXPECT_EQ(test, drain.rounds - begun, 2u);
	at_queueing = NULL;
}

static struct kunit_case evict_cases[] = {
	KUNIT_CASE(nothing_is_evicted_before_the_limit),
	KUNIT_CASE_PARAM(the_entry_nearest_its_deadline_is_evicted_first, bucket_gen_params),
	KUNIT_CASE_PARAM(among_many_eviction_follows_deadlines_to_one_interval, bucket_gen_params),
	KUNIT_CASE(the_oldest_is_evicted_first_where_all_have_one_ttl),
	KUNIT_CASE(a_refreshed_entry_is_evicted_after_the_others),
	KUNIT_CASE(a_put_that_can_never_fit_is_refused_and_evicts_nothing),
	KUNIT_CASE(a_larger_put_does_not_evict_the_entry_it_replaces),
	KUNIT_CASE(a_larger_put_that_does_not_fit_leaves_the_old_entry),
	KUNIT_CASE(an_account_has_a_limit_of_its_own),
	KUNIT_CASE(puts_near_the_account_limit_evict_what_they_add),
	KUNIT_CASE(only_puts_that_add_an_entry_evict_ahead),
	KUNIT_CASE(a_belt_that_reports_evictions_evicts_none_ahead),
	KUNIT_CASE_PARAM(an_expired_entry_makes_room_behind_live_ones, bucket_gen_params),
	KUNIT_CASE(a_full_belt_searches_for_hidden_entries_once),
	KUNIT_CASE(an_expired_entry_makes_room_in_the_chains),
	KUNIT_CASE(at_the_account_limit_other_belts_give_up_what_has_expired),
	KUNIT_CASE(a_task_gives_way_after_each_expired_entry_that_it_takes),
	KUNIT_CASE_PARAM(at_the_account_limit_entries_that_stay_are_left_alone, staying_gen_params),
	KUNIT_CASE(the_shrinker_evicts_by_deadline_from_belts_that_are_not_pinned),
	KUNIT_CASE(the_shrinker_counts_the_entries_behind_belts_with_nothing_to_take),
	KUNIT_CASE(the_shrinker_counts_other_belts_each_time),
	KUNIT_CASE(a_call_of_the_shrinker_compares_belts_1024_times),
	KUNIT_CASE(no_worker_pauses_while_memory_is_short),
	KUNIT_CASE(a_belt_is_listed_again_with_its_next_entry),
	KUNIT_CASE(the_shrinker_spares_entries_that_were_read_on_a_belt_that_evicts),
	KUNIT_CASE(the_shrinker_skips_at_most_1024_entries_for_16),
	KUNIT_CASE(under_pressure_a_belt_queues_at_most_1_mib_of_events),
	KUNIT_CASE(an_empty_belt_has_nothing_to_evict),
	KUNIT_CASE(a_claimed_entry_bounds_its_shard_by_its_deadline),
	KUNIT_CASE(a_miss_of_a_key_that_left_recently_has_its_reason),
	KUNIT_CASE(a_large_put_keeps_the_room_that_it_makes),
	KUNIT_CASE(of_two_puts_that_are_too_large_together_one_gets_the_room),
	KUNIT_CASE(an_eviction_finds_the_entry_behind_thousands_of_empty_buckets),
	KUNIT_CASE(a_shard_with_64_entries_a_chain_takes_no_further_key),
	KUNIT_CASE(a_belt_that_evicts_makes_room_in_its_chains),
	KUNIT_CASE(the_shrinker_returns_empty_and_stop_without_entries),
	KUNIT_CASE(direct_reclaim_alone_waits_for_limbo),
	KUNIT_CASE(reclaim_waits_longer_where_memory_is_short),
	KUNIT_CASE(a_task_that_is_killed_waits_no_longer_for_limbo),
	KUNIT_CASE(a_wait_for_limbo_ends_when_its_entry_is_freed),
	KUNIT_CASE(a_reclaim_gets_256_kib_and_counts_them),
	{}
};

TEST_SUITE(evict, one_belt_init, one_belt_exit);
