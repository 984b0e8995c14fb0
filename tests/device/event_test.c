// SPDX-License-Identifier: GPL-2.0-only
/*
 * event_test - the events of entries that leave a belt.
 *
 * Which events are reported, their contents byte for byte, how many fit into a buffer, and
 * what each handler does with an entry. Order and limits of the queue are in queue_test,
 * waiting and several readers in wait_test.
 */
#define _GNU_SOURCE
#include "events.h"

/* Reasons and masks */

#define REASONS		(HASHBELT_RELEASED + 1)
#define FIRST		5	/* entries that fill the belt to its limit */
#define MASKED		"masked"

static void drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (fd < 0 || write(fd, "2", 1) != 1)
		bail_out("drop_caches: %s", strerror(errno));
	close(fd);
}

/* Puts an entry that is released when its descriptor closes. */
static void put_bound(void)
{
	struct hashbelt_item item = text_item("bound", "value");
	int fd = open_named(MASKED);

	item.how = HASHBELT_BOUND;
	must(fd, HASHBELT_IOC_PUT, &item);
	close(fd);
}

/*
 * Makes an entry leave for each reason. Events of removed and expired entries count against
 * the limit of FIRST entries and must fit below it.
 */
static void do_everything(int belt)
{
	char key[] = "first 0";
	unsigned int i;

	for (i = 0; i <= FIRST; i++) {
		key[6] = '0' + i;
		put_text(belt, key, "value", 1000 + i);
	}
	put_text(belt, key, "again", 0);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	put_bound();
	put_text(belt, "removed", "value", 0);
	if (on_key(belt, HASHBELT_IOC_REMOVE, "removed"))
		bail_out("no remove");
	put_text(belt, "expired", "value", 1);
	advance(belt, TTL);
	put_text(belt, "squeezed", "value", 0);
	drop_caches();
}

/*
 * Counts events by reason. A clear reports entries as the worker sweeps them, so this waits
 * until the belt has @want events.
 */
static void count_reasons(int belt, unsigned int *counts, unsigned int want)
{
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;
	unsigned int tries;

	for (tries = 0; tries < 2000 && info_of(belt).sequence < want; tries++)
		usleep(1000);

	memset(counts, 0, REASONS * sizeof(*counts));
	while ((event = next_event(&stream)))
		counts[event->reason]++;
	free(stream.buffer);
}

/* True if exactly the reasons in @mask are reported, each as often as it occurred. */
static bool is_masked(__u32 handler, __u32 mask)
{
	unsigned int want[REASONS] = { 0, 1, 1, 1, 1, FIRST, 1, 1 }, got[REASONS], reason;
	struct hashbelt_settings settings = {
		.name = MASKED, .mode = 0600, .handler = handler, .reasons = mask,
		.policy = HASHBELT_EVICT, .max_entries = FIRST,
	};
	int belt = belt_of(settings);
	unsigned int total = 0;
	bool same = true;

	set_blocking(belt, false);
	if (handler == HASHBELT_REINSERT)
		want[HASHBELT_PRESSURE]++;	/* the entry that was reinserted on expiry */
	if (!mask)
		mask = HASHBELT_REPORT_DEFAULT;
	if (handler == HASHBELT_DROP)
		mask = 0;
	for (reason = 1; reason < REASONS; reason++) {
		if (!(mask & HASHBELT_REPORT(reason)))
			want[reason] = 0;
		total += want[reason];
	}
	do_everything(belt);
	count_reasons(belt, got, total);
	for (reason = 1; reason < REASONS; reason++) {
		if (got[reason] == want[reason])
			continue;
		note("handler %u, mask %#x: reason %u is reported %u times, expected %u",
		     handler, mask, reason, got[reason], want[reason]);
		same = false;
	}
	destroy_belt(belt, MASKED);
	close(belt);
	return same;
}

static void test_masks(const char *name, __u32 handler)
{
	unsigned int mask, wrong = 0;

	for (mask = 0; mask <= REPORT_ALL && wrong < 3; mask += 2)
		wrong += !is_masked(handler, mask);
	ok(!wrong,
	   "handler %s: exactly the events due under each of 128 masks are reported",
	   name);
}

/* Contents */

static const unsigned int key_lens[] = { 1, 2, 7, 8, 9, 63, 64, 65, 1023, 1024 };
static const unsigned int value_lens[] = {
	0, 1, 3, 8, 15, 16, 17, 100, 240, 1000, 4032, 4095, 4096, 4097, 65536, 131073,
	MIB - 1, MIB,
};

