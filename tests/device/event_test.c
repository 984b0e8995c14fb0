// SPDX-License-Identifier: GPL-2.0-only
/*
 * event_test - the events of entries that leave a belt.
 *
 * Their contents byte for byte, and buffers that are too small or cannot be written. Which events
 * are reported, and in which order: tests/kunit/queue_test.c. Concurrent writers are in
 * tests/stress/churn.c, waiting, several readers and the end of a belt in wait_test.
 */
#include "events.h"

/* Contents */

static const unsigned int key_lens[] = { 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024 };
static const unsigned int value_lens[] = {
	0, 1, 3, 8, 15, 16, 17, 100, 240, 1000, 4032, 4095, 4096, 4097, 65536, 131073,
	MIB - 1, MIB,
};

static unsigned char record[HASHBELT_EVENT_MAX], want_record[HASHBELT_EVENT_MAX + 64];

/* Belt times are multiples of 8 ns: times that differ by at most 1 ns are equal. */
static bool same_time(__u64 a, __u64 b)
{
	return a - b + 1 <= 2;
}

/* Puts an entry with random contents; returns the event of its expiry. */
static struct hashbelt_event *put_random(int belt, __u32 key_len, __u32 value_len)
{
	static unsigned int number;
	struct hashbelt_event *want = (void *)want_record;
	struct hashbelt_item item = {
		.key = address(want + 1), .key_len = key_len, .value_len = value_len,
		.flags = 0x80000001u + number, .ttl_ms = 1000,
	};

	memset(want_record, 0, sizeof(want_record));
	fill_bytes((void *)(want + 1), key_len + value_len, ++number);
	item.value = item.key + key_len;
	must(belt, HASHBELT_IOC_PUT, &item);
	*want = (struct hashbelt_event){
		.size = event_size(key_len, value_len), .reason = HASHBELT_EXPIRED,
		.sequence = number, .version = item.version, .flags = item.flags,
		.deadline_ns = info_of(belt).now_ns + 1000 * 1000000ULL,
		.key_len = key_len, .value_len = value_len,
	};
	return want;
}

static bool is_reported(int belt, __u32 key_len, __u32 value_len)
{
	struct hashbelt_event *want = put_random(belt, key_len, value_len);
	struct hashbelt_event *got = (void *)record;
	__u32 end = want->size;
	ssize_t len;

	advance(belt, TTL);
	memset(record, 0xa5, sizeof(record));
	len = read_into(belt, record, end);
	if (len == (ssize_t)end && same_time(got->deadline_ns, want->deadline_ns) &&
	    same_time(got->handed_ns, info_of(belt).now_ns)) {
		want->deadline_ns = got->deadline_ns;
		want->handed_ns = got->handed_ns;
		if (!memcmp(want, got, end) && (end == sizeof(record) || record[end] == 0xa5))
			return true;
	}
	note("an event of %u and %u bytes: read %zd", key_len, value_len, len);
	note("deadline %llu, expected %llu; handed over %llu, expected %llu",
	     got->deadline_ns, want->deadline_ns, got->handed_ns, info_of(belt).now_ns);
	return false;
}

static void test_contents(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned int i, k, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(key_lens); i++)
		for (k = 0; k < ARRAY_SIZE(value_lens); k++)
			wrong += !is_reported(belt, key_lens[i], value_lens[k]);
	ok(!wrong, "an event holds keys to 1024 bytes and values to 1 MiB byte for byte");
	for (i = 0; i < 256; i++)
		wrong += !is_reported(belt, i % 40 + 1, i);
	ok(!wrong, "events are padded with zeros, and read writes nothing beyond an event");
	close(belt);
}

/* Buffers of all sizes */

static void test_too_small(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned char *buffer = malloc(HASHBELT_EVENT_MAX);
	size_t size = event_size(3, 1000);
	struct hashbelt_item item;
	struct hashbelt_event *want;

	want = put_random(belt, HASHBELT_KEY_MAX, HASHBELT_VALUE_MAX);
	advance(belt, TTL);
	is_int(want->size, HASHBELT_EVENT_MAX,
	       "the largest event is HASHBELT_EVENT_MAX bytes long");
	is_errno(read_into(belt, buffer, HASHBELT_EVENT_MAX - 1), EMSGSIZE,
		 "read of the largest event into one byte less returns EMSGSIZE");
	is_errno(read_into(belt, buffer, 1), EMSGSIZE,
		 "read of an event into one byte returns EMSGSIZE");
	is_int(read_into(belt, buffer, HASHBELT_EVENT_MAX), HASHBELT_EVENT_MAX,
	       "read into a buffer of the event's size returns the event");
	put_and_expire(belt, "one", "small");
	item = item_of("two");
	item.value = address(buffer);
	item.value_len = 1000;
	must(belt, HASHBELT_IOC_PUT, &item);
	on_key(belt, HASHBELT_IOC_EXPIRE, "two");
	is_int(read_into(belt, buffer, size), event_size(3, 5),
	       "read returns one event alone if the next does not fit beside it");
	is_errno(read_into(belt, buffer, size - 1), EMSGSIZE,
		 "read into a buffer one byte too small for the next event returns EMSGSIZE");
	is_int(read_into(belt, buffer, size), size,
	       "an event that did not fit is read into a buffer of its size");
	free(buffer);
	close(belt);
}

