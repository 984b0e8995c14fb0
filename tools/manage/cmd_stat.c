// SPDX-License-Identifier: GPL-2.0-only
/* The command stat: counters for people, programs and Prometheus. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bar.h"
#include "buckets.h"
#include "commands.h"
#include "duration.h"
#include "encoding.h"
#include "json.h"
#include "module.h"
#include "table.h"

/* Counters that are asked for: room for those of a later interface. */
#define COUNTERS_MAX	64

#define NO_LIMIT	~0ULL

#define NS_PER_SECOND	1000000000ULL

/* Samples of a belt's buckets: they are joined until there are no more than this. */
#define BUCKET_SAMPLES	100

/* The histogram of lags. */
#define LAG_FAMILY	"hashbelt_expired_lag_seconds"

/**
 * struct statistics - the counters of a belt
 * @info:	the belt
 * @counters:	by enum hashbelt_counter
 * @count:	how many of them the kernel knows
 * @lags:	as from hashbelt_lags()
 * @buckets:	as from buckets_read(); empty without --spread
 */
struct statistics {
	struct hashbelt_info info;
	__u64 counters[COUNTERS_MAX];
	unsigned int count;
	__u64 lags[HASHBELT_LAGS];
	struct buckets buckets;
};

/* By enum hashbelt_counter. */
static const struct counter {
	const char *name;
	const char *help;
} counters[] = {
#define ROW(constant, name, meaning)	{ name, meaning },
	HASHBELT_COUNTERS(ROW)
#undef ROW
};

/* In the offset of a field: it has 32 bits. */
#define SHORT	0x8000u

/* A gauge. @unlimited is the number that means "no limit". */
static const struct gauge {
	const char *name;
	const char *help;
	size_t offset;
	__u64 unlimited;
} gauges[] = {
#define FIELD(name)	offsetof(struct hashbelt_info, name)
	{ "entries", "Entries that are there", FIELD(entries), NO_LIMIT },
	{ "bytes", "Memory of the entries, index and wheels included", FIELD(bytes),
	  NO_LIMIT },
	{ "used_entries", "Entries that count against the limit", FIELD(used_entries),
	  NO_LIMIT },
	{ "max_entries", "Most entries", FIELD(max_entries), 0 },
	{ "used_bytes", "Bytes that count against the limit", FIELD(used_bytes),
	  NO_LIMIT },
	{ "max_bytes", "Most bytes", FIELD(max_bytes), 0 },
	{ "queued_events", "Events that wait to be read", FIELD(queued), NO_LIMIT },
	{ "queued_bytes", "Memory of the events, read or not", FIELD(queued_bytes), NO_LIMIT },
	{ "max_events", "Most events that wait to be read", FIELD(max_events), NO_LIMIT },
	{ "in_flight_events", "Events that were read and not acknowledged yet",
	  FIELD(in_flight), NO_LIMIT },
	{ "held_locks", "Locks that are held", FIELD(locks), NO_LIMIT },
	{ "waiting_requests", "Requests that wait", FIELD(requests), NO_LIMIT },
	{ "window_used", "Slots of the window that hold an entry", FIELD(window_used) | SHORT,
	  NO_LIMIT },
#undef FIELD
};

/* Parameters of the module, in families named hashbelt_module_NAME. */
static const struct parameter {
	const char *name;
	const char *help;
} parameters[] = {
	{ "used_bytes", "Memory of all belts" },
	{ "max_bytes", "Most memory of all belts" },
	{ "user_max_bytes", "Most memory of the belts of one user" },
	{ "max_belts", "Most belts" },
	{ "user_max_belts", "Most belts of one user" },
};

static __u64 gauge_value(const struct gauge *gauge, const struct hashbelt_info *info)
{
	const void *field = (const char *)info + (gauge->offset & ~SHORT);

	return gauge->offset & SHORT ? *(const __u32 *)field : *(const __u64 *)field;
}

/* The name of a counter; those that are newer than this program have a number. */
static const char *counter_name(char *text, size_t size, unsigned int counter)
{
	if (counter < ARRAY_SIZE(counters))
		return counters[counter].name;
	snprintf(text, size, "counter_%u", counter);
	return text;
}

