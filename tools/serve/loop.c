// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads of hbserve. The first thread accepts clients, in a loop of libevent, and hands each
 * to the next worker. A worker serves its clients in a loop of its own, that of poller.c. Workers
 * share the queue in which they get clients, counters, the feed, the digests of scripts, and the
 * bound on messages.
 */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "array_size.h"
#include "clock.h"
#include "connection.h"
#include "feed.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "options.h"
#include "protocol.h"

/* Clients that are accepted before other events are looked at. */
#define ACCEPTS_MAX	64

/* Time after which a server without descriptors tries to accept again, if no client has left. */
#define RETRY_SECONDS	1

/* The log says so at most once in this time. */
#define SAY_SECONDS	60

/* Time for clients to take their replies when the server ends. */
#define END_SECONDS	5

/**
 * struct arrival - a client on its way to a worker
 * @next:	the one that came after it
 * @fd:		its socket
 * @listener:	the one that it came to
 */
struct arrival {
	struct arrival *next;
	int fd;
	const struct listener *listener;
};

/**
 * struct thread - a thread that serves clients
 * @worker:	its worker
 * @loop:	the loop
 * @thread:	the thread
 * @has_begun:	it was started
 * @wake:	an eventfd, written to if there are arrivals, or records of the feed, or the server
 *		ends
 * @idle:	a timerfd: it is time to look for silent clients
 * @clear:	a timerfd: it is time for a delayed flush_all
 * @clear_number: the value of @clears of the loop when that was asked for
 * @end:	a timerfd: clients are not waited for any more
 * @lock:	for @first and @last
 * @first:	the arrivals
 * @last:	where the next one is linked
 */
struct thread {
	struct worker worker;
	struct loop *loop;
	pthread_t thread;
	bool has_begun;
	struct source wake;
	struct source idle;
	struct source clear;
	unsigned int clear_number;
	struct source end;
	pthread_mutex_t lock;
	struct arrival *first;
	struct arrival **last;
};

/**
 * struct door - a listening socket
 * @loop:	the loop
 * @listener:	the socket
 * @event:	the event for it
 */
struct door {
	struct loop *loop;
	const struct listener *listener;
	struct event *event;
};

/**
 * struct loop - the server
 * @setup:	its options and sockets
 * @feed:	keys that expire, for clients that subscribe
 * @base:	the events of the first thread
 * @doors:	the listening sockets
 * @threads:	the workers
 * @turn:	the next worker
 * @room_fd:	written to if a client has left while none could be accepted
 * @room:	the event for it
 * @retry:	the event that tries again
 * @signals:	the events for SIGINT and SIGTERM
 * @started:	when it was started, in seconds
 * @is_ending:	the server ends
 * @is_full:	no descriptor was left for a client
 * @said:	when the log said so last, in seconds; 0: never
 * @connections: clients now
 * @total:	clients ever
 * @rejected:	clients that were too many
 * @disabled:	how often no descriptor was left
 * @clears:	number of flush_all
 * @lock:	for @zero
 * @zero:	counters at the last "stats reset"
 */
struct loop {
	struct loop_setup setup;
	struct feed *feed;
	struct event_base *base;
	struct door *doors;
	struct thread *threads;
	unsigned int turn;
	int room_fd;
	struct event *room;
	struct event *retry;
	struct event *signals[2];
	time_t started;
	bool is_ending;
	bool is_full;
	time_t said;
	unsigned int connections;
	uint64_t total;
	uint64_t rejected;
	uint64_t disabled;
	unsigned int clears;
	pthread_mutex_t lock;
	uint64_t zero[COUNTERS_COUNT];
};

#define READ(field)		__atomic_load_n(&(field), __ATOMIC_RELAXED)
#define WRITE(field, value)	__atomic_store_n(&(field), value, __ATOMIC_RELAXED)
#define ADD(field, by)		__atomic_add_fetch(&(field), by, __ATOMIC_RELAXED)

