// SPDX-License-Identifier: GPL-2.0
/*
 * Belt time.
 *
 * The clock of all deadlines is the coarse boot time plus an offset. Moving it
 * by hand adds to the offset; halting it freezes it. The alarm is an hrtimer on
 * CLOCK_BOOTTIME, so it rings at once after a suspend that outlasted it; and it
 * is set only while something waits, so a belt on which nothing is due costs
 * no wakeup.
 *
 * Lock order: a shard's lock, then clock->lock. Nothing is taken inside it.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "clock.h"
#include "compat.h"

/* Programs the hrtimer for clock->wake. */
static void program(struct hb_clock *clock)
{
	s64 at;

	lockdep_assert_held(&clock->lock);
	if (clock->stopped || clock->halted || clock->wake == HB_NEVER)
		return;
	/* The coarse clock lags by up to a tick: let it pass the deadline. */
	at = (s64)clock->wake - clock->offset + TICK_NSEC;
	hrtimer_start_range_ns(&clock->timer, ns_to_ktime(max_t(s64, at, 0)),
			       TICK_NSEC, HRTIMER_MODE_ABS);
}

static enum hrtimer_restart ring(struct hrtimer *timer)
{
	struct hb_clock *clock = container_of(timer, struct hb_clock, timer);
	unsigned long flags;

	spin_lock_irqsave(&clock->lock, flags);
	clock->wakeups++;
	if (!clock->stopped)
		hb_clock_wake(clock);
	spin_unlock_irqrestore(&clock->lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * hb_clock_init() - start a clock, with no alarm set
 * @clock:	the clock
 * @wq:		workqueue of @work; must outlive the clock
 * @work:	what the alarm queues; must call hb_clock_reset_alarm()
 */
void hb_clock_init(struct hb_clock *clock, struct workqueue_struct *wq,
		   struct work_struct *work)
{
	spin_lock_init(&clock->lock);
	seqcount_spinlock_init(&clock->seq, &clock->lock);
	clock->offset = 0;
	clock->halted = 0;
	clock->wake = HB_NEVER;
	clock->stopped = false;
	clock->wakeups = 0;
	clock->wq = wq;
	clock->work = work;
	hb_hrtimer_setup(&clock->timer, ring, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
}

/**
 * hb_clock_stop() - no alarm after this
 * @clock:	the clock
 *
 * The caller cancels the work afterwards. Context: may sleep.
 */
void hb_clock_stop(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	clock->stopped = true;
	spin_unlock_irq(&clock->lock);
	hb_timer_cancel(&clock->timer);
}

/* Belt time of a clock that runs, for who is about to change it. */
static u64 raw_now(const struct hb_clock *clock)
{
	lockdep_assert_held(&clock->lock);
	return (ktime_get_coarse_boottime_ns() + clock->offset) & ~(HB_GRAIN - 1);
}

/**
 * hb_clock_halt() - belt time stands still from now on
 * @clock:	the clock; nothing happens if it stands already
 */
void hb_clock_halt(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	if (!clock->halted) {
		write_seqcount_begin(&clock->seq);
		/* Who has read a later time than the one that it stands at has to read anew. */
		smp_mb();
		clock->halted = max_t(u64, raw_now(clock), HB_GRAIN);
		write_seqcount_end(&clock->seq);
		/* Under the lock, or it might cancel what a resume has set. */
		hb_timer_try_to_cancel(&clock->timer);
	}
	spin_unlock_irq(&clock->lock);
}

/**
 * hb_clock_resume() - belt time goes on from where it stood
 * @clock:	the clock; nothing happens if it runs already
 */
void hb_clock_resume(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	if (clock->halted) {
		write_seqcount_begin(&clock->seq);
		clock->offset = clock->halted - ktime_get_coarse_boottime_ns();
		clock->halted = 0;
		write_seqcount_end(&clock->seq);
		program(clock);
	}
	spin_unlock_irq(&clock->lock);
}

/**
 * hb_clock_advance() - move belt time on by hand, halted or not
 * @clock:	the clock
 * @by:		nanoseconds
 *
 * The alarm follows. Return: 0, or -EOVERFLOW beyond HB_TIME_MAX.
 */
int hb_clock_advance(struct hb_clock *clock, u64 by)
{
	int err = -EOVERFLOW;
	u64 now;

	spin_lock_irq(&clock->lock);
	now = hb_clock_now(clock);
	if (now < HB_TIME_MAX && by < HB_TIME_MAX - now) {
		write_seqcount_begin(&clock->seq);
		if (clock->halted)
			clock->halted += by;
		else
			clock->offset += by;
		write_seqcount_end(&clock->seq);
		program(clock);
		err = 0;
	}
	spin_unlock_irq(&clock->lock);
	return err;
}

/**
 * hb_clock_reset_alarm() - forget the alarm: the worker is about to look
 * @clock:	the clock
 *
 * The worker calls this before it looks. A task that adds something after the worker
 * has looked then finds no alarm, and sets one.
 */
void hb_clock_reset_alarm(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	WRITE_ONCE(clock->wake, HB_NEVER);
	hb_timer_try_to_cancel(&clock->timer);
	spin_unlock_irq(&clock->lock);
}

/**
 * hb_clock_set_alarm() - the slow half of hb_clock_wake_at()
 * @clock:	the clock
 * @when:	belt time by which the worker must look
 */
void hb_clock_set_alarm(struct hb_clock *clock, u64 when)
{
	unsigned long flags;

	spin_lock_irqsave(&clock->lock, flags);
	if (when < clock->wake) {
		WRITE_ONCE(clock->wake, when);
		program(clock);
	}
	spin_unlock_irqrestore(&clock->lock, flags);
}

/**
 * hb_clock_is_halted() - whether belt time stands still
 * @clock:	the clock
 *
 * Return: true after hb_clock_halt(), until hb_clock_resume().
 */
bool hb_clock_is_halted(struct hb_clock *clock)
{
	bool halted;

	spin_lock_irq(&clock->lock);
	halted = clock->halted;
	spin_unlock_irq(&clock->lock);
	return halted;
}

/**
 * hb_clock_wakeups() - how often the alarm rang
 * @clock:	the clock
 *
 * Return: the number since hb_clock_init().
 */
u64 hb_clock_wakeups(struct hb_clock *clock)
{
	u64 wakeups;

	spin_lock_irq(&clock->lock);
	wakeups = clock->wakeups;
	spin_unlock_irq(&clock->lock);
	return wakeups;
}

/**
 * hb_clock_arm() - set a timer of somebody else's
 * @clock:	the clock
 * @timer:	on CLOCK_BOOTTIME, absolute
 * @when:	belt time; HB_NEVER for not at all
 *
 * It does not follow when belt time is moved by hand, and is not set while it stands:
 * then it has to be set anew.
 */
void hb_clock_arm(struct hb_clock *clock, struct hrtimer *timer, u64 when)
{
	unsigned long flags;
	s64 at;

	spin_lock_irqsave(&clock->lock, flags);
	if (clock->stopped || clock->halted || when == HB_NEVER) {
		hb_timer_try_to_cancel(timer);
	} else {
		/* As in program(). */
		at = (s64)when - clock->offset + TICK_NSEC;
		hrtimer_start(timer, ns_to_ktime(max_t(s64, at, 0)), HRTIMER_MODE_ABS);
	}
	spin_unlock_irqrestore(&clock->lock, flags);
}
