// SPDX-License-Identifier: GPL-2.0-only
/* A belt with a window, through the library. */
#include <errno.h>
#include <string.h>

#include "hashbelt/client.h"
#include "compare.h"

static struct hashbelt *belt;
static struct hashbelt_item items[SLICE];

static void must(const char *what, int err)
{
	if (err)
		die(what, strerror(-err));
}

static void open_belt(void)
{
	struct hashbelt_settings settings = {
		.ttl_ms = plan.ttl_ms, .buckets = plan.buckets, .mode = 0600,
		.window_bytes = HASHBELT_WINDOW_DEFAULT,
	};

	must("hashbelt_open", hashbelt_open(NULL, &belt));
	must("hashbelt_create", hashbelt_create(belt, NULL, &settings));
	must("hashbelt_window_map", hashbelt_window_map(belt));
}

/* A batch does not look into the window. */
static bool prepare(void)
{
	for (unsigned int i = 0; i < calls.count; i++)
		items[i] = (struct hashbelt_item){ .ttl_ms = plan.ttl_ms };
	return calls.work < GET_MANY;
}

static int run_one(const char *key, char *value, struct hashbelt_item *item)
{
	switch (calls.work) {
	case PUT:
		return hashbelt_put(belt, key, KEY_SIZE, value, plan.value_size, item);
	case REMOVE:
		return hashbelt_remove(belt, key, KEY_SIZE, item);
	case TOUCH:
		return hashbelt_touch(belt, key, KEY_SIZE, plan.ttl_ms, item);
	default:
		return hashbelt_get(belt, key, KEY_SIZE, value, plan.value_size, item);
	}
}

static unsigned int run(void)
{
	for (unsigned int i = 0; i < calls.count; i++)
		calls.results[i] = run_one(calls.keys[i].text, calls.values[i], &items[i]);
	return calls.count;
}

static double share(void)
{
	static struct hashbelt_window_counts last;
	struct hashbelt_window_counts counts;
	uint64_t hits, rest;

	hashbelt_window_stats(belt, &counts);
	hits = counts.hits - last.hits;
	rest = counts.calls - last.calls;
	last = counts;
	return hits + rest ? (double)hits / (hits + rest) : 0;
}

const struct peer window_peer = {
	.name = "window", .is_belt = true, .absent = -ENOENT, .open = open_belt,
	.prepare = prepare, .run = run, .share = share,
};
