// SPDX-License-Identifier: GPL-2.0-only
/*
 * lag_test - expired entries are handed over in time.
 *
 * For a guest whose time is the number of instructions that it has executed. So the
 * times do not depend on the load of the host, and repeat exactly.
 */
#include "events.h"

#define ENTRIES		1000000u
#define DUE		1000u
#define INTERVAL_MS	100
#define LAG_MAX_NS	((INTERVAL_MS + 100) * 1000000ULL)

static int running_belt(__u32 handler)
{
	struct hashbelt_settings settings = {
		.ttl_ms = 1000, .buckets = 11, .handler = handler,
	};
	int belt = open_device(O_RDWR | O_NONBLOCK);

	must(belt, HASHBELT_IOC_CREATE, &settings);
	return belt;
}

static bool is_drained(void *arg)
{
	return !info_of(*(int *)arg).entries;
}

/* Measures the time from the deadline of a million entries to the last one's removal. */
static void test_drain(__u32 handler, const char *what)
{
	int belt = running_belt(handler);
	__u64 deadline, took;

	must(belt, HASHBELT_IOC_HALT, NULL);
	put_numbers(belt, 0, ENTRIES, 0);
	deadline = info_of(belt).now_ns + 1000000000ULL;
	must(belt, HASHBELT_IOC_RESUME, NULL);
	at_last(is_drained, &belt);
	took = info_of(belt).now_ns - deadline;
	ok(took <= (1000 + INTERVAL_MS) * 1000000ULL && is_drained(&belt),
	   "a million entries are %s within a second and an interval", what);
	note("%llu ms after their deadline", took / 1000000);
	close(belt);
}

/* Counts the expired entries that are reported in time, beside a million not due. */
static void test_lag(void)
{
	int belt = running_belt(HASHBELT_NOTIFY);
	struct stream stream = stream_of(belt, 65536);
	const struct hashbelt_event *event;
	__u64 handed, seen, worst_handed = 0, worst_seen = 0;
	unsigned int i, good = 0;

	put_numbers(belt, 0, ENTRIES, 3600000);
	is_int(info_of(belt).interval_ns, INTERVAL_MS * 1000000ULL,
	       "a belt with a ttl of 1 s and 11 buckets has an interval of 100 ms");
	for (i = 0; i < DUE; i++)
		put_numbers(belt, ENTRIES + i, 1, 500 + i);
	while (stream.count < DUE && (stream.at < stream.len || readable_at_last(belt))) {
		event = next_event(&stream);
		if (!event)
			break;
		handed = event->handed_ns - event->deadline_ns;
		seen = info_of(belt).now_ns - event->deadline_ns;
		good += handed <= LAG_MAX_NS && seen <= LAG_MAX_NS;
		worst_handed = handed > worst_handed ? handed : worst_handed;
		worst_seen = seen > worst_seen ? seen : worst_seen;
	}
	is_int(good, DUE,
	       "1000 expiries beside a million entries are read within interval + 100 ms");
	note("the last was handed over %llu us after its deadline, read %llu us after it",
	     worst_handed / 1000, worst_seen / 1000);
	is_int(info_of(belt).entries, ENTRIES,
	       "a million entries that are not due stay while 1000 others expire");
	free(stream.buffer);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes"), limit = get_parameter("max_bytes");

	set_number("max_bytes", 1ULL << 40);
	test_drain(HASHBELT_DROP, "dropped");
	test_drain(HASHBELT_NOTIFY, "reported");
	test_lag();
	set_number("max_bytes", limit);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
