/* SPDX-License-Identifier: GPL-2.0-only */
/* The counters of hbserve, by memcached's names. */
#ifndef HBSERVE_STATS_H
#define HBSERVE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The counters of a worker, in the order in which "stats" prints them. It alone changes them; other
 * threads read them. stats.c has their names.
 */
struct counters {
	uint64_t cmd_get;
	uint64_t cmd_set;
	uint64_t cmd_flush;
	uint64_t cmd_touch;
	uint64_t cmd_meta;
	uint64_t get_hits;
	uint64_t get_misses;
	uint64_t delete_misses;
	uint64_t delete_hits;
	uint64_t incr_misses;
	uint64_t incr_hits;
	uint64_t decr_misses;
	uint64_t decr_hits;
	uint64_t cas_misses;
	uint64_t cas_hits;
	uint64_t cas_badval;
	uint64_t touch_hits;
	uint64_t touch_misses;
	uint64_t store_too_large;
	uint64_t store_no_memory;
	uint64_t auth_cmds;
	uint64_t auth_errors;
	uint64_t bytes_read;
	uint64_t bytes_written;
};

#define COUNTERS_COUNT	(sizeof(struct counters) / sizeof(uint64_t))

/* The counters of a prefix of keys, for "stats detail". */
enum detail {
	DETAIL_GET,
	DETAIL_HIT,
	DETAIL_SET,
	DETAIL_DELETE,
	DETAIL_COUNT
};

static inline void count_by(uint64_t *counter, uint64_t by)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + by,
			 __ATOMIC_RELAXED);
}

static inline void count(uint64_t *counter)
{
	count_by(counter, 1);
}

/* Whether `stats detail on` is in force. */
extern bool detail_enabled;

static inline bool detail_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&detail_enabled, __ATOMIC_RELAXED), 0);
}

void detail_switch(bool on);
void detail_record(const char *key, size_t key_len, enum detail what);
void detail_list(void (*print)(void *arg, const char *prefix, size_t len, const uint64_t *counts),
		 void *arg);
void detail_reset(void);
const char *counter_name(unsigned int number);
void counters_add(uint64_t *sums, const struct counters *counters);

#endif /* HBSERVE_STATS_H */
