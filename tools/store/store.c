// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks of many machines: in a table of PostgreSQL, by its clock.
 *
 * A lock that is held is a row. A row whose lease is over counts as none: the next grant
 * replaces it. Each operation is one statement, so it takes effect as a whole or not at
 * all, whenever this process or the server dies.
 *
 * No wait is without a bound: connections and statements are watched with poll(2), and given
 * up at the answer timeout of the place. A waiter for a lock is told by NOTIFY when the lock is
 * given back. It also looks when the lease of the holder ends, and each second in case that a
 * notification is lost.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "duration.h"
#include "encoding.h"
#include "lock.h"

/* The sequence of tokens is called like the table, with this behind it. */
#define SEQUENCE_SUFFIX	"_token"

/* Names of PostgreSQL have that many bytes at most; longer ones would be cut. */
#define IDENTIFIER_MAX	63

/* How often a lock is looked at while one waits for it, milliseconds. */
#define LOOK_MS		1000

/* How often we try again when the server has broken a tie between transactions. */
#define RETRIES		16

/*
 * When we are asked to end, a statement has that long to do so, milliseconds: if it has
 * got a lock, that can be given back.
 */
#define GIVE_UP_MS	1000

/**
 * struct store - a table of locks
 * @place:	the commands' view of it
 * @spec:	how it is reached, the table, and the type
 * @connection:	NULL while there is none
 * @host:	the server that we were connected to, so that it is found again without a
 *		question to anybody else; NULL if there was none, or if there is a choice
 * @address:	its address, "" if it is no host
 * @port:	its port
 * @table:	the table's name as an identifier, quoted
 * @sequence:	the name of the sequence of tokens as an identifier, quoted
 * @deadline:	when the answer that is waited for must be there, as clock_ms()
 * @statement_ms: the server ends a statement of this connection after so many milliseconds
 * @fresh:	nothing was asked since we connected: @deadline holds on
 * @listening:	this connection is told of locks that are given back
 * @interrupted: the place's signals ask us to end
 * @status:	the exit status for the last error
 * @text:	the last error
 */
struct store {
	struct lock_place place;
	struct store_spec spec;
	PGconn *connection;
	char *host;
	char *address;
	char *port;
	char *table;
	char *sequence;
	__u64 deadline;
	__u64 statement_ms;
	bool fresh;
	bool listening;
	bool interrupted;
	enum status status;
	char text[1024];
};

/* The columns that all statements return of a row. */
#define MS(time)	"greatest(round(extract(epoch FROM " time ") * 1000), 0)::bigint"
#define MS_LEFT		MS("lease - clock_timestamp()")
#define MS_HELD		MS("clock_timestamp() - obtained")

/*
 * The sequence of tokens on a replica may lag behind the grants of the server that it replaces.
 * So a token has the server's timeline, which promotion raises, in bits 40 to 47, counted from 0.
 * Where the last token has another timeline, the sequence is set to the next larger number with
 * this one. A restored copy that counts timelines anew continues above its tokens as well.
 */
#define LAST_TOKEN	"coalesce(pg_sequence_last_value($5::regclass), 0)"
#define TIMELINE \
	"((('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint - 1) & 255)"
#define TIMELINE_OF(token)	"((" token " >> 40) & 255)"

/*
 * The guard makes grants of one lock wait for each other, from before the token is
 * taken until the row can be seen: tokens grow in the order of the grants. The time is
 * taken behind it. Grants that raise the sequence wait for each other as well, and look again.
 * The row of another owner whose lease is not over is left alone; with $6, a lock that is to be
 * fresh, that of the same owner as well. Then there is no result.
 */
