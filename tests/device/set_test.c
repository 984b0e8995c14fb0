// SPDX-License-Identifier: GPL-2.0-only
/*
 * set_test - changes of the settings of a belt in use.
 *
 * Each setting changes only itself: no entry, no deadline, no event. An invalid value
 * changes nothing. While time-to-live and buckets go from one extreme to the other and
 * others use the belt, every entry is found until its deadline and none after it.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include "events.h"

/* The settings in a belt's info, without its counters. */
struct shape {
	__u64 ttl_ms;
	__u64 max_entries;
	__u64 max_bytes;
	__u64 max_events;
	__u64 grace_ms;
	__u32 buckets;
	__u32 policy;
	__u32 mode;
	__u32 handler;
	__u32 reasons;
	__u32 gid;
};

static struct shape shape_of(int belt)
{
	struct hashbelt_info info = info_of(belt);
	struct shape shape;

	memset(&shape, 0, sizeof(shape));
	shape.ttl_ms = info.ttl_ms;
	shape.max_entries = info.max_entries;
	shape.max_bytes = info.max_bytes;
	shape.max_events = info.max_events;
	shape.grace_ms = info.grace_ms;
	shape.buckets = info.buckets;
	shape.policy = info.policy;
	shape.mode = info.mode;
	shape.handler = info.handler;
	shape.reasons = info.reasons;
	shape.gid = info.gid;
	return shape;
}

/* A value for each setting; changed() returns the expected result. */
static const struct hashbelt_settings others = {
	.ttl_ms = 77000, .buckets = 11, .policy = HASHBELT_EVICT | HASHBELT_PINNED,
	.mode = 0640, .handler = HASHBELT_REINSERT, .gid = 4242,
	.reasons = HASHBELT_REPORT(HASHBELT_CLEARED), .max_entries = 1234567,
	.max_bytes = 765432100, .max_events = 4321, .grace_ms = 54321,
};

static struct shape changed(struct shape shape, __u32 field)
{
	switch (field) {
	case HASHBELT_SET_TTL:
		shape.ttl_ms = others.ttl_ms;
		break;
	case HASHBELT_SET_BUCKETS:
		shape.buckets = others.buckets;
		break;
	case HASHBELT_SET_POLICY:
		shape.policy = others.policy;
		break;
	case HASHBELT_SET_HANDLER:
		shape.handler = others.handler;
		break;
	case HASHBELT_SET_REASONS:
		shape.reasons = others.reasons;
		break;
	case HASHBELT_SET_MAX_ENTRIES:
		shape.max_entries = others.max_entries;
		break;
	case HASHBELT_SET_MAX_BYTES:
		shape.max_bytes = others.max_bytes;
		break;
	case HASHBELT_SET_MAX_EVENTS:
		shape.max_events = others.max_events;
		break;
	case HASHBELT_SET_MODE:
		shape.mode = others.mode;
		break;
	case HASHBELT_SET_GID:
		shape.gid = others.gid;
		break;
	case HASHBELT_SET_GRACE:
		shape.grace_ms = others.grace_ms;
		break;
	}
	return shape;
}

static const struct { const char *name; __u32 field; } fields[] = {
	{ "ttl", HASHBELT_SET_TTL }, { "buckets", HASHBELT_SET_BUCKETS },
	{ "policy", HASHBELT_SET_POLICY }, { "handler", HASHBELT_SET_HANDLER },
	{ "reasons", HASHBELT_SET_REASONS }, { "max_entries", HASHBELT_SET_MAX_ENTRIES },
	{ "max_bytes", HASHBELT_SET_MAX_BYTES },
	{ "max_events", HASHBELT_SET_MAX_EVENTS }, { "mode", HASHBELT_SET_MODE },
	{ "gid", HASHBELT_SET_GID }, { "grace", HASHBELT_SET_GRACE },
};

#define ENTRIES	300
#define EVENTS	50

static const __u64 ttls[] = {
	5000, 1, 50, TTL, 100 * TTL, HASHBELT_TTL_NEVER, 1ULL << 40,
};

static __u64 ttl_of(unsigned int number)
{
	return ttls[number % ARRAY_SIZE(ttls)];
}

