// SPDX-License-Identifier: GPL-2.0-only
/*
 * client_test - the client library on /dev/hashbelt, also where hbctl does not use it: its
 * arguments, buffers and sentences. What the operations do: tests/conformance.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../device/tap.h"
#include <hashbelt/client.h>

/* Items for more than two ioctls. */
#define ITEMS	(2 * HASHBELT_BATCH_MAX + 10)

/* More entries than one ioctl counts; a multiple of 4. */
#define MANY	40000

/* Locks of one owner: more than fit into the first buffer of a list. */
#define LOCKS	500

/* Compiled programs have these values. */
_Static_assert(HASHBELT_CALL_OPEN == 0 && HASHBELT_CALL_GET == 5 && HASHBELT_CALL_READ == 13 &&
	       HASHBELT_CALL_LOCK == 21 && HASHBELT_CALL_INFO == 27 && HASHBELT_CALL_ADVANCE == 36,
	       "a value of enum hashbelt_call has changed");

static void test_open(void)
{
	struct hashbelt *belt = (void *)"";

	ok(hashbelt_open("/nonexistent", &belt) == -ENOENT && !belt,
	   "open of a path that does not exist returns ENOENT and no handle");
	belt = (void *)"";
	ok(hashbelt_open("/dev/null", &belt) == -ENOTTY && !belt,
	   "open of another device returns ENOTTY and no handle");
	hashbelt_close(NULL);
}

/* A handle made for a descriptor owns it only after success. */
static void test_descriptor(struct hashbelt *belt)
{
	struct hashbelt *other = (void *)"";
	int copy = dup(hashbelt_fd(belt)), null = open("/dev/null", O_RDWR);

	ok(hashbelt_fdopen(-1, &other) == -EBADF && !other,
	   "fdopen of no descriptor returns EBADF and no handle");
	ok(hashbelt_fdopen(null, &other) == -ENOTTY && !close(null),
	   "fdopen of another device returns ENOTTY and leaves it open");
	ok(!hashbelt_fdopen(copy, &other) && hashbelt_fd(other) == copy,
	   "fdopen of a descriptor of the device returns a handle with it");
	hashbelt_close(other);
	ok(fcntl(copy, F_GETFD) < 0 && errno == EBADF, "close closes the handle's descriptor");
}

static void test_names(struct hashbelt *belt)
{
	char name[HASHBELT_NAME_SIZE + 1];

	memset(name, 'n', sizeof(name));
	name[HASHBELT_NAME_SIZE] = '\0';
	ok(hashbelt_bind(belt, name) == -ENAMETOOLONG,
	   "bind to a name of 64 bytes returns ENAMETOOLONG");
	ok(hashbelt_bind(belt, "") == -EINVAL, "bind to an empty name returns EINVAL");
	ok(hashbelt_bind(belt, "no such") == -ENOENT,
	   "bind to a belt that does not exist returns ENOENT");
	ok(hashbelt_create(belt, name, NULL) == -ENAMETOOLONG,
	   "create with a name of 64 bytes returns ENAMETOOLONG");
	ok(hashbelt_destroy(belt, "a/b") == -EINVAL,
	   "destroy with a slash in the name returns EINVAL");
}

/* Binds the handle to a nameless belt, which the tests after this one use. */
static void test_nameless(struct hashbelt *belt)
{
	struct hashbelt_settings settings = { .name = "ignored", .ttl_ms = 60000 };
	struct hashbelt_info info;

	ok(!hashbelt_create(belt, NULL, &settings), "create without a name returns 0");
	ok(!hashbelt_info(belt, &info) && info.state & HASHBELT_NAMELESS &&
	   info.ttl_ms == 60000 && !*info.name,
	   "info of a nameless belt returns its settings and no name");
	for (memset(&info, 0, sizeof(info)); !hashbelt_next(belt, &info);)
		if (!*info.name || !strcmp(info.name, "ignored"))
			break;
	ok(hashbelt_next(belt, &info) == -ENOENT, "next does not list a nameless belt");
}

static void test_plain(struct hashbelt *belt)
{
	static char large[HASHBELT_VALUE_MAX + 1];
	struct hashbelt_item item = { 0 };
	char buffer[4];

	ok(!hashbelt_put(belt, "k", 1, "value", 5, NULL), "put without an item returns 0");
	ok(hashbelt_get(belt, "k", 1, buffer, 4, &item) == -ERANGE &&
	   item.value_len == 5, "get into a buffer too small returns ERANGE and the length");
	item = (struct hashbelt_item){ 0 };
	ok(!hashbelt_get(belt, "k", 1, large, ~(size_t)0, &item) &&
	   item.value_len == 5 && !memcmp(large, "value", 5),
	   "get with the largest size_t as buffer size returns the value");
	ok(hashbelt_put(belt, large, HASHBELT_KEY_MAX + 1, "", 0, NULL) == -E2BIG,
	   "put with a key of 1025 bytes returns E2BIG");
	ok(hashbelt_put(belt, "k", 1, large, sizeof(large), NULL) == -EMSGSIZE,
	   "put with a value of 1 MiB and one byte returns EMSGSIZE");
	ok(hashbelt_get(belt, "", 0, buffer, 4, NULL) == -EINVAL,
	   "get with an empty key returns EINVAL");
	ok(!hashbelt_touch(belt, "k", 1, 3600000, NULL), "touch without an item returns 0");
	ok(hashbelt_touch_bound(belt, 0, NULL) == -ENOENT,
	   "touch of all that is bound returns ENOENT where nothing is");
	item = (struct hashbelt_item){ .how = HASHBELT_BOUND };
	ok(!hashbelt_put(belt, "k", 1, "bound", 5, &item) &&
	   !hashbelt_touch_bound(belt, 3600000, &item) && item.version == 1 &&
	   item.ttl_ms == 3600000, "touch of all that is bound returns number and time left");
	ok(!hashbelt_touch_bound(belt, 0, NULL), "touch of all that is bound takes no item");
	ok(!hashbelt_remove(belt, "k", 1, NULL), "remove without an item returns 0");
	ok(hashbelt_expire(belt, "k", 1) == -ENOENT, "expire of a removed key returns ENOENT");
}

