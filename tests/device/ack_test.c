// SPDX-License-Identifier: GPL-2.0
/*
 * ack_test - what is read to be acknowledged is not lost, whatever becomes of
 * the reader.
 *
 * A descriptor that watches with HASHBELT_WATCH_ACK holds what it reads. It is
 * settled by an acknowledgment, and goes back to the queue when the descriptor
 * is closed by whom- and whatever, or bound to another belt.
 */
#define _GNU_SOURCE
#include "events.h"

#define TESTS	89

#define NAME	"acknowledged"

/* A belt with @n events in its queue. */
static int full_belt(unsigned int n)
{
	int belt = named_belt(NAME, 0);

	queue_events(belt, n);
	return belt;
}

/* A descriptor that acknowledges, and holds the next @n events, of the small ones. */
static int hold(unsigned int n)
{
	int fd = open_named(NAME);
	struct stream stream = stream_of(fd, event_size(2, 2));

	watch(fd, HASHBELT_WATCH_ACK);
	while (stream.count < n)
		if (!next_event(&stream))
			bail_out("nothing to hold");
	free(stream.buffer);
	return fd;
}

static void end_belt(int belt)
{
	destroy_belt(belt, NAME);
	close(belt);
}

/* Flags, and sequences that are none */

static void test_flags(void)
{
	int belt = full_belt(1);
	unsigned int bit, wrong = 0;
	__u32 flags;

	for (bit = 0; bit < 32; bit++) {
		flags = 1u << bit;
		wrong += call(belt, HASHBELT_IOC_WATCH, &flags) !=
			 (flags == HASHBELT_WATCH_ACK || flags == HASHBELT_WATCH_REQUESTS ?
			  0 : -EINVAL);
		flags |= HASHBELT_WATCH_ACK;
		wrong += call(belt, HASHBELT_IOC_WATCH, &flags) !=
			 (flags == HASHBELT_WATCH_ACK ? 0 : -EINVAL);
	}
	ok(!wrong, "watch knows two flags, one at a time: EINVAL for all others");
	watch(belt, 0);
	discard_events(belt);
	is_int(info_of(belt).in_flight, 0,
	       "without the flag nobody owes an acknowledgment");
	is_errno(ack(belt, 1), ENOENT, "ack without HASHBELT_WATCH_ACK returns ENOENT");
	end_belt(belt);
}

static void test_partly(void)
{
	int belt = full_belt(6), fd = hold(5);
	struct hashbelt_info info = info_of(belt);

	ok(info.in_flight == 5 && info.queued == 1,
	   "what is held is in flight, not in the queue");
	is_errno(ack(fd, 6), ENOENT, "what was not read cannot be acknowledged");
	is_errno(ack(fd, 0), ENOENT, "ack of 0 returns ENOENT");
	is_errno(ack(fd, ~0ULL), ENOENT, "ack of the largest number returns ENOENT");
	is_errno(ack(belt, 1), ENOENT,
		 "ack of an event that another descriptor has read returns ENOENT");
	is_int(info_of(belt).in_flight, 5, "a failed ack leaves all events in flight");
	is_errno(ack(fd, 3), 0, "an acknowledgment");
	is_int(info_of(belt).in_flight, 2, "settles all up to that one");
	is_errno(ack(fd, 3), ENOENT, "a second ack of the same event returns ENOENT");
	is_errno(ack(fd, 2), ENOENT, "ack of an event before the settled one returns ENOENT");
	is_errno(ack(fd, 4), 0, "the next one can be settled alone");
	close(fd);
	is_int(info_of(belt).in_flight, 0, "when the reader closes nothing is in flight");
	queue_events(belt, 1);
	ok(has_events(belt, 5, 7),
	   "what it had not settled is at the head of the queue, under its number");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_RETURNED), 1,
	       "a returned event is counted as returned");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_READ), 8,
	       "each read of an event is counted, also of one that was returned");
	is_int(counter(belt, HASHBELT_STAT_EVENTS), 7,
	       "an event that was returned is counted as queued once");
	end_belt(belt);
}

