// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client: what it sends is read, carried out and answered.
 *
 * A turn reads once, carries out all whole requests, and sends their replies. Its memory, a work,
 * is lent by the worker, and kept only while replies cannot be sent: nothing is read meanwhile. A
 * connection without a request has no buffer. A part of a request is kept in memory of its size; a
 * request that is longer than a work's buffer is read into memory of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "binary.h"
#include "calls.h"
#include "clock.h"
#include "connection.h"
#include "listen.h"
#include "log.h"
#include "protocol.h"
#include "report.h"
#include "tls.h"

/* Works that a worker keeps. */
#define SPARES_MAX	2

/* Turns in a row of a client whose further bytes no event reports. */
#define TURNS_MAX	8

/* It waits until other connections had their turn. */
#define TURN		0

/* Parts of an answer in a row that a client takes at once, before others have their turn. */
#define ROUNDS_MAX	8

/**
 * struct connection - a client
 * @source:	its socket
 * @client:	for its requests
 * @worker:	its worker
 * @prev:	the one before it in the worker's list
 * @next:	the one behind it
 * @prev_subscriber: the one before it among those with subscriptions
 * @next_subscriber: the one behind it there
 * @tls:	its encryption; NULL for none
 * @held:	bytes of a request that is not whole
 * @held_len:	their number
 * @held_size:	size of that memory
 * @work:	kept until its replies are sent; else NULL
 * @done:	how far that was carried out
 * @fd:		its socket
 * @waits_for:	EPOLLIN, EPOLLOUT, or TURN
 * @last:	when it sent or took something last, in seconds
 * @is_full:	the last read has filled its buffer: no event reports bytes that it may have left
 * @has_more:	no event reports the end of the stream, or an error, that may be left
 * @has_begun:	it has sent something
 * @is_broken:	its socket has failed
 * @is_subscriber: it is among those with subscriptions
 */
struct connection {
	struct source source;
	struct client client;
	struct worker *worker;
	struct connection *prev;
	struct connection *next;
	struct connection *prev_subscriber;
	struct connection *next_subscriber;
	struct tls *tls;
	char *held;
	size_t held_len;
	size_t held_size;
	struct work *work;
	enum done done;
	int fd;
	uint32_t waits_for;
	unsigned int last;
	bool is_full;
	bool has_more;
	bool has_begun;
	bool is_broken;
	bool is_subscriber;
};

/* Works */

static struct work *take_work(struct worker *worker)
{
	struct work *work = worker->spares;

	if (!work)
		return work_new(&worker->service);
	worker->spares = work->next;
	worker->spare_count--;
	return work;
}

static void give_work(struct worker *worker, struct work *work)
{
	if (worker->spare_count == SPARES_MAX) {
		work_free(work);
		return;
	}
	work->next = worker->spares;
	worker->spares = work;
	worker->spare_count++;
}

/**
 * worker_empty() - free what a worker keeps for its connections
 * @worker:	the worker
 */
void worker_empty(struct worker *worker)
{
	struct work *work;

	while ((work = worker->spares)) {
		worker->spares = work->next;
		work_free(work);
	}
	worker->spare_count = 0;
	chunk_pool_empty(&worker->service.pool);
}

/* Addresses */

/* The address of the other end, for people. */
static const char *peer_of(const struct connection *connection, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN + 16], port[8];
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getpeername(connection->fd, (struct sockaddr *)&address, &len) ||
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) || address.ss_family == AF_UNIX)
		snprintf(text, size, "unix");
	else
		snprintf(text, size, address.ss_family == AF_INET6 ? "tcp6:[%s]:%s" : "tcp:%s:%s",
			 host, port);
	return text;
}

static void log_close(const struct connection *connection, const char *reason)
{
	char peer[128];

	log_line(LOG_TROUBLE, "client %d (%s) closed: %s", connection->fd,
		 peer_of(connection, peer, sizeof(peer)), reason);
}

/* Life */

static void link_connection(struct connection *connection)
{
	struct worker *worker = connection->worker;

	pthread_mutex_lock(&worker->lock);
	connection->next = worker->first;
	if (worker->first)
		worker->first->prev = connection;
	worker->first = connection;
	worker->count++;
	pthread_mutex_unlock(&worker->lock);
}