/* Every item is tried once, in order. */
static void test_batch(struct hashbelt *belt)
{
	struct hashbelt_item *items = calloc(ITEMS, sizeof(*items));
	__u32 (*keys)[1] = calloc(ITEMS, sizeof(*keys));
	unsigned int i, done = 0, right = 0;

	for (i = 0; i < ITEMS; i++) {
		keys[i][0] = i;
		items[i] = hashbelt_item(HASHBELT_OP_PUT, keys[i], sizeof(keys[i]), "v", 1);
		items[i].how = HASHBELT_IF_ABSENT;
	}
	ok(!hashbelt_batch(belt, items, ITEMS, &done) && done == ITEMS,
	   "a batch of more items than an ioctl takes tries each item");
	for (i = 0; i < ITEMS; i++)
		right += !items[i].result && items[i].version;
	ok(right == ITEMS, "a batch of more items than an ioctl takes puts each item once");

	items[HASHBELT_BATCH_MAX + 1].key = 0;
	for (i = 0; i < ITEMS; i++)
		items[i].result = 0;
	ok(!hashbelt_batch(belt, items, ITEMS, NULL) &&
	   items[HASHBELT_BATCH_MAX].result == -EEXIST &&
	   items[HASHBELT_BATCH_MAX + 1].result == -EFAULT &&
	   items[ITEMS - 1].result == -EEXIST,
	   "each item of a batch has its own result in all ioctls");
	ok(hashbelt_batch(belt, NULL, 1, &done) == -EFAULT && !done,
	   "a batch with items at NULL returns EFAULT and tries none");
	ok(!hashbelt_batch(belt, NULL, 0, &done) && !done, "a batch of 0 items returns 0");
	free(items);
	free(keys);
}

static void test_scan(struct hashbelt *belt)
{
	static bool seen[ITEMS];
	const struct hashbelt_record *record;
	struct hashbelt_scanner *scanner;
	unsigned int right = 0;
	__u32 key;
	int more;

	ok(!hashbelt_scan_begin(belt, &scanner), "scan_begin returns 0");
	while ((more = hashbelt_scan_next(scanner, &record)) > 0) {
		memcpy(&key, hashbelt_record_key(record), sizeof(key));
		if (record->key_len != sizeof(key) || key >= ITEMS)
			break;
		right += !seen[key];
		seen[key] = true;
	}
	ok(!more && right == ITEMS, "a scan returns each key once");
	ok(!hashbelt_scan_next(scanner, &record),
	   "scan_next at the end of a scan returns 0 again");
	hashbelt_scan_end(scanner);
}

static void test_stat(struct hashbelt *belt)
{
	__u64 counters[HASHBELT_STAT_COUNT + 2];
	unsigned int few = 3, more = HASHBELT_STAT_COUNT + 2;

	memset(counters, 0xff, sizeof(counters));
	ok(!hashbelt_stat(belt, counters, &few) && few == 3 &&
	   counters[HASHBELT_STAT_PUTS_NEW] == ITEMS + 1 &&
	   counters[3] == ~0ULL, "stat with room for 3 counters writes 3");
	ok(!hashbelt_stat(belt, counters, &more) && more >= HASHBELT_STAT_COUNT &&
	   counters[HASHBELT_STAT_REMOVES] == 1,
	   "stat with room for more counters returns all that the kernel has");
}

static void put_text(struct hashbelt *belt, const char *key, const char *value, __u64 ttl_ms)
{
	struct hashbelt_item item = { .ttl_ms = ttl_ms, .flags = 7 };

	if (hashbelt_put(belt, key, strlen(key), value, strlen(value), &item))
		printf("# cannot put %s\n", key);
}