static void test_settled(void)
{
	int belt = full_belt(3), fd = hold(3);

	is_errno(ack(fd, 3), 0, "all can be acknowledged in one call");
	is_int(info_of(belt).used_entries, 0,
	       "acknowledged events do not count under the belt's limit");
	close(fd);
	is_errno(read_into(belt, malloc(PAGE), PAGE), EAGAIN,
		 "a close has nothing to give back");
	fd = open_named(NAME);
	watch(fd, HASHBELT_WATCH_ACK);
	queue_events(fd, 2);
	discard_events(fd);
	is_errno(ack(fd, 3), ENOENT,
		 "a number from before another reader's ack is none of his");
	is_errno(ack(fd, 5), 0, "ack of an event that the descriptor has read itself succeeds");
	close(fd);
	end_belt(belt);
}

/* That something was lost is not lost either. */
static void test_losses(void)
{
	int belt = named_belt(NAME, 0), fd;
	const struct hashbelt_event *event;
	struct stream stream;

	SET(belt, .fields = HASHBELT_SET_MAX_EVENTS, .max_events = 5);
	queue_events(belt, 20);
	close(hold(1));
	fd = open_named(NAME);
	stream = stream_of(fd, event_size(2, 2));
	watch(fd, HASHBELT_WATCH_ACK);
	event = next_event(&stream);
	ok(event && event->lost == 15 && event->sequence == 16,
	   "of what was lost the next reader is told, if the first did not acknowledge it");
	event = next_event(&stream);
	ok(event && !event->lost, "a loss is told once to the second reader");
	is_errno(ack(fd, 16), 0, "when that is acknowledged");
	close(fd);
	free(stream.buffer);
	fd = open_named(NAME);
	stream = stream_of(fd, event_size(2, 2));
	event = next_event(&stream);
	ok(event && !event->lost && event->sequence == 17, "nobody is told again");
	free(stream.buffer);
	close(fd);
	end_belt(belt);
}

/* What was read before, in the other mode, is settled by having been read. */
static void test_modes(void)
{
	int belt = full_belt(6), fd = open_named(NAME);
	unsigned char small[80];

	read_into(fd, small, sizeof(small));
	watch(fd, HASHBELT_WATCH_ACK);
	is_errno(ack(fd, 1), ENOENT,
		 "what was read before the watch needs no acknowledgment");
	read_into(fd, small, sizeof(small));
	read_into(fd, small, sizeof(small));
	watch(fd, HASHBELT_WATCH_ACK);
	is_int(info_of(belt).in_flight, 2, "to say it again changes nothing");
	watch(fd, 0);
	read_into(fd, small, sizeof(small));
	ok(((struct hashbelt_event *)small)->sequence == 4 ||
	   ((struct hashbelt_event *)small)->sequence == 2,
	   "one may go back to reading without");
	close(fd);
	is_int(discard_events(belt), 4,
	       "events that were held while acknowledgments were on are read without them");
	end_belt(belt);
}

/* Others */

static void test_others(void)
{
	int belt = full_belt(9), a = hold(3), b = hold(3);

	ok(has_events(belt, 7, 9), "each reader gets what the others do not hold");
	is_errno(ack(a, 6), ENOENT, "ack of an event that another reader holds returns ENOENT");
	is_errno(ack(b, 3), ENOENT, "neither of them");
	is_errno(ack(b, 5), 0, "an acknowledgment settles what one holds oneself");
	is_int(info_of(belt).in_flight, 4, "an ack settles nothing that another reader holds");
	close(a);
	close(b);
	queue_events(belt, 1);
	is_int(discard_events(belt), 5, "all that was not settled goes back");
	end_belt(belt);
}

/* Whether the nine events come in this order. */
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

/* What is given back goes to the head of the queue. */
static void test_return_order(void)
{
	static const __u64 order[] = { 4, 5, 6, 1, 2, 3, 7, 8, 9 };
	int belt = full_belt(9), a = hold(3), b = hold(3);

	close(b);
	close(a);
	ok(has_events(belt, 1, 9),
	   "events go back in their order: the last reader first");
	end_belt(belt);
	belt = full_belt(9);
	a = hold(3);
	b = hold(3);
	close(a);
	close(b);
	ok(is_order(belt, order), "each to the head, so that the last one to leave is the first");
	end_belt(belt);
	belt = full_belt(9);
	a = hold(2);
	b = hold(2);
	ok(!ack(a, 1) && !ack(b, 3), "each settles a part");
	close(a);
	a = hold(1);
	close(b);
	close(a);
	queue_events(belt, 1);
	is_int(discard_events(belt), 8, "what is left is there once");
	end_belt(belt);
}

/* Bound to another belt */

