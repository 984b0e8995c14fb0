// SPDX-License-Identifier: GPL-2.0-only
/*
 * get --fill: one miss, one fill. The caller that is granted the fill lease computes the value,
 * itself or by a command; the others wait, or exit with a status that says so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "entry.h"
#include "fill_run.h"
#include "json.h"
#include "output.h"

/* The lease while a command runs: it is renewed. Milliseconds. */
#define LEASE_MS	(10 * 1000ULL)

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
 * @retry_ms:	the time for which other callers get the failure of a command; 0: not at all
 */
struct filling {
	struct request *request;
	const struct key *key;
	struct hashbelt_fill fill;
	struct value value;
	bool has_value;
	unsigned int ahead_share;
	__u64 ttl_ms;
	__u64 retry_ms;
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

static enum status check_options(const struct request *request)
{
	if (request->command_line)
		return request_option(request, "print-token") ?
		       fail_usage(request, "--print-token takes the place of a COMMAND") :
		       STATUS_DONE;
	if (request_option(request, "ttl"))
		return fail_usage(request,
				  "with --fill, --ttl needs a COMMAND, whose output it applies to");
	if (request_option(request, "retry-after"))
		return fail_usage(request,
				  "--retry-after needs a COMMAND, whose failure it is for");
	return STATUS_DONE;
}

/* With a command: wait for the value; the right is bound to this process. */
static enum status take_options(struct filling *filling)
{
	struct request *request = filling->request;
	struct hashbelt_fill *fill = &filling->fill;
	enum status status;

	status = check_options(request);
	if (status)
		return status;
	if (request->command_line) {
		fill->how |= HASHBELT_BOUND;
		fill->lease_ms = LEASE_MS;
		fill->wait_ms = HASHBELT_TTL_NEVER;
	}
	if (request_option(request, "stale"))
		fill->how |= HASHBELT_STALE;
	status = request_ttl(request, "never", &filling->ttl_ms);
	if (!status)
		status = request_duration(request, "lease", "", 1, &fill->lease_ms);
	if (!status)
		status = request_duration(request, "wait", "forever", 0, &fill->wait_ms);
	if (!status)
		status = request_duration(request, "retry-after", "", 1, &filling->retry_ms);
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

/*
 * Prints the result as JSON. @value is NULL after a miss; @item also for a value that was computed
 * and is not stored.
 */
static void print_json(const struct filling *filling, const struct value *value,
		       const struct hashbelt_item *item)
{
	const struct hashbelt_fill *fill = &filling->fill;
	bool is_granted = fill->state & HASHBELT_GRANTED;
	const struct key *key = filling->key;
	struct json object;

	object = value ? entry_json(key, value, item) : json_entry(key->bytes, key->len);
	json_add_bool(&object, "stale", item == &fill->item && fill->state & HASHBELT_STALE);
	json_add_bool(&object, "granted", is_granted);
	if (is_granted)
		json_add_number(&object, "token", fill->token);
	if (fill->state & HASHBELT_FAILED)
		json_add_bool(&object, "failed", true);
	if (value && !item)
		json_add_bool(&object, "stored", false);
	json_end(object);
}

static void print_found(const struct filling *filling, const struct value *value,
			const struct hashbelt_item *item)
{
	if (filling->request->json)
		print_json(filling, value, item);
	else
		entry_print(filling->request, value, item);
}

/* The caller has not learnt its token, or not got its value: another is to fill. */
static enum status take_back(const struct filling *filling, int err)
{
	const struct key *key = filling->key;

	hashbelt_give_up(filling->request->handle, key->bytes, key->len, filling->fill.token);
	fail_cause(err);
	return fail(STATUS_ERROR, "cannot write the output: %s: the fill lease is given up",
		    strerror(-err));
}

/*
 * Tells the caller that it has the fill lease: by the status where there is no value. With
 * --print-token stdout has either a value or the token, and the status says which.
 */
static enum status hand_over(const struct filling *filling)
{
	bool print_token = request_option(filling->request, "print-token");
	enum status status = filling->has_value && !print_token ? STATUS_DONE : STATUS_NO;
	struct sigaction action;
	char *text;
	int err;

	output_begin(&action);
	if (filling->has_value && (filling->request->json || !print_token))
		print_found(filling, &filling->value, &filling->fill.item);
	else if (filling->request->json)
		print_json(filling, NULL, NULL);
	else if (print_token)
		printf("%llu\n", filling->fill.token);
	err = output_end(&action);
	if (err)
		return take_back(filling, err);
	if (print_token)
		return status;
	text = key_text(filling->key);
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

/* The entry is absent, and the last fill has failed: no caller is to fill it for a time. */
static enum status fail_failed(const struct filling *filling)
{
	char *text = key_text(filling->key);

	if (filling->request->json)
		print_json(filling, NULL, NULL);
	fail(STATUS_FAILED,
	     "the last fill of '%s' in belt '%s' has failed, and is not tried again yet", text,
	     filling->request->belt);
	free(text);
	return STATUS_FAILED;
}

/* Says why a value is not stored; @version: of the entry that is there, or 0. */
static void explain_loss(const struct filling *filling, __u64 version)
{
	char *text = key_text(filling->key);

	fail_cause(ESTALE);
	if (version && version != filling->fill.item.version)
		fail(STATUS_DONE,
		     "the value is not stored: another process has put '%s' in belt '%s' meanwhile",
		     text, filling->request->belt);
	else
		fail(STATUS_DONE,
		     "the value is not stored: '%s' in belt '%s' was removed or expired meanwhile, or the belt cleared, or the fill lease was over",
		     text, filling->request->belt);
	free(text);
}

/*
 * Puts the computed value, and prints it. It is not stored if the fill lease has ended: what it was
 * computed from may have changed.
 */
static enum status put(const struct filling *filling, const struct value *value)
{
	struct hashbelt_item item = { .ttl_ms = filling->ttl_ms };
	const struct request *request = filling->request;
	const struct key *key = filling->key;
	int err;

	err = hashbelt_fill_put(request->handle, key->bytes, key->len, value->bytes, value->len,
				filling->fill.token, &item);
	print_found(filling, value, err ? NULL : &item);
	if (err == -ESTALE && request_option(request, "verbose"))
		explain_loss(filling, item.version);
	return err && err != -ESTALE ? fail_fill(filling, err) : STATUS_DONE;
}

/*
 * There is nothing to put: gives the fill lease up, or lets other callers have the failure for
 * --retry-after. An old value is printed then.
 */
static enum status give_up(struct filling *filling, enum status status)
{
	struct hashbelt *handle = filling->request->handle;
	const struct key *key = filling->key;
	__u64 token = filling->fill.token;

	if (!filling->retry_ms)
		hashbelt_give_up(handle, key->bytes, key->len, token);
	else if (!hashbelt_fill_fail(handle, key->bytes, key->len, token, filling->retry_ms))
		filling->fill.state |= HASHBELT_FAILED;
	if (!filling->has_value)
		return status;
	print_found(filling, &filling->value, &filling->fill.item);
	return STATUS_DONE;
}

/* Has the command compute the value. */
static enum status fill_in(struct filling *filling)
{
	struct value value = { 0 };
	enum status status;

	status = fill_run(filling->request, filling->key, &filling->fill, &value);
	status = status ? give_up(filling, status) : put(filling, &value);
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
	else if (filling.fill.state & HASHBELT_FAILED)
		status = fail_failed(&filling);
	else
		status = fail_busy(&filling);
	value_free(&filling.value);
	return status;
}
