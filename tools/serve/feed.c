// SPDX-License-Identifier: GPL-2.0-only
/*
 * The keys of entries that expire, for clients that have subscribed.
 *
 * A thread of its own reads the events of each belt that has subscribers, and puts a record of each
 * into the inbox of each worker that has some of them. It waits where an inbox is full: a worker
 * never waits, so there is room soon, and until then the events stay in the queue of the belt.
 * Belts take turns, so that one in which much expires does not delay the events of others.
 *
 * Databases may have the same belt. Such a belt is one source, with the number of the first one.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "belts.h"
#include "clock.h"
#include "feed.h"
#include "log.h"
#include "options.h"

/* Bytes of records that wait for a worker at most. */
#define INBOX_SIZE	((size_t)64 * 1024)

/* Events of a belt that are read before those of another one. */
#define TURN	256

/* A belt that tells no more is tried again after this time. */
#define RETRY_MS	1000

/* The log tells of missing events of a belt at most once in this time. */
#define SAY_SECONDS	60

/**
 * struct inbox - records on their way to a worker
 * @bytes:	the records
 * @len:	their length; 0: the worker has to be woken for the next one
 * @taken:	the memory of the records that the worker treats
 * @wake_fd:	written to, to wake the worker
 * @joined:	subscriptions of its clients, by sources
 */
struct inbox {
	char *bytes;
	size_t len;
	char *taken;
	int wake_fd;
	unsigned int joined[DATABASES_MAX];
};

/**
 * struct source - a belt whose events may be read
 * @joined:	subscriptions of all clients
 * @events:	the events; NULL: none are read. Only the thread that reads closes them
 * @since:	number of the newest event that is not for subscribers: it came before them
 * @last:	number of the newest event that was read, or that came before the first read
 * @said:	when the log told of missing events, in seconds; 0: never
 */
struct source {
	unsigned int joined;
	struct belt_events *events;
	__u64 since;
	__u64 last;
	unsigned int said;
};

/**
 * struct feed - the thread that reads events, and what it shares with workers
 * @options:	the command line
 * @lock:	for all below
 * @room:	signalled when a worker has taken its records, and at the end
 * @thread:	the thread
 * @has_begun:	it was started
 * @is_ending:	it ends
 * @wake_fd:	written to, to wake the thread
 * @sources:	the belts, by the first database that has each
 * @inboxes:	those of the workers
 */
struct feed {
	const struct options *options;
	pthread_mutex_t lock;
	pthread_cond_t room;
	pthread_t thread;
	bool has_begun;
	bool is_ending;
	int wake_fd;
	struct source sources[DATABASES_MAX];
	struct inbox inboxes[];
};

