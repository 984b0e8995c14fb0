// SPDX-License-Identifier: GPL-2.0-only
/*
 * request_test - a request that waits is completed once, and its descriptor is told once.
 *
 * It is completed by the first of: a put of one of its keys, a complete call, its timeout,
 * eviction, memory pressure, or a clear. Also what happens to it when its descriptor is
 * closed, what it counts against while it waits, and that nothing of it is left afterwards.
 * Waiting for completions, and concurrent threads, are in request_wait_test.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "request.h"

#define NAME	"asked"
#define NONE	((struct hashbelt_settings){})

/* Causes of a completion */

static const char *const sixteen[HASHBELT_REQUEST_KEYS] = {
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f",
};

/* Puts key number @i of a request of @count keys; true if this completes the request once. */
static bool is_completed_by(int belt, unsigned int count, unsigned int i)
{
	__u64 id = count * 100 + i;
	unsigned int k;
	bool good;

	if (ask_keys(belt, id, 0, sixteen, count) || !has_no_completion(belt) || waiting(belt) != 1)
		return false;
	put_text(belt, sixteen[i], "value", 0);
	good = !waiting(belt) && is_next_completion(belt, id, HASHBELT_BY_PUT, sixteen[i]);
	for (k = 0; k < HASHBELT_REQUEST_KEYS; k++)
		put_text(belt, sixteen[k], "again", 0);
	return good && has_no_completion(belt);
}

static void test_keys(void)
{
	int belt = asking_belt(NONE);
	unsigned int count, i, wrong = 0;

	for (count = 1; count <= HASHBELT_REQUEST_KEYS; count++)
		for (i = 0; i < count; i++)
			wrong += !is_completed_by(belt, count, i);
	is_int(wrong, 0,
	       "a put of any one of a request's 1 to 16 keys completes it once");
	is_int(counter(belt, HASHBELT_STAT_REQUESTS), 136,
	       "the counter of requests counts each of 136 requests");
	is_int(counter(belt, HASHBELT_STAT_COMPLETED), 136,
	       "the counter of completed requests counts each of 136 completions");
	close(belt);
}

static void fill(unsigned char *p, size_t size, unsigned int seed)
{
	unsigned int state = seed * 2654435761u + 1;

	while (size--) {
		state = state * 1103515245 + 12345;
		*p++ = state >> 16;
	}
}

/* The event of a request returns a key of any bytes, and read writes nothing else. */
static bool is_told_whole(int belt, __u32 key_len)
{
	static unsigned char key[HASHBELT_KEY_MAX];
	static __u64 buffer[HASHBELT_EVENT_MAX / sizeof(__u64)];
	struct hashbelt_key keys = { .key = address(key), .key_len = key_len };
	struct hashbelt_request request = {
		.id = ~0ULL - key_len, .keys = address(&keys), .count = 1,
	};
	struct hashbelt_item item = { .key = address(key), .key_len = key_len };
	const struct hashbelt_event *event = (const void *)buffer;
	size_t size = event_size(key_len, 0);
	ssize_t len;

	fill(key, key_len, key_len);
	must(belt, HASHBELT_IOC_REQUEST, &request);
	memset(buffer, 0xa5, sizeof(buffer));
	must(belt, HASHBELT_IOC_PUT, &item);
	len = read_into(belt, buffer, sizeof(buffer));
	if (len != (ssize_t)size)
		return false;
	check_event(event, len);
	return event->kind == HASHBELT_REQUEST && event->id == request.id &&
	       event->key_len == key_len && !memcmp(event_key(event), key, key_len) &&
	       ((unsigned char *)buffer)[size] == 0xa5;
}

static void test_key_bytes(void)
{
	int belt = asking_belt(NONE);
	unsigned int i, wrong = 0;

	for (i = 1; i <= HASHBELT_KEY_MAX; i += i < 70 || i > 1000 ? 1 : 13)
		wrong += !is_told_whole(belt, i);
	is_int(wrong, 0, "the event of a request returns its key of 1 to 1024 bytes byte for byte");
	close(belt);
}

static int put_if(int fd, const char *key, __u32 how, __u64 version)
{
	struct hashbelt_item item = text_item(key, "value");

	item.how = how;
	item.version = version;
	return call(fd, HASHBELT_IOC_PUT, &item);
}

static int add_to(int fd, const char *key)
{
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of(key);

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	return call(fd, HASHBELT_IOC_ADD, &item);
}