static void unlink_connection(struct connection *connection)
{
	struct worker *worker = connection->worker;

	pthread_mutex_lock(&worker->lock);
	if (connection->prev)
		connection->prev->next = connection->next;
	else
		worker->first = connection->next;
	if (connection->next)
		connection->next->prev = connection->prev;
	worker->count--;
	pthread_mutex_unlock(&worker->lock);
}

/* Adds a connection to those with subscriptions, or takes it out. */
static void note_subscriptions(struct connection *connection)
{
	struct worker *worker = connection->worker;
	bool has_some = connection->client.subscriptions;

	if (has_some == connection->is_subscriber)
		return;
	connection->is_subscriber = has_some;
	if (has_some) {
		connection->prev_subscriber = NULL;
		connection->next_subscriber = worker->subscribers;
		if (worker->subscribers)
			worker->subscribers->prev_subscriber = connection;
		worker->subscribers = connection;
		return;
	}
	if (connection->prev_subscriber)
		connection->prev_subscriber->next_subscriber = connection->next_subscriber;
	else
		worker->subscribers = connection->next_subscriber;
	if (connection->next_subscriber)
		connection->next_subscriber->prev_subscriber = connection->prev_subscriber;
	/* It might take a message for the reply to its next request. */
	pushes_end(&connection->client.pushes);
}

static void close_connection(struct connection *connection)
{
	struct worker *worker = connection->worker;

	log_line(LOG_CONNECTIONS, "client %d closed", connection->fd);
	unlink_connection(connection);
	poller_leave(&worker->poller, &connection->source);
	tls_free(connection->tls);
	belt_scan_end(connection->client.scan);
	if (connection->client.protocol->end)
		connection->client.protocol->end(&connection->client);
	connection->client.subscriptions = 0;
	note_subscriptions(connection);
	close(connection->fd);
	if (connection->work)
		work_free(connection->work);
	free(connection->held);
	free(connection);
	worker->closed(worker->owner);
}

/* Input */

/* Reads up to @size bytes. Return: their number, 0 at the end, or a negative errno. */
static ssize_t receive(struct connection *connection, char *buffer, size_t size)
{
	ssize_t len;

	if (connection->tls)
		return tls_read(connection->tls, buffer, size);
	do {
		len = call_recv(connection->fd, buffer, size);
	} while (len < 0 && errno == EINTR);
	return len < 0 ? -errno : len;
}

/* Puts what is held before what is read next. Return: where to read, and how much. */
static char *load(struct connection *connection, struct work *work, size_t *room)
{
	work->used = 0;
	work->len = connection->held_len;
	if (connection->held_size > INPUT_SIZE) {
		work->text = connection->held;
		*room = connection->held_size - work->len;
		return work->text + work->len;
	}
	work->text = work->input;
	*room = INPUT_SIZE - work->len;
	if (connection->held) {
		memcpy(work->input, connection->held, work->len);
		free(connection->held);
		connection->held = NULL;
		connection->held_len = 0;
		connection->held_size = 0;
	}
	return work->input + work->len;
}

/* Keeps the bytes that are left. Return: false if there is no memory. */
static bool save(struct connection *connection, const struct work *work)
{
	size_t left = work->len - work->used, size = left;
	char *old = connection->held, *held = old;

	if (!left && !old)
		return true;
	if (left && connection->client.need > INPUT_SIZE) {
		size = connection->client.need;
		/* A line of unknown length grows by more than it needs. */
		if (size < 2 * left)
			size = 2 * left;
	}
	if (left && connection->client.need <= connection->held_size && old) {
		memmove(old, work->text + work->used, left);
		connection->held_len = left;
		return true;
	}
	held = left ? malloc(size) : NULL;
	if (left && !held)
		return false;
	if (left)
		memcpy(held, work->text + work->used, left);
	free(old);
	connection->held = held;
	connection->held_len = left;
	connection->held_size = held ? size : 0;
	return true;
}

/* Output */

static bool may_retry(int err)
{
	return err == -EAGAIN || err == -EINTR;
}

static ssize_t transmit(const struct connection *connection, const struct iovec *pieces, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)pieces, .msg_iovlen = count };
	ssize_t len;

	if (connection->tls)
		return tls_write(connection->tls, pieces, count);
	if (count == 1)
		len = call_send(connection->fd, pieces->iov_base, pieces->iov_len);
	else
		len = sendmsg(connection->fd, &message, MSG_NOSIGNAL);
	return len < 0 ? -errno : len;
}

