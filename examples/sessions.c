// SPDX-License-Identifier: GPL-2.0-only
/*
 * sessions - counts the sessions in a web server's log, on a belt.
 *
 *	sessions [LOG]
 *
 * Shows Grosso's updating hashbelt: session keys that live as long as they are
 * used. LOG, or standard input, is in Apache's combined format. A client has a
 * session while its address is in the belt. Each request refreshes the session,
 * and half an hour without a request lets it expire. The log is played in its own
 * time: the belt is halted, and its time is moved by hand from request to request.
 * So days pass in seconds, and the result does not depend on the machine's speed.
 *
 * The last line is for programs: "requests N clients N sessions N".
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hashbelt/client.h>

#define BELT		"sessions"
#define TTL_MS		(30 * 60 * 1000)
#define BUCKETS		7
#define REPORT_S	(6 * 3600)
#define ADDRESS_MAX	64
#define BAR_MAX		40

/**
 * struct request - a line of the log
 * @when:	seconds since 1970
 * @number:	line number, which orders the requests of one second
 * @address:	the client's address
 */
struct request {
	time_t when;
	unsigned long number;
	char address[ADDRESS_MAX];
};

/**
 * struct log - the content of the log
 * @requests:	the lines, sorted by time
 * @count:	number of lines
 */
struct log {
	struct request *requests;
	size_t count;
};

static void __attribute__((noreturn)) die(const char *what, int err)
{
	fprintf(stderr, "sessions: %s: %s\n", what, strerror(-err));
	exit(4);
}

/* "17/May/2015:10:05:03 +0000" as seconds since 1970, or -1. */
static time_t parse_time(const char *text)
{
	struct tm tm = {};
	const char *rest = strptime(text, "%d/%b/%Y:%H:%M:%S", &tm);
	int zone;

	if (!rest || sscanf(rest, " %5d", &zone) != 1)
		return -1;
	return timegm(&tm) - (zone / 100 * 60 + zone % 100) * 60;
}

static int parse_line(const char *line, unsigned long number, struct request *request)
{
	size_t length = strcspn(line, " ");
	const char *bracket = strchr(line, '[');

	if (!length || length >= ADDRESS_MAX || !bracket)
		return -EINVAL;
	memcpy(request->address, line, length);
	request->address[length] = '\0';
	request->number = number;
	request->when = parse_time(bracket + 1);
	return request->when < 0 ? -EINVAL : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct request *one = a, *other = b;

	if (one->when != other->when)
		return one->when < other->when ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

static struct log read_log(FILE *file)
{
	struct log log = {};
	unsigned long number = 0;
	size_t room = 0, size = 0;
	char *line = NULL;

	while (getline(&line, &size, file) > 0) {
		number++;
		if (log.count == room) {
			room = room ? 2 * room : 1024;
			log.requests = realloc(log.requests, room * sizeof(*log.requests));
			if (!log.requests)
				die("reading the log", -ENOMEM);
		}
		if (parse_line(line, number, &log.requests[log.count])) {
			fprintf(stderr, "sessions: line %lu is not in combined format\n",
				number);
			exit(4);
		}
		log.count++;
	}
	free(line);
	if (log.count)
		qsort(log.requests, log.count, sizeof(*log.requests), by_time);
	return log;
}

/* Makes a halted belt; destroys the belt of an earlier run. */
static struct hashbelt *make_belt(void)
{
	struct hashbelt_settings settings = {
		.ttl_ms = TTL_MS,
		.buckets = BUCKETS,
		.policy = HASHBELT_POLICY_UPDATING,
		.mode = 0600,
	};
	struct hashbelt *belt;
	int err = hashbelt_open(NULL, &belt);

	if (err)
		die(HASHBELT_DEVICE, err);
	hashbelt_destroy(belt, BELT);
	err = hashbelt_create(belt, BELT, &settings);
	if (!err)
		err = hashbelt_halt(belt);
	if (err)
		die("cannot make the belt \"" BELT "\"", err);
	return belt;
}

/* Return: 1 if the request opens a session, 0 if it continues one. */
static int play_request(struct hashbelt *belt, const struct request *request)
{
	size_t length = strlen(request->address);
	struct hashbelt_item item = {};
	uint64_t first;
	int err;

	err = hashbelt_get(belt, request->address, length, &first, sizeof(first), &item);
	if (!err)
		return 0;
	if (err != -ENOENT)
		die("get", err);
	first = request->when;
	item = (struct hashbelt_item){};
	err = hashbelt_put(belt, request->address, length, &first, sizeof(first), &item);
	if (err)
		die("put", err);
	return 1;
}

/**
 * struct totals - the counts so far
 * @requests:	number of requests
 * @sessions:	number of sessions opened
 */
struct totals {
	uint64_t requests;
	uint64_t sessions;
};

static void report(struct hashbelt *belt, time_t when, const struct totals *now,
		   struct totals *before)
{
	static const char bar[] = "########################################";
	__u64 counters[HASHBELT_STAT_COUNT] = {};
	struct hashbelt_info info = {};
	unsigned int n = HASHBELT_STAT_COUNT;
	char text[32];
	int width, err = hashbelt_info(belt, &info) ?: hashbelt_stat(belt, counters, &n);

	if (err)
		die("info", err);
	strftime(text, sizeof(text), "%d %b %H:%M", gmtime(&when));
	width = info.entries / 2 < BAR_MAX ? info.entries / 2 : BAR_MAX;
	printf("%s %8ju %8ju %8llu  %4llu %.*s\n", text,
	       (uintmax_t)(now->requests - before->requests),
	       (uintmax_t)(now->sessions - before->sessions),
	       counters[HASHBELT_STAT_EXPIRED], info.entries, width, bar);
	*before = *now;
}

static struct totals play(struct hashbelt *belt, const struct log *log)
{
	struct totals now = {}, before = {};
	time_t when = log->requests[0].when, next = when - when % REPORT_S + REPORT_S;
	int err;

	printf("until          requests sessions  expired  in the belt\n");
	for (size_t i = 0; i < log->count; i++) {
		const struct request *request = &log->requests[i];

		for (; request->when >= next; next += REPORT_S)
			report(belt, next, &now, &before);
		err = hashbelt_advance(belt, (request->when - when) * 1000);
		if (err)
			die("advance", err);
		when = request->when;
		now.sessions += play_request(belt, request);
		now.requests++;
	}
	report(belt, when, &now, &before);
	return now;
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct request *)a)->address,
		      ((const struct request *)b)->address);
}

static size_t count_clients(struct log *log)
{
	size_t clients = 1;

	qsort(log->requests, log->count, sizeof(*log->requests), by_address);
	for (size_t i = 1; i < log->count; i++)
		clients += by_address(&log->requests[i - 1], &log->requests[i]) != 0;
	return clients;
}

int main(int argc, char **argv)
{
	FILE *file = argc > 1 ? fopen(argv[1], "r") : stdin;
	struct totals totals;
	struct log log;
	struct hashbelt *belt;

	if (argc > 2 || !file) {
		if (!file)
			fprintf(stderr, "sessions: %s: %s\n", argv[1], strerror(errno));
		else
			fprintf(stderr, "usage: sessions [LOG]\n");
		return 2;
	}
	log = read_log(file);
	if (!log.count) {
		fprintf(stderr, "sessions: the log is empty\n");
		return 4;
	}
	belt = make_belt();
	totals = play(belt, &log);
	printf("requests %ju clients %zu sessions %ju\n", (uintmax_t)totals.requests,
	       count_clients(&log), (uintmax_t)totals.sessions);
	hashbelt_destroy(belt, BELT);
	free(log.requests);
	return 0;
}
