// SPDX-License-Identifier: GPL-2.0
/*
 * Reading events from a descriptor: read, poll, and acknowledging.
 */
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "hashbelt_core.h"
#include "reader.h"
#include "registry.h"

/* Events that a read takes from the queue at once. */
#define EVENTS_MAX	64

/*
 * Who polls may have something to read now; and who waits in a read, for what is not wanted
 * any more, may not take the wakeup of somebody else.
 */
static void set_watch(struct descriptor *descriptor, struct binding *binding, u32 flags)
{
	bool requests = flags & HASHBELT_WATCH_REQUESTS, other;

	mutex_lock(&binding->lock);
	other = binding->requests != requests;
	WRITE_ONCE(binding->acks, flags & HASHBELT_WATCH_ACK);
	WRITE_ONCE(binding->requests, requests);
	if (other && binding->holder)
		wake_up_all(&binding->holder->wait);
	mutex_unlock(&binding->lock);
	if (other)
		wake_up_all(hashbelt_event_wait(binding->listing->belt));
	hb_wake_pollers(descriptor, NULL);
}

/* Says how a descriptor reads events. */
long hb_ioctl_watch(struct descriptor *descriptor, const u32 __user *arg)
{
	struct hb_holder *holder = NULL;
	struct binding *binding;
	u32 flags;

	if (get_user(flags, arg))
		return -EFAULT;
	if (flags & ~(HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS) ||
	    flags == (HASHBELT_WATCH_ACK | HASHBELT_WATCH_REQUESTS))
		return -EINVAL;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	/* Made here, where that may fail: who polls could not be told, nor be woken later. */
	if (flags & HASHBELT_WATCH_REQUESTS)
		holder = hb_binding_holder(binding);
	if (!IS_ERR(holder))
		set_watch(descriptor, binding, flags);
	hb_binding_put(binding);
	return PTR_ERR_OR_ZERO(holder);
}

/*
 * Takes the events up to @sequence out of those in flight; -ENOENT: it is not there. Under
 * binding->lock.
 */
static int take_acked(struct binding *binding, u64 sequence, struct hb_fifo *acked)
{
	struct hashbelt_entry *event;
	bool found = false, told = false;

	while (!found && (event = hb_fifo_pop(&binding->in_flight))) {
		hb_fifo_add(acked, event);
		found = event->sequence == sequence;
		told |= event->sequence == binding->told;
		cond_resched();
	}
	if (!found) {
		swap(binding->in_flight, *acked);
		return -ENOENT;
	}
	if (told)
		binding->lost = 0;
	return 0;
}

/* Acknowledges events. */
long hb_ioctl_ack(struct descriptor *descriptor, const u64 __user *arg)
{
	struct hb_fifo acked = {};
	struct binding *binding;
	u64 sequence;
	int err;

	if (copy_from_user(&sequence, arg, sizeof(sequence)))
		return -EFAULT;
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return PTR_ERR(binding);
	mutex_lock(&binding->lock);
	err = take_acked(binding, sequence, &acked);
	mutex_unlock(&binding->lock);
	hashbelt_settle_events(binding->listing->belt, &acked, true);
	hb_binding_put(binding);
	return err;
}

/*
 * Copies events out, those that get there to @done. Returns the bytes; @lost is
 * what the first one has to say, and is 0 once it was said.
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
static ssize_t read_completed(struct binding *binding, char __user *to, size_t size)
{
	struct hb_holder *holder = hb_binding_holder(binding);
	struct hashbelt_belt *belt = binding->listing->belt;
	struct hb_fifo events = {}, done = {};
	ssize_t copied;
	u64 lost = 0;
	int err;

	if (IS_ERR(holder))
		return PTR_ERR(holder);
	err = hashbelt_take_completed(holder, &events, size, EVENTS_MAX);
	if (err)
		return err;
	copied = copy_events(&events, &done, to, &lost);
	hashbelt_settle_completed(belt, &done);
	if (!events.count)
		return copied;
	hashbelt_return_completed(belt, holder, &events);
	return copied ?: -EFAULT;
}

/*
 * What was read stays with the descriptor until it is acknowledged, and so does what was
 * said to be @lost.
 */
static void keep_in_flight(struct binding *binding, struct hb_fifo *done, u64 lost)
{
	mutex_lock(&binding->lock);
	if (lost) {
		binding->lost += lost;
		binding->told = done->first->sequence;
	}
	hb_fifo_append(&binding->in_flight, done);
	/* Another thread may have bound the descriptor anew: nobody's now. */
	if (binding->left)
		hb_return_in_flight(binding);
	mutex_unlock(&binding->lock);
}

/* Some events, without waiting. Bytes, or -EAGAIN, -EMSGSIZE, -EFAULT. */
static ssize_t read_some(struct binding *binding, char __user *to, size_t size)
{
	struct hashbelt_belt *belt = binding->listing->belt;
	struct hb_fifo events = {}, done = {};
	bool hold = READ_ONCE(binding->acks);
	ssize_t copied;
	u64 lost, untold;
	bool faulted;
	int err;

	if (READ_ONCE(binding->requests))
		return read_completed(binding, to, size);
	err = hashbelt_take_events(belt, &events, size, EVENTS_MAX, hold, &lost);
	if (err)
		return err;
	untold = lost;
	copied = copy_events(&events, &done, to, &untold);
	faulted = events.count;
	if (faulted)
		hashbelt_return_events(belt, &events, hold, untold);
	if (hold)
		keep_in_flight(binding, &done, lost - untold);
	hashbelt_settle_events(belt, &done, hold);
	return faulted && !copied ? -EFAULT : copied;
}

