// SPDX-License-Identifier: GPL-2.0-only
/*
 * get --fill: one miss, one fill. The caller that is granted the fill lease computes the value,
 * itself or by a command; the others wait, or exit with a status that says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "entry.h"
#include "output.h"

/* Exit statuses as in a shell: a command that cannot be run, and one that a signal ends. */
#define NOT_RUNNABLE	126
#define NOT_FOUND	127
#define BY_SIGNAL	128

/**
 * struct filling - a get that may fill
 * @request:	the request
 * @key:	the key
 * @fill:	the arguments of the call, and then its results
 * @value:	the present value
 * @has_value:	there is one
 * @ahead_share: percents of the life of the filled entry, in place of @fill.ahead_ms;
 *		0 if they were not given
 * @ttl_ms:	the time-to-live of an entry that a command fills
 */
struct filling {
	struct request *request;
	const struct key *key;
	struct hashbelt_fill fill;
	struct value value;
	bool has_value;
	unsigned int ahead_share;
	__u64 ttl_ms;
};

static enum status take_ahead(struct filling *filling)
{
	const char *text = request_option(filling->request, "ahead");
	unsigned long share;
	char *end;

	if (!text || !strchr(text, '%'))
		return request_duration(filling->request, "ahead", "", 1,
					&filling->fill.ahead_ms);
	share = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || strcmp(end, "%") || !share || share > 100)
		return fail_usage(filling->request, "--ahead: '%s' is not from 1%% to 100%%",
				  text);
	if (filling->ttl_ms == HASHBELT_TTL_NEVER)
		return fail_usage(filling->request,
				  "--ahead: there is no %s of a life without an end: give a duration, or another --ttl",
				  text);
	filling->ahead_share = share;
	return STATUS_DONE;
}

/* With a command: wait for the value; the right is bound to this process. */
static enum status take_options(struct filling *filling)
{
	struct request *request = filling->request;
	struct hashbelt_fill *fill = &filling->fill;
	enum status status;

	if (request_option(request, "ttl") && !request->command_line)
		return fail_usage(request,
				  "with --fill, --ttl needs a COMMAND, whose output it applies to");
	if (request->command_line) {
		fill->how |= HASHBELT_BOUND;
		fill->wait_ms = HASHBELT_TTL_NEVER;
	}
	if (request_option(request, "stale"))
		fill->how |= HASHBELT_STALE;
	status = request_ttl(request, "never", &filling->ttl_ms);
	if (!status)
		status = request_duration(request, "lease", "", 1, &fill->lease_ms);
	if (!status)
		status = request_duration(request, "wait", "forever", 0, &fill->wait_ms);
	return status ? status : take_ahead(filling);
}

static enum status fail_fill(const struct filling *filling, int err)
{
	if (err != -EPERM)
		return fail_entry(filling->request, err, filling->key);
	return fail(STATUS_REACH,
		    "get --fill takes the right to read and to write belt '%s'",
		    filling->request->belt);
}

/* The time ahead that a share is: of the life of the filled entry. */
static int set_ahead(struct filling *filling)
{
	__u64 life = filling->ttl_ms;
	struct hashbelt_info info;
	int err;

	if (life == HASHBELT_TTL_BELT) {
		err = hashbelt_info(filling->request->handle, &info);
		if (err)
			return err;
		life = info.ttl_ms;
	}
	filling->fill.ahead_ms = life * filling->ahead_share / 100;
	return 0;
}

/* Asks for the value or the right to fill it, until there is an answer. */
static enum status ask(struct filling *filling)
{
	const struct key *key = filling->key;
	int err = 0;

	if (filling->ahead_share)
		err = set_ahead(filling);
	if (err)
		return fail_fill(filling, err);
	/* No signal has a handler here, so none interrupts that. */
	err = value_fill(&filling->value, filling->request->handle, key->bytes, key->len,
			 &filling->fill);
	filling->has_value = !err;
	return !err || err == -ENOENT || err == -ETIMEDOUT ? STATUS_DONE :
	       fail_fill(filling, err);
}

/* Prints the result as JSON; @value and @item are NULL after a miss. */
static void print_json(const struct filling *filling, const struct value *value,
		       const struct hashbelt_item *item)
{
	const struct hashbelt_fill *fill = &filling->fill;
	bool is_granted = fill->state & HASHBELT_GRANTED;
	const struct key *key = filling->key;
	struct json_object *object;

	object = value ? entry_json(key, value, item) : json_entry(key->bytes, key->len);
	json_add_bool(object, "stale", item == &fill->item && fill->state & HASHBELT_STALE);
	json_add_bool(object, "granted", is_granted);
	if (is_granted)
		json_add_number(object, "token", fill->token);
	json_print(object);
}

static void print_found(const struct filling *filling, const struct value *value,
			const struct hashbelt_item *item)
{
	if (filling->request->json)
		print_json(filling, value, item);
	else
		entry_print(filling->request, value, item);
}

/* Tells the caller that it has the right: by the status where there is no value. */
static enum status hand_over(const struct filling *filling)
{
	enum status status = filling->has_value ? STATUS_DONE : STATUS_NO;
	char *text = key_text(filling->key);

