// SPDX-License-Identifier: GPL-2.0-only
/*
 * Giving way: a worker that has much to do leaves its processor to other tasks that want it.
 *
 * A scheduler is fair: a task that wakes up beside a worker may wait for a tick or more. So a
 * worker looks after each few entries whether it is alone, and pauses if it is not. It holds no
 * lock then, in limbo the turn of its belt. A task that needs the work done does it, or calls
 * hb_pace_end() or hb_hurry(): no further pause begins. Pauses take less than a millisecond, so
 * nothing ends one early.
 *
 * On a busy machine a worker is never alone, and a scheduler may let it wait after its pause. So it
 * works for a quarter of the time that its last pause took before it pauses again: it has at least
 * a fifth of the processor, and is in the way for no longer than that.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>

#include "pace.h"

static unsigned long hurry_until;	/* jiffies until which hb_hurry() holds */

void hb_pace_init(struct hb_pace *pace)
{
	sema_init(&pace->turn, 1);
	pace->begun = jiffies - HB_PATIENCE;
	pace->busy = false;
}

/* There is much to do: the workers give way for HB_PATIENCE from now on. */
void hb_pace_begin(struct hb_pace *pace)
{
	unsigned long begun = READ_ONCE(pace->begun);

	/* If a task calls hb_pace_end() meanwhile, that holds. */
	if (time_after(jiffies, begun))
		cmpxchg(&pace->begun, begun, jiffies);
}

/* A task waits for the workers: they do not give way, for HB_PATIENCE from now on. */
void hb_pace_end(struct hb_pace *pace)
{
	WRITE_ONCE(pace->begun, jiffies + HB_PATIENCE);
}

/* Memory is short: no worker of any belt gives way, for HB_PATIENCE from now on. */
void hb_hurry(void)
{
	WRITE_ONCE(hurry_until, jiffies + HB_PATIENCE);
}

/* A worker that is in the way of another task may pause now. Context: any. */
bool hb_may_pause(const struct hb_pace *pace)
{
	unsigned long begun = READ_ONCE(pace->begun);

	return time_in_range_open(jiffies, begun, begun + HB_PATIENCE) &&
	       time_after_eq(jiffies, READ_ONCE(hurry_until));
}

/*
 * A worker begins to work. @owed: nanoseconds for which it is to do so before it may pause. Return:
 * the time from which on it may pause. Context: any.
 */
u64 hb_pace_from(u64 owed)
{
	return ktime_get_ns() + owed;
}

/*
 * A worker ends its work for a time in which it may have to wait for others. Return: nanoseconds of
 * work that it still owes before it may pause, @from being the time by hb_give_way(). Context: any.
 */
u64 hb_pace_owed(u64 from)
{
	u64 now = ktime_get_ns();

	return from > now ? from - now : 0;
}

/*
 * Another task wants the processor of this worker, which is to give way. @from: time from which on
 * it may pause, by hb_give_way(); 0 if it has not paused yet. Context: any.
 */
bool hb_is_in_way(const struct hb_pace *pace, u64 from)
{
	return !single_task_running() && hb_may_pause(pace) && ktime_get_ns() >= from;
}

/*
 * Pauses for so many microseconds, and half of that at most in addition, if hb_is_in_way(). Sets
 * *@from to the time from which on the worker may pause again. Context: may sleep; no lock is held,
 * but for the turn of limbo.
 */
void hb_give_way(const struct hb_pace *pace, u64 *from, unsigned int pause_us)
{
	u64 begin, end;

	if (!hb_is_in_way(pace, *from))
		return;
	begin = ktime_get_ns();
	/* Often the scheduler lets the other task run, which does not take long. */
	if (!cond_resched() || hb_is_in_way(pace, *from)) {
		/*
		 * Benign race in the hrtimer code: a task that begins to sleep reads plainly
		 * whether the timer has expired already, which the timer's function writes.
		 */
		data_race((usleep_range(pause_us, pause_us + pause_us / 2), 0));
	}
	end = ktime_get_ns();
	*from = end + (end - begin) / 4;
}