static const char lock_sql[] =
	"WITH guard AS MATERIALIZED (\n"
	"SELECT pg_advisory_xact_lock(\n"
	"hashtextextended($1::text || '/' || $2::text, 0))),\n"
	"raised AS MATERIALIZED (\n"
	"SELECT setval($5::regclass, (((last >> 48)\n"
	"+ (line < " TIMELINE_OF("last") ")::int) << 48) + (line << 40)) AS token\n"
	"FROM (SELECT " LAST_TOKEN " AS last, " TIMELINE " AS line\n"
	"FROM (SELECT pg_advisory_xact_lock($5::regclass::bigint) FROM guard\n"
	"WHERE " TIMELINE_OF(LAST_TOKEN) " <> " TIMELINE " OFFSET 0) AS alone OFFSET 0) AS found\n"
	"WHERE " TIMELINE_OF("last") " <> line)\n"
	"INSERT INTO %1$s AS held\n"
	"(object_type, object_key, owner, obtained, lease, token)\n"
	"SELECT $1, $2, $3, at, at + $4::float8 * interval '1 millisecond',\n"
	"greatest(nextval($5::regclass), floor)\n"
	"FROM (SELECT (SELECT max(token) FROM raised) AS floor, clock_timestamp() AS at\n"
	"FROM guard OFFSET 0) AS now\n"
	"ON CONFLICT (object_type, object_key) DO UPDATE SET owner = excluded.owner,\n"
	"obtained = CASE WHEN held.lease > excluded.obtained\n"
	"THEN held.obtained ELSE excluded.obtained END,\n"
	"lease = CASE WHEN held.lease > excluded.obtained\n"
	"THEN greatest(held.lease, excluded.lease) ELSE excluded.lease END,\n"
	"token = CASE WHEN held.lease > excluded.obtained\n"
	"THEN held.token ELSE excluded.token END\n"
	"WHERE (held.owner = excluded.owner AND NOT $6::boolean)\n"
	"OR held.lease <= excluded.obtained\n"
	"RETURNING owner, " MS_LEFT ", " MS_HELD ", token";

static const char unlock_sql[] =
	"WITH gone AS (DELETE FROM %1$s\n"
	"WHERE object_type = $1 AND object_key = $2 AND owner = $3\n"
	"RETURNING lease > clock_timestamp() AS held)\n"
	"SELECT held, pg_notify($4, $1::text || '/' || $2::text) FROM gone";

/* $5: do not shorten the lease. */
static const char renew_sql[] =
	"UPDATE %1$s\n"
	"SET lease = greatest(clock_timestamp() + $4::float8 * interval '1 millisecond',\n"
	"CASE WHEN $5::boolean THEN lease END)\n"
	"WHERE object_type = $1 AND object_key = $2 AND owner = $3\n"
	"AND lease > clock_timestamp()\n"
	"RETURNING owner, " MS_LEFT ", " MS_HELD ", token";

static const char holder_sql[] =
	"SELECT owner, " MS_LEFT ", " MS_HELD ", token FROM %1$s\n"
	"WHERE object_type = $1 AND object_key = $2 AND lease > clock_timestamp()";

static const char list_sql[] =
	"SELECT owner, " MS_LEFT ", " MS_HELD ", token, object_key FROM %1$s\n"
	"WHERE object_type = $1 AND ($2::text IS NULL OR owner = $2)\n"
	"AND lease > clock_timestamp() ORDER BY token";

static const char release_sql[] =
	"WITH gone AS (DELETE FROM %1$s WHERE object_type = $1 AND owner = $2\n"
	"RETURNING object_key, lease > clock_timestamp() AS held)\n"
	"SELECT held, pg_notify($3, $1::text || '/' || object_key) FROM gone";

static const char release_aged_sql[] =
	"WITH gone AS (DELETE FROM %1$s\n"
	"WHERE object_type = $1 AND lease <= clock_timestamp()\n"
	"RETURNING object_key)\n"
	"SELECT true, pg_notify($2, $1::text || '/' || object_key) FROM gone";

/* One transaction, and two that do it at once wait for each other. */
static const char create_sql[] =
	"SELECT pg_advisory_xact_lock(hashtextextended(%3$s, 0));\n"
	"CREATE TABLE IF NOT EXISTS %1$s (\n"
	"object_type text COLLATE \"C\" NOT NULL,\n"
	"object_key text COLLATE \"C\" NOT NULL,\n"
	"owner text COLLATE \"C\" NOT NULL,\n"
	"obtained timestamp with time zone NOT NULL,\n"
	"lease timestamp with time zone NOT NULL,\n"
	"token bigint NOT NULL,\n"
	"PRIMARY KEY (object_type, object_key));\n"
	"CREATE SEQUENCE IF NOT EXISTS %2$s AS bigint OWNED BY %1$s.token;\n"
	"CREATE INDEX IF NOT EXISTS %4$s ON %1$s (owner, object_type)";

