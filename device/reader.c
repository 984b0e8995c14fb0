// SPDX-License-Identifier: GPL-2.0
/*
 * Reading events from a descriptor: read, poll, and acknowledging.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "reader.h"

/* Events that a read takes from the queue at once. */
#define EVENTS_MAX	64

/*
 * Who polls may have something to read now; and who waits in a read, for what is not wanted
 * any more, may not take the wakeup of somebody else.
 */
static void set_watch(struct hb_file *file, struct hb_session *session, u32 flags)
{
	bool requests = flags & HASHBELT_WATCH_REQUESTS, other;

	mutex_lock(&session->lock);
	other = session->requests != requests;
	WRITE_ONCE(session->acks, flags & HASHBELT_WATCH_ACK);
	WRITE_ONCE(session->requests, requests);
	if (other && session->client)
		wake_up_all(&session->client->wait);
	mutex_unlock(&session->lock);
	if (other)
		wake_up_all(hashbelt_event_wait(session->named->belt));
	hb_file_wake_pollers(file, NULL);
}

/* Says how a descriptor reads events. */
int hb_call_watch(const struct hb_call *call, void *arg)
{
	struct hb_client *client = NULL;
	u32 flags = *(const u32 *)arg;

	if (flags & ~(HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS) ||
	    flags == (HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS))
		return -EINVAL;
	/* Made here, where that may fail: poll(2) could not report it, nor wake its caller. */
	if (flags & HASHBELT_WATCH_REQUESTS)
		client = hb_session_client(call->session);
	if (!IS_ERR(client))
		set_watch(call->filp->private_data, call->session, flags);
	return PTR_ERR_OR_ZERO(client);
}

/*
 * Takes the events up to @sequence out of those in flight; -ENOENT: it is not there. Under
 * session->lock.
 */
static int take_acked(struct hb_session *session, u64 sequence, struct hb_fifo *acked)
{
	struct hashbelt_entry *event;
	bool found = false, told = false;

	while (!found && (event = hb_fifo_pop(&session->in_flight))) {
		hb_fifo_add(acked, event);
		found = event->sequence == sequence;
		told |= event->sequence == session->told;
		cond_resched();
	}
	if (!found) {
		swap(session->in_flight, *acked);
		return -ENOENT;
	}
	if (told)
		session->lost = 0;
	return 0;
}

/* Acknowledges events. */
int hb_call_ack(const struct hb_call *call, void *arg)
{
	const u64 *sequence = arg;
	struct hb_fifo acked = {};
	int err;

	mutex_lock(&call->session->lock);
	err = take_acked(call->session, *sequence, &acked);
	mutex_unlock(&call->session->lock);
	hashbelt_settle_events(call->belt, &acked, true);
	return err;
}

/*
 * Copies events to user space, and moves those that were copied to @done. Returns the bytes.
 * The record of the first event reports @lost; when it was copied, @lost is 0.
 */
static ssize_t copy_events(struct hb_fifo *events, struct hb_fifo *done,
			   char __user *to, u64 *lost)
{
	static const u8 zeros[8];
	struct hashbelt_event record;
	struct hashbelt_entry *event;
	ssize_t copied = 0;
	const void *data;
	u32 size, len;

	while ((event = events->first)) {
		data = hashbelt_describe_event(event, &record);
		record.lost = *lost;
		len = record.key_len + record.value_len;
		size = sizeof(record) + len;
		if (copy_to_user(to, &record, sizeof(record)) ||
		    copy_to_user(to + sizeof(record), data, len) ||
		    copy_to_user(to + size, zeros, record.size - size))
			break;
		hb_fifo_add(done, hb_fifo_pop(events));
		*lost = 0;
		to += record.size;
		copied += record.size;
		cond_resched();
	}
	return copied;
}

/* Some of a descriptor's own requests, likewise. */
static ssize_t read_completed(struct hb_session *session, char __user *to, size_t size)
{
	struct hb_client *client = hb_session_client(session);
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_fifo events = {}, done = {};
	ssize_t copied;
	u64 lost = 0;
	int err;

	if (IS_ERR(client))
		return PTR_ERR(client);
	err = hashbelt_take_completed(client, &events, size, EVENTS_MAX);
	if (err)
		return err;
	copied = copy_events(&events, &done, to, &lost);
	hashbelt_settle_completed(belt, &done);
	if (!events.count)
		return copied;
	hashbelt_return_completed(belt, client, &events);
	return copied ?: -EFAULT;
}

/*
 * What was read stays with the descriptor until it is acknowledged, and so does what was
 * said to be @lost.
 */
static void keep_in_flight(struct hb_session *session, struct hb_fifo *done, u64 lost)
{
	mutex_lock(&session->lock);
	if (lost) {
		session->lost += lost;
		session->told = done->first->sequence;
	}
	hb_fifo_append(&session->in_flight, done);
	/* Another thread may have bound the descriptor anew: nobody's now. */
	if (session->left)
		hb_session_return_in_flight(session);
	mutex_unlock(&session->lock);
}

/* Some events, without waiting. Bytes, or -EAGAIN, -EMSGSIZE, -EFAULT. */
static ssize_t read_some(struct hb_session *session, char __user *to, size_t size)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_fifo events = {}, done = {};
	bool hold = READ_ONCE(session->acks);
	ssize_t copied;
	u64 lost, untold;
	bool faulted;
	int err;

	if (READ_ONCE(session->requests))
		return read_completed(session, to, size);
	err = hashbelt_take_events(belt, &events, size, EVENTS_MAX, hold, &lost);
	if (err)
		return err;
	untold = lost;
	copied = copy_events(&events, &done, to, &untold);
	faulted = events.count;
	if (faulted)
		hashbelt_return_events(belt, &events, hold, untold);
	if (hold)
		keep_in_flight(session, &done, lost - untold);
	hashbelt_settle_events(belt, &done, hold);
	return faulted && !copied ? -EFAULT : copied;
}

