// SPDX-License-Identifier: GPL-2.0
/*
 * add_test - counters: additions that are atomic.
 *
 * What an entry that is not there counts as, and how long it lives; that one which
 * is there keeps the time that it has left; numbers to the last one that there is,
 * and texts that are none; and that no addition is lost, however many add at once.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "request.h"

#define TESTS	102

#define KEY	"counter"
#define MOST	INT64_MAX
#define LEAST	INT64_MIN

/**
 * struct addition - what an ADD has said
 * @err:	0 or a negative errno
 * @sum:	the sum; what was passed if it failed
 * @ttl_ms:	time left
 * @version:	of what was made
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

/* Whether an addition gives a sum, and a get then shows it. */
static bool gives(int fd, __s64 by, __s64 initial, __s64 want)
{
	struct addition addition = add(fd, KEY, by, initial, 0);
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)want);
	if (!addition.err && addition.sum == want && holds_text(fd, KEY, text))
		return true;
	note("by %lld: got %lld (%s), expected %lld", (long long)by,
	     (long long)addition.sum, error_name(addition.err), (long long)want);
	return false;
}

static void test_sums(void)
{
	int belt = new_belt(0);
	__u64 version;

	ok(gives(belt, 1, 0, 1), "what is not there counts as what is said, and is made");
	ok(gives(belt, 1, 1000, 2), "what is there counts as what it is");
	ok(gives(belt, 0, 0, 2), "nothing can be added");
	ok(gives(belt, -5, 0, -3), "a negative number can be added");
	ok(gives(belt, 3, 0, 0), "to nothing");
	version = look(belt, KEY).version;
	ok(gives(belt, 1234567890123LL, 0, 1234567890123LL), "a sum of more than 32 bits is exact");
	ok(look(belt, KEY).version > version, "each addition makes a new version");
	version = add(belt, KEY, 0, 0, 0).version;
	is_int(look(belt, KEY).version, version, "an addition returns the version that it made");
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
	ok(gives(belt, -1, -41, -42), "the first one may be negative");
	put_text(belt, KEY, "100", 0);
	ok(gives(belt, 11, 0, 111), "what a put has left is added to");
	put_text(belt, KEY, "-100", 0);
	ok(gives(belt, 11, 0, -89), "a sum may be negative");
	is_int(counter(belt, HASHBELT_STAT_ADDS), 10, "additions are counted");
	is_int(info_of(belt).entries, 1, "additions to one key make one entry");
	close(belt);
}

/* Time */

static void test_time(void)
{
	int belt = new_belt(0);

	is_int(add(belt, KEY, 1, 0, 5000).ttl_ms, 5000,
	       "an addition to what is not there gives it a time to live");
	advance(belt, 1000);
	is_int(add(belt, KEY, 1, 0, 5000).ttl_ms, 4000,
	       "one to what is there leaves it what it has left");
	is_int(add(belt, KEY, 1, 0, HASHBELT_TTL_NEVER).ttl_ms, 4000, "whatever it says");
	advance(belt, 3999);
	ok(gives(belt, 1, 0, 4), "to its deadline");
	advance(belt, 1);
	ok(look(belt, KEY).err == -ENOENT && gives(belt, 1, 0, 1),
	   "at which it begins anew: a fixed window");
	is_int(look(belt, KEY).ttl_ms, TTL, "without a time it has the belt's");
	is_int(add(belt, "never", 1, 0, HASHBELT_TTL_NEVER).ttl_ms, HASHBELT_TTL_NEVER,
	       "one may never expire");
	advance(belt, HASHBELT_TTL_MAX_MS / 2);
	is_int(add(belt, "never", 1, 0, 1000).sum, 2,
	       "an addition to a number without a deadline keeps it without one");
	is_int(look(belt, "never").ttl_ms, HASHBELT_TTL_NEVER,
	       "an addition with a time-to-live leaves a number without a deadline");
	close(belt);
}

