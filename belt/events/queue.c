// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of a belt's events. docs/guarantees.md says which events stay charged to the belt's
 * limits (13), and which are dropped (11).
 *
 * An event is an entry that has left the belt, or a proxy of one that stays. The queue owns it. A
 * reader that takes events owns them until it gives them back: to be freed (hb_settle_events()), or
 * to be queued again (hb_return_events()).
 */
#include <linux/poll.h>

#include "belt/belt.h"
#include "belt/ground/poller.h"
#include "belt/ground/usage.h"
#include "limbo.h"
#include "queue.h"

/*
 * Most bytes of events of entries that were evicted because memory is short. Such entries must give
 * their memory back, so further events of them are lost.
 */
#define PRESSED_MAX	(1024 * 1024)

static u64 word_of(const struct hashbelt_entry *event)
{
	return atomic64_read(&event->node.deadline);
}

static bool is_proxy(const struct hashbelt_entry *event)
{
	return !event->key_len;
}

/* A proxy counts with its entry, of which it may have the last reference. */
static size_t memory_of(struct hashbelt_entry *event)
{
	size_t size = hb_entry_size(event);

	return is_proxy(event) ? size + hb_entry_size(hb_event_entry(event)) : size;
}

/* Adds the memory of an event to the queue's, or with @sign -1 takes it off. */
static void count_memory(struct hb_queue *queue, struct hashbelt_entry *event, int sign)
{
	s64 bytes = sign * (s64)memory_of(event);

	lockdep_assert_held(&queue->lock);
	queue->bytes += bytes;
	if (hb_reason(word_of(event)) == HASHBELT_PRESSURE)
		queue->pressed += bytes;
}

/* An event that stays charged to the belt's limits while it is queued. */
static bool stays_charged(const struct hashbelt_entry *event)
{
	return !is_proxy(event) && hb_stays_charged(hb_reason(word_of(event)));
}

/*
 * Counts an event among those that stay charged, or with @sign -1 no longer. Return: false if it
 * does not.
 */
static bool count_kept(struct hb_queue *queue, const struct hashbelt_entry *event, int sign)
{
	lockdep_assert_held(&queue->lock);
	if (!stays_charged(event))
		return false;
	queue->kept_entries += sign;
	queue->kept_bytes += sign * (s64)hb_cost(event);
	return true;
}

/* An event is not charged to the belt's limits any more. */
static void uncharge_event(struct hashbelt_belt *belt, const struct hashbelt_entry *event)
{
	if (count_kept(&belt->queue, event, -1))
		hb_uncharge(&belt->usage, event);
}

/* Counts an event that no reader gets; under queue->lock. */
static void count_lost(struct hashbelt_belt *belt)
{
	belt->queue.lost++;
	hb_count(belt, HASHBELT_STAT_EVENTS_LOST);
}

/* Moves the oldest event to those that the worker frees. Return: false if there is none. */
static bool drop_oldest(struct hashbelt_belt *belt)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event = hb_fifo_pop(&queue->waiting);

	lockdep_assert_held(&queue->lock);
	if (!event)
		return false;
	count_memory(queue, event, -1);
	uncharge_event(belt, event);
	hb_fifo_add(&queue->dropped, event);
	count_lost(belt);
	return true;
}

/* Events in flight count: a reader that has many must not make room for more. */
static bool is_too_long(const struct hb_queue *queue)
{
	return queue->waiting.count + queue->in_flight > queue->max_events ||
	       queue->bytes > queue->max_bytes;
}

static void wake_readers(struct hashbelt_belt *belt, bool worker)
{
	struct hb_queue *queue = &belt->queue;

	if (belt->event || worker)
		hb_kick_worker(belt);
	/* wq_has_sleeper() has the full barrier that hb_pollers_notify() needs. */
	if (wq_has_sleeper(&queue->wait))
		wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
	hb_pollers_notify(&belt->pollers, HB_POLL_EVENTS);
}

