// SPDX-License-Identifier: GPL-2.0-only
/* FIFO, LRU, and a cache that evicts nothing. */
#include <stdlib.h>

#include "cache.h"
#include "queue.h"

static void init(struct cache *cache)
{
	cache->state = zalloc(1, sizeof(struct queue));
}

static void destroy(struct cache *cache)
{
	free(cache->state);
}

static void add(struct cache *cache, struct object *object)
{
	queue_add(cache->state, object);
}

static void take(struct cache *cache, struct object *object)
{
	queue_del(cache->state, object);
}

static void stay(struct cache *cache, struct object *object)
{
	(void)cache;
	(void)object;
}

/* The queue knows the former size. */
static void replace(struct cache *cache, struct object *object, const struct object *old)
{
	struct queue *queue = cache->state;

	queue->bytes += object->size - (uint64_t)old->size;
	queue_del(queue, object);
	queue_add(queue, object);
}

static void to_head(struct cache *cache, struct object *object)
{
	queue_del(cache->state, object);
	queue_add(cache->state, object);
}

static void evict(struct cache *cache)
{
	struct queue *queue = cache->state;

	cache_evict(cache, queue->tail);
}

const struct order fifo = {
	.name = "FIFO",
	.init = init, .destroy = destroy, .add = add, .hit = stay, .replace = replace,
	.take = take, .evict = evict,
};

const struct order lru = {
	.name = "LRU",
	.init = init, .destroy = destroy, .add = add, .hit = to_head, .replace = replace,
	.take = take, .evict = evict,
};

/* Play it with room for everything. */
const struct order unlimited = {
	.name = "unlimited", .prompt = true,
	.init = init, .destroy = destroy, .add = add, .hit = stay, .replace = replace,
	.take = take, .evict = evict,
};
