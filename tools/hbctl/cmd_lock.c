// SPDX-License-Identifier: GPL-2.0-only
/* The commands on locks, wherever those are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "encoding.h"
#include "json.h"
#include "lock.h"
#include "output.h"
#include "table.h"

/* Names the store for all commands that are given none. */
#define STORE_VARIABLE	"HASHBELT_STORE"

#define DEFAULT_TABLE	"hashbelt_lock"
#define DEFAULT_TYPE	"lock"

/* A lease that is renewed must not be shorter: that would be nothing but renewing it. */
#define RUN_LEASE_MIN_MS	100ULL

/* An owner that we make up has so much of the host's name, and is unlike all others. */
#define HOST_MAX	40

/* The store to use, NULL for a belt. Options take precedence over the environment. */
static const char *store_of(const struct request *request)
{
	const char *store = request_option(request, "store");

	if (store || request_option(request, "belt") || request_option(request, "device") ||
	    request_option(request, "belt-owner"))
		return store;
	store = getenv(STORE_VARIABLE);
	return store && *store ? store : NULL;
}

/* Options of stores that have no meaning for belts, and the other way round. */
static enum status check_place(const struct request *request)
{
	static const char * const of_stores[] = { "table", "type" };
	static const char * const of_belts[] = { "belt", "device", "belt-owner" };
	bool store = store_of(request);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(of_stores); i++)
		if (!store && request_option(request, of_stores[i]))
			return fail_usage(request,
					  "--%s is for locks in a store: --store is missing",
					  of_stores[i]);
	for (i = 0; i < ARRAY_SIZE(of_belts); i++)
		if (store && request_option(request, of_belts[i]))
			return fail_usage(request, "--%s and --store exclude each other",
					  of_belts[i]);
	return STATUS_DONE;
}

/* Reaches for the place where the locks are. */
static enum status open_place(struct request *request, bool make, __u64 wait_ms,
			      struct lock_place **place)
{
	const struct store_spec spec = {
		.conninfo = store_of(request),
		.table = request_option(request, "table") ?: DEFAULT_TABLE,
		.type = request_option(request, "type") ?: DEFAULT_TYPE,
		/* A call that does not wait for a lock waits for an answer all the same. */
		.answer_timeout_ms = answer_timeout(wait_ms ? wait_ms : HASHBELT_TTL_NEVER),
	};

	if (spec.conninfo)
		return lock_store_open(request, &spec, place);
	return lock_device_open(request, make, place);
}