static void test_puts(void)
{
	int belt = asking_belt(NONE);
	struct hashbelt_item items[2];
	struct hashbelt_batch batch = { .items = address(items), .count = 2 };
	__u64 version = put_text(belt, "key", "value", 0);

	must_ask(belt, 1, "key");
	ok(has_no_completion(belt) && waiting(belt) == 1,
	   "a request waits on when its key was put before the request");
	put_text(belt, "key", "other", 0);
	ok(is_next_completion(belt, 1, HASHBELT_BY_PUT, "key"),
	   "a put over an entry completes the request for its key");
	must_ask(belt, 2, "key");
	ok(put_if(belt, "key", HASHBELT_IF_ABSENT, 0) == -EEXIST &&
	   put_if(belt, "key", HASHBELT_IF_VERSION, version) == -ESTALE &&
	   has_no_completion(belt),
	   "a put refused with EEXIST or ESTALE does not complete a request");
	ok(!put_if(belt, "key", HASHBELT_IF_VERSION, look(belt, "key").version) &&
	   is_next_completion(belt, 2, HASHBELT_BY_PUT, "key"),
	   "a put whose version condition holds completes a request");
	must_ask(belt, 3, "new");
	ok(put_if(belt, "new", HASHBELT_IF_PRESENT, 0) == -ENOENT && has_no_completion(belt),
	   "a put refused with ENOENT does not complete a request");
	ok(!add_to(belt, "new") && is_next_completion(belt, 3, HASHBELT_BY_PUT, "new"),
	   "an add to an absent key completes a request with the cause put");
	must_ask(belt, 4, "new");
	ok(!add_to(belt, "new") && is_next_completion(belt, 4, HASHBELT_BY_PUT, "new"),
	   "an add to a present key completes a request with the cause put");
	must_ask(belt, 5, "key");
	ok(add_to(belt, "key") == -EBADMSG && has_no_completion(belt),
	   "an add that returns EBADMSG does not complete a request");
	items[0] = text_item("none", "value");
	items[1] = text_item("key", "value");
	items[0].op = HASHBELT_OP_PUT;
	items[1].op = HASHBELT_OP_PUT;
	must(belt, HASHBELT_IOC_BATCH, &batch);
	ok(is_next_completion(belt, 5, HASHBELT_BY_PUT, "key") && has_no_completion(belt),
	   "a put in a batch completes a request");
	must_ask(belt, 6, "short");
	put_text(belt, "short", "value", 1);
	ok(is_next_completion(belt, 6, HASHBELT_BY_PUT, "short"),
	   "a put with a time-to-live of 1 ms completes a request");
	close(belt);
}

/* Calls that complete no request */
static void test_others(void)
{
	int belt = asking_belt((struct hashbelt_settings){
		.policy = HASHBELT_KEEP_ON_PUT | HASHBELT_PINNED });
	struct hashbelt_lock lock = {
		.key = address("key"), .key_len = 3, .owner = address("me"),
		.owner_len = 2,
	};
	struct hashbelt_fill fill = { .item = item_of("absent") };

	put_text(belt, "key", "value", 0);
	if (ASK(belt, 1, 0, "key", "absent"))
		bail_out("no request");
	ok(put_if(belt, "key", 0, 0) == -EEXIST && has_no_completion(belt),
	   "a put refused in a belt with HASHBELT_KEEP_ON_PUT completes no request");
	must(belt, HASHBELT_IOC_LOCK, &lock);
	must(belt, HASHBELT_IOC_UNLOCK, &lock);
	ok(has_no_completion(belt), "lock and unlock of a request's key complete no request");
	ok(call(belt, HASHBELT_IOC_FILL, &fill) == -ENOENT && has_no_completion(belt),
	   "the grant of a fill lease for a request's key completes no request");
	on_key(belt, HASHBELT_IOC_GET, "key");
	on_key(belt, HASHBELT_IOC_TOUCH, "key");
	on_key(belt, HASHBELT_IOC_REMOVE, "key");
	put_text(belt, "key", "value", 0);
	ok(is_next_completion(belt, 1, HASHBELT_BY_PUT, "key"),
	   "get, touch and remove complete no request; the next put completes it");
	must_ask(belt, 2, "key");
	on_key(belt, HASHBELT_IOC_EXPIRE, "key");
	ok(has_no_completion(belt), "expire of a request's key completes no request");
	is_errno(cancel(belt, 2), 0, "cancel of a request succeeds after expire of its key");
	close(belt);
}

/* The keys of a request are no entries. */
static void test_unseen(void)
{
	unsigned char buffer[256];
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = sizeof(buffer) };
	int belt = asking_belt(NONE);
	unsigned int records = 0;

	if (ASK(belt, 1, 0, "one", "two"))
		bail_out("no request");
	ok(look(belt, "one").err == -ENOENT &&
	   on_key(belt, HASHBELT_IOC_REMOVE, "two") == -ENOENT &&
	   on_key(belt, HASHBELT_IOC_TOUCH, "two") == -ENOENT &&
	   on_key(belt, HASHBELT_IOC_EXPIRE, "two") == -ENOENT,
	   "get, remove, touch and expire of a request's key return ENOENT");
	do {
		scan.size = sizeof(buffer);
		must(belt, HASHBELT_IOC_SCAN, &scan);
		records += scan.count;
	} while (scan.cursor);
	is_int(records, 0, "scan does not find the keys of a request");
	is_int(waiting(belt), 1,
	       "a request waits on after get, remove, touch, expire and scan of its keys");
	close(belt);
}

static void test_complete(void)
{
	int belt = asking_belt(NONE);
	unsigned int i, good = 0;

	is_int(complete(belt, "key"), 0, "complete of a key without requests completes none");
	for (i = 0; i < 100; i++)
		if (ASK(belt, i, 0, i % 2 ? "odd" : "even", "all"))
			bail_out("no request");
	is_int(complete(belt, "odd"), 50,
	       "complete of a key completes each of the 50 requests for it");
	for (i = 0; i < 50; i++) {
		struct completion completion = read_completion(belt);

		good += !completion.err && completion.cause == HASHBELT_BY_COMPLETE &&
			!strcmp(completion.key, "odd") && completion.id % 2 &&
			completion.sequence == i + 1;
	}
	ok(good == 50 && has_no_completion(belt),
	   "complete tells each of the 50 requests for the key once, in order");
	is_int(complete(belt, "odd"), 0, "a second complete of a key completes no request");
	is_int(complete(belt, "all"), 50,
	       "complete of another key completes the 50 requests that wait on");
	ok(!look(belt, "all").entries && look(belt, "all").err,
	   "complete of a key makes no entry");
	is_int(counter(belt, HASHBELT_STAT_COMPLETED), 100,
	       "the counter of completed requests counts the requests of both completes");
	close(belt);
}

