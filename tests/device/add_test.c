// SPDX-License-Identifier: GPL-2.0-only
/*
 * add_test - additions (counters) are atomic.
 *
 * The initial value and the time-to-live of a number that is absent; an addition leaves the
 * deadline of a present one; sums at both ends of the 64-bit range; values that are no
 * numbers; and no addition is lost when many processes and threads add to one key.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "request.h"

#define KEY	"counter"
#define MOST	INT64_MAX
#define LEAST	INT64_MIN

/**
 * struct addition - the result of an ADD
 * @err:	0 or a negative errno
 * @sum:	the sum; the argument if the call failed
 * @ttl_ms:	time left of the entry
 * @version:	version of the entry
 */
struct addition {
	int err;
	__s64 sum;
	__u64 ttl_ms;
	__u64 version;
};

static struct addition add_item(int fd, struct hashbelt_item item, __s64 by, __s64 initial)
{
	struct hashbelt_sum sum = { .by = by, .value = initial };
	struct addition addition;

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	addition.err = call(fd, HASHBELT_IOC_ADD, &item);
	addition.sum = sum.value;
	addition.ttl_ms = item.ttl_ms;
	addition.version = item.version;
	return addition;
}

static struct addition add(int fd, const char *key, __s64 by, __s64 initial, __u64 ttl_ms)
{
	struct hashbelt_item item = item_of(key);

	item.ttl_ms = ttl_ms;
	return add_item(fd, item, by, initial);
}

/* True if an addition returns @want, and a get then returns the same number. */
static bool gives(int fd, __s64 by, __s64 initial, __s64 want)
{
	struct addition addition = add(fd, KEY, by, initial, 0);
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)want);
	if (!addition.err && addition.sum == want && holds_text(fd, KEY, text))
		return true;
	note("by %lld: found %lld (%s), expected %lld", (long long)by,
	     (long long)addition.sum, error_name(addition.err), (long long)want);
	return false;
}

static void test_sums(void)
{
	int belt = new_belt(0);
	__u64 version;

	ok(gives(belt, 1, 0, 1),
	   "an addition to an absent key starts at the initial value and makes the entry");
	ok(gives(belt, 1, 1000, 2), "an addition to a present key ignores the initial value");
	ok(gives(belt, 0, 0, 2), "an addition of 0 leaves the number as it is");
	ok(gives(belt, -5, 0, -3), "an addition of a negative number is subtracted");
	ok(gives(belt, 3, 0, 0), "an addition to a negative number can give 0");
	version = look(belt, KEY).version;
	ok(gives(belt, 1234567890123LL, 0, 1234567890123LL), "a sum of more than 32 bits is exact");
	ok(look(belt, KEY).version > version, "an addition makes a new version");
	version = add(belt, KEY, 0, 0, 0).version;
	is_int(look(belt, KEY).version, version, "an addition returns the version that it made");
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
	ok(gives(belt, -1, -41, -42),
	   "an addition to an absent key may start at a negative initial value");
	put_text(belt, KEY, "100", 0);
	ok(gives(belt, 11, 0, 111), "an addition to a number that put has stored gives the sum");
	put_text(belt, KEY, "-100", 0);
	ok(gives(belt, 11, 0, -89),
	   "an addition to a negative number that put has stored gives the sum");
	is_int(counter(belt, HASHBELT_STAT_ADDS), 10,
	       "the counter of adds counts each of ten additions");
	is_int(info_of(belt).entries, 1, "additions to one key make one entry");
	close(belt);
}

/* Time */

static void test_time(void)
{
	int belt = new_belt(0);

	is_int(add(belt, KEY, 1, 0, 5000).ttl_ms, 5000,
	       "an addition to an absent key gives the entry its time-to-live");
	advance(belt, 1000);
	is_int(add(belt, KEY, 1, 0, 5000).ttl_ms, 4000,
	       "an addition to a present key leaves its deadline");
	is_int(add(belt, KEY, 1, 0, HASHBELT_TTL_NEVER).ttl_ms, 4000,
	       "an addition with HASHBELT_TTL_NEVER to a present key leaves its deadline");
	advance(belt, 3999);
	ok(gives(belt, 1, 0, 4), "an addition 1 ms before the deadline adds to the number");
	advance(belt, 1);
	ok(look(belt, KEY).err == -ENOENT && gives(belt, 1, 0, 1),
	   "an addition at the deadline starts a new number: a fixed window");
	is_int(look(belt, KEY).ttl_ms, TTL, "an addition without a time-to-live takes the belt's");
	is_int(add(belt, "never", 1, 0, HASHBELT_TTL_NEVER).ttl_ms, HASHBELT_TTL_NEVER,
	       "an addition with HASHBELT_TTL_NEVER to an absent key sets no deadline");
	advance(belt, HASHBELT_TTL_MAX_MS / 2);
	is_int(add(belt, "never", 1, 0, 1000).sum, 2,
	       "an addition to a number without a deadline adds after half of 2^42 ms");
	is_int(look(belt, "never").ttl_ms, HASHBELT_TTL_NEVER,
	       "an addition with a time-to-live gives no deadline to a number without one");
	close(belt);
}

