// SPDX-License-Identifier: GPL-2.0-only
/*
 * full_test - a belt at its own limits.
 *
 * A belt takes as many entries and bytes as its limits allow, and not one more, also from
 * concurrent processes. Expired entries make room. A belt with EVICT evicts the entries
 * nearest their deadlines, and no others. A refused put changes nothing. The limits of the
 * module are in limit_test, those of users in quota_test.
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

static void test_entries(unsigned int n)
{
	int belt = limited_belt(n, 0, 0);

	is_int(put_first(belt, n, 10), n,
	       "max_entries %u: as many puts of new keys succeed", n);
	is_errno(put_zeros(belt, n, 0, 0), ENOSPC,
		 "max_entries %u: one more put of a new key returns ENOSPC", n);
	ok(used_entries(belt) == n && info_of(belt).entries == n &&
	   counter(belt, HASHBELT_STAT_REJECTED) == 1 && !has_number(belt, n),
	   "max_entries %u: a refused put counts as rejected and leaves no entry", n);
	is_int(put_first(belt, n, 11), n,
	       "max_entries %u: every entry of a full belt can be replaced", n);
	remove_number(belt, 0);
	ok(!put_zeros(belt, n, 0, 0) && put_zeros(belt, n + 1, 0, 0) == -ENOSPC,
	   "max_entries %u: a remove from a full belt makes room for one entry", n);
	close(belt);
}

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

static void test_bytes(__u32 len, unsigned int n)
{
	__u64 cost = cost_of(len);
	int belt = limited_belt(0, n * cost, 0);

	ok(cost >= len + sizeof(n) && cost < 2 * len + 256,
	   "%u-byte values: the charge is at least the size, below 2x + 256", len);
	note("%llu bytes", cost);
	is_int(put_first(belt, n, len), n,
	       "%u-byte values: with max_bytes for %u entries as many puts succeed", len, n);
	is_errno(put_zeros(belt, n, len, 0), ENOSPC,
		 "%u-byte values: put of a new key returns ENOSPC at max_bytes", len);
	is_int(used_bytes(belt), n * cost,
	       "%u-byte values: used_bytes equals max_bytes in a full belt", len);
	is_int(put_first(belt, n, len), n,
	       "%u-byte values: every entry can be replaced by its like at max_bytes", len);
	is_errno(put_zeros(belt, 0, 2 * len + 300, 0), ENOSPC,
		 "%u-byte values: put of a larger value returns ENOSPC at max_bytes", len);
	is_int(used_bytes(belt), n * cost,
	       "%u-byte values: a refused replacement leaves used_bytes unchanged", len);
	close(belt);
	belt = limited_belt(0, n * cost - 1, 0);
	is_int(put_first(belt, n, len), n - 1,
	       "%u-byte values: with max_bytes a byte lower one put less succeeds", len);
	close(belt);
}

/* Refused puts */

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
	item.value = address(unmapped());
	item.value_len = 10;
	item.key = address("new");
	wrong += call(belt, HASHBELT_IOC_PUT, &item) != -EFAULT;
	item = text_item("new", "value");
	item.how = HASHBELT_IF_PRESENT;
	wrong += call(belt, HASHBELT_IOC_PUT, &item) != -ENOENT;
	item = text_item("key", "other");
	item.how = HASHBELT_IF_ABSENT;
	wrong += call(belt, HASHBELT_IOC_PUT, &item) != -EEXIST;
	item.how = HASHBELT_IF_VERSION;
	item.version--;
	wrong += call(belt, HASHBELT_IOC_PUT, &item) != -ESTALE;
	ok(!wrong,
	   "%s: a put in a full belt fails with EFAULT, ENOENT, EEXIST, ESTALE first", name);
	ok(holds_text(belt, "key", "value") && info_of(belt).entries == 4 &&
	   !counter(belt, HASHBELT_STAT_EVICTED),
	   "%s: puts that fail in a full belt evict nothing", name);
	close(belt);
}

/* Eviction */

