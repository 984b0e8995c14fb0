/* SPDX-License-Identifier: GPL-2.0-only */
/* A row of the table of options, from which the parser, help and completion are made. */
#ifndef HBSERVE_OPTION_ROW_H
#define HBSERVE_OPTION_ROW_H

#include <stddef.h>

struct options;

/**
 * struct option_row - an option
 * @name:	without the dashes; NULL ends the table
 * @letter:	its short form; 0 for none
 * @argument:	the name of its argument; NULL if it takes none. Completion offers files for FILE,
 *		belts for BELT, groups for GROUP, and words in lower case, separated by '|'
 * @help:	its effect, in a line; NULL for one that only memcached has, which is not shown
 * @instead:	of an option that only memcached has: what to do
 * @parse:	stores the argument. Returns 0 to go on, or the exit status + 1
 * @field:	the offset of the member of struct options that it sets
 * @least:	the least number that it takes
 * @most:	the largest
 */
struct option_row {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
	const char *instead;
	int (*parse)(struct options *options, const struct option_row *row, const char *text);
	size_t field;
	unsigned long least;
	unsigned long most;
};

#endif /* HBSERVE_OPTION_ROW_H */
