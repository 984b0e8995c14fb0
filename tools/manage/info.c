// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "encoding.h"
#include "info.h"
#include "settings.h"
#include "table.h"

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

/* The settings that are printed as the options take them. */
static void print_labelled(const struct hashbelt_info *info)
{
	const struct setting *setting = NULL;
	char text[SETTING_SIZE];

	while ((setting = settings_next(setting)))
		if (setting->label)
			print_field(setting->label, settings_text(info, setting, text));
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

static const char *full_text(__u32 policy)
{
	if (!(policy & HASHBELT_EVICT))
		return "reject: a put of a new key fails";
	return "evict: of entries that were not read, the nearest goes";
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
	print_field("when full", full_text(info->policy));
	print_field("pinned", info->policy & HASHBELT_PINNED ?
		    "yes: the system short of memory takes nothing" : "no");
	print_field("wipe", info->policy & HASHBELT_WIPE ?
		    "yes: keys and values are overwritten when freed" : "no");
}

static void print_window(const struct hashbelt_info *info)
{
	char size[SETTING_SIZE], line[LINE_SIZE];

	settings_text(info, settings_find("window"), size);
	snprintf(line, sizeof(line), "%s, %u of %zu slots used", size, info->window_used,
		 info->window_bytes / sizeof(struct hashbelt_window_slot));
	print_field("window", info->window_bytes ? line : size);
}

static void print_handler(const struct hashbelt_info *info)
{
	char line[LINE_SIZE];
	int len;
	__u32 i;

	len = strlen(settings_text(info, settings_find("on-expire"), line));
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
	print_labelled(info);
	print_field("interval", duration_format_ns(text, info->interval_ns));
	print_number("buckets", info->buckets);
	print_number("levels", info->levels);
	print_policy(info);
	print_limits(info);
	print_window(info);
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

static void json_add_access(struct json *object, __u32 access)
{
	static const struct {
		__u32 bit;
		const char *name;
	} rights[] = {
		{ HASHBELT_MAY_READ, "read" },
		{ HASHBELT_MAY_WRITE, "write" },
		{ HASHBELT_MAY_OWN, "own" },
	};
	size_t i;

	json_begin_array(object, "access");
	for (i = 0; i < ARRAY_SIZE(rights); i++)
		if (access & rights[i].bit)
			json_element_word(object, rights[i].name);
	json_end_array(object);
}

/* Most settings have a fixed place, so that the order of the fields stays. Others follow. */
static void json_add_settings(struct json *object, const struct hashbelt_info *info, __u64 *added)
{
	static const char * const names[] = {
		"when-full", "pinned", "wipe", "on-expire", "report",
		"max-entries", "max-bytes", "max-events", "consumers", NULL,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		settings_json(info, names[i], object, added);
}

static void json_add_queue(struct json *object, const struct hashbelt_info *info)
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
	json_add_number(object, "window_used", info->window_used);
}

/**
 * info_print_json() - describe a belt to programs
 * @info:	the belt
 * @buckets:	the counts of its buckets; NULL: without
 */
void info_print_json(const struct hashbelt_info *info, const struct buckets *buckets)
{
	struct json object = json_begin(stdout);
	__u64 added = 0;

	json_add_bytes(&object, "name", info->name, strnlen(info->name, sizeof(info->name)));
	json_add_number(&object, "entries", info->entries);
	json_add_number(&object, "bytes", info->bytes);
	settings_json(info, "ttl", &object, &added);
	json_add_number(&object, "interval_ns", info->interval_ns);
	settings_json(info, "buckets", &object, &added);
	json_add_number(&object, "levels", info->levels);
	settings_json(info, "policy", &object, &added);
	settings_json(info, "refresh-on-get", &object, &added);
	settings_json(info, "on-put", &object, &added);
	json_add_number(&object, "now_ns", info->now_ns);
	json_add_bool(&object, "halted", info->state & HASHBELT_HALTED);
	json_add_unless(&object, "wake_ns", info->wake_ns, HASHBELT_TTL_NEVER);
	json_add_number(&object, "table", info->table);
	settings_json(info, "mode", &object, &added);
	json_add_number(&object, "uid", info->uid);
	settings_json(info, "group", &object, &added);
	json_add_access(&object, info->access);
	json_add_settings(&object, info, &added);
	json_add_queue(&object, info);
	if (buckets)
		json_add_numbers(&object, "bucket_entries", buckets->counts, buckets->count);
	json_end(object);
}

static void print_name_cell(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;

	(void)column;
	escape_print(cell, info->name, strnlen(info->name, sizeof(info->name)));
}

/* The setting that has the name of the column, as the option takes it. */
static void print_setting(FILE *cell, const void *row, const struct table_column *column)
{
	char text[SETTING_SIZE];

	fputs(settings_text(row, settings_find(column->name), text), cell);
}

/* A limit in bytes, without a unit. */
static void print_max_bytes(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;

	(void)column;
	if (info->max_bytes)
		fprintf(cell, "%llu", info->max_bytes);
	else
		fputs("none", cell);
}

static void print_interval(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;
	char text[DURATION_SIZE];

	(void)column;
	fputs(duration_format_ns(text, info->interval_ns), cell);
}

static void print_policy_cell(FILE *cell, const void *row, const struct table_column *column)
{
	(void)column;
	fputs(policy_name(((const struct hashbelt_info *)row)->policy), cell);
}

static void print_owner(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;

	(void)column;
	fprintf(cell, "%u:%u", info->uid, info->gid);
}

static void print_access(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;

	(void)column;
	putc(info->access & HASHBELT_MAY_READ ? 'r' : '-', cell);
	putc(info->access & HASHBELT_MAY_WRITE ? 'w' : '-', cell);
	putc(info->access & HASHBELT_MAY_OWN ? 'o' : '-', cell);
}

static void print_clock(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;

	(void)column;
	fputs(info->state & HASHBELT_HALTED ? "halted" : "running", cell);
}

static void print_events(FILE *cell, const void *row, const struct table_column *column)
{
	const struct hashbelt_info *info = row;

	(void)column;
	if (info->handler == HASHBELT_DROP && !info->queued)
		putc('-', cell);
	else
		fprintf(cell, "%llu", info->queued);
}

#define FIELD(name)	offsetof(struct hashbelt_info, name)
#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of belts and info. */
const struct table_column info_columns[] = {
	{ "NAME", TABLE_DEFAULT | TABLE_TEXT, "name", print_name_cell, 0 },
	{ "ENTRIES", SHOWN_NUMBER, "entries that are there", table_number, FIELD(entries) },
	{ "MEMORY", SHOWN_NUMBER, "memory, with a unit", table_size, FIELD(bytes) },
	{ "TTL", SHOWN_NUMBER, "time-to-live", table_duration, FIELD(ttl_ms) },
	{ "BUCKETS", SHOWN_NUMBER, "number of buckets", print_setting, 0 },
	{ "POLICY", TABLE_DEFAULT, "policy of get and put", print_policy_cell, 0 },
	{ "MODE", TABLE_DEFAULT, "rights, octal", print_setting, 0 },
	{ "OWNER", TABLE_DEFAULT, "user and group, as numbers", print_owner, 0 },
	{ "CLOCK", TABLE_DEFAULT, "running or halted", print_clock, 0 },
	{ "EVENTS", SHOWN_NUMBER, "events that wait to be read; - if none are reported",
	  print_events, 0 },
	{ "ID", TABLE_NUMBER, "number of the belt", table_number, FIELD(id) },
	{ "BYTES", TABLE_NUMBER, "memory, bytes", table_number, FIELD(bytes) },
	{ "LOCKS", TABLE_NUMBER, "locks that are held", table_number, FIELD(locks) },
	{ "REQUESTS", TABLE_NUMBER, "requests that wait", table_number, FIELD(requests) },
	{ "GRACE", TABLE_NUMBER, "grace time", table_duration, FIELD(grace_ms) },
	{ "INTERVAL", TABLE_NUMBER, "time between two rotations", print_interval, 0 },
	{ "LEVELS", TABLE_NUMBER, "number of wheels", table_word, FIELD(levels) },
	{ "USED-ENTRIES", TABLE_NUMBER, "entries that count against the limit", table_number,
	  FIELD(used_entries) },
	{ "MAX-ENTRIES", TABLE_NUMBER, "most entries", print_setting, 0 },
	{ "USED-BYTES", TABLE_NUMBER, "bytes that count against the limit", table_number,
	  FIELD(used_bytes) },
	{ "MAX-BYTES", TABLE_NUMBER, "most bytes", print_max_bytes, 0 },
	{ "WHEN-FULL", 0, "evict or reject", print_setting, 0 },
	{ "PINNED", 0, "whether the system short of memory takes nothing", print_setting, 0 },
	{ "WIPE", 0, "whether freed memory is overwritten", print_setting, 0 },
	{ "WINDOW", TABLE_NUMBER, "size of the window", print_setting, 0 },
	{ "WINDOW-USED", TABLE_NUMBER, "slots of the window that hold an entry", table_word,
	  FIELD(window_used) },
	{ "ON-EXPIRE", 0, "handler of expired entries", print_setting, 0 },
	{ "MAX-EVENTS", TABLE_NUMBER, "most events that wait", print_setting, 0 },
	{ "IN-FLIGHT", TABLE_NUMBER, "events that were read and not acknowledged", table_number,
	  FIELD(in_flight) },
	{ "ACCESS", 0, "what you may: r read, w write, o own", print_access, 0 },
	{ 0 },
};
