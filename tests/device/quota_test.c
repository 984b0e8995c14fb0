// SPDX-License-Identifier: GPL-2.0-only
/*
 * quota_test - the quota of a user, and the number of belts.
 *
 * The belts of a user share one limit of memory and one of number, whichever user puts into
 * them. So do those of all uids of a user namespace that the user made. A task with
 * CAP_SYS_RESOURCE has no quota, and users leave it an eighth of the module's memory. Freed memory
 * does not count. Belts that a user creates pinned take at most a part of its quota, and no other
 * belts of a user can be pinned. The test restores all parameters.
 *
 * Hostile user: keeps descriptors and unacknowledged events of a belt that its owner destroys;
 * result: 0 of 15.5 MB are charged to the owner when `DESTROY` returns.
 *
 * Hostile user: fills the module, or makes all belts that it may; result: root has an eighth of
 * `max_bytes` and of `max_belts`.
 *
 * Hostile user: uses 65,536 subordinate uids; result: they have one account.
 *
 * Hostile user: is uid 0 of a container.
 *
 * Hostile user: fills pinned belts, which the shrinker leaves alone; result: they take at most 2 of
 * the user's 4 MiB; `SET` pins no other belt: `EPERM`.
 */
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "events.h"

#define ALICE	1000
#define BOB	1001
#define SHARE	MIB	/* memory quota of each user: several times what an empty belt takes */
#define HOUR	3600000ULL	/* time-to-live of the belts, milliseconds */

static __u64 before;		/* used_bytes, without belts of these tests */
static __u64 *taken;		/* by the belts of fill_two(); shared */

/* Puts new keys until a put fails, at most 100000 times; returns the error. */
static int fill_up(int belt, __u32 len, unsigned int *count)
{
	static unsigned int number;
	static pid_t pid;
	int err = 0;

	/* A put over an entry of another process would fail at the limit until that is freed. */
	if (pid != getpid()) {
		pid = getpid();
		number = pid << 17;
	}
	for (*count = 0; !err && *count < 100000; *count += !err)
		err = put_zeros(belt, number++, len, 0);
	return err;
}

/*
 * fill_up() again and again: memory that is freed meanwhile is used as well. A put that fails
 * has waited for such memory, so a few in a row show that there is none left.
 */
static int fill_for_good(int belt, __u32 len, __u64 *bytes)
{
	unsigned int count, round, idle = 0;
	int err = 0;

	for (round = 0; round < 50 && idle < 5; round++) {
		err = fill_up(belt, len, &count);
		idle = count ? 0 : idle + 1;
		usleep(1000);
	}
	*bytes = info_of(belt).bytes;
	return err;
}

