// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command "stats", with memcached's names. Counters of requests are those of this server, and
 * figures of entries those of the belt. What has no meaning for a belt is left out.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "array_size.h"
#include "batch.h"
#include "hashbelt_version.h"
#include "log.h"
#include "options.h"
#include "report.h"

#ifndef VERSION
#define VERSION	HASHBELT_VERSION
#endif

/* Words of the command that count. */
#define WORDS_MAX	4

/**
 * struct report - a report in the making
 * @work:	the work
 * @words:	the words behind "stats"
 * @count:	their number
 * @ok:		there was memory so far
 */
struct report {
	struct work *work;
	struct word words[WORDS_MAX];
	unsigned int count;
	bool ok;
};

/**
 * report_line() - write a line
 * @output:	where
 * @format:	the line, without its end
 *
 * Return: false if there is no memory.
 */
bool report_line(struct output *output, const char *format, ...)
{
	char line[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 2, format, args);
	va_end(args);
	if (len > (int)sizeof(line) - 3)
		len = sizeof(line) - 3;
	memcpy(line + len, "\r\n", 2);
	return output_text(output, line, len + 2);
}

/* PRINT(REPORT, FORMAT...): writes a line. */
#define PRINT(report, ...) \
	((report)->ok = (report)->ok && report_line(&(report)->work->output, __VA_ARGS__))

static void print_number(struct report *report, const char *name, uint64_t number)
{
	PRINT(report, "STAT %s %" PRIu64, name, number);
}

static void print_text(struct report *report, const char *name, const char *text)
{
	PRINT(report, "STAT %s %s", name, text ? text : "NULL");
}

static void print_yes(struct report *report, const char *name, bool yes)
{
	print_text(report, name, yes ? "yes" : "no");
}

static void print_time(struct report *report, const char *name, const struct timeval *time)
{
	PRINT(report, "STAT %s %lld.%06lld", name, (long long)time->tv_sec,
	      (long long)time->tv_usec);
}

static void print_process(struct report *report, const struct server_figures *figures)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	print_number(report, "pid", getpid());
	print_number(report, "uptime", figures->started);
	print_number(report, "time", time(NULL));
	print_text(report, "version", MEMCACHED_VERSION);
	print_text(report, "hashbelt_version", VERSION);
	print_text(report, "libevent", figures->libevent);
	print_number(report, "pointer_size", 8 * sizeof(void *));
	print_time(report, "rusage_user", &usage.ru_utime);
	print_time(report, "rusage_system", &usage.ru_stime);
}

static void print_connections(struct report *report, const struct server_figures *figures)
{
	print_number(report, "max_connections", report->work->service->options->connections);
	print_number(report, "curr_connections", figures->connections);
	print_number(report, "total_connections", figures->total);
	print_number(report, "rejected_connections", figures->rejected);
	print_number(report, "connection_structures", figures->structures);
	print_number(report, "accepting_conns", figures->accepting);
	print_number(report, "listen_disabled_num", figures->disabled);
	print_number(report, "threads", report->work->service->options->threads);
}

/* Figures of the belt. Without it there are none. */
static void print_belt(struct report *report)
{
	struct belt *belt = belts_default(report->work->service->belts);
	__u64 counters[HASHBELT_STAT_COUNT];
	struct hashbelt_info info;

	if (belt_info(belt, &info) || belt_stat(belt, counters))
		return;
	print_number(report, "limit_maxbytes", info.max_bytes);
	print_number(report, "bytes", info.bytes);
	print_number(report, "curr_items", info.entries);
	print_number(report, "total_items", counters[HASHBELT_STAT_PUTS_NEW] +
		     counters[HASHBELT_STAT_PUTS_REPLACED]);
	print_number(report, "evictions", counters[HASHBELT_STAT_EVICTED] +
		     counters[HASHBELT_STAT_PRESSURE]);
	print_number(report, "reclaimed", counters[HASHBELT_STAT_EXPIRED]);
}

static void report_general(struct report *report)
{
	struct service *service = report->work->service;
	uint64_t sums[COUNTERS_COUNT] = { 0 };
	struct server_figures figures;
	unsigned int i;

	service->calls->figures(service->owner, &figures);
	print_process(report, &figures);
	print_connections(report, &figures);
	service->calls->sum_counters(service->owner, sums);
	for (i = 0; i < COUNTERS_COUNT; i++)
		print_number(report, counter_name(i), sums[i]);
	print_belt(report);
	PRINT(report, "END");
}

static void report_settings(struct report *report)
{
	const struct options *options = report->work->service->options;
	struct belt *belt = belts_default(report->work->service->belts);
	struct hashbelt_info info;

	if (!belt_info(belt, &info)) {
		print_number(report, "maxbytes", info.max_bytes);
		print_text(report, "evictions", info.policy & HASHBELT_EVICT ? "on" : "off");
	}
	print_number(report, "maxconns", options->connections);
	print_number(report, "tcpport", options->address ? options->port : 0);
	print_number(report, "udpport", 0);
	print_text(report, "inter", options->address);
	print_number(report, "verbosity", log_level());
	print_number(report, "oldest", 0);
	print_text(report, "domain_socket", options->socket);
	PRINT(report, "STAT umask %o", options->mode);
	print_yes(report, "shutdown_command", options->shutdown);
	print_number(report, "num_threads", options->threads);
	print_text(report, "stat_key_prefix", ":");
	print_yes(report, "detail_enabled", detail_is_on());
	print_yes(report, "cas_enabled", true);
	print_text(report, "binding_protocol", "ascii");
	print_yes(report, "auth_enabled_sasl", false);
	print_text(report, "auth_enabled_ascii",
		   options->auth_file ? options->auth_file : "no");
	print_number(report, "item_size_max", options->item_max);
	print_yes(report, "maxconns_fast", true);
	print_yes(report, "flush_enabled", true);
	print_yes(report, "dump_enabled", options->dump);
	print_number(report, "idle_timeout", options->idle_seconds);
	print_yes(report, "ssl_enabled", options->tls);
	print_text(report, "belt", belt_name(belt));
	print_yes(report, "belts_by_prefix", options->belts_by_prefix);
	PRINT(report, "END");
}

