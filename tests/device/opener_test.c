// SPDX-License-Identifier: GPL-2.0-only
/*
 * opener_test - rights are those that the task which opened the device and the caller both have.
 *
 * Tasks with each of some credentials open the device and pass the descriptor on. Tasks with each
 * of these credentials call through it. Every call that checks a right is tried with every such
 * pair: it must succeed if both have the right, and fail if either of them lacks it.
 *
 * Hostile user: passes a descriptor to a privileged program; result: by none of 169 pairs of
 * credentials a call succeeds for which either of the two lacks the right.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "process.h"

#define OWNER	1000
#define GROUP	2000
#define OTHER	3000

/* Whose credentials: index of tasks[]. */
enum task {
	ROOT, POWERLESS, ADMIN, RESOURCE, OWNS, OWNS_ONLY, MEMBER, JOINED, STRANGER,
	STRANGER_ADMIN, STRANGER_RESOURCE, STRANGER_BOTH, INSIDE,
	TASKS
};

#define BIT(task)	(1u << (task))
#define CAP(name)	(1u << CAP_##name)

/* Sets of tasks. */
#define ADMINS		(BIT(ROOT) | BIT(ADMIN) | BIT(STRANGER_ADMIN) | BIT(STRANGER_BOTH))
#define RESOURCEFUL	(BIT(ROOT) | BIT(RESOURCE) | BIT(STRANGER_RESOURCE) | BIT(STRANGER_BOTH))
#define MEMBERS		(BIT(OWNS) | BIT(MEMBER) | BIT(JOINED))

static const struct {
	const char *name;
	uid_t uid;
	gid_t gid;
	gid_t group;		/* supplementary */
	__u32 capabilities;
} tasks[TASKS] = {
	[ROOT] = { "the superuser", 0, 0, 0, ~0u },
	[POWERLESS] = { "uid 0 without capabilities", 0, 0, 0, 0 },
	[ADMIN] = { "uid 0 with CAP_SYS_ADMIN", 0, 0, 0, CAP(SYS_ADMIN) },
	[RESOURCE] = { "uid 0 with CAP_SYS_RESOURCE", 0, 0, 0, CAP(SYS_RESOURCE) },
	[OWNS] = { "the owner, of the group", OWNER, GROUP, 0, 0 },
	[OWNS_ONLY] = { "the owner, of another group", OWNER, OTHER, 0, 0 },
	[MEMBER] = { "a member", OTHER, GROUP, 0, 0 },
	[JOINED] = { "a member by supplementary group", OTHER, OTHER, GROUP, 0 },
	[STRANGER] = { "another user", OTHER, OTHER, 0, 0 },
	[STRANGER_ADMIN] = { "a user with CAP_SYS_ADMIN", OTHER, OTHER, 0, CAP(SYS_ADMIN) },
	[STRANGER_RESOURCE] = { "a user with CAP_SYS_RESOURCE", OTHER, OTHER, 0,
				CAP(SYS_RESOURCE) },
	[STRANGER_BOTH] = { "a user with both capabilities", OTHER, OTHER, 0,
			    CAP(SYS_ADMIN) | CAP(SYS_RESOURCE) },
	[INSIDE] = { "the superuser of a user namespace", OTHER, OTHER, 0, 0 },
};

#define READER	(HASHBELT_MAY_READ | HASHBELT_MAY_CONSUME)
#define ALL	(READER | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN)

/* A belt, and the rights to it that each task has by itself. */
struct belt {
	const char *name;
	enum task maker;
	__u32 mode;
	__u32 consumers;
	__u32 access[TASKS];
};

#define OF_ADMINS	\
	[ROOT] = ALL, [ADMIN] = ALL, [STRANGER_ADMIN] = ALL, [STRANGER_BOTH] = ALL

