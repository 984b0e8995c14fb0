// SPDX-License-Identifier: GPL-2.0-only
/*
 * rights_test - rights are those that the task which opened the device and the caller both have.
 *
 * Tasks with each of some credentials open the device and pass the descriptor on. Tasks with each
 * of these credentials call through it. Every call that checks a right to a belt is tried with
 * every such pair: it must succeed if both have the right, and fail if either of them lacks it.
 * Which right each ioctl needs: service_test.
 *
 * Hostile user: passes a descriptor to a privileged program; result: by none of 225 pairs of
 * credentials a call succeeds for which either of the two lacks the right.
 *
 * Hostile user: is uid 0 of a container; result: it has no right to root's belts, and the limits of
 * a user.
 *
 * Hostile user: makes a belt under a well-known name first; result: `OPEN` that demands the owner
 * returns `EPERM`.
 */
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "request.h"

#define OWNER	1000
#define GROUP	2000
#define OTHER	3000

/* Whose credentials: index of tasks[]. */
enum task {
	ROOT, CONTAINER, ADMIN, RESOURCE, OWNS, OWNS_ONLY, MEMBER, JOINED, STRANGER,
	STRANGER_ADMIN, STRANGER_RESOURCE, STRANGER_BOTH, INSIDE, FS_MEMBER, FS_STRANGER,
	TASKS
};

#define BIT(task)	(1u << (task))
#define CAP(name)	(1u << CAP_##name)

/* Sets of tasks. */
#define ADMINS		(BIT(ROOT) | BIT(ADMIN) | BIT(STRANGER_ADMIN) | BIT(STRANGER_BOTH))
#define RESOURCEFUL	(BIT(ROOT) | BIT(RESOURCE) | BIT(STRANGER_RESOURCE) | BIT(STRANGER_BOTH))
#define MEMBERS		(BIT(OWNS) | BIT(MEMBER) | BIT(JOINED) | BIT(FS_MEMBER))

static const struct {
	const char *name;
	uid_t uid;		/* fsuid, which decides, and so with fsgid */
	gid_t gid;
	gid_t group;		/* supplementary */
	__u32 capabilities;
	uid_t process_uid;	/* of the process, if it is another one */
	gid_t process_gid;
} tasks[TASKS] = {
	[ROOT] = { "the superuser", 0, 0, .capabilities = ~0u },
	/* Container engines leave this to uid 0: neither SYS_ADMIN nor SYS_RESOURCE. */
	[CONTAINER] = { "uid 0 of a container", 0, 0, .capabilities = 0xa80425fb },
	[ADMIN] = { "uid 0 with CAP_SYS_ADMIN", 0, 0, .capabilities = CAP(SYS_ADMIN) },
	[RESOURCE] = { "uid 0 with CAP_SYS_RESOURCE", 0, 0, .capabilities = CAP(SYS_RESOURCE) },
	[OWNS] = { "the owner, of the group", OWNER, .gid = GROUP },
	[OWNS_ONLY] = { "the owner, of another group", OWNER, .gid = OTHER },
	[MEMBER] = { "a member", OTHER, .gid = GROUP },
	[JOINED] = { "a member by supplementary group", OTHER, OTHER, .group = GROUP },
	[STRANGER] = { "another user", OTHER, .gid = OTHER },
	[STRANGER_ADMIN] = { "a user with CAP_SYS_ADMIN", OTHER, OTHER,
			     .capabilities = CAP(SYS_ADMIN) },
	[STRANGER_RESOURCE] = { "a user with CAP_SYS_RESOURCE", OTHER, OTHER,
				.capabilities = CAP(SYS_RESOURCE) },
	[STRANGER_BOTH] = { "a user with both capabilities", OTHER, OTHER,
			    .capabilities = CAP(SYS_ADMIN) | CAP(SYS_RESOURCE) },
	[INSIDE] = { "the superuser of a user namespace", OTHER, .gid = OTHER },
	[FS_MEMBER] = { "a member by fsgid, with the owner's uid", OTHER, GROUP,
			.process_uid = OWNER, .process_gid = OTHER },
	[FS_STRANGER] = { "another user by fsuid and fsgid, with the owner's uid and group", OTHER,
			  OTHER, .process_uid = OWNER, .process_gid = GROUP },
};