static void wake(int fd)
{
	uint64_t one = 1;

	/* It fails only if it is readable already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

/* Takes what an eventfd or a timerfd has counted. Return: false if it has counted nothing. */
static bool drain(int fd)
{
	uint64_t sum;

	return read(fd, &sum, sizeof(sum)) >= 0;
}

/* Calls of requests into the server, in the threads of workers */

/* Sets a timer. @first, @every: seconds; 0: never. */
static void set_timer(const struct source *timer, unsigned int first, unsigned int every)
{
	const struct itimerspec times = { { .tv_sec = every }, { .tv_sec = first } };

	timerfd_settime(timer->fd, 0, &times, NULL);
}

static void clear_later(void *owner, unsigned int seconds)
{
	struct thread *thread = owner;

	thread->clear_number = ADD(thread->loop->clears, 1);
	set_timer(&thread->clear, seconds, 0);
}

/* A later flush_all, of any worker, is in the place of earlier ones. */
static void on_clear(struct source *source, uint32_t events)
{
	struct thread *thread = source->owner;

	(void)events;
	/* A request that came with the event may have set the timer anew. */
	if (drain(source->fd) && thread->clear_number == READ(thread->loop->clears))
		belt_clear(belts_default(thread->worker.service.belts));
}

static bool list_clients(void *owner, struct output *output)
{
	struct loop *loop = ((struct thread *)owner)->loop;
	unsigned int i;

	for (i = 0; i < loop->setup.options->threads; i++)
		if (!connections_list(&loop->threads[i].worker, output))
			return false;
	return true;
}

static void add_counters(const struct loop *loop, uint64_t *sums)
{
	unsigned int i;

	memset(sums, 0, sizeof(*sums) * COUNTERS_COUNT);
	for (i = 0; i < loop->setup.options->threads; i++)
		counters_add(sums, &loop->threads[i].worker.service.counters);
}

static void sum_counters(void *owner, uint64_t *sums)
{
	struct loop *loop = ((struct thread *)owner)->loop;
	unsigned int i;

	add_counters(loop, sums);
	pthread_mutex_lock(&loop->lock);
	for (i = 0; i < COUNTERS_COUNT; i++)
		sums[i] -= loop->zero[i];
	pthread_mutex_unlock(&loop->lock);
}

static void reset_counters(void *owner)
{
	struct loop *loop = ((struct thread *)owner)->loop;
	uint64_t sums[COUNTERS_COUNT];

	add_counters(loop, sums);
	pthread_mutex_lock(&loop->lock);
	memcpy(loop->zero, sums, sizeof(sums));
	pthread_mutex_unlock(&loop->lock);
	WRITE(loop->total, 0);
	WRITE(loop->rejected, 0);
}

static void shut_down(void *owner)
{
	(void)owner;
	kill(getpid(), SIGTERM);
}

static void get_figures(void *owner, struct server_figures *figures)
{
	struct loop *loop = ((struct thread *)owner)->loop;

	*figures = (struct server_figures){
		.started = seconds_now() - loop->started,
		.connections = READ(loop->connections),
		.total = READ(loop->total),
		.rejected = READ(loop->rejected),
		.structures = READ(loop->connections),
		.disabled = READ(loop->disabled),
		.accepting = !READ(loop->is_full),
		.libevent = event_get_version(),
	};
}

static int join(void *owner, unsigned int database)
{
	struct thread *thread = owner;
	struct loop *loop = thread->loop;

	return feed_join(loop->feed, thread - loop->threads, thread->wake.fd, database);
}

static void leave(void *owner, unsigned int database)
{
	struct thread *thread = owner;
	struct loop *loop = thread->loop;

	feed_leave(loop->feed, thread - loop->threads, database);
}

static const struct service_calls calls = {
	.clear_later = clear_later,
	.list_clients = list_clients,
	.sum_counters = sum_counters,
	.reset_counters = reset_counters,
	.shut_down = shut_down,
	.figures = get_figures,
	.join = join,
	.leave = leave,
};

/* Workers */

static void on_closed(void *owner)
{
	struct thread *thread = owner;
	struct loop *loop = thread->loop;

	ADD(loop->connections, -1);
	if (READ(loop->is_full))
		wake(loop->room_fd);
	if (thread->worker.is_ending && !thread->worker.first)
		thread->worker.poller.ends = true;
}

static struct arrival *take_arrival(struct thread *thread)
{
	struct arrival *arrival;

	pthread_mutex_lock(&thread->lock);
	arrival = thread->first;
	if (arrival)
		thread->first = arrival->next;
	if (!thread->first)
		thread->last = &thread->first;
	pthread_mutex_unlock(&thread->lock);
	return arrival;
}

static void on_end(struct source *source, uint32_t events)
{
	struct thread *thread = source->owner;

	(void)events;
	thread->worker.poller.ends = true;
}

static void begin_end(struct thread *thread)
{
	set_timer(&thread->end, END_SECONDS, 0);
	connections_end(&thread->worker);
	if (!thread->worker.first)
		thread->worker.poller.ends = true;
}

/* Tells clients of keys that have expired. */
static void take_records(struct thread *thread)
{
	struct loop *loop = thread->loop;
	size_t len;
	const char *records = feed_take(loop->feed, thread - loop->threads, &len);

	connections_deliver(&thread->worker, records, len);
}

static void on_wake(struct source *source, uint32_t events)
{
	struct thread *thread = source->owner;
	struct arrival *arrival;

	(void)events;
	drain(source->fd);
	take_records(thread);
	while ((arrival = take_arrival(thread))) {
		connection_open(&thread->worker, arrival->fd, arrival->listener);
		free(arrival);
	}
	if (READ(thread->loop->is_ending) && !thread->worker.is_ending)
		begin_end(thread);
}

static void on_idle(struct source *source, uint32_t events)
{
	struct thread *thread = source->owner;

	(void)events;
	drain(source->fd);
	connections_check_idle(&thread->worker, thread->loop->setup.options->idle_seconds);
}

static void *run_thread(void *arg)
{
	struct thread *thread = arg;

	poller_run(&thread->worker.poller);
	connections_close(&thread->worker);
	return NULL;
}

/* Makes a source of a worker. Return: false if @fd is none, or there is no memory. */
static bool add_source(struct thread *thread, struct source *source, int fd,
		       void (*ready)(struct source *source, uint32_t events))
{
	*source = (struct source){ .ready = ready, .owner = thread, .fd = fd };
	return fd >= 0 && poller_wait(&thread->worker.poller, source, EPOLLIN);
}

static bool add_timer(struct thread *thread, struct source *source,
		      void (*ready)(struct source *source, uint32_t events))
{
	return add_source(thread, source,
			  timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC), ready);
}

