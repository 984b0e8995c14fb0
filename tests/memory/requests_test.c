// SPDX-License-Identifier: GPL-2.0-only
/*
 * requests_test - a put of a key for which a million requests of other users wait ends 64 of them.
 *
 *	requests_test [REQUESTS]
 *
 * The worker ends the others. Here it is kept off the processor while the test puts, so that the
 * number that a put ends itself can be counted: the workqueue of belts without an account is
 * confined to the first processor, on which the test has a real-time priority meanwhile. It is
 * confined before the belt is made: a work item that is queued again while it runs stays on the
 * processors that it runs on. Needs the superuser.
 *
 * Hostile user: registers 1,000,000 requests, or any number of waits, for a key; result: a put of
 * the key ends 64, and takes 23 to 24 times as long as one of an untouched key; the worker ends the
 * others.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/stat.h>
#include <time.h>

#include "request.h"

#define REQUESTS	1000000u
#define USERS		4u
#define FIRST_USER	1000u
#define SAMPLES		11u	/* puts whose time is measured */
#define BATCH		64u	/* requests that a put ends itself */

#define CPUMASK		"/sys/devices/virtual/workqueue/hashbelt/cpumask"

static unsigned int requests = REQUESTS;

static __u64 processor_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return used.tv_sec * 1000000000ULL + used.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const __u64 *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static __u64 median(__u64 *samples)
{
	qsort(samples, SAMPLES, sizeof(*samples), compare);
	return samples[SAMPLES / 2];
}

static __u64 time_of_put(int belt, const char *key)
{
	__u64 before = processor_ns();

	put_text(belt, key, "value", HASHBELT_TTL_NEVER);
	return processor_ns() - before;
}

/**
 * struct user - a process that registers requests
 * @pid:	the process
 * @uid:	its user
 * @ready:	the process writes a byte when all requests are registered
 * @end:	it ends, and its descriptor with it, when this is closed
 */
struct user {
	pid_t pid;
	uid_t uid;
	int ready[2];
	int end[2];
};

static int ask_much(struct user *user)
{
	unsigned int id;
	char byte = 0;
	int fd;

	close(user->end[1]);
	become(user->uid, user->uid, 0);
	fd = open_asking("asked");
	for (id = 0; id < requests / USERS; id++)
		if (ASK(fd, id, HASHBELT_TTL_NEVER, "wanted"))
			return 1;
	if (write(user->ready[1], &byte, 1) != 1)
		return 1;
	return read(user->end[0], &byte, 1) != 0;
}

static void start_users(struct user *users)
{
	struct user *user;
	char byte;

	for (user = users; user < users + USERS; user++) {
		user->uid = FIRST_USER + (user - users);
		if (pipe2(user->ready, O_CLOEXEC) || pipe2(user->end, O_CLOEXEC))
			bail_out("pipe: %s", strerror(errno));
		fflush(stdout);
		user->pid = fork();
		if (user->pid < 0)
			bail_out("fork: %s", strerror(errno));
		if (!user->pid)
			_exit(ask_much(user));
		close(user->ready[1]);
	}
	for (user = users; user < users + USERS; user++)
		if (read(user->ready[0], &byte, 1) != 1)
			bail_out("user %u cannot register %u requests", user->uid,
				 requests / USERS);
}

/* Processes that were forked later have copies of the pipes of earlier ones: all are killed. */
static void end_users(struct user *users)
{
	unsigned int i;

	for (i = 0; i < USERS; i++) {
		kill_and_wait(users[i].pid);
		close(users[i].ready[0]);
		close(users[i].end[0]);
		close(users[i].end[1]);
	}
}

/* Reads the mask of the worker's processors. @size: bytes of @mask. */
static void read_mask(char *mask, int size)
{
	FILE *file = fopen(CPUMASK, "r");

	if (!file || !fgets(mask, size, file))
		bail_out("%s: %s", CPUMASK, strerror(errno));
	fclose(file);
}

/* Confines the worker to the processors @mask. */
static void confine_worker(const char *mask)
{
	if (!write_line(CPUMASK, mask))
		bail_out("cannot write %s to %s: %s", mask, CPUMASK, strerror(errno));
}

