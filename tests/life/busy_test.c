// SPDX-License-Identifier: GPL-2.0-only
/*
 * busy_test - the worker gives way to other tasks, and yet has its part of the processor.
 *
 * For a guest with one processor whose time is the number of instructions that it has executed. So
 * the times do not depend on the load of the host. Beside a task that never pauses, the worker is
 * never alone on its processor.
 */
#include <pthread.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <time.h>

#include "bench/latency.h"
#include "device.h"
#include "process.h"

#define MANY		700000u
#define SOME		150000u
#define FEW		50000u
#define HOT		1000u		/* entries that do not expire */

/*
 * Beside a task that never pauses. The worker and limbo have a fifth of the processor, where they
 * take 350 and 155 ms of it.
 */
#define DRAINED_MS	2000u
#define FREED_MS	3000u

/* A put, and limbo where memory is short: no time for pauses. */
#define SOON_MS		100u

/*
 * Of 100 gets 99 take no longer, and none takes longer than the second. Beside a task that never
 * pauses, that is a slice of the scheduler, and one and a tick, where it has such slices.
 */
#define LATE_NS		100000u
#define LONGEST_NS	200000u

/* A machine that is idle but for a get each millisecond: the worker and limbo pause for less. */
#define IDLE_MS		1000u

/**
 * struct reader - a task that gets the HOT keys
 * @thread:	its thread
 * @belt:	the belt
 * @pause_us:	microseconds between two gets
 * @counts:	it counts the gets
 * @end:	it is to end
 * @latencies:	of the gets that it counted
 */
static struct reader {
	pthread_t thread;
	int belt;
	unsigned int pause_us;
	bool counts;
	bool end;
	struct latencies latencies;
} reader;

/* The shrinker may have evicted the entry. */
static void get_one(unsigned int number)
{
	struct { __u64 number, zero; } key = { number, 0 };
	unsigned char value[64];
	struct hashbelt_item item = {
		.key = address(&key), .key_len = sizeof(key),
		.value = address(value), .value_len = sizeof(value),
	};

	call(reader.belt, HASHBELT_IOC_GET, &item);
}

static void wait_until(__u64 ns)
{
	struct timespec until = { ns / 1000000000, ns % 1000000000 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Measures each get from the time on at which it is due. */
static void *use(void *arg)
{
	unsigned int number = 0;
	__u64 due;

	prctl(PR_SET_TIMERSLACK, 1);
	while (!__atomic_load_n(&reader.end, __ATOMIC_ACQUIRE)) {
		due = wall_ns() + reader.pause_us * 1000;
		if (reader.pause_us)
			wait_until(due);
		get_one(number = (number + 1) % HOT);
		if (__atomic_load_n(&reader.counts, __ATOMIC_ACQUIRE))
			latencies_add(&reader.latencies, wall_ns() - due);
	}
	return arg;
}

/* A loop of one instruction would take an emulator much longer for each. */
static void *spin(void *end)
{
	while (!__atomic_load_n((bool *)end, __ATOMIC_ACQUIRE))
		asm volatile(".rept 400\n nop\n .endr");
	return NULL;
}

static void start_reader(int belt, unsigned int pause_us)
{
	reader = (struct reader){ .belt = belt, .pause_us = pause_us };
	if (pthread_create(&reader.thread, NULL, use, NULL))
		bail_out("no thread");
}

static void end_reader(void)
{
	__atomic_store_n(&reader.end, true, __ATOMIC_RELEASE);
	pthread_join(reader.thread, NULL);
}

/* A belt whose time stands still, with @n entries of a second. */
static int make_belt(unsigned int n, __u64 max_bytes)
{
	int belt = belt_of((struct hashbelt_settings){
		.ttl_ms = 1000, .buckets = 11, .mode = 0600, .max_bytes = max_bytes,
		.policy = HASHBELT_EVICT });

	put_numbers(belt, 0, HOT, HASHBELT_TTL_NEVER);
	put_numbers(belt, HOT, n, 0);
	return belt;
}

/* Lets time go on until the worker has begun to drain. */
static void let_expire(int belt)
{
	advance(belt, 899);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	while (!counter(belt, HASHBELT_STAT_EXPIRED))
		usleep(1000);
}

static __u64 ms_since(__u64 begin)
{
	return (wall_ns() - begin) / 1000000;
}

static void wait_until_drained(int belt, unsigned int n)
{
	while (counter(belt, HASHBELT_STAT_EXPIRED) < n)
		usleep(1000);
}

static void wait_until_freed(__u64 bytes)
{
	while (get_parameter("used_bytes") > bytes)
		usleep(1000);
}

/* The bytes that are used when most entries of a belt have been freed that takes @bytes. */
static __u64 mostly_freed(__u64 before)
{
	return before + (get_parameter("used_bytes") - before) / 4;
}

static void test_bound(void)
{
	__u64 before = get_parameter("used_bytes"), freed, begin, took;
	int belt = make_belt(MANY, 0);

	freed = mostly_freed(before);
	start_reader(belt, 0);
	let_expire(belt);
	begin = wall_ns();
	wait_until_drained(belt, MANY);
	took = ms_since(begin);
	ok(took <= DRAINED_MS,
	   "beside a task that never pauses, %u entries are handed over within %u ms", MANY,
	   DRAINED_MS);
	note("%llu ms", took);
	wait_until_freed(freed);
	took = ms_since(begin);
	ok(took <= FREED_MS, "and their memory is freed within %u ms", FREED_MS);
	note("%llu ms", took);
	end_reader();
	close(belt);
	used_at_last(before);
}

static __u64 max_of(__u64 a, __u64 b)
{
	return a > b ? a : b;
}

static void report_latency(const char *beside, __u64 late, __u64 longest)
{
	const struct latencies *gets = &reader.latencies;
	__u64 most = latencies_percentile(gets, 99);

	ok(gets->sum > 100 && most <= late,
	   "while %u entries expire%s, 99 of 100 gets each millisecond take at most %llu us", MANY,
	   beside, late / 1000);
	note("%.1f us", most / 1e3);
	ok(gets->most <= longest, "and each takes at most %llu us", longest / 1000);
	note("%.1f us", gets->most / 1e3);
}

/*
 * From Linux 6.6 on a task that has got the processor keeps it for a slice, even if a task wakes up
 * that has had none. On some kernels only the next tick ends that. Return: a slice in nanoseconds;
 * 0: an older kernel.
 */
static __u64 get_slice(void)
{
	unsigned long long slice = 0;
	FILE *file;

	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	file = fopen("/sys/kernel/debug/sched/base_slice_ns", "r");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &slice) != 1)
		bail_out("base_slice_ns has no number");
	fclose(file);
	return slice;
}

