// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of hbserve. Letters and long names are those of memcached where the options mean
 * the same; an option that only memcached has is refused with what to do in its place.
 */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "hashbelt.h"
#include "option.h"
#include "options.h"

/* Loopback, and the ports of memcached and Redis. */
#define DEFAULT_ADDRESS	"127.0.0.1"
#define MEMCACHED_PORT	11211
#define REDIS_PORT	6379

/* A number of bytes or, with k or m behind it, KiB or MiB: the form of memcached. */
static int parse_size(const struct option_reader *reader, const struct option_row *row,
		      const char *text)
{
	unsigned long number, unit = 1;
	const char *end = option_digits(text, 10, &number);

	if (end && (*end == 'k' || *end == 'K'))
		unit = 1024;
	else if (end && (*end == 'm' || *end == 'M'))
		unit = 1024 * 1024;
	if (!end || end[unit > 1] || number > row->most / unit || number * unit < row->least)
		return option_wrong(reader,
				    "--%s: '%s' is not a size from %lu to %lu bytes, as 512k or 1m",
				    row->name, text, row->least, row->most);
	*(size_t *)option_field(reader, row) = number * unit;
	return OPTION_FINE;
}

static int parse_mode(const struct option_reader *reader, const struct option_row *row,
		      const char *text)
{
	unsigned long number;
	const char *end = option_digits(text, 8, &number);

	if (!end || *end || number > 0777)
		return option_wrong(reader, "--%s: '%s' is not a mode from 0 to 0777", row->name,
				    text);
	*(mode_t *)option_field(reader, row) = number;
	return OPTION_FINE;
}

static int parse_protocol(const struct option_reader *reader, const struct option_row *row,
			  const char *text)
{
	enum protocol_kind *protocol = option_field(reader, row);

	if (!strcmp(text, "redis"))
		*protocol = PROTOCOL_REDIS;
	else if (!strcmp(text, "memcached") || !strcmp(text, "ascii"))
		*protocol = PROTOCOL_MEMCACHED;
	else
		return option_wrong(reader, "--%s: '%s' is not memcached or redis", row->name,
				    text);
	return OPTION_FINE;
}

static int parse_database(const struct option_reader *reader, const struct option_row *row,
			  const char *text)
{
	const char **databases = option_field(reader, row);
	unsigned long number;
	const char *end = option_digits(text, 10, &number);

	if (!end || *end != '=' || !end[1] || !number || number >= DATABASES_MAX ||
	    strlen(end + 1) >= HASHBELT_NAME_SIZE)
		return option_wrong(reader,
				    "--%s: '%s' is not NUMBER=BELT, with a number from 1 to %u",
				    row->name, text, DATABASES_MAX - 1);
	databases[number] = end + 1;
	return OPTION_FINE;
}

static int parse_udp(const struct option_reader *reader, const struct option_row *row,
		     const char *text)
{
	if (strcmp(text, "0"))
		return option_wrong(reader, "--%s: hbserve has no UDP: only 0 is allowed",
				    row->name);
	return OPTION_FINE;
}

static int parse_absent(const struct option_reader *reader, const struct option_row *row,
			const char *text)
{
	(void)text;
	return option_wrong(reader, "hbserve has no option --%s (-%c) of memcached: %s",
			    row->name, row->letter, row->instead);
}

/* memcached's -o NAME=VALUE is here the option --NAME, with dashes. */
static int parse_extended(const struct option_reader *reader, const struct option_row *row,
			  const char *text)
{
	const struct option_row *named;
	char name[32];
	size_t len;

	len = strcspn(text, "=");
	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	for (char *p = name; *p; p++)
		*p = *p == '_' ? '-' : *p;
	named = len < sizeof(name) ? option_find(reader, name, len) : NULL;
	if (!named || !named->help || !named->argument || named == row || !text[len])
		return option_wrong(reader, "--%s: hbserve has no extended option '%s'", row->name,
				    text);
	return named->parse(reader, named, text + len + 1);
}

/* One that only memcached has. */
#define ABSENT(long_name, short_name, takes, what) \
	.name = long_name, .letter = short_name, .argument = takes, .instead = what, \
	.parse = parse_absent

