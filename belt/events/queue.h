/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_QUEUE_H
#define _HASHBELT_QUEUE_H

#include "belt/ground/fifo.h"

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
