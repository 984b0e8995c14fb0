// SPDX-License-Identifier: GPL-2.0-only
/*
 * service_test - wrong arguments of calls on locks, fills, requests and sums; rights that all calls
 * need.
 *
 * Bad addresses; lengths, flags, times and reserved fields out of range; missing rights;
 * belts that cannot hold locks or are destroyed: each call fails with its errno and leaves
 * the entry, the lock and the request as they were. Other arguments are in argument_test.
 */
#define _GNU_SOURCE
#include "request.h"
#include "refusal.h"

#define NAME	"served"
#define TRIED	"tried"
#define KEY	"witness"
#define TEXT	"1234"
#define OWNER	"owner of it"
#define OWNER_LEN	11

static __u64 token;

/* A lock argument with name and owner. */
static struct hashbelt_lock lock_of(const char *key, const char *owner)
{
	return (struct hashbelt_lock){
		.key = address(key), .key_len = strlen(key),
		.owner = address(owner), .owner_len = strlen(owner),
	};
}

/* Makes a belt with an entry, a lock and a request of the same name. */
static void start_over(void)
{
	struct hashbelt_settings settings = {
		.name = NAME, .mode = 0600, .policy = HASHBELT_PINNED,
	};
	struct hashbelt_lock lock = lock_of(KEY, OWNER);

	belt = belt_of(settings);
	set_blocking(belt, false);
	put_text(belt, KEY, TEXT, 5000);
	must(belt, HASHBELT_IOC_LOCK, &lock);
	token = lock.token;
	if (ASK(belt, 1, 0, KEY, "absent"))
		bail_out("no request");
	listen_to(belt);
	before = look(belt, KEY);
}

static bool undisturbed(void)
{
	char owner[HASHBELT_OWNER_MAX];
	struct snapshot after = look(belt, KEY);
	struct hashbelt_lock lock = lock_of(KEY, OWNER);
	struct hashbelt_info info = info_of(belt);

	lock.owner = address(owner);
	lock.owner_len = sizeof(owner);
	return !before.err && is_same_snapshot(&before, &after) && info.locks == 1 &&
	       info.requests == 1 && read_completion(belt).err == -EAGAIN &&
	       !call(belt, HASHBELT_IOC_HOLDER, &lock) && lock.token == token &&
	       lock.ttl_ms == TTL && lock.owner_len == OWNER_LEN &&
	       !memcmp(owner, OWNER, OWNER_LEN);
}

/* Structures */

/* A call whose result cannot be written returns EFAULT, but has been carried out. */
static void test_readonly(void)
{
	struct hashbelt_lock lock = lock_of("other", OWNER);
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of("sum");
	struct hashbelt_key key = { .key = address(KEY), .key_len = strlen(KEY) };

	is_errno(call(belt, HASHBELT_IOC_LOCK, readonly_copy(&lock, sizeof(lock))), EFAULT,
		 "lock with a read-only argument returns EFAULT");
	is_errno(call(belt, HASHBELT_IOC_UNLOCK, &lock), 0,
		 "lock whose result could not be written is held");
	item.value = address(readonly_copy(&sum, sizeof(sum)));
	item.value_len = sizeof(sum);
	is_errno(call(belt, HASHBELT_IOC_ADD, &item), EFAULT,
		 "add with a read-only sum returns EFAULT");
	ok(holds_text(belt, "sum", "1"),
	   "add whose result could not be written has stored the sum");
	on_key(belt, HASHBELT_IOC_REMOVE, "sum");
	is_errno(call(belt, HASHBELT_IOC_COMPLETE, readonly_copy(&key, sizeof(key))), EFAULT,
		 "complete with a read-only argument returns EFAULT");
	ok(is_next_completion(belt, 1, HASHBELT_BY_COMPLETE, KEY),
	   "complete whose result could not be written has completed the request");
	if (ASK(belt, 1, 0, KEY, "absent"))
		bail_out("no request");
}

/* Keys and owners */

