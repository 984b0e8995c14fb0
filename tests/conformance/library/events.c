// SPDX-License-Identifier: GPL-2.0-only
/* Events and requests. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "runner.h"

static const char * const reasons[] = {
	"", "expired", "evicted", "replaced", "removed", "cleared", "pressure", "released",
};

static const char * const causes[] = {
	"", "timeout", "eviction", "put", "complete", "clear", "pressure",
};

static struct json_object *event_object(const struct hashbelt_event *event)
{
	struct json_object *found = json_object_new_object();
	bool is_lock = event->kind == HASHBELT_LOCK;

	add_bytes(found, "key", hashbelt_event_key(event), event->key_len);
	add_bytes(found, is_lock ? "owner" : "value", hashbelt_event_value(event),
		  event->value_len);
	add_word(found, "kind", is_lock ? "lock" : "entry");
	add_word(found, "reason", reasons[event->reason]);
	add_number(found, "sequence", event->sequence);
	add_number(found, "lost", event->lost);
	add_number(found, "flags", event->flags);
	add_number(found, is_lock ? "token" : "version", event->version);
	return found;
}

static struct json_object *request_object(const struct hashbelt_event *event)
{
	struct json_object *found = json_object_new_object();

	add_number(found, "id", event->id);
	add_word(found, "cause", causes[event->reason]);
	add_bytes(found, "key", hashbelt_event_key(event), event->key_len);
	return found;
}

/* Reads what is queued into the buffer of a handle. Return: 0, or -EAGAIN if there is nothing. */
static int read_more(struct handle *handle)
{
	int fd = hashbelt_fd(handle->belt);
	ssize_t len;

	if (!handle->buffer)
		handle->buffer = malloc(HASHBELT_EVENT_MAX);
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return -errno;
	len = hashbelt_read(handle->belt, handle->buffer, HASHBELT_EVENT_MAX);
	handle->event = NULL;
	handle->len = len < 0 ? 0 : len;
	return len < 0 ? len : 0;
}

/* The next event of a handle. Return: 0, -EAGAIN, or another error. */
static int next_event(struct handle *handle)
{
	int err;

	if (handle->len)
		handle->event = hashbelt_event_next(handle->buffer, handle->len, handle->event);
	if (handle->len && handle->event)
		return 0;
	err = read_more(handle);
	if (!err)
		handle->event = hashbelt_event_next(handle->buffer, handle->len, NULL);
	return err;
}

/* An event that has not come after so many milliseconds does not come. */
#define PATIENCE_MS	60000

/* The number of events that the case expects: they come when the kernel has reported them. */
static size_t expected(const struct step *step, const char *name)
{
	struct json_object *returns, *array;

	if (!json_object_object_get_ex(step->members, "returns", &returns) ||
	    !json_object_object_get_ex(returns, name, &array))
		return 0;
	return json_object_array_length(array);
}

/* Collects all events that are queued, and waits for as many as the case expects. */
static int collect(struct step *step, const char *name,
		   struct json_object *(*object)(const struct hashbelt_event *event))
{
	struct pollfd readable = { .fd = hashbelt_fd(step->handle->belt), .events = POLLIN };
	struct json_object *array = json_object_new_array();
	int err;

	json_object_object_add(step->found, name, array);
	do {
		while (!(err = next_event(step->handle)))
			json_object_array_add(array, object(step->handle->event));
	} while (err == -EAGAIN && json_object_array_length(array) < expected(step, name) &&
		 poll(&readable, 1, PATIENCE_MS) > 0);
	return err == -EAGAIN ? 0 : err;
}

static int do_events(struct step *step)
{
	return collect(step, "events", event_object);
}

static int do_completed(struct step *step)
{
	return collect(step, "requests", request_object);
}

static int do_watch(struct step *step)
{
	const char *name = json_object_get_string(argument(step, "as"));
	struct handle *handle;
	int err;

	err = handle_open(step->run, name, 0, &handle);
	if (err)
		return err;
	return hashbelt_watch(handle->belt, argument_true(step, "requests") ?
			      HASHBELT_WATCH_REQUESTS : HASHBELT_WATCH_ACK);
}

static int do_event(struct step *step)
{
	int err = next_event(step->handle);

	if (err)
		return err;
	json_object_put(step->found);
	step->found = event_object(step->handle->event);
	return 0;
}

static int do_ack(struct step *step)
{
	return hashbelt_ack(step->handle->belt, argument_number(step, "sequence"));
}

static int do_request(struct step *step)
{
	struct json_object *names = argument(step, "keys");
	size_t count = json_object_array_length(names), i;
	struct hashbelt_key *keys = calloc(count, sizeof(*keys));
	struct bytes key;
	int err;

	for (i = 0; i < count; i++) {
		key = bytes_of(json_object_array_get_idx(names, i));
		keys[i].key = (uintptr_t)key.at;
		keys[i].key_len = key.len;
	}
	err = hashbelt_request(step->handle->belt, argument_number(step, "id"), keys, count,
			       argument_ms(step, "ttl"));
	free(keys);
	return err;
}

static int do_cancel(struct step *step)
{
	return hashbelt_cancel(step->handle->belt, argument_number(step, "id"));
}

static int do_complete(struct step *step)
{
	struct bytes key = argument_bytes(step, "key");
	unsigned int count;
	int err;

	err = hashbelt_complete(step->handle->belt, key.at, key.len, &count);
	if (!err)
		add_number(step->found, "count", count);
	return err;
}

const struct operation event_operations[] = {
	{ "events", do_events },
	{ "watch", do_watch },
	{ "event", do_event },
	{ "ack", do_ack },
	{ "request", do_request },
	{ "cancel", do_cancel },
	{ "complete", do_complete },
	{ "completed", do_completed },
	{ NULL, NULL }
};
