// SPDX-License-Identifier: GPL-2.0-only
/*
 * expiry - measures how long it takes to drain and free entries that expire at once.
 *
 *	expiry [ENTRIES]
 *
 * Entries with keys of 16 bytes and values of 64 expire five times: a task drains them
 * (HASHBELT_IOC_ADVANCE), the worker drains them, and the worker drains them beside a task that
 * reads. Each has helpers on the other processors. The belts of a user have none: a task drains
 * one, and the worker. The lines after each name have the time until the last entry is drained, the
 * time until 95 % of their memory is free, and the processor time of the task that drains or waits,
 * and of the kernel's unbound workers. The line with the name is printed when time begins.
 */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <time.h>

#include "latency.h"
#include "device.h"
#include "process.h"

#define ENTRIES		1000000u
#define HOT		1000u		/* entries that do not expire; the other task uses these */
#define SECOND		1000000000ULL

enum phase { BEFORE, DURING, END, PHASES };

/**
 * struct user - a task that gets HOT keys
 * @belt:	the belt
 * @thread:	its thread
 * @phase:	before the entries expire, or from then on; set by another thread
 * @latencies:	of its calls, by phase
 */
static struct user {
	int belt;
	pthread_t thread;
	enum phase phase;
	struct latencies latencies[PHASES];
} user;

static __u64 read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/* False: the task has ended. */
static bool read_first(const char *path, char *line, int size)
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
		if (!read_first(path, line, sizeof(line)) || strncmp(line, "kworker/u", 9))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/schedstat", process->d_name);
		if (read_first(path, line, sizeof(line)) && sscanf(line, "%llu", &ns) == 1)
			sum += ns;
	}
	closedir(proc);
	return sum;
}

static void *use(void *arg)
{
	struct { __u64 number, zero; } key = {};
	unsigned char value[64] = {};
	enum phase phase;
	__u64 begin;

	while ((phase = __atomic_load_n(&user.phase, __ATOMIC_ACQUIRE)) != END) {
		struct hashbelt_item item = {
			.key = address(&key), .key_len = sizeof(key),
			.value = address(value), .value_len = sizeof(value),
		};

		key.number = (key.number + 1) % HOT;
		begin = wall_ns();
		must(user.belt, HASHBELT_IOC_GET, &item);
		latencies_add(&user.latencies[phase], wall_ns() - begin);
	}
	return arg;
}

static void set_phase(enum phase phase)
{
	__atomic_store_n(&user.phase, phase, __ATOMIC_RELEASE);
}

/* Starts a task that gets, and lets it run for a second before entries expire. */
static void start_user(int belt)
{
	user = (struct user){ .belt = belt, .phase = BEFORE };
	if (pthread_create(&user.thread, NULL, use, NULL))
		bail_out("no thread");
	sleep(1);
	set_phase(DURING);
}

static void print_latency(const char *name, enum phase phase)
{
	const struct latencies *all = &user.latencies[phase];

	printf("  a get %s: half within %.1f us, 99 %% %.1f, 99.9 %% %.1f, most %.1f\n",
	       name, latencies_percentile(all, 50) / 1e3,
	       latencies_percentile(all, 99) / 1e3, latencies_percentile(all, 99.9) / 1e3,
	       all->most / 1e3);
}

static void end_user(void)
{
	set_phase(END);
	pthread_join(user.thread, NULL);
	print_latency("before", BEFORE);
	print_latency("meanwhile", DURING);
}

/**
 * struct expiry - a way in which entries expire
 * @how:	its name
 * @by_task:	a task drains them
 * @of_user:	the belt has an account
 * @beside:	another task reads meanwhile
 */
struct expiry {
	const char *how;
	bool by_task;
	bool of_user;
	bool beside;
};

/* Fills a belt and lets the entries expire, and prints the times. */
static void expire(unsigned int entries, const struct expiry *expiry)
{
	struct hashbelt_settings settings = { .ttl_ms = 1000, .buckets = 11 };
	__u64 before = get_parameter("used_bytes"), used, begin, drained, freed, task, workers;
	int belt;

	set_exempt(!expiry->of_user);
	belt = belt_of(settings);
	put_numbers(belt, 0, HOT, HASHBELT_TTL_NEVER);
	used = get_parameter("used_bytes");
	put_numbers(belt, HOT, entries, 0);
	used += (get_parameter("used_bytes") - used) / 20;
	if (expiry->beside)
		start_user(belt);
	printf("%s\n", expiry->how);
	workers = workers_ns();
	begin = wall_ns();
	task = read_clock(CLOCK_THREAD_CPUTIME_ID);
	if (expiry->by_task) {
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
	printf("  drained in %llu ms, freed in %llu ms\n", (drained - begin) / 1000000,
	       (freed - begin) / 1000000);
	printf("  processor time: task %llu ms, workers %llu ms\n", task / 1000000,
	       workers / 1000000);
	if (expiry->beside)
		end_user();
	close(belt);
	used_at_last(before);
}

static const struct expiry expiries[] = {
	{ .how = "a task", .by_task = true },
	{ .how = "the worker" },
	{ .how = "the worker beside a reader", .beside = true },
	{ .how = "a task of a user", .by_task = true, .of_user = true },
	{ .how = "the worker of a user", .of_user = true },
};

int main(int argc, char **argv)
{
	unsigned int entries = argc > 1 ? strtoul(argv[1], NULL, 10) : ENTRIES;
	__u64 limit = get_parameter("max_bytes"), of_user = get_parameter("user_max_bytes");
	unsigned int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	set_number("max_bytes", 1ULL << 40);
	set_number("user_max_bytes", 1ULL << 40);
	printf("%u entries, %ld processors\n", entries, sysconf(_SC_NPROCESSORS_ONLN));
	for (i = 0; i < ARRAY_SIZE(expiries); i++)
		expire(entries, &expiries[i]);
	set_number("user_max_bytes", of_user);
	set_number("max_bytes", limit);
	return 0;
}
