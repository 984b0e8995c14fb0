// SPDX-License-Identifier: GPL-2.0-only
/*
 * queue_test - the limits and the order of the queue of events.
 *
 * The number of queued events, the events that are dropped, the limits under which a queued
 * event counts, and the order of the events of one key with concurrent writers.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "events.h"

/* Limits of the queue */

static void test_max_events(void)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .max_events = 10,
	};
	int belt = belt_of(settings);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;
	unsigned int wrong = 0;

	set_blocking(belt, false);
	queue_events(belt, 25);
	is_int(info_of(belt).queued, 10, "a queue holds no more events than max_events");
	is_int(info_of(belt).sequence, 25, "events that a full queue drops have sequences, too");
	event = next_event(&stream);
	ok(event && event->lost == 15 && event->sequence == 16 && has_key(event, "15"),
	   "a full queue drops its oldest events, and the next one read counts them");
	while ((event = next_event(&stream)))
		wrong += event->lost || event->sequence != 15 + stream.count;
	ok(!wrong && stream.count == 10,
	   "events after the one that reports a loss have neither gap nor loss");
	is_int(counter(belt, HASHBELT_STAT_EVENTS), 25,
	       "all events of an overfull queue are counted as queued");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_LOST), 15,
	       "events that a full queue drops are counted as lost");
	is_int(counter(belt, HASHBELT_STAT_EVENTS_READ), 10,
	       "events that were read from an overfull queue are counted as read");
	queue_events(belt, 9);
	event = next_event(&stream);
	ok(event && !event->lost && event->sequence == 26, "a loss is reported in one event only");
	queue_events(belt, 10);
	while ((event = next_event(&stream)))
		;
	is_int(stream.lost, 15, "a full queue that was read takes max_events more without a loss");
	is_int(stream.count + stream.lost, info_of(belt).sequence,
	       "events read and events lost add up to the newest sequence");
	free(stream.buffer);
	close(belt);
}

/*
 * Gaps between sequences equal the reported losses while a reader reads and events are
 * dropped.
 */
static void test_losses(void)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .max_events = 7,
	};
	int belt = belt_of(settings);
	struct stream stream = stream_of(belt, 3 * event_size(2, 2));
	const struct hashbelt_event *event;
	unsigned int round, wrong = 0;
	__u64 last = 0;

	set_blocking(belt, false);
	for (round = 0; round < 300; round++) {
		queue_events(belt, round % 11);
		event = next_event(&stream);
		if (!event)
			continue;
		wrong += event->sequence != last + event->lost + 1;
		last = event->sequence;
	}
	while ((event = next_event(&stream))) {
		wrong += event->sequence != last + event->lost + 1;
		last = event->sequence;
	}
	ok(!wrong && stream.lost,
	   "a gap before an event equals the number that it reports as lost");
	is_int(last, info_of(belt).sequence,
	       "the last event read from an overfull queue has the newest sequence");
	is_int(stream.lost, counter(belt, HASHBELT_STAT_EVENTS_LOST),
	       "the losses that events report add up to the counter");
	free(stream.buffer);
	close(belt);
}

/* An event of a replaced entry counts under the bytes of the queue only. */
static void test_queue_bytes(void)
{
	static unsigned char value[4000];
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .reasons = REPORT_ALL, .max_bytes = 65536,
	};
	struct hashbelt_item item = item_of("key");
	int belt = belt_of(settings);
	struct stream stream = stream_of(belt, MIB);
	unsigned int i, wrong = 0;

	set_blocking(belt, false);
	item.value = address(value);
	item.value_len = sizeof(value);
	for (i = 0; i < 100; i++) {
		wrong += call(belt, HASHBELT_IOC_PUT, &item) != 0;
		wrong += info_of(belt).queued_bytes > 65536;
		wrong += info_of(belt).used_entries != 1;
	}
	ok(!wrong,
	   "events of replaced entries stay within max_bytes and use no entries");
	ok(info_of(belt).queued >= 8 && info_of(belt).queued < 17,
	   "with max_bytes 64 KiB a queue holds 8 to 16 events of 4000-byte values");
	while (next_event(&stream))
		;
	ok(stream.lost && stream.count + stream.lost == 99,
	   "events of replaced entries beyond max_bytes are reported as lost");
	free(stream.buffer);
	close(belt);
}

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

static bool holds_no_more(void *arg)
{
	return get_parameter("used_bytes") < *(__u64 *)arg;
}

/*
 * A queued event of an entry that was reinserted keeps the old value, also when the entry
 * has been replaced since. That memory counts under the bytes of the queue.
 */
static void test_held_memory(void)
{
	static unsigned char value[100000];
	struct hashbelt_settings settings = {
		.handler = HASHBELT_REINSERT, .max_bytes = MIB, .policy = HASHBELT_EVICT,
	};
	struct hashbelt_item item = item_of("key");
	int belt = belt_of(settings);
	__u64 most = get_parameter("used_bytes") + 3 * MIB;
	unsigned int i, wrong = 0;

	item.value = address(value);
	for (i = 0; i < 200; i++) {
		item.value_len = sizeof(value) - i;
		wrong += call(belt, HASHBELT_IOC_PUT, &item) != 0;
		wrong += on_key(belt, HASHBELT_IOC_EXPIRE, "key") != 0;
	}
	ok(!wrong && at_last(holds_no_more, &most),
	   "entries and events of a reinserting belt hold at most 3 times max_bytes");
	note("%lld bytes below the most",
	     (long long)(most - get_parameter("used_bytes")));
	close(belt);
}

