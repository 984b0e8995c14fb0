// SPDX-License-Identifier: GPL-2.0
/*
 * quota_test - what one user may take, and how many belts there may be.
 *
 * The belts of a user share one limit of memory and one of number, whichever user puts
 * into them, from whichever user namespace. The superuser has no limit. Freed memory
 * counts no more. Leaves all parameters as they were.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "events.h"

#define TESTS	31

#define ALICE	1000
#define BOB	1001
#define SHARE	(4 * MIB)	/* of memory, for each of them */
#define HOUR	3600000ULL	/* the belts' time-to-live here, milliseconds */

static unsigned char value[65536];

/*
 * Puts until one is refused: the error. Never more than should be possible. Each has a key
 * of its own, whatever process puts it: one that took another's place at the limit would
 * have to wait until that is free.
 */
static int fill_up(int belt, __u32 len, unsigned int *count)
{
	static struct {
		pid_t pid;
		unsigned int number;
	} key;
	unsigned int number;
	int err = 0;

	key.pid = getpid();
	for (number = 0; !err && number < 100000; number++, key.number++) {
		struct hashbelt_item item = {
			.key = address(&key), .key_len = sizeof(key),
			.value = address(value), .value_len = len,
		};

		err = call(belt, HASHBELT_IOC_PUT, &item);
	}
	*count = number - 1;
	return err;
}

/* The same, until it stays refused: what was freed meanwhile is used as well. */
static int fill_for_good(int belt, __u32 len, __u64 *bytes)
{
	unsigned int count, round;
	int err = 0;

	for (round = 0; round < 50; round++) {
		err = fill_up(belt, len, &count);
		usleep(1000);
	}
	*bytes = info_of(belt).bytes;
	return err;
}

