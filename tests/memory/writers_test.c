// SPDX-License-Identifier: GPL-2.0-only
/*
 * writers_test - writers of a belt that evicts share the quota of its owner.
 *
 * A put at the quota waits until the entries that it has evicted are freed. Meanwhile other
 * writers may take that memory, so a put may fail. This test bounds how often. Puts below the quota
 * evict as much as they add, so a single writer seldom comes to the quota: this test compares the
 * time that its puts take with that of puts into a belt with a limit of its own. Needs the
 * superuser.
 */
#define _GNU_SOURCE
#include <time.h>

#include "process.h"

#define WRITERS		16
#define PUTS		20000u	/* of all writers */
#define MOST		80u	/* of these puts that may fail */
#define QUOTA		MIB
#define HOUR_MS		3600000u

/* One writer */
#define ALONE_QUOTA	(16 * MIB)
#define ALONE_PUTS	100000u
#define VALUE		100u
#define SLOWER		4	/* most times that puts at the quota take as long as others */

/**
 * struct common - memory that the writers share
 * @belt:	the belt that they put into
 * @writers:	number of writers that have begun
 * @refused:	number of puts that failed with EDQUOT
 */
struct common {
	int belt;
	unsigned int writers;
	unsigned int refused;
};

static int put_on(void *arg)
{
	struct common *common = arg;
	unsigned int writer = __atomic_fetch_add(&common->writers, 1, __ATOMIC_RELAXED), i;
	__u32 len;
	int err;

	for (i = 0; i < PUTS / WRITERS; i++) {
		len = 16 + (i * 7919 + writer * 31) % 4000;
		err = put_zeros(common->belt, writer * PUTS + i, len, 0);
		if (err && err != -EDQUOT)
			return 1;
		__atomic_fetch_add(&common->refused, !!err, __ATOMIC_RELAXED);
	}
	return 0;
}

/* A descriptor with a belt that user 1000 owns. */
static int belt_of_user(struct hashbelt_settings settings)
{
	int belt = open_device(O_RDWR);

	if (seteuid(1000))
		bail_out("seteuid: %s", strerror(errno));
	must(belt, HASHBELT_IOC_CREATE, &settings);
	if (seteuid(0))
		bail_out("seteuid: %s", strerror(errno));
	return belt;
}

static __u64 now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

/* The time that puts of new keys take in a full belt, in microseconds. */
static __u64 time_puts(int belt, unsigned int *refused)
{
	unsigned int number;
	__u64 begin = 0;

	for (number = 0; number < 2 * ALONE_PUTS; number++) {
		if (number == ALONE_PUTS)
			begin = now_us();
		*refused += put_zeros(belt, number, VALUE, 0) != 0;
	}
	return now_us() - begin;
}

static void test_alone(void)
{
	struct hashbelt_settings settings = { .ttl_ms = HOUR_MS, .policy = HASHBELT_EVICT };
	__u64 limit = get_parameter("user_max_bytes"), at_quota, below;
	unsigned int refused = 0;
	int belt;

	set_number("user_max_bytes", ALONE_QUOTA);
	belt = belt_of_user(settings);
	at_quota = time_puts(belt, &refused);
	close(belt);
	set_number("user_max_bytes", limit);
	settings.max_bytes = ALONE_QUOTA - ALONE_QUOTA / 8;
	belt = belt_of_user(settings);
	below = time_puts(belt, &refused);
	close(belt);
	is_int(refused, 0, "one writer's puts at the quota of a belt that evicts return 0");
	ok(at_quota <= SLOWER * below,
	   "they take at most %u times as long as puts into a belt with a limit of its own",
	   SLOWER);
	note("%u puts take %llu us at the quota, %llu us at the limit of a belt", ALONE_PUTS,
	     at_quota, below);
}

static void test_quota(void)
{
	struct hashbelt_settings settings = { .ttl_ms = HOUR_MS, .policy = HASHBELT_EVICT };
	struct common *common = shared_memory(sizeof(*common));
	__u64 limit = get_parameter("user_max_bytes");
	pid_t writers[WRITERS];
	unsigned int i, failed = 0;

	set_number("user_max_bytes", QUOTA);
	common->belt = belt_of_user(settings);
	for (i = 0; i < WRITERS; i++)
		writers[i] = start(put_on, common);
	for (i = 0; i < WRITERS; i++)
		failed += finish(writers[i]) != 0;
	is_int(failed, 0, "puts at the quota of a belt that evicts return 0 or EDQUOT");
	ok(common->refused <= MOST,
	   "at most %u of %u puts of %u writers into a belt that evicts return EDQUOT", MOST, PUTS,
	   WRITERS);
	note("%u puts returned EDQUOT", common->refused);
	close(common->belt);
	set_number("user_max_bytes", limit);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_quota();
	test_alone();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
