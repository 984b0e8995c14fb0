/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_FIFO_H
#define _HASHBELT_FIFO_H

#include "entry.h"

/**
 * struct hb_fifo - events in FIFO order, linked by their nodes
 * @first:	the oldest, or NULL; may be read without the lock that protects a queue's or a
 *		client's
 * @last:	the newest; undefined while @first is NULL
 * @count:	number of events
 */
struct hb_fifo {
	struct hashbelt_entry *first;
	struct hashbelt_entry *last;
	u64 count;
};

static inline void hb_fifo_add(struct hb_fifo *fifo, struct hashbelt_entry *event)
{
	event->node.next = NULL;
	if (fifo->first)
		fifo->last->node.next = &event->node;
	else
		WRITE_ONCE(fifo->first, event);
	fifo->last = event;
	fifo->count++;
}

/* At the head. */
static inline void hb_fifo_push(struct hb_fifo *fifo, struct hashbelt_entry *event)
{
	event->node.next = fifo->first ? &fifo->first->node : NULL;
	if (!fifo->first)
		fifo->last = event;
	WRITE_ONCE(fifo->first, event);
	fifo->count++;
}

static inline struct hashbelt_entry *hb_fifo_pop(struct hb_fifo *fifo)
{
	struct hashbelt_entry *event = fifo->first;

	if (!event)
		return NULL;
	WRITE_ONCE(fifo->first, event->node.next ?
		   container_of(event->node.next, struct hashbelt_entry, node) : NULL);
	fifo->count--;
	return event;
}

/* Moves @more, which is empty afterwards, behind @fifo. */
static inline void hb_fifo_append(struct hb_fifo *fifo, struct hb_fifo *more)
{
	if (!more->first)
		return;
	if (fifo->first)
		fifo->last->node.next = &more->first->node;
	else
		WRITE_ONCE(fifo->first, more->first);
	fifo->last = more->last;
	fifo->count += more->count;
	WRITE_ONCE(more->first, NULL);
	more->count = 0;
}

#endif /* _HASHBELT_FIFO_H */