static void test_same_key(void)
{
	int belt = asking_belt(NONE);

	is_errno(ASK(belt, 1, 0, "key", "key", "other", "key"), 0,
		 "a request that names one key three times is accepted");
	put_text(belt, "key", "value", 0);
	ok(is_next_completion(belt, 1, HASHBELT_BY_PUT, "key") && has_no_completion(belt) &&
	   !waiting(belt),
	   "a put of a key that a request names three times completes it once");
	is_errno(ASK(belt, 2, 0, "key", "key"), 0,
		 "a request that names one key twice is accepted");
	is_int(complete(belt, "key"), 1, "complete counts a request that names the key twice once");
	ok(is_next_completion(belt, 2, HASHBELT_BY_COMPLETE, "key") && has_no_completion(belt),
	   "a request that names one key twice is told once by complete");
	is_errno(ASK(belt, 3, 0, "key", "key"), 0,
		 "a second request that names one key twice is accepted");
	ok(!cancel(belt, 3) && !complete(belt, "key") && has_no_completion(belt),
	   "a cancelled request that named one key twice is completed by no call");
	close(belt);
}

#define CROWD	200u	/* more requests than a put completes itself */

/* A put completes the first requests for its key itself, and the worker completes the others. */
static void test_crowd(void)
{
	int belt = asking_belt(NONE);
	bool told[CROWD + 1] = {};
	struct completion next;
	unsigned int i, wrong = 0;

	for (i = 1; i <= CROWD; i++)
		wrong += ASK(belt, i, 0, "key") != 0;
	is_int(wrong, 0, "200 requests for one key are accepted");
	put_text(belt, "key", "value", 0);
	set_blocking(belt, true);
	for (i = 0; i < CROWD; i++) {
		next = read_completion(belt);
		if (next.err || next.cause != HASHBELT_BY_PUT ||
		    !next.id || next.id > CROWD || told[next.id])
			wrong++;
		else
			told[next.id] = true;
	}
	set_blocking(belt, false);
	ok(!wrong && !waiting(belt) && has_no_completion(belt),
	   "a put completes each of 200 requests for its key once");
	close(belt);
}

/* Timeouts */

#define INTERVAL_MS	100

static int ticking_belt(void)
{
	return asking_belt((struct hashbelt_settings){ .buckets = 1 + TTL / INTERVAL_MS });
}

/* Belt times are multiples of 8 ns; two of these are tolerated. */
static bool is_near(__u64 a, __u64 b)
{
	return a - b + 16 <= 32;
}

static bool times_out(int belt, __u64 ttl_ms)
{
	__u64 begin = info_of(belt).now_ns, deadline = begin + ttl_ms * 1000000;
	struct completion completion;

	if (ASK(belt, ttl_ms, ttl_ms, "key"))
		return false;
	advance(belt, ttl_ms - 1);
	if (!has_no_completion(belt))
		return false;
	advance(belt, 1 + 2 * ttl_ms / TTL * INTERVAL_MS + 2 * INTERVAL_MS);
	completion = read_completion(belt);
	if (!completion.err && completion.id == ttl_ms && completion.cause == HASHBELT_BY_TIMEOUT &&
	    !completion.key[0] && is_near(completion.deadline_ns, deadline) &&
	    completion.handed_ns >= deadline)
		return has_no_completion(belt) && !complete(belt, "key");
	note("%llu ms: %s, cause %u, at %llu, handed over at %llu, expected %llu", ttl_ms,
	     error_name(completion.err), completion.cause, completion.deadline_ns,
	     completion.handed_ns, deadline);
	return false;
}

static void test_timeouts(void)
{
	static const __u64 ttls[] = {
		1, 2, 99, 100, 101, 1000, TTL - 1, TTL, TTL + 1, 5 * TTL, 100 * TTL,
	};
	int belt = ticking_belt();
	unsigned int i, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(ttls); i++)
		wrong += !times_out(belt, ttls[i]);
	is_int(wrong, 0, "a request times out at its own time, not before and soon after");
	is_int(counter(belt, HASHBELT_STAT_TIMED_OUT), ARRAY_SIZE(ttls),
	       "the counter of timeouts counts each request that timed out");
	is_int(counter(belt, HASHBELT_STAT_COMPLETED), 0,
	       "a timeout does not count as a completion of a request");
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), 0,
	       "a timeout of a request does not count as an expiry of an entry");
	must_ask(belt, 1, "key");
	advance(belt, TTL - 1);
	ok(has_no_completion(belt) && waiting(belt) == 1,
	   "a request without a time waits until 1 ms before the belt's time-to-live");
	advance(belt, 2 * INTERVAL_MS);
	ok(is_next_completion(belt, 1, HASHBELT_BY_TIMEOUT, ""),
	   "a request without a time times out after the belt's time-to-live");
	if (ASK(belt, 2, HASHBELT_TTL_NEVER, "key"))
		bail_out("no request");
	advance(belt, HASHBELT_TTL_MAX_MS);
	ok(has_no_completion(belt) && waiting(belt) == 1,
	   "a request with HASHBELT_TTL_NEVER waits on after 2^42 ms");
	put_text(belt, "key", "value", 0);
	ok(is_next_completion(belt, 2, HASHBELT_BY_PUT, "key"),
	   "a request with HASHBELT_TTL_NEVER is completed by a put");
	close(belt);
}

