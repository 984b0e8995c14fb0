// SPDX-License-Identifier: GPL-2.0-only
/* A command line by a table of options. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "completion.h"
#include "hashbelt_version.h"
#include "help.h"
#include "option.h"

#ifndef VERSION
#define VERSION	HASHBELT_VERSION
#endif

/* Most rows of a table. */
#define ROWS_MAX	64

/* getopt_long() returns for a long option this and the number of its row. */
#define LONG_BASE	0x100

/**
 * option_wrong() - print an error of usage
 * @reader:	the command line
 * @format:	the error, without the end of the line
 *
 * Return: OPTION_WRONG.
 */
int option_wrong(const struct option_reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", reader->program->name);
	vfprintf(stderr, format, args);
	fprintf(stderr, " (see '%s --help')\n", reader->program->name);
	va_end(args);
	return OPTION_WRONG;
}

/**
 * option_field() - the member that an option sets
 * @reader:	the command line
 * @row:	the option
 *
 * Return: where it is.
 */
void *option_field(const struct option_reader *reader, const struct option_row *row)
{
	return (char *)reader->options + row->field;
}

/**
 * option_find() - find an option by its long name
 * @reader:	the command line
 * @name:	the name
 * @len:	its length
 *
 * Return: the option; NULL if there is none.
 */
const struct option_row *option_find(const struct option_reader *reader, const char *name,
				     size_t len)
{
	const struct option_row *row;

	for (row = reader->program->rows; row->name; row++)
		if (strlen(row->name) == len && !strncmp(row->name, name, len))
			return row;
	return NULL;
}

/**
 * option_digits() - read a number without a sign
 * @text:	the number, and perhaps more
 * @base:	8 or 10
 * @number:	returned
 *
 * Return: what follows it; NULL if there is none or it is too large.
 */
const char *option_digits(const char *text, int base, unsigned long *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	*number = strtoul(text, &end, base);
	return errno ? NULL : end;
}

/* Parsers of rows: the member is a const char *, a bool, an int, an unsigned int. */

int option_text(const struct option_reader *reader, const struct option_row *row,
		const char *text)
{
	const char **field = option_field(reader, row);

	if (!*text)
		return option_wrong(reader, "--%s needs a %s", row->name, row->argument);
	if (*field)
		return option_wrong(reader, "--%s is given twice", row->name);
	*field = text;
	return OPTION_FINE;
}

int option_flag(const struct option_reader *reader, const struct option_row *row,
		const char *text)
{
	(void)text;
	*(bool *)option_field(reader, row) = true;
	return OPTION_FINE;
}

int option_more(const struct option_reader *reader, const struct option_row *row,
		const char *text)
{
	(void)text;
	++*(int *)option_field(reader, row);
	return OPTION_FINE;
}

int option_number(const struct option_reader *reader, const struct option_row *row,
		  const char *text)
{
	unsigned long number;
	const char *end = option_digits(text, 10, &number);

	if (!end || *end || number < row->least || number > row->most)
		return option_wrong(reader, "--%s: '%s' is not a number from %lu to %lu",
				    row->name, text, row->least, row->most);
	*(unsigned int *)option_field(reader, row) = number;
	return OPTION_FINE;
}

int option_completion(const struct option_reader *reader, const struct option_row *row,
		      const char *text)
{
	if (!completion_print(reader->program, text))
		return option_wrong(reader, "--%s: '%s' is not %s", row->name, text,
				    row->argument);
	return OPTION_STOP;
}

int option_version(const struct option_reader *reader, const struct option_row *row,
		   const char *text)
{
	(void)row;
	(void)text;
	printf("%s %s\n", reader->program->name, VERSION);
	return OPTION_STOP;
}

int option_help(const struct option_reader *reader, const struct option_row *row,
		const char *text)
{
	(void)text;
	help_text(reader->program->usage);
	for (row = reader->program->rows; row->name; row++)
		if (row->help)
			help_option(row->letter, row->name, row->argument, row->help);
	return OPTION_STOP;
}

/* The forms of the table for getopt_long(3). */
static void list_options(const struct option_row *rows, char *letters, struct option *longs)
{
	const struct option_row *row;

	*letters++ = ':';
	for (row = rows; row->name && row < rows + ROWS_MAX; row++) {
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

static const struct option_row *row_of(const struct option_row *rows, int found)
{
	const struct option_row *row;

	if (found >= LONG_BASE)
		return &rows[found - LONG_BASE];
	for (row = rows; row->name && row->letter != found; row++)
		;
	return row;
}

/* Prints why getopt_long() has returned ':' or '?'. */
static int refuse(const struct option_reader *reader, int found, const char *word)
{
	if (found == ':')
		return option_wrong(reader, "option '%s' needs an argument", word);
	if (optopt >= LONG_BASE)
		return option_wrong(reader, "--%s takes no argument",
				    reader->program->rows[optopt - LONG_BASE].name);
	if (optopt)
		return option_wrong(reader, "there is no option -%c", optopt);
	return option_wrong(reader, "there is no option '%s'", word);
}

/**
 * option_read() - read the options of a command line
 * @reader:	the program, and its structure of options, which has the defaults
 * @argc:	as of main()
 * @argv:	as of main(); has to stay, and is reordered: what is no option comes last, from
 *		optind on
 *
 * Prints an error on stderr.
 *
 * Return: a result of parsers.
 */
int option_read(const struct option_reader *reader, int argc, char **argv)
{
	const struct option_row *rows = reader->program->rows, *row;
	struct option longs[ROWS_MAX + 1];
	char letters[2 * ROWS_MAX + 2];
	int found, status;

	list_options(rows, letters, longs);
	opterr = 0;
	optind = 0;
	while ((found = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (found == ':' || found == '?')
			return refuse(reader, found, argv[optind - 1]);
		row = row_of(rows, found);
		status = row->parse(reader, row, optarg);
		if (status)
			return status;
	}
	return OPTION_FINE;
}
