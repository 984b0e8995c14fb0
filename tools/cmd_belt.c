// SPDX-License-Identifier: GPL-2.0
/* The commands on belts as a whole. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "output.h"

/* Counters that are asked for: room for those of a later interface. */
#define COUNTERS_MAX	64

/* Takes a belt's name as the operand, where one was given. */
static enum status take_belt(struct request *request)
{
	return request->count ? request_belt(request, request->operands[0]) : STATUS_DONE;
}

/* What a command answers that has nothing else to say. */
static void print_belt(const struct request *request)
{
	struct json_object *object;

	if (!request->json)
		return;
	object = json_object_new_object();
	json_add_bytes(object, "name", request->belt, strlen(request->belt));
	json_print(object);
}

/* An option that is one of two words: -1 for neither, else the bit as it was. */
static enum status take_bit(const struct request *request, const char *name,
			    const char *on, const char *off, __u32 bit, __u32 *policy)
{
	const char *text = request_option(request, name);

	if (!text)
		return STATUS_DONE;
	if (strcmp(text, on) && strcmp(text, off))
		return fail_usage(request, "--%s: '%s' is neither '%s' nor '%s'", name, text,
				  on, off);
	*policy &= ~bit;
	if (!strcmp(text, on))
		*policy |= bit;
	return STATUS_DONE;
}

static enum status take_policy(const struct request *request, __u32 *policy)
{
	const char *name = request_option(request, "policy");
	enum status status;

	if (!name || !strcmp(name, "timecache"))
		*policy = HASHBELT_POLICY_TIMECACHE;
	else if (!strcmp(name, "standard"))
		*policy = HASHBELT_POLICY_STANDARD;
	else if (!strcmp(name, "updating"))
		*policy = HASHBELT_POLICY_UPDATING;
	else
		return fail_usage(request,
				  "--policy: '%s' is none of 'standard', 'updating', 'timecache'",
				  name);
	status = take_bit(request, "refresh-on-get", "yes", "no", HASHBELT_REFRESH_ON_GET,
			  policy);
	if (status)
		return status;
	return take_bit(request, "on-put", "keep", "replace", HASHBELT_KEEP_ON_PUT, policy);
}

static enum status take_mode(const struct request *request, __u32 *mode)
{
	const char *text = request_option(request, "mode");
	unsigned long bits;
	char *end;

	if (!text)
		return STATUS_DONE;
	bits = strtoul(text, &end, 8);
	if (*text < '0' || *text > '7' || *end || bits & ~0666ul)
		return fail_usage(request,
				  "--mode: '%s' is not an octal number of r and w bits, 0 to 0666",
				  text);
	*mode = bits;
	return STATUS_DONE;
}

static enum status take_settings(const struct request *request,
				 struct hashbelt_create *settings)
{
	__u64 buckets = 0;
	enum status status;

	*settings = (struct hashbelt_create){ .mode = 0600 };
	status = request_ttl(request, "", &settings->ttl_ms);
	if (status)
		return status;
	status = request_number(request, "buckets", HASHBELT_BUCKETS_MIN,
				HASHBELT_BUCKETS_MAX, &buckets);
	if (status)
		return status;
	settings->buckets = buckets;
	status = take_policy(request, &settings->policy);
	if (status)
		return status;
	return take_mode(request, &settings->mode);
}

static enum status print_info(struct request *request)
{
	struct hashbelt_info info;
	int err = hashbelt_info(request->fd, &info);

	if (err)
		return fail_belt(request, err);
	if (request->json)
		info_print_json(&info);
	else
		info_print(&info);
	return STATUS_DONE;
}

/**
 * cmd_create() - hbctl create
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_create(struct request *request)
{
	struct hashbelt_create settings;
	enum status status;
	int err;

	status = take_belt(request);
	if (!status)
		status = take_settings(request, &settings);
	if (!status)
		status = request_open(request);
	if (status)
		return status;
	err = hashbelt_create(request->fd, request->belt, &settings);
	if (err == -EEXIST)
		return fail(STATUS_NO,
			    "there is a belt '%s' already: choose another name, or destroy it first",
			    request->belt);
	if (err)
		return fail_belt(request, err);
	return request->json ? print_info(request) : STATUS_DONE;
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

	status = take_belt(request);
	if (!status)
		status = request_open(request);
	if (status)
		return status;
	err = hashbelt_destroy(request->fd, request->belt);
	if (err)
		return fail_belt(request, err);
	print_belt(request);
	return STATUS_DONE;
}

/* Reads all belts there are; @infos is the caller's, whatever is returned. */
static int read_belts(int fd, struct hashbelt_info **infos, size_t *count)
{
	struct hashbelt_info info = { 0 }, *more;
	size_t room = 0;
	int err;

	for (*count = 0; !(err = hashbelt_next(fd, &info)); ++*count) {
		if (*count == room) {
			room = room ? room * 2 : 16;
			more = reallocarray(*infos, room, sizeof(*more));
			if (!more)
				return -ENOMEM;
			*infos = more;
		}
		(*infos)[*count] = info;
	}
	return err == -ENOENT ? 0 : err;
}

