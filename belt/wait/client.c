// SPDX-License-Identifier: GPL-2.0-only
/*
 * A descriptor to which entries are bound: making it, closing it, and reading the requests that
 * were completed. See docs/design.md, "Entries that are bound to a descriptor".
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "belt/events/queue.h"
#include "belt/shard/shard.h"
#include "client.h"

static atomic64_t last_id = ATOMIC64_INIT(0);

/* Makes a client for a descriptor, with one reference; NULL: no memory. Context: may sleep. */
struct hb_client *hb_client_new(struct hashbelt_belt *belt)
{
	struct hb_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return NULL;
	refcount_set(&client->ref, 1);
	client->id = atomic64_inc_return(&last_id);
	mutex_init(&client->walk);
	spin_lock_init(&client->lock);
	INIT_LIST_HEAD(&client->entries);
	init_waitqueue_head(&client->wait);
	hb_poller_init(&client->poller, &belt->pollers, HB_POLL_REQUESTS);
	spin_lock(&belt->clients.lock);
	list_add(&client->place, &belt->clients.list);
	spin_unlock(&belt->clients.lock);
	return client;
}

/* The descriptor of an entry is closed. One that has expired or was cleared leaves as that. */
static void take_out(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hashbelt_belt *belt = shard->belt;
	u64 now = hb_clock_now(&belt->clock);
	bool cleared = hb_is_cleared(belt, entry);

	lockdep_assert_held(&shard->lock);
	if (hb_expire_due(shard, entry, now))
		return;
	if (hb_take_out(shard, entry, HASHBELT_RELEASED, now) && !cleared &&
	    hb_ops(entry)->releases)
		hb_count(belt, HASHBELT_STAT_RELEASED);
}

/*
 * Takes out an entry with its descriptor. Return: false if another task has claimed it, and takes
 * it out.
 */
static bool release(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	struct hb_shard *shard = hb_shard_of(belt, hb_hash_of(entry));
	struct hb_link *link = hb_tail(entry);

	if (hb_ops(entry)->release)
		return hb_ops(entry)->release(belt, entry);
	spin_lock(&shard->lock);
	/* A put that found no room may have detached it again: then it was never in the belt. */
	if (!list_empty(&link->held))
		take_out(shard, entry);
	spin_unlock(&shard->lock);
	return true;
}

/* The first entry that is bound, with a reference. Moves it to the end of the list. */
static struct hashbelt_entry *next_bound(struct hb_client *client)
{
	struct hashbelt_entry *entry = NULL;
	struct hb_link *link;

	spin_lock(&client->lock);
	list_for_each_entry(link, &client->entries, held) {
		entry = link->entry;
		if (entry)
			break;
	}
	if (entry) {
		refcount_inc(&entry->ref);
		list_move_tail(&link->held, &client->entries);
	}
	spin_unlock(&client->lock);
	return entry;
}

/* Takes out all that is bound to a descriptor: hashbelt_client_close(). Context: may sleep. */
void hb_client_close(struct hashbelt_belt *belt, struct hb_client *client)
{
	struct hb_fifo completed = {};
	struct hashbelt_entry *entry;

	spin_lock(&client->lock);
	WRITE_ONCE(client->gone, true);
	hb_fifo_append(&completed, &client->completed);
	spin_unlock(&client->lock);
	wake_up_all(&client->wait);
	hb_poller_close(&client->poller);
	hb_settle_completed(belt, &completed);
	while ((entry = next_bound(client))) {
		/* The task that is about to unlink it may wait for this processor. */
		if (!release(belt, entry))
			schedule_timeout_uninterruptible(1);
		hashbelt_entry_put(belt, entry);
		cond_resched();
	}
	spin_lock(&belt->clients.lock);
	list_del(&client->place);
	spin_unlock(&belt->clients.lock);
}

/* Takes completed requests of which the client is to be told: hashbelt_take_completed(). */
int hb_take_completed(struct hb_client *client, struct hb_fifo *events, size_t room, u64 most)
{
	struct hashbelt_entry *event;
	struct hashbelt_event record;

	spin_lock(&client->lock);
	while ((event = client->completed.first) && events->count < most) {
		hb_describe_event(event, &record);
		if (record.size > room)
			break;
		room -= record.size;
		hb_fifo_add(events, hb_fifo_pop(&client->completed));
	}
	spin_unlock(&client->lock);
	/* A completion wakes one reader, which may have left some: wake the next. */
	if (event)
		hb_client_wake(client);
	if (events->count)
		return 0;
	return event ? -EMSGSIZE : -EAGAIN;
}

/* Puts taken requests back to the head, in order; empties @events. Context: may sleep. */
void hb_return_completed(struct hashbelt_belt *belt, struct hb_client *client,
			 struct hb_fifo *events)
{
	bool gone;

	spin_lock(&client->lock);
	gone = client->gone;
	if (!gone) {
		hb_fifo_append(events, &client->completed);
		hb_fifo_append(&client->completed, events);
	}
	spin_unlock(&client->lock);
	if (gone)
		hb_settle_completed(belt, events);
	else
		hb_client_wake(client);
}

/* Frees completed requests that were taken. Context: may sleep. */
void hb_settle_completed(struct hashbelt_belt *belt, struct hb_fifo *events)
{
	struct hashbelt_entry *event;

	while ((event = hb_fifo_pop(events))) {
		atomic64_sub(hb_entry_size(event), &belt->clients.undelivered_bytes);
		hb_limbo_add(belt, event);
		cond_resched();
	}
}
