// SPDX-License-Identifier: GPL-2.0-only
/*
 * PostgreSQL, by LISTEN. A notification has the key that has changed, and comes when the
 * transaction that sent it commits; "*" or nothing stands for all keys.
 *
 * Can a change be missed? A session that listens is told what commits from then on, or it ends. The
 * answer to a question comes behind the notifications of all transactions of whose commit the
 * writer knew before: a server signals listeners before it answers the writer. A pool of
 * connections would listen in a session that is not that of hbfollow: so hbfollow notifies itself
 * first, on a channel of its own, and follows only when that has come. A standby server refuses
 * LISTEN.
 *
 * libpq looks names up and connects in a thread, as each of its calls that connect may block. A
 * server can make libpq take as much memory as it says that a message has: limit it from outside.
 * If malloc() fails for a notification, libpq drops this one and says nothing. So before bytes are
 * read, there has to be memory for all notifications that they may have.
 */
#include <event2/event.h>
#include <libpq-fe.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background.h"
#include "clock.h"
#include "log.h"
#include "options.h"
#include "password.h"
#include "postgresql.h"

/* Seconds for one address of a server, unless the URL says another number. */
#define CONNECT_SECONDS	"5"

/* Parameters for libpq, with the closing NULL. */
#define PARAMETERS_MAX	12

/*
 * Memory for the notifications of one call that reads, bytes. libpq reads until it has some 32 KiB,
 * or a message that is longer; the shortest notification has 10 bytes, and takes 64.
 */
#define RESERVE		(1024 * 1024)

/* Space for the name of the own channel. */
#define CHANNEL_SIZE	32

/**
 * struct postgresql - the engine
 * @setup:	base of events, options, owner
 * @connecting:	libpq connects; NULL: it does not
 * @connection:	the connection; NULL: there is none
 * @readable:	the event that bytes have come
 * @writable:	the event that bytes can be sent, which waits for that only if some are left
 * @own:	the channel on which hbfollow notifies itself
 * @has_own:	that notification has come
 * @asked:	when an unanswered question was asked; 0: there is none
 * @proof:	when the last answered question was asked; 0: none was
 * @delay:	as for engine_ops
 * @is_following: the owner was told so
 * @is_lost:	the owner was told so
 */
struct postgresql {
	struct engine_setup setup;
	struct background *connecting;
	PGconn *connection;
	struct event *readable;
	struct event *writable;
	char own[CHANNEL_SIZE];
	bool has_own;
	uint64_t asked;
	uint64_t proof;
	uint64_t delay;
	bool is_following;
	bool is_lost;
};

/* An attempt to connect, for a thread. */
struct attempt {
	const char *keywords[PARAMETERS_MAX];
	const char *values[PARAMETERS_MAX];
	int count;
	char *conninfo;
	char *user;
	char timeout[16];
	char password[PASSWORD_MAX];
	PGconn *connection;
};

static struct postgresql *postgresql_of(const struct engine *engine)
{
	return (struct postgresql *)engine;
}

/* The attempt has failed. Of a text of several lines the first is the reason. */
__attribute__((format(printf, 2, 3)))
static void fail(struct postgresql *postgresql, const char *format, ...)
{
	char reason[ENGINE_REASON_SIZE];
	va_list args;

	if (postgresql->is_lost)
		return;
	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	reason[strcspn(reason, "\n")] = '\0';
	postgresql->is_lost = true;
	postgresql->setup.calls->lost(postgresql->setup.owner, *reason ? reason : "no reason");
}

/* Sends what libpq has kept. */
static void flush(struct postgresql *postgresql)
{
	int left = PQflush(postgresql->connection);

	if (left < 0)
		fail(postgresql, "%s", PQerrorMessage(postgresql->connection));
	else if (left && event_add(postgresql->writable, NULL))
		fail(postgresql, "there is no memory for an event");
}

/* Sends commands: the question is answered when all are done. */
static void send_commands(struct postgresql *postgresql, const char *commands)
{
	postgresql->asked = clock_us();
	if (PQsendQuery(postgresql->connection, commands))
		flush(postgresql);
	else
		fail(postgresql, "%s", PQerrorMessage(postgresql->connection));
}

static void ask(struct postgresql *postgresql)
{
	if (postgresql->connection && !postgresql->asked && !postgresql->is_lost)
		send_commands(postgresql, "");
}