/* Makes the sources of a worker. */
static bool add_sources(struct thread *thread)
{
	unsigned int idle = thread->loop->setup.options->idle_seconds;
	unsigned int step = idle > 4 ? idle / 4 : 1;

	if (!add_source(thread, &thread->wake, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), on_wake) ||
	    !add_timer(thread, &thread->clear, on_clear) ||
	    !add_timer(thread, &thread->end, on_end) || !add_timer(thread, &thread->idle, on_idle))
		return false;
	if (idle)
		set_timer(&thread->idle, step, step);
	return true;
}

static int open_thread(struct loop *loop, struct thread *thread)
{
	struct service *service = &thread->worker.service;

	thread->loop = loop;
	thread->last = &thread->first;
	thread->wake.fd = -1;
	thread->clear.fd = -1;
	thread->end.fd = -1;
	thread->idle.fd = -1;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_mutex_init(&thread->worker.lock, NULL);
	thread->worker.tls = loop->setup.tls;
	thread->worker.closed = on_closed;
	thread->worker.owner = thread;
	*service = (struct service){
		.options = loop->setup.options, .auth = loop->setup.auth, .calls = &calls,
		.owner = thread,
	};
	service_begin(service);
	if (!poller_open(&thread->worker.poller) || !add_sources(thread))
		return -ENOMEM;
	return belts_open(loop->setup.options, &service->belts);
}

static void free_event(struct event *event)
{
	if (event)
		event_free(event);
}