static int wait_for_completed(struct hb_session *session)
{
	struct hb_client *client = hb_session_client(session);
	int err;

	if (IS_ERR(client))
		return PTR_ERR(client);
	err = wait_event_interruptible_exclusive(client->wait,
						 READ_ONCE(client->completed.first) ||
						 READ_ONCE(client->gone) ||
						 !READ_ONCE(session->requests) ||
						 hashbelt_is_dead(session->named->belt));
	/* Another thread has bound the descriptor anew. */
	return err ?: READ_ONCE(client->gone) ? -EIDRM : 0;
}

static int wait_for_event(struct hb_session *session)
{
	struct hashbelt_belt *belt = session->named->belt;
	wait_queue_head_t *wait = hashbelt_event_wait(belt);
	int err;

	err = wait_event_interruptible_exclusive(*wait, hashbelt_has_events(belt) ||
						 READ_ONCE(session->requests) ||
						 !hashbelt_reports(belt) ||
						 hashbelt_is_dead(belt));
	/* Who will read requests now, and came too late to be told, may have an event's wakeup. */
	if (!err && READ_ONCE(session->requests) && hashbelt_has_events(belt))
		wake_up_interruptible_poll(wait, EPOLLIN | EPOLLRDNORM);
	return err;
}

/* Waits until a read would not have to. */
static int wait_for_events(struct hb_session *session)
{
	struct hashbelt_belt *belt = session->named->belt;
	int err = READ_ONCE(session->requests) ? wait_for_completed(session) :
						 wait_for_event(session);

	if (!err && hashbelt_is_dead(belt))
		err = -EIDRM;
	return err;
}

static ssize_t read_events(struct file *filp, struct hb_session *session, char __user *to,
			   size_t size)
{
	struct hashbelt_belt *belt = session->named->belt;
	ssize_t copied = 0, more;
	int err = 0;

	while ((more = read_some(session, to, size)) == -EAGAIN) {
		if (!READ_ONCE(session->requests) && !hashbelt_reports(belt))
			return -ENODATA;
		/* Another thread may change it at any moment; the kernel writes it plainly. */
		if (data_race(filp->f_flags) & O_NONBLOCK)
			return -EAGAIN;
		err = wait_for_events(session);
		if (err)
			return err;
	}
	while (more > 0) {
		copied += more;
		if (signal_pending(current))
			break;
		more = read_some(session, to + copied, size - copied);
	}
	return copied ?: more;
}

/* read(2): events, as many whole ones as fit. */
ssize_t hb_file_read(struct file *filp, char __user *to, size_t size, loff_t *at)
{
	struct hb_session *session = hb_session_get(filp->private_data, HASHBELT_MAY_READ);
	ssize_t copied;

	if (IS_ERR(session))
		return PTR_ERR(session);
	copied = read_events(filp, session, to, size);
	hb_session_put(session);
	return copied;
}

/*
 * Passes a wakeup of the belt's queue on to those who poll the descriptor: news of
 * an event has a key; that the belt has changed or ended has none.
 */
static int pass_on(wait_queue_entry_t *watch, unsigned int mode, int flags, void *key)
{
	hb_file_wake_pollers(watch->private, key);
	return 0;
}

/* Likewise for requests, which are the descriptor's alone. */
static void listen(struct hb_file *file, struct hb_session *session,
		   struct hb_client *client)
{
	mutex_lock(&session->lock);
	if (!session->listening && !session->left) {
		init_waitqueue_func_entry(&session->listen, pass_on);
		session->listen.private = file;
		add_wait_queue(&client->wait, &session->listen);
		session->listening = true;
		/* Before it is looked at: pairs with the barrier in wq_has_sleeper(). */
		smp_mb();
	}
	mutex_unlock(&session->lock);
}

static void watch(struct hb_file *file, struct hb_session *session)
{
	mutex_lock(&session->lock);
	if (!session->watching && !session->left) {
		init_waitqueue_func_entry(&session->watch, pass_on);
		session->watch.private = file;
		add_wait_queue(hashbelt_event_wait(session->named->belt),
			       &session->watch);
		session->watching = true;
		/* Before it is looked at: pairs with the barrier in wq_has_sleeper(). */
		smp_mb();
	}
	mutex_unlock(&session->lock);
}

/* Whether a read would find something, and a wakeup when that changes. */
static bool is_readable(struct hb_file *file, struct hb_session *session)
{
	struct hb_client *client;

	watch(file, session);
	if (!READ_ONCE(session->requests))
		return hashbelt_has_events(session->named->belt);
	client = hb_session_client(session);
	if (IS_ERR(client))
		return false;
	listen(file, session, client);
	return READ_ONCE(client->completed.first);
}

/* poll(2): whether there are events, or the belt has ended. */
__poll_t hb_file_poll(struct file *filp, poll_table *wait)
{
	struct hb_file *file = filp->private_data;
	struct hb_session *session;
	__poll_t events = 0;

	poll_wait(filp, &file->wait, wait);
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return EPOLLERR | (PTR_ERR(session) == -EIDRM ? EPOLLHUP : 0);
	if (is_readable(file, session))
		events |= EPOLLIN | EPOLLRDNORM;
	if (hashbelt_is_dead(session->named->belt))
		events |= EPOLLERR | EPOLLHUP;
	hb_session_put(session);
	return events;
}
