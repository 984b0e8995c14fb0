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
#include "json.h"
#include "lock.h"
#include "output.h"

/* A lease that is renewed must not be shorter: that would be nothing but renewing it. */
#define RUN_LEASE_MIN_MS	100ULL

/* An owner that we make up has so much of the host's name, and is unlike all others. */
#define HOST_MAX	40

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

static void print_held(const struct lock_ask *ask, const struct lock_held *held)
{
	struct json object;

	object = lock_json(&ask->name, ask->owner.bytes, ask->owner.len);
	lock_json_held(&object, held);
	json_end(object);
}

/* Tells the caller that it has the lock. An owner that was made up is printed. */
static int print_grant(const struct request *request, const struct lock_ask *ask,
		       const struct lock_held *held)
{
	struct sigaction action;

	output_begin(&action);
	if (request->json) {
		print_held(ask, held);
		return output_end(&action);
	}
	output_is_short(request, NUMBER_SIZE + ask->owner.len);
	number_print(held->token);
	if (!request_option(request, "owner")) {
		putchar('\t');
		fputs(ask->owner.bytes, stdout);
	}
	putchar('\n');
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

	status = lock_open_place(request, true, ask->wait_ms, &place);
	if (status)
		return status;
	err = signals_begin(&signals, request->command_line || lock_store_of(request));
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

	if (!lock_store_of(request))
		return fail_usage(request,
				  "--create-table is for a store: --store is missing");
	if (request->count || request->command_line)
		return fail_usage(request,
				  "--create-table takes no lock, and nothing else");
	status = lock_open_place(request, false, 0, &place);
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

	status = lock_check_place(request);
	if (!status && request_option(request, "create-table"))
		return create_table(request);
	if (!status)
		status = take_operands(request, &ask.name);
	if (!status)
		status = lock_take_owner(request, false, &ask.owner);
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
	if (request_option(request, "close") && lock_store_of(request))
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
	enum status status = lock_check_place(request);

	if (!status)
		status = request_key(request, 0, &ask->name);
	if (!status)
		status = lock_take_owner(request, true, &ask->owner);
	return status ? status : lock_open_place(request, false, 0, place);
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
		json_end(lock_json(&ask.name, ask.owner.bytes, ask.owner.len));
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

/* Reads which locks to release: those of an owner, or those whose lease has expired. */
static enum status take_whose(const struct request *request, struct key *owner)
{
	if (!request_option(request, "aged"))
		return lock_take_owner(request, true, owner);
	if (request_option(request, "owner"))
		return fail_usage(request, "--owner and --aged exclude each other");
	if (!lock_store_of(request))
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

	status = lock_check_place(request);
	if (!status)
		status = take_whose(request, &owner);
	if (!status)
		status = lock_open_place(request, false, 0, &place);
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