/* 3000 requests with different timeouts, among entries with the same ones. */
static void test_many_timeouts(void)
{
	enum { MANY = 3000 };
	int belt = ticking_belt();
	__u64 now = info_of(belt).now_ns, late = 0, early = 0, lag;
	static unsigned char seen[MANY];
	unsigned int i, timeouts = 0;
	struct completion event;
	char key[16];
	__u64 ttl_ms;

	for (i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "entry %u", i);
		ttl_ms = 1 + i * 7919ULL % (3 * TTL);
		put_text(belt, key, "value", ttl_ms);
		if (ASK(belt, i, ttl_ms, sixteen[i % 16]))
			bail_out("no request");
	}
	for (i = 0; i < 3 * TTL / INTERVAL_MS + 3; i++) {
		advance(belt, INTERVAL_MS);
		while (!(event = read_completion(belt)).err) {
			if (event.id >= MANY || seen[event.id]++)
				continue;
			timeouts += event.cause == HASHBELT_BY_TIMEOUT && !event.key[0];
			now = info_of(belt).now_ns;
			lag = (event.deadline_ns - event.deadline_ns % 2) / 1000000;
			early += now / 1000000 + 1 < lag;
			late += now / 1000000 > lag + 2 * INTERVAL_MS + 1;
		}
	}
	is_int(timeouts, MANY, "each of 3000 requests with different deadlines times out once");
	is_int(early, 0, "no request of 3000 times out before its deadline");
	is_int(late, 0,
	       "no request of 3000 times out more than two intervals after its deadline");
	is_int(waiting(belt) + info_of(belt).entries, 0,
	       "timed-out requests leave no waiters and no entries");
	is_int(counter(belt, HASHBELT_STAT_EXPIRED), MANY,
	       "each of 3000 entries with different deadlines expires once");
	close(belt);
}

/* A request times out in the same way under every handler. */
static void test_handlers(__u32 handler, const char *name)
{
	int belt = reporting_belt(handler, REPORT_ALL);

	must_ask(belt, 1, "key");
	advance(belt, 3 * TTL);
	ok(!waiting(belt) && !info_of(belt).sequence,
	   "%s: the timeout of a request ends it and reports no event of an entry", name);
	is_errno(read_into(belt, malloc(PAGE), PAGE),
		 handler == HASHBELT_DROP ? ENODATA : EAGAIN,
		 "%s: a read of entries returns no event for a request's timeout", name);
	listen_to(belt);
	ok(is_next_completion(belt, 1, HASHBELT_BY_TIMEOUT, ""),
	   "%s: a descriptor that watches requests after a timeout reads its event", name);
	advance(belt, 3 * TTL);
	ok(has_no_completion(belt), "%s: the timeout of a request is told once", name);
	close(belt);
}

/* Ids */

static void test_ids(void)
{
	int belt = named_belt(NAME, 0), fd = open_asking(NAME), other = open_asking(NAME);

	ok(!ASK(fd, 0, 0, "key") && !ASK(fd, ~0ULL, 0, "key"),
	   "ask accepts the lowest and the highest 64-bit number as an id");
	is_errno(ASK(fd, 0, 0, "other"), EEXIST,
		 "ask returns EEXIST while a request of the same id waits");
	is_errno(ASK(other, 0, 0, "key"), 0,
		 "another descriptor may use the id of a request that waits");
	is_int(waiting(fd), 3, "an ask that failed with EEXIST does not add a waiting request");
	is_errno(cancel(fd, 1), ENOENT, "cancel of an id without a request returns ENOENT");
	put_text(belt, "other", "value", 0);
	ok(has_no_completion(fd), "an ask that failed with EEXIST waits for no key");
	put_text(belt, "key", "value", 0);
	is_errno(ASK(fd, 0, 0, "key"), 0,
		 "ask succeeds with the id of a completed request that is not told yet");
	is_errno(cancel(other, 0), ENOENT, "cancel of a completed request returns ENOENT");
	is_errno(cancel(fd, 0), 0,
		 "cancel of a new request with the id of a completed one succeeds");
	ok(is_next_completion(other, 0, HASHBELT_BY_PUT, "key") && has_no_completion(other),
	   "a descriptor reads its completed request once");
	is_int(read_completion(fd).err + read_completion(fd).err, 0,
	       "a descriptor reads the events of both of its completed requests");
	ok(has_no_completion(fd), "a cancelled request with the id of a completed one is not told");
	is_errno(ASK(fd, 0, 0, "key"), 0, "ask succeeds with the id of a cancelled request");
	advance(belt, 3 * TTL);
	is_errno(ASK(fd, 0, 0, "key"), 0, "ask succeeds with the id of a request that timed out");
	destroy_belt(belt, NAME);
	close(other);
	close(fd);
	close(belt);
}

