// SPDX-License-Identifier: GPL-2.0-only
/*
 * cgroup_test - the memory of an entry is charged to the cgroup of the task that puts it.
 *
 * At the cgroup's limit a put into a belt of another cgroup fails with ENOMEM. No process is
 * killed, tasks outside of the cgroup can put, and the belt works. A belt that a task of the cgroup
 * has made gives up entries, so that the processes of the cgroup get memory. Needs the superuser.
 *
 *	cgroup_test [1]
 *
 * Uses a cgroup of version 1 with the argument 1, otherwise one of version 2.
 *
 * Hostile user: fills a container with a belt; result: no process is killed.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "process.h"

#define LIMIT		(8 * MIB)

/**
 * struct version - the files of a version of cgroups
 * @root:	mount point
 * @group:	directory of the test's cgroup
 * @limit:	file in it with the limit, bytes
 * @usage:	file with the charged memory, bytes
 * @events:	file with the number of killed processes, after "oom_kill"
 */
static const struct version {
	const char *root;
	const char *group;
	const char *limit;
	const char *usage;
	const char *events;
} versions[] = {
	{ "/tmp/cgroup1/", "/tmp/cgroup1/hashbelt-test/", "memory.limit_in_bytes",
	  "memory.usage_in_bytes", "memory.oom_control" },
	{ "/sys/fs/cgroup/", "/sys/fs/cgroup/hashbelt-test/", "memory.max",
	  "memory.current", "memory.events" },
}, *version = &versions[1];

static unsigned char value[MIB];

static bool set_file(const char *name, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s%s", version->group, name);
	return write_line(path, text);
}

/* The number in a file of the group, or after a word in that file. */
static long long group_number(const char *name, const char *word)
{
	char path[128], line[128];
	long long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", version->group, name);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (!word)
			number = strtoll(line, NULL, 10);
		else if (!strncmp(line, word, strlen(word)) && line[strlen(word)] == ' ')
			number = strtoll(line + strlen(word), NULL, 10);
	}
	if (file)
		fclose(file);
	return number;
}

static bool set_bytes(const char *name, unsigned long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", bytes);
	return set_file(name, text);
}

static bool make_group(void)
{
	return (!mkdir(version->group, 0755) || errno == EEXIST) &&
	       set_bytes(version->limit, LIMIT);
}

/* Selects a version of cgroups, and enables its memory controller. */
static bool choose_version(bool first)
{
	if (!first)
		return write_line("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	version = &versions[0];
	return !mkdir(version->root, 0755) &&
	       !mount("cgroup", version->root, "cgroup", 0, "memory");
}

static bool has_number(int belt, unsigned int number)
{
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number),
		.value = address(value), .value_len = sizeof(value),
	};

	return !call(belt, HASHBELT_IOC_GET, &item);
}

/**
 * struct putter - a process in the group that puts; shared
 * @belt:	the belt
 * @len:	length of the values
 * @most:	greatest number of puts
 * @count:	number of puts that succeeded
 * @err:	error of the put that failed
 * @again:	result of a put after half of the entries were removed
 */
struct putter {
	int belt;
	__u32 len;
	unsigned int most;
	unsigned int count;
	int err;
	int again;
};

/* True if the put succeeds: removed entries are freed after a grace period, by a worker. */
static bool puts_again(void *arg)
{
	struct putter *putter = arg;

	putter->again = put_zeros(putter->belt, 0, putter->len, HASHBELT_TTL_NEVER);
	return !putter->again;
}

static int put_in_group(void *arg)
{
	struct putter *putter = arg;
	unsigned int number = 0;
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number),
	};

	if (!set_file("cgroup.procs", "0"))
		return 1;
	while (putter->count < putter->most && !putter->err) {
		putter->err = put_zeros(putter->belt, putter->count, putter->len,
					HASHBELT_TTL_NEVER);
		putter->count += !putter->err;
	}
	/* Half of them: a page of small entries is charged as a whole. */
	for (; number < putter->count / 2; number++)
		call(putter->belt, HASHBELT_IOC_REMOVE, &item);
	at_last(puts_again, putter);
	return 0;
}

static bool group_is_small(void *arg)
{
	(void)arg;
	return group_number(version->usage, NULL) < (long long)LIMIT / 4;
}

