// SPDX-License-Identifier: GPL-2.0-only
/*
 * simulate - the miss ratios of orders of eviction, by simulation.
 *
 *	simulate [--requests N] [--room PERCENT] [--seed N] [--trace FILE] [--belts|--rules]
 *		[WORKLOAD]...
 *
 * Plays workloads, or a trace in the format of twitter/cache-trace, on caches that differ in their
 * order of eviction only. Their room is PERCENT of the bytes that a cache which evicts nothing
 * comes to hold. A read that misses is followed by a put. Prints a line for each workload: the
 * entries that there is room for, and the share of reads that miss. "unlimited" evicts nothing. In
 * FIFO, LRU, SIEVE and S3-FIFO an expired object takes room until it is read or would be evicted.
 *
 * With --belts, prints how the details of a belt change the miss ratio of its order: ghosts,
 * shards and buckets. With --rules, compares simpler rules for a new object that has a ghost:
 * without the count of how common ghosts are; one that counts as read; and both.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cache.h"
#include "twitter.h"
#include "workload.h"

#define UNLIMITED	(UINT64_MAX / 2)

/**
 * struct column - a cache of the table
 * @title:	of the column
 * @order:	of eviction
 * @prompt:	expired objects leave at once, whatever the order
 * @geometry:	of a belt; an @interval of 0: its life, a tenth of the longest, by the buckets;
 *		@ghosts: so many times those of a belt with the expected number of entries
 */
struct column {
	const char *title;
	const struct order *order;
	bool prompt;
	struct geometry geometry;
};

#define EXACT	{ .shards = 1, .interval = 1 }
#define GHOSTS	{ .shards = 1, .interval = 1, .ghosts = 1 }

static const struct column orders[] = {
	{ "unlimited", &unlimited, true, EXACT },
	{ "FIFO", &fifo, false, EXACT },
	{ "LRU", &lru, false, EXACT },
	{ "SIEVE", &sieve, false, EXACT },
	{ "S3-FIFO", &s3fifo, false, EXACT },
	{ "unread", &unread_order, true, GHOSTS },
	{ NULL }
};

static const struct column belts[] = {
	{ "SIEVE", &sieve, false, EXACT },
	{ "unread", &unread_order, true, GHOSTS },
	{ "4x ghosts", &unread_order, true, { .shards = 1, .interval = 1, .ghosts = 4 } },
	{ "10x ghosts", &unread_order, true, { .shards = 1, .interval = 1, .ghosts = 10 } },
	{ "8 shards", &unread_order, true, { .shards = 8, .interval = 1, .ghosts = 1 } },
	{ "5 buckets", &unread_order, true, { .shards = 1, .buckets = 5, .ghosts = 1 } },
	{ "500 buckets", &unread_order, true, { .shards = 1, .buckets = 500, .ghosts = 1 } },
	{ "both", &unread_order, true, { .shards = 8, .buckets = 500, .ghosts = 1 } },
	{ NULL }
};

#define RULE(rule)	{ .shards = 1, .interval = 1, .ghosts = 1, .simpler = (rule) }

static const struct column rules[] = {
	{ "LRU", &lru, false, EXACT },
	{ "unread", &unread_order, true, GHOSTS },
	{ "no common", &unread_order, true, RULE(SIMPLER_NO_COMMON) },
	{ "as read", &unread_order, true, RULE(SIMPLER_AS_READ) },
	{ "both", &unread_order, true, RULE(SIMPLER_NO_COMMON | SIMPLER_AS_READ) },
	{ NULL }
};

/**
 * struct settings - what the command line says
 * @columns:	caches to play
 * @requests:	to generate
 * @room:	percent of what a cache without limit comes to hold
 * @seed:	for the generator
 * @file:	a trace to play, or NULL
 */
struct settings {
	const struct column *columns;
	size_t requests;
	double room;
	uint64_t seed;
	const char *file;
};

static void usage(FILE *to)
{
	fputs("usage: simulate [OPTION]... [WORKLOAD]...\n"
	      "	--requests N	requests to generate (1000000)\n"
	      "	--room PERCENT	of the bytes that all objects would take (10)\n"
	      "	--seed N	another trace for each N (1)\n"
	      "	--trace FILE	play a trace in the format of twitter/cache-trace\n"
	      "	--belts		compare details of belts\n"
	      "	--rules		compare simpler rules for keys that come back\n"
	      "workloads:", to);
	for (const struct workload *workload = workloads; workload->name; workload++)
		fprintf(to, " %s", workload->name);
	fputc('\n', to);
}

