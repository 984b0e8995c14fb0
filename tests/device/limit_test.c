// SPDX-License-Identifier: GPL-2.0-only
/*
 * limit_test - calls that are stuck in page faults take no memory, and max_bytes may change.
 *
 * That the module never uses more than max_bytes: tests/kunit/memory_test.c and belt_test.c.
 *
 * Hostile user: stalls 1000 puts, 1000 gets and 200 reads of events in page faults; result: these
 * hold 0 of 61 MB and 0 of 200 events; of a destroyed belt, its structure.
 */
#include <sched.h>

#include "events.h"

/*
 * Puts, and tries again for 10 s or more while it returns ENOSPC: memory is freed after a
 * grace period, by a worker.
 */
static int put_at_last(int belt, unsigned int number, __u32 value_len)
{
	unsigned int tries;
	int err = -ENOSPC;

	for (tries = 0; err == -ENOSPC && tries < 10000; tries++) {
		err = put_zeros(belt, number, value_len, 0);
		usleep(1000);
	}
	return err;
}

/* Calls that wait for ever in a page fault */

#define STUCK		scaled_from(20, 1000)
#define STUCK_LEN	(15 * PAGE)
#define STUCK_LIMIT	131072	/* of the belt: room for two values */

struct stuck_call {
	int belt;
	unsigned int request;	/* HASHBELT_IOC_GET or HASHBELT_IOC_PUT */
};

static int get_stuck(void *arg)
{
	struct stuck_call *stuck = arg;
	unsigned int number = 0;
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number),
		.value = address(sticky_pages(STUCK_LEN)), .value_len = STUCK_LEN,
	};

	return call(stuck->belt, stuck->request, &item);
}

/*
 * Each get is stuck on an entry of its own, which the next put replaces. Each put is of the same
 * key; it is stuck before it comes to the entry.
 */
static void start_stuck_calls(int belt, unsigned int request, pid_t *children)
{
	struct stuck_call stuck = { .belt = belt, .request = request };
	unsigned int i;

	for (i = 0; i < STUCK; i++) {
		if (request == HASHBELT_IOC_GET && put_at_last(belt, 0, STUCK_LEN))
			bail_out("no put");
		children[i] = start(get_stuck, &stuck);
		await_sleep(children[i], __NR_ioctl);
	}
}

static void end_stuck_calls(pid_t *children)
{
	unsigned int i;

	for (i = 0; i < STUCK; i++)
		kill_and_wait(children[i]);
	free(children);
}

#define BATCH		20
#define BATCH_STUCK	3	/* the item that is stuck */
#define BATCH_LEN	64

struct stuck_batch {
	int belt;
	bool at_item;	/* stuck in a page fault of the item; else of its value */
};

/* All puts are of a key that is there. */
static int batch_stuck(void *arg)
{
	struct stuck_batch *stuck = arg;
	unsigned char *pages = fresh_pages(2 * PAGE), *sticky;
	struct hashbelt_item *items = (void *)(pages + PAGE);
	struct hashbelt_batch batch = { .count = BATCH };
	char value[BATCH_LEN] = "", *values = value;
	unsigned int ready = stuck->at_item ? BATCH_STUCK : BATCH;
	unsigned int number = 1, i;

	items -= ready;
	memset(pages, 0, PAGE);
	sticky = make_sticky(pages, 2 * PAGE);
	if (!sticky)
		return 1;
	for (i = 0; i < ready; i++) {
		if (i == BATCH_STUCK)
			values = (char *)sticky + PAGE;
		items[i] = (struct hashbelt_item){
			.op = HASHBELT_OP_PUT, .how = HASHBELT_IF_ABSENT,
			.key = address(&number), .key_len = sizeof(number),
			.value = address(values), .value_len = BATCH_LEN,
		};
	}
	batch.items = address(items);
	return call(stuck->belt, HASHBELT_IOC_BATCH, &batch);
}

static void test_stuck_batch(int belt, bool at_item)
{
	struct stuck_batch stuck = { .belt = belt, .at_item = at_item };
	__u64 used = get_parameter("used_bytes");
	pid_t child = start(batch_stuck, &stuck);

	await_sleep(child, __NR_ioctl);
	is_int(get_parameter("used_bytes") - used, 0,
	       "a batch of puts that is stuck in a page fault of %s takes no memory",
	       at_item ? "an item" : "a value");
	kill_and_wait(child);
}

static void test_stuck(void)
{
	int belt = belt_of((struct hashbelt_settings){ .max_bytes = STUCK_LIMIT, .mode = 0600 });
	__u64 used = get_parameter("used_bytes");
	pid_t *children = calloc(STUCK, sizeof(*children));

	if (!children || !sticky_pages(PAGE))
		bail_out("no memory, or this kernel has no userfaultfd");
	start_stuck_calls(belt, HASHBELT_IOC_PUT, children);
	is_int(get_parameter("used_bytes") - used, 0,
	       "%u puts that are stuck in a page fault of their values take no memory", STUCK);
	note("%u puts of %lu bytes into a belt of %u are stuck: they hold %llu bytes", STUCK,
	     STUCK_LEN, STUCK_LIMIT, get_parameter("used_bytes") - used);
	end_stuck_calls(children);
	children = calloc(STUCK, sizeof(*children));
	start_stuck_calls(belt, HASHBELT_IOC_GET, children);
	remove_number(belt, 0);
	ok(used_at_last(used),
	   "%u gets that are stuck in a page fault keep no entry that was replaced or removed",
	   STUCK);
	note("%u gets of such entries are stuck: they hold %llu bytes", STUCK,
	     get_parameter("used_bytes") - used);
	end_stuck_calls(children);
	is_errno(put_zeros(belt, 0, 140000, 0), ENOSPC,
		 "a value larger than max_bytes of the belt returns ENOSPC");
	if (put_zeros(belt, 1, BATCH_LEN, 0))
		bail_out("no put");
	test_stuck_batch(belt, true);
	test_stuck_batch(belt, false);
	close(belt);
}

int main(void)
{
	__u64 original = get_parameter("max_bytes");
	int belt;

	test_stuck();
	set_number("max_bytes", 4096);
	belt = open_device(O_RDWR);
	is_errno(put_zeros(belt, 0, 0, 0), ENOSPC,
		 "put returns ENOSPC where max_bytes was set below what is in use");
	set_number("max_bytes", original);
	is_errno(put_zeros(belt, 0, 0, 0), 0, "put succeeds again after max_bytes was raised");
	remove_number(belt, 0);
	close(belt);
	return done_testing();
}
