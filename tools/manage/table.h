/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables for people, by libsmartcols: a command has columns, of which -o chooses. */
#ifndef MANAGE_TABLE_H
#define MANAGE_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "command.h"

/* Properties of a column. */
enum table_flags {
	TABLE_DEFAULT	= 1 << 0,	/* is shown without -o */
	TABLE_OF_ALL	= 1 << 1,	/* is shown without -o if the table is of all belts */
	TABLE_NUMBER	= 1 << 2,	/* stands to the right */
	TABLE_TEXT	= 1 << 3,	/* is cut where the terminal is narrow */
};

/**
 * struct table_column - a column that a command has
 * @name:	its heading, in capitals; NULL ends a list
 * @flags:	of enum table_flags
 * @help:	its content, in a line
 * @print:	writes the cell of a row, escaped as by escape_print()
 * @offset:	for @print: where the row has the value
 */
struct table_column {
	const char *name;
	int flags;
	const char *help;
	void (*print)(FILE *cell, const void *row, const struct table_column *column);
	size_t offset;
};

/* The options of each command that prints a table: it has all three. */
#define TABLE_OUTPUT \
	{ "output", 'o', "COLUMNS", "a table of these columns: A,B; +A,B adds to the default" }
#define TABLE_NOHEADINGS \
	{ "noheadings", 0, NULL, "a table without the line of headings" }
#define TABLE_RAW \
	{ "raw", 0, NULL, "a table that is not aligned: words between single blanks" }

struct table;

bool table_is_asked(const struct request *request);
enum status table_begin(const struct request *request, int shown, struct table **table);
void table_add(struct table *table, const void *row);
void table_print(struct table *table, FILE *file);
void table_end(struct table *table);

void table_number(FILE *cell, const void *row, const struct table_column *column);
void table_word(FILE *cell, const void *row, const struct table_column *column);
void table_size(FILE *cell, const void *row, const struct table_column *column);
void table_duration(FILE *cell, const void *row, const struct table_column *column);

#endif /* MANAGE_TABLE_H */
