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

static const struct plan *plan;
static int *belts;

static enum work work;
static unsigned int count;
static int descriptors[SLICE];
static int results[SLICE];
static struct hashbelt_item items[SLICE];
static struct key names[SLICE];
static char values[SLICE][VALUE_MAX];

static void open_belts(const struct plan *new_plan)
{
	struct rlimit limit = { new_plan->belts + 100, new_plan->belts + 100 };
	struct hashbelt_settings settings = {
		.ttl_ms = new_plan->ttl_ms, .buckets = new_plan->buckets,
	};

	plan = new_plan;
	belts = zalloc(plan->belts, sizeof(*belts));
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE", strerror(errno));
	for (uint64_t i = 0; i < plan->belts; i++) {
		belts[i] = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC);
		if (belts[i] < 0 || ioctl(belts[i], HASHBELT_IOC_CREATE, &settings))
			die("HASHBELT_IOC_CREATE", strerror(errno));
	}
}

/* A batch is for one belt. */
static bool prepare(enum work new_work, const struct key *keys, unsigned int new_count)
{
	bool many = new_work >= GET_MANY;

	if (many && plan->belts > 1)
		return false;
	work = new_work;
	count = new_count;
	memcpy(names, keys, count * sizeof(*names));
	for (unsigned int i = 0; i < count; i++) {
		prepare_value(values[i], work, keys[i].text, plan->value_size);
		descriptors[i] = belts[keys[i].number % plan->belts];
		items[i] = (struct hashbelt_item){
			.key = (uintptr_t)names[i].text, .key_len = KEY_SIZE,
			.value = (uintptr_t)values[i], .value_len = plan->value_size,
			.ttl_ms = plan->ttl_ms,
			.op = work == GET_MANY ? HASHBELT_OP_GET :
			      work == PUT_MANY ? HASHBELT_OP_PUT : 0,
		};
	}
	return true;
}

static unsigned int run(void)
{
	struct hashbelt_batch batch = { .items = (uintptr_t)items, .count = count };

	if (work >= GET_MANY) {
		if (ioctl(descriptors[0], HASHBELT_IOC_BATCH, &batch))
			die("HASHBELT_IOC_BATCH", strerror(errno));
		return count;
	}
	for (unsigned int i = 0; i < count; i++)
		results[i] = ioctl(descriptors[i], commands[work], &items[i]) ? -errno : 0;
	return count;
}

static void check(void)
{
	int expected = work == MISS ? -ENOENT : 0;

	for (unsigned int i = 0; i < count; i++) {
		int result = work >= GET_MANY ? items[i].result : results[i];

		if (result != expected)
			die(hashbelt_peer.name, strerror(-result));
		if (work == GET || work == GET_MANY)
			check_value(hashbelt_peer.name, values[i], names[i].text,
				    plan->value_size);
	}
}

const struct peer hashbelt_peer = {
	.name = "hashbelt", .is_belt = true, .open = open_belts, .prepare = prepare, .run = run,
	.check = check,
};