static const struct option_row rows[] = {
	{ OPTION_SETS(socket, "unix-socket", 's', "FILE", "listen on this unix socket",
		      option_text) },
	{ OPTION_SETS(mode, "unix-mask", 'a', "MODE", "its mode, octal (0700)", parse_mode) },
	{ OPTION_SETS(group, "group", 0, "GROUP", "its group", option_text) },
	{ OPTION_SETS(address, "listen", 'l', "ADDRESS",
		      "listen on TCP: HOST or HOST:PORT, by commas", option_text) },
	{ OPTION_SETS(port, "port", 'p', "PORT",
		      "the port (11211, or 6379); without -l, at 127.0.0.1", option_number),
	  .least = 0, .most = 65535 },
	{ OPTION_SETS(protocol, "protocol", 'B', "memcached|redis",
		      "the protocol of clients (memcached)", parse_protocol) },
	{ OPTION_SETS(belt, "belt", 'b', "BELT", "the belt (" HASHBELT_DEFAULT_BELT ")",
		      option_text) },
	{ OPTION_SETS(databases, "database", 0, "NUMBER=BELT",
		      "with redis: the belt of SELECT NUMBER, several", parse_database) },
	{ OPTION_SETS(belts_by_prefix, "belts-by-prefix", 0, NULL,
		      "a key NAME:KEY is KEY in belt NAME", option_flag) },
	{ OPTION_SETS(threads, "threads", 't', "N", "number of worker threads (4)", option_number),
	  .least = 1, .most = 256 },
	{ OPTION_SETS(connections, "conn-limit", 'c', "N", "most clients at a time (1024)",
		      option_number), .least = 1, .most = 1000000 },
	{ OPTION_SETS(idle_seconds, "idle-timeout", 0, "SECONDS",
		      "close clients silent for so long (0: never)", option_number),
	  .least = 0, .most = INT_MAX / 1000 },
	{ OPTION_SETS(item_max, "max-item-size", 'I', "SIZE", "longest value, as 512k (1m)",
		      parse_size),
	  .least = 1024, .most = HASHBELT_VALUE_MAX },
	{ OPTION_SETS(auth_file, "auth-file", 'Y', "FILE",
		      "serve only clients with a USER:PASSWORD of FILE", option_text) },
	{ OPTION_SETS(tls, "tls", 'Z', NULL, "encrypt TCP", option_flag) },
	{ OPTION_SETS(tls_cert, "tls-cert", 0, "FILE", "the certificate and its chain, PEM",
		      option_text) },
	{ OPTION_SETS(tls_key, "tls-key", 0, "FILE", "its private key, PEM", option_text) },
	{ OPTION_SETS(tls_ca, "tls-ca", 0, "FILE", "certificates that sign those of clients, PEM",
		      option_text) },
	{ OPTION_SETS(tls_verify, "tls-verify", 0, NULL, "refuse clients without a certificate",
		      option_flag) },
	{ OPTION_SETS(shutdown, "enable-shutdown", 'A', NULL,
		      "let clients end the server (command shutdown)", option_flag) },
	{ OPTION_SETS(dump, "enable-dump", 0, NULL,
		      "let clients list the keys (lru_crawler, stats cachedump)", option_flag) },
	{ OPTION_SETS(verbose, "verbose", 'v', NULL, "log connections; twice: requests, too",
		      option_more) },
	{ OPTION_SETS(list_commands, "list-commands", 0, NULL,
		      "print the commands of redis and do nothing", option_flag) },
	{ OPTION_DOES("extended", 'o', "NAME=VALUE", "as memcached, for idle_timeout",
		      parse_extended) },
	{ OPTION_DOES("udp-port", 'U', "PORT", "as memcached, for 0 alone: there is no UDP",
		      parse_udp) },
	{ OPTION_DOES("completion", 0, "bash|fish|zsh",
		      "print completion for this shell and do nothing", option_completion) },
	{ OPTION_DOES("help", 'h', NULL, "print help and do nothing", option_help) },
	{ OPTION_DOES("version", 'V', NULL, "print the version and do nothing", option_version) },
	{ ABSENT("daemon", 'd', NULL, "start it by systemd, or with & behind it") },
	{ ABSENT("user", 'u', "USER", "start it as that user") },
	{ ABSENT("pidfile", 'P', "FILE", "systemd knows its process") },
	{ ABSENT("memory-limit", 'm', "MB", "'hbctl set BELT --max-bytes SIZE' limits a belt") },
	{ ABSENT("disable-evictions", 'M', NULL,
		 "'hbctl set BELT --when-full reject' does this") },
	{ ABSENT("lock-memory", 'k', NULL, "a belt is never swapped out") },
	{ ABSENT("enable-sasl", 'S', NULL, "use --auth-file") },
	{ 0 },
};

static const struct option_program program = {
	.name = "hbserve",
	.usage = "Usage: hbserve [OPTION]...\n"
		 "Serve the belts of hashbelt by the protocol of memcached, or of Redis.\n",
	.rows = rows,
};

static bool has_database(const struct options *options)
{
	unsigned int i;

	for (i = 0; i < DATABASES_MAX; i++)
		if (options->databases[i])
			return true;
	return false;
}

/* Checks the options together. */
static int check(const struct option_reader *reader, const struct options *options)
{
	bool files = options->tls_cert || options->tls_key || options->tls_ca ||
		     options->tls_verify;

	if (files && !options->tls)
		return option_wrong(reader,
				    "--tls-cert, --tls-key, --tls-ca and --tls-verify need --tls");
	if (options->tls && (!options->tls_cert || !options->tls_key))
		return option_wrong(reader, "--tls needs --tls-cert and --tls-key");
	if (options->tls_verify && !options->tls_ca)
		return option_wrong(reader, "--tls-verify needs --tls-ca");
	if (options->protocol == PROTOCOL_REDIS && options->belts_by_prefix)
		return option_wrong(reader,
				    "--belts-by-prefix is for memcached: --database gives SELECT a belt");
	if (options->protocol != PROTOCOL_REDIS && has_database(options))
		return option_wrong(reader, "--database needs --protocol redis");
	if (options->group && !options->socket)
		return option_wrong(reader,
				    "--group is the group of a unix socket: give --unix-socket as well");
	return OPTION_FINE;
}

/* Fills in what was not given. A port of 0 turns TCP off, as in memcached. */
static void complete(struct options *options)
{
	if (!options->port)
		options->address = NULL;
	else if (options->port == UINT_MAX)
		options->port = options->protocol == PROTOCOL_REDIS ? REDIS_PORT : MEMCACHED_PORT;
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
	const struct option_reader reader = { .program = &program, .options = options };
	int status;

	*options = (struct options){
		.mode = 0700, .port = UINT_MAX, .threads = 4, .connections = 1024,
		.item_max = HASHBELT_VALUE_MAX,
	};
	status = option_read(&reader, argc, argv);
	if (status)
		return status;
	if (optind < argc)
		return option_wrong(&reader, "'%s' is not an option", argv[optind]);
	status = check(&reader, options);
	if (!status)
		complete(options);
	return status;
}
