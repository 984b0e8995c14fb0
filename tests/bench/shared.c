// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of nodes. Writers take the lock. A reader takes it too, or else compares the chain's
 * sequence before and after. Links are numbers of nodes, because each process maps the table at an
 * address of its own.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "hashbelt.h"
#include "shared.h"

/**
 * struct node - an entry, or a free node
 * @next:	number of the next node of the chain, or of the next free one; 0: none
 * @deadline_ns: by CLOCK_MONOTONIC
 * @key:	the key
 * @value:	the value
 */
struct node {
	uint32_t next;
	int64_t deadline_ns;
	char key[SHARED_KEY];
	char value[];
};

/**
 * struct chain - the entries whose hashes have the same lower bits
 * @sequence:	number of its changes; odd during a change
 * @first:	number of the first node; 0: none
 */
struct chain {
	uint32_t sequence;
	uint32_t first;
};

/**
 * struct shared_table - a table
 * @lock:	of writers, and of readers that want it
 * @bytes:	of the mapping
 * @value_size:	bytes of each value
 * @stride:	bytes from a node to the next one in memory
 * @nodes_at:	bytes from here to the node number 0, which is not used
 * @free:	number of the first free node; 0: none
 * @mask:	number of chains, a power of two, minus 1
 * @chains:	the chains, and after them the nodes
 */
struct shared_table {
	pthread_rwlock_t lock;
	size_t bytes;
	size_t value_size;
	size_t stride;
	size_t nodes_at;
	uint32_t free;
	uint32_t mask;
	struct chain chains[];
};

static struct node *node_of(const struct shared_table *table, uint32_t number)
{
	return (struct node *)((char *)table + table->nodes_at + number * table->stride);
}

static uint32_t chain_of(const struct shared_table *table, const char *key)
{
	uint64_t words[SHARED_KEY / sizeof(uint64_t)], hash = SHARED_KEY;

	memcpy(words, key, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		hash = hashbelt_window_mix(hash, words[i]);
	return hash & table->mask;
}

/* Return: the link to the node of a key, or that which ends its chain. */
static uint32_t *find(const struct shared_table *table, uint32_t chain, const char *key)
{
	const uint32_t *link = &table->chains[chain].first;

	while (*link && memcmp(node_of(table, *link)->key, key, SHARED_KEY))
		link = &node_of(table, *link)->next;
	return (uint32_t *)link;
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void init_lock(pthread_rwlock_t *lock)
{
	pthread_rwlockattr_t attributes;

	pthread_rwlockattr_init(&attributes);
	pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(lock, &attributes);
	pthread_rwlockattr_destroy(&attributes);
}

/* A table for so many entries; NULL if there is no memory. */
struct shared_table *shared_make(uint64_t entries, size_t value_size)
{
	size_t stride = (sizeof(struct node) + value_size + 7) / 8 * 8, nodes_at, bytes;
	struct shared_table *table;
	uint32_t chains = 1;

	while (chains < entries)
		chains *= 2;
	nodes_at = sizeof(*table) + chains * sizeof(struct chain);
	bytes = nodes_at + (entries + 1) * stride;
	table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		return NULL;
	init_lock(&table->lock);
	table->bytes = bytes;
	table->value_size = value_size;
	table->stride = stride;
	table->nodes_at = nodes_at;
	table->mask = chains - 1;
	for (uint32_t i = 1; i <= entries; i++) {
		node_of(table, i)->next = table->free;
		table->free = i;
	}
	return table;
}

void shared_free(struct shared_table *table)
{
	munmap(table, table->bytes);
}

/* Reads without a lock, whatever the deadline. False: there is no such entry. */
bool shared_get(const struct shared_table *table, const char *key, char *value)
{
	uint32_t chain = chain_of(table, key), before, number;
	const uint32_t *sequence = &table->chains[chain].sequence;

	do {
		before = __atomic_load_n(sequence, __ATOMIC_ACQUIRE) & ~1u;
		number = *find(table, chain, key);
		if (number)
			memcpy(value, node_of(table, number)->value, table->value_size);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(sequence, __ATOMIC_RELAXED) != before);
	return number;
}

/* Reads with the lock. False: there is no such entry, or its deadline has come. */
bool shared_get_locked(struct shared_table *table, const char *key, char *value)
{
	uint32_t chain = chain_of(table, key), number;
	int64_t at = now();

	pthread_rwlock_rdlock(&table->lock);
	number = *find(table, chain, key);
	if (number && node_of(table, number)->deadline_ns <= at)
		number = 0;
	if (number)
		memcpy(value, node_of(table, number)->value, table->value_size);
	pthread_rwlock_unlock(&table->lock);
	return number;
}

static void begin_change(struct chain *chain)
{
	__atomic_store_n(&chain->sequence, chain->sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(struct chain *chain)
{
	__atomic_store_n(&chain->sequence, chain->sequence + 1, __ATOMIC_RELEASE);
}

/* False: the table is full. */
bool shared_put(struct shared_table *table, const char *key, const char *value, uint64_t ttl_ms)
{
	int64_t deadline = now() + ttl_ms * 1000000;
	uint32_t chain = chain_of(table, key), *link;
	struct node *node = NULL;

	pthread_rwlock_wrlock(&table->lock);
	begin_change(&table->chains[chain]);
	link = find(table, chain, key);
	if (!*link && table->free) {
		*link = table->free;
		node = node_of(table, *link);
		table->free = node->next;
		node->next = 0;
		memcpy(node->key, key, SHARED_KEY);
	} else if (*link) {
		node = node_of(table, *link);
	}
	if (node) {
		memcpy(node->value, value, table->value_size);
		node->deadline_ns = deadline;
	}
	end_change(&table->chains[chain]);
	pthread_rwlock_unlock(&table->lock);
	return node;
}

/* False: there is no such entry. */
bool shared_touch(struct shared_table *table, const char *key, uint64_t ttl_ms)
{
	int64_t deadline = now() + ttl_ms * 1000000;
	uint32_t chain = chain_of(table, key), number;

	pthread_rwlock_wrlock(&table->lock);
	number = *find(table, chain, key);
	if (number)
		node_of(table, number)->deadline_ns = deadline;
	pthread_rwlock_unlock(&table->lock);
	return number;
}

/* False: there is no such entry. */
bool shared_remove(struct shared_table *table, const char *key)
{
	uint32_t chain = chain_of(table, key), *link, number;

	pthread_rwlock_wrlock(&table->lock);
	begin_change(&table->chains[chain]);
	link = find(table, chain, key);
	number = *link;
	if (number) {
		*link = node_of(table, number)->next;
		node_of(table, number)->next = table->free;
		table->free = number;
	}
	end_change(&table->chains[chain]);
	pthread_rwlock_unlock(&table->lock);
	return number;
}
