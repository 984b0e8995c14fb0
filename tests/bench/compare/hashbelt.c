// SPDX-License-Identifier: GPL-2.0-only
/* Belts, one or many. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "hashbelt.h"
#include "compare.h"

static const unsigned long commands[] = {
	[GET] = HASHBELT_IOC_GET, [MISS] = HASHBELT_IOC_GET, [PUT] = HASHBELT_IOC_PUT,
	[REMOVE] = HASHBELT_IOC_REMOVE, [TOUCH] = HASHBELT_IOC_TOUCH,
};

static int *belts;
static int descriptors[SLICE];
static struct hashbelt_item items[SLICE];

static void open_belts(void)
{
	struct rlimit limit = { plan.belts + 100, plan.belts + 100 };
	struct hashbelt_settings settings = { .ttl_ms = plan.ttl_ms, .buckets = plan.buckets };

	belts = zalloc(plan.belts, sizeof(*belts));
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE", strerror(errno));
	for (uint64_t i = 0; i < plan.belts; i++) {
		belts[i] = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC);
		if (belts[i] < 0 || ioctl(belts[i], HASHBELT_IOC_CREATE, &settings))
			die("HASHBELT_IOC_CREATE", strerror(errno));
	}
}

/* A batch is for one belt. */
static bool prepare(void)
{
	for (unsigned int i = 0; i < calls.count; i++) {
		descriptors[i] = belts[calls.keys[i].number % plan.belts];
		items[i] = (struct hashbelt_item){
			.key = (uintptr_t)calls.keys[i].text, .key_len = KEY_SIZE,
			.value = (uintptr_t)calls.values[i], .value_len = plan.value_size,
			.ttl_ms = plan.ttl_ms,
			.op = calls.work == GET_MANY ? HASHBELT_OP_GET :
			      calls.work == PUT_MANY ? HASHBELT_OP_PUT : 0,
		};
	}
	return calls.work < GET_MANY || plan.belts == 1;
}

static unsigned int run(void)
{
	struct hashbelt_batch batch = { .items = (uintptr_t)items, .count = calls.count };

	if (calls.work >= GET_MANY) {
		if (ioctl(descriptors[0], HASHBELT_IOC_BATCH, &batch))
			die("HASHBELT_IOC_BATCH", strerror(errno));
		return calls.count;
	}
	for (unsigned int i = 0; i < calls.count; i++)
		calls.results[i] =
			ioctl(descriptors[i], commands[calls.work], &items[i]) ? -errno : 0;
	return calls.count;
}

static bool check(void)
{
	for (unsigned int i = 0; calls.work >= GET_MANY && i < calls.count; i++)
		calls.results[i] = items[i].result;
	return true;
}

const struct peer hashbelt_peer = {
	.name = "hashbelt", .is_belt = true, .absent = -ENOENT, .open = open_belts,
	.prepare = prepare, .run = run, .check = check,
};