/* @argument is that of @request; @key and @key_len are fields of @argument. */
static void test_key(const char *name, unsigned long request, void *argument,
		     __u64 *key, __u32 *key_len)
{
	__u64 old_key = *key;

	test_key_len(name, request, argument, key, key_len);
	*key = address(unmapped());
	refused(call(belt, request, argument), EFAULT,
		DESCRIBE("%s with an unmapped key", name));
	*key = address((char *)before_hole(*key_len) + 1);
	refused(call(belt, request, argument), EFAULT,
		DESCRIBE("%s with a key cut off by an unmapped page", name));
	*key = old_key;
}

static void test_owner(const char *name, unsigned long request)
{
	struct hashbelt_lock lock = lock_of(KEY, OWNER);

	if (request == HASHBELT_IOC_RELEASE)
		lock.key_len = 0;
	lock.owner_len = 0;
	refused(call(belt, request, &lock), EINVAL, DESCRIBE("%s with an owner of 0 bytes", name));
	lock.owner_len = HASHBELT_OWNER_MAX + 1;
	lock.owner = address(before_hole(lock.owner_len));
	refused(call(belt, request, &lock), E2BIG,
		DESCRIBE("%s with an owner of 65 bytes", name));
	lock.owner_len = ~0u;
	refused(call(belt, request, &lock), E2BIG,
		DESCRIBE("%s with an owner of 4 GiB less one byte", name));
	lock.owner_len = OWNER_LEN;
	lock.owner = address(unmapped());
	refused(call(belt, request, &lock), EFAULT,
		DESCRIBE("%s with an unmapped owner", name));
	lock.owner = address((char *)before_hole(OWNER_LEN) + 1);
	refused(call(belt, request, &lock), EFAULT,
		DESCRIBE("%s with an owner cut off by an unmapped page", name));
}

static void test_lock(const char *name, unsigned long request)
{
	struct hashbelt_lock lock = lock_of(KEY, OWNER);
	bool holder = request == HASHBELT_IOC_HOLDER;
	char space[HASHBELT_OWNER_MAX];

	if (request == HASHBELT_IOC_RELEASE)
		lock.key_len = 0;
	if (holder) {
		lock.owner = address(space);
		lock.owner_len = sizeof(space);
	}
	BITS(request, lock, how, request == HASHBELT_IOC_LOCK ?
	     HASHBELT_BOUND | HASHBELT_IF_ABSENT : 0,
	     "%s with an unknown bit of @how", name);
	BITS(request, lock, reserved32, 0, "%s with a bit of @reserved32", name);
	BITS(request, lock, reserved, 0, "%s with a bit of @reserved", name);
	if (request != HASHBELT_IOC_LOCK)
		BITS(request, lock, wait_ms, 0, "%s with a bit of @wait_ms", name);
	if (request != HASHBELT_IOC_RELEASE)
		test_key(name, request, &lock, &lock.key, &lock.key_len);
	if (!holder)
		test_owner(name, request);
}

/* Times */

static const __u64 too_long[] = {
	HASHBELT_TTL_MAX_MS + 1, HASHBELT_TTL_MAX_MS * 2, 1ULL << 63, HASHBELT_TTL_KEEP - 1,
};

static void test_times(const char *name, unsigned long request, void *argument,
		       __u64 *ms, int want, bool keep, bool never)
{
	unsigned int i, wrong = 0;
	__u64 old = *ms;

	for (i = 0; i < ARRAY_SIZE(too_long); i++) {
		*ms = too_long[i];
		wrong += call(belt, request, argument) != -want;
	}
	*ms = HASHBELT_TTL_KEEP;
	wrong += keep && call(belt, request, argument) != -want;
	*ms = HASHBELT_TTL_NEVER;
	wrong += never && call(belt, request, argument) != -want;
	*ms = old;
	ok(!wrong && undisturbed(), "%s: %s", name, error_name(want));
}

