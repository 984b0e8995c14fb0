// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clusters.h"
#include "random.h"
#include "workload.h"
#include "zipf.h"

/* Keys and values of the workloads that stand for no cluster. */
#define KEY_LEN		16
#define VALUE_LEN	1000

/* Their requests in a millisecond, and their times-to-live, milliseconds. */
#define RATE		10
#define LIFE_SHORT	1000
#define LIFE_LONG	100000
#define LIFE_ONE	10000

#define ZIPF_KEYS	100000

/* The scan: so many keys, each once, after every SCAN_EACH requests of the hot set. */
#define HOT_KEYS	20000
#define SCAN_KEYS	20000
#define SCAN_EACH	80000

/* The shift: after every SHIFT_EACH requests the most popular key is another one. */
#define SHIFT_KEYS	50000
#define SHIFT_EACH	25

#define VALUE_MAX	(512 * 1024)
#define KEY_MAX		250

/* One of @count times-to-live, each as many times as long as the one before. */
static uint64_t life(uint32_t key, unsigned int count)
{
	if (count == 1)
		return LIFE_ONE;
	return LIFE_SHORT * pow(LIFE_LONG / LIFE_SHORT, (mix(key + 1) % count) / (count - 1.0));
}

static void set_request(struct trace *trace, size_t i, uint32_t key, unsigned int lives)
{
	trace->requests[i] = (struct request){
		.time = i / RATE, .ttl = life(key, lives), .key = key,
		.key_len = KEY_LEN, .value_len = VALUE_LEN, .op = TRACE_GET,
	};
	if (key >= trace->keys)
		trace->keys = key + 1;
}

static void make_zipf(const struct workload *workload, struct trace *trace, uint64_t seed)
{
	struct zipf zipf = zipf_make(ZIPF_KEYS, workload->alpha);

	for (size_t i = 0; i < trace->count; i++)
		set_request(trace, i, zipf_draw(&zipf, &seed), workload->lives);
	zipf_free(&zipf);
}

static void make_scan(const struct workload *workload, struct trace *trace, uint64_t seed)
{
	struct zipf zipf = zipf_make(HOT_KEYS, workload->alpha);
	uint32_t scanned = HOT_KEYS;

	for (size_t i = 0; i < trace->count; i++) {
		bool scan = i % (SCAN_EACH + SCAN_KEYS) >= SCAN_EACH;

		set_request(trace, i, scan ? scanned++ : zipf_draw(&zipf, &seed),
			    workload->lives);
	}
	zipf_free(&zipf);
}

static void make_shift(const struct workload *workload, struct trace *trace, uint64_t seed)
{
	struct zipf zipf = zipf_make(SHIFT_KEYS, workload->alpha);

	for (size_t i = 0; i < trace->count; i++)
		set_request(trace, i, i / SHIFT_EACH + zipf_draw(&zipf, &seed), workload->lives);
	zipf_free(&zipf);
}

/* A number drawn from an exponential distribution, by a hash: always the same for a key. */
static uint32_t spread(uint64_t hash, double mean, uint32_t least, uint32_t most)
{
	double size = -log(1 - random_unit(&hash)) * mean + 0.5;

	return size < least ? least : size > most ? most : (uint32_t)size;
}

static uint64_t cluster_life(const struct cluster *cluster, uint64_t hash)
{
	double sum = 0, at;
	unsigned int i;

	for (i = 0; i < CLUSTER_LIVES; i++)
		sum += cluster->lives[i].share;
	at = random_unit(&hash) * sum;
	for (i = 0; i + 1 < CLUSTER_LIVES && cluster->lives[i + 1].seconds; i++) {
		at -= cluster->lives[i].share;
		if (at < 0)
			break;
	}
	return cluster->lives[i].seconds * 1000ull;
}

/*
 * The first request of a key is a put, as far as there are puts; @share of all requests are the
 * first of their keys.
 */