static void test_rebound(void)
{
	struct hashbelt_settings create = { .ttl_ms = TTL };
	int belt = full_belt(4), fd = hold(3), other = named_belt("another", 0);

	is_errno(open_belt(fd, "nobody"), ENOENT, "an open that fails");
	is_errno(create_belt(fd, "another", 0600), EEXIST, "a create that fails");
	is_int(info_of(belt).in_flight, 3, "give nothing back");
	is_errno(open_belt(fd, "another"), 0, "an open of another belt");
	is_errno(ack(fd, 3), ENOENT, "leaves nothing to acknowledge");
	ok(has_events(belt, 1, 4),
	   "a descriptor that is bound to another belt gives its events back");
	close(fd);
	queue_events(belt, 4);
	fd = hold(3);
	must(fd, HASHBELT_IOC_CREATE, &create);
	ok(has_events(belt, 5, 8), "a create does so too");
	close(fd);
	queue_events(belt, 4);
	fd = hold(3);
	is_errno(open_belt(fd, NAME), 0, "an open of the same belt");
	is_int(info_of(belt).in_flight, 0, "is a binding anew");
	ok(has_events(belt, 9, 12),
	   "a descriptor that is bound to the same belt again gives its events back");
	close(fd);
	destroy_belt(other, "another");
	close(other);
	end_belt(belt);
}

/* Does a binding anew go on acknowledging? It may not lose, at least. */
static void test_rebound_mode(void)
{
	int belt = full_belt(2), fd = hold(0);
	unsigned char small[80];

	if (open_belt(fd, NAME))
		bail_out("open");
	watch(fd, HASHBELT_WATCH_ACK);
	read_into(fd, small, sizeof(small));
	is_errno(ack(fd, 1), 0, "a descriptor that is bound anew can watch anew");
	close(fd);
	ok(has_events(belt, 2, 2),
	   "events that were acknowledged before a new binding stay acknowledged");
	end_belt(belt);
}

static void test_destroyed(void)
{
	__u64 before = get_parameter("used_bytes");
	int belt = full_belt(5), fd = hold(3);

	destroy_belt(belt, NAME);
	is_errno(ack(fd, 3), EIDRM,
		 "when the belt is destroyed there is nothing to acknowledge");
	close(belt);
	ok(used_at_last(before),
	   "a destroyed belt frees the events that a reader holds while the reader lives");
	close(fd);
	ok(used_at_last(before),
	   "used_bytes is what it was when the reader of a destroyed belt has closed");
}

/* Shared descriptors */

static int wait_for_end(void *arg)
{
	char byte;

	return read(*(int *)arg, &byte, 1) != 0;
}

static void test_shared(void)
{
	int belt = full_belt(4), fd = hold(3), copy = dup(fd), pipes[2];
	pid_t child;

	close(fd);
	is_int(info_of(belt).in_flight, 3,
	       "while a copy of the descriptor is open nothing goes back");
	is_errno(ack(copy, 1), 0,
		 "a copy of a descriptor can acknowledge what the original has read");
	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	child = start(wait_for_end, &pipes[0]);
	close(copy);
	is_int(info_of(belt).in_flight, 2, "a child that has it is enough");
	kill_and_wait(child);
	is_int(info_of(belt).in_flight, 0, "when the child is killed it is over");
	ok(has_events(belt, 2, 4),
	   "events that a killed child has not acknowledged are queued again");
	close(pipes[0]);
	close(pipes[1]);
	end_belt(belt);
}

static int receive_and_ack(void *arg)
{
	int fd = receive_descriptor(*(int *)arg);

	return fd < 0 || ack(fd, 2);
}

