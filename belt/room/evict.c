// SPDX-License-Identifier: GPL-2.0-only
/*
 * Eviction: making room in a belt that is full.
 *
 * Entries that have expired leave first, also where the belt does not evict (reclaim.c). Then plain
 * entries leave: in the order of the hands (hand.c), or from a belt that does not evict, under
 * memory pressure, in that of their deadlines (nearest.c). Fill leases and requests leave when no
 * plain entry is left: a fill lease that left early would let all callers that miss its key fill
 * it. Events that wait leave last.
 */
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "belt/belt.h"
#include "belt/events/queue.h"
#include "belt/ground/usage.h"
#include "belt/shard/shard.h"
#include "evict.h"
#include "hand.h"
#include "nearest.h"
#include "reclaim.h"

/*
 * Takes out the next entry of a class after a search has found that none of it has expired.
 * @passes: entries that the hands may still skip. Return: its size, 0 if there is none.
 */
static size_t evict_live(struct hashbelt_belt *belt, enum hb_class class,
			 enum hashbelt_reason reason, const struct hashbelt_entry *put,
			 unsigned int *passes)
{
	if (class != HB_PLAIN || !hb_evicts(belt))
		return hb_evict_nearest(belt, class, reason, HB_NEVER, put);
	return hb_evict_by_hand(belt, reason, put, passes);
}

/*
 * Takes out the entry of a class that is the next in the belt's order. @passes: entries that the
 * hands may still skip. Return: its size, 0 if there is none.
 */
size_t hb_evict_class(struct hashbelt_belt *belt, enum hb_class class,
		      enum hashbelt_reason reason, const struct hashbelt_entry *put,
		      unsigned int *passes)
{
	size_t size = 0;

	if (class == HB_PLAIN && hb_evicts(belt))
		size = hb_evict_expired(belt, class, reason, put);
	return size ?: evict_live(belt, class, reason, put, passes);
}

/* Takes out the next entry of the first class that has one. Return: its size, 0 if none has. */
static size_t evict_one(struct hashbelt_belt *belt, enum hashbelt_reason reason,
			const struct hashbelt_entry *put, unsigned int *passes)
{
	return hb_evict_class(belt, HB_PLAIN, reason, put, passes) ?:
	       hb_evict_class(belt, HB_LEASES, reason, put, passes);
}

/* Evicts up to @most entries, one after the other. Return: their number. */
unsigned int hb_evict(struct hashbelt_belt *belt, enum hashbelt_reason reason, unsigned int most)
{
	unsigned int done = 0, passes = HB_PASS_MOST;

	while (done < most && evict_one(belt, reason, NULL, &passes))
		done++;
	return done;
}

/* No entry of a class could make room for @put. Context: all shards' locks. */
static bool is_empty(struct hashbelt_belt *belt, enum hb_class class,
		     const struct hashbelt_entry *put, u64 now)
{
	struct hb_search search = {
		.class = class, .put = put, .home = hb_shard_of(belt, hb_hash_of(put)),
	};
	struct hb_shard *shard;
	bool empty = true;
	u64 nearest;

	for (shard = belt->shards; shard < hb_shards_end(belt); shard++) {
		nearest = shard->nearest[class];
		if (shard == search.home && nearest != HB_NOTHING)
			hb_find_nearest(shard, &search, now, &nearest);
		empty &= nearest == HB_NOTHING;
	}
	return empty;
}

/*
 * @put does not fit, even though it ends the entry that it replaces and the fill lease of its key.
 * Context: the lock of its shard.
 */
static bool is_too_large(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
			 const struct hb_room *room, u64 now)
{
	s64 entries = 1 - room->entries, bytes = hb_cost(put) - room->bytes;
	struct hb_shard *shard = hb_shard_of(belt, hb_hash_of(put));
	struct hb_search search = { .put = put, .home = shard };
	const struct hashbelt_entry *ended;

	lockdep_assert_held(&shard->lock);
	for (; search.class < HB_CLASSES && hb_is_plain(put); search.class++) {
		ended = hb_find_spared(shard, &search, now);
		entries -= !!ended;
		bytes -= ended ? hb_cost(ended) : 0;
	}
	return !hb_usage_fits(&belt->usage, entries, bytes);
}

