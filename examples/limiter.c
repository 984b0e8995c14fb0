// SPDX-License-Identifier: GPL-2.0-only
/*
 * limiter - lets each client have 5 requests in 10 seconds.
 *
 *	limiter
 *
 * Shows a rate limiter with a fixed window, as it is built on memcached's incr or
 * Redis's INCR and EXPIRE, in one call. The first request of a client makes a counter
 * that lives as long as the window; later requests add to it. Requests over the limit
 * are refused. When the counter has expired, the next request opens a new window.
 *
 * Then four processes send requests as one client, at once. No addition is lost, so
 * exactly as many requests pass as the limit allows.
 *
 * Relies on: hashbelt_add() is one step, also if the entry is absent; an addition to an
 * entry that is there does not change its deadline; no entry is read at or past its
 * deadline.
 */
#include <sys/wait.h>

#include "example.h"

#define BELT		"example-limiter"
#define WINDOW_S	10
#define LIMIT		5
#define END_S		25
#define PROCESSES	4
#define TRIES		1000	/* of each process */
#define MANY_LIMIT	1500

static const char usage[] =
	"usage: limiter\n"
	"At most 5 requests of a client in 10 seconds.\n";

/* Return: true if a client may have one more request; @sum: its number in the window. */
static bool may_pass(struct hashbelt *belt, const char *client, __s64 limit, __s64 *sum)
{
	must("add",
	     hashbelt_add(belt, client, strlen(client), 1, 0, HASHBELT_TTL_BELT, sum));
	return *sum <= limit;
}

static void request(struct hashbelt *belt, const char *client, unsigned int now)
{
	__s64 sum;
	bool passes = may_pass(belt, client, LIMIT, &sum);

	printf("%2u s  %-5s  request %lld of the window %s\n", now, client, sum,
	       passes ? "passes" : "is refused");
}

/* Client ann sends a request each second, which is too often; bob each third second. */
static void two_clients(struct hashbelt *belt)
{
	unsigned int now;
	__s64 sum;

	for (now = 0; now < END_S; now++) {
		request(belt, "ann", now);
		if (now % 3 == 0)
			request(belt, "bob", now);
		must("advance", hashbelt_advance(belt, 1000));
	}
	/* The third window of ann began at 20 s, and the next request is in it. */
	promise(may_pass(belt, "ann", END_S % WINDOW_S + 1, &sum) &&
		sum == END_S % WINDOW_S + 1, "a window ends after 10 seconds");
	must("advance", hashbelt_advance(belt, 5000));
	promise(may_pass(belt, "ann", 1, &sum) && sum == 1,
		"refused requests do not make a window longer");
}

/* One of the processes: writes the number of its requests that passed to the pipe. */
static void try_often(int pipe)
{
	unsigned int passed = 0, i;
	struct hashbelt *belt = open_belt(BELT);
	__s64 sum;

	for (i = 0; i < TRIES; i++)
		passed += may_pass(belt, "shared", MANY_LIMIT, &sum);
	_exit(write(pipe, &passed, sizeof(passed)) != sizeof(passed));
}

static void many_processes(struct hashbelt *belt)
{
	unsigned int passed, total = 0, i;
	__s64 sum;
	int pipes[2];

	if (pipe(pipes))
		die("pipe", -errno);
	fflush(stdout);
	for (i = 0; i < PROCESSES; i++)
		if (!fork())
			try_often(pipes[1]);
	close(pipes[1]);
	while (read(pipes[0], &passed, sizeof(passed)) == sizeof(passed))
		total += passed;
	while (wait(NULL) > 0)
		;
	close(pipes[0]);
	must("add", hashbelt_add(belt, "shared", 6, 0, 0, HASHBELT_TTL_BELT, &sum));
	printf("processes %u tried %lld limit %u passed %u\n", PROCESSES, sum, MANY_LIMIT,
	       total);
	promise(sum == PROCESSES * TRIES, "no addition of four processes is lost");
	promise(total == MANY_LIMIT, "exactly as many requests pass as the limit allows");
}

int main(int argc, char **argv)
{
	struct hashbelt *belt;

	arguments(argc, argv, 0, usage);
	belt = new_belt(BELT, (struct hashbelt_settings){
		.ttl_ms = WINDOW_S * 1000,
		.buckets = WINDOW_S + 1,
	});
	two_clients(belt);
	many_processes(belt);
	must("destroy", hashbelt_destroy(belt, BELT));
	return verdict();
}
