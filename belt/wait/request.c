// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that wait for keys. docs/design.md, "Requests", has the protocol.
 *
 * A claimed request is taken out of the belt, and its completion queued, in one critical section of
 * the lock of its shard. So when its id is free, its completion is in the queue, and the client
 * owns it. A reference of its own keeps the request until its watches are out of their lists. One
 * task takes them out, and drops the reference:
 *
 * - the task that registers the request, if it is still doing so;
 * - else the worker, if a drain, an eviction or the sweep has claimed the request;
 * - else the task that has claimed it.
 */
#include <linux/sched.h>

#include "belt/belt.h"
#include "belt/events/limbo.h"
#include "belt/events/link.h"
#include "belt/ground/usage.h"
#include "belt/room/alloc.h"
#include "belt/room/evict.h"
#include "belt/room/fit.h"
#include "belt/shard/shard.h"
#include "request.h"
#include "waitpoint.h"

/* The key of a request in the index. */
struct name {
	u64 client;
	u64 id;
};

/* Allocates a request: hashbelt_request_alloc(). Context: may sleep. */
struct hashbelt_entry *hb_request_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					u64 id, u32 count, u32 bytes)
{
	struct name name = { .client = client->id, .id = id };
	struct hashbelt_entry *entry;
	struct hb_request *request;

	entry = hb_entry_get_memory(belt, HB_REQUEST | HB_TAILED, count, sizeof(name), bytes);
	if (IS_ERR(entry))
		return entry;
	memcpy(entry->data, &name, sizeof(name));
	entry->hash |= hb_hash(belt, &name, sizeof(name));
	request = hb_tail(entry);
	request->link.client = client;
	request->which = count;
	return entry;
}

/* Sets the length of one of the keys. Return: where the caller puts its bytes. */
void *hb_request_key(struct hashbelt_entry *entry, u32 number, u32 at, u32 len)
{
	struct hb_request *request = hb_tail(entry);
	struct hb_watch *watch = &request->watches[number];

	request->besides += hb_waitpoint_size(len) + HB_INDEX_SHARE;
	INIT_LIST_HEAD(&watch->place);
	watch->request = request;
	watch->at = at;
	watch->len = len;
	return hashbelt_entry_value(entry) + at;
}

/* Leaving */

/*
 * Takes a claimed request out of the belt. Queues it as its own completion, or puts it into limbo
 * if its descriptor is closed. Takes a reference for its watches, which stay in their lists. Under
 * the lock of its shard.
 */
static void request_remove(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	u64 reason = hb_reason(atomic64_read(&entry->node.deadline));
	struct hb_request *request = hb_tail(entry);
	struct hb_client *client = request->link.client;

	lockdep_assert_held(&shard->lock);
	hb_wheel_del(&shard->leases, &entry->node);
	hlist_del_rcu(&entry->chain);
	if (!hb_is_cleared(shard->belt, entry))
		hb_uncharge(&shard->belt->usage, entry);
	hb_shard_unlink(shard, entry);
	request->done = true;
	refcount_inc(&entry->ref);
	if (reason == HASHBELT_RELEASED || !hb_client_notify(shard->belt, entry))
		hb_limbo_enter(shard, entry);
	hb_client_put(client);
}

static void unwatch(struct hashbelt_belt *belt, struct hb_watch *watch)
{
	struct hb_shard *shard = hb_shard_of(belt, watch->hash);
	struct hb_waitpoint *waitpoint;

	spin_lock(&shard->lock);
	waitpoint = watch->waitpoint;
	if (waitpoint) {
		list_del_init(&watch->place);
		watch->waitpoint = NULL;
		hb_waitpoint_release(shard, waitpoint);
	}
	spin_unlock(&shard->lock);
}

/* Takes out the watches of a request that has left the belt, and drops their reference. */
static void request_unwatch(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	struct hb_request *request = hb_tail(entry);
	u32 i;

	for (i = 0; i < entry->keys; i++)
		unwatch(belt, &request->watches[i]);
	hashbelt_entry_put(belt, entry);
}

/* Finishes a request that was claimed, and that another task may have taken out. */
static void request_finish(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	struct hb_shard *shard = hb_shard_of(belt, entry->hash);
	struct hb_request *request = hb_tail(entry);
	bool linking;

	spin_lock(&shard->lock);
	if (!request->done)
		request_remove(shard, entry);
	linking = request->linking;
	spin_unlock(&shard->lock);
	if (!linking)
		request_unwatch(belt, entry);
}