/* Halts the belt, with 5 buckets and an interval of 10 seconds. */
static void test_buckets(struct hashbelt *belt)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
		.ttl_ms = 40000, .buckets = 5, .name = "not looked at",
	};
	struct hashbelt_info info;
	__u64 counts[5];

	ok(!hashbelt_set(belt, &settings) && !hashbelt_info(belt, &info) &&
	   info.ttl_ms == 40000 && info.buckets == 5 && info.entries == ITEMS,
	   "set changes the fields that it names and keeps all entries");
	settings.fields = HASHBELT_SET_BUCKETS;
	settings.buckets = 1;
	ok(hashbelt_set(belt, &settings) == -EINVAL, "set to 1 bucket returns EINVAL");
	if (hashbelt_halt(belt) || hashbelt_clear(belt))
		printf("# cannot halt or clear\n");
	put_text(belt, "now", "", 1);
	put_text(belt, "next", "", 10000);
	put_text(belt, "next too", "", 19999);
	put_text(belt, "last", "", 40000);
	put_text(belt, "never", "", HASHBELT_TTL_NEVER);
	memset(counts, 0xff, sizeof(counts));
	ok(!hashbelt_buckets(belt, counts, 5) && counts[0] == 1 && counts[1] == 2 &&
	   !counts[2] && !counts[3] && counts[4] == 2,
	   "buckets counts entries by the time that they have left");
	ok(!hashbelt_buckets(belt, counts, 1) && counts[0] == 5,
	   "buckets with one count returns all entries");
	ok(hashbelt_buckets(belt, counts, 0) == -EINVAL &&
	   hashbelt_buckets(belt, counts, HASHBELT_BUCKETS_MAX + 1) == -EINVAL,
	   "buckets with 0 or 65537 counts returns EINVAL");
	if (hashbelt_clear(belt))
		printf("# cannot clear\n");
}

/* The counts of several ioctls add up. */
static void test_many_buckets(struct hashbelt *belt)
{
	static __u64 counts[HASHBELT_BUCKETS_MAX];
	__u64 sum = 0;
	char key[32];
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_text(belt, key, "", 5000 + i % 4 * 10000);
	}
	if (hashbelt_buckets(belt, counts, HASHBELT_BUCKETS_MAX))
		printf("# cannot count\n");
	for (i = 0; i < HASHBELT_BUCKETS_MAX; i++)
		sum += counts[i];
	ok(sum == MANY && counts[0] == MANY / 4 && counts[3] == MANY / 4,
	   "buckets sums up the counts of several ioctls");
	if (hashbelt_clear(belt))
		printf("# cannot clear\n");
}

static void test_lags(struct hashbelt *belt)
{
	__u64 lags[HASHBELT_LAGS + 1];
	unsigned int few = 2, more = HASHBELT_LAGS + 1;

	put_text(belt, "late", "", 1000);
	if (hashbelt_advance(belt, 100000))
		printf("# cannot advance\n");
	memset(lags, 0xff, sizeof(lags));
	ok(!hashbelt_lags(belt, lags, &few) && few == 2 && !lags[0] && !lags[1] &&
	   lags[2] == ~0ULL, "lags with room for 2 writes 2");
	/* 99 seconds are less than 2^17 ms, and not less than 2^16. */
	ok(!hashbelt_lags(belt, lags, &more) && more == HASHBELT_LAGS &&
	   lags[17] == 1 && lags[HASHBELT_LAGS] == ~0ULL,
	   "lags with room for more returns all that the kernel has");
}

static bool is_event(const struct hashbelt_event *event, __u32 reason, const char *key,
		     const char *value)
{
	return event && event->reason == reason && event->flags == 7 &&
	       event->key_len == strlen(key) && event->value_len == strlen(value) &&
	       !memcmp(hashbelt_event_key(event), key, strlen(key)) &&
	       !memcmp(hashbelt_event_value(event), value, strlen(value));
}

/* Three events: two of 72 bytes and one of 80, as their sizes are rounded up. */
static void test_events(struct hashbelt *belt)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_HANDLER | HASHBELT_SET_REASONS,
		.handler = HASHBELT_NOTIFY, .reasons = HASHBELT_REPORT_ALL,
	};
	struct pollfd file = { .fd = hashbelt_fd(belt), .events = POLLIN };
	const struct hashbelt_event *first, *second, *third;
	__u64 buffer[64];
	ssize_t len;

	if (fcntl(hashbelt_fd(belt), F_SETFL, O_RDWR | O_NONBLOCK))
		printf("# cannot set O_NONBLOCK\n");
	ok(hashbelt_read(belt, buffer, sizeof(buffer)) == -ENODATA,
	   "read from a belt that reports nothing returns ENODATA");
	ok(!hashbelt_set(belt, &settings) &&
	   hashbelt_read(belt, buffer, sizeof(buffer)) == -EAGAIN,
	   "a non-blocking read of an empty queue returns EAGAIN");
	put_text(belt, "a", "value", 0);
	put_text(belt, "a", "other", 0);
	put_text(belt, "key", "long value", 0);
	hashbelt_remove(belt, "key", 3, NULL);
	hashbelt_expire(belt, "a", 1);
	ok(poll(&file, 1, 0) == 1 && file.revents == POLLIN,
	   "the descriptor of a handle with a queued event is readable");
	ok(hashbelt_read(belt, buffer, 64) == -EMSGSIZE,
	   "read into a buffer smaller than the event returns EMSGSIZE");
	ok(!hashbelt_watch(belt, HASHBELT_WATCH_ACK), "watch with HASHBELT_WATCH_ACK returns 0");
	ok(hashbelt_watch(belt, ~0U) == -EINVAL, "watch with unknown flags returns EINVAL");
	len = hashbelt_read(belt, buffer, sizeof(buffer));
	first = hashbelt_event_next(buffer, len, NULL);
	second = hashbelt_event_next(buffer, len, first);
	third = hashbelt_event_next(buffer, len, second);
	ok(len == 72 + 80 + 72 &&
	   is_event(first, HASHBELT_REPLACED, "a", "value") &&
	   is_event(second, HASHBELT_REMOVED, "key", "long value") &&
	   is_event(third, HASHBELT_EXPIRED, "a", "other") &&
	   !hashbelt_event_next(buffer, len, third),
	   "event_next walks three events of one read in order");
	ok(!hashbelt_event_next(buffer, 0, NULL), "event_next of 0 bytes returns NULL");
	ok(!hashbelt_ack(belt, second->sequence) &&
	   hashbelt_ack(belt, first->sequence) == -ENOENT &&
	   !hashbelt_ack(belt, third->sequence) &&
	   hashbelt_ack(belt, third->sequence) == -ENOENT,
	   "ack of an event settles it once, with all events before it");
}

