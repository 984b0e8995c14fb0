// SPDX-License-Identifier: GPL-2.0
/*
 * A descriptor to which entries are bound: making it, closing it, and reading the
 * requests that were completed.
 *
 * The task that closes a descriptor says that nothing may be tied to it any more. It then
 * takes out the entries that are bound one by one, each under the lock of its shard.
 */
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "belt.h"
#include "client.h"
#include "limbo.h"
#include "link.h"
#include "queue.h"
#include "request.h"
#include "shard.h"

static atomic64_t last_id = ATOMIC64_INIT(0);

/**
 * hashbelt_holder_new() - make a holder for a descriptor
 * @belt:	the belt that it is bound to
 *
 * Context: may sleep.
 *
 * Return: the holder, to be given up by hashbelt_holder_leave() and then
 * hashbelt_holder_put(); NULL if there is no memory.
 */
struct hb_holder *hashbelt_holder_new(struct hashbelt_belt *belt)
{
	struct hb_holder *holder = kzalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT);

	if (!holder)
		return NULL;
	refcount_set(&holder->ref, 1);
	holder->id = atomic64_inc_return(&last_id);
	spin_lock_init(&holder->lock);
	INIT_LIST_HEAD(&holder->entries);
	init_waitqueue_head(&holder->wait);
	spin_lock(&belt->desk.lock);
	list_add(&holder->place, &belt->desk.holders);
	spin_unlock(&belt->desk.lock);
	return holder;
}
EXPORT_SYMBOL_GPL(hashbelt_holder_new);

/*
 * Takes out an entry whose descriptor is closed, as whatever it is: it may have been
 * cleared, have expired, or be gone. Under the shard's lock.
 */
static void take_out(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 now = hb_clock_now(&belt->clock);
	bool cleared = hb_is_cleared(belt, entry);

	if (!cleared && !hb_lives_on(belt, entry) && hb_node_claim_due(&entry->node, now)) {
		hb_wheel_del(&entry->node);
		hb_expire(shard, entry, now);
	} else if (hb_node_try_claim(&entry->node, HASHBELT_RELEASED)) {
		hb_wheel_del(&entry->node);
		if (!cleared && hb_kind(entry) != HB_FILL)
			hb_count(belt, HASHBELT_STAT_RELEASED);
		hb_leave(shard, entry, now);
	}
}

/* An entry goes with its descriptor; false if that is for somebody else, who is about to. */
static bool release(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	struct hb_shard *shard = hb_shard_of(belt, entry->hash);
	struct hb_bond *bond = hb_tail(entry);

	if (hb_kind(entry) == HB_REQUEST)
		return hb_request_release(belt, entry);
	spin_lock(&shard->lock);
	/* A put that found no room has untied it again: then it was never in the belt. */
	if (!list_empty(&bond->held))
		take_out(shard, entry);
	spin_unlock(&shard->lock);
	return true;
}

/* The first entry that is bound, with a reference, at the end of the line now. */
static struct hashbelt_entry *next_bound(struct hb_holder *holder)
{
	struct hashbelt_entry *entry = NULL;
	struct hb_bond *bond;

	spin_lock(&holder->lock);
	bond = list_first_entry_or_null(&holder->entries, struct hb_bond, held);
	if (bond) {
		entry = bond->entry;
		refcount_inc(&entry->ref);
		list_move_tail(&bond->held, &holder->entries);
	}
	spin_unlock(&holder->lock);
	return entry;
}

/* A request of which its holder was told is freed. */
static void forget(struct hashbelt_belt *belt, struct hashbelt_entry *request)
{
	struct hb_shard *shard = hb_shard_of(belt, request->hash);

	atomic64_sub(hb_entry_size(request), &belt->desk.told_bytes);
	spin_lock(&shard->lock);
	hb_limbo_enter(shard, request);
	spin_unlock(&shard->lock);
}

/**
 * hashbelt_holder_leave() - a descriptor is closed
 * @belt:	the belt
 * @holder:	its holder; nothing can be bound to it any more
 *
 * What was bound to it is gone when this returns, and what it had not read.
 *
 * Context: may sleep.
 */
void hashbelt_holder_leave(struct hashbelt_belt *belt, struct hb_holder *holder)
{
	struct hb_fifo completed = {};
	struct hashbelt_entry *entry;

	spin_lock(&holder->lock);
	WRITE_ONCE(holder->gone, true);
	hb_fifo_append(&completed, &holder->completed);
	spin_unlock(&holder->lock);
	wake_up_all(&holder->wait);
	while ((entry = hb_fifo_pop(&completed))) {
		forget(belt, entry);
		cond_resched();
	}
	while ((entry = next_bound(holder))) {
		/* The task that is about to unlink it may wait for this processor. */
		if (!release(belt, entry))
			schedule_timeout_uninterruptible(1);
		hashbelt_entry_put(belt, entry);
		cond_resched();
	}
	spin_lock(&belt->desk.lock);
	list_del(&holder->place);
	spin_unlock(&belt->desk.lock);
}
EXPORT_SYMBOL_GPL(hashbelt_holder_leave);

/**
 * hashbelt_take_completed() - take requests of which a holder is to be told
 * @holder:	the holder
 * @events:	an empty row, which gets them; to be given to
 *		hashbelt_settle_completed() or hashbelt_return_completed()
 * @room:	bytes that their records may take in all
 * @most:	most events to take
 *
 * Return: 0; -EAGAIN if there is none; -EMSGSIZE if the first takes more than
 * @room.
 */
int hashbelt_take_completed(struct hb_holder *holder, struct hb_fifo *events, size_t room,
			    u64 most)
{
	struct hashbelt_entry *event;
	struct hashbelt_event record;

	spin_lock(&holder->lock);
	while ((event = holder->completed.first) && events->count < most) {
		hashbelt_describe_event(event, &record);
		if (record.size > room)
			break;
		room -= record.size;
		hb_fifo_add(events, hb_fifo_pop(&holder->completed));
	}
	spin_unlock(&holder->lock);
	/* Who was woken for one may have left others: wake the next. */
	if (event)
		hb_holder_wake(holder);
	if (events->count)
		return 0;
	return event ? -EMSGSIZE : -EAGAIN;
}
EXPORT_SYMBOL_GPL(hashbelt_take_completed);

/**
 * hashbelt_return_completed() - put what was taken back to the head
 * @belt:	the belt
 * @holder:	the holder
 * @events:	the events, in order; empty afterwards
 */
void hashbelt_return_completed(struct hashbelt_belt *belt, struct hb_holder *holder,
			       struct hb_fifo *events)
{
	bool gone;

	spin_lock(&holder->lock);
	gone = holder->gone;
	if (!gone) {
		hb_fifo_append(events, &holder->completed);
		hb_fifo_append(&holder->completed, events);
	}
	spin_unlock(&holder->lock);
	if (gone)
		hashbelt_settle_completed(belt, events);
	else
		hb_holder_wake(holder);
}
EXPORT_SYMBOL_GPL(hashbelt_return_completed);

/**
 * hashbelt_settle_completed() - be done with requests that were taken
 * @belt:	the belt
 * @events:	the events; empty afterwards, and none of them is valid any more
 */
void hashbelt_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events)
{
	struct hashbelt_entry *event;

	while ((event = hb_fifo_pop(events)))
		forget(belt, event);
}
EXPORT_SYMBOL_GPL(hashbelt_settle_completed);