static void test_all_times(void)
{
	struct hashbelt_lock lock = lock_of(KEY, OWNER), other = lock_of(KEY, "other");
	struct hashbelt_fill fill = { .item = item_of("absent") };
	struct hashbelt_key key = { .key = address(KEY), .key_len = strlen(KEY) };
	struct hashbelt_request request = {
		.id = 2, .keys = address(&key), .count = 1,
	};
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of(KEY);

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	lock.ttl_ms = TTL + 1;
	refused(call(belt, HASHBELT_IOC_LOCK, &lock), EDOM,
		"lock with a lease beyond the belt's time-to-live");
	refused(call(belt, HASHBELT_IOC_RENEW, &lock), EDOM,
		"renew with a lease beyond the belt's time-to-live");
	test_times("lock with a lease beyond 2^42 ms", HASHBELT_IOC_LOCK, &lock, &lock.ttl_ms,
		   EDOM, true, true);
	test_times("renew with a lease beyond 2^42 ms", HASHBELT_IOC_RENEW, &lock, &lock.ttl_ms,
		   EDOM, true, true);
	test_times("lock with a wait beyond 2^42 ms", HASHBELT_IOC_LOCK, &other,
		   &other.wait_ms, EINVAL, true, false);
	test_times("fill with a lease beyond 2^42 ms", HASHBELT_IOC_FILL, &fill,
		   &fill.lease_ms, EINVAL, true, true);
	test_times("fill with a wait beyond 2^42 ms", HASHBELT_IOC_FILL, &fill,
		   &fill.wait_ms, EINVAL, true, false);
	test_times("request with a time-to-live beyond 2^42 ms", HASHBELT_IOC_REQUEST, &request,
		   &request.ttl_ms, EINVAL, true, false);
	test_times("add with a time-to-live beyond 2^42 ms", HASHBELT_IOC_ADD, &item, &item.ttl_ms,
		   EINVAL, false, false);
}

/* locks, fill, request, cancel, complete and add */

static void test_locks(void)
{
	static char buffer[HASHBELT_SCAN_MAX + 1];
	struct hashbelt_locks locks = { .buffer = address(buffer), .size = PAGE };

	BITS(HASHBELT_IOC_LOCKS, locks, reserved, 0, "locks with a bit of @reserved");
	locks.size = HASHBELT_SCAN_MAX;
	locks.owner = address(buffer);
	locks.owner_len = HASHBELT_OWNER_MAX;
	is_errno(call(belt, HASHBELT_IOC_LOCKS, &locks), 0,
		 "locks of an owner of 64 bytes into a buffer of 1 MiB returns 0");
	locks.size = PAGE;
	locks.owner = address(before_hole(HASHBELT_OWNER_MAX + 1));
	locks.owner_len = HASHBELT_OWNER_MAX + 1;
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), E2BIG,
		"locks with an owner of 65 bytes");
	locks.owner_len = ~0u;
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), E2BIG,
		"locks with an owner of 4 GiB less one byte");
	locks.owner = address(unmapped());
	locks.owner_len = OWNER_LEN;
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), EFAULT,
		"locks with an unmapped owner");
	locks.owner_len = 0;
	locks.size = sizeof(buffer);
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), E2BIG,
		"locks with a buffer of 1 MiB and a byte");
	locks.size = ~0u;
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), E2BIG,
		"locks with a buffer of 4 GiB less one byte");
	locks.size = 8;
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), ERANGE,
		"locks with a buffer too small for a record");
	ok(locks.size >= sizeof(struct hashbelt_lock_record) + strlen(KEY) + OWNER_LEN &&
	   locks.size < PAGE && !call(belt, HASHBELT_IOC_LOCKS, &locks) && locks.count == 1,
	   "locks with ERANGE returns a size that is sufficient");
	locks = (struct hashbelt_locks){ .buffer = address(unmapped()), .size = PAGE };
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), EFAULT, "locks with an unmapped buffer");
}

