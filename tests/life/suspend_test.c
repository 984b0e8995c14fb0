// SPDX-License-Identifier: GPL-2.0-only
/*
 * suspend_test - belt time goes on while the machine is suspended.
 *
 * Uses the kernel's own tests of suspend. "core" stops all processes, devices, the second
 * processor and timekeeping, and starts them again seconds later. As after a real suspend,
 * CLOCK_MONOTONIC has stood still, and CLOCK_BOOTTIME has gone on by whole seconds of the
 * real-time clock. "freezer" stops only the processes. Needs the superuser.
 */
#include <time.h>

#include "events.h"
#include "lock.h"

#define SHORT		100	/* entries that are due during suspend */
#define HOUR		3600000ULL

/* Longer than any delay expected here, and shorter than the suspend. */
#define MOMENT_MS	1500
#define INTERVAL_MS	100

#define SUSPEND_DELAY	"/sys/module/suspend/parameters/pm_test_delay"

/**
 * struct sleep - a way to suspend
 * @how:	its name
 * @seconds:	duration
 * @due_ms:	time-to-live of entries that are due during suspend
 */
static const struct sleep {
	const char *how;
	const char *seconds;
	__u64 due_ms;
} sleeps[] = {
	{ "core", "5", 2000 },
	{ "freezer", "1", 200 },
};

static void go_to_sleep(const struct sleep *sleep)
{
	if (!write_line(SUSPEND_DELAY, sleep->seconds) ||
	    !write_line("/sys/power/pm_test", sleep->how) ||
	    !write_line("/sys/power/state", "mem") ||
	    !write_line("/sys/power/pm_test", "none"))
		bail_out("cannot suspend by %s: %s", sleep->how, strerror(errno));
}

static bool about(__s64 got, __s64 want)
{
	if (got >= want - MOMENT_MS && got <= want + MOMENT_MS)
		return true;
	note("got %lld ms, expected about %lld", got, want);
	return false;
}

/* A halted belt that reports expiry, with SHORT entries that are due soon and one that is not. */
static int fill_belt(__u64 due_ms)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	char key[16];
	unsigned int i;

	SET(belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
	    .ttl_ms = 1000, .buckets = 11);
	put_text(belt, "long", "value", HOUR);
	for (i = 0; i < SHORT; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_text(belt, key, "value", due_ms);
	}
	return belt;
}

static unsigned int count_short(int belt)
{
	unsigned int i, there = 0;
	char key[16];

	for (i = 0; i < SHORT; i++) {
		snprintf(key, sizeof(key), "%u", i);
		there += is_there(belt, key);
	}
	return there;
}

/* Checks that the worker reported the due entries, not early, and soon after @woke_ns. */
static void check_told(int belt, const char *how, __u64 woke_ns)
{
	__u64 latest = woke_ns + (INTERVAL_MS + MOMENT_MS) * 1000000ULL;
	struct stream stream = stream_of(belt, 65536);
	const struct hashbelt_event *event;
	unsigned int early = 0, late = 0;

	while (stream.count < SHORT && (stream.at < stream.len || readable_at_last(belt))) {
		event = next_event(&stream);
		if (!event)
			break;
		early += event->handed_ns < event->deadline_ns;
		late += event->handed_ns > latest;
	}
	is_int(stream.count, SHORT,
	       "%s: each entry that was due during suspend is reported after it", how);
	is_int(early, 0, "%s: no entry is reported before its deadline", how);
	is_int(late, 0, "%s: no entry is reported later than 1.6 s after suspend", how);
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), SHORT,
	       "%s: only the entries that were due are counted as expired", how);
	free(stream.buffer);
}

static void test_entries(const struct sleep *sleep)
{
	int belt = fill_belt(sleep->due_ms);
	__s64 boottime, monotonic, time, slept;
	__u64 woke_ns;

	is_int(count_short(belt), SHORT, "%s: all entries are found before suspend", sleep->how);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	boottime = clock_ms(CLOCK_BOOTTIME);
	monotonic = clock_ms(CLOCK_MONOTONIC);
	time = info_of(belt).now_ns / 1000000;
	go_to_sleep(sleep);
	woke_ns = info_of(belt).now_ns;
	is_int(count_short(belt), 0, "%s: no entry that was due during suspend is found after it",
	       sleep->how);
	boottime = clock_ms(CLOCK_BOOTTIME) - boottime;
	slept = boottime - (clock_ms(CLOCK_MONOTONIC) - monotonic);
	note("%s: %lld ms have passed, %lld of them in suspend", sleep->how, boottime,
	     slept);
	if (!strcmp(sleep->how, "core"))
		ok(slept > (__s64)sleep->due_ms,
		   "core: CLOCK_MONOTONIC stands still during suspend");
	ok(about(info_of(belt).now_ns / 1000000 - time, boottime) &&
	   info_of(belt).now_ns / 1000000 - time >= sleep->due_ms,
	   "%s: belt time advances like CLOCK_BOOTTIME during suspend", sleep->how);
	ok(about(look(belt, "long").ttl_ms, HOUR - boottime) &&
	   look(belt, "long").ttl_ms <= HOUR - sleep->due_ms,
	   "%s: an entry of an hour is found after suspend with its time left", sleep->how);
	check_told(belt, sleep->how, woke_ns);
	close(belt);
}

/* One task waits for a lock whose lease ends in suspend, one for another lock, one for an event. */
static void test_waiters(const struct sleep *sleep)
{
	struct lock_call lock_call = {
		.belt = "locks", .owner = "waiter", .ttl_ms = HOUR,
		.wait_ms = HASHBELT_TTL_NEVER,
	};
	int belt = reporting_belt(HASHBELT_NOTIFY, 0), locks = named_locks("locks");
	struct locker heir, patient;
	struct waiter reader;

	SET(locks, .fields = HASHBELT_SET_TTL, .ttl_ms = HOUR);
	must_take(locks, "short", "owner", sleep->due_ms);
	must_take(locks, "long", "owner", HOUR);
	lock_call.key = "short";
	heir = launch_asleep(lock_call);
	lock_call.key = "long";
	patient = launch_asleep(lock_call);
	reader = start_waiter(belt, 0);
	must(locks, HASHBELT_IOC_RESUME, NULL);
	go_to_sleep(sleep);
	is_errno(answer_of(&heir), 0,
		 "%s: a waiter gets a lock whose lease ends during suspend", sleep->how);
	ok(still_waits(&patient),
	   "%s: a waiter for a lock with a running lease waits after suspend", sleep->how);
	unlock(locks, "long", "owner");
	is_errno(answer_of(&patient), 0,
		 "%s: unlock after suspend grants the lock to its waiter", sleep->how);
	put_and_expire(belt, "key", "value");
	ok(waiter_result(&reader) > 0,
	   "%s: a reader that waits during suspend gets an event after it", sleep->how);
	end_locker(&heir);
	end_locker(&patient);
	end_locks(locks, "locks");
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");
	unsigned int i;

	if (!write_line("/sys/power/pm_test", "none")) {
		printf("1..0 # SKIP this kernel cannot try to suspend: %s\n", strerror(errno));
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(sleeps); i++) {
		test_entries(&sleeps[i]);
		test_waiters(&sleeps[i]);
	}
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
