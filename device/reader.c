// SPDX-License-Identifier: GPL-2.0-only
/* Reading events from a descriptor: read, poll, and acknowledging. */
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>

#include "belt/wait/client.h"
#include "belt/ground/compat.h"
#include "belt/events/queue.h"
#include "calls.h"
#include "reader.h"
#include "user.h"

/* Events that a read takes from the queue at once. */
#define EVENTS_MAX	64

int hb_call_watch(const struct hb_call *call, void *arg)
{
	struct hb_session *session = call->session;
	u32 flags = *(const u32 *)arg;
	bool requests = flags & HASHBELT_WATCH_REQUESTS, other;
	struct hb_client *client = NULL;

	if (flags & ~(HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS) ||
	    flags == (HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS))
		return -EINVAL;
	/* Made here, where it may fail: poll(2) could neither report that nor wake its caller. */
	if (requests)
		client = hb_session_client(session);
	if (IS_ERR(client))
		return PTR_ERR(client);
	mutex_lock(&session->lock);
	other = session->requests != requests;
	WRITE_ONCE(session->acks, flags & HASHBELT_WATCH_ACK);
	WRITE_ONCE(session->requests, requests);
	/*
	 * All waiting readers look at the mode again: one that waits for events of the other kind
	 * would take the wakeup of another reader.
	 */
	if (other && session->client)
		wake_up_all(&session->client->wait);
	mutex_unlock(&session->lock);
	if (other)
		wake_up_all(&call->belt->queue.wait);
	/* Pollers may have an event to read now. */
	hb_wake_polling(&session->file->wait, true);
	return 0;
}

/* Takes the events up to a sequence number out of those in flight. -ENOENT: it is not there. */
int hb_call_ack(const struct hb_call *call, void *arg)
{
	struct hb_session *session = call->session;
	bool found = false, lost = false;
	struct hashbelt_entry *event;
	const u64 *sequence = arg;
	struct hb_fifo acked = {};

	mutex_lock(&session->lock);
	while (!found && (event = hb_fifo_pop(&session->in_flight))) {
		hb_fifo_add(&acked, event);
		found = event->sequence == *sequence;
		lost |= event->sequence == session->lost_sequence;
		cond_resched();
	}
	if (!found)
		swap(session->in_flight, acked);
	else if (lost)
		session->lost = 0;
	mutex_unlock(&session->lock);
	hb_settle_events(call->belt, &acked, true);
	return found ? 0 : -ENOENT;
}

/*
 * Copies a record, the data of its event, and zeros up to its size, and moves @to on. Return: false
 * after a page fault; @to is where it was.
 */
static bool copy_record(struct iov_iter *to, const struct hashbelt_event *record, const void *data)
{
	static const u8 zeros[8];
	size_t len = record->key_len + record->value_len, room = iov_iter_count(to);
	size_t rest = record->size - sizeof(*record) - len;
	bool copied;

	pagefault_disable();
	copied = copy_to_iter(record, sizeof(*record), to) == sizeof(*record) &&
		 copy_to_iter(data, len, to) == len && copy_to_iter(zeros, rest, to) == rest;
	pagefault_enable();
	if (!copied)
		iov_iter_revert(to, room - iov_iter_count(to));
	return copied;
}

/*
 * Copies events out without waiting for page faults, and moves those that were copied to @done.
 * Return: the bytes. The record of the first event reports @lost, which is then set to 0. @needs:
 * returned after a page fault: bytes of the record that could not be copied.
 */
static ssize_t copy_events(struct hb_fifo *events, struct hb_fifo *done, struct iov_iter *to,
			   u64 *lost, u32 *needs)
{
	struct hashbelt_event record;
	struct hashbelt_entry *event;
	ssize_t copied = 0;
	const void *data;

	while ((event = events->first)) {
		data = hb_describe_event(event, &record);
		record.lost = *lost;
		*needs = record.size;
		if (!copy_record(to, &record, data))
			break;
		hb_fifo_add(done, hb_fifo_pop(events));
		*lost = 0;
		copied += record.size;
		cond_resched();
	}
	return copied;
}

/*
 * Reads completed requests of the descriptor, without waiting. @needs:
 * returned after a page fault: bytes of the record that could not be copied.
 */
static ssize_t read_completed(struct hb_session *session, struct iov_iter *to, u32 *needs)
{
	struct hb_client *client = hb_session_client(session);
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_fifo events = {}, done = {};
	ssize_t copied;
	u64 lost = 0;
	int err;

	if (IS_ERR(client))
		return PTR_ERR(client);
	err = hb_take_completed(client, &events, iov_iter_count(to), EVENTS_MAX);
	if (err)
		return err;
	copied = copy_events(&events, &done, to, &lost, needs);
	hb_settle_completed(belt, &done);
	if (!events.count)
		return copied;
	hb_return_completed(belt, client, &events);
	return copied ?: -EFAULT;
}

/*
 * In acknowledging mode the session keeps two things until the reader acknowledges: the events that
 * were read, and the number of events that were reported as lost, @lost.
 */
static void keep_in_flight(struct hb_session *session, struct hb_fifo *done, u64 lost)
{
	mutex_lock(&session->lock);
	if (lost) {
		session->lost += lost;
		session->lost_sequence = done->first->sequence;
	}
	hb_fifo_append(&session->in_flight, done);
	/* The descriptor is bound to another belt: no reader can acknowledge them. */
	if (session->left)
		hb_session_return_in_flight(session);
	mutex_unlock(&session->lock);
}

/*
 * Reads events, without waiting. Return: bytes, or -EAGAIN, -EMSGSIZE, -EPERM; -EFAULT: the first
 * @needs bytes at @to have to be brought in.
 */
