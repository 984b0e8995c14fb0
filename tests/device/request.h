/* SPDX-License-Identifier: GPL-2.0-only */
/* request.h - helpers for tests of requests. */
#ifndef _REQUEST_H
#define _REQUEST_H

#include "events.h"

/* Room for one event with a key of up to 56 bytes, and never for two events. */
#define ONE_EVENT	(sizeof(struct hashbelt_event) + 56)

/* Registers a request; 0 or a negative errno. */
static inline int ask_keys(int fd, __u64 id, __u64 ttl_ms, const char *const *texts,
			   unsigned int count)
{
	struct hashbelt_key keys[HASHBELT_REQUEST_KEYS] = {};
	struct hashbelt_request request = {
		.id = id, .keys = address(keys), .count = count, .ttl_ms = ttl_ms,
	};
	unsigned int i;

	for (i = 0; i < count; i++) {
		keys[i].key = address(texts[i]);
		keys[i].key_len = strlen(texts[i]);
	}
	return call(fd, HASHBELT_IOC_REQUEST, &request);
}

/* ask_keys() with the keys as arguments */
#define ASK(fd, id, ttl_ms, ...) \
	ask_keys(fd, id, ttl_ms, (const char *const[]){ __VA_ARGS__ }, \
		 ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

/* Registers a request for one key with the belt's time-to-live; ends the program on failure. */
static inline void must_ask(int fd, __u64 id, const char *key)
{
	int err = ASK(fd, id, 0, key);

	if (err)
		bail_out("request %llu of %s: %s", id, key, error_name(err));
}

static inline int cancel(int fd, __u64 id)
{
	return call(fd, HASHBELT_IOC_CANCEL, &id);
}

/* The number of requests that the call has completed, or a negative errno. */
static inline int complete(int fd, const char *key)
{
	struct hashbelt_key arg = { .key = address(key), .key_len = strlen(key) };
	int err = call(fd, HASHBELT_IOC_COMPLETE, &arg);

	return err ? err : (int)arg.count;
}

/**
 * struct completion - the event of one request, as its descriptor read it
 * @err:	a negative errno if no event was read, else 0
 * @cause:	one of enum hashbelt_cause
 * @id:		the request
 * @key:	the key that completed the request, as a text
 */
struct completion {
	int err;
	__u32 cause;
	__u64 id;
	char key[57];
};

/* Reads one event. An event that is not a request's ends the program. */
static inline struct completion read_completion(int fd)
{
	__u64 buffer[ONE_EVENT / sizeof(__u64)];
	const struct hashbelt_event *event = (const void *)buffer;
	ssize_t len = read_into(fd, buffer, sizeof(buffer));
	struct completion completion = { .err = len < 0 ? len : 0 };

	if (completion.err)
		return completion;
	check_event(event, len);
	if (event->kind != HASHBELT_REQUEST || event->lost ||
	    (ssize_t)event->size != len)
		bail_out("event of kind %u, size %u of %zd, lost %llu", event->kind,
			 event->size, len, event->lost);
	completion.cause = event->reason;
	completion.id = event->version;
	memcpy(completion.key, event_key(event), event->key_len);
	return completion;
}

/* True if the next event has this id, cause and key. @key: "" if the cause has no key */
static inline bool is_next_completion(int fd, __u64 id, enum hashbelt_cause cause, const char *key)
{
	struct completion completion = read_completion(fd);

	if (!completion.err && completion.id == id && completion.cause == cause &&
	    !strcmp(completion.key, key))
		return true;
	note("found %llu, cause %u, key '%s' (%s)", completion.id, completion.cause,
	     completion.key, error_name(completion.err));
	note("expected %llu, cause %u, key '%s'", id, cause, key);
	return false;
}

/* True if a read finds no event. */
static inline bool has_no_completion(int fd)
{
	struct completion completion = read_completion(fd);

	if (completion.err == -EAGAIN)
		return true;
	note("found %llu, cause %u, key '%s' (%s)", completion.id, completion.cause,
	     completion.key, error_name(completion.err));
	return false;
}

/* Makes a descriptor read the completions of its requests. */
static inline int listen_to(int fd)
{
	watch(fd, HASHBELT_WATCH_REQUESTS);
	return fd;
}

/* A nameless halted belt, through one descriptor that reads the completions of its requests. */
static inline int asking_belt(struct hashbelt_settings settings)
{
	int belt = belt_of(settings);

	set_blocking(belt, false);
	return listen_to(belt);
}

/* Another descriptor to a named belt, which reads the completions of its requests. */
static inline int open_asking(const char *name)
{
	return listen_to(open_named(name));
}

static inline __u64 waiting(int fd)
{
	return info_of(fd).requests;
}

#endif /* _REQUEST_H */
