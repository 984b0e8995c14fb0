// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#include "array_size.h"
#include "top.h"

/* Between two columns. */
#define GAP		1
/* Of a name this much is shown, however narrow the terminal. */
#define NAME_LEAST	8
/* A column of states in words, "pinned,halted,full". */
#define WORDS_WIDTH	25

/* A value that there is nothing to say about. */
#define NONE		(-1.0)

/**
 * top_samples_add() - make room for one more belt
 * @samples:	where
 *
 * Return: the new sample, zeros, valid until the next call; NULL if there is no
 * memory.
 */
struct top_sample *top_samples_add(struct top_samples *samples)
{
	size_t room = samples->room ? samples->room * 2 : 16;
	struct top_sample *belts = samples->belts;

	if (samples->count == samples->room) {
		belts = reallocarray(belts, room, sizeof(*belts));
		if (!belts)
			return NULL;
		samples->belts = belts;
		samples->room = room;
	}
	belts += samples->count++;
	memset(belts, 0, sizeof(*belts));
	return belts;
}

/**
 * top_samples_free() - free the memory of samples
 * @samples:	can be used again after that
 */
void top_samples_free(struct top_samples *samples)
{
	free(samples->belts);
	*samples = (struct top_samples){ 0 };
}

/* A name for a terminal: bytes that cannot be shown are escaped. */
static void printable(char *to, const char *name)
{
	size_t len = strnlen(name, HASHBELT_NAME_SIZE), used, i;
	mbstate_t state;
	wchar_t wide;

	for (; len; name += used, len -= used) {
		memset(&state, 0, sizeof(state));
		used = mbrtowc(&wide, name, len, &state);
		if (used && used <= len && iswprint(wide) && wcwidth(wide) > 0) {
			if (*name == '\\')
				*to++ = '\\';
			to = mempcpy(to, name, used);
			continue;
		}
		used = used && used <= len ? used : 1;
		for (i = 0; i < used; i++)
			to += sprintf(to, "\\x%02x", (unsigned char)name[i]);
	}
	*to = '\0';
}

static double share(__u64 part, __u64 whole)
{
	return whole ? 100.0 * part / whole : NONE;
}

/* The use of the limit that is nearer. */
static double limit_of(const struct hashbelt_info *info)
{
	double entries = share(info->used_entries, info->max_entries);
	double bytes = share(info->used_bytes, info->max_bytes);

	return entries > bytes ? entries : bytes;
}

/* The bound below which 99 % of all lags are, milliseconds. */
static double lag_of(const __u64 *lags)
{
	__u64 all = 0, above = 0;
	int i;

	for (i = 0; i < HASHBELT_LAGS; i++)
		all += lags[i];
	if (!all)
		return NONE;
	/* From the end: the last that has more than 1 % at and behind it. */
	for (i = HASHBELT_LAGS - 1; i > 0; i--) {
		above += lags[i];
		if (above > all / 100)
			break;
	}
	return 1ULL << i;
}

/**
 * struct span - a belt at two moments
 * @now:	the later one
 * @before:	the earlier one; NULL if the belt was not seen then
 * @seconds:	between them
 */
struct span {
	const struct top_sample *now;
	const struct top_sample *before;
	double seconds;
};

/* By how much a counter has grown. */
static double growth(const struct span *span, enum hashbelt_counter counter)
{
	__u64 now = span->now->counters[counter];
	__u64 before = span->before ? span->before->counters[counter] : now;

	return now > before ? now - before : 0;
}

/* How often a second something happened that happened so often meanwhile. */
static double rate(const struct span *span, double times)
{
	return span->before && span->seconds > 0 ? times / span->seconds : NONE;
}

/* Whether a put has been refused or has cost another entry, or would now. */
static bool is_full(const struct span *span)
{
	return limit_of(&span->now->info) >= 100 ||
	       growth(span, HASHBELT_STAT_REJECTED) > 0 ||
	       growth(span, HASHBELT_STAT_EVICTED) > 0;
}

static int state_of(const struct span *span)
{
	const struct hashbelt_info *info = &span->now->info;
	int state = 0;

	if (info->policy & HASHBELT_PINNED)
		state |= TOP_PINNED;
	if (info->state & HASHBELT_HALTED)
		state |= TOP_HALTED;
	if (is_full(span))
		state |= TOP_FULL;
	if (info->window_bytes)
		state |= TOP_WINDOW;
	return state;
}

