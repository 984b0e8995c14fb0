// SPDX-License-Identifier: GPL-2.0-only
/* The command events: entries that have left a belt, and why. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "duration.h"
#include "encoding.h"
#include "json.h"
#include "settings.h"
#include "table.h"

/* Size of a read, bytes: enough for hundreds of small events. */
#define BUFFER_SIZE	(64 * 1024)

/* Bytes that a pipe takes without waiting when poll(2) says that it has room. */
#define WRITE_SIZE	4096

/**
 * struct watch - events that are handed on
 * @request:	the request
 * @follow:	wait for more
 * @ack:	acknowledge events when they are written
 * @most:	how many to print
 * @printed:	how many were
 * @newest:	without @follow: the newest event when this began
 * @ended:	nothing is left to be done
 * @table:	for a table of the events of each read; NULL: there is none
 * @buffer:	the last read
 * @size:	its size, bytes
 */
struct watch {
	struct request *request;
	bool follow;
	bool ack;
	__u64 most;
	__u64 printed;
	__u64 newest;
	bool ended;
	struct table *table;
	void *buffer;
	size_t size;
};

static volatile sig_atomic_t stopped;

/* The signals that end this, and their actions before. */
static const int signals[] = { SIGINT, SIGTERM };
static struct sigaction replaced[ARRAY_SIZE(signals)];

static void stop(int signal)
{
	stopped = signal;
}

/* A signal that our caller ignores, as a shell does for a job, stays ignored. */
static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = stop };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &replaced[i]) &&
		    replaced[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

/* A signal ends this command well, and a batch as a whole. */
static void release_signals(const struct request *request)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &replaced[i], NULL);
	if (stopped && request->batch)
		raise(stopped);
	stopped = 0;
}

/*
 * Waits as poll(2) does. -EINTR once we are to stop, however early the signal came;
 * other signals do not matter.
 */
static int wait_for(struct pollfd *files, nfds_t count)
{
	sigset_t ending, before;
	int ready = -1;

	sigemptyset(&ending);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigprocmask(SIG_BLOCK, &ending, &before);
	errno = EINTR;
	while (!stopped && ready < 0 && errno == EINTR)
		ready = ppoll(files, count, NULL, &before);
	if (ready < 0)
		ready = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ready;
}

