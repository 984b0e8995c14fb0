// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <time.h>

#include "measure.h"

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection. */
uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void lower(double *least, double ns)
{
	if (!*least || ns < *least)
		*least = ns;
}

/* @floor: nanoseconds of SLICE calls of the floor; @ns: of @calls calls of the operation. */
void slices_add(struct slices *slices, uint64_t floor, uint64_t ns, unsigned int calls)
{
	slices->sum += (double)ns / calls;
	slices->floor_sum += (double)floor / SLICE;
	lower(&slices->least, (double)ns / calls);
	lower(&slices->floor_least, (double)floor / SLICE);
}

static void print_size(const char *name, uint64_t size)
{
	if (size)
		printf(",\"%s\":%llu", name, (unsigned long long)size);
}

/* The members that all lines of JSON have. */
static void print_head(const char *kind, const struct figure *figure)
{
	printf("{\"figure\":\"%s\",\"peer\":\"%s\",\"entries\":%llu,\"value_size\":%llu", kind,
	       figure->peer, (unsigned long long)figure->entries,
	       (unsigned long long)figure->value_size);
	print_size("buckets", figure->buckets);
	print_size("belts", figure->belts);
}

/* figures.sh describes the members of the JSON. */
void print_cost(const struct figure *figure, bool json)
{
	if (json) {
		print_head("cost", figure);
		printf(",\"operation\":\"%s\",\"ratio\":%.3f", figure->operation, figure->ratio);
		if (figure->unit)
			printf(",\"unit\":\"%s\",\"cost\":%.1f,\"floor\":%.1f", figure->unit,
			       figure->cost, figure->floor);
		if (figure->server)
			printf(",\"server\":%.1f", figure->server);
		if (figure->share)
			printf(",\"share\":%.3f", figure->share);
		puts("}");
	} else {
		printf("%-18s %6.2f", figure->operation, figure->ratio);
		if (figure->unit)
			printf("  %7.0f %s (floor %.0f)", figure->cost, figure->unit,
			       figure->floor);
		if (figure->server)
			printf("  %7.0f of the server", figure->server);
		if (figure->share)
			printf("  %.3f without a system call", figure->share);
		putchar('\n');
	}
	fflush(stdout);
}

/* @bytes: of an entry, its share of all tables included. */
void print_memory(const struct figure *figure, double bytes, bool json)
{
	if (json) {
		print_head("memory", figure);
		printf(",\"bytes\":%.1f}\n", bytes);
	} else {
		printf("an entry of %-6llu %6.1f  bytes, index and wheels included\n",
		       (unsigned long long)figure->value_size + 16, bytes);
	}
	fflush(stdout);
}

void print_idle(const struct figure *figure, double bytes, bool json)
{
	if (json) {
		print_head("idle", figure);
		printf(",\"bytes\":%.1f}\n", bytes);
	} else {
		printf("an idle connection    %8.1f  bytes\n", bytes);
	}
	fflush(stdout);
}

/* @phase: in which the latencies were measured. */
void print_latencies(const struct figure *figure, const char *phase,
		     const struct latencies *latencies, bool json)
{
	static const double percentiles[] = { 50, 90, 99, 99.9, 99.99, 100 };

	for (unsigned int i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++) {
		unsigned long long ns = latencies_percentile(latencies, percentiles[i]);

		if (json) {
			print_head("latency", figure);
			printf(",\"phase\":\"%s\",\"percentile\":%g,\"ns\":%llu}\n", phase,
			       percentiles[i], ns);
		} else {
			printf("%s: %g %% within %llu ns\n", phase, percentiles[i], ns);
		}
	}
	fflush(stdout);
}
