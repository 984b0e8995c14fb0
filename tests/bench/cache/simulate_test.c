// SPDX-License-Identifier: GPL-2.0-only
/* simulate_test - orders of eviction on short traces whose misses were counted by hand. */
#include <string.h>

#include "../../device/tap.h"
#include "cache.h"
#include "twitter.h"
#include "workload.h"
#include "zipf.h"

/* An object of a key of one byte and a value of 35: so many bytes of room are an object. */
#define SLOT	100

static const struct geometry one = { .shards = 1, .interval = 1 };

/*
 * A trace from text: a letter reads the key, a capital letter puts it, "-" and a letter removes it.
 * A digit after that is the time-to-live of its puts, otherwise they do not expire. A blank is a
 * millisecond; the requests themselves take no time.
 */
static struct trace parse(const char *text)
{
	struct trace trace = { zalloc(strlen(text), sizeof(struct request)), 0, 26 };

	for (uint64_t time = 0; *text; text++) {
		struct request *request = &trace.requests[trace.count];

		if (*text == ' ') {
			time++;
			continue;
		}
		*request = (struct request){ .time = time, .key_len = 1, .value_len = 35 };
		if (*text == '-') {
			request->op = TRACE_REMOVE;
			text++;
		} else if (*text <= 'Z') {
			request->op = TRACE_SET;
		}
		request->key = (*text | 0x20) - 'a';
		if (text[1] >= '0' && text[1] <= '9')
			request->ttl = *++text - '0';
		trace.count++;
	}
	return trace;
}

static void misses_in(const struct geometry *geometry, const struct order *order,
		      unsigned int objects, const char *text, uint64_t expected)
{
	struct trace trace = parse(text);
	struct result result = cache_play(&trace, order, objects * SLOT, geometry);

	is_int(result.misses, expected, "%s, %zu ghosts, room for %u objects, misses in \"%s\"",
	       order->name, geometry->ghosts, objects, text);
	trace_free(&trace);
}

/* Checks the number of reads that miss in a cache with room for so many objects. */
static void misses(const struct order *order, unsigned int objects, const char *text,
		   uint64_t expected)
{
	misses_in(&one, order, objects, text, expected);
}

static void test_fifo(void)
{
	/* abc fill; d evicts a, a evicts b, b evicts c. */
	misses(&fifo, 3, "abcdab", 6);
	/* A read does not save a: d evicts it. */
	misses(&fifo, 3, "abcada", 5);
	/* A put that replaces begins anew: d evicts b. */
	misses(&fifo, 3, "abcAda", 4);
	misses(&fifo, 3, "ab-acdb", 4);
}

static void test_lru(void)
{
	/* d evicts b, which was read longest ago. */
	misses(&lru, 3, "abcadab", 5);
	misses(&lru, 3, "abcabcd", 4);
	/* Belady's anomaly is FIFO's: LRU has 10 misses with 3, 8 with 4. */
	misses(&lru, 3, "abcdabeabcde", 10);
	misses(&lru, 4, "abcdabeabcde", 8);
	misses(&fifo, 3, "abcdabeabcde", 9);
	misses(&fifo, 4, "abcdabeabcde", 10);
}

static void test_sieve(void)
{
	/* The hand passes a, which was read, and d evicts b. */
	misses(&sieve, 3, "abcadab", 5);
	/* It stays where b was: e evicts c, though a has no mark any more. */
	misses(&sieve, 3, "abcadea", 5);
	misses(&sieve, 3, "abcadeac", 6);
	/* e evicts c, f evicts d, g evicts e: the hand keeps to what comes in, and a stays. */
	misses(&sieve, 3, "abcadefga", 7);
	/* All have marks: the hand takes them, begins again, and d evicts a. */
	misses(&sieve, 3, "abcabcda", 5);
}

static void test_s3fifo(void)
{
	/* Room for 10: the small queue has one. a was read twice and moves on; k evicts b. */
	misses(&s3fifo, 10, "aaabcdefghijka", 11);
	/* Read once is not enough: k evicts a. */
	misses(&s3fifo, 10, "aabcdefghijka", 12);
	/* a's ghost brings it to the main queue, from where l to t do not evict it. */
	misses(&s3fifo, 10, "abcdefghijkalmnopqrsta", 21);
	/* Only the first read after a's return misses. */
	misses(&s3fifo, 10, "abcdefghijkaaa", 12);
}

static void test_lives(void)
{
	misses(&fifo, 3, "ab3c  b3", 3);
	misses(&fifo, 3, "ab3c   b3", 4);
	misses(&unlimited, 3, "a2 a2 a2 a2", 2);
	/* An expired object takes room in FIFO: d evicts a. In a belt it does not. */
	misses(&fifo, 3, "ab1c da", 5);
	misses(&unread_order, 3, "ab1c da", 4);
}