/* The mean size of an object, and in *@longest the longest time-to-live. */
static double mean_size(const struct trace *trace, uint64_t *longest)
{
	double sum = 0;

	*longest = 1;
	for (size_t i = 0; i < trace->count; i++) {
		const struct request *request = &trace->requests[i];

		sum += OBJECT_BYTES + request->key_len + request->value_len;
		if (request->ttl > *longest)
			*longest = request->ttl;
	}
	return sum / trace->count;
}

static double ratio(uint64_t misses, uint64_t gets)
{
	return gets ? (double)misses / gets : 0;
}

static double play(const struct trace *trace, const struct column *column, uint64_t room,
		   size_t expected, uint64_t longest)
{
	struct geometry geometry = column->geometry;
	struct order order = *column->order;
	struct result result;

	if (!geometry.interval)
		geometry.interval = longest / 10 / (geometry.buckets - 1) + 1;
	geometry.ghosts *= ghosts_for(expected);
	order.prompt = column->prompt;
	result = cache_play(trace, &order, column->order == &unlimited ? UNLIMITED : room,
			    &geometry);
	return ratio(result.misses, result.gets);
}

static void print_titles(const struct settings *settings)
{
	printf("%-11s %7s", "workload", "entries");
	for (const struct column *column = settings->columns; column->title; column++)
		printf(" %11s", column->title);
	putchar('\n');
}

static void print_line(const char *name, const struct trace *trace,
		       const struct settings *settings)
{
	struct geometry geometry = EXACT;
	struct result all = cache_play(trace, &unlimited, UNLIMITED, &geometry);
	uint64_t room = all.most * settings->room / 100, longest;
	size_t expected = room / mean_size(trace, &longest);

	printf("%-11s %7zu", name, expected);
	for (const struct column *column = settings->columns; column->title; column++) {
		printf(" %11.4f", play(trace, column, room, expected, longest));
		fflush(stdout);
	}
	putchar('\n');
}

static int play_file(const struct settings *settings)
{
	FILE *file = fopen(settings->file, "r");
	struct trace trace;
	size_t bad;

	if (!file) {
		perror(settings->file);
		return 1;
	}
	bad = twitter_read(file, &trace);
	fclose(file);
	if (bad) {
		fprintf(stderr, "%s:%zu: not \"%s\" in the order of time\n", settings->file, bad,
			"timestamp,key,key size,value size,client,operation,TTL");
		return 1;
	}
	print_titles(settings);
	print_line("trace", &trace, settings);
	trace_free(&trace);
	return 0;
}

static void play_workload(const struct workload *workload, const struct settings *settings)
{
	struct trace trace = workload_make(workload, settings->requests, settings->seed);

	print_line(workload->name, &trace, settings);
	trace_free(&trace);
}

static int play_workloads(char **names, const struct settings *settings)
{
	for (char **name = names; *name; name++)
		if (!workload_find(*name)) {
			fprintf(stderr, "simulate: no such workload: %s\n", *name);
			usage(stderr);
			return 2;
		}
	print_titles(settings);
	for (const struct workload *workload = workloads; !*names && workload->name; workload++)
		play_workload(workload, settings);
	for (char **name = names; *name; name++)
		play_workload(workload_find(*name), settings);
	return 0;
}

static bool set_option(int option, struct settings *settings)
{
	switch (option) {
	case 'n':
		settings->requests = strtoull(optarg, NULL, 10);
		return settings->requests && settings->requests <= UINT32_MAX;
	case 'r':
		settings->room = atof(optarg);
		return settings->room > 0;
	case 's':
		settings->seed = strtoull(optarg, NULL, 10);
		return true;
	case 't':
		settings->file = optarg;
		return true;
	case 'b':
		settings->columns = belts;
		return true;
	case 'c':
		settings->columns = rules;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "requests", required_argument, NULL, 'n' },
		{ "room", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "trace", required_argument, NULL, 't' },
		{ "belts", no_argument, NULL, 'b' },
		{ "rules", no_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	struct settings settings = {
		.columns = orders, .requests = 1000000, .room = 10, .seed = 1,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h') {
			usage(stdout);
			return 0;
		}
		if (!set_option(option, &settings)) {
			usage(stderr);
			return 2;
		}
	}
	return settings.file ? play_file(&settings) : play_workloads(argv + optind, &settings);
}
