// SPDX-License-Identifier: GPL-2.0-only
/*
 * drain_test - a million entries that expire at once do not delay readers.
 *
 * The 99.9th percentile of a get rises by at most a tenth, and the memory comes back.
 *
 * For a guest whose time is the number of instructions that it has executed. A latency is then the
 * number of instructions of the get and of everything that interrupts it, and repeats exactly. The
 * reader, the worker and grace periods share that guest's one processor, so no task waits for a
 * lock here. The KUnit case a_get_takes_no_lock tests that a get takes none.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "events.h"
#include "stock.h"

#define ENTRIES		1000000u
#define HOT		1000u		/* entries that do not expire; the reader gets these */
#define PAGELISTS	"/proc/sys/vm/percpu_pagelist_high_fraction"
#define SAMPLES		(2u << 20)	/* at most, in each phase */

/* Latencies */

enum phase { IDLE, BEFORE, DRAIN, END, PHASES };

/**
 * struct reading - a reader and what it measures
 * @belt:	the belt that it reads
 * @phase:	the phase of the test; set by another thread
 * @samples:	latencies in instructions, by phase
 * @count:	number of samples, by phase
 * @missed:	number of gets that missed
 */
static struct reading {
	int belt;
	enum phase phase;
	__u32 *samples[PHASES];
	unsigned int count[PHASES];
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

static void *read_on(void *arg)
{
	unsigned int number = 0, n;
	enum phase phase;

	while ((phase = __atomic_load_n(&reading.phase, __ATOMIC_ACQUIRE)) != END) {
		number = (number + 1) % HOT;
		n = reading.count[phase];
		if (phase == IDLE || n == SAMPLES) {
			timed_get(number);
			continue;
		}
		reading.samples[phase][n] = timed_get(number);
		reading.count[phase]++;
	}
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

/* @share: in thousandths */
static __u32 percentile(enum phase phase, unsigned int share)
{
	__u64 count = reading.count[phase];

	if (!count)
		bail_out("no get was measured in this phase");
	return reading.samples[phase][(count - 1) * share / 1000];
}

static void sort_samples(enum phase phase, const char *name)
{
	qsort(reading.samples[phase], reading.count[phase], sizeof(__u32), compare);
	note("figure: %s: %u gets, half within %u instructions, 99 %% %u, 99.9 %% %u, most %u",
	     name, reading.count[phase], percentile(phase, 500), percentile(phase, 990),
	     percentile(phase, 999), percentile(phase, 1000));
}

/* Memory */

/**
 * struct memory - memory in use, in bytes
 * @used:	used_bytes of the module
 * @slabs:	pages of the entries' slab caches
 * @available:	MemAvailable of the system
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

static struct memory measure_memory(void)
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

/* Return: true if all but 5 percent of the memory that was taken is back. */
static bool is_back(const struct memory *before, const struct memory *full,
		    const struct memory *after)
{
	return after->used <= before->used + (full->used - before->used) / 20 &&
	       after->slabs <= before->slabs + (full->slabs - before->slabs) / 20 &&
	       after->available + (before->available - full->available) / 20 >=
	       before->available;
}

/* A million entries whose deadline is one second after the belt is resumed. */
static int fill_belt(void)
{
	struct hashbelt_settings settings = { .ttl_ms = 1000, .buckets = 11 };
	int belt = belt_of(settings);

	put_numbers(belt, 0, HOT, HASHBELT_TTL_NEVER);
	put_numbers(belt, HOT, ENTRIES, 0);
	return belt;
}

/* Sets the phase until all is drained and used_bytes has fallen to @used. */
static void follow_drain(int belt, __u64 deadline, __u64 used)
{
	struct hashbelt_info info;

	do {
		usleep(10000);
		info = info_of(belt);
		if (reading.phase == BEFORE && info.now_ns + 200000000 > deadline)
			set_phase(IDLE);
		if (reading.phase == IDLE && info.entries < ENTRIES + HOT)
			set_phase(DRAIN);
	} while (info.entries > HOT || get_parameter("used_bytes") > used);
	note("all entries were drained and freed %llu ms after their deadline",
	     (info.now_ns - deadline) / 1000000);
}

static void test_drain(void)
{
	struct memory before = measure_memory(), full, after;
	unsigned int waits = 0;
	pthread_t reader;
	__u64 deadline;

	reading.belt = fill_belt();
	full = measure_memory();
	deadline = info_of(reading.belt).now_ns + 1000000000ULL;
	set_phase(BEFORE);
	pthread_create(&reader, NULL, read_on, NULL);
	must(reading.belt, HASHBELT_IOC_RESUME, NULL);
	follow_drain(reading.belt, deadline,
		     before.used + (full.used - before.used) / 20);
	set_phase(END);
	pthread_join(reader, NULL);
	do {
		usleep(10000);
		after = measure_memory();
	} while (!is_back(&before, &full, &after) && ++waits < 1000);
	sort_samples(BEFORE, "before");
	sort_samples(DRAIN, "while entries are drained and freed");
	note_memory("before", &before);
	note_memory("full", &full);
	note_memory("after", &after);
	ok(percentile(DRAIN, 999) * 10 <= 11 * percentile(BEFORE, 999),
	   "the 99.9th percentile of get rises by at most a tenth while a million expire");
	ok(is_back(&before, &full, &after),
	   "the memory of a million expired entries is freed, within 5 percent");
	is_int(reading.missed, 0, "no get misses a present entry while a million others expire");
	close(reading.belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes"), limit = get_parameter("max_bytes");
	enum phase phase;

	/* Per-CPU lists of free pages do not count as free memory: keep them short. */
	if (!write_line(PAGELISTS, "100000"))
		bail_out(PAGELISTS ": %s", strerror(errno));
	set_number("max_bytes", 1ULL << 40);
	for (phase = BEFORE; phase <= DRAIN; phase++) {
		reading.samples[phase] = malloc(SAMPLES * sizeof(__u32));
		/* Fault the pages in now, so that they are not part of the measurement. */
		memset(reading.samples[phase], 0xff, SAMPLES * sizeof(__u32));
	}
	test_drain();
	set_number("max_bytes", limit);
	write_line(PAGELISTS, "0");
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
