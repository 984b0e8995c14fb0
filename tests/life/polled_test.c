// SPDX-License-Identifier: GPL-2.0-only
/*
 * polled_test - descriptors that are polled cost an event nothing, and delay no other user's event.
 *
 *	polled_test [DESCRIPTORS]
 *
 * For a guest whose time is the number of instructions that it has executed, with one processor:
 * the worst case, because the kernel's workers then share a processor with each task. Alice polls
 * 100,000 descriptors of Alice's belt. Bob waits for events of Bob's belt.
 *
 * Hostile user: polls 100,000 descriptors; result: an event takes 6500 instructions (7200 with
 * one); another user's poller wakes within 34 us (99 %), and 10 ms at most.
 */
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <time.h>

#include "polled.h"

#define ALICE		1000
#define BOB		1001

#define DESCRIPTORS	100000u
#define SAMPLES		11u	/* events whose cost is measured */
#define BOBS_EVENTS	50u	/* at least */
#define BOBS_MOST	10000u	/* there is room for so many */
#define ALICES_EVENTS	5u	/* meanwhile */
#define PAUSE_NS	2000000u	/* Bob waits at most as long between two events */

/*
 * A task that looked at each descriptor would execute thousands of times the instructions. Ticks of
 * the timer may fall into an event.
 */
#define RATIO_MAX	1.25

/*
 * The kernel's workers serve all users. If the one that wakes Bob has just woken Alice's process,
 * it has used its share of the processor: it waits for Alice's process and for the worker that
 * Alice's next event wakes. The scheduler (CFS) puts a task that wakes up at most 3 ms ahead of the
 * others, and preempts at ticks, each 4 ms: 3 + 3 + 4. A worker that woke Alice's process for all
 * descriptors at a stretch would keep Bob from the processor for 40 ms.
 */
#define MOST_LATE_MS	10

static unsigned int descriptors = DESCRIPTORS;

static __u64 read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A named belt of user @uid, which all users may read and write. */
static int belt_as(uid_t uid, const char *name)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = 0666, .handler = HASHBELT_NOTIFY,
	};
	int belt = open_device(O_RDWR | O_NONBLOCK);

	snprintf(settings.name, sizeof(settings.name), "%s", name);
	setfsuid(uid);
	must(belt, HASHBELT_IOC_CREATE, &settings);
	setfsuid(0);
	must(belt, HASHBELT_IOC_HALT, NULL);
	return belt;
}

/* Counts in @told the descriptors that are told of an event; all are polled again. */
static __u64 cost_of_event(int belt, const struct polled *polled, unsigned int *told)
{
	__u64 before = read_clock(CLOCK_THREAD_CPUTIME_ID), cost;

	put_and_expire(belt, "key", "value");
	cost = read_clock(CLOCK_THREAD_CPUTIME_ID) - before;
	*told += count_told(polled, polled->count);
	discard_events(belt);
	return cost;
}

/* The median of the instructions that a task executes for an event. */
static __u64 median_cost(int belt, const struct polled *polled)
{
	unsigned int i, told = 0;
	__u64 cost[SAMPLES];

	/* The first event finds caches empty. */
	cost_of_event(belt, polled, &told);
	for (i = 0; i < SAMPLES; i++)
		cost[i] = cost_of_event(belt, polled, &told);
	is_int(told, (SAMPLES + 1) * polled->count, "each event tells %u descriptor%s",
	       polled->count, polled->count == 1 ? "" : "s");
	qsort(cost, SAMPLES, sizeof(*cost), compare);
	return cost[SAMPLES / 2];
}

static void test_cost(int belt, struct polled *polled)
{
	__u64 one, many;

	add_polled(polled, "alice", 1);
	one = median_cost(belt, polled);
	add_polled(polled, "alice", descriptors);
	many = median_cost(belt, polled);
	note("an event takes %llu instructions with 1 polled descriptor, %llu with %u", one, many,
	     descriptors);
	ok(many <= one * RATIO_MAX,
	   "an event with %u polled descriptors takes at most %.2f times the instructions of one",
	   descriptors, RATIO_MAX);
}

/**
 * struct storm - Alice's events; shared
 * @belt:	Alice's belt
 * @polled:	its descriptors
 * @told:	descriptors that were told so far
 * @longest_ns:	the longest time until all were told of an event
 */
struct storm {
	int belt;
	struct polled polled;
	unsigned int told;
	__u64 longest_ns;
};

