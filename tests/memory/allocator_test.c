// SPDX-License-Identifier: GPL-2.0-only
/*
 * allocator_test - each branch of the module's allocator charges the memory cgroup of the task.
 *
 * The branches are a slab cache for each class of sizes, by single and by bulk allocations; whole
 * pages, in one piece or mapped; and tables of less than a page to parts of 512 KiB. The test moves
 * itself into a cgroup of version 2 and compares memory.stat before and after it makes many objects
 * of one size. It frees none of them: memory that is freed late would show in the next measurement.
 * So it waits for the tables that an index has outgrown. Needs the superuser.
 */
#include <sys/stat.h>

#include "process.h"

#define GROUP	"/sys/fs/cgroup/hashbelt-allocator/"
#include "charge.h"

#define HEADER	68		/* bytes of an entry besides its value, with a key of 4 bytes */
#define NOISE	(160 * 1024LL)	/* bytes that processors may hold back, and other objects */
#define ENOUGH	(2 * MIB)	/* bytes of the objects of one size */
#define LARGE	(16 * MIB)	/* bytes of large objects */
#define BATCH		16u
#define INDEX_BITS	19

static void put_one(int belt, unsigned int number, __u32 len)
{
	int err = put_zeros(belt, number, len, HASHBELT_TTL_NEVER);

	if (err)
		bail_out("put of %u bytes: %s", len, error_name(err));
}

/* Puts in batches, whose entries are allocated together if they are small. */
static void put_together(int belt, unsigned int from, unsigned int count, __u32 len)
{
	static unsigned char zeros[HASHBELT_VALUE_MAX];
	struct hashbelt_item items[BATCH];
	unsigned int numbers[BATCH], i, at;
	struct hashbelt_batch batch = { .items = address(items), .count = BATCH };

	for (at = 0; at < count; at += BATCH) {
		for (i = 0; i < BATCH; i++) {
			numbers[i] = from + at + i;
			items[i] = (struct hashbelt_item){
				.op = HASHBELT_OP_PUT, .ttl_ms = HASHBELT_TTL_NEVER,
				.key = address(&numbers[i]), .key_len = sizeof(*numbers),
				.value = address(zeros), .value_len = len,
			};
		}
		must(belt, HASHBELT_IOC_BATCH, &batch);
		for (i = 0; i < BATCH; i++)
			if (batch.done != BATCH || items[i].result)
				bail_out("a batch of puts of %u bytes", len);
	}
}

static bool is_within(long long bytes, long long least, long long most)
{
	if (bytes >= least && bytes <= most)
		return true;
	note("%lld bytes, expected %lld to %lld", bytes, least, most);
	return false;
}

/* Memory of the module that is not what information about the belt tells. */
static __u64 besides(int belt)
{
	return get_parameter("used_bytes") - info_of(belt).bytes;
}

/* Waits until the tables are freed that the belt's index has outgrown. */
static void settle(int belt, __u64 besides_before)
{
	/* Completes a resize of the index. */
	advance(belt, 1);
	if (!used_at_last(besides_before + info_of(belt).bytes))
		bail_out("a table of the index is not freed");
}

/* Entries of @size bytes, half of them put alone and half of them together. */
static void test_class(unsigned int size)
{
	unsigned int count = (ENOUGH / size / BATCH + 1) * BATCH, i;
	int belt = new_belt(HASHBELT_PINNED);
	__u64 besides_before = besides(belt);
	long long least = (long long)count * size, alone, together;
	struct charge before = charged();

	for (i = 0; i < count; i++)
		put_one(belt, i, size - HEADER);
	alone = charged_since(before).slab;
	settle(belt, besides_before);
	before = charged();
	put_together(belt, count, count, size - HEADER);
	together = charged_since(before).slab;
	settle(belt, besides_before);
	ok(is_within(alone, least - NOISE, 2 * least) &&
	   is_within(together, least - NOISE, 2 * least),
	   "entries of %u bytes, put alone or together, are charged to the cgroup", size);
}

