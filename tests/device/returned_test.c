// SPDX-License-Identifier: GPL-2.0-only
/*
 * returned_test - events that go back to the queue, however many they are, are read again in order,
 * and before those that came later.
 *
 * The module returns events in batches of 64. A reader can hold any number of them.
 */
#define _GNU_SOURCE
#include "events.h"
#include "request.h"

#define NAME	"returned"
#define LATER	100u	/* events that are queued meanwhile */
#define RECORD	event_size(3, 3)

static const unsigned int numbers[] = { 1, 63, 64, 65, 128, 129, 200, 333 };

/* Ways in which a reader ends that has acknowledged nothing. */

static void end_by_close(unsigned int n)
{
	close(hold_next(NAME, n));
}

static void end_by_rebinding(unsigned int n)
{
	int fd = hold_next(NAME, n);

	must(fd, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){ .ttl_ms = TTL });
	close(fd);
}

static int hold_and_wait(void *arg)
{
	const int *pair = arg;

	hold_next(NAME, pair[0]);
	if (write(pair[1], "", 1) != 1)
		return 1;
	pause();
	return 0;
}

static void end_by_kill(unsigned int n)
{
	int pipes[2];
	pid_t child;
	char byte;

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	child = start(hold_and_wait, (int []){ n, pipes[1] });
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		bail_out("the child holds no events");
	kill_and_wait(child);
	close(pipes[0]);
}

/* Half of the later events are queued while the reader holds the others. */
static void test_end(const char *way, void (*end)(unsigned int n), unsigned int n)
{
	int belt = named_belt(NAME, 0);

	queue_events(belt, n + LATER / 2);
	end(n);
	queue_events(belt, LATER / 2);
	ok(has_events(belt, 1, n + LATER),
	   "%u events of a reader that %s are read again in order, and before later ones", n, way);
	destroy_belt(belt, NAME);
	close(belt);
}

/*
 * Reads with buffers that have room for some records, and end before an unmapped page. Return:
 * true if the events have the sequences from 1 to @last.
 */
static bool reads_in_order(int fd, __u64 last)
{
	size_t size = 100 * RECORD, room, at;
	const struct hashbelt_event *event;
	unsigned int records;
	__u64 sequence = 0;
	unsigned char *buffer;
	ssize_t len;

	for (records = 1; sequence < last; records = records % 63 + 1) {
		room = records * RECORD;
		buffer = before_hole(room);
		len = read_into(fd, buffer, size);
		if (len < 0)
			return false;
		check_events(buffer, len);
		for (at = 0; at < (size_t)len; at += event->size) {
			event = (const void *)(buffer + at);
			if (event->sequence != ++sequence) {
				note("sequence %llu where %llu was due", event->sequence, sequence);
				return false;
			}
		}
		munmap(buffer + room - ((room + PAGE - 1) & ~(PAGE - 1)),
		       ((room + PAGE - 1) & ~(PAGE - 1)) + PAGE);
	}
	return sequence == last && read_into(fd, before_hole(RECORD), RECORD) == -EAGAIN;
}

static void test_faults(void)
{
	int belt = named_belt(NAME, 0);
	char key[16];
	__u32 i;

	queue_events(belt, 900);
	ok(reads_in_order(belt, 900),
	   "events that a read cannot copy out are read again in order, whichever is the first");
	watch(belt, HASHBELT_WATCH_REQUESTS);
	for (i = 1; i <= 900; i++) {
		snprintf(key, sizeof(key), "%u", i);
		must_ask(belt, i, key);
		if (complete(belt, key) != 1)
			bail_out("no request of %s", key);
	}
	ok(reads_in_order(belt, 900),
	   "completions that a read cannot copy out are read again in order, whichever is the first");
	destroy_belt(belt, NAME);
	close(belt);
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		test_end("closes its descriptor", end_by_close, numbers[i]);
		test_end("binds its descriptor to another belt", end_by_rebinding, numbers[i]);
		test_end("is killed", end_by_kill, numbers[i]);
	}
	test_faults();
	return done_testing();
}