#define READER	(HASHBELT_MAY_READ | HASHBELT_MAY_CONSUME)
#define ALL	(READER | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN)

/* @group: set after the belt was made, or 0 */
static const struct belt {
	const char *name;
	enum task maker;
	__u32 mode;
	__u32 consumers;
	gid_t group;
} belts[] = {
	{ "user's", OWNS, .mode = 0640 },
	{ "superuser's", ROOT, .mode = 0604 },
	{ "open", OWNS, .mode = 0626 },
	{ "container's", CONTAINER, .mode = 0600 },
	{ "consumed", OWNS, 0644, .consumers = HASHBELT_CONSUMERS_OWNER },
	{ "given to a group", OWNS_ONLY, 0640, .group = GROUP },
	/* Each of owner, group and others has each right at least once, and lacks each. */
	{ "0406", OWNS, .mode = 0406 }, { "0260", OWNS, .mode = 0260 },
	{ "0042", OWNS, .mode = 0042 },
};

/* The belt to which a descriptor is bound when it is opened. */
static const struct belt default_belt = { HASHBELT_DEFAULT_BELT, ROOT, .mode = 0600 };

/* The rights to a belt that a task has by itself, as docs/hashbelt.4 says. */
static int access_of(const struct belt *belt, enum task task)
{
	gid_t group = belt->group ?: tasks[belt->maker].gid;
	bool owns = tasks[task].uid == tasks[belt->maker].uid &&
		    (belt->maker != ROOT || BIT(task) & RESOURCEFUL);
	bool member = tasks[task].gid == group || (tasks[task].group && tasks[task].group == group);
	__u32 mode = belt->mode >> (owns ? 6 : member ? 3 : 0);
	int access = owns ? HASHBELT_MAY_OWN : 0;

	if (BIT(task) & ADMINS)
		return ALL;
	if (mode & 4)
		access |= owns || !belt->consumers ? READER : HASHBELT_MAY_READ;
	return mode & 2 ? access | HASHBELT_MAY_WRITE : access;
}

/* Descriptors by the task that has opened them, and results by that task and the caller. */
static int opened[TASKS];
static int (*results)[TASKS];
static int *only;		/* result of an attempt that is not one of these */

static bool assume(enum task task)
{
	uid_t uid = tasks[task].uid, process_uid = tasks[task].process_uid ?: uid;
	gid_t gid = tasks[task].gid, process_gid = tasks[task].process_gid ?: gid;
	__u32 kept = tasks[task].capabilities;

	if (prctl(PR_SET_KEEPCAPS, 1) || setgroups(!!tasks[task].group, &tasks[task].group) ||
	    setresgid(process_gid, process_gid, gid) || setresuid(process_uid, process_uid, uid))
		return false;
	setfsgid(gid);
	setfsuid(uid);
	if ((gid_t)setfsgid(-1) != gid || (uid_t)setfsuid(-1) != uid)
		return false;
	if (task == INSIDE)
		return prctl(PR_SET_DUMPABLE, 1) == 0 && enter_namespace();
	return kept == ~0u || keep_capabilities(kept);
}

/* A call through @fd, the descriptor that @opener has opened; @arg is the test's. */
struct pair {
	enum task opener;
	enum task caller;
	int fd;
	const void *arg;
};

/* A call, or its expected result. Return: a number of the test's choice. */
typedef int (*pair_fn)(const struct pair *pair);

/* An attempt with the first @openers descriptors; 0: one, whose result is *@only. */
struct work {
	struct pair pair;
	unsigned int openers;
	pair_fn attempt;
};

static int call_all(void *arg)
{
	struct work *work = arg;
	struct pair *pair = &work->pair;

	if (!assume(pair->caller))
		return 1;
	if (!work->openers)
		*only = work->attempt(pair);
	for (pair->opener = 0; pair->opener < work->openers; pair->opener++) {
		pair->fd = opened[pair->opener];
		results[pair->opener][pair->caller] = work->attempt(pair);
	}
	return 0;
}

/* Has a process with the credentials of @task make attempts. */
static void call_as(enum task task, unsigned int openers, pair_fn attempt, const void *arg)
{
	struct work work = { { .caller = task, .arg = arg }, openers, attempt };

	if (finish(start(call_all, &work)))
		bail_out("no process as %s", tasks[task].name);
}

