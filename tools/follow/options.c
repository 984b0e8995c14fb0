// SPDX-License-Identifier: GPL-2.0-only
/* The command line of hbfollow. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "option.h"
#include "options.h"
#include "sql.h"

/* Limits of --detect and --offline, milliseconds. */
#define TIME_MIN	100
#define TIME_MAX	(60 * 60 * 1000)

/*
 * --detect of a primary, unless given; and of a replica, and the least one: half of it is for the
 * silence of its primary, which sends something each 10 seconds, and seconds are rounded.
 */
#define DETECT_PRIMARY	1000
#define DETECT_REPLICA	30000
#define DETECT_REPLICA_MIN 4000

static int parse_map(const struct option_reader *reader, const struct option_row *row,
		     const char *text)
{
	struct options *options = reader->options;
	const char *equals = strchr(text, '=');

	if (!equals)
		return option_wrong(reader, "--%s: '%s' is not %s", row->name, text, row->argument);
	if (!keys_add(&options->keys, text, equals - text, equals + 1))
		return option_wrong(reader, "there is no memory for --%s", row->name);
	return OPTION_FINE;
}

static int parse_strip(const struct option_reader *reader, const struct option_row *row,
		       const char *text)
{
	struct options *options = reader->options;

	if (!*text)
		return option_wrong(reader, "--%s needs a %s", row->name, row->argument);
	if (!keys_add(&options->keys, text, strlen(text), ""))
		return option_wrong(reader, "there is no memory for --%s", row->name);
	return OPTION_FINE;
}

static int parse_channel(const struct option_reader *reader, const struct option_row *row,
			 const char *text)
{
	struct options *options = reader->options;
	const char **channels;

	/* PostgreSQL would cut a longer name, and no notification would ever come. */
	if (!*text || strlen(text) > 63)
		return option_wrong(reader, "--%s: a name has 1 to 63 bytes", row->name);
	channels = realloc(options->channels, (options->channel_count + 1) * sizeof(*channels));
	if (!channels)
		return option_wrong(reader, "there is no memory for --%s", row->name);
	channels[options->channel_count++] = text;
	options->channels = channels;
	return OPTION_FINE;
}

static int parse_time(const struct option_reader *reader, const struct option_row *row,
		      const char *text)
{
	__u64 ms;

	if (duration_parse(text, &ms) || ms < TIME_MIN || ms > TIME_MAX)
		return option_wrong(reader, "--%s: '%s' is not a time from 100ms to 1h", row->name,
				    text);
	*(unsigned int *)option_field(reader, row) = ms;
	return OPTION_FINE;
}

static int print_sql(const struct option_reader *reader, const struct option_row *row,
		     const char *text)
{
	(void)reader;
	(void)row;
	(void)text;
	fputs(sql_functions, stdout);
	return OPTION_STOP;
}

static const struct option_row rows[] = {
	{ OPTION_SETS(belt, "belt", 'b', "BELT", "the belt (" HASHBELT_DEFAULT_BELT ")",
		      option_text) },
	{ OPTION_DOES("channel", 'c', "NAME", "PostgreSQL: a channel; may be given again",
		      parse_channel) },
	{ OPTION_DOES("strip", 0, "PREFIX", "the belt names keys without this prefix",
		      parse_strip) },
	{ OPTION_DOES("map", 0, "FROM=TO", "keys that begin with FROM begin with TO there",
		      parse_map) },
	{ OPTION_SETS(user, "user", 'u', "USER", "the user of the engine", option_text) },
	{ OPTION_SETS(password_file, "password-file", 0, "FILE",
		      "the password is its first line", option_text) },
	{ OPTION_SETS(tls_ca, "tls-ca", 0, "FILE", "Redis: certificates that sign, PEM",
		      option_text) },
	{ OPTION_SETS(tls_cert, "tls-cert", 0, "FILE", "Redis: own certificate, PEM",
		      option_text) },
	{ OPTION_SETS(tls_key, "tls-key", 0, "FILE", "Redis: its private key, PEM",
		      option_text) },
	{ OPTION_SETS(replica, "replica", 0, NULL, "Redis: follow a replica, too",
		      option_flag) },
	{ OPTION_SETS(detect_ms, "detect", 0, "TIME",
		      "lost if silent for so long (1s; with --replica 30s)", parse_time) },
	{ OPTION_SETS(offline_ms, "offline", 0, "TIME", "clear so often while lost (1s)",
		      parse_time) },
	{ OPTION_SETS(metrics, "metrics", 0, "FILE", "write figures for Prometheus",
		      option_text) },
	{ OPTION_SETS(verbose, "verbose", 'v', NULL, "log connections; twice: keys, too",
		      option_more) },
	{ OPTION_DOES("print-sql", 0, NULL,
		      "print the functions for PostgreSQL, and do nothing", print_sql) },
	{ OPTION_DOES("completion", 0, "bash|fish|zsh",
		      "print completion for this shell and do nothing", option_completion) },
	{ OPTION_DOES("help", 'h', NULL, "print help and do nothing", option_help) },
	{ OPTION_DOES("version", 'V', NULL, "print the version and do nothing",
		      option_version) },
	{ 0 },
};