/* A belt with queued events, and entries with near and far deadlines. */
static int full_belt(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned int i;
	char key[16];

	queue_events(belt, EVENTS);
	for (i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		put_text(belt, key, key, ttl_of(i));
	}
	return belt;
}

/*
 * The number of entries that do not have the time left that is expected @gone ms after the
 * put.
 */
static unsigned int wrong_entries(int belt, __u64 gone)
{
	unsigned int i, wrong = 0;
	struct snapshot snapshot;
	__u64 left;
	char key[16];

	for (i = 0; i < ENTRIES; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		snapshot = look(belt, key);
		left = ttl_of(i) == HASHBELT_TTL_NEVER ? ttl_of(i) : ttl_of(i) - gone;
		if (ttl_of(i) <= gone)
			wrong += snapshot.err != -ENOENT;
		else
			wrong += snapshot.err || snapshot.ttl_ms != left;
	}
	return wrong;
}

static void test_field(const char *name, __u32 field)
{
	struct hashbelt_settings settings = others;
	int belt = full_belt();
	struct shape was = shape_of(belt), want = changed(was, field), is;

	settings.fields = field;
	is_errno(set_belt(belt, settings), 0,
		 "set of %s on a belt with entries and events returns 0", name);
	is = shape_of(belt);
	ok(!memcmp(&is, &want, sizeof(is)), "set of %s changes this setting and no other", name);
	/* New limits do not affect entries that are in the belt. */
	is_int(wrong_entries(belt, 0), 0,
	       "set of %s leaves all entries and deadlines", name);
	ok(has_events(belt, 1, EVENTS), "set of %s leaves all queued events", name);
	/* A reinserting belt would give entries new deadlines: kunit/queue_test.c covers that. */
	if (field == HASHBELT_SET_HANDLER)
		SET(belt, .fields = field, .handler = HASHBELT_NOTIFY);
	advance(belt, 49);
	is_int(wrong_entries(belt, 49), 0,
	       "after set of %s entries keep their deadlines up to 49 ms", name);
	advance(belt, TTL - 50);
	is_int(wrong_entries(belt, TTL - 1), 0,
	       "after set of %s entries keep their deadlines up to the ttl", name);
	close(belt);
}

static void test_defaults(void)
{
	struct hashbelt_settings settings = others;
	int belt = full_belt();
	struct shape is;

	settings.fields = HASHBELT_SET_ALL;
	is_errno(set_belt(belt, settings), 0, "set of all fields at once returns 0");
	is = shape_of(belt);
	ok(is.ttl_ms == others.ttl_ms && is.gid == others.gid && is.mode == others.mode &&
	   is.max_events == others.max_events && is.buckets == others.buckets &&
	   is.grace_ms == others.grace_ms,
	   "set of all fields changes ttl, gid, mode, max_events, buckets and grace");
	SET(belt, .fields = HASHBELT_SET_ALL);
	is = shape_of(belt);
	ok(is.ttl_ms == 300000 && is.buckets == 3 && !is.max_entries && !is.max_bytes &&
	   is.max_events == HASHBELT_EVENTS_DEFAULT &&
	   is.reasons == HASHBELT_REPORT_DEFAULT && !is.policy && !is.handler &&
	   !is.mode && !is.gid && !is.grace_ms,
	   "set of all fields to 0 gives the belt the default settings");
	close(belt);
}

/* Handlers */

/* A change while an acknowledging reader holds events. */
static void test_held(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);

	watch(belt, HASHBELT_WATCH_ACK);
	queue_events(belt, 4);
	discard_events(belt);
	SET(belt, .fields = HASHBELT_SET_HANDLER | HASHBELT_SET_MAX_EVENTS,
	    .handler = HASHBELT_DROP, .max_events = 1);
	is_int(info_of(belt).in_flight, 4,
	       "set of handler drop and a lower max_events leaves events in flight");
	is_errno(ack(belt, 4), 0,
		 "ack of an event in flight returns 0 under handler drop");
	ok(!info_of(belt).in_flight && !info_of(belt).used_entries,
	   "events acknowledged under handler drop are neither in flight nor counted");
	close(belt);
}

/* Changes while others use the belt */

#define CROWD		scaled(100000)
#define CHURNERS	2
#define HOUR		3600000ULL

