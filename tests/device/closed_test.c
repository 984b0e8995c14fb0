// SPDX-License-Identifier: GPL-2.0-only
/*
 * closed_test - while the module's parameter closed is 1, the device lets in only a task that could
 * remove the module and says O_EXCL, and only such a task closes and opens it.
 */
#define _GNU_SOURCE
#include <linux/capability.h>
#include <sys/stat.h>

#include "process.h"

#define OTHER	3000

#define CLOSED	PARAMETERS "closed"

/* Bits of a result: the task succeeded. */
enum {
	ENTERED		= 1,	/* opened the device */
	ENTERED_ALONE	= 2,	/* with O_EXCL */
	READ_IT		= 4,	/* the parameter */
	OPENED_IT	= 8,	/* wrote 0 to it */
	CLOSED_IT	= 16,	/* wrote 1 to it */
	ODD		= 32,	/* another error than the right one */
};

static unsigned int enter(int flags, unsigned int bit)
{
	int fd = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC | flags);

	if (fd < 0)
		return errno == EUNATCH ? 0 : ODD;
	close(fd);
	return bit;
}

/* Writes a value that the parameter has, so a task that may do it changes nothing. */
static unsigned int try_write(const char *text, unsigned int bit)
{
	int fd = open(CLOSED, O_WRONLY | O_CLOEXEC);
	unsigned int done = 0;

	if (fd < 0)
		return errno == EACCES ? 0 : ODD;
	if (write(fd, text, 1) == 1)
		done = bit;
	else if (errno != EPERM)
		done = ODD;
	close(fd);
	return done;
}

/* @arg: whether the device is closed. */
static unsigned int try_all(const void *arg)
{
	bool closed = *(const bool *)arg;
	int fd = open(CLOSED, O_RDONLY | O_CLOEXEC);
	unsigned int done = fd < 0 ? 0 : READ_IT;

	if (fd >= 0)
		close(fd);
	done |= enter(0, ENTERED) | enter(O_EXCL, ENTERED_ALONE);
	return done | (closed ? try_write("1", CLOSED_IT) : try_write("0", OPENED_IT));
}

static unsigned int try_inside(const void *arg)
{
	return enter_namespace() ? try_all(arg) : 98;
}

static unsigned int try_powerless(const void *arg)
{
	return keep_capabilities(~(1u << CAP_SYS_MODULE)) ? try_all(arg) : 97;
}

static const struct {
	const char *name;
	uid_t uid;
	unsigned int (*work)(const void *arg);
	unsigned int open, closed;
} tasks[] = {
	{ "the superuser", 0, try_all, ENTERED | ENTERED_ALONE | READ_IT | OPENED_IT,
	  ENTERED_ALONE | READ_IT | CLOSED_IT },
	{ "uid 0 without CAP_SYS_MODULE", 0, try_powerless, ENTERED | ENTERED_ALONE | READ_IT,
	  READ_IT },
	{ "another user", OTHER, try_all, ENTERED | ENTERED_ALONE, 0 },
	{ "the superuser of a user namespace", OTHER, try_inside, ENTERED | ENTERED_ALONE, 0 },
	{ "the superuser in a user namespace of its own", 0, try_inside,
	  ENTERED | ENTERED_ALONE | READ_IT, READ_IT },
};

static void test_tasks(bool closed)
{
	unsigned int i;

	set_number("closed", closed);
	for (i = 0; i < ARRAY_SIZE(tasks); i++)
		is_int(as(tasks[i].uid, tasks[i].uid, 0, tasks[i].work, &closed),
		       closed ? tasks[i].closed : tasks[i].open,
		       "%s is let do what it may while the device is %s", tasks[i].name,
		       closed ? "closed" : "open");
	is_int(get_parameter("closed"), closed, "the device is %s after that",
	       closed ? "closed" : "open");
}

/* Descriptors stay as they were. */
static void test_open_before(void)
{
	int fd;

	set_number("closed", 0);
	fd = new_belt(0);
	set_number("closed", 1);
	put_text(fd, "key", "text", 0);
	ok(holds_text(fd, "key", "text"),
	   "a descriptor from before works while the device is closed");
	is_int(open(HASHBELT_DEVICE, O_RDONLY | O_CLOEXEC) < 0 ? errno : 0, EUNATCH,
	       "open for reading fails with EUNATCH while the device is closed");
	is_int(open(HASHBELT_DEVICE, O_WRONLY | O_CLOEXEC) < 0 ? errno : 0, EUNATCH,
	       "open for writing fails with EUNATCH while the device is closed");
	set_number("closed", 0);
	close(fd);
	fd = open_device(O_RDWR);
	ok(fd >= 0, "the device can be opened after that");
	close(fd);
}

int main(void)
{
	struct stat parameter;

	if (chmod(HASHBELT_DEVICE, 0666))
		bail_out("chmod: %s", strerror(errno));
	is_int(get_parameter("closed"), 0, "the device is open by default");
	if (stat(CLOSED, &parameter))
		bail_out("stat: %s", strerror(errno));
	is_int(parameter.st_mode & 07777, 0600,
	       "only root may read and write the parameter closed");
	test_tasks(false);
	test_tasks(true);
	test_open_before();
	chmod(HASHBELT_DEVICE, 0600);
	return done_testing();
}
