// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command watch: changes of some entries, as they come.
 *
 * A put completes a request for the key, which takes no event from any other reader. No request
 * ends when an entry leaves its belt, so watch looks for that at intervals.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "encoding.h"
#include "entry.h"
#include "json.h"

/* Bounds of the interval, and its default, milliseconds. */
#define INTERVAL_MIN_MS	10
#define INTERVAL_MAX_MS	(24 * 60 * 60 * 1000)
#define INTERVAL_MS	1000

/* Size of a read, bytes: enough for many requests that have ended. */
#define BUFFER_SIZE	(64 * 1024)

/**
 * struct watched - a key, and its entry as it was printed last
 * @key:	the key
 * @version:	of the entry
 * @is_present:	there was an entry
 */
struct watched {
	struct key key;
	__u64 version;
	bool is_present;
};

/**
 * struct watching - a watch that goes on
 * @request:	the request
 * @entries:	the keys
 * @keys:	the same, as the kernel wants them
 * @count:	their number
 * @groups:	requests that they need, each for HASHBELT_REQUEST_KEYS of them
 * @id:		of the newest request; the remainder of its division by @groups is its group
 * @interval_ms: time between two looks at all entries
 * @look_ms:	when the next one is due
 * @left:	changes until the end
 * @value:	the value that was printed last
 * @buffer:	the last read
 */
struct watching {
	struct request *request;
	struct watched *entries;
	struct hashbelt_key *keys;
	unsigned int count;
	unsigned int groups;
	__u64 id;
	__u64 interval_ms;
	__u64 look_ms;
	__u64 left;
	struct value value;
	__u64 buffer[BUFFER_SIZE / sizeof(__u64)];
};

static __u64 clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* Prints the entry. @item: NULL if it has gone. */
static void print_change(struct watching *watching, const struct key *key,
			 const struct hashbelt_item *item)
{
	bool is_json = watching->request->json;
	struct json object;

	watching->left--;
	if (!is_json && item) {
		entry_print_line(watching->request, key, &watching->value, item);
	} else if (!is_json) {
		escape_print(stdout, key->bytes, key->len);
		putchar('\n');
	} else {
		object = item ? entry_json(key, &watching->value, item) :
				json_entry(key->bytes, key->len);
		json_add_bool(&object, "present", !!item);
		json_end(object);
	}
}

/* Looks at an entry, and prints it if it has changed. */
static int look(struct watching *watching, struct watched *entry)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE };
	struct hashbelt *handle = watching->request->handle;
	const struct key *key = &entry->key;
	int err;

	err = hashbelt_get(handle, key->bytes, key->len, NULL, 0, &item);
	if (!err && entry->is_present && item.version == entry->version)
		return 0;
	if (!err) {
		item = (struct hashbelt_item){ .how = HASHBELT_NO_REFRESH };
		err = value_get(&watching->value, handle, key->bytes, key->len, &item);
	}
	if (err && err != -ENOENT)
		return err;
	if (!err || entry->is_present)
		print_change(watching, key, err ? NULL : &item);
	entry->is_present = !err;
	entry->version = item.version;
	return 0;
}

/* Looks at the entries of a group. */
static int look_at_group(struct watching *watching, unsigned int group)
{
	unsigned int i = group * HASHBELT_REQUEST_KEYS, end = i + HASHBELT_REQUEST_KEYS;
	int err = 0;

	for (; !err && i < end && i < watching->count && watching->left; i++)
		err = look(watching, &watching->entries[i]);
	return err;
}

/* Registers a request for a group, and then looks: a put between the two is not missed. */
static int watch_group(struct watching *watching, unsigned int group)
{
	unsigned int first = group * HASHBELT_REQUEST_KEYS, count = watching->count - first;
	int err;

	watching->id += watching->groups - watching->id % watching->groups + group;
	err = hashbelt_request(watching->request->handle, watching->id, watching->keys + first,
			       count < HASHBELT_REQUEST_KEYS ? count : HASHBELT_REQUEST_KEYS,
			       HASHBELT_TTL_NEVER);
	return err ? err : look_at_group(watching, group);
}

/* A request has ended. */
static enum status take_event(struct watching *watching, const struct hashbelt_event *event)
{
	int err;

	if (event->reason == HASHBELT_BY_EVICTION)
		return fail(STATUS_ERROR,
			    "the watch had to make room: belt '%s' is full ('hbctl set --max-entries')",
			    watching->request->belt);
	if (event->reason == HASHBELT_BY_PRESSURE)
		return fail(STATUS_ERROR, "the watch was given up: the system is short of memory");
	err = watch_group(watching, event->id % watching->groups);
	return err ? fail_belt(watching->request, err) : STATUS_DONE;
}

