/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors that a worker waits for, and turns that come after those of others. */
#ifndef HBSERVE_POLLER_H
#define HBSERVE_POLLER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* Events of a look. */
#define POLLER_EVENTS	64

/**
 * struct source - what is waited for; zeroed at first
 * @ready:	called if it is ready, with EPOLL* flags; 0: it is its turn
 * @owner:	for @ready
 * @fd:		the descriptor
 * @waits:	its descriptor is waited for
 * @is_due:	its turn comes
 * @since:	then: the number of the last look before that
 * @prev:	the one before it among those whose turn comes
 * @next:	the one behind it there
 */
struct source {
	void (*ready)(struct source *source, uint32_t events);
	void *owner;
	int fd;
	bool waits;
	bool is_due;
	uint64_t since;
	struct source *prev;
	struct source *next;
};

/**
 * struct poller - the sources of a worker, which its thread alone uses
 * @epoll:	of the sources that are waited for
 * @due:	the sources whose turn comes, the oldest first
 * @last_due:	the newest one
 * @looks:	number of looks at descriptors
 * @ends:	poller_run() is to return
 * @at:		the event whose source is called now
 * @count:	the number of events
 * @events:	those of the last look
 */
struct poller {
	int epoll;
	struct source *due;
	struct source *last_due;
	uint64_t looks;
	bool ends;
	int at;
	int count;
	struct epoll_event events[POLLER_EVENTS];
};

bool poller_open(struct poller *poller);
void poller_close(struct poller *poller);
bool poller_wait(struct poller *poller, struct source *source, uint32_t events);
void poller_turn(struct poller *poller, struct source *source);
void poller_leave(struct poller *poller, struct source *source);
void poller_look(struct poller *poller, bool waits);
void poller_run(struct poller *poller);

#endif /* HBSERVE_POLLER_H */