static const struct belt belts[] = {
	{ "user's", OWNS, 0640, HASHBELT_CONSUMERS_READERS, {
		OF_ADMINS, [OWNS] = ALL, [OWNS_ONLY] = ALL, [MEMBER] = READER, [JOINED] = READER,
	} },
	{ "open", OWNS, 0626, HASHBELT_CONSUMERS_READERS, {
		OF_ADMINS, [OWNS] = ALL, [OWNS_ONLY] = ALL, [MEMBER] = HASHBELT_MAY_WRITE,
		[JOINED] = HASHBELT_MAY_WRITE, [POWERLESS] = READER | HASHBELT_MAY_WRITE,
		[RESOURCE] = READER | HASHBELT_MAY_WRITE, [STRANGER] = READER | HASHBELT_MAY_WRITE,
		[STRANGER_RESOURCE] = READER | HASHBELT_MAY_WRITE,
		[INSIDE] = READER | HASHBELT_MAY_WRITE,
	} },
	{ "consumed", OWNS, 0644, HASHBELT_CONSUMERS_OWNER, {
		OF_ADMINS, [OWNS] = ALL, [OWNS_ONLY] = ALL, [MEMBER] = HASHBELT_MAY_READ,
		[JOINED] = HASHBELT_MAY_READ, [POWERLESS] = HASHBELT_MAY_READ,
		[RESOURCE] = HASHBELT_MAY_READ, [STRANGER] = HASHBELT_MAY_READ,
		[STRANGER_RESOURCE] = HASHBELT_MAY_READ, [INSIDE] = HASHBELT_MAY_READ,
	} },
	{ "superuser's", ROOT, 0604, HASHBELT_CONSUMERS_READERS, {
		OF_ADMINS, [RESOURCE] = ALL, [OWNS] = READER, [OWNS_ONLY] = READER,
		[MEMBER] = READER, [JOINED] = READER, [STRANGER] = READER,
		[STRANGER_RESOURCE] = READER, [INSIDE] = READER,
	} },
	{ "powerless", POWERLESS, 0600, HASHBELT_CONSUMERS_READERS, {
		OF_ADMINS, [POWERLESS] = ALL, [RESOURCE] = ALL,
	} },
};

/* The belt to which a descriptor is bound when it is opened. */
static const struct belt default_belt = { HASHBELT_DEFAULT_BELT, ROOT, 0600, 0, {
	OF_ADMINS, [RESOURCE] = ALL,
} };

/* Descriptors by the task that has opened them, and results by that task and the caller. */
static int opened[TASKS];
static int (*results)[TASKS];

static bool assume(enum task task)
{
	__u32 kept = tasks[task].capabilities;

	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(!!tasks[task].group, &tasks[task].group) ||
	    setresgid(tasks[task].gid, tasks[task].gid, tasks[task].gid) ||
	    setresuid(tasks[task].uid, tasks[task].uid, tasks[task].uid))
		return false;
	if (task == INSIDE)
		return prctl(PR_SET_DUMPABLE, 1) == 0 && enter_namespace();
	return kept == ~0u || keep_capabilities(kept);
}

/* A call through the descriptor that @opener has opened. Return: a number of the test's choice. */
typedef int (*attempt_fn)(enum task opener, enum task caller, const void *arg);

struct work {
	enum task task;
	attempt_fn attempt;
	const void *arg;
};

static int call_all(void *arg)
{
	const struct work *work = arg;
	unsigned int opener;

	if (!assume(work->task))
		return 1;
	for (opener = 0; opener < TASKS; opener++)
		results[opener][work->task] = work->attempt(opener, work->task, work->arg);
	return 0;
}

/* Has a process with the credentials of @task make an attempt through each descriptor. */
static void call_as(enum task task, attempt_fn attempt, const void *arg)
{
	if (finish(start(call_all, &(struct work){ task, attempt, arg })))
		bail_out("no process as %s", tasks[task].name);
}

static int open_and_send(void *arg)
{
	const int *pair = arg;

	if (!assume(pair[0]))
		return 1;
	send_descriptor(pair[1], open_device(O_RDWR | O_NONBLOCK));
	return 0;
}