/* Keeps all others off the first processor, or lets them on it again. */
static void set_first(bool first)
{
	struct sched_param param = { .sched_priority = first };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, first ? SCHED_FIFO : SCHED_OTHER, &param))
		bail_out("cannot keep the worker off the processor: %s", strerror(errno));
}

/* Puts a key for which nothing waits, and then one for which BATCH requests wait. */
static void time_others(int belt, __u64 *none, __u64 *few)
{
	int fd = open_asking("asked");
	__u64 samples[SAMPLES];
	unsigned int i, id;

	for (i = 0; i < SAMPLES; i++)
		samples[i] = time_of_put(belt, "untouched");
	*none = median(samples);
	for (i = 0; i < SAMPLES; i++) {
		for (id = 0; id < BATCH; id++)
			must_ask(fd, i * BATCH + id, "few");
		samples[i] = time_of_put(belt, "few");
	}
	*few = median(samples);
	close(fd);
}

/* Return: the number of puts that ended another number of waits than BATCH. */
static unsigned int time_wanted(int belt, __u64 *many)
{
	__u64 samples[SAMPLES], before;
	unsigned int i, odd = 0;

	for (i = 0; i < SAMPLES; i++) {
		before = waiting(belt);
		samples[i] = time_of_put(belt, "wanted");
		odd += before - waiting(belt) != BATCH;
	}
	*many = median(samples);
	return odd;
}

static void test_put(int belt)
{
	__u64 none, few, many;
	unsigned int odd;

	set_first(true);
	time_others(belt, &none, &few);
	odd = time_wanted(belt, &many);
	set_first(false);
	is_int(odd, 0, "each of %u puts of the key ends %u waits itself", SAMPLES, BATCH);
	note("a put of a key for which %u requests wait ends %u of them; it takes %llu.%llu times",
	     requests, BATCH, many / none, many * 10 / none % 10);
	note("the time of a put of an untouched key, %llu.%02llu times that where %u requests wait",
	     many / few, many * 100 / few % 100, BATCH);
}

struct progress {
	int belt;
	__u64 left;
};

static bool has_fallen(void *arg)
{
	struct progress *progress = arg;

	return waiting(progress->belt) < progress->left;
}

/* True if the worker ends all waits. However long that takes, their number has to fall. */
static bool all_end(int belt)
{
	struct progress progress = { .belt = belt, .left = waiting(belt) };

	while (progress.left && at_last(has_fallen, &progress)) {
		progress.left = waiting(belt);
		usleep(1000);
	}
	return !progress.left;
}

/* @used: bytes that the module uses for the requests */
static void note_bytes(__u64 used)
{
	__u64 each = used / requests, most = get_parameter("user_max_bytes");

	note("a request takes %llu bytes: at its limit of %llu MiB here a user has room for %llu",
	     each, most / MIB, most / each);
}

int main(int argc, char **argv)
{
	__u64 before = get_parameter("used_bytes"), empty;
	struct hashbelt_settings settings = { .name = "asked", .mode = 0666 };
	struct user users[USERS];
	char mask[64] = "";
	int belt;

	if (argc > 1)
		requests = strtoul(argv[1], NULL, 10);
	chmod(HASHBELT_DEVICE, 0666);
	read_mask(mask, sizeof(mask));
	confine_worker("1");
	belt = belt_of(settings);
	empty = get_parameter("used_bytes");
	start_users(users);
	is_int(waiting(belt), requests, "%u requests of %u users wait for a key", requests, USERS);
	note_bytes(get_parameter("used_bytes") - empty);
	test_put(belt);
	ok(all_end(belt), "the worker ends all waits that the puts have left");
	is_int(counter(belt, HASHBELT_STAT_COMPLETED), requests + SAMPLES * BATCH,
	       "each request is completed once");
	end_users(users);
	destroy_belt(belt, "asked");
	close(belt);
	confine_worker(mask);
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	chmod(HASHBELT_DEVICE, 0600);
	return done_testing();
}
