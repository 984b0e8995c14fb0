// SPDX-License-Identifier: GPL-2.0-only
/*
 * Belt time: the coarse boot time plus an offset, which moving it by hand changes.
 *
 * The alarm is an hrtimer on CLOCK_BOOTTIME, so it expires at once after a suspend that outlasted
 * it. It is set only while an entry waits, so an idle belt causes no wakeup.
 */
#include <linux/cache.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "hashbelt.h"
#include "clock.h"
#include "compat.h"

/* The latest boot time that was read: one write a tick, whatever the number of readers. */
atomic64_t hb_boot_latest __cacheline_aligned_in_smp;

/* The slow half of hb_boot_time(): returns the later of @read and the latest time. */
u64 hb_boot_raise(u64 read)
{
	s64 latest = atomic64_read(&hb_boot_latest);

	do {
		if (latest >= (s64)read)
			return latest;
	} while (!atomic64_try_cmpxchg(&hb_boot_latest, &latest, read));
	return read;
}

/* Programs the hrtimer for clock->wake. */
static void program(struct hb_clock *clock)
{
	s64 at;

	lockdep_assert_held(&clock->lock);
	if (clock->stopped || clock->halted || clock->wake == HB_NEVER)
		return;
	/* The coarse clock lags by up to a tick, and must have passed the deadline. */
	at = (s64)clock->wake - clock->offset + TICK_NSEC;
	hrtimer_start_range_ns(&clock->timer, ns_to_ktime(max_t(s64, at, clock->earliest)),
			       TICK_NSEC, HRTIMER_MODE_ABS);
}

static u64 next_slot(void)
{
	return (ktime_get_boottime_ns() | (HB_PACE - 1)) + 1;
}

static enum hrtimer_restart clock_expired(struct hrtimer *timer)
{
	struct hb_clock *clock = container_of(timer, struct hb_clock, timer);
	unsigned long flags;

	spin_lock_irqsave(&clock->lock, flags);
	WRITE_ONCE(clock->wakeups, clock->wakeups + 1);
	clock->earliest = next_slot();
	if (!clock->stopped)
		hb_clock_wake(clock);
	spin_unlock_irqrestore(&clock->lock, flags);
	return HRTIMER_NORESTART;
}

/*
 * @clock is zeroed memory. No alarm is set. The alarm queues @work, which must call
 * hb_clock_reset_alarm(), on @wq, which must outlive the clock.
 */
void hb_clock_init(struct hb_clock *clock, struct workqueue_struct *wq, struct work_struct *work)
{
	spin_lock_init(&clock->lock);
	seqcount_spinlock_init(&clock->seq, &clock->lock);
	clock->wake = HB_NEVER;
	clock->wq = wq;
	clock->work = work;
	hrtimer_setup(&clock->timer, clock_expired, CLOCK_BOOTTIME, HRTIMER_MODE_ABS);
}

/* No alarm after this; the caller cancels the work afterwards. Context: may sleep. */
void hb_clock_stop(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	clock->stopped = true;
	spin_unlock_irq(&clock->lock);
	hb_timer_cancel(&clock->timer);
}

/* Changes the time for readers with and without a system call: the latter find it odd first. */
static void begin_change(struct hb_clock *clock)
{
	struct hashbelt_window *shown = clock->shown;

	lockdep_assert_held(&clock->lock);
	if (shown) {
		WRITE_ONCE(shown->clock, shown->clock + 1);
		/* Before any task can read the new time. */
		smp_mb();
	}
	write_seqcount_begin(&clock->seq);
}

static void end_change(struct hb_clock *clock)
{
	struct hashbelt_window *shown = clock->shown;

	write_seqcount_end(&clock->seq);
	if (!shown)
		return;
	WRITE_ONCE(shown->offset_ns, clock->offset);
	WRITE_ONCE(shown->halted_ns, clock->halted);
	/* Pairs with the reader's first load. */
	smp_store_release(&shown->clock, shown->clock + 1);
}

/*
 * @window, which no task reads yet, shows the time from now on; NULL: none does. In the one that
 * has shown it so far no reader finds an entry any more.
 */
void hb_clock_show(struct hb_clock *clock, struct hashbelt_window *window)
{
	spin_lock_irq(&clock->lock);
	if (clock->shown)
		WRITE_ONCE(clock->shown->clock, clock->shown->clock + 1);
	clock->shown = window;
	if (window) {
		window->offset_ns = clock->offset;
		window->halted_ns = clock->halted;
	}
	spin_unlock_irq(&clock->lock);
}

void hb_clock_halt(struct hb_clock *clock)
{
	u64 now;

	spin_lock_irq(&clock->lock);
	if (!clock->halted) {
		begin_change(clock);
		/* A reader with a time later than the halted one must retry. */
		smp_mb();
		now = hb_boot_time() + clock->offset;
		WRITE_ONCE(clock->halted, max_t(u64, now & ~(HB_GRAIN - 1), HB_GRAIN));
		end_change(clock);
		/* Under the lock, or it could cancel the alarm that a later resume has set. */
		hb_timer_try_to_cancel(&clock->timer);
	}
	spin_unlock_irq(&clock->lock);
}

void hb_clock_resume(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	if (clock->halted) {
		begin_change(clock);
		clock->offset = clock->halted - hb_boot_time();
		WRITE_ONCE(clock->halted, 0);
		end_change(clock);
		program(clock);
	}
	spin_unlock_irq(&clock->lock);
}

/*
 * Moves belt time on by @by nanoseconds, halted or not. Return: 0, or -EOVERFLOW beyond
 * HB_TIME_MAX.
 */
int hb_clock_advance(struct hb_clock *clock, u64 by)
{
	int err = -EOVERFLOW;
	u64 now;

	spin_lock_irq(&clock->lock);
	now = hb_clock_now(clock);
	if (now < HB_TIME_MAX && by < HB_TIME_MAX - now) {
		begin_change(clock);
		if (clock->halted)
			WRITE_ONCE(clock->halted, clock->halted + by);
		else
			clock->offset += by;
		end_change(clock);
		program(clock);
		err = 0;
	}
	spin_unlock_irq(&clock->lock);
	return err;
}

/*
 * The worker calls this before it looks for work. So a task that adds an entry after the worker has
 * looked finds no alarm, and sets one. That one expires in the next slot at the earliest, however
 * early the deadline and whichever task sets it.
 */
void hb_clock_reset_alarm(struct hb_clock *clock)
{
	spin_lock_irq(&clock->lock);
	WRITE_ONCE(clock->wake, HB_NEVER);
	clock->earliest = next_slot();
	hb_timer_try_to_cancel(&clock->timer);
	spin_unlock_irq(&clock->lock);
}

/* The slow half of hb_clock_wake_at(). */
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

/*
 * Sets an absolute timer on CLOCK_BOOTTIME to a belt time; HB_NEVER, or a halted clock, cancels it.
 * The timer does not follow when belt time is moved by hand: the caller sets it again.
 */
void hb_clock_arm(struct hb_clock *clock, struct hrtimer *timer, u64 when)
{
	unsigned long flags;
	s64 at;

	spin_lock_irqsave(&clock->lock, flags);
	if (clock->stopped || clock->halted || when == HB_NEVER) {
		hb_timer_try_to_cancel(timer);
	} else {
		/* The coarse clock, which lags by up to a tick, must have passed @when. */
		at = (s64)when - clock->offset + TICK_NSEC;
		hrtimer_start(timer, ns_to_ktime(max_t(s64, at, 0)), HRTIMER_MODE_ABS);
	}
	spin_unlock_irqrestore(&clock->lock, flags);
}