static unsigned char record[HASHBELT_EVENT_MAX], want_record[HASHBELT_EVENT_MAX + 64];

static void fill(unsigned char *p, size_t size, unsigned int seed)
{
	unsigned int state = seed * 2654435761u + 1;

	while (size--) {
		state = state * 1103515245 + 12345;
		*p++ = state >> 16;
	}
}

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
	fill((void *)(want + 1), key_len + value_len, ++number);
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
		if (!memcmp(want, got, end) &&
		    (end == sizeof(record) || record[end] == 0xa5))
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
	ok(!wrong,
	   "an event holds keys to 1024 bytes and values to 1 MiB byte for byte");
	for (i = 0; i < 256; i++)
		wrong += !is_reported(belt, i % 40 + 1, i);
	ok(!wrong,
	   "events are padded with zeros, and read writes nothing beyond an event");
	close(belt);
}

/* Reads the only event of a belt; that of a clear comes after its sweep. */
static struct hashbelt_event only_event(int belt)
{
	static unsigned char buffer[HASHBELT_EVENT_MAX];
	ssize_t len;

	readable_at_last(belt);
	len = read_into(belt, buffer, sizeof(buffer));
	if (len < 0 || check_events(buffer, len) != 1)
		bail_out("read of one event: %zd", len);
	return *(struct hashbelt_event *)buffer;
}

static void test_times(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, REPORT_ALL);
	__u64 now = info_of(belt).now_ns, version;
	struct hashbelt_event event;

	put_text(belt, "key", "value", HASHBELT_TTL_NEVER);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	event = only_event(belt);
	ok(event.deadline_ns == ~0ULL && event.reason == HASHBELT_REMOVED,
	   "the event of an entry that never expires has no deadline");
	put_text(belt, "key", "value", 1000);
	advance(belt, 10);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	event = only_event(belt);
	ok(same_time(event.deadline_ns, now + 1000 * 1000000ULL) &&
	   same_time(event.handed_ns, now + 10 * 1000000ULL),
	   "the event of a removed entry has its deadline and the time of the remove");
	version = put_text(belt, "key", "value", 1000);
	put_text(belt, "key", "longer", 2000);
	event = only_event(belt);
	ok(event.version == version && event.value_len == 5 &&
	   event.reason == HASHBELT_REPLACED,
	   "the event of a replaced entry has the old version and value");
	advance(belt, 5);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	event = only_event(belt);
	ok(event.reason == HASHBELT_CLEARED && event.value_len == 6 &&
	   same_time(event.deadline_ns, now + 2010 * 1000000ULL),
	   "the event of a cleared entry has its value length and deadline");
	put_text(belt, "key", "value", 500);
	must(belt, HASHBELT_IOC_TOUCH, &(struct hashbelt_item){
		.key = address("key"), .key_len = 3, .ttl_ms = 2 * TTL });
	advance(belt, 4 * TTL);
	event = only_event(belt);
	ok(same_time(event.deadline_ns, now + (15 + 2 * TTL) * 1000000ULL),
	   "the event of a touched entry has the deadline that the touch has set");
	close(belt);
}

/* Sequences */

/* Entries in all shards expire at once. */
static void test_sequences(void)
{
	enum { ENTRIES = 20000 };
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	struct stream stream = stream_of(belt, 65536);
	const struct hashbelt_event *event;
	static unsigned char seen[ENTRIES];
	unsigned int i, wrong = 0, twice = 0;

	put_numbers(belt, 0, ENTRIES, 0);
	advance(belt, 2 * TTL);
	is_int(info_of(belt).sequence, ENTRIES,
	       "info returns the sequence of the newest event");
	is_int(info_of(belt).queued, ENTRIES, "info returns how many events wait");
	while ((event = next_event(&stream))) {
		wrong += event->sequence != stream.count;
		memcpy(&i, event_key(event), sizeof(i));
		twice += seen[i % ENTRIES]++;
	}
	is_errno(stream.err, EAGAIN, "read returns EAGAIN when all events have been read");
	is_int(stream.count, ENTRIES,
	       "each of %u entries that expire at once is reported", ENTRIES);
	ok(!wrong && !stream.lost,
	   "events are read in order, numbered from 1 without a gap");
	is_int(twice, 0, "none of the entries that expire at once is reported twice");
	ok(!info_of(belt).queued && !info_of(belt).queued_bytes &&
	   !info_of(belt).used_entries,
	   "events that were read do not count as queued or as used entries");
	free(stream.buffer);
	close(belt);
}