/* A descriptor with a new belt of this policy, or a negative errno. */
static int new_of(__u32 policy)
{
	struct hashbelt_settings settings = { .ttl_ms = HOUR, .policy = policy };
	int fd = open(HASHBELT_DEVICE, O_RDWR), err;

	if (fd < 0)
		return -1;
	err = call(fd, HASHBELT_IOC_CREATE, &settings);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static bool can_put(void *arg)
{
	struct hashbelt_item item = text_item("key", "value");

	return !call(*(int *)arg, HASHBELT_IOC_PUT, &item);
}

static int used_fd;	/* used_bytes, which only the superuser may open */

static __u64 used_now(void)
{
	char text[32] = "";

	if (pread(used_fd, text, sizeof(text) - 1, 0) <= 0)
		bail_out("used_bytes: %s", strerror(errno));
	return strtoull(text, NULL, 10);
}

/* Tasks that have an account, and not one of their own. */

enum who { USER, IN_NAMESPACE, SUBORDINATE, POWERLESS };

typedef unsigned int (*work_fn)(const void *arg);

struct job {
	enum who who;
	work_fn work;
	const void *arg;
};

/* Maps the ids of a process as newuidmap(1) does: 0 is ALICE, the others are subordinate ids. */
static bool map_ids(pid_t pid)
{
	char path[64], map[64];
	bool good;

	snprintf(map, sizeof(map), "0 %u 1\n1 100000 65535\n", ALICE);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	good = write_line(path, map);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	return good && write_line(path, map);
}

/* Makes a namespace of ALICE with 65536 uids. For uid 0: a child keeps the right to map ids. */
static bool enter_mapped(void)
{
	pid_t self = getpid(), mapper;
	int made[2], status = 1;
	char byte = 0;

	if (pipe(made))
		return false;
	mapper = fork();
	if (!mapper) {
		close(made[1]);
		_exit(read(made[0], &byte, 1) != 1 || !map_ids(self));
	}
	become(ALICE, ALICE, 0);
	return !unshare(CLONE_NEWUSER) && write(made[1], &byte, 1) == 1 &&
	       waitpid(mapper, &status, 0) == mapper && !status;
}

static unsigned int run_job(const void *arg)
{
	const struct job *job = arg;

	if (job->who == IN_NAMESPACE ? !enter_namespace() :
	    job->who == SUBORDINATE ? !enter_mapped() :
	    job->who == POWERLESS ? !keep_capabilities(0) : false)
		return NO_RESULT;
	return job->work(job->arg);
}

static unsigned int as_who(enum who who, work_fn work, const void *arg)
{
	struct job job = { who, work, arg };
	uid_t uid = who == SUBORDINATE || who == POWERLESS ? 0 : ALICE;

	return as(uid, uid, 0, run_job, &job);
}

/* as_who() once the memory of earlier tests is freed: until then it counts. */
static unsigned int alone_as(enum who who, work_fn work, const void *arg)
{
	used_at_last(before);
	return as_who(who, work, arg);
}

/* Work for as(): each function returns 0, or a number that tells where it failed. */

/**
 * struct share - two belts, which are filled, and may have so much together
 * @what:	for the test line
 * @who:	whose belts they are; of a namespace with many uids, each belongs to another one
 * @policy:	their policy
 * @most:	the limit
 */
static const struct share {
	const char *what;
	enum who who;
	__u32 policy;
	__u64 most;
} shares[] = {
	{ "a user's belts take no more than user_max_bytes", USER, 0, SHARE },
	{ "a user gets no larger share in a user namespace of its own", IN_NAMESPACE, 0, SHARE },
	{ "two uids of a user's namespace share one user_max_bytes", SUBORDINATE, 0, SHARE },
	{ "uid 0 without capabilities uses no more than user_max_bytes", POWERLESS, 0, SHARE },
	{ "a user's pinned belts take at most half of its quota", USER, HASHBELT_PINNED,
	  SHARE / 2 },
	{ "a user's pinned belts take no more in a user namespace of its own", IN_NAMESPACE,
	  HASHBELT_PINNED, SHARE / 2 },
}, whole_share = {
	"a user's pinned belts take its whole quota at user_max_pinned 100", USER, HASHBELT_PINNED,
	SHARE
};

static unsigned int fill_two(const void *arg)
{
	const struct share *share = arg;
	__u64 bytes, more;
	int belt, other;

	if (share->who == SUBORDINATE)
		setfsuid(1);
	belt = new_of(share->policy);
	if (share->who == SUBORDINATE)
		setfsuid(2);
	other = new_of(share->policy);
	if (belt < 0 || other < 0)
		return 1;
	if (fill_for_good(belt, 4000, &bytes) != -EDQUOT)
		return 2;
	if (bytes > share->most || bytes <= share->most / 2)
		return 3;
	if (fill_for_good(other, 4000, &more) != -EDQUOT)
		return 4;
	*taken = bytes + more;
	return bytes + more > share->most ? 5 : 0;
}

static void test_share(const struct share *share)
{
	is_int(alone_as(share->who, fill_two, share), 0, "%s: EDQUOT", share->what);
	note("they take %llu of %lu bytes", *taken, SHARE);
}

/* Fills new belts one after the other: memory that is not freed yet still counts. */
static unsigned int fill_again(const void *arg)
{
	unsigned int round, count;
	int belt;

	(void)arg;
	for (round = 0; round < scaled_from(5, 20); round++) {
		belt = new_of(0);
		if (belt < 0 && belt != -EDQUOT)
			return 1;
		if (belt < 0)
			continue;
		fill_up(belt, 65536, &count);
		if (used_now() > before + SHARE + SHARE / 8)
			return 2;
		close(belt);
	}
	return 0;
}

static void test_memory(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shares); i++)
		test_share(&shares[i]);
	is_int(alone_as(USER, fill_again, NULL), 0,
	       "a user's closed belts count in its share until their memory is free");
}

