/* SPDX-License-Identifier: GPL-2.0 */
/* A descriptor, as a belt sees it: what is bound to it, and what it is to be told. */
#ifndef _HASHBELT_HOLDER_H
#define _HASHBELT_HOLDER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "hashbelt_event.h"

/**
 * struct hb_holder - a descriptor to which entries of one belt are bound
 * @ref:	one for the descriptor, one for each entry that is tied to it
 * @id:		unique; constant
 * @place:	in belt->desk.holders, under belt->desk.lock
 * @lock:	protects all below but @wait and @rcu; taken inside of shards' locks
 * @gone:	the descriptor is closed: nothing is bound to it any more. Who waits
 *		reads this and @completed without @lock, and is woken when they change
 * @entries:	entries that are bound, and requests, by their bonds
 * @completed:	requests that were completed and not read
 * @sequence:	number of the newest of those
 * @wait:	readers of @completed
 * @rcu:	for freeing it
 */
struct hb_holder {
	refcount_t ref;
	u64 id;
	struct list_head place;
	spinlock_t lock;	/* taken inside of shards' locks, nothing in it */
	bool gone;
	struct list_head entries;
	struct hb_fifo completed;
	u64 sequence;
	wait_queue_head_t wait;
	struct rcu_head rcu;
};

#endif /* _HASHBELT_HOLDER_H */
