// SPDX-License-Identifier: GPL-2.0-only
/*
 * share_test - a window keeps the keys that are read most often.
 *
 * The keys are read as often as Zipf's law says, by the same sequence in each run. Of the gets of a
 * belt whose window always had the most frequent keys, that window would answer an ideal share. A
 * window that took each key at its first get would answer less than LEAST of that.
 */
#include <stdio.h>
#include <string.h>

#include "cache/trace.h"
#include "cache/zipf.h"
#include "hashbelt/client.h"
#include "../device/tap.h"

#define KEYS		100000
#define WARM_UP		1000000
#define READS		200000
#define LEAST		0.9
#define KEY_LEN		16
#define VALUE_LEN	64

static const struct hashbelt_settings settings = {
	.ttl_ms = 24 * 3600 * 1000, .mode = 0600, .window_bytes = HASHBELT_WINDOW_DEFAULT,
};

static struct hashbelt *belt;
static unsigned int wrong;

void die(const char *what, const char *why)
{
	bail_out("%s: %s", what, why);
}

static void must(const char *what, int err)
{
	if (err)
		die(what, strerror(-err));
}

/* The value is the key, again and again. */
static void make_value(char value[VALUE_LEN + 1], uint32_t key)
{
	snprintf(value, VALUE_LEN + 1, "%016x%016x%016x%016x", key, key, key, key);
}

static void fill(void)
{
	char value[VALUE_LEN + 1];

	for (uint32_t key = 0; key < KEYS; key++) {
		make_value(value, key);
		must("hashbelt_put", hashbelt_put(belt, value, KEY_LEN, value, VALUE_LEN, NULL));
	}
}

/* Return: the share of these reads that made no system call. */
static double play(const struct zipf *zipf, uint64_t *seed, unsigned int reads)
{
	char expected[VALUE_LEN + 1], found[VALUE_LEN];
	struct hashbelt_window_counts before, after;

	hashbelt_window_stats(belt, &before);
	for (unsigned int i = 0; i < reads; i++) {
		make_value(expected, zipf_draw(zipf, seed));
		must("hashbelt_get", hashbelt_get(belt, expected, KEY_LEN, found, VALUE_LEN, NULL));
		wrong += !!memcmp(found, expected, VALUE_LEN);
	}
	hashbelt_window_stats(belt, &after);
	is_int(after.hits - before.hits + after.calls - before.calls, reads,
	       "each of %u gets is counted as a hit or as a call", reads);
	return (double)(after.hits - before.hits) / reads;
}

int main(void)
{
	unsigned int slots = HASHBELT_WINDOW_DEFAULT / sizeof(struct hashbelt_window_slot);
	struct zipf zipf = zipf_make(KEYS, 1.0);
	double ideal = zipf.sums[slots - 1] / zipf.sums[KEYS - 1], share;
	uint64_t seed = 1;

	must("hashbelt_open", hashbelt_open(NULL, &belt));
	must("hashbelt_create", hashbelt_create(belt, NULL, &settings));
	must("hashbelt_window_map", hashbelt_window_map(belt));
	fill();
	share = play(&zipf, &seed, WARM_UP);
	note("the first %u reads: the window answers %.4f", WARM_UP, share);
	share = play(&zipf, &seed, READS);
	note("the next %u: %.4f, %.4f of the %.4f that the %u most frequent keys would give", READS,
	     share, share / ideal, ideal, slots);
	ok(share >= LEAST * ideal,
	   "a window answers at least %.1f of the reads of its %u most frequent keys", LEAST,
	   slots);
	is_int(wrong, 0, "all reads return the value of their key");
	hashbelt_close(belt);
	zipf_free(&zipf);
	return done_testing();
}