/* Reads the ends of requests. */
static enum status take_events(struct watching *watching)
{
	const struct hashbelt_event *event = NULL;
	enum status status = STATUS_DONE;
	ssize_t len;

	len = hashbelt_read(watching->request->handle, watching->buffer, sizeof(watching->buffer));
	if (len == -EAGAIN || len == -EINTR)
		return STATUS_DONE;
	if (len < 0)
		return fail_belt(watching->request, len);
	while (!status && watching->left &&
	       (event = hashbelt_event_next(watching->buffer, len, event)))
		status = take_event(watching, event);
	return status;
}

/* Looks at all entries, if that is due. */
static enum status look_around(struct watching *watching)
{
	__u64 now = clock_ms();
	unsigned int group;
	int err = 0;

	if (now < watching->look_ms)
		return STATUS_DONE;
	watching->look_ms = now + watching->interval_ms;
	for (group = 0; !err && group < watching->groups; group++)
		err = look_at_group(watching, group);
	return err ? fail_belt(watching->request, err) : STATUS_DONE;
}

/* The reader of the output has gone: end as if it had been written to. */
static enum status fail_reader(void)
{
	raise(SIGPIPE);
	return fail(STATUS_ERROR, "cannot write the output: %s", strerror(EPIPE));
}

/* Waits for the end of a request or the next look, and prints the changes. */
static enum status step(struct watching *watching)
{
	struct pollfd files[] = {
		{ .fd = hashbelt_fd(watching->request->handle), .events = POLLIN },
		{ .fd = STDOUT_FILENO },
	};
	__u64 now = clock_ms();
	enum status status;
	int timeout;

	timeout = watching->look_ms > now ? watching->look_ms - now : 0;
	if (poll(files, ARRAY_SIZE(files), timeout) < 0 && errno != EINTR)
		return fail(STATUS_ERROR, "cannot wait: %s", strerror(errno));
	if (files[1].revents & (POLLERR | POLLHUP))
		return fail_reader();
	status = take_events(watching);
	if (!status)
		status = look_around(watching);
	fflush(stdout);
	return status;
}

static enum status run(struct watching *watching)
{
	struct request *request = watching->request;
	enum status status = STATUS_DONE;
	unsigned int group;
	int fd, err;

	err = hashbelt_watch(request->handle, HASHBELT_WATCH_REQUESTS);
	fd = hashbelt_fd(request->handle);
	if (!err && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		err = -errno;
	for (group = 0; !err && group < watching->groups; group++)
		err = watch_group(watching, group);
	if (err)
		return fail_belt(request, err);
	fflush(stdout);
	watching->look_ms = clock_ms() + watching->interval_ms;
	while (!status && watching->left && !ferror(stdout))
		status = step(watching);
	return status;
}

static enum status take_keys(struct watching *watching)
{
	struct request *request = watching->request;
	enum status status = STATUS_DONE;
	unsigned int i;

	watching->count = request->count;
	watching->groups = (request->count + HASHBELT_REQUEST_KEYS - 1) / HASHBELT_REQUEST_KEYS;
	watching->entries = calloc(watching->count, sizeof(*watching->entries));
	watching->keys = calloc(watching->count, sizeof(*watching->keys));
	if (!watching->entries || !watching->keys)
		return fail(STATUS_ERROR, "out of memory");
	for (i = 0; !status && i < watching->count; i++) {
		status = request_key(request, i, &watching->entries[i].key);
		watching->keys[i] = (struct hashbelt_key){
			.key = (uintptr_t)watching->entries[i].key.bytes,
			.key_len = watching->entries[i].key.len,
		};
	}
	return status;
}

/* Reads the option --interval. */
static enum status take_interval(struct watching *watching)
{
	enum status status;

	watching->interval_ms = INTERVAL_MS;
	status = request_duration(watching->request, "interval", "", 1, &watching->interval_ms);
	if (!status && (watching->interval_ms < INTERVAL_MIN_MS ||
			watching->interval_ms > INTERVAL_MAX_MS))
		status = fail_usage(watching->request, "--interval: %s is not from 10ms to 1d",
				    request_option(watching->request, "interval"));
	return status;
}

/**
 * cmd_watch() - hbctl watch
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_watch(struct request *request)
{
	struct watching *watching = calloc(1, sizeof(*watching));
	enum status status;

	if (!watching)
		return fail(STATUS_ERROR, "out of memory");
	watching->request = request;
	watching->left = ~0ULL;
	status = take_interval(watching);
	if (!status)
		status = request_number(request, "max", 1, ~0ULL - 1, &watching->left);
	if (!status)
		status = take_keys(watching);
	if (!status)
		status = request_bind(request);
	if (!status)
		status = run(watching);
	value_free(&watching->value);
	free(watching->entries);
	free(watching->keys);
	free(watching);
	return status;
}
