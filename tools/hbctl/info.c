// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "encoding.h"
#include "info.h"
#include "output.h"
#include "settings.h"

/* Columns of the table of belts, and space for the text of one. */
#define COLUMNS		10
#define CELL_SIZE	(HASHBELT_NAME_SIZE + 1)

/* Space for the value of a field. */
#define LINE_SIZE	160

static void print_field(const char *name, const char *value)
{
	int width = 13 - (int)strlen(name);

	printf("%s:%*s%s\n", name, width, "", value);
}

static void print_number(const char *name, __u64 number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", number);
	print_field(name, text);
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
	duration_format_ns(text, info->wake_ns - info->now_ns);
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

static void print_memory(const struct hashbelt_info *info)
{
	char text[DURATION_SIZE], line[LINE_SIZE];

	snprintf(line, sizeof(line), "%s (%llu bytes)", size_format(text, info->bytes),
		 info->bytes);
	print_field("memory", line);
}

static void print_policy(const struct hashbelt_info *info)
{
	char line[LINE_SIZE];

	snprintf(line, sizeof(line), "%s: get %s the time-to-live, put %s",
		 policy_name(info->policy),
		 info->policy & HASHBELT_REFRESH_ON_GET ? "renews" : "does not renew",
		 info->policy & HASHBELT_KEEP_ON_PUT ? "keeps a present entry" : "replaces");
	print_field("policy", line);
}

/* A limit, and how much of it is used. */
static void print_limit(const char *name, const char *used, const char *most)
{
	char line[LINE_SIZE];

	snprintf(line, sizeof(line), "%s, %s used", most, used);
	print_field(name, line);
}

static void print_limits(const struct hashbelt_info *info)
{
	char used[DURATION_SIZE], most[DURATION_SIZE];

	snprintf(used, sizeof(used), "%llu", info->used_entries);
	snprintf(most, sizeof(most), "%llu", info->max_entries);
	print_limit("max entries", used, info->max_entries ? most : "none");
	size_format(used, info->used_bytes);
	size_format(most, info->max_bytes);
	print_limit("max bytes", used, info->max_bytes ? most : "none");
	print_field("when full", info->policy & HASHBELT_EVICT ?
		    "evict: the entry nearest its deadline goes" :
		    "reject: a put of a new key fails");
	print_field("pinned", info->policy & HASHBELT_PINNED ?
		    "yes: the system short of memory takes nothing" : "no");
	print_field("wipe", info->policy & HASHBELT_WIPE ?
		    "yes: keys and values are overwritten when freed" : "no");
}

static void print_handler(const struct hashbelt_info *info)
{
	char line[LINE_SIZE];
	int len;
	__u32 i;

	len = snprintf(line, sizeof(line), "%s", handler_name(info->handler));
	if (info->handler != HASHBELT_DROP)
		len += snprintf(line + len, sizeof(line) - len, ": reports");
	for (i = HASHBELT_EXPIRED; i <= HASHBELT_RELEASED; i++)
		if (info->handler != HASHBELT_DROP && info->reasons & HASHBELT_REPORT(i))
			len += snprintf(line + len, sizeof(line) - len, " %s",
					reason_name(i));
	print_field("on expire", line);
}

static void print_queue(const struct hashbelt_info *info)
{
	char text[DURATION_SIZE], line[LINE_SIZE];

	snprintf(line, sizeof(line), "%llu queued (%s), %llu in flight, newest is %llu",
		 info->queued, size_format(text, info->queued_bytes), info->in_flight,
		 info->sequence);
	print_field("events", line);
	snprintf(line, sizeof(line), "%llu", info->max_events);
	print_field("max events", info->max_events == ~0ULL ? "none" : line);
	if (info->state & HASHBELT_OWNER_CONSUMES)
		print_field("consumers", "owner: other readers take no events");
}

/**
 * info_print() - describe a belt to people
 * @info:	the belt
 * @buckets:	the counts of its buckets; NULL: do not draw them
 */
void info_print(const struct hashbelt_info *info, const struct buckets *buckets)
{
	char text[DURATION_SIZE];

	print_name(info);
	print_number("id", info->id);
	print_number("entries", info->entries);
	print_number("locks", info->locks);
	print_number("requests", info->requests);
	print_memory(info);
	print_field("ttl", duration_format(text, info->ttl_ms));
	print_field("grace", info->grace_ms ? duration_format(text, info->grace_ms) : "none");
	print_field("interval", duration_format_ns(text, info->interval_ns));
	print_number("buckets", info->buckets);
	print_number("levels", info->levels);
	print_policy(info);
	print_limits(info);
	print_handler(info);
	print_queue(info);
	print_field("belt time", duration_format_ns(text, info->now_ns));
	print_field("clock", info->state & HASHBELT_HALTED ? "halted" : "running");
	print_worker(info);
	print_index(info);
	print_rights(info);
	if (buckets)
		buckets_print(buckets, info);
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

static void json_add_reasons(struct json_object *object, __u32 reasons)
{
	struct json_object *array = json_object_new_array();
	__u32 i;

	json_add(object, "report", array);
	for (i = HASHBELT_EXPIRED; i <= HASHBELT_RELEASED; i++)
		if (reasons & HASHBELT_REPORT(i))
			json_object_array_add(array,
					      json_object_new_string(reason_name(i)));
}

static void json_add_settings(struct json_object *object,
			      const struct hashbelt_info *info)
{
	json_add_word(object, "when_full",
		      info->policy & HASHBELT_EVICT ? "evict" : "reject");
	json_add_bool(object, "pinned", info->policy & HASHBELT_PINNED);
	json_add_bool(object, "wipe", info->policy & HASHBELT_WIPE);
	json_add_word(object, "on_expire", handler_name(info->handler));
	json_add_reasons(object, info->reasons);
	json_add_unless(object, "max_entries", info->max_entries, 0);
	json_add_unless(object, "max_bytes", info->max_bytes, 0);
	json_add_unless(object, "max_events", info->max_events, ~0ULL);
	if (info->state & HASHBELT_OWNER_CONSUMES)
		json_add_word(object, "consumers", "owner");
	json_add_number(object, "grace_ms", info->grace_ms);
}

static void json_add_queue(struct json_object *object, const struct hashbelt_info *info)
{
	json_add_number(object, "locks", info->locks);
	json_add_number(object, "requests", info->requests);
	json_add_number(object, "used_entries", info->used_entries);
	json_add_number(object, "used_bytes", info->used_bytes);
	json_add_number(object, "queued", info->queued);
	json_add_number(object, "queued_bytes", info->queued_bytes);
	json_add_number(object, "in_flight", info->in_flight);
	json_add_number(object, "sequence", info->sequence);
	json_add_number(object, "id", info->id);
}

/**
 * info_print_json() - describe a belt to programs
 * @info:	the belt
 * @buckets:	the counts of its buckets; NULL: without
 */
void info_print_json(const struct hashbelt_info *info, const struct buckets *buckets)
{
	struct json_object *object = json_begin();
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", info->mode & 07777);
	json_add_bytes(object, "name", info->name, strnlen(info->name, sizeof(info->name)));
	json_add_number(object, "entries", info->entries);
	json_add_number(object, "bytes", info->bytes);
	json_add_ttl(object, info->ttl_ms);
	json_add_number(object, "interval_ns", info->interval_ns);
	json_add_number(object, "buckets", info->buckets);
	json_add_number(object, "levels", info->levels);
	json_add_word(object, "policy", policy_name(info->policy));
	json_add_bool(object, "refresh_on_get", info->policy & HASHBELT_REFRESH_ON_GET);
	json_add_bool(object, "keep_on_put", info->policy & HASHBELT_KEEP_ON_PUT);
	json_add_number(object, "now_ns", info->now_ns);
	json_add_bool(object, "halted", info->state & HASHBELT_HALTED);
	json_add_unless(object, "wake_ns", info->wake_ns, HASHBELT_TTL_NEVER);
	json_add_number(object, "table", info->table);
	json_add_word(object, "mode", mode);
	json_add_number(object, "uid", info->uid);
	json_add_number(object, "gid", info->gid);
	json_add_access(object, info->access);
	json_add_settings(object, info);
	json_add_queue(object, info);
	if (buckets)
		json_add_numbers(object, "bucket_entries", buckets->counts, buckets->count);
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
	if (info->handler == HASHBELT_DROP && !info->queued)
		strcpy(row[9], "-");
	else
		snprintf(row[9], CELL_SIZE, "%llu", info->queued);
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
		"CLOCK", "EVENTS",
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
