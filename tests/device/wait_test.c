// SPDX-License-Identifier: GPL-2.0-only
/*
 * wait_test - readers that wait are woken, and each event goes to one reader.
 *
 * Waiting in read(2), poll(2) and epoll(7), by level and by edge; and everything that ends a wait.
 * A reader that is stuck in a page fault delays no other reader. Several readers that all read:
 * tests/stress/churn.c.
 *
 * Hostile user: stalls 1000 puts, 1000 gets and 200 reads of events in page faults.
 */
#include "events.h"

/* read(2) */

static void test_queued(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned char buffer[256];

	put_text(belt, "key", "value", 0);
	is_errno(read_into(belt, buffer, sizeof(buffer)), EAGAIN,
		 "with O_NONBLOCK read returns EAGAIN before an entry expires");
	on_key(belt, HASHBELT_IOC_EXPIRE, "key");
	set_blocking(belt, true);
	ok(read_into(belt, buffer, sizeof(buffer)) > 0,
	   "a blocking read returns a queued event at once");
	close(belt);
}

static void test_wakers(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, REPORT_ALL);
	int size = event_size(3, 5);
	struct waiter waiter;

	waiter = start_waiter(belt, 0);
	put_and_expire(belt, "key", "value");
	is_int(waiter_result(&waiter), size, "an expire call wakes a reader that waits");
	put_text(belt, "key", "value", 1);
	waiter = start_waiter(belt, 0);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	is_int(waiter_result(&waiter), size, "an expiry by belt time wakes a reader that waits");
	close(belt);
}

static void test_enders(void)
{
	int belt = named_belt("waited for", 0), other = open_named("waited for");
	struct waiter waiter;

	waiter = start_waiter(belt, 0);
	kill(waiter.caller.pid, SIGUSR1);
	is_errno(waiter_result(&waiter), EINTR, "a signal ends a read that waits: EINTR");
	waiter = start_waiter(belt, SA_RESTART);
	kill(waiter.caller.pid, SIGUSR1);
	await_sleep(waiter.caller.pid, __NR_read);
	put_and_expire(other, "key", "value");
	is_int(waiter_result(&waiter), event_size(3, 5),
	       "a read that waits goes on after a signal whose handler has SA_RESTART");
	waiter = start_waiter(belt, 0);
	kill_and_wait(waiter.caller.pid);
	put_and_expire(other, "key", "value");
	ok(has_events(other, 2, 2),
	   "an event after the kill of a waiting reader is left for other readers");
	waiter = start_waiter(belt, 0);
	SET(other, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_DROP);
	is_errno(waiter_result(&waiter), ENODATA,
		 "a read that waits returns ENODATA when the handler becomes drop");
	SET(other, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_NOTIFY);
	waiter = start_waiter(belt, 0);
	destroy_belt(other, "waited for");
	is_errno(waiter_result(&waiter), EIDRM,
		 "a read that waits returns EIDRM when the belt is destroyed");
	close(belt);
	close(other);
}

/* Descriptors that are bound to another belt during a wait */

static void bind_to(int fd, const char *name)
{
	if (open_belt(fd, name))
		bail_out("open of %s", name);
}

static void end_both(int belt, int other)
{
	destroy_belt(belt, "left");
	destroy_belt(belt, "taken");
	close(belt);
	close(other);
}

static void test_rebound(void)
{
	int belt = named_belt("left", 0), other = named_belt("taken", 0);
	struct waiter waiter = start_waiter(belt, 0);
	int result;

	bind_to(belt, "taken");
	put_and_expire(other, "key", "value");
	bind_to(other, "left");
	put_and_expire(other, "left", "value");
	result = waiter_result(&waiter);
	ok(result == (int)event_size(4, 5) || result == (int)event_size(3, 5) || result == -EIDRM,
	   "a read that waits ends when its descriptor is bound to another belt");
	note("the read returned %d", result);
	end_both(belt, other);
}

static int epoll_for_good(void *arg)
{
	struct epoll_event event;

	return epoll_wait(*(int *)arg, &event, 1, -1) == 1 ? (int)event.events : 255;
}

/* A waiter in epoll_wait(2) waits for the belt to which the descriptor is bound now. */
static void test_epoll_rebound(__u32 flags, const char *how)
{
	int belt = named_belt("left", 0), other = named_belt("taken", 0);
	int epoll = new_epoll(belt, EPOLLIN | flags);
	pid_t child = start(epoll_for_good, &epoll);

	await_sleep(child, CALL_EPOLL_WAIT);
	bind_to(belt, "taken");
	put_and_expire(other, "key", "value");
	is_int(finish(child), EPOLLIN,
	       "epoll %s reports an event of the belt bound during the wait", how);
	discard_events(other);
	bind_to(other, "left");
	put_and_expire(other, "key", "value");
	is_int(epoll_now(epoll), 0, "epoll %s reports no event of the belt bound before", how);
	close(epoll);
	end_both(belt, other);
}

