// SPDX-License-Identifier: GPL-2.0-only
/*
 * rights_test - the rights of users to a belt.
 *
 * Each row of the table is a user, the owner, group and mode of a belt, and the flags with
 * which the device is opened. A process of that user tries every request. A request without
 * the right returns EPERM and changes nothing; all others succeed.
 *
 * Hostile user: is uid 0 of a container; result: 0 of 21 requests on root's belts succeed; it has
 * the limits of a user.
 *
 * Hostile user: makes a belt under a well-known name first; result: `OPEN` that demands the owner
 * opens 0 of 17 such belts.
 *
 * Rights of the task that opened the device, and of the caller: opener_test.
 */
#define _GNU_SOURCE
#include <sys/fsuid.h>
#include <sys/stat.h>

#include "process.h"

#define NAME	"rights"
#define OWNER	1000
#define GROUP	2000
#define OTHER	3000

/* Requests, as bits of a mask, in the order in which they are tried. */
enum action {
	GET, PEEK, SCAN, INFO, STAT, BUCKETS, WATCH, ACK, EVENTS, WINDOW, MAP, GET_AND_TOUCH, PUT,
	TOUCH, EXPIRE, REMOVE, CLEAR, HALT, RESUME, ROTATE, ADVANCE, SETTINGS, DESTROY,
	ACTIONS,
	ODD = 30,	/* a request returned neither 0 nor EPERM */
};

#define BIT(n)	(1u << (n))
#define READS	(BIT(GET) | BIT(PEEK) | BIT(SCAN) | BIT(INFO) | BIT(STAT) | \
		 BIT(BUCKETS) | BIT(WATCH) | BIT(ACK) | BIT(EVENTS) | BIT(WINDOW) | BIT(MAP))
#define WRITES	(BIT(PUT) | BIT(TOUCH) | BIT(EXPIRE) | BIT(REMOVE) | BIT(CLEAR))
#define BOTH	(READS | WRITES | BIT(GET_AND_TOUCH))
#define OWNS	(BIT(HALT) | BIT(RESUME) | BIT(ROTATE) | BIT(ADVANCE) | BIT(SETTINGS) | \
		 BIT(DESTROY))
/* Values of the field access. */
#define READER		(HASHBELT_MAY_READ | HASHBELT_MAY_CONSUME)
#define ALL_RIGHTS	(READER | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN)
#define CLOSED	BIT(29)		/* no access at all: the belt cannot be opened */

struct row {
	const char *what;
	uid_t uid;
	gid_t gid;
	gid_t group;		/* supplementary */
	int flags;
	__u32 mode;
	unsigned int want;
};

static const struct row rows[] = {
	{ "the owner, 0600", OWNER, GROUP, 0, O_RDWR, 0600, BOTH | OWNS },
	{ "the owner, 0600, O_RDONLY", OWNER, GROUP, 0, O_RDONLY, 0600, READS },
	{ "the owner, 0600, O_WRONLY", OWNER, GROUP, 0, O_WRONLY, 0600, WRITES | OWNS },
	{ "the owner, 0400", OWNER, GROUP, 0, O_RDWR, 0400, READS | OWNS },
	{ "the owner, 0200", OWNER, GROUP, 0, O_RDWR, 0200, WRITES | OWNS },
	{ "the owner, 0066", OWNER, GROUP, 0, O_RDWR, 0066, OWNS },
	{ "the owner, 0000, O_RDONLY", OWNER, GROUP, 0, O_RDONLY, 0,
	  0 },
	{ "a group member, 0660", OTHER, GROUP, 0, O_RDWR, 0660, BOTH },
	{ "a group member, 0640", OTHER, GROUP, 0, O_RDWR, 0640, READS },
	{ "a group member, 0620", OTHER, GROUP, 0, O_RDWR, 0620, WRITES },
	{ "a group member, 0606", OTHER, GROUP, 0, O_RDWR, 0606, CLOSED },
	{ "a member by supplementary group, 0660", OTHER, OTHER, GROUP, O_RDWR, 0660, BOTH },
	{ "a member by supplementary group, 0606", OTHER, OTHER, GROUP, O_RDWR, 0606, CLOSED },
	{ "another user, 0600", OTHER, OTHER, 0, O_RDWR, 0600, CLOSED },
	{ "another user, 0660", OTHER, OTHER, 0, O_RDWR, 0660, CLOSED },
	{ "another user, 0604", OTHER, OTHER, 0, O_RDWR, 0604, READS },
	{ "another user, 0602", OTHER, OTHER, 0, O_RDWR, 0602, WRITES },
	{ "another user, 0606", OTHER, OTHER, 0, O_RDWR, 0606, BOTH },
	{ "another user, 0666, O_RDONLY", OTHER, OTHER, 0, O_RDONLY, 0666, READS },
	{ "another user, 0666, O_WRONLY", OTHER, OTHER, 0, O_WRONLY, 0666, WRITES },
	{ "another user, 0006", OTHER, OTHER, 0, O_RDWR, 0006, BOTH },
	{ "the superuser, 0600", 0, 0, 0, O_RDWR, 0600, BOTH | OWNS },
	{ "the superuser, 0000", 0, 0, 0, O_RDWR, 0000, BOTH | OWNS },
	{ "the superuser, 0000, O_RDONLY", 0, 0, 0, O_RDONLY, 0000, READS },
	{ "the superuser, 0000, O_WRONLY", 0, 0, 0, O_WRONLY, 0000, WRITES | OWNS },
};

