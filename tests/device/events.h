/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * events.h - helpers for tests that read events.
 *
 * Every event that a test reads is checked: it must be whole, have the size that it states,
 * and be padded with zeros. An event that fails this check ends the program.
 */
#ifndef _EVENTS_H
#define _EVENTS_H

#include <linux/userfaultfd.h>
#include <sys/epoll.h>

#include "device.h"
#include "process.h"

#define REPORT_ALL	HASHBELT_REPORT_ALL

/**
 * struct stream - the events that are read from a descriptor
 * @fd:		the descriptor
 * @buffer:	the result of the last read(2)
 * @size:	size of @buffer
 * @len:	bytes in @buffer
 * @at:		offset of the next event in @buffer
 * @err:	negative errno of the last read(2), or 0
 * @lost:	sum of the losses that the events reported
 * @count:	number of events so far
 */
struct stream {
	int fd;
	unsigned char *buffer;
	size_t size;
	size_t len;
	size_t at;
	int err;
	__u64 lost;
	__u64 count;
};

static inline struct stream stream_of(int fd, size_t size)
{
	struct stream stream = { .fd = fd, .buffer = malloc(size), .size = size };

	if (!stream.buffer)
		bail_out("no memory");
	return stream;
}

/* The number of bytes read, or a negative errno. */
static inline ssize_t read_into(int fd, void *buffer, size_t size)
{
	ssize_t len = read(fd, buffer, size);

	return len < 0 ? -errno : len;
}

static inline const unsigned char *event_key(const struct hashbelt_event *event)
{
	return (const unsigned char *)(event + 1);
}

static inline const unsigned char *event_value(const struct hashbelt_event *event)
{
	return event_key(event) + event->key_len;
}

static inline bool has_key(const struct hashbelt_event *event, const char *key)
{
	return event->key_len == strlen(key) &&
	       !memcmp(event_key(event), key, event->key_len);
}

/* The size of an event with a key and a value of these lengths. */
static inline size_t event_size(size_t key_len, size_t value_len)
{
	return (sizeof(struct hashbelt_event) + key_len + value_len + 7) & ~7UL;
}

/* True if the fields of an event are consistent. */
static inline bool can_be(const struct hashbelt_event *event)
{
	bool names_key = event->reason == HASHBELT_BY_PUT ||
			 event->reason == HASHBELT_BY_COMPLETE;

	if (event->key_len > HASHBELT_KEY_MAX)
		return false;
	if (event->kind == HASHBELT_REQUEST)
		return event->reason >= HASHBELT_BY_TIMEOUT &&
		       event->reason <= HASHBELT_BY_PRESSURE &&
		       names_key == !!event->key_len && !event->value_len && !event->flags;
	return event->kind <= HASHBELT_LOCK && event->key_len &&
	       event->value_len <= HASHBELT_VALUE_MAX &&
	       event->reason >= HASHBELT_EXPIRED && event->reason <= HASHBELT_RELEASED;
}

/* Ends the program unless a whole, valid event with zero padding fits into @room. */
static inline void check_event(const struct hashbelt_event *event, size_t room)
{
	const unsigned char *bytes = (const void *)event;
	size_t end = sizeof(*event) + event->key_len + event->value_len;

	if (room < sizeof(*event) || event->size > room)
		bail_out("an event of %zu bytes was split", room);
	if (event->size != event_size(event->key_len, event->value_len))
		bail_out("an event's size is %u, with %u of key and %u of value",
			 event->size, event->key_len, event->value_len);
	if (!can_be(event))
		bail_out("an event cannot be: kind %u, reason %u, key %u, value %u",
			 event->kind, event->reason, event->key_len, event->value_len);
	for (; end < event->size; end++)
		if (bytes[end])
			bail_out("an event is padded with %#x", bytes[end]);
}