/**
 * struct churn - a belt that is changed while it is used; shared
 * @belt:	the belt
 * @end:	the processes that use it end
 * @wrong:	entries that were missing too early or present too late; atomic
 * @done:	operations; atomic
 * @moves:	advances that were begun; atomic
 * @moved:	advances that have returned; atomic
 */
struct churn {
	int belt;
	bool end;
	unsigned int wrong;
	unsigned int done;
	unsigned int moves;
	unsigned int moved;
};

#define MOVE_MS	7

static struct churn *churn;

/* Reports a wrong key with an errno, a value or a time; returns false. */
static bool complain(unsigned int number, const char *what, long long is)
{
	__atomic_fetch_add(&churn->wrong, 1, __ATOMIC_RELAXED);
	note("key %u: %s %lld", number, what, is);
	return false;
}

/*
 * Entry n of the crowd lives for n + 2 hours; every tenth never expires. The first half is only
 * read. The others are put and touched again with the same time-to-live, while belt time
 * advances by less than an hour in all.
 */
static struct hashbelt_item crowd_item(const unsigned int *number)
{
	return (struct hashbelt_item){
		.key = address(number), .key_len = sizeof(*number),
		.value = address(number), .value_len = sizeof(*number),
		.ttl_ms = *number % 10 ? (*number + 2) * HOUR : HASHBELT_TTL_NEVER,
	};
}

/* Belt time plus a constant, in nanoseconds: the kernel's coarse clock plus the advances. */
static __u64 time_after(const unsigned int *moves)
{
	__u64 moved = __atomic_load_n(moves, __ATOMIC_ACQUIRE) * MOVE_MS * 1000000ULL;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec + moved;
}

static bool is_in_crowd(int belt, unsigned int number)
{
	struct hashbelt_item item = crowd_item(&number);
	__u64 most = item.ttl_ms, least = most, before = time_after(&churn->moved);
	unsigned int got = 0;
	int err;

	item.value = address(&got);
	item.how = HASHBELT_NO_REFRESH;
	item.ttl_ms = 0;
	err = call(belt, HASHBELT_IOC_GET, &item);
	if (err)
		return complain(number, "error", err);
	if (got != number)
		return complain(number, "value", got);
	if (number % 10) {
		/* The entry may have got its time-to-live at any moment during the call. */
		most += (time_after(&churn->moves) - before) / 1000000 + 1;
		least -= HOUR - 1;
	}
	if (item.ttl_ms > most || item.ttl_ms < least)
		return complain(number, "milliseconds left, beyond its time-to-live",
				item.ttl_ms - most);
	return true;
}