/*
 * Takes a request out that the caller has claimed under the lock of its shard, which it still
 * holds. So the worker takes the watches out. A request that was cleared gets that as its cause,
 * whatever it was claimed for.
 */
static void request_leave(struct hb_shard *shard, struct hashbelt_entry *entry, u64 now)
{
	struct hb_request *request = hb_tail(entry);
	u64 word = atomic64_read(&entry->node.deadline);

	lockdep_assert_held(&shard->lock);
	if (hb_is_cleared(shard->belt, entry))
		atomic64_set(&entry->node.deadline, (word & ~HB_REASON) | HASHBELT_CLEARED);
	else if (hb_reason(word) == HASHBELT_EXPIRED)
		hb_count(shard->belt, HASHBELT_STAT_TIMED_OUT);
	request_remove(shard, entry);
	if (request->linking)
		return;
	list_add_tail(&request->link.held, &shard->done);
	hb_kick_worker(shard->belt);
}

/*
 * Takes out the watches of a batch of the requests that request_leave() has left to the worker.
 * Return: true if there may be more.
 */
bool hb_requests_step(struct hb_shard *shard)
{
	struct hb_link *link;
	unsigned int n;

	for (n = 0; n < HB_BATCH; n++) {
		spin_lock(&shard->lock);
		link = list_first_entry_or_null(&shard->done, struct hb_link, held);
		if (link)
			list_del(&link->held);
		spin_unlock(&shard->lock);
		if (!link)
			return false;
		request_unwatch(shard->belt, link->entry);
		cond_resched();
	}
	return true;
}

/*
 * A request counts for the waitpoints of its keys, whether or not other requests do so too. One of
 * 16 keys of 4 bytes takes 1280 bytes itself, and its waitpoints take 2816.
 */
static size_t request_besides(const struct hashbelt_entry *entry)
{
	return ((const struct hb_request *)hb_tail(entry))->besides;
}

static void request_link(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	lockdep_assert_held(&shard->lock);
	shard->requests++;
	shard->live_bytes += request_besides(entry);
}

/* The reference to the client stays until the completion is queued: see request_remove(). */
static void request_unlink(struct hb_shard *shard, struct hashbelt_entry *entry, bool cleared)
{
	struct hb_request *request = hb_tail(entry);

	lockdep_assert_held(&shard->lock);
	if (!cleared) {
		shard->requests--;
		shard->live_bytes -= request_besides(entry);
	}
	hb_detach(&request->link);
}

/* The data of the event is the key that completed the request. */
static const void *request_describe(struct hashbelt_entry *event, struct hashbelt_event *record)
{
	const struct hb_request *request = hb_tail(event);
	const struct hb_watch *watch = NULL;

	if (request->which < event->keys)
		watch = &request->watches[request->which];
	record->kind = HASHBELT_REQUEST;
	record->id = ((const struct name *)event->data)->id;
	record->flags = 0;
	record->key_len = watch ? watch->len : 0;
	record->value_len = 0;
	return hashbelt_entry_value(event) + (watch ? watch->at : 0);
}

/*
 * Claims a request that was cleared or is past its timeout. A task calls this before it claims the
 * request for another cause: the clear or the timeout came first.
 */
static bool claim_ended(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (hb_is_cleared(belt, entry))
		return hb_node_try_claim(&entry->node, HASHBELT_CLEARED);
	if (!hb_node_claim_due(&entry->node, hb_clock_now(&belt->clock)))
		return false;
	hb_count(belt, HASHBELT_STAT_TIMED_OUT);
	return true;
}

/* Ends a request for its client, without a completion. Return: false if it was completed before. */
static bool request_release(struct hashbelt_belt *belt, struct hashbelt_entry *entry)
{
	if (!hb_node_try_claim(&entry->node, HASHBELT_RELEASED))
		return false;
	request_finish(belt, entry);
	return true;
}

const struct hb_kind_ops hb_request_ops = {
	.tail_size = sizeof(struct hb_request),
	.key_size = sizeof(struct hb_watch),
	.besides = request_besides,
	.link = request_link,
	.unlink = request_unlink,
	.leave = request_leave,
	.release = request_release,
	.describe = request_describe,
	.own_keys = true,
};

/* Completing */

/* A claimed word holds one small number: the reason of an entry, or the cause of a request. */
static_assert(HASHBELT_BY_TIMEOUT == (int)HASHBELT_EXPIRED &&
	      HASHBELT_BY_EVICTION == (int)HASHBELT_EVICTED &&
	      HASHBELT_BY_CLEAR == (int)HASHBELT_CLEARED &&
	      HASHBELT_BY_PRESSURE == (int)HASHBELT_PRESSURE &&
	      HASHBELT_BY_COMPLETE <= HB_REASON && HASHBELT_BY_PUT <= HB_REASON);