static void test_belt(void)
{
	/* The hand passes c, and d evicts a. */
	misses(&unread_order, 3, "a9b9c5c5d9c5b9a9", 5);
	/* One life: as SIEVE. */
	misses(&unread_order, 3, "abcadab", 5);
	misses(&unread_order, 3, "abcadeac", 6);
	misses(&unread_order, 3, "abcabcda", 5);
	/* A put that replaces counts as a read: d evicts b. */
	misses(&unread_order, 3, "abcAda", 4);
}

/*
 * The hand passes a, and b and c leave for d and e, which come in behind it. At the end of the
 * order it begins again, and d to h leave. Then it comes to a once more, which was not read since.
 */
static void test_terms(void)
{
	/* The lap before has evicted two of three: a stays, and i leaves. */
	misses(&unread_order, 3, "a5b9c9a5d1e1f1g1h1i9j9k9a5", 11);
}

static void test_ghosts(void)
{
	static const struct geometry geometry = { .shards = 1, .interval = 1, .ghosts = 1024 };
	static const struct geometry simpler = {
		.shards = 1, .interval = 1, .ghosts = 1024, .simpler = SIMPLER_AS_READ,
	};

	/* d evicts a, which comes back. f and g evict d and e: the hand passes a. */
	misses(&unread_order, 3, "abcdaefga", 9);
	misses_in(&geometry, &unread_order, 3, "abcdaefga", 8);
	/* It does so once: it passes e and f, which were read, comes to a again, and g evicts a. */
	misses_in(&geometry, &unread_order, 3, "abcdaefefga", 9);
	/* If a key that comes back counted as read, some traces would miss less, others more. */
	misses_in(&geometry, &unread_order, 3, "abcdahhabchc", 9);
	misses_in(&simpler, &unread_order, 3, "abcdahhabchc", 8);
	misses_in(&geometry, &unread_order, 3, "abcdabggafha", 9);
	misses_in(&simpler, &unread_order, 3, "abcdabggafha", 10);
	/* A key that has expired has a ghost, and c evicts b. One that was removed has none. */
	misses_in(&geometry, &unread_order, 2, "a1 abca", 4);
	misses_in(&geometry, &unread_order, 2, "a-aabca", 5);
	is_int(ghosts_for(191), 0, "a belt of 191 entries has 128 chains, and no use for ghosts");
	is_int(ghosts_for(383), 256, "one of 383 entries has 256 ghosts");
	is_int(ghosts_for(384), 1024, "one of 384 entries has 1024");
	is_int(ghosts_for(100000), 131072, "one of 100,000 has as many as its index has chains");
}

static void test_sizes(void)
{
	struct request requests[] = {
		{ .time = 0, .key = 0, .key_len = 1, .value_len = 35 },
		{ .time = 1, .key = 1, .key_len = 1, .value_len = 35 },
		{ .time = 2, .key = 2, .key_len = 1, .value_len = 135 },
		{ .time = 3, .key = 3, .key_len = 1, .value_len = 400 },
		{ .time = 4, .key = 2, .key_len = 1, .value_len = 135 },
		{ .time = 5, .key = 1, .key_len = 1, .value_len = 35 },
	};
	struct trace trace = { requests, 6, 4 };
	struct result result = cache_play(&trace, &fifo, 3 * SLOT, &one);

	is_int(result.misses, 4, "an object that needs the room of two evicts one");
	is_int(result.evicted, 1, "an object larger than the room evicts nothing");
	is_int(result.most, 3 * SLOT, "the most bytes in use are all of the room");
}

static void test_shards(void)
{
	struct trace trace = workload_make(workload_find("zipf-1.0"), 20000, 1);
	struct geometry geometry = { .shards = 8, .interval = 100, .buckets = 10 };
	struct result sharded = cache_play(&trace, &unread_order, 100 * 1080, &geometry);
	struct result whole = cache_play(&trace, &unread_order, 100 * 1080, &one);
	struct result fifos = cache_play(&trace, &fifo, 100 * 1080, &one);

	ok(whole.misses < sharded.misses && sharded.misses < fifos.misses,
	   "shards of 12 entries cost misses, but fewer than FIFO has more");
	ok(sharded.most > 99 * 1080, "shards share all of the room");
	sharded = cache_play(&trace, &unread_order, 9 * 1080, &geometry);
	is_int(sharded.most, 9 * 1080, "a belt with about an entry in each shard evicts");
	trace_free(&trace);
}

/* Where the popular keys change, LRU is best: it drops the old ones soon. */
static void test_shifts(const char *name)
{
	enum { REQUESTS = 100000, ROOM = 2000 * 1080 };
	struct trace trace = workload_make(workload_find(name), REQUESTS, 1);
	struct geometry geometry = { .shards = 8, .interval = 1, .ghosts = ghosts_for(2000) };
	struct result belt = cache_play(&trace, &unread_order, ROOM, &geometry);
	struct result lrus = cache_play(&trace, &lru, ROOM, &one);

	ok(belt.misses < lrus.misses + REQUESTS / 200,
	   "%s: a belt misses at most 0.5 %% of the gets more than LRU", name);
	note("%llu and %llu misses", (unsigned long long)belt.misses,
	     (unsigned long long)lrus.misses);
	trace_free(&trace);
}