static void wake(int fd)
{
	uint64_t one = 1;

	/* It fails only if it is readable already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static const char *name_of(const struct options *options, unsigned int database)
{
	return database ? options->databases[database] : options->belt;
}

/**
 * feed_source() - the source of a database
 * @options:	the command line
 * @database:	a database that has a belt
 *
 * Return: the number of the first database that has the same belt.
 */
unsigned int feed_source(const struct options *options, unsigned int database)
{
	const char *name = name_of(options, database);
	unsigned int i;

	for (i = 0; i < database; i++)
		if (name_of(options, i) && !strcmp(name_of(options, i), name))
			break;
	return i;
}

/* The thread that reads */

/* Puts a record into an inbox, in which there is room. Under the lock. */
static void put_record(struct inbox *inbox, unsigned int source,
		       const struct hashbelt_event *event)
{
	struct feed_record record = { .key_len = event->key_len, .source = source };
	char *to = inbox->bytes + inbox->len;

	if (!inbox->len)
		wake(inbox->wake_fd);
	to = mempcpy(to, &record, sizeof(record));
	memcpy(to, hashbelt_event_key(event), event->key_len);
	inbox->len += sizeof(record) + event->key_len;
}

/* Gives an event to all workers that have subscribers. Under the lock, which waiting drops. */
static void hand_out(struct feed *feed, unsigned int source, const struct hashbelt_event *event)
{
	size_t size = sizeof(struct feed_record) + event->key_len;
	unsigned int i;

	for (i = 0; i < feed->options->threads; i++) {
		struct inbox *inbox = &feed->inboxes[i];

		while (inbox->joined[source] && inbox->len + size > INBOX_SIZE &&
		       !feed->is_ending)
			pthread_cond_wait(&feed->room, &feed->lock);
		if (inbox->joined[source] && !feed->is_ending)
			put_record(inbox, source, event);
	}
}

/* Says that events are missing. Those that waited, or were returned, have older numbers. */
static void note_number(struct feed *feed, unsigned int number, __u64 sequence)
{
	struct source *source = &feed->sources[number];
	__u64 missing = sequence > source->last ? sequence - source->last - 1 : 0;

	if (sequence > source->last)
		source->last = sequence;
	if (!missing || (source->said && seconds_now() - source->said < SAY_SECONDS))
		return;
	source->said = seconds_now();
	log_line(LOG_TROUBLE,
		 "subscribers miss %llu events of belt %s: they were lost, or another program reads them, too",
		 (unsigned long long)missing, name_of(feed->options, number));
}

/* The belt tells no more: it was destroyed, or drops what expires now. Under the lock. */
static void end_source(struct feed *feed, unsigned int number, int err)
{
	struct source *source = &feed->sources[number];

	log_line(LOG_TROUBLE, "belt %s tells no more of what expires%s",
		 name_of(feed->options, number),
		 err == -ENODATA ? ": see hbctl set --on-expire notify" : "");
	belt_events_close(source->events);
	source->events = NULL;
}

/*
 * Reads the events of a turn. Under the lock, dropped meanwhile. Return: false if there are no
 * more.
 */
static bool read_source(struct feed *feed, unsigned int number)
{
	struct source *source = &feed->sources[number];
	const struct hashbelt_event *event;
	unsigned int i;
	int err = 0;

	for (i = 0; i < TURN && source->joined && !feed->is_ending; i++) {
		/* A read may take a while. No other thread closes the source. */
		pthread_mutex_unlock(&feed->lock);
		err = belt_events_next(source->events, &event);
		pthread_mutex_lock(&feed->lock);
		if (err)
			break;
		note_number(feed, number, event->sequence);
		if (event->reason == HASHBELT_EXPIRED && event->kind == HASHBELT_ENTRY &&
		    event->sequence > source->since)
			hand_out(feed, number, event);
	}
	if (err && err != -EAGAIN)
		end_source(feed, number, err);
	return i == TURN;
}

/* Opens a source, for its first subscriber or after it has told no more. Under the lock. */
static int open_source(struct feed *feed, unsigned int number)
{
	struct source *source = &feed->sources[number];
	int err;

	if (source->events)
		return 0;
	err = belt_events_open(name_of(feed->options, number), &source->events, &source->since);
	source->last = source->since;
	/* The events of the next belt of the name came after the subscribers. */
	if (source->joined)
		source->since = 0;
	return err;
}

/* Opens a source that has subscribers, and closes one without. Under the lock. */
static void adjust_source(struct feed *feed, unsigned int number)
{
	struct source *source = &feed->sources[number];

	if (source->joined) {
		open_source(feed, number);
	} else if (source->events) {
		belt_events_close(source->events);
		source->events = NULL;
	}
}

/* Waits until there is something to do, if there is no more now. Under the lock, which it drops. */
static void wait_for_events(struct feed *feed, bool has_more)
{
	struct pollfd polled[DATABASES_MAX + 1] = { { .fd = feed->wake_fd, .events = POLLIN } };
	int timeout = -1;
	uint64_t sum;
	unsigned int i;

	for (i = 0; i < DATABASES_MAX; i++) {
		const struct source *source = &feed->sources[i];

		polled[i + 1].fd = source->events ? belt_events_fd(source->events) : -1;
		polled[i + 1].events = POLLIN;
		if (source->joined && !source->events)
			timeout = RETRY_MS;
	}
	if (has_more)
		timeout = 0;
	pthread_mutex_unlock(&feed->lock);
	poll(polled, DATABASES_MAX + 1, timeout);
	if (polled[0].revents && read(feed->wake_fd, &sum, sizeof(sum)) < 0)
		polled[0].revents = 0;
	pthread_mutex_lock(&feed->lock);
}

static void *run(void *arg)
{
	struct feed *feed = arg;
	unsigned int i;

	pthread_mutex_lock(&feed->lock);
	while (!feed->is_ending) {
		bool has_more = false;

		for (i = 0; i < DATABASES_MAX; i++) {
			adjust_source(feed, i);
			if (feed->sources[i].events)
				has_more |= read_source(feed, i);
		}
		if (!feed->is_ending)
			wait_for_events(feed, has_more);
	}
	pthread_mutex_unlock(&feed->lock);
	return NULL;
}

/* Workers */

/* Lets a worker get records. Under the lock. */
static int open_inbox(struct feed *feed, struct inbox *inbox, int wake_fd)
{
	inbox->wake_fd = wake_fd;
	if (!inbox->bytes)
		inbox->bytes = malloc(INBOX_SIZE);
	if (!inbox->taken)
		inbox->taken = malloc(INBOX_SIZE);
	if (!inbox->bytes || !inbox->taken)
		return -ENOMEM;
	if (feed->has_begun || feed->is_ending)
		return 0;
	feed->has_begun = !pthread_create(&feed->thread, NULL, run, feed);
	return feed->has_begun ? 0 : -EAGAIN;
}

/**
 * feed_join() - let the keys that expire in a belt come to a worker
 * @feed:	the feed
 * @worker:	number of the worker, whose thread calls
 * @wake_fd:	an eventfd, which is written to when feed_take() has something for it
 * @database:	a database that has a belt
 *
 * Return: 0, to be undone by feed_leave(); or as belt_events_open().
 */
int feed_join(struct feed *feed, unsigned int worker, int wake_fd, unsigned int database)
{
	unsigned int source = feed_source(feed->options, database);
	struct inbox *inbox = &feed->inboxes[worker];
	int err;

	pthread_mutex_lock(&feed->lock);
	err = open_inbox(feed, inbox, wake_fd);
	if (!err)
		err = open_source(feed, source);
	if (!err) {
		inbox->joined[source]++;
		feed->sources[source].joined++;
		wake(feed->wake_fd);
	}
	pthread_mutex_unlock(&feed->lock);
	return err;
}

/**
 * feed_leave() - undo feed_join()
 * @feed:	the feed
 * @worker:	number of the worker, whose thread calls
 * @database:	the database
 */
void feed_leave(struct feed *feed, unsigned int worker, unsigned int database)
{
	unsigned int source = feed_source(feed->options, database);

	pthread_mutex_lock(&feed->lock);
	feed->inboxes[worker].joined[source]--;
	feed->sources[source].joined--;
	wake(feed->wake_fd);
	/* The thread may wait for room in this inbox. */
	pthread_cond_signal(&feed->room);
	pthread_mutex_unlock(&feed->lock);
}

/**
 * feed_take() - take the records that there are for a worker
 * @feed:	the feed
 * @worker:	number of the worker, whose thread calls
 * @len:	returned: their length
 *
 * Return: the records, for feed_next(), valid until the next call.
 */
const char *feed_take(struct feed *feed, unsigned int worker, size_t *len)
{
	struct inbox *inbox = &feed->inboxes[worker];
	char *bytes;

	pthread_mutex_lock(&feed->lock);
	bytes = inbox->bytes;
	*len = inbox->len;
	inbox->bytes = inbox->taken;
	inbox->taken = bytes;
	inbox->len = 0;
	pthread_cond_signal(&feed->room);
	pthread_mutex_unlock(&feed->lock);
	return bytes;
}

/**
 * feed_next() - the next record
 * @at:		where it begins
 * @record:	returned: the record
 *
 * Return: its key, behind which the next record begins.
 */
const char *feed_next(const char *at, struct feed_record *record)
{
	memcpy(record, at, sizeof(*record));
	return at + sizeof(*record);
}

/**
 * feed_open() - make a feed, whose thread begins with the first subscriber
 * @options:	the command line
 * @feed:	returned: the feed, to be closed by feed_close()
 *
 * Return: 0 or a negative errno.
 */
int feed_open(const struct options *options, struct feed **feed)
{
	struct feed *made = calloc(1, sizeof(*made) + options->threads * sizeof(struct inbox));

	*feed = made;
	if (!made)
		return -ENOMEM;
	made->options = options;
	pthread_mutex_init(&made->lock, NULL);
	pthread_cond_init(&made->room, NULL);
	made->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	return made->wake_fd < 0 ? -ENOMEM : 0;
}

/**
 * feed_end() - end the thread
 * @feed:	the feed; NULL does nothing
 */
void feed_end(struct feed *feed)
{
	if (!feed)
		return;
	pthread_mutex_lock(&feed->lock);
	feed->is_ending = true;
	wake(feed->wake_fd);
	pthread_cond_broadcast(&feed->room);
	pthread_mutex_unlock(&feed->lock);
	/* No thread begins from now on. */
	if (feed->has_begun)
		pthread_join(feed->thread, NULL);
}

/**
 * feed_close() - free a feed, after feed_end() and after its workers
 * @feed:	the feed; NULL does nothing
 */
void feed_close(struct feed *feed)
{
	unsigned int i;

	if (!feed)
		return;
	for (i = 0; i < DATABASES_MAX; i++)
		belt_events_close(feed->sources[i].events);
	for (i = 0; i < feed->options->threads; i++) {
		free(feed->inboxes[i].bytes);
		free(feed->inboxes[i].taken);
	}
	if (feed->wake_fd >= 0)
		close(feed->wake_fd);
	pthread_cond_destroy(&feed->room);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}