/* Return: the milliseconds until most is freed. */
static __u64 measure_latency(void)
{
	__u64 before = get_parameter("used_bytes"), freed, begin, took;
	int belt = make_belt(MANY, 0);

	freed = mostly_freed(before);
	start_reader(belt, 1000);
	let_expire(belt);
	__atomic_store_n(&reader.counts, true, __ATOMIC_RELEASE);
	begin = wall_ns();
	wait_until_drained(belt, MANY);
	wait_until_freed(freed);
	took = ms_since(begin);
	end_reader();
	close(belt);
	used_at_last(before);
	return took;
}

static void test_latency(void)
{
	__u64 took = measure_latency();

	report_latency("", LATE_NS, LONGEST_NS);
	ok(took <= IDLE_MS, "they are freed within %u ms: the worker mostly is alone", IDLE_MS);
	note("%llu ms", took);
}

static void test_latency_beside(void)
{
	__u64 slice = get_slice(), took;
	struct timespec tick;
	pthread_t spinner;
	bool end = false;

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	if (pthread_create(&spinner, NULL, spin, &end))
		bail_out("no thread");
	took = measure_latency();
	__atomic_store_n(&end, true, __ATOMIC_RELEASE);
	pthread_join(spinner, NULL);
	report_latency(" beside a task that never pauses", max_of(LATE_NS, slice),
		       slice ? slice + tick.tv_nsec : LONGEST_NS);
	ok(took <= FREED_MS, "they are freed within %u ms", FREED_MS);
	note("%llu ms", took);
}

static void test_pressure(void)
{
	__u64 before = get_parameter("used_bytes"), freed, begin, took;
	int belt = make_belt(SOME, 0);

	freed = mostly_freed(before);
	start_reader(belt, 0);
	let_expire(belt);
	wait_until_drained(belt, SOME);
	ok(get_parameter("used_bytes") > freed, "limbo gives way to a task that never pauses");
	begin = wall_ns();
	drop_caches();
	wait_until_freed(freed);
	took = ms_since(begin);
	ok(took <= SOON_MS, "limbo gives way no longer when the kernel calls the shrinker");
	note("%llu ms", took);
	end_reader();
	close(belt);
	used_at_last(before);
}

/* The longest of so many puts, in milliseconds. */
static __u64 longest_put(int belt, unsigned int from, unsigned int n)
{
	__u64 most = 0, begin;

	while (n--) {
		begin = wall_ns();
		put_numbers(belt, from++, 1, HASHBELT_TTL_NEVER);
		most = max_of(most, ms_since(begin));
	}
	return most;
}

static void test_full(void)
{
	__u64 before = get_parameter("used_bytes"), took;
	int belt = make_belt(FEW, 7 * MIB);

	start_reader(belt, 0);
	let_expire(belt);
	took = longest_put(belt, HOT + FEW, 1000);
	ok(took <= SOON_MS, "a put into a full belt does not wait for a worker that gives way");
	note("%llu ms", took);
	end_reader();
	close(belt);
	used_at_last(before);
}

int main(void)
{
	set_exempt(true);
	test_bound();
	test_latency();
	test_latency_beside();
	test_pressure();
	test_full();
	return done_testing();
}
