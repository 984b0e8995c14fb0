// SPDX-License-Identifier: GPL-2.0-only
/*
 * expired_test - at each limit, entries that have expired make room for new ones before their
 * bucket falls off: in the belt of the put and in the other belts of its account, also where they
 * stand behind entries that live. The limits of a belt: tests/kunit/evict_test.c. Restores all
 * parameters. Needs the superuser.
 *
 * Hostile user: fills its account with 1000 belts in which nothing has expired; result: a put at
 * the limit looks at each once, and at none of another account.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "process.h"

#define ALICE		1000
#define HOUR		3600000ULL	/* time-to-live of the belts, milliseconds */
#define SHARE		scaled_from(MIB / 2, MIB)	/* memory for entries by the thousand */
#define LIVE		400u		/* over 16 in each shard */
#define NEW		100u
#define MANY_MAX	1000u
#define MANY		scaled_from(100, MANY_MAX)
#define GROUP		"/sys/fs/cgroup/hashbelt-expired/"
#define GROUP_MAX	(8 * MIB)

enum place { OWN, BEHIND, OTHER };

static const char *const places[] = { "of the belt", "behind live ones", "of another belt" };

/**
 * struct limit - one that puts come to
 * @name:	for the test line
 * @uid:	the user whose belts they are
 * @len:	length of the values
 * @settings:	of the belts
 * @err:	the error of a put there
 * @set:	sets the limit
 * @makes:	at the limit belts are made, too
 */
struct limit {
	const char *name;
	uid_t uid;
	__u32 len;
	struct hashbelt_settings settings;
	int err;
	void (*set)(void);
	bool makes;
};

static __u64 user_max_bytes, user_max_pinned, max_bytes, before;
static bool has_group;	/* the kernel has cgroups of version 2 that limit memory */

static void limit_user(void)
{
	set_number("user_max_bytes", SHARE);
}

static void limit_pinned(void)
{
	set_number("user_max_bytes", 2 * SHARE);
	set_number("user_max_pinned", 50);
}

static void limit_module(void)
{
	set_number("max_bytes", get_parameter("used_bytes") + SHARE);
}

static void limit_group(void)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", GROUP_MAX);
	if ((mkdir(GROUP, 0755) && errno != EEXIST) || !write_line(GROUP "memory.max", text))
		bail_out("%s: %s", GROUP, strerror(errno));
}

static const struct limit limits[] = {
	{ "user_max_bytes", ALICE, 16, {}, -EDQUOT, limit_user, .makes = true },
	{ "user_max_pinned", ALICE, 16, { .policy = HASHBELT_PINNED }, -EDQUOT, limit_pinned,
	  .makes = true },
	{ "max_bytes of the module", 0, 16, {}, -ENOSPC, limit_module, .makes = true },
	{ "the limit of a cgroup", 0, 1000, { .policy = HASHBELT_PINNED }, -ENOMEM, limit_group,
	  .makes = false },
};

/* Puts new keys until a put fails; returns its error. */
static int fill(int belt, __u32 len)
{
	unsigned int number = LIVE;
	int err;

	do {
		err = put_zeros(belt, number++, len, 1000);
	} while (!err && number < 200000);
	return err;
}

static unsigned int count_live(int belt)
{
	unsigned int number, live = 0;

	for (number = 0; number < LIVE; number++) {
		struct hashbelt_item item = {
			.key = address(&number), .key_len = sizeof(number),
			.how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH,
		};

		live += !call(belt, HASHBELT_IOC_GET, &item);
	}
	return live;
}

struct scene {
	const struct limit *limit;
	__u32 buckets;
	enum place place;
};

/* Work for as(): 0, or a number that tells where it failed, and the error. */
#define FAIL(step, err)	((step) * 1000 + (unsigned int)-(err))

static unsigned int put_new(int belt, const struct scene *scene)
{
	unsigned int number;
	int err;

	for (number = 0; number < NEW; number++) {
		err = put_zeros(belt, 1000000 + number, scene->limit->len, 0);
		if (err)
			return FAIL(2, err);
	}
	/* It needs the room of many. */
	err = put_zeros(belt, 2000000, 100000, 0);
	if (err)
		return FAIL(3, err);
	return 0;
}

/* Making a belt takes memory as well, and so does giving one more buckets. */
static unsigned int make_another(int belt, const struct scene *scene)
{
	struct hashbelt_settings settings = scene->limit->settings;
	int another = open_device(O_RDWR), err;

	settings.ttl_ms = HOUR;
	settings.buckets = 500;
	err = call(another, HASHBELT_IOC_CREATE, &settings);
	if (err)
		return FAIL(5, err);
	close(another);
	settings = (struct hashbelt_settings){ .fields = HASHBELT_SET_BUCKETS, .buckets = 600 };
	err = set_belt(belt, settings);
	return err ? FAIL(6, err) : 0;
}

