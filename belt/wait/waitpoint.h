/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_WAITPOINT_H
#define _HASHBELT_WAITPOINT_H

#include "belt/ground/entry.h"

struct hb_shard;

/* The lines of waiters at a waitpoint. */
enum hb_line { HB_LOCKERS, HB_FILLERS, HB_LINES };

/**
 * struct hb_waitpoint - tail of a waitpoint; all under the shard's lock
 * @entry:	the waitpoint's entry
 * @waiters:	tasks that wait, in FIFO order, by enum hb_line: for the lock, for the fill lease
 * @filled:	tasks that waited for the fill lease when the key was put or its fill failed, until
 *		they are woken
 * @watches:	of requests that wait for the key, in FIFO order
 * @unfinished:	place in the shard's list of those where more than a batch of waits was to end
 * @stamp:	requests that were registered before this version are complete: the key was put
 */
struct hb_waitpoint {
	struct hashbelt_entry *entry;
	struct list_head waiters[HB_LINES];
	struct list_head filled;
	struct list_head watches;
	struct list_head unfinished;
	u64 stamp;
};

extern const struct hb_kind_ops hb_waitpoint_ops;

size_t hb_waitpoint_size(u32 key_len);
struct hashbelt_entry *hb_tailed_alloc(struct hashbelt_belt *belt, enum hb_kind kind, u32 hash,
				       const void *key, u32 key_len, u32 value_len);
struct hashbelt_entry *hb_waitpoint_alloc(struct hashbelt_belt *belt, u32 hash,
					  const void *key, u32 key_len);
struct hb_waitpoint *hb_waitpoint_find(struct hb_shard *shard, u32 hash, const void *key,
				       u32 key_len);
struct hb_waitpoint *hb_waitpoint_of(struct hb_shard *shard, const struct hashbelt_entry *entry);
struct hb_waitpoint *hb_waitpoint_get(struct hb_shard *shard, struct hashbelt_entry **spare);
void hb_waitpoint_leave_to_worker(struct hb_shard *shard, struct hb_waitpoint *waitpoint);
void hb_waitpoint_release(struct hb_shard *shard, struct hb_waitpoint *waitpoint);

#endif /* _HASHBELT_WAITPOINT_H */