/* Listens on all channels, and notifies the own one. All is one transaction. */
static void listen_to_all(struct postgresql *postgresql)
{
	const struct options *options = postgresql->setup.options;
	/* A name has at most 63 bytes, each of which may be doubled. */
	size_t size = (options->channel_count + 2) * (2 * 64 + sizeof("LISTEN \"\"; ")), len = 0, i;
	char *commands = malloc(size), *name;

	for (i = 0; commands && i < options->channel_count; i++) {
		name = PQescapeIdentifier(postgresql->connection, options->channels[i],
					  strlen(options->channels[i]));
		if (!name) {
			fail(postgresql, "%s", PQerrorMessage(postgresql->connection));
			break;
		}
		len += snprintf(commands + len, size - len, "LISTEN %s; ", name);
		PQfreemem(name);
	}
	if (!commands) {
		fail(postgresql, "there is no memory for LISTEN");
		return;
	}
	snprintf(commands + len, size - len, "LISTEN %s; NOTIFY %s", postgresql->own,
		 postgresql->own);
	if (!postgresql->is_lost)
		send_commands(postgresql, commands);
	free(commands);
}

/* All that was asked is answered, and what came before is told. */
static void note_answer(struct postgresql *postgresql)
{
	bool is_first = !postgresql->proof;

	postgresql->proof = postgresql->asked;
	postgresql->asked = 0;
	postgresql->delay = clock_us() - postgresql->proof;
	if (postgresql->is_following)
		return;
	if (is_first) {
		ask(postgresql);
	} else if (postgresql->has_own) {
		postgresql->is_following = true;
		postgresql->setup.calls->following(postgresql->setup.owner);
	} else {
		fail(postgresql,
		     "no notification comes: connect to the server, not to a pool of connections");
	}
}

/* Takes results. Returns whether all that was asked is answered. */
static bool take_results(struct postgresql *postgresql)
{
	PGresult *result;
	ExecStatusType status;

	while (postgresql->asked && !PQisBusy(postgresql->connection)) {
		result = PQgetResult(postgresql->connection);
		if (!result)
			return true;
		status = PQresultStatus(result);
		if (status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
			fail(postgresql, "the server refuses: %s", PQresultErrorMessage(result));
		PQclear(result);
		if (postgresql->is_lost)
			return false;
	}
	return false;
}

static void tell(struct postgresql *postgresql, const PGnotify *notification)
{
	const struct engine_calls *calls = postgresql->setup.calls;
	const char *payload = notification->extra;

	if (!strcmp(notification->relname, postgresql->own))
		postgresql->has_own = true;
	else if (!*payload || !strcmp(payload, "*"))
		calls->cleared(postgresql->setup.owner);
	else
		calls->removed(postgresql->setup.owner, payload, strlen(payload));
}

static void take_notifications(struct postgresql *postgresql)
{
	PGnotify *notification;

	while ((notification = PQnotifies(postgresql->connection))) {
		tell(postgresql, notification);
		PQfreemem(notification);
	}
	postgresql->setup.calls->told(postgresql->setup.owner);
	/* libpq 18 closes the connection if it has no memory for what came. No event tells that. */
	if (!postgresql->is_lost && PQstatus(postgresql->connection) != CONNECTION_OK)
		fail(postgresql, "%s", PQerrorMessage(postgresql->connection));
}

/* Whether the heap has the reserve. It stays in the heap: see keep_reserve(). */
static bool has_reserve(void)
{
	void * volatile reserve = malloc(RESERVE);
	bool has = reserve;

	free(reserve);
	return has;
}

/* The heap is not cut, and the reserve is a part of it and no mapping of its own. */
static void keep_reserve(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 * RESERVE);
	mallopt(M_TRIM_THRESHOLD, 16 * RESERVE);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct postgresql *postgresql = arg;
	bool is_answered;

	(void)fd;
	(void)what;
	if (postgresql->is_lost)
		return;
	if (!has_reserve()) {
		fail(postgresql, "there is no memory for notifications");
		return;
	}
	if (!PQconsumeInput(postgresql->connection)) {
		fail(postgresql, "%s", PQerrorMessage(postgresql->connection));
		return;
	}
	is_answered = take_results(postgresql);
	if (postgresql->is_lost)
		return;
	/* Those that came before the answer have been parsed by now. */
	take_notifications(postgresql);
	if (is_answered && !postgresql->is_lost)
		note_answer(postgresql);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct postgresql *postgresql = arg;

	(void)fd;
	(void)what;
	if (!postgresql->is_lost)
		flush(postgresql);
}

static void log_notice(void *arg, const char *message)
{
	(void)arg;
	log_line(LOG_CONNECTIONS, "%.*s", (int)strcspn(message, "\n"), message);
}

/* In a thread. */
static void connect_server(void *data)
{
	struct attempt *attempt = data;

	attempt->connection = PQconnectdbParams(attempt->keywords, attempt->values, 1);
	explicit_bzero(attempt->password, sizeof(attempt->password));
}

static void free_attempt(void *data)
{
	struct attempt *attempt = data;

	PQfinish(attempt->connection);
	explicit_bzero(attempt->password, sizeof(attempt->password));
	free(attempt->conninfo);
	free(attempt->user);
	free(attempt);
}

