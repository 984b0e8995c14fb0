/* SPDX-License-Identifier: GPL-2.0-only */
/* A table of options, from which the parser, help and completion are made. */
#ifndef COMMON_OPTION_H
#define COMMON_OPTION_H

#include <stddef.h>

struct option_row;

/* Results of parsers. */
enum {
	OPTION_FINE = 0,
	OPTION_STOP = 1,		/* exit status 0 */
	OPTION_WRONG = 3,		/* exit status 2 */
};

/**
 * struct option_program - a program and its options
 * @name:	its name
 * @usage:	how it is called, and what it does: the head of help, without the last end of a line
 * @rows:	its options
 */
struct option_program {
	const char *name;
	const char *usage;
	const struct option_row *rows;
};

/**
 * struct option_reader - a command line that is read
 * @program:	the program
 * @options:	its structure of options
 */
struct option_reader {
	const struct option_program *program;
	void *options;
};

/**
 * struct option_row - an option
 * @name:	without the dashes; NULL ends the table
 * @letter:	its short form; 0 for none
 * @argument:	the name of its argument; NULL if it takes none. Completion offers files for FILE,
 *		belts for BELT, groups for GROUP, and words in lower case, separated by '|'
 * @help:	its effect, in a line without quotes; NULL for one that is not shown
 * @instead:	of an option that only another program has: what to do
 * @parse:	stores the argument. Return: one of the results of parsers
 * @field:	the offset of the member of the structure of options that it sets
 * @least:	the least number that it takes
 * @most:	the largest
 */
struct option_row {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
	const char *instead;
	int (*parse)(const struct option_reader *reader, const struct option_row *row,
		     const char *text);
	size_t field;
	unsigned long least;
	unsigned long most;
};

/* The members of a row that sets a member of struct options, and of one that does not. */
#define OPTION_SETS(member, long_name, short_name, takes, does, how) \
	.name = long_name, .letter = short_name, .argument = takes, .help = does, \
	.parse = how, .field = offsetof(struct options, member)
#define OPTION_DOES(long_name, short_name, takes, does, how) \
	.name = long_name, .letter = short_name, .argument = takes, .help = does, .parse = how

int option_read(const struct option_reader *reader, int argc, char **argv);
int option_wrong(const struct option_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void *option_field(const struct option_reader *reader, const struct option_row *row);
const struct option_row *option_find(const struct option_reader *reader, const char *name,
				     size_t len);
const char *option_digits(const char *text, int base, unsigned long *number);

int option_text(const struct option_reader *reader, const struct option_row *row,
		const char *text);
int option_flag(const struct option_reader *reader, const struct option_row *row,
		const char *text);
int option_more(const struct option_reader *reader, const struct option_row *row,
		const char *text);
int option_number(const struct option_reader *reader, const struct option_row *row,
		  const char *text);
int option_completion(const struct option_reader *reader, const struct option_row *row,
		      const char *text);
int option_help(const struct option_reader *reader, const struct option_row *row,
		const char *text);
int option_version(const struct option_reader *reader, const struct option_row *row,
		   const char *text);

#endif /* COMMON_OPTION_H */