/* New descriptors, each opened by its task and bound to the default belt. */
static void open_all(void)
{
	unsigned int task;
	int sockets[2];

	for (task = 0; task < TASKS; task++) {
		if (opened[task] > 0)
			close(opened[task]);
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
			bail_out("socketpair: %s", strerror(errno));
		if (finish(start(open_and_send, (int []){ task, sockets[1] })))
			bail_out("cannot open the device as %s", tasks[task].name);
		opened[task] = receive_descriptor(sockets[0]);
		close(sockets[0]);
		close(sockets[1]);
	}
}

/* The number that a pair of tasks is to get. */
typedef int (*expectation_fn)(enum task opener, enum task caller, const void *arg);

/* True if each pair of tasks got what it is to get, and not all of them got the same. */
static bool agrees(expectation_fn expected, const void *arg)
{
	unsigned int opener, caller, wrong = 0, other = 0;
	int first = results[0][0], want;

	for (opener = 0; opener < TASKS; opener++) {
		for (caller = 0; caller < TASKS; caller++) {
			want = expected(opener, caller, arg);
			other += results[opener][caller] != first;
			if (results[opener][caller] == want)
				continue;
			if (!wrong++)
				note("%s opens, %s calls: expected %d, found %d",
				     tasks[opener].name, tasks[caller].name, want,
				     results[opener][caller]);
		}
	}
	if (wrong)
		note("%u of %u pairs are wrong", wrong, TASKS * TASKS);
	return !wrong && other;
}

/* Makes an attempt with each pair of tasks; @before runs before those of a caller. */
static bool try_pairs(void (*before)(enum task caller), attempt_fn attempt, expectation_fn expected,
		      const void *arg)
{
	unsigned int caller;

	for (caller = 0; caller < TASKS; caller++) {
		if (before)
			before(caller);
		call_as(caller, attempt, arg);
	}
	return agrees(expected, arg);
}

/* Access */

static int may(int fd, unsigned long request, const void *arg, int right)
{
	int err = call(fd, request, arg);

	return err == -EPERM ? 0 : !err || err == -ENOENT ? right : 1 << 16;
}

/* The rights of the session of a descriptor, found out by calls that need just one of them. */
static int rights_of(int fd)
{
	struct hashbelt_info info = {};
	__u64 sequence = ~0ULL;
	int rights;

	rights = may(fd, HASHBELT_IOC_INFO, &info, HASHBELT_MAY_READ);
	rights |= on_key(fd, HASHBELT_IOC_REMOVE, "absent") == -ENOENT ? HASHBELT_MAY_WRITE : 0;
	rights |= may(fd, HASHBELT_IOC_RESUME, NULL, HASHBELT_MAY_OWN);
	rights |= may(fd, HASHBELT_IOC_ACK, &sequence, HASHBELT_MAY_CONSUME);
	if (rights & HASHBELT_MAY_READ && info.access != (__u32)rights)
		rights |= 1 << 17;
	return rights;
}

static int open_and_look(enum task opener, enum task caller, const void *arg)
{
	const struct belt *belt = arg;
	int err = open_belt(opened[opener], belt->name);

	(void)caller;
	return err ?: rights_of(opened[opener]);
}

static int common(enum task opener, enum task caller, const struct belt *belt)
{
	return belt->access[opener] & belt->access[caller];
}

static int expect_access(enum task opener, enum task caller, const void *arg)
{
	return common(opener, caller, arg) ?: -ENOENT;
}

static void test_open(const struct belt *belt)
{
	ok(try_pairs(NULL, open_and_look, expect_access, belt),
	   "open of the belt \"%s\" gives the rights that opener and caller both have", belt->name);
}

/* The rights of one belt in a listing; 0: it is not listed. */
static int look_up(enum task opener, enum task caller, const void *arg)
{
	const struct belt *belt = arg;
	struct hashbelt_info info = {};

	(void)caller;
	while (!call(opened[opener], HASHBELT_IOC_NEXT, &info))
		if (!strcmp(info.name, belt->name))
			return info.access;
	return 0;
}