static void on_connected(void *owner, void *data)
{
	struct postgresql *postgresql = owner;
	struct attempt *attempt = data;
	struct event_base *base = postgresql->setup.base;
	PGconn *connection = attempt->connection;

	postgresql->connecting = NULL;
	if (!connection || PQstatus(connection) != CONNECTION_OK) {
		fail(postgresql, "%s", PQerrorMessage(connection));
		return;
	}
	attempt->connection = NULL;
	postgresql->connection = connection;
	PQsetNoticeProcessor(connection, log_notice, NULL);
	snprintf(postgresql->own, sizeof(postgresql->own), "hbfollow_%u",
		 (unsigned int)PQbackendPID(connection));
	postgresql->readable = event_new(base, PQsocket(connection), EV_READ | EV_PERSIST,
					 on_readable, postgresql);
	postgresql->writable = event_new(base, PQsocket(connection), EV_WRITE, on_writable,
					 postgresql);
	if (!postgresql->readable || !postgresql->writable ||
	    event_add(postgresql->readable, NULL) || PQsetnonblocking(connection, 1))
		fail(postgresql, "there is no memory for the connection");
	else
		listen_to_all(postgresql);
}

static const struct background_job connect_job = {
	.work = connect_server, .done = on_connected, .free = free_attempt,
};

static void add_parameter(struct attempt *attempt, const char *keyword, const char *value)
{
	attempt->keywords[attempt->count] = keyword;
	attempt->values[attempt->count++] = value;
}

/* Of two parameters of the same name the later counts, and "dbname" has those of the URL. */
static void set_parameters(struct attempt *attempt, const struct options *options)
{
	snprintf(attempt->timeout, sizeof(attempt->timeout), "%u", options->detect_ms);
	add_parameter(attempt, "tcp_user_timeout", attempt->timeout);
	add_parameter(attempt, "fallback_application_name", "hbfollow");
	add_parameter(attempt, "dbname", attempt->conninfo);
	/* Without an end, each attempt would leave a thread and its descriptors. */
	add_parameter(attempt, "connect_timeout", CONNECT_SECONDS);
	if (attempt->user)
		add_parameter(attempt, "user", attempt->user);
	if (*attempt->password)
		add_parameter(attempt, "password", attempt->password);
}

/* Prepares an attempt. Returns false after a failure. */
static bool prepare(struct postgresql *postgresql, struct attempt *attempt)
{
	const struct options *options = postgresql->setup.options;
	char problem[PASSWORD_PROBLEM_SIZE];

	if (options->password_file &&
	    !password_read(options->password_file, attempt->password, problem)) {
		fail(postgresql, "%s", problem);
		return false;
	}
	attempt->conninfo = strdup(options->target.conninfo);
	attempt->user = options->user ? strdup(options->user) : NULL;
	if (!attempt->conninfo || (options->user && !attempt->user)) {
		fail(postgresql, "there is no memory to connect");
		return false;
	}
	set_parameters(attempt, options);
	return true;
}

static void start(struct engine *engine)
{
	struct postgresql *postgresql = postgresql_of(engine);
	struct attempt *attempt = calloc(1, sizeof(*attempt));

	postgresql->is_lost = false;
	postgresql->is_following = false;
	postgresql->has_own = false;
	postgresql->asked = 0;
	postgresql->proof = 0;
	if (attempt && !prepare(postgresql, attempt)) {
		free_attempt(attempt);
		return;
	}
	if (attempt)
		postgresql->connecting = background_start(postgresql->setup.base, &connect_job,
							  attempt, postgresql);
	if (!postgresql->connecting)
		fail(postgresql, "no memory or no thread to connect");
}

static void ping(struct engine *engine)
{
	ask(postgresql_of(engine));
}

static uint64_t proof(const struct engine *engine)
{
	return postgresql_of(engine)->proof;
}

static uint64_t delay(const struct engine *engine)
{
	return postgresql_of(engine)->delay;
}

static void free_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static void stop(struct engine *engine)
{
	struct postgresql *postgresql = postgresql_of(engine);

	postgresql->is_lost = true;
	background_abandon(postgresql->connecting);
	postgresql->connecting = NULL;
	free_event(&postgresql->readable);
	free_event(&postgresql->writable);
	PQfinish(postgresql->connection);
	postgresql->connection = NULL;
}

static void close_postgresql(struct engine *engine)
{
	stop(engine);
	free(postgresql_of(engine));
}

static struct engine *open_postgresql(const struct engine_setup *setup)
{
	struct postgresql *postgresql = calloc(1, sizeof(*postgresql));

	if (!postgresql) {
		fputs("hbfollow: out of memory\n", stderr);
		return NULL;
	}
	postgresql->setup = *setup;
	keep_reserve();
	return (struct engine *)postgresql;
}

const struct engine_ops postgresql_ops = {
	.name = "postgresql",
	.open = open_postgresql,
	.start = start,
	.ping = ping,
	.proof = proof,
	.delay = delay,
	.stop = stop,
	.close = close_postgresql,
};
