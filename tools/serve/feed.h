/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keys of entries that expire, for clients that have subscribed. A belt hands each event to one
 * reader, so one thread reads for all workers, and gives each worker a copy.
 */
#ifndef HBSERVE_FEED_H
#define HBSERVE_FEED_H

#include <stddef.h>
#include <stdint.h>

struct feed;
struct options;

/**
 * struct feed_record - a key that has expired, which follows this structure
 * @key_len:	its length
 * @source:	of the belt, see feed_source()
 */
struct feed_record {
	uint16_t key_len;
	uint16_t source;
};

int feed_open(const struct options *options, struct feed **feed);
void feed_end(struct feed *feed);
void feed_close(struct feed *feed);
unsigned int feed_source(const struct options *options, unsigned int database);
int feed_join(struct feed *feed, unsigned int worker, int wake_fd, unsigned int database);
void feed_leave(struct feed *feed, unsigned int worker, unsigned int database);
const char *feed_take(struct feed *feed, unsigned int worker, size_t *len);
const char *feed_next(const char *at, struct feed_record *record);

#endif /* HBSERVE_FEED_H */
