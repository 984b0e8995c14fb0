// SPDX-License-Identifier: GPL-2.0-only
/*
 * full_test - a belt at its own limits.
 *
 * A belt takes as many entries and bytes as its limits allow, and not one more, from concurrent
 * processes. A refused put changes nothing. Which entries make room: tests/kunit/evict_test.c and
 * unread_test.c. The limits of the module are in limit_test, those of users in quota_test.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "events.h"

static bool has_number(int belt, unsigned int number)
{
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number),
		.how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH,
	};

	return !call(belt, HASHBELT_IOC_GET, &item);
}

/* Puts the numbers 0 to @n - 1; returns how many puts succeeded. */
static unsigned int put_first(int belt, unsigned int n, __u32 len)
{
	unsigned int i, good = 0;

	for (i = 0; i < n; i++)
		good += !put_zeros(belt, i, len, 0);
	return good;
}

static int limited_belt(__u64 max_entries, __u64 max_bytes, __u32 policy)
{
	return belt_of((struct hashbelt_settings){
		.max_entries = max_entries, .max_bytes = max_bytes, .policy = policy });
}

static __u64 used_entries(int belt)
{
	return info_of(belt).used_entries;
}

static __u64 used_bytes(int belt)
{
	return info_of(belt).used_bytes;
}

/* The limits are exact */

/* The charge of one entry. */
static __u64 cost_of(__u32 len)
{
	int belt = limited_belt(0, 0, 0);
	__u64 cost;

	put_zeros(belt, 0, len, 0);
	cost = used_bytes(belt);
	put_zeros(belt, 1, len, 0);
	cost = used_bytes(belt) - cost;
	close(belt);
	return cost;
}

/* Refused puts */

/* Whether a put that fails with @err in another belt fails here, where there is no room as well. */
static bool fails(int belt, struct hashbelt_item item, int err)
{
	int found = call(belt, HASHBELT_IOC_PUT, &item);

	return found == -err || found == -ENOSPC;
}

static void test_refused(__u32 policy, const char *name)
{
	int belt = limited_belt(4, 70000, policy);
	struct hashbelt_item item = text_item("key", "value");
	static unsigned char large[70000];
	unsigned int wrong = 0;

	put_text(belt, "key", "value", 0);
	put_first(belt, 3, 10000);
	is_errno(put_zeros(belt, 9, 70000, 0), ENOSPC,
		 "%s: put of a value larger than max_bytes returns ENOSPC", name);
	item.value = address(large);
	item.value_len = sizeof(large);
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), ENOSPC,
		 "%s: put of a value larger than max_bytes over an entry returns ENOSPC",
		 name);
	item = text_item("new", "value");
	item.how = HASHBELT_IF_PRESENT;
	wrong += !fails(belt, item, ENOENT);
	item.how = 0;
	item.value = address(unmapped());
	wrong += !fails(belt, item, EFAULT);
	item = text_item("key", "other");
	item.how = HASHBELT_IF_ABSENT;
	wrong += !fails(belt, item, EEXIST);
	item.how = HASHBELT_IF_VERSION;
	item.version--;
	wrong += !fails(belt, item, ESTALE);
	is_int(wrong, 0, "%s: a wrong put in a full belt fails for that, or with ENOSPC", name);
	ok(holds_text(belt, "key", "value") && info_of(belt).entries == 4 &&
	   !counter(belt, HASHBELT_STAT_EVICTED),
	   "%s: puts that fail in a full belt evict nothing", name);
	close(belt);
}

/* Eviction */

#define READ_ONES	50u

/* Reads numbers from @from on: each by a call, or all in one batch. */
static void read_numbers(int belt, unsigned int from, bool batch)
{
	struct hashbelt_item items[READ_ONES];
	unsigned int numbers[READ_ONES], i;
	struct hashbelt_batch all = { .items = address(items), .count = READ_ONES };

	for (i = 0; i < READ_ONES; i++) {
		numbers[i] = from + i;
		items[i] = (struct hashbelt_item){
			.op = batch ? HASHBELT_OP_GET : 0, .key = address(&numbers[i]),
			.key_len = sizeof(numbers[i]), .how = HASHBELT_NO_VALUE,
		};
		if (!batch)
			must(belt, HASHBELT_IOC_GET, &items[i]);
	}
	if (batch)
		must(belt, HASHBELT_IOC_BATCH, &all);
}

static unsigned int count_numbers(int belt, unsigned int from, unsigned int n)
{
	unsigned int i, there = 0;

	for (i = from; i < from + n; i++)
		there += has_number(belt, i);
	return there;
}

static void test_evict_unread(void)
{
	int belt = limited_belt(4 * READ_ONES, 0, HASHBELT_EVICT);
	unsigned int i;

	for (i = 0; i < 4 * READ_ONES; i++)
		put_zeros(belt, i, 10, 60000 + i);
	read_numbers(belt, 0, false);
	read_numbers(belt, READ_ONES, true);
	for (; i < 6 * READ_ONES; i++)
		put_zeros(belt, i, 10, 60000 + i);
	is_int(count_numbers(belt, 0, READ_ONES), READ_ONES,
	       "entries that were read stay in a full belt that evicts");
	is_int(count_numbers(belt, READ_ONES, READ_ONES), READ_ONES,
	       "entries that were read in a batch stay in a full belt that evicts");
	is_int(count_numbers(belt, 2 * READ_ONES, 2 * READ_ONES), 0,
	       "entries that were not read leave, those with later deadlines as well");
	close(belt);
}

