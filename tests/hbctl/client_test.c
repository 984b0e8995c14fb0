// SPDX-License-Identifier: GPL-2.0
/* What hbctl does not use of the client library, on /dev/hashbelt. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../device/tap.h"
#include "client.h"

/* More than two calls of the kernel. */
#define ITEMS	(2 * HASHBELT_BATCH_MAX + 10)

/* More than one call of the kernel looks at; by 4. */
#define MANY	40000

/* Locks of one owner: more than the first buffer of a list has room for. */
#define LOCKS	500

#define PLANNED	94

static void test_open(void)
{
	ok(hashbelt_open("/nonexistent") == -ENOENT, "open: ENOENT");
	ok(hashbelt_open("/dev/null") == -ENOTTY, "open: ENOTTY");
}

static void test_names(int fd)
{
	char name[HASHBELT_NAME_SIZE + 1];

	memset(name, 'n', sizeof(name));
	name[HASHBELT_NAME_SIZE] = '\0';
	ok(hashbelt_bind(fd, name) == -ENAMETOOLONG, "bind: ENAMETOOLONG");
	ok(hashbelt_bind(fd, "") == -EINVAL, "bind: EINVAL");
	ok(hashbelt_bind(fd, "no such") == -ENOENT, "bind: ENOENT");
	ok(hashbelt_create(fd, name, NULL) == -ENAMETOOLONG, "create: ENAMETOOLONG");
	ok(hashbelt_destroy(fd, "a/b") == -EINVAL, "destroy: EINVAL");
}

/* Leaves the descriptor with a belt that nobody else can reach. */
static void test_nameless(int fd)
{
	struct hashbelt_settings settings = { .name = "ignored", .ttl_ms = 60000 };
	struct hashbelt_info info;

	ok(!hashbelt_create(fd, NULL, &settings), "create: without a name");
	ok(!hashbelt_info(fd, &info) && info.state & HASHBELT_NAMELESS &&
	   info.ttl_ms == 60000 && !*info.name, "info: it has no name");
	for (memset(&info, 0, sizeof(info)); !hashbelt_next(fd, &info);)
		if (!*info.name || !strcmp(info.name, "ignored"))
			break;
	ok(hashbelt_next(fd, &info) == -ENOENT, "next: it is not listed");
}

static void test_plain(int fd)
{
	static char large[HASHBELT_VALUE_MAX + 1];
	struct hashbelt_item item = { 0 };
	char buffer[4];

	ok(!hashbelt_put(fd, "k", 1, "value", 5, NULL), "put: no item");
	ok(hashbelt_get(fd, "k", 1, buffer, 4, &item) == -ERANGE &&
	   item.value_len == 5, "get: ERANGE says how long");
	item = (struct hashbelt_item){ 0 };
	ok(!hashbelt_get(fd, "k", 1, large, ~(size_t)0, &item) &&
	   item.value_len == 5 && !memcmp(large, "value", 5), "get: any size");
	ok(hashbelt_put(fd, large, HASHBELT_KEY_MAX + 1, "", 0, NULL) == -E2BIG,
	   "put: E2BIG");
	ok(hashbelt_put(fd, "k", 1, large, sizeof(large), NULL) == -EMSGSIZE,
	   "put: EMSGSIZE");
	ok(hashbelt_get(fd, "", 0, buffer, 4, NULL) == -EINVAL, "get: EINVAL");
	ok(!hashbelt_touch(fd, "k", 1, 3600000, NULL), "touch: no item");
	ok(!hashbelt_remove(fd, "k", 1, NULL), "remove: no item");
	ok(hashbelt_expire(fd, "k", 1) == -ENOENT, "expire: ENOENT");
}

