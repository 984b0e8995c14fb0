// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wchar.h>

#include "bar.h"
#include "duration.h"
#include "table.h"

/* The separator between two cells. */
#define GAP	"  "

/**
 * struct table - a table that is filled
 * @scols:	the table of libsmartcols
 * @columns:	its columns; one may be there twice
 * @count:	their number
 */
struct table {
	struct libscols_table *scols;
	const struct table_column **columns;
	size_t count;
};

/* @err: of a function of libsmartcols, which fails only if there is no memory. */
static void must(int err)
{
	if (err)
		exit(fail(STATUS_ERROR, "cannot make a table: %s", strerror(abs(err))));
}

static void must_have(const void *pointer)
{
	must(pointer ? 0 : -ENOMEM);
}

/**
 * table_is_asked() - whether an option asks for a table
 * @request:	the request, of a command with the options of tables
 *
 * Return: whether -o, --noheadings or --raw is given.
 */
bool table_is_asked(const struct request *request)
{
	return request_option(request, "output") || request_option(request, "noheadings") ||
	       request_option(request, "raw");
}

static void add_column(struct table *table, const struct table_column *column)
{
	table->columns = reallocarray(table->columns, table->count + 1, sizeof(*table->columns));
	must_have(table->columns);
	table->columns[table->count++] = column;
}

static enum status fail_column(const struct request *request, const char *name, size_t len)
{
	const struct table_column *column = request->command->table;
	char list[384] = "";
	size_t end = 0;

	for (; column->name && end < sizeof(list); column++)
		end += snprintf(list + end, sizeof(list) - end, "%s%s", end ? ", " : "",
				column->name);
	return fail_usage(request, "-o: there is no column '%.*s', only %s", (int)len, name, list);
}

/* Adds the column of that name, in capitals or not. */
static enum status add_named(const struct request *request, struct table *table, const char *name,
			     size_t len)
{
	const struct table_column *column;

	for (column = request->command->table; column->name; column++) {
		if (strlen(column->name) == len && !strncasecmp(column->name, name, len)) {
			add_column(table, column);
			return STATUS_DONE;
		}
	}
	return fail_column(request, name, len);
}

/* Chooses the columns. @shown: flags of those that are shown without -o. */
static enum status choose(const struct request *request, int shown, struct table *table)
{
	const char *names = request_option(request, "output");
	const struct table_column *column;
	enum status status = STATUS_DONE;
	size_t len;

	if (!names || *names == '+')
		for (column = request->command->table; column->name; column++)
			if (column->flags & shown)
				add_column(table, column);
	if (!names)
		return STATUS_DONE;
	for (names += *names == '+'; !status; names += len + 1) {
		len = strcspn(names, ",");
		status = add_named(request, table, names, len);
		if (!names[len])
			break;
	}
	return status;
}

/* Widths are those of UTF-8, also where the locale is "C" or is not installed. */
static void use_utf8(void)
{
	setlocale(LC_CTYPE, "");
	if (MB_CUR_MAX == 1)
		setlocale(LC_CTYPE, "C.UTF-8");
}

static void make_columns(struct table *table)
{
	struct libscols_column *column;
	size_t i;
	int flags;

	for (i = 0; i < table->count; i++) {
		flags = table->columns[i]->flags & TABLE_NUMBER ? SCOLS_FL_RIGHT : 0;
		if (table->columns[i]->flags & TABLE_TEXT)
			flags |= SCOLS_FL_TRUNC;
		column = scols_table_new_column(table->scols, table->columns[i]->name, 0, flags);
		must_have(column);
	}
}

/**
 * table_begin() - begin a table of the command's columns
 * @request:	the request, of a command with the options of tables
 * @shown:	flags of the columns that are shown without -o
 * @table:	returned
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status table_begin(const struct request *request, int shown, struct table **table)
{
	enum status status;

	*table = NULL;
	if (request->json && table_is_asked(request))
		return fail_usage(request,
				  "-o, --noheadings and --raw are for tables, not for --json");
	if (request->json)
		return STATUS_DONE;
	use_utf8();
	*table = calloc(1, sizeof(**table));
	must_have(*table);
	status = choose(request, shown, *table);
	if (status) {
		table_end(*table);
		*table = NULL;
		return status;
	}
	(*table)->scols = scols_new_table();
	must_have((*table)->scols);
	make_columns(*table);
	must(scols_table_set_column_separator((*table)->scols,
					      request_option(request, "raw") ? " " : GAP));
	must(scols_table_enable_raw((*table)->scols, !!request_option(request, "raw")));
	must(scols_table_enable_noheadings((*table)->scols,
					   !!request_option(request, "noheadings")));
	/* Cells are printable already. */
	must(scols_table_enable_noencoding((*table)->scols, 1));
	if (isatty(STDOUT_FILENO))
		must(scols_table_set_termwidth((*table)->scols, terminal_columns()));
	return STATUS_DONE;
}

