// SPDX-License-Identifier: GPL-2.0-only
/*
 * charge_test - descriptors, bindings, and belts with their counters and windows are charged to
 * the memory cgroup of the task that makes them. Entries and tables: allocator_test.c.
 *
 * The test moves itself into a cgroup of version 2 and compares memory.stat before and
 * after it makes many objects of one kind. Lower bounds come from the sizes that the test
 * passes in. Upper bounds catch a second kind of memory in the same statistic. Needs the
 * superuser.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "process.h"

#define GROUP	"/sys/fs/cgroup/hashbelt-charge/"
#include "charge.h"
#include "window.h"

#define MANY	1000
#define BELTS	100
#define NOISE	(128 * 1024LL)	/* bytes that processors may hold back, and other objects */

static long long current(void)
{
	long long bytes = -1;
	FILE *file = fopen(GROUP "memory.current", "r");

	if (!file || fscanf(file, "%lld", &bytes) != 1)
		bail_out("memory.current: %s", strerror(errno));
	fclose(file);
	return bytes;
}

static void is_within(long long bytes, long long least, long long most, const char *what,
		      unsigned int size)
{
	ok(bytes >= least && bytes <= most, "%s of %u bytes: memory.stat grows by their size",
	   what, size);
	note("%lld bytes, expected %lld to %lld", bytes, least, most);
}

/* Closed at the end only: memory that is freed late would show in the next measurement. */
static int *fds;

static long long slab_of_open(const char *path)
{
	struct charge before;
	unsigned int i;

	fds = malloc(MANY * sizeof(*fds));
	before = charged();
	for (i = 0; i < MANY; i++) {
		fds[i] = open(path, O_RDWR | O_CLOEXEC);
		if (fds[i] < 0)
			bail_out("%s: %s", path, strerror(errno));
	}
	return charged_since(before).slab;
}

/*
 * The descriptors stay bound to the belt "default". A binding that a descriptor gives up is freed
 * after a grace period: its memory would be missing in what is measured next.
 */
static void test_descriptors(void)
{
	long long null, device, state;
	struct charge before;
	unsigned int i;

	null = slab_of_open("/dev/null");
	device = slab_of_open(HASHBELT_DEVICE);
	note("a descriptor: %lld bytes, one of /dev/null: %lld", device / MANY, null / MANY);
	ok(device - null >= (64LL + 128) * MANY,
	   "an open descriptor of the device and its binding to a belt are charged to the cgroup");
	/* Cancel looks for requests of the descriptor, and allocates its request state. */
	before = charged();
	for (i = 0; i < MANY; i++)
		if (call(fds[i], HASHBELT_IOC_CANCEL, &(__u64){ 1 }) != -ENOENT)
			bail_out("cancel of no request");
	state = charged_since(before).slab;
	note("the request state of a descriptor: %lld bytes", state / MANY);
	ok(state >= 48LL * MANY, "the request state of a descriptor is charged to the cgroup");
}

/* Buffers that a call allocates: none of them fits below the group's limit. */
static void test_buffers(void)
{
	static char space[HASHBELT_SCAN_MAX];
	struct hashbelt_scan scan = { .buffer = address(space), .size = sizeof(space) };
	struct hashbelt_locks locks = { .buffer = address(space), .size = sizeof(space) };
	int belt = new_belt(HASHBELT_PINNED);
	char limit[32];

	memset(space, 1, sizeof(space));
	snprintf(limit, sizeof(limit), "%lld", current() + HASHBELT_SCAN_MAX / 4);
	if (!write_line(GROUP "memory.max", limit))
		bail_out("memory.max");
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), ENOMEM,
		 "scan returns ENOMEM when its buffer exceeds the limit of the cgroup");
	is_errno(call(belt, HASHBELT_IOC_LOCKS, &locks), ENOMEM,
		 "locks returns ENOMEM when its buffer exceeds the limit of the cgroup");
	if (!write_line(GROUP "memory.max", "max"))
		bail_out("memory.max");
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), 0,
		 "scan returns 0 when the cgroup has room for its buffer");
}

