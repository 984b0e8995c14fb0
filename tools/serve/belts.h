/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The belts that are served: the only way from hbserve to hashbelt. Tests link another
 * implementation of this header, which keeps entries in its own memory.
 */
#ifndef HBSERVE_BELTS_H
#define HBSERVE_BELTS_H

#include <stddef.h>

#include <hashbelt/client.h>

struct options;

/* The belts of a worker, which alone uses them. */
struct belts;

/* One of them. */
struct belt;
struct belt_scan;

/* The events of a belt, which one thread reads. */
struct belt_events;

/* Space for each text of belt_reason(). */
#define BELT_REASON_SIZE	(HASHBELT_ERROR_SIZE + 16)

int belts_check(void);
int belts_open(const struct options *options, struct belts **belts);
void belts_close(struct belts *belts);
struct belt *belts_default(struct belts *belts);
struct belt *belts_database(struct belts *belts, unsigned int number);
struct belt *belts_find(struct belts *belts, const char *key, size_t key_len, size_t *prefix);
struct belt *belts_again(struct belts *belts, struct belt *belt, const char *name);

void belt_batch(struct belt *belt, struct hashbelt_item *items, unsigned int count);
int belt_fill(struct belt *belt, const void *key, size_t key_len, void *buffer, size_t size,
	      struct hashbelt_fill *fill);
int belt_give_up(struct belt *belt, const void *key, size_t key_len, __u64 token);
int belt_clear(struct belt *belt);
int belt_scan_begin(const struct belt *belt, struct belt_scan **scan);
int belt_scan_next(struct belt_scan *scan, const struct hashbelt_record **record);
void belt_scan_end(struct belt_scan *scan);
int belt_scan_piece(struct belt *belt, struct hashbelt_scan *scan);
int belt_events_open(const char *name, struct belt_events **events, __u64 *sequence);
int belt_events_fd(const struct belt_events *events);
int belt_events_next(struct belt_events *events, const struct hashbelt_event **event);
void belt_events_close(struct belt_events *events);
int belt_info(struct belt *belt, struct hashbelt_info *info);
int belt_stat(struct belt *belt, __u64 *counters);
const char *belt_name(const struct belt *belt);
const char *belt_reason(struct belt *belt, int err, char *text);

#endif /* HBSERVE_BELTS_H */
