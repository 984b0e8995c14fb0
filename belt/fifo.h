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

void hb_fifo_add(struct hb_fifo *fifo, struct hashbelt_entry *event);
void hb_fifo_push(struct hb_fifo *fifo, struct hashbelt_entry *event);
struct hashbelt_entry *hb_fifo_pop(struct hb_fifo *fifo);
void hb_fifo_append(struct hb_fifo *fifo, struct hb_fifo *more);

#endif /* _HASHBELT_FIFO_H */
