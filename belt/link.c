// SPDX-License-Identifier: GPL-2.0
/*
 * The link between an entry and the descriptor to which it is bound.
 *
 * A bond ties an entry to a holder, under the holder's lock, which is taken inside
 * of the lock of the entry's shard. Two tasks may untie it, and the first of them does: the
 * one that unlinks the entry; or the one that closes the descriptor (see client.c).
 */
#include <linux/export.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "belt.h"
#include "link.h"

/**
 * hashbelt_holder_put() - give up a reference to a holder
 * @holder:	the holder, or NULL
 *
 * Context: any.
 */
void hashbelt_holder_put(struct hb_holder *holder)
{
	if (holder && refcount_dec_and_test(&holder->ref))
		kfree_rcu(holder, rcu);
}
EXPORT_SYMBOL_GPL(hashbelt_holder_put);

/*
 * Ties an entry that is about to be linked to its holder; under the shard's lock.
 * False if the descriptor is closed already.
 */
bool hb_tie(struct hb_bond *bond)
{
	struct hb_holder *holder = bond->holder;
	bool tied;

	if (!holder)
		return true;
	spin_lock(&holder->lock);
	tied = !holder->gone;
	if (tied) {
		list_add_tail(&bond->held, &holder->entries);
		refcount_inc(&holder->ref);
	}
	spin_unlock(&holder->lock);
	return tied;
}

/* The entry is being unlinked; the reference to the holder stays the caller's. */
void hb_untie(struct hb_bond *bond)
{
	struct hb_holder *holder = bond->holder;

	if (!holder)
		return;
	spin_lock(&holder->lock);
	list_del_init(&bond->held);
	spin_unlock(&holder->lock);
}

/* The same, and that reference too. */
void hb_untie_put(struct hb_bond *bond)
{
	hb_untie(bond);
	hashbelt_holder_put(bond->holder);
}

/* Wakes one of those who wait for completed requests, and who polls. */
void hb_holder_wake(struct hb_holder *holder)
{
	if (wq_has_sleeper(&holder->wait))
		wake_up_interruptible_poll(&holder->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * Tells the holder of a request that was completed; under the lock of its shard. False if
 * its descriptor is closed: then the request is the caller's still.
 */
bool hb_holder_tell(struct hashbelt_belt *belt, struct hashbelt_entry *request)
{
	const struct hb_bond *bond = hb_tail(request);
	struct hb_holder *holder = bond->holder;
	bool told;

	spin_lock(&holder->lock);
	told = !holder->gone;
	if (told) {
		request->node.handed = hb_clock_now(&belt->clock);
		request->sequence = ++holder->sequence;
		hb_fifo_add(&holder->completed, request);
		atomic64_add(hb_entry_size(request), &belt->desk.told_bytes);
	}
	spin_unlock(&holder->lock);
	if (told)
		hb_holder_wake(holder);
	return told;
}

/* Those who wait for completed requests look whether the belt is still there. */
void hb_holders_wake(struct hashbelt_belt *belt)
{
	struct hb_holder *holder;

	spin_lock(&belt->desk.lock);
	list_for_each_entry(holder, &belt->desk.holders, place)
		wake_up_all(&holder->wait);
	spin_unlock(&belt->desk.lock);
}
