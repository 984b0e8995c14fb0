// SPDX-License-Identifier: GPL-2.0-only
/*
 * starve_test - with a starved worker, events are late, but none is lost.
 *
 * On each processor a real-time thread reads without a pause, so other tasks get only the
 * time that real-time throttling leaves: 50 ms of each second. In addition, the worker is
 * limited to one processor. Meanwhile entries expire.
 */
#include <pthread.h>
#include <sched.h>

#include "events.h"

#define ENTRIES		20000u
#define DUE_MS		4000u		/* entries are due from 1 ms to this time on */
#define INTERVAL_MS	50
#define MOMENT_MS	5000		/* more than it takes to hand all events over */
#define CPUMASK		"/sys/devices/virtual/workqueue/cpumask"
#define THROTTLE	"/proc/sys/kernel/sched_rt_"

/**
 * struct spinner - a real-time thread that reads on its own processor
 * @thread:	the thread
 * @cpu:	number of the processor
 * @reads:	number of gets
 * @hits:	number of hits
 * @stale:	hits on entries at or past their deadline
 * @lost:	misses of entries before their deadline
 */
struct spinner {
	pthread_t thread;
	int cpu;
	unsigned long long reads;
	unsigned long long hits;
	unsigned long long stale;
	unsigned long long lost;
};

static int belt;
static __u64 base_ns;		/* belt time at which all entries were put */
static bool end;

static __u64 now_ns(void)
{
	return info_of(belt).now_ns;
}

/* The deadline of an entry, in milliseconds after base_ns. */
static __u64 due_ms(unsigned int number)
{
	return 1 + (__u64)number * DUE_MS / ENTRIES;
}

/* Reads the clock, gets the entry, and reads the clock again. */
static void read_one(struct spinner *spinner, unsigned int number)
{
	struct { __u64 number, zero; } key = { number, 0 };
	struct hashbelt_item item = {
		.key = address(&key), .key_len = sizeof(key), .how = HASHBELT_NO_VALUE,
	};
	__u64 due = base_ns + due_ms(number) * 1000000, before = now_ns();
	bool hit = !call(belt, HASHBELT_IOC_GET, &item);

	spinner->reads++;
	spinner->hits += hit;
	spinner->stale += hit && before >= due;
	spinner->lost += !hit && now_ns() < due;
}

static void *spin(void *arg)
{
	struct sched_param param = { .sched_priority = 50 };
	struct spinner *spinner = arg;
	unsigned int number = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(spinner->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		bail_out("no real-time thread on processor %d: %s", spinner->cpu, strerror(errno));
	while (!__atomic_load_n(&end, __ATOMIC_ACQUIRE)) {
		number = (number + 7919) % ENTRIES;
		read_one(spinner, number);
	}
	return NULL;
}

/* Runs the real-time threads until all entries are due; returns their number. */
static unsigned int starve(struct spinner *spinners)
{
	unsigned int cpus = sysconf(_SC_NPROCESSORS_ONLN), i;

	for (i = 0; i < cpus; i++) {
		spinners[i].cpu = i;
		pthread_create(&spinners[i].thread, NULL, spin, &spinners[i]);
	}
	while (now_ns() < base_ns + (DUE_MS + 500) * 1000000ULL)
		usleep(1000);
	__atomic_store_n(&end, true, __ATOMIC_RELEASE);
	for (i = 0; i < cpus; i++)
		pthread_join(spinners[i].thread, NULL);
	return cpus;
}

/**
 * struct tally - a summary of the events
 * @longest:	longest lag, milliseconds
 * @last:	belt time at which the last event was handed over
 * @good:	true if each event is right
 */
struct tally {
	__u64 longest;
	__u64 last;
	bool good;
};

static void read_events(struct stream *stream, struct tally *tally)
{
	static unsigned char told[ENTRIES];
	const struct hashbelt_event *event;
	__u64 lag, number;

	while (stream->count < ENTRIES &&
	       (stream->at < stream->len || readable_at_last(belt))) {
		event = next_event(stream);
		if (!event)
			break;
		memcpy(&number, event_key(event), sizeof(number));
		tally->good = tally->good && number < ENTRIES && !told[number]++ &&
			      event->reason == HASHBELT_EXPIRED &&
			      event->handed_ns >= event->deadline_ns;
		lag = (event->handed_ns - event->deadline_ns) / 1000000;
		tally->longest = lag > tally->longest ? lag : tally->longest;
		tally->last = event->handed_ns;
	}
}

static void check_reads(const struct spinner *spinners, unsigned int n)
{
	struct spinner sum = {};
	unsigned int i;

	for (i = 0; i < n; i++) {
		sum.reads += spinners[i].reads;
		sum.hits += spinners[i].hits;
		sum.stale += spinners[i].stale;
		sum.lost += spinners[i].lost;
	}
	note("%llu reads, %llu hits", sum.reads, sum.hits);
	ok(sum.hits > 0 && sum.hits < sum.reads,
	   "gets of real-time threads hit some entries and miss others");
	is_int(sum.stale, 0,
	       "no get finds an entry at its deadline while the worker is starved");
	is_int(sum.lost, 0,
	       "each get finds an entry before its deadline while the worker is starved");
}

static void check_told(__u64 ended_ns)
{
	struct stream stream = stream_of(belt, 65536);
	struct tally tally = { .good = true };

	read_events(&stream, &tally);
	is_int(stream.count, ENTRIES,
	       "each entry that expired while the worker was starved is reported");
	ok(tally.good, "each entry is reported once as expired, not before its deadline");
	is_int(stream.lost, 0, "no event is lost while the worker is starved");
	ok(tally.longest > 2 * INTERVAL_MS,
	   "some events are later than two intervals: the worker was starved");
	ok(tally.last < ended_ns + (INTERVAL_MS + MOMENT_MS) * 1000000ULL,
	   "the last event is queued within 5.1 s once the worker has a processor");
	note("the longest lag was %llu ms, the last event came %lld ms after the threads' end",
	     tally.longest, ((long long)tally.last - (long long)ended_ns) / 1000000);
	free(stream.buffer);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes"), ended_ns;
	static struct spinner spinners[64];
	unsigned int cpus, i;
	char mask[32] = "";
	FILE *file;

	ok(write_line(THROTTLE "period_us", "1000000") &&
	   write_line(THROTTLE "runtime_us", "950000"),
	   "real-time threads are given 95 %% of each second");
	file = fopen(CPUMASK, "r");
	ok(file && fgets(mask, sizeof(mask), file), "the cpumask of kernel workers can be read");
	ok(write_line(CPUMASK, "1"), "kernel workers are limited to the first processor");
	belt = reporting_belt(HASHBELT_NOTIFY, 0);
	SET(belt, .fields = HASHBELT_SET_TTL | HASHBELT_SET_BUCKETS,
	    .ttl_ms = 100 * INTERVAL_MS, .buckets = 101);
	base_ns = now_ns();
	for (i = 0; i < ENTRIES; i++)
		put_numbers(belt, i, 1, due_ms(i));
	is_int(info_of(belt).entries, ENTRIES,
	       "the belt has %u entries before the worker is starved", ENTRIES);
	must(belt, HASHBELT_IOC_RESUME, NULL);
	cpus = starve(spinners);
	ended_ns = now_ns();
	check_reads(spinners, cpus);
	check_told(ended_ns);
	is_int(info_of(belt).entries, 0, "no entry is left once all have expired");
	ok(write_line(CPUMASK, mask), "the cpumask of kernel workers is restored");
	close(belt);
	if (!used_at_last(before))
		bail_out("used_bytes does not return to what it was before the test");
	return done_testing();
}