static int once_as(enum task task, pair_fn attempt, const void *arg)
{
	call_as(task, 0, attempt, arg);
	return *only;
}

static int open_and_send(const struct pair *pair)
{
	send_descriptor(*(const int *)pair->arg, open_device(O_RDWR | O_NONBLOCK));
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
		once_as(task, open_and_send, &sockets[1]);
		opened[task] = receive_descriptor(sockets[0]);
		close(sockets[0]);
		close(sockets[1]);
	}
}

/* True if each pair of tasks got what it is to get, and not all of them got the same. */
static bool agrees(pair_fn expected, const void *arg)
{
	struct pair pair = { .arg = arg };
	unsigned int wrong = 0, other = 0;
	int result, want;

	for (; pair.opener < TASKS; pair.opener++) {
		for (pair.caller = 0; pair.caller < TASKS; pair.caller++) {
			want = expected(&pair);
			result = results[pair.opener][pair.caller];
			other += result != results[0][0];
			if (result != want && !wrong++)
				note("%s opens, %s calls: expected %d, found %d",
				     tasks[pair.opener].name, tasks[pair.caller].name, want,
				     result);
		}
	}
	if (wrong)
		note("%u of %u pairs are wrong", wrong, TASKS * TASKS);
	return !wrong && other;
}

/* Makes an attempt with each pair of tasks; @before runs before those of a caller. */
static bool try_pairs(void (*before)(void), pair_fn attempt, pair_fn expected, const void *arg)
{
	unsigned int caller;

	for (caller = 0; caller < TASKS; caller++) {
		if (before)
			before();
		call_as(caller, TASKS, attempt, arg);
	}
	return agrees(expected, arg);
}

/* Access */

/* The rights of the session of a descriptor, found out by calls that need just one of them. */
static int rights_of(int fd)
{
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	struct hashbelt_info info = {};
	__u64 sequence = ~0ULL;
	char buffer[64];
	int rights = 0;

	if (call(fd, HASHBELT_IOC_INFO, &info) != -EPERM)
		rights |= HASHBELT_MAY_READ;
	if (on_key(fd, HASHBELT_IOC_REMOVE, "absent") != -EPERM)
		rights |= HASHBELT_MAY_WRITE;
	if (call(fd, HASHBELT_IOC_RESUME, NULL) != -EPERM)
		rights |= HASHBELT_MAY_OWN;
	if (call(fd, HASHBELT_IOC_ACK, &sequence) != -EPERM)
		rights |= HASHBELT_MAY_CONSUME;
	if (rights & HASHBELT_MAY_READ && info.access != (__u32)rights)
		rights |= 1 << 16;
	if (read_into(fd, buffer, sizeof(buffer)) !=
	    (rights & HASHBELT_MAY_CONSUME ? -ENODATA : -EPERM))
		rights |= 1 << 17;
	if (poll(&polled, 1, 0) != !(rights & HASHBELT_MAY_CONSUME))
		rights |= 1 << 18;
	/* The belts have no window. */
	if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED ||
	    errno != (rights & HASHBELT_MAY_READ ? ENODATA : EPERM))
		rights |= 1 << 19;
	return rights;
}

static int common(const struct pair *pair)
{
	return access_of(pair->arg, pair->opener) & access_of(pair->arg, pair->caller);
}

static int open_and_look(const struct pair *pair)
{
	return open_belt(pair->fd, ((const struct belt *)pair->arg)->name) ?: rights_of(pair->fd);
}

static int expect_access(const struct pair *pair)
{
	return common(pair) ?: -ENOENT;
}

/* The rights of one belt in a listing; 0: it is not listed. */
static int look_up(const struct pair *pair)
{
	int fd = pair->fd ?: opened[ROOT];
	struct hashbelt_info info = {};

	while (!call(fd, HASHBELT_IOC_NEXT, &info))
		if (!strcmp(info.name, ((const struct belt *)pair->arg)->name))
			return info.access;
	return 0;
}

static int expect_listed(const struct pair *pair)
{
	int access = common(pair);

	return access & (HASHBELT_MAY_READ | HASHBELT_MAY_OWN) ? access : 0;
}

#define HIDDEN	600

