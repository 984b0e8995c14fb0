// SPDX-License-Identifier: GPL-2.0-only
/*
 * add_test - additions (counters) are atomic.
 *
 * No addition is lost when many processes and threads add to one key. Sums, floors, deadlines, the
 * ends of the range, and values that are no numbers: tests/kunit/add_test.c and tests/conformance;
 * wrong arguments: service_test; items of batches: unwritable_test.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "request.h"

#define KEY	"counter"

/**
 * struct addition - the result of an ADD
 * @err:	0 or a negative errno
 * @sum:	the sum; the argument if the call failed
 * @ttl_ms:	time left of the entry
 * @version:	version of the entry
 */
struct addition {
	int err;
	__s64 sum;
	__u64 ttl_ms;
	__u64 version;
};

static struct addition add_item(int fd, struct hashbelt_item item, __s64 by, __s64 initial)
{
	struct hashbelt_sum sum = { .by = by, .value = initial };
	struct addition addition;

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	addition.err = call(fd, HASHBELT_IOC_ADD, &item);
	addition.sum = sum.value;
	addition.ttl_ms = item.ttl_ms;
	addition.version = item.version;
	return addition;
}

static struct addition add(int fd, const char *key, __s64 by, __s64 initial, __u64 ttl_ms)
{
	struct hashbelt_item item = item_of(key);

	item.ttl_ms = ttl_ms;
	return add_item(fd, item, by, initial);
}

/* Concurrent additions */

#define NAME		"counted"
#define ADDERS		4
#define ADDS		scaled(20000)

static int shared_fd;

/* Adds 1 again and again; each sum must be larger than the last. */
static int add_many(void *arg)
{
	int fd = arg ? open_named(NAME) : shared_fd;
	unsigned int i, wrong = 0;
	__s64 before = 0, now;

	for (i = 0; i < ADDS; i++) {
		now = add(fd, KEY, 1, 0, 0).sum;
		wrong += now <= before;
		before = now;
	}
	if (arg)
		close(fd);
	return wrong != 0;
}

static void *add_in_thread(void *arg)
{
	return (void *)(intptr_t)add_many(arg);
}

/* Adds and subtracts in batches of 64 items. */
static void *add_in_batches(void *arg)
{
	static const __s64 bys[] = { 5, -3, 1000000000000LL, -1000000000001LL };
	struct hashbelt_sum sums[64];
	struct hashbelt_item items[64];
	struct hashbelt_batch batch = { .items = address(items), .count = 64 };
	unsigned int i, k;
	intptr_t wrong = 0;

	for (i = 0; i < ADDS; i += 64) {
		for (k = 0; k < 64; k++) {
			sums[k] = (struct hashbelt_sum){ .by = bys[k % 4] };
			items[k] = item_of(KEY);
			items[k].op = HASHBELT_OP_ADD;
			items[k].value = address(&sums[k]);
			items[k].value_len = sizeof(sums[k]);
		}
		wrong += call(shared_fd, HASHBELT_IOC_BATCH, &batch) || batch.done != 64;
		for (k = 0; k < 64; k++)
			wrong += items[k].result != 0;
	}
	(void)arg;
	return (void *)wrong;
}

static void test_lost(void)
{
	pthread_t threads[ADDERS];
	pid_t children[ADDERS];
	unsigned int i, wrong = 0;
	void *result;

	shared_fd = named_belt(NAME, 0);
	for (i = 0; i < ADDERS; i++)
		children[i] = start(add_many, i % 2 ? &i : NULL);
	for (i = 0; i < ADDERS; i++)
		wrong += finish(children[i]);
	is_int(wrong, 0, "concurrent processes get growing sums when they add to one number");
	is_int(add(shared_fd, KEY, 0, 0, 0).sum, ADDERS * ADDS,
	       "no addition of concurrent processes is lost");
	wrong = 0;
	for (i = 0; i < ADDERS; i++)
		pthread_create(&threads[i], NULL, add_in_thread,
			       i % 2 ? &threads[i] : NULL);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(threads[i], &result);
		wrong += (intptr_t)result;
	}
	is_int(wrong, 0, "concurrent threads get growing sums when they add to one number");
	is_int(add(shared_fd, KEY, 0, 0, 0).sum, 2 * ADDERS * ADDS,
	       "no addition of concurrent threads is lost");
	wrong = 0;
	for (i = 0; i < ADDERS; i++)
		pthread_create(&threads[i], NULL, i % 2 ? add_in_batches : add_in_thread,
			       NULL);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(threads[i], &result);
		wrong += i % 2 ? (intptr_t)result : 0;
	}
	is_int(wrong, 0, "each item of batches that add beside single additions has the result 0");
	/* A batch of 64 adds the four steps 16 times; their sum is 1. */
	is_int(add(shared_fd, KEY, 0, 0, 0).sum,
	       2 * ADDERS * ADDS + ADDERS / 2 * ADDS + ADDERS / 2 * ((ADDS + 63) / 64) * 16,
	       "no addition of concurrent batches and single additions is lost");
	destroy_belt(shared_fd, NAME);
	close(shared_fd);
}

/* A thread removes the number again and again while others add to it. */

static __s64 removed_sum;
static bool over;

static void *remove_often(void *arg)
{
	struct hashbelt_item item;
	char text[32];

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		item = item_of(KEY);
		item.value = address(text);
		item.value_len = sizeof(text) - 1;
		if (call(shared_fd, HASHBELT_IOC_GET, &item))
			continue;
		text[item.value_len] = 0;
		/* IF_VERSION: the remove fails if the number changed after the get. */
		item.how = HASHBELT_IF_VERSION;
		item.value = 0;
		item.value_len = 0;
		if (!call(shared_fd, HASHBELT_IOC_REMOVE, &item))
			removed_sum += strtoll(text, NULL, 10);
	}
	return NULL;
}

static void test_removed(void)
{
	pthread_t threads[2], remover;
	unsigned int i;
	__s64 left;

	shared_fd = new_belt(0);
	pthread_create(&remover, NULL, remove_often, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add_in_batches, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(remover, NULL);
	left = add(shared_fd, KEY, 0, 0, 0).sum;
	is_int(removed_sum + left, 2 * ((ADDS + 63) / 64) * 16,
	       "no addition is lost when the number is removed and made anew meanwhile");
	close(shared_fd);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_lost();
	test_removed();
	ok(used_at_last(before),
	   "used_bytes of the module is what it was when all numbers are gone");
	return done_testing();
}
