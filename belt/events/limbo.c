// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limbo: where an entry that left its belt waits until no reader can use it any more.
 *
 * An entry in limbo still has the belt's reference. A work item of the shard drops it after a grace
 * period; the memory is freed then, unless another task has a reference. One such grace period with
 * its run of the work item is a round. Entries that arrive during a round wait for the next one.
 */
#include <linux/sched.h>
#include <linux/string.h>

#include "belt/belt.h"
#include "belt/ground/compat.h"
#include "belt/ground/pace.h"
#include "limbo.h"

/* Entries that the work frees before it looks whether it is to give way. */
#define FEW	6

/* Looks between two calls of hb_memory_soothe(). */
#define LOOKS	128

/* Microseconds of a pause, and of one while the belt's worker, which goes first, has more to do. */
#define PAUSE		30
#define PAUSE_LONG	600

/*
 * Work items that give way at a time, of all belts. Each has a place of the workqueue, of which
 * there are 256 at least, on Linux 6.9 to 6.12 divided among the nodes of memory: the items of
 * other users need not wait for pauses.
 */
#define RESTING_MOST	16

static atomic_t resting = ATOMIC_INIT(0);

struct workqueue_struct *hb_limbo_wq;

static void wipe(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (hb_wipes(belt)) {
		memzero_explicit(entry->data, entry->key_len + entry->value_len);
		cond_resched();
	}
}

/*
 * Drops a reference to an entry, from hashbelt_entry_alloc() or from refcount_inc_not_zero() under
 * RCU. Context: may sleep.
 */
void hashbelt_entry_put(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (!refcount_dec_and_test(&entry->ref))
		return;
	wipe(belt, entry);
	hb_object_free(belt->account, entry, hb_span_of(entry));
}

/*
 * Drops a reference to an entry. The last one frees it, at the latest in hb_bundle_free(). @bundle
 * has the belt's account.
 */
static void put_in(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		   struct hb_bundle *bundle)
{
	if (!refcount_dec_and_test(&entry->ref))
		return;
	wipe(belt, entry);
	hb_bundle_add(bundle, entry, hb_span_of(entry));
}

/* Starts a grace period for the entries in limbo, if there are any. Under the shard's lock. */
void hb_limbo_leave(struct hb_shard *shard)
{
	lockdep_assert_held(&shard->lock);
	WRITE_ONCE(shard->in_limbo, !list_empty(&shard->limbo));
	if (!shard->in_limbo)
		return;
	list_splice_init(&shard->limbo, &shard->leaving);
	queue_rcu_work(hb_limbo_wq, &shard->free);
}

static void end_turn(struct hashbelt_belt *belt)
{
	up(&belt->pace.turn);
	atomic_dec(&resting);
}

/* Waits for the turn, if this work item is in the way. Return: true if it is now, too. */
static bool take_turn(struct hashbelt_belt *belt)
{
	if (!hb_is_in_way(&belt->pace, 0) || !atomic_add_unless(&resting, 1, RESTING_MOST))
		return false;
	down(&belt->pace.turn);
	if (hb_is_in_way(&belt->pace, 0))
		return true;
	end_turn(belt);
	return false;
}

/*
 * Lets other tasks run, between few entries. *@pause_from: time from which on this may pause. The
 * worker goes first: while it has more to do, a long pause follows each time.
 */
static void rest(struct hashbelt_belt *belt, unsigned int looks, bool *has_turn, u64 *pause_from)
{
	bool busy = READ_ONCE(belt->pace.busy);

	*has_turn = *has_turn || take_turn(belt);
	if (*has_turn) {
		hb_give_way(&belt->pace, pause_from, busy ? PAUSE_LONG : PAUSE);
		if (busy)
			*pause_from = 0;
	}
	if (*has_turn && !hb_may_pause(&belt->pace)) {
		end_turn(belt);
		*has_turn = false;
	}
	cond_resched();
	if (looks % LOOKS == LOOKS - 1)
		hb_memory_soothe();
}

void hb_limbo_free(struct work_struct *work)
{
	struct hb_shard *shard = container_of(to_rcu_work(work), struct hb_shard, free);
	struct hb_bundle bundle HB_UNINITIALIZED;
	struct hashbelt_entry *entry, *next;
	unsigned int left = 1, looks = 0;
	bool has_turn = false;
	u64 pause_from = 0;
	LIST_HEAD(leaving);

	spin_lock(&shard->lock);
	list_splice_init(&shard->leaving, &leaving);
	spin_unlock(&shard->lock);
	hb_bundle_init(&bundle, shard->belt->account);
	list_for_each_entry_safe(entry, next, &leaving, node.slot) {
		if (!--left) {
			rest(shard->belt, looks++, &has_turn, &pause_from);
			left = FEW;
		}
		put_in(shard->belt, entry, &bundle);
	}
	hb_bundle_free(&bundle);
	if (has_turn)
		end_turn(shard->belt);
	spin_lock(&shard->lock);
	WRITE_ONCE(shard->rounds, shard->rounds + 1);
	hb_limbo_leave(shard);
	spin_unlock(&shard->lock);
	/* One task at most: see hb_limbo_flush(). */
	wake_up(&shard->belt->flush.wait);
}

bool hb_is_in_limbo(struct hashbelt_belt *belt)
{
	hb_for_each_shard(shard, belt)
		if (READ_ONCE(shard->in_limbo))
			return true;
	return false;
}

/* Under belt->flush.lock. Return: 0 or -EINTR. */
static int wait_for_rounds(struct hashbelt_belt *belt)
{
	hb_for_each_shard(shard, belt) {
		spin_lock(&shard->lock);
		shard->awaited = shard->rounds;
		/* Entries on @limbo wait for the round after the present one. */
		if (shard->in_limbo)
			shard->awaited += list_empty(&shard->limbo) ? 1 : 2;
		spin_unlock(&shard->lock);
	}
	/* All rounds go on meanwhile. If that takes long, the workers may give way again. */
	hb_for_each_shard(shard, belt) {
		hb_pace_end(&belt->pace);
		if (wait_event_killable(belt->flush.wait,
					READ_ONCE(shard->rounds) >= shard->awaited))
			return -EINTR;
	}
	return 0;
}

/*
 * Waits until the entries that are in limbo now are freed. Starts no grace period of its own, so it
 * costs other tasks nothing, however many tasks call it. One task waits for the rounds, and the
 * others for flush->lock, so a round wakes one task. Return: 0; -EINTR: the caller is being killed.
 * Context: may sleep.
 */
int hb_limbo_flush(struct hashbelt_belt *belt)
{
	struct hb_flush *flush = &belt->flush;
	u64 begun = READ_ONCE(flush->begun);
	int err = 0;

	if (!hb_is_in_limbo(belt))
		return 0;
	hb_pace_end(&belt->pace);
	if (mutex_lock_killable(&flush->lock))
		return -EINTR;
	/* If @ended is larger, another task has begun and ended a flush since this call began. */
	if (flush->ended <= begun) {
		WRITE_ONCE(flush->begun, flush->begun + 1);
		err = wait_for_rounds(belt);
		if (!err)
			flush->ended = flush->begun;
	}
	mutex_unlock(&flush->lock);
	return err;
}
