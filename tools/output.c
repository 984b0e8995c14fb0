// SPDX-License-Identifier: GPL-2.0
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "encoding.h"
#include "output.h"

/* Columns of the table of belts, and space for what stands in one. */
#define COLUMNS		9
#define CELL_SIZE	(HASHBELT_NAME_SIZE + 1)

static void json_add(struct json_object *object, const char *name,
		     struct json_object *value)
{
	if (!value || json_object_object_add(object, name, value))
		exit(fail(STATUS_ERROR, "out of memory"));
}

/**
 * json_add_bytes() - add a string, or what takes the place of one
 * @object:	the object
 * @name:	name of the field
 * @bytes:	what; if that is not UTF-8 it goes into a field of that name and
 *		_base64
 * @len:	how many
 */
void json_add_bytes(struct json_object *object, const char *name, const void *bytes,
		    size_t len)
{
	char long_name[64];
	char *text;

	if (is_utf8(bytes, len)) {
		json_add(object, name, json_object_new_string_len(bytes, len));
		return;
	}
	text = base64_encode(bytes, len);
	if (!text)
		exit(fail(STATUS_ERROR, "out of memory"));
	snprintf(long_name, sizeof(long_name), "%s_base64", name);
	json_add(object, long_name, json_object_new_string(text));
	free(text);
}

/**
 * json_add_number() - add a number
 * @object:	the object
 * @name:	name of the field
 * @number:	the number
 */
void json_add_number(struct json_object *object, const char *name, __u64 number)
{
	json_add(object, name, json_object_new_uint64(number));
}

/**
 * json_add_bool() - add true or false
 * @object:	the object
 * @name:	name of the field
 * @value:	which
 */
void json_add_bool(struct json_object *object, const char *name, int value)
{
	json_add(object, name, json_object_new_boolean(!!value));
}

/**
 * json_add_ttl() - add the time that an entry has left
 * @object:	the object
 * @ttl_ms:	milliseconds, or HASHBELT_TTL_NEVER, which becomes null
 */
void json_add_ttl(struct json_object *object, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		json_object_object_add(object, "ttl_ms", NULL);
	else
		json_add_number(object, "ttl_ms", ttl_ms);
}

/**
 * json_entry() - begin an object about an entry
 * @key:	its key
 * @key_len:	the key's length
 *
 * Return: the object, for json_print().
 */
struct json_object *json_entry(const void *key, size_t key_len)
{
	struct json_object *object = json_object_new_object();

	if (!object)
		exit(fail(STATUS_ERROR, "out of memory"));
	json_add_bytes(object, "key", key, key_len);
	return object;
}

/**
 * json_print() - print an object in a line of its own, and free it
 * @object:	the object
 */
void json_print(struct json_object *object)
{
	const char *text;

	text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		exit(fail(STATUS_ERROR, "out of memory"));
	puts(text);
	json_object_put(object);
}

/**
 * ttl_text() - the time that an entry has left
 * @text:	where, DURATION_SIZE bytes
 * @ttl_ms:	milliseconds, or HASHBELT_TTL_NEVER
 *
 * Return: @text, as --ttl takes it.
 */
const char *ttl_text(char *text, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return strcpy(text, "never");
	return duration_format(text, ttl_ms);
}

/* Nanoseconds as the milliseconds that they are part of. */
static const char *ns_text(char *text, __u64 ns)
{
	return duration_format(text, (ns + 999999) / 1000000);
}

static const char *policy_name(__u32 policy)
{
	switch (policy) {
	case HASHBELT_POLICY_STANDARD:
		return "standard";
	case HASHBELT_POLICY_UPDATING:
		return "updating";
	case HASHBELT_POLICY_TIMECACHE:
		return "timecache";
	default:
		return "mixed";
	}
}

static void print_field(const char *name, const char *value)
{
	int width = 13 - (int)strlen(name);

	printf("%s:%*s%s\n", name, width, "", value);
}

