// SPDX-License-Identifier: GPL-2.0
/*
 * The link between an entry and the descriptor to which it is bound.
 *
 * A link stands in the list of its client, under the client's lock, which is taken inside
 * of the lock of the entry's shard. Two tasks may detach it, and the first of them does: the
 * task that unlinks the entry, or the task that closes the descriptor (see client.c).
 */
#include <linux/export.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "belt.h"
#include "link.h"

/**
 * hashbelt_client_put() - give up a reference to a client
 * @client:	the client, or NULL
 *
 * Context: any.
 */
void hashbelt_client_put(struct hb_client *client)
{
	if (client && refcount_dec_and_test(&client->ref))
		kfree_rcu(client, rcu);
}
EXPORT_SYMBOL_GPL(hashbelt_client_put);

/*
 * Attaches an entry, which is about to go into the index, to its client; under the shard's lock.
 * False if the descriptor is closed already.
 */
bool hb_attach(struct hb_link *link)
{
	struct hb_client *client = link->client;
	bool tied;

	if (!client)
		return true;
	spin_lock(&client->lock);
	tied = !client->gone;
	if (tied) {
		list_add_tail(&link->held, &client->entries);
		refcount_inc(&client->ref);
	}
	spin_unlock(&client->lock);
	return tied;
}

/* The entry is being unlinked; the reference to the client stays the caller's. */
void hb_detach(struct hb_link *link)
{
	struct hb_client *client = link->client;

	if (!client)
		return;
	spin_lock(&client->lock);
	list_del_init(&link->held);
	spin_unlock(&client->lock);
}

/* Detaches, and gives up that reference too. */
void hb_detach_put(struct hb_link *link)
{
	hb_detach(link);
	hashbelt_client_put(link->client);
}

/* Wakes one reader of completed requests, and the pollers. */
void hb_client_wake(struct hb_client *client)
{
	if (wq_has_sleeper(&client->wait))
		wake_up_interruptible_poll(&client->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * Queues a request that was completed for its client; under the lock of its shard. False if
 * the descriptor is closed: then the request is still the caller's.
 */
bool hb_client_notify(struct hashbelt_belt *belt, struct hashbelt_entry *request)
{
	const struct hb_link *link = hb_tail(request);
	struct hb_client *client = link->client;
	bool told;

	spin_lock(&client->lock);
	told = !client->gone;
	if (told) {
		request->node.handed = hb_clock_now(&belt->clock);
		request->sequence = ++client->sequence;
		hb_fifo_add(&client->completed, request);
		atomic64_add(hb_entry_size(request), &belt->clients.undelivered_bytes);
	}
	spin_unlock(&client->lock);
	if (told)
		hb_client_wake(client);
	return told;
}

/* Wakes all readers of completed requests: they look whether the belt is still there. */
void hb_clients_wake(struct hashbelt_belt *belt)
{
	struct hb_client *client;

	spin_lock(&belt->clients.lock);
	list_for_each_entry(client, &belt->clients.list, place)
		wake_up_all(&client->wait);
	spin_unlock(&belt->clients.lock);
}