/* Sixty calls, one every 50 ms, under a limit of ten a second. */
static void test_window(void)
{
	int belt = new_belt(0);
	unsigned int i, allowed = 0, windows[3] = {};

	for (i = 0; i < 60; i++) {
		if (add(belt, "user", 1, 0, 1000).sum <= 10) {
			allowed++;
			windows[i / 20]++;
		}
		advance(belt, 50);
	}
	ok(allowed == 30 && windows[0] == 10 && windows[1] == 10 && windows[2] == 10,
	   "a rate limit of 10 a second by additions lets 10 of 20 calls a second pass");
	close(belt);
}

/* Policies and flag bits */
static void test_policies(void)
{
	int belt = new_belt(HASHBELT_KEEP_ON_PUT);
	struct hashbelt_item item = text_item(KEY, "5");

	ok(gives(belt, 1, 5, 6) && gives(belt, 1, 5, 7),
	   "an addition adds in a belt with HASHBELT_KEEP_ON_PUT");
	close(belt);
	belt = new_belt(HASHBELT_REFRESH_ON_GET);
	add(belt, KEY, 1, 0, 5000);
	advance(belt, 1000);
	is_int(add(belt, KEY, 1, 0, 0).ttl_ms, 4000,
	       "an addition does not refresh the deadline in a belt that refreshes on get");
	item.flags = 0xabcd;
	must(belt, HASHBELT_IOC_PUT, &item);
	add(belt, KEY, 1, 0, 0);
	is_int(look(belt, KEY).flags, 0xabcd, "an addition leaves the user's flags as they are");
	close(belt);
}

static void test_grace(void)
{
	int belt = belt_of((struct hashbelt_settings){ .grace_ms = 5000 });

	add(belt, KEY, 41, 0, 1000);
	advance(belt, 1000);
	ok(gives(belt, 1, 0, 1), "an addition to an entry in its grace time starts a new number");
	close(belt);
}

/* The ends of the range */

static void put_number(int belt, __s64 number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	put_text(belt, KEY, text, 0);
}

/* True if the addition returns EOVERFLOW and changes neither value, version nor deadline. */
static bool overflows(int belt, __s64 number, __s64 by)
{
	struct snapshot was, is;
	int err;

	put_number(belt, number);
	was = look(belt, KEY);
	err = add(belt, KEY, by, 0, 0).err;
	is = look(belt, KEY);
	return err == -EOVERFLOW && is_same_snapshot(&was, &is);
}

static bool is_sum(int belt, __s64 number, __s64 by, __s64 want)
{
	put_number(belt, number);
	return gives(belt, by, 0, want);
}

static void test_limits(void)
{
	int belt = new_belt(0);

	ok(is_sum(belt, MOST - 1, 1, MOST), "an addition may reach the largest number");
	ok(is_sum(belt, LEAST + 1, -1, LEAST), "an addition may reach the smallest number");
	ok(is_sum(belt, LEAST, MOST, -1),
	   "an addition of the largest number to the smallest gives -1");
	ok(is_sum(belt, MOST, LEAST, -1),
	   "an addition of the smallest number to the largest gives -1");
	ok(is_sum(belt, MOST, 0, MOST) && is_sum(belt, LEAST, 0, LEAST),
	   "an addition of 0 to the largest and the smallest number succeeds");
	ok(overflows(belt, MOST, 1),
	   "an addition of 1 to the largest number returns EOVERFLOW and changes nothing");
	ok(overflows(belt, LEAST, -1),
	   "an addition of -1 to the smallest number returns EOVERFLOW");
	ok(overflows(belt, MOST, MOST),
	   "an addition of the largest number to itself returns EOVERFLOW");
	ok(overflows(belt, LEAST, LEAST),
	   "an addition of the smallest number to itself returns EOVERFLOW");
	ok(overflows(belt, 1, MOST), "an addition of the largest number to 1 returns EOVERFLOW");
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
	ok(add(belt, KEY, 1, MOST, 0).err == -EOVERFLOW && !is_there(belt, KEY),
	   "an addition to an absent key that returns EOVERFLOW makes no entry");
	ok(gives(belt, 0, LEAST, LEAST),
	   "an addition to an absent key may start at the smallest number");
	close(belt);
}

