// SPDX-License-Identifier: GPL-2.0-only
/*
 * service_test - wrong arguments of calls on locks, fills, requests and sums; rights that all need.
 *
 * Bad addresses; lengths, flags, times and reserved fields out of range; missing rights;
 * belts that cannot hold locks or are destroyed: each call fails with its errno and leaves
 * the entry, the lock and the request as they were. Other arguments are in argument_test.
 */
#include "lock.h"
#include "request.h"
#include "refusal.h"

#define NAME	"served"
#define TRIED	"tried"
#define KEY	"witness"
#define TEXT	"1234"
#define OWNER	"owner of it"
#define OWNER_LEN	11

static __u64 token;

/* Makes a belt with an entry, a lock and a request of the same name. */
static void start_over(void)
{
	struct hashbelt_lock lock = lock_of(KEY, OWNER);

	belt = named_locks(NAME);
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

/* A call whose result cannot be written returns EFAULT, but has been carried out. */
static void test_readonly(void)
{
	struct hashbelt_lock lock = lock_of("other", OWNER);
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of("sum");
	struct hashbelt_key key = { .key = address(KEY), .key_len = strlen(KEY) };

	is_errno(call(belt, HASHBELT_IOC_LOCK, readonly_copy(&lock, sizeof(lock))), EFAULT,
		 "lock with a read-only argument returns EFAULT");
	is_errno(unlock(belt, "other", OWNER), 0,
		 "lock whose result could not be written is held");
	item.value = address(readonly_copy(&sum, sizeof(sum)));
	item.value_len = sizeof(sum);
	is_errno(call(belt, HASHBELT_IOC_ADD, &item), EFAULT,
		 "add with a read-only sum returns EFAULT");
	ok(holds_text(belt, "sum", "1"), "add whose sum could not be written has stored the sum");
	on_key(belt, HASHBELT_IOC_REMOVE, "sum");
	is_errno(call(belt, HASHBELT_IOC_COMPLETE, readonly_copy(&key, sizeof(key))), EFAULT,
		 "complete with a read-only argument returns EFAULT");
	ok(is_next_completion(belt, 1, HASHBELT_BY_COMPLETE, KEY),
	   "complete whose result could not be written has completed the request");
	if (ASK(belt, 1, 0, KEY, "absent"))
		bail_out("no request");
}

/* @argument is that of @request; @key and @key_len are fields of @argument. */
static void test_key(unsigned long request, void *argument, __u64 *key, __u32 *key_len)
{
	__u64 old_key = *key;

	test_key_len(request, argument, key, key_len);
	*key = address(unmapped());
	refused(call(belt, request, argument), EFAULT,
		DESCRIBE("%s with an unmapped key", request_name(request)));
	*key = address((char *)before_hole(*key_len) + 1);
	refused(call(belt, request, argument), EFAULT,
		DESCRIBE("%s with a key cut off by an unmapped page", request_name(request)));
	*key = old_key;
}

#define CUT(size)	address((char *)before_hole(size) + 1)

static void test_lock(unsigned long request)
{
	struct hashbelt_lock lock = lock_of(KEY, OWNER);
	char space[HASHBELT_OWNER_MAX];

	if (request == HASHBELT_IOC_HOLDER) {
		lock.owner = address(space);
		lock.owner_len = sizeof(space);
	}
	BITS(request, lock, how, request == HASHBELT_IOC_LOCK ?
	     HASHBELT_BOUND | HASHBELT_IF_ABSENT : 0);
	BITS(request, lock, reserved32, 0);
	BITS(request, lock, reserved, 0);
	if (request != HASHBELT_IOC_LOCK)
		BITS(request, lock, wait_ms, 0);
	if (request == HASHBELT_IOC_RELEASE)
		lock.key_len = 0;
	else
		test_key(request, &lock, &lock.key, &lock.key_len);
	if (request == HASHBELT_IOC_HOLDER)
		return;
	REFUSE(EINVAL, request, lock, owner_len = 0);
	REFUSE(E2BIG, request, lock, owner_len = HASHBELT_OWNER_MAX + 1,
	       lock.owner = address(before_hole(HASHBELT_OWNER_MAX + 1)));
	REFUSE(E2BIG, request, lock, owner_len = ~0u);
	REFUSE(EFAULT, request, lock, owner = address(unmapped()));
	REFUSE(EFAULT, request, lock, owner = CUT(OWNER_LEN));
}

static void test_all_times(void)
{
	struct hashbelt_lock lock = lock_of(KEY, OWNER), other = lock_of(KEY, "other");
	struct hashbelt_fill fill = { .item = item_of("absent") };
	struct hashbelt_key key = { .key = address(KEY), .key_len = strlen(KEY) };
	struct hashbelt_request request = { .id = 2, .keys = address(&key), .count = 1 };
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of(KEY);

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	/* Beyond the belt's time-to-live. */
	REFUSE(EDOM, HASHBELT_IOC_LOCK, lock, ttl_ms = TTL + 1);
	REFUSE(EDOM, HASHBELT_IOC_RENEW, lock, ttl_ms = TTL + 1);
	REFUSE_EACH(EDOM, HASHBELT_IOC_LOCK, lock, ttl_ms, long_times, LONG_TIMES);
	REFUSE_EACH(EDOM, HASHBELT_IOC_RENEW, lock, ttl_ms, long_times, LONG_TIMES);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_LOCK, other, wait_ms, long_times, LONG_TIMES - 1);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_FILL, fill, lease_ms, long_times, LONG_TIMES);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_FILL, fill, wait_ms, long_times, LONG_TIMES - 1);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_REQUEST, request, ttl_ms, long_times, LONG_TIMES - 1);
	REFUSE_EACH(EINVAL, HASHBELT_IOC_ADD, item, ttl_ms, long_times, LONG_TIMES - 2);
}

