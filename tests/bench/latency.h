/* SPDX-License-Identifier: GPL-2.0-only */
/* A histogram of latencies, whose percentiles are too high by a 64th at most. */
#ifndef _LATENCY_H
#define _LATENCY_H

#include <stdint.h>

/* Classes of latencies: 64 for each power of two of nanoseconds. */
#define LATENCY_CLASSES	4096u

/**
 * struct latencies - how long calls took
 * @count:	number of calls, by class of latency
 * @sum:	number of calls
 * @most:	longest latency in nanoseconds
 */
struct latencies {
	uint64_t count[LATENCY_CLASSES];
	uint64_t sum;
	uint64_t most;
};

void latencies_add(struct latencies *latencies, uint64_t ns);
uint64_t latencies_percentile(const struct latencies *latencies, double percentile);

#endif /* _LATENCY_H */
