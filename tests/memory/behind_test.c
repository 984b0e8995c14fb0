// SPDX-License-Identifier: GPL-2.0-only
/*
 * behind_test - memory pressure finds the belt that has entries behind any number of belts from
 * which there is nothing to take: under pressure on the whole machine, in a cgroup at its limit,
 * and for belts of each node of memory. Needs the superuser.
 *
 * Hostile user: makes 1000 empty or pinned belts; result: memory pressure takes all entries of a
 * belt behind them.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "process.h"

#define MANY		1000u
#define ENTRIES		1000u
#define GROUP		"/sys/fs/cgroup/hashbelt-behind/"
#define FREE		(32 * MIB)	/* what the cgroup may have beside the other belts */
#define CACHED		(24 * MIB)	/* values in its belt */
#define TOUCHED		(20 * MIB)	/* other memory that a process of the cgroup needs then */

static const unsigned int numbers[] = { 63, 64, 65, MANY };

static int others[MANY];

static int empty_belt(void)
{
	return new_belt(0);
}

static int pinned_belt(void)
{
	int belt = new_belt(HASHBELT_PINNED);

	put_zeros(belt, 0, 16, 0);
	return belt;
}

/* The memory of the entry is in limbo. */
static int emptied_belt(void)
{
	int belt = new_belt(0);

	put_zeros(belt, 0, 16, 0);
	remove_number(belt, 0);
	return belt;
}

static int cleared_belt(void)
{
	int belt = new_belt(0);

	put_zeros(belt, 0, 16, 0);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	return belt;
}

/* It gives up its entry, as the belt behind it gives up its own. */
static int small_belt(void)
{
	int belt = new_belt(0);

	put_zeros(belt, 0, 16, 0);
	return belt;
}

static const struct kind {
	const char *name;
	int (*make)(void);
} kinds[] = {
	{ "empty", empty_belt }, { "pinned", pinned_belt }, { "emptied", emptied_belt },
	{ "cleared", cleared_belt }, { "small", small_belt },
};

/* Belts number @from to @to. */
static void make_others(const struct kind *kind, unsigned int from, unsigned int to)
{
	unsigned int i;

	for (i = from; i < to; i++)
		others[i] = kind->make();
}

static void close_others(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		close(others[i]);
}

static int full_belt(unsigned int entries)
{
	int belt = new_belt(0);
	unsigned int i;

	for (i = 0; i < entries; i++)
		put_zeros(belt, i, 100, HASHBELT_TTL_NEVER);
	return belt;
}

static void test_behind(const struct kind *kind, unsigned int n)
{
	int belt;

	make_others(kind, 0, n);
	belt = full_belt(ENTRIES);
	drop_caches();
	is_int(info_of(belt).entries, 0,
	       "drop_caches takes all entries of a belt behind %u %s belts", n, kind->name);
	close(belt);
	close_others(n);
}

/* Cgroups */

static unsigned long long group_number(const char *path)
{
	unsigned long long number = 0;
	FILE *file = fopen(path, "r");

	if (!file || fscanf(file, "%llu", &number) != 1)
		bail_out("%s: %s", path, strerror(errno));
	fclose(file);
	return number;
}

/* A task of the cgroup: the other belts, a belt that fills the cgroup, and other memory. */
static int fill_group(void *arg)
{
	char text[32];
	unsigned int i;
	int belt;

	if (!write_line(GROUP "cgroup.procs", "0"))
		return 1;
	make_others(&kinds[0], 0, *(unsigned int *)arg);
	snprintf(text, sizeof(text), "%llu", group_number(GROUP "memory.current") + FREE);
	if (!write_line(GROUP "memory.max", text))
		return 2;
	belt = new_belt(HASHBELT_EVICT);
	for (i = 0; i < CACHED / 1000; i++)
		if (put_zeros(belt, i, 1000, 60000 + i))
			return 3;
	return touch_pages(TOUCHED) ? 0 : 4;
}

static void test_group(unsigned int n)
{
	if (mkdir(GROUP, 0755))
		bail_out("%s: %s", GROUP, strerror(errno));
	is_int(finish(start(fill_group, &n)), 0,
	       "a process whose belt fills its cgroup behind %u empty belts gets memory", n);
	ok(!rmdir(GROUP), "the cgroup with %u belts can be removed when its process has ended", n);
}

/* Nodes of memory */

/* Moves this task to the processors of a node. False: there is no such node. */
static bool move_to_node(unsigned int node)
{
	unsigned int first, last;
	cpu_set_t cpus;
	char path[64];
	FILE *file;
	int fields;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
	file = fopen(path, "r");
	if (!file)
		return false;
	fields = fscanf(file, "%u-%u", &first, &last);
	fclose(file);
	if (fields < 1)
		return false;
	CPU_ZERO(&cpus);
	for (last = fields > 1 ? last : first; first <= last; first++)
		CPU_SET(first, &cpus);
	return !sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* The suite "machines" has two nodes of memory. */
static bool has_nodes(void)
{
	return !access("/sys/devices/system/node/node1/cpulist", R_OK);
}

/* Belts of both nodes stand before the one that is full. */
static void test_nodes(void)
{
	unsigned int node;
	int belt;

	for (node = 0; node < 2; node++) {
		move_to_node(1);
		make_others(&kinds[0], 0, MANY / 2);
		move_to_node(0);
		make_others(&kinds[0], MANY / 2, MANY);
		move_to_node(node);
		belt = full_belt(ENTRIES);
		drop_caches();
		is_int(info_of(belt).entries, 0,
		       "drop_caches takes all entries of a belt of node %u behind belts of both",
		       node);
		close(belt);
		close_others(MANY);
	}
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");
	struct rlimit files = { 2 * MANY, 2 * MANY };
	unsigned int kind, i;

	if (setrlimit(RLIMIT_NOFILE, &files))
		bail_out("setrlimit: %s", strerror(errno));
	drop_caches();
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		for (i = 0; i < ARRAY_SIZE(numbers); i++)
			test_behind(&kinds[kind], numbers[i]);
	if (!write_line("/sys/fs/cgroup/cgroup.subtree_control", "+memory"))
		bail_out("cgroup.subtree_control: %s", strerror(errno));
	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		test_group(numbers[i]);
	if (has_nodes())
		test_nodes();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