/* Texts */

static const struct { const char *text; __s64 value; } numbers[] = {
	{ "0", 0 }, { "1", 1 }, { "-1", -1 }, { "10", 10 }, { "42", 42 },
	{ "999999999999999999", 999999999999999999LL },
	{ "9223372036854775806", MOST - 1 },
	{ "-9223372036854775808", LEAST },
	{ "-9223372036854775807", LEAST + 1 },
	{ "-0", 0 }, { "007", 7 }, { "-007", -7 }, { "0000000000000000000", 0 },
	{ "0000000000000000001", 1 },
};

static const struct { const char *what; const char *text; size_t len; } others[] = {
	{ "no bytes", "", 0 },
	{ "a sign alone", "-", 1 },
	{ "two signs", "--1", 3 },
	{ "a plus sign", "+1", 2 },
	{ "a space before", " 1", 2 },
	{ "a space behind", "1 ", 2 },
	{ "a space behind the sign", "- 1", 3 },
	{ "a newline behind", "1\n", 2 },
	{ "a NUL behind", "1\0", 2 },
	{ "a NUL before", "\0001", 2 },
	{ "a NUL alone", "\0", 1 },
	{ "a letter", "a", 1 },
	{ "a letter behind", "1a", 2 },
	{ "hexadecimal digits", "0x1", 3 },
	{ "a point", "1.0", 3 },
	{ "an exponent", "1e3", 3 },
	{ "a comma", "1,000", 5 },
	{ "a sign behind", "1-", 2 },
	{ "the character after '9'", "1:", 2 },
	{ "the character before '0'", "1/", 2 },
	{ "digits of another script", "\331\241", 2 },
	{ "20 digits", "00000000000000000001", 20 },
	{ "20 digits of a large number", "10000000000000000000", 20 },
	{ "a sign and 20 digits", "-00000000000000000001", 21 },
	{ "one more than the largest", "9223372036854775808", 19 },
	{ "one less than the smallest", "-9223372036854775809", 20 },
	{ "the largest of 19 digits", "9999999999999999999", 19 },
	{ "a long text", "the quick brown fox jumps over the lazy dog", 43 },
};

static void test_texts(void)
{
	struct hashbelt_item item = item_of(KEY);
	static unsigned char large[MIB];
	struct snapshot was, is;
	int belt = new_belt(0), err;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		put_text(belt, KEY, numbers[i].text, 0);
		ok(gives(belt, 1, 0, numbers[i].value + 1),
		   "an addition of 1 to the text '%s' gives the next number",
		   numbers[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		item.value = address(others[i].text);
		item.value_len = others[i].len;
		must(belt, HASHBELT_IOC_PUT, &item);
		was = look(belt, KEY);
		err = add(belt, KEY, 1, 0, 0).err;
		is = look(belt, KEY);
		ok(err == -EBADMSG && is_same_snapshot(&was, &is),
		   "an addition to a text that is no number (%s) returns EBADMSG", others[i].what);
	}
	memset(large, '0', sizeof(large));
	item.value = address(large);
	item.value_len = sizeof(large);
	must(belt, HASHBELT_IOC_PUT, &item);
	is_errno(add(belt, KEY, 1, 0, 0).err, EBADMSG,
		 "an addition to a value of a million digits returns EBADMSG");
	close(belt);
}

/* A sum of each number of digits: the entry grows and shrinks by its text. */
static void test_growing(void)
{
	int belt = new_belt(0);
	unsigned int i, wrong = 0;
	__s64 nines = 9;

	for (i = 1; i <= 18; i++, nines = 10 * nines + 9) {
		put_number(belt, nines);
		wrong += !gives(belt, 1, 0, nines + 1);
		wrong += !gives(belt, -1, 0, nines);
		wrong += !gives(belt, -2 * nines, 0, -nines);
		wrong += !gives(belt, -1, 0, -nines - 1);
		wrong += !gives(belt, 1 + nines, 0, 0);
	}
	is_int(wrong, 0, "additions grow and shrink a number digit by digit, up to 19 digits");
	close(belt);
}

/* Events, requests and limits */

static void test_told(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, REPORT_ALL);
	struct stream stream = stream_of(belt, PAGE);
	const struct hashbelt_event *event;

	add(belt, KEY, 1, 0, 0);
	add(belt, KEY, 1, 0, 0);
	event = next_event(&stream);
	ok(event && event->reason == HASHBELT_REPLACED && event->value_len == 1 &&
	   *event_value(event) == '1' && !next_event(&stream),
	   "an addition that changes an entry reports a replaced entry with the old value");
	listen_to(belt);
	must_ask(belt, 7, KEY);
	add(belt, KEY, 1, 0, 0);
	ok(is_next_completion(belt, 7, HASHBELT_BY_PUT, KEY),
	   "an addition completes requests like a put");
	free(stream.buffer);
	close(belt);
}

