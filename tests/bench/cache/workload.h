/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _WORKLOAD_H
#define _WORKLOAD_H

#include <stdbool.h>

#include "trace.h"

/**
 * struct workload - a kind of trace that can be generated
 * @name:	its name
 * @make:	generates so many requests; @seed chooses the random numbers
 * @cluster:	number of the cluster of clusters.c, or 0
 * @alpha:	exponent of the Zipf distribution of the keys
 * @lives:	number of times-to-live
 */
struct workload {
	const char *name;
	void (*make)(const struct workload *workload, struct trace *trace, uint64_t seed);
	unsigned int cluster;
	double alpha;
	unsigned int lives;
};

extern const struct workload workloads[];

const struct workload *workload_find(const char *name);
struct trace workload_make(const struct workload *workload, size_t requests, uint64_t seed);

#endif /* _WORKLOAD_H */
