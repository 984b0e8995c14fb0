/* SPDX-License-Identifier: GPL-2.0-only */
/* Work that may block for long, in a thread of its own. */
#ifndef HBFOLLOW_BACKGROUND_H
#define HBFOLLOW_BACKGROUND_H

#include <stdbool.h>

struct event_base;
struct background;

/**
 * struct background_job - a kind of work
 * @work:	does it, in the thread; touches only @data
 * @done:	takes the result, in the loop; @owner is that of background_start()
 * @free:	frees @data, in either
 */
struct background_job {
	void (*work)(void *data);
	void (*done)(void *owner, void *data);
	void (*free)(void *data);
};

struct background *background_start(struct event_base *base, const struct background_job *job,
				    void *data, void *owner);
void background_abandon(struct background *background);
bool background_any(void);

#endif /* HBFOLLOW_BACKGROUND_H */
