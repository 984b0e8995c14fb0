/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_LINK_H
#define _HASHBELT_LINK_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "belt/ground/fifo.h"
#include "belt/ground/poller.h"

/**
 * struct hb_client - a descriptor to which entries of one belt are bound
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references
 * @id:		unique; constant
 * @place:	in belt->clients.list, under belt->clients.lock
 * @gone:	the descriptor is closed: no entry is attached any more. A waiting reader reads this
 *		and @completed without @lock, and is woken when they change
 * @entries:	links of the entries and requests that are bound, and two places of the task that
 *		walks over them
 * @completed:	completed requests that were not read
 * @sequence:	number of the newest completed request
 * @wait:	tasks that wait in a read of @completed
 * @poller:	notifies those that poll
 * @rcu:	for freeing it
 */
struct hb_client {
	refcount_t ref;
	u64 id;
	struct list_head place;
	/**
	 * @walk: one task at a time walks over @entries, so that a search for the next one passes
	 * few places. Inside it: shard->lock, client->lock, memory.
	 */
	struct mutex walk;
	/** @lock: protects all below but @wait, @poller and @rcu. Inside it: none. */
	spinlock_t lock;
	bool gone;
	struct list_head entries;
	struct hb_fifo completed;
	u64 sequence;
	wait_queue_head_t wait;
	struct hb_poller poller;
	struct rcu_head rcu;
};

bool hb_attach(struct hb_link *link);
void hb_detach(struct hb_link *link);
void hb_detach_put(struct hb_link *link);
void hb_client_wake(struct hb_client *client);
bool hb_client_notify(struct hashbelt_belt *belt, struct hashbelt_entry *request);
void hb_clients_wake(struct hashbelt_belt *belt);

void hb_client_put(struct hb_client *client);

#endif /* _HASHBELT_LINK_H */
