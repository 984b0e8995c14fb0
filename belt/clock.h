/* SPDX-License-Identifier: GPL-2.0 */
/* Belt time, and the alarm that wakes a belt's worker at a moment of it. */
#ifndef _HASHBELT_CLOCK_H
#define _HASHBELT_CLOCK_H

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/limits.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

/* Moments of belt time are multiples of this: deadlines have a use for the bits. */
#define HB_GRAIN	8ULL

/* A moment of belt time that never comes. */
#define HB_NEVER	((u64)S64_MAX & ~(HB_GRAIN - 1))

/* Belt time may not be moved by hand beyond this; leaves room for any ttl. */
#define HB_TIME_MAX	BIT_ULL(62)

/**
 * struct hb_clock - a belt's time: the coarse boot time, moved and stopped
 * @seq:	lets readers of @offset and @halted see both of one moment
 * @lock:	serialises those who move the clock, and the alarm's state
 * @offset:	belt time minus boot time, while it runs; under @lock
 * @halted:	belt time while it stands, 0 while it runs; under @lock
 * @wake:	the moment for which the alarm is set, HB_NEVER if it is not;
 *		under @lock, read without it as a hint by hb_clock_wake_at()
 * @stopped:	no alarm may be set any more; under @lock
 * @timer:	the alarm
 * @wq:		where @work is queued
 * @work:	what the alarm queues; owned by the belt
 * @wakeups:	how often the alarm rang; under @lock
 */
struct hb_clock {
	seqcount_spinlock_t seq;
	spinlock_t lock;	/* the last in the lock order */
	s64 offset;
	u64 halted;
	u64 wake;
	bool stopped;
	struct hrtimer timer;
	struct workqueue_struct *wq;
	struct work_struct *work;
	u64 wakeups;
};

void hb_clock_init(struct hb_clock *clock, struct workqueue_struct *wq,
		   struct work_struct *work);
void hb_clock_stop(struct hb_clock *clock);
void hb_clock_halt(struct hb_clock *clock);
void hb_clock_resume(struct hb_clock *clock);
int hb_clock_advance(struct hb_clock *clock, u64 by);
void hb_clock_reset_alarm(struct hb_clock *clock);
void hb_clock_set_alarm(struct hb_clock *clock, u64 when);
bool hb_clock_is_halted(struct hb_clock *clock);
u64 hb_clock_wakeups(struct hb_clock *clock);
void hb_clock_arm(struct hb_clock *clock, struct hrtimer *timer, u64 when);

/**
 * hb_clock_now() - belt time
 * @clock:	the clock
 *
 * Coarse (it moves with the tick) and cheap; counts suspend. Any context.
 *
 * Return: nanoseconds, a multiple of HB_GRAIN, never less than an earlier call
 * returned.
 */
static inline u64 hb_clock_now(const struct hb_clock *clock)
{
	unsigned int seq;
	s64 offset;
	u64 now;

	do {
		seq = read_seqcount_begin(&clock->seq);
		/*
		 * Both before the time is asked for: that has a seqcount of its own, whose end
		 * KCSAN would take for the end of this one.
		 */
		offset = clock->offset;
		now = clock->halted;
		if (likely(!now))
			now = ktime_get_coarse_boottime_ns() + offset;
	} while (read_seqcount_retry(&clock->seq, seq));
	return now & ~(HB_GRAIN - 1);
}

/**
 * hb_clock_wake() - have the worker look now
 * @clock:	the clock
 *
 * Any context, whether or not it is at work already.
 */
static inline void hb_clock_wake(const struct hb_clock *clock)
{
	/*
	 * Benign race in the workqueue code: a worker that is about to begin the work reads
	 * its state plainly, and of that another bit than the one that is set here.
	 */
	data_race(queue_work(clock->wq, clock->work));
}

/**
 * hb_timer_cancel() - a timer does not ring any more, and is not ringing
 * @timer:	the timer
 *
 * Context: without a lock that its function takes.
 */
static inline void hb_timer_cancel(struct hrtimer *timer)
{
	/*
	 * Benign race in the hrtimer code: it reads plainly whether the timer's function runs,
	 * while another processor writes that, and reads again if it has changed.
	 */
	data_race(hrtimer_cancel(timer));
}

/**
 * hb_timer_try_to_cancel() - a timer does not ring any more, unless it is ringing
 * @timer:	the timer
 *
 * Any context.
 */
static inline void hb_timer_try_to_cancel(struct hrtimer *timer)
{
	/* As in hb_timer_cancel(). */
	data_race(hrtimer_try_to_cancel(timer));
}

/**
 * hb_clock_wake_at() - have the worker look no later than a moment
 * @clock:	the clock
 * @when:	that moment, in belt time
 *
 * Any context, with a shard's lock held or not. Almost always one comparison:
 * the alarm is already set to that moment or an earlier one.
 */
static inline void hb_clock_wake_at(struct hb_clock *clock, u64 when)
{
	if (unlikely(when < READ_ONCE(clock->wake)))
		hb_clock_set_alarm(clock, when);
}

#endif /* _HASHBELT_CLOCK_H */