static unsigned int action_bit(enum action which, int err)
{
	if (!err)
		return BIT(which);
	if (err == -EPERM)
		return 0;
	return BIT(which) | BIT(ODD);
}

static int one(int fd, unsigned long request, __u32 how)
{
	static char buffer[64];
	struct hashbelt_item item = item_of("key");

	item.how = how;
	item.value = address(buffer);
	item.value_len = 5;
	return call(fd, request, &item);
}

/* read(2) of a write-only descriptor returns EBADF; this counts as EPERM. */
static unsigned int try_events(int fd)
{
	static char buffer[4096];
	__u64 sequence = ~0ULL;
	unsigned int done;
	int err;

	err = call(fd, HASHBELT_IOC_ACK, &sequence);
	done = action_bit(ACK, err == -ENOENT ? 0 : err);
	err = read(fd, buffer, sizeof(buffer)) < 0 ? -errno : 0;
	if (err == -EBADF && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		err = -EPERM;
	/* The default belt reports nothing: ENODATA. */
	return done | action_bit(EVENTS, err == -ENODATA || err == -EAGAIN ? 0 : err);
}

/*
 * mmap(2) of a write-only descriptor returns EACCES; this counts as EPERM. A belt without a window
 * returns ENODATA to those that may read.
 */
static unsigned int try_window(int fd)
{
	struct hashbelt_window_map map = { .bytes = PAGE };
	int err = call(fd, HASHBELT_IOC_WINDOW, &map);
	unsigned int done = action_bit(WINDOW, err == -ENODATA ? 0 : err);
	void *at = mmap(NULL, map.bytes, PROT_READ, MAP_SHARED, fd, 0);

	err = at == MAP_FAILED ? -errno : 0;
	if (!err)
		munmap(at, map.bytes);
	if (err == -EACCES && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		err = -EPERM;
	return done | action_bit(MAP, err == -ENODATA ? 0 : err);
}

static unsigned int try_reading(int fd)
{
	static char buffer[4096];
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = sizeof(buffer) };
	static __u64 counts[3];
	struct hashbelt_buckets buckets = { .counts = address(counts), .count = 3 };
	struct hashbelt_info info = {};
	struct hashbelt_stat stat = {};
	__u32 flags = HASHBELT_WATCH_ACK;
	unsigned int done;

	done = action_bit(GET, one(fd, HASHBELT_IOC_GET, 0));
	done |= action_bit(PEEK, one(fd, HASHBELT_IOC_GET, HASHBELT_NO_VALUE));
	done |= action_bit(SCAN, call(fd, HASHBELT_IOC_SCAN, &scan));
	done |= action_bit(INFO, call(fd, HASHBELT_IOC_INFO, &info));
	done |= action_bit(STAT, call(fd, HASHBELT_IOC_STAT, &stat));
	done |= action_bit(BUCKETS, call(fd, HASHBELT_IOC_BUCKETS, &buckets));
	done |= action_bit(WATCH, call(fd, HASHBELT_IOC_WATCH, &flags));
	return done | try_events(fd) | try_window(fd);
}

static unsigned int try_writing(int fd)
{
	unsigned int done;

	done = action_bit(GET_AND_TOUCH, one(fd, HASHBELT_IOC_GET, HASHBELT_AND_TOUCH));
	done |= action_bit(PUT, one(fd, HASHBELT_IOC_PUT, 0));
	done |= action_bit(TOUCH, one(fd, HASHBELT_IOC_TOUCH, 0));
	done |= action_bit(EXPIRE, one(fd, HASHBELT_IOC_EXPIRE, 0));
	one(fd, HASHBELT_IOC_PUT, 0);
	done |= action_bit(REMOVE, one(fd, HASHBELT_IOC_REMOVE, 0));
	done |= action_bit(CLEAR, call(fd, HASHBELT_IOC_CLEAR, NULL));
	return done;
}

/* Sets each field to a valid value; the result must be the same for all of them. */
static int try_set(int fd)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL, .buckets = 3, .reasons = HASHBELT_REPORT_ALL, .mode = 0600,
		.gid = getegid(),
	};
	int err = 0, first = 0;
	__u32 field;

	for (field = 1; field <= HASHBELT_SET_ALL; field *= 2) {
		settings.fields = field;
		err = call(fd, HASHBELT_IOC_SET, &settings);
		if (field == 1)
			first = err;
		if (err != first)
			return -ENOTRECOVERABLE;
	}
	return err;
}

static unsigned int try_managing(int fd)
{
	unsigned int done;
	__u64 ms = 1;

	done = action_bit(RESUME, call(fd, HASHBELT_IOC_RESUME, NULL));
	done |= action_bit(HALT, call(fd, HASHBELT_IOC_HALT, NULL));
	done |= action_bit(ROTATE, call(fd, HASHBELT_IOC_ROTATE, NULL));
	done |= action_bit(ADVANCE, call(fd, HASHBELT_IOC_ADVANCE, &ms));
	return done | action_bit(SETTINGS, try_set(fd));
}

static unsigned int try_owning(int fd)
{
	unsigned int done = try_managing(fd);

	return done | action_bit(DESTROY, destroy_belt(fd, NAME));
}

/* The belt cannot be told from one that does not exist. */
static unsigned int try_hidden(int fd)
{
	unsigned int done = try_managing(fd);

	if (destroy_belt(fd, NAME) != -ENOENT)
		done |= BIT(DESTROY);
	return done ? done | BIT(ODD) : CLOSED;
}

