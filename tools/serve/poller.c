// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors that a worker waits for, and turns of connections that come after those of others.
 *
 * The loop of libevent would do as well, but takes 600 instructions for each event, a twentieth of
 * those of a get.
 */
#include <stddef.h>
#include <unistd.h>

#include "poller.h"

/**
 * poller_open() - make a poller
 * @poller:	the poller, zeroed
 *
 * Return: false if there is no memory or descriptor.
 */
bool poller_open(struct poller *poller)
{
	poller->epoll = epoll_create1(EPOLL_CLOEXEC);
	return poller->epoll >= 0;
}

/**
 * poller_close() - free a poller
 * @poller:	the poller, without sources
 */
void poller_close(struct poller *poller)
{
	if (poller->epoll >= 0)
		close(poller->epoll);
}

static void leave_turns(struct poller *poller, struct source *source)
{
	if (!source->is_due)
		return;
	source->is_due = false;
	if (source->prev)
		source->prev->next = source->next;
	else
		poller->due = source->next;
	if (source->next)
		source->next->prev = source->prev;
	else
		poller->last_due = source->prev;
}

/**
 * poller_wait() - wait for events of a descriptor, in place of all that was waited for
 * @poller:	the poller
 * @source:	the source
 * @events:	EPOLL* flags
 *
 * Return: false if there is no memory.
 */
bool poller_wait(struct poller *poller, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };
	int how = source->waits ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	leave_turns(poller, source);
	source->waits = !epoll_ctl(poller->epoll, how, source->fd, &event);
	return source->waits;
}

/**
 * poller_turn() - call a source after the next look at all others, in place of what it waits for
 * @poller:	the poller
 * @source:	the source
 */
void poller_turn(struct poller *poller, struct source *source)
{
	poller_leave(poller, source);
	source->is_due = true;
	source->since = poller->looks;
	source->prev = poller->last_due;
	source->next = NULL;
	if (source->prev)
		source->prev->next = source;
	else
		poller->due = source;
	poller->last_due = source;
}

/**
 * poller_leave() - wait for a source no more: it is not called again
 * @poller:	the poller
 * @source:	the source, whose descriptor is open
 */
void poller_leave(struct poller *poller, struct source *source)
{
	int i;

	leave_turns(poller, source);
	if (!source->waits)
		return;
	source->waits = false;
	epoll_ctl(poller->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	for (i = poller->at + 1; i < poller->count; i++)
		if (poller->events[i].data.ptr == source)
			poller->events[i].data.ptr = NULL;
}

static void look(struct poller *poller, int timeout)
{
	struct source *source;

	poller->count = epoll_wait(poller->epoll, poller->events, POLLER_EVENTS, timeout);
	poller->looks++;
	for (poller->at = 0; poller->at < poller->count; poller->at++) {
		source = poller->events[poller->at].data.ptr;
		if (source)
			source->ready(source, poller->events[poller->at].events);
	}
	poller->count = 0;
}

/* Calls the sources whose turn comes, but for those that have got it since the last look. */
static void take_turns(struct poller *poller)
{
	struct source *source;

	while ((source = poller->due) && source->since != poller->looks) {
		leave_turns(poller, source);
		source->ready(source, 0);
	}
}

/**
 * poller_look() - call the sources that are ready, and those whose turn comes
 * @poller:	the poller
 * @waits:	wait for one if there is none
 */
void poller_look(struct poller *poller, bool waits)
{
	look(poller, waits && !poller->due ? -1 : 0);
	take_turns(poller);
}

/**
 * poller_run() - call sources until @ends is set
 * @poller:	the poller
 */
void poller_run(struct poller *poller)
{
	while (!poller->ends)
		poller_look(poller, true);
}