/*
 * Sends replies. Return: true if all were sent; else the socket has failed, or takes no more for
 * now.
 */
static bool send_replies(struct connection *connection, struct work *work)
{
	struct output *output = &work->output;
	const struct iovec *pieces;
	ssize_t len;
	int count;

	while (!output_is_empty(output)) {
		pieces = output_pieces(output, &count);
		len = transmit(connection, pieces, count);
		if (len < 0) {
			connection->is_broken = !may_retry(len);
			return false;
		}
		count_by(&connection->worker->service.counters.bytes_written, len);
		output_sent(output, len);
	}
	/* While replies are written, their space is in use. */
	if (!work->is_done)
		output_reset(output);
	return true;
}

/* Sends messages that no request asked for. Return: true if all were sent. */
static bool send_pushes(struct connection *connection)
{
	struct pushes *pushes = &connection->client.pushes;
	ssize_t len;

	while (!pushes_are_none(pushes)) {
		const struct iovec piece = {
			pushes->bytes + pushes->at, pushes->len - pushes->at,
		};

		len = transmit(connection, &piece, 1);
		if (len < 0) {
			connection->is_broken = !may_retry(len);
			return false;
		}
		count_by(&connection->worker->service.counters.bytes_written, len);
		pushes_sent(pushes, len);
	}
	return true;
}

/*
 * The events of a connection that waits for one. Those of a socket without encryption are edges:
 * the kernel then looks at the socket once for each change of it, and not once more before it
 * waits. A change is reported once, so a turn has to find all of it: EPOLLRDHUP tells that the end
 * has come behind bytes.
 */
static uint32_t events_of(const struct connection *connection, uint32_t what)
{
	if (connection->tls)
		return what;
	return what | EPOLLET | (what == EPOLLIN ? EPOLLRDHUP : 0);
}

/* Waits for the socket to be readable or writable, or for a turn. */
static void wait_for(struct connection *connection, uint32_t what)
{
	struct poller *poller = &connection->worker->poller;

	if (connection->waits_for == what && what != TURN)
		return;
	__atomic_store_n(&connection->waits_for, what, __ATOMIC_RELAXED);
	if (what == TURN)
		poller_turn(poller, &connection->source);
	else if (!poller_wait(poller, &connection->source, events_of(connection, what)))
		connection->is_broken = true;
}

/* Turns */

/* The next step of a connection. */
enum turn {
	TURN_WAIT,		/* wait for its socket */
	TURN_AGAIN,		/* there may be more that no event reports */
	TURN_LATER,		/* there may be more, but it is the turn of others */
	TURN_CLOSE,
};

/* The first byte of a client may tell that it speaks another protocol. */
static void look_at_first(struct connection *connection, const struct work *work)
{
	const struct protocol *protocol = connection->client.protocol;
	const char *wrong = NULL;
	char peer[128];

	if (!connection->has_begun && protocol->look)
		wrong = protocol->look(&connection->client, *work->text);
	connection->has_begun = true;
	if (wrong)
		log_line(LOG_TROUBLE, "client %d (%s) %s", connection->fd,
			 peer_of(connection, peer, sizeof(peer)), wrong);
}

/* Carries out what was read. */
static enum done run_requests(struct connection *connection, struct work *work)
{
	enum done done = connection->client.is_binary ? binary_run(work, &connection->client) :
							protocol_run(work, &connection->client);

	note_subscriptions(connection);
	return done;
}

/* Reads once. Return: the number of bytes; 0 if there are none yet; a negative errno at the end. */
static ssize_t read_input(struct connection *connection, struct work *work)
{
	size_t room;
	char *at = load(connection, work, &room);
	ssize_t len = receive(connection, at, room);

	connection->is_full = !connection->tls && len == (ssize_t)room;
	if (len == -EPROTO && connection->tls)
		connection->client.reason = tls_reason(connection->tls);
	if (len <= 0)
		return may_retry(len) ? 0 : len ? len : -ENODATA;
	__atomic_store_n(&connection->last, seconds_now(), __ATOMIC_RELAXED);
	count_by(&connection->worker->service.counters.bytes_read, len);
	work->len += len;
	look_at_first(connection, work);
	return len;
}

/*
 * Sends, and carries out what had to wait for that. Return: false if replies are left, or if it is
 * the turn of other connections: all replies are sent then, and no event of the socket will come.
 */
