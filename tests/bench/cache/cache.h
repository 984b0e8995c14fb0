/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A simulated cache: objects by key, their lives, and the room that they take. Which object leaves
 * when there is no room is decided by a struct order.
 */
#ifndef _CACHE_H
#define _CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

#define NEVER		UINT64_MAX

/* Bytes of an object beside its key and value: about the header of a belt's entry. */
#define OBJECT_BYTES	64

/**
 * struct object - what the cache knows of a key
 * @prev:	towards the head of the list that it is in
 * @next:	towards the tail of that list
 * @child:	in the tree of a belt: the subtrees before and after it
 * @deadline:	when it expires, milliseconds, or NEVER
 * @due:	in the tree: the deadline as its bucket knows it
 * @turn:	number of the put or cascade that brought it to its place; in the tree the place
 *		among objects of the same bucket
 * @since:	of a belt: what struct shard's @term was when the hand found it read
 * @size:	bytes
 * @heat:	heap order of the tree
 * @reads:	marks: how often it was read, as far as the order counts
 * @queue:	the list that it is in
 * @live:	it is in the cache
 */
struct object {
	struct object *prev;
	struct object *next;
	struct object *child[2];
	uint64_t deadline;
	uint64_t due;
	uint64_t turn;
	uint64_t since;
	uint32_t size;
	uint32_t heat;
	uint8_t reads;
	uint8_t queue;
	bool live;
};

/**
 * struct geometry - the details of a belt that its order of eviction depends on
 * @shards:	number of shards; a power of two
 * @interval:	width of a bucket, milliseconds
 * @buckets:	buckets of the first level, each as wide as @interval; 0: there is one level only
 * @ghosts:	keys of objects that left which "unread" remembers; 0: none
 * @simpler:	SIMPLER_*: what "unread" leaves out
 */
struct geometry {
	unsigned int shards;
	uint64_t interval;
	unsigned int buckets;
	size_t ghosts;
	unsigned int simpler;
};

/* Simpler rules for a new object that has a ghost, to compare the belt's with. */
#define SIMPLER_NO_COMMON	0x1	/* also where most new objects have one */
#define SIMPLER_AS_READ		0x2	/* it counts as read, whether or not the keys change */

/**
 * struct result - what a cache has done
 * @gets:	reads
 * @misses:	reads that found nothing
 * @evicted:	objects that left for want of room
 * @expired:	objects that left at their deadline
 * @most:	the most bytes that were in use at once
 */
struct result {
	uint64_t gets;
	uint64_t misses;
	uint64_t evicted;
	uint64_t expired;
	uint64_t most;
};

struct order;

/**
 * struct cache - a cache at work
 * @order:	decides what is evicted
 * @trace:	the requests
 * @geometry:	for belts
 * @time:	its time
 * @room:	bytes that the objects may take
 * @used:	bytes that they take
 * @objects:	of all keys of the trace
 * @state:	of the order
 * @result:	so far
 */
struct cache {
	const struct order *order;
	const struct trace *trace;
	const struct geometry *geometry;
	uint64_t time;
	uint64_t room;
	uint64_t used;
	struct object *objects;
	void *state;
	struct result result;
};

/**
 * struct order - an order of eviction
 * @name:	its name
 * @prompt:	objects leave the cache when they expire, and not when they are read or evicted
 * @init:	makes @state
 * @destroy:	frees @state
 * @add:	an object came in
 * @hit:	an object was read
 * @replace:	an object got a new value, size and deadline, for which @old holds the former ones
 * @take:	an object leaves, for whatever reason
 * @evict:	evicts an object, by cache_evict()
 */
struct order {
	const char *name;
	bool prompt;
	void (*init)(struct cache *cache);
	void (*destroy)(struct cache *cache);
	void (*add)(struct cache *cache, struct object *object);
	void (*hit)(struct cache *cache, struct object *object);
	void (*replace)(struct cache *cache, struct object *object, const struct object *old);
	void (*take)(struct cache *cache, struct object *object);
	void (*evict)(struct cache *cache);
};

extern const struct order fifo, lru, sieve, s3fifo, unread_order, unlimited;

/* The belt without shards, whose order is exact to the millisecond. */
extern const struct geometry exact;

size_t ghosts_for(size_t expected);
struct result cache_play(const struct trace *trace, const struct order *order, uint64_t room,
			 const struct geometry *geometry);

/* For orders. */
void cache_evict(struct cache *cache, struct object *object);

static inline uint32_t key_of(const struct cache *cache, const struct object *object)
{
	return object - cache->objects;
}

static inline bool is_expired(const struct cache *cache, const struct object *object)
{
	return object->deadline <= cache->time;
}

#endif /* _CACHE_H */