static void test_passed(void)
{
	int belt = full_belt(4), fd = hold(3), sockets[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		bail_out("socketpair: %s", strerror(errno));
	send_descriptor(sockets[0], fd);
	close(fd);
	is_int(info_of(belt).in_flight, 3,
	       "a descriptor in a message holds what it has read");
	child = start(receive_and_ack, &sockets[1]);
	is_int(finish(child), 0, "who receives it can acknowledge");
	ok(has_events(belt, 3, 4),
	   "events that the receiver of a descriptor has not acknowledged are queued again");
	fd = hold(0);
	queue_events(belt, 2);
	discard_events(fd);
	send_descriptor(sockets[0], fd);
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
	/* Descriptors in a socket that is gone are closed by a worker. */
	ok(readable_at_last(belt) && has_events(belt, 5, 6),
	   "a message that nobody receives gives back what it holds");
	end_belt(belt);
}

/* Limits */

static void test_limits(void)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_MAX_ENTRIES, .max_entries = 3,
	};
	int belt = full_belt(3), fd = hold(3);

	must(belt, HASHBELT_IOC_SET, &settings);
	is_int(info_of(belt).used_entries, 3,
	       "what is in flight counts against the belt's limit");
	is_errno(on_key(belt, HASHBELT_IOC_PUT, "key"), ENOSPC,
		 "put returns ENOSPC where events in flight have used up max_entries");
	SET(belt, .fields = HASHBELT_SET_POLICY, .policy = HASHBELT_EVICT);
	is_errno(on_key(belt, HASHBELT_IOC_PUT, "key"), ENOSPC,
		 "a belt that evicts cannot evict events in flight: ENOSPC");
	SET(belt, .fields = HASHBELT_SET_POLICY);
	ack(fd, 1);
	is_errno(on_key(belt, HASHBELT_IOC_PUT, "key"), 0,
		 "an acknowledgment makes some");
	is_errno(on_key(belt, HASHBELT_IOC_PUT, "more"), ENOSPC, "as much as it settled");
	close(fd);
	end_belt(belt);
}

/* What is held counts against the queue's limit: others are dropped for it. */
static void test_overfull(void)
{
	int belt = full_belt(10), fd = hold(10);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	struct hashbelt_info info;

	SET(belt, .fields = HASHBELT_SET_MAX_EVENTS, .max_events = 12);
	queue_events(belt, 8);
	info = info_of(belt);
	ok(info.in_flight == 10 && info.queued == 2,
	   "what is held and what waits is no more than may wait");
	close(fd);
	is_int(info_of(belt).queued, 12,
	       "max_events leaves room for all events in flight to be queued again");
	while (next_event(&stream))
		;
	is_int(stream.count, 12, "events that were queued again over a full queue are all read");
	is_int(stream.lost, 6, "the others are said to be lost");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_LOST), 6,
	       "events that the full queue dropped are counted as lost");
	free(stream.buffer);
	end_belt(belt);
}

/* Readers that are killed */

/* Points at which a reader is killed; those before it have been passed. */
enum point { WAITING, COPYING, HAS_READ, HAS_ACKED, POINTS };

static const char *const point_names[POINTS] = {
	"while it waits", "while it copies", "after it has read",
	"after it has acknowledged",
};

struct victim {
	int fd;
	int pipe;
	enum point point;
};

static int be_victim(void *arg)
{
	struct victim *victim = arg;
	unsigned char small[80];

	set_blocking(victim->fd, true);
	if (read_into(victim->fd, small, sizeof(small)) < 0)
		return 1;
	if (victim->point == HAS_ACKED && ack(victim->fd, 1))
		return 1;
	if (write(victim->pipe, "!", 1) != 1)
		return 1;
	for (;;)
		pause();
}

/* Kills a reader at @point; returns the number of the first event that is left. */
static void test_killed_at(enum point point)
{
	int belt = named_belt(NAME, 0), pipes[2];
	struct victim victim = { .fd = open_named(NAME), .point = point };
	pid_t child;
	char byte;

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	victim.pipe = pipes[1];
	watch(victim.fd, HASHBELT_WATCH_ACK);
	if (point != WAITING)
		queue_events(belt, 3);
	child = point == COPYING ? start_stuck(victim.fd) : start(be_victim, &victim);
	if (!child) {
		skip(2, "this kernel has no userfaultfd");
		end_belt(belt);
		return;
	}
	if (point == WAITING)
		await_sleep(child, __NR_read);
	else if (point != COPYING && read(pipes[0], &byte, 1) != 1)
		bail_out("no victim");
	close(victim.fd);
	kill_and_wait(child);
	if (point == WAITING)
		queue_events(belt, 3);
	is_int(info_of(belt).in_flight, 0, "a reader is killed %s: nothing is in flight",
	       point_names[point]);
	ok(has_events(belt, point == HAS_ACKED ? 2 : 1, 3),
	   "after a reader was killed all events that it has not settled are queued");
	close(pipes[0]);
	close(pipes[1]);
	end_belt(belt);
}

/* At random */

#define EVENTS	scaled(3000)