	if (filling->has_value)
		print_found(filling, &filling->value, &filling->fill.item);
	else if (filling->request->json)
		print_json(filling, NULL, NULL);
	fail(status, "'%s' in belt '%s' is yours to fill (token %llu)", text,
	     filling->request->belt, filling->fill.token);
	free(text);
	return status;
}

/* The entry is absent, and another caller has the fill lease. */
static enum status fail_busy(const struct filling *filling)
{
	char *text = key_text(filling->key);

	if (filling->request->json)
		print_json(filling, NULL, NULL);
	fail(STATUS_BUSY, "another caller is filling '%s' in belt '%s'%s", text,
	     filling->request->belt,
	     filling->fill.wait_ms ? ", and took longer than one would wait" : "");
	free(text);
	return STATUS_BUSY;
}

/* In the child: becomes the command, which writes into the pipe, and ends with us. */
static void become_command(char **line, int output, pid_t parent)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_ERROR);
	if (dup2(output, STDOUT_FILENO) >= 0)
		execvp(line[0], line);
	err = errno;
	fail(STATUS_ERROR, "cannot run '%s': %s", line[0], strerror(err));
	_exit(err == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

/* Its exit status, or the one that a shell has for its end. */
static int wait_for(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_RUNNABLE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

/*
 * Runs the command and takes its output for the value. The device is closed in the command: if
 * hbctl is killed, the fill lease ends, whatever the command does.
 */
static enum status compute(const struct filling *filling, struct value *value)
{
	char **line = filling->request->command_line;
	pid_t parent = getpid();
	int pipes[2], err, status;
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC))
		return fail(STATUS_ERROR, "cannot make a pipe: %s", strerror(errno));
	/* The end of a child could not be waited for while SIGCHLD is ignored. */
	signal(SIGCHLD, SIG_DFL);
	child = fork();
	if (!child)
		become_command(line, pipes[1], parent);
	close(pipes[1]);
	if (child < 0) {
		close(pipes[0]);
		return fail(STATUS_ERROR, "cannot run '%s': %s", line[0], strerror(errno));
	}
	err = value_read(value, pipes[0]);
	close(pipes[0]);
	status = wait_for(child);
	if (err == -EMSGSIZE)
		return fail(STATUS_ERROR, "'%s' wrote more than %d bytes", line[0],
			    HASHBELT_VALUE_MAX);
	if (err)
		return fail(STATUS_ERROR, "cannot read the output of '%s': %s", line[0],
			    strerror(-err));
	return status ? fail(status, "'%s' ended with status %d", line[0], status) :
	       STATUS_DONE;
}

/*
 * Puts the computed value. On a belt that keeps present entries, a value that another process has
 * put meanwhile stays, and is printed; the one that was to be replaced does not stay.
 */
static int put(const struct filling *filling, struct value *value,
	       struct hashbelt_item *item)
{
	const struct key *key = filling->key;
	struct hashbelt *handle = filling->request->handle;
	int err;

	*item = (struct hashbelt_item){ .ttl_ms = filling->ttl_ms };
	err = hashbelt_put(handle, key->bytes, key->len, value->bytes, value->len, item);
	if (err == -EEXIST && item->version == filling->fill.item.version) {
		item->how = HASHBELT_IF_VERSION;
		item->ttl_ms = filling->ttl_ms;
		err = hashbelt_put(handle, key->bytes, key->len, value->bytes, value->len,
				   item);
	}
	if (err != -EEXIST && err != -ESTALE)
		return err;
	*item = (struct hashbelt_item){ 0 };
	return value_get(value, handle, key->bytes, key->len, item);
}

/* Gives the fill lease up if there is nothing to put; a stale value is printed then. */
static enum status give_up(const struct filling *filling, enum status status)
{
	const struct key *key = filling->key;

	hashbelt_give_up(filling->request->handle, key->bytes, key->len, filling->fill.token);
	if (!filling->has_value)
		return status;
	print_found(filling, &filling->value, &filling->fill.item);
	return STATUS_DONE;
}

/* Has the command compute the value, puts it and prints it, also if it is not kept. */
static enum status fill_in(const struct filling *filling)
{
	struct value value = { 0 };
	struct hashbelt_item item;
	enum status status;
	int err;

	status = compute(filling, &value);
	if (status) {
		status = give_up(filling, status);
	} else {
		err = put(filling, &value, &item);
		if (err != -ENOENT)
			print_found(filling, &value, &item);
		if (err)
			status = fail_fill(filling, err);
	}
	value_free(&value);
	return status;
}

/**
 * get_filled() - hbctl get --fill
 * @request:	the request
 * @key:	the key
 *
 * Return: the exit status, or that of the command that was to fill.
 */
enum status get_filled(struct request *request, const struct key *key)
{
	struct filling filling = { .request = request, .key = key };
	enum status status;

	status = take_options(&filling);
	if (!status)
		status = request_bind(request);
	if (!status)
		status = ask(&filling);
	if (status)
		;	/* said already */
	else if (filling.fill.state & HASHBELT_GRANTED)
		status = request->command_line ? fill_in(&filling) : hand_over(&filling);
	else if (filling.has_value)
		print_found(&filling, &filling.value, &filling.fill.item);
	else
		status = fail_busy(&filling);
	value_free(&filling.value);
	return status;
}