/* Every item is tried once, and in its place. */
static void test_batch(int fd)
{
	struct hashbelt_item *items = calloc(ITEMS, sizeof(*items));
	__u32 (*keys)[1] = calloc(ITEMS, sizeof(*keys));
	unsigned int i, done = 0, right = 0;

	for (i = 0; i < ITEMS; i++) {
		keys[i][0] = i;
		items[i] = hashbelt_item(HASHBELT_OP_PUT, keys[i], sizeof(keys[i]), "v", 1);
		items[i].how = HASHBELT_IF_ABSENT;
	}
	ok(!hashbelt_batch(fd, items, ITEMS, &done) && done == ITEMS,
	   "batch: more than a call takes");
	for (i = 0; i < ITEMS; i++)
		right += !items[i].result && items[i].version;
	ok(right == ITEMS, "batch: each was put once");

	items[HASHBELT_BATCH_MAX + 1].key = 0;
	for (i = 0; i < ITEMS; i++)
		items[i].result = 0;
	ok(!hashbelt_batch(fd, items, ITEMS, NULL) &&
	   items[HASHBELT_BATCH_MAX].result == -EEXIST &&
	   items[HASHBELT_BATCH_MAX + 1].result == -EFAULT &&
	   items[ITEMS - 1].result == -EEXIST, "batch: each has a result");
	ok(hashbelt_batch(fd, NULL, 1, &done) == -EFAULT && !done, "batch: EFAULT");
	ok(!hashbelt_batch(fd, NULL, 0, &done) && !done, "batch: of nothing");
	free(items);
	free(keys);
}

static void test_scan(int fd)
{
	static bool seen[ITEMS];
	const struct hashbelt_record *record;
	struct hashbelt_scanner scanner;
	unsigned int right = 0;
	__u32 key;
	int more;

	ok(!hashbelt_scan_begin(&scanner, fd), "scan: begin");
	while ((more = hashbelt_scan_next(&scanner, &record)) > 0) {
		memcpy(&key, hashbelt_record_key(record), sizeof(key));
		if (record->key_len != sizeof(key) || key >= ITEMS)
			break;
		right += !seen[key];
		seen[key] = true;
	}
	ok(!more && right == ITEMS, "scan: each key");
	ok(!hashbelt_scan_next(&scanner, &record), "scan: stays at its end");
	hashbelt_scan_end(&scanner);
}

static void test_stat(int fd)
{
	__u64 counters[HASHBELT_STAT_COUNT + 2];
	unsigned int few = 3, more = HASHBELT_STAT_COUNT + 2;

	memset(counters, 0xff, sizeof(counters));
	ok(!hashbelt_stat(fd, counters, &few) && few == 3 &&
	   counters[HASHBELT_STAT_PUTS_NEW] == ITEMS + 1 &&
	   counters[3] == ~0ULL, "stat: fewer than there are");
	ok(!hashbelt_stat(fd, counters, &more) && more >= HASHBELT_STAT_COUNT &&
	   counters[HASHBELT_STAT_REMOVES] == 1, "stat: all there are");
}

static void put_text(int fd, const char *key, const char *value, __u64 ttl_ms)
{
	struct hashbelt_item item = { .ttl_ms = ttl_ms, .flags = 7 };

	if (hashbelt_put(fd, key, strlen(key), value, strlen(value), &item))
		printf("# cannot put %s\n", key);
}

/* Halts the belt: an interval of 10 seconds, and 5 buckets. */
static void test_buckets(int fd)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
		.ttl_ms = 40000, .buckets = 5, .name = "not looked at",
	};
	struct hashbelt_info info;
	__u64 counts[5];

	ok(!hashbelt_set(fd, &settings) && !hashbelt_info(fd, &info) &&
	   info.ttl_ms == 40000 && info.buckets == 5 && info.entries == ITEMS,
	   "set: what is named, and no entry is lost");
	settings.fields = HASHBELT_SET_BUCKETS;
	settings.buckets = 1;
	ok(hashbelt_set(fd, &settings) == -EINVAL, "set: EINVAL");
	if (hashbelt_halt(fd) || hashbelt_clear(fd))
		printf("# cannot halt or clear\n");
	put_text(fd, "now", "", 1);
	put_text(fd, "next", "", 10000);
	put_text(fd, "next too", "", 19999);
	put_text(fd, "last", "", 40000);
	put_text(fd, "never", "", HASHBELT_TTL_NEVER);
	memset(counts, 0xff, sizeof(counts));
	ok(!hashbelt_buckets(fd, counts, 5) && counts[0] == 1 && counts[1] == 2 &&
	   !counts[2] && !counts[3] && counts[4] == 2, "buckets: by time left");
	ok(!hashbelt_buckets(fd, counts, 1) && counts[0] == 5, "buckets: one");
	ok(hashbelt_buckets(fd, counts, 0) == -EINVAL &&
	   hashbelt_buckets(fd, counts, HASHBELT_BUCKETS_MAX + 1) == -EINVAL,
	   "buckets: EINVAL");
	if (hashbelt_clear(fd))
		printf("# cannot clear\n");
}