static void print_name(const struct hashbelt_info *info)
{
	printf("name:%*s", 9, "");
	escape_print(stdout, info->name, strnlen(info->name, sizeof(info->name)));
	putchar('\n');
}

static void print_worker(const struct hashbelt_info *info)
{
	char text[DURATION_SIZE], line[DURATION_SIZE + 64];

	if (info->wake_ns == HASHBELT_TTL_NEVER) {
		print_field("worker", "sleeps, nothing is due");
		return;
	}
	if (info->wake_ns <= info->now_ns) {
		print_field("worker", "looks now");
		return;
	}
	ns_text(text, info->wake_ns - info->now_ns);
	snprintf(line, sizeof(line), "looks in %s of belt time", text);
	print_field("worker", line);
}

static void print_index(const struct hashbelt_info *info)
{
	char line[64];

	snprintf(line, sizeof(line), "%llu chains, load %.2f", info->table,
		 info->table ? (double)info->entries / info->table : 0.0);
	print_field("index", line);
}

static void print_rights(const struct hashbelt_info *info)
{
	char line[64];

	snprintf(line, sizeof(line), "%04o", info->mode);
	print_field("mode", line);
	snprintf(line, sizeof(line), "%u:%u", info->uid, info->gid);
	print_field("owner", line);
	snprintf(line, sizeof(line), "%s%s%s",
		 info->access & HASHBELT_MAY_READ ? ", read" : "",
		 info->access & HASHBELT_MAY_WRITE ? ", write" : "",
		 info->access & HASHBELT_MAY_OWN ? ", own" : "");
	print_field("you may", line + strspn(line, ", "));
}

/**
 * info_print() - describe a belt to people
 * @info:	the belt
 */
void info_print(const struct hashbelt_info *info)
{
	char text[DURATION_SIZE], line[128];

	print_name(info);
	snprintf(line, sizeof(line), "%llu", info->entries);
	print_field("entries", line);
	snprintf(line, sizeof(line), "%s (%llu bytes)", size_format(text, info->bytes),
		 info->bytes);
	print_field("memory", line);
	print_field("ttl", duration_format(text, info->ttl_ms));
	print_field("interval", ns_text(text, info->interval_ns));
	snprintf(line, sizeof(line), "%u", info->buckets);
	print_field("buckets", line);
	snprintf(line, sizeof(line), "%u", info->levels);
	print_field("levels", line);
	snprintf(line, sizeof(line), "%s: get %s the time-to-live, put %s",
		 policy_name(info->policy),
		 info->policy & HASHBELT_REFRESH_ON_GET ? "renews" : "does not renew",
		 info->policy & HASHBELT_KEEP_ON_PUT ? "keeps what is there" : "replaces");
	print_field("policy", line);
	print_field("belt time", ns_text(text, info->now_ns));
	print_field("clock", info->state & HASHBELT_HALTED ? "halted" : "running");
	print_worker(info);
	print_index(info);
	print_rights(info);
}

static void json_add_access(struct json_object *object, __u32 access)
{
	static const struct {
		__u32 bit;
		const char *name;
	} rights[] = {
		{ HASHBELT_MAY_READ, "read" },
		{ HASHBELT_MAY_WRITE, "write" },
		{ HASHBELT_MAY_OWN, "own" },
	};
	struct json_object *array = json_object_new_array();
	size_t i;

	json_add(object, "access", array);
	for (i = 0; i < ARRAY_SIZE(rights); i++)
		if (access & rights[i].bit)
			json_object_array_add(array, json_object_new_string(rights[i].name));
}

/**
 * info_print_json() - describe a belt to programs
 * @info:	the belt
 */
