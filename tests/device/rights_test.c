// SPDX-License-Identifier: GPL-2.0
/*
 * rights_test - who may do what with a belt.
 *
 * Each row of the table is a user, a belt's owner, group and mode, and how the
 * device was opened; for it every request is tried, in a process of that user.
 * What may not be done fails with EPERM and does nothing, all else succeeds.
 */
#define _GNU_SOURCE
#include <grp.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "device.h"

#define TESTS	68

#define NAME	"rights"
#define OWNER	1000
#define GROUP	2000
#define OTHER	3000

/* What is tried, as bits of a mask. The order is that of the tries. */
enum deed {
	GET, PEEK, SCAN, INFO, STAT, GET_AND_TOUCH, PUT, TOUCH, EXPIRE, REMOVE, CLEAR,
	HALT, RESUME, ROTATE, ADVANCE, DESTROY,
	ODD = 30,	/* something was neither done nor refused with EPERM */
};

#define BIT(n)	(1u << (n))
#define READS	(BIT(GET) | BIT(PEEK) | BIT(SCAN) | BIT(INFO) | BIT(STAT))
#define WRITES	(BIT(PUT) | BIT(TOUCH) | BIT(EXPIRE) | BIT(REMOVE) | BIT(CLEAR))
#define BOTH	(READS | WRITES | BIT(GET_AND_TOUCH))
#define OWNS	(BIT(HALT) | BIT(RESUME) | BIT(ROTATE) | BIT(ADVANCE) | BIT(DESTROY))
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
	{ "the owner, 0600, reading only", OWNER, GROUP, 0, O_RDONLY, 0600, READS },
	{ "the owner, 0600, writing only", OWNER, GROUP, 0, O_WRONLY, 0600, WRITES | OWNS },
	{ "the owner, 0400", OWNER, GROUP, 0, O_RDWR, 0400, READS | OWNS },
	{ "the owner, 0200", OWNER, GROUP, 0, O_RDWR, 0200, WRITES | OWNS },
	{ "the owner, 0066", OWNER, GROUP, 0, O_RDWR, 0066, OWNS },
	{ "the owner, 0000, reading only", OWNER, GROUP, 0, O_RDONLY, 0,
	  0 },
	{ "the group, 0660", OTHER, GROUP, 0, O_RDWR, 0660, BOTH },
	{ "the group, 0640", OTHER, GROUP, 0, O_RDWR, 0640, READS },
	{ "the group, 0620", OTHER, GROUP, 0, O_RDWR, 0620, WRITES },
	{ "the group, 0606", OTHER, GROUP, 0, O_RDWR, 0606, CLOSED },
	{ "one of the group by the way, 0660", OTHER, OTHER, GROUP, O_RDWR, 0660, BOTH },
	{ "one of the group by the way, 0606", OTHER, OTHER, GROUP, O_RDWR, 0606, CLOSED },
	{ "another, 0600", OTHER, OTHER, 0, O_RDWR, 0600, CLOSED },
	{ "another, 0660", OTHER, OTHER, 0, O_RDWR, 0660, CLOSED },
	{ "another, 0604", OTHER, OTHER, 0, O_RDWR, 0604, READS },
	{ "another, 0602", OTHER, OTHER, 0, O_RDWR, 0602, WRITES },
	{ "another, 0606", OTHER, OTHER, 0, O_RDWR, 0606, BOTH },
	{ "another, 0666, reading only", OTHER, OTHER, 0, O_RDONLY, 0666, READS },
	{ "another, 0666, writing only", OTHER, OTHER, 0, O_WRONLY, 0666, WRITES },
	{ "another, 0006", OTHER, OTHER, 0, O_RDWR, 0006, BOTH },
	{ "the superuser, 0600", 0, 0, 0, O_RDWR, 0600, BOTH | OWNS },
	{ "the superuser, 0000", 0, 0, 0, O_RDWR, 0000, BOTH | OWNS },
	{ "the superuser, 0000, reading only", 0, 0, 0, O_RDONLY, 0000, READS },
	{ "the superuser, 0000, writing only", 0, 0, 0, O_WRONLY, 0000, WRITES | OWNS },
};

static void become(uid_t uid, gid_t gid, gid_t group)
{
	if (!uid)
		return;
	if (setgroups(!!group, &group) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		_exit(99);
}

/* Runs @work in a process of its own, as somebody; returns what it returns. */
static unsigned int as(uid_t uid, gid_t gid, gid_t group,
		       unsigned int (*work)(const void *arg), const void *arg)
{
	unsigned int result = BIT(ODD);
	int pipes[2], status;
	pid_t child;

	if (pipe(pipes))
		bail_out("pipe: %s", strerror(errno));
	child = fork();
	if (!child) {
		become(uid, gid, group);
		result = work(arg);
		_exit(write(pipes[1], &result, sizeof(result)) != sizeof(result));
	}
	close(pipes[1]);
	if (child < 0 || read(pipes[0], &result, sizeof(result)) != sizeof(result))
		result = BIT(ODD);
	waitpid(child, &status, 0);
	close(pipes[0]);
	return result;
}

static unsigned int deed(enum deed which, int err)
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

static unsigned int try_reading(int fd)
{
	static char buffer[4096];
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = sizeof(buffer) };
	struct hashbelt_info info = {};
	struct hashbelt_stat stat = {};
	unsigned int done;

	done = deed(GET, one(fd, HASHBELT_IOC_GET, 0));
	done |= deed(PEEK, one(fd, HASHBELT_IOC_GET, HASHBELT_NO_VALUE));
	done |= deed(SCAN, call(fd, HASHBELT_IOC_SCAN, &scan));
	done |= deed(INFO, call(fd, HASHBELT_IOC_INFO, &info));
	done |= deed(STAT, call(fd, HASHBELT_IOC_STAT, &stat));
	return done;
}

