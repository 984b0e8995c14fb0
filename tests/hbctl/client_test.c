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

/* Items that are not wanted, sizes beyond those of memory, and keys beyond the bound. */
static void test_plain(struct hashbelt *belt)
{
	static char large[HASHBELT_KEY_MAX + 1], buffer[8];
	struct hashbelt_fill fill = { 0 };
	struct hashbelt_item item = { 0 };

	ok(!hashbelt_put(belt, "k", 1, "value", 5, NULL), "put without an item returns 0");
	ok(!hashbelt_get(belt, "k", 1, buffer, ~(size_t)0, &item) &&
	   item.value_len == 5 && !memcmp(buffer, "value", 5),
	   "get with the largest size_t as buffer size returns the value");
	ok(!hashbelt_touch(belt, "k", 1, 3600000, NULL), "touch without an item returns 0");
	ok(hashbelt_touch_bound(belt, 0, NULL) == -ENOENT,
	   "touch of all that is bound returns ENOENT where nothing is");
	item = (struct hashbelt_item){ .how = HASHBELT_BOUND };
	ok(!hashbelt_put(belt, "k", 1, "bound", 5, &item) && !hashbelt_touch_bound(belt, 0, NULL),
	   "touch of all that is bound takes no item");
	ok(!hashbelt_remove(belt, "k", 1, NULL), "remove without an item returns 0");
	ok(hashbelt_put(belt, large, sizeof(large), "", 0, NULL) == -E2BIG &&
	   hashbelt_add(belt, large, sizeof(large), 1, 0, 0, NULL) == -E2BIG &&
	   hashbelt_fill(belt, large, sizeof(large), buffer, 1, &fill) == -E2BIG &&
	   hashbelt_lock(belt, large, sizeof(large), "me", 2, NULL) == -E2BIG &&
	   hashbelt_complete(belt, large, sizeof(large), NULL) == -E2BIG &&
	   hashbelt_release(belt, large, HASHBELT_OWNER_MAX + 1, NULL) == -E2BIG,
	   "a key of 1025 bytes and an owner of 65 are E2BIG");
	ok(hashbelt_get(belt, "", 0, buffer, 4, NULL) == -EINVAL &&
	   hashbelt_add(belt, "", 0, 1, 0, 0, NULL) == -EINVAL &&
	   hashbelt_complete(belt, "", 0, NULL) == -EINVAL, "an empty key is EINVAL");
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

static void test_stat(struct hashbelt *belt)
{
	__u64 counters[HASHBELT_STAT_COUNT + 2];
	unsigned int few = 3, more = HASHBELT_STAT_COUNT + 2;

	memset(counters, 0xff, sizeof(counters));
	ok(!hashbelt_stat(belt, counters, &few) && few == 3 && counters[3] == ~0ULL &&
	   counters[HASHBELT_STAT_PUTS_NEW] == ITEMS + 1, "stat with room for 3 counters writes 3");
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

static void test_add_and_fill(struct hashbelt *belt)
{
	struct hashbelt_fill fill = { 0 }, second = { 0 }, third = { 0 };
	struct hashbelt_item item = { .how = HASHBELT_NO_VALUE };
	struct hashbelt_sum number = { .by = 1 };
	char text[32] = "";
	__s64 sum = 3;

	put_text(belt, "sum", "word", 0);
	ok(hashbelt_add(belt, "sum", 3, 1, 0, 0, &sum) == -EBADMSG && sum == 3,
	   "an addition to a text returns EBADMSG and leaves the sum as it was");
	ok(hashbelt_add_item(belt, "sum", 3, &number, &item) == -EINVAL,
	   "add_item with an unknown bit of @how returns -EINVAL");
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
}

/* Locks need a pinned belt that does not evict. */
static void test_lock(struct hashbelt *belt)
{
	struct hashbelt_settings settings = {
		.fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED,
	};
	char owner[HASHBELT_OWNER_MAX];
	size_t len = 1, most = ~(size_t)0;

	ok(!hashbelt_set(belt, &settings) && !hashbelt_lock(belt, "l", 1, "me", 2, NULL) &&
	   !hashbelt_renew(belt, "l", 1, "me", 2, 0, NULL),
	   "lock and renew whose results are not wanted return 0");
	ok(hashbelt_lock(belt, "", 0, "me", 2, NULL) == -EINVAL &&
	   hashbelt_lock(belt, "l", 1, "", 0, NULL) == -EINVAL, "an empty name or owner is EINVAL");
	ok(hashbelt_holder(belt, "l", 1, owner, &len, NULL) == -ERANGE && len == 2,
	   "holder into a buffer too small returns ERANGE and the length");
	ok(!hashbelt_holder(belt, "l", 1, owner, &most, NULL) && most == 2,
	   "holder with the largest size_t as buffer size returns the length");
	ok(!hashbelt_release(belt, "me", 2, NULL), "release whose number is not wanted returns 0");
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

#define SAYS(belt, err, call, name, words)				\
	ok(says(belt, err, HASHBELT_CALL_##call, name, words), "the sentence of " #call)

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
	SAYS(NULL, -EACCES, OPEN, CLOSED, "though its mode allows it: a security module");
	SAYS(NULL, -EPERM, OPEN, CLOSED, "the device rule of a cgroup refuses it");
	unlink(CLOSED);
	SAYS(NULL, -EPERM, OPEN, NULL, FILTERED);
	SAYS(NULL, -EACCES, OPEN, NULL, FILTERED);
	SAYS(named, -EACCES, PUT, NULL,
	     "a security module (SELinux) refuses put on belt 'default': 'ausearch -m avc'");
	SAYS(named, -EACCES, LOCK, NULL, "a security module (SELinux) refuses lock");
	SAYS(named, -EACCES, CREATE, "other", "a security module (SELinux) refuses create");
	SAYS(named, -EACCES, CREATE, HASHBELT_DEFAULT_BELT,
	     "only root with CAP_SYS_ADMIN can create belt 'default'");
	SAYS(reader, hashbelt_put(reader, "k", 1, "", 0, NULL), PUT, NULL,
	     "no right to write belt 'default': the device is open for reading only");
	hashbelt_close(reader);
}

/* A value of @size bytes for a new belt of 64 KiB, which has room for none of its bytes. */
static void test_room(struct hashbelt *belt, __u32 policy, size_t size, const char *words)
{
	const struct hashbelt_settings settings = { .policy = policy, .max_bytes = 64 << 10 };
	static char value[100000];
	unsigned int i;

	if (hashbelt_create(belt, NULL, &settings))
		bail_out("cannot create a belt without a name");
	for (i = 0; i < 100; i++)
		hashbelt_put(belt, &i, sizeof(i), value, 1000, NULL);
	SAYS(belt, hashbelt_put(belt, "large", 5, value, size, NULL), PUT, NULL, words);
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
	static const char lease[] =
		"the caller does not have the fill lease of that key in belt 'b'";
	static const char never[] = "more that these take beside: raise its max_bytes of 65536;";
	struct hashbelt_settings settings = { .ttl_ms = 40000, .policy = HASHBELT_PINNED };
	struct hashbelt_lock lock = { .ttl_ms = 40001 };
	struct hashbelt *named;
	char text[16];

	if (hashbelt_create(belt, NULL, &settings))
		bail_out("cannot create a belt without a name");
	SAYS(NULL, open_without_files(), OPEN, NULL, "raise the limit ('ulimit -n')");
	ok(hashbelt_strerror(belt, -EIO, HASHBELT_CALL_PUT, "b", text, sizeof(text)) == text &&
	   !strcmp(text, "put: belt 'b': "), "a sentence that is too long is cut");
	SAYS(belt, -ENOSPC, PUT, NULL, "the module's memory limit is reached: ");
	SAYS(belt, -ENOSPC, PUT, NULL, "raise max_bytes (");
	SAYS(belt, -EDQUOT, PUT, NULL, "raise user_max_bytes (");
	SAYS(belt, hashbelt_lock(belt, "l", 1, "me", 2, &lock), LOCK, NULL,
	     "longer than the time-to-live of the belt, 40000 ms");
	SAYS(belt, -ESTALE, FILL_PUT, "b",
	     "the fill lease of that key in belt 'b' has ended, so the value was not stored");
	SAYS(belt, -ENOENT, FILL_RENEW, "b", lease);
	SAYS(belt, -ENOENT, FILL_FAIL, "b", lease);
	SAYS(belt, -ENOENT, TOUCH_BOUND, "b",
	     "no entry of belt 'b' is bound to the handle any more");
	if (hashbelt_open(NULL, &named))
		bail_out("cannot open the device once more");
	SAYS(named, hashbelt_expire(named, "k", 1), EXPIRE, NULL,
	     "there is no entry of that key in belt 'default'");
	test_refusals(named);
	test_room(named, 0, 100000, never);
	test_room(named, 0, 1000,
		  "bytes count against its max_bytes of 65536; raise its limits or let it evict");
	SAYS(named, -ENOSPC, LOCK, NULL, "the belt is full: ");
	test_room(named, HASHBELT_EVICT, 100000, never);
	SAYS(named, -EDQUOT, PUT, NULL, "take as much memory as a user's may: remove");
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
	SAYS(belt, -ENODATA, WINDOW_MAP, "b", "belt 'b' has no window: ");
	SAYS(belt, -EOPNOTSUPP, WINDOW_MAP, "b", "hashbelt_window_map(3)");
	SAYS(belt, -EBUSY, WINDOW_MAP, "b", "open the device once more");
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
	test_stat(belt);
	test_buckets(belt);
	test_many_buckets(belt);
	test_lags(belt);
	test_add_and_fill(belt);
	test_lock(belt);
	test_locks(belt);
	test_strerror(belt);
	test_window(belt);
	hashbelt_close(belt);
	return done_testing();
}
