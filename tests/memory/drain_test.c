// SPDX-License-Identifier: GPL-2.0
/*
 * drain_test - a million entries that expire at once disturb nobody.
 *
 * Who reads meanwhile hardly notices, and the memory comes back. Latencies are
 * compared with those of the same reader a moment before. He has a processor, and what
 * the kernel does on the side has the other, as one who counts microseconds arranges it.
 * An emulated guest stutters: there are some tries, and the figures of each are shown.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "events.h"
#include "stock.h"

#define TESTS	4

#define ENTRIES		1000000u
#define HOT		1000u		/* that do not expire; these are read */
#define TRIES		5
#define WORKERS		"/sys/devices/virtual/workqueue/cpumask"
#define PAGELISTS	"/proc/sys/vm/percpu_pagelist_high_fraction"
#define SAMPLES		(2u << 20)	/* most, of one phase */

static __u64 wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		bail_out("sched_setaffinity: %s", strerror(errno));
}

/* Latencies */

enum phase { IDLE, BEFORE, DRAIN, END, PHASES };

/* What is measured, in turn: a get, and a call of the device that no belt is part of. */
enum measure { GET, FLOOR, MEASURES };

/**
 * struct reading - a reader and what he measures
 * @belt:	where he reads
 * @phase:	what goes on; set by another
 * @samples:	latencies in nanoseconds, by phase
 * @count:	how many
 * @waited:	nanoseconds in a phase that he had no processor, for others had it
 * @missed:	gets that found nothing
 */
static struct reading {
	int belt;
	enum phase phase;
	__u32 *samples[PHASES][MEASURES];
	unsigned int count[PHASES];
	__u64 waited[PHASES];
	unsigned int missed;
} reading;

static __u32 timed_get(unsigned int number)
{
	struct { __u64 number, zero; } key = { number, 0 };
	static unsigned char value[64];
	struct hashbelt_item item = {
		.key = address(&key), .key_len = sizeof(key),
		.value = address(value), .value_len = sizeof(value),
	};
	__u64 begin = wall_ns();

	if (call(reading.belt, HASHBELT_IOC_GET, &item))
		reading.missed++;
	return wall_ns() - begin;
}

static __u32 timed_floor(void)
{
	__u64 begin = wall_ns();

	call(reading.belt, HASHBELT_IOC_ABI, NULL);
	return wall_ns() - begin;
}

/* How long this thread could have run and did not, so far. */
static __u64 waited_ns(void)
{
	unsigned long long waited = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "r");

	if (!file || fscanf(file, "%*u %llu", &waited) != 1)
		bail_out("no /proc/thread-self/schedstat");
	fclose(file);
	return waited;
}

static void *read_on(void *arg)
{
	enum phase was = IDLE, phase;
	unsigned int number = 0, n;

	pin(0);
	while ((phase = __atomic_load_n(&reading.phase, __ATOMIC_ACQUIRE)) != END) {
		if (phase != was) {
			reading.waited[was] += waited_ns();
			reading.waited[phase] -= waited_ns();
			was = phase;
		}
		number = (number + 1) % HOT;
		n = reading.count[phase];
		if (phase == IDLE || n == SAMPLES) {
			timed_get(number);
			continue;
		}
		reading.samples[phase][GET][n] = timed_get(number);
		reading.samples[phase][FLOOR][n] = timed_floor();
		reading.count[phase]++;
	}
	reading.waited[was] += waited_ns();
	return arg;
}

static void set_phase(enum phase phase)
{
	__atomic_store_n(&reading.phase, phase, __ATOMIC_RELEASE);
}