static void test_cancel(void)
{
	int belt = named_belt(NAME, 0), fd = open_asking(NAME), other = open_asking(NAME);

	if (ASK(fd, 7, 1000, "a", "b", "c"))
		bail_out("no request");
	is_errno(cancel(other, 7), ENOENT, "cancel of another descriptor's request returns ENOENT");
	is_errno(cancel(belt, 7), ENOENT,
		 "cancel through a descriptor without requests returns ENOENT");
	is_errno(cancel(fd, 7), 0, "cancel of a descriptor's own request succeeds");
	is_errno(cancel(fd, 7), ENOENT, "a second cancel of a request returns ENOENT");
	is_int(waiting(fd), 0, "a cancelled request does not count as waiting");
	put_text(belt, "b", "value", 0);
	is_int(complete(belt, "a") + complete(belt, "c"), 0,
	       "complete of the keys of a cancelled request completes none");
	advance(belt, 3 * TTL);
	ok(has_no_completion(fd) && has_no_completion(other),
	   "a cancelled request has no event after its time");
	ok(counter(fd, HASHBELT_STAT_REQUESTS) == 1 &&
	   !counter(fd, HASHBELT_STAT_COMPLETED) &&
	   !counter(fd, HASHBELT_STAT_TIMED_OUT),
	   "a cancelled request counts as registered, not as completed or timed out");
	must_ask(fd, 8, "d");
	put_text(belt, "d", "value", 0);
	is_errno(cancel(fd, 8), ENOENT,
		 "cancel of a request that a put has completed returns ENOENT");
	ok(is_next_completion(fd, 8, HASHBELT_BY_PUT, "d"),
	   "a request that was completed before cancel is told");
	is_errno(cancel(fd, 8), ENOENT, "cancel of a request that was told returns ENOENT");
	destroy_belt(belt, NAME);
	close(other);
	close(fd);
	close(belt);
}

/* Descriptors */

static void test_own(void)
{
	int belt = named_belt(NAME, 0), fds[4], i, good = 0;
	struct completion completion;

	for (i = 0; i < 4; i++) {
		fds[i] = open_asking(NAME);
		must_ask(fds[i], 100 + i, "key");
		must_ask(fds[i], 200, i % 2 ? "odd" : "even");
	}
	put_text(belt, "key", "value", 0);
	complete(belt, "odd");
	for (i = 3; i >= 0; i--) {
		completion = read_completion(fds[i]);
		good += !completion.err && completion.id == 100u + i && completion.sequence == 1;
		if (i % 2) {
			completion = read_completion(fds[i]);
			good += !completion.err && completion.id == 200 && completion.sequence == 2;
		}
		good += has_no_completion(fds[i]);
	}
	is_int(good, 10,
	       "each descriptor reads its own requests for a shared key, numbered from 1");
	is_errno(read_into(belt, malloc(PAGE), PAGE), EAGAIN,
		 "read through a descriptor without requests returns EAGAIN");
	is_int(waiting(belt), 2, "two requests whose key was not put or completed wait on");
	destroy_belt(belt, NAME);
	for (i = 0; i < 4; i++)
		close(fds[i]);
	close(belt);
}

/* A descriptor reads either the completions of its requests or the events of entries. */
static void test_modes(void)
{
	int belt = named_belt(NAME, REPORT_ALL), fd = open_asking(NAME);
	struct stream stream = stream_of(belt, PAGE);
	const struct hashbelt_event *event;

	must_ask(fd, 1, "key");
	put_text(belt, "key", "first", 0);
	put_text(belt, "key", "second", 0);
	ok(is_next_completion(fd, 1, HASHBELT_BY_PUT, "key") && has_no_completion(fd),
	   "a descriptor that watches requests reads no event of a replaced entry");
	event = next_event(&stream);
	ok(event && event->kind == HASHBELT_ENTRY && event->reason == HASHBELT_REPLACED &&
	   !next_event(&stream) && stream.err == -EAGAIN,
	   "a descriptor that watches entries reads no event of a request");
	must_ask(fd, 2, "key");
	put_text(belt, "key", "third", 0);
	watch(fd, 0);
	stream.fd = fd;
	event = next_event(&stream);
	ok(event && event->kind == HASHBELT_ENTRY && event->reason == HASHBELT_REPLACED &&
	   !next_event(&stream),
	   "a descriptor that watches entries again reads an entry's event");
	must_ask(fd, 3, "key");
	put_text(belt, "key", "fourth", 0);
	ok(discard_events(belt) == 1 && waiting(belt) == 0,
	   "a request by a descriptor that watches entries is completed by a put");
	listen_to(fd);
	ok(is_next_completion(fd, 2, HASHBELT_BY_PUT, "key") &&
	   is_next_completion(fd, 3, HASHBELT_BY_PUT, "key") &&
	   has_no_completion(fd),
	   "a descriptor that watches requests again reads its completed requests");
	is_errno(ack(fd, 3), ENOENT,
		 "ack through a descriptor that watches requests returns ENOENT");
	free(stream.buffer);
	destroy_belt(belt, NAME);
	close(fd);
	close(belt);
}

/* A descriptor with 100 requests that wait and 100 completions that are not read. */
static int laden(void)
{
	int fd = open_asking(NAME);
	unsigned int i;

	for (i = 0; i < 200; i++)
		if (ASK(fd, i, 0, i < 100 ? "told" : "waits", "both"))
			bail_out("no request");
	if (complete(fd, "told") != 100 || waiting(fd) != 100)
		bail_out("complete of 100 requests has left another number waiting");
	return fd;
}

