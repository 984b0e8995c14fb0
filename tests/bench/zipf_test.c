// SPDX-License-Identifier: GPL-2.0-only
/*
 * zipf_test - a full belt, and a window, keep the keys that are read most often.
 *
 * The keys are read as often as Zipf's law says, by the same sequence in each run. A simulation of
 * the belt's order of eviction, with one shard and exact deadlines, missed EXPECTED of the reads.
 * One of LRU missed 9843, and one of FIFO 10650.
 *
 * Of the gets of a belt whose window always had the most frequent keys, that window would answer an
 * ideal share. A window that took each key at its first get would answer less than LEAST of that.
 */
#include "hashbelt/client.h"
#include "tap.h"

#define KEYS		100000
#define KEY_LEN		16
#define VALUE_LEN	64
#define LARGE_LEN	1000

#define REQUESTS	20000
#define ENTRIES		1000
#define TTL_MS		10000
#define RATE		10		/* requests in a millisecond */
#define EXPECTED	8906
#define NEAR		0.01		/* part of all reads */

#define WARM_UP		1000000
#define READS		200000
#define LEAST		0.9

static struct hashbelt *belt;
static double sums[KEYS];		/* of the frequencies of the keys up to each */
static uint64_t state;

static void must(const char *what, int err)
{
	if (err)
		bail_out("%s: %s", what, strerror(-err));
}

/* From 0 up to 1: splitmix64 (Steele, Lea, Flood 2014). */
static double random_unit(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (double)((x ^ x >> 31) >> 11) / (1ull << 53);
}

/* The key that is read next, and a value of it: the key, again and again. */
static uint32_t draw(void)
{
	double at = random_unit() * sums[KEYS - 1];
	uint32_t low = 0, high = KEYS - 1, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (sums[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void make_value(char value[VALUE_LEN + 1], uint32_t key)
{
	snprintf(value, VALUE_LEN + 1, "%016x%016x%016x%016x", key, key, key, key);
}

static void begin(struct hashbelt_settings settings)
{
	state = 1;
	settings.mode = 0600;
	must("hashbelt_open", hashbelt_open(NULL, &belt));
	must("hashbelt_create", hashbelt_create(belt, NULL, &settings));
}

static void test_misses(void)
{
	static char key[VALUE_LEN + 1], large[LARGE_LEN];
	struct hashbelt_info info = { 0 };
	unsigned int i, misses = 0;
	double difference;
	int err;

	begin((struct hashbelt_settings){
		.ttl_ms = TTL_MS, .buckets = 500, .policy = HASHBELT_EVICT, .max_entries = ENTRIES,
	});
	must("hashbelt_halt", hashbelt_halt(belt));
	for (i = 0; i < REQUESTS; i++) {
		if (i && i % RATE == 0)
			must("hashbelt_advance", hashbelt_advance(belt, 1));
		make_value(key, draw());
		err = hashbelt_get(belt, key, KEY_LEN, large, sizeof(large), NULL);
		if (err != -ENOENT) {
			must("hashbelt_get", err);
			continue;
		}
		misses++;
		must("hashbelt_put", hashbelt_put(belt, key, KEY_LEN, large, sizeof(large), NULL));
	}
	must("hashbelt_info", hashbelt_info(belt, &info));
	is_int(info.entries, ENTRIES, "a belt that evicts is full at the end");
	difference = ((double)misses - EXPECTED) / REQUESTS;
	ok(difference < NEAR && difference > -NEAR,
	   "a belt that evicts misses as often as its order of eviction says, to within %.2f",
	   NEAR);
	note("%u of %u reads missed", misses, REQUESTS);
	hashbelt_close(belt);
}

/* Return: the share of these reads that made no system call. */
static double play(unsigned int reads, unsigned int *wrong)
{
	char expected[VALUE_LEN + 1], found[VALUE_LEN];
	struct hashbelt_window_counts before, after;

	hashbelt_window_stats(belt, &before);
	for (unsigned int i = 0; i < reads; i++) {
		make_value(expected, draw());
		must("hashbelt_get", hashbelt_get(belt, expected, KEY_LEN, found, VALUE_LEN, NULL));
		*wrong += !!memcmp(found, expected, VALUE_LEN);
	}
	hashbelt_window_stats(belt, &after);
	is_int(after.hits - before.hits + after.calls - before.calls, reads,
	       "each of %u gets is counted as a hit or as a call", reads);
	return (double)(after.hits - before.hits) / reads;
}

static void test_share(void)
{
	unsigned int slots = HASHBELT_WINDOW_DEFAULT / sizeof(struct hashbelt_window_slot);
	double ideal = sums[slots - 1] / sums[KEYS - 1], share;
	char value[VALUE_LEN + 1];
	unsigned int wrong = 0;

	begin((struct hashbelt_settings){
		.ttl_ms = 24 * 3600 * 1000, .window_bytes = HASHBELT_WINDOW_DEFAULT,
	});
	must("hashbelt_window_map", hashbelt_window_map(belt));
	for (uint32_t key = 0; key < KEYS; key++) {
		make_value(value, key);
		must("hashbelt_put", hashbelt_put(belt, value, KEY_LEN, value, VALUE_LEN, NULL));
	}
	share = play(WARM_UP, &wrong);
	note("the first %u reads: the window answers %.4f", WARM_UP, share);
	share = play(READS, &wrong);
	note("the next %u: %.4f, %.4f of the %.4f that the %u most frequent keys would give", READS,
	     share, share / ideal, ideal, slots);
	ok(share >= LEAST * ideal,
	   "a window answers at least %.1f of the reads of its %u most frequent keys", LEAST,
	   slots);
	is_int(wrong, 0, "all reads return the value of their key");
	hashbelt_close(belt);
}

int main(void)
{
	for (unsigned int i = 0; i < KEYS; i++)
		sums[i] = (i ? sums[i - 1] : 0) + 1.0 / (i + 1);
	test_misses();
	test_share();
	return done_testing();
}