static void test_fill(void)
{
	struct hashbelt_fill fill = { .item = item_of("absent") };

	BITS(HASHBELT_IOC_FILL, fill, how,
	     HASHBELT_BOUND | HASHBELT_STALE | HASHBELT_GIVE_UP | HASHBELT_RENEW_LEASE |
	     HASHBELT_FAIL,
	     "fill with an unknown bit of @how");
	BITS(HASHBELT_IOC_FILL, fill, reserved, 0, "fill with a bit of @reserved");
	BITS(HASHBELT_IOC_FILL, fill, item.how,
	     HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE,
	     "fill with a bit of the item's @how that get does not know");
	BITS(HASHBELT_IOC_FILL, fill, item.op, 0, "fill with a bit of the item's @op");
	BITS(HASHBELT_IOC_FILL, fill, item.reserved, 0, "fill with a bit of the item's @reserved");
	fill.item.how = HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH;
	refused(call(belt, HASHBELT_IOC_FILL, &fill), EINVAL,
		"fill with HASHBELT_AND_TOUCH and HASHBELT_NO_REFRESH");
	fill.item.how = 0;
	test_key("fill", HASHBELT_IOC_FILL, &fill, &fill.item.key, &fill.item.key_len);
	fill.how = HASHBELT_GIVE_UP;
	refused(call(belt, HASHBELT_IOC_FILL, &fill), ENOENT,
		"fill with HASHBELT_GIVE_UP without the fill lease");
	fill = (struct hashbelt_fill){ .item = item_of(KEY) };
	fill.item.value = address(unmapped());
	fill.item.value_len = 64;
	refused(call(belt, HASHBELT_IOC_FILL, &fill), EFAULT,
		"fill of a present key into an unmapped buffer");
	fill.item.value_len = 1;
	refused(call(belt, HASHBELT_IOC_FILL, &fill), ERANGE,
		"fill of a present key into a buffer that is too small");
	is_int(counter(belt, HASHBELT_STAT_FILLS), 0, "no refused fill has granted a fill lease");
}

static void test_request(void)
{
	struct hashbelt_key keys[HASHBELT_REQUEST_KEYS + 1];
	struct hashbelt_request request = {
		.id = 2, .keys = address(keys), .count = HASHBELT_REQUEST_KEYS,
	};
	unsigned int i, wrong = 0;
	char name[32];

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = (struct hashbelt_key){ .key = address(KEY), .key_len = 1 + i % 7 };
	BITS(HASHBELT_IOC_REQUEST, request, flags, 0, "request with a bit of @flags");
	BITS(HASHBELT_IOC_REQUEST, request, reserved, 0, "request with a bit of @reserved");
	request.count = 0;
	refused(call(belt, HASHBELT_IOC_REQUEST, &request), EINVAL, "request with 0 keys");
	request.count = HASHBELT_REQUEST_KEYS + 1;
	refused(call(belt, HASHBELT_IOC_REQUEST, &request), E2BIG, "request with 17 keys");
	request.count = ~0u;
	refused(call(belt, HASHBELT_IOC_REQUEST, &request), E2BIG,
		"request with 2^32 - 1 keys");
	request.count = HASHBELT_REQUEST_KEYS;
	request.keys = address(unmapped());
	refused(call(belt, HASHBELT_IOC_REQUEST, &request), EFAULT,
		"request with an unmapped array of keys");
	request.keys = address(before_hole(request.count * sizeof(*keys) - 1));
	refused(call(belt, HASHBELT_IOC_REQUEST, &request), EFAULT,
		"request with an array of keys cut off by an unmapped page");
	request.keys = address(keys);
	for (i = 0; i < HASHBELT_REQUEST_KEYS; i++) {
		keys[i].count = 1;
		wrong += call(belt, HASHBELT_IOC_REQUEST, &request) != -EINVAL;
		keys[i].count = 0;
	}
	ok(!wrong && undisturbed(), "request with @count set in any of its keys: EINVAL");
	/* The first key, one in the middle, and the last. */
	for (i = 0; i < HASHBELT_REQUEST_KEYS; i += i ? 8 : 7) {
		snprintf(name, sizeof(name), "request (key %u of 16)", i + 1);
		test_key(name, HASHBELT_IOC_REQUEST, &request, &keys[i].key,
			 &keys[i].key_len);
	}
	request.id = 1;
	refused(call(belt, HASHBELT_IOC_REQUEST, &request), EEXIST,
		"request with an id that is taken");
}

static void test_cancel_and_complete(void)
{
	struct hashbelt_key key = { .key = address(KEY), .key_len = strlen(KEY) };
	__u64 id = 2;

	refused(call(belt, HASHBELT_IOC_CANCEL, &id), ENOENT,
		"cancel of an id that does not exist");
	BITS(HASHBELT_IOC_COMPLETE, key, count, 0, "complete with a bit of @count");
	test_key("complete", HASHBELT_IOC_COMPLETE, &key, &key.key, &key.key_len);
}

