// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of entries, belts, tables and levels, and what is charged for it. The expected bytes
 * are constants here, or sizes of structures: no case compares the module's charges with sizes
 * that the module computes.
 */
#include <kunit/test.h>

#include "fixture.h"

/* The number of shards on one CPU, for which the sizes below hold. */
#define SHARDS	4

/* Objects of these sizes have a slab cache; larger ones take pages. */
static const u32 slab_sizes[] = {
	80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 272, 288, 304, 320,
	384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096,
	4680, 5456, 6552, 8192, 10920,
};

/*
 * Objects that take pages. They get one block of a power of two pages if that wastes at most a
 * quarter of the request, and single pages otherwise.
 */
static const struct pages_case {
	u32 span;
	u32 bytes;
} pages_cases[] = {
	{ 10921, 12288 },	/* single pages, up to 13107 */
	{ 12288, 12288 },
	{ 12289, 16384 },
	{ 13108, 16384 },	/* one block */
	{ 16384, 16384 },
	{ 16385, 20480 },
	{ 26214, 28672 },	/* the last with single pages */
	{ 26215, 32768 },	/* the first in one block */
	{ 32768, 32768 },
	{ 52428, 53248 },
	{ 52429, 65536 },
	{ 65537, 69632 },
	{ 104857, 106496 },
	{ 104858, 131072 },
	{ 1048576, 1048576 },
	{ 1048577, 1052672 },
	{ 1049664, 1052672 },	/* the largest key and value */
};

/* The size of the slab object for @span bytes; 0: there is no slab cache for them. */
static u32 slab_bytes(u32 span)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slab_sizes); i++)
		if (span <= slab_sizes[i])
			return slab_sizes[i];
	return 0;
}

/* Checks that an entry of @span bytes, with its header of 64, is charged with @bytes. */
static void expect_entry(struct kunit *test, struct hashbelt_belt *belt, u32 span, u32 bytes)
{
	u32 key_len = min_t(u32, span - 64, HASHBELT_KEY_MAX);
	u64 used = hb_memory_used();
	struct hashbelt_entry *entry;

	entry = hashbelt_entry_alloc(belt, NULL, key_len, span - 64 - key_len);
	KUNIT_ASSERT_FALSE(test, IS_ERR(entry));
	KUNIT_EXPECT_EQ_MSG(test, hb_memory_used() - used, (u64)bytes, "of %u", span);
	hashbelt_entry_put(belt, entry);
	KUNIT_EXPECT_EQ_MSG(test, hb_memory_used(), used, "of %u", span);
}

static void an_entry_of_each_size_takes_its_slab_class(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);
	u32 span;

	for (span = 65; span <= 10920; span++)
		expect_entry(test, belt, span, slab_bytes(span));
}

static void a_large_entry_takes_whole_pages(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages_cases); i++)
		expect_entry(test, belt, pages_cases[i].span, pages_cases[i].bytes);
}

/* Small objects of two classes in turn, then more of one class than a bundle takes, then pages. */
static void a_bundle_frees_and_uncharges_objects_of_all_classes(struct kunit *test)
{
	u64 used = hb_memory_used();
	struct hb_bundle bundle;
	unsigned int i;

	hb_bundle_init(&bundle, NULL);
	hb_bundle_free(&bundle);
	for (i = 0; i < 6 * HB_BUNDLE; i++) {
		size_t size = i >= 5 * HB_BUNDLE ? 11000 : i >= HB_BUNDLE ? 144 : 80 + i % 2 * 4000;
		void *object = hb_object_alloc(NULL, size, GFP_KERNEL);

		KUNIT_ASSERT_FALSE(test, IS_ERR(object));
		hb_bundle_add(&bundle, object, size);
	}
	hb_bundle_free(&bundle);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

/* All objects or none; larger ones than those of the fine classes are left to hb_object_alloc(). */
static void a_bundle_is_filled_and_charged_as_a_whole(struct kunit *test)
{
	u64 used = hb_memory_used();
	struct hb_bundle bundle;
	void *object;

	hb_bundle_init(&bundle, NULL);
	hb_bundle_fill(&bundle, 1000, 3);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	KUNIT_EXPECT_NULL(test, hb_bundle_take(&bundle, 1000));
	hb_memory_limit(used + 8 * 144 - 1);
	hb_bundle_fill(&bundle, 140, 8);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	KUNIT_EXPECT_NULL(test, hb_bundle_take(&bundle, 140));
	hb_memory_limit(U64_MAX);
	hb_bundle_fill(&bundle, 140, 8);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used + 8 * 144);
	object = hb_bundle_take(&bundle, 129);
	KUNIT_ASSERT_NOT_NULL(test, object);
	hb_bundle_free(&bundle);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used + 144);
	KUNIT_EXPECT_NULL(test, hb_bundle_take(&bundle, 144));
	hb_object_free(NULL, object, 129);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

