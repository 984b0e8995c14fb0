// SPDX-License-Identifier: GPL-2.0-only
/*
 * many_test - ten million entries are put, found, and expire.
 *
 *	many_test [ENTRIES]
 *
 * For a guest with 300 bytes of memory for each entry. Odd numbers expire after an hour and
 * even ones after two hours, so each expired entry has neighbours that stay.
 */
#include <time.h>

#include "process.h"
#include "stock.h"

#define HOUR		3600000ULL
#define BATCH		1000
#define ENTRIES		10000000u

/* Greatest memory of an entry of 80 bytes, with index, wheels and allocator, in bytes. */
#define MOST_BYTES	160

static unsigned int entries = ENTRIES;

/* A batch: keys of 16 bytes, values of 64 that hold their key's number. */
static struct hashbelt_item items[BATCH];
static struct { __u64 number, zero; } keys[BATCH];
static struct { __u64 number, zero[7]; } values[BATCH];

static unsigned int seconds(void)
{
	static time_t last;
	struct timespec now;
	unsigned int passed;

	clock_gettime(CLOCK_MONOTONIC, &now);
	passed = now.tv_sec - last;
	last = now.tv_sec;
	return passed;
}

/* Does the operation for @n numbers from @from on; returns how many succeeded. */
static unsigned int batch(int belt, __u32 op, unsigned int from, unsigned int n)
{
	struct hashbelt_batch batch = { .items = address(items), .count = n };
	unsigned int i, good = 0;

	for (i = 0; i < n; i++) {
		keys[i].number = from + i;
		values[i].number = op == HASHBELT_OP_PUT ? from + i : ~0ULL;
		items[i] = (struct hashbelt_item){
			.op = op, .key = address(&keys[i]), .key_len = sizeof(keys[i]),
			.value = address(&values[i]), .value_len = sizeof(values[i]),
			.ttl_ms = op == HASHBELT_OP_PUT ? HOUR * (2 - (from + i) % 2) : 0,
		};
	}
	must(belt, HASHBELT_IOC_BATCH, &batch);
	for (i = 0; i < n; i++)
		good += !items[i].result && items[i].value_len == sizeof(values[i]) &&
			values[i].number == from + i;
	return good;
}

static unsigned int all(int belt, __u32 op)
{
	unsigned int from, good = 0;

	for (from = 0; from < entries; from += BATCH)
		good += batch(belt, op, from, BATCH);
	return good;
}

static bool index_fits(void *arg)
{
	struct hashbelt_info info = info_of(*(int *)arg);

	return info.table >= entries / 2 && info.table <= 2 * entries;
}

static bool index_is_small(void *arg)
{
	return info_of(*(int *)arg).table <= 65536;
}

static bool memory_is_back(void *arg)
{
	const __u64 *before = arg;
	__u64 slabs;

	slab_caches(&slabs);
	return slabs < before[1] + MIB &&
	       available_bytes() + 64 * MIB > before[0];
}

static void test_fill(int belt)
{
	__u64 used = get_parameter("used_bytes"), bytes;

	is_int(all(belt, HASHBELT_OP_PUT), entries, "%u entries are put", entries);
	note("put in %u s", seconds());
	ok(info_of(belt).entries == entries &&
	   counter(belt, HASHBELT_STAT_PUTS_NEW) == entries,
	   "info and puts_new count as many entries as were put");
	ok(at_last(index_fits, &belt), "the index grows to one chain for half to two entries");
	bytes = (get_parameter("used_bytes") - used) / entries;
	ok(bytes <= MOST_BYTES, "an entry of 80 bytes takes %u bytes at most", MOST_BYTES);
	note("%llu bytes for each entry, and %llu chains", bytes, info_of(belt).table);
	seconds();
	is_int(all(belt, HASHBELT_OP_GET), entries,
	       "each of %u entries is found with its value", entries);
	note("found in %u s", seconds());
}

static void test_expire(int belt)
{
	unsigned int half = entries / 2;

	advance(belt, HOUR - 1);
	is_int(info_of(belt).entries, entries,
	       "all entries are there a millisecond before the first deadline");
	seconds();
	advance(belt, 1 + info_of(belt).interval_ns / 1000000);
	note("half of them expired in %u s", seconds());
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), half,
	       "half of the entries has expired an interval after the first deadline");
	is_int(info_of(belt).entries, half, "expired entries do not count as entries");
	is_int(all(belt, HASHBELT_OP_GET), half, "each entry with the second deadline is found");
	note("found in %u s", seconds());
	advance(belt, HOUR + info_of(belt).interval_ns / 1000000);
	note("the others expired in %u s", seconds());
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), entries,
	       "all entries have expired an interval after the second deadline");
	is_int(info_of(belt).entries, 0, "info counts no entry once all have expired");
	is_int(batch(belt, HASHBELT_OP_GET, entries - BATCH, BATCH), 0,
	       "get finds none of the last 1000 entries once all have expired");
	ok(at_last(index_is_small, &belt),
	   "the index shrinks to 65536 chains once all entries have expired");
}

int main(int argc, char **argv)
{
	__u64 used = get_parameter("used_bytes"), limit = get_parameter("max_bytes");
	__u64 before[2] = { available_bytes() };
	int belt;

	if (argc > 1)
		entries = strtoul(argv[1], NULL, 10) / (2 * BATCH) * (2 * BATCH);
	slab_caches(&before[1]);
	set_number("max_bytes", 1ULL << 40);
	seconds();
	belt = belt_of((struct hashbelt_settings){ .ttl_ms = HOUR, .buckets = 61 });
	test_fill(belt);
	test_expire(belt);
	close(belt);
	ok(used_at_last(used), "used_bytes returns to what it was before the test");
	ok(at_last(memory_is_back, before),
	   "MemAvailable and slabs return to what they were before the entries");
	note("given back in %u s: %llu MiB available before, %llu after", seconds(),
	     before[0] >> 20, available_bytes() >> 20);
	set_number("max_bytes", limit);
	return done_testing();
}