/*
 * Misses of keys that the belt knows nothing of. Counters are not read all at the
 * same time, so the difference may be below nothing for a moment.
 */
static __u64 cold_misses(const struct statistics *statistics)
{
	__u64 warm = statistics->counters[HASHBELT_STAT_MISSES_EXPIRED] +
		     statistics->counters[HASHBELT_STAT_MISSES_EVICTED];
	__u64 all = statistics->counters[HASHBELT_STAT_MISSES];

	return all > warm ? all - warm : 0;
}

/*
 * Of the belt that the request is bound to; the caller frees the buckets. Only --spread looks at
 * entries: all else takes the same time for any number of them.
 */
static int read_statistics(const struct request *request, struct statistics *statistics)
{
	struct hashbelt *handle = request->handle;
	unsigned int lags = HASHBELT_LAGS;
	int err;

	*statistics = (struct statistics){ .count = COUNTERS_MAX };
	err = hashbelt_info(handle, &statistics->info);
	if (!err)
		err = hashbelt_stat(handle, statistics->counters, &statistics->count);
	if (!err)
		err = hashbelt_lags(handle, statistics->lags, &lags);
	if (!err && request_option(request, "spread"))
		err = buckets_read(&statistics->buckets, handle, &statistics->info);
	return err;
}

/* The lags that there were, and those in between. */
static void print_lags(const __u64 *lags)
{
	struct bar bars[HASHBELT_LAGS] = { 0 };
	unsigned int first = 0, last = HASHBELT_LAGS, i;
	char text[DURATION_SIZE];

	while (first < HASHBELT_LAGS && !lags[first])
		first++;
	if (first == HASHBELT_LAGS)
		return;
	while (!lags[last - 1])
		last--;
	for (i = first; i < last; i++) {
		bars[i].count = lags[i];
		snprintf(bars[i].label, LABEL_SIZE, "%s %s",
			 i == HASHBELT_LAGS - 1 ? "from" : "below",
			 duration_format(text, 1ULL << (i - (i == HASHBELT_LAGS - 1))));
	}
	puts("lag of expired entries:");
	bars_print(bars + first, last - first);
}

/**
 * struct figure - a row of the table: a counter or a gauge of a belt
 * @info:	the belt
 * @name:	the name
 * @help:	its meaning
 * @value:	the number
 * @unlimited:	the number that means "no limit"
 */
struct figure {
	const struct hashbelt_info *info;
	const char *name;
	const char *help;
	__u64 value;
	__u64 unlimited;
};

static void print_belt(FILE *cell, const void *row, const struct table_column *column)
{
	const struct figure *figure = row;

	(void)column;
	escape_print(cell, figure->info->name, strnlen(figure->info->name, HASHBELT_NAME_SIZE));
}

static void print_string(FILE *cell, const void *row, const struct table_column *column)
{
	fputs(*(const char * const *)((const char *)row + column->offset), cell);
}

static void print_value(FILE *cell, const void *row, const struct table_column *column)
{
	const struct figure *figure = row;

	if (figure->value == figure->unlimited)
		fputs("none", cell);
	else
		table_number(cell, row, column);
}

/* The columns of stat. */
const struct table_column stat_columns[] = {
	{ "BELT", TABLE_OF_ALL | TABLE_TEXT, "name of the belt", print_belt, 0 },
	{ "COUNTER", TABLE_DEFAULT, "name of the counter", print_string,
	  offsetof(struct figure, name) },
	{ "VALUE", TABLE_DEFAULT | TABLE_NUMBER, "value", print_value,
	  offsetof(struct figure, value) },
	{ "HELP", TABLE_TEXT, "what it counts", print_string, offsetof(struct figure, help) },
	{ 0 },
};

static void add_gauges(struct table *table, const struct hashbelt_info *info)
{
	struct figure figure = { .info = info };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gauges); i++) {
		figure.name = gauges[i].name;
		figure.help = gauges[i].help;
		figure.value = gauge_value(&gauges[i], info);
		figure.unlimited = gauges[i].unlimited;
		table_add(table, &figure);
	}
}