static unsigned int try_all(const void *arg)
{
	const struct row *row = arg;
	int fd = open(HASHBELT_DEVICE, row->flags | O_NONBLOCK), err;

	if (fd < 0)
		return BIT(ODD);
	err = open_belt(fd, NAME);
	if (err == -ENOENT)
		return try_hidden(fd);
	if (err)
		return BIT(ODD);
	return try_reading(fd) | try_writing(fd) | try_owning(fd);
}

/* OWNER of GROUP makes the belt, with an entry and a queued event. */
static unsigned int make(const void *arg)
{
	struct hashbelt_settings settings = {
		.name = NAME, .ttl_ms = TTL, .mode = *(const __u32 *)arg,
		.handler = HASHBELT_NOTIFY, .reasons = HASHBELT_REPORT_ALL,
		.window_bytes = HASHBELT_WINDOW_MIN,
	};
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	if (fd < 0 || call(fd, HASHBELT_IOC_CREATE, &settings))
		return 1;
	must(fd, HASHBELT_IOC_HALT, NULL);
	put_text(fd, "key", "old", 0);
	put_text(fd, "key", "value", 0);
	return 0;
}

static void make_belt(__u32 mode)
{
	if (as(OWNER, GROUP, 0, make, &mode))
		bail_out("no belt");
}

static void end_belt(void)
{
	int fd = open_device(O_RDWR);

	destroy_belt(fd, NAME);
	close(fd);
}

static int unchanged(int fd, const struct snapshot *was)
{
	struct snapshot is = look(fd, "key");
	struct hashbelt_info info = info_of(fd);

	return is_same_snapshot(was, &is) && info.queued == 1 && info.sequence == 1 &&
	       info.ttl_ms == TTL && info.gid == GROUP;
}

static void test_row(const struct row *row)
{
	unsigned int done, want = row->want;
	int fd = open_device(O_RDWR);
	struct snapshot was;

	make_belt(row->mode);
	if (open_belt(fd, NAME))
		bail_out("open");
	was = look(fd, "key");
	done = as(row->uid, row->gid, row->group, try_all, row);
	if (!ok(done == want, "%s: each request succeeds or fails as the mode says", row->what))
		note("done %#x, expected %#x", done, want);
	/* A user with write access may change anything. */
	ok(want & (WRITES | OWNS) || unchanged(fd, &was),
	   "%s: a user without write access changes nothing", row->what);
	close(fd);
	end_belt();
}

static unsigned int access_of(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, *(const int *)arg);

	if (open_belt(fd, NAME))
		return BIT(ODD);
	return info_of(fd).access;
}

/* The creator of a belt may use it through the descriptor that created it, whatever its mode. */
static unsigned int make_and_use(const void *arg)
{
	struct hashbelt_settings create = { .mode = *(const __u32 *)arg };
	int fd = open(HASHBELT_DEVICE, O_RDWR);
	unsigned int done;

	if (fd < 0 || call(fd, HASHBELT_IOC_CREATE, &create))
		return BIT(ODD);
	put_text(fd, "key", "value", 0);
	done = try_reading(fd) | try_writing(fd) | BIT(DESTROY);
	done |= action_bit(HALT, call(fd, HASHBELT_IOC_HALT, NULL));
	done |= action_bit(RESUME, call(fd, HASHBELT_IOC_RESUME, NULL));
	done |= action_bit(ROTATE, call(fd, HASHBELT_IOC_ROTATE, NULL));
	done |= action_bit(SETTINGS, try_set(fd));
	return done | action_bit(ADVANCE, call(fd, HASHBELT_IOC_ADVANCE, &(__u64){ 1 }));
}

/*
 * For files and for belts fsuid and fsgid count (setfsuid(2)), not the ids of the process. The
 * process has both ids, so it may set either as fsuid and fsgid.
 */
static const struct split {
	const char *what;
	uid_t uid;
	gid_t gid;
	uid_t fsuid;
	gid_t fsgid;
	__u32 mode;
	unsigned int want;
} splits[] = {
	{ "a process of another user whose fsuid is the owner's, 0600",
	  OTHER, GROUP, OWNER, GROUP, 0600, BOTH | OWNS },
	{ "a process of the owner whose fsuid is another user's, 0600",
	  OWNER, OTHER, OTHER, OTHER, 0600, CLOSED },
	{ "a process of the owner whose fsuid is another user's, 0604",
	  OWNER, OTHER, OTHER, OTHER, 0604, READS },
	{ "a process of another group whose fsgid is the belt's, 0660",
	  OTHER, OTHER, OTHER, GROUP, 0660, BOTH },
	{ "a process of the belt's group whose fsgid is another, 0660",
	  OTHER, GROUP, OTHER, OTHER, 0660, CLOSED },
};

static bool become_split(const struct split *split)
{
	if (setgroups(0, NULL) || setresgid(split->gid, split->gid, split->fsgid) ||
	    setresuid(split->uid, split->uid, split->fsuid))
		return false;
	setfsgid(split->fsgid);
	setfsuid(split->fsuid);
	return (uid_t)setfsuid(-1) == split->fsuid && (gid_t)setfsgid(-1) == split->fsgid;
}

static unsigned int try_split(const void *arg)
{
	const struct split *split = arg;
	struct row row = { .flags = O_RDWR };

	return become_split(split) ? try_all(&row) : BIT(28);
}