static void test_access(void)
{
	unsigned int i, listed = 0;
	int fd = open_device(O_RDWR);
	char name[16];

	for (i = 0; i < ARRAY_SIZE(belts); i++)
		ok(try_pairs(NULL, open_and_look, expect_access, &belts[i]),
		   "open of the belt \"%s\" gives the rights that opener and caller both have",
		   belts[i].name);
	for (i = 0; i < ARRAY_SIZE(belts); i++)
		listed += try_pairs(NULL, look_up, expect_listed, &belts[i]);
	is_int(listed, ARRAY_SIZE(belts),
	       "next lists the belts that opener and caller both may read or own");
	/* More than the module looks at in one go, and before the names of others. */
	for (i = 0; i < HIDDEN; i++) {
		snprintf(name, sizeof(name), "! %u", i);
		if (create_belt(fd, name, 0600))
			bail_out("create");
	}
	is_int(once_as(STRANGER, look_up, &belts[1]), READER,
	       "next finds a belt behind %u belts that the user may not see", HIDDEN);
	for (i = 0; i < HIDDEN; i++) {
		snprintf(name, sizeof(name), "! %u", i);
		destroy_belt(fd, name);
	}
	close(fd);
}

/* The superuser binds the descriptors; what a caller may do through them does not depend on it. */
static int look_through(const struct pair *pair)
{
	return rights_of(pair->fd);
}

static int expect_opener(const struct pair *pair)
{
	return access_of(pair->arg, pair->opener);
}

static void test_bound(void)
{
	/* One to which each task has a right. */
	const struct belt *belt = &belts[2];
	unsigned int task;

	open_all();
	ok(try_pairs(NULL, look_through, expect_opener, &default_belt),
	   "every caller has the opener's rights to the belt of a new descriptor");
	for (task = 0; task < TASKS; task++)
		if (open_belt(opened[task], belt->name))
			bail_out("no belt");
	SET(opened[ROOT], .fields = HASHBELT_SET_MODE, .mode = 0);
	ok(try_pairs(NULL, look_through, expect_opener, belt),
	   "every caller has the rights of a descriptor that was bound before the mode was set");
	SET(opened[ROOT], .fields = HASHBELT_SET_MODE, .mode = belt->mode);
}

/* Where only the owner consumes events, a reader reads what its own descriptor asked for. */
static int read_completions(const struct pair *pair)
{
	int fd = open_asking(pair->arg);
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	char buffer[64];

	return poll(&polled, 1, 0) ?: read_into(fd, buffer, sizeof(buffer));
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

static int make_one(const struct pair *pair)
{
	const struct belt *belt = pair->arg;

	return make(belt, belt->name);
}

static int make_copies(const struct pair *pair)
{
	unsigned int opener, failed = 0;

	for (opener = 0; opener < TASKS; opener++)
		failed += make(pair->arg, copy_of(pair->arg, opener)) != 0;
	return failed;
}

static void make_as_maker(pair_fn work, const struct belt *belt)
{
	if (once_as(belt->maker, work, belt))
		bail_out("no belt %s", belt->name);
}

static int destroy(const struct pair *pair)
{
	return destroy_belt(pair->fd, copy_of(pair->arg, pair->opener));
}

static int expect_destroyed(const struct pair *pair)
{
	int access = common(pair);

	return !access ? -ENOENT : access & HASHBELT_MAY_OWN ? 0 : -EPERM;
}

static void test_destroy(const struct belt *belt)
{
	unsigned int caller, opener, wrong = 0;
	int fd = open_device(O_RDWR);

	for (caller = 0; caller < TASKS; caller++) {
		make_as_maker(make_copies, belt);
		call_as(caller, TASKS, destroy, belt);
		for (opener = 0; opener < TASKS; opener++)
			wrong += open_belt(fd, copy_of(belt, opener)) !=
				 (results[opener][caller] ? 0 : -ENOENT);
	}
	ok(agrees(expect_destroyed, belt),
	   "destroy of the belt \"%s\" succeeds if opener and caller both own it", belt->name);
	is_int(wrong, 0, "destroy of the belt \"%s\" destroys it if it returns 0, else it does not",
	       belt->name);
	for (opener = 0; opener < TASKS; opener++)
		destroy_belt(fd, copy_of(belt, opener));
	close(fd);
}

/* Create and set */

/* A right that is not to a belt: the tasks that have it, and the results for these and others. */
struct right {
	__u32 tasks;
	int granted;
	int refused;
};

static int expect_right(const struct pair *pair)
{
	const struct right *right = pair->arg;

	return right->tasks & BIT(pair->opener) && right->tasks & BIT(pair->caller) ?
	       right->granted : right->refused;
}

/* In its namespace the group has no number. */
static int expect_group(const struct pair *pair)
{
	return pair->caller == INSIDE ? -EINVAL : expect_right(pair);
}

/* Return: the group of the belt that was made. */
static int create_of_group(const struct pair *pair)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .mode = 0600, .fields = HASHBELT_SET_GID, .gid = GROUP,
	};

	return call(pair->fd, HASHBELT_IOC_CREATE, &settings) ?: (int)info_of(pair->fd).gid;
}