/* Writes all of it to standard output, but can be stopped where that blocks. */
static int write_all(const char *text, size_t len)
{
	struct pollfd output = { .fd = STDOUT_FILENO, .events = POLLOUT };
	ssize_t written;
	int ready;

	for (; len; text += written, len -= written) {
		ready = wait_for(&output, 1);
		if (ready < 0)
			return ready;
		written = write(STDOUT_FILENO, text, len < WRITE_SIZE ? len : WRITE_SIZE);
		if (written < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (written < 0)
			written = 0;
	}
	return 0;
}

/* A lock must not be taken for an entry of the same name that expired. */
static void print_line(FILE *file, const struct hashbelt_event *event)
{
	fprintf(file, "%llu\t%s%s\t", event->sequence,
		event->kind == HASHBELT_LOCK ? "lock-" : "", reason_name(event->reason));
	escape_print(file, hashbelt_event_key(event), event->key_len);
	putc('\t', file);
	escape_print(file, hashbelt_event_value(event), event->value_len);
	putc('\n', file);
}

/* The value of a lock is its owner, the version its token. */
static void print_line_json(FILE *file, const struct hashbelt_event *event)
{
	const void *value = hashbelt_event_value(event);
	const void *key = hashbelt_event_key(event);
	bool is_lock = event->kind == HASHBELT_LOCK;
	struct json object = json_begin(file);

	json_add_number(&object, "sequence", event->sequence);
	json_add_word(&object, "reason", reason_name(event->reason));
	json_add_word(&object, "kind", is_lock ? "lock" : "entry");
	json_add_bytes(&object, "key", key, event->key_len);
	json_add_number(&object, is_lock ? "token" : "version", event->version);
	if (!is_lock)
		json_add_number(&object, "flags", event->flags);
	json_add_unless(&object, "deadline_ns", event->deadline_ns, HASHBELT_TTL_NEVER);
	json_add_number(&object, "handed_ns", event->handed_ns);
	if (!is_lock)
		json_add_number(&object, "value_len", event->value_len);
	json_add_bytes(&object, is_lock ? "owner" : "value", value, event->value_len);
	json_add_number(&object, "lost", event->lost);
	json_end(object);
}

static const void *value_at(const void *row, const struct table_column *column)
{
	return (const char *)row + column->offset;
}

static void print_reason(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_event *event = row;

	(void)column;
	fprintf(cell, "%s%s", event->kind == HASHBELT_LOCK ? "lock-" : "",
		reason_name(event->reason));
}

static void print_key(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_event *event = row;

	(void)column;
	escape_print(cell, hashbelt_event_key(event), event->key_len);
}

static void print_value(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_event *event = row;

	(void)column;
	escape_print(cell, hashbelt_event_value(event), event->value_len);
}

/* Belt time; - for never. */
static void print_time(FILE *cell, const void *row, const struct table_column *column)
{
	__u64 ns = *(const __u64 *)value_at(row, column);
	char text[DURATION_SIZE];

	fputs(ns == HASHBELT_TTL_NEVER ? "-" : duration_format_ns(text, ns), cell);
}

#define FIELD(name)	offsetof(struct hashbelt_event, name)
#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of events. */
const struct table_column events_columns[] = {
	{ "SEQUENCE", SHOWN_NUMBER, "number of the event", table_number, FIELD(sequence) },
	{ "REASON", TABLE_DEFAULT, "why it left; lock- before that of a lock", print_reason, 0 },
	{ "KEY", TABLE_DEFAULT | TABLE_TEXT, "key, or name of the lock", print_key, 0 },
	{ "VALUE", TABLE_DEFAULT | TABLE_TEXT, "value, or owner of the lock", print_value, 0 },
	{ "SIZE", TABLE_NUMBER, "length of the value, bytes", table_word, FIELD(value_len) },
	{ "VERSION", TABLE_NUMBER, "version, or token of the lock", table_number, FIELD(version) },
	{ "FLAGS", TABLE_NUMBER, "32 bits of the user's own", table_word, FIELD(flags) },
	{ "DEADLINE", TABLE_NUMBER, "belt time at which it expired; - for never", print_time,
	  FIELD(deadline_ns) },
	{ "HANDED", TABLE_NUMBER, "belt time at which the event was queued", print_time,
	  FIELD(handed_ns) },
	{ "LOST", TABLE_NUMBER, "events that were lost before this one", table_number,
	  FIELD(lost) },
	{ 0 },
};

static void say_lost(const struct watch *watch, __u64 lost)
{
	if (lost && !watch->request->json)
		fail(STATUS_DONE, lost == 1 ? "%llu event was lost" : "%llu events were lost",
		     lost);
}

/* Puts the text of events into memory. Return: the last of them. */
static const struct hashbelt_event *format(struct watch *watch, size_t len, FILE *file)
{
	const struct hashbelt_event *event = NULL, *last = NULL;

	while (watch->printed < watch->most &&
	       (event = hashbelt_event_next(watch->buffer, len, event))) {
		say_lost(watch, event->lost);
		if (watch->request->json)
			print_line_json(file, event);
		else if (watch->table)
			table_add(watch->table, event);
		else
			print_line(file, event);
		watch->printed++;
		if (event->sequence >= watch->newest)
			watch->ended = !watch->follow;
		last = event;
	}
	if (watch->table)
		table_print(watch->table, file);
	if (watch->printed == watch->most)
		watch->ended = true;
	return last;
}

static enum status fail_output(const struct watch *watch, int err)
{
	if (err == -EINTR && watch->ack)
		return STATUS_DONE;
	if (err == -EINTR)
		return fail(STATUS_ERROR,
			    "stopped while the output was not read: events are lost (see --ack)");
	return fail(STATUS_ERROR, "cannot write the output: %s", strerror(-err));
}

/*
 * Prints the events that were read. If --max ends before the last of them, the printed ones
 * are acknowledged and the rest are queued again: with --ack after they were written, else
 * before, as if only they had been read.
 */
static enum status hand_on(struct watch *watch, size_t len)
{
	const struct hashbelt_event *last;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	int err = 0, ack = 0;

	if (!file)
		return fail(STATUS_ERROR, "out of memory");
	last = format(watch, len, file);
	if (fclose(file)) {
		free(text);
		return fail(STATUS_ERROR, "out of memory");
	}
	if (!watch->ack && watch->most != ~0ULL)
		ack = hashbelt_ack(watch->request->handle, last->sequence);
	if (!ack)
		err = write_all(text, size);
	if (watch->ack && !err)
		ack = hashbelt_ack(watch->request->handle, last->sequence);
	free(text);
	if (err)
		return fail_output(watch, err);
	return ack ? fail_belt(watch->request, ack) : STATUS_DONE;
}

/* Waits for an event, or until the reader of our output closes it. */
static enum status wait_for_event(struct watch *watch)
{
	struct pollfd files[] = {
		{ .fd = hashbelt_fd(watch->request->handle), .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	int ready = wait_for(files, ARRAY_SIZE(files));

	if (ready < 0 && ready != -EINTR)
		return fail(STATUS_ERROR, "cannot wait for events: %s", strerror(-ready));
	if (ready < 0 || !(files[1].revents & (POLLERR | POLLHUP)))
		return STATUS_DONE;
	/* The signal of a write to it: but then an event would be gone. */
	raise(SIGPIPE);
	return fail_output(watch, -EPIPE);
}

/* The next event is larger than the buffer. */
static enum status grow(struct watch *watch)
{
	free(watch->buffer);
	watch->size = HASHBELT_EVENT_MAX;
	watch->buffer = malloc(watch->size);
	return watch->buffer ? STATUS_DONE : fail(STATUS_ERROR, "out of memory");
}

/* Reads once, and prints the events or reports the error. */
static enum status step(struct watch *watch)
{
	ssize_t len = hashbelt_read(watch->request->handle, watch->buffer, watch->size);

	if (len > 0)
		return hand_on(watch, len);
	if (len == -EMSGSIZE && watch->size < HASHBELT_EVENT_MAX)
		return grow(watch);
	if (len == -EAGAIN && watch->follow)
		return wait_for_event(watch);
	if (len == -EINTR)
		return STATUS_DONE;
	watch->ended = true;
	if (len == -EAGAIN || (len == -ENODATA && watch->printed && !watch->follow))
		return STATUS_DONE;
	return fail_belt(watch->request, len);
}

/* Everything that the handle and this program need before the first read. */
static int prepare(struct watch *watch)
{
	struct hashbelt *handle = watch->request->handle;
	int err = 0;
	struct hashbelt_info info;

	if (watch->ack || watch->most != ~0ULL)
		err = hashbelt_watch(handle, HASHBELT_WATCH_ACK);
	if (!err)
		err = hashbelt_info(handle, &info);
	if (err)
		return err;
	watch->newest = info.sequence;
	if (fcntl(hashbelt_fd(handle), F_SETFL, fcntl(hashbelt_fd(handle), F_GETFL) | O_NONBLOCK))
		return -errno;
	watch->size = BUFFER_SIZE;
	watch->buffer = malloc(watch->size);
	if (!watch->buffer)
		return -ENOMEM;
	catch_signals();
	return 0;
}

static enum status run(struct watch *watch)
{
	enum status status = STATUS_DONE;
	int err = prepare(watch);

	if (err)
		return fail_belt(watch->request, err);
	while (!status && !watch->ended && !stopped)
		status = step(watch);
	if (!status && !watch->follow && !watch->printed && !stopped)
		status = fail(STATUS_NO, "there is no event in belt '%s'",
			      watch->request->belt);
	release_signals(watch->request);
	return status;
}

/**
 * cmd_events() - hbctl events
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_events(struct request *request)
{
	struct watch watch = {
		.request = request,
		.follow = request_option(request, "follow"),
		.ack = request_option(request, "ack"),
		.most = ~0ULL,
	};
	static const char * const exec_options[] = { "jobs", "tries", "retry" };
	enum status status;
	size_t i;

	if (request_option(request, "exec") && table_is_asked(request))
		return fail_usage(request,
				  "-o, --noheadings and --raw print events, and --exec does not");
	if (request_option(request, "exec"))
		return events_handle(request);
	for (i = 0; i < ARRAY_SIZE(exec_options); i++)
		if (request_option(request, exec_options[i]))
			return fail_usage(request, "--%s needs --exec", exec_options[i]);
	status = request_number(request, "max", 1, ~0ULL - 1, &watch.most);
	if (!status && table_is_asked(request))
		status = table_begin(request, TABLE_DEFAULT, &watch.table);
	if (!status)
		status = request_bind(request);
	if (!status)
		status = run(&watch);
	table_end(watch.table);
	free(watch.buffer);
	return status;
}