static int new_plain(void)
{
	struct hashbelt_settings settings = { .ttl_ms = HOUR };
	int fd = open(HASHBELT_DEVICE, O_RDWR), err;

	if (fd < 0)
		return -1;
	err = call(fd, HASHBELT_IOC_CREATE, &settings);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Work of others: each returns 0, or a number that says where it went wrong. */

static unsigned int fill_share(const void *arg)
{
	__u64 bytes, more;
	unsigned int count;
	int belt = new_plain(), other;

	if (belt < 0)
		return 1;
	other = new_plain();
	if (other < 0)
		return 2;
	if (fill_for_good(belt, *(const __u32 *)arg, &bytes) != -EDQUOT)
		return 3;
	if (bytes > SHARE)
		return 4;
	if (bytes <= SHARE / 2)
		return 5;
	/* There may be room for less than that. */
	if (fill_for_good(other, *(const __u32 *)arg, &more) != -EDQUOT)
		return 6;
	if (bytes + more > SHARE)
		return 7;
	if (fill_up(belt, *(const __u32 *)arg, &count) != -EDQUOT)
		return 8;
	close(other);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	return 0;
}

static bool can_put(void *arg)
{
	struct hashbelt_item item = text_item("key", "value");

	return !call(*(int *)arg, HASHBELT_IOC_PUT, &item);
}

static unsigned int free_share(const void *arg)
{
	int belt = new_plain(), other = new_plain();
	__u64 bytes;

	(void)arg;
	if (belt < 0 || other < 0)
		return 1;
	if (fill_for_good(belt, 4000, &bytes) != -EDQUOT)
		return 2;
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	if (!at_last(can_put, &other))
		return 3;
	if (fill_for_good(belt, 4000, &bytes) != -EDQUOT)
		return 4;
	advance(belt, 3 * HOUR);
	if (!at_last(can_put, &other))
		return 5;
	if (fill_for_good(belt, 4000, &bytes) != -EDQUOT)
		return 6;
	close(belt);
	if (!at_last(can_put, &other))
		return 7;
	return 0;
}

/* Fills new belts again and again: memory that is not freed yet still counts. */
static unsigned int fill_again(const void *arg)
{
	__u64 most = *(const __u64 *)arg + SHARE + SHARE / 8;
	unsigned int round, count;
	int belt;

	for (round = 0; round < 20; round++) {
		belt = new_plain();
		if (belt < 0 && belt != -EDQUOT)
			return 1;
		if (belt < 0)
			continue;
		fill_up(belt, sizeof(value), &count);
		if (get_parameter("used_bytes") > most)
			return 2;
		close(belt);
	}
	return 0;
}

static unsigned int fill_in_namespace(const void *arg)
{
	if (!enter_namespace())
		return 20;
	return fill_share(arg);
}

/* The superuser has no share. */
static unsigned int fill_more(const void *arg)
{
	unsigned int count;
	int belt = new_plain();

	(void)arg;
	if (belt < 0)
		return 1;
	for (count = 0; count < 3 * SHARE / sizeof(value); count++) {
		struct hashbelt_item item = {
			.key = address(&count), .key_len = sizeof(count),
			.value = address(value), .value_len = sizeof(value),
		};

		if (call(belt, HASHBELT_IOC_PUT, &item))
			return 2;
	}
	if (info_of(belt).bytes <= 3 * SHARE)
		return 3;
	return 0;
}

/* Runs @work as ALICE, once the memory of what ran before is freed: until then it counts. */
static unsigned int as_alice(__u64 before, unsigned int (*work)(const void *arg),
			     const void *arg)
{
	used_at_last(before);
	return as(ALICE, ALICE, 0, work, arg);
}

static void test_memory(__u64 before)
{
	static const __u32 lens[] = { 16, 4000, 65536 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		is_int(as_alice(before, fill_share, &lens[i]), 0,
		       "a user's belts use no more than user_max_bytes: EDQUOT, values of %u",
		       lens[i]);
	is_int(as_alice(before, free_share, NULL), 0,
	       "a user gets back its share after a clear, after expiry and after a close");
	is_int(as_alice(before, fill_again, &before), 0,
	       "a user's closed belts count in its share until their memory is free");
	is_int(as_alice(before, fill_in_namespace, &lens[1]), 0,
	       "a user gets no larger share in a user namespace of its own");
	is_int(as(0, 0, 0, fill_more, NULL), 0, "the superuser may use more than user_max_bytes");
	used_at_last(before);
}

/* Others' belts */

static unsigned int make_open(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	if (fd < 0 || create_belt(fd, arg, 0666))
		return 1;
	return 0;
}

static unsigned int fill_named(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);
	unsigned int count;

	if (fd < 0 || open_belt(fd, arg))
		return 1;
	return -fill_up(fd, 4000, &count);
}

static unsigned int put_in_own(const void *arg)
{
	int belt = new_plain();

	(void)arg;
	if (belt < 0)
		return 1;
	return !can_put(&belt);
}

/*
 * Whether the share of ALICE, the owner of @belt, is used up. Fills it again and again: an
 * index that has grown frees its old table later, and that memory has to be used as well.
 */
static bool is_used_up(int belt)
{
	unsigned int count, round;

	for (round = 0; round < 100 && fill_up(belt, 4000, &count) == -EDQUOT; round++) {
		__u64 used = get_parameter("used_bytes");

		if (as(ALICE, ALICE, 0, put_in_own, NULL))
			return true;
		used_at_last(used);
	}
	return false;
}

static void test_owner(void)
{
	int fd = open_device(O_RDWR);
	unsigned int count;

	if (as(ALICE, ALICE, 0, make_open, "alice") || open_belt(fd, "alice"))
		bail_out("no belt");
	is_int(as(BOB, BOB, 0, fill_named, "alice"), EDQUOT,
	       "put by a second user in a full share of the belt's owner returns EDQUOT");
	is_errno(fill_up(fd, 4000, &count), EDQUOT,
		 "put by the superuser in a full share of the belt's owner returns EDQUOT");
	is_int(as(BOB, BOB, 0, put_in_own, NULL), 0,
	       "put by a user that filled another user's belt succeeds in its own belt");
	ok(is_used_up(fd),
	   "an owner whose belt others have filled can put nothing into a new belt");
	set_number("user_max_bytes", 2 * SHARE);
	is_errno(fill_up(fd, 4000, &count), EDQUOT,
		 "put returns EDQUOT at a user_max_bytes that was doubled");
	ok(info_of(fd).bytes > SHARE && info_of(fd).bytes <= 2 * SHARE,
	   "a user fills its doubled user_max_bytes beyond the former share");
	set_number("user_max_bytes", SHARE);
	is_errno(fill_up(fd, 0, &count), EDQUOT,
		 "put returns EDQUOT where user_max_bytes is set below what is used");
	must(fd, HASHBELT_IOC_CLEAR, NULL);
	ok(at_last(can_put, &fd),
	   "put succeeds after clear in a belt over its owner's user_max_bytes");
	destroy_belt(fd, "alice");
	if (as(0, 0, 0, make_open, "root") || open_belt(fd, "root"))
		bail_out("no belt");
	set_number("user_max_bytes", 65536);
	set_number("max_bytes", get_parameter("used_bytes") + 3 * SHARE);
	is_int(as(BOB, BOB, 0, fill_named, "root"), ENOSPC,
	       "put in the superuser's belt returns ENOSPC at max_bytes, not EDQUOT");
	set_number("user_max_bytes", SHARE);
	destroy_belt(fd, "root");
	close(fd);
}

/* The number of belts */

static unsigned int count_names(void)
{
	struct hashbelt_info info = {};
	int fd = open_device(O_RDWR);
	unsigned int n = 0;

	while (!call(fd, HASHBELT_IOC_NEXT, &info))
		n++;
	close(fd);
	return n;
}

/* Makes belts until one is refused, at most 20; returns how many, and the error. */
static unsigned int make_many(const void *arg)
{
	const char *prefix = arg;
	unsigned int n;
	int err = 0;

	for (n = 0; n < 20; n++) {
		int fd = open(HASHBELT_DEVICE, O_RDWR);
		struct hashbelt_settings settings = { .ttl_ms = HOUR };

		if (fd < 0)
			return NO_RESULT;
		/* Some with a name, some without: those end with this process. */
		if (n % 2)
			snprintf(settings.name, sizeof(settings.name),
				 "%s %u", prefix, n);
		err = call(fd, HASHBELT_IOC_CREATE, &settings);
		if (err)
			break;
	}
	return n << 16 | -err;
}

static unsigned int destroy_many(const void *arg)
{
	const char *prefix = arg;
	char name[HASHBELT_NAME_SIZE];
	int fd = open(HASHBELT_DEVICE, O_RDWR);
	unsigned int n;

	for (n = 1; n < 20; n += 2) {
		snprintf(name, sizeof(name), "%s %u", prefix, n);
		destroy_belt(fd, name);
	}
	return 0;
}

static bool is_made(unsigned int result, unsigned int n, int err, const char *promise)
{
	if (ok(result == (n << 16 | err), "%s", promise))
		return true;
	note("%u belts, then %s", result >> 16, error_name(result & 0xffff));
	return false;
}

static unsigned int make_in_namespace(const void *arg)
{
	if (!enter_namespace())
		return 1;
	return make_many(arg);
}

/* Makes one, as soon as those that went before are gone. */
static bool can_make(void *arg)
{
	int fd = new_plain();

	(void)arg;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_user_belts(void)
{
	set_number("user_max_belts", 6);
	is_made(as(ALICE, ALICE, 0, make_many, "alice"), 6, EDQUOT,
		"a user makes user_max_belts belts, with names and without: EDQUOT");
	is_made(as(BOB, BOB, 0, make_many, "bob"), 6, EDQUOT,
		"another user makes user_max_belts belts beside those of the first: EDQUOT");
	is_made(as(0, 0, 0, make_many, "root"), 20, 0,
		"the superuser makes more belts than user_max_belts");
	as(ALICE, ALICE, 0, destroy_many, "alice");
	is_made(as(ALICE, ALICE, 0, make_many, "alice"), 6, EDQUOT,
		"a user makes belts in place of those that it has destroyed and closed");
	is_made(as(ALICE, ALICE, 0, make_in_namespace, "more"), 3, EDQUOT,
		"a user in a user namespace of its own makes no more belts: EDQUOT");
	as(ALICE, ALICE, 0, destroy_many, "more");
	as(ALICE, ALICE, 0, destroy_many, "alice");
	as(BOB, BOB, 0, destroy_many, "bob");
	as(0, 0, 0, destroy_many, "root");
}

/* All at once: they share a page that says when to begin. */
static unsigned int make_at_once(const void *arg)
{
	unsigned int *counts = (unsigned int *)arg, i;
	pid_t children[4];
	int fds[100];

	for (i = 0; i < 4; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		for (i = 0; i < 100; i++) {
			fds[i] = new_plain();
			__atomic_fetch_add(&counts[fds[i] >= 0], 1, __ATOMIC_RELAXED);
		}
		/* None is closed before the last has tried. */
		while (counts[0] + counts[1] < 400)
			usleep(1000);
		_exit(0);
	}
	for (i = 0; i < 4; i++)
		waitpid(children[i], NULL, 0);
	return counts[1];
}

static void test_at_once(void)
{
	unsigned int *counts = shared_memory(2 * sizeof(*counts));

	set_number("user_max_belts", 57);
	is_int(as(ALICE, ALICE, 0, make_at_once, counts), 57,
	       "four processes of a user make user_max_belts belts at once and no more");
}

static void test_belts(void)
{
	unsigned int names = count_names();

	set_number("max_belts", names);
	is_int(new_plain(), -ENOSPC, "create returns ENOSPC when there are max_belts belts");
	set_number("max_belts", names + 4);
	at_last(can_make, NULL);
	is_made(as(0, 0, 0, make_many, "root"), 4, ENOSPC,
		"create makes belts up to a max_belts that was raised by four: ENOSPC");
	is_made(as(ALICE, ALICE, 0, make_many, "alice"), 2, ENOSPC,
		"a user makes the belts that the superuser has left of max_belts: ENOSPC");
	as(0, 0, 0, destroy_many, "root");
	as(ALICE, ALICE, 0, destroy_many, "alice");
	is_int(count_names(), names, "the belts of a process that ended are gone");
	set_number("max_belts", names - 1);
	is_int(new_plain(), -ENOSPC,
	       "create returns ENOSPC when max_belts is set below the number of belts");
}

int main(void)
{
	static const char *const names[] = {
		"max_bytes", "user_max_bytes", "max_belts", "user_max_belts",
	};
	__u64 before = get_parameter("used_bytes"), was[ARRAY_SIZE(names)];
	unsigned int i;

	plan(TESTS);
	alarm(600);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		was[i] = get_parameter(names[i]);
	is_int(was[2], 131072, "max_belts is 131072 by default");
	is_int(was[3], 1024, "user_max_belts is 1024 by default");
	ok(was[1] && was[1] <= was[0],
	   "user_max_bytes is set and no larger than max_bytes by default");
	chmod(HASHBELT_DEVICE, 0666);
	set_number("user_max_bytes", SHARE);
	test_memory(before);
	test_owner();
	set_number("max_bytes", was[0]);
	set_number("user_max_bytes", was[1]);
	test_user_belts();
	test_at_once();
	set_number("user_max_belts", was[3]);
	test_belts();
	set_number("max_belts", was[2]);
	chmod(HASHBELT_DEVICE, 0600);
	ok(used_at_last(before),
	   "used_bytes of the module is what it was when all belts are destroyed");
	return done_testing();
}