/* A full one allocates nothing; one of another class is emptied first. */
static void a_bundle_is_filled_up_with_what_it_lacks(struct kunit *test)
{
	u64 used = hb_memory_used();
	struct hb_bundle bundle;
	void *objects[4];
	unsigned int i;

	hb_bundle_init(&bundle, NULL);
	hb_bundle_fill(&bundle, 144, 4);
	for (i = 0; i < 4; i++) {
		objects[i] = hb_bundle_take(&bundle, 144);
		KUNIT_ASSERT_NOT_NULL(test, objects[i]);
	}
	for (i = 0; i < 3; i++)
		hb_bundle_give_back(&bundle, objects[i], 130);
	hb_bundle_fill(&bundle, 140, 2);
	KUNIT_EXPECT_EQ(test, bundle.count, 3u);
	hb_bundle_fill(&bundle, 140, HB_BUNDLE);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used + (1 + HB_BUNDLE) * 144);
	KUNIT_EXPECT_PTR_EQ(test, bundle.objects[2], objects[2]);
	hb_bundle_fill(&bundle, 96, 2);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used + 144 + 2 * 96);
	hb_bundle_free(&bundle);
	hb_object_free(NULL, objects[3], 144);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

static int put_span(struct hashbelt_belt *belt, unsigned int key, u32 span)
{
	struct hashbelt_entry *entry;

	entry = hashbelt_entry_alloc(belt, NULL, sizeof(key), span - 64 - sizeof(key));
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	memcpy(entry->data, &key, sizeof(key));
	return hashbelt_put(belt, entry, &(struct hashbelt_item){});
}

static void per_cpu_memory_is_charged_for_all_possible_cpus(struct kunit *test)
{
	u64 used = hb_memory_used(), size = 456;
	void __percpu *memory = NULL;

	KUNIT_ASSERT_EQ(test, hb_percpu_alloc(NULL, size, &memory), 0);
	KUNIT_EXPECT_EQ(test, hb_memory_used() - used, size * num_possible_cpus());
	hb_memory_limit(used + 2 * size * num_possible_cpus() - 1);
	KUNIT_EXPECT_EQ(test, hb_percpu_alloc(NULL, size, &memory), -ENOSPC);
	hb_memory_limit(U64_MAX);
	hb_percpu_free(NULL, memory, size);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
}

/* The limits count the memory and 16 bytes for the index, for an event too. */
static void an_entry_costs_its_memory_and_16_bytes(struct kunit *test)
{
	static const struct pages_case sizes[] = {
		{ 68, 80 }, { 80, 80 }, { 81, 96 }, { 320, 320 }, { 321, 384 }, { 1025, 1280 },
		{ 4096, 4096 }, { 5000, 5456 }, { 26214, 28672 }, { 26215, 32768 },
		{ 1048644, 1052672 },
	};
	struct hashbelt_belt *belt = make(test, .handler = HASHBELT_NOTIFY, .max_bytes = 4 << 20);
	u64 empty = hb_memory_used(), bytes = info_of(belt).bytes, lost;
	struct hb_fifo events = {};
	unsigned int key = 1, i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, put_span(belt, key, sizes[i].span), 0);
		come_to_rest(belt);
		KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
		KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, sizes[i].bytes + 16ULL);
		KUNIT_EXPECT_EQ(test, info_of(belt).bytes - bytes, (u64)sizes[i].bytes);
		KUNIT_EXPECT_EQ(test, hb_memory_used() - empty, (u64)sizes[i].bytes);
	}
	KUNIT_EXPECT_EQ(test, expire(belt, key), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).entries, 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 1052688ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued_bytes, 1052672ULL);
	KUNIT_ASSERT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, 1, true, &lost), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 1052688ULL);
	hb_settle_events(belt, &events, true);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued_bytes, 0ULL);
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, hb_memory_used(), empty);
}

