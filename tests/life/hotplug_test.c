// SPDX-License-Identifier: GPL-2.0-only
/*
 * hotplug_test - no count and no alarm is lost when processors go offline and come back.
 *
 *	hotplug_test [SEED]
 *
 * Counters and memory accounts have a part for each processor, and an alarm is queued on
 * the processor that set it. The test first takes one processor after the other offline,
 * and checks exact sums. Then it takes random ones offline, while the program churn
 * runs, which compares the counters of a belt with what has happened.
 */
#include <sched.h>

#include "events.h"

#define OPERATIONS	50u	/* of each kind, on each processor */
#define ALARM_MS	500u	/* mostly longer than it takes to take a processor offline */
#define CYCLES		20u	/* least number of cycles of processors going offline */
#define CHURN_LOG	"/tmp/hotplug-churn.log"

static unsigned int cpus;
static unsigned long long seed = 1;

static void bail_out_if(bool bad, const char *what)
{
	if (bad)
		bail_out("%s: %s", what, strerror(errno));
}

static void pin(int cpu)
{
	cpu_set_t set;
	unsigned int i;

	CPU_ZERO(&set);
	for (i = 0; i < cpus; i++)
		if (cpu < 0 || i == (unsigned int)cpu)
			CPU_SET(i, &set);
	bail_out_if(sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static void set_online(unsigned int cpu, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	bail_out_if(!write_line(path, online ? "1" : "0"), path);
}

static int on_number(int belt, unsigned long request, __u64 number, __u64 ttl_ms)
{
	struct hashbelt_item item = {
		.key = address(&number), .key_len = sizeof(number), .ttl_ms = ttl_ms,
	};

	return call(belt, request, &item);
}

static void get_counters(int belt, __u64 *counters)
{
	struct hashbelt_stat stat = {
		.counters = address(counters), .count = HASHBELT_STAT_COUNT,
	};

	must(belt, HASHBELT_IOC_STAT, &stat);
}

/* Sums */

/* New entries, hits and misses on one processor. */
static void count_on(int belt, unsigned int cpu)
{
	__u64 from = cpu * 1000u;
	unsigned int i;

	pin(cpu);
	for (i = 0; i < OPERATIONS; i++) {
		bail_out_if(on_number(belt, HASHBELT_IOC_PUT, from + i, 0), "put");
		bail_out_if(on_number(belt, HASHBELT_IOC_GET, from + i, 0), "get");
		bail_out_if(!on_number(belt, HASHBELT_IOC_GET, from + 500 + i, 0), "miss");
	}
	pin(-1);
}

static bool sums_are(int belt, __u64 sum)
{
	__u64 counters[HASHBELT_STAT_COUNT] = {};

	get_counters(belt, counters);
	if (counters[HASHBELT_STAT_PUTS_NEW] == sum && counters[HASHBELT_STAT_HITS] == sum &&
	    counters[HASHBELT_STAT_MISSES] == sum)
		return true;
	note("%llu puts, %llu hits, %llu misses, not %llu", counters[HASHBELT_STAT_PUTS_NEW],
	     counters[HASHBELT_STAT_HITS], counters[HASHBELT_STAT_MISSES], sum);
	return false;
}

static void test_sums(void)
{
	unsigned int cpu, offline = 0, online = 0;
	int belt = new_belt(0);
	__u64 sum = 0;

	for (cpu = 1; cpu < cpus; cpu++) {
		count_on(belt, cpu);
		sum += OPERATIONS;
		set_online(cpu, false);
		offline += sums_are(belt, sum);
		set_online(cpu, true);
		online += sums_are(belt, sum);
	}
	is_int(offline, cpus - 1,
	       "counters keep what a processor has counted when it goes offline");
	is_int(online, cpus - 1, "counters are unchanged when the processor is online again");
	close(belt);
}

/* Alarms */

static void test_alarms(void)
{
	unsigned int cpu, rung = 0, pending = 0;
	struct hashbelt_event event[2];
	int belt;

	for (cpu = 1; cpu < cpus; cpu++) {
		belt = belt_of((struct hashbelt_settings){
			.ttl_ms = ALARM_MS, .handler = HASHBELT_NOTIFY, .buckets = 2,
		});
		must(belt, HASHBELT_IOC_RESUME, NULL);
		pin(cpu);
		bail_out_if(on_number(belt, HASHBELT_IOC_PUT, cpu, 0), "put");
		pin(-1);
		set_online(cpu, false);
		pending += info_of(belt).entries;
		rung += read(belt, event, sizeof(event)) > 0;
		set_online(cpu, true);
		close(belt);
	}
	is_int(rung, cpus - 1, "an entry whose timer was set on an offline processor is reported");
	note("%u of %u alarms had not expired when the processor was offline", pending, cpus - 1);
}

/* All at once */

/* xorshift64 (Marsaglia 2003). */
static __u64 next_random(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static pid_t start_churn(void)
{
	char text[32];
	pid_t child;

	snprintf(text, sizeof(text), "%llu", seed);
	fflush(stdout);
	child = fork();
	if (!child) {
		if (freopen(CHURN_LOG, "w", stdout))
			execl("./churn", "churn", text, "3000", NULL);
		_exit(99);
	}
	return child;
}

static void show_log(void)
{
	FILE *file = fopen(CHURN_LOG, "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		note("churn: %s", line);
	}
	if (file)
		fclose(file);
}

/* Takes one processor offline and back; in each eighth cycle all but the first. */
static void cycle(unsigned int number, __u64 *random)
{
	unsigned int first = 1 + next_random(random) % (cpus - 1), last = first, cpu;

	if (number % 8 == 0) {
		first = 1;
		last = cpus - 1;
	}
	for (cpu = first; cpu <= last; cpu++)
		set_online(cpu, false);
	for (cpu = first; cpu <= last; cpu++)
		set_online(cpu, true);
}

static void test_load(void)
{
	unsigned int cycles = 0;
	__u64 random = seed * 2654435761u | 1;
	bool churning = true;
	int status = -1;
	pid_t churn;

	churn = start_churn();
	for (; churning || cycles < CYCLES; cycles++) {
		cycle(cycles, &random);
		if (churning && waitpid(churn, &status, WNOHANG) == churn)
			churning = false;
	}
	note("%u cycles", cycles);
	is_int(status, 0, "the program churn exits with 0 while processors go offline and online");
	if (status)
		show_log();
}

int main(int argc, char **argv)
{
	__u64 before = get_parameter("used_bytes");

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	note("seed %llu", seed);
	is_int(cpus >= 2, 1, "the guest has at least two processors");
	if (cpus < 2)
		bail_out("hotplug_test needs at least two processors");
	test_sums();
	test_alarms();
	test_load();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}
