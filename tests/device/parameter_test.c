// SPDX-License-Identifier: GPL-2.0-only
/*
 * parameter_test [TTL_MS BUCKETS MODE] - the default belt has the settings of the module's
 * parameters, and the workqueues of the module have theirs in sysfs.
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

#define TESTS	6

static unsigned long long argument(int argc, char **argv, int i, unsigned long long otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 0) : otherwise;
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
	put_text(fd, "soon", "value", 1000);
	put_text(fd, "never", "value", HASHBELT_TTL_NEVER);
	if (argc > 1 && !create_belt(fd, "left behind", 0600))
		put_text(fd, "soon", "value", 1000);
	close(fd);
	return done_testing();
}