static int wait_for_completed(struct binding *binding)
{
	struct hb_holder *holder = hb_binding_holder(binding);
	int err;

	if (IS_ERR(holder))
		return PTR_ERR(holder);
	err = wait_event_interruptible_exclusive(holder->wait,
						 READ_ONCE(holder->completed.first) ||
						 READ_ONCE(holder->gone) ||
						 !READ_ONCE(binding->requests) ||
						 hashbelt_is_dead(binding->listing->belt));
	/* Another thread has bound the descriptor anew. */
	return err ?: READ_ONCE(holder->gone) ? -EIDRM : 0;
}

static int wait_for_event(struct binding *binding)
{
	struct hashbelt_belt *belt = binding->listing->belt;
	wait_queue_head_t *wait = hashbelt_event_wait(belt);
	int err;

	err = wait_event_interruptible_exclusive(*wait, hashbelt_has_events(belt) ||
						 READ_ONCE(binding->requests) ||
						 !hashbelt_reports(belt) ||
						 hashbelt_is_dead(belt));
	/* Who will read requests now, and came too late to be told, may have an event's wakeup. */
	if (!err && READ_ONCE(binding->requests) && hashbelt_has_events(belt))
		wake_up_interruptible_poll(wait, EPOLLIN | EPOLLRDNORM);
	return err;
}

/* Waits until a read would not have to. */
static int wait_for_events(struct binding *binding)
{
	struct hashbelt_belt *belt = binding->listing->belt;
	int err = READ_ONCE(binding->requests) ? wait_for_completed(binding) :
						 wait_for_event(binding);

	if (!err && hashbelt_is_dead(belt))
		err = -EIDRM;
	return err;
}

static ssize_t read_events(struct file *file, struct binding *binding, char __user *to,
			   size_t size)
{
	struct hashbelt_belt *belt = binding->listing->belt;
	ssize_t copied = 0, more;
	int err = 0;

	while ((more = read_some(binding, to, size)) == -EAGAIN) {
		if (!READ_ONCE(binding->requests) && !hashbelt_reports(belt))
			return -ENODATA;
		/* Another thread may change it at any moment; the kernel writes it plainly. */
		if (data_race(file->f_flags) & O_NONBLOCK)
			return -EAGAIN;
		err = wait_for_events(binding);
		if (err)
			return err;
	}
	while (more > 0) {
		copied += more;
		if (signal_pending(current))
			break;
		more = read_some(binding, to + copied, size - copied);
	}
	return copied ?: more;
}

/* read(2): events, as many whole ones as fit. */
ssize_t hb_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	struct binding *binding = hb_binding_get(file->private_data, HASHBELT_MAY_READ);
	ssize_t copied;

	if (IS_ERR(binding))
		return PTR_ERR(binding);
	copied = read_events(file, binding, to, size);
	hb_binding_put(binding);
	return copied;
}

/*
 * Passes a wakeup of the belt's queue on to those who poll the descriptor: news of
 * an event has a key; that the belt has changed or ended has none.
 */
static int pass_on(wait_queue_entry_t *watch, unsigned int mode, int flags, void *key)
{
	hb_wake_pollers(watch->private, key);
	return 0;
}

/* Likewise for requests, which are the descriptor's alone. */
static void listen(struct descriptor *descriptor, struct binding *binding,
		   struct hb_holder *holder)
{
	mutex_lock(&binding->lock);
	if (!binding->listening && !binding->left) {
		init_waitqueue_func_entry(&binding->listen, pass_on);
		binding->listen.private = descriptor;
		add_wait_queue(&holder->wait, &binding->listen);
		binding->listening = true;
		/* Before it is looked at: pairs with the barrier in wq_has_sleeper(). */
		smp_mb();
	}
	mutex_unlock(&binding->lock);
}

static void watch(struct descriptor *descriptor, struct binding *binding)
{
	mutex_lock(&binding->lock);
	if (!binding->watching && !binding->left) {
		init_waitqueue_func_entry(&binding->watch, pass_on);
		binding->watch.private = descriptor;
		add_wait_queue(hashbelt_event_wait(binding->listing->belt),
			       &binding->watch);
		binding->watching = true;
		/* Before it is looked at: pairs with the barrier in wq_has_sleeper(). */
		smp_mb();
	}
	mutex_unlock(&binding->lock);
}

/* Whether a read would find something, and a wakeup when that changes. */
static bool is_readable(struct descriptor *descriptor, struct binding *binding)
{
	struct hb_holder *holder;

	watch(descriptor, binding);
	if (!READ_ONCE(binding->requests))
		return hashbelt_has_events(binding->listing->belt);
	holder = hb_binding_holder(binding);
	if (IS_ERR(holder))
		return false;
	listen(descriptor, binding, holder);
	return READ_ONCE(holder->completed.first);
}

/* poll(2): whether there are events, or the belt has ended. */
__poll_t hb_poll(struct file *file, poll_table *wait)
{
	struct descriptor *descriptor = file->private_data;
	struct binding *binding;
	__poll_t events = 0;

	poll_wait(file, &descriptor->wait, wait);
	binding = hb_binding_get(descriptor, HASHBELT_MAY_READ);
	if (IS_ERR(binding))
		return EPOLLERR | (PTR_ERR(binding) == -EIDRM ? EPOLLHUP : 0);
	if (is_readable(descriptor, binding))
		events |= EPOLLIN | EPOLLRDNORM;
	if (hashbelt_is_dead(binding->listing->belt))
		events |= EPOLLERR | EPOLLHUP;
	hb_binding_put(binding);
	return events;
}
