// SPDX-License-Identifier: GPL-2.0-only
/*
 * limit_test - the module never uses more memory than max_bytes.
 *
 * Puts return ENOSPC before the limit is exceeded, for values of all sizes, and the entries
 * that are there stay. Memory of entries that are removed makes room again.
 *
 * Hostile user: stalls 1000 puts, 1000 gets and 200 reads of events in page faults; result: these
 * hold 0 of 61 MB and 0 of 200 events; of a destroyed belt, its structure.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "events.h"

#define LIMIT		(8 * MIB)

static __u64 limit = LIMIT;	/* of the module, in bytes */

static void set_limit(__u64 bytes)
{
	limit = bytes;
	set_number("max_bytes", limit);
}

/* Puts from key @number on until a put fails; counts in @bad how often the limit was exceeded. */
static int fill(int belt, __u32 value_len, unsigned int *number, unsigned int *bad)
{
	int err;

	while (!(err = put_zeros(belt, *number, value_len, 0))) {
		if (*number % (100 / scaled(100)) == 0 && info_of(belt).bytes > limit)
			++*bad;
		if (++*number > 1000000)
			break;
	}
	return err;
}

/*
 * Puts until the belt is full; returns the number of puts. Memory that was freed before,
 * also that of a replaced index table, may still become available, so the belt is full once
 * 100 tries in a row fail.
 */
static unsigned int fill_up(int belt, __u32 value_len, unsigned int *bad)
{
	unsigned int number = 0, before, quiet = 0;

	while (quiet < 100) {
		before = number;
		if (fill(belt, value_len, &number, bad) != -ENOSPC) {
			++*bad;
			break;
		}
		quiet = number == before ? quiet + 1 : 0;
		usleep(1000);
	}
	return number;
}

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

/* Makes a belt with room for entries, as soon as the memory of the belt before it is freed. */
static int belt_at_last(void)
{
	struct hashbelt_settings create = { .ttl_ms = TTL, .mode = 0600 };
	int belt = open_device(O_RDWR), err;
	unsigned int tries = 0;

	do {
		err = call(belt, HASHBELT_IOC_CREATE, &create);
		if (err && (++tries == 10000 || (err != -ENOSPC && err != -ENOMEM)))
			bail_out("create: %s", error_name(err));
		if (err)
			usleep(1000);
	} while (err);
	must(belt, HASHBELT_IOC_HALT, NULL);
	if (put_at_last(belt, 0, limit / 8) || remove_number(belt, 0))
		bail_out("no room in a new belt");
	return belt;
}

/* @least: the number of values for which there must be room in @room bytes */
static void test_size(__u32 value_len, unsigned int least, __u64 room)
{
	unsigned int bad = 0, count, number, wrong = 0;
	__u64 bytes;
	int belt;

	set_limit(room);
	belt = belt_at_last();
	count = fill_up(belt, value_len, &bad);
	ok(!bad && count >= least,
	   "%u-byte values: puts succeed until ENOSPC, and max_bytes holds", value_len);
	bytes = info_of(belt).bytes;
	note("%u went in, %llu bytes", count, bytes);
	is_int(info_of(belt).entries, count,
	       "%u-byte values: all entries stay when max_bytes is reached", value_len);
	is_errno(put_zeros(belt, count, value_len, 0), ENOSPC,
		 "%u-byte values: put of a new key returns ENOSPC at max_bytes", value_len);
	is_errno(put_zeros(belt, 0, value_len, 0), ENOSPC,
		 "%u-byte values: put over an entry returns ENOSPC at max_bytes", value_len);
	is_int(info_of(belt).bytes, bytes,
	       "%u-byte values: a refused put takes no memory", value_len);
	is_errno(remove_number(belt, 0), 0,
		 "%u-byte values: remove succeeds at max_bytes", value_len);
	is_errno(put_zeros(belt, count, value_len, 0), 0,
		 "%u-byte values: a remove makes room for a put at once", value_len);
	for (number = 1; number <= count; number++)
		wrong += remove_number(belt, number) != 0;
	ok(!wrong && !info_of(belt).entries,
	   "%u-byte values: all entries of a full belt can be removed", value_len);
	number = fill_up(belt, value_len, &bad);
	ok(number >= count - 1 - count / 100,
	   "%u-byte values: 99 of 100 entries go in again after removes", value_len);
	note("%u then, %u now", count, number);
	close(belt);
}

/* The memory of the belts themselves is limited, too. */
static void test_belts(void)
{
	struct hashbelt_settings create = { .buckets = HASHBELT_BUCKETS_MAX };
	int fds[64], err = 0;
	unsigned int n;

	close(belt_at_last());

	for (n = 0; n < 64; n++) {
		fds[n] = open_device(O_RDWR);
		err = call(fds[n], HASHBELT_IOC_CREATE, &create);
		if (err)
			break;
	}
	ok(err == -ENOSPC || err == -ENOMEM,
	   "create fails when empty belts have used up the module's max_bytes");
	note("%u belts of 65536 buckets, then %s", n, error_name(err));
	if (n < 64) {
		ok(!strcmp(info_of(fds[n]).name, "default"),
		   "a descriptor stays bound to its belt after a create that failed");
		close(fds[n]);
	} else {
		ok(false, "a descriptor stays bound to its belt after a create that failed");
	}
	while (n--)
		close(fds[n]);
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
	__u64 original = get_parameter("max_bytes"), few = scaled_from(1, 8);
	int belt;

	test_stuck();
	set_limit(LIMIT);
	test_size(16, 1250 * few, few * MIB);
	test_size(4000, 125 * few, few * MIB);
	/* A value in a block of pages takes at most twice its own length. */
	test_size(5000, 100 * few, few * MIB);
	test_size(65536, 50, LIMIT);
	test_size(MIB, 3, LIMIT);
	test_belts();
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