static const char session_sql[] =
	"SET statement_timeout = %llu;\n"
	"SET default_transaction_isolation = 'read committed'";

static struct store *to_store(struct lock_place *place)
{
	return (struct store *)place;
}

static void *checked(void *memory)
{
	if (!memory)
		exit(fail(STATUS_ERROR, "out of memory"));
	return memory;
}

/* Notes the error: the first line of @text. Return: -EIO. */
static int note(struct store *store, enum status status, const char *text)
{
	store->status = status;
	snprintf(store->text, sizeof(store->text), "%.*s", (int)strcspn(text, "\n"),
		 text);
	return -EIO;
}

/* Closes the connection and drops its notifications. */
static void drop(struct store *store)
{
	PQfinish(store->connection);
	store->connection = NULL;
	store->listening = false;
}

/* The answer did not come. */
static int give_up(struct store *store, const char *what)
{
	char text[200], limit[DURATION_SIZE];

	drop(store);
	if (store->interrupted)
		return -EINTR;
	snprintf(text, sizeof(text), "%s within %s", what,
		 duration_format(limit, store->place.answer_timeout_ms));
	return note(store, STATUS_REACH, text);
}

/*
 * Waits until the connection can be read (POLLIN) or written (POLLOUT), or until @until.
 * Signals are attended to: one that asks us to end leaves @grace milliseconds. Return: 0,
 * or -ETIMEDOUT.
 */
static int await(struct store *store, short events, __u64 until, __u64 grace)
{
	struct signals *signals = store->place.signals;
	struct pollfd fds[] = {
		{ .fd = PQsocket(store->connection), .events = events },
		{ .fd = signals ? signals->fd : -1, .events = POLLIN },
	};
	__u64 now;

	for (;;) {
		now = clock_ms();
		if (now >= until)
			return -ETIMEDOUT;
		poll(fds, ARRAY_SIZE(fds), until - now < 60000 ? until - now : 60000);
		if (fds[1].revents && signals_attend(signals))
			store->interrupted = true;
		if (store->interrupted && until > now + grace)
			until = now + grace;
		if (fds[0].revents)
			return 0;
	}
}

/* The only thing that cannot be watched: the C library looks for a host's address. */
static void name_timed_out(int number)
{
	static const char text[] =
		"hbctl: the store: the name of its host was not resolved in time\n";

	(void)number;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(STATUS_ERROR);
	_exit(STATUS_REACH);
}

/* Begins to connect. The name of the server is resolved only once. */
static PGconn *start(struct store *store)
{
	const char * const names[] = {
		"dbname", "client_encoding", "fallback_application_name",
		store->host ? "host" : NULL, "port",
		store->host && *store->address ? "hostaddr" : NULL, NULL
	};
	const char * const values[] = {
		store->spec.conninfo, "UTF8", "hbctl",
		store->host, store->port,
		store->address, NULL
	};
	const struct itimerval limit = {
		.it_value = { .tv_sec = store->place.answer_timeout_ms / 1000,
			      .tv_usec = store->place.answer_timeout_ms % 1000 * 1000 },
	};
	const struct itimerval none = { 0 };
	PGconn *connection;

	if (!store->host) {
		signal(SIGALRM, name_timed_out);
		setitimer(ITIMER_REAL, &limit, NULL);
	}
	connection = PQconnectStartParams(names, values, 1);
	if (!store->host) {
		setitimer(ITIMER_REAL, &none, NULL);
		signal(SIGALRM, SIG_DFL);
	}
	return checked(connection);
}

/* The notice that a table exists already is not shown. */
static void silent(void *data, const char *message)
{
	(void)data;
	(void)message;
}

/* Waits until the connection stands. */
static int finish_connect(struct store *store)
{
	PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;

	while (PQstatus(store->connection) != CONNECTION_BAD) {
		if (await(store, wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT,
			  store->deadline, 0))
			return give_up(store, "the server did not take the connection");
		wanted = PQconnectPoll(store->connection);
		if (wanted == PGRES_POLLING_OK)
			return 0;
		if (wanted == PGRES_POLLING_FAILED)
			break;
	}
	note(store, STATUS_REACH, PQerrorMessage(store->connection));
	drop(store);
	return -EIO;
}