static void test_evict_one(void)
{
	/* Within a bucket the order is that of arrival: each deadline has a bucket of its own. */
	int belt = belt_of((struct hashbelt_settings){
		.max_entries = 3, .policy = HASHBELT_EVICT, .buckets = 64 });

	put_text(belt, "a", "value", 3000);
	put_text(belt, "b", "value", 1000);
	put_text(belt, "c", "value", 2000);
	put_text(belt, "a", "other", 3000);
	is_int(counter(belt, HASHBELT_STAT_EVICTED), 0,
	       "a put over an entry evicts nothing in a full belt");
	put_text(belt, "d", "value", 4000);
	ok(!is_there(belt, "b") && is_there(belt, "a") && is_there(belt, "c") &&
	   is_there(belt, "d"),
	   "a put of a new key evicts the entry nearest its deadline in a full belt");
	ok(counter(belt, HASHBELT_STAT_EVICTED) == 1 && used_entries(belt) == 3 &&
	   !counter(belt, HASHBELT_STAT_REJECTED),
	   "a put into a full belt evicts one entry and counts it as evicted");
	put_text(belt, "e", "value", 1);
	ok(is_there(belt, "e") && info_of(belt).entries == 3,
	   "a put with the nearest deadline of all evicts another entry");
	close(belt);
}

#define ORDERED	48

/* Entries are evicted in the order of the deadlines in their events. */
static void test_evict_order(void)
{
	struct hashbelt_settings settings = {
		.policy = HASHBELT_EVICT | HASHBELT_EVICT_DEADLINE, .max_entries = ORDERED,
		.handler = HASHBELT_NOTIFY,
	};
	int belt = belt_of(settings);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;
	unsigned int i, wrong = 0, never = 0;
	__u64 last = 0, ttl_ms;

	set_blocking(belt, false);
	for (i = 0; i < ORDERED; i++) {
		ttl_ms = 1 + i * 7919ULL % 4001 * (i % 3 * 97 + 1);
		put_zeros(belt, i, 10, i % 12 == 11 ? HASHBELT_TTL_NEVER : ttl_ms);
	}
	for (i = 0; i < ORDERED; i++)
		put_zeros(belt, ORDERED + i, 10, HASHBELT_TTL_NEVER);
	while ((event = next_event(&stream))) {
		wrong += event->reason != HASHBELT_EVICTED || event->deadline_ns < last;
		last = event->deadline_ns;
		never += last == ~0ULL;
	}
	ok(!wrong, "entries of all wheels are evicted in the order of their deadlines");
	is_int(never, ORDERED / 12, "entries that never expire are evicted, too");
	is_int(stream.count, ORDERED, "each put of a new key evicts one entry");
	free(stream.buffer);
	close(belt);
}

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

/* A touch does not move the entry to another bucket, and still its new deadline counts. */
static void test_evict_touched(void)
{
	struct hashbelt_item item;
	unsigned int i, wrong = 0;
	char a[16], b[16];

	for (i = 0; i < 50; i++) {
		int belt = limited_belt(2, 0, HASHBELT_EVICT | HASHBELT_EVICT_DEADLINE);

		snprintf(a, sizeof(a), "a%u", i);
		snprintf(b, sizeof(b), "b%u", i);
		put_text(belt, a, "value", 1000);
		put_text(belt, b, "value", 20000);
		item = item_of(a);
		item.ttl_ms = 60000;
		must(belt, HASHBELT_IOC_TOUCH, &item);
		put_text(belt, "new", "value", HASHBELT_TTL_NEVER);
		wrong += !is_there(belt, a) || is_there(belt, b);
		close(belt);
	}
	is_int(wrong, 0,
	       "an entry that was touched is evicted by its new deadline");
}

static void test_evict_bytes(void)
{
	__u64 cost = cost_of(1000);
	int belt = limited_belt(0, 100 * cost, HASHBELT_EVICT);
	static unsigned char large[HASHBELT_VALUE_MAX];
	struct hashbelt_item item;
	unsigned int i, wrong = 0;

	for (i = 0; i < 1000; i++)
		wrong += put_zeros(belt, i, 1000, 1000 + i) ||
			 used_bytes(belt) > 100 * cost;
	ok(!wrong && used_entries(belt) == 100,
	   "a belt that evicts takes every put and stays within max_bytes");
	is_int(counter(belt, HASHBELT_STAT_EVICTED), 900,
	       "entries evicted for max_bytes are counted as evicted");
	is_errno(put_zeros(belt, 5000, 50 * cost, 5000), 0,
		 "put of a large value succeeds in a belt that evicts");
	ok(has_number(belt, 5000) && used_bytes(belt) <= 100 * cost &&
	   used_entries(belt) >= 45 && has_number(belt, 999),
	   "put of a large value evicts no more small entries than it needs");
	is_errno(put_zeros(belt, 999, 50 * cost, 5000), 0,
		 "put of a larger value over an entry succeeds in a belt that evicts");
	ok(has_number(belt, 999) && used_bytes(belt) <= 100 * cost,
	   "an entry that grows is not evicted itself, and max_bytes holds");
	put_text(belt, "nearest", "value", 1);
	item = text_item("nearest", "");
	item.value = address(large);
	item.value_len = 50 * cost;
	item.how = HASHBELT_IF_PRESENT;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), 0,
		 "an entry nearest its deadline is not evicted by its own replacement");
	close(belt);
}