static void test_limit(struct putter *putter, __u32 len, __u32 policy)
{
	struct hashbelt_settings settings = { .policy = policy };

	memset(putter, 0, sizeof(*putter));
	putter->len = len;
	putter->most = 4 * LIMIT / (len + 64);
	putter->belt = belt_of(settings);
	is_int(finish(start(put_in_group, putter)), 0,
	       "a process that puts %u-byte values in a full cgroup exits with 0", len);
	is_errno(putter->err, ENOMEM,
		 "put of a %u-byte value returns ENOMEM at the limit of the cgroup", len);
	ok(putter->count * (unsigned long long)len < LIMIT &&
	   putter->count * (unsigned long long)len > LIMIT / 3,
	   "puts of %u-byte values fill over a third of the cgroup's limit, not all", len);
	note("%u puts", putter->count);
	ok(!group_number(version->events, "oom_kill"),
	   "puts of %u-byte values at the limit of the cgroup kill no process", len);
	is_errno(putter->again, 0,
		 "put of a %u-byte value succeeds in a full cgroup after removes", len);
	ok(has_number(putter->belt, putter->count - 1) &&
	   !put_zeros(putter->belt, putter->most + 1, len, HASHBELT_TTL_NEVER) &&
	   has_number(putter->belt, putter->most + 1),
	   "get and put succeed outside of the full cgroup (%u-byte values)", len);
	close(putter->belt);
	ok(at_last(group_is_small, NULL),
	   "close of the belt gives the charge of %u-byte values back", len);
}

#define OTHERS	100
#define UNUSED_KEYS	1000000	/* larger than any number that a putter puts */

/* Evicting entries of other cgroups would not help a cgroup at its limit. */
static void test_others(struct putter *putter)
{
	unsigned int i, there = 0;

	memset(putter, 0, sizeof(*putter));
	putter->len = 65536;
	putter->most = 4 * LIMIT / putter->len;
	putter->belt = belt_of((struct hashbelt_settings){ .policy = HASHBELT_EVICT });
	for (i = 0; i < OTHERS; i++)
		put_zeros(putter->belt, UNUSED_KEYS + i, 100, 1 + i);
	is_int(finish(start(put_in_group, putter)), 0,
	       "a process that puts into an evicting belt in a full cgroup exits with 0");
	is_errno(putter->err, ENOMEM,
		 "put into an evicting belt returns ENOMEM at the limit of the cgroup");
	for (i = 0; i < OTHERS; i++)
		there += has_number(putter->belt, UNUSED_KEYS + i);
	is_int(there, OTHERS, "entries of other cgroups stay when one cgroup is at its limit");
	is_int(counter(putter->belt, HASHBELT_STAT_EVICTED), 0,
	       "the limit of a cgroup evicts no entry");
	close(putter->belt);
}

/* A put over an entry of another cgroup, with a value of the same length, takes no memory. */
static void test_overwriting(struct putter *putter)
{
	unsigned int i, missing = 0;

	memset(putter, 0, sizeof(*putter));
	putter->len = 100;
	putter->most = 2 * LIMIT / (putter->len + 64);
	putter->belt = belt_of((struct hashbelt_settings){ .policy = HASHBELT_PINNED });
	for (i = 0; i < putter->most; i++)
		missing += !!put_zeros(putter->belt, i, putter->len, HASHBELT_TTL_NEVER);
	is_int(missing, 0, "a process outside of the cgroup puts more than the cgroup may have");
	is_int(finish(start(put_in_group, putter)), 0,
	       "a process of the cgroup that puts over all of these entries exits with 0");
	is_int(putter->count, putter->most,
	       "puts over entries of another cgroup are not charged to the own one");
	close(putter->belt);
}

#define CONTAINER	(64 * MIB)	/* the limit of a cgroup whose belt fills it */
#define CACHED		(48 * MIB)	/* values in its belt */
#define TOUCHED		(40 * MIB)	/* other memory that its processes need then */
#define LOWERED		(32 * MIB)	/* a limit that is set while the belt has more */
#define ASKED		(8 * MIB)	/* what memory.reclaim is asked for */

