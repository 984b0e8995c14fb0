// SPDX-License-Identifier: GPL-2.0-only
/* The counters of hbserve. One table of all workers counts prefixes, and only on demand. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

/* Prefixes end here. */
#define DELIMITER	':'

/* Clients choose the prefixes, so their number has a limit: later ones are not counted. */
#define PREFIXES_MAX	4096
#define CHAINS		256

struct prefix {
	struct prefix *next;
	uint64_t counts[DETAIL_COUNT];
	size_t len;
	char name[];
};

/* Under @lock. */
static struct prefix *chains[CHAINS];
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

/* Finds or makes the record of a prefix; NULL if there are too many. */
static struct prefix *find_prefix(const char *name, size_t len)
{
	struct prefix **chain, *prefix;
	unsigned int hash = 0;
	size_t i;

	for (i = 0; i < len; i++)
		hash = hash * 31 + (unsigned char)name[i];
	chain = &chains[hash % CHAINS];
	for (prefix = *chain; prefix; prefix = prefix->next)
		if (prefix->len == len && !memcmp(prefix->name, name, len))
			return prefix;
	prefix = prefixes < PREFIXES_MAX ? calloc(1, sizeof(*prefix) + len) : NULL;
	if (!prefix)
		return NULL;
	prefix->len = len;
	memcpy(prefix->name, name, len);
	prefix->next = *chain;
	*chain = prefix;
	prefixes++;
	return prefix;
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

/**
 * detail_list() - list the prefixes
 * @print:	called for each
 * @arg:	passed on
 */
void detail_list(void (*print)(void *arg, const char *prefix, size_t len, const uint64_t *counts),
		 void *arg)
{
	const struct prefix *prefix;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < CHAINS; i++)
		for (prefix = chains[i]; prefix; prefix = prefix->next)
			print(arg, prefix->name, prefix->len, prefix->counts);
	pthread_mutex_unlock(&lock);
}

/** detail_reset() - forget all prefixes */
void detail_reset(void)
{
	struct prefix *prefix;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < CHAINS; i++) {
		while ((prefix = chains[i])) {
			chains[i] = prefix->next;
			free(prefix);
		}
	}
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

_Static_assert(sizeof(names) / sizeof(*names) == COUNTERS_COUNT, "each counter has a name");

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
