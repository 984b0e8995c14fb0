// SPDX-License-Identifier: GPL-2.0-only
/* poller_test - sources are called for their events, and in their turn, until they leave. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../device/tap.h"
#include "poller.h"

#define SOURCES	3

static struct poller poller;
static struct source sources[SOURCES];

/* The calls: a letter for a source, in capitals for its turn. */
static char calls[64];

/* Each call of the first source does this. */
static void (*act)(void);

static void called(struct source *source, uint32_t events)
{
	char letter = (events ? 'a' : 'A') + (source - sources);
	uint64_t sum;

	calls[strlen(calls)] = letter;
	if (events && read(source->fd, &sum, sizeof(sum)) != sizeof(sum))
		abort();
	if (source == sources && act)
		act();
	if (strlen(calls) + 1 == sizeof(calls))
		poller.ends = true;
}

static void raise_event(unsigned int number)
{
	uint64_t one = 1;

	if (write(sources[number].fd, &one, sizeof(one)) != sizeof(one))
		abort();
}

static void begin(void)
{
	unsigned int i;

	memset(&poller, 0, sizeof(poller));
	memset(calls, 0, sizeof(calls));
	act = NULL;
	if (!poller_open(&poller))
		bail_out("no poller");
	for (i = 0; i < SOURCES; i++) {
		sources[i] = (struct source){
			.ready = called, .fd = eventfd(0, EFD_NONBLOCK),
		};
		if (!poller_wait(&poller, &sources[i], EPOLLIN))
			bail_out("no source");
	}
}

static void end(const char *name, const char *expected)
{
	unsigned int i;

	poller_run(&poller);
	ok(!strcmp(calls, expected), "%s", name);
	for (i = 0; i < SOURCES; i++) {
		poller_leave(&poller, &sources[i]);
		close(sources[i].fd);
	}
	poller_close(&poller);
}

static void stop(void)
{
	poller.ends = true;
}

static void leave_others(void)
{
	poller_leave(&poller, &sources[1]);
	poller_leave(&poller, &sources[2]);
	poller.ends = true;
}

/* Another turn, and another source that is ready, after each of three turns. */
static void turn(void)
{
	raise_event(1);
	if (strlen(calls) < 6)
		poller_turn(&poller, &sources[0]);
	else
		poller.ends = true;
}

static void test_events(void)
{
	begin();
	act = stop;
	raise_event(2);
	raise_event(0);
	end("sources are called for their events, the oldest first", "ca");
}

static void test_leave(void)
{
	begin();
	act = leave_others;
	raise_event(0);
	raise_event(1);
	poller_turn(&poller, &sources[2]);
	end("a source that has left is called neither for its event nor in its turn", "a");
}

static void test_turns(void)
{
	begin();
	act = turn;
	poller_turn(&poller, &sources[0]);
	raise_event(2);
	end("a turn comes after a look at other sources each time", "cAbAbA");
}

int main(void)
{
	test_events();
	test_leave();
	test_turns();
	return done_testing();
}
