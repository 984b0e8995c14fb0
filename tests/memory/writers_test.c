// SPDX-License-Identifier: GPL-2.0-only
/*
 * writers_test - writers of a belt that evicts share the quota of its owner.
 *
 * A put at the quota waits until the entries that it has evicted are freed. Meanwhile other
 * writers may take that memory, so a put may fail. This test bounds how often. Needs the superuser.
 */
#define _GNU_SOURCE
#include "process.h"

#define TESTS	3

#define WRITERS		16
#define PUTS		20000u	/* of all writers */
#define MOST		80u	/* of these puts that may fail */
#define QUOTA		MIB
#define HOUR_MS		3600000u

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

static void test_quota(void)
{
	struct hashbelt_settings settings = { .ttl_ms = HOUR_MS, .policy = HASHBELT_EVICT };
	struct common *common = shared_memory(sizeof(*common));
	__u64 limit = get_parameter("user_max_bytes");
	pid_t writers[WRITERS];
	unsigned int i, failed = 0;

	set_number("user_max_bytes", QUOTA);
	common->belt = open_device(O_RDWR);
	if (seteuid(1000))
		bail_out("seteuid: %s", strerror(errno));
	must(common->belt, HASHBELT_IOC_CREATE, &settings);
	if (seteuid(0))
		bail_out("seteuid: %s", strerror(errno));
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

	plan(TESTS);
	test_quota();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