/* A window of a second, ten calls allowed in each. */
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
	   "60 calls in 3 seconds, 10 a second allowed: 10 pass in each");
	close(belt);
}

/* Belts with other policies; flags; and what a bound entry becomes. */
static void test_policies(void)
{
	int belt = new_belt(HASHBELT_KEEP_ON_PUT);
	struct hashbelt_item item = text_item(KEY, "5");

	ok(gives(belt, 1, 5, 6) && gives(belt, 1, 5, 7),
	   "where a put keeps what is there an addition adds all the same");
	close(belt);
	belt = new_belt(HASHBELT_REFRESH_ON_GET);
	add(belt, KEY, 1, 0, 5000);
	advance(belt, 1000);
	is_int(add(belt, KEY, 1, 0, 0).ttl_ms, 4000,
	       "where a get refreshes an addition does not");
	item.flags = 0xabcd;
	must(belt, HASHBELT_IOC_PUT, &item);
	add(belt, KEY, 1, 0, 0);
	is_int(look(belt, KEY).flags, 0xabcd, "the user's flags stay as they are");
	close(belt);
}

static void test_grace(void)
{
	int belt = belt_of((struct hashbelt_settings){ .grace_ms = 5000 });

	add(belt, KEY, 41, 0, 1000);
	advance(belt, 1000);
	ok(gives(belt, 1, 0, 1), "what is in its grace time is not there for an addition");
	close(belt);
}

/* The ends of the numbers */

static void put_number(int belt, __s64 number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	put_text(belt, KEY, text, 0);
}

/* Whether it is too much, and changes nothing: no byte, no version, no time. */
static bool overflows(int belt, __s64 number, __s64 by)
{
	struct sight was, is;
	int err;

	put_number(belt, number);
	was = look(belt, KEY);
	err = add(belt, KEY, by, 0, 0).err;
	is = look(belt, KEY);
	return err == -EOVERFLOW && same_sight(&was, &is);
}

static bool is_sum(int belt, __s64 number, __s64 by, __s64 want)
{
	put_number(belt, number);
	return gives(belt, by, 0, want);
}

static void test_limits(void)
{
	int belt = new_belt(0);

	ok(is_sum(belt, MOST - 1, 1, MOST), "the largest number there is can be reached");
	ok(is_sum(belt, LEAST + 1, -1, LEAST), "the smallest number can be reached");
	ok(is_sum(belt, LEAST, MOST, -1), "from one end to the other");
	ok(is_sum(belt, MOST, LEAST, -1), "an addition may go from the largest number to -1");
	ok(is_sum(belt, MOST, 0, MOST) && is_sum(belt, LEAST, 0, LEAST), "nothing is no step");
	ok(overflows(belt, MOST, 1), "beyond the largest: EOVERFLOW, and nothing changes");
	ok(overflows(belt, LEAST, -1), "a sum below the smallest number is refused with EOVERFLOW");
	ok(overflows(belt, MOST, MOST), "by much");
	ok(overflows(belt, LEAST, LEAST), "to either side");
	ok(overflows(belt, 1, MOST), "from wherever");
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
	ok(add(belt, KEY, 1, MOST, 0).err == -EOVERFLOW && !is_there(belt, KEY),
	   "an entry that is not there is not made for that");
	ok(gives(belt, 0, LEAST, LEAST), "it may begin with the smallest");
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
	{ "nothing", "", 0 },
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
	{ "what comes behind '9'", "1:", 2 },
	{ "what comes before '0'", "1/", 2 },
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
	struct sight was, is;
	int belt = new_belt(0), err;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		put_text(belt, KEY, numbers[i].text, 0);
		ok(gives(belt, 1, 0, numbers[i].value + 1), "'%s' is a number",
		   numbers[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		item.value = address(others[i].text);
		item.value_len = others[i].len;
		must(belt, HASHBELT_IOC_PUT, &item);
		was = look(belt, KEY);
		err = add(belt, KEY, 1, 0, 0).err;
		is = look(belt, KEY);
		ok(err == -EBADMSG && same_sight(&was, &is),
		   "%s: no number, EBADMSG, and it stays", others[i].what);
	}
	memset(large, '0', sizeof(large));
	item.value = address(large);
	item.value_len = sizeof(large);
	must(belt, HASHBELT_IOC_PUT, &item);
	is_errno(add(belt, KEY, 1, 0, 0).err, EBADMSG, "a million digits are no number: EBADMSG");
	close(belt);
}

/* Each number of digits, so that an entry grows and shrinks by its text. */
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
	is_int(wrong, 0, "a number grows and shrinks by a digit, to 19 of them");
	close(belt);
}

