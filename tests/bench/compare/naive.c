// SPDX-License-Identifier: GPL-2.0-only
/* The module in naive/: the limit of what a cache behind an ioctl can do. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "compare.h"
#include "naive/naive.h"

static const unsigned long commands[] = {
	[GET] = NAIVE_IOC_GET, [MISS] = NAIVE_IOC_GET, [PUT] = NAIVE_IOC_PUT,
	[REMOVE] = NAIVE_IOC_REMOVE,
	[GET_MANY] = NAIVE_IOC_GET_MANY, [PUT_MANY] = NAIVE_IOC_PUT_MANY,
};

static int device;

static enum work work;
static unsigned int count;
static int results[SLICE];
static struct naive_item items[SLICE];
static struct key names[SLICE];

static void open_device(const struct plan *plan)
{
	if (plan->value_size != NAIVE_VALUE)
		die(naive_peer.name, "values have to have 64 bytes");
	device = open("/dev/naive", O_RDWR | O_CLOEXEC);
	if (device < 0)
		die("/dev/naive", strerror(errno));
}

static bool prepare(enum work new_work, const struct key *keys, unsigned int new_count)
{
	if (new_work == TOUCH)
		return false;
	work = new_work;
	count = new_count;
	memcpy(names, keys, count * sizeof(*names));
	memset(items, 0, sizeof(items));
	for (unsigned int i = 0; i < count; i++) {
		memcpy(items[i].key, keys[i].text, NAIVE_KEY);
		if (work == PUT || work == PUT_MANY)
			make_value((char *)items[i].value, keys[i].text, NAIVE_VALUE);
	}
	return true;
}

static unsigned int run(void)
{
	struct naive_batch batch = { .items = (uintptr_t)items, .count = count };

	if (work >= GET_MANY) {
		if (ioctl(device, commands[work], &batch))
			die(naive_peer.name, strerror(errno));
		return count;
	}
	for (unsigned int i = 0; i < count; i++)
		results[i] = ioctl(device, commands[work], &items[i]) ? -errno : 0;
	return count;
}

static void check(void)
{
	int expected = work == MISS ? -ENOENT : 0;

	for (unsigned int i = 0; i < count; i++) {
		if (work < GET_MANY && results[i] != expected)
			die(naive_peer.name, strerror(-results[i]));
		if (work == GET || work == GET_MANY)
			check_value(naive_peer.name, (char *)items[i].value, names[i].text,
				    NAIVE_VALUE);
	}
}

const struct peer naive_peer = {
	.name = "naive", .open = open_device, .prepare = prepare, .run = run, .check = check,
};