static void test_add(void)
{
	static char sums[64];
	struct hashbelt_item item = item_of(KEY);
	unsigned int len, wrong = 0;

	item.value = address(sums);
	item.value_len = sizeof(struct hashbelt_sum);
	BITS(HASHBELT_IOC_ADD, item, how, HASHBELT_IF_PRESENT | HASHBELT_FLOOR,
	     "add with a bit of @how");
	BITS(HASHBELT_IOC_ADD, item, op, 0, "add with a bit of @op outside of a batch");
	BITS(HASHBELT_IOC_ADD, item, reserved, 0, "add with a bit of @reserved");
	test_key("add", HASHBELT_IOC_ADD, &item, &item.key, &item.key_len);
	for (len = 0; len < sizeof(sums); len++) {
		item.value_len = len;
		if (len != sizeof(struct hashbelt_sum))
			wrong += call(belt, HASHBELT_IOC_ADD, &item) != -EINVAL;
	}
	item.value_len = ~0u;
	wrong += call(belt, HASHBELT_IOC_ADD, &item) != -EINVAL;
	ok(!wrong && undisturbed(), "add with any @value_len but the size of a sum: EINVAL");
	item.value_len = sizeof(struct hashbelt_sum);
	item.value = address(unmapped());
	refused(call(belt, HASHBELT_IOC_ADD, &item), EFAULT, "add with an unmapped sum");
	item.value = address((char *)before_hole(item.value_len) + 1);
	refused(call(belt, HASHBELT_IOC_ADD, &item), EFAULT,
		"add with a sum cut off by an unmapped page");
}

/* Rights */

/* A call with an argument of zeros: the right is checked before most values. */
static int try_one(int fd, unsigned long number)
{
	__u64 argument[512 / sizeof(__u64)] = {};

	return call(fd, number, argument);
}

static void test_rights(int flags, __u32 lacks, const char *how)
{
	int fd = open_device(flags | O_NONBLOCK), err;
	unsigned int i, wrong = 0;

	if (open_belt(fd, TRIED))
		bail_out("open");
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		if (requests[i].needs == NO_BELT)
			continue;
		err = try_one(fd, requests[i].number);
		if ((err == -EPERM) == !!(requests[i].needs & lacks))
			continue;
		note("%s: %s", requests[i].name, error_name(err));
		wrong++;
	}
	is_int(wrong, 0,
	       "a descriptor open for %s gets EPERM from exactly the calls it may not do", how);
	close(fd);
}

static void test_all_rights(void)
{
	int fd = belt_of((struct hashbelt_settings){ .name = TRIED, .mode = 0600 });

	test_rights(O_RDONLY, WRITE | OWN, "reading");
	test_rights(O_WRONLY, READ | CONSUME, "writing");
	test_rights(O_RDWR, 0, "both");
	destroy_belt(fd, TRIED);
	close(fd);
}

/* Belts */

static void test_destroyed(void)
{
	unsigned int i, wrong = 0;

	destroy_belt(belt, NAME);
	for (i = 0; i < ARRAY_SIZE(requests); i++)
		if (requests[i].needs != NO_BELT &&
		    try_one(belt, requests[i].number) != -EIDRM && !wrong++)
			note("%s does not return EIDRM", requests[i].name);
	is_int(wrong, 0, "each call that needs the belt returns EIDRM in a destroyed belt");
	close(belt);
}

int main(void)
{
	__u64 used = get_parameter("used_bytes");

	start_over();
	test_lock("lock", HASHBELT_IOC_LOCK);
	test_lock("unlock", HASHBELT_IOC_UNLOCK);
	test_lock("renew", HASHBELT_IOC_RENEW);
	test_lock("holder", HASHBELT_IOC_HOLDER);
	test_lock("release", HASHBELT_IOC_RELEASE);
	test_all_times();
	test_locks();
	test_fill();
	test_request();
	test_cancel_and_complete();
	test_add();
	test_readonly();
	test_all_rights();
	test_destroyed();
	ok(used_at_last(used), "used_bytes returns to what it was before the test");
	return done_testing();
}