void info_print_json(const struct hashbelt_info *info)
{
	struct json_object *object = json_object_new_object();
	char mode[8];

	if (!object)
		exit(fail(STATUS_ERROR, "out of memory"));
	snprintf(mode, sizeof(mode), "%04o", info->mode & 07777);
	json_add_bytes(object, "name", info->name, strnlen(info->name, sizeof(info->name)));
	json_add_number(object, "entries", info->entries);
	json_add_number(object, "bytes", info->bytes);
	json_add_ttl(object, info->ttl_ms);
	json_add_number(object, "interval_ns", info->interval_ns);
	json_add_number(object, "buckets", info->buckets);
	json_add_number(object, "levels", info->levels);
	json_add(object, "policy", json_object_new_string(policy_name(info->policy)));
	json_add_bool(object, "refresh_on_get", info->policy & HASHBELT_REFRESH_ON_GET);
	json_add_bool(object, "keep_on_put", info->policy & HASHBELT_KEEP_ON_PUT);
	json_add_number(object, "now_ns", info->now_ns);
	json_add_bool(object, "halted", info->state & HASHBELT_HALTED);
	if (info->wake_ns == HASHBELT_TTL_NEVER)
		json_object_object_add(object, "wake_ns", NULL);
	else
		json_add_number(object, "wake_ns", info->wake_ns);
	json_add_number(object, "table", info->table);
	json_add(object, "mode", json_object_new_string(mode));
	json_add_number(object, "uid", info->uid);
	json_add_number(object, "gid", info->gid);
	json_add_access(object, info->access);
	json_print(object);
}

/* A row of the table of belts. */
static void fill_row(char row[COLUMNS][CELL_SIZE], const struct hashbelt_info *info)
{
	memcpy(row[0], info->name, HASHBELT_NAME_SIZE);
	snprintf(row[1], CELL_SIZE, "%llu", info->entries);
	size_format(row[2], info->bytes);
	duration_format(row[3], info->ttl_ms);
	snprintf(row[4], CELL_SIZE, "%u", info->buckets);
	snprintf(row[5], CELL_SIZE, "%s", policy_name(info->policy));
	snprintf(row[6], CELL_SIZE, "%04o", info->mode);
	snprintf(row[7], CELL_SIZE, "%u:%u", info->uid, info->gid);
	snprintf(row[8], CELL_SIZE, "%s", info->state & HASHBELT_HALTED ? "halted" : "running");
}

/* Characters of UTF-8 text: every byte but the following ones of each. */
static int text_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

static int column_width(char (*rows)[COLUMNS][CELL_SIZE], size_t count, int column)
{
	int width = 0, cell;
	size_t i;

	for (i = 0; i < count; i++) {
		cell = text_width(rows[i][column]);
		width = cell > width ? cell : width;
	}
	return width;
}

/* Numbers stand to the right, all else to the left, and nothing at the end. */
static void print_row(char row[COLUMNS][CELL_SIZE], const int *width)
{
	int i, space;

	for (i = 0; i < COLUMNS; i++) {
		space = width[i] - text_width(row[i]);
		if (i >= 1 && i <= 4)
			printf("%*s", space, "");
		fputs(row[i], stdout);
		if (i == COLUMNS - 1)
			break;
		printf("%*s", i >= 1 && i <= 4 ? 2 : space + 2, "");
	}
	putchar('\n');
}

/**
 * info_print_table() - list belts to people
 * @infos:	the belts
 * @count:	their number
 */
void info_print_table(const struct hashbelt_info *infos, size_t count)
{
	static const char head[COLUMNS][CELL_SIZE] = {
		"NAME", "ENTRIES", "MEMORY", "TTL", "BUCKETS", "POLICY", "MODE", "OWNER",
		"CLOCK",
	};
	char (*rows)[COLUMNS][CELL_SIZE] = calloc(count + 1, sizeof(*rows));
	int width[COLUMNS], column;
	size_t i;

	if (!rows)
		exit(fail(STATUS_ERROR, "out of memory"));
	memcpy(rows[0], head, sizeof(head));
	for (i = 0; i < count; i++)
		fill_row(rows[i + 1], &infos[i]);
	for (column = 0; column < COLUMNS; column++)
		width[column] = column_width(rows, count + 1, column);
	for (i = 0; i <= count; i++)
		print_row(rows[i], width);
	free(rows);
}
