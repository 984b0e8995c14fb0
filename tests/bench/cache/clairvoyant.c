// SPDX-License-Identifier: GPL-2.0-only
/*
 * A cache that knows all further requests. The optimum lies between two results:
 *
 * The order "clairvoyant" evicts the object whose next read is farthest (Belady 1966). A read after
 * the object's deadline, or after a put or removal of its key, counts as none. This is a cache that
 * could exist, so no optimum is worse. It is the optimum if all objects have the same size and none
 * expires.
 *
 * least_misses() is a number of misses that no cache gets below. Each read hits by keeping its
 * object since the request before. That takes the object's size for so many requests, and the
 * room times the number of all requests is what there is of it. The cheapest reads are chosen until
 * this is used up, whether they fit at each moment or not (PFOO-L: Berger, Beckmann,
 * Harchol-Balter, "Practical Bounds on Optimal Caching with Variable Object Sizes", 2018). A read
 * that comes a time-to-live or more after the request before is a miss in any case. And a key has
 * at most as many hits as in a cache with unlimited room, where lives are taken to begin with puts:
 * this holds if the puts of a key have the same time-to-live.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "clairvoyant.h"
#include "heap.h"

/*
 * For each request the number of the next read of its key; NEVER: there is none, or the key is put
 * or removed before it.
 */
uint64_t *next_reads(const struct trace *trace)
{
	uint64_t *next = zalloc(trace->count, sizeof(*next));
	uint64_t *last = zalloc(trace->keys, sizeof(*last));

	memset(last, 0xff, trace->keys * sizeof(*last));
	for (size_t i = trace->count; i--;) {
		const struct request *request = &trace->requests[i];

		next[i] = last[request->key];
		switch (request->op) {
		case TRACE_GET:
			last[request->key] = i;
			break;
		case TRACE_SET:
		case TRACE_REMOVE:
			last[request->key] = NEVER;
			break;
		}
	}
	free(last);
	return next;
}

/**
 * struct seer - state of the clairvoyant
 * @next:	from next_reads()
 * @farthest:	objects by their next reads, the farthest first; a place is outdated if the object
 *		has another next read now
 */
struct seer {
	uint64_t *next;
	struct heap farthest;
};

static void init(struct cache *cache)
{
	struct seer *seer = zalloc(1, sizeof(*seer));

	seer->next = next_reads(cache->trace);
	cache->state = seer;
}

static void destroy(struct cache *cache)
{
	struct seer *seer = cache->state;

	free(seer->next);
	heap_destroy(&seer->farthest);
	free(seer);
}

static void look_ahead(struct cache *cache, struct object *object)
{
	struct seer *seer = cache->state;
	uint64_t soon = seer->next[cache->now];

	if (soon != NEVER && cache->trace->requests[soon].time >= object->deadline)
		soon = NEVER;
	object->soon = soon;
	heap_push(&seer->farthest, NEVER - soon, key_of(cache, object));
}

static void replace(struct cache *cache, struct object *object, const struct object *old)
{
	(void)old;
	look_ahead(cache, object);
}

static void take(struct cache *cache, struct object *object)
{
	(void)cache;
	(void)object;
}

static void evict(struct cache *cache)
{
	struct seer *seer = cache->state;

	for (;;) {
		struct heap_item item = heap_pop(&seer->farthest);
		struct object *object = &cache->objects[item.value];

		if (object->live && NEVER - object->soon == item.rank) {
			cache_evict(cache, object);
			return;
		}
	}
}

const struct order clairvoyant = {
	.name = "clairvoyant", .prompt = true, .bypass = true,
	.init = init, .destroy = destroy, .add = look_ahead, .hit = look_ahead, .replace = replace,
	.take = take, .evict = evict,
};

/* A read that could hit: its key, and the bytes times requests that this takes. */
struct chance {
	uint64_t cost;
	uint32_t key;
};

static int compare(const void *a, const void *b)
{
	const struct chance *x = a, *y = b;

	return (x->cost > y->cost) - (x->cost < y->cost);
}

/* For each key, its hits in a cache with unlimited room. */
static uint32_t *most_hits(const struct trace *trace)
{
	uint32_t *hits = zalloc(trace->keys, sizeof(*hits));
	uint64_t *until = zalloc(trace->keys, sizeof(*until));

	for (size_t i = 0; i < trace->count; i++) {
		const struct request *request = &trace->requests[i];
		bool there = until[request->key] > request->time;

		if (request->op == TRACE_REMOVE) {
			until[request->key] = 0;
			continue;
		}
		if (request->op == TRACE_GET && there)
			hits[request->key]++;
		if (request->op == TRACE_SET || !there)
			until[request->key] = request->ttl ? request->time + request->ttl : NEVER;
	}
	free(until);
	return hits;
}

/* The request that a read keeps its object from is the last one before it that can have put it. */
static size_t find_chances(const struct trace *trace, struct chance *chances)
{
	uint64_t *next = next_reads(trace);
	bool *found = zalloc(trace->count, sizeof(*found));
	size_t count = 0;

	for (size_t i = trace->count; i--;) {
		const struct request *request = &trace->requests[i];
		uint64_t size = OBJECT_BYTES + request->key_len + request->value_len;

		if (request->op == TRACE_REMOVE || next[i] == NEVER || found[next[i]])
			continue;
		found[next[i]] = true;
		if (request->ttl && trace->requests[next[i]].time - request->time >= request->ttl)
			continue;
		chances[count++] = (struct chance){ size * (next[i] - i), request->key };
	}
	free(found);
	free(next);
	return count;
}

uint64_t least_misses(const struct trace *trace, uint64_t room)
{
	struct chance *chances = zalloc(trace->count, sizeof(*chances));
	uint32_t *hits = most_hits(trace);
	size_t count = find_chances(trace, chances);
	uint64_t left = room * trace->count, misses = 0;

	qsort(chances, count, sizeof(*chances), compare);
	for (size_t i = 0; i < trace->count; i++)
		misses += trace->requests[i].op == TRACE_GET;
	for (size_t i = 0; i < count && chances[i].cost <= left; i++) {
		if (!hits[chances[i].key])
			continue;
		hits[chances[i].key]--;
		left -= chances[i].cost;
		misses--;
	}
	free(hits);
	free(chances);
	return misses;
}
