// SPDX-License-Identifier: GPL-2.0-only
/*
 * expiry - measures how long it takes to drain and free entries that expire at once.
 *
 *	expiry [ENTRIES]
 *
 * Entries with keys of 16 bytes and values of 64 expire three times: a task drains them
 * (HASHBELT_IOC_ADVANCE), the worker drains them, and the worker drains them beside a task that
 * reads. Each line has the time until the last entry is drained, the time until 95 % of their
 * memory is free, and the processor time of the task that drains or waits, and of the kernel's
 * unbound workers.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <time.h>

#include "latency.h"
#include "device.h"

#define ENTRIES		1000000u
#define HOT		1000u		/* entries that do not expire; the reader gets these */
#define SECOND		1000000000ULL

enum phase { BEFORE, DURING, END, PHASES };

/**
 * struct reading - a task that reads
 * @belt:	its belt
 * @phase:	before the entries expire, or from then on; set by another thread
 * @latencies:	of gets, by phase
 */
static struct reading {
	int belt;
	enum phase phase;
	struct latencies latencies[PHASES];
} reading;

static __u64 read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static __u64 wall_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* False: the task has ended. */
static bool read_line(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "r");
	bool good = file && fgets(line, size, file);

	if (file)
		fclose(file);
	return good;
}

/* Processor time of the workers that are not bound to a processor, in nanoseconds. */
static __u64 workers_ns(void)
{
	DIR *proc = opendir("/proc");
	__u64 ns, sum = 0;
	struct dirent *process;
	char path[300], line[128];

	if (!proc)
		bail_out("/proc: %s", strerror(errno));
	while ((process = readdir(proc))) {
		if (!isdigit(process->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", process->d_name);
		if (!read_line(path, line, sizeof(line)) || strncmp(line, "kworker/u", 9))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat", process->d_name);
		if (read_line(path, line, sizeof(line)) && sscanf(line, "%llu", &ns) == 1)
			sum += ns;
	}
	closedir(proc);
	return sum;
}

static void *read_on(void *arg)
{
	struct { __u64 number, zero; } key = {};
	unsigned char value[64];
	enum phase phase;
	__u64 begin;

	while ((phase = __atomic_load_n(&reading.phase, __ATOMIC_ACQUIRE)) != END) {
		struct hashbelt_item item = {
			.key = address(&key), .key_len = sizeof(key),
			.value = address(value), .value_len = sizeof(value),
		};

		key.number = (key.number + 1) % HOT;
		begin = wall_ns();
		must(reading.belt, HASHBELT_IOC_GET, &item);
		latencies_add(&reading.latencies[phase], wall_ns() - begin);
	}
	return arg;
}

static void set_phase(enum phase phase)
{
	__atomic_store_n(&reading.phase, phase, __ATOMIC_RELEASE);
}

static void print_latency(const char *name, enum phase phase)
{
	const struct latencies *all = &reading.latencies[phase];

	printf("  a get %s: half within %.1f us, 99 %% %.1f, 99.9 %% %.1f, most %.1f\n", name,
	       latencies_percentile(all, 50) / 1e3, latencies_percentile(all, 99) / 1e3,
	       latencies_percentile(all, 99.9) / 1e3, all->most / 1e3);
}

/*
 * Fills a belt and lets the entries expire, and prints the times. @by_task: a task drains them;
 * @beside: another task reads meanwhile.
 */
static void expire(unsigned int entries, const char *how, bool by_task, bool beside)
{
	struct hashbelt_settings settings = { .ttl_ms = 1000, .buckets = 11 };
	__u64 before = get_parameter("used_bytes"), used, begin, drained, freed, task, workers;
	int belt = belt_of(settings);
	pthread_t reader;

	put_numbers(belt, 0, HOT, HASHBELT_TTL_NEVER);
	used = get_parameter("used_bytes");
	put_numbers(belt, HOT, entries, 0);
	used += (get_parameter("used_bytes") - used) / 20;
	if (beside) {
		reading.belt = belt;
		set_phase(BEFORE);
		pthread_create(&reader, NULL, read_on, NULL);
		sleep(1);
		set_phase(DURING);
	}
	workers = workers_ns();
	begin = wall_ns();
	task = read_clock(CLOCK_THREAD_CPUTIME_ID);
	if (by_task) {
		advance(belt, 1200);
	} else {
		/* The worker begins when time goes on. */
		advance(belt, 899);
		must(belt, HASHBELT_IOC_RESUME, NULL);
		while (!counter(belt, HASHBELT_STAT_EXPIRED))
			usleep(5000);
		begin = wall_ns();
		while (counter(belt, HASHBELT_STAT_EXPIRED) < entries)
			usleep(5000);
	}
	drained = wall_ns();
	task = read_clock(CLOCK_THREAD_CPUTIME_ID) - task;
	while (get_parameter("used_bytes") > used)
		usleep(20000);
	freed = wall_ns();
	workers = workers_ns() - workers;
	printf("%s: drained in %llu ms, freed in %llu ms\n", how, (drained - begin) / 1000000,
	       (freed - begin) / 1000000);
	printf("  processor time: task %llu ms, workers %llu ms\n", task / 1000000,
	       workers / 1000000);
	if (beside) {
		set_phase(END);
		pthread_join(reader, NULL);
		print_latency("before", BEFORE);
		print_latency("meanwhile", DURING);
	}
	fflush(stdout);
	close(belt);
	used_at_last(before);
}

int main(int argc, char **argv)
{
	unsigned int entries = argc > 1 ? strtoul(argv[1], NULL, 10) : ENTRIES;
	__u64 limit = get_parameter("max_bytes");

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_number("max_bytes", 1ULL << 40);
	printf("%u entries, %ld processors\n", entries, sysconf(_SC_NPROCESSORS_ONLN));
	expire(entries, "a task", true, false);
	expire(entries, "the worker", false, false);
	expire(entries, "the worker beside a reader", false, true);
	set_number("max_bytes", limit);
	return 0;
}