static void test_add(struct hashbelt *belt)
{
	static char large[HASHBELT_KEY_MAX + 1];
	struct hashbelt_item item = { .how = HASHBELT_NO_VALUE };
	struct hashbelt_sum number = { .by = 1 };
	__s64 sum = 3;

	put_text(belt, "sum", "word", 0);
	ok(hashbelt_add(belt, "sum", 3, 1, 0, 0, &sum) == -EBADMSG && sum == 3,
	   "an addition to a text returns EBADMSG and leaves the sum as it was");
	ok(hashbelt_add_item(belt, "sum", 3, &number, &item) == -EINVAL,
	   "add_item with an unknown bit of @how returns -EINVAL");
	ok(hashbelt_add(belt, large, sizeof(large), 1, 0, 0, NULL) == -E2BIG &&
	   hashbelt_add(belt, large, 0, 1, 0, 0, NULL) == -EINVAL,
	   "an addition returns E2BIG for a key of 1025 bytes, EINVAL for an empty one");
}

static void test_fill(struct hashbelt *belt)
{
	static char large[HASHBELT_KEY_MAX + 1];
	struct hashbelt_fill fill = { 0 }, second = { 0 }, third = { 0 };
	char text[32] = "";

	ok(hashbelt_fill(belt, "f", 1, text, sizeof(text), &fill) == -ENOENT &&
	   !hashbelt_fill_renew(belt, "f", 1, fill.token, 0) && !hashbelt_advance(belt, 9000) &&
	   hashbelt_fill(belt, "f", 1, text, sizeof(text), &second) == -ENOENT &&
	   second.state == HASHBELT_FILLING && !hashbelt_advance(belt, 2000) &&
	   hashbelt_fill(belt, "f", 1, text, sizeof(text), &third) == -ENOENT &&
	   third.state == HASHBELT_GRANTED,
	   "fill_renew without a duration sets one of 10 seconds");
	put_text(belt, "f", "value", 0);
	fill = (struct hashbelt_fill){ 0 };
	ok(hashbelt_fill(belt, "f", 1, text, 4, &fill) == -ERANGE && fill.item.value_len == 5,
	   "fill into a buffer too small returns ERANGE and the length");
	ok(hashbelt_fill(belt, large, sizeof(large), text, 1, &fill) == -E2BIG,
	   "fill of a key of 1025 bytes returns E2BIG");
}

static const struct hashbelt_event *next_request(struct hashbelt *belt)
{
	static __u64 buffer[(sizeof(struct hashbelt_event) + HASHBELT_KEY_MAX) / 8];
	static const struct hashbelt_event *event;
	static ssize_t len;

	if (event)
		event = hashbelt_event_next(buffer, len, event);
	if (!event) {
		len = hashbelt_read(belt, buffer, sizeof(buffer));
		event = len > 0 ? hashbelt_event_next(buffer, len, NULL) : NULL;
	}
	return event;
}

static bool is_completion(const struct hashbelt_event *event, __u64 id, __u32 cause,
			  const char *key)
{
	return event && event->kind == HASHBELT_REQUEST && event->version == id &&
	       event->reason == cause && event->key_len == strlen(key) &&
	       !event->value_len &&
	       !memcmp(hashbelt_event_key(event), key, event->key_len);
}

static void test_request(struct hashbelt *belt)
{
	const struct hashbelt_key key = { .key = (uintptr_t)"one", .key_len = 3 };
	static char large[HASHBELT_KEY_MAX + 1];
	unsigned int done = 7;

	ok(!hashbelt_watch(belt, HASHBELT_WATCH_REQUESTS) && !next_request(belt),
	   "watch with HASHBELT_WATCH_REQUESTS returns 0, and no event is read");
	ok(hashbelt_request(belt, 4, &key, 0, 0) == -EINVAL &&
	   hashbelt_request(belt, 4, &key, HASHBELT_REQUEST_KEYS + 1, 0) < 0,
	   "request with 0 or 17 keys fails");
	ok(!hashbelt_request(belt, 1, &key, 1, 0) &&
	   !hashbelt_complete(belt, "one", 3, &done) && done == 1 &&
	   is_completion(next_request(belt), 1, HASHBELT_BY_COMPLETE, "one") &&
	   !hashbelt_complete(belt, "one", 3, NULL),
	   "complete returns the number of requests, unless it is not wanted");
	ok(hashbelt_complete(belt, large, sizeof(large), NULL) == -E2BIG &&
	   hashbelt_complete(belt, large, 0, NULL) == -EINVAL,
	   "complete returns E2BIG for a key of 1025 bytes, EINVAL for an empty one");
}