static int laden_process(void *arg)
{
	laden();
	/* Tells the parent that the requests are registered. */
	if (write(*(int *)arg, "", 1) != 1)
		return 1;
	pause();
	return 0;
}

static bool is_forgotten(int belt, __u64 before)
{
	return !waiting(belt) && !complete(belt, "waits") && !complete(belt, "both") &&
	       used_at_last(before);
}

static void test_ends(void)
{
	int belt = named_belt(NAME, 0), fd, copy, other, pipes[2];
	struct hashbelt_settings create = { .ttl_ms = TTL };
	__u64 before;
	pid_t child;
	char byte;

	close(laden());		/* grows the index to its final size */
	ok(!waiting(belt), "close of a descriptor ends its 100 waiting requests");
	before = get_parameter("used_bytes");
	close(laden());
	ok(is_forgotten(belt, before),
	   "close of a descriptor gives back the memory of requests and events");
	fd = laden();
	copy = dup(fd);
	close(fd);
	is_int(waiting(belt), 100, "a copy of a closed descriptor keeps its 100 requests waiting");
	ok(read_completion(copy).id < 100,
	   "a copy of a closed descriptor reads the events of its requests");
	close(copy);
	ok(is_forgotten(belt, before),
	   "close of the last copy of a descriptor ends its requests");
	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	child = start(laden_process, &pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		bail_out("no child");
	is_int(waiting(belt), 100, "100 requests of a child process wait");
	kill_and_wait(child);
	ok(is_forgotten(belt, before), "kill of a process with SIGKILL ends all of its requests");
	fd = laden();
	must(fd, HASHBELT_IOC_CREATE, &create);
	ok(is_forgotten(belt, ~0ULL), "binding a descriptor to another belt ends its requests");
	must_ask(fd, 1, "key");
	put_text(fd, "key", "value", 0);
	is_errno(read_into(fd, malloc(PAGE), PAGE), ENODATA,
		 "read through a descriptor that was bound to another belt returns ENODATA");
	listen_to(fd);
	ok(is_next_completion(fd, 1, HASHBELT_BY_PUT, "key") && has_no_completion(fd),
	   "a descriptor bound to another belt reads none of its earlier requests");
	close(fd);
	ok(is_forgotten(belt, before),
	   "the close of a descriptor bound to another belt leaves no memory of requests");
	fd = laden();
	other = open_asking(NAME);
	must_ask(other, 1, "waits");
	close(fd);
	is_int(complete(belt, "waits"), 1,
	       "complete of a key counts a request of another descriptor after a close");
	ok(is_next_completion(other, 1, HASHBELT_BY_COMPLETE, "waits"),
	   "a request of another descriptor is told after the close of a descriptor");
	close(other);
	destroy_belt(belt, NAME);
	close(belt);
}

/* Clear and destroy */

static void test_clear(void)
{
	int belt = asking_belt(NONE);
	struct completion completion;

	if (ASK(belt, 1, 0, "one", "two"))
		bail_out("no request");
	put_text(belt, "one more", "value", 0);
	must_ask(belt, 2, "one more");
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	must_ask(belt, 3, "one");
	readable_at_last(belt);
	completion = read_completion(belt);
	ok(completion.cause == HASHBELT_BY_CLEAR && completion.id + 1 <= 3 && !completion.key[0],
	   "a clear completes a request and returns no key");
	readable_at_last(belt);
	ok(is_next_completion(belt, 3 - completion.id, HASHBELT_BY_CLEAR, ""),
	   "a clear completes each of two waiting requests");
	ok(has_no_completion(belt) && waiting(belt) == 1,
	   "a request made after a clear is not completed by it");
	is_int(complete(belt, "one") + complete(belt, "two"), 1,
	       "a clear leaves none of the keys of the completed requests");
	ok(is_next_completion(belt, 3, HASHBELT_BY_COMPLETE, "one") && has_no_completion(belt),
	   "a request that a clear completed is told once");
	close(belt);
}

static void test_destroy(void)
{
	int belt = named_belt(NAME, 0), fd = laden();
	__u64 before = get_parameter("used_bytes");
	struct waiter waiter;

	is_errno(destroy_belt(belt, NAME), 0, "destroy of a belt with waiting requests succeeds");
	is_errno(ASK(fd, 1000, 0, "key"), EIDRM, "ask in a destroyed belt returns EIDRM");
	is_errno(cancel(fd, 150), EIDRM, "cancel in a destroyed belt returns EIDRM");
	is_errno(complete(fd, "both"), EIDRM, "complete in a destroyed belt returns EIDRM");
	is_errno(read_into(fd, malloc(PAGE), PAGE), EIDRM,
		 "read of completions in a destroyed belt returns EIDRM");
	ok(used_at_last(before), "the memory of a destroyed belt's requests comes back");
	close(fd);
	close(belt);
	belt = named_belt(NAME, 0);
	fd = open_asking(NAME);
	must_ask(fd, 1, "key");
	waiter = start_waiter(fd, 0);
	destroy_belt(belt, NAME);
	is_errno(waiter_result(&waiter), EIDRM, "destroy of a belt wakes a waiting reader: EIDRM");
	close(fd);
	close(belt);
}

/* A waiting request counts as an entry until it is completed. */
static void test_full(void)
{
	int belt = asking_belt((struct hashbelt_settings){ .max_entries = 3 });
	struct hashbelt_item item = text_item("more", "value");

	must_ask(belt, 1, "one");
	must_ask(belt, 2, "two");
	is_int(info_of(belt).used_entries, 2,
	       "a waiting request counts as an entry in used_entries");
	put_text(belt, "entry", "value", 0);
	is_errno(ASK(belt, 3, 0, "three"), ENOSPC, "ask returns ENOSPC in a full belt");
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), ENOSPC,
		 "put returns ENOSPC where requests have used up max_entries");
	ok(waiting(belt) == 2 && has_no_completion(belt),
	   "requests of a full belt wait on when ask and put return ENOSPC");
	complete(belt, "one");
	is_int(info_of(belt).used_entries, 2,
	       "a completed request does not count in used_entries before it is told");
	is_errno(ASK(belt, 3, 0, "three"), 0,
		 "ask succeeds in the place of a completed request in a full belt");
	cancel(belt, 3);
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), 0,
		 "put succeeds in the place of a cancelled request in a full belt");
	put_text(belt, "entry", "value", 0);
	advance(belt, 3 * TTL);
	is_int(info_of(belt).used_entries, 0,
	       "used_entries is 0 after all requests and entries have ended");
	close(belt);
}

