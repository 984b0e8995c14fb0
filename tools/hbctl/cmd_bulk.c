// SPDX-License-Identifier: GPL-2.0-only
/* The commands on many entries: keys, dump, load. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd.h"
#include "duration.h"
#include "encoding.h"
#include "output.h"
#include "progress.h"
#include "value.h"
#include "walk.h"

/* Lines that are put in one call, and bytes of them that are enough for one. */
#define BATCH		256
#define BATCH_BYTES	(4 * 1024 * 1024)

/* A line's memory above this is given back after its batch. */
#define KEEP_BYTES	(64 * 1024)

static int walk_key(struct request *request, const struct hashbelt_record *record,
		    void *arg)
{
	(void)arg;
	record_print(request, record);
	return 0;
}

/**
 * cmd_keys() - hbctl keys
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_keys(struct request *request)
{
	struct key prefix = { .bytes = "" };
	enum status status = STATUS_DONE;

	if (request->count && *request->operands[0])
		status = request_key(request, 0, &prefix);
	if (!status)
		status = request_bind(request);
	return status ? status : walk(request, &prefix, walk_key, NULL);
}

/* A line for load; the flags only where there are any. */
static void print_line(const struct hashbelt_record *record, const struct value *value,
		       const struct hashbelt_item *item)
{
	char text[DURATION_SIZE];

	escape_print(stdout, hashbelt_record_key(record), record->key_len);
	putchar('\t');
	escape_print(stdout, value->bytes, value->len);
	if (item->ttl_ms == HASHBELT_TTL_NEVER)
		snprintf(text, sizeof(text), "never");
	else
		snprintf(text, sizeof(text), "%llums", item->ttl_ms);
	printf("\t%s", text);
	if (item->flags)
		printf("\t%u", item->flags);
	putchar('\n');
}

static void print_line_json(const struct hashbelt_record *record,
			    const struct value *value,
			    const struct hashbelt_item *item)
{
	struct json_object *object;

	object = json_entry(hashbelt_record_key(record), record->key_len);
	json_add_number(object, "version", item->version);
	json_add_number(object, "flags", item->flags);
	json_add_ttl(object, item->ttl_ms);
	json_add_number(object, "value_len", value->len);
	json_add_bytes(object, "value", value->bytes, value->len);
	json_print(object);
}

/* @arg is a struct value, to be used again for each. */
static int walk_value(struct request *request, const struct hashbelt_record *record,
		      void *arg)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };
	struct value *value = arg;
	int err;

	err = value_get(value, request->handle, hashbelt_record_key(record), record->key_len,
			&item);
	if (err)
		return err == -ENOENT ? 0 : err;	/* it went meanwhile */
	if (request->json)
		print_line_json(record, value, &item);
	else
		print_line(record, value, &item);
	return 0;
}

/**
 * cmd_dump() - hbctl dump
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_dump(struct request *request)
{
	struct key prefix = { .bytes = "" };
	struct value value = { 0 };
	enum status status;

	status = request_bind(request);
	if (status)
		return status;
	if (request_option(request, "values"))
		status = walk(request, &prefix, walk_value, &value);
	else
		status = walk(request, &prefix, walk_key, NULL);
	value_free(&value);
	return status;
}

/**
 * struct line - a line of the input of load
 * @text:	from getline(3), unescaped in place
 * @room:	its size
 */
struct line {
	char *text;
	size_t room;
};

/**
 * struct load - a load that goes on
 * @request:	the request
 * @file:	where lines come from
 * @name:	its name
 * @read:	bytes read
 * @number:	of the line read last
 * @count:	lines that wait to be put
 * @bytes:	their length
 * @loaded:	entries put
 * @kept:	entries not put, because the belt keeps present entries
 * @progress:	by the bytes that were read
 * @lines:	the lines that wait
 * @items:	their items
 */
struct load {
	struct request *request;
	FILE *file;
	const char *name;
	__u64 read;
	unsigned long number;
	unsigned int count;
	size_t bytes;
	__u64 loaded;
	__u64 kept;
	struct progress progress;
	struct line lines[BATCH];
	struct hashbelt_item items[BATCH];
};

/* Reports an error in the line that was read last. */
static enum status fail_line(struct load *load, const char *what)
{
	progress_erase(&load->progress);
	return fail(STATUS_ERROR, "%s, line %lu: %s", load->name, load->number, what);
}

/* Cuts the next field off a line; NULL if there is none left. */
static char *take_field(char **line, size_t *left, size_t *len)
{
	char *field = *line, *tab;

	if (!field)
		return NULL;
	tab = memchr(field, '\t', *left);
	*len = tab ? (size_t)(tab - field) : *left;
	*line = tab ? tab + 1 : NULL;
	*left -= tab ? *len + 1 : *len;
	field[*len] = '\0';
	return field;
}

static const char *parse_ttl(const char *text, __u64 *ttl_ms)
{
	if (!strcmp(text, "never")) {
		*ttl_ms = HASHBELT_TTL_NEVER;
		return NULL;
	}
	if (duration_parse(text, ttl_ms) || !*ttl_ms)
		return "the third field is neither 'never' nor a duration from 1ms to 139 years";
	return NULL;
}

static const char *parse_flags(const char *text, __u32 *flags)
{
	__u64 number;

	if (number_parse(text, &number) || number > ~0U)
		return "the fourth field is not a number of 32 bits";
	*flags = number;
	return NULL;
}

