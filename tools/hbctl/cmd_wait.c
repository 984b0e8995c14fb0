// SPDX-License-Identifier: GPL-2.0-only
/* The commands on requests: wait until something is put, and end such a wait. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "encoding.h"
#include "entry.h"
#include "json.h"
#include "output.h"

/* Size of the record of a completed request: it has no value. */
#define EVENT_SIZE	(sizeof(struct hashbelt_event) + HASHBELT_KEY_MAX)

/**
 * struct wait - a wait for one of some keys
 * @request:	the request
 * @keys:	the keys
 * @wanted:	the same, as the kernel wants them
 * @count:	their number
 * @end_ms:	when it times out, by our own clock; HASHBELT_TTL_NEVER: it does not
 * @end_ns:	the same by belt time, once a request is registered; 0 before
 * @id:		the id of the newest request in the kernel
 * @value:	the value that was found
 * @ended:	nothing is left to be done
 */
struct wait {
	struct request *request;
	struct key keys[HASHBELT_REQUEST_KEYS];
	struct hashbelt_key wanted[HASHBELT_REQUEST_KEYS];
	int count;
	__u64 end_ms;
	__u64 end_ns;
	__u64 id;
	struct value value;
	bool ended;
};

/* A clock that counts suspend, as belt time does. */
static __u64 clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* Milliseconds until the wait times out, 0 if it has; HASHBELT_TTL_NEVER. */
static __u64 time_left(const struct wait *wait)
{
	__u64 now = clock_ms();

	if (wait->end_ms == HASHBELT_TTL_NEVER)
		return HASHBELT_TTL_NEVER;
	return wait->end_ms > now ? wait->end_ms - now : 0;
}

static enum status fail_timeout(const struct wait *wait)
{
	fail_cause(-ETIMEDOUT);
	return fail(STATUS_NO, "timed out: %s put in belt '%s'",
		    wait->count == 1 ? "the entry was not" : "none of the entries was",
		    wait->request->belt);
}

/* Ends the wait if one of the keys is there. */
static enum status look(struct wait *wait)
{
	struct hashbelt *handle = wait->request->handle;
	int err, i;

	for (i = 0; i < wait->count && !wait->ended; i++) {
		struct hashbelt_item item = { 0 };
		const struct key *key = &wait->keys[i];

		err = value_get(&wait->value, handle, key->bytes, key->len, &item);
		if (err == -ENOENT)
			continue;
		if (err)
			return fail_entry(wait->request, err, key);
		if (!wait->request->json)
			output_is_short(wait->request, 4 * (key->len + wait->value.len) + 2);
		entry_print_line(wait->request, key, &wait->value, &item);
		wait->ended = true;
	}
	return STATUS_DONE;
}

/*
 * The time for a request: what is left of the wait by our own clock, and by belt time if an earlier
 * request was registered.
 */
static int time_for_request(struct wait *wait, __u64 *left)
{
	struct hashbelt_info info;
	__u64 belt_ms;
	int err;

	*left = time_left(wait);
	if (*left == HASHBELT_TTL_NEVER)
		return 0;
	err = hashbelt_info(wait->request->handle, &info);
	if (err)
		return err;
	if (!wait->end_ns)
		wait->end_ns = info.now_ns + *left * 1000000;
	belt_ms = wait->end_ns > info.now_ns ? (wait->end_ns - info.now_ns + 999999) / 1000000 : 0;
	if (belt_ms < *left)
		*left = belt_ms;
	return 0;
}

/* First the request and then the look: a put between the two is not missed. */
static enum status ask(struct wait *wait)
{
	__u64 left;
	int err = time_for_request(wait, &left);

	if (err)
		return fail_belt(wait->request, err);
	if (!left)
		return fail_timeout(wait);
	err = hashbelt_request(wait->request->handle, ++wait->id, wait->wanted, wait->count,
			       left);
	return err ? fail_belt(wait->request, err) : look(wait);
}

/* The wait was completed, perhaps without a put. */
static enum status end_by_hand(struct wait *wait, const struct hashbelt_event *event)
{
	struct key key = { hashbelt_event_key(event), event->key_len };
	enum status status = look(wait);
	char *text;

	if (status || wait->ended)
		return status;
	text = key_text(&key);
	fail(STATUS_NO, "the wait for '%s' in belt '%s' was completed, and nothing put",
	     text, wait->request->belt);
	free(text);
	return STATUS_NO;
}