/* A figure of the only class. */
struct figure {
	const char *name;
	enum hashbelt_counter counter;
};

static void print_figures(struct report *report, const char *class, const struct figure *figures,
			  unsigned int count, const __u64 *counters)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		PRINT(report, "STAT %s%s %llu", class, figures[i].name,
		      (unsigned long long)counters[figures[i].counter]);
}

/* A belt has no slabs: all its entries count as one class. */
static void report_items(struct report *report)
{
	static const struct figure figures[] = {
		{ "evicted", HASHBELT_STAT_EVICTED },
		{ "outofmemory", HASHBELT_STAT_REJECTED },
		{ "reclaimed", HASHBELT_STAT_EXPIRED },
	};
	struct belt *belt = belts_default(report->work->service->belts);
	__u64 counters[HASHBELT_STAT_COUNT];
	struct hashbelt_info info;

	if (!belt_info(belt, &info) && !belt_stat(belt, counters) && info.entries) {
		print_number(report, "items:1:number", info.entries);
		print_number(report, "items:1:mem_requested", info.bytes);
		print_figures(report, "items:1:", figures, ARRAY_SIZE(figures), counters);
	}
	PRINT(report, "END");
}

static void report_slabs(struct report *report)
{
	static const struct figure figures[] = {
		{ "get_hits", HASHBELT_STAT_HITS },
		{ "cmd_set", HASHBELT_STAT_PUTS_NEW },
		{ "delete_hits", HASHBELT_STAT_REMOVES },
		{ "touch_hits", HASHBELT_STAT_TOUCHES },
	};
	struct belt *belt = belts_default(report->work->service->belts);
	__u64 counters[HASHBELT_STAT_COUNT];
	struct hashbelt_info info;

	if (!belt_info(belt, &info) && !belt_stat(belt, counters)) {
		counters[HASHBELT_STAT_PUTS_NEW] += counters[HASHBELT_STAT_PUTS_REPLACED];
		if (info.entries) {
			print_number(report, "1:used_chunks", info.entries);
			print_figures(report, "1:", figures, ARRAY_SIZE(figures), counters);
		}
		print_number(report, "active_slabs", !!info.entries);
		print_number(report, "total_malloced", info.bytes);
	}
	PRINT(report, "END");
}

static void report_sizes(struct report *report)
{
	PRINT(report, "STAT sizes_status disabled");
	PRINT(report, "END");
}

static void report_connections(struct report *report)
{
	struct service *service = report->work->service;

	report->ok = service->calls->list_clients(service->owner, &report->work->output);
	PRINT(report, "END");
}

static void report_reset(struct report *report)
{
	struct service *service = report->work->service;

	service->calls->reset_counters(service->owner);
	detail_reset();
	PRINT(report, "RESET");
}

static void print_prefix(void *arg, const char *prefix, size_t len, const uint64_t *counts)
{
	struct report *report = arg;

	PRINT(report, "PREFIX %.*s get %" PRIu64 " hit %" PRIu64 " set %" PRIu64 " del %" PRIu64,
	      (int)len, prefix, counts[DETAIL_GET], counts[DETAIL_HIT], counts[DETAIL_SET],
	      counts[DETAIL_DELETE]);
}

static bool is_word(const struct report *report, unsigned int number, const char *text)
{
	const struct word *word = &report->words[number];

	return number < report->count && word->len == strlen(text) &&
	       !memcmp(word->at, text, word->len);
}

static void report_detail(struct report *report)
{
	if (is_word(report, 1, "on") || is_word(report, 1, "off")) {
		detail_switch(is_word(report, 1, "on"));
		PRINT(report, "OK");
	} else if (is_word(report, 1, "dump")) {
		detail_list(print_prefix, report);
		PRINT(report, "END");
	} else {
		PRINT(report, "CLIENT_ERROR usage: stats detail on|off|dump");
	}
}

static const struct {
	const char *name;
	void (*run)(struct report *report);
} reports[] = {
	{ "settings", report_settings },
	{ "items", report_items },
	{ "slabs", report_slabs },
	{ "sizes", report_sizes },
	{ "sizes_enable", report_sizes },
	{ "sizes_disable", report_sizes },
	{ "conns", report_connections },
	{ "detail", report_detail },
	{ "reset", report_reset },
};

/**
 * report() - carry out "stats"
 * @work:	the work, with the request in progress
 *
 * Return: false if there is no memory.
 */
bool report(struct work *work)
{
	const char *text = work->request->words;
	struct report made = { .work = work, .ok = true };
	unsigned int i;

	while (made.count < WORDS_MAX &&
	       parser_word(&text, work->request->words_end, &made.words[made.count]))
		made.count++;
	if (!made.count) {
		report_general(&made);
		return made.ok;
	}
	for (i = 0; i < ARRAY_SIZE(reports); i++) {
		if (is_word(&made, 0, reports[i].name)) {
			reports[i].run(&made);
			return made.ok;
		}
	}
	PRINT(&made, "ERROR");
	return made.ok;
}
