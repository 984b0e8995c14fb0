// SPDX-License-Identifier: GPL-2.0-only
/*
 * PostgreSQL, by LISTEN. A notification has the key that has changed, and comes when the
 * transaction that sent it commits; "*" or nothing stands for all keys.
 *
 * Can a change be missed? A session that listens is told what commits from then on, or it ends. The
 * answer to a question comes behind the notifications of all transactions of whose commit the
 * writer knew before: a server signals listeners before it answers the writer. A standby server
 * refuses LISTEN.
 *
 * A pool of connections may give the session that listens to another client after each transaction,
 * and then drops the notifications. So hbfollow notifies itself first, on a channel of its own: a
 * pool passes this on, but the process of the server that has sent it is not the one of which the
 * pool has told. By a pool, a question is a notification that a second connection sends. The first
 * asks nothing meanwhile, as a pool would give it the session for the time of the answer: if it is
 * told, then by a session that it keeps. Notifications come in the order of their commits, so the
 * answer comes behind the changes as well.
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

/* Seconds after which a pool of connections has not passed the first question on. */
#define POOL_SECONDS	3

/**
 * struct session - a connection
 * @postgresql:	the engine
 * @connection:	the connection; NULL: there is none
 * @readable:	the event that bytes have come
 * @writable:	the event that bytes can be sent, which waits for that only if some are left
 * @is_busy:	a command is not done
 */
struct session {
	struct postgresql *postgresql;
	PGconn *connection;
	struct event *readable;
	struct event *writable;
	bool is_busy;
};

/**
 * struct postgresql - the engine
 * @setup:	base of events, options, owner
 * @connecting:	libpq connects; NULL: it does not
 * @listener:	the session that is told changes
 * @notifier:	by a pool of connections: the session that asks questions
 * @too_late:	the event that a pool of connections has not passed the first of these on
 * @own:	the channel on which hbfollow notifies itself
 * @own_pid:	the process of the server that has sent the first notification on it; 0: none came
 * @question:	the number of the last question by a pool of connections; 0: there is no pool
 * @is_answered: it has come
 * @asked:	when an unanswered question was asked; 0: there is none
 * @proof:	when the last answered question was asked; 0: none was
 * @delay:	as for engine_ops
 * @is_following: the owner was told so
 * @is_lost:	the owner was told so
 */