/* Handles the end of the request. */
static enum status take_event(struct wait *wait, const struct hashbelt_event *event)
{
	enum status status;

	switch (event->reason) {
	case HASHBELT_BY_TIMEOUT:
		return fail_timeout(wait);
	case HASHBELT_BY_COMPLETE:
		return end_by_hand(wait, event);
	case HASHBELT_BY_EVICTION:
		return fail(STATUS_ERROR, "the wait had to make room: belt '%s' is full",
			    wait->request->belt);
	case HASHBELT_BY_PRESSURE:
		return fail(STATUS_ERROR,
			    "the wait was given up: the system is short of memory");
	default:
		/* The entry may be gone already, and a clear has put nothing. */
		status = look(wait);
		return status || wait->ended ? status : ask(wait);
	}
}

/* Waits until the request is done with, or the time is over by our own clock. */
static enum status step(struct wait *wait)
{
	struct pollfd file = { .fd = hashbelt_fd(wait->request->handle), .events = POLLIN };
	__u64 buffer[EVENT_SIZE / sizeof(__u64)], left = time_left(wait);
	const struct hashbelt_event *event;
	ssize_t len;
	int ready;

	ready = poll(&file, 1, left == HASHBELT_TTL_NEVER ? -1 :
		     left < INT_MAX ? (int)left : INT_MAX);
	if (ready < 0 && errno != EINTR)
		return fail(STATUS_ERROR, "cannot wait: %s", strerror(errno));
	len = hashbelt_read(wait->request->handle, buffer, sizeof(buffer));
	if (len == -EAGAIN || len == -EINTR)
		return time_left(wait) ? STATUS_DONE : fail_timeout(wait);
	if (len < 0)
		return fail_belt(wait->request, len);
	event = hashbelt_event_next(buffer, len, NULL);
	return event ? take_event(wait, event) : STATUS_DONE;
}

static enum status run(struct wait *wait)
{
	struct hashbelt *handle = wait->request->handle;
	enum status status;
	int err;

	err = hashbelt_watch(handle, HASHBELT_WATCH_REQUESTS);
	if (err)
		return fail_belt(wait->request, err);
	if (fcntl(hashbelt_fd(handle), F_SETFL, fcntl(hashbelt_fd(handle), F_GETFL) | O_NONBLOCK))
		return fail(STATUS_ERROR, "cannot wait: %s", strerror(errno));
	status = look(wait);
	if (!status && !wait->ended)
		status = ask(wait);
	while (!status && !wait->ended)
		status = step(wait);
	return status;
}

static enum status take_keys(struct wait *wait)
{
	enum status status = STATUS_DONE;
	int i;

	wait->count = wait->request->count;
	for (i = 0; i < wait->count && !status; i++) {
		status = request_key(wait->request, i, &wait->keys[i]);
		wait->wanted[i] = (struct hashbelt_key){
			.key = (uintptr_t)wait->keys[i].bytes,
			.key_len = wait->keys[i].len,
		};
	}
	return status;
}

/**
 * cmd_wait() - hbctl wait
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_wait(struct request *request)
{
	struct wait wait = { .request = request };
	__u64 timeout_ms = HASHBELT_TTL_NEVER;
	enum status status;

	status = take_keys(&wait);
	if (!status)
		status = request_duration(request, "timeout", "never", 1, &timeout_ms);
	wait.end_ms = timeout_ms == HASHBELT_TTL_NEVER ? timeout_ms :
		      clock_ms() + timeout_ms;
	if (!status)
		status = request_bind(request);
	if (!status)
		status = run(&wait);
	value_free(&wait.value);
	return status;
}

/**
 * cmd_complete() - hbctl complete
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_complete(struct request *request)
{
	struct json object;
	unsigned int count = 0;
	enum status status;
	struct key key;
	char *text;
	int err;

	status = request_key(request, 0, &key);
	if (!status)
		status = request_bind(request);
	if (status)
		return status;
	err = hashbelt_complete(request->handle, key.bytes, key.len, &count);
	if (err)
		return fail_belt(request, err);
	if (request->json) {
		object = json_entry(key.bytes, key.len);
		json_add_number(&object, "completed", count);
		json_end(object);
	} else {
		printf("%u\n", count);
	}
	if (count)
		return STATUS_DONE;
	text = key_text(&key);
	fail(STATUS_NO, "no request waits for '%s' in belt '%s'", text, request->belt);
	free(text);
	return STATUS_NO;
}