static void test_locks(void)
{
	static char buffer[HASHBELT_SCAN_MAX + 1];
	struct hashbelt_locks locks = { .buffer = address(buffer), .size = PAGE };

	BITS(HASHBELT_IOC_LOCKS, locks, reserved, 0);
	REFUSE(E2BIG, HASHBELT_IOC_LOCKS, locks, owner_len = HASHBELT_OWNER_MAX + 1,
	       locks.owner = address(before_hole(HASHBELT_OWNER_MAX + 1)));
	REFUSE(E2BIG, HASHBELT_IOC_LOCKS, locks, owner_len = ~0u, locks.owner = address(buffer));
	REFUSE(EFAULT, HASHBELT_IOC_LOCKS, locks, owner_len = OWNER_LEN,
	       locks.owner = address(unmapped()));
	REFUSE(E2BIG, HASHBELT_IOC_LOCKS, locks, size = sizeof(buffer));
	REFUSE(E2BIG, HASHBELT_IOC_LOCKS, locks, size = ~0u);
	REFUSE(EFAULT, HASHBELT_IOC_LOCKS, locks, buffer = address(unmapped()));
	locks.size = 8;
	refused(call(belt, HASHBELT_IOC_LOCKS, &locks), ERANGE,
		"locks with a buffer too small for a record");
	ok(locks.size < PAGE && !call(belt, HASHBELT_IOC_LOCKS, &locks) && locks.count == 1,
	   "locks with ERANGE returns a size that is sufficient");
	locks.size = HASHBELT_SCAN_MAX;
	locks.owner = address(buffer);
	locks.owner_len = HASHBELT_OWNER_MAX;
	is_errno(call(belt, HASHBELT_IOC_LOCKS, &locks), 0,
		 "locks of an owner of 64 bytes into a buffer of 1 MiB returns 0");
}

