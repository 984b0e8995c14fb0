/* SPDX-License-Identifier: GPL-2.0 */
/* The queue of a belt's events: entries that have left it and are to be reported. */
#ifndef _HASHBELT_EVENT_H
#define _HASHBELT_EVENT_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "hashbelt_entry.h"

/**
 * struct hb_fifo - events in a row, linked by their nodes
 * @first:	the oldest, NULL if there is none; a queue's, and a holder's, may be
 *		read without the lock
 * @last:	the newest; means nothing if there is none
 * @count:	their number
 */
struct hb_fifo {
	struct hashbelt_entry *first;
	struct hashbelt_entry *last;
	u64 count;
};

/**
 * struct hb_queue - events of a belt that nobody has taken yet
 * @lock:	protects all below; taken inside of shards' locks
 * @waiting:	the events, owned by the queue
 * @dropped:	events that were one too many, until the worker gives them up
 * @bytes:	memory that they take, and those in flight; of entries that live on
 *		as well, once for each of their events
 * @pressed:	that of them whose entries went because memory was short
 * @kept_entries: events, taken ones too, that keep their place in the belt
 * @kept_bytes:	what those cost
 * @in_flight:	events that were taken and not given up
 * @sequence:	number of the newest event
 * @lost:	events dropped that no reader has been told of
 * @max_events:	most events that wait or are in flight
 * @max_bytes:	most of @bytes
 * @wait:	readers
 */
struct hb_queue {
	spinlock_t lock;		/* taken inside of shards' locks */
	struct hb_fifo waiting;
	struct hb_fifo dropped;
	u64 bytes;
	u64 pressed;
	u64 kept_entries;
	u64 kept_bytes;
	u64 in_flight;
	u64 sequence;
	u64 lost;
	u64 max_events;
	u64 max_bytes;
	wait_queue_head_t wait;
};

void hb_queue_init(struct hb_queue *queue);

void hb_fifo_add(struct hb_fifo *fifo, struct hashbelt_entry *event);
void hb_fifo_push(struct hb_fifo *fifo, struct hashbelt_entry *event);
struct hashbelt_entry *hb_fifo_pop(struct hb_fifo *fifo);
void hb_fifo_append(struct hb_fifo *fifo, struct hb_fifo *more);

#endif /* _HASHBELT_EVENT_H */