/* poll(2), and epoll(7) by level, by edge and once. Tasks that wait in them: poll_test. */
static void test_poll(void)
{
	int belt = named_belt("polled", 0), other = open_named("polled");
	int level = new_epoll(belt, EPOLLIN), edge = new_epoll(belt, EPOLLIN | EPOLLET);
	int once = new_epoll(belt, EPOLLIN | EPOLLONESHOT), ended = EPOLLERR | EPOLLHUP;
	unsigned char small[80];

	ok(!poll_now(belt) && !epoll_now(level) && !epoll_now(edge),
	   "no poll reports anything on an empty queue");
	queue_events(other, 1);
	ok(epoll_at_last(level) == EPOLLIN && epoll_now(level) == EPOLLIN,
	   "level-triggered epoll reports EPOLLIN as long as an event is queued");
	/*
	 * Once, because no event was read before. A read that leaves events wakes pollers, too, and
	 * if they wake late, that is one more report for the next event.
	 */
	is_int(epoll_at_last(edge), EPOLLIN, "edge-triggered epoll reports a queued event");
	is_int(epoll_now(edge), 0, "edge-triggered epoll reports a queued event once");
	ok(epoll_at_last(once) == EPOLLIN && !epoll_now(once),
	   "EPOLLONESHOT reports EPOLLIN once for a queued event");
	ok(poll_now(belt) == POLLIN && poll_now(belt) == POLLIN && poll_now(other) == POLLIN,
	   "poll reports POLLIN on each descriptor of the belt as long as an event is queued");
	queue_events(other, 1);
	is_int(epoll_at_last(edge), EPOLLIN,
	       "edge-triggered epoll reports a second event before the first was read");
	ok(read_into(other, small, sizeof(small)) > 0 && epoll_now(level) == EPOLLIN &&
	   epoll_at_last(edge) == EPOLLIN,
	   "epoll reports EPOLLIN when one of two events was read, by level and by edge");
	discard_events(other);
	ok(!epoll_now(level) && !poll_now(belt),
	   "no poll by level reports anything when another descriptor has read all events");
	put_and_expire(other, "key", "value");
	is_int(epoll_at_last(edge), EPOLLIN, "edge-triggered epoll reports a new event");
	ok(!epoll_now(once), "EPOLLONESHOT reports no event after the first");
	destroy_belt(other, "polled");
	ok(epoll_at_last(level) & ended && epoll_at_last(edge) & ended && poll_now(belt) & ended,
	   "each poll reports the end of the belt");
	close(level);
	close(edge);
	close(once);
	close(belt);
	close(other);
}

/* A requeued event wakes waiters like a new one. */
static void test_returned(void)
{
	int belt = named_belt("returned", 0), holder = open_named("returned");
	int edge = new_epoll(belt, EPOLLIN | EPOLLET);
	struct waiter waiter;

	put_and_expire(belt, "key", "value");
	watch(holder, HASHBELT_WATCH_ACK);
	discard_events(holder);
	epoll_now(edge);
	is_int(poll_now(belt), 0, "poll reports nothing when another reader holds the only event");
	close(holder);
	is_int(epoll_at_last(edge), EPOLLIN,
	       "edge-triggered epoll reports an event that a close has requeued");
	holder = open_named("returned");
	watch(holder, HASHBELT_WATCH_ACK);
	discard_events(holder);
	waiter = start_waiter(belt, 0);
	close(holder);
	is_int(waiter_result(&waiter), event_size(3, 5),
	       "an event that a close has requeued wakes a reader that waits");
	destroy_belt(belt, "returned");
	close(edge);
	close(belt);
}

/* Readers that are stuck in page faults */

#define STUCK	scaled_from(10, 100)

static void test_stuck(__u32 flags, const char *mode)
{
	int belt = named_belt("stuck", 0), fd = open_named("stuck");
	pid_t *children = calloc(STUCK, sizeof(*children));
	struct waiter waiter;
	unsigned int i;

	watch(fd, flags);
	/* If a reader kept an event, each of them would find one to keep. */
	for (i = 0; i < STUCK; i++) {
		put_and_expire(belt, "key", "value");
		children[i] = start_stuck(fd);
	}
	if (!children[0]) {
		skip(4, "this kernel has no userfaultfd");
		return;
	}
	is_int(info_of(belt).in_flight, 0,
	       "%s: no event is in flight while %u readers are stuck in page faults", mode, STUCK);
	is_int(info_of(belt).queued, STUCK,
	       "%s: all events are queued while %u readers are stuck in page faults", mode, STUCK);
	waiter = launch_waiter(belt, 0);
	is_int(waiter_result(&waiter), STUCK * event_size(3, 5),
	       "%s: another reader gets all events while %u are stuck in page faults", mode, STUCK);
	for (i = 0; i < STUCK; i++)
		kill_and_wait(children[i]);
	free(children);
	close(fd);
	discard_events(belt);
	waiter = start_waiter(belt, 0);
	kill(waiter.caller.pid, SIGUSR1);
	is_errno(waiter_result(&waiter), EINTR,
		 "%s: a signal ends a waiting read after a stuck reader was killed", mode);
	destroy_belt(belt, "stuck");
	close(belt);
}

/* A reader that turns to completions of requests takes no wakeup from readers of events. */
static void test_watch(void)
{
	int belt = named_belt("watched", 0), fd = open_named("watched");
	int other = open_named("watched");
	struct waiter waiter = start_waiter(fd, 0), next = start_waiter(other, 0);

	watch(fd, HASHBELT_WATCH_REQUESTS);
	put_and_expire(belt, "key", "value");
	is_int(waiter_result(&next), event_size(3, 5),
	       "an event skips a waiting reader that turned to WATCH_REQUESTS");
	watch(fd, 0);
	put_and_expire(belt, "key", "value");
	is_int(waiter_result(&waiter), event_size(3, 5),
	       "an event wakes a waiting reader that turned back from WATCH_REQUESTS");
	destroy_belt(belt, "watched");
	close(fd);
	close(other);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_queued();
	test_wakers();
	test_enders();
	test_rebound();
	test_epoll_rebound(0, "by level");
	test_epoll_rebound(EPOLLET, "by edge");
	test_epoll_rebound(EPOLLEXCLUSIVE, "exclusively");
	test_poll();
	test_returned();
	test_stuck(0, "without acknowledging");
	test_stuck(HASHBELT_WATCH_ACK, "acknowledging");
	test_watch();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