/* Makes a belt as a process with such ids. */
static unsigned int make_split(const void *arg)
{
	const struct split *split = arg;
	int fd = become_split(split) ? open(HASHBELT_DEVICE, O_RDWR) : -1;

	return fd < 0 ? NO_RESULT : (unsigned int)-create_belt(fd, "split", 0600);
}

static void test_splits(void)
{
	static const struct split split = { .uid = OTHER, .gid = OTHER, .fsuid = OWNER,
					    .fsgid = GROUP };
	struct hashbelt_info info;
	unsigned int i, done;
	int fd = open_device(O_RDWR);

	for (i = 0; i < ARRAY_SIZE(splits); i++) {
		make_belt(splits[i].mode);
		done = as(0, 0, 0, try_split, &splits[i]);
		if (!ok(done == splits[i].want,
			"%s: fsuid and fsgid decide each request",
			splits[i].what))
			note("done %#x, expected %#x", done, splits[i].want);
		end_belt();
	}
	is_int(as(0, 0, 0, make_split, &split), 0,
	       "create by a process whose fsuid differs from its uid succeeds");
	if (open_belt(fd, "split"))
		bail_out("open");
	info = info_of(fd);
	ok(info.uid == OWNER && info.gid == GROUP,
	   "a new belt belongs to the fsuid and the fsgid of the process: %u, %u", info.uid,
	   info.gid);
	destroy_belt(fd, "split");
	close(fd);
}

static int inherited;

static unsigned int use_inherited(const void *arg)
{
	(void)arg;
	return try_reading(inherited);
}

static unsigned int open_again(const void *arg)
{
	(void)arg;
	return -open_belt(inherited, NAME);
}

static void test_holders(void)
{
	const __u32 none = 0;

	is_int(as(OTHER, OTHER, 0, make_and_use, &none), BOTH | OWNS,
	       "the creator of a belt of mode 0000 may read, write and configure it");
	make_belt(0600);
	inherited = open_device(O_RDWR | O_NONBLOCK);
	if (open_belt(inherited, NAME))
		bail_out("open");
	is_int(as(OTHER, OTHER, 0, use_inherited, NULL), READS,
	       "a process of another user may read through an inherited descriptor");
	close(inherited);
	end_belt();
}

static unsigned int list(const void *arg)
{
	struct hashbelt_info info = {};
	int fd = open(HASHBELT_DEVICE, O_RDWR);
	unsigned int found = 0;

	(void)arg;
	while (!call(fd, HASHBELT_IOC_NEXT, &info)) {
		if (!strncmp(info.name, "named ", 6))
			found |= BIT(info.name[6] - 'a');
		else
			found |= BIT(10);
	}
	return found;
}

static unsigned int make_unreadable(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	(void)arg;
	return create_belt(fd, "named i", 0000);
}

#define HIDDEN	600

static void test_list(void)
{
	static const __u32 modes[] = { 0600, 0604, 0602, 0660, 0000 };
	char name[] = "named a", hidden[16];
	unsigned int i;
	int fd = open_device(O_RDWR);

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		name[6] = 'a' + i;
		if (create_belt(fd, name, modes[i]))
			bail_out("create");
	}
	is_int(as(OTHER, OTHER, 0, list, NULL), BIT(1),
	       "next lists for a user the one belt that it may read");
	is_int(as(OTHER, OTHER, 1, list, NULL), BIT(1),
	       "next lists no more belts for a user with a supplementary group of no belt");
	is_int(as(0, 0, 0, list, NULL), 31 | BIT(10), "next lists all belts for the superuser");
	as(OTHER, OTHER, 0, make_unreadable, NULL);
	is_int(as(OTHER, OTHER, 0, list, NULL), BIT(1) | BIT(8),
	       "next lists for a user its own belt of mode 0000");
	is_int(as(OWNER, OTHER, 0, list, NULL), BIT(1),
	       "next does not list a belt of mode 0000 for another user");
	/* Between "named e" and "named i", more than the module looks at in one go. */
	for (i = 0; i < HIDDEN; i++) {
		snprintf(hidden, sizeof(hidden), "named g%u", i);
		if (create_belt(fd, hidden, 0600))
			bail_out("create");
	}
	is_int(as(OTHER, OTHER, 0, list, NULL), BIT(1) | BIT(8),
	       "next finds a belt behind %u belts that the user may not see", HIDDEN);
	for (i = 0; i < HIDDEN; i++) {
		snprintf(hidden, sizeof(hidden), "named g%u", i);
		destroy_belt(fd, hidden);
	}
	destroy_belt(fd, "named i");
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		name[6] = 'a' + i;
		destroy_belt(fd, name);
	}
	close(fd);
}

/* Changes of a belt's group */

#define CLUB	2500	/* a group that the owner may be a member of */
#define ELSE	2600	/* a group without members */

/* Settings to be changed. */
struct change {
	__u32 fields;
	gid_t gid;
	__u32 mode;
};

static int apply(int fd, const struct change *change)
{
	return set_belt(fd, (struct hashbelt_settings){
		.fields = change->fields, .gid = change->gid, .mode = change->mode,
		.ttl_ms = 77,
	});
}

/* Changes the belt; returns the errno. */
static unsigned int change_belt(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	if (fd < 0 || open_belt(fd, NAME))
		return NO_RESULT;
	return -apply(fd, arg);
}

