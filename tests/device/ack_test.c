// SPDX-License-Identifier: GPL-2.0-only
/*
 * ack_test - no event that a reader has not acknowledged is lost, however the reader ends.
 *
 * A descriptor that watches with HASHBELT_WATCH_ACK holds the events that it reads until it
 * acknowledges them. Events without acknowledgment are requeued when the descriptor is closed or
 * bound to another belt, in order: tests/kunit/queue_test.c has all numbers of events. All the ways
 * in which a descriptor ends are in bound_test, readers that close it at any moment in
 * tests/stress/churn.c.
 */
#include "events.h"

#define NAME	"acknowledged"

/* A belt with @n events in its queue. */
static int full_belt(unsigned int n)
{
	int belt = named_belt(NAME, 0);

	queue_events(belt, n);
	return belt;
}

static void end_belt(int belt)
{
	destroy_belt(belt, NAME);
	close(belt);
}

static void test_partly(void)
{
	int belt = full_belt(6), fd = hold_next(NAME, 5);
	struct hashbelt_info info = info_of(belt);

	ok(info.in_flight == 5 && info.queued == 1,
	   "events that an acking reader has read are in flight, not queued");
	is_errno(ack(fd, 6), ENOENT, "ack of an event that was not read returns ENOENT");
	is_errno(ack(fd, 0), ENOENT, "ack of sequence 0 returns ENOENT");
	is_errno(ack(fd, ~0ULL), ENOENT, "ack of the largest 64-bit sequence returns ENOENT");
	is_errno(ack(belt, 1), ENOENT,
		 "ack of an event that another descriptor has read returns ENOENT");
	is_int(info_of(belt).in_flight, 5, "a failed ack leaves all events in flight");
	is_errno(ack(fd, 3), 0, "ack of the third of five events in flight returns 0");
	is_int(info_of(belt).in_flight, 2, "ack settles all events up to the one it names");
	is_errno(ack(fd, 3), ENOENT, "a second ack of the same event returns ENOENT");
	is_errno(ack(fd, 2), ENOENT, "ack of an event before the settled one returns ENOENT");
	is_errno(ack(fd, 4), 0, "ack of the first event that is left in flight returns 0");
	close(fd);
	is_int(info_of(belt).in_flight, 0,
	       "no event is in flight after the reader has closed its descriptor");
	queue_events(belt, 1);
	ok(has_events(belt, 5, 7),
	   "close requeues an event without ack at the head with its sequence");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_RETURNED), 1,
	       "an event that close requeues is counted as returned");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_READ), 8,
	       "each read of an event is counted, also the second of a requeued one");
	is_int(counter(belt, HASHBELT_STAT_EVENTS), 7,
	       "a requeued event is counted as queued once");
	end_belt(belt);
}

/* Reported losses are requeued with the event that reported them. */
static void test_losses(void)
{
	int belt = named_belt(NAME, 0), fd;
	const struct hashbelt_event *event;
	struct stream stream;

	SET(belt, .fields = HASHBELT_SET_MAX_EVENTS, .max_events = 5);
	queue_events(belt, 20);
	close(hold_next(NAME, 1));
	fd = open_named(NAME);
	stream = stream_of(fd, event_size(2, 2));
	watch(fd, HASHBELT_WATCH_ACK);
	event = next_event(&stream);
	ok(event && event->lost == 15 && event->sequence == 16,
	   "a loss that a closed reader has not acknowledged is reported again");
	event = next_event(&stream);
	ok(event && !event->lost, "a loss that is reported again is reported in one event only");
	is_errno(ack(fd, 16), 0, "ack of an event that reports a loss returns 0");
	close(fd);
	free(stream.buffer);
	fd = open_named(NAME);
	stream = stream_of(fd, event_size(2, 2));
	event = next_event(&stream);
	ok(event && !event->lost && event->sequence == 17,
	   "a loss that was acknowledged is not reported to the next reader");
	free(stream.buffer);
	close(fd);
	end_belt(belt);
}