/* @put does not fit, and no event could make room. Context: the lock of its shard. */
static bool lacks_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
		       const struct hb_room *room, u64 now)
{
	bool lacks;

	spin_lock(&belt->queue.lock);
	lacks = !belt->queue.waiting.first && is_too_large(belt, put, room, now);
	spin_unlock(&belt->queue.lock);
	return lacks;
}

/*
 * The belt has no room for @put, and no entry that could make room. Without all shards' locks, this
 * could see neither the entry that another put has just replaced nor the new one, which that put is
 * about to add to the wheel. Where other puts have reserved room, this one gives back its own and
 * waits for them: of puts that have reserved all room between them, one finds enough. The last of
 * them may have given back its room just before.
 */
static bool is_exhausted(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
			 struct hb_room *room)
{
	bool exhausted;
	u64 now;

	mutex_lock(&belt->clear_lock);
	hb_lock_all(belt);
	now = hb_clock_now(&belt->clock);
	exhausted = lacks_room(belt, put, room, now) && is_empty(belt, HB_PLAIN, put, now) &&
		    is_empty(belt, HB_LEASES, put, now) && !hb_room_yield(&belt->usage, room) &&
		    lacks_room(belt, put, room, now);
	hb_unlock_all(belt);
	mutex_unlock(&belt->clear_lock);
	return exhausted;
}

/* Takes out what may leave for @put. Return: false if there is nothing. */
static bool evict_for(struct hashbelt_belt *belt, const struct hashbelt_entry *put)
{
	unsigned int passes = HB_PASS_MOST;

	if (hb_evict_expired(belt, HB_PLAIN, HASHBELT_EVICTED, put) ||
	    hb_evict_expired(belt, HB_LEASES, HASHBELT_EVICTED, put))
		return true;
	if (hb_evicts(belt))
		return evict_live(belt, HB_PLAIN, HASHBELT_EVICTED, put, &passes) ||
		       evict_live(belt, HB_LEASES, HASHBELT_EVICTED, put, &passes) ||
		       hb_event_drop_oldest(belt);
	return hb_expire_some_hidden(belt);
}

/**
 * hb_make_room() - make room for an entry, and reserve it
 * @belt:	the belt
 * @put:	the entry
 * @room:	the room that is reserved for it. The caller gives it to hb_usage_add(), and what is
 *		left of it to hb_room_release()
 *
 * Takes out an entry that has expired; else, if the belt evicts, another entry, but neither the one
 * that @put replaces nor the fill lease of its key; else, if it evicts and holds only events, the
 * oldest event.
 *
 * Context: may sleep. Return: true if the caller is to try again; false: there is nothing to take
 * out, all of it would not be enough, or the caller is being killed.
 */
bool hb_make_room(struct hashbelt_belt *belt, const struct hashbelt_entry *put,
		  struct hb_room *room)
{
	bool taken;

	if (hb_cost(put) > READ_ONCE(belt->usage.max_bytes) || READ_ONCE(belt->dead) ||
	    fatal_signal_pending(current))
		return false;
	/* After a limit was lowered one put may have to evict a million entries. */
	cond_resched();
	taken = evict_for(belt, put);
	hb_room_reserve(&belt->usage, room, hb_cost(put));
	if (taken)
		return true;
	return hb_evicts(belt) && !is_exhausted(belt, put, room);
}

/* Evicting an entry of the belt frees its memory: it does not stay as an event. */
bool hb_frees_by_evicting(const struct hashbelt_belt *belt)
{
	return hb_evicts(belt) && !hb_reports(belt, HASHBELT_EVICTED);
}

/* Return: true if a put that adds an entry is to call hb_evict_ahead() afterwards. */
bool hb_evicts_ahead(const struct hashbelt_belt *belt)
{
	return hb_frees_by_evicting(belt) && hb_memory_is_scarce(belt->account);
}

/*
 * Evicts as many bytes as @put, which is in the belt and of which the caller has a reference, has
 * added. What is evicted is freed after a grace period: puts which evicted only at the limit would
 * wait for that. Context: may sleep.
 */
void hb_evict_ahead(struct hashbelt_belt *belt, const struct hashbelt_entry *put)
{
	size_t most = hb_entry_size(put), done = 0, size;
	unsigned int passes = HB_PASS_MOST;

	do {
		size = evict_one(belt, HASHBELT_EVICTED, put, &passes);
		done += size;
		cond_resched();
	} while (size && done < most && !fatal_signal_pending(current));
}
