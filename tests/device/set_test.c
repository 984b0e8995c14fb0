// SPDX-License-Identifier: GPL-2.0-only
/*
 * set_test - changes of the settings of a belt in use.
 *
 * Each setting changes only itself: no entry, no deadline, no event. Changes while others use the
 * belt: tests/history/threads.c and tests/stress/churn.c.
 */
#include <sched.h>
#include <time.h>

#include "events.h"

/* A value for each setting. */
static const struct hashbelt_settings others = {
	.ttl_ms = 77000, .buckets = 11, .policy = HASHBELT_EVICT | HASHBELT_PINNED,
	.mode = 0640, .handler = HASHBELT_REINSERT, .gid = 4242,
	.reasons = HASHBELT_REPORT(HASHBELT_CLEARED), .max_entries = 1234567,
	.max_bytes = 765432100, .max_events = 4321, .grace_ms = 54321,
	.consumers = HASHBELT_CONSUMERS_OWNER, .window_bytes = HASHBELT_WINDOW_MIN,
};

#define SETTING(bit, shown, member) { \
	#member, HASHBELT_SET_##bit, \
	offsetof(struct hashbelt_info, shown), sizeof(((struct hashbelt_info *)0)->shown), \
	offsetof(struct hashbelt_settings, member), sizeof(others.member), \
}

/* The settings: where INFO shows each, and where SET takes it from. */
static const struct {
	const char *name;
	__u32 field;
	size_t shown, shown_size, taken, taken_size;
} fields[] = {
	SETTING(TTL, ttl_ms, ttl_ms), SETTING(BUCKETS, buckets, buckets),
	SETTING(POLICY, policy, policy), SETTING(HANDLER, handler, handler),
	SETTING(REASONS, reasons, reasons), SETTING(MAX_ENTRIES, max_entries, max_entries),
	SETTING(MAX_BYTES, max_bytes, max_bytes), SETTING(MAX_EVENTS, max_events, max_events),
	SETTING(MODE, mode, mode), SETTING(GID, gid, gid), SETTING(GRACE, grace_ms, grace_ms),
	SETTING(CONSUMERS, state, consumers), SETTING(WINDOW, window_bytes, window_bytes),
};

/* The values of all settings. */
struct shape {
	__u64 values[ARRAY_SIZE(fields)];
};

static __u64 value_at(const void *structure, size_t at, size_t size)
{
	const void *p = (const char *)structure + at;

	return size == sizeof(__u64) ? *(const __u64 *)p : *(const __u32 *)p;
}

static struct shape shape_of(int belt)
{
	struct hashbelt_info info = info_of(belt);
	struct shape shape = {};
	unsigned int i;

	info.state = info.state & HASHBELT_OWNER_CONSUMES ? HASHBELT_CONSUMERS_OWNER :
							     HASHBELT_CONSUMERS_READERS;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		shape.values[i] = value_at(&info, fields[i].shown, fields[i].shown_size);
	return shape;
}

static struct shape changed(struct shape shape, __u32 change)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].field & change)
			shape.values[i] = value_at(&others, fields[i].taken, fields[i].taken_size);
	return shape;
}

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
 * The number of entries whose time left, @gone ms after the put, is not the expected one.
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
	is_int(info_of(belt).buckets, 7, "after sets of buckets in a row the last one holds");
	close(belt);
}

static void test_defaults(void)
{
	struct hashbelt_settings settings = others;
	int belt = full_belt(), other = new_belt(0);
	struct shape was, is, want;

	SET(other, .fields = HASHBELT_SET_ALL);
	was = shape_of(other);
	want = changed(was, HASHBELT_SET_ALL);
	settings.fields = HASHBELT_SET_ALL;
	is_errno(set_belt(belt, settings), 0, "set of all fields at once returns 0");
	is = shape_of(belt);
	ok(!memcmp(&is, &want, sizeof(is)), "set of all fields changes each of them");
	SET(belt, .fields = HASHBELT_SET_ALL);
	is = shape_of(belt);
	ok(!memcmp(&is, &was, sizeof(is)) && info_of(belt).ttl_ms == 300000 &&
	   info_of(belt).buckets == 3 && info_of(belt).max_events == HASHBELT_EVENTS_DEFAULT &&
	   info_of(belt).reasons == HASHBELT_REPORT_DEFAULT && !info_of(belt).mode,
	   "set of all fields to 0 gives the belt the default settings");
	close(other);
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
