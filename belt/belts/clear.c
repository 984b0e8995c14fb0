// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clearing a belt, and making it dead. A clear raises the belt's floor, so that no reader finds
 * the present entries. The worker sweeps these out.
 */
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "belt/belt.h"
#include "belt/events/link.h"
#include "belt/events/queue.h"
#include "belt/shard/shard.h"
#include "belt/wait/lease.h"
#include "clear.h"

/* Removes all entries; with @dead no entry is added any more. */
static void clear(struct hashbelt_belt *belt, bool dead)
{
	u64 versions = 0, cleared = 0, bytes = 0, count = 0, floor;

	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	hb_for_each_shard(shard, belt) {
		versions = max(versions, shard->versions);
		count += shard->count;
	}
	floor = ((versions + 1) << belt->shard_bits) - 1;
	hb_window_clear(belt, floor, dead);
	WRITE_ONCE(belt->floor, floor);
	WRITE_ONCE(belt->dead, belt->dead || dead);
	if (count)
		WRITE_ONCE(belt->unswept, true);
	hb_for_each_shard(shard, belt) {
		shard->versions = versions;
		cleared += shard->live;
		bytes += shard->live_bytes;
		shard->live = 0;
		shard->live_bytes = 0;
		shard->locks = 0;
		shard->requests = 0;
	}
	hb_usage_change(&belt->usage, -cleared, -(bytes + cleared * HB_INDEX_SHARE));
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
	hb_count_by(belt, HASHBELT_STAT_CLEARED, cleared);
	/* An empty belt costs its account's worker nothing, however often it is cleared. */
	if (count || dead) {
		hb_pace_end(&belt->pace);
		hb_kick_worker(belt);
	}
}

/* Drops all entries: hashbelt_clear(). Context: may sleep. */
void hb_clear(struct hashbelt_belt *belt)
{
	clear(belt, false);
}

/*
 * Makes a belt dead that other tasks still have open: drops its entries and events. Every later
 * call on it returns -EIDRM. Context: may sleep.
 */
void hb_kill(struct hashbelt_belt *belt)
{
	clear(belt, true);
	hb_window_close(belt);
	wake_up_all(&belt->queue.wait);
	hb_sleepers_wake(belt);
	hb_clients_wake(belt);
	hb_pollers_end(&belt->pollers);
	/* No reader can take the events any more. */
	while (hb_event_drop_oldest(belt))
		cond_resched();
}
