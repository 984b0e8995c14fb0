// SPDX-License-Identifier: GPL-2.0-only
/*
 * module_test - the module is loaded and removed: two hundred times, and while in use.
 *
 * Runs as the superuser in a guest, in a directory with hashbelt.ko. The guest's slab
 * caches must be checked (slub_debug=F): without checks the kernel counts the objects of
 * a processor's current slab as in use before they are allocated, up to a page of them.
 * The module is loaded when the test ends, as when it began.
 */
#include <dirent.h>

#include "events.h"
#include "lock.h"
#include "request.h"
#include "stock.h"

#define CYCLES	200
#define USERS	4
#define CLEAN	20	/* removals under load that have to succeed */
#define TRIES	100000	/* greatest number of attempts */

static int load(void)
{
	int fd = open("hashbelt.ko", O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		bail_out("hashbelt.ko: %s", strerror(errno));
	if (syscall(__NR_finit_module, fd, "", 0))
		err = -errno;
	close(fd);
	return err;
}

static int unload(void)
{
	return syscall(__NR_delete_module, "hashbelt", O_NONBLOCK) ? -errno : 0;
}

/* Return: true if the device, the parameters and the slab caches are gone. */
static bool is_absent(void)
{
	__u64 bytes;

	return access(HASHBELT_DEVICE, F_OK) && access("/sys/module/hashbelt", F_OK) &&
	       !slab_caches(&bytes);
}

/* Loading and removing */

/* Leaves a running belt with a name; some of its entries expire now, some later. */
static void leave_running(void)
{
	struct hashbelt_settings settings = {
		.name = "running", .ttl_ms = 10, .buckets = 11, .mode = 0600,
	};
	int fd = open_device(O_RDWR);
	unsigned int i;

	must(fd, HASHBELT_IOC_CREATE, &settings);
	for (i = 0; i < 100; i++)
		put_numbers(fd, i, 1, 1 + i / 4);
	put_numbers(fd, 100, 100, 3600000);
	close(fd);
}

/* Leaves a belt with events that are not read, a lock, and entries on all levels. */
static void leave_events(void)
{
	int fd = named_belt("events", REPORT_ALL);
	unsigned int i;

	SET(fd, .fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED);
	queue_events(fd, 50);
	for (i = 0; i < 40; i++)
		put_numbers(fd, i, 1, 1ULL << i);
	must_take(fd, "lock", "owner", TTL);
	close(fd);
}

/* Leaves a belt whose worker still has to sweep a clear and to move entries to a new wheel. */
static void leave_work(void)
{
	int fd = open_device(O_RDWR);

	must(fd, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){
		.name = "work", .ttl_ms = TTL, .mode = 0600 });
	put_numbers(fd, 0, 2000, 0);
	must(fd, HASHBELT_IOC_CLEAR, NULL);
	put_numbers(fd, 0, 1000, 0);
	SET(fd, .fields = HASHBELT_SET_BUCKETS, .buckets = 100);
	close(fd);
}

/* Leaves belts without a name and without a descriptor; the last one is just being freed. */
static void leave_nameless(void)
{
	int fd = new_belt(0);

	put_numbers(fd, 0, 1000, 0);
	must_ask(fd, 1, "key");
	close(fd);
	fd = open_device(O_RDWR);
	must(fd, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){
		.name = "destroyed", .ttl_ms = TTL, .mode = 0600 });
	put_numbers(fd, 0, 1000, 0);
	destroy_belt(fd, "destroyed");
	close(fd);
}

/* Prints a line: a guest that prints nothing for long is ended, and a busy machine is slow. */
static int come_and_go(unsigned int turn)
{
	int err = load();

	note("cycle %u", turn);
	if (err)
		return err;
	leave_running();
	if (turn % 2)
		leave_events();
	if (turn % 3)
		leave_work();
	leave_nameless();
	err = unload();
	return err ?: is_absent() ? 0 : -EEXIST;
}