static int create_default(const struct pair *pair)
{
	return create_belt(pair->fd, HASHBELT_DEFAULT_BELT, 0600);
}

static int create_nameless(const struct pair *pair)
{
	return create_belt(pair->fd, "", 0600);
}

static int create_through_owner(const struct pair *pair)
{
	return pair->opener == OWNS ? create_nameless(pair) : 0;
}

/* Return: 0 if the belt belongs to the caller. */
static int create_and_look(const struct pair *pair)
{
	uid_t uid = pair->caller == INSIDE ? 0 : tasks[pair->caller].uid;
	gid_t gid = pair->caller == INSIDE ? 0 : tasks[pair->caller].gid;
	struct hashbelt_info info;

	if (create_belt(pair->fd, "", 0))
		return 1;
	info = info_of(pair->fd);
	/* One pair differs, so that the results are not all the same. */
	return info.uid == uid && info.gid == gid && info.access == ALL ?
	       pair->opener == pair->caller : 2;
}

static int expect_owned(const struct pair *pair)
{
	return pair->opener == pair->caller;
}

/* The owner has its belts[] already. */
static void test_account(void)
{
	open_all();
	set_number("user_max_belts", 1);
	call_as(MEMBER, TASKS, create_through_owner, NULL);
	is_errno(results[OWNS][MEMBER], 0,
		 "a belt that a user makes does not count as one of the opener, which is at its limit");
	call_as(STRANGER, TASKS, create_nameless, NULL);
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

static int create_through_all(const struct pair *pair)
{
	unsigned int opener, failed = 0;

	(void)pair;
	for (opener = 0; opener < TASKS; opener++)
		failed += create_belt(opened[opener], "", 0600) != 0;
	return failed;
}

/* Binds all descriptors to belts that a user has made, so that callers have all rights to them. */
static void bind_all(void)
{
	if (once_as(OWNS_ONLY, create_through_all, NULL))
		bail_out("cannot make belts through all descriptors");
}

/* Return: the group that the belt has afterwards, or an error that changed nothing. */
static int set_group(const struct pair *pair)
{
	int err = set_belt(pair->fd, (struct hashbelt_settings){
		.fields = HASHBELT_SET_GID | HASHBELT_SET_TTL, .gid = GROUP, .ttl_ms = 77 });
	struct hashbelt_info info = info_of(pair->fd);

	if (err && (info.gid != (pair->caller == INSIDE ? 0 : OTHER) || info.ttl_ms != TTL))
		return 1;
	return err ?: (int)info.gid;
}

static int set_pinned(const struct pair *pair)
{
	int err = set_belt(pair->fd, (struct hashbelt_settings){
		.fields = HASHBELT_SET_POLICY, .policy = HASHBELT_PINNED });

	return !err == !!(info_of(pair->fd).policy & HASHBELT_PINNED) ? err : 1;
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

/* Ids in a user namespace */

static int create_inside(const struct pair *pair)
{
	return create_belt(open_device(O_RDWR), pair->arg, 0600);
}

/* Return: whether user and group of a belt of another user are those that have no number. */
static int is_foreign(const struct pair *pair)
{
	int fd = open_device(O_RDWR);
	struct hashbelt_info info;

	if (open_belt(fd, pair->arg))
		return 0;
	info = info_of(fd);
	return info.uid == 65534 && info.gid == 65534;
}

static void test_ids(void)
{
	int fd = open_device(O_RDWR);
	struct hashbelt_info info;

	is_int(once_as(INSIDE, create_inside, "inside"), 0, "a user makes a belt in a namespace");
	if (open_belt(fd, "inside"))
		bail_out("no belt");
	info = info_of(fd);
	ok(info.uid == OTHER && info.gid == OTHER,
	   "a belt created in a user namespace has the outer user and group");
	destroy_belt(fd, "inside");
	close(fd);
	ok(once_as(INSIDE, is_foreign, "open"),
	   "info shows user and group that a namespace lacks as 65534");
}

/* Demands for an owner: any user may make a belt under a name that another user expects to own. */

static const struct demand {
	enum task maker;
	__u32 mode;
	enum task caller;
	uid_t owner;
	int err;
} demands[] = {
	{ OWNS, 0666, STRANGER, OWNER, 0 }, { OWNS, 0666, STRANGER, OTHER, EPERM },
	{ OWNS, 0666, STRANGER, 0, EPERM }, { OWNS, 0600, STRANGER, OWNER, ENOENT },
	{ ROOT, 0666, STRANGER, 0, 0 }, { CONTAINER, 0666, STRANGER, 0, EPERM },
	{ CONTAINER, 0666, CONTAINER, 0, EPERM },
};

static int open_demanding(const struct pair *pair)
{
	struct hashbelt_name name = name_of("demanded");

	name.flags = HASHBELT_OF_OWNER;
	name.uid = ((const struct demand *)pair->arg)->owner;
	return call(open_device(O_RDWR), HASHBELT_IOC_OPEN, &name);
}

static void test_demand(const struct demand *demand)
{
	struct belt belt = { "demanded", demand->maker, .mode = demand->mode };
	int fd = open_device(O_RDWR);

	make_as_maker(make_one, &belt);
	is_errno(once_as(demand->caller, open_demanding, demand), demand->err,
		 "open by %s of a belt of %s, mode 0%o, that demands the owner %u: %s",
		 tasks[demand->caller].name, tasks[demand->maker].name, demand->mode,
		 demand->owner, error_name(demand->err));
	destroy_belt(fd, belt.name);
	close(fd);
}

/* How the device was opened */

static int open_node(const struct pair *pair)
{
	int fd = open(HASHBELT_DEVICE, *(const int *)pair->arg);

	return fd < 0 ? -errno : 0;
}

/* The permissions of the device node are checked first. */
static void test_node(void)
{
	static const int read_write = O_RDWR, read_only = O_RDONLY;
	struct stat node;

	if (stat(HASHBELT_DEVICE, &node))
		bail_out("stat: %s", strerror(errno));
	ok(S_ISCHR(node.st_mode) && (node.st_mode & 0777) == 0600 && !node.st_uid,
	   "the device node has mode 0600 and belongs to the superuser");
	is_errno(once_as(STRANGER, open_node, &read_only), EACCES,
		 "open of a node of mode 0600 for reading returns EACCES for a user");
	chmod(HASHBELT_DEVICE, 0604);
	is_errno(once_as(STRANGER, open_node, &read_only), 0,
		 "open of a node of mode 0604 for reading succeeds for a user");
	is_errno(once_as(STRANGER, open_node, &read_write), EACCES,
		 "open of a node of mode 0604 for writing returns EACCES for a user");
	chmod(HASHBELT_DEVICE, 0666);
}

static int create_then_destroy(const struct pair *pair)
{
	int fd = *(const int *)pair->arg;

	return create_belt(fd, "", 0600) == -EPERM && destroy_belt(fd, belts[0].name) == -EPERM;
}

static void test_flags(void)
{
	struct hashbelt_item item = text_item("key", "value");
	int fd = open_device(O_RDONLY), belt = open_device(O_RDWR);
	unsigned int caller, refused = 0;

	for (caller = 0; caller < TASKS; caller++)
		refused += once_as(caller, create_then_destroy, &fd);
	is_int(refused, TASKS,
	       "create and destroy through a read-only descriptor return EPERM to every caller");
	close(fd);
	fd = open_device(O_WRONLY);
	if (open_belt(belt, belts[0].name) || open_belt(fd, belts[0].name))
		bail_out("no belt");
	item.flags = 7;
	must(belt, HASHBELT_IOC_PUT, &item);
	item = item_of("key");
	item.flags = 1;
	must(fd, HASHBELT_IOC_TOUCH, &item);
	is_int(item.flags, 1, "touch through a write-only descriptor returns no flags");
	close(fd);
	close(belt);
}

/* While the parameter closed is 1, only a task that could remove the module enters, by O_EXCL. */

#define CLOSED	PARAMETERS "closed"

/* Bits of a result: the task succeeded. */
enum {
	ENTERED		= 1,	/* opened the device */
	ENTERED_ALONE	= 2,	/* with O_EXCL */
	READ_IT		= 4,	/* the parameter */
	WROTE_IT	= 8,
	ODD		= 16,	/* another error than the right one */
};

static int enter(int flags, int bit)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC | flags);

	return fd >= 0 ? bit : errno == EUNATCH ? 0 : ODD;
}