static void test_full(void)
{
	int belt = belt_of((struct hashbelt_settings){ .max_entries = 1 });

	ok(gives(belt, 1, 0, 1), "an addition makes an entry in a belt with room for one");
	is_errno(add(belt, "other", 1, 0, 0).err, ENOSPC,
		 "an addition to an absent key returns ENOSPC in a full belt");
	ok(gives(belt, MOST - 1, 0, MOST),
	   "an addition to a present key needs no room in a full belt");
	close(belt);
}

static void test_batch(void)
{
	struct hashbelt_sum sums[4] = {
		{ .by = 1, .value = 10 }, { .by = 2 }, { .by = MOST }, { .by = -3 },
	};
	struct hashbelt_item items[6];
	struct hashbelt_batch batch = { .items = address(items), .count = 6 };
	int belt = new_belt(0);
	unsigned int i;
	char text[8];

	for (i = 0; i < 4; i++) {
		items[i] = item_of(KEY);
		items[i].op = HASHBELT_OP_ADD;
		items[i].value = address(&sums[i]);
		items[i].value_len = sizeof(sums[i]);
	}
	items[4] = items[0];
	items[4].value_len = sizeof(sums[0]) - 1;
	items[5] = item_of(KEY);
	items[5].op = HASHBELT_OP_GET;
	items[5].value = address(text);
	items[5].value_len = sizeof(text);
	must(belt, HASHBELT_IOC_BATCH, &batch);
	ok(batch.done == 6 && !items[0].result && !items[1].result && !items[3].result,
	   "each addition in a batch that fits has the result 0");
	ok(sums[0].value == 11 && sums[1].value == 13 && sums[3].value == 10,
	   "each addition in a batch returns its own sum");
	is_errno(items[2].result, EOVERFLOW,
		 "an addition in a batch that overflows has the result EOVERFLOW");
	is_errno(items[4].result, EINVAL,
		 "an addition in a batch with a short value_len has the result EINVAL");
	ok(items[5].value_len == 2 && !memcmp(text, "10", 2),
	   "a get in a batch returns the sum of the additions before it");
	ok(items[3].version > items[1].version && items[1].version > items[0].version,
	   "additions in a batch return versions that grow");
	close(belt);
}

/* Concurrent additions */

#define NAME		"counted"
#define ADDERS		4
#define ADDS		scaled(20000)

static int shared_fd;

/* Adds 1 again and again; each sum must be larger than the last. */
static int add_many(void *arg)
{
	int fd = arg ? open_named(NAME) : shared_fd;
	unsigned int i, wrong = 0;
	__s64 before = 0, now;

	for (i = 0; i < ADDS; i++) {
		now = add(fd, KEY, 1, 0, 0).sum;
		wrong += now <= before;
		before = now;
	}
	if (arg)
		close(fd);
	return wrong != 0;
}

static void *add_in_thread(void *arg)
{
	return (void *)(intptr_t)add_many(arg);
}