/* Belts of other users */

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
	int belt = new_of(0);

	(void)arg;
	return belt < 0 || !can_put(&belt);
}

/* Fills a new belt. Return: 0 if it and the @arg bytes of another one are within the quota. */
static unsigned int fill_rest(const void *arg)
{
	int belt = new_of(0);
	__u64 bytes;

	if (belt < 0)
		return belt != -EDQUOT;
	return fill_for_good(belt, 4000, &bytes) != -EDQUOT || bytes + *(const __u64 *)arg > SHARE;
}

static void test_owner(void)
{
	int fd = open_device(O_RDWR);
	unsigned int count;
	__u64 bytes;

	if (as(ALICE, ALICE, 0, make_open, "alice") || open_belt(fd, "alice"))
		bail_out("no belt");
	is_int(as(BOB, BOB, 0, fill_named, "alice"), EDQUOT,
	       "put by a second user in a full share of the belt's owner returns EDQUOT");
	is_errno(fill_for_good(fd, 4000, &bytes), EDQUOT,
		 "put by the superuser in a full share of the belt's owner returns EDQUOT");
	is_int(as(BOB, BOB, 0, put_in_own, NULL), 0,
	       "put by a user that filled another user's belt succeeds in its own belt");
	is_int(as(ALICE, ALICE, 0, fill_rest, &bytes), 0,
	       "an owner whose belt others have filled has no more than the rest of its share");
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

/* The part of the module's memory that users leave to the superuser */

/* Fills a belt of @name, which @uid owns, and returns the last error. */
static int fill_of(uid_t uid, const char *name, int fd)
{
	unsigned int count;

	if (as(uid, uid, 0, make_open, name) || open_belt(fd, name))
		bail_out("no belt");
	fill_up(fd, 4000, &count);
	return fill_up(fd, 0, &count);
}

static void test_reserve(void)
{
	int alice = open_device(O_RDWR), bob = open_device(O_RDWR), belt;
	__u64 most = 2 * SHARE, used;
	unsigned int count;

	set_number("max_bytes", most);
	is_errno(fill_of(ALICE, "alice", alice), EDQUOT,
		 "a user whose share is half of max_bytes fills it: EDQUOT");
	is_errno(fill_of(BOB, "bob", bob), ENOSPC,
		 "two users whose shares are half of max_bytes cannot fill both: ENOSPC");
	used = get_parameter("used_bytes");
	ok(used <= most - most / 8 && used > most / 4 * 3, "users leave an eighth of max_bytes");
	note("users fill %llu of %llu bytes", used, most);
	belt = new_of(0);
	if (!ok(belt >= 0, "the superuser makes a belt where users have filled their part"))
		note("create: %s", error_name(belt));
	is_errno(belt < 0 ? belt : fill_up(belt, 0, &count), ENOSPC,
		 "the superuser fills max_bytes where users have filled their part: ENOSPC");
	used = get_parameter("used_bytes");
	ok(belt >= 0 && used <= most && used > most / 16 * 15,
	   "the superuser uses the eighth of max_bytes that users leave");
	note("the superuser fills them up to %llu", used);
	if (belt >= 0)
		close(belt);
	destroy_belt(alice, "alice");
	destroy_belt(bob, "bob");
	close(alice);
	close(bob);
}

/* Pinned belts, for which a user has half of its quota */

static int set_policy(int belt, __u32 policy)
{
	return set_belt(belt, (struct hashbelt_settings){
		.fields = HASHBELT_SET_POLICY, .policy = policy });
}

/* A belt that was created pinned is charged to the part, whether it is pinned now or not. */
static unsigned int fill_unpinned(const void *arg)
{
	int belt = new_of(HASHBELT_PINNED);
	__u64 bytes;

	(void)arg;
	if (belt < 0 || set_policy(belt, 0))
		return 1;
	if (fill_for_good(belt, 4000, &bytes) != -EDQUOT || bytes > SHARE / 2)
		return 2;
	if (set_policy(belt, HASHBELT_PINNED) || info_of(belt).policy != HASHBELT_PINNED)
		return 3;
	/* A pinned belt that was given up makes room for another one. */
	close(belt);
	return new_of(HASHBELT_PINNED) < 0 ? 4 : 0;
}

static unsigned int make_pinned(const void *arg)
{
	int belt = new_of(HASHBELT_PINNED);

	(void)arg;
	return belt < 0 ? -belt : 0;
}

/* A refused SET changes nothing, also not the settings beside the policy. */
static unsigned int set_more_of_own(const void *arg)
{
	struct hashbelt_settings more = {
		.fields = HASHBELT_SET_POLICY | HASHBELT_SET_TTL, .ttl_ms = 2 * HOUR,
		.policy = HASHBELT_PINNED | HASHBELT_EVICT,
	};
	int belt = new_of(HASHBELT_WIPE);

	(void)arg;
	if (belt < 0 || set_belt(belt, more) != -EPERM)
		return 1;
	if (info_of(belt).policy != HASHBELT_WIPE || info_of(belt).ttl_ms != HOUR)
		return 2;
	/* The policy is not named: PINNED in it is ignored. */
	more.fields = HASHBELT_SET_TTL;
	if (set_belt(belt, more) || info_of(belt).policy != HASHBELT_WIPE ||
	    info_of(belt).ttl_ms != 2 * HOUR)
		return 3;
	return set_policy(belt, HASHBELT_EVICT) ? 4 : 0;
}

static void test_pinned(void)
{
	is_int(alone_as(USER, fill_unpinned, NULL), 0,
	       "a belt that was created pinned keeps that limit when unpinned, and is pinned again");
	is_int(alone_as(USER, set_more_of_own, NULL), 0,
	       "a refused SET of PINNED changes nothing, and PINNED in a policy that is not set is ignored");
	set_number("user_max_pinned", 100);
	test_share(&whole_share);
	set_number("user_max_pinned", 0);
	is_int(alone_as(USER, make_pinned, NULL), EDQUOT,
	       "create of a pinned belt by a user returns EDQUOT at user_max_pinned 0");
	is_int(alone_as(USER, put_in_own, NULL), 0,
	       "put in a user's belt that is not pinned succeeds at user_max_pinned 0");
	set_number("user_max_pinned", 50);
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

/* Makes belts until a create fails, at most 20; returns their number and the errno. */
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
		/* Every other belt has a name; the others end with this process. */
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

/* True as soon as a belt can be made: earlier belts take a while to be freed. */
static bool can_make(void *arg)
{
	int fd = new_of(0);

	(void)arg;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

#define UIDS	65536u	/* in a namespace of map_ids() */

/* The number of these that a test uses. */
static unsigned int uids(void)
{
	return scaled(100) == 100 ? UIDS : 64;
}

/* Each uid of a namespace tries to make a belt. As make_many(). */
static unsigned int make_as_all(const void *arg)
{
	unsigned int n = 0;
	int fd, err = 0;
	uid_t uid;

	(void)arg;
	for (uid = 0; uid < UIDS; uid += UIDS / uids()) {
		setfsuid(uid);
		if ((uid_t)setfsuid(-1) != uid)
			return NO_RESULT;
		fd = new_of(0);
		if (fd >= 0)
			n++;
		else
			err = -fd;
	}
	return n << 16 | err;
}

/* A uid of a namespace makes a namespace in it. */
static unsigned int make_nested(const void *arg)
{
	if (setresuid(1, 1, 1) || unshare(CLONE_NEWUSER))
		return NO_RESULT;
	return make_many(arg);
}

/* Makes belts and destroys each by its name; two descriptors stay bound to each. As make_many(). */
static unsigned int make_and_destroy(const void *arg)
{
	struct hashbelt_settings settings = { .ttl_ms = HOUR };
	unsigned int n;
	int fd, err = 0;

	snprintf(settings.name, sizeof(settings.name), "%s", (const char *)arg);
	for (n = 0; n < 20; n++) {
		fd = open(HASHBELT_DEVICE, O_RDWR);
		if (fd < 0)
			return NO_RESULT;
		err = call(fd, HASHBELT_IOC_CREATE, &settings);
		if (err)
			break;
		if (open_belt(open(HASHBELT_DEVICE, O_RDWR), arg) || destroy_belt(fd, arg))
			return NO_RESULT;
	}
	return n << 16 | -err;
}

static void end_belts(const char *prefix)
{
	as(0, 0, 0, destroy_many, prefix);
}

static void test_user_belts(void)
{
	unsigned int made;

	set_number("user_max_belts", 6);
	is_made(as(ALICE, ALICE, 0, make_many, "alice"), 6, EDQUOT,
		"a user makes user_max_belts belts, with names and without: EDQUOT");
	is_made(as(BOB, BOB, 0, make_many, "bob"), 6, EDQUOT,
		"another user makes user_max_belts belts beside those of the first: EDQUOT");
	is_made(as(0, 0, 0, make_many, "root"), 20, 0,
		"the superuser makes more belts than user_max_belts");
	end_belts("alice");
	end_belts("bob");
	end_belts("root");
	is_made(as(ALICE, ALICE, 0, make_and_destroy, "held"), 20, 0,
		"destroyed belts with bound descriptors do not count against user_max_belts");
	is_made(as_who(USER, make_many, "alice"), 6, EDQUOT,
		"a user makes belts in place of those that it has destroyed and closed");
	/* Belts with a name outlive their process: there are three. */
	is_made(as_who(IN_NAMESPACE, make_many, "more"), 3, EDQUOT,
		"a user in a user namespace of its own makes no more belts: EDQUOT");
	end_belts("more");
	is_made(as_who(SUBORDINATE, make_nested, "nested"), 3, EDQUOT,
		"a namespace in a user's namespace shares the user's user_max_belts: EDQUOT");
	end_belts("nested");
	end_belts("alice");
	is_made(as_who(POWERLESS, make_many, "root"), 6, EDQUOT,
		"uid 0 without capabilities makes user_max_belts belts: EDQUOT");
	end_belts("root");
	made = as_who(SUBORDINATE, make_as_all, NULL);
	is_made(made, 6, EDQUOT,
		"all uids of a user's namespace make user_max_belts belts together: EDQUOT");
	note("1 account: %u uids make %u belts, of which each account may have 6", uids(),
	     made >> 16);
}

#define HELD		16	/* events of 64 KiB that a reader does not acknowledge */
#define HELD_LEN	65536
#define HELD_BELTS	8

/*
 * A named belt of ALICE with many buckets, entries, and events that another task has read and does
 * not acknowledge. Return: that task's descriptor.
 */
static int hold_belt(unsigned int number)
{
	struct hashbelt_settings settings = {
		.ttl_ms = HOUR, .buckets = 4096, .handler = HASHBELT_NOTIFY, .mode = 0666,
	};
	static char records[HELD * (HELD_LEN + 256)];
	int belt = open_device(O_RDWR), reader = open_device(O_RDWR);
	unsigned int i;

	snprintf(settings.name, sizeof(settings.name), "held%u", number);
	setfsuid(ALICE);
	must(belt, HASHBELT_IOC_CREATE, &settings);
	setfsuid(0);
	if (open_belt(reader, settings.name))
		bail_out("%s: no such belt", settings.name);
	watch(reader, HASHBELT_WATCH_ACK);
	for (i = 0; i < HELD; i++)
		put_zeros(belt, i, HELD_LEN, 0);
	advance(belt, 3 * HOUR);
	if (read(reader, records, sizeof(records)) < HELD * (ssize_t)HELD_LEN)
		bail_out("%s: there are fewer events", settings.name);
	for (i = 0; i < scaled_from(100, 1000); i++)
		put_zeros(belt, i, 200, 0);
	close(belt);
	return reader;
}

/* Tasks of other users keep descriptors that are bound to the belts that a user destroys. */
static void test_held(void)
{
	int fd = open_device(O_RDWR), readers[HELD_BELTS], err = 0;
	__u64 full, left;
	char name[32];
	unsigned int i;

	for (i = 0; i < HELD_BELTS; i++)
		readers[i] = hold_belt(i);
	full = used_now();
	setfsuid(ALICE);
	for (i = 0; i < HELD_BELTS && !err; i++) {
		snprintf(name, sizeof(name), "held%u", i);
		err = destroy_belt(fd, name);
	}
	setfsuid(0);
	left = used_now();
	is_int(err, 0, "a user destroys belts that other tasks have open, with events in flight");
	ok(full - before > HELD_BELTS * HELD * HELD_LEN && left == before,
	   "all memory of destroyed belts is freed when DESTROY returns");
	note("%llu of %llu bytes were not freed", left - before, full - before);
	for (i = 0; i < HELD_BELTS; i++) {
		err += call(readers[i], HASHBELT_IOC_CLEAR, NULL) == -EIDRM;
		close(readers[i]);
	}
	is_int(err, HELD_BELTS, "the descriptors of these tasks return EIDRM");
	close(fd);
}

/* A get of a belt that never ends: its page fault does not. */
static int get_for_good(void *arg)
{
	unsigned int number = 0;
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number),
		.value = address(sticky_pages(PAGE)), .value_len = PAGE,
	};

	return call(open_named(arg), HASHBELT_IOC_GET, &item);
}

/* A call that goes on keeps a destroyed belt, but no event that was read and not acknowledged. */
static void test_held_by_call(void)
{
	int fd = open_device(O_RDWR), reader = hold_belt(0);
	pid_t child = start(get_for_good, "held0");
	__u64 full;

	await_sleep(child, __NR_ioctl);
	full = used_now();
	if (destroy_belt(fd, "held0"))
		bail_out("destroy: %s", strerror(errno));
	ok(used_at_last(full - HELD * HELD_LEN),
	   "events in flight of a destroyed belt are freed while a call on it goes on");
	kill_and_wait(child);
	close(reader);
	close(fd);
}

static void test_belts(void)
{
	unsigned int names = count_names(), made, left;

	set_number("max_belts", names);
	is_int(new_of(0), -ENOSPC, "create returns ENOSPC when there are max_belts belts");
	set_number("max_belts", names + 4);
	at_last(can_make, NULL);
	is_made(as(0, 0, 0, make_many, "root"), 4, ENOSPC,
		"create makes belts up to a max_belts that was raised by four: ENOSPC");
	is_made(as(ALICE, ALICE, 0, make_many, "alice"), 2, ENOSPC,
		"a user makes the belts that the superuser has left of max_belts: ENOSPC");
	end_belts("root");
	end_belts("alice");
	is_int(count_names(), names, "the belts of a process that ended are gone");
	set_number("max_belts", 16);
	made = as(ALICE, ALICE, 0, make_many, "alice");
	is_made(made, 14 - names, ENOSPC,
		"users leave the superuser an eighth of max_belts: ENOSPC");
	left = 16 - count_names();
	is_made(as(0, 0, 0, make_many, "root"), left, ENOSPC,
		"the superuser makes more belts than users have left: ENOSPC");
	note("of max_belts 16 a user makes %u beside %u others; the superuser has the rest",
	     made >> 16, names);
	end_belts("root");
	end_belts("alice");
	set_number("max_belts", names - 1);
	is_int(new_of(0), -ENOSPC,
	       "create returns ENOSPC when max_belts is set below the number of belts");
}

int main(void)
{
	static const char *const names[] = {
		"max_bytes", "user_max_bytes", "max_belts", "user_max_belts",
		"user_max_pinned",
	};
	__u64 was[ARRAY_SIZE(names)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		was[i] = get_parameter(names[i]);
	is_int(was[2], 131072, "max_belts is 131072 by default");
	is_int(was[3], 1024, "user_max_belts is 1024 by default");
	is_int(was[4], 50, "user_max_pinned is 50 by default");
	ok(was[1] && was[1] <= was[0],
	   "user_max_bytes is set and no larger than max_bytes by default");
	chmod(HASHBELT_DEVICE, 0666);
	before = get_parameter("used_bytes");
	used_fd = open(PARAMETERS "used_bytes", O_RDONLY);
	taken = shared_memory(sizeof(*taken));
	set_number("user_max_bytes", SHARE);
	test_memory();
	used_at_last(before);
	test_owner();
	test_pinned();
	used_at_last(before);
	test_reserve();
	set_number("max_bytes", was[0]);
	set_number("user_max_bytes", was[1]);
	used_at_last(before);
	set_exempt(false);
	test_held();
	test_held_by_call();
	used_at_last(before);
	set_exempt(true);
	test_user_belts();
	set_number("user_max_belts", was[3]);
	test_belts();
	set_number("max_belts", was[2]);
	chmod(HASHBELT_DEVICE, 0600);
	ok(used_at_last(before),
	   "used_bytes of the module is what it was when all belts are destroyed");
	return done_testing();
}