static void test_group(void)
{
	static const struct row row = { .flags = O_RDWR };
	struct change change = { HASHBELT_SET_GID | HASHBELT_SET_MODE, CLUB, 0660 };

	make_belt(0660);
	is_int(as(OWNER, GROUP, 0, change_belt, &change), EPERM,
	       "the owner's change to a group that it is not a member of returns EPERM");
	is_int(as(OTHER, GROUP, 0, try_all, &row), BOTH,
	       "a belt keeps its group and mode when the change of its group fails");
	end_belt();
	make_belt(0600);
	is_int(as(OWNER, GROUP, CLUB, change_belt, &change), 0,
	       "the owner's change to a supplementary group of its own succeeds");
	is_int(as(OTHER, GROUP, 0, try_all, &row), CLOSED,
	       "a member of a belt's former group cannot open the belt");
	is_int(as(OTHER, OTHER, CLUB, try_all, &row), BOTH,
	       "a member of a belt's new group may read and write the belt");
	end_belt();
	make_belt(0600);
	change.mode = 0640;
	is_int(as(OWNER, GROUP, CLUB, change_belt, &change), 0,
	       "the owner's change to another group with mode 0640 succeeds");
	is_int(as(OTHER, OTHER, CLUB, try_all, &row), READS,
	       "a member of a belt's new group with mode 0640 may only read");
	end_belt();
}

static void test_group_limits(void)
{
	struct change change = { HASHBELT_SET_GID | HASHBELT_SET_TTL, ELSE, 0 };
	int fd = open_device(O_RDWR);

	make_belt(0600);
	if (open_belt(fd, NAME))
		bail_out("open");
	is_int(as(OWNER, GROUP, CLUB, change_belt, &change), EPERM,
	       "a change of group and ttl_ms returns EPERM for a group not of the owner");
	ok(info_of(fd).gid == GROUP && info_of(fd).ttl_ms == TTL,
	   "a change of group and ttl_ms that returns EPERM changes neither");
	change.gid = GROUP;
	is_int(as(OTHER, GROUP, 0, change_belt, &change), NO_RESULT,
	       "a change of a belt that a user may not open fails at its open");
	SET(fd, .fields = HASHBELT_SET_MODE, .mode = 0666);
	is_int(as(OTHER, GROUP, 0, change_belt, &change), EPERM,
	       "a change of another user's belt returns EPERM where the user may write");
	is_errno(apply(fd, &(struct change){ HASHBELT_SET_GID, ELSE, 0 }), 0,
		 "the superuser's change to any group succeeds");
	ok(info_of(fd).gid == ELSE && info_of(fd).uid == OWNER,
	   "the superuser's change of the group leaves the owner");
	close(fd);
	end_belt();
}

/* The rights of a descriptor are decided when it is bound. */
static void test_bound(void)
{
	int fd = open_device(O_RDWR);

	make_belt(0666);
	inherited = open_device(O_RDWR | O_NONBLOCK);
	if (open_belt(fd, NAME) || open_belt(inherited, NAME))
		bail_out("open");
	SET(fd, .fields = HASHBELT_SET_MODE, .mode = 0);
	is_int(as(OTHER, OTHER, 0, use_inherited, NULL), READS,
	       "a descriptor keeps its rights when the mode of its belt is set to 0");
	is_int(as(OTHER, OTHER, 0, open_again, NULL), ENOENT,
	       "open of a belt of mode 0 returns ENOENT for a descriptor bound to it");
	close(inherited);
	close(fd);
	end_belt();
}

/* User namespaces whose superuser is the user outside */

static unsigned int own_in_namespace(const void *arg)
{
	struct hashbelt_settings create = {
		.name = "inside", .ttl_ms = TTL, .mode = 0640,
	};
	struct change change = { HASHBELT_SET_GID, 0, 0 };
	int fd = open(HASHBELT_DEVICE, O_RDWR);
	struct hashbelt_info info;
	unsigned int bad = 0;

	(void)arg;
	if (fd < 0 || call(fd, HASHBELT_IOC_CREATE, &create) || !enter_namespace())
		return NO_RESULT;
	info = info_of(fd);
	bad |= info.uid || info.gid ? BIT(0) : 0;
	if (open_belt(fd, "inside") || info_of(fd).access != ALL_RIGHTS)
		bad |= BIT(1);
	if (apply(fd, &change))
		bad |= BIT(2);
	change.gid = 5;
	if (apply(fd, &change) != -EINVAL)
		bad |= BIT(3);
	/* The outer gid is not mapped in the namespace. */
	change.gid = OTHER;
	if (apply(fd, &change) != -EINVAL)
		bad |= BIT(4);
	change.gid = ~0u;
	if (apply(fd, &change) != -EINVAL)
		bad |= BIT(5);
	create.name[0] = 'I';
	create.fields = HASHBELT_SET_GID;
	create.gid = 5;
	if (call(fd, HASHBELT_IOC_CREATE, &create) != -EINVAL)
		bad |= BIT(6);
	create.gid = 0;
	if (call(fd, HASHBELT_IOC_CREATE, &create) || info_of(fd).gid)
		bad |= BIT(7);
	return bad;
}