/*
 * The "shrink" files of slab caches: writing to one frees the empty slabs of the cache. They
 * stay open, because opening a file leaves memory that is freed only seconds later.
 */
static int shrinkers[512];
static unsigned int shrinker_count;

static void open_shrinkers(void)
{
	DIR *directory = opendir("/sys/kernel/slab");
	struct dirent *entry;
	char path[512];
	int fd;

	/*
	 * Per-CPU lists of free pages do not count as free memory: keep them short. Until 5.13 the
	 * file had another name.
	 */
	if (!write_line("/proc/sys/vm/percpu_pagelist_high_fraction", "100000") &&
	    !write_line("/proc/sys/vm/percpu_pagelist_fraction", "100000"))
		bail_out("percpu_pagelist_high_fraction: %s", strerror(errno));
	while (directory && (entry = readdir(directory)) &&
	       shrinker_count < ARRAY_SIZE(shrinkers)) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			shrinkers[shrinker_count++] = fd;
	}
	if (!shrinker_count)
		bail_out("/sys/kernel/slab: %s", strerror(errno));
	closedir(directory);
}

/* Return: true if the kernel counts the objects in use of a slab cache exactly. */
static bool counts_exactly(void)
{
	FILE *file = fopen("/sys/kernel/slab/kmalloc-8/sanity_checks", "r");
	int checked = 0;

	if (file && fscanf(file, "%d", &checked) != 1)
		checked = 0;
	if (file)
		fclose(file);
	return checked;
}

static void shrink_caches(void)
{
	unsigned int i;

	if (!write_line("/proc/sys/vm/drop_caches", "3"))
		bail_out("drop_caches: %s", strerror(errno));
	for (i = 0; i < shrinker_count; i++)
		if (pwrite(shrinkers[i], "1", 1, 0) != 1)
			bail_out("shrink: %s", strerror(errno));
}

/**
 * struct stocks - memory that the kernel uses
 * @names:	names of the slab caches
 * @objects:	objects in use, by cache
 * @count:	number of caches
 * @available:	MemAvailable, bytes
 * @mapped:	VmallocUsed, bytes: modules and large tables
 * @percpu:	Percpu, bytes
 */
struct stocks {
	char names[512][32];
	unsigned long long objects[512];
	unsigned int count;
	__u64 available;
	__u64 mapped;
	__u64 percpu;
};

static struct stocks count_stocks(void)
{
	struct stocks stocks = {};
	FILE *file;
	char line[512];

	shrink_caches();
	file = fopen("/proc/slabinfo", "r");
	while (file && fgets(line, sizeof(line), file) &&
	       stocks.count < ARRAY_SIZE(stocks.names)) {
		if (sscanf(line, "%31s %llu", stocks.names[stocks.count],
			   &stocks.objects[stocks.count]) == 2)
			stocks.count++;
	}
	if (file)
		fclose(file);
	stocks.available = memory_number("MemAvailable:");
	stocks.mapped = memory_number("VmallocUsed:");
	stocks.percpu = memory_number("Percpu:");
	return stocks;
}

/* Counts the caches that grew by an object for each tenth cycle, or more; @tell: print them. */
static unsigned int grown_caches(const struct stocks *before, const struct stocks *after,
				 bool tell)
{
	unsigned int i, k, grown = 0;
	unsigned long long was;

	for (i = 0; i < after->count; i++) {
		for (k = 0; k < before->count; k++)
			if (!strcmp(before->names[k], after->names[i]))
				break;
		was = k < before->count ? before->objects[k] : 0;
		if (after->objects[i] < was + CYCLES / 10)
			continue;
		grown++;
		if (tell)
			note("%s: %llu objects, %llu before", after->names[i],
			     after->objects[i], was);
	}
	return grown;
}

/* Free memory varies by some megabytes in any case: a leak of 80 KiB in each cycle is found. */
static bool pages_are_back(const struct stocks *before, const struct stocks *after)
{
	return after->available + CYCLES * 20 * PAGE > before->available &&
	       after->mapped < before->mapped + CYCLES * PAGE &&
	       after->percpu < before->percpu + 16 * PAGE;
}

