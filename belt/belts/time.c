// SPDX-License-Identifier: GPL-2.0-only
/* Belt time by hand: halting it, letting it go on, and moving it. */
#include "belt/belt.h"
#include "belt/shard/shard.h"
#include "belt/wait/lease.h"
#include "time.h"
#include "worker.h"

/* Stops belt time. Context: may sleep. */
void hb_halt(struct hashbelt_belt *belt)
{
	hb_clock_halt(&belt->clock);
	hb_sleepers_wake(belt);
}

/* Lets belt time go on from where it was halted. Context: may sleep. */
void hb_resume(struct hashbelt_belt *belt)
{
	hb_clock_resume(&belt->clock);
	hb_sleepers_wake(belt);
}

/* Moves belt time on by nanoseconds: hashbelt_advance(). Context: may sleep. */
int hb_advance(struct hashbelt_belt *belt, u64 by)
{
	int err = hb_clock_advance(&belt->clock, by);

	if (err)
		return err;
	hb_sleepers_wake(belt);
	hb_run_rounds(belt);
	return 0;
}

/* Moves belt time on by one interval. Return: 0, or -EOVERFLOW at the end of its range. */
int hb_rotate(struct hashbelt_belt *belt)
{
	return hb_advance(belt, hb_interval(belt));
}