static unsigned int run_scene(const struct scene *scene)
{
	struct hashbelt_settings settings = scene->limit->settings;
	unsigned int number, failed;
	int belt, full, err;

	settings.ttl_ms = HOUR;
	settings.buckets = scene->buckets;
	belt = belt_of(settings);
	full = scene->place == OTHER ? belt_of(settings) : belt;
	if (scene->place == BEHIND)
		for (number = 0; number < LIVE; number++)
			put_zeros(belt, number, scene->limit->len, HOUR / 2);
	err = fill(full, scene->limit->len);
	if (err != scene->limit->err)
		return FAIL(1, err);
	advance(full, 2000);
	failed = put_new(belt, scene);
	if (failed)
		return failed;
	if (scene->place == BEHIND && count_live(belt) != LIVE)
		return FAIL(4, 0);
	return scene->limit->makes ? make_another(belt, scene) : 0;
}

/*
 * In the full cgroup other allocations of the kernel would have the process killed: it has its
 * pages before, and leaves the cgroup through a file that was opened before.
 */
static unsigned int run(const void *arg)
{
	const struct scene *scene = arg;
	unsigned int failed;
	int outside;

	if (scene->limit->set != limit_group)
		return run_scene(scene);
	outside = open("/sys/fs/cgroup/cgroup.procs", O_WRONLY);
	if (outside < 0 || mlockall(MCL_CURRENT) || !write_line(GROUP "cgroup.procs", "0"))
		return FAIL(7, -errno);
	failed = run_scene(scene);
	return write(outside, "0", 1) == 1 ? failed : FAIL(8, -errno);
}

/* The next belts must not find the memory of these in use. */
static void restore(void)
{
	set_number("max_bytes", max_bytes);
	set_number("user_max_bytes", user_max_bytes);
	set_number("user_max_pinned", user_max_pinned);
	used_at_last(before);
}

static void test_limit(const struct limit *limit, __u32 buckets)
{
	struct scene scene = { .limit = limit, .buckets = buckets };

	for (; scene.place <= OTHER; scene.place++) {
		if (limit->set == limit_group && !has_group) {
			skip(1, "there is no cgroup with memory here");
			continue;
		}
		limit->set();
		is_int(as(limit->uid, limit->uid, 0, run, &scene), 0,
		       "at %s expired entries %s make room, with %u buckets", limit->name,
		       places[scene.place], buckets);
		restore();
	}
}

/* Of many belts, all have an entry that lives, and one has those that have expired. */
static unsigned int run_many(const void *arg)
{
	static int belts[MANY_MAX];
	unsigned int i;
	int err;

	(void)arg;
	for (i = 0; i < MANY; i++) {
		belts[i] = belt_of((struct hashbelt_settings){ .ttl_ms = HOUR, .buckets = 2 });
		put_zeros(belts[i], 0, 16, 0);
	}
	err = fill(belts[MANY / 2], 3000);
	if (err != -EDQUOT)
		return FAIL(1, err);
	advance(belts[MANY / 2], 2000);
	for (i = 0; i < MANY; i += MANY / 10) {
		err = put_zeros(belts[i], 1, 3000, 0);
		if (err)
			return FAIL(2, err);
	}
	return 0;
}

int main(void)
{
	struct rlimit files = { 2 * MANY, 2 * MANY };
	unsigned int i;

	before = get_parameter("used_bytes");
	max_bytes = get_parameter("max_bytes");
	user_max_bytes = get_parameter("user_max_bytes");
	user_max_pinned = get_parameter("user_max_pinned");
	if (setrlimit(RLIMIT_NOFILE, &files))
		bail_out("setrlimit: %s", strerror(errno));
	if (chmod(HASHBELT_DEVICE, 0666))
		bail_out("chmod: %s", strerror(errno));
	has_group = write_line("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		test_limit(&limits[i], 2);
		if (scaled(100) == 100)
			test_limit(&limits[i], 1000);
	}
	set_number("user_max_bytes", MANY * 65536);
	is_int(as(ALICE, ALICE, 0, run_many, NULL), 0,
	       "at user_max_bytes expired entries of one of %u belts make room in the others",
	       MANY);
	restore();
	rmdir(GROUP);
	chmod(HASHBELT_DEVICE, 0600);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
