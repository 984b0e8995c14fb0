// SPDX-License-Identifier: GPL-2.0-only
/*
 * belts_test - a hundred thousand belts are created, used and destroyed.
 *
 *	belts_test [BELTS]
 *
 * Half of the belts have names, the others a descriptor each. Creating, using and
 * destroying the last belts costs at most 1.1 times what it costs for the first. For a
 * guest whose time is the number of instructions that it has executed. Needs the
 * superuser.
 */
#include <sys/resource.h>
#include <time.h>

#include "process.h"
#include "stock.h"

#define BELTS		100000u
#define CHUNK		500u		/* belts whose cost is measured together */
/*
 * Chunks at each end, of which the cheapest counts: in the others the worker that frees destroyed
 * belts has taken the processor.
 */
#define CHUNKS		40u

/* 256 ms: the longest interval is 60 ms, and an entry expires at most 100 ms after it. */
#define LATE_BITS	8

/* Greatest ratio of costs: with more belts the tree of names is some levels deeper. */
#define GROWTH		1.1

static unsigned int belts = BELTS;
static int *descriptors;		/* of belts without a name */
static int named;			/* bound to one named belt after the other */

/* Belts with even numbers have a name, those with bad numbers a descriptor. */
static int descriptor_of(unsigned int number)
{
	char name[HASHBELT_NAME_SIZE];
	int err;

	if (number % 2)
		return descriptors[number / 2];
	snprintf(name, sizeof(name), "belt-%u", number);
	err = open_belt(named, name);
	if (err)
		bail_out("open of %s: %s", name, error_name(err));
	return named;
}

static int make_belt(unsigned int number)
{
	struct hashbelt_settings settings = {
		.ttl_ms = 60, .mode = 0600, .buckets = 2 + number % 60,
	};
	int fd = named;

	if (number % 2) {
		fd = open_device(O_RDWR);
		descriptors[number / 2] = fd;
	} else {
		snprintf(settings.name, sizeof(settings.name), "belt-%u", number);
	}
	return call(fd, HASHBELT_IOC_CREATE, &settings);
}

static void key_of(char key[16], unsigned int number)
{
	snprintf(key, 16, "key-%u", number);
}

/* Puts an entry that never expires and one of 1 ms, so that each belt's worker runs. */
static bool make_and_put(unsigned int number)
{
	char key[16];
	int fd;

	if (make_belt(number))
		return false;
	fd = number % 2 ? descriptors[number / 2] : named;
	key_of(key, number);
	put_text(fd, key, key, HASHBELT_TTL_NEVER);
	put_text(fd, "short", "value", 1);
	return true;
}

static bool is_one(void *arg)
{
	return info_of(*(int *)arg).entries == 1;
}

static bool find(unsigned int number)
{
	int fd = descriptor_of(number);
	char key[16];

	key_of(key, number);
	return holds_text(fd, key, key) && at_last(is_one, &fd) &&
	       counter(fd, HASHBELT_STAT_EXPIRED) == 1 && !later_than(fd, LATE_BITS);
}

static bool end(unsigned int number)
{
	char name[HASHBELT_NAME_SIZE];

	if (number % 2)
		return !close(descriptors[number / 2]);
	snprintf(name, sizeof(name), "belt-%u", number);
	return !destroy_belt(named, name);
}

/**
 * struct cost - the cost of an operation on a belt
 * @first:	nanoseconds for one of the first belts
 * @last:	nanoseconds for one of the last belts
 */
struct cost {
	__u64 first;
	__u64 last;
};