static void test_bytes(void)
{
	int belt = asking_belt((struct hashbelt_settings){ .max_bytes = 65536 });
	static char text[16][HASHBELT_KEY_MAX + 1];
	const char *keys[16];
	unsigned int i, n;
	__u64 used;
	int err;

	for (i = 0; i < 16; i++) {
		memset(text[i], 'a' + i, HASHBELT_KEY_MAX);
		keys[i] = text[i];
	}
	for (n = 0; !(err = ask_keys(belt, n, 0, keys, 16)) && n < 10; n++)
		;
	used = info_of(belt).used_bytes;
	ok(err == -ENOSPC && n > 0 && n <= 4 && used <= 65536 &&
	   used >= n * 16 * HASHBELT_KEY_MAX,
	   "a request counts at least the bytes of its 16 keys of 1024 bytes");
	note("%u requests, %llu bytes", n, used);
	for (i = 0; i < n; i++)
		cancel(belt, i);
	is_int(info_of(belt).used_bytes, 0, "used_bytes is 0 after all requests are cancelled");
	close(belt);
}

static void test_eviction(void)
{
	int belt = asking_belt((struct hashbelt_settings){
		.max_entries = 3, .policy = HASHBELT_EVICT });

	if (ASK(belt, 1, 1000, "one", "all") || ASK(belt, 2, 3000, "two", "all") ||
	    ASK(belt, 3, 5000, "three"))
		bail_out("no request");
	put_text(belt, "entry", "value", 0);
	readable_at_last(belt);
	ok(is_next_completion(belt, 1, HASHBELT_BY_EVICTION, ""),
	   "the request nearest its deadline is evicted for an entry in a belt full of requests");
	must_ask(belt, 4, "four");
	ok(!is_there(belt, "entry") && has_no_completion(belt),
	   "an entry is evicted for a request before requests nearer their deadlines");
	must_ask(belt, 5, "five");
	readable_at_last(belt);
	ok(is_next_completion(belt, 2, HASHBELT_BY_EVICTION, ""),
	   "a request nearer its deadline is evicted for another in a belt full of requests");
	is_int(complete(belt, "all") + complete(belt, "one") + complete(belt, "two"), 0,
	       "an evicted request leaves none of its keys waiting");
	ok(waiting(belt) == 3 && has_no_completion(belt), "an evicted request is told once");
	close(belt);
}

static void drop_caches(void)
{
	if (!write_line("/proc/sys/vm/drop_caches", "2"))
		bail_out("drop_caches: %s", strerror(errno));
}

static void test_pressure(void)
{
	int belt = asking_belt(NONE);

	if (ASK(belt, 1, 0, "one", "two"))
		bail_out("no request");
	drop_caches();
	readable_at_last(belt);
	ok(is_next_completion(belt, 1, HASHBELT_BY_PRESSURE, "") && has_no_completion(belt) &&
	   !waiting(belt),
	   "memory pressure ends a request and tells it");
	SET(belt, .fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED);
	must_ask(belt, 2, "one");
	drop_caches();
	ok(has_no_completion(belt) && waiting(belt) == 1,
	   "memory pressure ends no request of a pinned belt");
	close(belt);
}

/* A client that does not read uses memory up to the module's limit, and no more. */
static void test_unread(void)
{
	__u64 used = get_parameter("used_bytes"), limit = get_parameter("max_bytes");
	int belt = asking_belt(NONE), err = 0, n;
	__u64 most = get_parameter("used_bytes") + scaled_from(MIB / 2, 2 * MIB), now = 0;

	set_number("max_bytes", most);
	for (n = 0; !err && n < 100000; n++) {
		err = ASK(belt, n, 0, "key");
		if (!err)
			complete(belt, "key");
	}
	now = get_parameter("used_bytes");
	ok(err == -ENOSPC || err == -ENOMEM,
	   "unread events of requests count against the module's limit");
	ok(now <= most, "unread events of requests keep the module within max_bytes");
	note("%d requests, %llu bytes: %s", n, now, error_name(err));
	for (n--; n > 0 && !read_completion(belt).err; n--)
		;
	ok(!n && has_no_completion(belt),
	   "each unread event of a request can be read at the module's limit");
	set_number("max_bytes", limit);
	close(belt);
	ok(used_at_last(used), "events of requests that were read use no memory");
}