/* Notes the error of the server, as a status and a text. Return: -EAGAIN or -EIO. */
static int note_server_error(struct store *store, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	enum status status = STATUS_ERROR;
	char text[700];

	if (!state || !strncmp(state, "08", 2) || !strncmp(state, "57P", 3))
		return note(store, STATUS_REACH, PQerrorMessage(store->connection));
	if (!strncmp(state, "40", 2)) {
		note(store, STATUS_ERROR,
		     "other transactions came in between again and again");
		return -EAGAIN;
	}
	if (!strcmp(state, "57014"))
		return note(store, STATUS_REACH,
			    "the statement was given up: it took too long, or it was cancelled");
	snprintf(text, sizeof(text), "%s", primary ? primary : state);
	if (!strcmp(state, "42P01")) {
		status = STATUS_REACH;
		snprintf(text, sizeof(text),
			 "%s: 'hbctl lock --store ... --create-table' makes the table and its sequence",
			 primary);
	} else if (!strcmp(state, "42501") || !strcmp(state, "25006")) {
		status = STATUS_REACH;
	} else if (!strncmp(state, "22", 2)) {
		status = STATUS_USAGE;
	}
	return note(store, status, text);
}

/* Waits for the answer to a statement: the last result, or the first error. */
static int finish(struct store *store, PGresult **last)
{
	PGresult *result;
	int unsent;

	*last = NULL;
	for (;;) {
		while ((unsent = PQflush(store->connection)) == 1 ||
		       PQisBusy(store->connection)) {
			if (await(store, unsent ? POLLIN | POLLOUT : POLLIN,
				  store->deadline, GIVE_UP_MS)) {
				PQclear(*last);
				return give_up(store, "the server did not answer");
			}
			/* The result will report a read error. */
			if (!PQconsumeInput(store->connection))
				break;
		}
		result = PQgetResult(store->connection);
		if (!result)
			return 0;
		if (*last && PQresultStatus(*last) == PGRES_FATAL_ERROR) {
			PQclear(result);
			continue;
		}
		PQclear(*last);
		*last = result;
	}
}

/* The answer to a statement, unless it is an error. */
static int answer(struct store *store, bool sent, PGresult **result)
{
	ExecStatusType kind;
	int err;

	if (!sent) {
		note(store, STATUS_REACH, PQerrorMessage(store->connection));
		drop(store);
		return -EIO;
	}
	err = finish(store, result);
	if (err)
		return err;
	kind = PQresultStatus(*result);
	if (kind == PGRES_TUPLES_OK || kind == PGRES_COMMAND_OK)
		return 0;
	err = note_server_error(store, *result);
	PQclear(*result);
	*result = NULL;
	if (PQstatus(store->connection) == CONNECTION_BAD)
		drop(store);
	return err;
}

/* Runs statements without values. */
static int execute(struct store *store, const char *sql)
{
	PGresult *result = NULL;
	int err = answer(store, PQsendQuery(store->connection, sql), &result);

	PQclear(result);
	return err;
}

/* Whether the connection string names several servers, of which another may take over. */
static bool has_choice(const struct store *store)
{
	PQconninfoOption *options = checked(PQconninfo(store->connection)), *option;
	bool found = false;

	for (option = options; option->keyword; option++)
		if (!strncmp(option->keyword, "host", strlen("host")) && option->val &&
		    strchr(option->val, ','))
			found = true;
	PQconninfoFree(options);
	return found;
}

/* Notes where we are, to find it again. */
static void remember(struct store *store)
{
	if (store->host || !PQhost(store->connection) || has_choice(store))
		return;
	store->host = checked(strdup(PQhost(store->connection)));
	store->address = checked(strdup(PQhostaddr(store->connection) ?: ""));
	store->port = checked(strdup(PQport(store->connection) ?: ""));
}

static __u64 ms_left(const struct store *store)
{
	__u64 now = clock_ms();

	return store->deadline > now ? store->deadline - now : 0;
}

/* Connects, and sets up the session. */
static int connect_store(struct store *store)
{
	char sql[sizeof(session_sql) + 24];
	int err;

	store->deadline = clock_ms() + store->place.answer_timeout_ms;
	store->connection = start(store);
	PQsetNoticeProcessor(store->connection, silent, NULL);
	err = finish_connect(store);
	if (err)
		return err;
	PQsetnonblocking(store->connection, 1);
	remember(store);
	store->statement_ms = ms_left(store) * 9 / 10 + 1;
	snprintf(sql, sizeof(sql), session_sql, store->statement_ms);
	err = execute(store, sql);
	/* A session that is not set up as it must be is none. */
	if (err)
		drop(store);
	store->fresh = !err;
	return err;
}