static ssize_t try_read(struct hb_session *session, struct iov_iter *to, u32 *needs)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_fifo events = {}, done = {};
	bool hold = READ_ONCE(session->acks);
	ssize_t copied;
	u64 lost, untold;
	bool faulted;
	int err;

	if (READ_ONCE(session->requests))
		return read_completed(session, to, needs);
	if (!(session->access & HASHBELT_MAY_CONSUME))
		return -EPERM;
	err = hb_take_events(belt, &events, iov_iter_count(to), EVENTS_MAX, hold, &lost);
	if (err)
		return err;
	untold = lost;
	copied = copy_events(&events, &done, to, &untold, needs);
	faulted = events.count;
	if (faulted)
		hb_return_events(belt, &events, hold, untold, false);
	hb_count_read(belt, done.count);
	if (hold)
		keep_in_flight(session, &done, lost - untold);
	hb_settle_events(belt, &done, hold);
	return faulted && !copied ? -EFAULT : copied;
}

/*
 * Tries to read, and brings pages in between tries, which may take any time: this call holds no
 * event meanwhile. Return: the bytes that were copied, or an error of try_read(); -EINTR: the task
 * is being killed.
 */
static ssize_t read_some(struct hb_session *session, struct iov_iter *to)
{
	unsigned int faults;
	ssize_t copied;
	u32 needs;

	for (faults = 0; ; faults++) {
		copied = try_read(session, to, &needs);
		if (copied != -EFAULT || faults == HB_FAULTS_MAX ||
		    fault_in_iov_iter_writeable(to, needs))
			return copied;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
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
						 hb_is_dead(session->named->belt));
	/* If it is gone, another thread has bound the descriptor to another belt. */
	return err ?: READ_ONCE(client->gone) ? -EIDRM : 0;
}

static int wait_for_event(struct hb_session *session)
{
	struct hashbelt_belt *belt = session->named->belt;
	wait_queue_head_t *wait = &belt->queue.wait;
	int err;

	err = wait_event_interruptible_exclusive(*wait, hb_has_events(belt) ||
						 READ_ONCE(session->requests) ||
						 !hb_reports_any(belt) ||
						 hb_is_dead(belt));
	/* This task reads requests now, and may have taken the wakeup for an event. */
	if (!err && READ_ONCE(session->requests) && hb_has_events(belt))
		wake_up_interruptible_poll(wait, EPOLLIN | EPOLLRDNORM);
	return err;
}

/*
 * Another thread may have changed the mode since this task looked for events. A task without the
 * right to consume events does not wait for them: it would take the wakeup of one with that right.
 */
static int wait_for_any(struct hb_session *session)
{
	if (READ_ONCE(session->requests))
		return wait_for_completed(session);
	return session->access & HASHBELT_MAY_CONSUME ? wait_for_event(session) : -EPERM;
}

static ssize_t read_events(const struct kiocb *call, struct hb_session *session,
			   struct iov_iter *to)
{
	struct hashbelt_belt *belt = session->named->belt;
	ssize_t copied = 0, more;
	int err = 0;

	while ((more = read_some(session, to)) == -EAGAIN) {
		if (!READ_ONCE(session->requests) && !hb_reports_any(belt))
			return -ENODATA;
		/* Benign race: the kernel writes the flags plainly for another thread. */
		if (call->ki_flags & IOCB_NOWAIT || data_race(call->ki_filp->f_flags) & O_NONBLOCK)
			return -EAGAIN;
		err = wait_for_any(session);
		if (err)
			return err;
		if (hb_is_dead(belt))
			return -EIDRM;
	}
	while (more > 0) {
		copied += more;
		if (signal_pending(current))
			break;
		more = read_some(session, to);
	}
	return copied ?: more;
}

/*
 * read(2) and readv(2): as many whole events as fit into the buffers together. The events fill
 * these one after the other: one may lie in several.
 */
ssize_t hb_file_read_iter(struct kiocb *call, struct iov_iter *to)
{
	struct hb_session *session;
	ssize_t copied;

	session = hb_session_get(call->ki_filp->private_data, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return PTR_ERR(session);
	copied = read_events(call, session, to);
	hb_session_put(session);
	return copied;
}

/* Return: true if a read would find an event; else pollers are woken when that changes. */
static bool is_readable(struct hb_file *file, struct hb_session *session)
{
	struct hashbelt_belt *belt = session->named->belt;
	struct hb_client *client;

	if (!READ_ONCE(session->requests)) {
		hb_poller_arm(&session->poller, &file->wait);
		return hb_has_events(belt);
	}
	client = hb_session_client(session);
	if (IS_ERR(client))
		return false;
	hb_poller_arm(&client->poller, &file->wait);
	return READ_ONCE(client->completed.first);
}

__poll_t hb_file_poll(struct file *filp, poll_table *wait)
{
	struct hb_file *file = filp->private_data;
	struct hb_session *session;
	__poll_t events = 0;

	poll_wait(filp, &file->wait, wait);
	session = hb_session_get(file, HASHBELT_MAY_READ);
	if (IS_ERR(session))
		return EPOLLERR | (PTR_ERR(session) == -EIDRM ? EPOLLHUP : 0);
	/* It returns neither completions nor events to readers until its mode changes. */
	if (!READ_ONCE(session->requests) && !(session->access & HASHBELT_MAY_CONSUME))
		events |= EPOLLERR;
	else if (is_readable(file, session))
		events |= EPOLLIN | EPOLLRDNORM;
	if (hb_is_dead(session->named->belt))
		events |= EPOLLERR | EPOLLHUP;
	hb_session_put(session);
	return events;
}