/* Ends the program unless @len bytes are whole events; returns their number. */
static inline unsigned int check_events(const unsigned char *buffer, size_t len)
{
	const struct hashbelt_event *event;
	unsigned int count = 0;
	size_t at = 0;

	while (at < len) {
		event = (const void *)(buffer + at);
		check_event(event, len - at);
		at += event->size;
		count++;
	}
	return count;
}

/* The next event, read from the descriptor if the buffer is used up; NULL: see stream->err. */
static inline const struct hashbelt_event *next_event(struct stream *stream)
{
	const struct hashbelt_event *event;
	ssize_t len;

	if (stream->at == stream->len) {
		len = read_into(stream->fd, stream->buffer, stream->size);
		stream->at = 0;
		stream->len = len < 0 ? 0 : len;
		stream->err = len < 0 ? len : 0;
		if (!len)
			bail_out("read(2) of events returns 0");
		if (len < 0)
			return NULL;
		check_events(stream->buffer, len);
	}
	event = (const void *)(stream->buffer + stream->at);
	stream->at += event->size;
	stream->count++;
	stream->lost += event->lost;
	return event;
}

static inline void set_blocking(int fd, bool blocking)
{
	int flags = fcntl(fd, F_GETFL);

	flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
	if (fcntl(fd, F_SETFL, flags))
		bail_out("fcntl: %s", strerror(errno));
}

/* A nameless, halted belt that reports; its descriptor does not block. */
static inline int reporting_belt(__u32 handler, __u32 reasons)
{
	struct hashbelt_settings settings = { .handler = handler, .reasons = reasons };
	int belt = belt_of(settings);

	set_blocking(belt, false);
	return belt;
}

/* Another descriptor to a named belt, which does not block. */
static inline int open_named(const char *name)
{
	int fd = open_device(O_RDWR | O_NONBLOCK), err = open_belt(fd, name);

	if (err)
		bail_out("open of belt %s: %s", name, error_name(err));
	return fd;
}

/* A named, halted belt with handler notify; its descriptor does not block. */
static inline int named_belt(const char *name, __u32 reasons)
{
	struct hashbelt_settings settings = {
		.mode = 0600, .handler = HASHBELT_NOTIFY, .reasons = reasons,
	};
	int fd;

	snprintf(settings.name, sizeof(settings.name), "%s", name);
	fd = belt_of(settings);
	set_blocking(fd, false);
	return fd;
}

static inline void watch(int fd, __u32 flags)
{
	must(fd, HASHBELT_IOC_WATCH, &flags);
}

static inline int ack(int fd, __u64 sequence)
{
	return call(fd, HASHBELT_IOC_ACK, &sequence);
}

/* Puts an entry and expires it with an expire call. */
static inline void put_and_expire(int fd, const char *key, const char *text)
{
	put_text(fd, key, text, 0);
	if (on_key(fd, HASHBELT_IOC_EXPIRE, key))
		bail_out("no expire of %s", key);
}

/* Queues the expiry of @n entries with the keys "0" to "@n - 1", in this order. */
static inline void queue_events(int fd, unsigned int n)
{
	char key[16];
	unsigned int i;

	for (i = 0; i < n; i++) {
		snprintf(key, sizeof(key), "%u", i);
		put_and_expire(fd, key, key);
	}
}

/* Reads all events that are queued; returns their number. */
static inline unsigned int discard_events(int fd)
{
	struct stream stream = stream_of(fd, HASHBELT_EVENT_MAX);

	while (next_event(&stream))
		;
	free(stream.buffer);
	return stream.count;
}