static void a_put_fits_a_limit_to_the_byte(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .max_bytes = 287);

	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 2), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 3), -ENOSPC);
	change(belt, MAX_BYTES, .max_bytes = 288);
	KUNIT_EXPECT_EQ(test, put(belt, 3), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 288ULL);
	/* Only the difference to the old entry has to fit. A smaller entry frees the difference. */
	KUNIT_EXPECT_EQ(test, put_span(belt, 3, 81), -ENOSPC);
	KUNIT_EXPECT_EQ(test, take_out(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put_span(belt, 3, 176), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 96ULL + 192);
	KUNIT_EXPECT_EQ(test, put_span(belt, 3, 80), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 96ULL + 96);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 4), -ENOSPC);
}

/* Tables, levels, and the belt itself */

/*
 * A table of @chains that are one part: seven words, the work that frees it, a pointer for each
 * chain. Here a word is one of 64 bits.
 */
static u64 table_bytes(u64 chains)
{
	return 7 * 8 + sizeof(struct rcu_work) + 8 * chains;
}

/* A level of @size buckets: 32 bytes, a bitmap in words, a list head for each bucket. */
static u64 level_bytes(u64 size)
{
	return 32 + (size + 63) / 64 * 8 + 16 * size;
}

/* The front levels of a shard: that of its entries, and 16 buckets for entries of other kinds. */
static u64 levels_bytes(u64 size)
{
	return level_bytes(size) + level_bytes(16);
}

/* The memory of a belt without its wheels, to which the first lock of a shard adds levels. */
static u64 memory_but_wheels(struct hashbelt_belt *belt)
{
	u64 wheels = 0;

	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		hb_wheel_levels(&shard->wheel, &wheels);
		hb_wheel_levels(&shard->leases, &wheels);
		spin_unlock(&shard->lock);
	}
	return hb_memory_used() - wheels;
}

static void a_belt_takes_its_shards_a_table_and_two_levels_per_shard(struct kunit *test)
{
	static const u32 buckets[] = { 2, 3, 5, 63, 64, 65, 500, 65536 };
	u64 shells = sizeof(struct hashbelt_belt) + SHARDS * sizeof(struct hb_shard) +
		     num_possible_cpus() * sizeof(struct hb_stats);
	struct hashbelt_belt *belt = make(test);
	unsigned int i;
	u64 used;

	come_to_rest(belt);
	used = hb_memory_used();
	KUNIT_EXPECT_EQ(test, used, shells + table_bytes(8) + SHARDS * levels_bytes(5));
	KUNIT_EXPECT_EQ(test, info_of(belt).bytes, table_bytes(8) + SHARDS * levels_bytes(5));
	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		struct hashbelt_belt *other = hashbelt_create(&(struct hashbelt_config){
			.buckets = buckets[i] });

		KUNIT_ASSERT_FALSE(test, IS_ERR(other));
		KUNIT_EXPECT_EQ(test, hb_memory_used() - used,
				shells + table_bytes(8) + SHARDS * levels_bytes(buckets[i]));
		hashbelt_destroy(other);
		hashbelt_flush();
		KUNIT_EXPECT_EQ(test, hb_memory_used(), used);
	}
}

/*
 * The front wheel is 300 s long, and each further level 64 times as long as the one before. A
 * level is made in the shard that needs it, and reaches as far as all its buckets but one.
 */
static void a_long_ttl_takes_the_levels_that_it_needs(struct kunit *test)
{
	static const struct { u64 ttl_ms; u32 levels; } lives[] = {
		{ 240000, 1 }, { 240001, 2 }, { 300ULL * 63 * 1000, 2 },
		{ 300ULL * 63 * 1000 + 1, 3 }, { 19200ULL * 63 * 1000, 3 },
		{ 19200ULL * 63 * 1000 + 1, 4 }, { 1228800ULL * 63 * 1000 + 1, 5 },
		{ HASHBELT_TTL_NEVER, 1 },
	};
	struct hashbelt_belt *belt;
	unsigned int i;
	u64 used;

	for (i = 0; i < ARRAY_SIZE(lives); i++) {
		belt = still_belt(test);
		used = hb_memory_used();
		KUNIT_EXPECT_EQ(test, put_ttl(belt, 1, lives[i].ttl_ms), 0);
		KUNIT_EXPECT_EQ(test, info_of(belt).levels, lives[i].levels);
		KUNIT_EXPECT_EQ(test, hb_memory_used() - used,
				80 + (lives[i].levels - 1) * level_bytes(64));
		hashbelt_destroy(belt);
	}
}