/* What was counted in more than one piece adds up. */
static void test_many_buckets(int fd)
{
	static __u64 counts[HASHBELT_BUCKETS_MAX];
	__u64 sum = 0;
	char key[32];
	unsigned int i;

	for (i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_text(fd, key, "", 5000 + i % 4 * 10000);
	}
	if (hashbelt_buckets(fd, counts, HASHBELT_BUCKETS_MAX))
		printf("# cannot count\n");
	for (i = 0; i < HASHBELT_BUCKETS_MAX; i++)
		sum += counts[i];
	ok(sum == MANY && counts[0] == MANY / 4 && counts[3] == MANY / 4,
	   "buckets: of many entries");
	if (hashbelt_clear(fd))
		printf("# cannot clear\n");
}

static void test_lags(int fd)
{
	__u64 lags[HASHBELT_LAGS + 1];
	unsigned int few = 2, more = HASHBELT_LAGS + 1;

	put_text(fd, "late", "", 1000);
	if (hashbelt_advance(fd, 100000))
		printf("# cannot advance\n");
	memset(lags, 0xff, sizeof(lags));
	ok(!hashbelt_lags(fd, lags, &few) && few == 2 && !lags[0] && !lags[1] &&
	   lags[2] == ~0ULL, "lags: fewer than there are");
	/* 99 seconds are less than 2^17 ms, and not less than 2^16. */
	ok(!hashbelt_lags(fd, lags, &more) && more == HASHBELT_LAGS &&
	   lags[17] == 1 && lags[HASHBELT_LAGS] == ~0ULL, "lags: all there are");
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
static void test_events(int fd)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_HANDLER | HASHBELT_SET_REASONS,
		.handler = HASHBELT_NOTIFY, .reasons = HASHBELT_REPORT_ALL,
	};
	const struct hashbelt_event *first, *second, *third;
	__u64 buffer[64];
	ssize_t len;

	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK))
		printf("# cannot set O_NONBLOCK\n");
	ok(hashbelt_read(fd, buffer, sizeof(buffer)) == -ENODATA, "read: ENODATA");
	ok(!hashbelt_set(fd, &settings) &&
	   hashbelt_read(fd, buffer, sizeof(buffer)) == -EAGAIN, "read: EAGAIN");
	put_text(fd, "a", "value", 0);
	put_text(fd, "a", "other", 0);
	put_text(fd, "key", "long value", 0);
	hashbelt_remove(fd, "key", 3, NULL);
	hashbelt_expire(fd, "a", 1);
	ok(hashbelt_read(fd, buffer, 64) == -EMSGSIZE, "read: EMSGSIZE");
	ok(!hashbelt_watch(fd, HASHBELT_WATCH_ACK), "watch");
	ok(hashbelt_watch(fd, ~0U) == -EINVAL, "watch: EINVAL");
	len = hashbelt_read(fd, buffer, sizeof(buffer));
	first = hashbelt_event_next(buffer, len, NULL);
	second = hashbelt_event_next(buffer, len, first);
	third = hashbelt_event_next(buffer, len, second);
	ok(len == 72 + 80 + 72 &&
	   is_event(first, HASHBELT_REPLACED, "a", "value") &&
	   is_event(second, HASHBELT_REMOVED, "key", "long value") &&
	   is_event(third, HASHBELT_EXPIRED, "a", "other") &&
	   !hashbelt_event_next(buffer, len, third), "read: all of them, in order");
	ok(!hashbelt_event_next(buffer, 0, NULL), "events: none of them");
	ok(!hashbelt_ack(fd, second->sequence) &&
	   hashbelt_ack(fd, first->sequence) == -ENOENT &&
	   !hashbelt_ack(fd, third->sequence) &&
	   hashbelt_ack(fd, third->sequence) == -ENOENT, "ack: each once");
}

