// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waking the tasks that poll descriptors of a belt. docs/design.md, "Events", has the protocol. Of
 * the two wakeups after which a descriptor is disarmed, the first wakes one of several exclusive
 * tasks (EPOLLEXCLUSIVE). That task may exit without another poll, so the second wakes all.
 *
 * No wakeup is lost. A task that polls enters the wait queue of its file, arms the descriptor, and
 * then looks for an event. A task that brings an event queues that, and then looks for armed
 * descriptors. Each has a full barrier in between, so one of them sees what the other has written.
 * If the descriptor is in a list already when a poll arms it, the work item takes it out later,
 * under the same lock, and only then wakes the tasks in the wait queue.
 */
#include <linux/rcupdate.h>

#include "poller.h"

/* Descriptors that one run of the work item looks at. */
#define WAKE_BATCH	64

/*
 * Takes the first notified descriptor out of the list. Return: its wait queue, valid under RCU;
 * NULL if there is none. @all: all exclusive tasks are to be woken.
 */
static wait_queue_head_t *next_notified(struct hb_pollers *pollers, bool *all)
{
	struct hb_poller *poller;
	wait_queue_head_t *wait = NULL;

	spin_lock(&pollers->lock);
	poller = list_first_entry_or_null(&pollers->notified, struct hb_poller, place);
	if (poller) {
		wait = poller->wait;
		*all = poller->woken || pollers->ended;
		list_del_init(&poller->place);
		if (!poller->woken)
			list_add_tail(&poller->place, poller->armed);
		poller->woken = true;
	}
	spin_unlock(&pollers->lock);
	return wait;
}

static void queue_wakeups(struct hb_pollers *pollers)
{
	/* Benign race: see hb_clock_wake(). */
	data_race(queue_work(pollers->wq, &pollers->work));
}

/* Wakes the tasks of a batch of descriptors. Then other work of the workqueue has its turn. */
static void wake_notified(struct work_struct *work)
{
	struct hb_pollers *pollers = container_of(work, struct hb_pollers, work);
	wait_queue_head_t *wait;
	unsigned int n;
	bool all;

	for (n = 0; n < WAKE_BATCH; n++) {
		/* The file is freed after a grace period. */
		rcu_read_lock();
		wait = next_notified(pollers, &all);
		if (wait)
			hb_wake_polling(wait, all);
		rcu_read_unlock();
		if (!wait)
			return;
		cond_resched();
	}
	queue_wakeups(pollers);
}

/* The tasks are woken on @wq, which must outlive @pollers. */
void hb_pollers_init(struct hb_pollers *pollers, struct workqueue_struct *wq)
{
	unsigned int i;

	spin_lock_init(&pollers->lock);
	for (i = 0; i < HB_POLL_FOR; i++)
		INIT_LIST_HEAD(&pollers->armed[i]);
	INIT_LIST_HEAD(&pollers->notified);
	pollers->ended = false;
	pollers->wq = wq;
	INIT_WORK(&pollers->work, wake_notified);
}

/* No descriptor is armed any more. Context: may sleep. */
void hb_pollers_stop(struct hb_pollers *pollers)
{
	cancel_work_sync(&pollers->work);
}

/*
 * Notifies all armed descriptors. The caller has executed a full barrier since it changed what a
 * poll looks at. Context: process; with a shard's lock or without.
 */
void hb_pollers_notify(struct hb_pollers *pollers, enum hb_poll_for what)
{
	struct list_head *armed = &pollers->armed[what];

	if (list_empty(armed))
		return;
	spin_lock(&pollers->lock);
	list_splice_tail_init(armed, &pollers->notified);
	spin_unlock(&pollers->lock);
	queue_wakeups(pollers);
}

/*
 * Notifies all descriptors: the belt is dead. The caller has marked it as dead: a poll that arms
 * its descriptor after this, under the same lock, sees that.
 */
void hb_pollers_end(struct hb_pollers *pollers)
{
	unsigned int i;

	spin_lock(&pollers->lock);
	pollers->ended = true;
	for (i = 0; i < HB_POLL_FOR; i++)
		list_splice_tail_init(&pollers->armed[i], &pollers->notified);
	spin_unlock(&pollers->lock);
	queue_wakeups(pollers);
}

void hb_poller_init(struct hb_poller *poller, struct hb_pollers *pollers, enum hb_poll_for what)
{
	*poller = (struct hb_poller){
		.pollers = pollers, .armed = &pollers->armed[what],
		.place = LIST_HEAD_INIT(poller->place),
	};
}

/*
 * Has the tasks in @wait woken when there is something to read. The caller is in @wait, and looks
 * afterwards if there is. @wait must stay valid for a grace period after hb_poller_close().
 */
void hb_poller_arm(struct hb_poller *poller, wait_queue_head_t *wait)
{
	struct hb_pollers *pollers = poller->pollers;

	spin_lock(&pollers->lock);
	poller->woken = false;
	if (!poller->closed && list_empty(&poller->place)) {
		WRITE_ONCE(poller->wait, wait);
		list_add_tail(&poller->place, poller->armed);
	}
	spin_unlock(&pollers->lock);
	/* Pairs with the barrier of a task that notifies. */
	smp_mb();
}

/* Has the tasks that poll one descriptor woken. */
void hb_poller_notify(struct hb_poller *poller)
{
	struct hb_pollers *pollers = poller->pollers;
	bool listed;

	if (!READ_ONCE(poller->wait))
		return;
	spin_lock(&pollers->lock);
	listed = !list_empty(&poller->place);
	/* To the head: it may be there already, and must not fall behind again and again. */
	if (listed)
		list_move(&poller->place, &pollers->notified);
	spin_unlock(&pollers->lock);
	if (listed)
		queue_wakeups(pollers);
}

/* The descriptor is closed, or bound to another belt. */
void hb_poller_close(struct hb_poller *poller)
{
	spin_lock(&poller->pollers->lock);
	poller->closed = true;
	list_del_init(&poller->place);
	spin_unlock(&poller->pollers->lock);
}
