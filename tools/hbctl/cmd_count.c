// SPDX-License-Identifier: GPL-2.0-only
/* The command incr: numbers that are added to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "output.h"

/* Room for a number of 64 bits with a sign, a newline and a NUL. */
#define NUMBER_SIZE	24

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

/* Whether the entry is a number but for a newline at its end, as 'echo 5 | hbctl put' leaves. */
static bool ends_in_newline(const struct request *request, const struct key *key)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };
	char text[NUMBER_SIZE] = "";
	__s64 number;
	size_t len;
	int err;

	err = hashbelt_get(request->handle, key->bytes, key->len, text, sizeof(text) - 1, &item);
	if (err || !item.value_len)
		return false;
	len = item.value_len - 1;
	if (text[len] != '\n')
		return false;
	text[len] = '\0';
	return !parse_signed(text, &number);
}

static bool is_absent(const struct request *request, const struct key *key)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH | HASHBELT_NO_VALUE };

	return hashbelt_get(request->handle, key->bytes, key->len, NULL, 0, &item) == -ENOENT;
}

/* Reports why an addition failed. */
static enum status fail_add(const struct request *request, int err, const struct key *key)
{
	const char *why;
	char *text;

	if (err == -EBADMSG && ends_in_newline(request, key))
		why = "is not a number: a newline is at its end, which printf(1) does not write";
	else if (err == -EBADMSG)
		why = "is not a number";
	else if (err == -EOVERFLOW && is_absent(request, key))
		why = "would be more than 64 bits can hold, N and --initial: it was not put";
	else if (err == -EOVERFLOW)
		why = "would be more than 64 bits can hold: it stays as it is";
	else
		return fail_entry(request, err, key);
	text = key_text(key);
	fail_cause(err);
	fail(STATUS_NO, "entry '%s' in belt '%s' %s", text, request->belt, why);
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
