// SPDX-License-Identifier: GPL-2.0-only
#include "latency.h"

static unsigned int class_of(uint64_t ns)
{
	unsigned int power = ns < 64 ? 6 : 63 - __builtin_clzll(ns);

	return power * 64 + ((ns >> (power - 6)) & 63);
}

static uint64_t end_of(unsigned int class)
{
	return (uint64_t)(64 + class % 64 + 1) << (class / 64 - 6);
}

void latencies_add(struct latencies *latencies, uint64_t ns)
{
	latencies->count[class_of(ns)]++;
	latencies->sum++;
	if (ns > latencies->most)
		latencies->most = ns;
}

/* The nanoseconds that so many of 100 calls took at most. */
uint64_t latencies_percentile(const struct latencies *latencies, double percentile)
{
	uint64_t seen = 0;
	unsigned int class;

	for (class = 0; class < LATENCY_CLASSES; class++) {
		seen += latencies->count[class];
		if (seen * 100.0 >= latencies->sum * percentile)
			break;
	}
	return class < LATENCY_CLASSES && end_of(class) < latencies->most ? end_of(class) :
									    latencies->most;
}
