// SPDX-License-Identifier: GPL-2.0-only
/*
 * The link between an entry and the descriptor to which it is bound, in the list of the client.
 */
#include <linux/poll.h>
#include <linux/slab.h>

#include "belt/belt.h"
#include "link.h"

/* Drops a reference to a client, which may be NULL. */
void hb_client_put(struct hb_client *client)
{
	if (client && refcount_dec_and_test(&client->ref))
		kfree_rcu(client, rcu);
}

/*
 * Attaches an entry that is about to go into the index to its client; under the shard's lock.
 * Return: false if the descriptor is closed.
 */
bool hb_attach(struct hb_link *link)
{
	struct hb_client *client = link->client;
	bool attached;

	if (!client)
		return true;
	spin_lock(&client->lock);
	attached = !client->gone;
	if (attached) {
		list_add_tail(&link->held, &client->entries);
		refcount_inc(&client->ref);
	}
	spin_unlock(&client->lock);
	return attached;
}

/* The entry is being unlinked. The caller keeps the link's reference to the client. */
void hb_detach(struct hb_link *link)
{
	struct hb_client *client = link->client;

	if (!client)
		return;
	spin_lock(&client->lock);
	list_del_init(&link->held);
	spin_unlock(&client->lock);
}

void hb_detach_put(struct hb_link *link)
{
	hb_detach(link);
	hb_client_put(link->client);
}

/* Wakes one reader of completed requests, and has the pollers woken. */
void hb_client_wake(struct hb_client *client)
{
	/* wq_has_sleeper() has the full barrier that hb_poller_notify() needs. */
	if (wq_has_sleeper(&client->wait))
		wake_up_interruptible_poll(&client->wait, EPOLLIN | EPOLLRDNORM);
	hb_poller_notify(&client->poller);
}

/*
 * Queues a completed request for its client; under the lock of its shard. Return: false if the
 * descriptor is closed, and the request stays the caller's.
 */
bool hb_client_notify(struct hashbelt_belt *belt, struct hashbelt_entry *request)
{
	const struct hb_link *link = hb_tail(request);
	struct hb_client *client = link->client;
	bool notified;

	spin_lock(&client->lock);
	notified = !client->gone;
	if (notified) {
		request->node.handed = hb_clock_now(&belt->clock);
		request->sequence = ++client->sequence;
		hb_fifo_add(&client->completed, request);
		atomic64_add(hb_entry_size(request), &belt->clients.undelivered_bytes);
	}
	spin_unlock(&client->lock);
	if (notified)
		hb_client_wake(client);
	return notified;
}

/* Wakes all readers of completed requests: the belt is dead. Context: may sleep. */
void hb_clients_wake(struct hashbelt_belt *belt)
{
	struct hb_client *client;
	LIST_HEAD(asleep);

	spin_lock(&belt->clients.lock);
	list_splice_init(&belt->clients.list, &asleep);
	while (!list_empty(&asleep)) {
		client = list_first_entry(&asleep, struct hb_client, place);
		list_move_tail(&client->place, &belt->clients.list);
		refcount_inc(&client->ref);
		spin_unlock(&belt->clients.lock);
		wake_up_all(&client->wait);
		hb_client_put(client);
		cond_resched();
		spin_lock(&belt->clients.lock);
	}
	spin_unlock(&belt->clients.lock);
}
