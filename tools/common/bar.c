// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bar.h"

/* Columns of a terminal of which nothing is known, and the fewest for a bar. */
#define COLUMNS		80
#define BAR_MIN		8

/* The widest terminal that is believed, so that nothing overflows. */
#define BAR_MAX		1000

/**
 * terminal_columns() - the width of the terminal
 *
 * COLUMNS in the environment takes precedence over the size that the terminal reports.
 *
 * Return: columns.
 */
int terminal_columns(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size = { 0 };
	int given = text ? atoi(text) : 0;

	if (given > 0)
		return given;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return COLUMNS;
}

/*
 * Whether the name of the locale says that it is one of UTF-8: setlocale(3) fails where locales
 * are not installed.
 */
static bool is_utf8_locale(void)
{
	static const char * const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;
	size_t i;

	for (i = 0; i < 3 && !(locale && *locale); i++)
		locale = getenv(names[i]);
	return locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8"));
}

static int digits(__u64 number)
{
	return snprintf(NULL, 0, "%llu", number);
}

/**
 * bar_draw() - draw a bar
 * @file:	where
 * @count:	its length
 * @most:	the length that takes all columns
 * @width:	their number
 *
 * Draws blocks in steps of an eighth of a column in a locale of UTF-8, and # in others. A
 * count above 0 draws at least one step.
 *
 * Return: the columns that the bar takes.
 */
int bar_draw(FILE *file, __u64 count, __u64 most, int width)
{
	static const char * const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	bool utf8 = is_utf8_locale();
	int step = utf8 ? 8 : 1, length, taken;

	length = (double)count / most * width * step + 0.5;
	if (count && !length)
		length = 1;
	taken = (length + step - 1) / step;
	for (; length >= step; length -= step)
		fputs(utf8 ? "█" : "#", file);
	fputs(parts[length], file);
	return taken;
}

/**
 * bars_print() - draw a diagram
 * @bars:	its rows
 * @count:	their number
 *
 * Draws blocks in a locale of UTF-8 and plain ASCII in others, no wider than the
 * terminal.
 */
void bars_print(const struct bar *bars, size_t count)
{
	int label = 0, number = 1, width, len;
	__u64 most = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		len = strlen(bars[i].label);
		label = len > label ? len : label;
		most = bars[i].count > most ? bars[i].count : most;
	}
	number = digits(most);
	width = terminal_columns() - label - number - 6;
	width = width < BAR_MIN ? BAR_MIN : width > BAR_MAX ? BAR_MAX : width;
	for (i = 0; i < count; i++) {
		printf("  %*s  %*llu", label, bars[i].label, number, bars[i].count);
		if (bars[i].count)
			fputs("  ", stdout);
		if (bars[i].count)
			bar_draw(stdout, bars[i].count, most, width);
		putchar('\n');
	}
}