/* Only a belt that evicts wants a ghost for each chain. Its shell has 1024, in each belt. */
static u64 ghost_bytes(u32 policy, u64 chains)
{
	return policy == HASHBELT_EVICT && chains > 1024 ? 2 * chains : 0;
}

/* A table has at most 3/2 entries for a chain, and at least 5/8. */
static void expect_index(struct kunit *test, u32 policy)
{
	struct hashbelt_belt *belt = make(test, .policy = policy);
	u64 empty = hb_memory_used() - table_bytes(8), chains;
	unsigned int key;

	/* Without a seed the same shard is crowded first in each run. */
	memset(&belt->seed, 0, sizeof(belt->seed));
	for (key = 0; key < 20000; key++) {
		KUNIT_ASSERT_EQ(test, put(belt, key), 0);
		if ((key + 1) % 1000)
			continue;
		come_to_rest(belt);
		chains = info_of(belt).table;
		KUNIT_EXPECT_EQ(test, chains & (chains - 1), 0ULL);
		/* It grows as soon as one shard is crowded. */
		KUNIT_EXPECT_LE(test, (key + 1) * 2ULL, chains * 3);
		KUNIT_EXPECT_GE(test, (key + 1) * 2ULL, chains * 5 / 4);
		KUNIT_EXPECT_EQ(test, hb_memory_used(),
				empty + table_bytes(chains) + ghost_bytes(policy, chains) +
				80 * (key + 1ULL));
	}
	drop_all(test->priv);
}

static void an_index_takes_a_pointer_per_chain_and_a_ghost(struct kunit *test)
{
	expect_index(test, 0);
	expect_index(test, HASHBELT_EVICT);
}

/* Other kinds: header, key and value, rounded up to a multiple of 8, and a tail */

static void a_lock_costs_160_bytes_and_a_waiter_adds_lease_and_waitpoint(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .policy = HASHBELT_PINNED, .max_bytes = 10000);
	struct fixture *f = test->priv;
	u64 empty = memory_but_wheels(belt);

	/* 64 + 4 + 1 -> 72; in the tail a link of 32, a tree node of 24, and 8. */
	KUNIT_EXPECT_EQ(test, lock_plainly(belt, 1, 'A'), 0);
	KUNIT_EXPECT_EQ(test, memory_but_wheels(belt) - empty, 144ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 160ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_entries, 1ULL);
	f->waiters[0] = (struct waiter){
		.belt = belt, .key = 1, .owner = "C", .turn = &f->turn,
		.lock = { .owner_len = 1, .wait_ms = HASHBELT_TTL_NEVER },
	};
	KUNIT_ASSERT_TRUE(test, waiter_start(&f->waiters[0]));
	/* The waiter's lease is charged as memory, and so is the waitpoint: 68 -> 72, tail 96. */
	KUNIT_EXPECT_EQ(test, memory_but_wheels(belt) - empty, 144ULL + 144 + 176);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 160ULL);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'A'), 0);
	KUNIT_EXPECT_TRUE(test, waiter_has_ended(&f->waiters[0]));
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, memory_but_wheels(belt) - empty, 144ULL);
	KUNIT_EXPECT_EQ(test, unlock_as(belt, 1, 'C'), 0);
	expect_empty(test);
}

static void a_fill_lease_and_a_bound_entry_cost_128_bytes_each(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .max_bytes = 10000);
	struct fixture *f = test->priv;
	u64 empty = memory_but_wheels(belt);
	unsigned int key = 1;

	/* 64 + 4 -> 72; in the tail a link of 32. */
	KUNIT_EXPECT_EQ(test, hashbelt_fill(belt, NULL, &key, sizeof(key),
					    &(struct hashbelt_fill){}, false), 0);
	KUNIT_EXPECT_EQ(test, memory_but_wheels(belt) - empty, 112ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 128ULL);
	KUNIT_EXPECT_EQ(test, put_bound(belt, f->clients[0], key), 0);
	/* The put has ended the lease. */
	come_to_rest(belt);
	KUNIT_EXPECT_EQ(test, memory_but_wheels(belt) - empty, 112ULL);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 128ULL);
	drop_client(f, 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
	expect_empty(test);
}