/* Makes up an owner that is unique among machines. */
static void make_owner(struct key *owner)
{
	static char text[HASHBELT_OWNER_MAX + 1];
	char host[256] = "", *p;
	unsigned int luck;

	gethostname(host, sizeof(host) - 1);
	for (p = host; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			*p = '-';
	if (getrandom(&luck, sizeof(luck), 0) != sizeof(luck))
		luck = clock_ms();
	owner->len = snprintf(text, sizeof(text), "%.*s:%d:%08x", HOST_MAX, host,
			      getpid(), luck);
	owner->bytes = text;
}

/* The option --owner; without it @owner is left alone, unless @needed. */
static enum status take_owner(const struct request *request, bool needed,
			      struct key *owner)
{
	const char *text = request_option(request, "owner");

	if (!text && needed)
		return fail_usage(request, "--owner is missing");
	if (!text)
		return STATUS_DONE;
	owner->bytes = text;
	owner->len = strlen(text);
	if (!owner->len || owner->len > HASHBELT_OWNER_MAX)
		return fail_usage(request, "--owner: an owner has 1 to %d bytes, not %zu",
				  HASHBELT_OWNER_MAX, owner->len);
	return STATUS_DONE;
}

/*
 * The name, and the command. A name that begins with a dash has a "--" of its own, which
 * looks as if a command stood behind it.
 */
static enum status take_operands(struct request *request, struct key *name)
{
	char **line = request->command_line;

	if (!request->count && line) {
		request->operands[request->count++] = *line++;
		if (*line && strcmp(*line, "--"))
			return fail_usage(request, "'%s' is one operand too many", *line);
		if (*line && !line[1])
			return fail_usage(request, "a command is missing behind the --");
		request->command_line = *line ? line + 1 : NULL;
	}
	if (!request->count)
		return fail_usage(request, "an operand is missing: %s %s",
				  request->command->name, request->command->operands);
	return request_key(request, 0, name);
}

static void add_held(struct json *object, const struct lock_held *held)
{
	json_add_number(object, "token", held->token);
	json_add_ttl(object, held->ttl_ms);
	json_add_number(object, "held_ms", held->held_ms);
}

/* Name and owner of a lock, as JSON. */
static struct json lock_object(const struct key *name, const void *owner, size_t owner_len)
{
	struct json object = json_entry(name->bytes, name->len);

	json_add_bytes(&object, "owner", owner, owner_len);
	return object;
}

static void print_held(const struct lock_ask *ask, const struct lock_held *held)
{
	struct json object;

	object = lock_object(&ask->name, ask->owner.bytes, ask->owner.len);
	add_held(&object, held);
	json_end(object);
}

/* Tells the caller that it has the lock. An owner that was made up is printed. */
static int print_grant(const struct request *request, const struct lock_ask *ask,
		       const struct lock_held *held)
{
	struct sigaction action;

	output_begin(&action);
	if (request->json)
		print_held(ask, held);
	else if (request_option(request, "owner"))
		printf("%llu\n", held->token);
	else
		printf("%llu\t%s\n", held->token, ask->owner.bytes);
	return output_end(&action);
}

/* The caller cannot know that it has the lock: gives it back, unless the owner had it before. */
static enum status take_back(struct lock_place *place, const struct lock_ask *ask, bool is_new,
			     int err)
{
	char *name = key_text(&ask->name);
	const char *what = "was held before, and is still";

	if (is_new)
		what = place->ops->unlock(place, ask) ? "is held until its lease ends" :
							"is given back";
	fail_cause(err);
	fail(STATUS_ERROR, "cannot write the output: %s: lock '%s' %s", strerror(-err), name, what);
	free(name);
	return STATUS_ERROR;
}

/*
 * Takes a lock that outlives us. Signals are held back: none may end us before the owner knows that
 * it has the lock.
 */
static int take_lock(struct lock_place *place, struct lock_ask *ask)
{
	struct lock_held held;
	bool is_new;
	int err;

	err = place->ops->lock(place, ask, &held);
	is_new = err != -EALREADY;
	/* The owner may have it already: its lease is extended. */
	ask->fresh = false;
	if (err == -EALREADY)
		err = place->ops->lock(place, ask, &held);
	if (err)
		return refuse_lock(place, ask, err);
	err = print_grant(place->request, ask, &held);
	return err ? take_back(place, ask, is_new, err) : STATUS_DONE;
}

/* Takes the lock, and runs the command if there is one. */
static int lock_and_run(struct request *request, struct lock_ask *ask)
{
	struct signals signals = { .fd = -1 };
	struct lock_place *place;
	int status, err;

	status = open_place(request, true, ask->wait_ms, &place);
	if (status)
		return status;
	err = signals_begin(&signals);
	place->signals = &signals;
	if (err)
		status = fail(STATUS_ERROR, "cannot hold signals back: %s",
			      strerror(-err));
	else if (request->command_line)
		status = lock_run(place, ask, request->command_line);
	else
		status = take_lock(place, ask);
	place->ops->close(place);
	signals_end(&signals);
	return status;
}

/* Makes the table that a store needs. */
static enum status create_table(struct request *request)
{
	struct lock_place *place;
	enum status status;

	if (!store_of(request))
		return fail_usage(request,
				  "--create-table is for a store: --store is missing");
	if (request->count || request->command_line)
		return fail_usage(request,
				  "--create-table takes no lock, and nothing else");
	status = open_place(request, false, 0, &place);
	if (status)
		return status;
	status = place->ops->create(place);
	place->ops->close(place);
	return status;
}

/**
 * cmd_lock() - hbctl lock
 * @request:	the request
 *
 * Return: the exit status; that of the command, if one was run.
 */
enum status cmd_lock(struct request *request)
{
	struct lock_ask ask = { .fresh = true };
	__u64 conflict = STATUS_NO;
	enum status status;

	status = check_place(request);
	if (!status && request_option(request, "create-table"))
		return create_table(request);
	if (!status)
		status = take_operands(request, &ask.name);
	if (!status)
		status = take_owner(request, false, &ask.owner);
	if (!status)
		status = request_ttl(request, "", &ask.ttl_ms);
	if (!status)
		status = request_duration(request, "wait", "forever", 0, &ask.wait_ms);
	if (!status)
		status = request_number(request, "conflict-exit-code", 0, 255, &conflict);
	if (status)
		return status;
	ask.conflict = conflict;
	ask.bound = request->command_line;
	ask.shared = ask.bound && !request_option(request, "close");
	if (request_option(request, "close") && !ask.bound)
		return fail_usage(request, "--close needs a COMMAND");
	if (request_option(request, "close") && store_of(request))
		return fail_usage(request,
				  "--close is for locks in a belt: no command inherits one in a store");
	if (ask.bound && ask.ttl_ms && ask.ttl_ms < RUN_LEASE_MIN_MS)
		return fail_usage(request,
				  "--ttl: the lease of a command is at least %llums",
				  RUN_LEASE_MIN_MS);
	if (!ask.owner.bytes)
		make_owner(&ask.owner);
	return lock_and_run(request, &ask);
}

/* Reads the arguments of unlock and renew, and opens the place. */
static enum status begin_owned(struct request *request, struct lock_ask *ask,
			       struct lock_place **place)
{
	enum status status = check_place(request);

	if (!status)
		status = request_key(request, 0, &ask->name);
	if (!status)
		status = take_owner(request, true, &ask->owner);
	return status ? status : open_place(request, false, 0, place);
}

/**
 * cmd_unlock() - hbctl unlock
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_unlock(struct request *request)
{
	struct lock_ask ask = { 0 };
	struct lock_place *place;
	enum status status;
	int err;

	status = begin_owned(request, &ask, &place);
	if (status)
		return status;
	err = place->ops->unlock(place, &ask);
	if (err)
		status = fail_lock(place, &ask, err);
	else if (request->json)
		json_end(lock_object(&ask.name, ask.owner.bytes, ask.owner.len));
	place->ops->close(place);
	return status;
}

/**
 * cmd_renew() - hbctl renew
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_renew(struct request *request)
{
	struct lock_ask ask = { 0 };
	struct lock_place *place;
	struct lock_held held;
	enum status status;
	int err;

	status = request_ttl(request, "", &ask.ttl_ms);
	if (!status)
		status = begin_owned(request, &ask, &place);
	if (status)
		return status;
	err = place->ops->renew(place, &ask, &held);
	if (err)
		status = fail_lock(place, &ask, err);
	else if (request->json)
		print_held(&ask, &held);
	place->ops->close(place);
	return status;
}

static void list_json(const struct lock_held *held, void *data)
{
	struct json object;

	(void)data;
	object = lock_object(&held->name, held->owner, held->owner_len);
	add_held(&object, held);
	json_add_bool(&object, "bound", held->bound);
	json_end(object);
}

static void print_name(FILE *cell, const void *row, const struct table_column *column)
{
	const struct lock_held *held = row;

	(void)column;
	escape_print(cell, held->name.bytes, held->name.len);
}

static void print_owner(FILE *cell, const void *row, const struct table_column *column)
{
	const struct lock_held *held = row;

	(void)column;
	escape_print(cell, held->owner, held->owner_len);
}

static void print_bound(FILE *cell, const void *row, const struct table_column *column)
{
	(void)column;
	fputs(((const struct lock_held *)row)->bound ? "yes" : "no", cell);
}

#define FIELD(name)	offsetof(struct lock_held, name)
#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of locks. */
const struct table_column locks_columns[] = {
	{ "TOKEN", SHOWN_NUMBER, "fencing token", table_number, FIELD(token) },
	{ "HELD", SHOWN_NUMBER, "time since the grant", table_duration, FIELD(held_ms) },
	{ "LEFT", SHOWN_NUMBER, "time that the lease has left", table_duration, FIELD(ttl_ms) },
	{ "OWNER", TABLE_DEFAULT | TABLE_TEXT, "owner", print_owner, 0 },
	{ "NAME", TABLE_DEFAULT | TABLE_TEXT, "name of the lock", print_name, 0 },
	{ "BOUND", 0, "whether it goes with the process that has it", print_bound, 0 },
	{ 0 },
};

static void list_row(const struct lock_held *held, void *data)
{
	table_add(data, held);
}

static enum status list_locks(struct request *request, const struct key *owner,
			      struct table *table)
{
	struct lock_place *place;
	enum status status = open_place(request, false, 0, &place);
	int err;

	if (status)
		return status;
	err = place->ops->list(place, owner->bytes ? owner : NULL, table ? list_row : list_json,
			       table);
	if (err)
		status = place->ops->fail(place, err);
	else if (table)
		table_print(table, stdout);
	place->ops->close(place);
	return status;
}

/**
 * cmd_locks() - hbctl locks
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_locks(struct request *request)
{
	struct key owner = { 0 };
	struct table *table = NULL;
	enum status status;

	status = check_place(request);
	if (!status)
		status = take_owner(request, false, &owner);
	if (!status)
		status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = list_locks(request, &owner, table);
	table_end(table);
	return status;
}

/* Reads which locks to release: those of an owner, or those whose lease has expired. */
static enum status take_whose(const struct request *request, struct key *owner)
{
	if (!request_option(request, "aged"))
		return take_owner(request, true, owner);
	if (request_option(request, "owner"))
		return fail_usage(request, "--owner and --aged exclude each other");
	if (!store_of(request))
		return fail_usage(request,
				  "--aged is for locks in a store: a belt's go by themselves");
	return STATUS_DONE;
}

/**
 * cmd_release() - hbctl release
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_release(struct request *request)
{
	struct key owner = { 0 };
	struct json object;
	struct lock_place *place;
	enum status status;
	__u64 count;
	int err;

	status = check_place(request);
	if (!status)
		status = take_whose(request, &owner);
	if (!status)
		status = open_place(request, false, 0, &place);
	if (status)
		return status;
	err = place->ops->release(place, owner.bytes ? &owner : NULL, &count);
	if (err) {
		status = place->ops->fail(place, err);
	} else if (request->json) {
		object = json_begin(stdout);
		json_add_number(&object, "released", count);
		json_end(object);
	} else {
		printf("%llu\n", count);
	}
	place->ops->close(place);
	return status;
}
