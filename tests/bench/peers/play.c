// SPDX-License-Identifier: GPL-2.0-only
/*
 * play - play a workload on belts, memcached and Redis with the same memory.
 *
 *	play DIRECTORY BYTES REQUESTS PACE WORKLOAD
 *
 * DIRECTORY has the sockets of the servers: memcached, redis-lru, redis-lfu and redis-ttl. Each may
 * use BYTES. Each request is made on all of them in turn, and a get that misses is followed by a
 * put. A request comes every PACE microseconds, or later if this machine is slower: in this time,
 * lives pass for the servers. The time of belts is moved on by hand, to that of the trace.
 *
 * About REQUESTS are played: those of every SAMPLE-th key of a trace that is SAMPLE times as long.
 * Scans and lives keep their proportion to the number of keys, as they do not in a shorter trace.
 *
 * Servers cannot be given as little memory as some workloads need. So all objects are made larger
 * by the same factor, up to FACTOR_MAX, until BYTES is a fifth of the room that all of them take
 * at a time.
 *
 * Prints lines, each of which begins with a word and the workload: "trace", with the number of
 * requests and of keys; "misses", with the share of gets that miss; "used", with the MiB that each
 * cache counts, less those of an empty one; "wall", with the seconds that the trace took, and the
 * percentage by which lives were shorter or longer at times, because the speed changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "hashbelt.h"
#include "peer.h"
#include "random.h"
#include "workload.h"

#define FACTOR_MAX	100
#define SAMPLE		10
#define PORTION		5	/* the memory is one of so many parts of what all objects take */
#define KEY_LEN_MAX	250	/* of memcached */
#define SETTLE		200	/* requests before the speed is known */
#define MIB		(1024.0 * 1024.0)
#define OBJECT_BYTES	64	/* beside key and value: about the header of a belt's entry */

enum { BELT, MEMCACHED, REDIS_LRU, REDIS_LFU, REDIS_TTL, PEERS };

static struct peer peers[PEERS] = {
	[BELT] = { .name = "belt" },
	[MEMCACHED] = { .name = "memcached" },
	[REDIS_LRU] = { .name = "redis-lru" },
	[REDIS_LFU] = { .name = "redis-lfu" },
	[REDIS_TTL] = { .name = "redis-ttl" },
};

static char value[PEER_VALUE_MAX];

void die(const char *what, const char *why)
{
	fprintf(stderr, "play: %s: %s\n", what, why);
	exit(4);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void open_peers(const char *directory, uint64_t bytes, uint64_t longest)
{
	struct hashbelt_settings settings = {
		.ttl_ms = longest / 10 + 1, .policy = HASHBELT_EVICT, .max_bytes = bytes,
	};
	char path[256];

	belt_open(&peers[BELT], &settings);
	for (int i = MEMCACHED; i < PEERS; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, peers[i].name);
		if (i == MEMCACHED)
			memcached_open(&peers[i], path);
		else
			redis_open(&peers[i], path, bytes);
	}
}

static void do_request(struct peer *peer, const struct request *request, const char *key,
		       uint64_t ttl)
{
	bool ok = true;

	switch (request->op) {
	case TRACE_GET:
		peer->gets++;
		if (peer->ops->get(peer, key, request->key_len))
			break;
		peer->misses++;
		ok = peer->ops->put(peer, key, request->key_len, value, request->value_len, ttl);
		break;
	case TRACE_SET:
		ok = peer->ops->put(peer, key, request->key_len, value, request->value_len, ttl);
		break;
	case TRACE_ADD:
		ok = peer->ops->add(peer, key, request->key_len, value, request->value_len, ttl);
		break;
	case TRACE_REMOVE:
		peer->ops->remove(peer, key, request->key_len);
		break;
	}
	peer->refused += !ok;
}

/*
 * Makes a request on all of them, beginning with number @turn. @stretch: nanoseconds that pass for
 * the servers for a millisecond of the trace.
 */
