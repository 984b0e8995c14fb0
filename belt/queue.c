// SPDX-License-Identifier: GPL-2.0
/*
 * What happens after: the events of a belt.
 *
 * An entry that leaves its belt for a reason that the belt reports becomes an
 * event. It needs no memory for that: the words that held its place on the wheel
 * and in the index hold its place in the queue. The exception is an entry that
 * expires and lives on (reinsert): its event is a proxy, a small entry of its own
 * that holds a reference. If there is no memory for one, the event is lost, and
 * counted; the entry lives on all the same.
 *
 * Events are pushed under the lock of their key's shard, so those of one key
 * stand in the order in which they happened. They are taken from the head, by
 * any number of readers or by the worker for the module that made the belt; each
 * by one. Who has taken events settles them, or returns them to the head.
 *
 * An event of an entry that expired or was removed keeps the place that the entry
 * had under the belt's limits while it waits, and on if it is taken by somebody who
 * may hold it for long. All others have given their place away, and are held by the
 * queue's own limits alone. What is one too many is dropped at the head; the
 * worker frees it. An entry that goes because memory is short must give it back:
 * its event is queued only while such events take little, and else lost.
 *
 * Lock order: a shard's lock, queue->lock, usage->lock.
 */
#include <linux/export.h>
#include <linux/poll.h>

#include "belt.h"
#include "limbo.h"
#include "queue.h"
#include "usage.h"

/* Bytes that a belt may hold as events of entries that went for want of memory. */
#define PRESSED_MAX	(1024 * 1024)

static u64 word_of(const struct hashbelt_entry *event)
{
	return atomic64_read(&event->node.deadline);
}

static bool is_proxy(const struct hashbelt_entry *event)
{
	return !event->key_len;
}

/* What an event takes. A proxy may be all that keeps the memory of its entry. */
static size_t memory_of(struct hashbelt_entry *event)
{
	size_t size = hb_entry_size(event);

	return is_proxy(event) ? size + hb_entry_size(hashbelt_event_entry(event)) : size;
}

static bool stays_charged(const struct hashbelt_entry *event)
{
	return !is_proxy(event) && hb_stays_charged(hb_reason(word_of(event)));
}

/**
 * hb_queue_init() - make a queue, without limits
 * @queue:	the queue
 */
void hb_queue_init(struct hb_queue *queue)
{
	memset(queue, 0, sizeof(*queue));
	spin_lock_init(&queue->lock);
	init_waitqueue_head(&queue->wait);
	queue->max_events = U64_MAX;
	queue->max_bytes = U64_MAX;
}

static void uncount_memory(struct hb_queue *queue, struct hashbelt_entry *event)
{
	lockdep_assert_held(&queue->lock);
	queue->bytes -= memory_of(event);
	if (hb_reason(word_of(event)) == HASHBELT_PRESSURE)
		queue->pressed -= memory_of(event);
}

/* An event gives up the place that it kept under the belt's limits. */
static void uncharge_event(struct hashbelt_belt *belt, const struct hashbelt_entry *event)
{
	struct hb_queue *queue = &belt->queue;

	lockdep_assert_held(&queue->lock);
	if (!stays_charged(event))
		return;
	queue->kept_entries--;
	queue->kept_bytes -= hb_cost(event);
	hb_uncharge(belt, event);
}

/* It is back in the queue, and has its place again, even over the limit. */
static void recharge_event(struct hashbelt_belt *belt, const struct hashbelt_entry *event)
{
	struct hb_queue *queue = &belt->queue;

	lockdep_assert_held(&queue->lock);
	if (!stays_charged(event))
		return;
	queue->kept_entries++;
	queue->kept_bytes += hb_cost(event);
	hb_usage_change(belt, 1, hb_cost(event));
}

/* Counts an event that nobody will read; under queue->lock. */
static void count_lost(struct hashbelt_belt *belt)
{
	belt->queue.lost++;
	hb_count(belt, HASHBELT_STAT_EVENTS_LOST);
}

/* Drops the oldest event; the worker will free it. */
static bool drop_oldest(struct hashbelt_belt *belt)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event = hb_fifo_pop(&queue->waiting);

	lockdep_assert_held(&queue->lock);
	if (!event)
		return false;
	uncount_memory(queue, event);
	uncharge_event(belt, event);
	hb_fifo_add(&queue->dropped, event);
	count_lost(belt);
	return true;
}