/* Limits of the belt */

static int try_put(int belt, const char *key)
{
	return on_key(belt, HASHBELT_IOC_PUT, key);
}

static void test_counts(enum hashbelt_reason reason, const char *name)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .reasons = REPORT_ALL, .max_entries = 3,
	};
	unsigned long request = reason == HASHBELT_REMOVED ? HASHBELT_IOC_REMOVE :
							     HASHBELT_IOC_EXPIRE;
	static const char *const keys[] = { "a", "b", "c" };
	int belt = belt_of(settings);
	unsigned int i;

	set_blocking(belt, false);
	for (i = 0; i < 3; i++) {
		put_text(belt, keys[i], "value", 0);
		on_key(belt, request, keys[i]);
	}
	ok(!info_of(belt).entries && info_of(belt).used_entries == 3,
	   "entries that were %s are gone, and count until their events are read", name);
	is_errno(try_put(belt, "d"), ENOSPC,
		 "put of a new key returns ENOSPC where %s entries use up max_entries", name);
	is_errno(try_put(belt, "a"), ENOSPC,
		 "put of a queued event's key returns ENOSPC at max_entries (%s)", name);
	is_int(counter(belt, HASHBELT_STAT_REJECTED), 2,
	       "puts refused for queued events of %s entries are counted as rejected", name);
	read_into(belt, malloc(PAGE), event_size(1, 5));
	is_int(info_of(belt).used_entries, 2,
	       "read of one event lowers used_entries by one (%s)", name);
	is_errno(try_put(belt, "d"), 0, "put succeeds after one event was read (%s)", name);
	is_errno(try_put(belt, "e"), ENOSPC,
		 "read of one event makes room for one entry only (%s)", name);
	is_int(info_of(belt).queued, 2,
	       "puts refused at max_entries drop no queued event (%s)", name);
	close(belt);
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

static void test_evicting(void)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .max_entries = 3, .policy = HASHBELT_EVICT,
	};
	int belt = belt_of(settings);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	unsigned int i, wrong = 0;
	char key[16];

	set_blocking(belt, false);
	for (i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%u", i);
		wrong += try_put(belt, key) != 0 || info_of(belt).used_entries > 3;
		if (i % 2)
			wrong += on_key(belt, HASHBELT_IOC_EXPIRE, key) != 0;
	}
	is_int(wrong, 0,
	       "a belt that evicts takes puts though events have used up max_entries");
	while (next_event(&stream))
		;
	is_int(stream.count + stream.lost + info_of(belt).entries, 100,
	       "each entry of a belt that evicts is present, reported or counted as lost");
	free(stream.buffer);
	close(belt);
}

static bool has_three(void *arg)
{
	return info_of(*(int *)arg).queued == 3;
}

static void test_no_place(void)
{
	struct hashbelt_settings settings = {
		.handler = HASHBELT_NOTIFY, .reasons = REPORT_ALL, .max_entries = 1,
		.policy = HASHBELT_EVICT,
	};
	int belt = belt_of(settings);

	set_blocking(belt, false);
	put_text(belt, "a", "value", 0);
	put_text(belt, "a", "value", 0);
	ok(info_of(belt).used_entries == 1 && info_of(belt).queued == 1,
	   "the event of a replaced entry does not count under max_entries");
	put_text(belt, "b", "value", 0);
	ok(info_of(belt).used_entries == 1 && info_of(belt).queued == 2,
	   "the event of an evicted entry does not count under max_entries");
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	put_text(belt, "c", "value", 0);
	ok(is_there(belt, "c") && at_last(has_three, &belt) &&
	   info_of(belt).used_entries == 1,
	   "the event of a cleared entry does not count under max_entries");
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

/* Each of many cleared entries is reported once. */
static void test_clear(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, REPORT_ALL);
	struct stream stream = stream_of(belt, MIB);
	const struct hashbelt_event *event;
	unsigned int i, wrong = 0, tries = 0;
	char key[16];

	for (i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_text(belt, key, key, 0);
	}
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	for (i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_text(belt, key, "new", 0);
	}
	while (stream.count < 5000 && ++tries < 10000) {
		while ((event = next_event(&stream)))
			wrong += event->reason != HASHBELT_CLEARED;
		usleep(1000);
	}
	while ((event = next_event(&stream)))
		wrong++;
	is_int(stream.count, 5000, "each entry that a clear drops is reported once");
	is_int(wrong, 0,
	       "cleared entries are reported as cleared, also if their key was put again");
	is_int(info_of(belt).entries, 100, "entries put right after a clear stay");
	free(stream.buffer);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	alarm(600);
	test_max_events();
	test_losses();
	test_queue_bytes();
	test_untold();
	test_held_memory();
	test_counts(HASHBELT_EXPIRED, "expired");
	test_counts(HASHBELT_REMOVED, "removed");
	test_failed_read(0, "without acknowledging");
	test_failed_read(HASHBELT_WATCH_ACK, "acknowledging");
	test_evicting();
	test_no_place();
	test_order((struct hashbelt_settings){}, "without limits");
	test_order((struct hashbelt_settings){ .max_events = 20 }, "with a short queue");
	test_order((struct hashbelt_settings){
		.max_entries = 30, .policy = HASHBELT_EVICT }, "evicting");
	test_clear();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