/* Who hears of it, and what it needs */

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
	   "an addition is reported as the put that it is");
	listen_to(belt);
	must_ask(belt, 7, KEY);
	add(belt, KEY, 1, 0, 0);
	ok(heard(belt, 7, HASHBELT_BY_PUT, KEY), "an addition completes requests like a put");
	free(stream.buffer);
	close(belt);
}

static void test_full(void)
{
	int belt = belt_of((struct hashbelt_settings){ .max_entries = 1 });

	ok(gives(belt, 1, 0, 1), "in a belt of one place");
	is_errno(add(belt, "other", 1, 0, 0).err, ENOSPC, "there is none for another number");
	ok(gives(belt, MOST - 1, 0, MOST), "an addition to a number that is there needs no room");
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
	   "additions in a batch");
	ok(sums[0].value == 11 && sums[1].value == 13 && sums[3].value == 10,
	   "each have their sum");
	is_errno(items[2].result, EOVERFLOW,
		 "an addition in a batch that overflows has the result EOVERFLOW");
	is_errno(items[4].result, EINVAL, "each their own");
	ok(items[5].value_len == 2 && !memcmp(text, "10", 2),
	   "additions of a batch are done in order");
	ok(items[3].version > items[1].version && items[1].version > items[0].version,
	   "with versions that grow");
	close(belt);
}

/* Many at once */

#define NAME		"counted"
#define ADDERS		4
#define ADDS		scaled(20000)

static int shared_fd;

/* Adds ones; each sum that it is told is larger than the one before. */
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

/* 64 in a call, up and down. */
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
	is_int(wrong, 0, "processes that add ones to one number: each sum is a new one");
	is_int(add(shared_fd, KEY, 0, 0, 0).sum, ADDERS * ADDS,
	       "no addition of concurrent processes is lost");
	for (i = 0; i < ADDERS; i++)
		pthread_create(&threads[i], NULL, add_in_thread,
			       i % 2 ? &threads[i] : NULL);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(threads[i], &result);
		wrong += (intptr_t)result;
	}
	is_int(wrong, 0, "threads that do so: the same");
	is_int(add(shared_fd, KEY, 0, 0, 0).sum, 2 * ADDERS * ADDS, "none is lost");
	for (i = 0; i < ADDERS; i++)
		pthread_create(&threads[i], NULL, i % 2 ? add_in_batches : add_in_thread,
			       NULL);
	for (i = 0; i < ADDERS; i++) {
		pthread_join(threads[i], &result);
		wrong += i % 2 ? (intptr_t)result : 0;
	}
	is_int(wrong, 0, "batches that add and take away, beside others: each is done");
	/* A batch of 64 adds 16 times the sum of its four steps, which is 1. */
	is_int(add(shared_fd, KEY, 0, 0, 0).sum,
	       2 * ADDERS * ADDS + ADDERS / 2 * ADDS + ADDERS / 2 * ((ADDS + 63) / 64) * 16,
	       "none is lost");
	destroy_belt(shared_fd, NAME);
	close(shared_fd);
}

/* Numbers that are made, counted and removed all the time: nothing gets lost between. */

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
		/* Removed as it was read, or not at all. */
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
	       "what is removed and made anew meanwhile loses nothing either");
	close(shared_fd);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	plan(TESTS);
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
	ok(used_at_last(before), "in the end the module holds what it held before");
	return done_testing();
}