/* Drops a batch of the oldest events while there are too many. Return: the bytes that they took. */
static u64 trim_queue(struct hashbelt_belt *belt)
{
	struct hb_queue *queue = &belt->queue;
	u64 before = queue->bytes;
	unsigned int drops;

	for (drops = 0; drops < HB_BATCH && is_too_long(queue); drops++)
		if (!drop_oldest(belt))
			break;
	return before - queue->bytes;
}

/*
 * A queue above its limit drops a batch first, and then takes only an event that is not larger than
 * the batch was. So it exceeds the limit by at most one event, or by as much as the limit was
 * lowered, and a large event does not drop thousands of small ones under the lock. @trimmed:
 * returned, bytes that were dropped. Return: true if @event is queued, and the queue owns it.
 */
static bool try_queue(struct hashbelt_belt *belt, struct hashbelt_entry *event, u64 now,
		      u64 *trimmed)
{
	struct hb_queue *queue = &belt->queue;
	bool full = queue->bytes > queue->max_bytes;

	lockdep_assert_held(&queue->lock);
	*trimmed = full ? trim_queue(belt) : 0;
	if ((hb_reason(word_of(event)) == HASHBELT_PRESSURE &&
	     queue->pressed + memory_of(event) > PRESSED_MAX) ||
	    (full && memory_of(event) > *trimmed))
		return false;
	event->node.handed = now;
	hb_fifo_add(&queue->waiting, event);
	count_memory(queue, event, 1);
	count_kept(queue, event, 1);
	if (!full)
		*trimmed = trim_queue(belt);
	return true;
}

/*
 * Queues an event, which the queue owns then. The worker drops events that are still too many.
 * Under the lock of its key's shard. Return: false if it was lost at once, and stays the caller's.
 */
bool hb_event_push(struct hashbelt_belt *belt, struct hashbelt_entry *event, u64 now)
{
	struct hb_queue *queue = &belt->queue;
	u64 sequence, trimmed;
	bool queued;

	spin_lock(&queue->lock);
	sequence = ++queue->sequence;
	queued = try_queue(belt, event, now, &trimmed);
	if (queued) {
		event->sequence = sequence;
	} else {
		count_lost(belt);
		/* Its entry was not uncharged, because the event was to keep the charge. */
		if (stays_charged(event))
			hb_uncharge(&belt->usage, event);
	}
	spin_unlock(&queue->lock);
	hb_count(belt, HASHBELT_STAT_EVENTS);
	wake_readers(belt, trimmed);
	return queued;
}

/* Queues the event of an entry that is reinserted: a proxy. Under the lock of its shard. */
void hb_event_push_proxy(struct hashbelt_belt *belt, struct hashbelt_entry *entry, u64 now)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *proxy = hb_entry_alloc(belt->account, HB_ENTRY, 0, 0,
						      sizeof(entry), GFP_NOWAIT);

	if (IS_ERR(proxy)) {
		spin_lock(&queue->lock);
		queue->sequence++;
		count_lost(belt);
		spin_unlock(&queue->lock);
		hb_count(belt, HASHBELT_STAT_EVENTS);
		return;
	}
	refcount_inc(&entry->ref);
	memcpy(proxy->data, &entry, sizeof(entry));
	proxy->version = entry->version;
	proxy->flags = entry->flags;
	proxy->hash = hb_hash_of(entry) & HB_HASH;	/* it has no tail */
	atomic64_set(&proxy->node.deadline, word_of(entry));
	if (hb_event_push(belt, proxy, now))
		return;
	hashbelt_entry_put(belt, entry);
	hashbelt_entry_put(belt, proxy);
}

/* Return: the entry that an event is about; it is valid as long as the event is. */
struct hashbelt_entry *hb_event_entry(struct hashbelt_entry *event)
{
	struct hashbelt_entry *entry = event;

	if (is_proxy(event))
		memcpy(&entry, event->data, sizeof(entry));
	return entry;
}

static size_t record_size(u32 data)
{
	return ALIGN(sizeof(struct hashbelt_event) + data, 8);
}

static size_t room_for(struct hashbelt_entry *event)
{
	const struct hashbelt_entry *entry = hb_event_entry(event);

	return record_size(entry->key_len + entry->value_len);
}

