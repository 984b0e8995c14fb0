// SPDX-License-Identifier: GPL-2.0-only
/* The commands on many entries: keys, dump, load. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "duration.h"
#include "encoding.h"
#include "output.h"
#include "progress.h"
#include "settings.h"
#include "table.h"
#include "value.h"
#include "walk.h"
#include "words.h"

/* Lines that are put in one call, and bytes of them that are enough for one. */
#define BATCH		256
#define BATCH_BYTES	(4 * 1024 * 1024)

/* Digits of a deadline in seconds: 30,000 years. */
#define DEADLINE_DIGITS	12

/* A line's memory above this is given back after its batch. */
#define KEEP_BYTES	(64 * 1024)

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
		status = walk(request, &prefix, walk_key, table);
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

/* The machine's clock, milliseconds since 1970. */
static __u64 clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

/* A line for load; the flags only where there are any. @now: 0 for the time left. */
static void print_line(const struct hashbelt_record *record, const struct value *value,
		       const struct hashbelt_item *item, __u64 now)
{
	__u64 deadline = now + item->ttl_ms;

	escape_print(stdout, hashbelt_record_key(record), record->key_len);
	putchar('\t');
	escape_print(stdout, value->bytes, value->len);
	if (item->ttl_ms == HASHBELT_TTL_NEVER)
		printf("\tnever");
	else if (now)
		printf("\t@%llu.%03llu", deadline / 1000, deadline % 1000);
	else
		printf("\t%llums", item->ttl_ms);
	if (item->flags)
		printf("\t%u", item->flags);
	putchar('\n');
}

static void print_line_json(const struct hashbelt_record *record,
			    const struct value *value,
			    const struct hashbelt_item *item, __u64 now)
{
	__u64 ttl = item->ttl_ms, never = HASHBELT_TTL_NEVER;
	struct json_object *object;

	object = json_entry(hashbelt_record_key(record), record->key_len);
	json_add_number(object, "version", item->version);
	json_add_number(object, "flags", item->flags);
	json_add_ttl(object, ttl);
	if (now)
		json_add_unless(object, "expires_ms", ttl == never ? never : now + ttl, never);
	json_add_number(object, "value_len", value->len);
	json_add_bytes(object, "value", value->bytes, value->len);
	json_print(object);
}

/* @arg is a struct value, to be used again for each. */
static int walk_value(struct request *request, const struct hashbelt_record *record,
		      void *arg)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_REFRESH };
	__u64 now = request_option(request, "absolute") ? clock_ms() : 0;
	struct value *value = arg;
	int err;

	err = value_get(value, request->handle, hashbelt_record_key(record), record->key_len,
			&item);
	if (err)
		return err == -ENOENT ? 0 : err;	/* it went meanwhile */
	if (request->json)
		print_line_json(record, value, &item, now);
	else
		print_line(record, value, &item, now);
	return 0;
}

static enum status dump_settings(const struct request *request)
{
	struct hashbelt_info info;
	int err = hashbelt_info(request->handle, &info);