static unsigned int try_writing(int fd)
{
	unsigned int done;

	done = deed(GET_AND_TOUCH, one(fd, HASHBELT_IOC_GET, HASHBELT_AND_TOUCH));
	done |= deed(PUT, one(fd, HASHBELT_IOC_PUT, 0));
	done |= deed(TOUCH, one(fd, HASHBELT_IOC_TOUCH, 0));
	done |= deed(EXPIRE, one(fd, HASHBELT_IOC_EXPIRE, 0));
	one(fd, HASHBELT_IOC_PUT, 0);
	done |= deed(REMOVE, one(fd, HASHBELT_IOC_REMOVE, 0));
	done |= deed(CLEAR, call(fd, HASHBELT_IOC_CLEAR, NULL));
	return done;
}

static unsigned int try_owning(int fd)
{
	unsigned int done;
	__u64 ms = 1;

	done = deed(RESUME, call(fd, HASHBELT_IOC_RESUME, NULL));
	done |= deed(HALT, call(fd, HASHBELT_IOC_HALT, NULL));
	done |= deed(ROTATE, call(fd, HASHBELT_IOC_ROTATE, NULL));
	done |= deed(ADVANCE, call(fd, HASHBELT_IOC_ADVANCE, &ms));
	done |= deed(DESTROY, destroy_belt(fd, NAME));
	return done;
}

static unsigned int try_all(const void *arg)
{
	const struct row *row = arg;
	int fd = open(HASHBELT_DEVICE, row->flags), err;
	unsigned int done;

	if (fd < 0)
		return BIT(ODD);
	err = open_belt(fd, NAME);
	if (err == -EACCES) {
		done = try_owning(fd);
		return done ? done | BIT(ODD) : CLOSED;
	}
	if (err)
		return BIT(ODD);
	return try_reading(fd) | try_writing(fd) | try_owning(fd);
}

/* OWNER, of GROUP, makes the belt. */
static unsigned int make(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	if (fd < 0 || create_belt(fd, NAME, *(const __u32 *)arg))
		return 1;
	must(fd, HASHBELT_IOC_HALT, NULL);
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

static int unchanged(int fd, const struct sight *was)
{
	struct sight is = look(fd, "key");

	return same_sight(was, &is);
}

static void test_row(const struct row *row)
{
	unsigned int done, want = row->want;
	int fd = open_device(O_RDWR);
	struct sight was;

	make_belt(row->mode);
	if (open_belt(fd, NAME))
		bail_out("open");
	was = look(fd, "key");
	done = as(row->uid, row->gid, row->group, try_all, row);
	if (!ok(done == want, "%s: may do what is granted, and nothing else", row->what))
		note("done %#x, expected %#x", done, want);
	/* Who may write may leave anything; others must leave nothing. */
	ok(want & (WRITES | OWNS) || unchanged(fd, &was),
	   "%s: what may not be written stays as it was", row->what);
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

/* What info and next say of the caller's rights. */
static void test_access(void)
{
	static const int read_write = O_RDWR, read_only = O_RDONLY;

	make_belt(0664);
	is_int(as(OWNER, GROUP, 0, access_of, &read_write),
	       HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN,
	       "the owner is told that it may do all");
	is_int(as(OWNER, GROUP, 0, access_of, &read_only), HASHBELT_MAY_READ,
	       "but through a descriptor for reading it may only read");
	is_int(as(OTHER, GROUP, 0, access_of, &read_write),
	       HASHBELT_MAY_READ | HASHBELT_MAY_WRITE, "the group, that it may read and write");
	is_int(as(OTHER, OTHER, 0, access_of, &read_write), HASHBELT_MAY_READ,
	       "another, that it may read");
	end_belt();
}

/* A belt's maker may use it through the descriptor that made it. */
static unsigned int make_and_use(const void *arg)
{
	struct hashbelt_create create = { .mode = *(const __u32 *)arg };
	int fd = open(HASHBELT_DEVICE, O_RDWR);
	unsigned int done;

	if (fd < 0 || call(fd, HASHBELT_IOC_CREATE, &create))
		return BIT(ODD);
	put_text(fd, "key", "value", 0);
	done = try_reading(fd) | try_writing(fd) | BIT(DESTROY);
	done |= deed(HALT, call(fd, HASHBELT_IOC_HALT, NULL));
	done |= deed(RESUME, call(fd, HASHBELT_IOC_RESUME, NULL));
	done |= deed(ROTATE, call(fd, HASHBELT_IOC_ROTATE, NULL));
	return done | deed(ADVANCE, call(fd, HASHBELT_IOC_ADVANCE, &(__u64){ 1 }));
}

static int inherited;

static unsigned int use_inherited(const void *arg)
{
	(void)arg;
	return try_reading(inherited);
}

static unsigned int destroy_others(const void *arg)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR);

	(void)arg;
	return -destroy_belt(fd, NAME);
}

