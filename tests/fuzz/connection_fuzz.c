// SPDX-License-Identifier: GPL-2.0-only
/*
 * connection_fuzz - connections of hbserve, for libFuzzer. The first two bytes of an input are a
 * place, and the rest is what a client sends: once as a whole, and once in two parts that the
 * server reads one after the other, or byte by byte. The replies have to be the same. Entries are
 * in the memory of this process.
 *
 * The requests that the server carries out have to be those that this program finds: lines, and
 * behind that of a store its value. So no part of a value is a request. A request has one reply.
 */
#include <event2/event.h>
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

#define CHAINS 64
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

/* Lines of an input, or those that the server has taken for requests. */
#define LINES_MAX	INPUT_MAX
struct lines {
	const uint8_t *at[LINES_MAX];
	size_t length[LINES_MAX];
	size_t count;
};

static struct lines carried_out;

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

/* The server logs each request. Its bytes are copied, as those of the server do not stay. */
void log_line(enum log_level level, const char *format, ...)
{
	static uint8_t bytes[2 * INPUT_MAX];
	static size_t used;
	size_t length;
	va_list args;

	if (level != LOG_REQUESTS || strcmp(format, "request: %.*s"))
		return;
	va_start(args, format);
	length = va_arg(args, int);
	if (!carried_out.count)
		used = 0;
	if (carried_out.count == LINES_MAX || used + length > sizeof(bytes))
		abort();
	memcpy(bytes + used, va_arg(args, char *), length);
	va_end(args);
	carried_out.at[carried_out.count] = bytes + used;
	carried_out.length[carried_out.count++] = length;
	used += length;
}

static void ignore_seconds(void *owner, unsigned int seconds)
{
	(void)owner;
	(void)seconds;
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

static const struct service_calls calls = {
	.clear_later = ignore_seconds,
	.list_clients = list_nothing,
	.sum_counters = sum_nothing,
	.reset_counters = ignore,
	.shut_down = ignore,
	.figures = no_figures,
};

static const struct options options = {
	.belt = "main",
	.belts_by_prefix = true,
	.threads = 1,
	.connections = 10,
	.item_max = 1000,
	.dump = true,
};

static const struct listener listener = { .local = true, .protocol = &protocol_memcached };

static void must_be(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "connection_fuzz: does not hold: %s\n", what);
	abort();
}