/**
 * struct container - a process in a cgroup, with a belt of its own; shared
 * @press:	makes the kernel take memory back from the cgroup
 * @belt:	the belt
 * @pinned:	a pinned belt, of the same cgroup
 * @succeeded:	the result of @press
 * @usage:	memory of the cgroup afterwards, bytes
 */
struct container {
	bool (*press)(void);
	struct counts {
		unsigned long long entries;
		unsigned long long pressure;
	} belt, pinned;
	bool succeeded;
	long long usage;
};

static struct counts counts_of(int belt)
{
	return (struct counts){
		.entries = info_of(belt).entries,
		.pressure = counter(belt, HASHBELT_STAT_PRESSURE),
	};
}

/*
 * Without huge pages: one is charged as a whole, and takes a twelfth of what a container has for
 * entries.
 */
static int run_container(void *arg)
{
	struct container *container = arg;
	int belt, pinned;
	unsigned int i;

	if (!set_file("cgroup.procs", "0") || prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return 1;
	belt = belt_of((struct hashbelt_settings){ .policy = HASHBELT_EVICT });
	pinned = belt_of((struct hashbelt_settings){ .policy = HASHBELT_PINNED });
	for (i = 0; i < 100; i++)
		put_zeros(pinned, i, 1000, 60000);
	for (i = 0; i < CACHED / 1000; i++)
		put_zeros(belt, i, 1000, 60000 + i);
	container->succeeded = container->press();
	container->belt = counts_of(belt);
	container->pinned = counts_of(pinned);
	container->usage = group_number(version->usage, NULL);
	return 0;
}

/* Runs a container until its belt is full, and then presses. */
static void test_pressed(struct container *container, const char *name, bool (*press)(void))
{
	long long kills = group_number(version->events, "oom_kill");

	memset(container, 0, sizeof(*container));
	container->press = press;
	is_int(finish(start(run_container, container)), 0,
	       "%s: a process whose belt fills its cgroup exits with 0", name);
	is_int(group_number(version->events, "oom_kill") - kills, 0,
	       "%s: no process of the cgroup is killed", name);
	is_int(container->pinned.entries, 100, "%s: a pinned belt gives up no entry", name);
	note("%s: %llu entries given up, %llu left", name, container->belt.pressure,
	     container->belt.entries);
}

static bool do_nothing(void)
{
	return true;
}

/* Bytes of the cgroup's memory for each entry, with a share of all that a container has. */
static long long entry_bytes;

static void measure_entry(struct container *container)
{
	if (!set_bytes(version->limit, 4 * CONTAINER))
		bail_out("%s: %s", version->limit, strerror(errno));
	test_pressed(container, "no pressure", do_nothing);
	is_int(container->belt.entries, CACHED / 1000, "no pressure: the belt keeps all entries");
	entry_bytes = container->usage / container->belt.entries;
	note("%lld bytes for an entry", entry_bytes);
	ok(entry_bytes >= 1000 && entry_bytes <= 1500,
	   "the cgroup is charged with 1000 to 1500 bytes for an entry with a value of 1000");
}

/* @room: bytes of the cgroup's memory that are left for entries. */
static void keeps(struct container *container, const char *name, unsigned long room)
{
	unsigned long long most = room / entry_bytes;

	note("%s: that is %llu%% of %llu", name, container->belt.entries * 100 / most, most);
	ok(container->belt.entries >= most * 9 / 10,
	   "%s: the belt keeps 90%% of the entries for which the cgroup has memory", name);
}

static bool touch_all(void)
{
	return touch_pages(TOUCHED);
}

/* The other belt is of the test's own cgroup, and has the entries nearest their deadlines. */
static void test_limit_of_container(struct container *container)
{
	int other = belt_of((struct hashbelt_settings){ .policy = HASHBELT_EVICT });
	unsigned int i;

	for (i = 0; i < OTHERS; i++)
		put_zeros(other, i, 1000, 50000);
	test_pressed(container, "limit", touch_all);
	is_int(container->succeeded, 1, "a process gets %lu of %lu MiB although its belt has %lu",
	       TOUCHED / MIB, CONTAINER / MIB, CACHED / MIB);
	ok(container->belt.pressure >= CACHED / 1000 / 3,
	   "the belt gives up a third of its entries for the cgroup");
	keeps(container, "limit", CONTAINER - TOUCHED);
	is_int(info_of(other).entries, OTHERS, "a belt of another cgroup gives up none");
	close(other);
	ok(at_last(group_is_small, NULL), "close of the belts gives their charge back");
}

#define PROCESSES	2
#define PROCESS		(MIB / 4)	/* page tables, stacks, pages that are charged ahead */

static int touch_part(void *arg)
{
	char *memory = mmap(NULL, TOUCHED / PROCESSES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int *pipes = arg;
	size_t at;
	char byte;

	if (memory == MAP_FAILED)
		return 1;
	for (at = 0; at < TOUCHED / PROCESSES; at += PAGE)
		memory[at] = 1;
	/* Keeps the memory until all have theirs: then no process can write to the pipe. */
	close(pipes[1]);
	return read(pipes[0], &byte, 1) != 0;
}

/* Two processes of the cgroup need memory at once, and keep it until all have theirs. */
static bool touch_at_once(void)
{
	pid_t children[PROCESSES];
	bool good = true;
	int pipes[2];
	unsigned int i;

	if (pipe(pipes))
		return false;
	for (i = 0; i < PROCESSES; i++)
		children[i] = start(touch_part, pipes);
	close(pipes[0]);
	close(pipes[1]);
	for (i = 0; i < PROCESSES; i++)
		good &= !finish(children[i]);
	return good;
}

static bool lower_limit(void)
{
	return set_bytes(version->limit, LOWERED);
}

/* From 6.4 on the kernel says EAGAIN whatever it gets, and asks 17 times. */
static bool ask_to_reclaim(void)
{
	return set_bytes("memory.reclaim", ASKED) || errno == EAGAIN;
}

static void test_container(struct container *container)
{
	measure_entry(container);
	if (!set_bytes(version->limit, CONTAINER))
		bail_out("%s: %s", version->limit, strerror(errno));
	test_limit_of_container(container);
	test_pressed(container, "processes", touch_at_once);
	is_int(container->succeeded, 1, "%u processes at once get the memory that they need",
	       PROCESSES);
	keeps(container, "processes", CONTAINER - TOUCHED - PROCESSES * PROCESS);
	if (version == &versions[0])
		return;
	test_pressed(container, "lowered", lower_limit);
	is_int(container->succeeded, 1, "the limit of a cgroup can be lowered below its entries");
	keeps(container, "lowered", LOWERED);
	if (!set_file(version->limit, "max") || !set_bytes("memory.high", CONTAINER))
		bail_out("memory.high: %s", strerror(errno));
	test_pressed(container, "memory.high", touch_all);
	is_int(container->succeeded, 1,
	       "a process above memory.high gets the memory that it needs");
	keeps(container, "memory.high", CONTAINER - TOUCHED);
	if (!set_file("memory.high", "max"))
		bail_out("memory.high: %s", strerror(errno));
	/* Kernels before 5.19 do not have the file. */
	if (!set_file("memory.reclaim", "0") && errno == ENOENT)
		return;
	test_pressed(container, "memory.reclaim", ask_to_reclaim);
	is_int(container->succeeded, 1, "memory.reclaim takes a number of bytes");
	ok(container->belt.pressure * entry_bytes >= ASKED / 4 &&
	   container->belt.pressure * entry_bytes <= ASKED * 5 / 4,
	   "memory.reclaim: the belt gives up a quarter to five quarters of what is asked for");
}

int main(int argc, char **argv)
{
	bool first = argc > 1 && !strcmp(argv[1], "1");
	__u64 before = get_parameter("used_bytes");
	struct container *container = shared_memory(sizeof(*container));
	struct putter *putter = shared_memory(sizeof(*putter));

	if (!choose_version(first) || !make_group()) {
		printf("1..0 # SKIP there is no cgroup with memory here: %s\n",
		       strerror(errno));
		return 0;
	}
	test_limit(putter, 100, HASHBELT_PINNED);
	test_limit(putter, 3000, HASHBELT_PINNED);
	test_limit(putter, 65536, HASHBELT_PINNED);
	test_others(putter);
	test_overwriting(putter);
	test_container(container);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	ok(!rmdir(version->group), "the cgroup can be removed when its belts are gone");
	return done_testing();
}
