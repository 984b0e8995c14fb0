/* SPDX-License-Identifier: GPL-2.0-only */
/* A list of objects: they come in at the head. */
#ifndef _QUEUE_H
#define _QUEUE_H

#include "cache.h"

struct queue {
	struct object *head;
	struct object *tail;
	uint64_t bytes;
};

static inline void queue_add(struct queue *queue, struct object *object)
{
	object->prev = NULL;
	object->next = queue->head;
	if (queue->head)
		queue->head->prev = object;
	else
		queue->tail = object;
	queue->head = object;
	queue->bytes += object->size;
}

static inline void queue_del(struct queue *queue, struct object *object)
{
	if (object->prev)
		object->prev->next = object->next;
	else
		queue->head = object->next;
	if (object->next)
		object->next->prev = object->prev;
	else
		queue->tail = object->prev;
	queue->bytes -= object->size;
}

#endif /* _QUEUE_H */
