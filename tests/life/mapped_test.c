// SPDX-License-Identifier: GPL-2.0-only
/*
 * mapped_test - the end of a window with many mappings delays no mapping of another user's window.
 *
 *	mapped_test [MAPPINGS]
 *
 * For a guest whose time is the number of instructions that it has executed, with one processor.
 * Alice maps a window many times and destroys its belt. Meanwhile Bob maps and unmaps Bob's window.
 *
 * Hostile user: ends a window that is mapped 40,000 times; result: another user maps one within 7
 * ms.
 */
#include <sys/fsuid.h>

#include "process.h"
#include "window.h"

#define ALICE		1000
#define BOB		1001

#define MAPPINGS	40000u

/*
 * The processor is Alice's for a slice of 3 ms, which the scheduler (CFS) ends at a tick, each 4
 * ms: for less than 7 ms. Threads of the kernel have slices, too.
 */
#define MOST_LATE_MS	12
#define TIMES_LONGER	3	/* DESTROY has to take so many times that, or it shows nothing */

static unsigned int mappings = MAPPINGS;

/* A named belt with a window, of user @uid. */
static int window_of(uid_t uid, const char *name)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = 0600, .window_bytes = HASHBELT_WINDOW_MIN,
	};
	int belt = open_device(O_RDWR);

	snprintf(settings.name, sizeof(settings.name), "%s", name);
	setfsuid(uid);
	must(belt, HASHBELT_IOC_CREATE, &settings);
	setfsuid(0);
	return belt;
}

/**
 * struct end - the end of Alice's belt; shared
 * @is_mapped:	all mappings are there
 * @took_ns:	the time that DESTROY took; 0: it has not returned
 */
struct end {
	bool is_mapped;
	__u64 took_ns;
};

/* Maps the window again and again: a descriptor may, once it has mapped another belt's. */
static void map_often(int belt)
{
	int other = window_of(ALICE, "other");
	struct mapping second;
	unsigned int i;

	for (i = 0; i < mappings; i++) {
		if (open_belt(belt, "alice"))
			bail_out("alice's belt cannot be opened");
		/* A page that is not in the mapping would not have to leave it. */
		if (must_map(belt).shown->state == HASHBELT_WINDOW_DEAD)
			bail_out("the window has ended");
		if (open_belt(belt, "other"))
			bail_out("the other belt cannot be opened");
		second = must_map(belt);
		unmap(&second);
	}
	close(other);
}

static int end_belt(void *arg)
{
	struct end *end = arg;
	int belt = open_device(O_RDWR);
	__u64 before;

	map_often(belt);
	__atomic_store_n(&end->is_mapped, true, __ATOMIC_RELEASE);
	before = wall_ns();
	if (destroy_belt(belt, "alice"))
		return 1;
	__atomic_store_n(&end->took_ns, wall_ns() - before, __ATOMIC_RELEASE);
	return 0;
}

static bool is_mapped(void *arg)
{
	struct end *end = arg;

	return __atomic_load_n(&end->is_mapped, __ATOMIC_ACQUIRE);
}

/* Maps and unmaps the window until Alice's belt has ended. Return: the longest time, ns. */
static __u64 map_until(int belt, struct end *end, unsigned int *count)
{
	struct mapping mapping;
	__u64 before, took, longest = 0;

	for (*count = 0; !__atomic_load_n(&end->took_ns, __ATOMIC_ACQUIRE); (*count)++) {
		before = wall_ns();
		mapping = must_map(belt);
		if (mapping.shown->state)
			bail_out("Bob's window has ended");
		unmap(&mapping);
		took = wall_ns() - before;
		if (took > longest)
			longest = took;
	}
	return longest;
}

int main(int argc, char **argv)
{
	struct end *end = shared_memory(sizeof(*end));
	int alices = window_of(ALICE, "alice"), bobs = window_of(BOB, "bob");
	unsigned int count;
	__u64 longest;
	pid_t child;

	if (argc > 1)
		mappings = strtoul(argv[1], NULL, 10);
	child = start(end_belt, end);
	if (!at_last(is_mapped, end))
		bail_out("there are no %u mappings", mappings);
	longest = map_until(bobs, end, &count);
	is_int(finish(child), 0, "a belt whose window has %u mappings is destroyed", mappings);
	note("figure: DESTROY takes %llu us; each of %u mappings of another window %llu us at most",
	     end->took_ns / 1000, count, longest / 1000);
	ok(end->took_ns > TIMES_LONGER * MOST_LATE_MS * 1000000ULL,
	   "DESTROY of a belt whose window has %u mappings takes its time", mappings);
	ok(longest <= MOST_LATE_MS * 1000000ULL,
	   "meanwhile another user maps and unmaps a window within %u ms", MOST_LATE_MS);
	destroy_belt(bobs, "bob");
	close(bobs);
	close(alices);
	return done_testing();
}