/* Fills in the record of an event. Return: its key, and its value behind that. */
const void *hb_describe_event(struct hashbelt_entry *event, struct hashbelt_event *record)
{
	struct hashbelt_entry *entry = hb_event_entry(event);
	u64 deadline = hb_deadline(word_of(event));
	const void *data = entry->data;

	*record = (struct hashbelt_event){
		.reason = hb_reason(word_of(event)),
		.sequence = event->sequence,
		.deadline_ns = deadline == HB_NEVER ? HASHBELT_TTL_NEVER : deadline,
		.handed_ns = event->node.handed,
		.version = entry->version,
		.flags = entry->flags,
		.key_len = entry->key_len,
		.value_len = entry->value_len,
		.kind = HASHBELT_ENTRY,
	};
	if (hb_ops(entry)->describe)
		data = hb_ops(entry)->describe(entry, record);
	record->size = record_size(record->key_len + record->value_len);
	return data;
}

/**
 * hb_take_events() - take the oldest events
 * @belt:	the belt
 * @events:	an empty list, which gets them; to be given to hb_settle_events() or
 *		hb_return_events()
 * @room:	bytes that their records may take in all
 * @most:	most events to take
 * @hold:	the caller may hold them for long, so they stay charged to the belt's limits. The
 *		caller passes the same value when it gives them back
 * @lost:	returned: events lost since the last call that returned events
 *
 * The caller owns the events then.
 *
 * Return: 0; -EAGAIN if there is none; -EMSGSIZE if the record of the first takes more than @room.
 */
int hb_take_events(struct hashbelt_belt *belt, struct hb_fifo *events, size_t room,
		   u64 most, bool hold, u64 *lost)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;
	int err = 0;

	spin_lock(&queue->lock);
	while ((event = queue->waiting.first) && events->count < most && room_for(event) <= room) {
		room -= room_for(event);
		hb_fifo_add(events, hb_fifo_pop(&queue->waiting));
		queue->in_flight++;
		if (!hold)
			uncharge_event(belt, event);
	}
	if (events->count) {
		*lost = queue->lost;
		queue->lost = 0;
	} else {
		err = event ? -EMSGSIZE : -EAGAIN;
	}
	event = queue->waiting.first;
	spin_unlock(&queue->lock);
	/* An event wakes one reader, which may have left events: wake the next. */
	if (event)
		wake_readers(belt, false);
	return err;
}

/*
 * Counts @count of the taken events as read, after the reader has got them. If taking them counted,
 * the counter would have to decrease when some are returned unread.
 */
void hb_count_read(struct hashbelt_belt *belt, u64 count)
{
	hb_count_by(belt, HASHBELT_STAT_EVENTS_READ, count);
}

/*
 * Puts a batch of events, the last one first, at the head of the queue. Return: true if there are
 * too many events now, because the limits were lowered.
 */
static bool return_batch(struct hashbelt_belt *belt, struct hb_fifo *batch, bool held)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;
	bool too_long;

	spin_lock(&queue->lock);
	queue->in_flight -= batch->count;
	while ((event = hb_fifo_pop(batch))) {
		/* Charges it again, even beyond a limit. */
		if (!held && count_kept(queue, event, 1))
			hb_usage_change(&belt->usage, 1, hb_cost(event));
		hb_fifo_push(&queue->waiting, event);
	}
	too_long = is_too_long(queue);
	spin_unlock(&queue->lock);
	return too_long;
}

/*
 * Puts taken events back at the head of the queue, in their order; @events is empty afterwards, and
 * the queue owns them. Works in batches, the last events first, so that the lock is not held for
 * long. @held: the events are charged to the limits. @read: they were counted as read, and not
 * acknowledged. @lost: lost events that the next reader is to be told of. Context: may sleep.
 */
