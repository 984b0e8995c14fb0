// SPDX-License-Identifier: GPL-2.0-only
/*
 * jump_test - the time of day jumps, which does not affect belts; and belt time jumps.
 *
 * The time of day is set forwards and backwards while belts run. Belt time is advanced at
 * once by hours, by years, and to its end, with entries on all levels of the wheel. Needs
 * the superuser, and a guest whose time is the number of instructions that it has
 * executed: so nothing but the module can cause a delay.
 */
#define _GNU_SOURCE
#include <sys/time.h>
#include <time.h>

#include "events.h"
#include "lock.h"

#define SECOND		1000LL
#define HOUR		(3600 * SECOND)
#define DAY		(24 * HOUR)
#define YEAR		(365 * DAY)

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

/* Belt time */

/* Entries with a ttl of each power of two, one less, and one more; and without a ttl. */
#define BITS	42
#define LIVES	(3 * BITS + 1)

static __u64 life_of(unsigned int number)
{
	if (number == LIVES - 1)
		return HASHBELT_TTL_NEVER;
	return (1ULL << (number / 3 + 1)) - 1 + number % 3;
}

/* The last power of two plus one is more than the greatest ttl. */
static bool can_live(unsigned int number)
{
	return life_of(number) == HASHBELT_TTL_NEVER ||
	       life_of(number) <= HASHBELT_TTL_MAX_MS;
}

static void put_lives(int belt)
{
	unsigned int i;
	char key[16];

	for (i = 0; i < LIVES; i++) {
		snprintf(key, sizeof(key), "%u", i);
		if (can_live(i))
			put_text(belt, key, "value", life_of(i));
	}
}

/**
 * struct jump - a belt whose time is moved
 * @belt:	the belt
 * @events:	its events
 * @base_ns:	belt time when all entries were put
 * @at_ms:	milliseconds since then
 * @interval_ms: its interval, rounded up
 * @told:	number of events of each entry
 * @wrong:	number of wrong entries and events
 */
struct jump {
	int belt;
	struct stream events;
	__u64 base_ns;
	__u64 at_ms;
	__u64 interval_ms;
	unsigned int told[LIVES];
	unsigned int wrong;
};

static void read_told(struct jump *jump)
{
	const struct hashbelt_event *event;
	char text[16] = "";
	unsigned int i;

	while ((event = next_event(&jump->events))) {
		snprintf(text, sizeof(text), "%.*s", (int)event->key_len, event_key(event));
		i = strtoul(text, NULL, 10);
		jump->told[i]++;
		jump->wrong += event->deadline_ns != jump->base_ns + life_of(i) * 1000000 ||
			       event->handed_ns < event->deadline_ns;
	}
}

/*
 * Checks that each entry is found with the time that it has left before its deadline, is
 * not found from then on, and is reported once within an interval.
 */
static void check_lives(struct jump *jump)
{
	struct snapshot snapshot;
	unsigned int i;
	char key[16];
	__u64 life;

	read_told(jump);
	for (i = 0; i < LIVES; i++) {
		if (!can_live(i))
			continue;
		snprintf(key, sizeof(key), "%u", i);
		snapshot = look(jump->belt, key);
		life = life_of(i);
		if (life == HASHBELT_TTL_NEVER)
			jump->wrong += snapshot.err || snapshot.ttl_ms != life || jump->told[i];
		else if (life > jump->at_ms)
			jump->wrong += snapshot.err || snapshot.ttl_ms != life - jump->at_ms ||
				       jump->told[i];
		else if (life + jump->interval_ms <= jump->at_ms)
			jump->wrong += snapshot.err != -ENOENT || jump->told[i] != 1;
		else
			jump->wrong += snapshot.err != -ENOENT || jump->told[i] > 1;
	}
}

static struct jump start_jump(__u64 ttl_ms, __u32 buckets)
{
	struct jump jump = { .belt = reporting_belt(HASHBELT_NOTIFY, 0) };

	SET(jump.belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
	    .ttl_ms = ttl_ms, .buckets = buckets);
	jump.events = stream_of(jump.belt, 65536);
	jump.interval_ms = (info_of(jump.belt).interval_ns + 999999) / 1000000;
	jump.base_ns = info_of(jump.belt).now_ns;
	put_lives(jump.belt);
	return jump;
}

static void end_jump(struct jump *jump)
{
	free(jump->events.buffer);
	close(jump->belt);
}

static void move_to(struct jump *jump, __u64 ms)
{
	advance(jump->belt, ms - jump->at_ms);
	jump->at_ms = ms;
	check_lives(jump);
}

static const struct {
	const char *what;
	__u64 to;
} jumps[] = {
	{ "to an hour", HOUR },
	{ "to a day", DAY },
	{ "to thirty days", 30 * DAY },
	{ "to a year", YEAR },
	{ "to ten years", 10 * YEAR },
	{ "to a hundred years", 100 * YEAR },
	{ "to the end", HASHBELT_TTL_MAX_MS },
};

static const struct {
	__u64 ttl_ms;
	__u32 buckets;
	__u32 levels;
} geometries[] = {
	{ 1, 2, 8 }, { 10000, 101, 6 }, { 3600000, 61, 5 }, { 65535, 65536, 3 },
};

