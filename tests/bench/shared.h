/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hash table in memory that processes share, which a program might have in place of a belt with a
 * window. It has no rights, limits or eviction. Keys have SHARED_KEY bytes.
 */
#ifndef _SHARED_H
#define _SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARED_KEY	16

struct shared_table;

struct shared_table *shared_make(uint64_t entries, size_t value_size);
void shared_free(struct shared_table *table);
bool shared_get(const struct shared_table *table, const char *key, char *value);
bool shared_get_locked(struct shared_table *table, const char *key, char *value);
bool shared_put(struct shared_table *table, const char *key, const char *value, uint64_t ttl_ms);
bool shared_touch(struct shared_table *table, const char *key, uint64_t ttl_ms);
bool shared_remove(struct shared_table *table, const char *key);

#endif /* _SHARED_H */
