// SPDX-License-Identifier: GPL-2.0-only
/*
 * queue_test - reads that fail, and the order of the events of one key with concurrent writers.
 *
 * Limits of the queue: tests/kunit/queue_test.c.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "events.h"

/* Limits of the queue */

/* A loss is reported by the first read that succeeds. */
static void test_untold(void)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .max_events = 10,
	};
	int belt = belt_of(settings);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;

	set_blocking(belt, false);
	queue_events(belt, 25);
	is_errno(read_into(belt, unmapped(), 4096), EFAULT,
		 "read into an unmapped buffer returns EFAULT where events were lost");
	is_errno(read_into(belt, stream.buffer, 70), EMSGSIZE,
		 "read into a buffer that is too small returns EMSGSIZE after a loss");
	event = next_event(&stream);
	ok(event && event->lost == 15 && event->sequence == 16,
	   "a read after failed ones reports the loss");
	free(stream.buffer);
	close(belt);
}

/* Limits of the belt */

static int try_put(int belt, const char *key)
{
	return on_key(belt, HASHBELT_IOC_PUT, key);
}

/* A read that fails takes no event, and its events still count. */
static void test_failed_read(__u32 flags, const char *mode)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .max_entries = 3, .max_bytes = MIB,
	};
	int belt = belt_of(settings);
	__u64 bytes;
	unsigned int i;

	set_blocking(belt, false);
	watch(belt, flags);
	queue_events(belt, 3);
	bytes = info_of(belt).used_bytes;
	for (i = 0; i < 10; i++)
		read_into(belt, i % 2 ? unmapped() : before_hole(100), 4096);
	/* Events that a partly failed read has copied are gone; all others are read here. */
	discard_events(belt);
	if (flags)
		ack(belt, 3);
	ok(!info_of(belt).used_entries && !info_of(belt).used_bytes && bytes,
	   "%s: no charge is left of events read after reads with EFAULT", mode);
	queue_events(belt, 3);
	read_into(belt, unmapped(), 4096);
	is_int(info_of(belt).used_entries, 3,
	       "%s: events count under max_entries after a read with EFAULT", mode);
	is_errno(try_put(belt, "d"), ENOSPC,
		 "%s: put returns ENOSPC after a read with EFAULT at max_entries", mode);
	close(belt);
}

/* Events of one key */

#define KEYS	50
#define AT_ONCE	512	/* buffer of the reader, bytes */

static int racing_belt;
static bool over;
static unsigned int succeeded;		/* puts; atomic */
static unsigned int refused;		/* puts; atomic */

static void put_short(const char *key, __u64 ttl_ms)
{
	struct hashbelt_item item = text_item(key, key);
	int err;

	item.ttl_ms = ttl_ms;
	err = call(racing_belt, HASHBELT_IOC_PUT, &item);
	if (err)
		note("put: %s", error_name(err));
	__atomic_fetch_add(err ? &refused : &succeeded, 1, __ATOMIC_RELAXED);
}

static void *write_keys(void *arg)
{
	unsigned int state = (uintptr_t)arg + 1, i;
	char key[] = "A";

	for (i = 0; i < scaled(15000); i++) {
		state = state * 1103515245 + 12345;
		key[0] = 'A' + (state >> 16) % KEYS;
		switch ((state >> 20) % 8) {
		case 0:
			on_key(racing_belt, HASHBELT_IOC_REMOVE, key);
			break;
		case 1:
			on_key(racing_belt, HASHBELT_IOC_EXPIRE, key);
			break;
		case 2:
			advance(racing_belt, 1);
			break;
		case 3:
			if (state >> 28 == 0)
				must(racing_belt, HASHBELT_IOC_CLEAR, NULL);
			break;
		default:
			put_short(key, 1 + (state >> 24) % 5);
		}
	}
	return NULL;
}

/* Reads until the writers are done and the queue is empty. */
static unsigned int read_in_order(struct stream *stream)
{
	const struct hashbelt_event *event;
	__u64 versions[KEYS] = {}, last = 0;
	unsigned int wrong = 0, key;
	bool done;

	do {
		done = __atomic_load_n(&over, __ATOMIC_ACQUIRE);
		while ((event = next_event(stream))) {
			key = event_key(event)[0] - 'A';
			wrong += key >= KEYS || event->version <= versions[key % KEYS];
			versions[key % KEYS] = event->version;
			wrong += event->sequence != last + event->lost + 1;
			last = event->sequence;
		}
	} while (!done);
	return wrong;
}

static void *read_keys(void *arg)
{
	return (void *)(uintptr_t)read_in_order(arg);
}

/* Two writers and a reader: the events of each key come in the order of its versions. */
static void test_order(struct hashbelt_settings settings, const char *promise)
{
	struct stream stream;
	pthread_t writers[2], reader;
	void *wrong;
	unsigned int i;

	settings.handler = HASHBELT_NOTIFY;
	settings.reasons = REPORT_ALL;
	settings.ttl_ms = 5;
	racing_belt = belt_of(settings);
	set_blocking(racing_belt, false);
	stream = stream_of(racing_belt, AT_ONCE);
	succeeded = 0;
	refused = 0;
	over = false;
	pthread_create(&reader, NULL, read_keys, &stream);
	for (i = 0; i < 2; i++)
		pthread_create(&writers[i], NULL, write_keys, (void *)(uintptr_t)i);
	for (i = 0; i < 2; i++)
		pthread_join(writers[i], NULL);
	must(racing_belt, HASHBELT_IOC_CLEAR, NULL);
	/* The worker reports cleared entries when it sweeps. */
	for (i = 0; i < 10000 && info_of(racing_belt).sequence < succeeded; i++)
		usleep(1000);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(reader, &wrong);
	is_int((uintptr_t)wrong, 0,
	       "%s: events of one key come in the order of its versions", promise);
	is_int(stream.count + stream.lost, succeeded,
	       "%s: each concurrent put is reported or counted as lost, once", promise);
	is_int(refused, 0, "%s: every put of concurrent writers succeeds", promise);
	note("%u puts, %llu events read, %llu lost", succeeded, stream.count, stream.lost);
	free(stream.buffer);
	close(racing_belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_untold();
	test_failed_read(0, "without acknowledging");
	test_failed_read(HASHBELT_WATCH_ACK, "acknowledging");
	test_order((struct hashbelt_settings){}, "without limits");
	test_order((struct hashbelt_settings){ .max_events = 20 }, "with a short queue");
	test_order((struct hashbelt_settings){
		.max_entries = 30, .policy = HASHBELT_EVICT }, "evicting");
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
