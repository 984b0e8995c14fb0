// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hash tables in shared memory (shared.h): one that readers use without a lock and without
 * deadlines, and one whose readers take a lock and compare deadlines, as those of APCu do.
 */
#include <errno.h>
#include <string.h>

#include "../shared.h"
#include "compare.h"

static struct shared_table *table;
static size_t value_size;
static uint64_t ttl_ms;
static bool locked;

static enum work work;
static unsigned int count;
static bool results[SLICE];
static char keys[SLICE][KEY_SIZE];
static char values[SLICE][VALUE_MAX];

static void open_table(const struct plan *plan)
{
	table = shared_make(plan->entries + plan->spare, plan->value_size);
	if (!table)
		die("mmap", strerror(errno));
	value_size = plan->value_size;
	ttl_ms = plan->ttl_ms;
}

static void open_locked(const struct plan *plan)
{
	locked = true;
	open_table(plan);
}

/* Without a system call, there is no reason to make many of them one. */
static bool prepare(enum work new_work, const struct key *new_keys, unsigned int new_count)
{
	if (new_work >= GET_MANY || (new_work == TOUCH && !locked))
		return false;
	work = new_work;
	count = new_count;
	for (unsigned int i = 0; i < count; i++) {
		memcpy(keys[i], new_keys[i].text, KEY_SIZE);
		prepare_value(values[i], work, new_keys[i].text, value_size);
	}
	return true;
}

static bool run_one(unsigned int i)
{
	switch (work) {
	case PUT:
		return shared_put(table, keys[i], values[i], ttl_ms);
	case REMOVE:
		return shared_remove(table, keys[i]);
	case TOUCH:
		return shared_touch(table, keys[i], ttl_ms);
	default:
		return locked ? shared_get_locked(table, keys[i], values[i]) :
				shared_get(table, keys[i], values[i]);
	}
}

static unsigned int run(void)
{
	for (unsigned int i = 0; i < count; i++)
		results[i] = run_one(i);
	return count;
}

static void check(void)
{
	bool expected = work != MISS;

	for (unsigned int i = 0; i < count; i++) {
		if (results[i] != expected)
			die("shared memory", "a call has failed");
		if (work == GET)
			check_value("shared memory", values[i], keys[i], value_size);
	}
}

const struct peer shared_hash_peer = {
	.name = "shared-hash", .open = open_table, .prepare = prepare, .run = run, .check = check,
};

const struct peer shared_lock_peer = {
	.name = "shared-lock", .open = open_locked, .prepare = prepare, .run = run,
	.check = check,
};
