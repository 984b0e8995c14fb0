// SPDX-License-Identifier: GPL-2.0-only
/*
 * S3-FIFO: a small queue for a tenth of the room, a main queue for the rest, and a ghost queue of
 * keys that were evicted from the small one. A key whose ghost is there goes to the main queue.
 * An object that was read at least twice moves from the small queue to the main one; in the main
 * queue each read, of three at most, gives it one more round.
 *
 * After Juncheng Yang et al., "FIFO Queues are All You Need for Cache Eviction" (SOSP 2023). There
 * the ghost queue has as many entries as the main queue; here they stand for as many bytes.
 */
#include <stdlib.h>

#include "cache.h"
#include "queue.h"

#define READS_MAX	3
#define READS_MOVE	2

enum { SMALL, MAIN };

/**
 * struct s3fifo - the queues
 * @queues:	the small and the main one
 * @ghosts:	ring of the keys that were evicted from the small queue, the oldest first
 * @first:	number of the first ghost in the ring
 * @last:	number behind the last one
 * @size:	places of the ring, one for each key
 * @bytes:	of the objects for which the ghosts stand
 * @place:	for each key, number of its ghost plus 1, or 0
 * @sizes:	for each key, the bytes for which its ghost stands
 */
struct s3fifo {
	struct queue queues[2];
	uint32_t *ghosts;
	uint64_t first;
	uint64_t last;
	uint64_t size;
	uint64_t bytes;
	uint64_t *place;
	uint32_t *sizes;
};

static void init(struct cache *cache)
{
	struct s3fifo *s = zalloc(1, sizeof(*s));

	s->size = cache->trace->keys + 1;
	s->ghosts = zalloc(s->size, sizeof(*s->ghosts));
	s->place = zalloc(cache->trace->keys, sizeof(*s->place));
	s->sizes = zalloc(cache->trace->keys, sizeof(*s->sizes));
	cache->state = s;
}

static void destroy(struct cache *cache)
{
	struct s3fifo *s = cache->state;

	free(s->ghosts);
	free(s->place);
	free(s->sizes);
	free(s);
}

/* A ghost that is gone leaves a gap in the ring, which goes when it is the first. */
static void forget_first(struct cache *cache)
{
	struct s3fifo *s = cache->state;
	uint32_t key = s->ghosts[s->first % s->size];

	if (s->place[key] == s->first + 1) {
		s->place[key] = 0;
		s->bytes -= s->sizes[key];
	}
	s->first++;
}

static void leave_ghost(struct cache *cache, const struct object *object)
{
	struct s3fifo *s = cache->state;
	uint32_t key = key_of(cache, object);

	while (s->first < s->last && (s->last - s->first == s->size ||
				      s->bytes + object->size > cache->room * 9 / 10))
		forget_first(cache);
	s->ghosts[s->last % s->size] = key;
	s->place[key] = ++s->last;
	s->sizes[key] = object->size;
	s->bytes += object->size;
}

static void enqueue(struct s3fifo *s, struct object *object, int queue)
{
	object->reads = 0;
	object->queue = queue;
	queue_add(&s->queues[queue], object);
}

static void add(struct cache *cache, struct object *object)
{
	struct s3fifo *s = cache->state;
	uint32_t key = key_of(cache, object);
	bool ghost = s->place[key];

	if (ghost) {
		s->place[key] = 0;
		s->bytes -= s->sizes[key];
	}
	enqueue(s, object, ghost ? MAIN : SMALL);
}

static void hit(struct cache *cache, struct object *object)
{
	(void)cache;
	if (object->reads < READS_MAX)
		object->reads++;
}

static void replace(struct cache *cache, struct object *object, const struct object *old)
{
	struct s3fifo *s = cache->state;

	s->queues[object->queue].bytes += object->size - (uint64_t)old->size;
	hit(cache, object);
}

static void take(struct cache *cache, struct object *object)
{
	struct s3fifo *s = cache->state;

	queue_del(&s->queues[object->queue], object);
}

static void evict_main(struct cache *cache)
{
	struct s3fifo *s = cache->state;
	struct object *object;

	for (;;) {
		object = s->queues[MAIN].tail;
		if (!object->reads || is_expired(cache, object))
			break;
		queue_del(&s->queues[MAIN], object);
		queue_add(&s->queues[MAIN], object);
		object->reads--;
	}
	cache_evict(cache, object);
}

static void evict_small(struct cache *cache)
{
	struct s3fifo *s = cache->state;
	struct object *object;

	while ((object = s->queues[SMALL].tail)) {
		if (object->reads < READS_MOVE || is_expired(cache, object)) {
			if (!is_expired(cache, object))
				leave_ghost(cache, object);
			cache_evict(cache, object);
			return;
		}
		queue_del(&s->queues[SMALL], object);
		enqueue(s, object, MAIN);
	}
	evict_main(cache);
}

static void evict(struct cache *cache)
{
	struct s3fifo *s = cache->state;

	if (s->queues[SMALL].bytes >= cache->room / 10 || !s->queues[MAIN].tail)
		evict_small(cache);
	else
		evict_main(cache);
}

const struct order s3fifo = {
	.name = "S3-FIFO",
	.init = init, .destroy = destroy, .add = add, .hit = hit, .replace = replace,
	.take = take, .evict = evict,
};
