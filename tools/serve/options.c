// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of hbserve. Letters and long names are those of memcached where the options mean
 * the same; an option that only memcached has is refused with what to do in its place.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "hashbelt.h"
#include "hashbelt_version.h"
#include "option_row.h"
#include "options.h"

#ifndef VERSION
#define VERSION	HASHBELT_VERSION
#endif

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* getopt_long() returns for a long option this and the number of its row. */
#define LONG_BASE	0x100

/* Results of the parsers. */
enum {
	GO_ON = 0,
	STOP_GOOD = 1,		/* exit status 0 */
	STOP_USAGE = 3,		/* exit status 2 */
};

/* Loopback, and the port of memcached. */
#define DEFAULT_ADDRESS	"127.0.0.1"
#define DEFAULT_PORT	11211

static const struct option_row rows[];

/* Prints an error of usage. Returns STOP_USAGE. */
__attribute__((format(printf, 1, 2)))
static int wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("hbserve: ", stderr);
	vfprintf(stderr, format, args);
	fputs(" (see 'hbserve --help')\n", stderr);
	va_end(args);
	return STOP_USAGE;
}

static void *field_of(struct options *options, const struct option_row *row)
{
	return (char *)options + row->field;
}

static int parse_text(struct options *options, const struct option_row *row, const char *text)
{
	const char **field = field_of(options, row);

	if (!*text)
		return wrong("--%s needs a %s", row->name, row->argument);
	if (*field)
		return wrong("--%s is given twice", row->name);
	*field = text;
	return GO_ON;
}

static int parse_flag(struct options *options, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)field_of(options, row) = true;
	return GO_ON;
}

static int parse_more(struct options *options, const struct option_row *row, const char *text)
{
	(void)text;
	++*(int *)field_of(options, row);
	return GO_ON;
}

/* Reads a number without a sign. Returns its end; NULL if there is none or it is too large. */
static const char *read_number(const char *text, int base, unsigned long *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	*number = strtoul(text, &end, base);
	return errno ? NULL : end;
}

static int parse_number(struct options *options, const struct option_row *row, const char *text)
{
	unsigned long number;
	const char *end = read_number(text, 10, &number);

	if (!end || *end || number < row->least || number > row->most)
		return wrong("--%s: '%s' is not a number from %lu to %lu", row->name, text,
			     row->least, row->most);
	*(unsigned int *)field_of(options, row) = number;
	return GO_ON;
}

/* As memcached, a number of bytes or, with k or m behind it, KiB or MiB. */
static int parse_size(struct options *options, const struct option_row *row, const char *text)
{
	unsigned long number, unit = 1;
	const char *end = read_number(text, 10, &number);

	if (end && (*end == 'k' || *end == 'K'))
		unit = 1024;
	else if (end && (*end == 'm' || *end == 'M'))
		unit = 1024 * 1024;
	if (!end || end[unit > 1] || number > row->most / unit || number * unit < row->least)
		return wrong("--%s: '%s' is not a size from %lu to %lu bytes, as 512k or 1m",
			     row->name, text, row->least, row->most);
	*(size_t *)field_of(options, row) = number * unit;
	return GO_ON;
}

static int parse_mode(struct options *options, const struct option_row *row, const char *text)
{
	unsigned long number;
	const char *end = read_number(text, 8, &number);

	if (!end || *end || number > 0777)
		return wrong("--%s: '%s' is not a mode from 0 to 0777", row->name, text);
	*(mode_t *)field_of(options, row) = number;
	return GO_ON;
}

static int parse_udp(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	if (strcmp(text, "0"))
		return wrong("--%s: hbserve has no UDP: only 0 is allowed", row->name);
	return GO_ON;
}

static int parse_absent(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)text;
	return wrong("hbserve has no option --%s (-%c) of memcached: %s", row->name, row->letter,
		     row->instead);
}

static const struct option_row *find_row(const char *name, size_t len)
{
	const struct option_row *row;

	for (row = rows; row->name; row++)
		if (strlen(row->name) == len && !strncmp(row->name, name, len))
			return row;
	return NULL;
}

/* memcached's -o NAME=VALUE is here the option --NAME, with dashes. */
static int parse_extended(struct options *options, const struct option_row *row, const char *text)
{
	const struct option_row *named;
	char name[32];
	size_t len;

	len = strcspn(text, "=");
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	for (char *p = name; *p; p++)
		*p = *p == '_' ? '-' : *p;
	named = len < sizeof(name) ? find_row(name, len) : NULL;
	if (!named || !named->help || !named->argument || named == row || !text[len])
		return wrong("--%s: hbserve has no extended option '%s'", row->name, text);
	return named->parse(options, named, text + len + 1);
}

