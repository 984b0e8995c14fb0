// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll_test - each descriptor that is polled is told of each event, and of the end of its belt.
 *
 * life/polled_test.c has many descriptors, and counts what an event costs.
 */
#include <pthread.h>
#include <time.h>

#include "polled.h"

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

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_bound(0, "level-triggered");
	test_bound(EPOLLET, "edge-triggered");
	test_end();
	test_told();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