static int use_crowd(void *arg)
{
	unsigned int state = (uintptr_t)arg + 1, number;
	struct hashbelt_item item;

	while (!__atomic_load_n(&churn->end, __ATOMIC_ACQUIRE)) {
		state = state * 1103515245 + 12345;
		number = (state >> 8) % CROWD;
		item = crowd_item(&number);
		is_in_crowd(churn->belt, number);
		if (number >= CROWD / 2 && state >> 30)
			must(churn->belt, HASHBELT_IOC_TOUCH, &item);
		else if (number >= CROWD / 2)
			must(churn->belt, HASHBELT_IOC_PUT, &item);
		__atomic_fetch_add(&churn->done, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/*
 * Puts entries of 20 ms, and checks that each is found before its deadline and missed after
 * it.
 */
static int use_short(void *arg)
{
	struct hashbelt_item item;
	unsigned int number = CROWD;
	__u64 deadline, before, after;
	int err;

	(void)arg;
	while (!__atomic_load_n(&churn->end, __ATOMIC_ACQUIRE)) {
		number++;
		item = crowd_item(&number);
		item.ttl_ms = 20;
		before = info_of(churn->belt).now_ns;
		must(churn->belt, HASHBELT_IOC_PUT, &item);
		deadline = info_of(churn->belt).now_ns + 20 * 1000000ULL;
		do {
			item = crowd_item(&number);
			item.how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
			after = info_of(churn->belt).now_ns;
			err = call(churn->belt, HASHBELT_IOC_GET, &item);
			if (!err && after > deadline)
				complain(number, "nanoseconds late", after - deadline);
			after = info_of(churn->belt).now_ns;
			if (err && after + 1 < before + 20 * 1000000ULL)
				complain(number, "nanoseconds after it was put, error",
					 after - before);
		} while (!err);
	}
	return 0;
}

static const struct { __u64 ttl_ms; __u32 buckets; } extremes[] = {
	{ 1, 2 }, { 1, 65536 }, { HASHBELT_TTL_MAX_MS, 2 },
	{ HASHBELT_TTL_MAX_MS, 65536 }, { TTL, 3 }, { 400 * HOUR, 1000 }, { 1, 2 },
	{ 60 * 365 * 24 * HOUR, 3 }, { TTL, 65536 },
};

static unsigned int missing_in_crowd(void)
{
	unsigned int number, missing = 0;

	for (number = 0; number < CROWD; number++)
		missing += !is_in_crowd(churn->belt, number);
	return missing;
}

/* Sets each of the extremes and lets the others use the belt in between. */
static void change_shapes(unsigned int rounds)
{
	unsigned int i, until;

	for (i = 0; i < rounds * ARRAY_SIZE(extremes); i++) {
		SET(churn->belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
		    .ttl_ms = extremes[i % ARRAY_SIZE(extremes)].ttl_ms,
		    .buckets = extremes[i % ARRAY_SIZE(extremes)].buckets);
		until = __atomic_load_n(&churn->done, __ATOMIC_RELAXED) + scaled_from(200, 2000);
		while (__atomic_load_n(&churn->done, __ATOMIC_RELAXED) < until) {
			__atomic_fetch_add(&churn->moves, 1, __ATOMIC_SEQ_CST);
			advance(churn->belt, MOVE_MS);
			__atomic_fetch_add(&churn->moved, 1, __ATOMIC_SEQ_CST);
		}
	}
}

/*
 * Sets the buckets twice in a row. The worker moves them in batches, so the second call mostly
 * finds that it has not moved all.
 */
static void set_in_pairs(void)
{
	unsigned int pair;

	for (pair = 0; pair < 5; pair++) {
		SET(churn->belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
		    .ttl_ms = CROWD * HOUR, .buckets = 65536);
		SET(churn->belt, .fields = HASHBELT_SET_BUCKETS, .buckets = 40000);
	}
	is_int(missing_in_crowd(), 0,
	       "each entry is found with its deadline after calls that set the buckets in a row");
}

static void test_crowd(void)
{
	struct hashbelt_settings settings = { .ttl_ms = TTL };
	pid_t children[CHURNERS + 1];
	unsigned int number, left;
	uintptr_t i;

	/* Belt time runs, so that the worker has work. */
	churn->belt = open_device(O_RDWR);
	must(churn->belt, HASHBELT_IOC_CREATE, &settings);
	for (number = 0; number < CROWD; number++) {
		struct hashbelt_item item = crowd_item(&number);

		must(churn->belt, HASHBELT_IOC_PUT, &item);
	}
	set_in_pairs();
	for (i = 0; i < CHURNERS; i++)
		children[i] = start(use_crowd, (void *)i);
	children[i] = start(use_short, NULL);
	change_shapes(2);
	__atomic_store_n(&churn->end, true, __ATOMIC_RELEASE);
	for (i = 0; i <= CHURNERS; i++)
		is_int(finish(children[i]), 0,
		       "a process that uses a belt while ttl and buckets change exits with 0");
	is_int(churn->wrong, 0,
	       "each entry is found up to its deadline while ttl and buckets change");
	is_int(missing_in_crowd(), 0,
	       "after changes under load every entry is there with its deadline");
	note("%u operations meanwhile", churn->done);
	advance(churn->belt, (CROWD / 2) * HOUR);
	for (number = left = 0; number < CROWD; number++)
		left += number % 10 == 0 || number + 2 > CROWD / 2;
	is_int(info_of(churn->belt).entries, left,
	       "after changes under load an advance expires exactly the entries due");
	close(churn->belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");
	unsigned int i;

	churn = shared_memory(sizeof(*churn));
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		test_field(fields[i].name, fields[i].field);
	test_defaults();
	test_held();
	test_crowd();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
