// SPDX-License-Identifier: GPL-2.0-only
/*
 * set_test - changes of the settings of a belt in use.
 *
 * Each setting changes only itself: no entry, no deadline, no event. Changes while others use the
 * belt: tests/history/threads.c and tests/stress/churn.c.
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

#define SPREAD	2000	/* entries in as many buckets, more than the kernel moves in one go */

/* Each set of buckets but the first has to move what is left of the set before. */
static void test_in_a_row(void)
{
	static const __u32 buckets[] = { 1000, 50, 3000, 7 };
	int belt = belt_of((struct hashbelt_settings){
		.ttl_ms = 65535000, .buckets = HASHBELT_BUCKETS_MAX,
	});
	unsigned int i, wrong = 0;
	struct snapshot snapshot;
	char key[16];

	for (i = 0; i < SPREAD; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		put_text(belt, key, "", 1000 + i * 30000);
	}
	for (i = 0; i < ARRAY_SIZE(buckets); i++)
		SET(belt, .fields = HASHBELT_SET_BUCKETS, .buckets = buckets[i]);
	for (i = 0; i < SPREAD; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		snapshot = look(belt, key);
		wrong += snapshot.err || snapshot.ttl_ms != 1000 + i * 30000;
	}
	is_int(wrong, 0, "sets of buckets in a row leave all entries and deadlines");
	is_int(shape_of(belt).buckets, 7, "after sets of buckets in a row the last one holds");
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

int main(void)
{
	__u64 before = get_parameter("used_bytes");
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		test_field(fields[i].name, fields[i].field);
	test_in_a_row();
	test_defaults();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
