// SPDX-License-Identifier: GPL-2.0-only
/*
 * purgatory - requests that wait for one of several keys, or for their timeout.
 *
 *	purgatory [REQUESTS]
 *
 * Shows Kafka's request purgatory, and the hierarchical timing wheels under it: requests have
 * wheels of their own, the first with a tick of 4 milliseconds, and wider ones made when a timeout
 * needs them. A request waits for several keys (partitions, say).
 * It is completed by the first put of one of them, by COMPLETE of one of them, or by its
 * timeout. Its owner reads one event, with the cause.
 *
 * Six requests show that. Then REQUESTS (100,000) with a timeout of an hour are
 * registered and completed early, at a steady rate. A completed request leaves the wheel
 * and the list of each of its keys at once. So nothing has to be purged, and the belt
 * takes memory only for the requests that wait.
 *
 * Relies on: a request is completed exactly once, whatever happens at the same time;
 * the descriptor that registered it reads the event; the memory of a completed or
 * cancelled request is freed.
 */
#include "example.h"

#define DEFAULT_REQUESTS 100000
#define TICK_MS		1
#define BUCKETS		20
#define HOUR_MS		3600000
#define DAY_MS		(24 * HOUR_MS)
#define KEYS		3
#define PARTITIONS	16
#define MARKS		10
#define WARM		1000

static const char usage[] =
	"usage: purgatory [REQUESTS]\n"
	"Registers requests that wait for keys: REQUESTS requests (100000).\n";

/**
 * struct request - a request
 * @keys:	the keys that it waits for; unused ones are NULL
 * @timeout_ms:	its timeout
 * @told:	number of events that its owner has read
 */
struct request {
	const char *keys[KEYS];
	__u64 timeout_ms;
	unsigned int told;
};

/* The id of a request is its index here plus 1. */
static struct request few[] = {
	{ .keys = { "orders-0", "orders-1" }, .timeout_ms = 5000 },
	{ .keys = { "orders-1", "payments-0" }, .timeout_ms = 5000 },
	{ .keys = { "payments-0" }, .timeout_ms = 5000 },
	{ .keys = { "orders-2" }, .timeout_ms = 2000 },
	{ .keys = { "orders-2", "orders-3" }, .timeout_ms = 4000 },
	{ .keys = { "audit-0" }, .timeout_ms = DAY_MS },
};

static void register_request(struct hashbelt *belt, __u64 id, const char *const *keys,
			     __u64 timeout_ms)
{
	struct hashbelt_key list[KEYS] = {};
	unsigned int n;

	for (n = 0; n < KEYS && keys[n]; n++) {
		list[n].key = (uintptr_t)keys[n];
		list[n].key_len = strlen(keys[n]);
	}
	must("request", hashbelt_request(belt, id, list, n, timeout_ms));
}

static const char *cause_name(__u32 cause)
{
	switch (cause) {
	case HASHBELT_BY_TIMEOUT:
		return "timed out";
	case HASHBELT_BY_PUT:
		return "by a put of";
	case HASHBELT_BY_COMPLETE:
		return "by hand, for";
	default:
		return "by something else";
	}
}

/* Called for the event of each of the six requests. */
static void told_of_few(const struct hashbelt_event *event, void *arg)
{
	unsigned int *count = arg;

	printf("  request %llu: %s%s%.*s\n", event->id, cause_name(event->reason),
	       event->key_len ? " " : "", (int)event->key_len,
	       (const char *)hashbelt_event_key(event));
	promise(event->kind == HASHBELT_REQUEST && event->id - 1 < ARRAY_SIZE(few),
		"the owner reads events of its own requests only");
	promise(!few[(event->id - 1) % ARRAY_SIZE(few)].told++, "a request is completed once");
	++*count;
}

/* Prints what was done, and reads the events: @wanted requests must be completed. */
static void outcome(struct hashbelt *belt, const char *what, unsigned int wanted)
{
	unsigned int count = 0;

	printf("%s\n", what);
	read_events(belt, told_of_few, &count);
	if (!count)
		printf("  no event\n");
	promise(count == wanted, what);
}

static void put(struct hashbelt *belt, const char *key)
{
	must("put", hashbelt_put(belt, key, strlen(key), "done", 4, NULL));
}

static void complete(struct hashbelt *belt, const char *key, unsigned int wanted)
{
	unsigned int count;

	must("complete", hashbelt_complete(belt, key, strlen(key), &count));
	promise(count == wanted, "COMPLETE returns the number of requests that it completed");
}

static void play_few(struct hashbelt *belt)
{
	unsigned int levels = info_of(belt).levels, i;

	for (i = 0; i < ARRAY_SIZE(few); i++)
		register_request(belt, i + 1, few[i].keys, few[i].timeout_ms);
	printf("%llu requests wait, on %u wheel%s more than at the start\n",
	       info_of(belt).requests, info_of(belt).levels - levels,
	       info_of(belt).levels - levels == 1 ? "" : "s");
	promise(info_of(belt).levels > levels,
		"wheels for long timeouts are made on demand");

	put(belt, "orders-1");
	outcome(belt, "a put of orders-1 completes all that wait for it", 2);
	put(belt, "orders-1");
	put(belt, "orders-0");
	outcome(belt, "puts of orders-1 and orders-0 complete no request again", 0);
	complete(belt, "payments-0", 1);
	outcome(belt, "payments-0 is completed by hand", 1);
	must("advance", hashbelt_advance(belt, 3000));
	outcome(belt, "three seconds pass: a timeout of two seconds is over", 1);
	put(belt, "orders-2");
	outcome(belt, "a put of orders-2 completes a request with a longer timeout", 1);
	must("advance", hashbelt_advance(belt, 7000));
	outcome(belt, "seven seconds pass: no completed request times out", 0);
	must("cancel", hashbelt_cancel(belt, 6));
	promise(hashbelt_cancel(belt, 6) == -ENOENT,
		"cancel of a cancelled request returns ENOENT");
	put(belt, "audit-0");
	outcome(belt, "a put of audit-0 does not complete a cancelled request", 0);
	promise(!info_of(belt).requests, "no request waits in the end");
}