/* Locks need a pinned belt that does not evict. */
static void test_lock(struct hashbelt *belt)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED,
	};
	char owner[HASHBELT_OWNER_MAX];
	size_t len = 1;

	ok(!hashbelt_set(belt, &settings) && !hashbelt_lock(belt, "l", 1, "me", 2, NULL) &&
	   !hashbelt_renew(belt, "l", 1, "me", 2, 0, NULL),
	   "lock and renew whose results are not wanted return 0");
	ok(hashbelt_holder(belt, "l", 1, owner, &len, NULL) == -ERANGE && len == 2,
	   "holder into a buffer too small returns ERANGE and the length");
	hashbelt_unlock(belt, "l", 1, "me", 2);
}

static void test_lock_sizes(struct hashbelt *belt)
{
	static char large[HASHBELT_KEY_MAX + 1];
	char owner[HASHBELT_OWNER_MAX + 1] = "";
	__u64 released = 7;
	size_t len;

	ok(!hashbelt_lock(belt, large, HASHBELT_KEY_MAX, owner, HASHBELT_OWNER_MAX, NULL),
	   "lock with a name of 1024 and an owner of 64 bytes returns 0");
	len = ~(size_t)0;
	ok(!hashbelt_holder(belt, large, HASHBELT_KEY_MAX, owner, &len, NULL) &&
	   len == HASHBELT_OWNER_MAX,
	   "holder with the largest size_t as buffer size returns the length");
	ok(hashbelt_lock(belt, large, sizeof(large), "me", 2, NULL) == -E2BIG &&
	   hashbelt_lock(belt, "l", 1, owner, sizeof(owner), NULL) == -E2BIG &&
	   hashbelt_lock(belt, "", 0, "me", 2, NULL) == -EINVAL &&
	   hashbelt_lock(belt, "l", 1, "", 0, NULL) == -EINVAL,
	   "lock with too long or empty names and owners returns E2BIG or EINVAL");
	ok(!hashbelt_release(belt, owner, HASHBELT_OWNER_MAX, &released) &&
	   released == 1 &&
	   !hashbelt_release(belt, owner, HASHBELT_OWNER_MAX, &released) &&
	   !released && !hashbelt_release(belt, "me", 2, NULL),
	   "release counts the locks of the owner: 1, then 0");
	ok(hashbelt_release(belt, owner, sizeof(owner), &released) == -E2BIG,
	   "release of an owner of 65 bytes returns E2BIG");
}

/* The number of locks of @owner (NULL: all owners) in a list; -1 if a record is wrong. */
static int count_locks(struct hashbelt *belt, const char *owner)
{
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister *lister;
	int more, locks = 0;
	__u64 token = 0;

	if (hashbelt_locks_begin(belt, owner, owner ? strlen(owner) : 0, &lister))
		return -1;
	while ((more = hashbelt_locks_next(lister, &record)) > 0) {
		if (record->key_len < 100 || record->owner_len != 3 || !record->token ||
		    record->ttl_ms != 40000 || record->held_ms || record->how)
			locks = -1;
		if (owner && (record->token <= token ||
			      memcmp(hashbelt_lock_owner(record), owner, 3)))
			locks = -1;
		if (locks < 0)
			break;
		token = record->token;
		locks++;
	}
	hashbelt_locks_end(lister);
	return more < 0 ? -1 : locks;
}

static void test_locks(struct hashbelt *belt)
{
	char name[128], owner[HASHBELT_OWNER_MAX + 1] = "";
	struct hashbelt_lister *lister;
	unsigned int i, right = 0;
	__u64 released = 0;

	for (i = 0; i < LOCKS; i++) {
		snprintf(name, sizeof(name), "%0100u", i);
		right += !hashbelt_lock(belt, name, strlen(name), "all", 3, NULL);
	}
	snprintf(name, sizeof(name), "%0101u", 1);
	right += !hashbelt_lock(belt, name, strlen(name), "few", 3, NULL);
	ok(right == LOCKS + 1, "501 locks of two owners are taken");
	ok(count_locks(belt, "all") == LOCKS,
	   "a list of one owner returns its 500 locks in the order of tokens");
	ok(count_locks(belt, "few") == 1, "a list of another owner returns its one lock");
	ok(!count_locks(belt, "not"), "a list of an owner without locks is empty");
	ok(count_locks(belt, NULL) == LOCKS + 1, "a list of all owners returns 501 locks");
	lister = (void *)"";
	ok(hashbelt_locks_begin(belt, owner, sizeof(owner), &lister) == -E2BIG && !lister,
	   "a list of an owner of 65 bytes returns E2BIG");
	ok(!hashbelt_release(belt, "all", 3, &released) && released == LOCKS &&
	   count_locks(belt, NULL) == 1,
	   "release counts 500 locks of one owner and keeps that of the other");
}

/* Whether the sentence about an error has the words. */
static bool says(struct hashbelt *belt, int err, enum hashbelt_call call, const char *name,
		 const char *words)
{
	char text[HASHBELT_ERROR_SIZE];

	if (strstr(hashbelt_strerror(belt, err, call, name, text, sizeof(text)), words) &&
	    !strchr(text, '\n') && strlen(text) < sizeof(text) - 1)
		return true;
	printf("# %s\n", text);
	return false;
}