/* Events that were read before the watch need no acknowledgment. */
static void test_modes(void)
{
	int belt = full_belt(6), fd = open_named(NAME);
	unsigned char small[80];

	read_into(fd, small, sizeof(small));
	is_errno(ack(fd, 1), ENOENT, "ack without HASHBELT_WATCH_ACK returns ENOENT");
	watch(fd, HASHBELT_WATCH_ACK);
	is_errno(ack(fd, 1), ENOENT,
		 "ack of an event that was read before the watch returns ENOENT");
	is_int(info_of(belt).in_flight, 0,
	       "an event that was read before the watch is not in flight");
	read_into(fd, small, sizeof(small));
	read_into(fd, small, sizeof(small));
	watch(fd, HASHBELT_WATCH_ACK);
	is_int(info_of(belt).in_flight, 2,
	       "a second watch with HASHBELT_WATCH_ACK leaves events in flight");
	watch(fd, 0);
	read_into(fd, small, sizeof(small));
	ok(((struct hashbelt_event *)small)->sequence == 4 ||
	   ((struct hashbelt_event *)small)->sequence == 2,
	   "after a watch without flags read returns the next event");
	close(fd);
	is_int(discard_events(belt), 4,
	       "close requeues events in flight although acking was turned off");
	end_belt(belt);
}

/* Several readers */

static void test_others(void)
{
	int belt = full_belt(9), a = hold_next(NAME, 3), b = hold_next(NAME, 3);

	ok(has_events(belt, 7, 9), "a reader gets the events that no other reader holds");
	is_errno(ack(a, 6), ENOENT, "ack of an event that another reader holds returns ENOENT");
	is_errno(ack(b, 3), ENOENT, "ack of an event that an earlier reader holds returns ENOENT");
	is_errno(ack(b, 5), 0,
		 "ack of an event that this reader holds returns 0 beside other readers");
	is_int(info_of(belt).in_flight, 4, "an ack settles nothing that another reader holds");
	close(a);
	close(b);
	queue_events(belt, 1);
	is_int(discard_events(belt), 5,
	       "close of two readers requeues all events that they have not acknowledged");
	end_belt(belt);
}

/* True if nine events are read in this order. */
static bool is_order(int belt, const __u64 *order)
{
	struct stream stream = stream_of(belt, 65536);
	const struct hashbelt_event *event;
	unsigned int count = 0, wrong = 0;

	while ((event = next_event(&stream)) && count < 9)
		wrong += event->sequence != order[count++];
	free(stream.buffer);
	return count == 9 && !wrong;
}

/* Close requeues events at the head of the queue, so the last close comes first. */
static void test_return_order(void)
{
	static const __u64 order[] = { 4, 5, 6, 1, 2, 3, 7, 8, 9 };
	int belt = full_belt(9), a = hold_next(NAME, 3), b = hold_next(NAME, 3);

	close(b);
	close(a);
	ok(has_events(belt, 1, 9),
	   "events stay in order if the reader with the later ones closes first");
	end_belt(belt);
	belt = full_belt(9);
	a = hold_next(NAME, 3);
	b = hold_next(NAME, 3);
	close(a);
	close(b);
	ok(is_order(belt, order),
	   "events of the reader that closes last are at the head of the queue");
	end_belt(belt);
}

/* A descriptor that is closed while DESTROY returns its events */

#define HELD	scaled(8000)

static int *held;	/* the closer holds its events and has polled; shared */

/* Closes its descriptor some milliseconds after the belt is destroyed. */
static int hold_and_close(void *arg)
{
	struct timespec delay = { .tv_nsec = (uintptr_t)arg * 1000000 };
	size_t size = 1 << 20;
	unsigned char *buffer = malloc(size);
	struct hashbelt_info info = {};
	int fd = open_named("closing");

	set_blocking(fd, false);
	watch(fd, HASHBELT_WATCH_ACK);
	while (read_into(fd, buffer, size) > 0)
		;
	poll_now(fd);
	__atomic_store_n(held, 1, __ATOMIC_SEQ_CST);
	while (call(fd, HASHBELT_IOC_INFO, &info) != -EIDRM)
		sched_yield();
	nanosleep(&delay, NULL);
	close(fd);
	return 0;
}

/*
 * DESTROY takes the session from the descriptor, and the events that it returns wake the tasks that
 * poll it. KASAN and kmemleak see whether the descriptor is freed too early, or never.
 */
static void test_closing(void)
{
	unsigned int delay, wrong = 0;
	pid_t closer;
	int belt;

	held = shared_memory(sizeof(*held));
	for (delay = 0; delay < 10; delay += 2) {
		belt = named_belt("closing", 0);
		put_numbers(belt, 0, HELD, 1000);
		advance(belt, 2000);
		*held = 0;
		closer = start(hold_and_close, (void *)(uintptr_t)delay);
		while (!__atomic_load_n(held, __ATOMIC_SEQ_CST))
			sched_yield();
		wrong += destroy_belt(belt, "closing") != 0;
		wrong += finish(closer) != 0;
		close(belt);
	}
	is_int(wrong, 0, "a polled descriptor with events in flight is closed beside DESTROY");
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_partly();
	test_losses();
	test_modes();
	test_others();
	test_return_order();
	test_closing();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