static unsigned int others_in_namespace(const void *arg)
{
	struct change change = { HASHBELT_SET_GID | HASHBELT_SET_MODE, 0, 0666 };
	unsigned int bad = 0;
	int fd;

	(void)arg;
	if (!enter_namespace() || getuid())
		return NO_RESULT;
	fd = open(HASHBELT_DEVICE, O_RDWR);
	if (open_belt(fd, NAME))
		return NO_RESULT;
	/* The belt's mode is 0666, which gives these rights. */
	if (info_of(fd).access != (READER | HASHBELT_MAY_WRITE))
		bad |= BIT(0);
	if (info_of(fd).uid != 65534 || info_of(fd).gid != 65534)
		bad |= BIT(1);
	if (apply(fd, &change) != -EPERM || call(fd, HASHBELT_IOC_HALT, NULL) != -EPERM)
		bad |= BIT(2);
	if (destroy_belt(fd, NAME) != -EPERM)
		bad |= BIT(3);
	return bad;
}

static void test_mapped(void)
{
	int fd = open_device(O_RDWR);
	struct hashbelt_info info;

	is_int(as(OTHER, OTHER, 0, own_in_namespace, NULL), 0,
	       "a user in a user namespace owns its belts, by the ids of the namespace");
	if (open_belt(fd, "inside"))
		bail_out("no belt");
	info = info_of(fd);
	ok(info.uid == OTHER && info.gid == OTHER,
	   "a belt made before its owner entered a user namespace has the outer ids");
	destroy_belt(fd, "inside");
	if (open_belt(fd, "Inside"))
		bail_out("no belt");
	info = info_of(fd);
	ok(info.uid == OTHER && info.gid == OTHER,
	   "a belt created in a user namespace has the outer user and group");
	destroy_belt(fd, "Inside");
	make_belt(0666);
	is_int(as(OTHER, OTHER, 0, others_in_namespace, NULL), 0,
	       "the superuser of a user namespace has no rights but the mode to a belt");
	end_belt();
	close(fd);
}

/* A descriptor to a nameless belt gives all rights to read and write. */
static unsigned int use_received(const void *arg)
{
	inherited = receive_descriptor(*(const int *)arg);
	if (inherited < 0)
		return NO_RESULT;
	return try_reading(inherited) | try_writing(inherited);
}

static void test_nameless(void)
{
	int sockets[2], belt = belt_of((struct hashbelt_settings){});

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		bail_out("socketpair: %s", strerror(errno));
	put_text(belt, "key", "value", 0);
	inherited = belt;
	is_int(as(OTHER, OTHER, 0, use_inherited, NULL), READS,
	       "a child process of another user may read a belt without a name");
	send_descriptor(sockets[0], belt);
	close(belt);
	is_int(as(OTHER, OTHER, 0, use_received, &sockets[1]), BOTH,
	       "a process that receives the descriptor may read and write a nameless belt");
	is_int(as(OTHER, OTHER, 0, list, NULL) & ~BIT(10), 0,
	       "next lists no belt without a name for another user");
	close(sockets[0]);
	close(sockets[1]);
}

static unsigned int open_node(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, *(const int *)arg);

	return fd < 0 ? errno : 0;
}

static unsigned int use_default(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	(void)arg;
	return try_reading(fd) | try_writing(fd) |
	       action_bit(HALT, call(fd, HASHBELT_IOC_HALT, NULL));
}

/* The permissions of the device node are checked first; other tests leave it open to all. */
static void test_node(void)
{
	static const int read_write = O_RDWR, read_only = O_RDONLY;
	struct stat node;

	if (stat(HASHBELT_DEVICE, &node))
		bail_out("stat: %s", strerror(errno));
	ok(S_ISCHR(node.st_mode) && (node.st_mode & 0777) == 0600 && !node.st_uid,
	   "the device node has mode 0600 and belongs to the superuser");
	is_int(as(OTHER, OTHER, 0, open_node, &read_write), EACCES,
	       "open of a node of mode 0600 for writing returns EACCES for a user");
	chmod(HASHBELT_DEVICE, 0604);
	is_int(as(OTHER, OTHER, 0, open_node, &read_only), 0,
	       "open of a node of mode 0604 for reading succeeds for a user");
	is_int(as(OTHER, OTHER, 0, open_node, &read_write), EACCES,
	       "open of a node of mode 0604 for writing returns EACCES for a user");
	chmod(HASHBELT_DEVICE, 0666);
	is_int(as(OTHER, OTHER, 0, open_node, &read_write), 0,
	       "open of a node of mode 0666 for reading and writing succeeds for a user");
	is_int(as(OTHER, OTHER, 0, use_default, NULL), 0,
	       "a user has no rights to the superuser's default belt");
}

/* uid 0 and capabilities: the belts of the superuser take both. */

/* The capabilities that container engines leave to uid 0; neither SYS_ADMIN nor SYS_RESOURCE */
#define CONTAINER	0xa80425fbu

/* Work of a process of uid 0 with few capabilities. */
struct lesser {
	__u32 capabilities;
	unsigned int (*work)(const void *arg);
};

static unsigned int run_lesser(const void *arg)
{
	static const struct row row = { .flags = O_RDWR };
	const struct lesser *lesser = arg;

	return keep_capabilities(lesser->capabilities) ? lesser->work(&row) : NO_RESULT;
}

static unsigned int as_lesser(__u32 capabilities, unsigned int (*work)(const void *arg))
{
	struct lesser lesser = { capabilities, work };

	return as(0, 0, 0, run_lesser, &lesser);
}

/* Tries all requests when OPEN has failed: the descriptor is still bound to the default belt. */
static unsigned int try_unopened(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR | O_NONBLOCK);
	unsigned int done;

	(void)arg;
	if (fd < 0 || open_belt(fd, NAME) != -ENOENT)
		return BIT(ODD);
	done = try_reading(fd) | try_writing(fd) | try_managing(fd);
	return done | (destroy_belt(fd, NAME) == -ENOENT ? 0 : BIT(DESTROY));
}