/*
 * Writes text to a cell. Bytes that are no character, or none that can be printed, become \xHH:
 * libsmartcols does not return from a cell that has such bytes.
 */
static void write_printable(FILE *cell, const char *text, size_t len)
{
	mbstate_t state = { 0 };
	wchar_t wide;
	size_t one, i;

	for (; len; text += one, len -= one) {
		one = mbrtowc(&wide, text, len, &state);
		if (one && one <= len && wcwidth(wide) >= 0) {
			fwrite(text, 1, one, cell);
			continue;
		}
		if (!one || one > len)
			one = 1;
		state = (mbstate_t){ 0 };
		for (i = 0; i < one; i++)
			fprintf(cell, "\\x%02x", (unsigned char)text[i]);
	}
}

/* The text of a cell, for libsmartcols to free. */
static char *cell_text(const struct table_column *column, const void *row)
{
	char *text = NULL, *printable = NULL;
	size_t size;
	FILE *cell = open_memstream(&text, &size);

	must_have(cell);
	column->print(cell, row, column);
	must(fclose(cell) ? -ENOMEM : 0);
	cell = open_memstream(&printable, &size);
	must_have(cell);
	write_printable(cell, text, strlen(text));
	must(fclose(cell) ? -ENOMEM : 0);
	free(text);
	return printable;
}

/**
 * table_add() - add a row
 * @table:	from table_begin()
 * @row:	as the columns' functions take it; it is not needed afterwards
 */
void table_add(struct table *table, const void *row)
{
	struct libscols_line *line = scols_table_new_line(table->scols, NULL);
	size_t i;

	must_have(line);
	for (i = 0; i < table->count; i++)
		must(scols_line_refer_data(line, i, cell_text(table->columns[i], row)));
}

/**
 * table_print() - print the rows, and forget them; headings come once
 * @table:	from table_begin()
 * @file:	where
 */
void table_print(struct table *table, FILE *file)
{
	if (scols_table_is_empty(table->scols))
		return;
	must(scols_table_set_stream(table->scols, file));
	must(scols_print_table(table->scols));
	scols_table_remove_lines(table->scols);
	must(scols_table_enable_noheadings(table->scols, 1));
}

/**
 * table_end() - free a table
 * @table:	from table_begin(), or NULL
 */
void table_end(struct table *table)
{
	if (!table)
		return;
	scols_unref_table(table->scols);
	free(table->columns);
	free(table);
}

static __u64 value_of(const void *row, const struct table_column *column)
{
	return *(const __u64 *)((const char *)row + column->offset);
}

/**
 * table_number() - write a cell: a number of 64 bits at the column's offset of the row
 * @cell:	where
 * @row:	the row
 * @column:	the column
 */
void table_number(FILE *cell, const void *row, const struct table_column *column)
{
	fprintf(cell, "%llu", value_of(row, column));
}

/**
 * table_word() - write a cell: a number of 32 bits at the column's offset of the row
 * @cell:	where
 * @row:	the row
 * @column:	the column
 */
void table_word(FILE *cell, const void *row, const struct table_column *column)
{
	fprintf(cell, "%u", *(const __u32 *)((const char *)row + column->offset));
}

/**
 * table_size() - write a cell: a number of bytes, with a unit
 * @cell:	where
 * @row:	the row
 * @column:	the column
 */
void table_size(FILE *cell, const void *row, const struct table_column *column)
{
	char text[DURATION_SIZE];

	fputs(size_format(text, value_of(row, column)), cell);
}

/**
 * table_duration() - write a cell: a number of milliseconds, as a duration
 * @cell:	where
 * @row:	the row
 * @column:	the column
 */
void table_duration(FILE *cell, const void *row, const struct table_column *column)
{
	char text[DURATION_SIZE];
	__u64 ms = value_of(row, column);

	fputs(ms == HASHBELT_TTL_NEVER ? "never" : duration_format(text, ms), cell);
}