static void test_jumps(__u64 ttl_ms, __u32 buckets, __u32 levels)
{
	struct jump jump = start_jump(ttl_ms, buckets);
	unsigned int i;

	is_int(info_of(jump.belt).levels, levels,
	       "%u buckets for %llu ms: entries of 1 ms to 139 years use all levels",
	       buckets, ttl_ms);
	for (i = 0; i < ARRAY_SIZE(jumps); i++) {
		jump.wrong = 0;
		move_to(&jump, jumps[i].to);
		is_int(jump.wrong, 0,
		       "advance %s: each entry is found, or is gone and reported once",
		       jumps[i].what);
	}
	end_jump(&jump);
	jump = start_jump(ttl_ms, buckets);
	move_to(&jump, HASHBELT_TTL_MAX_MS);
	move_to(&jump, HASHBELT_TTL_MAX_MS + jump.interval_ms);
	is_int(jump.wrong, 0, "advance by 139 years at once: each entry is reported once");
	is_int(info_of(jump.belt).entries, 1,
	       "advance by 139 years at once leaves the entry without a deadline");
	end_jump(&jump);
}

/* Belt time does not move beyond its end. */
static void test_end(void)
{
	int belt = new_belt(0);
	__u64 ms = HASHBELT_TTL_MAX_MS, now;

	put_text(belt, "key", "value", HASHBELT_TTL_MAX_MS);
	put_text(belt, "never", "value", HASHBELT_TTL_NEVER);
	advance(belt, ms);
	now = info_of(belt).now_ns;
	is_errno(call(belt, HASHBELT_IOC_ADVANCE, &ms), EOVERFLOW,
		 "advance beyond the end of belt time returns EOVERFLOW");
	is_int(info_of(belt).now_ns, now,
	       "an advance with EOVERFLOW leaves belt time unchanged");
	put_text(belt, "key", "other", 1000);
	ok(holds_text(belt, "key", "other"), "put and get work after 139 years");
	advance(belt, 1000);
	is_errno(look(belt, "key").err, ENOENT, "an entry expires after 139 years");
	ok(holds_text(belt, "never", "value"),
	   "an entry without a deadline is found after 139 years");
	close(belt);
}

/* The smallest and the greatest settings */

static void test_geometry(__u64 ttl_ms, const char *what, __u32 buckets)
{
	struct hashbelt_settings settings = {
		.ttl_ms = ttl_ms, .buckets = buckets, .handler = HASHBELT_NOTIFY,
	};
	int belt = belt_of(settings);
	__u64 interval_ms = info_of(belt).interval_ns / 1000000 + 1;

	set_blocking(belt, false);
	put_text(belt, "key", "value", 0);
	advance(belt, ttl_ms - 1);
	ok(holds_text(belt, "key", "value"),
	   "%u buckets for %s: an entry is found 1 ms before its deadline",
	   buckets, what);
	advance(belt, 1);
	is_errno(look(belt, "key").err, ENOENT,
		 "%u buckets for %s: get returns ENOENT at the deadline", buckets, what);
	/* Two buckets for a hundred years: belt time ends before the next interval does. */
	if (ttl_ms + interval_ms <= HASHBELT_TTL_MAX_MS)
		advance(belt, interval_ms);
	else
		on_key(belt, HASHBELT_IOC_EXPIRE, "key");
	is_int(discard_events(belt), 1, "%u buckets for %s: the expired entry is reported once",
	       buckets, what);
	close(belt);
}

static bool has_expired(void *arg)
{
	return counter(*(int *)arg, HASHBELT_STAT_EXPIRED) == 1000;
}

/* The worker expires the entries while belt time runs. */
static void test_millisecond(__u32 buckets)
{
	struct hashbelt_settings settings = { .ttl_ms = 1, .buckets = buckets };
	int belt = belt_of(settings);

	put_numbers(belt, 0, 1000, 0);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	ok(at_last(has_expired, &belt) && !info_of(belt).entries,
	   "%u buckets for a millisecond: 1000 entries expire", buckets);
	/* Lags are counted by powers of two: at most an interval of 1 ms and 100 ms. */
	is_int(later_than(belt, 7), 0,
	       "%u buckets for a millisecond: no entry expires later than 128 ms", buckets);
	close(belt);
}

static void test_refused(void)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_TTL, .ttl_ms = HASHBELT_TTL_MAX_MS + 1,
	};
	struct hashbelt_item item = text_item("key", "value");
	int belt = new_belt(0);

	is_errno(set_belt(belt, settings), EINVAL, "set of a ttl of 2^42 + 1 ms returns EINVAL");
	item.ttl_ms = HASHBELT_TTL_MAX_MS + 1;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EINVAL,
		 "put with a ttl of 2^42 + 1 ms returns EINVAL");
	settings = (struct hashbelt_settings){ .fields = HASHBELT_SET_BUCKETS, .buckets = 1 };
	is_errno(set_belt(belt, settings), EINVAL, "set of 1 bucket returns EINVAL");
	settings.buckets = HASHBELT_BUCKETS_MAX + 1;
	is_errno(set_belt(belt, settings), EINVAL, "set of 65537 buckets returns EINVAL");
	close(belt);
}

static void test_geometries(void)
{
	static const __u32 buckets[] = { HASHBELT_BUCKETS_MIN, HASHBELT_BUCKETS_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(buckets); i++) {
		test_millisecond(buckets[i]);
		test_geometry(1, "a millisecond", buckets[i]);
		test_geometry(100 * YEAR, "a hundred years", buckets[i]);
		test_geometry(HASHBELT_TTL_MAX_MS, "139 years", buckets[i]);
	}
	test_refused();
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");
	unsigned int i;

	alarm(300);
	test_days();
	for (i = 0; i < ARRAY_SIZE(geometries); i++)
		test_jumps(geometries[i].ttl_ms, geometries[i].buckets,
			   geometries[i].levels);
	test_end();
	test_geometries();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