static enum trace_op cluster_op(const struct cluster *cluster, bool first, double share,
				uint64_t *seed)
{
	double puts = cluster->sets + cluster->adds, chance;

	if (first)
		chance = puts < share ? puts / share : 1;
	else
		chance = puts < share ? 0 : (puts - share) / (1 - share);
	if (random_unit(seed) < cluster->removes / (1 - puts) && !first)
		return TRACE_REMOVE;
	if (random_unit(seed) >= chance)
		return TRACE_GET;
	return random_unit(seed) * puts < cluster->adds ? TRACE_ADD : TRACE_SET;
}

/*
 * A sample of the keys of a cluster, with all requests of these keys: so there are as many requests
 * for each key as there were. The keys that are requested once come in at any time. Sizes and lives
 * belong to keys.
 */
static void make_cluster(const struct workload *workload, struct trace *trace, uint64_t seed)
{
	const struct cluster *cluster = cluster_find(workload->cluster);
	double all = trace->count / cluster->frequency, singles = all * cluster->single;
	uint32_t popular = all - singles + 1;
	struct zipf zipf = zipf_make(popular, cluster->alpha);
	bool *seen = zalloc(popular + trace->count, sizeof(*seen));

	trace->keys = popular;
	for (size_t i = 0; i < trace->count; i++) {
		bool single = random_unit(&seed) < singles / trace->count;
		uint32_t key = single ? trace->keys++ : zipf_draw(&zipf, &seed);

		trace->requests[i] = (struct request){
			.time = (double)i / trace->count * cluster->span * 1000,
			.ttl = cluster_life(cluster, mix(3ull * key + 1)),
			.key = key,
			.key_len = spread(mix(3ull * key + 2), cluster->key_len, 8, KEY_MAX),
			.value_len = spread(mix(3ull * key + 3), cluster->value_len, 1, VALUE_MAX),
			.op = cluster_op(cluster, !seen[key], 1 / cluster->frequency, &seed),
		};
		seen[key] = true;
	}
	free(seen);
	zipf_free(&zipf);
}

const struct workload workloads[] = {
	{ "zipf-0.8", make_zipf, .alpha = 0.8, .lives = 1 },
	{ "zipf-0.8-2", make_zipf, .alpha = 0.8, .lives = 2 },
	{ "zipf-0.8-4", make_zipf, .alpha = 0.8, .lives = 4 },
	{ "zipf-1.0", make_zipf, .alpha = 1.0, .lives = 1 },
	{ "zipf-1.0-2", make_zipf, .alpha = 1.0, .lives = 2 },
	{ "zipf-1.0-4", make_zipf, .alpha = 1.0, .lives = 4 },
	{ "zipf-1.2", make_zipf, .alpha = 1.2, .lives = 1 },
	{ "zipf-1.2-2", make_zipf, .alpha = 1.2, .lives = 2 },
	{ "zipf-1.2-4", make_zipf, .alpha = 1.2, .lives = 4 },
	{ "scan", make_scan, .alpha = 0.8, .lives = 1 },
	{ "scan-4", make_scan, .alpha = 0.8, .lives = 4 },
	{ "shift", make_shift, .alpha = 1.0, .lives = 1 },
	{ "shift-4", make_shift, .alpha = 1.0, .lives = 4 },
	{ "cluster-6", make_cluster, .cluster = 6 },
	{ "cluster-7", make_cluster, .cluster = 7 },
	{ "cluster-12", make_cluster, .cluster = 12 },
	{ "cluster-18", make_cluster, .cluster = 18 },
	{ "cluster-19", make_cluster, .cluster = 19 },
	{ "cluster-22", make_cluster, .cluster = 22 },
	{ "cluster-25", make_cluster, .cluster = 25 },
	{ "cluster-52", make_cluster, .cluster = 52 },
	{ NULL }
};

const struct workload *workload_find(const char *name)
{
	for (const struct workload *workload = workloads; workload->name; workload++)
		if (!strcmp(workload->name, name))
			return workload;
	return NULL;
}

struct trace workload_make(const struct workload *workload, size_t requests, uint64_t seed)
{
	struct trace trace = { zalloc(requests, sizeof(struct request)), requests, 0 };

	workload->make(workload, &trace, seed);
	return trace;
}