static void fill_row(struct top_row *row, const struct span *span)
{
	const struct hashbelt_info *info = &span->now->info;
	double hits = growth(span, HASHBELT_STAT_HITS);
	double gets = hits + growth(span, HASHBELT_STAT_MISSES);
	double puts = growth(span, HASHBELT_STAT_PUTS_NEW) +
		      growth(span, HASHBELT_STAT_PUTS_REPLACED);
	double evicted = growth(span, HASHBELT_STAT_EVICTED) +
			 growth(span, HASHBELT_STAT_PRESSURE);
	double *values = row->values;

	printable(row->name, info->name);
	values[TOP_NAME] = NONE;
	values[TOP_ENTRIES] = info->entries;
	values[TOP_BYTES] = info->bytes;
	values[TOP_LIMIT] = limit_of(info);
	values[TOP_GETS] = rate(span, gets);
	values[TOP_HITS] = gets > 0 ? 100 * hits / gets : NONE;
	values[TOP_PUTS] = rate(span, puts);
	values[TOP_EXPIRED] = rate(span, growth(span, HASHBELT_STAT_EXPIRED));
	values[TOP_EVICTED] = rate(span, evicted);
	values[TOP_QUEUED] = info->queued;
	values[TOP_LAG] = lag_of(span->now->lags);
	values[TOP_STATE] = state_of(span);
}

static int compare_ids(const void *a, const void *b)
{
	__u64 x = ((const struct top_sample *)a)->info.id;
	__u64 y = ((const struct top_sample *)b)->info.id;

	return (x > y) - (x < y);
}

/**
 * top_rows() - make rows of two samples
 * @rows:	returned, as many as @now has belts, in the same order
 * @now:	the belts
 * @before:	the belts at an earlier moment, none of them to begin with; comes
 *		back in another order
 *
 * A belt is known again by its id: one that was made anew under an old name has
 * no rates yet. One that is not there any more is passed over.
 */
void top_rows(struct top_row *rows, const struct top_samples *now,
	      struct top_samples *before)
{
	struct span span;
	size_t i;

	if (before->count)
		qsort(before->belts, before->count, sizeof(*before->belts), compare_ids);
	for (i = 0; i < now->count; i++) {
		span = (struct span){ .now = &now->belts[i] };
		if (before->count)
			span.before = bsearch(span.now, before->belts, before->count,
					      sizeof(*before->belts), compare_ids);
		if (span.before)
			span.seconds = (span.now->when_ns - span.before->when_ns) / 1e9;
		fill_row(&rows[i], &span);
	}
}

static int compare_rows(const void *a, const void *b, void *column)
{
	const struct top_row *x = a, *y = b;
	double left = x->values[*(enum top_column *)column];
	double right = y->values[*(enum top_column *)column];

	if (left != right)
		return left < right ? 1 : -1;
	return strcmp(x->name, y->name);
}

/**
 * top_sort() - sort rows
 * @rows:	the rows
 * @count:	their number
 * @column:	the column: names from A on, numbers from the largest down, and equal
 *		ones by name
 */
void top_sort(struct top_row *rows, size_t count, enum top_column column)
{
	if (count)
		qsort_r(rows, count, sizeof(*rows), compare_rows, &column);
}

/* Writes a number with a unit in 5 columns: 1.23k, 12.3M, 123G. */
static void format_scaled(char *text, double number, double base)
{
	static const char prefix[] = "kMGTPE";
	int i, decimals;

	number /= base;
	/* Before it would be written as 1000. */
	for (i = 0; number >= 999.5 && prefix[i + 1]; i++)
		number /= base;
	decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
	sprintf(text, "%.*f%c", decimals, number, prefix[i]);
}

static void format_count(char *text, double number)
{
	if (number < 99999.5)
		sprintf(text, "%.0f", number);
	else
		format_scaled(text, number, 1000);
}

static void format_entries(char *text, double number)
{
	if (number < 9999999.5)
		sprintf(text, "%.0f", number);
	else
		format_scaled(text, number, 1000);
}

static void format_bytes(char *text, double number)
{
	if (number < 1000)
		sprintf(text, "%.0fB", number);
	else
		format_scaled(text, number, 1024);
}

