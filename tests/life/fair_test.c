// SPDX-License-Identifier: GPL-2.0-only
/*
 * fair_test - belts of one user that are always due do not take the processor from another user.
 *
 *	fair_test [BELTS]
 *
 * For a guest whose time is the number of instructions that it has executed, with one processor:
 * the worst case, because the kernel's workers then share a processor with each task. Alice has
 * 1000 belts, each with an entry that is reinserted for a millisecond each time it expires. Bob
 * has a process that computes without a pause, and a belt. The share of the processor that Bob's
 * process has is what it computes in a second, compared with what it computes alone.
 *
 * Then Alice has a process that fills and clears the belts one after the other without a pause.
 * Each call queues the worker of a belt. The processor then has four tasks, however many belts
 * Alice has: Bob's process, Alice's, the one worker of all of Alice's belts, and the kernel's work
 * that frees the entries.
 *
 * Hostile user: makes 1000 belts whose entries come round every millisecond; result: 46 to 47 % of
 * a processor for a process that computes; 50 % beside a second process.
 *
 * Hostile user: fills and clears 1000 belts in a loop; result: 27 % of a processor for a process
 * that computes, one of four tasks.
 */
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <time.h>

#include "events.h"

#define ALICE	1000
#define BOB	1001

#define SECOND		1000000000ULL
#define INTERVAL_MS	10
#define LEAST		45	/* least share of the processor, percent */
#define LEAST_OF_FOUR	25

/* An interval, two ticks of 4 ms, a slot of boot time, and 8 ms for the scheduler. */
#define MOST_LATE_MS	(INTERVAL_MS + 2 * 4 + 5 + 8)

#define DUE		100u	/* entries that expire in Bob's belt */

static unsigned int belts = 1000;
static volatile unsigned int sink;

static __u64 read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

/**
 * struct share - what Bob's process has computed
 * @work:	loops
 * @cpu_ns:	processor time that the kernel has charged it with
 */
struct share {
	__u64 work;
	__u64 cpu_ns;
};

/* Computes for @ns on the first processor. */
static int compute(__u64 ns, struct share *share)
{
	__u64 end = read_clock(CLOCK_MONOTONIC) + ns;
	__u64 before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
	unsigned int i;

	share->work = 0;
	while (read_clock(CLOCK_MONOTONIC) < end) {
		for (i = 0; i < 10000; i++)
			sink = sink * 69069 + 1;
		share->work++;
	}
	share->cpu_ns = read_clock(CLOCK_PROCESS_CPUTIME_ID) - before;
	return 0;
}

/* Bob's process: a second on one processor. */
static int compute_as_bob(void *arg)
{
	cpu_set_t set;

	become(BOB, BOB, 0);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return 1;
	return compute(SECOND, arg);
}

/* A descriptor with a belt that user @uid owns. */
static int belt_as(uid_t uid, struct hashbelt_settings settings)
{
	int belt = open_device(O_RDWR | O_NONBLOCK);

	setfsuid(uid);
	must(belt, HASHBELT_IOC_CREATE, &settings);
	setfsuid(0);
	return belt;
}

static int *alices;

static void make_alices_belts(int *descriptors)
{
	struct hashbelt_settings settings = {
		.ttl_ms = 1, .buckets = 2, .handler = HASHBELT_REINSERT,
	};
	unsigned int i;

	for (i = 0; i < belts; i++) {
		descriptors[i] = belt_as(ALICE, settings);
		put_text(descriptors[i], "key", "value", 1);
	}
}

/* The longest time from the deadline of an entry to its event, in nanoseconds. */
static __u64 read_lateness(int belt, unsigned int *count)
{
	struct stream stream = stream_of(belt, 65536);
	const struct hashbelt_event *event;
	__u64 late, most = 0;

	while (stream.count < DUE && (stream.at < stream.len || readable_at_last(belt))) {
		event = next_event(&stream);
		if (!event)
			break;
		late = event->handed_ns - event->deadline_ns;
		most = late > most ? late : most;
	}
	*count = stream.count;
	free(stream.buffer);
	return most;
}