static void test_many(void)
{
	const unsigned int entries = scaled(100000);
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	struct stream stream = stream_of(belt, MIB);
	const struct hashbelt_event *event;
	unsigned int i;
	__u64 sum = 0;

	put_numbers(belt, 0, entries, 0);
	advance(belt, 2 * TTL);
	while ((event = next_event(&stream))) {
		memcpy(&i, event_key(event), sizeof(i));
		sum += i;
	}
	is_int(stream.count, entries,
	       "the events of %u entries that expire at once are all read", entries);
	is_int(sum, entries * (entries - 1ULL) / 2,
	       "the event of each entry that expires is read once");
	free(stream.buffer);
	close(belt);
}

/* Buffers of all sizes */

#define SIZES	6

/* Queues events of different sizes; returns the sum of the sizes. */
static size_t queue_sizes(int belt)
{
	static const unsigned int lens[SIZES] = { 0, 7, 1, 40, 8, 3 };
	static const char text[] = "0123456789012345678901234567890123456789";
	struct hashbelt_item item;
	unsigned int i;
	size_t total = 0;

	for (i = 0; i < SIZES; i++) {
		item = text_item("key", text);
		item.value_len = lens[i];
		must(belt, HASHBELT_IOC_PUT, &item);
		on_key(belt, HASHBELT_IOC_EXPIRE, "key");
		total += event_size(3, lens[i]);
	}
	return total;
}

/*
 * Reads with a buffer of @size bytes and closes without an acknowledgment; true if the read
 * returns as many events as fit.
 */
static bool fits_right(size_t size, const unsigned char *all, size_t total)
{
	unsigned char *buffer = before_hole(size);
	int fd = open_named("sizes");
	size_t want = 0, next;
	ssize_t len;

	while (want < total) {
		next = want + ((const struct hashbelt_event *)(all + want))->size;
		if (next > size)
			break;
		want = next;
	}
	watch(fd, HASHBELT_WATCH_ACK);
	len = read_into(fd, buffer, size);
	close(fd);
	if (!want)
		return len == -EMSGSIZE;
	return len == (ssize_t)want && !memcmp(buffer, all, len);
}

static void test_fit(void)
{
	int belt = named_belt("sizes", 0), fd = open_named("sizes");
	static unsigned char all[4096];
	size_t total = queue_sizes(belt), size;
	unsigned int wrong = 0;

	watch(fd, HASHBELT_WATCH_ACK);
	is_int(read_into(fd, all, sizeof(all)), total,
	       "one read into a large buffer returns all queued events");
	is_int(check_events(all, total), SIZES, "a read into a large buffer returns whole events");
	close(fd);
	for (size = 1; size <= total + 8; size++)
		if (!fits_right(size, all, total) && !wrong++)
			note("a buffer of %zu bytes", size);
	ok(!wrong,
	   "read returns as many whole events as fit, EMSGSIZE if none fits");
	ok(has_events(belt, 1, SIZES),
	   "no event is lost by reads without ack or with EMSGSIZE");
	destroy_belt(belt, "sizes");
	close(belt);
}

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

static void *read_only_place(size_t size)
{
	static unsigned char zeros[MIB];

	return readonly_copy(zeros, size);
}

static void *unmapped_place(size_t size)
{
	return (char *)unmapped() + size * 0;
}

static void *kernel_place(size_t size)
{
	return (void *)(uintptr_t)(0xffff888000000000ULL + size * 0);
}

static void *null_place(size_t size)
{
	return (char *)NULL + size * 0;
}

static const struct { const char *what; void *(*make)(size_t size); } bad_places[] = {
	{ "that is read-only", read_only_place },
	{ "that is not mapped", unmapped_place },
	{ "at a kernel address", kernel_place },
	{ "at NULL", null_place },
};

static void test_bad_buffers(__u32 flags, const char *mode)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	unsigned int i, wrong;

	watch(belt, flags);
	queue_events(belt, 3);
	for (i = 0; i < ARRAY_SIZE(bad_places); i++)
		is_errno(read_into(belt, bad_places[i].make(65536), 65536), EFAULT,
			 "%s: EFAULT from read of events into a buffer %s",
			 mode, bad_places[i].what);
	is_int(info_of(belt).queued, 3,
	       "%s: a read with EFAULT leaves all events in the queue", mode);
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

/* Handlers */