static void format_rate(char *text, double number)
{
	if (number > 0 && number < 9.95)
		sprintf(text, "%.1f", number);
	else
		format_count(text, number);
}

/* Never rounded up: 100 means all. */
static void format_percent(char *text, double number)
{
	if (number >= 1000)
		strcpy(text, "999+");
	else if (number >= 100)
		sprintf(text, "%d", (int)number);
	else
		sprintf(text, "%.1f", (int)(number * 10 + 0.000001) / 10.0);
}

static void format_lag(char *text, double ms)
{
	if (ms < 1000)
		sprintf(text, "%.0fms", ms);
	else if (ms < 60000)
		sprintf(text, "%.0fs", ms / 1000);
	else if (ms < 1 << (HASHBELT_LAGS - 1))
		sprintf(text, "%.0fm", ms / 60000);
	else
		sprintf(text, ">%.0fm", ms / 2 / 60000);
}

static void format_letters(char *text, double state)
{
	int bits = state;

	if (bits & TOP_PINNED)
		*text++ = 'P';
	if (bits & TOP_HALTED)
		*text++ = 'H';
	if (bits & TOP_FULL)
		*text++ = 'F';
	if (bits & TOP_WINDOW)
		*text++ = 'W';
	*text = '\0';
}

static void format_words(char *text, double state)
{
	int bits = state;

	sprintf(text, "%s%s%s%s", bits & TOP_PINNED ? ",pinned" : "",
		bits & TOP_HALTED ? ",halted" : "", bits & TOP_FULL ? ",full" : "",
		bits & TOP_WINDOW ? ",window" : "");
	if (*text)
		memmove(text, text + 1, strlen(text));
}

/* The text never takes more than the width. */
static const struct column {
	const char *heading;
	const char *json;
	int width;
	void (*format)(char *text, double value);
} columns[] = {
	[TOP_NAME] = { "NAME", "name", NAME_LEAST, NULL },
	[TOP_ENTRIES] = { "ENTRIES", "entries", 7, format_entries },
	[TOP_BYTES] = { "BYTES", "bytes", 5, format_bytes },
	[TOP_LIMIT] = { "LIM%", "limit_percent", 4, format_percent },
	[TOP_GETS] = { "GET/S", "gets_per_second", 5, format_rate },
	[TOP_HITS] = { "HIT%", "hit_percent", 4, format_percent },
	[TOP_PUTS] = { "PUT/S", "puts_per_second", 5, format_rate },
	[TOP_EXPIRED] = { "EXP/S", "expired_per_second", 5, format_rate },
	[TOP_EVICTED] = { "EVI/S", "evicted_per_second", 5, format_rate },
	[TOP_QUEUED] = { "QUEUE", "queued", 5, format_count },
	[TOP_LAG] = { "LAG", "lag_ms", 5, format_lag },
	[TOP_STATE] = { "STATE", NULL, 5, format_letters },
};

/**
 * top_heading() - the heading of a column
 * @column:	the column
 *
 * Return: its heading.
 */
const char *top_heading(enum top_column column)
{
	return columns[column].heading;
}

/**
 * top_json_name() - the name of a column in JSON
 * @column:	the column
 *
 * Return: the name of its field; NULL for TOP_STATE, which is several.
 */
const char *top_json_name(enum top_column column)
{
	return columns[column].json;
}

/* A character of text: its length in bytes, and its width. */
static size_t next_character(const char *text, int *width)
{
	mbstate_t state = { 0 };
	wchar_t wide;
	size_t len = mbrtowc(&wide, text, MB_CUR_MAX, &state);

	*width = 1;
	if (!*text || len > MB_CUR_MAX)
		return 1;
	*width = wcwidth(wide) > 0 ? wcwidth(wide) : 1;
	return len;
}

static int text_width(const char *text)
{
	int width = 0, one;

	for (; *text; width += one)
		text += next_character(text, &one);
	return width;
}

/**
 * top_cut() - cut text off where it is too long
 * @text:	the text; where it was cut there is a ~
 * @width:	columns that it may take
 */
void top_cut(char *text, int width)
{
	char *end = text;
	int used = 0, one;
	size_t len;

	if (width <= 0)
		*text = '\0';
	if (text_width(text) <= width)
		return;
	for (;;) {
		len = next_character(end, &one);
		if (used + one > width - 1)
			break;
		used += one;
		end += len;
	}
	strcpy(end, "~");
}

