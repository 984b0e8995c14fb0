// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "cache.h"
#include "heap.h"

const struct geometry exact = { .shards = 1, .interval = 1 };

/* Takes an object out. */
static void leave(struct cache *cache, struct object *object)
{
	cache->order->take(cache, object);
	cache->used -= object->size;
	object->live = false;
}

void cache_evict(struct cache *cache, struct object *object)
{
	leave(cache, object);
	if (is_expired(cache, object))
		cache->result.expired++;
	else
		cache->result.evicted++;
}

static void expire(struct cache *cache, struct object *object)
{
	leave(cache, object);
	cache->result.expired++;
}

/* Expires what is due. A place in the heap is outdated if the object has another deadline now. */
static void expire_due(struct cache *cache, struct heap *deadlines)
{
	while (deadlines->count && deadlines->items[0].rank <= cache->time) {
		struct heap_item due = heap_pop(deadlines);
		struct object *object = &cache->objects[due.value];

		if (object->live && object->deadline == due.rank)
			expire(cache, object);
	}
}

static void make_room(struct cache *cache, uint64_t size)
{
	while (cache->used && cache->used + size > cache->room)
		cache->order->evict(cache);
}

static void put(struct cache *cache, const struct request *request, struct heap *deadlines)
{
	struct object *object = &cache->objects[request->key], old = *object;
	const struct order *order = cache->order;
	uint32_t size = OBJECT_BYTES + request->key_len + request->value_len;

	if (size > cache->room) {
		if (object->live)
			leave(cache, object);
		return;
	}
	if (object->live)
		cache->used -= object->size;
	else
		make_room(cache, size);
	object->size = size;
	object->deadline = request->ttl ? cache->time + request->ttl : NEVER;
	cache->used += size;
	if (object->live) {
		order->replace(cache, object, &old);
	} else {
		object->live = true;
		order->add(cache, object);
	}
	if (order->prompt && object->deadline != NEVER)
		heap_push(deadlines, object->deadline, request->key);
	/* A larger value may stand in the place of a smaller one. */
	make_room(cache, 0);
	if (cache->used > cache->result.most)
		cache->result.most = cache->used;
}

static void handle(struct cache *cache, const struct request *request, struct heap *deadlines)
{
	struct object *object = &cache->objects[request->key];

	if (object->live && is_expired(cache, object))
		expire(cache, object);
	switch (request->op) {
	case TRACE_GET:
		cache->result.gets++;
		if (object->live) {
			cache->order->hit(cache, object);
			break;
		}
		cache->result.misses++;
		put(cache, request, deadlines);
		break;
	case TRACE_ADD:
		if (!object->live)
			put(cache, request, deadlines);
		break;
	case TRACE_SET:
		put(cache, request, deadlines);
		break;
	case TRACE_REMOVE:
		if (object->live)
			leave(cache, object);
		break;
	}
}

/*
 * The ghosts of a belt with so many entries: as many as its index has chains, but 1024 for 512
 * chains (belt/ground/index.c). The entries that come back to fewer than 256 have no mark of that.
 */
size_t ghosts_for(size_t expected)
{
	size_t chains = 1;

	while (2 * chains <= expected * 4 / 3)
		chains *= 2;
	if (chains < 256)
		return 0;
	return chains == 512 ? 1024 : chains;
}

/* Plays a trace on a cache with so many bytes of @room. */
struct result cache_play(const struct trace *trace, const struct order *order, uint64_t room,
			 const struct geometry *geometry)
{
	struct cache cache = {
		.order = order, .trace = trace, .room = room, .geometry = geometry,
		.objects = zalloc(trace->keys, sizeof(*cache.objects)),
	};
	struct heap deadlines = { 0 };

	order->init(&cache);
	for (size_t i = 0; i < trace->count; i++) {
		cache.time = trace->requests[i].time;
		expire_due(&cache, &deadlines);
		handle(&cache, &trace->requests[i], &deadlines);
	}
	order->destroy(&cache);
	heap_destroy(&deadlines);
	free(cache.objects);
	return cache.result;
}