/* Puts two entries, and the third hits the limit, which is lifted again. */
static bool put_beyond(struct hashbelt *belt, __u64 max_entries, __u64 max_bytes,
		       const char *words)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_MAX_ENTRIES | HASHBELT_SET_MAX_BYTES,
		.max_entries = max_entries, .max_bytes = max_bytes,
	};
	static char value[5000];
	bool said;
	int err;

	put_text(belt, "one", "", 0);
	put_text(belt, "two", "", 0);
	hashbelt_set(belt, &settings);
	err = hashbelt_put(belt, "three", 5, value, sizeof(value), NULL);
	said = err == -ENOSPC && says(belt, err, HASHBELT_CALL_PUT, NULL, words);
	settings.max_entries = 0;
	settings.max_bytes = 0;
	hashbelt_set(belt, &settings);
	return said;
}

/* A file that root may open by its mode, and cannot open. */
#define CLOSED		"/tmp/closed"

/* The beginning of the sentence where the device can be opened, and its ioctls fail. */
#define FILTERED	"/dev/hashbelt opens, but its ioctls are refused: " \
			"let the filter of system calls (seccomp), the rules of Landlock"

/* The caller is root, to whom the mode of the device refuses nothing. */
static void test_refusals(struct hashbelt *named)
{
	struct hashbelt *reader;
	int fd = open(HASHBELT_DEVICE, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || hashbelt_fdopen(fd, &reader))
		bail_out("cannot open the device for reading");
	/* open(2) fails on a socket, also for root. */
	if (mknod(CLOSED, S_IFSOCK | 0666, 0))
		bail_out("mknod: %s", strerror(errno));
	ok(says(NULL, -EACCES, HASHBELT_CALL_OPEN, CLOSED,
		"though its mode allows it: a security module"),
	   "the sentence about EACCES of open names a security module where the mode allows it");
	ok(says(NULL, -EPERM, HASHBELT_CALL_OPEN, CLOSED,
		"the device rule of a cgroup refuses it"),
	   "the sentence about EPERM of open names the device rule of a cgroup");
	unlink(CLOSED);
	ok(says(NULL, -EPERM, HASHBELT_CALL_OPEN, NULL, FILTERED),
	   "the sentence about EPERM of open names seccomp where the device can be opened");
	ok(says(NULL, -EACCES, HASHBELT_CALL_OPEN, NULL, FILTERED),
	   "the sentence about EACCES of open names Landlock where the device can be opened");
	ok(says(named, -EACCES, HASHBELT_CALL_PUT, NULL,
		"a security module (SELinux) refuses put on belt 'default': 'ausearch -m avc'"),
	   "the sentence about EACCES names a security module and where its denial is");
	ok(says(named, -EACCES, HASHBELT_CALL_LOCK, NULL,
		"a security module (SELinux) refuses lock"),
	   "the sentence about EACCES of lock names a security module");
	ok(says(named, -EACCES, HASHBELT_CALL_CREATE, "other",
		"a security module (SELinux) refuses create"),
	   "the sentence about EACCES of create names a security module");
	ok(says(named, -EACCES, HASHBELT_CALL_CREATE, HASHBELT_DEFAULT_BELT,
		"only root with CAP_SYS_ADMIN can create belt 'default'"),
	   "the sentence about EACCES of create for the default belt names the capability");
	ok(says(reader, hashbelt_put(reader, "k", 1, "", 0, NULL), HASHBELT_CALL_PUT, NULL,
		"no right to write belt 'default': the device is open for reading only"),
	   "the sentence about EPERM says that the device is open for reading only");
	hashbelt_close(reader);
}

/*
 * Whether a put of @size bytes says the words: in a new belt of 64 KiB, into which go @filled
 * values of 1000 bytes before.
 */
static bool put_says(struct hashbelt *belt, __u32 policy, unsigned int filled, size_t size,
		     int want, const char *words)
{
	const struct hashbelt_settings settings = { .policy = policy, .max_bytes = 64 << 10 };
	static char value[HASHBELT_VALUE_MAX + 1];
	unsigned int i;
	int err;

	if (hashbelt_create(belt, NULL, &settings))
		bail_out("cannot create a belt without a name");
	for (i = 0; i < filled; i++)
		hashbelt_put(belt, &i, sizeof(i), value, 1000, NULL);
	err = hashbelt_put(belt, "large", 5, value, size, NULL);
	return err == want && says(belt, err, HASHBELT_CALL_PUT, NULL, words);
}

#define NEVER	"the belt can never hold 100005 bytes of key and value and the 64 or more " \
		"that these take beside: raise "