/* Expired entries */

/* Moves belt time to where a bucket has just begun, so that none falls off within an interval. */
static void begin_bucket(int belt)
{
	struct hashbelt_info info = info_of(belt);

	advance(belt, (info.interval_ns - info.now_ns % info.interval_ns) / 1000000 + 1);
}

static void test_expired_room(__u32 policy, const char *name)
{
	int belt = limited_belt(40, 0, policy);
	unsigned int i, wrong = 0;

	begin_bucket(belt);
	for (i = 0; i < 40; i++)
		wrong += put_zeros(belt, i, 10, i < 20 ? 1 : HASHBELT_TTL_NEVER) != 0;
	advance(belt, 2);
	is_int(info_of(belt).entries, 40,
	       "%s: entries that have just expired still count in a full belt", name);
	for (i = 40; i < 60; i++)
		wrong += put_zeros(belt, i, 10, HASHBELT_TTL_NEVER) != 0;
	is_int(wrong, 0, "%s: puts take the place of expired entries in a full belt", name);
	for (i = 20; i < 60; i++)
		wrong += !has_number(belt, i);
	is_int(wrong, 0, "%s: no live entry is evicted while expired ones are in the belt", name);
	ok(counter(belt, HASHBELT_STAT_EXPIRED) == 20 &&
	   !counter(belt, HASHBELT_STAT_EVICTED),
	   "%s: an expired entry that makes room counts as expired, not evicted", name);
	is_errno(put_zeros(belt, 60, 10, 0), policy ? 0 : ENOSPC,
		 "%s: once expired entries are gone a put meets the limit again", name);
	close(belt);
}

static void test_expired_bytes(void)
{
	__u64 cost = cost_of(100);
	int belt = limited_belt(0, 40 * cost, 0);
	unsigned int i, wrong = 0;

	for (i = 0; i < 40; i++)
		wrong += put_zeros(belt, i, 100, i % 2 ? 1 : HASHBELT_TTL_NEVER) != 0;
	advance(belt, 2);
	wrong += put_zeros(belt, 100, 15 * cost, 0) != 0;
	ok(!wrong && used_bytes(belt) <= 40 * cost,
	   "put of a large value takes the place of many expired small entries");
	close(belt);
}

/* A put of an expired key into a full belt. */
static void test_expired_self(void)
{
	int belt = limited_belt(1, 0, 0);

	put_text(belt, "key", "old", 1);
	advance(belt, 2);
	put_text(belt, "key", "new", 1000);
	ok(holds_text(belt, "key", "new") && used_entries(belt) == 1,
	   "put of an expired key succeeds in a belt of max_entries 1");
	close(belt);
}

/* Emptied belts */

struct usage {
	int belt;
	__u64 bytes;
};

static bool is_empty(void *arg)
{
	struct usage *usage = arg;
	struct hashbelt_info info = info_of(usage->belt);

	return !info.used_entries && info.used_bytes == usage->bytes && !info.entries;
}

static void test_back_to_nothing(__u32 handler, const char *name)
{
	struct hashbelt_settings settings = {
		.handler = handler, .reasons = REPORT_ALL, .max_entries = 100,
		.max_bytes = MIB,
	};
	struct usage usage = { .belt = belt_of(settings) };
	unsigned int i;

	usage.bytes = info_of(usage.belt).used_bytes;
	set_blocking(usage.belt, false);
	put_first(usage.belt, 100, 500);
	must(usage.belt, HASHBELT_IOC_CLEAR, NULL);
	is_int(put_first(usage.belt, 100, 500), 100,
	       "%s: a full belt takes max_entries puts right after a clear",
	       name);
	must(usage.belt, HASHBELT_IOC_CLEAR, NULL);
	ok(at_last(is_empty, &usage),
	   "%s: used_entries and used_bytes return to an empty belt's after a clear", name);
	put_first(usage.belt, 100, 500);
	for (i = 0; i < 100; i++)
		remove_number(usage.belt, i);
	discard_events(usage.belt);
	ok(is_empty(&usage),
	   "%s: used_entries and used_bytes return to an empty belt's after removes", name);
	put_first(usage.belt, 100, 500);
	advance(usage.belt, 3 * TTL);
	discard_events(usage.belt);
	ok(is_empty(&usage),
	   "%s: used_entries and used_bytes return to an empty belt's after expiry", name);
	put_first(usage.belt, 100, 500);
	put_first(usage.belt, 100, 50);
	for (i = 0; i < 100; i++)
		remove_number(usage.belt, i);
	discard_events(usage.belt);
	ok(is_empty(&usage),
	   "%s: used_entries and used_bytes return after replaces and removes", name);
	close(usage.belt);
}

