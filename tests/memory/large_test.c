// SPDX-License-Identifier: GPL-2.0-only
/*
 * large_test - a large put into a full belt that evicts, beside tasks that put small values.
 *
 * A put reserves the room that it makes, so the other tasks cannot take all of it. This test bounds
 * how many entries a large put evicts. It counts them with the trace point hashbelt_evict, for its
 * own process alone: the other tasks evict entries as well. Needs the superuser and tracefs.
 *
 * Hostile user: fills an evicting belt while another task puts 1 MiB; result: the put evicts 1.02
 * times its size, beside two writers.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <sys/mount.h>

#include "process.h"

#define TRACING		"/sys/kernel/tracing"
#define LIMIT		(8 * MIB)
#define SMALL		100u
#define WRITERS		2u
#define PUTS		20u	/* large ones */
#define TIMES		2u	/* the size of a large put that it evicts at most */
#define LARGE_KEY	0xffffffffu
#define HOUR_MS		3600000u

/**
 * struct common - memory that the processes share
 * @belt:	the belt that they put into
 * @small:	the charge of a small entry
 * @large:	the charge of a large one
 * @writers:	number of writers that have begun
 * @watched:	the large puts may begin
 * @done:	large puts that succeeded
 * @full:	large puts that returned ENOSPC
 * @most:	entries that one large put evicted
 */
struct common {
	int belt;
	__u64 small;
	__u64 large;
	unsigned int writers;
	bool watched;
	unsigned int done;
	unsigned int full;
	__u64 most;
};

/* Entries that may be evicted by large puts. */
static __u64 allowed(const struct common *common, unsigned int puts)
{
	return puts * (TIMES * common->large / common->small + 1);
}

static int put_small(void *arg)
{
	struct common *common = arg;
	unsigned int number = __atomic_fetch_add(&common->writers, 1, __ATOMIC_RELAXED) << 28;
	int err;

	do {
		err = put_zeros(common->belt, number++, SMALL, 0);
	} while (!err);
	return 1;
}

/* A counter of the evictions by @process. */
static int count_evictions(pid_t process)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .sample_period = 1,
	};
	FILE *file;
	int fd;

	file = fopen(TRACING "/events/hashbelt/hashbelt_evict/id", "re");
	if (!file || fscanf(file, "%llu", &attr.config) != 1)
		bail_out("hashbelt_evict: no trace point");
	fclose(file);
	fd = syscall(SYS_perf_event_open, &attr, process, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		bail_out("perf_event_open: %s", strerror(errno));
	return fd;
}

static __u64 count_of(int counter)
{
	__u64 count;

	if (read(counter, &count, sizeof(count)) != sizeof(count))
		bail_out("read: %s", strerror(errno));
	return count;
}

static bool is_watched(void *arg)
{
	const struct common *common = arg;

	return __atomic_load_n(&common->watched, __ATOMIC_ACQUIRE);
}

static bool is_full(void *arg)
{
	const struct common *common = arg;

	return info_of(common->belt).used_bytes + common->small > LIMIT;
}

static int put_large(void *arg)
{
	struct common *common = arg;
	int evictions = count_evictions(0), err;
	__u64 before, evicted;
	unsigned int i;

	for (i = 0; i < PUTS; i++) {
		if (!at_last(is_watched, common) || !at_last(is_full, common))
			return 1;
		before = count_of(evictions);
		err = put_zeros(common->belt, LARGE_KEY, HASHBELT_VALUE_MAX, 0);
		evicted = count_of(evictions) - before;
		if (err && err != -ENOSPC)
			return 2;
		common->done += !err;
		common->full += !!err;
		if (evicted > common->most)
			common->most = evicted;
		/*
		 * Or the next one would evict this one, and nothing else. The writers may have
		 * evicted it.
		 */
		remove_number(common->belt, LARGE_KEY);
	}
	return 0;
}

/* A large put that evicts without end is killed. */
static int watch(struct common *common, pid_t putter)
{
	int evictions = count_evictions(putter), status;

	__atomic_store_n(&common->watched, true, __ATOMIC_RELEASE);
	while (!waitpid(putter, &status, WNOHANG)) {
		if (count_of(evictions) > allowed(common, PUTS))
			kill(putter, SIGKILL);
		usleep(1000);
	}
	close(evictions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

/* The charge of an entry. */
static __u64 cost_of(__u32 len)
{
	int belt = belt_of((struct hashbelt_settings){ .ttl_ms = HOUR_MS });
	__u64 cost;

	put_zeros(belt, 0, len, 0);
	cost = info_of(belt).used_bytes;
	close(belt);
	return cost;
}

static void test_large(void)
{
	struct common *common = shared_memory(sizeof(*common));
	pid_t writers[WRITERS];
	unsigned int i;

	common->small = cost_of(SMALL);
	common->large = cost_of(HASHBELT_VALUE_MAX);
	common->belt = belt_of((struct hashbelt_settings){
		.ttl_ms = HOUR_MS, .policy = HASHBELT_EVICT, .max_bytes = LIMIT });
	for (i = 0; i < WRITERS; i++)
		writers[i] = start(put_small, common);
	is_int(watch(common, start(put_large, common)), 0,
	       "%u puts of %u bytes beside %u writers end, with 0 or ENOSPC", PUTS,
	       HASHBELT_VALUE_MAX, WRITERS);
	for (i = 0; i < WRITERS; i++)
		kill_and_wait(writers[i]);
	ok(common->done && common->most <= allowed(common, 1),
	   "a large put beside writers evicts at most %u times its size", TIMES);
	note("%u succeeded, %u returned ENOSPC; one evicted %llu bytes or less for %llu",
	     common->done, common->full, common->most * common->small, common->large);
	close(common->belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	if (access(TRACING "/events", F_OK) && mount("tracefs", TRACING, "tracefs", 0, NULL))
		bail_out("tracefs: %s", strerror(errno));
	test_large();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