/* Sentences about room, in an empty belt, a full one, and one that evicts. */
static void test_room(struct hashbelt *belt)
{
	static const char never[] = NEVER "its max_bytes of 65536;";
	static const char most[] = "a value has at most 1048576 bytes";
	const __u32 evict = HASHBELT_EVICT;

	ok(put_says(belt, 0, 0, 100000, -ENOSPC, never) &&
	   put_says(belt, evict, 0, 100000, -ENOSPC, never),
	   "the sentence about a value that can never fit an empty belt has its size and the limit");
	ok(put_says(belt, 0, 100, 100000, -ENOSPC, never) &&
	   put_says(belt, evict, 100, 100000, -ENOSPC, never),
	   "the sentence about a value that can never fit a full belt has its size and the limit");
	ok(put_says(belt, 0, 100, 1000, -ENOSPC,
		    "bytes count against its max_bytes of 65536; raise its limits or let it evict"),
	   "the sentence about a value that a full belt has no room for says that it may evict");
	ok(says(belt, -ENOSPC, HASHBELT_CALL_LOCK, NULL, "the belt is full: "),
	   "the sentence about a lock that a full belt has no room for says that it is full");
	ok(put_says(belt, 0, 0, HASHBELT_VALUE_MAX + 1, -EMSGSIZE, most) &&
	   put_says(belt, 0, 100, HASHBELT_VALUE_MAX + 1, -EMSGSIZE, most) &&
	   put_says(belt, evict, 100, HASHBELT_VALUE_MAX + 1, -EMSGSIZE, most),
	   "the sentence about a value that fits no belt has the largest size");
	put_says(belt, evict, 100, 100000, -ENOSPC, "");
	ok(says(belt, -EDQUOT, HASHBELT_CALL_PUT, NULL,
		"take as much memory as a user's may: remove"),
	   "the sentence about EDQUOT on a belt that evicts says that a user's belts are full");
}