static void test_fill(void)
{
	struct hashbelt_fill fill = { .item = item_of("absent") };

	BITS(HASHBELT_IOC_FILL, fill, how, HASHBELT_BOUND | HASHBELT_STALE | HASHBELT_GIVE_UP |
	     HASHBELT_RENEW_LEASE | HASHBELT_FAIL);
	BITS(HASHBELT_IOC_FILL, fill, reserved, 0);
	BITS(HASHBELT_IOC_FILL, fill, item.how,
	     HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE);
	BITS(HASHBELT_IOC_FILL, fill, item.op, 0);
	BITS(HASHBELT_IOC_FILL, fill, item.reserved, 0);
	test_key(HASHBELT_IOC_FILL, &fill, &fill.item.key, &fill.item.key_len);
	REFUSE(EINVAL, HASHBELT_IOC_FILL, fill,
	       item.how = HASHBELT_AND_TOUCH | HASHBELT_NO_REFRESH);
	REFUSE(ENOENT, HASHBELT_IOC_FILL, fill, how = HASHBELT_GIVE_UP);
	REFUSE(EINVAL, HASHBELT_IOC_FILL, fill, how = HASHBELT_RENEW_LEASE,
	       fill.lease_ms = HASHBELT_TTL_MAX_MS + 1);
	REFUSE(EINVAL, HASHBELT_IOC_FILL, fill, how = HASHBELT_RENEW_LEASE | HASHBELT_FAIL);
	REFUSE(EINVAL, HASHBELT_IOC_FILL, fill, how = HASHBELT_RENEW_LEASE | HASHBELT_STALE);
	fill.item = item_of(KEY);
	REFUSE(EFAULT, HASHBELT_IOC_FILL, fill, item.value_len = 64,
	       fill.item.value = address(unmapped()));
	REFUSE(ERANGE, HASHBELT_IOC_FILL, fill, item.value_len = 1,
	       fill.item.value = address(unmapped()));
	is_int(counter(belt, HASHBELT_STAT_FILLS), 0, "no refused fill has granted a fill lease");
}

static void test_request(void)
{
	struct hashbelt_key keys[HASHBELT_REQUEST_KEYS + 1];
	struct hashbelt_request request = {
		.id = 2, .keys = address(keys), .count = HASHBELT_REQUEST_KEYS,
	};
	unsigned int i, wrong = 0;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		keys[i] = (struct hashbelt_key){ .key = address(KEY), .key_len = 1 + i % 7 };
	BITS(HASHBELT_IOC_REQUEST, request, flags, 0);
	BITS(HASHBELT_IOC_REQUEST, request, reserved, 0);
	REFUSE(EINVAL, HASHBELT_IOC_REQUEST, request, count = 0);
	REFUSE(E2BIG, HASHBELT_IOC_REQUEST, request, count = HASHBELT_REQUEST_KEYS + 1);
	REFUSE(E2BIG, HASHBELT_IOC_REQUEST, request, count = ~0u);
	REFUSE(EFAULT, HASHBELT_IOC_REQUEST, request, keys = address(unmapped()));
	REFUSE(EFAULT, HASHBELT_IOC_REQUEST, request,
	       keys = address(before_hole(HASHBELT_REQUEST_KEYS * sizeof(*keys) - 1)));
	REFUSE(EEXIST, HASHBELT_IOC_REQUEST, request, id = 1);
	for (i = 0; i < HASHBELT_REQUEST_KEYS; i++) {
		keys[i].count = 1;
		wrong += call(belt, HASHBELT_IOC_REQUEST, &request) != -EINVAL;
		keys[i].count = 0;
	}
	ok(!wrong && undisturbed(), "request with @count set in any of its keys: EINVAL");
	/* The first key, one in the middle, and the last. */
	for (i = 0; i < HASHBELT_REQUEST_KEYS; i += i ? 8 : 7)
		test_key(HASHBELT_IOC_REQUEST, &request, &keys[i].key, &keys[i].key_len);
}

static void test_cancel_and_complete(void)
{
	struct hashbelt_key key = { .key = address(KEY), .key_len = strlen(KEY) };

	refused(cancel(belt, 2), ENOENT, "cancel of an id that does not exist");
	BITS(HASHBELT_IOC_COMPLETE, key, count, 0);
	test_key(HASHBELT_IOC_COMPLETE, &key, &key.key, &key.key_len);
}