/**
 * struct ledger - what a reader that may be killed has left; shared
 * @acking:	the newest event that it was about to acknowledge
 * @acked:	the newest event that it knows it has
 * @rounds:	reads that it came through
 */
struct ledger {
	__u64 acking;
	__u64 acked;
	unsigned int rounds;
};

static struct ledger *ledger;

/* Reads into pages that nobody has touched, so that it is often killed in there. */
static int read_and_ack(void *arg)
{
	size_t size = 64 * PAGE;
	unsigned char *buffer;
	ssize_t len;
	__u64 last;
	size_t at;

	for (;;) {
		buffer = fresh_pages(size);
		len = read_into(*(int *)arg, buffer, size);
		if (len < 0)
			return len != -EAGAIN;
		check_events(buffer, len);
		for (at = 0; at < (size_t)len;) {
			last = ((struct hashbelt_event *)(buffer + at))->sequence;
			at += ((struct hashbelt_event *)(buffer + at))->size;
			if (last % 3)
				continue;
			__atomic_store_n(&ledger->acking, last, __ATOMIC_SEQ_CST);
			if (ack(*(int *)arg, last))
				return 2;
			__atomic_store_n(&ledger->acked, last, __ATOMIC_SEQ_CST);
		}
		munmap(buffer, size + PAGE);
		ledger->rounds++;
	}
}

/* Events with values of some pages now and then, @n of them. */
static void queue_mixed(int belt, unsigned int n)
{
	static unsigned char value[20000];
	struct hashbelt_item item;
	unsigned int i;

	for (i = 0; i < n; i++) {
		item = (struct hashbelt_item){
			.key = address(&i), .key_len = sizeof(i), .value = address(value),
			.value_len = i % 10 ? i % 200 : sizeof(value),
		};
		must(belt, HASHBELT_IOC_PUT, &item);
		item.value_len = 0;
		must(belt, HASHBELT_IOC_EXPIRE, &item);
	}
}

/* The next event, which stays where it is; 0: there is none. */
static __u64 peek(unsigned char *buffer, size_t size)
{
	int fd = open_named(NAME);
	__u64 next = 0;

	watch(fd, HASHBELT_WATCH_ACK);
	if (read_into(fd, buffer, size) > 0)
		next = ((struct hashbelt_event *)buffer)->sequence;
	close(fd);
	return next;
}

static void test_killed(void)
{
	static unsigned char buffer[32768];
	unsigned int state = 1, kills = 0, wrong = 0;
	int belt = named_belt(NAME, 0), fd, status = 0;
	__u64 next = 1;
	pid_t child;

	queue_mixed(belt, EVENTS);
	for (; next && kills < 2000; kills++) {
		memset(ledger, 0, sizeof(*ledger));
		ledger->acking = next - 1;
		ledger->acked = next - 1;
		fd = open_named(NAME);
		watch(fd, HASHBELT_WATCH_ACK);
		child = start(read_and_ack, &fd);
		close(fd);
		state = state * 1103515245 + 12345;
		usleep((state >> 16) % (1000 + 50 * kills));
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		if (WIFEXITED(status) && WEXITSTATUS(status))
			wrong++;
		next = peek(buffer, sizeof(buffer));
		/* What it was about to settle is settled or not; nothing else is open. */
		if (next ? next != ledger->acked + 1 && next != ledger->acking + 1 :
			   ledger->acking < EVENTS - 2)
			wrong++;
	}
	is_int(wrong, 0,
	       "a reader that is killed anywhere leaves all that it has not settled");
	is_int(next, 0, "after readers were killed at random each event is settled once");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_LOST), 0, "nothing was lost");
	is_int(info_of(belt).in_flight + info_of(belt).queued, 0,
	       "after readers were killed at random no event is in flight or queued");
	note("%u readers were killed", kills);
	end_belt(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");
	enum point point;

	plan(TESTS);
	alarm(600);
	ledger = shared_memory(sizeof(*ledger));
	test_flags();
	test_partly();
	test_settled();
	test_losses();
	test_modes();
	test_others();
	test_return_order();
	test_rebound();
	test_rebound_mode();
	test_destroyed();
	test_shared();
	test_passed();
	test_limits();
	test_overfull();
	for (point = WAITING; point < POINTS; point++)
		test_killed_at(point);
	test_killed();
	ok(used_at_last(before), "in the end the module holds what it held before");
	return done_testing();
}