/* The classes of belt/ground/memory.c. */
static void test_classes(void)
{
	unsigned int size, parts;

	for (size = 80; size <= 320; size += 16)
		test_class(size);
	for (size = 384; size <= 512; size += 64)
		test_class(size);
	for (; size <= 1024; size += 128)
		test_class(size);
	for (; size <= 2048; size += 256)
		test_class(size);
	for (; size <= 4096; size += 512)
		test_class(size);
	for (parts = 7; parts >= 3; parts--)
		test_class(32768 / parts / 8 * 8);
}

/* Entries that take whole pages; @mapped: each page by itself, as one piece would waste many. */
static void test_pages(unsigned int size, bool mapped)
{
	unsigned int count = LARGE / size + 1, i;
	int belt = new_belt(HASHBELT_PINNED);
	long long least = (long long)count * size;
	struct charge before = charged(), more;

	for (i = 0; i < count; i++)
		put_one(belt, i, size - HEADER);
	more = charged_since(before);
	ok(is_within(more.kernel, least - NOISE, least + least / 2 + 4 * NOISE) &&
	   (!mapped || is_within(more.vmalloc, least, least + least / 2)),
	   "entries of %u bytes, in %s, are charged to the cgroup", size,
	   mapped ? "mapped pages" : "one piece");
}

/* The tables of belts of so many buckets. Belt information tells their size. */
static void test_levels(unsigned int buckets)
{
	enum { MOST = 64 };
	struct hashbelt_settings settings = { .ttl_ms = TTL, .mode = 0600, .buckets = buckets };
	unsigned int count = buckets >= 4096 ? 8 : MOST, i;
	int fds[MOST];
	struct charge before;
	long long least = 0, is;

	for (i = 0; i < count; i++)
		fds[i] = open_device(O_RDWR);
	before = charged();
	for (i = 0; i < count; i++) {
		must(fds[i], HASHBELT_IOC_CREATE, &settings);
		least += info_of(fds[i]).bytes;
	}
	is = charged_since(before).kernel;
	ok(is_within(is, least, 2 * least + count * 32768 + 4 * NOISE),
	   "the tables of belts with %u buckets are charged to the cgroup", buckets);
}

static bool has_table(void *arg)
{
	const __u64 *want = arg;

	return info_of(want[0]).table >= want[1];
}

/*
 * An index whose table has several parts, each in one piece or mapped. A put makes it when a shard
 * has three entries for each two chains of the table before, which may be freed meanwhile.
 */
static void test_index(void)
{
	enum { STEP = 16 * BATCH };
	__u64 want[] = { new_belt(HASHBELT_PINNED), 1ULL << INDEX_BITS };
	long long table = 8LL << INDEX_BITS;
	unsigned int number = 11u << (INDEX_BITS - 4);
	struct charge before;

	put_together(want[0], 0, number, 76);
	do {
		if (number > 2 * want[1])
			bail_out("the index does not grow to %llu chains", want[1]);
		before = charged();
		put_together(want[0], number, STEP, 76);
		number += STEP;
	} while (!has_table(want));
	ok(is_within(charged_since(before).kernel, table / 2, 3 * table / 2),
	   "an index of %llu chains is charged to the cgroup", want[1]);
}

int main(void)
{
	if (!enter_group()) {
		printf("1..0 # SKIP there is no cgroup of version 2 with memory here\n");
		return 0;
	}
	set_number("max_bytes", 1ULL << 40);
	set_number("user_max_bytes", 1ULL << 40);
	test_classes();
	test_pages(10928, false);
	test_pages(16384, false);
	test_pages(16385, true);
	test_pages(24000, true);
	test_pages(26000, false);
	test_pages(65536, false);
	test_pages(70000, true);
	test_pages(524288, false);
	test_pages(600000, true);
	test_pages(1048576, false);
	test_pages(1048577, true);
	test_pages(HASHBELT_VALUE_MAX + HEADER, true);
	test_levels(2);
	test_levels(64);
	test_levels(1024);
	test_levels(4096);
	test_levels(16384);
	test_levels(32768);
	test_levels(65536);
	test_index();
	return done_testing();
}
