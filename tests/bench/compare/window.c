// SPDX-License-Identifier: GPL-2.0-only
/* A belt with a window, through the library. */
#include <errno.h>
#include <string.h>

#include "hashbelt/client.h"
#include "compare.h"

static struct hashbelt *belt;
static size_t value_size;
static uint64_t ttl_ms;

static enum work work;
static unsigned int count;
static int results[SLICE];
static struct hashbelt_item items[SLICE];
static char keys[SLICE][KEY_SIZE];
static char values[SLICE][VALUE_MAX];

static void must(const char *what, int err)
{
	if (err)
		die(what, strerror(-err));
}

static void open_belt(const struct plan *plan)
{
	struct hashbelt_settings settings = {
		.ttl_ms = plan->ttl_ms, .buckets = plan->buckets, .mode = 0600,
		.window_bytes = HASHBELT_WINDOW_DEFAULT,
	};

	value_size = plan->value_size;
	ttl_ms = plan->ttl_ms;
	must("hashbelt_open", hashbelt_open(NULL, &belt));
	must("hashbelt_create", hashbelt_create(belt, NULL, &settings));
	must("hashbelt_window_map", hashbelt_window_map(belt));
}

/* A batch does not look into the window. */
static bool prepare(enum work new_work, const struct key *new_keys, unsigned int new_count)
{
	if (new_work >= GET_MANY)
		return false;
	work = new_work;
	count = new_count;
	for (unsigned int i = 0; i < count; i++) {
		memcpy(keys[i], new_keys[i].text, KEY_SIZE);
		items[i] = (struct hashbelt_item){ .ttl_ms = ttl_ms };
		prepare_value(values[i], work, new_keys[i].text, value_size);
	}
	return true;
}

static int run_one(unsigned int i)
{
	switch (work) {
	case PUT:
		return hashbelt_put(belt, keys[i], KEY_SIZE, values[i], value_size, &items[i]);
	case REMOVE:
		return hashbelt_remove(belt, keys[i], KEY_SIZE, &items[i]);
	case TOUCH:
		return hashbelt_touch(belt, keys[i], KEY_SIZE, ttl_ms, &items[i]);
	default:
		return hashbelt_get(belt, keys[i], KEY_SIZE, values[i], value_size, &items[i]);
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
	int expected = work == MISS ? -ENOENT : 0;

	for (unsigned int i = 0; i < count; i++) {
		if (results[i] != expected)
			die("window", strerror(-results[i]));
		if (work == GET)
			check_value("window", values[i], keys[i], value_size);
	}
}

static double share(void)
{
	static struct hashbelt_window_counts last;
	struct hashbelt_window_counts counts;
	uint64_t hits, calls;

	hashbelt_window_stats(belt, &counts);
	hits = counts.hits - last.hits;
	calls = counts.calls - last.calls;
	last = counts;
	return hits + calls ? (double)hits / (hits + calls) : 0;
}

const struct peer window_peer = {
	.name = "window", .is_belt = true, .open = open_belt, .prepare = prepare, .run = run,
	.check = check, .share = share,
};