/*
 * Claims the request of a watch and adds the watch to @claimed. The cause is @cause, unless the
 * request was cleared or timed out before. Does nothing if another task has claimed it.
 */
static void request_claim(struct hashbelt_belt *belt, struct hb_watch *watch,
			  enum hashbelt_cause cause, struct list_head *claimed)
{
	struct hashbelt_entry *entry = watch->request->link.entry;

	if (!claim_ended(belt, entry)) {
		if (!hb_node_try_claim(&entry->node, (enum hashbelt_reason)cause))
			return;
		watch->request->which = watch - watch->request->watches;
		hb_count(belt, HASHBELT_STAT_COMPLETED);
	}
	list_add_tail(&watch->place, claimed);
}

/*
 * Claims a batch of the requests that wait at a waitpoint since before @stamp, and adds them to
 * @claimed, for hb_requests_finish(). Under its shard's lock. Return: true if there are more; else
 * this may free the waitpoint.
 */
bool hb_requests_claim(struct hb_shard *shard, struct hb_waitpoint *waitpoint,
		       enum hashbelt_cause cause, u64 stamp, struct list_head *claimed)
{
	struct hb_watch *watch, *next;
	unsigned int budget = HB_BATCH;
	bool more = false;

	lockdep_assert_held(&shard->lock);
	list_for_each_entry_safe(watch, next, &waitpoint->watches, place) {
		if (watch->stamp >= stamp)
			break;
		more = !budget--;
		if (more)
			break;
		list_del_init(&watch->place);
		watch->waitpoint = NULL;
		request_claim(shard->belt, watch, cause, claimed);
	}
	if (!more)
		hb_waitpoint_release(shard, waitpoint);
	return more;
}

/* Finishes the claimed requests. Return: how many had not been cleared or timed out before. */
unsigned int hb_requests_finish(struct hashbelt_belt *belt, struct list_head *claimed)
{
	struct hb_watch *watch, *next;
	struct hashbelt_entry *entry;
	unsigned int count = 0;

	list_for_each_entry_safe(watch, next, claimed, place) {
		entry = watch->request->link.entry;
		list_del_init(&watch->place);
		count += watch->request->which < entry->keys;
		request_finish(belt, entry);
	}
	return count;
}

/* Completes the requests that wait for a key since before @stamp. Return: their number. */
unsigned int hb_requests_complete(struct hashbelt_belt *belt, u32 hash, const void *key,
				  u32 key_len, enum hashbelt_cause cause, u64 stamp)
{
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hb_waitpoint *waitpoint;
	unsigned int count = 0;
	LIST_HEAD(claimed);
	bool more;

	do {
		spin_lock(&shard->lock);
		waitpoint = hb_waitpoint_find(shard, hash & HB_HASH, key, key_len);
		more = waitpoint && hb_requests_claim(shard, waitpoint, cause, stamp, &claimed);
		spin_unlock(&shard->lock);
		count += hb_requests_finish(belt, &claimed);
		cond_resched();
	} while (more);
	return count;
}

/* Completes the requests that wait for a key. Return: their number. Context: may sleep. */
u32 hb_complete(struct hashbelt_belt *belt, const void *key, u32 key_len)
{
	u32 hash = hb_hash(belt, key, key_len);
	struct hb_shard *shard = hb_shard_of(belt, hash);
	u64 stamp;

	spin_lock(&shard->lock);
	/* Requests that are registered from now on are not completed. */
	stamp = ++shard->versions;
	spin_unlock(&shard->lock);
	return hb_requests_complete(belt, hash, key, key_len, HASHBELT_BY_COMPLETE, stamp);
}

/* Registering */

/*
 * Adds a request to the index, where other tasks may find it; the belt owns it then. request_arm()
 * puts it on the wheel later. -EAGAIN: a request of the same id had ended, and is finished now.
 */
static int request_insert(struct hb_shard *shard, struct hashbelt_entry *entry, u64 ttl_ms,
			  struct hb_room *room)
{
	struct hb_request *request = hb_tail(entry);
	struct hashbelt_belt *belt = shard->belt;
	struct hashbelt_entry *other;
	int err = -EEXIST;
	u64 now;