static bool finish(struct connection *connection, struct work *work)
{
	unsigned int rounds = 0;

	while (connection->done != DONE_BROKEN) {
		if (!send_replies(connection, work))
			return false;
		if (connection->done != DONE_SOME)
			break;
		/* A client that takes its replies is not idle, and one whose keys are left out. */
		__atomic_store_n(&connection->last, seconds_now(), __ATOMIC_RELAXED);
		if (rounds++ == ROUNDS_MAX)
			return false;
		connection->done = run_requests(connection, work);
	}
	return true;
}

/* The event that is waited for, to read more. */
static uint32_t reads_after(const struct connection *connection, ssize_t len)
{
	/* A handshake may have to write first. */
	return !len && connection->tls && tls_wants(connection->tls) == POLLOUT ? EPOLLOUT :
										 EPOLLIN;
}

/* The event that is waited for after the socket took no more. */
static uint32_t writes_after(const struct connection *connection)
{
	return connection->tls && tls_wants(connection->tls) == POLLIN ? EPOLLIN : EPOLLOUT;
}

/* The event that is waited for, to send more replies. */
static uint32_t sends_after(const struct connection *connection)
{
	return output_is_empty(&connection->work->output) ? TURN : writes_after(connection);
}

/* The end of a turn whose messages were not all sent. */
static enum turn pause_pushes(struct connection *connection)
{
	wait_for(connection, writes_after(connection));
	return connection->is_broken ? TURN_CLOSE : TURN_WAIT;
}

/* The end of a turn whose replies were sent. @len: bytes that it has read. */
static enum turn end_turn(struct connection *connection, struct work *work, ssize_t len)
{
	if (connection->done == DONE_CLOSE || connection->done == DONE_BROKEN ||
	    !save(connection, work))
		return TURN_CLOSE;
	if (!pushes_are_none(&connection->client.pushes) && !send_pushes(connection))
		return pause_pushes(connection);
	wait_for(connection, reads_after(connection, len));
	if (connection->is_broken)
		return TURN_CLOSE;
	/* After a read without bytes a part of a record is pending: its rest is an event. */
	if (len > 0 && connection->tls && tls_pending(connection->tls))
		return TURN_AGAIN;
	if (len > 0 && connection->is_full)
		return TURN_LATER;
	if (len > 0 && connection->has_more)
		return TURN_AGAIN;
	/* Bytes that came while the server ends are answered, too. */
	if (connection->worker->is_ending)
		return len ? TURN_AGAIN : TURN_CLOSE;
	return TURN_WAIT;
}

static enum turn run_turn(struct connection *connection)
{
	struct worker *worker = connection->worker;
	struct work *work = connection->work;
	enum turn turn = TURN_CLOSE;
	ssize_t len = 1;

	if (!work) {
		if (!pushes_are_none(&connection->client.pushes) && !send_pushes(connection))
			return pause_pushes(connection);
		work = take_work(worker);
		if (!work)
			return TURN_CLOSE;
		connection->done = DONE_ALL;
		len = read_input(connection, work);
		if (len > 0 && work->len >= connection->client.need)
			connection->done = run_requests(connection, work);
		/* A socket that has failed says so when replies are sent, or at the next read. */
		if (!connection->tls && output_is_empty(&work->output))
			connection->has_more = true;
	}
	if (len >= 0) {
		if (!finish(connection, work)) {
			connection->work = work;
			wait_for(connection, sends_after(connection));
			return connection->is_broken ? TURN_CLOSE : TURN_WAIT;
		}
		turn = end_turn(connection, work, len);
	}
	connection->work = NULL;
	if (connection->done == DONE_BROKEN)
		work_free(work);
	else
		give_work(worker, work);
	return turn;
}

static void take_turns(struct connection *connection)
{
	unsigned int turns = 0;
	enum turn turn;

	do {
		turn = run_turn(connection);
	} while (turn == TURN_AGAIN && ++turns < TURNS_MAX);
	if (turn == TURN_CLOSE) {
		if (connection->client.reason)
			log_close(connection, connection->client.reason);
		close_connection(connection);
	} else if (turn != TURN_WAIT) {
		wait_for(connection, TURN);
	}
}

/* Messages for a client are sent at once, unless replies to it are not sent yet. */
static void deliver(struct connection *connection, const char *records, size_t len)
{
	struct client *client = &connection->client;

	if (!client->protocol->deliver(client, records, len)) {
		log_close(connection, "it does not take the messages of its subscriptions");
		close_connection(connection);
		return;
	}
	if (connection->work || send_pushes(connection))
		return;
	if (pause_pushes(connection) == TURN_CLOSE)
		close_connection(connection);
}

