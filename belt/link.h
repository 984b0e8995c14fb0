/* SPDX-License-Identifier: GPL-2.0 */
/* A descriptor, as a belt sees it, and the links of entries to it. */
#ifndef _HASHBELT_LINK_H
#define _HASHBELT_LINK_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "fifo.h"

/**
 * struct hb_client - a descriptor to which entries of one belt are bound
 * @ref:	one for the descriptor, one for each entry that is attached to it
 * @id:		unique; constant
 * @place:	in belt->clients.list, under belt->clients.lock
 * @lock:	protects all below but @wait and @rcu; taken inside of shards' locks
 * @gone:	the descriptor is closed: nothing is bound to it any more. Who waits
 *		reads this and @completed without @lock, and is woken when they change
 * @entries:	entries that are bound, and requests, by their bonds
 * @completed:	requests that were completed and not read
 * @sequence:	number of the newest of those
 * @wait:	readers of @completed
 * @rcu:	for freeing it
 */
struct hb_client {
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

/**
 * struct hb_clients - the descriptors to which entries of a belt are bound
 * @lock:	protects @list; taken inside of shards' locks, nothing in it
 * @list:	by struct hb_client
 * @undelivered_bytes: what completed requests take that no reader has read yet; atomic
 */
struct hb_clients {
	spinlock_t lock;	/* taken inside of shards' locks, nothing in it */
	struct list_head list;
	atomic64_t undelivered_bytes;
};

bool hb_attach(struct hb_link *link);
void hb_detach(struct hb_link *link);
void hb_detach_put(struct hb_link *link);
void hb_client_wake(struct hb_client *client);
bool hb_client_notify(struct hashbelt_belt *belt, struct hashbelt_entry *request);
void hb_clients_wake(struct hashbelt_belt *belt);

void hashbelt_client_put(struct hb_client *client);

#endif /* _HASHBELT_LINK_H */
