// SPDX-License-Identifier: GPL-2.0-only
/*
 * lockup_test - no operation on a large belt keeps other tasks off the processor.
 *
 *	lockup_test [ENTRIES]
 *
 * For a guest with one processor that counts instructions. The test switches the kernel's
 * soft lockup watchdog on, with its smallest threshold: it reports work that keeps other
 * tasks off the processor for two seconds. The guest's options (run.sh --shift) say how
 * many instructions these are; the load of the host does not matter. The cost of each
 * operation tested here grows with the belt.
 */
#include <sys/klog.h>
#include <time.h>

#include "lock.h"

#define BATCH		1000u
#define LOG_ALL		3		/* klogctl(2): read all messages */
#define HALF_HOUR	1800000ULL
#define LARGE_BUCKETS	1000u

static unsigned int entries = 100000;
static struct timespec began;
static unsigned int lockups_before;

/* The number of soft lockups in the kernel's log. */
static unsigned int lockups(void)
{
	static char log[4 * MIB];
	int len = klogctl(LOG_ALL, log, sizeof(log) - 1);
	unsigned int count = 0;
	char *at = log;

	if (len < 0)
		bail_out("klogctl: %s", strerror(errno));
	log[len] = 0;
	while ((at = strstr(at, "soft lockup"))) {
		count++;
		at++;
	}
	return count;
}

static void begin(void)
{
	clock_gettime(CLOCK_MONOTONIC, &began);
	lockups_before = lockups();
}

/* Checks that the watchdog has reported no soft lockup since begin(). */
static void check(const char *what)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	note("%s: %lld ms", what, (now.tv_sec - began.tv_sec) * 1000LL +
	     (now.tv_nsec - began.tv_nsec) / 1000000);
	ok(lockups() == lockups_before, "%s %u entries causes no soft lockup", what, entries);
}

/* A belt with all entries, which live for half an hour. */
static int full_belt(struct hashbelt_settings settings)
{
	int belt;

	settings.ttl_ms = HALF_HOUR;
	settings.buckets = 31;
	belt = belt_of(settings);
	put_numbers(belt, 0, entries, 0);
	return belt;
}

static bool is_empty(void *arg)
{
	return !info_of(*(int *)arg).bytes || !info_of(*(int *)arg).entries;
}

static bool index_fits(void *arg)
{
	struct hashbelt_info info = info_of(*(int *)arg);

	return info.table >= entries / 2;
}

static bool index_is_small(void *arg)
{
	return info_of(*(int *)arg).table <= 1024;
}

static void test_life(void)
{
	__u64 used = get_parameter("used_bytes");
	int belt;

	begin();
	belt = full_belt((struct hashbelt_settings){});
	at_last(index_fits, &belt);
	check("putting");
	begin();
	SET(belt, .fields = HASHBELT_SET_BUCKETS, .buckets = LARGE_BUCKETS);
	advance(belt, 0);
	check("changing the buckets of");
	begin();
	advance(belt, 2 * HALF_HOUR);
	check("the expiry of");
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), entries,
	       "advance beyond the deadline expires all %u entries", entries);
	begin();
	advance(belt, 0);
	at_last(index_is_small, &belt);
	used_at_last(used + MIB);
	check("shrinking the index after");
	close(belt);
}

static void test_clear(void)
{
	__u64 used = get_parameter("used_bytes");
	int belt = full_belt((struct hashbelt_settings){});

	begin();
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	at_last(is_empty, &belt);
	used_at_last(used + MIB);
	check("clearing");
	close(belt);
}

static void test_destroy(void)
{
	__u64 used = get_parameter("used_bytes");
	int belt = full_belt((struct hashbelt_settings){});

	begin();
	close(belt);
	used_at_last(used);
	check("destroying a belt of");
}

/* Many events are queued, many are lost, and many are freed with their belt. */
static void test_events(void)
{
	__u64 used = get_parameter("used_bytes");
	int belt = full_belt((struct hashbelt_settings){ .handler = HASHBELT_NOTIFY });

	begin();
	advance(belt, 2 * HALF_HOUR);
	check("reporting");
	is_int(info_of(belt).queued, entries,
	       "%u events are queued after as many expiries", entries);
	begin();
	SET(belt, .fields = HASHBELT_SET_MAX_EVENTS, .max_events = entries / 10);
	advance(belt, 0);
	check("dropping events of");
	begin();
	close(belt);
	used_at_last(used);
	check("destroying a belt with events of");
}

/* Eviction of many entries for one put, and the shrinker. */
static void test_room(void)
{
	struct hashbelt_settings limit = {
		.fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = entries / 10,
	};
	int belt = full_belt((struct hashbelt_settings){ .policy = HASHBELT_EVICT });
	__u64 used = get_parameter("used_bytes");

	begin();
	set_belt(belt, limit);
	put_zeros(belt, entries, 100, 0);
	check("evicting from");
	begin();
	if (!write_line("/proc/sys/vm/drop_caches", "2\n"))
		bail_out("drop_caches: %s", strerror(errno));
	check("drop_caches on a belt of");
	note("%llu entries are left", info_of(belt).entries);
	close(belt);
	used_at_last(used);
}

/* Many locks of one owner are released, and a descriptor with many bound locks is closed. */
static void test_bound(void)
{
	int belt = lock_belt(), bound = lock_belt();
	struct hashbelt_lock lock;
	char key[16];
	unsigned int i;

	for (i = 0; i < entries / 4; i++) {
		snprintf(key, sizeof(key), "%u", i);
		take(belt, key, "owner", 0);
		lock = lock_of(key, "owner");
		lock.how = HASHBELT_BOUND;
		must(bound, HASHBELT_IOC_LOCK, &lock);
	}
	begin();
	is_int(release(belt, "owner"), entries / 4, "RELEASE unlocks all locks of an owner");
	check("releasing locks, a quarter of");
	begin();
	close(bound);
	close(belt);
	check("closing a descriptor with a quarter of");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		entries = strtoul(argv[1], NULL, 10) / BATCH * BATCH;
	if (!write_line("/proc/sys/kernel/watchdog_thresh", "1\n") ||
	    !write_line("/proc/sys/kernel/soft_watchdog", "1\n"))
		bail_out("the kernel has no soft lockup watchdog: %s", strerror(errno));
	test_life();
	test_clear();
	test_destroy();
	test_events();
	test_room();
	test_bound();
	return done_testing();
}