/* What was taken and not given up counts: else who holds much could have more. */
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
	if (wq_has_sleeper(&queue->wait))
		wake_up_interruptible_poll(&queue->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * Drops what is too much, oldest first: as many bytes as an event has brought, and a batch.
 * The worker drops the rest, if the limits were lowered. True if it has something to do.
 */
static bool trim_queue(struct hashbelt_belt *belt, size_t brought)
{
	struct hb_queue *queue = &belt->queue;
	u64 before = queue->bytes;
	unsigned int drops = 0;

	while (is_too_long(queue) && (drops < HB_BATCH || before - queue->bytes < brought) &&
	       drop_oldest(belt))
		drops++;
	return drops;
}

/* Whether an event must be lost, for its memory's sake. */
static bool is_pressed_out(const struct hb_queue *queue, struct hashbelt_entry *event)
{
	return hb_reason(word_of(event)) == HASHBELT_PRESSURE &&
	       queue->pressed + memory_of(event) > PRESSED_MAX;
}

static void queue_event(struct hashbelt_belt *belt, struct hashbelt_entry *event, u64 now)
{
	struct hb_queue *queue = &belt->queue;

	lockdep_assert_held(&queue->lock);
	event->node.handed = now;
	hb_fifo_add(&queue->waiting, event);
	queue->bytes += memory_of(event);
	if (hb_reason(word_of(event)) == HASHBELT_PRESSURE)
		queue->pressed += memory_of(event);
	if (stays_charged(event)) {
		queue->kept_entries++;
		queue->kept_bytes += hb_cost(event);
	}
}

/*
 * Queues an event; the caller holds the lock of its key's shard. False if it was
 * lost at once, and is the caller's still.
 */
bool hb_event_push(struct hashbelt_belt *belt, struct hashbelt_entry *event, u64 now)
{
	struct hb_queue *queue = &belt->queue;
	bool dropped, queued;
	u64 sequence;

	spin_lock(&queue->lock);
	sequence = ++queue->sequence;
	queued = !is_pressed_out(queue, event);
	if (queued) {
		event->sequence = sequence;
		queue_event(belt, event, now);
	} else {
		count_lost(belt);
	}
	dropped = trim_queue(belt, queued ? memory_of(event) : 0);
	spin_unlock(&queue->lock);
	hb_count(belt, HASHBELT_STAT_EVENTS);
	wake_readers(belt, dropped);
	return queued;
}

/* The event of an entry that has expired and lives on; under its shard's lock. */
void hb_event_push_proxy(struct hashbelt_belt *belt, struct hashbelt_entry *entry,
			 u64 now)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *proxy = hb_entry_alloc(belt, HB_ENTRY, 0, 0,
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
	proxy->hash = entry->hash & HB_HASH;	/* it has no tail */
	atomic64_set(&proxy->node.deadline, word_of(entry));
	hb_event_push(belt, proxy, now);
}

/**
 * hashbelt_event_entry() - the entry that an event is about
 * @event:	from hashbelt_take_events()
 *
 * Return: the entry, valid as long as the event is.
 */
struct hashbelt_entry *hashbelt_event_entry(struct hashbelt_entry *event)
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
	const struct hashbelt_entry *entry = hashbelt_event_entry(event);

	return record_size(entry->key_len + entry->value_len);
}

/**
 * hashbelt_describe_event() - fill in a record but for key and value
 * @event:	from hashbelt_take_events() or hashbelt_take_completed()
 * @record:	filled in; @lost as 0
 *
 * Return: the bytes that belong to the record, the key and the value behind it; valid as long
 * as the event is.
 */
const void *hashbelt_describe_event(struct hashbelt_entry *event, struct hashbelt_event *record)
{
	struct hashbelt_entry *entry = hashbelt_event_entry(event);
	const struct hb_kind_ops *ops = hb_ops(entry);
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
	if (ops && ops->describe)
		data = ops->describe(entry, record);
	record->size = record_size(record->key_len + record->value_len);
	return data;
}
EXPORT_SYMBOL_GPL(hashbelt_describe_event);

/**
 * hashbelt_take_events() - take the oldest events
 * @belt:	the belt
 * @events:	an empty row, which gets them; to be given to
 *		hashbelt_settle_events() or hashbelt_return_events()
 * @room:	bytes that their records may take in all
 * @most:	most events to take
 * @hold:	the caller may hold them for long: they keep their place under the
 *		belt's limits. To be said again when they are given back
 * @lost:	returned: events lost since somebody was told so
 *
 * Return: 0; -EAGAIN if there is none; -EMSGSIZE if the first takes more than
 * @room.
 */
int hashbelt_take_events(struct hashbelt_belt *belt, struct hb_fifo *events, size_t room,
			 u64 most, bool hold, u64 *lost)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;
	int err = 0;

	spin_lock(&queue->lock);
	while ((event = queue->waiting.first) && events->count < most &&
	       room_for(event) <= room) {
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
	hb_count_by(belt, HASHBELT_STAT_EVENTS_READ, events->count);
	/* Who was woken for one event may have left others: wake the next. */
	if (event)
		wake_readers(belt, false);
	return err;
}

/*
 * Puts a few events, the last one first, before all that wait. True if they are too many
 * now, for limits that were lowered meanwhile.
 */
