// SPDX-License-Identifier: GPL-2.0-only
/* The counters of hbserve. One table of all workers counts prefixes, and only on demand. */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "array_size.h"
#include "stats.h"

/* Prefixes end here. */
#define DELIMITER	':'

/* Clients choose the prefixes, so their number has a limit: later ones are not counted. */
#define PREFIXES_MAX	4096

/**
 * struct prefix - the requests for a prefix of keys
 * @counts:	their numbers
 * @name:	the prefix, in @text but for one that is looked for
 * @len:	its length
 * @text:	memory for it
 */
struct prefix {
	uint64_t counts[DETAIL_COUNT];
	const char *name;
	size_t len;
	char text[];
};

/* A list that is being made. */
struct listing {
	void (*print)(void *arg, const char *prefix, size_t len, const uint64_t *counts);
	void *arg;
};

/* A tree of tsearch(3), which is balanced whatever prefixes clients choose. Under @lock. */
static void *tree;
static unsigned int prefixes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool detail_enabled;

/**
 * detail_switch() - begin or end to count by prefix
 * @on:		whether
 */
void detail_switch(bool on)
{
	__atomic_store_n(&detail_enabled, on, __ATOMIC_RELAXED);
}

static int compare(const void *a, const void *b)
{
	const struct prefix *first = a, *second = b;
	size_t len = first->len < second->len ? first->len : second->len;
	int order = memcmp(first->name, second->name, len);

	return order ?: (first->len > second->len) - (first->len < second->len);
}

/* Makes the record of a prefix; NULL if there are too many, or no memory. */
static struct prefix *add_prefix(const char *name, size_t len)
{
	struct prefix *prefix;

	prefix = prefixes < PREFIXES_MAX ? calloc(1, sizeof(*prefix) + len) : NULL;
	if (!prefix)
		return NULL;
	memcpy(prefix->text, name, len);
	prefix->name = prefix->text;
	prefix->len = len;
	if (!tsearch(prefix, &tree, compare)) {
		free(prefix);
		return NULL;
	}
	prefixes++;
	return prefix;
}

static struct prefix *find_prefix(const char *name, size_t len)
{
	struct prefix wanted = { .name = name, .len = len };
	struct prefix **found = tfind(&wanted, &tree, compare);

	return found ? *found : add_prefix(name, len);
}

/**
 * detail_record() - count a request for the prefix of its key
 * @key:	the key; one without a prefix is not counted
 * @key_len:	its length
 * @what:	the counter
 */
void detail_record(const char *key, size_t key_len, enum detail what)
{
	const char *end = memchr(key, DELIMITER, key_len);
	struct prefix *prefix;

	if (!end || end == key)
		return;
	pthread_mutex_lock(&lock);
	prefix = find_prefix(key, end - key);
	if (prefix)
		prefix->counts[what]++;
	pthread_mutex_unlock(&lock);
}

/* Called once for a leaf, and three times for each other node. */
static void print_node(const void *node, VISIT visit, void *arg)
{
	const struct prefix *prefix = *(const struct prefix * const *)node;
	const struct listing *listing = arg;

	if (visit == postorder || visit == leaf)
		listing->print(listing->arg, prefix->name, prefix->len, prefix->counts);
}

/**
 * detail_list() - list the prefixes in their order
 * @print:	called for each
 * @arg:	passed on
 */
void detail_list(void (*print)(void *arg, const char *prefix, size_t len, const uint64_t *counts),
		 void *arg)
{
	struct listing listing = { .print = print, .arg = arg };

	pthread_mutex_lock(&lock);
	twalk_r(tree, print_node, &listing);
	pthread_mutex_unlock(&lock);
}

/** detail_reset() - forget all prefixes */
void detail_reset(void)
{
	pthread_mutex_lock(&lock);
	tdestroy(tree, free);
	tree = NULL;
	prefixes = 0;
	pthread_mutex_unlock(&lock);
}

/* The names of the counters, in the order of struct counters. */
static const char * const names[] = {
	"cmd_get",
	"cmd_set",
	"cmd_flush",
	"cmd_touch",
	"cmd_meta",
	"get_hits",
	"get_misses",
	"delete_misses",
	"delete_hits",
	"incr_misses",
	"incr_hits",
	"decr_misses",
	"decr_hits",
	"cas_misses",
	"cas_hits",
	"cas_badval",
	"touch_hits",
	"touch_misses",
	"store_too_large",
	"store_no_memory",
	"auth_cmds",
	"auth_errors",
	"bytes_read",
	"bytes_written",
};

_Static_assert(ARRAY_SIZE(names) == COUNTERS_COUNT, "each counter has a name");

/**
 * counter_name() - the name of a counter
 * @number:	its number, below COUNTERS_COUNT
 *
 * Return: the name.
 */
const char *counter_name(unsigned int number)
{
	return names[number];
}

/**
 * counters_add() - add the counters of a worker to sums
 * @sums:	COUNTERS_COUNT sums
 * @counters:	of any worker
 */
void counters_add(uint64_t *sums, const struct counters *counters)
{
	const uint64_t *counter = (const uint64_t *)counters;
	unsigned int i;

	for (i = 0; i < COUNTERS_COUNT; i++)
		sums[i] += __atomic_load_n(&counter[i], __ATOMIC_RELAXED);
}
