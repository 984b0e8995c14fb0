// SPDX-License-Identifier: GPL-2.0-only
/* The command incr: numbers that are added to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "json.h"
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

/* Says why an addition takes the value of an entry for no number. */
static const char *not_a_number(const struct request *request, const struct key *key)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };
	char text[NUMBER_SIZE] = "";
	__s64 number;
	size_t len;
	int err;

	err = hashbelt_get(request->handle, key->bytes, key->len, text, sizeof(text) - 1, &item);
	if (err || !item.value_len)
		return "is not a number";
	if (request_option(request, "min") && !parse_signed(text, &number))
		return "is less than --min: it stays as it is";
	/* The newline of 'echo 5 | hbctl put'. */
	len = item.value_len - 1;
	if (text[len] != '\n')
		return "is not a number";
	text[len] = '\0';
	return parse_signed(text, &number) ? "is not a number" :
	       "is not a number: a newline is at its end, which printf(1) does not write";
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

	if (err == -EBADMSG)
		why = not_a_number(request, key);
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
	struct json object;

	if (!request->json) {
		output_is_short(request, NUMBER_SIZE);
		if (sum < 0)
			putchar('-');
		number_print(sum < 0 ? -(__u64)sum : (__u64)sum);
		putchar('\n');
		return;
	}
	object = json_entry(key->bytes, key->len);
	json_add_signed(&object, "sum", sum);
	json_end(object);
}

/* Reads the options of an addition into @sum and @item. */
static enum status take_addition(const struct request *request, struct hashbelt_sum *sum,
				 struct hashbelt_item *item)
{
	const char *initial = request_option(request, "initial");
	const char *least = request_option(request, "min");
	enum status status;
	__s64 floor = 0;

	status = take_signed(request, "--initial", initial, &sum->value);
	if (!status)
		status = take_signed(request, "--min", least, &floor);
	if (!status)
		status = request_ttl(request, "never", &item->ttl_ms);
	if (status)
		return status;
	if (request_option(request, "if-present")) {
		if (initial || request_option(request, "ttl"))
			return fail_usage(request,
					  "--initial and --ttl are for a new entry, which --if-present does not make");
		item->how |= HASHBELT_IF_PRESENT;
	}
	if (!least)
		return STATUS_DONE;
	if (initial && sum->value < floor)
		return fail_usage(request, "--initial is less than --min");
	if (sum->value < floor)
		sum->value = floor;
	item->how |= HASHBELT_FLOOR;
	item->version = floor;
	return STATUS_DONE;
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
	struct hashbelt_item item = { .ttl_ms = HASHBELT_TTL_BELT };
	struct hashbelt_sum sum = { .by = 1 };
	enum status status;
	struct key key;
	int err;

	status = request_key(request, 0, &key);
	if (!status)
		status = take_signed(request, "N", by_text, &sum.by);
	if (!status)
		status = take_addition(request, &sum, &item);
	if (!status)
		status = request_bind_briefly(request);
	if (status)
		return status;
	err = hashbelt_add_item(request->handle, key.bytes, key.len, &sum, &item);
	if (err)
		return fail_add(request, err, &key);
	print_sum(request, &key, sum.value);
	return STATUS_DONE;
}