static void test_unopened(__u32 capabilities, const char *which)
{
	unsigned int done = as_lesser(capabilities, try_unopened);

	is_int(done, 0, "%s is refused all %u requests on the superuser's belts", which, ACTIONS);
	note("%u of %u requests succeed", (unsigned int)__builtin_popcount(done), ACTIONS);
}

static void make_roots(__u32 mode)
{
	if (as(0, 0, 0, make, &mode))
		bail_out("no belt");
}

/* Belts of other modes and makers, and other calls: opener_test.c. */
static void test_lesser(void)
{
	make_roots(0600);
	test_unopened(0, "uid 0 without capabilities");
	test_unopened(CONTAINER, "uid 0 with a container's capabilities");
	end_belt();
}

/* Opens a belt and demands that the user @arg owns it; returns the errno. */
static unsigned int open_owned(const void *arg)
{
	struct hashbelt_name name = name_of(NAME);

	name.flags = HASHBELT_OF_OWNER;
	name.uid = *(const uid_t *)arg;
	return -call(open(HASHBELT_DEVICE, O_RDWR), HASHBELT_IOC_OPEN, &name);
}

static unsigned int open_owned_as_lesser(const void *arg)
{
	static const uid_t root;

	(void)arg;
	return open_owned(&root);
}

static unsigned int make_as_lesser(const void *arg)
{
	static const __u32 mode = 0666;

	(void)arg;
	return make(&mode);
}

/* Any user may make a belt under a name that another user expects to own. */
static void test_demanded_owner(void)
{
	static const uid_t owner = OWNER, other = OTHER, root;

	make_belt(0666);
	is_int(as(OTHER, OTHER, 0, open_owned, &owner), 0,
	       "open that demands the owner of the belt succeeds");
	is_int(as(OTHER, OTHER, 0, open_owned, &other), EPERM,
	       "open that demands another owner returns EPERM");
	is_int(as(OTHER, OTHER, 0, open_owned, &root), EPERM,
	       "open of a user's belt that demands the superuser as the owner returns EPERM");
	end_belt();
	make_belt(0600);
	is_int(as(OTHER, OTHER, 0, open_owned, &owner), ENOENT,
	       "open that demands the owner returns ENOENT to a user without a right");
	end_belt();
	make_roots(0666);
	is_int(as(OTHER, OTHER, 0, open_owned, &root), 0,
	       "open of the superuser's belt that demands its owner succeeds");
	end_belt();
	as_lesser(0, make_as_lesser);
	is_int(as(OTHER, OTHER, 0, open_owned, &root), EPERM,
	       "a belt of uid 0 without capabilities is not the superuser's");
	is_int(as_lesser(0, open_owned_as_lesser), EPERM,
	       "uid 0 without capabilities cannot demand the superuser as the owner of its own belt");
	end_belt();
}

#define SQUATTERS	16u

/* Each makes a belt under the name that a client expects to be the superuser's. */
static void test_squatters(void)
{
	static const uid_t root;
	static const __u32 mode = 0666;
	unsigned int i, reached = 0;

	for (i = 0; i < SQUATTERS; i++) {
		if (as(OTHER + i, OTHER, 0, make, &mode))
			bail_out("no belt");
		reached += as(OTHER, OTHER, 0, open_owned, &root) != EPERM;
		end_belt();
	}
	as_lesser(0, make_as_lesser);
	reached += as(OTHER, OTHER, 0, open_owned, &root) != EPERM;
	end_belt();
	is_int(reached, 0, "open that demands the superuser as the owner reaches no other's belt");
	note("it reaches %u of the belts that %u users and uid 0 of a container have made", reached,
	     SQUATTERS);
}

/* Belts whose events only the owner consumes */

#define CONSUMED	BIT(0)
#define ACKNOWLEDGED	BIT(1)
#define READABLE	BIT(2)	/* by poll */
#define REFUSED		BIT(3)	/* all three, with EPERM and POLLERR */
#define OTHERWISE	BIT(4)	/* another right of a reader is missing */

/* The task that may read the belt tries to take its event. */
static unsigned int consume(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, *(const int *)arg | O_NONBLOCK);
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	static char buffer[4096];
	__u32 flags = HASHBELT_WATCH_ACK;
	unsigned int done = 0, refused = 0;
	__u64 sequence = 1;

	if (fd < 0 || open_belt(fd, NAME))
		return NO_RESULT;
	if (one(fd, HASHBELT_IOC_GET, 0) || call(fd, HASHBELT_IOC_WATCH, &flags))
		done |= OTHERWISE;
	poll(&polled, 1, 0);
	done |= polled.revents == POLLIN ? READABLE : 0;
	refused += polled.revents == POLLERR;
	if (read(fd, buffer, sizeof(buffer)) > 0)
		done |= CONSUMED;
	else
		refused += errno == EPERM;
	if (!call(fd, HASHBELT_IOC_ACK, &sequence))
		done |= ACKNOWLEDGED;
	else
		refused += errno == EPERM;
	return refused == 3 ? done | REFUSED : done;
}

