/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_PACE_H
#define _HASHBELT_PACE_H

#include <linux/semaphore.h>
#include <linux/types.h>

/**
 * struct hb_pace - when the workers of a belt give way to other tasks of their processor
 * @begun:	jiffies since which they do, for HB_PATIENCE; no lock protects it
 * @busy:	the worker has more to do; written under belt->round_lock, and read as a hint
 * @turn:	one work item of limbo that gives way frees entries, and others wait. From 6.12 on
 *		the scheduler may count a task that sleeps as one that wants the processor, so items
 *		that paused by turns would keep each other pausing. A mutex would spin, and take the
 *		processor from the task for which its waiter gives way. No lock is taken inside
 */
struct hb_pace {
	unsigned long begun;
	bool busy;
	struct semaphore turn;
};

/* Jiffies for which workers give way if there is much to do, and do not if it is urgent. */
#define HB_PATIENCE	(2 * HZ)

void hb_pace_init(struct hb_pace *pace);
void hb_pace_begin(struct hb_pace *pace);
void hb_pace_end(struct hb_pace *pace);
bool hb_may_pause(const struct hb_pace *pace);
u64 hb_pace_from(u64 owed);
u64 hb_pace_owed(u64 from);
bool hb_is_in_way(const struct hb_pace *pace, u64 from);
void hb_give_way(const struct hb_pace *pace, u64 *from, unsigned int pause_us);
void hb_hurry(void);

#endif /* _HASHBELT_PACE_H */