/**
 * connections_deliver() - tell the connections that have subscriptions
 * @worker:	the worker
 * @records:	the news, for feed_next()
 * @len:	their length
 */
void connections_deliver(struct worker *worker, const char *records, size_t len)
{
	struct connection *connection, *next;

	for (connection = worker->subscribers; connection; connection = next) {
		next = connection->next_subscriber;
		deliver(connection, records, len);
	}
}

static void on_event(struct source *source, uint32_t events)
{
	struct connection *connection = source->owner;

	/* The end of the stream, or an error, is behind the bytes; at a turn it may be. */
	connection->has_more = !events || events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
	take_turns(connection);
}

/**
 * connection_open() - serve a client
 * @worker:	the worker
 * @fd:		the socket; the connection closes it
 * @listener:	the one that it came to
 *
 * Return: false if there is no memory; @fd is closed then.
 */
bool connection_open(struct worker *worker, int fd, const struct listener *listener)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	char peer[128];

	if (connection && listener->tls) {
		connection->tls = tls_accept(worker->tls, fd);
		if (!connection->tls) {
			free(connection);
			connection = NULL;
		}
	}
	if (!connection) {
		close(fd);
		worker->closed(worker->owner);
		return false;
	}
	connection->fd = fd;
	connection->worker = worker;
	connection->client.protocol = listener->protocol;
	connection->client.fd = fd;
	connection->client.may_ask = !listener->auth;
	connection->source = (struct source){ .ready = on_event, .owner = connection, .fd = fd };
	connection->last = seconds_now();
	link_connection(connection);
	wait_for(connection, EPOLLIN);
	if (connection->is_broken) {
		close_connection(connection);
		return false;
	}
	if (log_level() >= LOG_CONNECTIONS)
		log_line(LOG_CONNECTIONS, "client %d (%s)", fd,
			 peer_of(connection, peer, sizeof(peer)));
	return true;
}

/**
 * connections_check_idle() - close connections that were silent for too long
 * @worker:	the worker
 * @seconds:	how long is too long
 */
void connections_check_idle(struct worker *worker, unsigned int seconds)
{
	struct connection *connection, *next;
	unsigned int now = seconds_now();

	for (connection = worker->first; connection; connection = next) {
		next = connection->next;
		/* Subscribers wait for messages. */
		if (!connection->is_subscriber && now - connection->last >= seconds) {
			log_line(LOG_CONNECTIONS, "client %d was idle", connection->fd);
			close_connection(connection);
		}
	}
}

/**
 * connections_end() - close connections, after what they have sent is answered
 * @worker:	the worker
 *
 * Those that do not take their replies stay.
 */
void connections_end(struct worker *worker)
{
	struct connection *connection, *next;

	worker->is_ending = true;
	for (connection = worker->first; connection; connection = next) {
		next = connection->next;
		if (!connection->work)
			take_turns(connection);
	}
}

/**
 * connections_close() - close all connections
 * @worker:	the worker
 */
void connections_close(struct worker *worker)
{
	while (worker->first)
		close_connection(worker->first);
}

/**
 * connections_list() - print the connections of a worker, from any thread
 * @worker:	the worker
 * @output:	where
 *
 * Return: false if there is no memory.
 */
bool connections_list(struct worker *worker, struct output *output)
{
	const struct connection *connection;
	unsigned int now = seconds_now();
	char peer[128];
	bool ok = true;

	pthread_mutex_lock(&worker->lock);
	for (connection = worker->first; ok && connection; connection = connection->next) {
		uint32_t what = __atomic_load_n(&connection->waits_for, __ATOMIC_RELAXED);
		unsigned int last = __atomic_load_n(&connection->last, __ATOMIC_RELAXED);

		ok = report_line(output, "STAT %d:addr %s", connection->fd,
				 peer_of(connection, peer, sizeof(peer))) &&
		     report_line(output, "STAT %d:state %s", connection->fd,
				 what == EPOLLOUT ? "conn_mwrite" : "conn_read") &&
		     report_line(output, "STAT %d:secs_since_last_cmd %u", connection->fd,
				 now - last);
	}
	pthread_mutex_unlock(&worker->lock);
	return ok;
}