struct postgresql {
	struct engine_setup setup;
	struct background *connecting;
	struct session listener;
	struct session notifier;
	struct event *too_late;
	char own[CHANNEL_SIZE];
	int own_pid;
	unsigned long long question;
	bool is_answered;
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
static void flush(struct session *session)
{
	int left = PQflush(session->connection);

	if (left < 0)
		fail(session->postgresql, "%s", PQerrorMessage(session->connection));
	else if (left && event_add(session->writable, NULL))
		fail(session->postgresql, "there is no memory for an event");
}

/* Sends commands, which ask a question. */
static void send_commands(struct session *session, const char *commands)
{
	session->postgresql->asked = clock_us();
	session->is_busy = true;
	if (PQsendQuery(session->connection, commands))
		flush(session);
	else
		fail(session->postgresql, "%s", PQerrorMessage(session->connection));
}

static void ask(struct postgresql *postgresql)
{
	char command[CHANNEL_SIZE + 64];

	if (!postgresql->listener.connection || postgresql->asked || postgresql->is_lost)
		return;
	if (!postgresql->question) {
		send_commands(&postgresql->listener, "");
	} else if (postgresql->notifier.connection && !postgresql->notifier.is_busy) {
		snprintf(command, sizeof(command), "NOTIFY %s, '%llu'", postgresql->own,
			 ++postgresql->question);
		send_commands(&postgresql->notifier, command);
	}
}

/* Listens on all channels, and notifies the own one. All is one transaction. */
static void listen_to_all(struct postgresql *postgresql)
{
	const struct options *options = postgresql->setup.options;
	/* A name has at most 63 bytes, each of which may be doubled. */
	size_t size = (options->channel_count + 2) * (2 * 64 + sizeof("LISTEN \"\"; ")), len = 0, i;
	PGconn *connection = postgresql->listener.connection;
	char *commands = malloc(size), *name;

	for (i = 0; commands && i < options->channel_count; i++) {
		name = PQescapeIdentifier(connection, options->channels[i],
					  strlen(options->channels[i]));
		if (!name) {
			fail(postgresql, "%s", PQerrorMessage(connection));
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
		send_commands(&postgresql->listener, commands);
	free(commands);
}

static void connect_session(struct postgresql *postgresql);

/* The session that listens is that of a pool of connections. */
static void begin_pool(struct postgresql *postgresql)
{
	struct timeval time = { .tv_sec = POOL_SECONDS };

	log_line(LOG_CONNECTIONS, "connects by a pool of connections");
	postgresql->question = 1;
	if (event_add(postgresql->too_late, &time))
		fail(postgresql, "there is no memory for an event");
	else
		connect_session(postgresql);
}

/* The question is answered, and what came before is told. */
static void note_answer(struct postgresql *postgresql)
{
	bool is_first = !postgresql->proof;

	postgresql->proof = postgresql->asked;
	postgresql->asked = 0;
	postgresql->is_answered = false;
	postgresql->delay = clock_us() - postgresql->proof;
	if (postgresql->is_following)
		return;
	if (is_first && postgresql->own_pid &&
	    postgresql->own_pid != PQbackendPID(postgresql->listener.connection)) {
		begin_pool(postgresql);
	} else if (is_first) {
		ask(postgresql);
	} else if (postgresql->own_pid) {
		event_del(postgresql->too_late);
		postgresql->is_following = true;
		postgresql->setup.calls->following(postgresql->setup.owner);
	} else {
		fail(postgresql,
		     "no notification comes: connect to the server, not to a pool of connections");
	}
}

/* A pool of connections has not passed the first question on. */
static void on_too_late(evutil_socket_t fd, short what, void *arg)
{
	struct postgresql *postgresql = arg;

	(void)fd;
	(void)what;
	if (postgresql->notifier.is_busy || !postgresql->notifier.connection)
		fail(postgresql,
		     "the pool of connections gives no second session: hbfollow needs two, or connect to the server");
	else
		fail(postgresql,
		     "this is a pool of connections that is not in session mode, which tells no changes: connect to the server, or set pool_mode=session");
}

/* Takes results. Return: whether the commands are done. */
static bool take_results(struct session *session)
{
	PGresult *result;
	ExecStatusType status;

	while (session->is_busy && !PQisBusy(session->connection)) {
		result = PQgetResult(session->connection);
		if (!result) {
			session->is_busy = false;
			return true;
		}
		status = PQresultStatus(result);
		if (status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY)
			fail(session->postgresql, "the server refuses: %s",
			     PQresultErrorMessage(result));
		PQclear(result);
		if (session->postgresql->is_lost)
			return false;
	}
	return false;
}

/* A notification on the own channel. */
static void note_own(struct postgresql *postgresql, const PGnotify *notification)
{
	char question[32];

	if (!postgresql->own_pid)
		postgresql->own_pid = notification->be_pid;
	snprintf(question, sizeof(question), "%llu", postgresql->question);
	if (postgresql->question && postgresql->asked && !strcmp(notification->extra, question))
		postgresql->is_answered = true;
}

static void tell(struct postgresql *postgresql, const PGnotify *notification)
{
	const struct engine_calls *calls = postgresql->setup.calls;
	const char *payload = notification->extra;

	if (!strcmp(notification->relname, postgresql->own))
		note_own(postgresql, notification);
	else if (!*payload || !strcmp(payload, "*"))
		calls->cleared(postgresql->setup.owner);
	else
		calls->removed(postgresql->setup.owner, payload, strlen(payload));
}

/* A pool of connections may send what the listener should get to the notifier, which drops it. */
static void take_notifications(struct session *session)
{
	struct postgresql *postgresql = session->postgresql;
	PGnotify *notification;

	while ((notification = PQnotifies(session->connection))) {
		if (session == &postgresql->listener)
			tell(postgresql, notification);
		PQfreemem(notification);
	}
	postgresql->setup.calls->told(postgresql->setup.owner);
	/* libpq 18 closes the connection if it has no memory for what came. No event tells that. */
	if (!postgresql->is_lost && PQstatus(session->connection) != CONNECTION_OK)
		fail(postgresql, "%s", PQerrorMessage(session->connection));
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
	struct session *session = arg;
	struct postgresql *postgresql = session->postgresql;
	bool is_done;

	(void)fd;
	(void)what;
	if (postgresql->is_lost)
		return;
	if (!has_reserve()) {
		fail(postgresql, "there is no memory for notifications");
		return;
	}
	if (!PQconsumeInput(session->connection)) {
		fail(postgresql, "%s", PQerrorMessage(session->connection));
		return;
	}
	is_done = take_results(session);
	if (postgresql->is_lost)
		return;
	/* Those that came before the end of the commands have been parsed by now. */
	take_notifications(session);
	if (!postgresql->question)
		postgresql->is_answered = is_done;
	if (postgresql->is_answered && !postgresql->is_lost)
		note_answer(postgresql);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct session *session = arg;

	(void)fd;
	(void)what;
	if (!session->postgresql->is_lost)
		flush(session);
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

/* Takes a connection. Return: false after a failure. */
static bool take_connection(struct session *session, PGconn *connection)
{
	struct event_base *base = session->postgresql->setup.base;

	session->connection = connection;
	PQsetNoticeProcessor(connection, log_notice, NULL);
	session->readable = event_new(base, PQsocket(connection), EV_READ | EV_PERSIST,
				      on_readable, session);
	session->writable = event_new(base, PQsocket(connection), EV_WRITE, on_writable, session);
	if (session->readable && session->writable && !event_add(session->readable, NULL) &&
	    !PQsetnonblocking(connection, 1))
		return true;
	fail(session->postgresql, "there is no memory for the connection");
	return false;
}

static void on_connected(void *owner, void *data)
{
	struct postgresql *postgresql = owner;
	struct attempt *attempt = data;
	PGconn *connection = attempt->connection;

	postgresql->connecting = NULL;
	if (!connection || PQstatus(connection) != CONNECTION_OK) {
		fail(postgresql, "%s", PQerrorMessage(connection));
		return;
	}
	attempt->connection = NULL;
	if (postgresql->listener.connection) {
		if (take_connection(&postgresql->notifier, connection))
			ask(postgresql);
		return;
	}
	snprintf(postgresql->own, sizeof(postgresql->own), "hbfollow_%u",
		 (unsigned int)PQbackendPID(connection));
	if (take_connection(&postgresql->listener, connection))
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

/* Prepares an attempt. Return: false after a failure. */
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

/* Begins to connect. */
static void connect_session(struct postgresql *postgresql)
{
	struct attempt *attempt = calloc(1, sizeof(*attempt));

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

static void start(struct engine *engine)
{
	struct postgresql *postgresql = postgresql_of(engine);

	postgresql->is_lost = false;
	postgresql->is_following = false;
	postgresql->own_pid = 0;
	postgresql->question = 0;
	postgresql->is_answered = false;
	postgresql->asked = 0;
	postgresql->proof = 0;
	connect_session(postgresql);
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

/* A standby server refuses LISTEN. */
static bool is_replica(const struct engine *engine)
{
	(void)engine;
	return false;
}

static void free_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static void end_session(struct session *session)
{
	free_event(&session->readable);
	free_event(&session->writable);
	PQfinish(session->connection);
	session->connection = NULL;
	session->is_busy = false;
}

static void stop(struct engine *engine)
{
	struct postgresql *postgresql = postgresql_of(engine);

	postgresql->is_lost = true;
	background_abandon(postgresql->connecting);
	postgresql->connecting = NULL;
	event_del(postgresql->too_late);
	end_session(&postgresql->listener);
	end_session(&postgresql->notifier);
}

static void close_postgresql(struct engine *engine)
{
	struct postgresql *postgresql = postgresql_of(engine);

	stop(engine);
	free_event(&postgresql->too_late);
	free(postgresql);
}

static struct engine *open_postgresql(const struct engine_setup *setup)
{
	struct postgresql *postgresql = calloc(1, sizeof(*postgresql));

	if (postgresql)
		postgresql->too_late = evtimer_new(setup->base, on_too_late, postgresql);
	if (!postgresql || !postgresql->too_late) {
		fputs("hbfollow: out of memory\n", stderr);
		free(postgresql);
		return NULL;
	}
	postgresql->setup = *setup;
	postgresql->listener.postgresql = postgresql;
	postgresql->notifier.postgresql = postgresql;
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
	.is_replica = is_replica,
	.stop = stop,
	.close = close_postgresql,
};