static void add_rows(struct table *table, const struct statistics *statistics)
{
	struct figure figure = { .info = &statistics->info, .unlimited = NO_LIMIT };
	char text[32];
	unsigned int i;

	for (i = 0; i < statistics->count; i++) {
		figure.name = counter_name(text, sizeof(text), i);
		figure.help = i < ARRAY_SIZE(counters) ? counters[i].help : "-";
		figure.value = statistics->counters[i];
		table_add(table, &figure);
	}
	figure.name = "misses_cold";
	figure.help = "Misses of keys that neither expired nor were evicted recently";
	figure.value = cold_misses(statistics);
	table_add(table, &figure);
	add_gauges(table, &statistics->info);
}

static void print_bars(const struct statistics *statistics)
{
	if (statistics->buckets.counts)
		buckets_print(&statistics->buckets, &statistics->info);
	print_lags(statistics->lags);
}

static void print_json(const struct statistics *statistics)
{
	const struct hashbelt_info *info = &statistics->info;
	struct json object = json_begin(stdout);
	char text[32];
	unsigned int i;

	json_add_bytes(&object, "name", info->name, strnlen(info->name, sizeof(info->name)));
	for (i = 0; i < statistics->count; i++)
		json_add_number(&object, counter_name(text, sizeof(text), i),
				statistics->counters[i]);
	json_add_number(&object, "misses_cold", cold_misses(statistics));
	for (i = 0; i < ARRAY_SIZE(gauges); i++)
		json_add_unless(&object, gauges[i].name, gauge_value(&gauges[i], info),
				gauges[i].unlimited);
	json_add_numbers(&object, "lags", statistics->lags, HASHBELT_LAGS);
	if (statistics->buckets.counts)
		json_add_numbers(&object, "bucket_entries", statistics->buckets.counts,
				 statistics->buckets.count);
	json_end(object);
}

/* Many belts for people: a table and bars under the name of each. */
static void print_texts(const struct request *request, struct table *table,
			const struct statistics *statistics, size_t count)
{
	const char *name;
	size_t i;

	for (i = 0; i < count; i++) {
		if (request_option(request, "all")) {
			name = statistics[i].info.name;
			fputs(i ? "\nbelt: " : "belt: ", stdout);
			escape_print(stdout, name, strnlen(name, HASHBELT_NAME_SIZE));
			putchar('\n');
		}
		add_rows(table, &statistics[i]);
		table_print(table, stdout);
		print_bars(&statistics[i]);
	}
}

/* One table of all belts, without bars. */
static void print_table(struct table *table, const struct statistics *statistics, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		add_rows(table, &statistics[i]);
	table_print(table, stdout);
}

/*
 * A sample's name and the label of the belt. A name that is not UTF-8 is in a
 * label of its own, as in JSON: no name of a belt spoils the others' samples.
 */
static void begin_sample(const char *family, const struct hashbelt_info *info)
{
	size_t len = strnlen(info->name, HASHBELT_NAME_SIZE);
	const char *p;

	if (!is_utf8(info->name, len)) {
		printf("%s{belt_base64=\"", family);
		base64_print(stdout, info->name, len);
		putchar('"');
		return;
	}
	printf("%s{belt=\"", family);
	for (p = info->name; *p; p++) {
		if (*p == '\\' || *p == '"')
			putchar('\\');
		putchar(*p);
	}
	putchar('"');
}

static void begin_family(const char *family, const char *help, const char *type)
{
	printf("# HELP %s %s.\n# TYPE %s %s\n", family, help, family, type);
}

static void print_counter_family(const struct statistics *statistics, size_t count,
				 unsigned int counter)
{
	char family[64];
	size_t i;

	snprintf(family, sizeof(family), "hashbelt_%s_total", counters[counter].name);
	begin_family(family, counters[counter].help, "counter");
	for (i = 0; i < count; i++) {
		begin_sample(family, &statistics[i].info);
		printf("} %llu\n", statistics[i].counters[counter]);
	}
}

