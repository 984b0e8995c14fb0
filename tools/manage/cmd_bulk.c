// SPDX-License-Identifier: GPL-2.0-only
/* The commands on many entries: keys, dump, load. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "encoding.h"
#include "json.h"
#include "line.h"
#include "load.h"
#include "settings.h"
#include "table.h"
#include "value.h"
#include "walk.h"

static void print_key(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_record *record = row;

	(void)column;
	escape_print(cell, hashbelt_record_key(record), record->key_len);
}

#define FIELD(name)	offsetof(struct hashbelt_record, name)
#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of keys. */
const struct table_column keys_columns[] = {
	{ "KEY", TABLE_DEFAULT | TABLE_TEXT, "key", print_key, 0 },
	{ "SIZE", SHOWN_NUMBER, "length of the value, bytes", table_word, FIELD(value_len) },
	{ "TTL", SHOWN_NUMBER, "time left", table_duration, FIELD(ttl_ms) },
	{ "VERSION", SHOWN_NUMBER, "version", table_number, FIELD(version) },
	{ "FLAGS", SHOWN_NUMBER, "32 bits of the user's own", table_word, FIELD(flags) },
	{ 0 },
};

/* @arg: the table; NULL for lines. */
static int walk_key(struct request *request, const struct hashbelt_record *record,
		    void *arg)
{
	if (arg)
		table_add(arg, record);
	else
		record_print(request, record);
	return 0;
}

static enum status list_keys(struct request *request, struct table *table)
{
	struct key prefix = { .bytes = "" };
	enum status status = STATUS_DONE;

	if (request->count && *request->operands[0])
		status = request_key(request, 0, &prefix);
	if (!status)
		status = request_bind(request);
	if (!status)
		status = walk(request, &prefix, stdout, walk_key, table);
	if (!status && table)
		table_print(table, stdout);
	return status;
}

/**
 * cmd_keys() - hbctl keys
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_keys(struct request *request)
{
	enum status status = STATUS_DONE;
	struct table *table = NULL;

	if (table_is_asked(request))
		status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = list_keys(request, table);
	table_end(table);
	return status;
}

static void print_line_json(const struct hashbelt_record *record,
			    const struct value *value,
			    const struct hashbelt_item *item, __u64 now)
{
	__u64 ttl = item->ttl_ms, never = HASHBELT_TTL_NEVER;
	struct json object;

	object = json_entry(hashbelt_record_key(record), record->key_len);
	json_add_number(&object, "version", item->version);
	json_add_number(&object, "flags", item->flags);
	json_add_ttl(&object, ttl);
	if (now)
		json_add_unless(&object, "expires_ms", ttl == never ? never : now + ttl, never);
	json_add_number(&object, "value_len", value->len);
	json_add_bytes(&object, "value", value->bytes, value->len);
	json_end(object);
}

/* @arg is a struct value, to be used again for each. */
static int walk_value(struct request *request, const struct hashbelt_record *record,
		      void *arg)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };
	__u64 now = request_option(request, "absolute") ? wall_ms() : 0;
	struct value *value = arg;
	int err;

	err = value_get(value, request->handle, hashbelt_record_key(record), record->key_len,
			&item);
	if (err)
		return err == -ENOENT ? 0 : err;	/* it went meanwhile */
	if (request->json)
		print_line_json(record, value, &item, now);
	else
		line_print(stdout, record, value, &item, now);
	return 0;
}

static enum status dump_settings(const struct request *request)
{
	struct hashbelt_info info;
	int err = hashbelt_info(request->handle, &info);

	if (err)
		return fail_call(request, HASHBELT_CALL_INFO, err);
	settings_print(stdout, &info);
	return STATUS_DONE;
}

/**
 * cmd_dump() - hbctl dump
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_dump(struct request *request)
{
	bool with_settings = request_option(request, "settings");
	struct key prefix = { .bytes = "" };
	struct value value = { 0 };
	enum status status;

	if (with_settings && request->json)
		return fail_usage(request,
				  "--settings is for load, which reads no JSON: 'hbctl info --json' prints settings");
	status = request_bind(request);
	if (!status && with_settings)
		status = dump_settings(request);
	if (!status)
		status = walk(request, &prefix, stdout, walk_value, &value);
	value_free(&value);
	return status;
}

static enum status report(const struct load *load)
{
	struct json object;

	if (load->request->json) {
		object = json_begin(stdout);
		json_add_number(&object, "loaded", load->loaded);
		json_add_number(&object, "kept", load->kept);
		json_add_number(&object, "expired", load->expired);
		if (load->refused)
			json_add_number(&object, "refused", load->refused);
		json_end(object);
	}
	if (load->refused)
		return load_refused(load, STATUS_ERROR);
	if (load->kept)
		return fail(STATUS_NO,
			    "belt '%s' keeps present entries: %llu of %llu were not put",
			    load->request->belt, load->kept, load->kept + load->loaded);
	return STATUS_DONE;
}

/*
 * Makes the missing belt, if the first line has settings. With an owner that is demanded, only the
 * caller's own. @err: why it was not bound.
 */
static enum status make_belt(struct load *load, int err, enum text_line_end end)
{
	const struct text_line *first = &load->lines[0];
	struct request *request = load->request;
	struct settings settings;
	enum status status;

	if (err != -ENOENT || end != TEXT_LINE_WHOLE ||
	    !line_is(first->text, first->len, SETTINGS_MARK) ||
	    (request->owned && request->owner != geteuid()))
		return fail_bind(request, err);
	fail_at(load->name, load->number);
	status = settings_parse(request, first->text, &settings);
	fail_at(NULL, 0);
	return status ? STATUS_ERROR : belt_create(request, &settings);
}

static enum status put_lines(struct load *load)
{
	enum text_line_end end;
	enum status status;
	int err;

	status = request_try_bind(load->request, &err);
	if (status)
		return status;
	end = load_read(load);
	/* A first line that is wrong is told first. */
	if (err && (end == TEXT_LINE_WHOLE || end == TEXT_LINE_NONE))
		status = make_belt(load, err, end);
	return status ? status : load_lines(load, end);
}

static enum status do_load(struct load *load)
{
	enum status status;
	struct stat stat;
	__u64 size = 0;

	if (!fstat(fileno(load->file), &stat) && S_ISREG(stat.st_mode))
		size = stat.st_size;
	progress_begin(&load->progress, size);
	status = put_lines(load);
	if (!status)
		progress_end(&load->progress, load->loaded);
	load_free(load);
	return status ? status : report(load);
}

/**
 * cmd_load() - hbctl load
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_load(struct request *request)
{
	bool from_stdin = !request->count || !strcmp(request->operands[0], "-");
	struct load *load;
	enum status status;

	if (from_stdin && request_stdin(request))
		return STATUS_USAGE;
	load = calloc(1, sizeof(*load));
	if (!load)
		return fail(STATUS_ERROR, "out of memory");
	load->request = request;
	load->name = from_stdin ? "stdin" : request->operands[0];
	load->file = from_stdin ? stdin : fopen(load->name, "re");
	if (load->file)
		status = do_load(load);
	else
		status = fail(STATUS_ERROR, "cannot open %s: %s", load->name,
			      strerror(errno));
	if (load->file && !from_stdin)
		fclose(load->file);
	free(load);
	return status;
}