static void test_add(int fd)
{
	static char large[HASHBELT_KEY_MAX + 1];
	char text[32] = "";
	__s64 sum = 0;

	ok(!hashbelt_add(fd, "sum", 3, 5, 100, 0, &sum) && sum == 105,
	   "add: to what it begins with");
	ok(!hashbelt_add(fd, "sum", 3, -205, 7, 0, &sum) && sum == -100,
	   "add: to what is there");
	ok(!hashbelt_add(fd, "sum", 3, 1, 0, 0, NULL) &&
	   !hashbelt_get(fd, "sum", 3, text, sizeof(text), NULL) &&
	   !strcmp(text, "-99"), "add: the sum is the value");
	sum = 3;
	ok(hashbelt_add(fd, "sum", 3, INT64_MIN, 0, 0, &sum) == -EOVERFLOW && sum == 3,
	   "add: EOVERFLOW");
	put_text(fd, "sum", "word", 0);
	ok(hashbelt_add(fd, "sum", 3, 1, 0, 0, &sum) == -EBADMSG && sum == 3,
	   "add: EBADMSG");
	ok(hashbelt_add(fd, large, sizeof(large), 1, 0, 0, NULL) == -E2BIG &&
	   hashbelt_add(fd, large, 0, 1, 0, 0, NULL) == -EINVAL, "add: E2BIG, EINVAL");
}

static void advance(int fd, __u64 ms)
{
	if (hashbelt_advance(fd, ms))
		printf("# cannot advance\n");
}

static void test_fill(int fd)
{
	struct hashbelt_fill first = { .lease_ms = 1000000 }, second = { 0 };
	static char large[HASHBELT_KEY_MAX + 1];
	char text[32] = "";

	ok(hashbelt_fill(fd, "f", 1, text, sizeof(text), &first) == -ENOENT &&
	   first.state == HASHBELT_GRANTED && first.token, "fill: granted");
	ok(hashbelt_fill(fd, "f", 1, text, sizeof(text), &second) == -ENOENT &&
	   second.state == HASHBELT_FILLING, "fill: somebody else has it");
	ok(hashbelt_give_up(fd, "f", 1, first.token + 1) == -ENOENT &&
	   !hashbelt_give_up(fd, "f", 1, first.token) &&
	   hashbelt_give_up(fd, "f", 1, first.token) == -ENOENT,
	   "give up: once, and by the token");
	second = (struct hashbelt_fill){ 0 };
	ok(hashbelt_fill(fd, "f", 1, text, sizeof(text), &second) == -ENOENT &&
	   second.state == HASHBELT_GRANTED && second.token > first.token,
	   "fill: the next one has it");
	put_text(fd, "f", "value", 0);
	second = (struct hashbelt_fill){ 0 };
	ok(!hashbelt_fill(fd, "f", 1, text, sizeof(text), &second) &&
	   second.item.value_len == 5 && !strcmp(text, "value") && !second.state &&
	   second.item.flags == 7, "fill: what is there");
	second = (struct hashbelt_fill){ 0 };
	ok(hashbelt_fill(fd, "f", 1, text, 4, &second) == -ERANGE &&
	   second.item.value_len == 5, "fill: ERANGE says how long");
	ok(hashbelt_fill(fd, large, sizeof(large), text, 1, &second) == -E2BIG,
	   "fill: E2BIG");
}

