/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of hbfollow. */
#ifndef HBFOLLOW_CLOCK_H
#define HBFOLLOW_CLOCK_H

#include <stdint.h>
#include <time.h>

/**
 * clock_us() - the time since the machine was started, which goes on while it sleeps
 *
 * Return: microseconds.
 */
static inline uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

#endif /* HBFOLLOW_CLOCK_H */