static int parse_completion(struct options *options, const struct option_row *row,
			    const char *text)
{
	(void)options;
	if (!completion_print(text, rows))
		return wrong("--%s: '%s' is not %s", row->name, text, row->argument);
	return STOP_GOOD;
}

static int parse_version(struct options *options, const struct option_row *row, const char *text)
{
	(void)options;
	(void)row;
	(void)text;
	puts("hbserve " VERSION);
	return STOP_GOOD;
}

static int parse_help(struct options *options, const struct option_row *row, const char *text)
{
	char name[64];

	(void)options;
	(void)text;
	puts("Usage: hbserve [OPTION]...\n"
	     "Serve the belts of hashbelt by the protocol of memcached.\n");
	for (row = rows; row->name; row++) {
		if (!row->help)
			continue;
		snprintf(name, sizeof(name), "--%s%s%s", row->name, row->argument ? " " : "",
			 row->argument ? row->argument : "");
		if (row->letter)
			printf("  -%c, %-26s %s\n", row->letter, name, row->help);
		else
			printf("      %-26s %s\n", name, row->help);
	}
	return STOP_GOOD;
}

/* An option that sets a member of struct options, and one that does not. */
#define SETS(member, long_name, short_name, takes, does, how) \
	.name = long_name, .letter = short_name, .argument = takes, .help = does, \
	.parse = how, .field = offsetof(struct options, member)
#define DOES(long_name, short_name, takes, does, how) \
	.name = long_name, .letter = short_name, .argument = takes, .help = does, .parse = how

/* One that only memcached has. */
#define ABSENT(long_name, short_name, takes, what) \
	.name = long_name, .letter = short_name, .argument = takes, .instead = what, \
	.parse = parse_absent

static const struct option_row rows[] = {
	{ SETS(socket, "unix-socket", 's', "FILE", "listen on this unix socket", parse_text) },
	{ SETS(mode, "unix-mask", 'a', "MODE", "its mode, octal (0700)", parse_mode) },
	{ SETS(group, "group", 0, "GROUP", "its group", parse_text) },
	{ SETS(address, "listen", 'l', "ADDRESS",
	       "listen on TCP: HOST or HOST:PORT, by commas", parse_text) },
	{ SETS(port, "port", 'p', "PORT", "the port (11211); without -l, at 127.0.0.1",
	       parse_number), .least = 0, .most = 65535 },
	{ SETS(belt, "belt", 'b', "BELT", "the belt (" HASHBELT_DEFAULT_BELT ")", parse_text) },
	{ SETS(belts_by_prefix, "belts-by-prefix", 0, NULL, "a key NAME:KEY is KEY in belt NAME",
	       parse_flag) },
	{ SETS(threads, "threads", 't', "N", "number of worker threads (4)", parse_number),
	  .least = 1, .most = 256 },
	{ SETS(connections, "conn-limit", 'c', "N", "most clients at a time (1024)",
	       parse_number), .least = 1, .most = 1000000 },
	{ SETS(idle_seconds, "idle-timeout", 0, "SECONDS",
	       "close clients silent for so long (0: never)", parse_number),
	  .least = 0, .most = INT_MAX / 1000 },
	{ SETS(item_max, "max-item-size", 'I', "SIZE", "longest value, as 512k (1m)", parse_size),
	  .least = 1024, .most = HASHBELT_VALUE_MAX },
	{ SETS(auth_file, "auth-file", 'Y', "FILE",
	       "serve only clients with a USER:PASSWORD of FILE", parse_text) },
	{ SETS(tls, "tls", 'Z', NULL, "encrypt TCP", parse_flag) },
	{ SETS(tls_cert, "tls-cert", 0, "FILE", "the certificate and its chain, PEM",
	       parse_text) },
	{ SETS(tls_key, "tls-key", 0, "FILE", "its private key, PEM", parse_text) },
	{ SETS(tls_ca, "tls-ca", 0, "FILE", "certificates that sign those of clients, PEM",
	       parse_text) },
	{ SETS(tls_verify, "tls-verify", 0, NULL, "refuse clients without a certificate",
	       parse_flag) },
	{ SETS(shutdown, "enable-shutdown", 'A', NULL,
	       "let clients end the server (command shutdown)", parse_flag) },
	{ SETS(verbose, "verbose", 'v', NULL, "log connections; twice: requests, too",
	       parse_more) },
	{ DOES("extended", 'o', "NAME=VALUE", "as memcached, for idle_timeout", parse_extended) },
	{ DOES("udp-port", 'U', "PORT", "as memcached, for 0 alone: there is no UDP",
	       parse_udp) },
	{ DOES("completion", 0, "bash|fish|zsh", "print completion for this shell and do nothing",
	       parse_completion) },
	{ DOES("help", 'h', NULL, "print help and do nothing", parse_help) },
	{ DOES("version", 'V', NULL, "print the version and do nothing", parse_version) },
	{ ABSENT("daemon", 'd', NULL, "start it by systemd, or with & behind it") },
	{ ABSENT("user", 'u', "USER", "start it as that user") },
	{ ABSENT("pidfile", 'P', "FILE", "systemd knows its process") },
	{ ABSENT("memory-limit", 'm', "MB", "'hbctl set BELT --max-bytes SIZE' limits a belt") },
	{ ABSENT("disable-evictions", 'M', NULL,
		 "'hbctl set BELT --when-full reject' does this") },
	{ ABSENT("lock-memory", 'k', NULL, "a belt is never swapped out") },
	{ ABSENT("protocol", 'B', "NAME", "it speaks the text protocol only") },
	{ ABSENT("enable-sasl", 'S', NULL, "use --auth-file") },
	{ 0 },
};