static void print_gauge_family(const struct statistics *statistics, size_t count,
			       const struct gauge *gauge)
{
	char family[64];
	__u64 value;
	size_t i;

	snprintf(family, sizeof(family), "hashbelt_%s", gauge->name);
	begin_family(family, gauge->help, "gauge");
	for (i = 0; i < count; i++) {
		begin_sample(family, &statistics[i].info);
		value = gauge_value(gauge, &statistics[i].info);
		if (value == gauge->unlimited)
			puts("} +Inf");
		else
			printf("} %llu\n", value);
	}
}

/* Entries are handed over up to an interval late, so lags are compared with it. */
static void print_interval_family(const struct statistics *statistics, size_t count)
{
	static const char family[] = "hashbelt_interval_seconds";
	__u64 ns;
	size_t i;

	begin_family(family, "Time between two rotations", "gauge");
	for (i = 0; i < count; i++) {
		ns = statistics[i].info.interval_ns;
		begin_sample(family, &statistics[i].info);
		printf("} %llu.%09llu\n", ns / NS_PER_SECOND, ns % NS_PER_SECOND);
	}
}

static void print_bucket_family(const struct statistics *statistics, size_t count)
{
	static const char family[] = "hashbelt_bucket_entries";
	unsigned int samples, joined, last, sample;
	__u64 sums[BUCKET_SAMPLES];
	size_t i;

	begin_family(family, "Entries by the intervals that they have left", "gauge");
	for (i = 0; i < count; i++) {
		last = statistics[i].buckets.count - 1;
		samples = buckets_join(&statistics[i].buckets, sums, BUCKET_SAMPLES, &joined);
		for (sample = 0; sample < samples; sample++) {
			begin_sample(family, &statistics[i].info);
			printf(",bucket=\"%u\"} %llu\n",
			       sample < samples - 1 ? sample * joined : last, sums[sample]);
		}
	}
}

/* The cumulative buckets of a belt, with bounds in seconds, and their number. */
static void print_lag_samples(const struct statistics *statistics)
{
	__u64 sum = 0, ms;
	unsigned int lag;

	for (lag = 0; lag < HASHBELT_LAGS - 1; lag++) {
		sum += statistics->lags[lag];
		ms = 1ULL << lag;
		begin_sample(LAG_FAMILY "_bucket", &statistics->info);
		printf(",le=\"%llu.%03llu\"} %llu\n", ms / 1000, ms % 1000, sum);
	}
	sum += statistics->lags[lag];
	begin_sample(LAG_FAMILY "_bucket", &statistics->info);
	printf(",le=\"+Inf\"} %llu\n", sum);
	begin_sample(LAG_FAMILY "_count", &statistics->info);
	printf("} %llu\n", sum);
}

/*
 * There is no _sum, which the format permits: the kernel keeps no sum of lags, and powers of two
 * do not tell it.
 */
static void print_lag_family(const struct statistics *statistics, size_t count)
{
	size_t i;

	begin_family(LAG_FAMILY,
		     "Time from the deadline of an expired entry until its handler had it",
		     "histogram");
	for (i = 0; i < count; i++)
		print_lag_samples(&statistics[i]);
}

/* The program, and the module as far as the caller may read it. */
static void print_module_families(void)
{
	char family[64];
	__u64 value;
	size_t i;

	begin_family("hashbelt_build_info", "Version of hbctl, and of the interface of the module",
		     "gauge");
	printf("hashbelt_build_info{version=\"" VERSION "\",interface=\"%d\"} 1\n",
	       HASHBELT_ABI);
	for (i = 0; i < ARRAY_SIZE(parameters); i++) {
		if (!module_parameter(parameters[i].name, &value))
			continue;
		snprintf(family, sizeof(family), "hashbelt_module_%s", parameters[i].name);
		begin_family(family, parameters[i].help, "gauge");
		printf("%s %llu\n", family, value);
	}
}