	if (err)
		return fail_call(request, HASHBELT_CALL_INFO, err);
	settings_print(&info);
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
		status = walk(request, &prefix, walk_value, &value);
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
 * @expired:	entries not put, because their deadline has passed
 * @refused:	entries not put, because there was no room
 * @first:	the number of the first line that was refused
 * @why:	why it was, as a sentence
 * @cause:	the same as an errno
 * @progress:	by the bytes that were read
 * @lines:	the lines that wait
 * @numbers:	their numbers
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
	__u64 expired;
	__u64 refused;
	unsigned long first;
	char why[HASHBELT_ERROR_SIZE];
	int cause;
	struct progress progress;
	struct line lines[BATCH];
	unsigned long numbers[BATCH];
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

/* A deadline by the machine's clock, seconds since 1970. @ttl_ms: 0 if it has passed. */
static const char *parse_deadline(const char *text, __u64 *ttl_ms)
{
	size_t len = strspn(text, "0123456789"), decimals = 0;
	__u64 deadline, now = clock_ms();

	if (text[len] == '.')
		decimals = strspn(text + len + 1, "0123456789");
	if (!len || len > DEADLINE_DIGITS || (text[len] && (decimals != 3 || text[len + 4])))
		return "the third field is no deadline as @1750000000.000, seconds since 1970";
	deadline = strtoull(text, NULL, 10) * 1000;
	if (decimals)
		deadline += strtoull(text + len + 1, NULL, 10);
	*ttl_ms = deadline > now ? deadline - now : 0;
	if (*ttl_ms > HASHBELT_TTL_MAX_MS)
		return "the deadline in the third field is more than 139 years from now";
	return NULL;
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

/* Reads the fields behind the value. @item: without an operation if its deadline has passed. */
static const char *parse_rest(char *line, size_t left, struct hashbelt_item *item)
{
	const char *wrong = NULL;
	size_t size;
	char *text;

	text = take_field(&line, &left, &size);
	if (text && *text == '@') {
		wrong = parse_deadline(text + 1, &item->ttl_ms);
		if (!item->ttl_ms)
			item->op = 0;
	} else if (text) {
		wrong = parse_ttl(text, &item->ttl_ms);
	}
	text = take_field(&line, &left, &size);
	if (text && !wrong)
		wrong = parse_flags(text, &item->flags);
	return line && !wrong ? "there are more than four fields" : wrong;
}

/* Makes an item of a line, which is changed. Returns the error, or NULL. */
static const char *parse_line(char *line, size_t left, struct hashbelt_item *item)
{
	size_t key_size, value_size;
	ssize_t key_len, value_len;
	char *key, *value;

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
	return parse_rest(line, left, item);
}

/* There is no room for an entry. The next one may be smaller, or replace another. */
static void note_refused(struct load *load, unsigned int i)
{
	if (load->refused++)
		return;
	load->first = load->numbers[i];
	load->cause = load->items[i].result;
	hashbelt_strerror(load->request->handle, load->items[i].result, HASHBELT_CALL_BATCH,
			  load->request->belt, load->why, sizeof(load->why));
}

/* Counts the results of a batch, of which @done items were tried. Reports the first error. */
static enum status count_results(struct load *load, unsigned int done)
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
		} else if (item->result == -ENOSPC || item->result == -EDQUOT) {
			note_refused(load, i);
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
	status = count_results(load, done);
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
	return line_trim(line->text, len);
}

/* A line of an entry has a tab, one of settings has none. */
static bool is_settings(const char *text, size_t len)
{
	return !strncmp(text, SETTINGS_MARK, strlen(SETTINGS_MARK)) && !memchr(text, '\t', len);
}

/* Adds the line that was read last to those that wait to be put. */
static enum status add_line(struct load *load, size_t len)
{
	struct hashbelt_item *item = &load->items[load->count];
	char *text = load->lines[load->count].text;
	enum status status;
	const char *wrong;

	if (load->number == 1 && is_settings(text, len))
		return STATUS_DONE;
	wrong = parse_line(text, len, item);
	if (wrong) {
		status = flush(load);
		return status ? status : fail_line(load, wrong);
	}
	if (!item->op) {
		load->expired++;
		return STATUS_DONE;
	}
	load->numbers[load->count++] = load->number;
	load->bytes += len;
	return load->count == BATCH || load->bytes >= BATCH_BYTES ? flush(load) : STATUS_DONE;
}

static enum status load_lines(struct load *load, ssize_t len)
{
	enum status status = STATUS_DONE;

	for (; !status && len >= 0; len = status ? -1 : read_line(load))
		status = add_line(load, len);
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
		json_add_number(object, "expired", load->expired);
		if (load->refused)
			json_add_number(object, "refused", load->refused);
		json_print(object);
	}
	if (load->refused)
		fail_cause(load->cause);
	if (load->refused > 1)
		return fail(STATUS_ERROR,
			    "%s: %s, line %lu, is the first of %llu lines that were not put",
			    load->why, load->name, load->first, load->refused);
	if (load->refused)
		return fail(STATUS_ERROR, "%s: %s, line %lu, was not put", load->why, load->name,
			    load->first);
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
static enum status make_belt(struct load *load, int err, ssize_t len)
{
	struct request *request = load->request;
	struct settings settings;
	enum status status;

	if (err != -ENOENT || len < 0 || !is_settings(load->lines[0].text, len) ||
	    (request->owned && request->owner != geteuid()))
		return fail_bind(request, err);
	fail_at(load->name, load->number);
	status = settings_parse(request, load->lines[0].text, &settings);
	fail_at(NULL, 0);
	return status ? STATUS_ERROR : belt_create(request, &settings);
}

static enum status put_lines(struct load *load)
{
	enum status status;
	ssize_t len;
	int err;

	status = request_try_bind(load->request, &err);
	if (status)
		return status;
	len = read_line(load);
	if (err)
		status = make_belt(load, err, len);
	return status ? status : load_lines(load, len);
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
	status = put_lines(load);
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
