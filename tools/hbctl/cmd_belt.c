// SPDX-License-Identifier: GPL-2.0-only
/* The commands on a belt as a whole that need none of its settings. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "duration.h"
#include "json.h"

/* The JSON of a command that has no other result. */
static void print_belt(const struct request *request)
{
	struct json object;

	if (!request->json)
		return;
	object = json_begin(stdout);
	json_add_bytes(&object, "name", request->belt, strlen(request->belt));
	json_end(object);
}

/**
 * cmd_destroy() - hbctl destroy
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_destroy(struct request *request)
{
	enum status status;
	int err;

	status = request_open(request);
	if (status)
		return status;
	err = hashbelt_destroy(request->handle, request->belt);
	if (err)
		return fail_belt(request, err);
	print_belt(request);
	return STATUS_DONE;
}

/* Commands that are a call without an argument. */
static enum status control(struct request *request, int (*call)(struct hashbelt *handle))
{
	enum status status = request_bind_briefly(request);
	int err;

	if (status)
		return status;
	err = call(request->handle);
	if (err)
		return fail_belt(request, err);
	print_belt(request);
	return STATUS_DONE;
}

/**
 * cmd_halt() - hbctl halt
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_halt(struct request *request)
{
	return control(request, hashbelt_halt);
}

/**
 * cmd_resume() - hbctl resume
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_resume(struct request *request)
{
	return control(request, hashbelt_resume);
}

/**
 * cmd_rotate() - hbctl rotate
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_rotate(struct request *request)
{
	return control(request, hashbelt_rotate);
}

/**
 * cmd_clear() - hbctl clear
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_clear(struct request *request)
{
	return control(request, hashbelt_clear);
}

/**
 * cmd_advance() - hbctl advance
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_advance(struct request *request)
{
	const char *text = request->operands[0];
	enum status status;
	__u64 ms;
	int err;

	err = duration_parse(text, &ms);
	if (err == -EINVAL)
		return fail_usage(request, "'%s' is not a duration as 250ms, 30s or 1h30m",
				  text);
	if (err || !ms)
		return fail_usage(request, "%s is not from 1ms to %llums (50903d)", text,
				  HASHBELT_TTL_MAX_MS);
	status = request_bind_briefly(request);
	if (status)
		return status;
	err = hashbelt_advance(request->handle, ms);
	if (err)
		return fail_belt(request, err);
	print_belt(request);
	return STATUS_DONE;
}

/**
 * cmd_size() - hbctl size
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_size(struct request *request)
{
	enum status status = request_bind_briefly(request);
	struct json object;
	struct hashbelt_info info;
	int err;

	if (status)
		return status;
	err = hashbelt_info(request->handle, &info);
	if (err)
		return fail_belt(request, err);
	if (!request->json) {
		printf("%llu\n", info.entries);
		return STATUS_DONE;
	}
	object = json_begin(stdout);
	json_add_number(&object, "entries", info.entries);
	json_add_number(&object, "bytes", info.bytes);
	json_end(object);
	return STATUS_DONE;
}
