/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection of hbserve whose server is in the fuzzer. PROTOCOL is its protocol, and BY_PREFIX
 * whether keys may name a belt. Entries are in the memory of this process.
 */
#ifndef _FUZZ_TALK_H
#define _FUZZ_TALK_H

#include <stdarg.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Time stands still: how long a run takes changes no reply. */
static int fuzz_clock(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = 1000000;
	now->tv_nsec = 0;
	return 0;
}

#define SLOTS 2048
#define clock_gettime fuzz_clock
#include "../serve/fake_belts.c"
#undef clock_gettime

#include "auth.h"
#include "connection.h"
#include "listen.h"
#include "log.h"
#include "protocol.h"

#define REPLIES_MAX	(4 << 20)
#define INPUT_MAX	2000	/* a longer line without an end is closed, bytes */

/* Bytes that a client has received. */
struct replies {
	char *bytes;
	size_t length;
};

/* In the place of those of log.c. */
void log_set_level(unsigned int level)
{
	(void)level;
}

unsigned int log_level(void)
{
	return LOG_REQUESTS;
}

/* Checks the replies to what a client has sent. */
static void check_talk(const uint8_t *data, size_t size, const struct replies *replies);

/* Whether the replies may depend on how the bytes were read. */
static bool may_differ(const uint8_t *data, size_t size);

/* The program notes the requests that the server logs, whose bytes do not stay. */
static void note_request(const char *bytes, size_t length);

void log_line(enum log_level level, const char *format, ...)
{
	va_list args;
	int length;

	if (level != LOG_REQUESTS || strcmp(format, "request: %.*s"))
		return;
	va_start(args, format);
	length = va_arg(args, int);
	note_request(va_arg(args, char *), length);
	va_end(args);
}

static bool list_nothing(void *owner, struct output *output)
{
	(void)owner;
	(void)output;
	return true;
}

static void sum_nothing(void *owner, uint64_t *sums)
{
	(void)owner;
	memset(sums, 0, COUNTERS_COUNT * sizeof(*sums));
}

static void ignore(void *owner)
{
	(void)owner;
}

static void no_figures(void *owner, struct server_figures *figures)
{
	(void)owner;
	memset(figures, 0, sizeof(*figures));
}

static int join_nothing(void *owner, unsigned int database)
{
	(void)owner;
	return database ? -ENODATA : 0;
}

static void ignore_number(void *owner, unsigned int number)
{
	(void)owner;
	(void)number;
}

static const struct service_calls calls = {
	.clear_later = ignore_number,
	.list_clients = list_nothing,
	.sum_counters = sum_nothing,
	.reset_counters = ignore,
	.shut_down = ignore,
	.figures = no_figures,
	.join = join_nothing,
	.leave = ignore_number,
};

static const struct options options = {
	.belt = "main",
	.databases = { [1] = "other" },
	.belts_by_prefix = BY_PREFIX,
	.threads = 1,
	.connections = 10,
	.item_max = 1000,
	.dump = true,
};

static const struct listener listener = { .local = true, .protocol = &PROTOCOL };

static void must_be(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "%s: does not hold: %s\n", program_invocation_short_name, what);
	abort();
}

/* Forgets all entries. */
static void forget(void)
{
	free_entries();
	versions = 0;
	entries = 0;
	memset(counters, 0, sizeof(counters));
}

/* Lets the server work until it waits, and receives what it sends. True: it has closed. */
static bool run_server(struct worker *worker, int fd, struct replies *replies)
{
	ssize_t length = 0;
	int turns;

	for (turns = 0; turns < 8 || length > 0; turns++) {
		poller_look(&worker->poller, false);
		length = recv(fd, replies->bytes + replies->length, REPLIES_MAX - replies->length,
			      MSG_DONTWAIT);
		if (!length || (length < 0 && errno == ECONNRESET))
			return true;
		if (length > 0)
			replies->length += length;
		must_be(replies->length < REPLIES_MAX, "the replies are not endless");
	}
	return false;
}

static bool send_part(struct worker *worker, int fd, const uint8_t *data, size_t size,
		      struct replies *replies)
{
	/* A server that has closed the connection takes no more. */
	if (size)
		(void)!send(fd, data, size, MSG_NOSIGNAL);
	return run_server(worker, fd, replies);
}

/* Sends @first bytes, and then the others: all at once, or one by one. */
static void talk(struct worker *worker, const uint8_t *data, size_t size, size_t first,
		 bool by_byte, struct replies *replies)
{
	int pair[2];
	size_t i;

	forget();
	note_request(NULL, 0);
	replies->length = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		abort();
	must_be(connection_open(worker, pair[0], &listener), "a connection is opened");
	if (!send_part(worker, pair[1], data, first, replies)) {
		for (i = first; by_byte && i < size; i++)
			if (send_part(worker, pair[1], data + i, 1, replies))
				break;
		if (!by_byte)
			send_part(worker, pair[1], data + first, size - first, replies);
	}
	shutdown(pair[1], SHUT_WR);
	must_be(run_server(worker, pair[1], replies), "the server closes after its client");
	close(pair[1]);
}

static struct worker *make_worker(void)
{
	static struct worker worker = {
		.service = { .options = &options, .calls = &calls },
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.closed = ignore,
	};

	if (!poller_open(&worker.poller) || belts_open(&options, &worker.service.belts))
		abort();
	service_begin(&worker.service);
	return &worker;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct worker *worker;
	static struct replies whole, parts;
	size_t first;

	if (size < 3 || size > INPUT_MAX)
		return 0;
	if (!worker) {
		worker = make_worker();
		whole.bytes = malloc(REPLIES_MAX);
		parts.bytes = malloc(REPLIES_MAX);
	}
	first = (data[0] | data[1] << 8) % (size - 2);
	data += 2;
	size -= 2;
	talk(worker, data, size, size, false, &whole);
	check_talk(data, size, &whole);
	talk(worker, data, size, first, first % 8 == 0, &parts);
	check_talk(data, size, &parts);
	if (!may_differ(data, size))
		must_be(whole.length == parts.length &&
			!memcmp(whole.bytes, parts.bytes, whole.length),
			"the replies do not depend on the reads");
	return 0;
}

#endif /* _FUZZ_TALK_H */