static void test_add(void)
{
	static char sums[64];
	struct hashbelt_item item = item_of(KEY);
	unsigned int len, wrong = 0;

	item.value = address(sums);
	item.value_len = sizeof(struct hashbelt_sum);
	BITS(HASHBELT_IOC_ADD, item, how, HASHBELT_IF_PRESENT | HASHBELT_FLOOR);
	BITS(HASHBELT_IOC_ADD, item, op, 0);
	BITS(HASHBELT_IOC_ADD, item, reserved, 0);
	test_key(HASHBELT_IOC_ADD, &item, &item.key, &item.key_len);
	REFUSE(EFAULT, HASHBELT_IOC_ADD, item, value = address(unmapped()));
	REFUSE(EFAULT, HASHBELT_IOC_ADD, item, value = CUT(sizeof(struct hashbelt_sum)));
	REFUSE(EINVAL, HASHBELT_IOC_ADD, item, value_len = ~0u);
	for (len = 0; len < sizeof(sums); len++) {
		item.value_len = len;
		if (len != sizeof(struct hashbelt_sum))
			wrong += call(belt, HASHBELT_IOC_ADD, &item) != -EINVAL;
	}
	ok(!wrong && undisturbed(), "add with any @value_len but the size of a sum: EINVAL");
}

/* Rights and belts */

/*
 * Makes all calls that need a belt. EIDRM is due from each, EPERM from those that need a right of
 * @lacks. Return: the number of calls that return @err and should not, or should and do not.
 */
static unsigned int count_wrong(int fd, int err, __u32 lacks)
{
	unsigned int i, wrong = 0;
	int result;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		/* The right is checked before most values. */
		__u64 zeros[512 / sizeof(__u64)] = {};

		if (requests[i].needs == NO_BELT)
			continue;
		result = call(fd, requests[i].number, zeros);
		if ((result == -err) == (err == EIDRM || requests[i].needs & lacks))
			continue;
		note("%s: %s", requests[i].name, error_name(result));
		wrong++;
	}
	return wrong;
}

static void test_rights(void)
{
	static const struct { int flags; __u32 lacks; const char *how; } opens[] = {
		{ O_RDONLY, WRITE | OWN, "reading" }, { O_WRONLY, READ | CONSUME, "writing" },
		{ O_RDWR, 0, "both" },
	};
	int owner = named_belt(TRIED, 0), fd;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opens); i++) {
		fd = open_device(opens[i].flags | O_NONBLOCK);
		if (open_belt(fd, TRIED))
			bail_out("open");
		is_int(count_wrong(fd, EPERM, opens[i].lacks), 0,
		       "a descriptor open for %s gets EPERM from exactly the calls it may not do",
		       opens[i].how);
		close(fd);
	}
	destroy_belt(owner, TRIED);
	close(owner);
}

static void test_destroyed(void)
{
	int fd;

	destroy_belt(belt, NAME);
	is_int(count_wrong(belt, EIDRM, 0), 0,
	       "each call that needs the belt returns EIDRM in a destroyed belt");
	destroy_belt(belt, HASHBELT_DEFAULT_BELT);
	close(belt);
	fd = open_device(O_RDWR);
	is_int(count_wrong(fd, EIDRM, 0), 0,
	       "each call that needs a belt returns EIDRM without a default belt");
	if (create_belt(fd, HASHBELT_DEFAULT_BELT, 0600))
		bail_out("create");
	close(fd);
}

int main(void)
{
	static const unsigned long on_locks[] = {
		HASHBELT_IOC_LOCK, HASHBELT_IOC_UNLOCK, HASHBELT_IOC_RENEW, HASHBELT_IOC_HOLDER,
		HASHBELT_IOC_RELEASE,
	};
	__u64 used = get_parameter("used_bytes");

	start_over();
	for (unsigned int i = 0; i < ARRAY_SIZE(on_locks); i++)
		test_lock(on_locks[i]);
	test_all_times();
	test_locks();
	test_fill();
	test_request();
	test_cancel_and_complete();
	test_add();
	test_readonly();
	test_rights();
	test_destroyed();
	ok(used_at_last(used), "used_bytes returns to what it was before the test");
	return done_testing();
}