/* The text of a statement, with our names in it. */
__attribute((__format__(__printf__, 1, 0)))
static char *compose(const char *format, ...)
{
	char *sql = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&sql, format, args) < 0)
		sql = NULL;
	va_end(args);
	return checked(sql);
}

/*
 * Has the server end the next statement before we would give it up: one that was given up must not
 * take or renew a lock later on. Where an answer takes long, a smaller part of the time is left for
 * the statement.
 */
static int limit_statement(struct store *store)
{
	unsigned int tenths = 9;
	char sql[64];
	__u64 left;
	int err;

	for (;;) {
		left = ms_left(store);
		/* A twentieth is left for the answer that the server has ended it. */
		if (store->statement_ms <= left - left / 20 && store->statement_ms >= left / 2)
			return 0;
		if (!left)
			return give_up(store, "the server did not answer");
		store->statement_ms = left * tenths / 10 + 1;
		snprintf(sql, sizeof(sql), "SET statement_timeout = %llu", store->statement_ms);
		err = execute(store, sql);
		if (err)
			return err;
		tenths = 5;
	}
}

/*
 * Closes the connection if the server has closed it since the last statement. So the next one goes
 * to a new connection, and does not fail without having been run.
 */
static void drop_if_closed(struct store *store)
{
	struct pollfd ready = { .fd = PQsocket(store->connection), .events = POLLIN };

	while (poll(&ready, 1, 0) > 0) {
		if (PQconsumeInput(store->connection))
			continue;
		drop(store);
		return;
	}
}

/*
 * Runs a statement with values, connected or not. The first one after we connected
 * shares the time that this was given.
 */
static int query(struct store *store, const char *format, int count,
		 const char *const *values, PGresult **result)
{
	int err = 0, tries = 0;
	char *sql;

	*result = NULL;
	if (store->connection)
		drop_if_closed(store);
	if (!store->connection)
		err = connect_store(store);
	if (err)
		return err;
	sql = compose(format, store->table);
	do {
		if (!store->fresh)
			store->deadline = clock_ms() + store->place.answer_timeout_ms;
		store->fresh = false;
		err = limit_statement(store);
		if (err)
			break;
		err = answer(store, PQsendQueryParams(store->connection, sql, count, NULL,
						      values, NULL, NULL, 0), result);
	} while (err == -EAGAIN && ++tries < RETRIES);
	free(sql);
	return err;
}

/* A field of a result that is a number. */
static __u64 number(const PGresult *result, int row, int column)
{
	return strtoull(PQgetvalue(result, row, column), NULL, 10);
}

/* A row that begins with owner, time left, time held, token. */
static void fill_held(struct lock_held *held, const PGresult *result, int row)
{
	size_t len = PQgetlength(result, row, 0);

	held->owner_len = len < sizeof(held->owner) ? len : sizeof(held->owner);
	memcpy(held->owner, PQgetvalue(result, row, 0), held->owner_len);
	held->ttl_ms = number(result, row, 1);
	held->held_ms = number(result, row, 2);
	held->token = number(result, row, 3);
	held->bound = false;
}

/**
 * struct words - the values of a statement as text
 * @name:	the lock's name
 * @owner:	its owner
 * @ttl:	the lease, milliseconds
 */
struct words {
	char name[HASHBELT_KEY_MAX + 1];
	char owner[HASHBELT_OWNER_MAX + 1];
	char ttl[24];
};

/* Whether the bytes can stand in the table. */
static int take_text(struct store *store, char *text, const struct key *key,
		     const char *what)
{
	char wrong[100];

	if (is_utf8(key->bytes, key->len) && !memchr(key->bytes, 0, key->len)) {
		memcpy(text, key->bytes, key->len);
		text[key->len] = '\0';
		return 0;
	}
	snprintf(wrong, sizeof(wrong),
		 "%s that is in a store must be UTF-8 and without \\x00", what);
	return note(store, STATUS_USAGE, wrong);
}

