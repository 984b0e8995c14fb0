/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_LEASE_H
#define _HASHBELT_LEASE_H

#include <linux/hrtimer.h>

#include "belt/ground/entry.h"

struct hb_waitpoint;
struct hb_room;
struct hb_shard;

/**
 * struct hb_lease - tail of a lock or of a fill lease, or its first member
 * @link:	to the descriptor that it is bound to
 * @since:	belt time of the grant; constant once in the index
 */
struct hb_lease {
	struct hb_link link;
	u64 since;
};

/**
 * struct hb_waiter - a task that waits for a lock, or for a key to be filled; on its stack
 * @acquire:	the lease for which it waits
 * @place:	in the line at the waitpoint, under the shard's lock
 * @asleep:	in belt->waiters.list, under belt->waiters.lock
 * @task:	the task that waits
 * @timer:	wakes the task at @until; the first in the line also at the end of the present
 *		lease. Under the shard's lock while @place is in the line
 * @waitpoint:	the waitpoint, while it is in the line
 * @spare:	a waitpoint for the key, in case there is none yet
 * @until:	belt time when it gives up, HB_NEVER for not
 * @result:	HB_WAITING; 0: it has the lease; HB_FILLED; a negative errno; under the shard's lock
 */
struct hb_waiter {
	struct hb_acquire *acquire;
	struct list_head place;
	struct list_head asleep;
	struct task_struct *task;
	struct hrtimer timer;
	struct hb_waitpoint *waitpoint;
	struct hashbelt_entry *spare;
	u64 until;
	int result;
};

/**
 * struct hb_acquire - asking for a lock or a fill lease
 * @belt:	the belt
 * @lease:	to be granted; the belt's once that has succeeded
 * @duration:	of the lease, nanoseconds
 * @wait_ms:	how long to wait while another task has the lease; 0: not. Returned after a wait: as
 *		hb_wait_until() returns it
 * @token:	returned: version of the lease
 * @refuses:	returns an error if the caller is not to have the lease, given @other, the present
 *		one or NULL. Under the shard's lock
 * @arg:	for @refuses
 */
struct hb_acquire {
	struct hashbelt_belt *belt;
	struct hashbelt_entry *lease;
	u64 duration;
	u64 wait_ms;
	u64 token;
	int (*refuses)(struct hb_shard *shard, struct hb_acquire *acquire,
		       struct hashbelt_entry *other, u64 now);
	void *arg;
};

#define HB_WAITING	1	/* in the line */
#define HB_FILLED	2	/* the key was put, or its fill has failed */

struct hashbelt_entry *hb_lease_find(struct hb_shard *shard, u32 hash, const void *key,
				     u32 key_len, u64 now);
void hb_lease_hand_over(struct hb_shard *shard, struct hashbelt_entry *left, u64 now,
			struct hb_room *room);
bool hb_leases_step(struct hb_shard *shard, struct hb_waitpoint *waitpoint, u64 now);
void hb_lease_set(struct hb_shard *shard, struct hashbelt_entry *lease, u64 duration, u64 now,
		  bool shorten);
void hb_waiters_filled(struct hb_waitpoint *waitpoint);
bool hb_waiters_wake(struct hb_waitpoint *waitpoint);
int hb_lease_take(struct hb_shard *shard, struct hashbelt_entry *other,
		  struct hb_acquire *acquire, u64 now, struct hb_waiter *waiter,
		  struct hb_room *room);
u64 hb_wait_until(struct hashbelt_belt *belt, u64 wait_ms);
int hb_lease_acquire(struct hb_acquire *acquire, enum hb_kind kind, struct hb_client *client,
		     const void *key, u32 key_len, const void *owner, u32 owner_len);
void hb_sleepers_wake(struct hashbelt_belt *belt);

#endif /* _HASHBELT_LEASE_H */
