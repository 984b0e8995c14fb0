/* SPDX-License-Identifier: GPL-2.0-only */
/* polled.h - many descriptors of one belt in one edge-triggered epoll set. */
#ifndef _POLLED_H
#define _POLLED_H

#include <sys/resource.h>

#include "events.h"

/**
 * struct polled - descriptors that are polled
 * @epoll:	the epoll set
 * @fds:	the descriptors
 * @most:	room in @fds
 * @count:	number of descriptors so far
 */
struct polled {
	int epoll;
	int *fds;
	unsigned int most;
	unsigned int count;
};

/* An empty set, in a process that may have so many descriptors. */
static inline struct polled new_polled(unsigned int most)
{
	struct rlimit files = { .rlim_cur = most + 100, .rlim_max = most + 100 };
	struct polled polled = {
		.epoll = epoll_create1(EPOLL_CLOEXEC), .fds = calloc(most, sizeof(int)),
		.most = most,
	};

	if (!polled.fds || polled.epoll < 0 || setrlimit(RLIMIT_NOFILE, &files))
		bail_out("no room for %u descriptors: %s", most, strerror(errno));
	return polled;
}

/* Polls further descriptors of a belt once, up to @count in all. */
static inline void add_polled(struct polled *polled, const char *name, unsigned int count)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	for (; polled->count < count; polled->count++) {
		polled->fds[polled->count] = open_named(name);
		event.data.u32 = polled->count;
		if (epoll_ctl(polled->epoll, EPOLL_CTL_ADD, polled->fds[polled->count], &event))
			bail_out("epoll_ctl: %s", strerror(errno));
	}
}

/*
 * The number of descriptors that are told; waits for @want. Each descriptor that is told is polled
 * again.
 */
static inline unsigned int count_told(const struct polled *polled, unsigned int want)
{
	static struct epoll_event events[1000];
	bool *is_told = calloc(polled->most, sizeof(*is_told));
	unsigned int told = 0;
	int n, i;

	while (told < want && (n = epoll_wait(polled->epoll, events, 1000, 20000)) > 0) {
		for (i = 0; i < n; i++) {
			told += !is_told[events[i].data.u32];
			is_told[events[i].data.u32] = true;
		}
	}
	free(is_told);
	return told;
}

static inline void close_polled(struct polled *polled)
{
	free(polled->fds);
	close(polled->epoll);
}

#endif /* _POLLED_H */