static int compare(const void *a, const void *b)
{
	const __u32 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* In nanoseconds; @share in thousandths. */
static __u32 percentile(enum phase phase, enum measure measure, unsigned int share)
{
	__u64 count = reading.count[phase];

	if (!count)
		bail_out("nothing was read");
	return reading.samples[phase][measure][(count - 1) * share / 1000];
}

static void sort_samples(enum phase phase, const char *name)
{
	unsigned int i;

	for (i = 0; i < MEASURES; i++) {
		qsort(reading.samples[phase][i], reading.count[phase], sizeof(__u32),
		      compare);
		note("%s, %u %s: median %u ns, 99th percentile %u, 99.9th %u, most %u",
		     name, reading.count[phase], i == GET ? "gets" : "calls of the floor",
		     percentile(phase, i, 500), percentile(phase, i, 990),
		     percentile(phase, i, 999), percentile(phase, i, 1000));
	}
	note("%s: others had the reader's processor for %llu us", name,
	     reading.waited[phase] / 1000);
}

/* Memory */

/**
 * struct memory - as the system has it, in bytes
 * @used:	by the module's own count
 * @slabs:	pages of the entries' slab caches
 * @available:	what others may have
 */
struct memory {
	__u64 used;
	__u64 slabs;
	__u64 available;
};

static __u64 slab_bytes(void)
{
	__u64 bytes;

	if (!slab_caches(&bytes))
		bail_out("no slab caches of entries in /proc/slabinfo");
	return bytes;
}

static struct memory take_stock(void)
{
	struct memory memory = {
		.used = get_parameter("used_bytes"), .slabs = slab_bytes(),
		.available = memory_number("MemAvailable:"),
	};
	return memory;
}

static void note_memory(const char *when, const struct memory *memory)
{
	note("%s: used_bytes %llu, slabs %llu, available %llu", when, memory->used,
	     memory->slabs, memory->available);
}

/* Within 5 percent of what was taken, all of it is back. */
static bool is_back(const struct memory *before, const struct memory *full,
		    const struct memory *after)
{
	return after->used <= before->used + (full->used - before->used) / 20 &&
	       after->slabs <= before->slabs + (full->slabs - before->slabs) / 20 &&
	       after->available + (before->available - full->available) / 20 >=
	       before->available;
}

/*
 * Whether the 99.9th percentile of gets has at most doubled. What the machine that the
 * guest runs on does to all calls alike, also to those that have nothing to do with any
 * belt, does not count: but only if no other thread has had this processor for long.
 */
static bool is_calm(void)
{
	__u64 before = percentile(BEFORE, GET, 999), drain = percentile(DRAIN, GET, 999);
	__u64 floor_before = percentile(BEFORE, FLOOR, 999);
	__u64 floor_drain = percentile(DRAIN, FLOOR, 999);

	if (floor_drain <= floor_before || reading.waited[DRAIN] > 2000000)
		return drain <= 2 * before;
	return drain * floor_before <= 2 * before * floor_drain;
}

/* A million entries with one deadline, 5 seconds after time begins to run. */
static int fill_belt(void)
{
	struct hashbelt_settings settings = { .ttl_ms = 5000, .buckets = 51 };
	int belt = belt_of(settings);

	put_numbers(belt, 0, HOT, HASHBELT_TTL_NEVER);
	put_numbers(belt, HOT, ENTRIES, 0);
	return belt;
}

/* To the end of the drain, when the memory is back. */
static void follow_drain(int belt, __u64 deadline, __u64 used)
{
	struct hashbelt_info info;

	do {
		usleep(500);
		info = info_of(belt);
		if (reading.phase == BEFORE && info.now_ns + 200000000 > deadline)
			set_phase(IDLE);
		if (reading.phase == IDLE && info.entries < ENTRIES + HOT)
			set_phase(DRAIN);
	} while (info.entries > HOT || get_parameter("used_bytes") > used);
	note("all was drained and freed %llu ms after its deadline",
	     (info.now_ns - deadline) / 1000000);
}

/* One drain; adds to @back if the memory came back. */
static bool try_drain(unsigned int *back)
{
	struct memory before = take_stock(), full, after;
	unsigned int waits = 0;
	pthread_t reader;
	__u64 deadline;

	memset(reading.count, 0, sizeof(reading.count));
	memset(reading.waited, 0, sizeof(reading.waited));
	reading.belt = fill_belt();
	full = take_stock();
	deadline = info_of(reading.belt).now_ns + 5000000000ULL;
	set_phase(BEFORE);
	pthread_create(&reader, NULL, read_on, NULL);
	must(reading.belt, HASHBELT_IOC_RESUME, NULL);
	follow_drain(reading.belt, deadline,
		     before.used + (full.used - before.used) / 20);
	set_phase(END);
	pthread_join(reader, NULL);
	do {
		usleep(10000);
		after = take_stock();
	} while (!is_back(&before, &full, &after) && ++waits < 1000);
	*back += is_back(&before, &full, &after);
	sort_samples(BEFORE, "before");
	sort_samples(DRAIN, "while entries are drained and freed");
	note_memory("before", &before);
	note_memory("full", &full);
	note_memory("after", &after);
	close(reading.belt);
	return is_calm();
}

static void test_drain(void)
{
	unsigned int try, back = 0;
	bool calm = false;

	for (try = 0; try < TRIES && !calm; try++)
		calm = try_drain(&back);
	ok(calm, "while a million entries expire a reader's 99.9th percentile at most doubles");
	is_int(back, try, "after each drain all memory is back, within 5 percent");
	is_int(reading.missed, 0, "all that time each get finds what is there");
}

int main(void)
{
	__u64 before = get_parameter("used_bytes"), limit = get_parameter("max_bytes");
	unsigned int i;

	plan(TESTS);
	alarm(900);
	/* Pages that processors keep for themselves do not count as free: few, then. */
	if (!write_line(PAGELISTS, "100000"))
		bail_out(PAGELISTS ": %s", strerror(errno));
	if (!write_line(WORKERS, "2"))
		bail_out(WORKERS ": %s", strerror(errno));
	pin(1);
	set_number("max_bytes", 1ULL << 40);
	for (i = 0; i < 4; i++) {
		__u32 **samples = &reading.samples[i % 2 ? BEFORE : DRAIN][i / 2];

		*samples = malloc(SAMPLES * sizeof(__u32));
		/* So that it is there, and is none of what is measured. */
		memset(*samples, 0xff, SAMPLES * sizeof(__u32));
	}
	test_drain();
	set_number("max_bytes", limit);
	write_line(PAGELISTS, "0");
	write_line(WORKERS, "3");
	ok(used_at_last(before), "in the end the module holds what it held before");
	return done_testing();
}