/* Brings one event about after the other, and waits until all descriptors are told. */
static int make_storm(void *arg)
{
	struct storm *storm = arg;
	unsigned int told;
	__u64 began, took;

	for (;;) {
		began = read_clock(CLOCK_MONOTONIC);
		put_and_expire(storm->belt, "key", "value");
		told = count_told(&storm->polled, storm->polled.count);
		took = read_clock(CLOCK_MONOTONIC) - began;
		discard_events(storm->belt);
		if (took > storm->longest_ns)
			storm->longest_ns = took;
		__atomic_fetch_add(&storm->told, told, __ATOMIC_RELEASE);
	}
	return 0;
}

static unsigned int storm_told(const struct storm *storm)
{
	return __atomic_load_n(&storm->told, __ATOMIC_ACQUIRE);
}

static bool has_begun(void *arg)
{
	return storm_told(arg);
}

/**
 * struct course - Bob's events
 * @count:	number of events
 * @told:	number of those that epoll reported
 * @late_ns:	the time from the moment at which each was due to its report; sorted at the end
 */
struct course {
	unsigned int count;
	unsigned int told;
	__u64 late_ns[BOBS_MOST];
};

/* Sleeps for a random time. Return: when it was to end: the caller may get the processor later. */
static __u64 pause_at_random(void)
{
	__u64 due = read_clock(CLOCK_MONOTONIC) + rand() % PAUSE_NS;
	struct timespec until = {
		.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000,
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL))
		;
	return due;
}

/* Makes some events of Bob's, and goes on until @until of Alice's descriptors were told. */
static struct course *make_events(int belt, int epoll, const struct storm *storm,
				  unsigned int until)
{
	struct course *course = calloc(1, sizeof(*course));
	__u64 due;

	while (course->count < BOBS_EVENTS || storm_told(storm) < until) {
		if (course->count == BOBS_MOST)
			bail_out("only %u descriptors are told", storm_told(storm));
		due = pause_at_random();
		put_and_expire(belt, "key", "value");
		course->told += epoll_at_last(epoll) == EPOLLIN;
		course->late_ns[course->count++] = read_clock(CLOCK_MONOTONIC) - due;
		discard_events(belt);
	}
	qsort(course->late_ns, course->count, sizeof(*course->late_ns), compare);
	return course;
}

static void note_course(const char *name, const struct course *course)
{
	note("%s: of %u events of another user half are told within %llu us,", name, course->count,
	     course->late_ns[course->count / 2] / 1000);
	note("99 %% within %llu us, the last after %llu us",
	     course->late_ns[course->count * 99 / 100] / 1000,
	     course->late_ns[course->count - 1] / 1000);
}

static void test_neighbour(int alices, const struct polled *polled)
{
	struct storm *storm = shared_memory(sizeof(*storm));
	int belt = belt_as(BOB, "bob"), epoll = new_epoll(belt, EPOLLIN | EPOLLET);
	struct course *alone, *beside;
	unsigned int told;
	pid_t child;

	alone = make_events(belt, epoll, storm, 0);
	storm->belt = alices;
	storm->polled = *polled;
	child = start(make_storm, storm);
	if (!at_last(has_begun, storm))
		bail_out("there are no events");
	told = storm_told(storm);
	beside = make_events(belt, epoll, storm, told + ALICES_EVENTS * polled->count);
	told = storm_told(storm) - told;
	kill_and_wait(child);
	is_int(alone->told + beside->told, alone->count + beside->count,
	       "each event of another user is told beside %u polled descriptors", polled->count);
	note_course("alone", alone);
	note_course("beside them", beside);
	note("meanwhile %u descriptors are told; to tell the %u of one event takes up to %llu us",
	     told, polled->count, storm->longest_ns / 1000);
	ok(beside->late_ns[beside->count - 1] <= MOST_LATE_MS * 1000000ULL,
	   "an event of another user is told at most %u ms after it, beside %u polled descriptors",
	   MOST_LATE_MS, polled->count);
	free(alone);
	free(beside);
	destroy_belt(belt, "bob");
	close(epoll);
	close(belt);
}

int main(int argc, char **argv)
{
	__u64 before = get_parameter("used_bytes");
	struct polled polled;
	unsigned int i;
	int belt;

	if (argc > 1)
		descriptors = strtoul(argv[1], NULL, 10);
	/* A timer of Bob's is on time. */
	prctl(PR_SET_TIMERSLACK, 1);
	polled = new_polled(descriptors);
	set_exempt(false);
	belt = belt_as(ALICE, "alice");
	test_cost(belt, &polled);
	test_neighbour(belt, &polled);
	for (i = 0; i < polled.count; i++)
		close(polled.fds[i]);
	destroy_belt(belt, "alice");
	close(belt);
	close_polled(&polled);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