/* Makes BELTS belts, each by its own user from @uid on or all by @uid; returns what they charge. */
static struct charge make_belts(uid_t uid, bool each)
{
	struct hashbelt_settings settings = { .ttl_ms = TTL, .mode = 0600 };
	struct charge before;
	unsigned int i;

	slab_of_open(HASHBELT_DEVICE);
	before = charged();
	for (i = 0; i < BELTS; i++) {
		if (seteuid(each ? uid + i : uid))
			bail_out("seteuid: %s", strerror(errno));
		must(fds[i], HASHBELT_IOC_CREATE, &settings);
		if (seteuid(0))
			bail_out("seteuid: %s", strerror(errno));
	}
	usleep(200000);	/* credentials are freed after a grace period */
	return charged_since(before);
}

/*
 * Bytes of percpu that an account charges, from BELTS users that no belt had before. The kernel
 * does not charge what it finds room for in its first chunk of percpu memory: the accounts of an
 * earlier round, which stay, have taken that room.
 */
static long long percpu_of_account(const struct charge *small, long least)
{
	long long bytes = 0;
	unsigned int round;

	for (round = 1; round <= 8 && bytes < least; round++)
		bytes = (make_belts(1000 + round * BELTS, true).percpu - small->percpu) /
			(BELTS - 1);
	note("%lld bytes of percpu for an account after round %u", bytes, round - 1);
	return bytes;
}

static void test_belts(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	long long stats = 8LL * HASHBELT_STAT_COUNT * cpus * BELTS;
	struct charge small;

	small = make_belts(1000, false);
	note("per belt: slab %lld, percpu %lld", small.slab / BELTS, small.percpu / BELTS);
	ok(small.percpu >= stats, "the counters of belts are charged to the cgroup as percpu");
	ok(percpu_of_account(&small, 8 * cpus) >= 8 * cpus,
	   "the two counters of each user's account are charged to the cgroup as percpu");
}

static bool is_uncharged(void *before)
{
	return charged_since(*(struct charge *)before).vmalloc < NOISE;
}

/* The pages of a window are charged once, to the task that makes the belt. */
static void test_window(void)
{
	struct charge before = charged(), made, mapped;
	struct mapping mapping;
	unsigned long at;
	int belt;

	belt = belt_of((struct hashbelt_settings){ .mode = 0600, .window_bytes = MIB });
	made = charged_since(before);
	is_within(made.vmalloc, MIB + PAGE, MIB + PAGE + 2 * NOISE, "the window of a belt", MIB);
	mapping = must_map(belt);
	for (at = 0; at < mapping.map.bytes; at += PAGE)
		(void)((volatile char *)mapping.shown)[at];
	mapped = charged_since(before);
	is_within(mapped.vmalloc - made.vmalloc, -NOISE, NOISE, "a mapping of the window", MIB);
	unmap(&mapping);
	close(belt);
	ok(at_last(is_uncharged, &before), "the window of a belt is uncharged with the belt");
}

int main(void)
{
	struct rlimit files = { 16 * MANY, 16 * MANY };

	if (!enter_group()) {
		printf("1..0 # SKIP there is no cgroup of version 2 with memory here\n");
		return 0;
	}
	if (setrlimit(RLIMIT_NOFILE, &files))
		bail_out("setrlimit: %s", strerror(errno));
	/* The table of descriptors grows now, not while something is measured. */
	if (dup2(0, 16 * MANY - 1) < 0)
		bail_out("dup2: %s", strerror(errno));
	set_number("user_max_belts", 4 * MANY);
	set_number("max_bytes", 1ULL << 40);
	set_number("user_max_bytes", 1ULL << 40);
	test_descriptors();
	test_belts();
	test_buffers();
	test_window();
	return done_testing();
}