/* Asks until a call fails; @arg: if true, each request is completed, and never read. */
static unsigned int ask_for_ever(const void *arg)
{
	const bool *completes = arg;
	int belt = asking_belt(NONE), err;
	__u64 id = 0;

	do {
		err = ASK(belt, id++, HASHBELT_TTL_NEVER, "key", "other");
		if (*completes)
			complete(belt, "key");
	} while (!err && id < 100000);
	return -err;
}

static void test_account(void)
{
	static const bool waits = false, completes = true;
	__u64 limit = get_parameter("user_max_bytes"), used = get_parameter("used_bytes");

	if (chmod(HASHBELT_DEVICE, 0666))
		bail_out("chmod: %s", strerror(errno));
	set_number("user_max_bytes", scaled_from(MIB / 4, MIB));
	is_int(as(1000, 1000, 0, ask_for_ever, &waits), EDQUOT,
	       "waiting requests of a user count against its quota: EDQUOT");
	is_int(as(1000, 1000, 0, ask_for_ever, &completes), EDQUOT,
	       "unread events of a user's requests count against its quota: EDQUOT");
	set_number("user_max_bytes", limit);
	chmod(HASHBELT_DEVICE, 0600);
	ok(used_at_last(used), "the memory of a user's requests comes back after its process ends");
}

/* The memory of requests */

static bool takes_no_more(void *arg)
{
	struct hashbelt_info *info = arg;

	return info_of(info->id).bytes <= info->bytes;
}

static bool has_small_table(void *arg)
{
	struct hashbelt_info *info = arg;

	return info_of(info->id).table <= info->table;
}

/* Lets requests make the levels of their wheels in all shards: those stay. */
static void make_levels(int fd)
{
	struct hashbelt_info before = info_of(fd);
	unsigned int i;

	for (i = 0; i < 200; i++)
		must_ask(fd, i, "all");
	complete(fd, "all");
	while (!read_completion(fd).err)
		;
	must(fd, HASHBELT_IOC_ROTATE, NULL);
	before.id = fd;
	at_last(has_small_table, &before);
}

/* @nothing: used_bytes before the test */
static void test_costs(__u64 nothing)
{
	bool settled = used_at_last(nothing);
	int belt = named_belt(NAME, 0), fd = open_asking(NAME);
	__u64 used, bytes, requests, completed;
	char key[16];
	unsigned int i;

	make_levels(fd);
	requests = counter(fd, HASHBELT_STAT_REQUESTS);
	completed = counter(fd, HASHBELT_STAT_COMPLETED);
	used = get_parameter("used_bytes");
	bytes = info_of(fd).bytes;
	for (i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "key %u", i % 50);
		if (ASK(fd, i, 0, key, "all", i % 2 ? "odd" : "even"))
			bail_out("no request");
	}
	is_int(waiting(fd), 200, "the number of waiting requests of a belt is 200 after 200 asks");
	ok(settled && get_parameter("used_bytes") > used && info_of(fd).bytes > bytes,
	   "200 waiting requests raise used_bytes and the belt's bytes");
	is_int(complete(fd, "odd"), 100, "complete of a key completes each of 100 requests for it");
	is_int(waiting(fd), 100, "completed requests are not counted as waiting");
	is_int(complete(fd, "all"), 100,
	       "complete of a second key completes each of 100 remaining requests");
	for (i = 0; i < 200 && !read_completion(fd).err; i++)
		;
	ok(i == 200 && has_no_completion(fd) && !waiting(fd),
	   "each of 200 completed requests is told once");
	is_int(info_of(fd).entries, 0, "a belt has no entries after 200 requests were completed");
	/*
	 * The worker may have checked the size of the index before the index was empty: a
	 * rotation makes it check again.
	 */
	must(fd, HASHBELT_IOC_ROTATE, NULL);
	ok(used_at_last(used), "used_bytes is what it was before 200 requests");
	ok(at_last(takes_no_more, &(struct hashbelt_info){ .bytes = bytes, .id = fd }),
	   "the belt's own bytes are what they were before 200 requests");
	is_int(counter(fd, HASHBELT_STAT_REQUESTS) - requests, 200,
	       "the counter of requests counts each of 200 requests once");
	is_int(counter(fd, HASHBELT_STAT_COMPLETED) - completed, 200,
	       "the counter of completed requests counts each of 200 requests once");
	destroy_belt(belt, NAME);
	close(fd);
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	alarm(600);
	test_keys();
	test_key_bytes();
	test_puts();
	test_others();
	test_unseen();
	test_complete();
	test_same_key();
	test_crowd();
	test_timeouts();
	test_many_timeouts();
	test_handlers(HASHBELT_DROP, "drop");
	test_handlers(HASHBELT_NOTIFY, "notify");
	test_handlers(HASHBELT_REINSERT, "reinsert");
	test_ids();
	test_cancel();
	test_own();
	test_modes();
	test_ends();
	test_clear();
	test_destroy();
	test_full();
	test_bytes();
	test_eviction();
	test_pressure();
	test_unread();
	test_account();
	test_costs(before);
	ok(used_at_last(before), "used_bytes of the module is what it was before the requests");
	return done_testing();
}
