/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_QUEUE_H
#define _HASHBELT_QUEUE_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "belt/ground/fifo.h"

/**
 * struct hb_queue - events of a belt that wait for a reader
 * @waiting:	the events, owned by the queue
 * @dropped:	dropped events, until the worker frees them
 * @bytes:	memory of events that wait or are in flight; of entries that live on as well, once
 *		for each of their events
 * @pressed:	the part of @bytes of entries that were evicted because memory was short
 * @kept_entries: events that stay charged to the belt's limits, those in flight included
 * @kept_bytes:	bytes charged for them
 * @in_flight:	events that were taken, and neither settled nor returned
 * @sequence:	number of the newest event
 * @lost:	events lost that no reader has been told of
 * @max_events:	most events that wait or are in flight
 * @max_bytes:	most of @bytes
 * @wait:	tasks that wait in a read: an event wakes one, a change of the settings all
 */
struct hb_queue {
	/** @lock: protects all below. Inside it: usage->lock. */
	spinlock_t lock;
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

/* The event of an entry that left for this reason stays charged to the belt's limits. */
static inline bool hb_stays_charged(enum hashbelt_reason reason)
{
	return reason == HASHBELT_EXPIRED || reason == HASHBELT_REMOVED ||
	       reason == HASHBELT_RELEASED;
}

bool hb_event_push(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now);
void hb_event_push_proxy(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now);
bool hb_queue_step(struct hashbelt_belt *belt);
bool hb_event_drop_oldest(struct hashbelt_belt *belt);
void hb_event_free_all(struct hashbelt_belt *belt);

int hb_take_events(struct hashbelt_belt *belt, struct hb_fifo *events, size_t room,
		   u64 most, bool hold, u64 *lost);
void hb_count_read(struct hashbelt_belt *belt, u64 count);
void hb_return_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held,
		      u64 lost, bool read);
void hb_settle_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held);
struct hashbelt_entry *hb_event_entry(struct hashbelt_entry *event);
const void *hb_describe_event(struct hashbelt_entry *event, struct hashbelt_event *record);

#endif /* _HASHBELT_QUEUE_H */
