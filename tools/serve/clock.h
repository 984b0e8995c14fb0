/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of hbserve. */
#ifndef HBSERVE_CLOCK_H
#define HBSERVE_CLOCK_H

#include <time.h>

/**
 * seconds_now() - the time since some moment in the past
 *
 * Return: seconds.
 */
static inline unsigned int seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

#endif /* HBSERVE_CLOCK_H */