/* Buffers that cannot be written */

static void test_bad_buffers(__u32 flags, const char *mode)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned int i, wrong;

	watch(belt, flags);
	queue_events(belt, 3);
	for (i = 0; i < ARRAY_SIZE(bad_places); i++)
		is_errno(read_into(belt, (void *)(uintptr_t)bad_places[i].make(event_size(1, 1)),
				   65536), EFAULT,
			 "%s: EFAULT from read of events into a buffer %s",
			 mode, bad_places[i].what);
	ok(info_of(belt).queued == 3 && info_of(belt).used_entries == 3,
	   "%s: a read with EFAULT leaves all events in the queue, and charged", mode);
	for (i = wrong = 0; i < event_size(1, 1); i++)
		wrong += read_into(belt, before_hole(i), 65536) != -EFAULT;
	ok(!wrong,
	   "%s: EFAULT from read into a buffer that ends within the first event", mode);
	ok(has_events(belt, 1, 3),
	   "%s: all events are read in order after reads with EFAULT", mode);
	ok(ack(belt, 3) == (flags ? 0 : -ENOENT),
	   "%s: ack needs HASHBELT_WATCH_ACK, also after reads with EFAULT", mode);
	close(belt);
}

/* A loss is reported by the first read that succeeds. */
static void test_untold(void)
{
	int belt = belt_of((struct hashbelt_settings){
		.handler = HASHBELT_NOTIFY, .max_events = 10 });
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

/*
 * Reads into a buffer that ends before an unmapped page after @room bytes. True if the read
 * returns whole events or EFAULT, and later reads return the others.
 */
static bool is_cut_right(unsigned int room)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned char *buffer = before_hole(room);
	unsigned int n = 0;
	ssize_t len;
	bool good;

	queue_events(belt, 4);
	len = read_into(belt, buffer, 65536);
	if (len > 0)
		n = check_events(buffer, len);
	good = (len > 0 ? len <= (ssize_t)room : len == -EFAULT) &&
	       has_events(belt, n + 1, 4);
	if (!good)
		note("%u bytes of buffer: read returned %zd", room, len);
	close(belt);
	return good;
}

static void test_cut_buffer(void)
{
	unsigned int room, wrong = 0;

	for (room = 0; room < 4 * event_size(1, 1); room += 3)
		wrong += !is_cut_right(room);
	ok(!wrong,
	   "a read that faults midway neither loses, splits nor repeats an event");
}

/* Pages that are not present yet */
static void test_fresh_buffer(void)
{
	static const unsigned int sizes[] = { 1, 4000, 5000, 65536, MIB };
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned int i, wrong = 0;
	struct hashbelt_event *want;
	unsigned char *buffer;
	ssize_t len;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		want = put_random(belt, 9, sizes[i]);
		advance(belt, TTL);
		buffer = fresh_pages(HASHBELT_EVENT_MAX);
		len = read_into(belt, buffer, HASHBELT_EVENT_MAX);
		wrong += len != (ssize_t)want->size ||
			 memcmp(buffer + sizeof(*want), want + 1, len - sizeof(*want));
		munmap(buffer, HASHBELT_EVENT_MAX);
	}
	ok(!wrong, "events are read into pages that are not present yet");
	close(belt);
}

/* The queue has no file position. */
static void test_no_position(void)
{
	int fd = open_device(O_RDWR);

	ok(lseek(fd, 0, SEEK_SET) < 0 && errno == ESPIPE, "lseek on the device fails with ESPIPE");
	ok(pread(fd, record, sizeof(record), 0) < 0 && errno == ESPIPE,
	   "pread of the device fails with ESPIPE");
	close(fd);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_contents();
	test_no_position();
	test_too_small();
	test_bad_buffers(0, "without acknowledging");
	test_bad_buffers(HASHBELT_WATCH_ACK, "acknowledging");
	test_untold();
	test_cut_buffer();
	test_fresh_buffer();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