static int expect_listed(enum task opener, enum task caller, const void *arg)
{
	int access = common(opener, caller, arg);

	return access & (HASHBELT_MAY_READ | HASHBELT_MAY_OWN) ? access : 0;
}

static void test_next(void)
{
	unsigned int i, right = 0;

	for (i = 0; i < ARRAY_SIZE(belts); i++)
		right += try_pairs(NULL, look_up, expect_listed, &belts[i]);
	is_int(right, ARRAY_SIZE(belts),
	       "next lists the belts that opener and caller both may read or own");
}

/* The superuser binds the descriptors; what a caller may do through them does not depend on it. */
static int look_through(enum task opener, enum task caller, const void *arg)
{
	(void)caller;
	(void)arg;
	return rights_of(opened[opener]);
}

static int expect_opener(enum task opener, enum task caller, const void *arg)
{
	(void)caller;
	return ((const struct belt *)arg)->access[opener];
}

static void test_bound(void)
{
	unsigned int task;

	open_all();
	ok(try_pairs(NULL, look_through, expect_opener, &default_belt),
	   "every caller has the opener's rights to the belt of a new descriptor");
	for (task = 0; task < TASKS; task++)
		if (open_belt(opened[task], belts[1].name))
			bail_out("no belt");
	ok(try_pairs(NULL, look_through, expect_opener, &belts[1]),
	   "every caller has the rights of a descriptor that the superuser has bound");
}

/* Destroy */

/* One of the belts that are made for the descriptors of all openers. */
static const char *copy_of(const struct belt *belt, unsigned int opener)
{
	static char name[HASHBELT_NAME_SIZE];

	snprintf(name, sizeof(name), "%s %u", belt->name, opener);
	return name;
}

/* A belt that is there stays. */
static int make(const struct belt *belt, const char *name)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = belt->mode, .consumers = belt->consumers,
	};
	int fd = open_device(O_RDWR), err;

	snprintf(settings.name, sizeof(settings.name), "%s", name);
	err = call(fd, HASHBELT_IOC_CREATE, &settings);
	close(fd);
	return err == -EEXIST ? 0 : err;
}

static int make_one(void *arg)
{
	const struct belt *belt = arg;

	return !assume(belt->maker) || make(belt, belt->name);
}

static int make_copies(void *arg)
{
	const struct belt *belt = arg;
	unsigned int opener, failed = 0;

	if (!assume(belt->maker))
		return 1;
	for (opener = 0; opener < TASKS; opener++)
		failed += make(belt, copy_of(belt, opener)) != 0;
	return failed;
}

static void make_as_maker(int (*work)(void *arg), const struct belt *belt)
{
	if (finish(start(work, (void *)belt)))
		bail_out("no belt %s", belt->name);
}

static int destroy(enum task opener, enum task caller, const void *arg)
{
	(void)caller;
	return destroy_belt(opened[opener], copy_of(arg, opener));
}

static int expect_destroyed(enum task opener, enum task caller, const void *arg)
{
	int access = common(opener, caller, arg);

	return !access ? -ENOENT : access & HASHBELT_MAY_OWN ? 0 : -EPERM;
}

/* The number of belts that are there although destroy returned 0, or are not although it failed. */
static unsigned int count_wrong(const struct belt *belt, unsigned int caller)
{
	int fd = open_device(O_RDWR);
	unsigned int opener, wrong = 0;

	for (opener = 0; opener < TASKS; opener++)
		wrong += open_belt(fd, copy_of(belt, opener)) !=
			 (results[opener][caller] ? 0 : -ENOENT);
	close(fd);
	return wrong;
}

static void destroy_copies(const struct belt *belt)
{
	int fd = open_device(O_RDWR);
	unsigned int opener;

	for (opener = 0; opener < TASKS; opener++)
		destroy_belt(fd, copy_of(belt, opener));
	close(fd);
}

