// SPDX-License-Identifier: GPL-2.0-only
/*
 * misses_test - a full belt misses as often as its order of eviction says.
 *
 * A simulation of that order, with one shard and exact deadlines, missed EXPECTED of these reads.
 * One of LRU missed 9843, and one of FIFO 10650.
 */
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../device/tap.h"
#include "hashbelt.h"
#include "peer.h"
#include "workload.h"

#define REQUESTS	20000
#define ENTRIES		1000
#define KEY_LEN		16
#define VALUE_LEN	1000
#define EXPECTED	8906

/* Part of all reads. */
#define NEAR		0.01

void die(const char *what, const char *why)
{
	printf("Bail out! %s: %s\n", what, why);
	exit(255);
}

/* Plays the trace on a belt, and returns the number of reads that missed. */
static uint64_t play(const struct trace *trace, uint64_t *entries)
{
	static char value[VALUE_LEN];
	struct hashbelt_settings settings = {
		.ttl_ms = trace->requests[0].ttl, .policy = HASHBELT_EVICT,
		.max_entries = ENTRIES,
	};
	struct hashbelt_info info = { 0 };
	struct peer belt = { 0 };

	belt_open(&belt, &settings);
	for (size_t i = 0; i < trace->count; i++) {
		const struct request *request = &trace->requests[i];
		char key[KEY_LEN + 1];

		snprintf(key, sizeof(key), "%016x", request->key);
		belt_advance(&belt, request->time);
		if (belt.ops->get(&belt, key, KEY_LEN))
			continue;
		belt.misses++;
		if (!belt.ops->put(&belt, key, KEY_LEN, value, VALUE_LEN, request->ttl))
			die("HASHBELT_IOC_PUT", strerror(errno));
	}
	if (ioctl(belt.fd, HASHBELT_IOC_INFO, &info))
		die("HASHBELT_IOC_INFO", strerror(errno));
	*entries = info.entries;
	close(belt.fd);
	return belt.misses;
}

int main(void)
{
	struct trace trace = workload_make(workload_find("zipf-1.0"), REQUESTS, 1);
	uint64_t entries, found = play(&trace, &entries);
	double difference = ((double)found - EXPECTED) / REQUESTS;

	is_int(entries, ENTRIES, "a belt that evicts is full at the end");
	ok(difference < NEAR && difference > -NEAR,
	   "a belt that evicts misses as often as its order of eviction says, to within 0.01");
	note("%llu of %u reads missed", (unsigned long long)found, REQUESTS);
	trace_free(&trace);
	return done_testing();
}
