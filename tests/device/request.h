/* SPDX-License-Identifier: GPL-2.0 */
/*
 * request.h - short words for tests of requests that wait.
 */
#ifndef _REQUEST_H
#define _REQUEST_H

#include "events.h"

/* One event of a key up to 56 bytes fits, two events never do. */
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

/* The same, with the keys written out. */
#define ASK(fd, id, ttl_ms, ...) \
	ask_keys(fd, id, ttl_ms, (const char *const[]){ __VA_ARGS__ }, \
		 ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

/* A request that has to be registered, of one key, for the belt's time-to-live. */
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

/* How many requests that has completed, or a negative errno. */
static inline int complete(int fd, const char *key)
{
	struct hashbelt_key arg = { .key = address(key), .key_len = strlen(key) };
	int err = call(fd, HASHBELT_IOC_COMPLETE, &arg);

	return err ? err : (int)arg.count;
}

/**
 * struct told - what a descriptor was told of one request
 * @err:	why it was told nothing, a negative errno; else 0, and
 * @cause:	one of enum hashbelt_cause
 * @id:		the request
 * @sequence:	number of the event
 * @deadline_ns: when it would have timed out
 * @handed_ns:	when it was completed
 * @key:	the key that has completed it, as a text
 */
struct told {
	int err;
	__u32 cause;
	__u64 id;
	__u64 sequence;
	__u64 deadline_ns;
	__u64 handed_ns;
	char key[57];
};

/* Reads one event. Any that is not about a request ends the program. */
static inline struct told hear(int fd)
{
	__u64 buffer[ONE_EVENT / sizeof(__u64)];
	const struct hashbelt_event *event = (const void *)buffer;
	ssize_t len = read_into(fd, buffer, sizeof(buffer));
	struct told told = { .err = len < 0 ? len : 0 };

	if (told.err)
		return told;
	check_event(event, len);
	if (event->kind != HASHBELT_REQUEST || event->lost ||
	    (ssize_t)event->size != len)
		bail_out("event of kind %u, size %u of %zd, lost %llu", event->kind,
			 event->size, len, event->lost);
	told.cause = event->reason;
	told.id = event->version;
	told.sequence = event->sequence;
	told.deadline_ns = event->deadline_ns;
	told.handed_ns = event->handed_ns;
	memcpy(told.key, event_key(event), event->key_len);
	return told;
}

/* Whether the next that is told is just this. @key: "" for none */
static inline bool heard(int fd, __u64 id, enum hashbelt_cause cause, const char *key)
{
	struct told told = hear(fd);

	if (!told.err && told.id == id && told.cause == cause && !strcmp(told.key, key))
		return true;
	note("told of %llu, cause %u, key '%s' (%s)", told.id, told.cause, told.key,
	     error_name(told.err));
	note("expected %llu, cause %u, key '%s'", id, cause, key);
	return false;
}

/* Whether there is nothing to be told. */
static inline bool silent(int fd)
{
	struct told told = hear(fd);

	if (told.err == -EAGAIN)
		return true;
	note("told of %llu, cause %u, key '%s' (%s)", told.id, told.cause, told.key,
	     error_name(told.err));
	return false;
}

/* Makes a descriptor read of its requests. */
static inline int listen_to(int fd)
{
	watch(fd, HASHBELT_WATCH_REQUESTS);
	return fd;
}

/* A nameless belt whose one descriptor asks, puts and reads; its time stands. */
static inline int asking_belt(struct hashbelt_settings settings)
{
	int belt = belt_of(settings);

	set_blocking(belt, false);
	return listen_to(belt);
}

/* Another descriptor to a belt with a name, which reads of its requests. */
static inline int open_asking(const char *name)
{
	return listen_to(open_named(name));
}

static inline __u64 waiting(int fd)
{
	return info_of(fd).requests;
}

#endif /* _REQUEST_H */