/*
 * 64, client and id of 16, keys of 4 -> a multiple of 8; tail of 48, and a watch of 56 a key. Under
 * the limits a waitpoint of 176 counts for each key, and its share of the index.
 */
static void a_request_costs_its_keys_with_a_watch_and_a_waitpoint_for_each(struct kunit *test)
{
	static const struct { u32 keys, bytes; } requests[] = {
		{ 1, 192 },	/* 88 + 104 */
		{ 2, 256 },	/* 88 + 160 */
		{ 16, 1280 },	/* 144 + 944 */
	};
	struct hashbelt_belt *belt = make(test, .max_bytes = 10000);
	struct fixture *f = test->priv;
	u64 empty = memory_but_wheels(belt);
	struct hashbelt_entry *entry;
	unsigned int i, n, key = 1;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		entry = hashbelt_request_alloc(belt, f->clients[0], i, requests[i].keys,
					       requests[i].keys * sizeof(key));
		KUNIT_ASSERT_FALSE(test, IS_ERR(entry));
		for (n = 0; n < requests[i].keys; n++)
			memcpy(hashbelt_request_key(entry, n, n * sizeof(key), sizeof(key)),
			       &key, sizeof(key));
		KUNIT_ASSERT_EQ(test, hashbelt_request(belt, entry, 0), 0);
		KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes,
				requests[i].bytes + 16ULL + requests[i].keys * (176ULL + 16));
		/* And one waitpoint, since all keys are equal: with more the index would grow. */
		KUNIT_EXPECT_EQ(test, memory_but_wheels(belt) - empty, requests[i].bytes + 176ULL);
		KUNIT_EXPECT_EQ(test, hb_request_cancel(belt, f->clients[0], i), 0);
		come_to_rest(belt);
		KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 0ULL);
		KUNIT_EXPECT_EQ(test, memory_but_wheels(belt), empty);
	}
}

static void the_event_of_a_reinserted_entry_takes_80_bytes(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, .handler = HASHBELT_REINSERT, .max_bytes = 10000);
	u64 empty = hb_memory_used(), lost;
	struct hb_fifo events = {};

	KUNIT_EXPECT_EQ(test, put_span(belt, 1, 1000), 0);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 5 * INTERVAL), 0);
	KUNIT_EXPECT_EQ(test, info_of(belt).queued, 1ULL);
	/* The event refers to the entry, so the queue's own limit counts both. */
	KUNIT_EXPECT_EQ(test, info_of(belt).queued_bytes, 80ULL + 1024);
	KUNIT_EXPECT_EQ(test, info_of(belt).used_bytes, 1040ULL);
	KUNIT_EXPECT_EQ(test, hb_memory_used() - empty, 1024ULL + 80);
	KUNIT_EXPECT_EQ(test, hb_take_events(belt, &events, SIZE_MAX, 1, false, &lost), 0);
	hb_settle_events(belt, &events, false);
	KUNIT_EXPECT_EQ(test, hb_memory_used() - empty, 1024ULL);
}

/* Limits of accounts and of the module, to the byte */

static unsigned int released;

static u64 charged_to(struct hb_account *account)
{
	return percpu_counter_sum(&account->used);
}

/* The limit of the module of which accounts may use @bytes: they leave an eighth. */
static u64 limit_for_accounts(u64 bytes)
{
	u64 most = bytes * 8 / 7;

	while (most - most / 8 < bytes)
		most++;
	return most;
}

/* Parts of an account */

struct divided {
	struct hb_account whole;
	struct hb_account part;
};

static void divided_release(struct hb_account *account)
{
	struct divided *divided = container_of(account, struct divided, whole);

	released++;
	hb_account_exit_part(&divided->part);
	kfree(divided);
}

static struct divided *open_divided(struct kunit *test)
{
	struct divided *divided = kzalloc(sizeof(*divided), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, divided);
	KUNIT_ASSERT_EQ(test, hb_account_init(&divided->whole, divided_release), 0);
	KUNIT_ASSERT_EQ(test, hb_account_init_part(&divided->part, &divided->whole), 0);
	return divided;
}

/* The bytes that are charged to a part, to its whole and to the module. */
struct charges {
	u64 part;
	u64 whole;
	u64 module;
};