/* The forms of the table for getopt_long(3). */
static void list_options(char *letters, struct option *longs)
{
	const struct option_row *row;

	*letters++ = ':';
	for (row = rows; row->name; row++) {
		*longs++ = (struct option){ row->name, row->argument ? required_argument :
					    no_argument, NULL, LONG_BASE + (int)(row - rows) };
		if (!row->letter)
			continue;
		*letters++ = row->letter;
		if (row->argument)
			*letters++ = ':';
	}
	*letters = '\0';
	*longs = (struct option){ 0 };
}

static const struct option_row *row_of(int found)
{
	const struct option_row *row;

	if (found >= LONG_BASE)
		return &rows[found - LONG_BASE];
	for (row = rows; row->name && row->letter != found; row++)
		;
	return row;
}

/* Checks the options together. */
static int check(struct options *options)
{
	bool files = options->tls_cert || options->tls_key || options->tls_ca ||
		     options->tls_verify;

	if (files && !options->tls)
		return wrong("--tls-cert, --tls-key, --tls-ca and --tls-verify need --tls");
	if (options->tls && (!options->tls_cert || !options->tls_key))
		return wrong("--tls needs --tls-cert and --tls-key");
	if (options->tls_verify && !options->tls_ca)
		return wrong("--tls-verify needs --tls-ca");
	if (options->group && !options->socket)
		return wrong("--group is the group of a unix socket: give --unix-socket as well");
	return GO_ON;
}

/* Fills in what was not given. A port of 0 turns TCP off, as in memcached. */
static void complete(struct options *options)
{
	if (!options->port)
		options->address = NULL;
	else if (options->port == UINT_MAX)
		options->port = DEFAULT_PORT;
	else if (!options->address)
		options->address = DEFAULT_ADDRESS;
	if (!options->belt)
		options->belt = HASHBELT_DEFAULT_BELT;
}

/**
 * options_parse() - read the command line
 * @argc:	as of main()
 * @argv:	as of main(); has to stay, and is reordered
 * @options:	the result
 *
 * Prints help, or an error on stderr.
 *
 * Return: 0, or the exit status + 1.
 */
int options_parse(int argc, char **argv, struct options *options)
{
	struct option longs[ARRAY_SIZE(rows)];
	char letters[2 * ARRAY_SIZE(rows) + 2];
	const struct option_row *row;
	int found, status;

	*options = (struct options){
		.mode = 0700, .port = UINT_MAX, .threads = 4, .connections = 1024,
		.item_max = HASHBELT_VALUE_MAX,
	};
	list_options(letters, longs);
	opterr = 0;
	optind = 0;
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (found == ':')
			return wrong("option '%s' needs an argument", argv[optind - 1]);
		if (found == '?' && optopt >= LONG_BASE)
			return wrong("--%s takes no argument", rows[optopt - LONG_BASE].name);
		if (found == '?' && optopt)
			return wrong("there is no option -%c", optopt);
		if (found == '?')
			return wrong("there is no option '%s'", argv[optind - 1]);
		row = row_of(found);
		status = row->parse(options, row, optarg);
		if (status)
			return status;
	}
	if (optind < argc)
		return wrong("'%s' is not an option", argv[optind]);
	status = check(options);
	if (!status)
		complete(options);
	return status;
}