static void test_destroy(const struct belt *belt)
{
	unsigned int caller, wrong = 0;

	for (caller = 0; caller < TASKS; caller++) {
		make_as_maker(make_copies, belt);
		call_as(caller, destroy, belt);
		wrong += count_wrong(belt, caller);
	}
	ok(agrees(expect_destroyed, belt),
	   "destroy of the belt \"%s\" succeeds if opener and caller both own it", belt->name);
	is_int(wrong, 0, "destroy of the belt \"%s\" destroys it if it returns 0, else it does not",
	       belt->name);
	destroy_copies(belt);
}

/* Create and set */

/* A right that is not to a belt: the tasks that have it, and the results for these and others. */
struct right {
	__u32 tasks;
	int granted;
	int refused;
};

static int expect_right(enum task opener, enum task caller, const void *arg)
{
	const struct right *right = arg;

	return right->tasks & BIT(opener) && right->tasks & BIT(caller) ? right->granted :
									  right->refused;
}

/* In its namespace the group has no number. */
static int expect_group(enum task opener, enum task caller, const void *arg)
{
	return caller == INSIDE ? -EINVAL : expect_right(opener, caller, arg);
}

/* Return: the group of the belt that was made. */
static int create_of_group(enum task opener, enum task caller, const void *arg)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = 0600, .fields = HASHBELT_SET_GID, .gid = GROUP,
	};

	(void)caller;
	(void)arg;
	return call(opened[opener], HASHBELT_IOC_CREATE, &settings) ?:
	       (int)info_of(opened[opener]).gid;
}

static int create_default(enum task opener, enum task caller, const void *arg)
{
	(void)caller;
	(void)arg;
	return create_belt(opened[opener], HASHBELT_DEFAULT_BELT, 0600);
}

static int create_nameless(enum task opener, enum task caller, const void *arg)
{
	(void)caller;
	(void)arg;
	return create_belt(opened[opener], "", 0600);
}

static int create_through_owner(enum task opener, enum task caller, const void *arg)
{
	return opener == OWNS ? create_nameless(opener, caller, arg) : 0;
}

/* Return: 0 if the belt belongs to @caller. */
static int create_and_look(enum task opener, enum task caller, const void *arg)
{
	uid_t uid = caller == INSIDE ? 0 : tasks[caller].uid;
	gid_t gid = caller == INSIDE ? 0 : tasks[caller].gid;
	struct hashbelt_info info;

	(void)arg;
	if (create_belt(opened[opener], "", 0))
		return 1;
	info = info_of(opened[opener]);
	/* One pair differs, so that the results are not all the same. */
	return info.uid == uid && info.gid == gid && info.access == ALL ? opener == caller : 2;
}

static int expect_owned(enum task opener, enum task caller, const void *arg)
{
	(void)arg;
	return opener == caller;
}

/* The owner has its belts[] already. */
static void test_account(void)
{
	open_all();
	set_number("user_max_belts", 1);
	call_as(MEMBER, create_through_owner, NULL);
	is_errno(results[OWNS][MEMBER], 0,
		 "a belt that a user makes does not count as one of the opener, which is at its limit");
	call_as(STRANGER, create_nameless, NULL);
	is_errno(results[STRANGER][STRANGER], EDQUOT,
		 "a belt that a user makes through another's descriptor counts as one of its own");
}

