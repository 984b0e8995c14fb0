// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll_test - many descriptors that are polled cost an event nothing, and each is told.
 *
 *	poll_test [DESCRIPTORS]
 *
 * The cost of an event is the processor time of the task that brings it about, so the load of the
 * machine does not matter.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "events.h"

#define TESTS		20

#define IDLE_MAX	20000
#define SAMPLES		51u

static unsigned int idle;

/* The cost of an event */

static unsigned long long processor_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000ULL + used.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	unsigned long long x = *(const unsigned long long *)a;
	unsigned long long y = *(const unsigned long long *)b;

	return x < y ? -1 : x > y;
}

/* The median of the costs of an event, in nanoseconds. */
static unsigned long long event_cost(int belt)
{
	unsigned long long cost[SAMPLES], before;
	unsigned int i;

	for (i = 0; i < SAMPLES; i++) {
		before = processor_ns();
		put_and_expire(belt, "key", "value");
		cost[i] = processor_ns() - before;
	}
	note("the first event costs %llu ns", cost[0]);
	qsort(cost, SAMPLES, sizeof(*cost), compare);
	note("the median is %llu ns, the most %llu ns", cost[SAMPLES / 2], cost[SAMPLES - 1]);
	return cost[SAMPLES / 2];
}

/* The number of descriptors of an edge-triggered epoll that are told; waits for @want. */
static unsigned int count_told(int epoll, unsigned int want)
{
	static struct epoll_event events[1000];
	bool *is_told = calloc(idle, sizeof(*is_told));
	unsigned int told = 0;
	int n, i;

	while (told < want && (n = epoll_wait(epoll, events, 1000, 20000)) > 0) {
		for (i = 0; i < n; i++) {
			told += !is_told[events[i].data.u32];
			is_told[events[i].data.u32] = true;
		}
	}
	free(is_told);
	return told;
}

static void add_idle(int epoll, int *fds, unsigned int from, unsigned int to)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	unsigned int i;

	for (i = from; i < to; i++) {
		fds[i] = open_named("idle");
		event.data.u32 = i;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event))
			bail_out("epoll_ctl: %s", strerror(errno));
	}
}

static void test_idle(void)
{
	struct rlimit files = { .rlim_cur = idle + 100, .rlim_max = idle + 100 };
	int belt = named_belt("idle", 0), epoll = epoll_create1(EPOLL_CLOEXEC);
	int *fds = calloc(idle, sizeof(*fds));
	unsigned long long one, many;
	unsigned int i;

	if (!fds || epoll < 0 || setrlimit(RLIMIT_NOFILE, &files))
		bail_out("no room for %u descriptors: %s", idle, strerror(errno));
	add_idle(epoll, fds, 0, 1);
	event_cost(belt);
	is_int(count_told(epoll, 1), 1, "an event tells a descriptor in an epoll set");
	one = event_cost(belt);
	is_int(count_told(epoll, 1), 1, "a further event tells it again");
	discard_events(belt);
	add_idle(epoll, fds, 1, idle);
	many = event_cost(belt);
	ok(many < 2 * one,
	   "an event costs less than twice as much with %u polled descriptors as with one", idle);
	is_int(count_told(epoll, idle), idle, "an event tells all %u descriptors", idle);
	discard_events(belt);
	put_and_expire(belt, "key", "value");
	is_int(count_told(epoll, idle), idle, "a further event tells all %u descriptors", idle);
	for (i = 0; i < idle; i += 2)
		close(fds[i]);
	put_and_expire(belt, "key", "value");
	is_int(count_told(epoll, idle / 2), idle / 2,
	       "an event tells the other half when half of the descriptors are closed");
	destroy_belt(belt, "idle");
	is_int(count_told(epoll, idle / 2), idle / 2, "the end of the belt tells them all");
	for (i = 1; i < idle; i += 2)
		close(fds[i]);
	free(fds);
	close(epoll);
	close(belt);
}

/* A descriptor that is bound to a belt while it is in an epoll set */

static void test_bound(__u32 flags, const char *how)
{
	int fd, belt, epoll, ended = EPOLLERR | EPOLLHUP;

	belt = named_belt("late", 0);
	if (destroy_belt(belt, HASHBELT_DEFAULT_BELT))
		bail_out("destroy");
	fd = open_device(O_RDWR | O_NONBLOCK);
	epoll = new_epoll(fd, EPOLLIN | flags);
	is_int(epoll_now(epoll), ended, "%s epoll reports a descriptor without a belt", how);
	if (flags & EPOLLET)
		is_int(epoll_now(epoll), 0, "%s epoll reports it once", how);
	if (open_belt(fd, "late"))
		bail_out("open");
	put_and_expire(belt, "key", "value");
	is_int(epoll_at_last(epoll), EPOLLIN,
	       "%s epoll reports an event of the belt to which the descriptor was bound", how);
	discard_events(belt);
	is_int(epoll_now(epoll), 0, "%s epoll reports nothing when the event was read", how);
	put_and_expire(belt, "key", "value");
	is_int(epoll_at_last(epoll), EPOLLIN, "%s epoll reports the next event", how);
	if (create_belt(fd, HASHBELT_DEFAULT_BELT, 0600))
		bail_out("create");
	destroy_belt(belt, "late");
	close(epoll);
	close(fd);
	close(belt);
}

