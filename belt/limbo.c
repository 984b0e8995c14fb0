// SPDX-License-Identifier: GPL-2.0-only
/* Limbo: where an entry that left its belt waits until no reader can use it any more. */
#include <linux/sched.h>

#include "belt.h"
#include "limbo.h"

struct workqueue_struct *hb_limbo_wq;

/* Starts a grace period for the entries that are in limbo now. Under the shard's lock. */
void hb_limbo_leave(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->in_limbo, !list_empty(&shard->limbo));
	if (!shard->in_limbo)
		return;
	list_splice_init(&shard->limbo, &shard->leaving);
	queue_rcu_work(hb_limbo_wq, &shard->free);
}

void hb_limbo_free(struct work_struct *work)
{
	struct hb_shard *shard = container_of(to_rcu_work(work), struct hb_shard, free);
	struct hashbelt_entry *entry, *next;
	LIST_HEAD(leaving);

	spin_lock(&shard->lock);
	list_splice_init(&shard->leaving, &leaving);
	spin_unlock(&shard->lock);
	list_for_each_entry_safe(entry, next, &leaving, node.slot) {
		hashbelt_entry_put(shard->belt, entry);
		cond_resched();
	}
	spin_lock(&shard->lock);
	hb_limbo_leave(shard);
	spin_unlock(&shard->lock);
}

bool hb_is_in_limbo(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++)
		if (READ_ONCE(shard->in_limbo))
			return true;
	return false;
}

/*
 * Waits until the entries that are in limbo now are freed. Those whose grace period has not begun
 * need a second round.
 */
void hb_limbo_flush(struct hashbelt_belt *belt)
{
	struct hb_shard *shard;
	unsigned int round;

	for (round = 0; round < 2 && hb_is_in_limbo(belt); round++) {
		/* After one barrier for all shards the work of each is queued at least. */
		rcu_barrier();
		for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
			/* Benign race in flush_work(): it looks again under the pool's lock. */
			data_race(flush_work(&shard->free.work));
		}
	}
}