static void test_create(void)
{
	static const struct right group = { ADMINS | MEMBERS, GROUP, -EPERM };
	static const struct right name = { ADMINS, -EEXIST, -EACCES };
	static const struct right exempt = { RESOURCEFUL, 0, -EDQUOT };
	__u64 most = get_parameter("user_max_belts");

	ok(try_pairs(NULL, create_of_group, expect_group, &group),
	   "create with a group succeeds if opener and caller both may give a belt to it");
	ok(try_pairs(NULL, create_default, expect_right, &name),
	   "create of the default belt returns EACCES unless opener and caller both may make it");
	ok(try_pairs(NULL, create_and_look, expect_owned, NULL),
	   "a belt belongs to the user and the group of the caller, which has all rights to it");
	/* No descriptor keeps a belt that counts. */
	open_all();
	set_number("user_max_belts", 0);
	ok(try_pairs(NULL, create_nameless, expect_right, &exempt),
	   "a belt is exempt from its user's limits if opener and caller both are");
	test_account();
	set_number("user_max_belts", most);
}

static int bind_through_all(void *arg)
{
	unsigned int opener, failed = 0;

	(void)arg;
	if (!assume(OWNS_ONLY))
		return 1;
	for (opener = 0; opener < TASKS; opener++)
		failed += create_belt(opened[opener], "", 0600) != 0;
	return failed;
}

/* Binds all descriptors to belts that a user has made, so that callers have all rights to them. */
static void bind_all(enum task caller)
{
	(void)caller;
	if (finish(start(bind_through_all, NULL)))
		bail_out("cannot make belts through all descriptors");
}

/* Return: the group that the belt has afterwards, or an error that changed nothing. */
static int set_group(enum task opener, enum task caller, const void *arg)
{
	int fd = opened[opener], err = set_belt(fd, (struct hashbelt_settings){
		.fields = HASHBELT_SET_GID, .gid = GROUP });

	(void)arg;
	if (err && info_of(fd).gid != (caller == INSIDE ? 0 : OTHER))
		return 1;
	return err ?: (int)info_of(fd).gid;
}

static int set_pinned(enum task opener, enum task caller, const void *arg)
{
	int fd = opened[opener], err = set_belt(fd, (struct hashbelt_settings){
		.fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED });

	(void)caller;
	(void)arg;
	return !err == !!(info_of(fd).policy & HASHBELT_PINNED) ? err : 1;
}

static void test_set(void)
{
	static const struct right group = { ADMINS | MEMBERS, GROUP, -EPERM };
	static const struct right pin = { RESOURCEFUL, 0, -EPERM };

	ok(try_pairs(bind_all, set_group, expect_group, &group),
	   "set of a group succeeds if opener and caller both may give a belt to it");
	ok(try_pairs(bind_all, set_pinned, expect_right, &pin),
	   "set pins a user's belt if opener and caller both have CAP_SYS_RESOURCE");
}

/* How the device was opened */

static int create_then_destroy(enum task opener, enum task caller, const void *arg)
{
	int fd = *(const int *)arg;

	(void)opener;
	(void)caller;
	return create_belt(fd, "", 0600) == -EPERM && destroy_belt(fd, belts[0].name) == -EPERM;
}

static void test_read_only(void)
{
	int fd = open_device(O_RDONLY);
	unsigned int caller, refused = 0;

	for (caller = 0; caller < TASKS; caller++) {
		call_as(caller, create_then_destroy, &fd);
		refused += results[0][caller];
	}
	is_int(refused, TASKS,
	       "create and destroy through a read-only descriptor return EPERM to every caller");
	close(fd);
}

int main(void)
{
	unsigned int i;
	int fd;

	results = shared_memory(TASKS * sizeof(*results));
	chmod(HASHBELT_DEVICE, 0666);
	open_all();
	for (i = 0; i < ARRAY_SIZE(belts); i++)
		make_as_maker(make_one, &belts[i]);
	for (i = 0; i < ARRAY_SIZE(belts); i++)
		test_open(&belts[i]);
	test_next();
	test_bound();
	test_destroy(&belts[0]);
	test_destroy(&belts[3]);
	test_create();
	test_set();
	test_read_only();
	fd = open_device(O_RDWR);
	for (i = 0; i < ARRAY_SIZE(belts); i++)
		destroy_belt(fd, belts[i].name);
	close(fd);
	chmod(HASHBELT_DEVICE, 0600);
	return done_testing();
}
