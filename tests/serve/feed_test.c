// SPDX-License-Identifier: GPL-2.0-only
/* feed_test - a belt in which entries expire without end does not delay the events of another. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../device/tap.h"
#include "belts.h"
#include "feed.h"
#include "log.h"
#include "options.h"

/*
 * Keys of the belt "busy" that come before the one of the belt "calm", if belts take turns: those
 * of a turn, and before the test joins "calm" those of a full inbox, which are 13,107.
 */
#define MOST	20000

/**
 * struct belt_events - the events of a belt that this test makes
 * @fd:		readable while there are events
 * @left:	their number
 * @told:	the last one
 * @key:	its key, behind it
 */
struct belt_events {
	int fd;
	unsigned int left;
	struct hashbelt_event told;
	char key[1];
};

int belt_events_open(const char *name, struct belt_events **events, __u64 *sequence)
{
	bool is_calm = !strcmp(name, "calm");

	*events = calloc(1, sizeof(**events));
	if (!*events)
		return -ENOMEM;
	(*events)->fd = eventfd(1, EFD_CLOEXEC);
	(*events)->left = is_calm ? 1 : -1U;
	(*events)->told = (struct hashbelt_event){
		.size = sizeof(**events), .reason = HASHBELT_EXPIRED, .kind = HASHBELT_ENTRY,
		.key_len = 1,
	};
	*(char *)hashbelt_event_key(&(*events)->told) = is_calm ? 'c' : 'b';
	*sequence = 0;
	return 0;
}

int belt_events_fd(const struct belt_events *events)
{
	return events->fd;
}

int belt_events_next(struct belt_events *events, const struct hashbelt_event **event)
{
	if (!events->left)
		return -EAGAIN;
	events->left--;
	events->told.sequence++;
	*event = &events->told;
	return 0;
}

void belt_events_close(struct belt_events *events)
{
	if (events)
		close(events->fd);
	free(events);
}

void log_line(enum log_level level, const char *format, ...)
{
	(void)level;
	(void)format;
}

/* Takes records until the key "c" comes. Return: the number of those before it. */
static unsigned int count_before(struct feed *feed, int wake_fd)
{
	struct feed_record record;
	unsigned int count = 0;
	const char *at, *end;
	eventfd_t sum;
	size_t len;

	while (count < MOST) {
		eventfd_read(wake_fd, &sum);
		at = feed_take(feed, 0, &len);
		for (end = at + len; at < end; at += record.key_len, count++) {
			at = feed_next(at, &record);
			if (*at == 'c')
				return count;
		}
	}
	return count;
}

int main(void)
{
	struct options options = { .belt = "busy", .databases = { [1] = "calm" }, .threads = 1 };
	int wake_fd = eventfd(0, EFD_CLOEXEC);
	struct feed *feed;
	unsigned int count;

	if (feed_open(&options, &feed) || feed_join(feed, 0, wake_fd, 0) ||
	    feed_join(feed, 0, wake_fd, 1))
		bail_out("no feed");
	count = count_before(feed, wake_fd);
	ok(count < MOST, "the event of a calm belt comes after %u of a busy one", count);
	feed_leave(feed, 0, 0);
	feed_leave(feed, 0, 1);
	feed_end(feed);
	feed_close(feed);
	close(wake_fd);
	return done_testing();
}