/* Beside Alice's belts. */
static void test_beside(struct share *shared)
{
	unsigned int count, i;
	__u64 late;
	int belt;

	belt = belt_as(BOB, (struct hashbelt_settings){
		.ttl_ms = 100 * INTERVAL_MS, .buckets = 101, .handler = HASHBELT_NOTIFY,
	});
	for (i = 0; i < DUE; i++)
		put_numbers(belt, i, 1, 1 + i * 10);
	is_int(finish(start(compute_as_bob, shared)), 0,
	       "a process of another user computes beside belts that are always due");
	late = read_lateness(belt, &count);
	is_int(count, DUE, "%u entries of another user's belt expire beside them", DUE);
	note("the last was handed over %llu us after its deadline", late / 1000);
	ok(late <= MOST_LATE_MS * 1000000ULL,
	   "each entry of another user's belt is reported at most %u ms after its deadline",
	   MOST_LATE_MS);
	close(belt);
}

/* Puts into Alice's belts and clears them until it is killed. @arg: counts the calls of CLEAR. */
static int clear_as_alice(void *arg)
{
	__u64 *calls = arg;
	int belt;

	become(ALICE, ALICE, 0);
	do {
		belt = alices[++*calls % belts];
		put_text(belt, "key", "value", 1);
	} while (!call(belt, HASHBELT_IOC_CLEAR, NULL));
	return 1;
}

/* Beside a process of Alice's that keeps the worker of these belts busy. */
static void test_beside_calls(struct share *shared)
{
	__u64 *calls = shared_memory(sizeof(*calls));
	pid_t process = start(clear_as_alice, calls);

	is_int(finish(start(compute_as_bob, shared)), 0,
	       "a process of another user computes beside one that clears belts");
	is_int(waitpid(process, NULL, WNOHANG), 0, "which has gone on all the time");
	kill_and_wait(process);
	note("which has cleared a belt %llu times", *calls);
}

/* When no belt is left. */
static void test_share(const struct share *beside, const struct share *alone)
{
	const struct share *shared = &beside[0];
	__u64 work;

	work = shared->work * 100 / alone->work;
	note("it computes %llu %% of what it computes alone; charged with %llu %% of the time",
	     work, shared->cpu_ns * 100 / SECOND);
	ok(work >= LEAST,
	   "beside %u belts that are always due a process computes %u %% of what it does alone",
	   belts, LEAST);
	work = beside[1].work * 100 / alone->work;
	note("beside a process that clears belts it computes %llu %%; charged with %llu %%", work,
	     beside[1].cpu_ns * 100 / SECOND);
	ok(work >= LEAST_OF_FOUR,
	   "beside a process that clears %u belts without a pause a process computes %u %%", belts,
	   LEAST_OF_FOUR);
}

int main(int argc, char **argv)
{
	__u64 before = get_parameter("used_bytes");
	struct share *shares = shared_memory(3 * sizeof(*shares));
	struct rlimit files;
	unsigned int i;

	if (argc > 1)
		belts = strtoul(argv[1], NULL, 10);
	files.rlim_cur = belts + 100;
	files.rlim_max = belts + 100;
	alices = calloc(belts, sizeof(*alices));
	if (!alices || setrlimit(RLIMIT_NOFILE, &files))
		bail_out("no room for %u descriptors: %s", belts, strerror(errno));
	set_exempt(false);
	/* A kernel that has just been started is busy with other work. */
	finish(start(compute_as_bob, shares));
	make_alices_belts(alices);
	test_beside(shares);
	test_beside_calls(shares + 1);
	for (i = 0; i < belts; i++)
		close(alices[i]);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	if (finish(start(compute_as_bob, shares + 2)))
		bail_out("no process computes alone");
	test_share(shares, shares + 2);
	return done_testing();
}
