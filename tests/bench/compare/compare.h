/* SPDX-License-Identifier: GPL-2.0-only */
/* A cache whose operations are counted: a belt, or one that a program might use in its place. */
#ifndef _COMPARE_H
#define _COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../measure.h"

#define KEY_SIZE	16
#define VALUE_MAX	4096

/**
 * enum work - what calls do
 * @GET:	read entries that are there
 * @MISS:	read keys that are absent
 * @PUT:	write entries, present or absent
 * @REMOVE:	remove entries that are there
 * @TOUCH:	renew the deadline of entries that are there
 * @COUNT:	add 1 to numbers; of servers alone
 * @GET_MANY:	as @GET, with one call, or with one message to a server
 * @PUT_MANY:	as @PUT, with one call, or with one message to a server
 */
enum work { GET, MISS, PUT, REMOVE, TOUCH, COUNT, GET_MANY, PUT_MANY };

/**
 * struct key - a key
 * @number:	the number from which it is made; those of the filled entries are below @entries
 * @text:	its bytes, and a NUL
 */
struct key {
	uint64_t number;
	char text[KEY_SIZE + 1];
};

/**
 * struct plan - the cache to make
 * @entries:	number of entries that it has to hold
 * @spare:	number of entries for which it needs room besides
 * @value_size:	bytes of a value
 * @buckets:	of a belt
 * @belts:	number of belts to spread the entries over
 * @ttl_ms:	milliseconds after which an entry expires, if the cache has deadlines; it may change
 * @socket:	path of a server's socket
 * @server:	its process, if its own instructions are to be told; else 0
 */
struct plan {
	uint64_t entries;
	uint64_t spare;
	size_t value_size;
	uint32_t buckets;
	uint64_t belts;
	uint64_t ttl_ms;
	const char *socket;
	pid_t server;
};

/**
 * struct calls - calls of a slice
 * @work:	the work of each
 * @count:	number of keys that they are for, at most SLICE
 * @keys:	the keys
 * @values:	the values to put, or space for those of gets
 * @results:	0, or an error for each key
 */
struct calls {
	enum work work;
	unsigned int count;
	struct key keys[SLICE];
	char values[SLICE][VALUE_MAX];
	int results[SLICE];
};

/**
 * struct peer - a kind of cache; a process uses one
 * @name:	its name in the report
 * @is_belt:	it has buckets, and may be several belts
 * @counts:	it has the operation COUNT
 * @absent:	the result of a get of an absent key
 * @open:	makes an empty cache, or connects to it
 * @prepare:	makes the arguments of the calls, while the clock does not run. False: there is no
 *		such operation
 * @run:	makes the prepared calls; returns the number of entries that they were for
 * @check:	completes the results, while the clock does not run; or NULL. False: they have no
 *		values to compare
 * @share:	the share of gets since its last call that made no system call; or NULL
 */
struct peer {
	const char *name;
	bool is_belt;
	bool counts;
	int absent;
	void (*open)(void);
	bool (*prepare)(void);
	unsigned int (*run)(void);
	bool (*check)(void);
	double (*share)(void);
};

extern const struct peer hashbelt_peer, window_peer, lmdb_peer, bpf_hash_peer, bpf_hash_malloc_peer,
	bpf_lru_peer, keyring_peer, keyring_id_peer, echo_peer, memcached_peer, hbserve_peer,
	redis_peer, valkey_peer, hbserve_redis_peer;

extern struct plan plan;
extern struct calls calls;

_Noreturn void die(const char *what, const char *why);
void *zalloc(size_t count, size_t size);
unsigned int seconds(uint64_t ms);
void make_value(char *value, const char *key, size_t size);

#endif /* _COMPARE_H */
