/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_POLLER_H
#define _HASHBELT_POLLER_H

#include <linux/list.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* Pollers wait for events of the belt, or for completed requests of their descriptor. */
enum hb_poll_for { HB_POLL_EVENTS, HB_POLL_REQUESTS, HB_POLL_FOR };

/**
 * struct hb_pollers - descriptors of a belt that are polled
 * @armed:	descriptors to be notified when there is something to read, by enum hb_poll_for
 * @notified:	descriptors whose tasks @work is to wake
 * @ended:	the belt is dead: all exclusive tasks are woken
 * @wq:		where @work is queued; constant
 * @work:	wakes the pollers
 */
struct hb_pollers {
	/** @lock: protects all below but @wq and @work. Inside it: none. */
	spinlock_t lock;
	struct list_head armed[HB_POLL_FOR];
	struct list_head notified;
	bool ended;
	struct workqueue_struct *wq;
	struct work_struct work;
};

/**
 * struct hb_poller - a descriptor that is polled; under the lock of @pollers
 * @pollers:	of the belt; constant
 * @armed:	one of the lists of @pollers; constant
 * @place:	in that list, or in the list of notified ones, or empty
 * @wait:	tasks that poll; NULL before the first poll. Read without the lock as a hint
 * @woken:	one exclusive task was woken, and no task has polled since
 * @closed:	must not be armed any more
 */
struct hb_poller {
	struct hb_pollers *pollers;
	struct list_head *armed;
	struct list_head place;
	wait_queue_head_t *wait;
	bool woken;
	bool closed;
};

void hb_pollers_init(struct hb_pollers *pollers, struct workqueue_struct *wq);
void hb_pollers_stop(struct hb_pollers *pollers);
void hb_pollers_notify(struct hb_pollers *pollers, enum hb_poll_for what);
void hb_pollers_end(struct hb_pollers *pollers);

void hb_poller_init(struct hb_poller *poller, struct hb_pollers *pollers, enum hb_poll_for what);
void hb_poller_arm(struct hb_poller *poller, wait_queue_head_t *wait);
void hb_poller_notify(struct hb_poller *poller);
void hb_poller_close(struct hb_poller *poller);

/* Wakes one exclusive task, or all, and all others. */
static inline void hb_wake_polling(wait_queue_head_t *wait, bool all)
{
	/*
	 * No key: a task that is told by a key what there is need not poll again, but a descriptor
	 * is armed by a poll.
	 *
	 * Benign race in poll and epoll: they read without a lock what a wakeup changes, and then
	 * again under the lock.
	 */
	data_race((all ? wake_up_all(wait) : wake_up(wait), 0));
}

#endif /* _HASHBELT_POLLER_H */