/* Of all belts that the caller may see; those that it may not read have no other samples. */
static void print_belts_family(size_t belts)
{
	static const char family[] = "hashbelt_belts";

	begin_family(family, "Belts", "gauge");
	printf("%s %zu\n", family, belts);
}

/* All samples of a family must stand together. */
static void print_prometheus(const struct request *request,
			     const struct statistics *statistics, size_t count)
{
	unsigned int i;

	print_module_families();
	for (i = 0; i < ARRAY_SIZE(counters); i++)
		print_counter_family(statistics, count, i);
	for (i = 0; i < ARRAY_SIZE(gauges); i++)
		print_gauge_family(statistics, count, &gauges[i]);
	print_interval_family(statistics, count);
	if (request_option(request, "spread"))
		print_bucket_family(statistics, count);
	print_lag_family(statistics, count);
}

/*
 * Counts of all belts that the caller may read. One that is destroyed meanwhile
 * is none of them. @count is 0 before.
 */
static enum status read_all(struct request *request,
			    const struct hashbelt_info *infos, size_t belts,
			    struct statistics *statistics, size_t *count)
{
	size_t i;
	int err;

	for (i = 0; i < belts; i++) {
		if (!(infos[i].access & HASHBELT_MAY_READ))
			continue;
		request->belt = infos[i].name;
		err = hashbelt_bind(request->handle, infos[i].name);
		if (!err)
			err = read_statistics(request, &statistics[*count]);
		if (!err)
			++*count;
		else if (err != -ENOENT && err != -EIDRM && err != -EPERM)
			return fail_belt(request, err);
	}
	return STATUS_DONE;
}

/* @table: for people; NULL for programs. */
static void print_all(const struct request *request, struct table *table,
		      const struct statistics *statistics, size_t count)
{
	size_t i;

	if (request_option(request, "prometheus")) {
		print_prometheus(request, statistics, count);
	} else if (!table) {
		for (i = 0; i < count; i++)
			print_json(&statistics[i]);
	} else if (table_is_asked(request)) {
		print_table(table, statistics, count);
	} else {
		print_texts(request, table, statistics, count);
	}
}

static enum status stat_all(struct request *request, struct table *table)
{
	enum status status = request_open(request);
	struct statistics *statistics = NULL;
	struct hashbelt_info *infos = NULL;
	size_t belts, count = 0;
	int err;

	if (status)
		return status;
	err = belts_read(request->handle, &infos, &belts);
	if (!err) {
		statistics = calloc(belts + 1, sizeof(*statistics));
		err = statistics ? 0 : -ENOMEM;
	}
	if (err)
		status = fail(STATUS_ERROR, "cannot list the belts: %s", strerror(-err));
	else
		status = read_all(request, infos, belts, statistics, &count);
	if (!status)
		print_all(request, table, statistics, count);
	if (!status && request_option(request, "prometheus"))
		print_belts_family(belts);
	while (count)
		buckets_free(&statistics[--count].buckets);
	free(statistics);
	free(infos);
	return status;
}

static enum status stat_one(struct request *request, struct table *table)
{
	enum status status = request_bind(request);
	struct statistics statistics;
	int err;

	if (status)
		return status;
	err = read_statistics(request, &statistics);
	if (err)
		return fail_belt(request, err);
	print_all(request, table, &statistics, 1);
	buckets_free(&statistics.buckets);
	return STATUS_DONE;
}

/**
 * cmd_stat() - hbctl stat
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_stat(struct request *request)
{
	bool all = request_option(request, "all");
	struct table *table;
	enum status status;
	int shown;

	if (request->json && request_option(request, "prometheus"))
		return fail_usage(request, "--json and --prometheus exclude each other");
	if (table_is_asked(request) && request_option(request, "prometheus"))
		return fail_usage(request,
				  "-o, --noheadings and --raw are for tables, not for --prometheus");
	shown = all && table_is_asked(request) ? TABLE_DEFAULT | TABLE_OF_ALL : TABLE_DEFAULT;
	status = table_begin(request, shown, &table);
	if (!status)
		status = all ? stat_all(request, table) : stat_one(request, table);
	table_end(table);
	return status;
}