/* Waits, because the kernel frees some memory only seconds later. */
static void check_stocks(const struct stocks *before)
{
	static struct stocks after;
	unsigned int tries;

	for (tries = 0; tries < 40; tries++) {
		after = count_stocks();
		if (!grown_caches(before, &after, false) && pages_are_back(before, &after))
			break;
		usleep(250000);
	}
	is_int(grown_caches(before, &after, true), 0,
	       "no slab cache of the kernel grows in 200 loads and removals");
	ok(pages_are_back(before, &after),
	   "free, vmalloc and percpu memory return after 200 loads and removals");
	note("available %llu and then %llu, mapped %llu and %llu, percpu %llu and %llu",
	     before->available, after.available, before->mapped, after.mapped,
	     before->percpu, after.percpu);
}

static void test_cycles(void)
{
	static struct stocks before;
	unsigned int turn, good = 0;
	int err;

	if (!counts_exactly())
		bail_out("slab caches are not checked: boot with slub_debug=F");
	open_shrinkers();
	/* In the first cycles the kernel allocates memory that it keeps for later ones. */
	for (turn = 0; turn < CYCLES / 10; turn++)
		come_and_go(turn);
	before = count_stocks();
	for (turn = 0; turn < CYCLES; turn++) {
		err = come_and_go(turn);
		if (err)
			note("turn %u: %s", turn, error_name(err));
		good += !err;
	}
	is_int(good, CYCLES,
	       "200 times the module is loaded, used, and removed with belts in it");
	check_stocks(&before);
}

/* Removing the module while it is used */

/**
 * struct users - processes that use the module while it is loaded and removed; shared
 * @end:	tells the processes to end
 * @used:	number of times that each process used the module
 * @absent:	number of times that it found no module
 * @wrong:	number of wrong results
 */
struct users {
	bool end;
	unsigned long long used[USERS];
	unsigned long long absent[USERS];
	unsigned long long wrong[USERS];
};

static struct users *users;

static bool put_and_find(int fd)
{
	struct hashbelt_item item = text_item("key", "value");

	return !call(fd, HASHBELT_IOC_PUT, &item) && holds_text(fd, "key", "value");
}

/* A belt without a name, which is closed while its entries expire. */
static bool use_nameless(int fd)
{
	struct hashbelt_settings settings = { .ttl_ms = 1, .buckets = 2 };
	bool good;

	if (call(fd, HASHBELT_IOC_CREATE, &settings))
		return false;
	put_numbers(fd, 0, 200, 0);
	put_numbers(fd, 200, 200, TTL);
	good = info_of(fd).entries >= 200;
	return good;
}

/* A belt with a name, which stays; creates it unless it is there. */
static bool use_named(int fd)
{
	struct hashbelt_settings settings = {
		.name = "named", .ttl_ms = TTL, .mode = 0600, .handler = HASHBELT_NOTIFY,
	};
	int err = call(fd, HASHBELT_IOC_CREATE, &settings);

	if (err == -EEXIST)
		err = open_belt(fd, "named");
	return !err && put_and_find(fd) && !on_key(fd, HASHBELT_IOC_EXPIRE, "key");
}

/* An entry, a request and a lock that are bound to a descriptor. */
static bool use_bound(int fd)
{
	struct hashbelt_settings settings = { .ttl_ms = TTL, .policy = HASHBELT_PINNED };
	struct hashbelt_item item = text_item("key", "value");

	item.how = HASHBELT_BOUND;
	if (call(fd, HASHBELT_IOC_CREATE, &settings) || call(fd, HASHBELT_IOC_PUT, &item))
		return false;
	must_ask(fd, 1, "other");
	must_bind(fd, "lock", "owner", 0);
	return locks_held(fd) == 1 && is_there(fd, "key");
}

/* The default belt, and the parameters. */
static bool use_default(int fd)
{
	return get_parameter("used_bytes") > 0 && put_and_find(fd);
}