/* Where most new objects have ghosts, ghosts do not tell which of them to keep. */
static void test_common_ghosts(void)
{
	enum { REQUESTS = 300000 };
	struct trace trace = workload_make(workload_find("cluster-25"), REQUESTS, 1);
	uint64_t room = cache_play(&trace, &unlimited, UINT64_MAX / 2, &one).most * 3 / 10;
	struct geometry geometry = { .shards = 1, .interval = 1, .ghosts = 1024 };
	struct result belt = cache_play(&trace, &unread_order, room, &geometry);
	struct result sieves = cache_play(&trace, &sieve, room, &one), simpler;

	ok(belt.misses < sieves.misses + REQUESTS / 200,
	   "a belt with ghosts for most keys misses at most 0.5 %% of the gets more than SIEVE");
	geometry.simpler = SIMPLER_NO_COMMON;
	simpler = cache_play(&trace, &unread_order, room, &geometry);
	ok(simpler.misses > sieves.misses + REQUESTS / 200,
	   "without the count of ghosts it misses more than that");
	note("%llu and %llu misses", (unsigned long long)belt.misses,
	     (unsigned long long)sieves.misses);
	trace_free(&trace);
}

static void test_workloads(void)
{
	struct trace first, again;
	unsigned int same = 0, count = 0;

	for (const struct workload *workload = workloads; workload->name; workload++) {
		first = workload_make(workload, 5000, 7);
		again = workload_make(workload, 5000, 7);
		same += first.keys == again.keys &&
			!memcmp(first.requests, again.requests, 5000 * sizeof(*first.requests));
		count++;
		trace_free(&first);
		trace_free(&again);
	}
	is_int(same, count, "the same seed makes the same trace, in all workloads");
	first = workload_make(workload_find("zipf-1.0"), 5000, 7);
	again = workload_make(workload_find("zipf-1.0"), 5000, 8);
	ok(memcmp(first.requests, again.requests, 5000 * sizeof(*first.requests)),
	   "another seed makes another trace");
	trace_free(&first);
	trace_free(&again);
}

static void test_zipf(void)
{
	struct zipf zipf = zipf_make(3, 1.0);
	unsigned int counts[3] = { 0 };
	uint64_t seed = 1;

	for (unsigned int i = 0; i < 110000; i++)
		counts[zipf_draw(&zipf, &seed)]++;
	/* 6/11, 3/11 and 2/11 of all. */
	ok(abs((int)counts[0] - 60000) < 1000 && abs((int)counts[1] - 30000) < 1000 &&
	   abs((int)counts[2] - 20000) < 1000, "Zipf numbers have their probabilities");
	zipf_free(&zipf);
}

static size_t read_text(const char *text, struct trace *trace)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");
	size_t bad = twitter_read(file, trace);

	fclose(file);
	return bad;
}

static void test_twitter(void)
{
	struct trace trace;

	is_int(read_text("5,x,3,0,1,get,0\n6,x,3,10,1,set,60\n6,y,4,7,2,gets,0\n"
			 "7,x,3,0,1,get,0\n9,x,3,0,1,delete,0\n9,z,3,5,1,add,1\n", &trace), 0,
	       "a trace of twitter/cache-trace is read");
	is_int(trace.count, 6, "it has all requests");
	is_int(trace.keys, 3, "it has all keys");
	is_int(trace.requests[5].time, 4000, "its times begin with 0");
	is_int(trace.requests[0].ttl, 60000,
	       "a read before the first put has the life of that put");
	is_int(trace.requests[3].value_len, 10, "a read has the size of the put before");
	ok(trace.requests[2].ttl == 0 && trace.requests[2].value_len == 7,
	   "a read of a key that is never put has the size that it found, and no life");
	is_int(trace.requests[4].op, TRACE_REMOVE, "delete removes");
	is_int(trace.requests[5].op, TRACE_ADD, "add adds");
	trace_free(&trace);
	is_int(read_text("5,x,3,0,1,get,0\n5,x,3,0,1,look,0\n", &trace), 2,
	       "an unknown operation is found");
	is_int(read_text("5,x,3,0,1,get\n", &trace), 1, "a line with a field too few is found");
	is_int(read_text("5,x,3,0,1,get,0\n4,x,3,0,1,get,0\n", &trace), 2,
	       "a time that goes back is found");
}

int main(void)
{
	test_fifo();
	test_lru();
	test_sieve();
	test_s3fifo();
	test_lives();
	test_belt();
	test_terms();
	test_ghosts();
	test_sizes();
	test_shards();
	test_shifts("shift");
	test_shifts("shift-4");
	test_common_ghosts();
	test_workloads();
	test_zipf();
	test_twitter();
	return done_testing();
}
