/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_WORKER_H
#define _HASHBELT_WORKER_H

#include <linux/workqueue.h>

struct hashbelt_belt;

/* Returned by hb_step(). */
#define HB_MORE_DUE	0x1	/* nodes that are due */
#define HB_MORE_WORK	0x2	/* anything else */
#define HB_IN_WAY	0x4	/* the worker is to give way before it goes on */

unsigned int hb_step(struct hashbelt_belt *belt, u64 until);
bool hb_step_once(struct hashbelt_belt *belt);
void hb_belt_work(struct work_struct *work);
void hb_crew_init(struct hashbelt_belt *belt);
void hb_run_rounds(struct hashbelt_belt *belt);

#endif /* _HASHBELT_WORKER_H */