static int take_words(struct store *store, const struct lock_ask *ask,
		      struct words *words)
{
	int err = take_text(store, words->name, &ask->name, "the name of a lock");

	if (!err)
		err = take_text(store, words->owner, &ask->owner, "an owner");
	snprintf(words->ttl, sizeof(words->ttl), "%llu",
		 ask->ttl_ms ? ask->ttl_ms : LOCK_LEASE_MS);
	return err;
}

static int store_holder(struct lock_place *place, const struct key *name,
			struct lock_held *held)
{
	struct store *store = to_store(place);
	char text[HASHBELT_KEY_MAX + 1];
	const char * const values[] = { store->spec.type, text };
	PGresult *result;
	int err;

	err = take_text(store, text, name, "the name of a lock");
	if (!err)
		err = query(store, holder_sql, ARRAY_SIZE(values), values, &result);
	if (err)
		return err;
	if (PQntuples(result))
		fill_held(held, result, 0);
	else
		err = -ENOENT;
	PQclear(result);
	return err;
}

/* There was no row of ours: -ENOENT or -EACCES. */
static int not_ours(struct lock_place *place, const struct lock_ask *ask)
{
	struct lock_held held;
	int err = store_holder(place, &ask->name, &held);

	return err ? err : -EACCES;
}

static int store_unlock(struct lock_place *place, const struct lock_ask *ask)
{
	struct store *store = to_store(place);
	struct words words;
	const char * const values[] = {
		store->spec.type, words.name, words.owner, store->spec.table
	};
	PGresult *result;
	int err;

	err = take_words(store, ask, &words);
	if (!err)
		err = query(store, unlock_sql, ARRAY_SIZE(values), values, &result);
	if (err)
		return err;
	if (!PQntuples(result))
		err = not_ours(place, ask);
	else if (*PQgetvalue(result, 0, 0) != 't')
		err = -ENOENT;
	PQclear(result);
	return err;
}

/* Tries to take the lock. */
static int attempt(struct store *store, const struct lock_ask *ask,
		   struct lock_held *held)
{
	struct words words;
	const char * const values[] = {
		store->spec.type, words.name, words.owner, words.ttl, store->sequence,
		ask->fresh ? "t" : "f"
	};
	PGresult *result;
	int err;

	err = take_words(store, ask, &words);
	if (!err)
		err = query(store, lock_sql, ARRAY_SIZE(values), values, &result);
	if (err)
		return err;
	if (PQntuples(result))
		fill_held(held, result, 0);
	else
		err = -EBUSY;
	PQclear(result);
	if (!err && store->interrupted)
		store_unlock(&store->place, ask);
	return store->interrupted ? -EINTR : err;
}

/* Tries to take the lock. If it is held, returns -EBUSY or -EALREADY, and @held. */
static int attempt_or_tell(struct store *store, const struct lock_ask *ask,
			   struct lock_held *held)
{
	int err = attempt(store, ask, held);

	if (err != -EBUSY)
		return err;
	*held = (struct lock_held){ 0 };
	err = store_holder(&store->place, &ask->name, held);
	if (err && err != -ENOENT)
		return err;
	return ask->fresh && lock_is_own(ask, held) ? -EALREADY : -EBUSY;
}

/* Has the server tell us when a lock is given back. */
static int listen_store(struct store *store)
{
	char *name, *sql;
	int err;

	if (store->listening)
		return 0;
	name = checked(PQescapeIdentifier(store->connection, store->spec.table,
					  strlen(store->spec.table)));
	sql = compose("LISTEN %s", name);
	store->deadline = clock_ms() + store->place.answer_timeout_ms;
	err = execute(store, sql);
	PQfreemem(name);
	free(sql);
	store->listening = !err;
	return err == -EAGAIN ? 0 : err;
}

/* Whether one that was given back is called that; reads all that were. */
static bool was_told(struct store *store, const char *name)
{
	PGnotify *notify;
	bool told = false;
	size_t len;

	while ((notify = PQnotifies(store->connection))) {
		len = strlen(store->spec.type);
		if (!strncmp(notify->extra, store->spec.type, len) &&
		    notify->extra[len] == '/' && !strcmp(notify->extra + len + 1, name))
			told = true;
		PQfreemem(notify);
	}
	return told;
}

