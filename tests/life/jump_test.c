// SPDX-License-Identifier: GPL-2.0-only
/*
 * jump_test - the time of day jumps, which does not affect belts.
 *
 * It is set forwards and backwards while belts run. Needs the superuser, and a guest whose time is
 * the number of instructions that it has executed: so nothing but the module can cause a delay.
 * Jumps of belt time, and all geometries: tests/kunit/wheel_test.c, set_test.c and clock_test.c.
 */
#define _GNU_SOURCE
#include <sys/time.h>
#include <time.h>

#include "events.h"
#include "lock.h"

#define SECOND		1000LL
#define HOUR		(3600 * SECOND)
#define YEAR		(365 * 24 * HOUR)

/* Bound on the delay of expiry: an interval of the running belts, and 100 ms. */
#define MOMENT_MS	200

/* The time of day */

static void set_day(__s64 ms)
{
	struct timeval time = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	if (settimeofday(&time, NULL))
		bail_out("settimeofday: %s", strerror(errno));
}

static const struct {
	const char *what;
	__s64 by;
} days[] = {
	{ "an hour on", HOUR },
	{ "an hour back", -HOUR },
	{ "thirty years on", 30 * YEAR },
	{ "forty years back", -40 * YEAR },
};

/* A running belt that reports, with one entry that is due soon and one that is not. */
static int start_belt(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);

	SET(belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
	    .ttl_ms = 1000, .buckets = 11);
	put_text(belt, "short", "value", 500);
	put_text(belt, "long", "value", HOUR / 2);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	return belt;
}

/* Checks both entries of start_belt() after the time of day was set. */
static void check_belt(int belt, const char *what)
{
	struct stream stream = stream_of(belt, 65536);
	const struct hashbelt_event *event = NULL;
	struct snapshot snapshot = look(belt, "long");

	ok(!snapshot.err && snapshot.ttl_ms <= HOUR / 2 && snapshot.ttl_ms + MOMENT_MS > HOUR / 2,
	   "clock set %s: an entry of half an hour keeps its time left", what);
	if (readable_at_last(belt))
		event = next_event(&stream);
	ok(event && has_key(event, "short"), "clock set %s: an entry of 500 ms is reported", what);
	ok(event && event->handed_ns >= event->deadline_ns &&
	   event->handed_ns < event->deadline_ns + MOMENT_MS * 1000000ULL,
	   "clock set %s: an entry of 500 ms is reported within 200 ms", what);
	free(stream.buffer);
}

static void test_day(const char *what, __s64 by)
{
	struct lock_call lock_call = { .belt = "locks", .key = "key", .owner = "waiter",
				       .wait_ms = 500 };
	int belt = start_belt(), locks = named_locks("locks");
	__s64 clock = clock_ms(CLOCK_BOOTTIME), time = info_of(belt).now_ns / 1000000;
	struct answer answer;
	struct locker locker;
	__u64 since;

	must_take(locks, "key", "owner", TTL);
	must(locks, HASHBELT_IOC_RESUME, NULL);
	since = info_of(locks).now_ns;
	locker = launch_asleep(lock_call);
	set_day(clock_ms(CLOCK_REALTIME) + by);
	time = info_of(belt).now_ns / 1000000 - time;
	clock = clock_ms(CLOCK_BOOTTIME) - clock;
	ok(time >= 0 && time < clock + MOMENT_MS, "clock set %s: belt time does not jump", what);
	check_belt(belt, what);
	answer = answer_of(&locker);
	is_errno(answer.err, ETIMEDOUT, "clock set %s: a waiter for a lock gets ETIMEDOUT", what);
	ok(answer.now_ns >= since + 500 * 1000000ULL &&
	   answer.now_ns < since + (500 + MOMENT_MS) * 1000000ULL,
	   "clock set %s: a waiter with wait_ms 500 ends within 500 to 700 ms", what);
	end_locker(&locker);
	end_locks(locks, "locks");
	close(belt);
}

static void test_days(void)
{
	__s64 offset = clock_ms(CLOCK_REALTIME) - clock_ms(CLOCK_BOOTTIME);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(days); i++)
		test_day(days[i].what, days[i].by);
	set_day(clock_ms(CLOCK_BOOTTIME) + offset);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_days();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