/* Adds and subtracts in batches of 64 items. */
static void *add_in_batches(void *arg)
{
	static const __s64 bys[] = { 5, -3, 1000000000000LL, -1000000000001LL };
	struct hashbelt_sum sums[64];
	struct hashbelt_item items[64];
	struct hashbelt_batch batch = { .items = address(items), .count = 64 };
	unsigned int i, k;
	intptr_t wrong = 0;

	for (i = 0; i < ADDS; i += 64) {
		for (k = 0; k < 64; k++) {
			sums[k] = (struct hashbelt_sum){ .by = bys[k % 4] };
			items[k] = item_of(KEY);
			items[k].op = HASHBELT_OP_ADD;
			items[k].value = address(&sums[k]);
			items[k].value_len = sizeof(sums[k]);
		}
		wrong += call(shared_fd, HASHBELT_IOC_BATCH, &batch) || batch.done != 64;
		for (k = 0; k < 64; k++)
			wrong += items[k].result != 0;
	}
	(void)arg;
	return (void *)wrong;
}

static void test_lost(void)
{
	pthread_t threads[ADDERS];
	pid_t children[ADDERS];
	unsigned int i, wrong = 0;
	void *result;

	shared_fd = named_belt(NAME, 0);
	for (i = 0; i < ADDERS; i++)
		children[i] = start(add_many, i % 2 ? &i : NULL);
	for (i = 0; i < ADDERS; i++)
		wrong += finish(children[i]);
	is_int(wrong, 0, "concurrent processes get growing sums when they add to one number");
	is_int(add(shared_fd, KEY, 0, 0, 0).sum, ADDERS * ADDS,
	       "no addition of concurrent processes is lost");
	wrong = 0;
	for (i = 0; i < ADDERS; i++)
		pthread_create(&threads[i], NULL, add_in_thread,
			       i % 2 ? &threads[i] : NULL);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(threads[i], &result);
		wrong += (intptr_t)result;
	}
	is_int(wrong, 0, "concurrent threads get growing sums when they add to one number");
	is_int(add(shared_fd, KEY, 0, 0, 0).sum, 2 * ADDERS * ADDS,
	       "no addition of concurrent threads is lost");
	wrong = 0;
	for (i = 0; i < ADDERS; i++)
		pthread_create(&threads[i], NULL, i % 2 ? add_in_batches : add_in_thread,
			       NULL);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(threads[i], &result);
		wrong += i % 2 ? (intptr_t)result : 0;
	}
	is_int(wrong, 0, "each item of batches that add beside single additions has the result 0");
	/* A batch of 64 adds the four steps 16 times; their sum is 1. */
	is_int(add(shared_fd, KEY, 0, 0, 0).sum,
	       2 * ADDERS * ADDS + ADDERS / 2 * ADDS + ADDERS / 2 * ((ADDS + 63) / 64) * 16,
	       "no addition of concurrent batches and single additions is lost");
	destroy_belt(shared_fd, NAME);
	close(shared_fd);
}

/* A thread removes the number again and again while others add to it. */

static __s64 removed_sum;
static bool over;

static void *remove_often(void *arg)
{
	struct hashbelt_item item;
	char text[32];

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		item = item_of(KEY);
		item.value = address(text);
		item.value_len = sizeof(text) - 1;
		if (call(shared_fd, HASHBELT_IOC_GET, &item))
			continue;
		text[item.value_len] = 0;
		/* IF_VERSION: the remove fails if the number changed after the get. */
		item.how = HASHBELT_IF_VERSION;
		item.value = 0;
		item.value_len = 0;
		if (!call(shared_fd, HASHBELT_IOC_REMOVE, &item))
			removed_sum += strtoll(text, NULL, 10);
	}
	return NULL;
}

static void test_removed(void)
{
	pthread_t threads[2], remover;
	unsigned int i;
	__s64 left;

	shared_fd = new_belt(0);
	pthread_create(&remover, NULL, remove_often, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, add_in_batches, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(remover, NULL);
	left = add(shared_fd, KEY, 0, 0, 0).sum;
	is_int(removed_sum + left, 2 * ((ADDS + 63) / 64) * 16,
	       "no addition is lost when the number is removed and made anew meanwhile");
	close(shared_fd);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	alarm(600);
	test_sums();
	test_time();
	test_window();
	test_policies();
	test_grace();
	test_limits();
	test_texts();
	test_growing();
	test_told();
	test_full();
	test_batch();
	test_lost();
	test_removed();
	ok(used_at_last(before),
	   "used_bytes of the module is what it was when all numbers are gone");
	return done_testing();
}