/* Reads all queued events; true if they have exactly the sequences @first to @last, in order. */
static inline bool has_events(int fd, __u64 first, __u64 last)
{
	struct stream stream = stream_of(fd, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;
	__u64 want = first;
	bool good = true;

	while ((event = next_event(&stream))) {
		if (event->sequence != want && good)
			note("sequence %llu where %llu was due", event->sequence, want);
		good = good && event->sequence == want++;
	}
	free(stream.buffer);
	if (want != last + 1)
		note("the last one is %llu, expected %llu", want - 1, last);
	return good && want == last + 1;
}

/* A process that waits in one read(2) of @fd, which is blocking until waiter_result(). */
struct waiter {
	struct caller caller;
	int fd;
};

static inline int read_once(void *fd)
{
	return read_into(*(int *)fd, malloc(HASHBELT_EVENT_MAX), HASHBELT_EVENT_MAX);
}

/* Starts a waiter with a handler for SIGUSR1. */
static inline struct waiter launch_waiter(int fd, int signal_flags)
{
	/* O_NONBLOCK belongs to the open file, which both processes share. */
	set_blocking(fd, true);
	return (struct waiter){ start_caller(read_once, &fd, fd, signal_flags), fd };
}

/* Launches a waiter, and waits until it sleeps in read(2). */
static inline struct waiter start_waiter(int fd, int signal_flags)
{
	struct waiter waiter = launch_waiter(fd, signal_flags);

	await_sleep(waiter.caller.pid, __NR_read);
	return waiter;
}

/* The result of a waiter's read(2): bytes, or a negative errno. Ends the waiter. */
static inline int waiter_result(struct waiter *waiter)
{
	int len = result_of(&waiter->caller);

	end_caller(&waiter->caller);
	set_blocking(waiter->fd, false);
	return len;
}

/* poll(2) and epoll(7) */

static inline int poll_now(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN | POLLPRI };

	if (poll(&pollfd, 1, 0) < 0)
		bail_out("poll: %s", strerror(errno));
	return pollfd.revents;
}

/* Work for start(); @arg: pointer to a descriptor. */
static inline int poll_for_good(void *arg)
{
	struct pollfd pollfd = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&pollfd, 1, -1) == 1 ? pollfd.revents : 255;
}

static inline int new_epoll(int fd, __u32 events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		bail_out("epoll: %s", strerror(errno));
	return epoll;
}

/* The events that are ready for the one descriptor of @epoll, or 0. */
static inline int epoll_now(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, 0) == 1 ? (int)event.events : 0;
}

/* epoll_now() that waits 20 s for events: the module wakes pollers by a work item. */
static inline int epoll_at_last(int epoll)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, 20000) == 1 ? (int)event.events : 0;
}

/*
 * From now on a fault in a page that was not used yet waits for ever (userfaultfd). Return: @pages;
 * NULL if the kernel cannot do that.
 */
static inline void *make_sticky(void *pages, size_t size)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = {
		.range = { .start = address(pages), .len = size },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return NULL;
	return pages;
}

/* Pages in which every fault waits for ever; NULL if the kernel cannot do that. */
static inline void *sticky_pages(size_t size)
{
	return make_sticky(fresh_pages(size), size);
}

/* Starts a process whose read(2) is stuck in a page fault; 0 if the kernel cannot do that. */
static inline pid_t start_stuck(int fd)
{
	size_t size = 4 * PAGE;
	void *pages;
	pid_t child;

	if (!sticky_pages(size))
		return 0;
	fflush(stdout);
	child = fork();
	if (child < 0)
		bail_out("fork: %s", strerror(errno));
	if (!child) {
		pages = sticky_pages(size);
		_exit(read_into(fd, pages, size) < 0);
	}
	await_sleep(child, __NR_read);
	return child;
}

/* A descriptor of a belt in acknowledging mode that holds the next @n events, which are small. */
static inline int hold_next(const char *name, unsigned int n)
{
	int fd = open_named(name);
	struct stream stream = stream_of(fd, event_size(8, 8));

	watch(fd, HASHBELT_WATCH_ACK);
	while (stream.count < n)
		if (!next_event(&stream))
			bail_out("no event to hold");
	free(stream.buffer);
	return fd;
}

#endif /* _EVENTS_H */