/* A limit of the module is set below a value that was refused. */
static void test_room_of_module(struct hashbelt *belt, const char *name, int err, const char *words)
{
	const struct hashbelt_settings settings = { .ttl_ms = 40000 };
	char path[128], before[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/hashbelt/parameters/%s", name);
	put_says(belt, 0, 0, 100000, -ENOSPC, "");
	if (hashbelt_create(belt, NULL, &settings))
		bail_out("cannot create a belt without a name");
	file = fopen(path, "r+");
	if (!file || !fgets(before, sizeof(before), file))
		bail_out("%s: %s", path, strerror(errno));
	rewind(file);
	fputs("50000\n", file);
	fflush(file);
	ok(says(belt, err, HASHBELT_CALL_PUT, NULL, words),
	   "the sentence about a value that can never fit below %s has its size and that limit",
	   name);
	rewind(file);
	fputs(before, file);
	fclose(file);
}

/* Opens the device where no further file may be open. */
static int open_without_files(void)
{
	struct rlimit before, none;
	struct hashbelt *belt;
	int err;

	if (getrlimit(RLIMIT_NOFILE, &before))
		bail_out("getrlimit: %s", strerror(errno));
	none = before;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	err = hashbelt_open(HASHBELT_DEVICE, &belt);
	setrlimit(RLIMIT_NOFILE, &before);
	return err;
}

/* On a new belt without a name. */
static void test_strerror(struct hashbelt *belt)
{
	struct hashbelt_settings settings = { .ttl_ms = 40000, .policy = HASHBELT_PINNED };
	struct hashbelt_lock lock = { .ttl_ms = 40001 };
	struct hashbelt *named;
	char text[16];

	if (hashbelt_create(belt, NULL, &settings))
		bail_out("cannot create a belt without a name");
	ok(says(NULL, -ENOENT, HASHBELT_CALL_OPEN, "/no",
		"there is no device /no: load the module"),
	   "the sentence about a missing device has its path and a remedy");
	ok(says(NULL, open_without_files(), HASHBELT_CALL_OPEN, NULL,
		"raise the limit ('ulimit -n')"),
	   "the sentence about a process with too many files has a remedy");
	ok(hashbelt_strerror(belt, -EIO, HASHBELT_CALL_PUT, "b", text, sizeof(text)) == text &&
	   !strcmp(text, "put: belt 'b': "), "a sentence that is too long is cut");
	ok(put_beyond(belt, 2, 0, "2 entries count against its max_entries of 2;"),
	   "the sentence about max_entries has the limit and the number of entries");
	ok(put_beyond(belt, 0, 4096, "its max_bytes of 4096;"),
	   "the sentence about max_bytes has the limit");
	ok(says(belt, -ENOSPC, HASHBELT_CALL_PUT, NULL, "the module's memory limit is reached: ") &&
	   says(belt, -ENOSPC, HASHBELT_CALL_PUT, NULL, "raise max_bytes ("),
	   "the sentence about ENOSPC on a belt without limits has the module's max_bytes");
	ok(says(belt, -EDQUOT, HASHBELT_CALL_PUT, NULL, "raise user_max_bytes ("),
	   "the sentence about EDQUOT has user_max_bytes");
	ok(says(belt, hashbelt_lock(belt, "l", 1, "me", 2, &lock), HASHBELT_CALL_LOCK, NULL,
		"longer than the time-to-live of the belt, 40000 ms"),
	   "the sentence about a lease that is too long has the time-to-live");
	ok(says(belt, -ESTALE, HASHBELT_CALL_FILL_PUT, "b",
		"the fill lease of that key in belt 'b' has ended, so the value was not stored") &&
	   says(belt, -ENOENT, HASHBELT_CALL_FILL_RENEW, "b",
		"the caller does not have the fill lease of that key in belt 'b'") &&
	   says(belt, -ENOENT, HASHBELT_CALL_FILL_FAIL, "b",
		"the caller does not have the fill lease of that key in belt 'b'"),
	   "the sentences about a fill lease that has ended say so");
	ok(says(belt, -ENOENT, HASHBELT_CALL_TOUCH_BOUND, "b",
		"no entry of belt 'b' is bound to the handle any more"),
	   "the sentence about a touch of all that is bound names the belt");
	ok(!hashbelt_open(NULL, &named) &&
	   says(named, hashbelt_expire(named, "k", 1), HASHBELT_CALL_EXPIRE, NULL,
		"there is no entry of that key in belt 'default'"),
	   "a sentence has the name of the handle's belt");
	ok(says(named, hashbelt_bind(named, "no such"), HASHBELT_CALL_BIND, "no such",
		"there is no belt 'no such', or you have no right to it"),
	   "the sentence about a missing belt has its name");
	test_refusals(named);
	test_room(named);
	test_room_of_module(named, "max_bytes", -ENOSPC, NEVER "max_bytes (50000)");
	test_room_of_module(named, "user_max_bytes", -EDQUOT, NEVER "user_max_bytes (50000)");
	hashbelt_close(named);
}

/* Gets a key so often that it is in the window. Return: the last version, 0 after an error. */
static __u64 get_often(struct hashbelt *belt, const char *want)
{
	struct hashbelt_item item;
	char buffer[16];
	int i;

	for (i = 0; i < 100; i++) {
		item = (struct hashbelt_item){ 0 };
		memset(buffer, 0, sizeof(buffer));
		if (hashbelt_get(belt, "hot", 3, buffer, sizeof(buffer), &item) ||
		    strcmp(buffer, want) || item.flags != 9)
			return 0;
	}
	return item.version;
}

/* How many of the gets since the last call the window has answered. */
static __u64 new_hits(struct hashbelt *belt, struct hashbelt_window_counts *last)
{
	struct hashbelt_window_counts counts;
	__u64 hits;

	hashbelt_window_stats(belt, &counts);
	hits = counts.hits - last->hits;
	*last = counts;
	return hits;
}

static void test_window(struct hashbelt *belt)
{
	struct hashbelt_settings settings = {
		.window_bytes = HASHBELT_WINDOW_MIN, .fields = HASHBELT_SET_WINDOW,
	};
	struct hashbelt_window_counts counts = { 0 };
	struct hashbelt_info info;
	struct hashbelt_item item = { .flags = 9 };

	if (hashbelt_create(belt, NULL, NULL))
		bail_out("cannot create a belt without a name");
	is_int(hashbelt_window_map(belt), -ENODATA, "a belt without a window has none to map");
	ok(says(belt, -ENODATA, HASHBELT_CALL_WINDOW_MAP, "b", "belt 'b' has no window: ") &&
	   says(belt, -EOPNOTSUPP, HASHBELT_CALL_WINDOW_MAP, "b", "hashbelt_window_map(3)") &&
	   says(belt, -EBUSY, HASHBELT_CALL_WINDOW_MAP, "b", "open the device once more"),
	   "the sentences about windows say what to do");
	ok(!hashbelt_set(belt, &settings) && !hashbelt_window_map(belt),
	   "a window that a belt has got is mapped");
	settings.window_bytes *= 2;
	ok(!hashbelt_set(belt, &settings) && !hashbelt_put(belt, "hot", 3, "v", 1, &item) &&
	   get_often(belt, "v"), "after a set of another window gets work");
	ok(!hashbelt_window_map(belt) && get_often(belt, "v") && new_hits(belt, &counts) > 80,
	   "the other window is mapped, and answers");
	ok(!hashbelt_info(belt, &info) && info.window_bytes == 2 * HASHBELT_WINDOW_MIN &&
	   info.window_used == 1, "info returns the size of the window, and its slots in use");
	ok(!hashbelt_create(belt, NULL, NULL) &&
	   hashbelt_get(belt, "hot", 3, NULL, 0, NULL) == -ENOENT,
	   "a handle that is bound to another belt reads no window of the former one");
}

/* Maps the window of a belt, closes the descriptor, and waits for a signal. */
static int hold_mapping(const char *name)
{
	struct hashbelt_window_map map = { 0 };
	struct hashbelt *belt;

	if (hashbelt_open(NULL, &belt) || hashbelt_bind(belt, name) ||
	    ioctl(hashbelt_fd(belt), HASHBELT_IOC_WINDOW, &map) ||
	    mmap(NULL, map.bytes, PROT_READ, MAP_SHARED, hashbelt_fd(belt), 0) == MAP_FAILED)
		return 1;
	hashbelt_close(belt);
	puts("mapped");
	fflush(stdout);
	pause();
	return 0;
}

/* With an argument it only holds the window of that belt. */
int main(int argc, char **argv)
{
	struct hashbelt *belt;
	int err;

	if (argc > 1)
		return hold_mapping(argv[1]);
	err = hashbelt_open(NULL, &belt);

	if (err)
		bail_out("cannot open the device: %s", strerror(-err));
	test_open();
	test_descriptor(belt);
	test_names(belt);
	test_nameless(belt);
	test_plain(belt);
	test_batch(belt);
	test_scan(belt);
	test_stat(belt);
	test_buckets(belt);
	test_many_buckets(belt);
	test_lags(belt);
	test_events(belt);
	test_add(belt);
	test_fill(belt);
	test_request(belt);
	test_lock(belt);
	test_lock_sizes(belt);
	test_locks(belt);
	test_strerror(belt);
	test_window(belt);
	hashbelt_close(belt);
	return done_testing();
}