	spin_lock(&shard->lock);
	now = hb_clock_now(&belt->clock);
	request->linking = true;
	other = hb_find_locked(shard, entry->hash & ~HB_TAILED, entry->data, entry->key_len);
	if (!other)
		err = hb_shard_insert(shard, entry, hb_deadline_of(belt, now, ttl_ms), room);
	else if (claim_ended(belt, other))
		err = -EAGAIN;
	spin_unlock(&shard->lock);
	if (err == -EAGAIN)
		request_finish(belt, other);
	return err;
}

static int link_watch(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
		      struct hb_watch *watch)
{
	const void *key = hashbelt_entry_value(entry) + watch->at;
	struct hashbelt_entry *spare;
	struct hb_shard *shard;

	watch->hash = hb_hash(belt, key, watch->len);
	shard = hb_shard_of(belt, watch->hash);
	spare = hb_waitpoint_alloc(belt, watch->hash, key, watch->len);
	if (IS_ERR(spare))
		return PTR_ERR(spare);
	spin_lock(&shard->lock);
	watch->waitpoint = hb_waitpoint_get(shard, &spare);
	watch->stamp = shard->versions;
	list_add_tail(&watch->place, &watch->waitpoint->watches);
	spin_unlock(&shard->lock);
	if (spare)
		hashbelt_entry_put(belt, spare);
	hb_fit_index(belt, shard);
	return 0;
}

/*
 * Ends the registration: all watches are in their lists, or one could not be added. From now on the
 * request can time out, and the task that ends it takes its watches out, or leaves them to the
 * worker. If the request has ended already, this takes them out.
 */
static void request_arm(struct hb_shard *shard, struct hashbelt_entry *entry)
{
	struct hb_request *request = hb_tail(entry);
	struct hashbelt_belt *belt = shard->belt;
	bool done;

	spin_lock(&shard->lock);
	request->linking = false;
	done = request->done;
	if (atomic64_read(&entry->node.deadline) >= 0)
		hb_schedule(shard, entry, hb_clock_now(&belt->clock));
	spin_unlock(&shard->lock);
	if (done)
		request_unwatch(belt, entry);
}

/* Registers a request: hashbelt_request(). Takes over @entry, also if it fails. */
int hb_request_add(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 ttl_ms)
{
	struct hb_shard *shard = hb_shard_of(belt, entry->hash);
	struct hb_request *request = hb_tail(entry);
	struct hb_room room = {};
	int err = -EINVAL;
	u32 i;

	/*
	 * Completed requests do not count as entries, and would have no limit if the client does
	 * not read them.
	 */
	if (atomic64_read(&belt->clients.undelivered_bytes) > READ_ONCE(belt->queue.max_bytes))
		err = -ENOSPC;
	else if (hb_ttl_is_plain(ttl_ms))
		err = hb_make_chains(belt, shard);
	if (!err) {
		hb_make_lease_levels(belt, entry->hash, hb_deadline_of(belt, 0, ttl_ms));
		do {
			err = request_insert(shard, entry, ttl_ms, &room);
		} while (err == -EAGAIN || (err == -ENOSPC && hb_make_room(belt, entry, &room)));
		hb_room_release(&belt->usage, &room);
	}
	if (err) {
		hashbelt_entry_put(belt, entry);
		return err;
	}
	for (i = 0; i < entry->keys && !err; i++)
		err = link_watch(belt, entry, &request->watches[i]);
	/* If another task completed it meanwhile, the registration counts as a success. */
	if (err && !request_release(belt, entry))
		err = 0;
	if (!err) {
		hb_count(belt, HASHBELT_STAT_REQUESTS);
		hb_fit_index(belt, shard);
	}
	request_arm(shard, entry);
	return err;
}

/*
 * Cancels the request of a client with this id. Return: 0, or -ENOENT: it was completed, or there
 * is none. Context: may sleep.
 */
int hb_request_cancel(struct hashbelt_belt *belt, struct hb_client *client, u64 id)
{
	struct name name = { .client = client->id, .id = id };
	u32 hash = hb_hash(belt, &name, sizeof(name));
	struct hb_shard *shard = hb_shard_of(belt, hash);
	struct hashbelt_entry *entry;
	int err = -ENOENT;

	spin_lock(&shard->lock);
	entry = hb_find_locked(shard, hash | HB_REQUEST, &name, sizeof(name));
	if (entry)
		refcount_inc(&entry->ref);
	spin_unlock(&shard->lock);
	if (!entry)
		return err;
	if (claim_ended(belt, entry))
		request_finish(belt, entry);
	else if (request_release(belt, entry))
		err = 0;
	hashbelt_entry_put(belt, entry);
	return err;
}
