// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ending the waits for a key that was put: those of tasks for its fill lease, and those of
 * requests. A put ends a batch of them under the lock of the shard, and leaves the others to the
 * worker.
 */
#include "belt/belt.h"
#include "belt/shard/shard.h"
#include "fill.h"
#include "lease.h"
#include "request.h"
#include "waitpoint.h"
#include "waits.h"

/*
 * Ends a batch of the waits for a key that was put when the newest version in the shard was @stamp:
 * wakes tasks, claims requests for @claimed, and leaves the others to the worker. The waitpoint may
 * be gone then. Under the shard's lock.
 */
static void end_batch(struct hb_shard *shard, struct hb_waitpoint *waitpoint, u64 stamp,
		      struct list_head *claimed)
{
	bool more = hb_waiters_wake(waitpoint);

	lockdep_assert_held(&shard->lock);
	waitpoint->stamp = stamp;
	more |= hb_requests_claim(shard, waitpoint, HASHBELT_BY_PUT, stamp, claimed);
	if (more)
		hb_waitpoint_leave_to_worker(shard, waitpoint);
}

/*
 * A key was put when the newest version in the shard was @stamp; @put is an entry with that key.
 * Ends the fill lease of the key, and the waits for the key that began before. Under the shard's
 * lock; the caller finishes the requests in @claimed.
 */
void hb_end_waits(struct hb_shard *shard, const struct hashbelt_entry *put, u64 stamp, u64 now,
		  struct list_head *claimed)
{
	struct hb_waitpoint *waitpoint = hb_waitpoint_of(shard, put);

	lockdep_assert_held(&shard->lock);
	if (shard->fills)
		hb_fill_end(shard, put, waitpoint, now);
	if (waitpoint)
		end_batch(shard, waitpoint, stamp, claimed);
}

/* Ends a batch of the waits that were left to the worker. Return: true if there are more. */
bool hb_unfinished_step(struct hb_shard *shard)
{
	u64 now = hb_clock_now(&shard->belt->clock);
	struct hb_waitpoint *waitpoint;
	LIST_HEAD(claimed);
	bool more;

	spin_lock(&shard->lock);
	waitpoint = list_first_entry_or_null(&shard->unfinished, struct hb_waitpoint, unfinished);
	if (waitpoint) {
		list_del_init(&waitpoint->unfinished);
		if (hb_leases_step(shard, waitpoint, now))
			hb_waitpoint_leave_to_worker(shard, waitpoint);
		end_batch(shard, waitpoint, waitpoint->stamp, &claimed);
	}
	more = !list_empty(&shard->unfinished);
	spin_unlock(&shard->lock);
	hb_requests_finish(shard->belt, &claimed);
	return more;
}