/* Forgets all entries. */
static void forget(void)
{
	unsigned int i;

	for (i = 0; i < CHAINS; i++) {
		while (chains[i]) {
			struct entry *entry = chains[i];

			chains[i] = entry->next;
			free(entry->value);
			free(entry);
		}
	}
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
		event_base_loop(worker->base, EVLOOP_NONBLOCK);
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
	carried_out.count = 0;
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

/* Takes the next word of a line. */
static bool next_word(const uint8_t **at, const uint8_t *end, const uint8_t **word, size_t *length)
{
	while (*at < end && **at == ' ')
		++*at;
	*word = *at;
	while (*at < end && **at != ' ')
		++*at;
	*length = *at - *word;
	return *length;
}

/* The number of the word that has the length of a value; -1 if no value follows. */
static int length_word(const uint8_t *name, size_t length)
{
	static const char * const stores[] = {
		"set", "add", "replace", "append", "prepend", "cas",
	};
	unsigned int i;

	for (i = 0; i < sizeof(stores) / sizeof(*stores); i++)
		if (length == strlen(stores[i]) && !memcmp(name, stores[i], length))
			return 4;
	return length == 2 && !memcmp(name, "ms", 2) ? 2 : -1;
}

/* The bytes of a value and its end behind a line. Return: -1 if they are not there. */
static long value_behind(const uint8_t *line, const uint8_t *end, const uint8_t *next,
			 const uint8_t *all)
{
	const uint8_t *at = line, *word;
	size_t length, i;
	long size = 0;
	int number;

	if (!next_word(&at, end, &word, &length))
		return 0;
	number = length_word(word, length);
	if (number < 0)
		return 0;
	while (number-- && next_word(&at, end, &word, &length))
		;
	for (i = 0; i < length; i++) {
		if (word[i] < '0' || word[i] > '9' || size > INPUT_MAX)
			return -1;
		size = 10 * size + word[i] - '0';
	}
	if (!length || size + 2 > all - next || memcmp(next + size, "\r\n", 2))
		return -1;
	return size + 2;
}

/* Finds the requests of an input, up to the first one behind which nothing is known. */
static void find_requests(const uint8_t *data, size_t size, struct lines *lines)
{
	const uint8_t *end = data + size, *at = data, *newline, *line;
	long value = 0;

	for (lines->count = 0; value >= 0 && at < end; at = newline + 1 + value) {
		newline = memchr(at, '\n', end - at);
		if (!newline)
			return;
		lines->at[lines->count] = at;
		line = newline - (newline - at > 1 && newline[-1] == '\r');
		lines->length[lines->count] = line - at;
		value = value_behind(at, line, newline + 1, end);
		lines->count++;
	}
}

/* Whether the first word of a line is a text. */
static bool begins_with(const uint8_t *line, size_t length, const char *text)
{
	const uint8_t *at = line, *word;

	return next_word(&at, line + length, &word, &length) && length == strlen(text) &&
	       !memcmp(word, text, length);
}

/* The bytes of a value and its end behind a line of a reply, which has the number as this word. */
static size_t value_length(const uint8_t *line, size_t length, unsigned int number)
{
	const uint8_t *at = line, *end = line + length, *word;
	size_t size = 0, i;

	while (number-- && next_word(&at, end, &word, &length))
		;
	must_be(next_word(&at, end, &word, &length), "a value has a length");
	for (i = 0; i < length; i++) {
		if (word[i] == '\r')
			break;
		must_be(word[i] >= '0' && word[i] <= '9', "a length has digits alone");
		size = 10 * size + word[i] - '0';
	}
	return size + 2;
}

/* Counts replies. Of the lines of a list or of a get, the last one counts. */
static size_t count_replies(const struct replies *replies)
{
	static const char * const parts[] = { "STAT", "PREFIX", "ITEM", "mg" };
	const uint8_t *at = (uint8_t *)replies->bytes, *end = at + replies->length, *next;
	size_t count = 0, i, length;

	for (; at < end; at = next) {
		next = memchr(at, '\n', end - at);
		must_be(next, "a reply ends with its line");
		length = next++ - at;
		if (begins_with(at, length, "VALUE")) {
			next += value_length(at, length, 3);
			continue;
		}
		if (begins_with(at, length, "VA"))
			next += value_length(at, length, 1);
		for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (begins_with(at, length, parts[i]))
				break;
		if (i == sizeof(parts) / sizeof(*parts) && (length < 4 || memcmp(at, "key=", 4)))
			count++;
	}
	must_be(at == end, "a value of a reply is whole");
	return count;
}

/* Each request has one reply, but for those that may be quiet, and lists that begin with OK. */
static void check_replies(const struct lines *lines, const struct replies *replies)
{
	size_t least = 0, most = 0, count = count_replies(replies), i;

	for (i = 0; i < carried_out.count; i++) {
		const uint8_t *line = lines->at[i];
		size_t length = lines->length[i];

		most += begins_with(line, length, "lru_crawler") ? 2 : 1;
		least += !memchr(line, 'q', length) && !memmem(line, length, "noreply", 7);
	}
	must_be(count <= most, "a request has one reply");
	must_be(count >= least, "a request has a reply");
}

/* The server has decoded a key in base64 in its place, before it logs the request. */
static bool is_same(const struct lines *a, const struct lines *b, size_t i)
{
	size_t length = a->length[i];

	if (length > 2 && *b->at[i] == 'm' && memchr(b->at[i], 'b', length))
		length = 2;
	return a->length[i] == b->length[i] && !memcmp(a->at[i], b->at[i], length);
}

/* Compares the requests that the server has carried out with those of the input. */
static void check_requests(const uint8_t *data, size_t size, const struct replies *replies)
{
	static struct lines lines;
	size_t i;

	/* The binary protocol is refused. */
	if (*data == 0x80)
		return;
	find_requests(data, size, &lines);
	must_be(carried_out.count <= lines.count,
		"no more requests are carried out than were sent");
	for (i = 0; i < carried_out.count; i++)
		must_be(is_same(&carried_out, &lines, i),
			"each request that is carried out is one that was sent");
	check_replies(&lines, replies);
}

/* Times and memory in statistics differ. */
static bool may_differ(const uint8_t *data, size_t size)
{
	return memmem(data, size, "stats", 5) || memmem(data, size, "verbosity", 9);
}

static struct worker *make_worker(void)
{
	static struct worker worker = {
		.service = { .options = &options, .calls = &calls },
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.closed = ignore,
	};

	worker.base = event_base_new();
	if (!worker.base || belts_open(&options, &worker.service.belts))
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
	check_requests(data, size, &whole);
	talk(worker, data, size, first, first % 8 == 0, &parts);
	check_requests(data, size, &parts);
	if (!may_differ(data, size))
		must_be(whole.length == parts.length &&
			!memcmp(whole.bytes, parts.bytes, whole.length),
			"the replies do not depend on the reads");
	return 0;
}
