// SPDX-License-Identifier: GPL-2.0-only
/*
 * parameter_test [TTL_MS BUCKETS MODE] - the default belt has the settings of the module's
 * parameters, the limits take only values in their range, and the workqueues of the module have
 * their settings in sysfs.
 *
 * Without arguments it expects the default parameters. It leaves behind an entry that is
 * about to expire, one that never does, and with arguments also a belt, so that a later
 * rmmod has something to free. Without arguments it makes no belt, as tests that list all
 * belts may follow.
 */
#define _GNU_SOURCE
#include <sys/stat.h>

#include "device.h"

#define WORKQUEUES	"/sys/devices/virtual/workqueue/"

#define TESTS	20

static unsigned long long argument(int argc, char **argv, int i, unsigned long long otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 0) : otherwise;
}

/* Values that a limit refuses; the value before them stays. */
static const struct {
	const char *name, *text;
} wrong[] = {
	{ "max_bytes", "0" }, { "max_bytes", "many" }, { "max_bytes", "1x" },
	{ "user_max_bytes", "0" }, { "user_max_bytes", "many" }, { "user_max_bytes", "1x" },
	{ "user_max_pinned", "101" }, { "user_max_pinned", "-1" }, { "user_max_pinned", "many" },
	{ "user_max_pinned", "1x" }, { "user_max_pinned", "4294967346" },
};

static void test_limits(void)
{
	unsigned long long was;
	unsigned int i;

	is_int(get_parameter("user_max_pinned"), 50, "user_max_pinned is 50 by default");
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		was = get_parameter(wrong[i].name);
		ok(set_parameter(wrong[i].name, wrong[i].text) &&
		   get_parameter(wrong[i].name) == was,
		   "a write of %s to %s is refused, and changes nothing",
		   wrong[i].text, wrong[i].name);
	}
	set_number("user_max_pinned", 0);
	is_int(get_parameter("user_max_pinned"), 0, "user_max_pinned takes 0");
	set_number("user_max_pinned", 100);
	is_int(get_parameter("user_max_pinned"), 100, "user_max_pinned takes 100");
	set_number("user_max_pinned", 50);
}

int main(int argc, char **argv)
{
	unsigned int mode = argument(argc, argv, 3, 0600);
	int fd = open_device(O_RDWR);
	struct hashbelt_info info = info_of(fd);
	struct stat node;

	plan(TESTS);
	ok(!strcmp(info.name, "default"), "a fresh descriptor is bound to the belt default");
	is_int(info.ttl_ms, argument(argc, argv, 1, 300000),
	       "the default belt has the time-to-live of the parameter ttl_ms");
	is_int(info.buckets, argument(argc, argv, 2, 3),
	       "the default belt has the buckets of the parameter buckets");
	is_int(info.mode, mode, "the default belt has the mode of the parameter mode");
	if (stat(HASHBELT_DEVICE, &node))
		bail_out("stat: %s", strerror(errno));
	is_int(node.st_mode & 07777, mode, "the device node has the mode of the parameter mode");
	ok(!access(WORKQUEUES "hashbelt/cpumask", W_OK) &&
	   !access(WORKQUEUES "hashbelt_limbo/cpumask", W_OK) &&
	   !access(WORKQUEUES "hashbelt_free/cpumask", W_OK),
	   "the workqueues that all belts share have a file cpumask in sysfs");
	test_limits();
	put_text(fd, "soon", "value", 1000);
	put_text(fd, "never", "value", HASHBELT_TTL_NEVER);
	if (argc > 1 && !create_belt(fd, "left behind", 0600))
		put_text(fd, "soon", "value", 1000);
	close(fd);
	return done_testing();
}