static void test_holders(void)
{
	const __u32 none = 0;

	is_int(as(OTHER, OTHER, 0, make_and_use, &none), BOTH | OWNS,
	       "who has made a belt may use it, whatever its mode");
	make_belt(0600);
	inherited = open_device(O_RDWR);
	if (open_belt(inherited, NAME))
		bail_out("open");
	is_int(as(OTHER, OTHER, 0, use_inherited, NULL), READS,
	       "who was given a descriptor may do what it was bound for");
	is_int(as(OTHER, OTHER, 0, destroy_others, NULL), EPERM,
	       "but by name may not destroy what is not its own");
	ok(holds_text(inherited, "key", "value"), "so the belt is still there");
	close(inherited);
	end_belt();
}

/* A user namespace of one's own makes nobody powerful outside of it. */
static unsigned int from_namespace(const void *arg)
{
	struct hashbelt_info info = {};
	unsigned int done = try_all(arg);
	int fd;

	if (done != CLOSED)
		return done;
	if (unshare(CLONE_NEWUSER))
		return BIT(28);
	fd = open(HASHBELT_DEVICE, O_RDWR);
	if (fd < 0)
		return BIT(27);
	if (open_belt(fd, NAME) != -EACCES || destroy_belt(fd, NAME) != -EPERM)
		return BIT(ODD);
	if (open_belt(fd, "open to all"))
		return BIT(26);
	must(fd, HASHBELT_IOC_INFO, &info);
	/* Nobody is mapped there: users outside all look alike. */
	return info.uid == 65534 && info.gid == 65534 ? 0 : BIT(25);
}

static void test_namespace(void)
{
	static const struct row row = { .flags = O_RDWR };
	int fd = open_device(O_RDWR);

	if (create_belt(fd, "open to all", 0666))
		bail_out("create");
	make_belt(0600);
	is_int(as(OTHER, OTHER, 0, from_namespace, &row), 0,
	       "all power in a user namespace of one's own is none over another's belt");
	end_belt();
	destroy_belt(fd, "open to all");
	close(fd);
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

static void test_list(void)
{
	static const __u32 modes[] = { 0600, 0604, 0602, 0660, 0000 };
	char name[] = "named a";
	unsigned int i;
	int fd = open_device(O_RDWR);

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		name[6] = 'a' + i;
		if (create_belt(fd, name, modes[i]))
			bail_out("create");
	}
	is_int(as(OTHER, OTHER, 0, list, NULL), BIT(1) | BIT(2),
	       "names of belts that one may not use are not listed");
	is_int(as(OTHER, OTHER, 1, list, NULL), BIT(1) | BIT(2),
	       "a group of no belt does not matter");
	is_int(as(0, 0, 0, list, NULL), 31 | BIT(10), "the superuser sees all");
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		name[6] = 'a' + i;
		destroy_belt(fd, name);
	}
	close(fd);
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
	return try_reading(fd) | try_writing(fd) | deed(HALT, call(fd, HASHBELT_IOC_HALT, NULL));
}

/* The node's own permissions come first; it is open to all in other tests. */
static void test_node(void)
{
	static const int read_write = O_RDWR, read_only = O_RDONLY;
	struct stat node;

	if (stat(HASHBELT_DEVICE, &node))
		bail_out("stat: %s", strerror(errno));
	ok(S_ISCHR(node.st_mode) && (node.st_mode & 0777) == 0600 && !node.st_uid,
	   "the node is the superuser's alone, to begin with");
	is_int(as(OTHER, OTHER, 0, open_node, &read_write), EACCES, "so another cannot open it");
	chmod(HASHBELT_DEVICE, 0604);
	is_int(as(OTHER, OTHER, 0, open_node, &read_only), 0, "unless it may read it");
	is_int(as(OTHER, OTHER, 0, open_node, &read_write), EACCES, "but then not write");
	chmod(HASHBELT_DEVICE, 0666);
	is_int(as(OTHER, OTHER, 0, open_node, &read_write), 0, "or both");
	is_int(as(OTHER, OTHER, 0, use_default, NULL), 0,
	       "and then may do nothing with a default belt that is not its own");
}

int main(void)
{
	unsigned int i;

	plan(TESTS);
	umask(0);
	test_node();
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		test_row(&rows[i]);
	test_access();
	test_holders();
	test_namespace();
	test_list();
	chmod(HASHBELT_DEVICE, 0600);
	return done_testing();
}
