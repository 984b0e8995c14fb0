/* SPDX-License-Identifier: GPL-2.0-only */
/* compete.h - threads that make calls at the same time, and count unexpected results. */
#ifndef _COMPETE_H
#define _COMPETE_H

#include <pthread.h>

#include "device.h"

static bool over;
static unsigned int bad;		/* unexpected results; atomic */
static unsigned int turns;		/* of the threads, as they count them; atomic */

static inline void count(unsigned int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
}

static inline void expect(bool good)
{
	if (!good)
		count(&bad);
}

static inline bool going(void)
{
	return !__atomic_load_n(&over, __ATOMIC_RELAXED);
}

/* True until the other threads have had so many turns. */
static inline bool early(unsigned int want)
{
	return __atomic_load_n(&turns, __ATOMIC_ACQUIRE) < want;
}

/*
 * Runs @worker in @n threads, up to eight, with their numbers, and @leader, if any, in this one.
 * When @leader returns, going() ends the threads.
 */
static inline void compete(void *(*worker)(void *number), unsigned int n, void (*leader)(void))
{
	pthread_t threads[8];
	uintptr_t i;

	over = false;
	bad = 0;
	turns = 0;
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)i))
			bail_out("no thread");
	if (leader)
		leader();
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

#endif /* _COMPETE_H */