/* Events do not hide the end of the belt from a task that waits for nothing else. */
static void test_end(void)
{
	int belt = named_belt("ends", 0), other = open_named("ends");
	int epoll = new_epoll(other, 0);

	queue_events(belt, 3);
	is_int(epoll_now(epoll), 0, "epoll without EPOLLIN reports no event");
	queue_events(belt, 3);
	destroy_belt(belt, "ends");
	is_int(epoll_at_last(epoll), EPOLLERR | EPOLLHUP,
	       "epoll without EPOLLIN reports the end of the belt after events");
	close(epoll);
	close(other);
	close(belt);
}

/* Each event is told to each descriptor, however it is polled */

#define ROUNDS	scaled_from(100, 500)
#define OVER	(~0u)

static unsigned int now_round;

/**
 * struct poller - a thread that polls a descriptor of its own
 * @how:	its name
 * @flags:	of the epoll
 * @polls:	by poll(2)
 * @seen:	the last round of which it was told
 */
static struct poller {
	const char *how;
	__u32 flags;
	bool polls;
	unsigned int seen;
} pollers[] = {
	{ .how = "poll", .polls = true },
	{ .how = "level-triggered epoll" },
	{ .how = "edge-triggered epoll", .flags = EPOLLET },
	{ .how = "epoll with EPOLLONESHOT", .flags = EPOLLONESHOT },
	{ .how = "epoll with EPOLLEXCLUSIVE", .flags = EPOLLEXCLUSIVE },
};

static void *poll_to_the_end(void *arg)
{
	struct poller *poller = arg;
	struct epoll_event event = { .events = EPOLLIN | poller->flags };
	int fd = open_named("told"), epoll = new_epoll(fd, event.events);
	unsigned int round;

	do {
		if (poller->polls ? poll_for_good(&fd) == 255 :
				    epoll_wait(epoll, &event, 1, -1) != 1)
			bail_out("%s: %s", poller->how, strerror(errno));
		round = __atomic_load_n(&now_round, __ATOMIC_ACQUIRE);
		__atomic_store_n(&poller->seen, round, __ATOMIC_RELEASE);
		event.events = EPOLLIN | poller->flags;
		if (poller->flags & EPOLLONESHOT && epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event))
			bail_out("epoll_ctl: %s", strerror(errno));
	} while (round != OVER);
	close(epoll);
	close(fd);
	return NULL;
}

/* The name of a poller that was not told of the round, 20 s at least after its event; or NULL. */
static const char *untold(unsigned int round)
{
	const char *how = NULL;
	time_t end = time(NULL) + 20;
	unsigned int i;

	do {
		how = NULL;
		for (i = 0; i < ARRAY_SIZE(pollers); i++)
			if (__atomic_load_n(&pollers[i].seen, __ATOMIC_ACQUIRE) != round)
				how = pollers[i].how;
		if (how)
			sched_yield();
	} while (how && time(NULL) < end);
	return how;
}

static void test_told(void)
{
	pthread_t threads[ARRAY_SIZE(pollers)];
	int belt = named_belt("told", 0);
	const char *how = NULL;
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(pollers); i++)
		pthread_create(&threads[i], NULL, poll_to_the_end, &pollers[i]);
	for (round = 1; round <= ROUNDS && !how; round++) {
		__atomic_store_n(&now_round, round, __ATOMIC_RELEASE);
		put_and_expire(belt, "key", "value");
		how = untold(round);
		discard_events(belt);
	}
	if (how)
		note("%s was not told of event %u", how, round - 1);
	ok(!how, "each of %u events is told by poll and by each kind of epoll", ROUNDS);
	__atomic_store_n(&now_round, OVER, __ATOMIC_RELEASE);
	destroy_belt(belt, "told");
	for (i = 0; i < ARRAY_SIZE(pollers); i++)
		pthread_join(threads[i], NULL);
	close(belt);
}

int main(int argc, char **argv)
{
	__u64 before = get_parameter("used_bytes");

	plan(TESTS);
	alarm(600);
	idle = argc > 1 ? (unsigned int)atoi(argv[1]) : scaled_from(2000, IDLE_MAX);
	test_bound(0, "level-triggered");
	test_bound(EPOLLET, "edge-triggered");
	test_end();
	test_told();
	test_idle();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