/**
 * cmd_belts() - hbctl belts
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_belts(struct request *request)
{
	enum status status = request_open(request);
	struct hashbelt_info *infos = NULL;
	size_t count, i;
	int err;

	if (status)
		return status;
	err = read_belts(request->fd, &infos, &count);
	if (err)
		status = fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err));
	else if (!request->json)
		info_print_table(infos, count);
	else
		for (i = 0; i < count; i++)
			info_print_json(&infos[i]);
	free(infos);
	return status;
}

/**
 * cmd_info() - hbctl info
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_info(struct request *request)
{
	enum status status = take_belt(request);

	if (!status)
		status = request_bind(request);
	return status ? status : print_info(request);
}

/* Commands that are a call without an argument. */
static enum status control(struct request *request, int (*call)(int fd))
{
	enum status status = request_bind(request);
	int err;

	if (status)
		return status;
	err = call(request->fd);
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
		return fail_usage(request, "%s is not from 1ms to %llums (139 years)", text,
				  HASHBELT_TTL_MAX_MS);
	status = request_bind(request);
	if (status)
		return status;
	err = hashbelt_advance(request->fd, ms);
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
	enum status status = request_bind(request);
	struct json_object *object;
	struct hashbelt_info info;
	int err;

	if (status)
		return status;
	err = hashbelt_info(request->fd, &info);
	if (err)
		return fail_belt(request, err);
	if (!request->json) {
		printf("%llu\n", info.entries);
		return STATUS_DONE;
	}
	object = json_object_new_object();
	json_add_number(object, "entries", info.entries);
	json_add_number(object, "bytes", info.bytes);
	json_print(object);
	return STATUS_DONE;
}

/* The name of a counter; those that are newer than this program have a number. */
static const char *counter_name(char *text, size_t size, unsigned int counter)
{
	static const char * const names[] = {
		[HASHBELT_STAT_HITS] = "hits",
		[HASHBELT_STAT_MISSES] = "misses",
		[HASHBELT_STAT_PUTS_NEW] = "puts_new",
		[HASHBELT_STAT_PUTS_REPLACED] = "puts_replaced",
		[HASHBELT_STAT_REFUSED] = "refused",
		[HASHBELT_STAT_TOUCHES] = "touches",
		[HASHBELT_STAT_REMOVES] = "removes",
		[HASHBELT_STAT_EXPIRED] = "expired",
		[HASHBELT_STAT_CLEARED] = "cleared",
		[HASHBELT_STAT_CASCADED] = "cascaded",
		[HASHBELT_STAT_DRAINED] = "drained",
		[HASHBELT_STAT_WAKEUPS] = "wakeups",
	};

	if (counter < ARRAY_SIZE(names) && names[counter])
		return names[counter];
	snprintf(text, size, "counter_%u", counter);
	return text;
}

static void print_counters(bool json, const __u64 *counters, unsigned int count)
{
	struct json_object *object = json ? json_object_new_object() : NULL;
	char text[32];
	const char *name;
	unsigned int i;

	for (i = 0; i < count; i++) {
		name = counter_name(text, sizeof(text), i);
		if (json)
			json_add_number(object, name, counters[i]);
		else
			printf("%s: %llu\n", name, counters[i]);
	}
	if (json)
		json_print(object);
}

/**
 * cmd_stat() - hbctl stat
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_stat(struct request *request)
{
	enum status status = request_bind(request);
	__u64 counters[COUNTERS_MAX];
	unsigned int count = COUNTERS_MAX;
	int err;

	if (status)
		return status;
	err = hashbelt_stat(request->fd, counters, &count);
	if (err)
		return fail_belt(request, err);
	print_counters(request->json, counters, count);
	return STATUS_DONE;
}