/* The next event of a request, or NULL. One read may have returned several. */
static const struct hashbelt_event *next_request(int fd)
{
	static __u64 buffer[(sizeof(struct hashbelt_event) + HASHBELT_KEY_MAX) / 8];
	static const struct hashbelt_event *event;
	static ssize_t len;

	if (event)
		event = hashbelt_event_next(buffer, len, event);
	if (!event) {
		len = hashbelt_read(fd, buffer, sizeof(buffer));
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

static void test_request(int fd)
{
	const struct hashbelt_key keys[] = {
		{ .key = (uintptr_t)"one", .key_len = 3 },
		{ .key = (uintptr_t)"other", .key_len = 5 },
	};
	static char large[HASHBELT_KEY_MAX + 1];
	unsigned int done = 7;

	ok(!hashbelt_watch(fd, HASHBELT_WATCH_REQUESTS) && !next_request(fd),
	   "watch: requests alone");
	ok(!hashbelt_request(fd, 1, keys, 2, 0) &&
	   !hashbelt_request(fd, 2, keys + 1, 1, HASHBELT_TTL_NEVER) &&
	   !hashbelt_request(fd, 3, keys, 1, 1000), "request");
	ok(hashbelt_request(fd, 2, keys, 1, 0) == -EEXIST, "request: EEXIST");
	ok(hashbelt_request(fd, 4, keys, 0, 0) == -EINVAL &&
	   hashbelt_request(fd, 4, keys, HASHBELT_REQUEST_KEYS + 1, 0) < 0,
	   "request: too few keys and too many");
	ok(!next_request(fd), "request: they wait");
	put_text(fd, "other", "", 0);
	ok(is_completion(next_request(fd), 1, HASHBELT_BY_PUT, "other") &&
	   is_completion(next_request(fd), 2, HASHBELT_BY_PUT, "other") &&
	   !next_request(fd), "request: a put completes those that wait for it");
	ok(!hashbelt_request(fd, 2, keys + 1, 1, 0), "request: the id is free again");
	ok(!hashbelt_complete(fd, "other", 5, &done) && done == 1 &&
	   is_completion(next_request(fd), 2, HASHBELT_BY_COMPLETE, "other"),
	   "complete");
	ok(!hashbelt_complete(fd, "other", 5, &done) && !done &&
	   !hashbelt_complete(fd, "other", 5, NULL), "complete: none");
	ok(hashbelt_complete(fd, large, sizeof(large), NULL) == -E2BIG &&
	   hashbelt_complete(fd, large, 0, NULL) == -EINVAL, "complete: E2BIG, EINVAL");
	advance(fd, 1000000);
	ok(is_completion(next_request(fd), 3, HASHBELT_BY_TIMEOUT, ""),
	   "request: it times out");
	ok(!hashbelt_request(fd, 5, keys, 1, 0) && !hashbelt_cancel(fd, 5) &&
	   hashbelt_cancel(fd, 5) == -ENOENT, "cancel: once");
	put_text(fd, "one", "", 0);
	ok(!next_request(fd), "cancel: it is not heard of again");
}

/* Locks are for belts that lose nothing. */
static void test_lock(int fd)
{
	struct hashbelt_settings settings = { .fields = HASHBELT_SET_POLICY };
	struct hashbelt_lock lock = { .ttl_ms = 5000 };
	char owner[HASHBELT_OWNER_MAX];
	size_t len = 2;

	ok(hashbelt_lock(fd, "l", 1, "me", 2, NULL) == -EOPNOTSUPP, "lock: EOPNOTSUPP");
	settings.policy = HASHBELT_PINNED;
	ok(!hashbelt_set(fd, &settings) && !hashbelt_lock(fd, "l", 1, "me", 2, &lock) &&
	   lock.token && lock.ttl_ms == 5000 && !lock.held_ms, "lock");
	ok(hashbelt_lock(fd, "l", 1, "you", 3, NULL) == -EBUSY, "lock: EBUSY");
	ok(!hashbelt_lock(fd, "l", 1, "me", 2, NULL), "lock: the same owner again");
	lock.wait_ms = 0;
	lock.ttl_ms = 40001;
	ok(hashbelt_lock(fd, "l", 1, "me", 2, &lock) == -EDOM, "lock: EDOM");
	advance(fd, 3000);
	ok(!hashbelt_holder(fd, "l", 1, owner, &len, &lock) && len == 2 &&
	   !memcmp(owner, "me", 2) && lock.held_ms == 3000 && lock.ttl_ms == 37000,
	   "holder");
	len = 1;
	ok(hashbelt_holder(fd, "l", 1, owner, &len, NULL) == -ERANGE && len == 2,
	   "holder: ERANGE says how long");
	ok(hashbelt_holder(fd, "m", 1, owner, &len, NULL) == -ENOENT, "holder: ENOENT");
	ok(!hashbelt_renew(fd, "l", 1, "me", 2, 7000, &lock) && lock.ttl_ms == 7000 &&
	   !hashbelt_renew(fd, "l", 1, "me", 2, 0, NULL), "renew");
	ok(hashbelt_renew(fd, "l", 1, "you", 3, 0, NULL) == -EACCES &&
	   hashbelt_renew(fd, "m", 1, "me", 2, 0, NULL) == -ENOENT &&
	   hashbelt_renew(fd, "l", 1, "me", 2, 40001, NULL) == -EDOM,
	   "renew: EACCES, ENOENT, EDOM");
	ok(hashbelt_unlock(fd, "l", 1, "you", 3) == -EACCES &&
	   !hashbelt_unlock(fd, "l", 1, "me", 2) &&
	   hashbelt_unlock(fd, "l", 1, "me", 2) == -ENOENT, "unlock: once, by its owner");
}

static void test_lock_sizes(int fd)
{
	static char large[HASHBELT_KEY_MAX + 1];
	char owner[HASHBELT_OWNER_MAX + 1] = "";
	__u64 released = 7;
	size_t len;

	ok(!hashbelt_lock(fd, large, HASHBELT_KEY_MAX, owner, HASHBELT_OWNER_MAX, NULL),
	   "lock: the longest name and owner");
	len = ~(size_t)0;
	ok(!hashbelt_holder(fd, large, HASHBELT_KEY_MAX, owner, &len, NULL) &&
	   len == HASHBELT_OWNER_MAX, "holder: any size");
	ok(hashbelt_lock(fd, large, sizeof(large), "me", 2, NULL) == -E2BIG &&
	   hashbelt_lock(fd, "l", 1, owner, sizeof(owner), NULL) == -E2BIG &&
	   hashbelt_lock(fd, "", 0, "me", 2, NULL) == -EINVAL &&
	   hashbelt_lock(fd, "l", 1, "", 0, NULL) == -EINVAL, "lock: E2BIG, EINVAL");
	ok(!hashbelt_release(fd, owner, HASHBELT_OWNER_MAX, &released) &&
	   released == 1 &&
	   !hashbelt_release(fd, owner, HASHBELT_OWNER_MAX, &released) &&
	   !released && !hashbelt_release(fd, "me", 2, NULL),
	   "release: what there is");
	ok(hashbelt_release(fd, owner, sizeof(owner), &released) == -E2BIG,
	   "release: E2BIG");
}

/* A walk over the locks of @owner, or all: how many; -1 if one is not as it was taken. */
static int count_locks(int fd, const char *owner)
{
	const struct hashbelt_lock_record *record;
	struct hashbelt_lister lister;
	int more, locks = 0;
	__u64 token = 0;

	if (hashbelt_locks_begin(&lister, fd, owner, owner ? strlen(owner) : 0))
		return -1;
	while ((more = hashbelt_locks_next(&lister, &record)) > 0) {
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
	hashbelt_locks_end(&lister);
	return more < 0 ? -1 : locks;
}

static void test_locks(int fd)
{
	char name[128], owner[HASHBELT_OWNER_MAX + 1] = "";
	struct hashbelt_lister lister;
	unsigned int i, right = 0;
	__u64 released = 0;

	for (i = 0; i < LOCKS; i++) {
		snprintf(name, sizeof(name), "%0100u", i);
		right += !hashbelt_lock(fd, name, strlen(name), "all", 3, NULL);
	}
	snprintf(name, sizeof(name), "%0101u", 1);
	right += !hashbelt_lock(fd, name, strlen(name), "few", 3, NULL);
	ok(right == LOCKS + 1, "locks: taken");
	ok(count_locks(fd, "all") == LOCKS, "locks: of one owner, in order");
	ok(count_locks(fd, "few") == 1, "locks: of another");
	ok(!count_locks(fd, "not"), "locks: of nobody");
	ok(count_locks(fd, NULL) == LOCKS + 1, "locks: of all");
	ok(hashbelt_locks_begin(&lister, fd, owner, sizeof(owner)) == -E2BIG,
	   "locks: E2BIG");
	ok(!hashbelt_release(fd, "all", 3, &released) && released == LOCKS &&
	   count_locks(fd, NULL) == 1, "release: all of one owner");
}

int main(void)
{
	int fd = hashbelt_open(NULL);

	plan(PLANNED);
	if (fd < 0)
		bail_out("cannot open the device: %s", strerror(-fd));
	test_open();
	test_names(fd);
	test_nameless(fd);
	test_plain(fd);
	test_batch(fd);
	test_scan(fd);
	test_stat(fd);
	test_buckets(fd);
	test_many_buckets(fd);
	test_lags(fd);
	test_events(fd);
	test_add(fd);
	test_fill(fd);
	test_request(fd);
	test_lock(fd);
	test_lock_sizes(fd);
	test_locks(fd);
	hashbelt_close(fd);
	return done_testing();
}