static void close_thread(struct thread *thread)
{
	const int fds[] = {
		thread->wake.fd, thread->clear.fd, thread->end.fd, thread->idle.fd,
	};
	struct arrival *arrival;
	unsigned int i;

	while ((arrival = take_arrival(thread))) {
		close(arrival->fd);
		free(arrival);
	}
	worker_empty(&thread->worker);
	belts_close(thread->worker.service.belts);
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	poller_close(&thread->worker.poller);
	pthread_mutex_destroy(&thread->worker.lock);
	pthread_mutex_destroy(&thread->lock);
}

/* Accepting */

static void hand_over(struct loop *loop, const struct listener *listener, int fd)
{
	struct thread *thread = &loop->threads[loop->turn++ % loop->setup.options->threads];
	struct arrival *arrival = malloc(sizeof(*arrival));

	if (!arrival) {
		close(fd);
		return;
	}
	*arrival = (struct arrival){ .fd = fd, .listener = listener };
	ADD(loop->connections, 1);
	ADD(loop->total, 1);
	pthread_mutex_lock(&thread->lock);
	*thread->last = arrival;
	thread->last = &arrival->next;
	pthread_mutex_unlock(&thread->lock);
	wake(thread->wake.fd);
}

static void reject(struct loop *loop, const struct listener *listener, int fd)
{
	const char *answer = listener->protocol->too_many;

	ADD(loop->rejected, 1);
	/* The client is told if it can be told at once. */
	if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
		log_line(LOG_CONNECTIONS, "a client was too many");
	close(fd);
}

/* No descriptor is left: clients wait in the sockets' queues until another client leaves. */
static void pause_accepting(struct loop *loop, int err)
{
	struct timeval time = { .tv_sec = RETRY_SECONDS };
	unsigned int i;

	if (!loop->said || seconds_now() - loop->said >= SAY_SECONDS) {
		loop->said = seconds_now();
		log_line(LOG_TROUBLE,
			 "cannot accept clients until others leave: %s (ulimit -n, or LimitNOFILE=)",
			 strerror(err));
	}
	for (i = 0; i < loop->setup.count; i++)
		event_del(loop->doors[i].event);
	WRITE(loop->is_full, true);
	ADD(loop->disabled, 1);
	event_add(loop->retry, &time);
}

static void on_room(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	unsigned int i;

	if (what & EV_READ)
		drain(fd);
	if (!READ(loop->is_full))
		return;
	WRITE(loop->is_full, false);
	event_del(loop->retry);
	for (i = 0; i < loop->setup.count; i++)
		event_add(loop->doors[i].event, NULL);
}

/* Whether accept(2) may be called again at once: that client has left, or a signal came. */
static bool is_harmless(int err)
{
	return err == ECONNABORTED || err == EINTR || err == EPROTO || err == EPERM;
}

static void on_client(evutil_socket_t fd, short what, void *arg)
{
	struct door *door = arg;
	struct loop *loop = door->loop;
	unsigned int i;
	int client, on = 1;

	(void)what;
	for (i = 0; i < ACCEPTS_MAX; i++) {
		client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0 && is_harmless(errno))
			continue;
		if (client < 0) {
			if (errno != EAGAIN)
				pause_accepting(loop, errno);
			return;
		}
		if (READ(loop->connections) >= loop->setup.options->connections) {
			reject(loop, door->listener, client);
			continue;
		}
		/* It fails on a unix socket, which needs it not. */
		setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		hand_over(loop, door->listener, client);
	}
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	struct loop *loop = arg;

	(void)number;
	(void)what;
	event_base_loopbreak(loop->base);
}