static bool (*const uses[USERS])(int fd) = {
	use_nameless, use_named, use_bound, use_default,
};

static int use_on(void *arg)
{
	unsigned int user = *(unsigned int *)arg, pause = user;
	int fd;

	while (!__atomic_load_n(&users->end, __ATOMIC_ACQUIRE)) {
		fd = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC);
		if (fd >= 0) {
			users->used[user]++;
			users->wrong[user] += !uses[user](fd);
			close(fd);
		} else {
			users->absent[user]++;
			users->wrong[user] += errno != ENOENT && errno != ENXIO &&
					      errno != ENODEV;
		}
		/* Pause, so that at some moments no process has the device open. */
		pause = pause * 1103515245 + 12345;
		usleep(pause / 65536 % 8192);
	}
	return 0;
}

/**
 * struct removals - results of attempts to remove the module
 * @clean:	successful removals, after which device, parameters and caches were gone
 * @refused:	attempts that failed with EWOULDBLOCK
 * @wrong:	any other results
 */
struct removals {
	unsigned int clean;
	unsigned int refused;
	unsigned int wrong;
};

static struct removals remove_it(void)
{
	struct removals removals = {};
	unsigned int tries;
	int err;

	for (tries = 0; tries < TRIES && removals.clean < CLEAN; tries++) {
		err = unload();
		if (err == -EWOULDBLOCK) {
			removals.refused++;
			/* Let the processes that use the module run. */
			usleep(tries % 1000);
		} else if (err) {
			note("removal: %s", error_name(err));
			removals.wrong++;
		} else {
			removals.clean += is_absent();
			removals.wrong += !is_absent() + !!load();
		}
	}
	return removals;
}

static void test_users(void)
{
	unsigned long long used = 0, absent = 0, wrong = 0;
	unsigned int user, bad = 0, idle = 0;
	struct removals removals;
	pid_t pids[USERS];

	for (user = 0; user < USERS; user++)
		pids[user] = start(use_on, &user);
	removals = remove_it();
	__atomic_store_n(&users->end, true, __ATOMIC_RELEASE);
	for (user = 0; user < USERS; user++) {
		bad += finish(pids[user]) != 0;
		idle += !users->used[user];
		used += users->used[user];
		absent += users->absent[user];
		wrong += users->wrong[user];
	}
	is_int(removals.clean, CLEAN,
	       "under load each of 20 removals takes device, parameters and caches away");
	ok(removals.refused > 0, "removal is refused while processes have the device open");
	is_int(removals.wrong, 0,
	       "each removal under load succeeds as a whole or returns EWOULDBLOCK");
	is_int(bad + idle, 0, "four processes use the module while it is loaded and removed");
	is_int(wrong, 0, "processes find the module right or absent while it is removed");
	note("%u removed, %u refused; used %llu times, and %llu times not there",
	     removals.clean, removals.refused, used, absent);
	is_errno(unload(), 0, "the module can be removed when its users have ended");
	ok(is_absent(), "device, parameters and slab caches are gone with the module");
}

/* An open descriptor keeps the module, whether it is bound to a belt or not. */
static void test_open(void)
{
	int fd = open_device(O_RDONLY), belt = new_belt(0);

	is_errno(unload(), EWOULDBLOCK,
		 "an open descriptor keeps the module from removal: EWOULDBLOCK");
	close(fd);
	is_errno(unload(), EWOULDBLOCK,
		 "a descriptor of a nameless belt keeps the module from removal");
	put_text(belt, "key", "value", 0);
	ok(holds_text(belt, "key", "value"), "put and get work after a removal was refused");
	close(belt);
}

int main(void)
{
	users = shared_memory(sizeof(*users));
	test_open();
	is_errno(unload(), 0, "the module can be removed when all descriptors are closed");
	test_cycles();
	if (load())
		bail_out("the module cannot be loaded");
	test_users();
	if (load())
		bail_out("the module cannot be loaded");
	return done_testing();
}