/* Waits until the lock was given back, or until @until. */
static int pause_until(struct store *store, const char *name, __u64 until)
{
	int err;

	while (!was_told(store, name)) {
		err = await(store, POLLIN, until, 0);
		if (store->interrupted)
			return -EINTR;
		if (err)
			return 0;
		if (!PQconsumeInput(store->connection)) {
			note(store, STATUS_REACH, PQerrorMessage(store->connection));
			drop(store);
			return -EIO;
		}
	}
	return 0;
}

/* Until when to wait: for the end of the holder's lease at most, and not all at once. */
static __u64 next_look(const struct lock_held *held, __u64 end)
{
	__u64 now = clock_ms(), until = now + LOOK_MS - random() % (LOOK_MS / 4);

	if (held->ttl_ms < LOOK_MS && now + held->ttl_ms + 1 < until)
		until = now + held->ttl_ms + 1 + random() % 10;
	return until < end ? until : end;
}

/* Waits for the lock until @end. */
static int wait_for(struct store *store, const struct lock_ask *ask, __u64 end,
		    struct lock_held *held)
{
	struct words words;
	int err = take_words(store, ask, &words);
	__u64 now;

	srandom(getpid() ^ clock_ms());
	while (!err) {
		now = clock_ms();
		store->place.answer_timeout_ms = answer_timeout(now < end ? end - now : 0);
		err = listen_store(store);
		if (!err)
			err = attempt_or_tell(store, ask, held);
		if (err != -EBUSY)
			return err;
		if (clock_ms() >= end)
			return -ETIMEDOUT;
		err = pause_until(store, words.name, next_look(held, end));
	}
	return err;
}

static int store_lock(struct lock_place *place, const struct lock_ask *ask,
		      struct lock_held *held)
{
	struct store *store = to_store(place);
	__u64 end = clock_ms() + ask->wait_ms;
	int err = attempt_or_tell(store, ask, held);

	if (err != -EBUSY || !ask->wait_ms)
		return err;
	if (ask->wait_ms == HASHBELT_TTL_NEVER)
		end = ~0ULL;
	return wait_for(store, ask, end, held);
}

static int store_renew(struct lock_place *place, const struct lock_ask *ask,
		       struct lock_held *held)
{
	struct store *store = to_store(place);
	struct words words;
	const char * const values[] = {
		store->spec.type, words.name, words.owner, words.ttl, ask->ttl_ms ? "f" : "t"
	};
	PGresult *result;
	int err;

	err = take_words(store, ask, &words);
	if (!err)
		err = query(store, renew_sql, ARRAY_SIZE(values), values, &result);
	if (err)
		return err;
	if (PQntuples(result))
		fill_held(held, result, 0);
	else
		err = not_ours(place, ask);
	PQclear(result);
	return err;
}

static int store_list(struct lock_place *place, const struct key *owner,
		      void (*each)(const struct lock_held *held, void *data), void *data)
{
	struct store *store = to_store(place);
	char text[HASHBELT_OWNER_MAX + 1];
	const char * const values[] = { store->spec.type, owner ? text : NULL };
	struct lock_held held;
	PGresult *result;
	int err = 0, row;

	if (owner)
		err = take_text(store, text, owner, "an owner");
	if (!err)
		err = query(store, list_sql, ARRAY_SIZE(values), values, &result);
	if (err)
		return err;
	for (row = 0; row < PQntuples(result); row++) {
		fill_held(&held, result, row);
		held.name.bytes = PQgetvalue(result, row, 4);
		held.name.len = PQgetlength(result, row, 4);
		each(&held, data);
	}
	PQclear(result);
	return 0;
}

static int store_release(struct lock_place *place, const struct key *owner, __u64 *count)
{
	struct store *store = to_store(place);
	char text[HASHBELT_OWNER_MAX + 1];
	const char * const values[] = { store->spec.type, text, store->spec.table };
	const char * const aged[] = { store->spec.type, store->spec.table };
	PGresult *result;
	int err = 0, row;

	if (owner)
		err = take_text(store, text, owner, "an owner");
	if (!err && owner)
		err = query(store, release_sql, ARRAY_SIZE(values), values, &result);
	else if (!err)
		err = query(store, release_aged_sql, ARRAY_SIZE(aged), aged, &result);
	if (err)
		return err;
	for (*count = 0, row = 0; row < PQntuples(result); row++)
		*count += *PQgetvalue(result, row, 0) == 't';
	PQclear(result);
	return 0;
}

