// SPDX-License-Identifier: GPL-2.0-only
/*
 * shrink_test - belts are created and destroyed while the shrinker walks the list of belts.
 *
 * Three processes create, fill and destroy a fixed number of belts each. A fourth process
 * calls the shrinkers without a pause until the others end. Needs the superuser.
 *
 *	shrink_test [BELTS]
 */
#include "process.h"

#define MAKERS	3
#define ENTRIES	40

/**
 * struct common - memory that the processes share
 * @belts:	number of belts that each maker makes
 * @made:	number of belts that all makers made
 * @pressed:	number of entries that the shrinker took from belts
 * @asked:	number of calls of the shrinkers
 * @stop:	tells the process that calls the shrinkers to end
 */
struct common {
	unsigned int belts;
	unsigned int made;
	unsigned long long pressed;
	unsigned int asked;
	bool stop;
};

static int make_belts(void *arg)
{
	static const __u32 policies[] = { 0, HASHBELT_EVICT, HASHBELT_PINNED };
	struct common *common = arg;
	unsigned int i, k;

	for (i = 0; i < common->belts; i++) {
		int belt = belt_of((struct hashbelt_settings){
			.policy = policies[i % ARRAY_SIZE(policies)],
			.max_entries = i % 2 ? ENTRIES / 2 : 0,
		});

		for (k = 0; k < ENTRIES; k++)
			put_zeros(belt, k, 100, 1 + k);
		__atomic_add_fetch(&common->pressed, counter(belt, HASHBELT_STAT_PRESSURE),
				   __ATOMIC_RELAXED);
		close(belt);
		__atomic_add_fetch(&common->made, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static int ask(void *arg)
{
	struct common *common = arg;

	while (!__atomic_load_n(&common->stop, __ATOMIC_RELAXED)) {
		if (!write_line("/proc/sys/vm/drop_caches", "2"))
			return 1;
		__atomic_add_fetch(&common->asked, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

int main(int argc, char **argv)
{
	__u64 before = get_parameter("used_bytes");
	struct common *common = shared_memory(sizeof(*common));
	pid_t makers[MAKERS], asker;
	unsigned int i, failed = 0;

	common->belts = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	asker = start(ask, common);
	for (i = 0; i < MAKERS; i++)
		makers[i] = start(make_belts, common);
	for (i = 0; i < MAKERS; i++)
		failed += finish(makers[i]) != 0;
	__atomic_store_n(&common->stop, true, __ATOMIC_RELAXED);
	is_int(finish(asker), 0, "a process that writes drop_caches all the time exits with 0");
	is_int(failed, 0, "processes that create and close belts under the shrinker exit with 0");
	is_int(common->made, MAKERS * common->belts,
	       "all belts are created and closed under the shrinker");
	ok(common->pressed, "the shrinker takes entries from belts that are created and closed");
	note("%u calls of the shrinkers took %llu entries", common->asked, common->pressed);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