static void test_drop(void)
{
	int belt = reporting_belt(HASHBELT_DROP, REPORT_ALL);

	put_and_expire(belt, "key", "value");
	is_errno(read_into(belt, record, sizeof(record)), ENODATA,
		 "read from a belt that reports nothing returns ENODATA");
	set_blocking(belt, true);
	is_errno(read_into(belt, record, sizeof(record)), ENODATA,
		 "a blocking read of a belt that reports nothing returns ENODATA");
	ok(!info_of(belt).sequence && !info_of(belt).used_entries,
	   "an entry that expires under handler drop leaves no event and no charge");
	close(belt);
}

static void test_notify(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	__u64 first = put_text(belt, "key", "first", 1000), second;
	struct hashbelt_event event;

	advance(belt, TTL);
	ok(!is_there(belt, "key") && !info_of(belt).entries,
	   "an entry that has expired is not found while its event is queued");
	second = put_text(belt, "key", "second", 1000);
	ok(holds_text(belt, "key", "second"),
	   "a key can be put again while the event of its expiry is queued");
	advance(belt, TTL);
	read_into(belt, record, event_size(3, 5));
	memcpy(&event, record, sizeof(event));
	ok(event.version == first && !memcmp(record + sizeof(event), "keyfirst", 8),
	   "the first entry of a key is reported before the second");
	event = only_event(belt);
	ok(event.version == second && event.value_len == 6,
	   "the second entry of a key is reported after the first");
	close(belt);
}

static void test_reinsert(void)
{
	int belt = reporting_belt(HASHBELT_REINSERT, 0);
	__u64 version = put_text(belt, "key", "value", 1000), deadline;
	struct hashbelt_event event;
	unsigned int i, wrong = 0;

	advance(belt, TTL);
	event = only_event(belt);
	ok(event.reason == HASHBELT_EXPIRED && event.version == version,
	   "a belt that reinserts reports an entry that expires");
	ok(holds_text(belt, "key", "value") && look(belt, "key").version == version,
	   "an entry that is reinserted lives on with the same version");
	is_int(look(belt, "key").ttl_ms, TTL,
	       "an entry that is reinserted has the belt's time-to-live again");
	is_int(counter(belt, HASHBELT_STAT_REINSERTED), 1,
	       "an entry that is reinserted is counted as reinserted");
	deadline = event.deadline_ns;
	for (i = 0; i < 20; i++) {
		advance(belt, 2 * TTL);
		event = only_event(belt);
		wrong += event.version != version || event.deadline_ns <= deadline ||
			 event.sequence != i + 2 || !holds_text(belt, "key", "value");
		deadline = event.deadline_ns;
	}
	ok(!wrong, "an entry is reinserted each time that it expires");
	put_text(belt, "never", "value", HASHBELT_TTL_NEVER);
	on_key(belt, HASHBELT_IOC_EXPIRE, "never");
	ok(only_event(belt).value_len == 5 && look(belt, "never").ttl_ms == TTL,
	   "expire gives an entry that never expires the belt's ttl if it reinserts");
	is_errno(on_key(belt, HASHBELT_IOC_REMOVE, "key"), 0,
		 "an entry that has been reinserted can be removed");
	advance(belt, 2 * TTL);
	is_int(discard_events(belt), 1,
	       "a belt that reinserts does not report an entry that was removed");
	close(belt);
}

/* A queued event shows the entry as it was at that moment. */
static void test_reinsert_past(void)
{
	int belt = reporting_belt(HASHBELT_REINSERT, REPORT_ALL);
	__u64 first = put_text(belt, "key", "first", 1000), second;
	struct stream stream = stream_of(belt, 72);
	const struct hashbelt_event *event;

	on_key(belt, HASHBELT_IOC_EXPIRE, "key");
	second = put_text(belt, "key", "other", 1000);
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	event = next_event(&stream);
	ok(event && event->reason == HASHBELT_EXPIRED && event->version == first &&
	   !memcmp(event_value(event), "first", 5),
	   "a queued expiry has the version and value from before a later put");
	event = next_event(&stream);
	ok(event && event->reason == HASHBELT_REPLACED && event->version == first,
	   "the replacement of a reinserted entry is reported after its expiry");
	event = next_event(&stream);
	ok(event && event->reason == HASHBELT_REMOVED && event->version == second &&
	   !memcmp(event_value(event), "other", 5),
	   "the removal of the new entry is reported last");
	free(stream.buffer);
	close(belt);
}