/* Writes the value that the parameter has, so a task that may do it changes nothing. */
static int try_closed(const struct pair *pair)
{
	int done = enter(0, ENTERED) | enter(O_EXCL, ENTERED_ALONE), fd;

	if (open(CLOSED, O_RDONLY | O_CLOEXEC) >= 0)
		done |= READ_IT;
	fd = open(CLOSED, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? done : done | ODD;
	if (write(fd, pair->arg, 1) == 1)
		return done | WROTE_IT;
	return errno == EPERM ? done : done | ODD;
}

static void test_closed(void)
{
	static const struct {
		enum task task;
		int open, closed;
	} wants[] = {
		{ ROOT, ENTERED | ENTERED_ALONE | READ_IT | WROTE_IT,
		  ENTERED_ALONE | READ_IT | WROTE_IT },
		{ CONTAINER, ENTERED | ENTERED_ALONE | READ_IT, READ_IT },
		{ STRANGER, ENTERED | ENTERED_ALONE, 0 },
		{ INSIDE, ENTERED | ENTERED_ALONE, 0 },
	};
	struct stat parameter;
	unsigned int i, closed;
	int fd = new_belt(0);

	is_int(get_parameter("closed"), 0, "the device is open by default");
	ok(!stat(CLOSED, &parameter) && (parameter.st_mode & 07777) == 0600,
	   "only root may read and write the parameter closed");
	for (closed = 0; closed < 2; closed++) {
		set_number("closed", closed);
		for (i = 0; i < ARRAY_SIZE(wants); i++)
			is_int(once_as(wants[i].task, try_closed, closed ? "1" : "0"),
			       closed ? wants[i].closed : wants[i].open,
			       "%s is let do what it may where closed is %u",
			       tasks[wants[i].task].name, closed);
		is_int(get_parameter("closed"), closed, "closed is %u after that", closed);
	}
	put_text(fd, "key", "text", 0);
	ok(holds_text(fd, "key", "text"),
	   "a descriptor from before works while the device is closed");
	ok(open(HASHBELT_DEVICE, O_RDONLY) < 0 && errno == EUNATCH &&
	   open(HASHBELT_DEVICE, O_WRONLY) < 0 && errno == EUNATCH,
	   "open for reading or for writing fails with EUNATCH while the device is closed");
	set_number("closed", 0);
	close(fd);
	fd = open_device(O_RDWR);
	close(fd);
}

int main(void)
{
	unsigned int i;
	int fd;

	results = shared_memory(TASKS * sizeof(*results));
	only = shared_memory(sizeof(*only));
	test_node();
	open_all();
	fd = open_device(O_RDWR);
	for (i = 0; i < ARRAY_SIZE(belts); i++) {
		make_as_maker(make_one, &belts[i]);
		if (!belts[i].group)
			continue;
		open_belt(fd, belts[i].name);
		SET(fd, .fields = HASHBELT_SET_GID, .gid = belts[i].group);
	}
	test_access();
	test_bound();
	is_errno(once_as(STRANGER, read_completions, "consumed"), EAGAIN,
		 "a reader of a belt whose owner consumes reads completions of its requests");
	test_destroy(&belts[0]);
	test_destroy(&belts[1]);
	test_create();
	test_set();
	test_ids();
	for (i = 0; i < ARRAY_SIZE(demands); i++)
		test_demand(&demands[i]);
	test_flags();
	test_closed();
	for (i = 0; i < ARRAY_SIZE(belts); i++)
		destroy_belt(fd, belts[i].name);
	close(fd);
	chmod(HASHBELT_DEVICE, 0600);
	return done_testing();
}
