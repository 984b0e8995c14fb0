// SPDX-License-Identifier: GPL-2.0-only
/* The commands that make, change and show belts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "encoding.h"
#include "info.h"
#include "settings.h"
#include "table.h"

/* The default mode of a belt: only its owner may use it. */
#define MODE_DEFAULT	0600

/**
 * belt_find() - describe the belt that the handle is bound to
 * @request:	the request, with the handle bound to its belt
 * @info:	returned
 *
 * An owner without the right to read the belt finds it in the list of all belts.
 *
 * Return: 0 or a negative errno.
 */
int belt_find(const struct request *request, struct hashbelt_info *info)
{
	int err = hashbelt_info(request->handle, info);

	if (err != -EPERM)
		return err;
	memset(info, 0, sizeof(*info));
	do {
		err = hashbelt_next(request->handle, info);
	} while (!err && strcmp(info->name, request->belt));
	return err == -ENOENT ? -EPERM : err;
}

/* Prints the settings of a belt after it was created or set. */
static enum status print_result(const struct request *request)
{
	struct hashbelt_info info;
	int err;

	if (!request->json)
		return STATUS_DONE;
	err = belt_find(request, &info);
	if (err)
		return fail_call(request, HASHBELT_CALL_INFO, err);
	info_print_json(&info, NULL);
	return STATUS_DONE;
}