/* An advance by many times-to-live is one expiry, not one for each of them. */
static void test_reinsert_far(void)
{
	int belt = belt_of((struct hashbelt_settings){
		.handler = HASHBELT_REINSERT, .ttl_ms = 1, .buckets = 2 });

	set_blocking(belt, false);
	put_text(belt, "key", "value", 0);
	advance(belt, HASHBELT_TTL_MAX_MS);
	ok(discard_events(belt) <= 2 && holds_text(belt, "key", "value"),
	   "an advance by 139 years reinserts an entry of 1 ms at most twice");
	close(belt);
}

static int advance_once(void *arg)
{
	advance(*(int *)arg, 1);
	return 0;
}

static bool has_ended(void *arg)
{
	siginfo_t info = {};

	return !waitid(P_PID, *(pid_t *)arg, &info, WEXITED | WNOWAIT | WNOHANG) &&
	       info.si_pid;
}

/* Entries that are due for reinsertion again before the worker has drained them all. */
static void test_reinsert_always(void)
{
	struct hashbelt_settings create = {
		.ttl_ms = 1, .handler = HASHBELT_REINSERT, .max_events = 1000,
	};
	int belt = open_device(O_RDWR);
	pid_t child;
	bool ended;

	must(belt, HASHBELT_IOC_CREATE, &create);
	put_numbers(belt, 0, scaled(20000), 0);
	child = start(advance_once, &belt);
	ended = at_last(has_ended, &child);
	kill_and_wait(child);
	ok(ended, "advance returns though all entries of the belt are reinserted each ms");
	close(belt);
}

/* A writer finds an entry that has expired but is not reinserted yet. */
static void test_due(void)
{
	struct hashbelt_item item = text_item("key", "other");
	int belt = reporting_belt(HASHBELT_REINSERT, REPORT_ALL);

	put_text(belt, "key", "value", 1);
	advance(belt, 2);
	item.how = HASHBELT_IF_ABSENT;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EEXIST,
		 "put with HASHBELT_IF_ABSENT finds an entry that is due for reinsertion");
	item.how = HASHBELT_IF_PRESENT;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), 0,
		 "put with HASHBELT_IF_PRESENT replaces an entry due for reinsertion");
	ok(holds_text(belt, "key", "other"),
	   "get returns the value that was put over an entry due for reinsertion");
	discard_events(belt);
	put_text(belt, "key", "value", 1);
	discard_events(belt);
	advance(belt, 2);
	is_errno(on_key(belt, HASHBELT_IOC_REMOVE, "key"), 0,
		 "remove finds an entry that is due for reinsertion");
	advance(belt, 2 * TTL);
	ok(!is_there(belt, "key") && !info_of(belt).entries,
	   "an entry that was removed when due is not reinserted");
	close(belt);
}

/* Destroyed belts */

static void test_destroyed(void)
{
	int belt = named_belt("ends", 0);
	__u64 before = get_parameter("used_bytes");
	unsigned int i;
	char key[16];

	for (i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_and_expire(belt, key, key);
	}
	is_errno(destroy_belt(belt, "ends"), 0, "a belt with queued events can be destroyed");
	is_errno(read_into(belt, record, sizeof(record)), EIDRM,
		 "a non-blocking read of events of a destroyed belt returns EIDRM");
	set_blocking(belt, true);
	is_errno(read_into(belt, record, sizeof(record)), EIDRM,
		 "a blocking read of events of a destroyed belt returns EIDRM");
	ok(used_at_last(before),
	   "used_bytes falls when a belt with queued events is destroyed");
	close(belt);
	belt = open_device(O_WRONLY);
	is_errno(read_into(belt, record, sizeof(record)), EBADF,
		 "read from a descriptor that is open for writing only returns EBADF");
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

	alarm(1200);
	test_masks("drop", HASHBELT_DROP);
	test_masks("notify", HASHBELT_NOTIFY);
	test_masks("reinsert", HASHBELT_REINSERT);
	test_contents();
	test_no_position();
	test_times();
	test_sequences();
	test_many();
	test_fit();
	test_too_small();
	test_bad_buffers(0, "without acknowledging");
	test_bad_buffers(HASHBELT_WATCH_ACK, "acknowledging");
	test_cut_buffer();
	test_fresh_buffer();
	test_drop();
	test_notify();
	test_reinsert();
	test_reinsert_past();
	test_reinsert_far();
	test_reinsert_always();
	test_due();
	test_destroyed();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