/**
 * struct load - many requests
 * @belt:	the belt
 * @count:	number of requests
 * @first:	id of the first one
 * @told:	for each request, the number of events that its owner has read
 * @completed:	number of events in all
 */
struct load {
	struct hashbelt *belt;
	unsigned int count;
	__u64 first;
	unsigned char *told;
	unsigned int completed;
};

static void told_of_many(const struct hashbelt_event *event, void *arg)
{
	struct load *load = arg;
	__u64 i = event->id - load->first;

	promise(i < load->count && !load->told[i % load->count]++,
		"each of many requests is completed once");
	promise(event->reason == (i % 2 ? HASHBELT_BY_PUT : HASHBELT_BY_COMPLETE),
		"each of many requests reports the cause of its completion");
	load->completed++;
}

/* Registers a request for one key of its own, and for two keys that others wait for. */
static void begin_one(struct load *load, unsigned int i)
{
	const char *keys[KEYS];
	char own[32], partition[32];

	snprintf(own, sizeof(own), "batch-%u", i);
	snprintf(partition, sizeof(partition), "partition-%u", i % PARTITIONS);
	keys[0] = "leader";
	keys[1] = partition;
	keys[2] = own;
	register_request(load->belt, load->first + i, keys, HOUR_MS);
}

/* Completes a request: every second one by a put, whose entry expires with the next tick. */
static void end_one(struct load *load, unsigned int i)
{
	struct hashbelt_item item = { .ttl_ms = TICK_MS };
	char own[32];

	snprintf(own, sizeof(own), "batch-%u", i);
	if (i % 2)
		must("put", hashbelt_put(load->belt, own, strlen(own), NULL, 0, &item));
	else
		complete(load->belt, own, 1);
}

/*
 * Each shard makes its own wheels on demand, and keeps them. Make them all before memory
 * is measured, so that they do not count as memory of the requests.
 */
static struct hashbelt_info warm_up(struct hashbelt *belt)
{
	const char *keys[KEYS] = {};
	char key[32];
	__u64 id;

	for (id = 1; id <= WARM; id++) {
		snprintf(key, sizeof(key), "warm-%llu", id);
		keys[0] = key;
		register_request(belt, id, keys, HOUR_MS);
	}
	for (id = 1; id <= WARM; id++)
		must("cancel", hashbelt_cancel(belt, id));
	must("advance", hashbelt_advance(belt, 1000));
	return info_of(belt);
}

/* Lets a tick pass, and reads the events. */
static void pass_tick(struct load *load)
{
	must("advance", hashbelt_advance(load->belt, TICK_MS));
	read_events(load->belt, told_of_many, load);
}

static void play_many(struct load *load)
{
	unsigned int window = load->count / 100 ?: 1, mark = load->count / MARKS ?: 1, i;
	struct hashbelt_info info;
	__u64 least = ~0ULL, most = 0;

	for (i = 0; i < load->count + window; i++) {
		if (i < load->count)
			begin_one(load, i);
		if (i >= window)
			end_one(load, i - window);
		if (i % 50 == 0 || i % mark == 0)
			pass_tick(load);
		if (i < load->count && i >= window && i % mark == 0) {
			info = info_of(load->belt);
			printf("%8u registered, %llu wait, %llu bytes\n", i,
			       info.requests, info.bytes);
			least = info.bytes < least ? info.bytes : least;
			most = info.bytes > most ? info.bytes : most;
		}
	}
	pass_tick(load);
	pass_tick(load);
	promise(load->completed == load->count, "each of many requests is completed");
	promise(most <= least + least / 5,
		"memory stays within 20% while requests come and go at a steady rate");
}

int main(int argc, char **argv)
{
	struct load load = { .count = DEFAULT_REQUESTS, .first = 1000 };
	struct hashbelt_info before, after;

	arguments(argc, argv, 1, usage);
	if (argc > 1)
		load.count = number(argv[1], "REQUESTS", 1, 10000000);
	load.told = calloc(load.count, 1);
	if (!load.told)
		die("requests", -ENOMEM);
	/* The entries that complete requests leave after a tick. */
	load.belt = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = TICK_MS * (BUCKETS - 1), .buckets = BUCKETS,
	});
	must("watch", hashbelt_watch(load.belt, HASHBELT_WATCH_REQUESTS));
	play_few(load.belt);
	before = warm_up(load.belt);
	play_many(&load);
	after = info_of(load.belt);
	printf("requests %u completed %llu timed out %llu bytes before %llu after %llu\n",
	       load.count, counter_of(load.belt, HASHBELT_STAT_COMPLETED),
	       counter_of(load.belt, HASHBELT_STAT_TIMED_OUT), before.bytes, after.bytes);
	promise(!after.requests && !after.entries && after.bytes <= before.bytes,
		"the memory of all requests is freed when they are completed");
	hashbelt_close(load.belt);
	free(load.told);
	return verdict();
}