/* Changed limits */

static void test_lowered(void)
{
	int belt = limited_belt(0, 0, 0);
	unsigned int i, there = 0;

	put_first(belt, 100, 100);
	SET(belt, .fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = 10);
	for (i = 0; i < 100; i++)
		there += has_number(belt, i);
	ok(there == 100 && used_entries(belt) == 100,
	   "a lower max_entries removes no entry");
	is_errno(put_zeros(belt, 100, 100, 0), ENOSPC,
		 "put of a new key returns ENOSPC in a belt above a lowered max_entries");
	is_errno(put_zeros(belt, 50, 100, 0), 0,
		 "an entry can be replaced in a belt above a lowered max_entries");
	for (i = 0; i < 90; i++)
		remove_number(belt, i);
	is_errno(put_zeros(belt, 100, 100, 0), ENOSPC,
		 "put returns ENOSPC in a belt just at a lowered max_entries");
	remove_number(belt, 90);
	is_errno(put_zeros(belt, 100, 100, 0), 0,
		 "put succeeds in a belt one below a lowered max_entries");
	SET(belt, .fields = HASHBELT_SET_MAX_ENTRIES | HASHBELT_SET_MAX_BYTES,
	    .max_bytes = 1);
	is_errno(put_zeros(belt, 101, 100, 0), ENOSPC,
		 "put returns ENOSPC in a belt above a lowered max_bytes");
	SET(belt, .fields = HASHBELT_SET_MAX_BYTES);
	is_int(put_first(belt, 90, 100), 90, "max_entries and max_bytes of 0 limit nothing");
	close(belt);
}

static void test_lowered_evicting(void)
{
	int belt = limited_belt(0, 0, HASHBELT_EVICT);
	__u64 before, after;

	put_first(belt, 100, 100);
	SET(belt, .fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = 10);
	is_int(used_entries(belt), 100,
	       "a lower max_entries evicts nothing by itself");
	before = used_entries(belt);
	is_errno(put_zeros(belt, 1000, 100, HASHBELT_TTL_NEVER), 0,
		 "put of a new key succeeds in an evicting belt above its limit");
	after = used_entries(belt);
	ok(after <= before && has_number(belt, 1000),
	   "put above a lowered limit evicts at least one entry");
	note("%llu entries, then %llu", before, after);
	is_errno(put_zeros(belt, 1000, 100, HASHBELT_TTL_NEVER), 0,
		 "put over an entry succeeds in an evicting belt above its limit");
	close(belt);
}

/* A belt becomes full within a batch. */
static void test_batch(void)
{
	struct hashbelt_item items[8];
	struct hashbelt_batch batch = { .items = address(items), .count = 8 };
	static const char *const keys[] = { "a", "b", "c", "d", "e", "a", "f", "b" };
	static const int want[] = { 0, 0, 0, -ENOSPC, -ENOSPC, 0, -ENOSPC, 0 };
	int belt = limited_belt(3, 0, 0);
	unsigned int i, wrong = 0;

	for (i = 0; i < 8; i++) {
		items[i] = text_item(keys[i], "value");
		items[i].op = HASHBELT_OP_PUT;
	}
	must(belt, HASHBELT_IOC_BATCH, &batch);
	for (i = 0; i < 8; i++)
		wrong += items[i].result != want[i];
	ok(!wrong && batch.done == 8,
	   "each put of a batch gets its own result at max_entries");
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

	alarm(600);
	crowd = shared_memory(sizeof(*crowd));
	test_entries(1);
	test_entries(2);
	test_entries(1000);
	test_bytes(0, 10);
	test_bytes(64, 500);
	test_bytes(5000, 20);
	test_bytes(200000, 4);
	test_refused(0, "reject");
	test_refused(HASHBELT_EVICT, "evict");
	test_evict_one();
	test_evict_order();
	test_evict_unread();
	test_evict_touched();
	test_evict_bytes();
	test_expired_room(0, "reject");
	test_expired_room(HASHBELT_EVICT, "evict");
	test_expired_bytes();
	test_expired_self();
	test_back_to_nothing(HASHBELT_DROP, "drop");
	test_back_to_nothing(HASHBELT_NOTIFY, "notify");
	test_lowered();
	test_lowered_evicting();
	test_batch();
	test_crowd();
	test_crowd_evicting();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
