/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cost of an operation beside that of the floor, an ioctl that returns at once.
 *
 * An operation is measured in slices of SLICE calls, alternating with slices of the floor. So both
 * run under the same load: times vary, the ratio does not.
 */
#ifndef _MEASURE_H
#define _MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "latency.h"

#define SLICE	64

/**
 * struct slices - the slices that were measured of an operation
 * @sum:	nanoseconds of all
 * @least:	nanoseconds of the cheapest call, on average over the calls of a slice
 * @floor_sum:	nanoseconds of the slices of the floor between them
 * @floor_least: as @least, of the floor
 */
struct slices {
	double sum;
	double least;
	double floor_sum;
	double floor_least;
};

/**
 * struct figure - a cost to print
 * @peer:	the measured cache
 * @operation:	the measured operation
 * @unit:	of @cost and @floor: "ns", or "instructions"; NULL: unknown
 * @entries:	number of entries in the cache
 * @value_size:	bytes of a value
 * @buckets:	of a belt; 0: the cache has none
 * @belts:	number of belts that the entries are spread over; 0: the cache is no belt
 * @cost:	of a call in the cheapest slice
 * @server:	the part of a server, in the slice in which that was the least; 0: there is none
 * @floor:	as @cost, of an ioctl that returns at once
 * @ratio:	the cost of all slices, divided by that of as many slices of the floor
 * @share:	the share of gets that made no system call; 0: each makes one, or unknown
 */
struct figure {
	const char *peer;
	const char *operation;
	const char *unit;
	uint64_t entries;
	uint64_t value_size;
	uint64_t buckets;
	uint64_t belts;
	double cost;
	double server;
	double floor;
	double ratio;
	double share;
};

uint64_t now_ns(void);
uint64_t mix(uint64_t x);
void slices_add(struct slices *slices, uint64_t floor, uint64_t ns, unsigned int calls);
void print_cost(const struct figure *figure, bool json);
void print_memory(const struct figure *figure, double bytes, bool json);
void print_idle(const struct figure *figure, double bytes, bool json);
void print_latencies(const struct figure *figure, const char *phase,
		     const struct latencies *latencies, bool json);

#endif /* _MEASURE_H */
