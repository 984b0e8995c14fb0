// SPDX-License-Identifier: GPL-2.0-only
/*
 * grow_test - batches of gets while the index grows and shrinks.
 *
 * Threads get the same keys again and again, in batches of several runs, while other keys come and
 * go. Each get finds its value, and no later get of a batch finds an older one.
 */
#include <pthread.h>

#include "device.h"

#define KEYS	48u	/* three runs of gets */
#define MANY	12000u	/* keys that make the index grow to 1 << 13 chains */
#define ROUNDS	scaled_from(2, 24)
#define GETTERS	2

static int belt;
static bool over;
static unsigned int wrong;	/* gets that did not find their value; atomic */
static unsigned int back;	/* gets that found an older value than one before; atomic */
static unsigned int batches;	/* atomic */

static struct { __u64 number, zero; } keys[KEYS];

static void count(unsigned int *counter, unsigned int by)
{
	__atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static bool going(void)
{
	return !__atomic_load_n(&over, __ATOMIC_RELAXED);
}

/* A value is the key and the number of its put. */
struct value {
	__u64 key;
	__u64 put;
};

static struct hashbelt_item item_for(unsigned int key, __u32 op, struct value *value)
{
	return (struct hashbelt_item){
		.key = address(&keys[key]), .key_len = sizeof(keys[key]), .op = op,
		.value = address(value), .value_len = sizeof(*value),
	};
}

static void run(struct hashbelt_item *items)
{
	struct hashbelt_batch batch = { .items = address(items), .count = KEYS };

	must(belt, HASHBELT_IOC_BATCH, &batch);
	if (batch.done != KEYS)
		bail_out("a batch was not done");
}

/* Puts all keys in a batch, in their order. */
static void put_all(__u64 put)
{
	struct hashbelt_item items[KEYS];
	struct value values[KEYS];
	unsigned int i;

	for (i = 0; i < KEYS; i++) {
		values[i] = (struct value){ i, put };
		items[i] = item_for(i, HASHBELT_OP_PUT, &values[i]);
	}
	run(items);
}

/* Gets all keys, in the reverse order: a key is found with no older value than one put after it. */
static void *get_all(void *arg)
{
	struct hashbelt_item items[KEYS];
	struct value values[KEYS];
	unsigned int i, bad, older;

	(void)arg;
	while (going()) {
		memset(values, 0, sizeof(values));
		for (i = 0; i < KEYS; i++)
			items[i] = item_for(KEYS - 1 - i, HASHBELT_OP_GET, &values[i]);
		run(items);
		bad = 0;
		older = 0;
		for (i = 0; i < KEYS; i++) {
			bad += items[i].result || values[i].key != KEYS - 1 - i ||
			       items[i].value_len != sizeof(*values);
			older += i && values[i].put < values[i - 1].put;
		}
		count(&wrong, bad);
		count(&back, older);
		count(&batches, 1);
	}
	return NULL;
}

static void *put_again(void *arg)
{
	__u64 put = 1;

	(void)arg;
	while (going())
		put_all(++put);
	return NULL;
}

/* The worker resizes the index, some time after puts and removes make it too small or too large. */
static bool has_grown(void *before)
{
	return info_of(belt).table > *(__u64 *)before;
}

static bool has_shrunk(void *before)
{
	return info_of(belt).table < *(__u64 *)before;
}

int main(void)
{
	pthread_t threads[GETTERS + 1];
	unsigned int grown = 0, shrunk = 0, i;
	__u64 table;

	belt = new_belt(0);
	for (i = 0; i < KEYS; i++)
		keys[i].number = 1ULL << 40 | i;
	put_all(1);
	table = info_of(belt).table;
	for (i = 0; i <= GETTERS; i++)
		if (pthread_create(&threads[i], NULL, i ? get_all : put_again, NULL))
			bail_out("pthread_create");
	for (i = 0; i < ROUNDS; i++) {
		put_numbers(belt, 0, MANY, 0);
		grown += at_last(has_grown, &table);
		table = info_of(belt).table;
		remove_numbers(belt, 0, MANY);
		shrunk += at_last(has_shrunk, &table);
		table = info_of(belt).table;
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i <= GETTERS; i++)
		pthread_join(threads[i], NULL);
	is_int(wrong, 0, "each get of a batch finds its value while the index grows and shrinks");
	is_int(back, 0, "gets of a batch find no older value than gets before them meanwhile");
	is_int(grown, ROUNDS, "each round of puts makes the index grow beside batches of gets");
	is_int(shrunk, ROUNDS,
	       "each round of removes makes the index shrink beside batches of gets");
	ok(batches, "batches of gets have run meanwhile");
	close(belt);
	return done_testing();
}
