/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_CLOCK_H
#define _HASHBELT_CLOCK_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/limits.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

struct hashbelt_window;

/* Belt times are multiples of this: deadlines use the lower bits. */
#define HB_GRAIN	8ULL

/* A deadline that is never reached. */
#define HB_NEVER	((u64)S64_MAX & ~(HB_GRAIN - 1))

/* Belt time is not moved by hand beyond this, which leaves room for any time-to-live. */
#define HB_TIME_MAX	BIT_ULL(62)

/*
 * Nanoseconds, 4.2 ms: the alarm expires at most once in each such slot of boot time. A belt that
 * is due again in the slot of its last round waits for the next slot, whose start is the same
 * moment for all belts, so that one interrupt serves their alarms.
 */
#define HB_PACE		BIT_ULL(22)

/**
 * struct hb_clock - a belt's time and its alarm
 * @seq:	lets readers see @offset and @halted of the same moment
 * @offset:	belt time minus boot time while it runs; under @lock
 * @halted:	belt time while it is halted, else 0; written under @lock
 * @wake:	belt time of the alarm, HB_NEVER: none is set; under @lock, read without it as a
 *		hint by hb_clock_wake_at()
 * @earliest:	boot time before which the alarm does not expire; under @lock
 * @stopped:	no alarm may be set any more; under @lock
 * @shown:	the first page of a window that shows the time to readers without a system call, or
 *		NULL; under @lock
 * @timer:	the alarm
 * @wq:		where @work is queued
 * @work:	queued by the alarm; owned by the belt
 * @wakeups:	how often the alarm expired; written under @lock
 */
struct hb_clock {
	seqcount_spinlock_t seq;
	s64 offset;
	u64 halted;
	u64 wake;
	/**
	 * @lock: serialises changes of the time and of the alarm; taken in interrupts, too. With
	 * PREEMPT_RT a reader of belt time that meets a writer waits on it, whatever lock it holds.
	 * Inside it: none.
	 */
	spinlock_t lock ____cacheline_aligned_in_smp;
	u64 earliest;
	bool stopped;
	struct hashbelt_window *shown;
	struct hrtimer timer;
	struct workqueue_struct *wq;
	struct work_struct *work;
	u64 wakeups;
};

extern atomic64_t hb_boot_latest;

u64 hb_boot_raise(u64 read);
void hb_clock_init(struct hb_clock *clock, struct workqueue_struct *wq, struct work_struct *work);
void hb_clock_stop(struct hb_clock *clock);
void hb_clock_halt(struct hb_clock *clock);
void hb_clock_resume(struct hb_clock *clock);
int hb_clock_advance(struct hb_clock *clock, u64 by);
void hb_clock_reset_alarm(struct hb_clock *clock);
void hb_clock_set_alarm(struct hb_clock *clock, u64 when);
void hb_clock_show(struct hb_clock *clock, struct hashbelt_window *window);
void hb_clock_arm(struct hb_clock *clock, struct hrtimer *timer, u64 when);

/*
 * Boot time of the last tick, nanoseconds. The kernel's coarse clock may step back a little when
 * the rate of the clock is changed, before 6.15; this never does. Context: any.
 */
static inline u64 hb_boot_time(void)
{
	u64 read = ktime_get_coarse_boottime_ns();

	return likely(read == atomic64_read(&hb_boot_latest)) ? read : hb_boot_raise(read);
}

/*
 * Belt time in nanoseconds, a multiple of HB_GRAIN, never earlier than a previous call returned. It
 * moves with the tick, and counts suspend. Context: any in which a task may take a spinlock: with
 * PREEMPT_RT it may wait for @lock.
 */
static inline u64 hb_clock_now(const struct hb_clock *clock)
{
	unsigned int seq;
	s64 offset;
	u64 now;

	do {
		seq = read_seqcount_begin(&clock->seq);
		/*
		 * Both are read before the boot time: that has a seqcount of its own, whose end
		 * KCSAN would take for the end of this one.
		 */
		offset = clock->offset;
		now = clock->halted;
		if (likely(!now))
			now = hb_boot_time() + offset;
	} while (read_seqcount_retry(&clock->seq, seq));
	return now & ~(HB_GRAIN - 1);
}

/* Queues the worker now. Context: any. */
static inline void hb_clock_wake(const struct hb_clock *clock)
{
	/*
	 * Benign race in the workqueue code: a worker that begins the work reads its state plainly,
	 * but another bit of it than queue_work() sets.
	 */
	data_race(queue_work(clock->wq, clock->work));
}

/* The timer is neither set nor running afterwards. Context: no lock that its function takes. */
static inline void hb_timer_cancel(struct hrtimer *timer)
{
	/*
	 * Benign race in the hrtimer code: it reads plainly whether the timer's function runs,
	 * which another CPU writes, and reads again if that has changed.
	 */
	data_race(hrtimer_cancel(timer));
}

/* The timer is not set afterwards, but its function may be running. Context: any. */
static inline void hb_timer_try_to_cancel(struct hrtimer *timer)
{
	/* Benign race in the hrtimer code, which hb_timer_cancel() explains. */
	data_race(hrtimer_try_to_cancel(timer));
}

/*
 * Has the worker look no later than @when. Almost always one comparison: the alarm is set to that
 * moment or an earlier one. Context: any, with a shard's lock or without.
 */
static inline void hb_clock_wake_at(struct hb_clock *clock, u64 when)
{
	if (unlikely(when < READ_ONCE(clock->wake)))
		hb_clock_set_alarm(clock, when);
}

#endif /* _HASHBELT_CLOCK_H */