/* Concurrent puts */

#define PUTTERS		4
#define PUTS		scaled_from(600, 3000)
#define ROOM		(PUTS / 3)

/**
 * struct crowd - a belt into which several processes put; shared
 * @belt:	the belt
 * @go:		the puts may begin
 * @end:	all puts are done
 * @good:	puts that succeeded; atomic
 * @refused:	puts that returned ENOSPC; atomic
 * @bad:	other errors, and limits that were exceeded; atomic
 * @looks:	how often the limits were read
 */
struct crowd {
	int belt;
	bool go;
	bool end;
	unsigned int good;
	unsigned int refused;
	unsigned int bad;
	unsigned int looks;
};

static struct crowd *crowd;

static void add(unsigned int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static bool is_set(bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static int put_many(void *arg)
{
	unsigned int first = (uintptr_t)arg * PUTS, i;
	int err;

	while (!is_set(&crowd->go))
		sched_yield();
	for (i = 0; i < PUTS; i++) {
		err = put_zeros(crowd->belt, first + i, 100, 1000 + i);
		if (!err)
			add(&crowd->good);
		else
			add(err == -ENOSPC ? &crowd->refused : &crowd->bad);
	}
	return 0;
}

/* Removes entries while others put: the room is taken again at once. */
static int remove_many(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; !is_set(&crowd->end); i++)
		remove_number(crowd->belt, i * 7919 % (PUTTERS * PUTS));
	return 0;
}

static int watch_limits(void *arg)
{
	const struct hashbelt_settings *settings = arg;
	struct hashbelt_info info;

	while (!is_set(&crowd->end)) {
		info = info_of(crowd->belt);
		if (info.used_entries > settings->max_entries ||
		    info.used_bytes > settings->max_bytes)
			add(&crowd->bad);
		add(&crowd->looks);
	}
	return 0;
}

/* Several processes put at once, one reads the limits, and one removes if @removing. */
static void run_crowd(struct hashbelt_settings settings, bool removing)
{
	pid_t putters[PUTTERS], watcher, remover = 0;
	uintptr_t i;

	memset(crowd, 0, sizeof(*crowd));
	crowd->belt = belt_of(settings);
	for (i = 0; i < PUTTERS; i++)
		putters[i] = start(put_many, (void *)i);
	watcher = start(watch_limits, &settings);
	if (removing)
		remover = start(remove_many, NULL);
	/* On one processor the watcher may not have run yet. */
	while (!__atomic_load_n(&crowd->looks, __ATOMIC_RELAXED))
		sched_yield();
	set(&crowd->go);
	for (i = 0; i < PUTTERS; i++)
		finish(putters[i]);
	set(&crowd->end);
	finish(watcher);
	if (remover)
		finish(remover);
}

static void test_crowd(void)
{
	struct hashbelt_settings settings = {
		.max_entries = ROOM, .max_bytes = 2 * ROOM * cost_of(100),
	};
	unsigned int i, there = 0;

	run_crowd(settings, false);
	ok(!crowd->bad && crowd->looks,
	   "used_entries and used_bytes stay within limits during concurrent puts");
	is_int(crowd->good, ROOM, "exactly max_entries concurrent puts succeed");
	is_int(used_entries(crowd->belt), ROOM,
	       "used_entries is max_entries after concurrent puts");
	for (i = 0; i < PUTTERS * PUTS; i++)
		there += has_number(crowd->belt, i);
	is_int(there, ROOM, "max_entries entries are found after concurrent puts");
	note("%u puts were refused, the limit was looked at %u times", crowd->refused,
	     crowd->looks);
	close(crowd->belt);

	run_crowd(settings, true);
	ok(!crowd->bad && crowd->good >= ROOM,
	   "limits hold during concurrent puts and removes");
	is_int(used_entries(crowd->belt), info_of(crowd->belt).entries,
	       "used_entries equals entries after concurrent puts and removes");
	close(crowd->belt);
}

static void test_crowd_evicting(void)
{
	struct hashbelt_settings settings = {
		.max_entries = ROOM, .max_bytes = 2 * ROOM * cost_of(100),
		.policy = HASHBELT_EVICT,
	};

	run_crowd(settings, false);
	ok(!crowd->bad && crowd->looks,
	   "limits hold during concurrent puts into a belt that evicts");
	is_int(crowd->refused, 0, "no concurrent put is refused in a belt that evicts");
	is_int(used_entries(crowd->belt), ROOM,
	       "an evicting belt is at max_entries after concurrent puts");
	is_int(counter(crowd->belt, HASHBELT_STAT_EVICTED), PUTTERS * PUTS - ROOM,
	       "concurrent puts evict no more entries than they need to");
	close(crowd->belt);

	settings.max_entries = 2 * ROOM;
	settings.max_bytes = ROOM * cost_of(100);
	run_crowd(settings, false);
	is_int(crowd->bad, 0, "limits hold during concurrent puts into a belt at max_bytes");
	is_int(crowd->refused, 0, "no concurrent put is refused in a belt at max_bytes");
	is_int(used_entries(crowd->belt), ROOM,
	       "a belt that evicts is full to max_bytes after concurrent puts");
	close(crowd->belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	crowd = shared_memory(sizeof(*crowd));
	test_refused(0, "reject");
	test_refused(HASHBELT_EVICT, "evict");
	test_evict_unread();
	test_crowd();
	test_crowd_evicting();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
