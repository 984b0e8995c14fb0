/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of hbctl top: two samples of all belts, the rates between them, and a table of
 * these as text. It knows neither device nor terminal.
 *
 * Text is in the locale's encoding, and widths are columns of a terminal.
 */
#ifndef MANAGE_TOP_H
#define MANAGE_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "hashbelt.h"

/* Space for a name whose bytes are all escaped, with the closing NUL. */
#define TOP_NAME_SIZE	(4 * HASHBELT_NAME_SIZE)
/* Space for any line of text here, bytes. */
#define TOP_LINE_SIZE	1024
/* The least that a table of full width takes, columns. */
#define TOP_WIDTH	80

/* Columns of the table, in this order. */
enum top_column {
	TOP_NAME,
	TOP_ENTRIES,
	TOP_BYTES,
	TOP_LIMIT,	/* use of the limit that is nearer, percent */
	TOP_GETS,	/* a second, as the next ones */
	TOP_HITS,	/* gets that hit, percent */
	TOP_PUTS,
	TOP_EXPIRED,
	TOP_EVICTED,
	TOP_QUEUED,
	TOP_LAG,	/* bound of 99 % of all lags, milliseconds */
	TOP_STATE,
	TOP_COLUMNS
};

/* State of a belt: values of TOP_STATE are sums of these. */
#define TOP_PINNED	0x01
#define TOP_HALTED	0x02
#define TOP_FULL	0x04
#define TOP_WINDOW	0x08	/* rates of gets are without those that its window answers */

/**
 * struct top_sample - a belt at one moment
 * @info:	its description
 * @counters:	by enum hashbelt_counter
 * @lags:	the histogram of lags
 * @when_ns:	the moment, nanoseconds of a clock that only moves on
 */
struct top_sample {
	struct hashbelt_info info;
	__u64 counters[HASHBELT_STAT_COUNT];
	__u64 lags[HASHBELT_LAGS];
	__u64 when_ns;
};

/**
 * struct top_samples - all belts at one moment
 * @belts:	one for each belt
 * @count:	their number
 * @room:	how many would fit
 *
 * Begins as zeros, ends with top_samples_free().
 */
struct top_samples {
	struct top_sample *belts;
	size_t count;
	size_t room;
};

/**
 * struct top_row - a belt as a row of the table
 * @name:	its name, printable
 * @values:	by enum top_column; negative: there is nothing to say
 */
struct top_row {
	char name[TOP_NAME_SIZE];
	double values[TOP_COLUMNS];
};

struct top_sample *top_samples_add(struct top_samples *samples);
void top_samples_free(struct top_samples *samples);

void top_rows(struct top_row *rows, const struct top_samples *now,
	      struct top_samples *before);
void top_sort(struct top_row *rows, size_t count, enum top_column column);

const char *top_heading(enum top_column column);
const char *top_json_name(enum top_column column);
void top_layout(int *widths, const struct top_row *rows, size_t count, int width);
void top_cell(char *text, const struct top_row *row, enum top_column column);
void top_line(char *line, const struct top_row *row, const int *widths);
void top_summary(char *line, const struct top_row *rows, size_t count,
		 double used_bytes, double max_bytes);
void top_cut(char *text, int width);

#endif /* MANAGE_TOP_H */