static struct charges charges_of(struct divided *divided)
{
	return (struct charges){
		charged_to(&divided->part), charged_to(&divided->whole), hb_memory_used(),
	};
}

static void expect_charges(struct kunit *test, struct divided *divided, struct charges before,
			   u64 part, u64 whole)
{
	struct charges now = charges_of(divided);

	KUNIT_EXPECT_EQ(test, now.part - before.part, part);
	KUNIT_EXPECT_EQ(test, now.whole - before.whole, whole);
	KUNIT_EXPECT_EQ(test, now.module - before.module, whole);
}

static void limits_of_part_whole_and_module_hold_to_the_byte(struct kunit *test)
{
	struct divided *divided = open_divided(test);
	struct hashbelt_belt *belt = still_belt(test, .account = &divided->part);
	struct hashbelt_belt *other = still_belt(test, .account = &divided->whole);
	struct charges before = charges_of(divided);

	KUNIT_EXPECT_EQ(test, before.whole, 2 * before.part);
	hb_memory_part_limit(before.part + 79);
	KUNIT_EXPECT_EQ(test, put(belt, 1), -EDQUOT);
	expect_charges(test, divided, before, 0, 0);
	hb_memory_part_limit(before.part + 80);
	KUNIT_EXPECT_EQ(test, put(belt, 1), 0);
	KUNIT_EXPECT_EQ(test, put(belt, 2), -EDQUOT);
	expect_charges(test, divided, before, 80, 80);
	/* The limit of the part is none of the whole, nor is the charge. */
	KUNIT_EXPECT_EQ(test, put(other, 1), 0);
	expect_charges(test, divided, before, 80, 160);
	hb_memory_part_limit(U64_MAX);
	hb_memory_account_limit(before.whole + 239);
	KUNIT_EXPECT_EQ(test, put(belt, 2), -EDQUOT);
	KUNIT_EXPECT_EQ(test, put(other, 2), -EDQUOT);
	expect_charges(test, divided, before, 80, 160);
	hb_memory_account_limit(before.whole + 240);
	KUNIT_EXPECT_EQ(test, put(belt, 2), 0);
	hb_memory_account_limit(U64_MAX);
	hb_memory_limit(limit_for_accounts(before.module + 319));
	KUNIT_EXPECT_EQ(test, put(belt, 3), -ENOSPC);
	/* Both limits are exceeded: the account's error is returned. */
	hb_memory_account_limit(before.whole + 240);
	KUNIT_EXPECT_EQ(test, put(belt, 3), -EDQUOT);
	hb_memory_account_limit(U64_MAX);
	expect_charges(test, divided, before, 160, 240);
	hb_memory_limit(limit_for_accounts(before.module + 320));
	KUNIT_EXPECT_EQ(test, put(belt, 3), 0);
	expect_charges(test, divided, before, 240, 320);
	hb_memory_limit(U64_MAX);
	hashbelt_destroy(belt);
	hashbelt_destroy(other);
	end_account(&divided->whole);
}

/* The belt's memory: objects, tables, levels and per-CPU memory. */
static void memory_of_a_part_is_uncharged_from_part_and_whole(struct kunit *test)
{
	struct divided *divided = open_divided(test);
	struct charges before = charges_of(divided);
	struct hashbelt_belt *belt;
	unsigned int key;
	u64 used;

	released = 0;
	belt = still_belt(test, .account = &divided->part, .handler = HASHBELT_REINSERT);
	for (key = 0; key < 1000; key++)
		KUNIT_ASSERT_EQ(test, put_ttl(belt, key, 1000 * key + 1), 0);
	KUNIT_EXPECT_EQ(test, put_span(belt, 1000, 30000), 0);
	KUNIT_EXPECT_EQ(test, put_span(belt, 1001, 20000), 0);
	come_to_rest(belt);
	used = hb_memory_used() - before.module;
	KUNIT_EXPECT_GT(test, used, 1000 * 80 + 30000ULL);
	expect_charges(test, divided, before, used, used);
	KUNIT_EXPECT_EQ(test, hashbelt_advance(belt, 500 * SEC), 0);
	KUNIT_EXPECT_GT(test, info_of(belt).queued, 500ULL);
	KUNIT_EXPECT_EQ(test, change(belt, BUCKETS, .buckets = 700), 0);
	come_to_rest(belt);
	used = hb_memory_used() - before.module;
	expect_charges(test, divided, before, used, used);
	hashbelt_clear(belt);
	come_to_rest(belt);
	used = hb_memory_used() - before.module;
	expect_charges(test, divided, before, used, used);
	hashbelt_destroy(belt);
	flush_account(&divided->whole);
	expect_charges(test, divided, before, 0, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&divided->whole.dying), 0);
	KUNIT_EXPECT_EQ(test, released, 0u);
	hb_account_put(&divided->whole);
	KUNIT_EXPECT_EQ(test, released, 1u);
}