/**
 * top_layout() - decide on the widths of a table's columns
 * @widths:	returned, TOP_COLUMNS of them
 * @rows:	the rows of the table
 * @count:	their number
 * @width:	the columns of the terminal; 0: no limit
 *
 * TOP_WIDTH columns are enough for everything but long names. More columns go to the names
 * first, then to the states.
 */
void top_layout(int *widths, const struct top_row *rows, size_t count, int width)
{
	int longest = NAME_LEAST, space = width, one, i;
	size_t row;

	for (i = 0; i < TOP_COLUMNS; i++) {
		widths[i] = columns[i].width;
		if (i != TOP_NAME)
			space -= widths[i] + GAP;
	}
	for (row = 0; row < count; row++) {
		one = text_width(rows[row].name);
		longest = one > longest ? one : longest;
	}
	if (!width || space > longest)
		widths[TOP_NAME] = longest;
	else if (space > NAME_LEAST)
		widths[TOP_NAME] = space;
	space -= widths[TOP_NAME];
	if (!width || space >= WORDS_WIDTH - widths[TOP_STATE])
		widths[TOP_STATE] = WORDS_WIDTH;
}

static void format_cell(char *text, const struct top_row *row, int column, int width)
{
	double value = row->values[column];

	if (column == TOP_NAME)
		strcpy(text, row->name);
	else if (column == TOP_STATE && width == WORDS_WIDTH)
		format_words(text, value);
	else if (value < 0)
		strcpy(text, "-");
	else
		columns[column].format(text, value);
	top_cut(text, width);
}

/**
 * top_cell() - write a cell of the table in full
 * @text:	where, TOP_LINE_SIZE bytes
 * @row:	the row
 * @column:	the column
 */
void top_cell(char *text, const struct top_row *row, enum top_column column)
{
	format_cell(text, row, column, column == TOP_STATE ? WORDS_WIDTH : TOP_NAME_SIZE);
}

/**
 * top_line() - write a line of the table
 * @line:	where, TOP_LINE_SIZE bytes
 * @row:	the row; NULL for the headings
 * @widths:	from top_layout()
 *
 * Numbers stand to the right, and there are no spaces at the end.
 */
void top_line(char *line, const struct top_row *row, const int *widths)
{
	char cell[TOP_NAME_SIZE + WORDS_WIDTH], *end = line, *p = line;
	int i, space;

	for (i = 0; i < TOP_COLUMNS; i++) {
		if (row)
			format_cell(cell, row, i, widths[i]);
		else
			strcpy(cell, columns[i].heading);
		space = widths[i] - text_width(cell);
		if (i == TOP_NAME || i == TOP_STATE)
			p += sprintf(p, "%s%*s", cell, space + GAP, "");
		else
			p += sprintf(p, "%*s%s%*s", space, "", cell, GAP, "");
		if (*cell)
			end = p;
	}
	for (*end = '\0'; end > line && end[-1] == ' '; end--)
		end[-1] = '\0';
}

/**
 * top_summary() - write the totals of all belts, in less than TOP_WIDTH columns
 * @line:	where, TOP_LINE_SIZE bytes
 * @rows:	the belts
 * @count:	their number
 * @used_bytes:	memory that the module uses
 * @max_bytes:	and may use; negative if that is not known
 */
void top_summary(char *line, const struct top_row *rows, size_t count,
		 double used_bytes, double max_bytes)
{
	double entries = 0, bytes = 0;
	char text[4][32];
	size_t i;

	for (i = 0; i < count; i++) {
		entries += rows[i].values[TOP_ENTRIES];
		bytes += rows[i].values[TOP_BYTES];
	}
	format_entries(text[0], entries);
	format_bytes(text[1], bytes);
	line += sprintf(line, "%zu belt%s, %s entr%s, %s", count, count == 1 ? "" : "s",
			text[0], entries == 1 ? "y" : "ies", text[1]);
	if (used_bytes < 0 || max_bytes <= 0)
		return;
	format_bytes(text[2], used_bytes);
	format_bytes(text[3], max_bytes);
	sprintf(line, "; the module uses %s of %s", text[2], text[3]);
	format_percent(text[0], 100 * used_bytes / max_bytes);
	sprintf(line + strlen(line), " (%s%%)", text[0]);
}
