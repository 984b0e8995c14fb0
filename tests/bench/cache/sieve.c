// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIEVE: one queue in the order of arrival, and a hand that goes from the tail to the head and
 * begins again at the tail. An object that was read since the hand last passed stays where it is
 * and loses its mark; the first one without a mark is evicted.
 *
 * After Yazhuo Zhang et al., "SIEVE is Simpler than LRU" (NSDI 2024).
 */
#include <stdlib.h>

#include "cache.h"
#include "queue.h"

struct sieve {
	struct queue queue;
	struct object *hand;
};

static void init(struct cache *cache)
{
	cache->state = zalloc(1, sizeof(struct sieve));
}

static void destroy(struct cache *cache)
{
	free(cache->state);
}

static void add(struct cache *cache, struct object *object)
{
	struct sieve *s = cache->state;

	object->reads = 0;
	queue_add(&s->queue, object);
}

static void hit(struct cache *cache, struct object *object)
{
	(void)cache;
	object->reads = 1;
}

static void replace(struct cache *cache, struct object *object, const struct object *old)
{
	struct sieve *s = cache->state;

	s->queue.bytes += object->size - (uint64_t)old->size;
	object->reads = 1;
}

static void take(struct cache *cache, struct object *object)
{
	struct sieve *s = cache->state;

	if (s->hand == object)
		s->hand = object->prev;
	queue_del(&s->queue, object);
}

static void evict(struct cache *cache)
{
	struct sieve *s = cache->state;

	for (;;) {
		struct object *object = s->hand ? s->hand : s->queue.tail;

		if (!object->reads || is_expired(cache, object)) {
			s->hand = object;
			cache_evict(cache, object);
			return;
		}
		object->reads = 0;
		s->hand = object->prev;
	}
}

const struct order sieve = {
	.name = "SIEVE",
	.init = init, .destroy = destroy, .add = add, .hit = hit, .replace = replace,
	.take = take, .evict = evict,
};