static void play_request(const struct request *request, double stretch, unsigned int turn)
{
	char key[KEY_LEN_MAX + 1];
	uint64_t ttl = request->ttl * stretch / 1e6;

	memset(key, '.', sizeof(key));
	sprintf(key, "%08x", request->key);
	key[8] = '.';
	if (request->ttl && !ttl)
		ttl = 1;
	for (int i = 0; i < PEERS; i++) {
		int number = (turn + i) % PEERS;
		bool belt = number == BELT;

		if (belt)
			belt_advance(&peers[number], request->time);
		do_request(&peers[number], request, key, belt ? request->ttl : ttl);
	}
}

static void sleep_until(uint64_t due)
{
	struct timespec t = { due / 1000000000, due % 1000000000 };

	if (now_ns() < due)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/*
 * The requests of a trace come at equal intervals or nearly so, but this machine may be slower than
 * the pace, and now and then slower than usual: lives are stretched as the trace has been so far.
 */
static void play_trace(const char *name, const struct trace *trace, unsigned long pace)
{
	uint64_t span = trace->requests[trace->count - 1].time + 1, start = now_ns();
	double wanted = 1000.0 * pace * trace->count / span, stretch = wanted;
	double least = 0, most = 0;

	for (size_t i = 0; i < trace->count; i++) {
		uint64_t time = trace->requests[i].time;

		sleep_until(start + time * wanted);
		if (i >= SETTLE && time)
			stretch = (double)(now_ns() - start) / time;
		/* The first requests find empty caches. */
		if (stretch < least || i <= trace->count / 4)
			least = stretch;
		if (stretch > most || i <= trace->count / 4)
			most = stretch;
		play_request(&trace->requests[i], stretch, i % PEERS);
	}
	printf("wall %s %.0f %.0f\n", name, (now_ns() - start) / 1e9, 100 * (most / least - 1));
}

static int64_t size_of(const struct request *request)
{
	return OBJECT_BYTES + request->key_len + request->value_len;
}

/* At @time, a cache comes to hold so many more or fewer bytes. */
struct change {
	uint64_t time;
	int64_t bytes;
};

/* Those that make it smaller come first. */
static int compare_changes(const void *a, const void *b)
{
	const struct change *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return (one->bytes > other->bytes) - (one->bytes < other->bytes);
}

/* The most bytes that a cache without a limit holds at a time. */
static uint64_t most_bytes(const struct trace *trace)
{
	struct change *changes = zalloc(2 * trace->count, sizeof(*changes));
	size_t *ends = zalloc(trace->keys, sizeof(*ends)), count = 0;	/* behind that of the key */
	int64_t bytes = 0, most = 0;

	for (size_t i = 0; i < trace->count; i++) {
		const struct request *request = &trace->requests[i];
		size_t *end = &ends[request->key];
		bool live = *end && changes[*end - 1].time > request->time;

		if (live && (request->op == TRACE_GET || request->op == TRACE_ADD))
			continue;
		if (live)
			changes[*end - 1].time = request->time;
		if (request->op == TRACE_REMOVE)
			continue;
		changes[count++] = (struct change){ request->time, size_of(request) };
		changes[count++] = (struct change){
			request->ttl ? request->time + request->ttl : UINT64_MAX, -size_of(request),
		};
		*end = count;
	}
	qsort(changes, count, sizeof(*changes), compare_changes);
	for (size_t i = 0; i < count; i++) {
		bytes += changes[i].bytes;
		most = bytes > most ? bytes : most;
	}
	free(changes);
	free(ends);
	return most;
}

/* False: even FACTOR_MAX is too small a factor for so little data. */
static bool enlarge(struct trace *trace, uint64_t bytes)
{
	uint64_t most = most_bytes(trace), factor = (bytes * PORTION + most - 1) / most, size;

	if (factor > FACTOR_MAX)
		return false;
	for (size_t i = 0; i < trace->count; i++) {
		struct request *request = &trace->requests[i];

		if (request->key_len < 8)
			request->key_len = 8;
		if (request->key_len > KEY_LEN_MAX)
			request->key_len = KEY_LEN_MAX;
		size = size_of(request) * factor - OBJECT_BYTES - request->key_len;
		request->value_len = size > PEER_VALUE_MAX ? PEER_VALUE_MAX : size;
	}
	return true;
}

static unsigned int part_of(const struct request *request)
{
	return mix(request->key + 1) % SAMPLE;
}

/* Leaves the requests of the part of the keys whose number of requests is nearest to @wanted. */
static void sample(struct trace *trace, size_t wanted)
{
	size_t counts[SAMPLE] = { 0 }, kept = 0;
	unsigned int best = 0;

	for (size_t i = 0; i < trace->count; i++)
		counts[part_of(&trace->requests[i])]++;
	for (unsigned int part = 1; part < SAMPLE; part++)
		if (llabs((long long)(counts[part] - wanted)) <
		    llabs((long long)(counts[best] - wanted)))
			best = part;
	for (size_t i = 0; i < trace->count; i++)
		if (part_of(&trace->requests[i]) == best)
			trace->requests[kept++] = trace->requests[i];
	trace->count = kept;
}

static struct trace make_trace(const char *name, size_t requests)
{
	const struct workload *workload = workload_find(name);
	struct trace trace;

	if (!workload)
		die(name, "no such workload");
	trace = workload_make(workload, requests * SAMPLE, 1);
	sample(&trace, requests);
	return trace;
}

static void print_trace(const char *name, const struct trace *trace)
{
	bool *seen = zalloc(trace->keys, sizeof(*seen));
	size_t keys = 0;

	for (size_t i = 0; i < trace->count; i++) {
		keys += !seen[trace->requests[i].key];
		seen[trace->requests[i].key] = true;
	}
	free(seen);
	printf("trace %s %zu %zu\n", name, trace->count, keys);
	fflush(stdout);
}

static void print_titles(void)
{
	printf("titles peers");
	for (int i = 0; i < PEERS; i++)
		printf(" %s", peers[i].name);
	printf("\n");
}

static void print_misses(const char *name)
{
	printf("misses %s", name);
	for (int i = 0; i < PEERS; i++)
		printf(" %.4f", (double)peers[i].misses / peers[i].gets);
	printf("\n");
}

/* @empty: the bytes that each of them used at the beginning. */
static void print_use(const char *name, const uint64_t *empty)
{
	printf("used %s", name);
	for (int i = 0; i < PEERS; i++)
		printf(" %.2f", (peers[i].ops->used(&peers[i]) - empty[i]) / MIB);
	putchar('\n');
	for (int i = 0; i < PEERS; i++)
		if (peers[i].refused)
			fprintf(stderr, "play: %s: %s refused %lu puts\n", name, peers[i].name,
				peers[i].refused);
}

int main(int argc, char **argv)
{
	uint64_t empty[PEERS], longest = 1, bytes;
	struct trace trace;

	if (argc < 6) {
		fprintf(stderr, "usage: play DIRECTORY BYTES REQUESTS PACE WORKLOAD\n");
		return 2;
	}
	bytes = strtoull(argv[2], NULL, 10);
	trace = make_trace(argv[5], strtoull(argv[3], NULL, 10));
	if (!enlarge(&trace, bytes)) {
		fprintf(stderr, "play: %s: left out: its data take less than 1/%d of the memory; "
			"play more REQUESTS\n", argv[5], FACTOR_MAX / PORTION);
		return 0;
	}
	for (size_t i = 0; i < trace.count; i++)
		if (trace.requests[i].ttl > longest)
			longest = trace.requests[i].ttl;
	open_peers(argv[1], bytes, longest);
	for (int i = 0; i < PEERS; i++)
		empty[i] = peers[i].ops->used(&peers[i]);
	print_titles();
	print_trace(argv[5], &trace);
	play_trace(argv[5], &trace, strtoul(argv[4], NULL, 10));
	print_misses(argv[5]);
	print_use(argv[5], empty);
	trace_free(&trace);
	return 0;
}