/* Makes an item of a line, which is changed. Returns the error, or NULL. */
static const char *parse_line(char *line, size_t left, struct hashbelt_item *item)
{
	size_t key_size, value_size, size;
	ssize_t key_len, value_len;
	char *key, *value, *text;
	const char *wrong = NULL;

	key = take_field(&line, &left, &key_size);
	value = take_field(&line, &left, &value_size);
	if (!value)
		return "there is no tab between key and value";
	key_len = unescape(key, key_size);
	value_len = unescape(value, value_size);
	if (key_len < 0 || value_len < 0)
		return "a backslash begins none of \\t \\n \\\\ \\xHH";
	if (!key_len || key_len > HASHBELT_KEY_MAX)
		return "the key does not have 1 to 1024 bytes";
	if (value_len > HASHBELT_VALUE_MAX)
		return "the value has more than 1048576 bytes";
	*item = hashbelt_item(HASHBELT_OP_PUT, key, key_len, value, value_len);
	text = take_field(&line, &left, &size);
	if (text)
		wrong = parse_ttl(text, &item->ttl_ms);
	text = take_field(&line, &left, &size);
	if (text && !wrong)
		wrong = parse_flags(text, &item->flags);
	return line && !wrong ? "there are more than four fields" : wrong;
}

/* Goes through the results of a batch, of which @done items were tried. */
static enum status judge(struct load *load, unsigned int done)
{
	enum status status = STATUS_DONE;
	const struct hashbelt_item *item;
	unsigned int i;

	for (i = 0; i < done; i++) {
		item = &load->items[i];
		if (!item->result) {
			load->loaded++;
		} else if (item->result == -EEXIST) {
			load->kept++;
		} else if (!status) {
			progress_erase(&load->progress);
			status = fail_belt(load->request, item->result);
		}
	}
	return status;
}

/* Puts the lines that wait. */
static enum status flush(struct load *load)
{
	enum status status;
	unsigned int done, i;
	int err;

	if (!load->count)
		return STATUS_DONE;
	err = hashbelt_batch(load->request->handle, load->items, load->count, &done);
	status = judge(load, done);
	if (err && !status) {
		progress_erase(&load->progress);
		status = fail_belt(load->request, err);
	}
	for (i = 0; i < load->count; i++) {
		if (load->lines[i].room <= KEEP_BYTES)
			continue;
		free(load->lines[i].text);
		load->lines[i] = (struct line){ 0 };
	}
	load->count = 0;
	load->bytes = 0;
	if (!status)
		progress_step(&load->progress, load->read, load->loaded);
	return status;
}

/* Reads a line to those that wait. Returns its length, -1 at the end. */
static ssize_t read_line(struct load *load)
{
	struct line *line = &load->lines[load->count];
	ssize_t len = getline(&line->text, &line->room, load->file);

	if (len < 0)
		return -1;
	load->read += len;
	load->number++;
	if (len && line->text[len - 1] == '\n')
		line->text[--len] = '\0';
	return len;
}

static enum status load_lines(struct load *load)
{
	enum status status = STATUS_DONE;
	const char *wrong;
	ssize_t len;

	while (!status && (len = read_line(load)) >= 0) {
		wrong = parse_line(load->lines[load->count].text, len,
				   &load->items[load->count]);
		if (wrong) {
			status = flush(load);
			return status ? status : fail_line(load, wrong);
		}
		load->count++;
		load->bytes += len;
		if (load->count == BATCH || load->bytes >= BATCH_BYTES)
			status = flush(load);
	}
	if (!status && ferror(load->file))
		status = fail(STATUS_ERROR, "cannot read %s: %s", load->name,
			      strerror(errno));
	return status ? status : flush(load);
}

static enum status report(const struct load *load)
{
	struct json_object *object;

	if (load->request->json) {
		object = json_object_new_object();
		json_add_number(object, "loaded", load->loaded);
		json_add_number(object, "kept", load->kept);
		json_print(object);
	}
	if (load->kept)
		return fail(STATUS_NO,
			    "belt '%s' keeps present entries: %llu of %llu were not put",
			    load->request->belt, load->kept, load->kept + load->loaded);
	return STATUS_DONE;
}

static enum status do_load(struct load *load)
{
	enum status status;
	struct stat stat;
	__u64 size = 0;
	size_t i;

	if (!fstat(fileno(load->file), &stat) && S_ISREG(stat.st_mode))
		size = stat.st_size;
	progress_begin(&load->progress, size);
	status = load_lines(load);
	if (!status)
		progress_end(&load->progress, load->loaded);
	for (i = 0; i < BATCH; i++)
		free(load->lines[i].text);
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
	struct load *load = calloc(1, sizeof(*load));
	enum status status;

	if (!load)
		return fail(STATUS_ERROR, "out of memory");
	load->request = request;
	load->name = from_stdin ? "stdin" : request->operands[0];
	load->file = from_stdin ? stdin : fopen(load->name, "re");
	if (!load->file) {
		status = fail(STATUS_ERROR, "cannot open %s: %s", load->name,
			      strerror(errno));
	} else {
		status = request_bind(request);
		if (!status)
			status = do_load(load);
		if (!from_stdin)
			fclose(load->file);
	}
	free(load);
	return status;
}
