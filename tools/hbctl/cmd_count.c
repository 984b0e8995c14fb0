// SPDX-License-Identifier: GPL-2.0-only
/* The command incr: numbers that are added to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "output.h"

/* A number of 64 bits with a sign, in decimal and nothing else. */
static int parse_signed(const char *text, __s64 *number)
{
	const char *digits = text + (*text == '-');
	char *end;

	errno = 0;
	*number = strtoll(text, &end, 10);
	if (*digits < '0' || *digits > '9' || *end)
		return -EINVAL;
	return -errno;
}

/* @what: the name of the number in a message; @text is NULL if it was not given. */
static enum status take_signed(const struct request *request, const char *what,
			       const char *text, __s64 *number)
{
	int err = text ? parse_signed(text, number) : 0;

	if (err == -EINVAL)
		return fail_usage(request, "%s: '%s' is not a number", what, text);
	if (err)
		return fail_usage(request, "%s: %s is more than 64 bits can hold", what,
				  text);
	return STATUS_DONE;
}

/* Reports why an addition failed. */
static enum status fail_add(const struct request *request, int err, const struct key *key)
{
	char *text;

	if (err != -EBADMSG && err != -EOVERFLOW)
		return fail_entry(request, err, key);
	text = key_text(key);
	if (err == -EBADMSG)
		fail(STATUS_NO, "entry '%s' in belt '%s' is not a number", text,
		     request->belt);
	else
		fail(STATUS_NO,
		     "entry '%s' in belt '%s' would be more than 64 bits can hold: it stays as it is",
		     text, request->belt);
	free(text);
	return STATUS_NO;
}

static void print_sum(const struct request *request, const struct key *key, __s64 sum)
{
	struct json_object *object;

	if (!request->json) {
		printf("%lld\n", sum);
		return;
	}
	object = json_entry(key->bytes, key->len);
	json_add(object, "sum", json_object_new_int64(sum));
	json_print(object);
}

/**
 * cmd_incr() - hbctl incr
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_incr(struct request *request)
{
	const char *by_text = request->count > 1 ? request->operands[1] : NULL;
	__u64 ttl_ms = HASHBELT_TTL_BELT;
	__s64 by = 1, initial = 0, sum;
	enum status status;
	struct key key;
	int err;

	status = request_key(request, 0, &key);
	if (!status)
		status = take_signed(request, "N", by_text, &by);
	if (!status)
		status = take_signed(request, "--initial",
				     request_option(request, "initial"), &initial);
	if (!status)
		status = request_ttl(request, "never", &ttl_ms);
	if (!status)
		status = request_bind(request);
	if (status)
		return status;
	err = hashbelt_add(request->handle, key.bytes, key.len, by, initial, ttl_ms, &sum);
	if (err)
		return fail_add(request, err, &key);
	print_sum(request, &key, sum);
	return STATUS_DONE;
}