/* In the mode of requests a descriptor reads what is its own. */
static unsigned int await_requests(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR | O_NONBLOCK);
	struct pollfd polled = { .fd = fd, .events = POLLIN };
	__u32 flags = HASHBELT_WATCH_REQUESTS;
	static char buffer[4096];

	(void)arg;
	if (fd < 0 || open_belt(fd, NAME) || call(fd, HASHBELT_IOC_WATCH, &flags) ||
	    poll(&polled, 1, 0))
		return NO_RESULT;
	return read(fd, buffer, sizeof(buffer)) < 0 ? errno : 0;
}

/* OWNER makes a belt of mode 0644, with an event. */
static void make_reported(__u32 consumers)
{
	struct hashbelt_settings set = {
		.fields = HASHBELT_SET_CONSUMERS, .consumers = consumers,
	};
	int fd = open_device(O_RDWR);

	make_belt(0644);
	if (open_belt(fd, NAME) || set_belt(fd, set))
		bail_out("no belt");
	close(fd);
}

static void test_consumers(void)
{
	static const int read_write = O_RDWR, read_only = O_RDONLY;
	const unsigned int all = CONSUMED | ACKNOWLEDGED | READABLE;
	int fd = open_device(O_RDWR);

	make_reported(HASHBELT_CONSUMERS_OWNER);
	is_int(as(OTHER, OTHER, 0, access_of, &read_write), HASHBELT_MAY_READ,
	       "a reader of a belt whose owner consumes may only read");
	is_int(as(OTHER, OTHER, 0, consume, &read_write), REFUSED,
	       "a reader of a belt whose owner consumes can neither poll, read nor ack events");
	is_int(as(OTHER, OTHER, 0, await_requests, NULL), EAGAIN,
	       "a reader of a belt whose owner consumes reads completions of its requests");
	is_int(as(OWNER, GROUP, 0, access_of, &read_only), READER,
	       "the owner may consume events through a read-only descriptor");
	is_int(as(OWNER, GROUP, 0, consume, &read_only), all,
	       "the owner of a belt consumes the event that no reader has taken");
	end_belt();
	make_reported(HASHBELT_CONSUMERS_OWNER);
	is_int(as(0, 0, 0, consume, &read_write), all,
	       "the superuser consumes events of a belt whose owner consumes");
	end_belt();
	make_reported(HASHBELT_CONSUMERS_READERS);
	is_int(as(OTHER, OTHER, 0, consume, &read_write), all,
	       "a reader of a belt whose readers consume takes its event");
	end_belt();
	make_belt(0644);
	is_int(as(OTHER, OTHER, 0, consume, &read_only), all,
	       "a reader takes the event of a belt that was made without a choice of consumers");
	end_belt();
	make_reported(HASHBELT_CONSUMERS_OWNER);
	if (open_belt(fd, NAME))
		bail_out("open");
	is_int(info_of(fd).state & HASHBELT_OWNER_CONSUMES, HASHBELT_OWNER_CONSUMES,
	       "info shows that only the owner consumes");
	SET(fd, .fields = HASHBELT_SET_MODE | HASHBELT_SET_GID, .mode = 0604, .gid = GROUP);
	ok(info_of(fd).state & HASHBELT_OWNER_CONSUMES && info_of(fd).mode == 0604,
	   "a change of mode and group leaves the consumers");
	SET(fd, .fields = HASHBELT_SET_CONSUMERS);
	ok(!(info_of(fd).state & HASHBELT_OWNER_CONSUMES) && info_of(fd).mode == 0604 &&
	   info_of(fd).gid == GROUP, "a change of consumers leaves mode and group");
	is_int(as(OTHER, OTHER, 0, consume, &read_write), all,
	       "a reader takes the event after the consumers are set to readers");
	end_belt();
	must(fd, HASHBELT_IOC_CREATE, &((struct hashbelt_settings){
		.consumers = HASHBELT_CONSUMERS_OWNER }));
	is_int(info_of(fd).state, HASHBELT_NAMELESS | HASHBELT_OWNER_CONSUMES,
	       "create takes the consumers of a belt");
	close(fd);
}

/* The module's load is not for all users to see. */
static unsigned int open_used_bytes(const void *arg)
{
	(void)arg;
	return open(PARAMETERS "used_bytes", O_RDONLY) < 0 ? errno : 0;
}

/* A write-only descriptor returns nothing of what is stored. */
static void test_write_only(void)
{
	struct hashbelt_item item = text_item("key", "value");
	int belt = open_device(O_RDWR), fd = open_device(O_WRONLY);

	if (create_belt(belt, "written", 0600) || open_belt(fd, "written"))
		bail_out("no belt");
	item.flags = 7;
	must(belt, HASHBELT_IOC_PUT, &item);
	item = item_of("key");
	item.flags = 1;
	must(fd, HASHBELT_IOC_TOUCH, &item);
	is_int(item.flags, 1,
	       "touch through a write-only descriptor returns no flags of the entry");
	destroy_belt(belt, "written");
	close(fd);
	close(belt);
}

int main(void)
{
	unsigned int i;

	umask(0);
	test_node();
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&rows[i]);
	test_splits();
	test_holders();
	test_mapped();
	test_group();
	test_group_limits();
	test_bound();
	test_nameless();
	test_list();
	test_lesser();
	test_demanded_owner();
	test_squatters();
	test_consumers();
	is_int(as(OTHER, OTHER, 0, open_used_bytes, NULL), EACCES,
	       "open of the parameter used_bytes returns EACCES for a user");
	chmod(HASHBELT_DEVICE, 0600);
	test_write_only();
	return done_testing();
}
