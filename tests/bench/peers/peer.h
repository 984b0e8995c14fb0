/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache that requests are played on: a belt, memcached or Redis. */
#ifndef _PEER_H
#define _PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

struct hashbelt_settings;
struct peer;

/**
 * struct peer_ops - how a kind of cache is used
 * @get:	true: the key was there, and its value was read
 * @put:	false: it was refused. Times-to-live are in milliseconds; 0: it never expires
 * @add:	the same, unless the key is there
 * @remove:	removes the key, if it is there
 * @used:	bytes in use, as the cache itself counts them
 */
struct peer_ops {
	bool (*get)(struct peer *peer, const char *key, size_t key_len);
	bool (*put)(struct peer *peer, const char *key, size_t key_len, const char *value,
		    size_t size, uint64_t ttl);
	bool (*add)(struct peer *peer, const char *key, size_t key_len, const char *value,
		    size_t size, uint64_t ttl);
	void (*remove)(struct peer *peer, const char *key, size_t key_len);
	uint64_t (*used)(struct peer *peer);
};

/**
 * struct peer - a cache at work
 * @ops:	how it is used
 * @name:	in the report
 * @stream:	the connection to a server
 * @fd:		of a belt
 * @time:	of a belt: its time, milliseconds
 * @gets:	reads
 * @misses:	reads that found nothing
 * @refused:	puts that failed
 */
struct peer {
	const struct peer_ops *ops;
	const char *name;
	struct stream stream;
	int fd;
	uint64_t time;
	uint64_t gets;
	uint64_t misses;
	uint64_t refused;
};

/* The largest value. */
#define PEER_VALUE_MAX	(1000 * 1024)

_Noreturn void die(const char *what, const char *why);

void belt_open(struct peer *peer, const struct hashbelt_settings *settings);
void belt_advance(struct peer *peer, uint64_t time);
void memcached_open(struct peer *peer, const char *path);
void redis_open(struct peer *peer, const char *path, uint64_t bytes);

#endif /* _PEER_H */
