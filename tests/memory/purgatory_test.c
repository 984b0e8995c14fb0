// SPDX-License-Identifier: GPL-2.0-only
/*
 * purgatory_test - a completed request takes no memory and no time any more.
 *
 * A hundred thousand requests with a timeout of an hour are completed early, at a steady
 * rate: 1000 wait at any time. A completed request is not kept until its timeout, and
 * nothing has to purge it. So memory stays flat, and the last requests cost what the
 * first ones did. In a guest whose time is the number of instructions that it has
 * executed, these costs are exact.
 */
#define _GNU_SOURCE
#include <time.h>

#include "request.h"

#define REQUESTS	100000u
#define WAITING		1000u	/* at any time */
#define TENTH		(REQUESTS / 10)
#define KEYS		4u	/* of each request */
#define HOUR_MS		3600000ULL

/* The ways to end a request, used in turn. */
enum end { BY_PUT, BY_COMPLETE, BY_CANCEL, ENDS };

/**
 * struct course - measurements while requests come and go
 * @cost:	nanoseconds for each request: register one, end one, read its event
 * @most_used:	greatest used_bytes of the module, from WAITING requests on
 * @most_bytes:	greatest size of the belt, bytes
 * @most_waiting: greatest number of requests that waited
 * @wrong:	number of requests that ended wrongly, or whose event was wrong
 */
static struct course {
	__u32 cost[REQUESTS];
	__u64 most_used;
	__u64 most_bytes;
	__u64 most_waiting;
	unsigned int wrong;
} course;

static void ask_number(int belt, unsigned int number, bool shared)
{
	char text[KEYS][24];
	const char *keys[KEYS];
	unsigned int i;

	for (i = 0; i < KEYS; i++) {
		/* Shared keys: each key's list has many requests at any time. */
		snprintf(text[i], sizeof(text[i]), "%u of %u", i, number);
		if (shared && i)
			snprintf(text[i], sizeof(text[i]), "shared %u", i);
		keys[i] = text[i];
	}
	if (ask_keys(belt, number, HOUR_MS + number % 1000, keys, KEYS))
		bail_out("no request %u", number);
}

/* Ends a request, by its first key or by a cancel, and reads its event. */
static void end_number(int belt, unsigned int number)
{
	enum end end = number % ENDS;
	char key[24];

	snprintf(key, sizeof(key), "0 of %u", number);
	if (end == BY_CANCEL) {
		course.wrong += cancel(belt, number) != 0;
		return;
	}
	if (end == BY_PUT)
		put_text(belt, key, "value", 0);
	else
		course.wrong += complete(belt, key) != 1;
	course.wrong += !is_next_completion(belt, number, end == BY_PUT ?
					    HASHBELT_BY_PUT : HASHBELT_BY_COMPLETE, key);
	if (end == BY_PUT)
		on_key(belt, HASHBELT_IOC_REMOVE, key);
}

static void measure(int belt, unsigned int number)
{
	struct hashbelt_info info;
	__u64 used;

	if (number % 100 || number < WAITING)
		return;
	info = info_of(belt);
	used = get_parameter("used_bytes");
	if (used > course.most_used)
		course.most_used = used;
	if (info.bytes > course.most_bytes)
		course.most_bytes = info.bytes;
	if (info.requests > course.most_waiting)
		course.most_waiting = info.requests;
}

static int compare(const void *a, const void *b)
{
	const __u32 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median cost of a tenth of the requests. */
static __u32 median(unsigned int tenth)
{
	__u32 *costs = course.cost + tenth * TENTH;

	qsort(costs, TENTH, sizeof(*costs), compare);
	return costs[TENTH / 2];
}

/* The mean cost of a tenth: it shows work that is done now and then for all requests. */
static __u32 mean(unsigned int tenth)
{
	__u64 sum = 0;
	unsigned int i;

	for (i = tenth * TENTH; i < (tenth + 1) * TENTH; i++)
		sum += course.cost[i];
	return sum / TENTH;
}

/* Return: the belt's info when WAITING requests waited for the first time. */
static struct hashbelt_info run_course(int belt, bool shared, __u64 *used)
{
	struct hashbelt_info full = {};
	unsigned int i;
	__u64 begin;

	memset(&course, 0, sizeof(course));
	for (i = 0; i < REQUESTS; i++) {
		begin = wall_ns();
		ask_number(belt, i, shared);
		if (i >= WAITING)
			end_number(belt, i - WAITING);
		course.cost[i] = wall_ns() - begin;
		if (i == WAITING - 1) {
			full = info_of(belt);
			*used = get_parameter("used_bytes");
		}
		/* Belt time advances by less than an hour in all, so no request times out. */
		if (i % 100 == 0)
			advance(belt, 1000);
		measure(belt, i);
	}
	for (i = REQUESTS - WAITING; i < REQUESTS; i++)
		end_number(belt, i);
	return full;
}

static void test_course(bool shared, const char *what)
{
	__u64 before = get_parameter("used_bytes"), used = 0;
	int belt = asking_belt((struct hashbelt_settings){});
	__u64 empty = info_of(belt).bytes, held = get_parameter("used_bytes");
	struct hashbelt_info full = run_course(belt, shared, &used);
	__u32 first, last;

	is_int(course.wrong, 0, "%s: each of 100,000 requests is completed or cancelled once",
	       what);
	is_int(course.most_waiting, WAITING, "%s: at most 1000 requests wait at a time", what);
	/* Twice as much is allowed: some memory is freed after a grace period. */
	ok(course.most_bytes - empty <= 2 * (full.bytes - empty),
	   "%s: bytes of the belt do not grow with completed requests", what);
	ok(course.most_used - held <= 2 * (used - held) + MIB / 2,
	   "%s: used_bytes of the module do not grow with completed requests", what);
	note("belt: %llu bytes empty, %llu with 1000 requests, most %llu", empty, full.bytes,
	     course.most_bytes);
	note("module: %llu bytes empty, %llu with 1000 requests, most %llu", held, used,
	     course.most_used);
	first = median(0);
	last = median(9);
	ok(last <= first + first / 4,
	   "%s: median cost of the last tenth is at most 5/4 of the first", what);
	note("median of the first tenth %u ns, of the last %u ns", first, last);
	first = mean(0);
	last = mean(9);
	ok(last <= first + first / 2,
	   "%s: mean cost of the last tenth is at most 3/2 of the first", what);
	note("mean of the first tenth %u ns, of the last %u ns", first, last);
	ok(!waiting(belt) && !info_of(belt).entries,
	   "%s: no request and no entry is left when all are completed", what);
	close(belt);
	used_at_last(before);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_course(false, "own keys");
	test_course(true, "shared keys");
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
