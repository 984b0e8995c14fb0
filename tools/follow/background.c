// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that may block for long, in a thread of its own: looking a name up, for example. The loop
 * has to go on meanwhile, as it clears the belt while the engine is lost.
 *
 * The thread cannot be stopped. So the work has two owners, the thread and the loop, and the last
 * one that leaves it frees it.
 */
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "background.h"

/**
 * struct background - work
 * @job:	its kind
 * @data:	its material: the thread's until it has written to @fd
 * @owner:	for the result
 * @fd:		an eventfd that is written to at the end
 * @event:	the event for it; NULL: nothing takes the result
 * @owners:	1 or 2
 */
struct background {
	const struct background_job *job;
	void *data;
	void *owner;
	int fd;
	struct event *event;
	unsigned int owners;
};

/* Threads that have not ended. */
static unsigned int threads;

static void put(struct background *background)
{
	if (__atomic_sub_fetch(&background->owners, 1, __ATOMIC_ACQ_REL))
		return;
	background->job->free(background->data);
	close(background->fd);
	free(background);
}

static void *run(void *arg)
{
	struct background *background = arg;
	uint64_t one = 1;

	background->job->work(background->data);
	/* It cannot fail: nothing else writes. */
	if (write(background->fd, &one, sizeof(one)) < 0)
		abort();
	put(background);
	__atomic_sub_fetch(&threads, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void on_done(evutil_socket_t fd, short what, void *arg)
{
	struct background *background = arg;

	(void)fd;
	(void)what;
	event_free(background->event);
	background->event = NULL;
	background->job->done(background->owner, background->data);
	put(background);
}

/* Signals are for the thread of the loop. */
static int start_thread(struct background *background)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
	err = pthread_create(&thread, &attributes, run, background);
	if (err)
		__atomic_sub_fetch(&threads, 1, __ATOMIC_RELAXED);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

/**
 * background_start() - begin work
 * @base:	the events of the loop
 * @job:	the kind of work
 * @data:	its material, which is freed after @job->done, or if that is not called
 * @owner:	the first argument of @job->done
 *
 * Return: the work, valid until @job->done is called or background_abandon(); NULL if there is no
 * memory or no thread.
 */
struct background *background_start(struct event_base *base, const struct background_job *job,
				    void *data, void *owner)
{
	struct background *background = malloc(sizeof(*background));
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (!background || fd < 0)
		goto fail;
	*background = (struct background){
		.job = job, .data = data, .owner = owner, .fd = fd, .owners = 2,
	};
	background->event = event_new(base, fd, EV_READ, on_done, background);
	if (background->event && !event_add(background->event, NULL) &&
	    !start_thread(background))
		return background;
	if (background->event)
		event_free(background->event);
fail:
	if (fd >= 0)
		close(fd);
	free(background);
	job->free(data);
	return NULL;
}

/**
 * background_abandon() - take no result of work
 * @background:	the work, which is not done yet; NULL does nothing
 */
void background_abandon(struct background *background)
{
	if (!background)
		return;
	event_free(background->event);
	background->event = NULL;
	put(background);
}

/**
 * background_any() - whether a thread still works
 *
 * Return: true: the process must end by _exit(2), as exit(3) would take libraries from the thread.
 */
bool background_any(void)
{
	return __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
}