static const struct option_program program = {
	.name = "hbfollow",
	.usage = "Usage: hbfollow [OPTION]... URL\n"
		 "Remove from a belt of hashbelt the keys that change in Redis or PostgreSQL.\n\n"
		 "URL: redis://[USER@]HOST[:PORT][?prefix=P[&prefix=Q]], rediss://... (TLS),\n"
		 "     redis+unix:///PATH[?prefix=P], postgresql://... or 'host=... dbname=...'\n",
	.rows = rows,
};

/* Checks the options together. */
static int check(const struct option_reader *reader, const struct options *options)
{
	bool files = options->tls_ca || options->tls_cert || options->tls_key;
	const struct target *target = &options->target;

	if (strlen(options->belt) >= HASHBELT_NAME_SIZE)
		return option_wrong(reader, "--belt: a name has at most %d bytes",
				    HASHBELT_NAME_SIZE - 1);
	if (options->user && target->user)
		return option_wrong(reader, "the URL has a user: leave --user out");
	if (target->kind == TARGET_POSTGRESQL && files)
		return option_wrong(reader,
				    "--tls-ca, --tls-cert and --tls-key are for Redis: the URL of PostgreSQL has sslrootcert, sslcert and sslkey");
	if (target->kind == TARGET_POSTGRESQL && !options->channel_count)
		return option_wrong(reader, "PostgreSQL needs --channel");
	if (target->kind == TARGET_REDIS && options->channel_count)
		return option_wrong(reader,
				    "--channel is for PostgreSQL: the URL of Redis has '?prefix='");
	if (files && !target->tls)
		return option_wrong(reader, "--tls-ca, --tls-cert and --tls-key need rediss://");
	if (!options->tls_cert != !options->tls_key)
		return option_wrong(reader, "--tls-cert and --tls-key need each other");
	if (target->kind == TARGET_POSTGRESQL && options->replica)
		return option_wrong(reader,
				    "--replica is for Redis: a standby server of PostgreSQL tells no changes");
	if (options->replica && options->detect_ms < DETECT_REPLICA_MIN)
		return option_wrong(reader, "--replica needs a --detect of %ds or more",
				    DETECT_REPLICA_MIN / 1000);
	return OPTION_FINE;
}

/* Reads what is no option: the URL. */
static int read_url(const struct option_reader *reader, int argc, char **argv)
{
	struct options *options = reader->options;
	char problem[TARGET_PROBLEM_SIZE];

	if (optind == argc)
		return option_wrong(reader, "the URL of an engine is missing");
	if (optind + 1 < argc)
		return option_wrong(reader, "'%s' is one URL too many", argv[optind + 1]);
	if (!target_parse(&options->target, argv[optind], problem))
		return option_wrong(reader, "%s", problem);
	return OPTION_FINE;
}

/**
 * options_parse() - read the command line
 * @argc:	as of main()
 * @argv:	as of main(); has to stay, and is reordered
 * @options:	the result, to be freed by options_free(), after an error as well
 *
 * Prints help, or an error on stderr.
 *
 * Return: 0, or the exit status + 1.
 */
int options_parse(int argc, char **argv, struct options *options)
{
	const struct option_reader reader = { .program = &program, .options = options };
	int status;

	*options = (struct options){ 0 };
	status = option_read(&reader, argc, argv);
	if (status)
		return status;
	options->belt = options->belt ? options->belt : HASHBELT_DEFAULT_BELT;
	if (!options->detect_ms)
		options->detect_ms = options->replica ? DETECT_REPLICA : DETECT_PRIMARY;
	options->offline_ms = options->offline_ms ? options->offline_ms : 1000;
	status = read_url(&reader, argc, argv);
	return status ? status : check(&reader, options);
}

/**
 * options_free() - free what options_parse() made
 * @options:	the options
 */
void options_free(struct options *options)
{
	target_free(&options->target);
	keys_free(&options->keys);
	free(options->channels);
}