/* Whether the descriptor may write. If not, that is why a belt was not made, or not set. */
static bool may_write(const struct request *request)
{
	return (fcntl(hashbelt_fd(request->handle), F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* Why a belt was not made, or not set. */
static enum status fail_settings(const struct request *request, const struct settings *settings,
				 enum hashbelt_call call, int err)
{
	if (err == -EPERM && settings->belt.fields & HASHBELT_SET_GID && may_write(request))
		return fail(STATUS_REACH,
			    "%s --group: belt '%s' must be yours, and you in that group, unless you are root",
			    request->command->name, request->belt);
	return fail_call(request, call, err);
}

/* Whether a belt with these settings would wipe, and have a window. @bytes: of its present one. */
static bool has_wiped_window(const struct settings *settings, __u64 bytes)
{
	if (settings->belt.fields & HASHBELT_SET_WINDOW)
		bytes = settings->belt.window_bytes;
	return bytes && settings->belt.policy & HASHBELT_WIPE;
}

static enum status fail_wiped_window(const struct request *request)
{
	return fail_usage(request,
			  "belt '%s' cannot wipe and have a window, which readers copy: '--window off' or '--wipe no'",
			  request->belt);
}

/**
 * belt_create() - make the request's belt, and bind to it
 * @request:	the request, with the device open
 * @settings:	of the belt; without a mode only its owner may use it
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status belt_create(const struct request *request, struct settings *settings)
{
	int err;

	if (has_wiped_window(settings, 0))
		return fail_wiped_window(request);
	if (!(settings->belt.fields & HASHBELT_SET_MODE))
		settings->belt.mode = MODE_DEFAULT;
	settings->belt.fields &= HASHBELT_SET_GID;
	err = hashbelt_create(request->handle, request->belt, &settings->belt);
	return err ? fail_settings(request, settings, HASHBELT_CALL_CREATE, err) : STATUS_DONE;
}

/* Whether the caller owns the belt, and the descriptor may write: SET lacks no other right. */
static bool may_set(const struct request *request, const struct hashbelt_info *info)
{
	return info->access & HASHBELT_MAY_OWN && may_write(request);
}

static enum status fail_set(const struct request *request, const struct hashbelt_info *info,
			    const struct settings *settings, int err)
{
	if (err == -EPERM && settings->belt.policy & HASHBELT_PINNED &&
	    !(settings->belt.fields & HASHBELT_SET_GID) && may_set(request, info))
		return fail(STATUS_REACH,
			    "belt '%s' was created without --pinned, and only root can pin it now: create it with --pinned",
			    request->belt);
	return fail_settings(request, settings, HASHBELT_CALL_SET, err);
}

/**
 * belt_set() - change settings of the request's belt
 * @request:	the request, with the handle bound to its belt
 * @info:	the belt as it is
 * @settings:	the settings to change
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status belt_set(const struct request *request, const struct hashbelt_info *info,
		     struct settings *settings)
{
	int err;

	/* The kernel sets the policy as a whole. */
	settings->belt.policy |= info->policy & ~settings->policy;
	if (has_wiped_window(settings, info->window_bytes))
		return fail_wiped_window(request);
	err = hashbelt_set(request->handle, &settings->belt);
	return err ? fail_set(request, info, settings, err) : STATUS_DONE;
}

/**
 * cmd_create() - hbctl create
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_create(struct request *request)
{
	struct settings settings;
	enum status status;

	status = settings_take(request, &settings);
	if (!status)
		status = request_open(request);
	if (!status)
		status = belt_create(request, &settings);
	return status ? status : print_result(request);
}

/**
 * cmd_set() - hbctl set
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_set(struct request *request)
{
	struct settings settings;
	struct hashbelt_info info;
	enum status status;
	int err;

	status = settings_take(request, &settings);
	if (!status && !settings.belt.fields)
		status = fail_usage(request, "no setting is given");
	if (!status)
		status = request_bind(request);
	if (status)
		return status;
	err = belt_find(request, &info);
	if (err)
		return fail_belt(request, err);
	status = belt_set(request, &info, &settings);
	return status ? status : print_result(request);
}

/**
 * belts_read() - describe all belts that the caller may use
 * @handle:	the handle
 * @infos:	NULL; returned, after an error as well: an array of them, to be freed
 *		with free(3)
 * @count:	returned: their number
 *
 * Return: 0 or a negative errno.
 */
int belts_read(struct hashbelt *handle, struct hashbelt_info **infos, size_t *count)
{
	struct hashbelt_info info = { 0 }, *more;
	size_t room = 0;
	int err;

	for (*count = 0; !(err = hashbelt_next(handle, &info)); ++*count) {
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

/* @table: NULL for JSON. */
static enum status list_belts(const struct request *request, struct table *table)
{
	struct hashbelt_info *infos = NULL;
	enum status status = STATUS_DONE;
	size_t count, i;
	int err;

	err = belts_read(request->handle, &infos, &count);
	if (err)
		status = fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err));
	for (i = 0; !err && i < count; i++) {
		if (table)
			table_add(table, &infos[i]);
		else
			info_print_json(&infos[i], NULL);
	}
	if (table && !err)
		table_print(table, stdout);
	free(infos);
	return status;
}

/**
 * cmd_belts() - hbctl belts
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_belts(struct request *request)
{
	struct table *table;
	enum status status;

	status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = request_open(request);
	if (!status)
		status = list_belts(request, table);
	table_end(table);
	return status;
}

/*
 * Whether a name can stand on a terminal as it is: it has no byte that escape_print() writes as
 * another one, but backslashes.
 */
static bool is_printable(const char *name)
{
	size_t len = strlen(name), size, i;
	bool printable = is_utf8(name, len);
	FILE *file;
	char *text;

	file = open_memstream(&text, &size);
	if (!file)
		return false;
	escape_print(file, name, len);
	if (fclose(file))
		return false;
	for (i = 0; text[i]; i++)
		if (text[i] == '\\' && text[++i] != '\\')
			printable = false;
	free(text);
	return printable;
}

/**
 * belts_print_names() - print the names of belts as they are, one in each line
 * @request:	the request
 *
 * For the scripts of completion, which write them to a terminal, and cannot undo an escape: a name
 * that has to be escaped there is left out.
 *
 * Return: the exit status.
 */
enum status belts_print_names(struct request *request)
{
	struct hashbelt_info *infos = NULL;
	enum status status;
	size_t count, i;
	int err;

	/* The tab key does not wait for a reload of the module. */
	if (!access(HASHBELT_RELOADING, F_OK))
		return STATUS_REACH;
	status = request_open(request);
	if (status)
		return status;
	err = belts_read(request->handle, &infos, &count);
	if (err)
		status = fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err));
	for (i = 0; !err && i < count; i++)
		if (is_printable(infos[i].name))
			puts(infos[i].name);
	free(infos);
	return status;
}

/* The belt as a list of its fields. */
static enum status describe(struct request *request)
{
	enum status status = request_bind(request);
	struct buckets buckets = { 0 };
	struct hashbelt_info info;
	int err;

	if (status)
		return status;
	err = hashbelt_info(request->handle, &info);
	if (!err)
		err = buckets_read(&buckets, request->handle, &info);
	if (err)
		status = fail_belt(request, err);
	else if (request->json)
		info_print_json(&info, &buckets);
	else
		info_print(&info, &buckets);
	buckets_free(&buckets);
	return status;
}

/* The belt as a row of a table. */
static enum status print_row(struct request *request, struct table *table)
{
	enum status status = request_bind(request);
	struct hashbelt_info info;
	int err;

	if (status)
		return status;
	err = hashbelt_info(request->handle, &info);
	if (err)
		return fail_belt(request, err);
	table_add(table, &info);
	table_print(table, stdout);
	return STATUS_DONE;
}

/**
 * cmd_info() - hbctl info
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_info(struct request *request)
{
	struct table *table;
	enum status status;

	status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = table_is_asked(request) ? print_row(request, table) : describe(request);
	table_end(table);
	return status;
}
