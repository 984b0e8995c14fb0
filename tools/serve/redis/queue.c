// SPDX-License-Identifier: GPL-2.0-only
/*
 * MULTI, EXEC and DISCARD: requests are queued, and carried out one after the other. Operations of
 * others may come between them.
 */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

#define QUEUE_FULL	"-ERR the transaction is too long"

/**
 * redis_queue_add() - append the request that was taken to the queue
 * @work:	the work
 * @redis:	the client
 *
 * Return: STARTED or NO_MEMORY.
 */
enum started redis_queue_add(struct work *work, struct redis *redis)
{
	const struct resp_request *request = &redis->request;
	size_t len = request->end - request->args, size;
	struct redis_queue *queue = &redis->queue;
	char head[ANSWER_SHORT], *bytes;
	size_t head_len = redis_number(head, '*', request->count) - head;

	if (queue->len + head_len + len > REDIS_QUEUE_MAX) {
		redis->is_dirty = true;
		return redis_say(work, QUEUE_FULL);
	}
	if (queue->len + head_len + len > queue->size) {
		size = 2 * (queue->len + head_len + len);
		bytes = realloc(queue->bytes, size);
		if (!bytes)
			return NO_MEMORY;
		queue->bytes = bytes;
		queue->size = size;
	}
	bytes = mempcpy(queue->bytes + queue->len, head, head_len);
	memcpy(bytes, request->args, len);
	queue->len += head_len + len;
	queue->count++;
	return redis_say(work, "+QUEUED");
}

/**
 * redis_queue_end() - drop the queue
 * @redis:	the client
 */
void redis_queue_end(struct redis *redis)
{
	free(redis->queue.bytes);
	redis->queue = (struct redis_queue){ 0 };
	redis->in_multi = false;
	redis->in_exec = false;
	redis->is_dirty = false;
}

enum started redis_multi(struct work *work, struct redis *redis)
{
	if (redis->in_multi)
		return redis_say(work, "-ERR MULTI calls can not be nested");
	redis->in_multi = true;
	return redis_say(work, "+OK");
}

static bool write_head(struct work *work, const struct reply *reply)
{
	return redis_commit_number(work, reply, '*', reply->number);
}

enum started redis_exec(struct work *work, struct redis *redis)
{
	struct reply *reply;

	if (!redis->in_multi)
		return redis_say(work, "-ERR EXEC without MULTI");
	if (redis->is_dirty) {
		redis_queue_end(redis);
		return redis_say(work,
				 "-EXECABORT Transaction discarded because of previous errors.");
	}
	reply = batch_reply(work, write_head, ANSWER_SHORT);
	if (!reply)
		return NO_MEMORY;
	reply->number = redis->queue.count;
	redis->in_multi = false;
	redis->in_exec = redis->queue.count;
	return STARTED;
}

enum started redis_discard(struct work *work, struct redis *redis)
{
	if (!redis->in_multi)
		return redis_say(work, "-ERR DISCARD without MULTI");
	redis_queue_end(redis);
	return redis_say(work, "+OK");
}

/* A belt cannot check one entry and change another in one step. */
enum started redis_watch(struct work *work, struct redis *redis)
{
	if (*redis->command->name == 'U')
		return redis_say(work, "+OK");
	if (redis->in_multi)
		return redis_say(work, "-ERR WATCH inside MULTI is not allowed");
	return redis_say(work, "-ERR WATCH is not served: use SET with IFEQ, or a lock");
}
