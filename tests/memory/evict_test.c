// SPDX-License-Identifier: GPL-2.0-only
/*
 * evict_test - what the shrinker costs with many belts, and how long it delays other tasks.
 *
 * For a guest whose time is the number of instructions that it has executed: a nanosecond is one
 * instruction. Needs the superuser.
 *
 * Hostile user: makes 2000 belts; result: the shrinker takes 5700 instructions for an entry, and
 * delays another task by 1.1 ms.
 */
#include <sys/resource.h>
#include <time.h>

#include "process.h"

#define ENTRIES		10000u	/* of all belts */
#define BELTS		100u
#define MANY		2000u	/* belts of five entries, and of one */
#define HOUR_MS		3600000u

static int belts[MANY];

/* Deadlines of all belts are spread over the same time. */
static void make_belts(unsigned int n, unsigned int entries)
{
	unsigned int i, k;

	for (i = 0; i < n; i++) {
		belts[i] = belt_of((struct hashbelt_settings){ .ttl_ms = HOUR_MS });
		for (k = 0; k < entries; k++)
			put_zeros(belts[i], k, 16, 1000 + (k * 7919 + i * 104729) % 3000000);
	}
}

/* Closes all belts; returns the number of entries that the shrinker took from them. */
static unsigned int close_belts(unsigned int n)
{
	unsigned int i, taken = 0;

	for (i = 0; i < n; i++) {
		taken += counter(belts[i], HASHBELT_STAT_PRESSURE);
		close(belts[i]);
	}
	return taken;
}

static int drop_in_child(void *arg)
{
	(void)arg;
	drop_caches();
	return 0;
}

static void test_cost(unsigned int n, unsigned int most)
{
	__u64 began, cost;

	make_belts(n, ENTRIES / n);
	began = wall_ns();
	drop_caches();
	cost = (wall_ns() - began) / ENTRIES;
	is_int(close_belts(n), ENTRIES, "drop_caches takes all entries of %u belts", n);
	ok(cost <= most, "with %u belts the shrinker takes an entry in %u instructions", n, most);
	note("%llu instructions", cost);
}

/* The guest has one processor, which a task waits for while the shrinker runs. */
static void test_delay(void)
{
	__u64 began, worst = 0, took;
	pid_t child;

	make_belts(MANY, 1);
	child = start(drop_in_child, NULL);
	while (!waitpid(child, NULL, WNOHANG)) {
		began = wall_ns();
		usleep(1000);
		took = wall_ns() - began;
		worst = took > worst ? took : worst;
	}
	is_int(close_belts(MANY), MANY, "drop_caches takes the one entry of each of %u belts",
	       MANY);
	ok(worst <= 6000000,
	   "with %u belts the shrinker delays another task by 5 ms at most", MANY);
	note("a sleep of 1 ms took at most %llu us", worst / 1000);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes"), most = get_parameter("max_belts");
	struct rlimit files = { 2 * MANY, 2 * MANY };

	if (setrlimit(RLIMIT_NOFILE, &files))
		bail_out("setrlimit: %s", strerror(errno));
	set_number("max_belts", 2 * MANY);
	drop_caches();	/* what the kernel holds itself would be counted otherwise */
	test_cost(BELTS, 5000);
	test_cost(MANY, 8000);
	test_delay();
	set_number("max_belts", most);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