static void a_reference_to_a_part_keeps_the_whole(struct kunit *test)
{
	struct divided *divided = open_divided(test);
	struct hb_account *part = hb_account_get(&divided->part);

	released = 0;
	KUNIT_EXPECT_PTR_EQ(test, part, &divided->part);
	hb_account_put(&divided->whole);
	KUNIT_EXPECT_EQ(test, released, 0u);
	hb_account_put(part);
	KUNIT_EXPECT_EQ(test, released, 1u);
}

/* A part near its limit makes memory scarce for itself alone, a whole for its parts as well. */
static void memory_is_scarce_near_the_limit_of_part_or_whole(struct kunit *test)
{
	struct divided *divided = open_divided(test);
	struct hashbelt_belt *belt = still_belt(test, .account = &divided->part);
	u64 charged = charged_to(&divided->part);

	/* An allocation makes room from a sixteenth below the limit on. */
	hb_memory_part_limit(charged * 16);
	KUNIT_EXPECT_FALSE(test, hb_memory_is_scarce(&divided->part));
	hb_memory_part_limit(charged + charged / 32);
	KUNIT_EXPECT_TRUE(test, hb_memory_is_scarce(&divided->part));
	KUNIT_EXPECT_FALSE(test, hb_memory_is_scarce(&divided->whole));
	hb_memory_part_limit(U64_MAX);
	KUNIT_EXPECT_FALSE(test, hb_memory_is_scarce(&divided->part));
	hb_memory_account_limit(charged + charged / 32);
	KUNIT_EXPECT_TRUE(test, hb_memory_is_scarce(&divided->part));
	KUNIT_EXPECT_TRUE(test, hb_memory_is_scarce(&divided->whole));
	KUNIT_EXPECT_FALSE(test, hb_memory_is_scarce(NULL));
	hb_memory_account_limit(U64_MAX);
	hashbelt_destroy(belt);
	end_account(&divided->whole);
}

static struct kunit_case memory_cases[] = {
	KUNIT_CASE(an_entry_of_each_size_takes_its_slab_class),
	KUNIT_CASE(a_large_entry_takes_whole_pages),
	KUNIT_CASE(a_bundle_is_filled_and_charged_as_a_whole),
	KUNIT_CASE(a_bundle_is_filled_up_with_what_it_lacks),
	KUNIT_CASE(a_bundle_frees_and_uncharges_objects_of_all_classes),
	KUNIT_CASE(per_cpu_memory_is_charged_for_all_possible_cpus),
	KUNIT_CASE(an_entry_costs_its_memory_and_16_bytes),
	KUNIT_CASE(a_put_fits_a_limit_to_the_byte),
	KUNIT_CASE(a_belt_takes_its_shards_a_table_and_two_levels_per_shard),
	KUNIT_CASE(a_long_ttl_takes_the_levels_that_it_needs),
	KUNIT_CASE(an_index_takes_a_pointer_per_chain_and_a_ghost),
	KUNIT_CASE(a_lock_costs_160_bytes_and_a_waiter_adds_lease_and_waitpoint),
	KUNIT_CASE(a_fill_lease_and_a_bound_entry_cost_128_bytes_each),
	KUNIT_CASE(a_request_costs_its_keys_with_a_watch_and_a_waitpoint_for_each),
	KUNIT_CASE(the_event_of_a_reinserted_entry_takes_80_bytes),
	KUNIT_CASE(limits_of_part_whole_and_module_hold_to_the_byte),
	KUNIT_CASE(memory_of_a_part_is_uncharged_from_part_and_whole),
	KUNIT_CASE(a_reference_to_a_part_keeps_the_whole),
	KUNIT_CASE(memory_is_scarce_near_the_limit_of_part_or_whole),
	{}
};

TEST_SUITE(memory, fixture_init, fixture_exit);