/* Calls @act for all belts; returns the number of successful calls. */
static unsigned int all(bool (*act)(unsigned int number), struct cost *cost)
{
	unsigned int number, chunk, good = 0;
	__u64 began = 0, took;

	*cost = (struct cost){ ~0ULL, ~0ULL };
	for (number = 0; number < belts; number++) {
		chunk = number / CHUNK;
		if (number % CHUNK == 0)
			began = wall_ns();
		good += act(number);
		if (number % CHUNK < CHUNK - 1)
			continue;
		took = (wall_ns() - began) / CHUNK;
		if (chunk < CHUNKS && took < cost->first)
			cost->first = took;
		if (chunk + CHUNKS >= belts / CHUNK && took < cost->last)
			cost->last = took;
	}
	return good;
}

/* max_belts is reached. */
static void test_limit(void)
{
	struct hashbelt_settings settings = { .ttl_ms = 60, .mode = 0600 };
	int fd = open_device(O_RDWR);

	is_errno(call(fd, HASHBELT_IOC_CREATE, &settings), ENOSPC,
		 "create of one belt beyond max_belts returns ENOSPC");
	close(fd);
}

static unsigned int count_names(void)
{
	struct hashbelt_info info = {};
	unsigned int count = 0;

	while (!call(named, HASHBELT_IOC_NEXT, &info))
		count++;
	return count;
}

static bool memory_is_back(void *arg)
{
	const __u64 *before = arg;

	return available_bytes() + 64 * MIB > *before;
}

/*
 * A work item of the kernel frees per-CPU memory, at some later time: that may take longer
 * than one wait.
 */
static bool memory_is_back_at_last(__u64 before)
{
	unsigned int tries;

	for (tries = 0; tries < 6; tries++)
		if (at_last(memory_is_back, &before))
			return true;
	return false;
}

static void check_cost(const struct cost *cost, const char *what)
{
	ok(cost->last <= cost->first * GROWTH,
	   "the last belts cost at most 1.1 times the first %s", what);
	note("%llu ns, and %llu ns", cost->first, cost->last);
}

static void test_make(__u64 used)
{
	struct cost cost;

	is_int(all(make_and_put, &cost), belts,
	       "%u belts are created, with two entries each", belts);
	check_cost(&cost, "to create");
	note("%llu bytes each", (get_parameter("used_bytes") - used) / belts);
	test_limit();
	is_int(count_names(), belts / 2 + 1, "next lists all belts that have names");
}

static void test_use(void)
{
	struct cost cost;

	is_int(all(find, &cost), belts,
	       "each of %u belts has one entry, and has expired the other in time", belts);
	is_int(all(find, &cost), belts, "a second look finds one entry in each of %u belts", belts);
	check_cost(&cost, "to use");
}

static void test_end(void)
{
	struct cost cost;

	is_int(all(end, &cost), belts, "each of %u belts can be destroyed or closed", belts);
	check_cost(&cost, "to destroy");
	is_int(count_names(), 1, "next lists the default belt alone once all are destroyed");
}

int main(int argc, char **argv)
{
	__u64 used = get_parameter("used_bytes"), limit = get_parameter("max_bytes");
	__u64 most = get_parameter("max_belts"), before;
	struct rlimit files;

	if (argc > 1)
		belts = strtoul(argv[1], NULL, 10) / CHUNK * CHUNK;
	files.rlim_cur = belts;
	files.rlim_max = belts;
	if (setrlimit(RLIMIT_NOFILE, &files))
		bail_out("setrlimit: %s", strerror(errno));
	descriptors = calloc(belts / 2, sizeof(*descriptors));
	named = open_device(O_RDWR);
	before = available_bytes();
	set_number("max_bytes", 1ULL << 40);
	/* One more for the default belt. */
	set_number("max_belts", belts + 1);
	test_make(used);
	test_use();
	test_end();
	set_number("max_belts", most);
	close(named);
	ok(used_at_last(used), "used_bytes returns to what it was before the test");
	ok(memory_is_back_at_last(before),
	   "MemAvailable returns to within 64 MiB once all belts are destroyed");
	note("%llu MiB available before, %llu after", before >> 20, available_bytes() >> 20);
	set_number("max_bytes", limit);
	return done_testing();
}