static int open_doors(struct loop *loop)
{
	unsigned int i;

	loop->doors = calloc(loop->setup.count + 1, sizeof(*loop->doors));
	if (!loop->doors)
		return -ENOMEM;
	for (i = 0; i < loop->setup.count; i++) {
		struct door *door = &loop->doors[i];

		door->loop = loop;
		door->listener = &loop->setup.listeners[i];
		door->event = event_new(loop->base, door->listener->fd, EV_READ | EV_PERSIST,
					on_client, door);
		if (!door->event || event_add(door->event, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* Makes the events of the first thread. */
static int open_base(struct loop *loop)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	unsigned int i;

	loop->base = event_base_new();
	loop->room_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!loop->base || loop->room_fd < 0)
		return -ENOMEM;
	loop->room = event_new(loop->base, loop->room_fd, EV_READ | EV_PERSIST, on_room, loop);
	loop->retry = evtimer_new(loop->base, on_room, loop);
	if (!loop->room || !loop->retry || event_add(loop->room, NULL))
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		loop->signals[i] = evsignal_new(loop->base, numbers[i], on_signal, loop);
		if (!loop->signals[i] || event_add(loop->signals[i], NULL))
			return -ENOMEM;
	}
	return open_doors(loop);
}

/* Starts the workers, with signals blocked: those are for the first thread. */
static int start_threads(struct loop *loop)
{
	sigset_t all, old;
	unsigned int i;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	for (i = 0; !err && i < loop->setup.options->threads; i++) {
		struct thread *thread = &loop->threads[i];

		err = pthread_create(&thread->thread, NULL, run_thread, thread);
		thread->has_begun = !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/**
 * loop_open() - prepare a server
 * @setup:	its options and sockets
 * @loop:	returned: the server, to be closed with loop_close()
 *
 * Prints an error.
 *
 * Return: 0 or a negative errno.
 */
int loop_open(const struct loop_setup *setup, struct loop **loop)
{
	struct loop *made = calloc(1, sizeof(*made));
	unsigned int i;
	int err = -ENOMEM;

	*loop = made;
	if (made) {
		made->setup = *setup;
		made->room_fd = -1;
		made->started = seconds_now();
		pthread_mutex_init(&made->lock, NULL);
		made->threads = calloc(setup->options->threads, sizeof(*made->threads));
		err = made->threads ? feed_open(setup->options, &made->feed) : -ENOMEM;
	}
	if (!err)
		err = open_base(made);
	for (i = 0; !err && i < setup->options->threads; i++)
		err = open_thread(made, &made->threads[i]);
	if (!err)
		err = start_threads(made);
	if (err == -ENOMEM)
		log_line(LOG_TROUBLE, "out of memory or descriptors");
	return err;
}

/**
 * loop_run() - serve clients until SIGINT or SIGTERM
 * @loop:	the server
 *
 * Return: 0; -EIO if the events failed.
 */
int loop_run(struct loop *loop)
{
	return event_base_dispatch(loop->base) < 0 ? -EIO : 0;
}

/* Ends the workers: what they have read is answered first. */
static void end_threads(struct loop *loop)
{
	unsigned int i;

	WRITE(loop->is_ending, true);
	for (i = 0; i < loop->setup.options->threads; i++)
		if (loop->threads[i].has_begun)
			wake(loop->threads[i].wake.fd);
	for (i = 0; i < loop->setup.options->threads; i++)
		if (loop->threads[i].has_begun)
			pthread_join(loop->threads[i].thread, NULL);
	for (i = 0; i < loop->setup.options->threads; i++)
		if (loop->threads[i].loop)
			close_thread(&loop->threads[i]);
}

/**
 * loop_close() - end a server
 * @loop:	the server; NULL does nothing
 *
 * Clients get the replies to what they have sent, if they take them in a few seconds.
 */
void loop_close(struct loop *loop)
{
	unsigned int i;

	if (!loop)
		return;
	for (i = 0; loop->doors && i < loop->setup.count; i++)
		free_event(loop->doors[i].event);
	feed_end(loop->feed);
	if (loop->threads)
		end_threads(loop);
	feed_close(loop->feed);
	for (i = 0; i < 2; i++)
		free_event(loop->signals[i]);
	free_event(loop->retry);
	free_event(loop->room);
	if (loop->base)
		event_base_free(loop->base);
	if (loop->room_fd >= 0)
		close(loop->room_fd);
	pthread_mutex_destroy(&loop->lock);
	free(loop->threads);
	free(loop->doors);
	free(loop);
}