static enum status store_fail(struct lock_place *place, int err)
{
	struct store *store = to_store(place);

	if (err == -EINTR)
		return fail(STATUS_ERROR, "interrupted while waiting for the store");
	return fail(store->status, "the store: %s", store->text);
}

static const char *store_reason(struct lock_place *place, int err)
{
	(void)err;
	return to_store(place)->text;
}

static void store_close(struct lock_place *place)
{
	struct store *store = to_store(place);

	drop(store);
	free(store->host);
	free(store->address);
	free(store->port);
	PQfreemem(store->table);
	PQfreemem(store->sequence);
	free(store);
}

/* A name with something behind it, as an identifier; to be freed with PQfreemem(). */
static char *identifier(struct store *store, const char *suffix)
{
	char *name = compose("%s%s", store->spec.table, suffix);
	char *quoted = checked(PQescapeIdentifier(store->connection, name, strlen(name)));

	free(name);
	return quoted;
}

/* Makes the table, its index and its sequence, unless they are present. */
static enum status store_create(struct lock_place *place)
{
	struct store *store = to_store(place);
	char *literal = checked(PQescapeLiteral(store->connection, store->spec.table,
						strlen(store->spec.table)));
	char *index = identifier(store, "_owner");
	char *sql = compose(create_sql, store->table, store->sequence, literal, index);
	int err = execute(store, sql);

	free(sql);
	PQfreemem(literal);
	PQfreemem(index);
	return err ? store_fail(place, err) : STATUS_DONE;
}

static const struct lock_ops store_ops = {
	.lock = store_lock,
	.unlock = store_unlock,
	.renew = store_renew,
	.holder = store_holder,
	.list = store_list,
	.release = store_release,
	.fail = store_fail,
	.reason = store_reason,
	.create = store_create,
	.close = store_close,
};

/* Checks a connection string without a connection. */
static enum status check_spec(const struct request *request,
			      const struct store_spec *spec)
{
	size_t table = strlen(spec->table), type = strlen(spec->type);
	PQconninfoOption *options;
	enum status status = STATUS_DONE;
	char *wrong = NULL;

	if (!table || table > IDENTIFIER_MAX - strlen(SEQUENCE_SUFFIX) ||
	    !is_utf8(spec->table, table))
		return fail_usage(request,
				  "--table: a name has 1 to %zu bytes, and is UTF-8",
				  IDENTIFIER_MAX - strlen(SEQUENCE_SUFFIX));
	if (!type || type > HASHBELT_OWNER_MAX || !is_utf8(spec->type, type))
		return fail_usage(request,
				  "--type: a type has 1 to %d bytes, and is UTF-8",
				  HASHBELT_OWNER_MAX);
	/* Anything else is the name of a database. */
	if (!strchr(spec->conninfo, '=') && !strstr(spec->conninfo, "://"))
		return STATUS_DONE;
	options = PQconninfoParse(spec->conninfo, &wrong);
	if (!options)
		status = fail_usage(request, "--store: %.*s",
				    (int)strcspn(wrong ? wrong : "out of memory", "\n"),
				    wrong ? wrong : "out of memory");
	PQconninfoFree(options);
	PQfreemem(wrong);
	return status;
}

/**
 * lock_store_open() - use the locks of a table
 * @request:	the request
 * @spec:	the table; its strings must stay valid
 * @place:	returned, if all went well; connected
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status lock_store_open(struct request *request, const struct store_spec *spec,
			    struct lock_place **place)
{
	enum status status = check_spec(request, spec);
	struct store *store;
	int err;

	if (status)
		return status;
	store = checked(calloc(1, sizeof(*store)));
	store->spec = *spec;
	store->place = (struct lock_place){
		.ops = &store_ops, .request = request, .answer_timeout_ms = spec->answer_timeout_ms,
	};
	err = connect_store(store);
	if (err) {
		status = store_fail(&store->place, err);
		store_close(&store->place);
		return status;
	}
	store->table = identifier(store, "");
	store->sequence = identifier(store, SEQUENCE_SUFFIX);
	*place = &store->place;
	return STATUS_DONE;
}