static bool return_batch(struct hashbelt_belt *belt, struct hb_fifo *batch, bool held)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;
	bool too_long;

	spin_lock(&queue->lock);
	queue->in_flight -= batch->count;
	while ((event = hb_fifo_pop(batch))) {
		if (!held)
			recharge_event(belt, event);
		hb_fifo_push(&queue->waiting, event);
	}
	too_long = is_too_long(queue);
	spin_unlock(&queue->lock);
	return too_long;
}

/**
 * hashbelt_return_events() - put events that were taken back to the head
 * @belt:	the belt
 * @events:	the events, in order; empty afterwards
 * @held:	as hashbelt_take_events() was told
 * @lost:	what hashbelt_take_events() returned, if no reader was told of the loss, or
 *		the reader that was told has exited; else 0
 *
 * In batches, and the last ones first, so that the lock is not held for long. Context: may
 * sleep.
 */
void hashbelt_return_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held,
			    u64 lost)
{
	struct hb_fifo reversed = {};
	struct hashbelt_entry *event;
	bool too_long = false;

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
	wake_readers(belt, too_long);
}

/* Frees an event that keeps no place; at once, or when readers have left it. */
static void event_free(struct hashbelt_belt *belt, struct hashbelt_entry *event)
{
	struct hb_shard *shard = hb_shard_of(belt, event->hash);

	if (is_proxy(event)) {
		hashbelt_entry_put(belt, hashbelt_event_entry(event));
		hashbelt_entry_put(belt, event);
		return;
	}
	spin_lock(&shard->lock);
	hb_limbo_enter(shard, event);
	spin_unlock(&shard->lock);
}

/**
 * hashbelt_settle_events() - be done with events that were taken
 * @belt:	the belt
 * @events:	the events; empty afterwards, and none of them is valid any more
 * @held:	as hashbelt_take_events() was told
 *
 * Context: may sleep.
 */
void hashbelt_settle_events(struct hashbelt_belt *belt, struct hb_fifo *events, bool held)
{
	struct hb_queue *queue = &belt->queue;
	struct hashbelt_entry *event;

	while ((event = hb_fifo_pop(events))) {
		spin_lock(&queue->lock);
		queue->in_flight--;
		uncount_memory(queue, event);
		if (held)
			uncharge_event(belt, event);
		spin_unlock(&queue->lock);
		event_free(belt, event);
		cond_resched();
	}
}

/**
 * hashbelt_reports() - whether there can be events
 * @belt:	the belt
 *
 * Return: true if one is queued, or the belt's handler would report one.
 */
bool hashbelt_reports(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->queue.waiting.first) ||
	       READ_ONCE(belt->handler) != HASHBELT_DROP;
}

/**
 * hashbelt_has_events() - whether a reader would not have to wait
 * @belt:	the belt
 *
 * Return: whether.
 */
bool hashbelt_has_events(const struct hashbelt_belt *belt)
{
	return READ_ONCE(belt->queue.waiting.first);
}

/**
 * hashbelt_event_wait() - where one waits for events
 * @belt:	the belt
 *
 * Return: the wait queue; it is woken for each event, and when the belt or its
 * settings change.
 */
wait_queue_head_t *hashbelt_event_wait(struct hashbelt_belt *belt)
{
	return &belt->queue.wait;
}

/* Drops the oldest event to make room. False if there is none. */
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
 * Drops and frees some of what is too much, a batch for each shard's batch. True if there is
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

/* Hands a batch of events to the module that made the belt. True if there are more. */
static bool deliver_step(struct hashbelt_belt *belt)
{
	struct hashbelt_event record;
	struct hb_fifo events = {};
	struct hashbelt_entry *event;
	struct hb_fifo done = {};
	u64 lost;

	if (hashbelt_take_events(belt, &events, SIZE_MAX, HB_BATCH, false, &lost))
		return false;
	while ((event = hb_fifo_pop(&events))) {
		hashbelt_describe_event(event, &record);
		record.lost = lost;
		lost = 0;
		belt->event(belt, hashbelt_event_entry(event), &record, belt->arg);
		hb_fifo_add(&done, event);
	}
	hashbelt_settle_events(belt, &done, false);
	return hashbelt_has_events(belt);
}

/* What the worker has to do about events; under belt->round_lock. */
bool hb_queue_step(struct hashbelt_belt *belt)
{
	bool more = drop_step(belt);

	if (belt->event)
		more |= deliver_step(belt);
	return more;
}

static void free_all(struct hashbelt_belt *belt, struct hb_fifo *events)
{
	struct hashbelt_entry *event;

	while ((event = hb_fifo_pop(events))) {
		if (is_proxy(event))
			hashbelt_entry_put(belt, hashbelt_event_entry(event));
		hashbelt_entry_put(belt, event);
		cond_resched();
	}
}

/* Frees the events of a belt that nobody uses any more. */
void hb_event_free_all(struct hashbelt_belt *belt)
{
	free_all(belt, &belt->queue.waiting);
	free_all(belt, &belt->queue.dropped);
}