void hb_return_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held,
		      u64 lost, bool read)
{
	struct hb_fifo reversed = {};
	struct hashbelt_entry *event;
	bool too_long = false;

	if (read)
		hb_count_by(belt, HASHBELT_STAT_EVENTS_RETURNED, events->count);
	spin_lock(&belt->queue.lock);
	belt->queue.lost += lost;
	spin_unlock(&belt->queue.lock);
	while ((event = hb_fifo_pop(events))) {
		hb_fifo_push(&reversed, event);
		cond_resched();
	}
	while (reversed.count) {
		struct hb_fifo batch = {};

		while (batch.count < HB_BATCH && (event = hb_fifo_pop(&reversed)))
			hb_fifo_add(&batch, event);
		too_long = return_batch(belt, &batch, held);
		cond_resched();
	}
	/* hb_kill() may have emptied the queue before, and no reader can take events any more. */
	while (READ_ONCE(belt->dead) && hb_event_drop_oldest(belt))
		cond_resched();
	wake_readers(belt, too_long);
}

/*
 * Frees an event that is not charged any more: through limbo, because readers may stand on it. No
 * reader stands on a proxy.
 */
static void event_free(struct hashbelt_belt *belt, struct hashbelt_entry *event)
{
	if (!is_proxy(event)) {
		hb_limbo_add(belt, event);
		return;
	}
	hashbelt_entry_put(belt, hb_event_entry(event));
	hashbelt_entry_put(belt, event);
}

/*
 * Frees taken events. @events is empty afterwards, and the events are not valid any more. @held:
 * they are charged to the limits. Context: may sleep.
 */
void hb_settle_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;

	while ((event = hb_fifo_pop(events))) {
		spin_lock(&queue->lock);
		queue->in_flight--;
		count_memory(queue, event, -1);
		if (held)
			uncharge_event(belt, event);
		spin_unlock(&queue->lock);
		event_free(belt, event);
		cond_resched();
	}
}

/* Drops the oldest event, to make room. Return: false if there is none. */
bool hb_event_drop_oldest(struct hashbelt_belt *belt)
{
	bool dropped;

	spin_lock(&belt->queue.lock);
	dropped = drop_oldest(belt);
	spin_unlock(&belt->queue.lock);
	if (dropped)
		hb_kick_worker(belt);
	return dropped;
}

/*
 * Drops and frees surplus events: as many batches as there are shards. Return: true if there are
 * more.
 */
static bool drop_step(struct hashbelt_belt *belt)
{
	unsigned int budget = HB_BATCH << belt->shard_bits;
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;

	while (budget--) {
		spin_lock(&queue->lock);
		if (is_too_long(queue))
			drop_oldest(belt);
		event = hb_fifo_pop(&queue->dropped);
		spin_unlock(&queue->lock);
		if (!event)
			return false;
		event_free(belt, event);
	}
	return true;
}

/* Delivers a batch of events to the module that made the belt. Return: true if there are more. */
static bool deliver_step(struct hashbelt_belt *belt)
{
	struct hashbelt_event record;
	struct hb_fifo events = {};
	struct hashbelt_entry *event;
	struct hb_fifo done = {};
	u64 lost;

	if (hb_take_events(belt, &events, SIZE_MAX, HB_BATCH, false, &lost))
		return false;
	while ((event = hb_fifo_pop(&events))) {
		hb_describe_event(event, &record);
		record.lost = lost;
		lost = 0;
		belt->event(belt, hb_event_entry(event), &record, belt->arg);
		hb_fifo_add(&done, event);
	}
	hb_count_read(belt, done.count);
	hb_settle_events(belt, &done, false);
	return hb_has_events(belt);
}

/* The worker's step for events; under belt->round_lock. Return: true if there is more to do. */
bool hb_queue_step(struct hashbelt_belt *belt)
{
	bool more = drop_step(belt);

	if (belt->event)
		more |= deliver_step(belt);
	return more;
}

/* Frees all events of a belt that no task uses any more. */
void hb_event_free_all(struct hashbelt_belt *belt)
{
	struct hb_fifo *events = &belt->queue.waiting;
	struct hashbelt_entry *event;

	hb_fifo_append(events, &belt->queue.dropped);
	while ((event = hb_fifo_pop(events))) {
		if (is_proxy(event))
			hashbelt_entry_put(belt, hb_event_entry(event));
		hashbelt_entry_put(belt, event);
		cond_resched();
	}
}
