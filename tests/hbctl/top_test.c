// SPDX-License-Identifier: GPL-2.0-only
/* top_test - the model of hbctl top: rates between two samples, sorting, and the text. */
#include <locale.h>
#include <wchar.h>

#include "../device/tap.h"
#include "array_size.h"
#include "top.h"

#define SECOND	1000000000ULL
/* Numbers that differ by less are equal. */
#define EPSILON	0.000000001

static struct top_samples before, now;
static struct top_row rows[8];

static void is_text(const char *got, const char *want, const char *what)
{
	if (!ok(!strcmp(got, want), "%s: '%s'", what, want))
		note("found '%s'", got);
}

static void is_near(double got, double want, const char *what)
{
	if (!ok(got > want - EPSILON && got < want + EPSILON, "%s: %g", what, want))
		note("found %.12g", got);
}

/* Adds a belt to one of the two samples. */
static struct top_sample *belt(struct top_samples *samples, const char *name, __u64 id)
{
	struct top_sample *sample = top_samples_add(samples);

	if (!sample)
		bail_out("out of memory");
	memcpy(sample->info.name, name, strlen(name));
	sample->info.id = id;
	sample->when_ns = 1000 * SECOND;
	return sample;
}

/* Removes all belts from both samples. */
static void anew(void)
{
	before.count = 0;
	now.count = 0;
}

/* Adds the belt "a" to both samples, @seconds apart; returns the newer one. */
static struct top_sample *seen_belt(double seconds)
{
	struct top_sample *sample;

	anew();
	belt(&before, "a", 1);
	sample = belt(&now, "a", 1);
	sample->when_ns += seconds * SECOND;
	return sample;
}

/* A counter of the belt in both samples. */
static void count(unsigned int counter, __u64 then, __u64 later)
{
	before.belts[0].counters[counter] = then;
	now.belts[0].counters[counter] = later;
}

static void test_rates(void)
{
	double *values = rows[0].values;

	seen_belt(2.5);
	count(HASHBELT_STAT_HITS, 1000, 1030);
	count(HASHBELT_STAT_MISSES, 0, 10);
	count(HASHBELT_STAT_MISSES_EXPIRED, 0, 4);
	count(HASHBELT_STAT_PUTS_NEW, 0, 3);
	count(HASHBELT_STAT_PUTS_REPLACED, 0, 2);
	count(HASHBELT_STAT_EXPIRED, 7, 8);
	count(HASHBELT_STAT_EVICTED, 0, 15);
	count(HASHBELT_STAT_PRESSURE, 0, 5);
	top_rows(rows, &now, &before);
	is_near(values[TOP_GETS], 16, "gets a second: hits and misses by the time between samples");
	is_near(values[TOP_HITS], 75, "hits are a percentage of these gets");
	is_near(values[TOP_PUTS], 2, "puts a second are new and replacing puts");
	is_near(values[TOP_EXPIRED], 0.4, "expired entries a second");
	is_near(values[TOP_EVICTED], 8, "evicted entries a second, by limits and memory pressure");
	top_rows(rows, &now, &now);
	is_near(values[TOP_GETS], -1, "gets a second are unknown without time between two samples");
	is_near(values[TOP_HITS], -1, "hits are unknown without gets");
}

/* Belts that were created, destroyed, or destroyed and created again, between two samples */
static void test_identity(void)
{
	anew();
	belt(&before, "same", 7)->counters[HASHBELT_STAT_HITS] = 5;
	belt(&before, "anew", 3)->counters[HASHBELT_STAT_HITS] = 5;
	belt(&before, "gone", 9)->counters[HASHBELT_STAT_HITS] = 5;
	belt(&now, "same", 7)->when_ns += SECOND;
	now.belts[0].counters[HASHBELT_STAT_HITS] = 6;
	belt(&now, "anew", 11)->counters[HASHBELT_STAT_HITS] = 9;
	belt(&now, "new", 10)->counters[HASHBELT_STAT_HITS] = 9;
	top_rows(rows, &now, &before);
	is_near(rows[0].values[TOP_GETS], 1, "gets a second of a belt that is in both samples");
	is_near(rows[0].values[TOP_HITS], 100, "hits of a belt that is in both samples");
	is_near(rows[1].values[TOP_GETS], -1, "a belt created again under its name has no rate");
	is_near(rows[1].values[TOP_HITS], -1, "a belt created again under its name has no hits");
	is_near(rows[2].values[TOP_GETS], -1, "a belt that is new has no rate");
	is_text(rows[2].name, "new", "a belt that was destroyed has no row");
	before.count = 0;
	top_rows(rows, &now, &before);
	is_near(rows[0].values[TOP_GETS], -1, "a belt has no rate in the first sample");
}

/* The use of a limit, and the state, of the belt in both samples. */
static void is_row(double limit, double state, const char *what)
{
	top_rows(rows, &now, &before);
	is_near(rows[0].values[TOP_LIMIT], limit, what);
	is_near(rows[0].values[TOP_STATE], state, what);
}

static void test_limits(void)
{
	struct hashbelt_info *info = &seen_belt(1)->info;
	double *values = rows[0].values;

	info->entries = 12345;
	info->bytes = 54321;
	info->queued = 77;
	info->used_entries = 30;
	info->used_bytes = 500;
	is_row(-1, 0, "a belt without limits, not pinned, halted or full");
	is_near(values[TOP_ENTRIES], 12345, "entries of a belt");
	is_near(values[TOP_BYTES], 54321, "bytes of a belt");
	is_near(values[TOP_QUEUED], 77, "queued events of a belt");
	info->max_entries = 40;
	is_row(75, 0, "use of max_entries in percent");
	info->max_bytes = 625;
	is_row(80, 0, "use of the limit that is used more");
	info->state = HASHBELT_HALTED;
	info->policy = HASHBELT_PINNED | HASHBELT_EVICT;
	info->used_entries = 40;
	is_row(100, TOP_PINNED | TOP_HALTED | TOP_FULL, "a pinned, halted and full belt");
	info->window_bytes = HASHBELT_WINDOW_MIN;
	is_row(100, TOP_PINNED | TOP_HALTED | TOP_FULL | TOP_WINDOW, "one with a window as well");
	info->window_bytes = 0;
	info->used_entries = 39;
	count(HASHBELT_STAT_REJECTED, 0, 1);
	is_row(97.5, TOP_PINNED | TOP_HALTED | TOP_FULL, "a put rejected since the last sample");
	count(HASHBELT_STAT_REJECTED, 1, 1);
	is_row(97.5, TOP_PINNED | TOP_HALTED, "no put rejected since the last sample");
}

static const struct lag_case {
	__u64 lags[HASHBELT_LAGS];
	double bound;
	const char *text;
} lag_cases[] = {
	{ { 0 }, -1, "-" }, { { 1 }, 1, "1ms" }, { { 99, 0, 0, 1 }, 1, "1ms" },
	{ { 98, 0, 0, 2 }, 8, "8ms" }, { { 989, 0, 11 }, 4, "4ms" }, { { 990, 0, 10 }, 1, "1ms" },
	{ { [9] = 1 }, 512, "512ms" }, { { [10] = 1 }, 1024, "1s" }, { { [15] = 1 }, 32768, "33s" },
	{ { [16] = 1 }, 65536, "1m" }, { { [22] = 1 }, 4194304, "70m" },
	{ { [23] = 1 }, 8388608, ">70m" }, { { 1ULL << 60, [23] = 1ULL << 60 }, 8388608, ">70m" },
};

/* The text of a column other than the name. */
static const char *cell(const struct top_row *row, enum top_column column)
{
	static char line[TOP_LINE_SIZE];
	int widths[TOP_COLUMNS], i;
	char *word, *rest = line;

	top_layout(widths, row, 1, TOP_WIDTH);
	top_line(line, row, widths);
	word = strtok_r(NULL, " ", &rest);
	for (i = 0; word && i < (int)column; i++)
		word = strtok_r(NULL, " ", &rest);
	return word ? word : "";
}

static void test_lags(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lag_cases); i++) {
		anew();
		memcpy(belt(&now, "a", 1)->lags, lag_cases[i].lags,
		       sizeof(lag_cases[i].lags));
		top_rows(rows, &now, &before);
		is_near(rows[0].values[TOP_LAG], lag_cases[i].bound,
			"lag below which 99 % of entries are");
		is_text(cell(rows, TOP_LAG), lag_cases[i].text, "text of the lag");
	}
}

/* Values of a column, and their texts. */
static const struct number_case {
	enum top_column column;
	struct {
		double value;
		const char *text;
	} cases[10];
} number_cases[] = {
	{ TOP_ENTRIES, { { 0, "0" }, { 9999999, "9999999" }, { 10000000, "10.0M" },
			 { 18446744073709551615.0, "18.4E" } } },
	{ TOP_BYTES, { { 0, "0B" }, { 999, "999B" }, { 1000, "0.98k" }, { 1024, "1.00k" },
		       { 10234, "9.99k" }, { 10240, "10.0k" }, { 102348, "99.9k" },
		       { 1023 * 1024, "1.00M" }, { 18446744073709551615.0, "16.0E" } } },
	{ TOP_LIMIT, { { -1, "-" }, { 0, "0.0" }, { 29.3, "29.3" }, { 99.99, "99.9" },
		       { 100, "100" }, { 999.9, "999" }, { 1e9, "999+" } } },
	{ TOP_HITS, { { 99.9999, "99.9" } } },
	{ TOP_GETS, { { 0, "0" }, { 0.04, "0.0" }, { 9.94, "9.9" }, { 9.96, "10" },
		      { 99999.4, "99999" }, { 99999.6, "100k" }, { 1234567, "1.23M" },
		      { 999499, "999k" }, { 999501, "1.00M" } } },
	{ TOP_QUEUED, { { 99999, "99999" }, { 1048576, "1.05M" } } },
	{ TOP_STATE, { { 0, "" }, { TOP_PINNED | TOP_HALTED | TOP_FULL | TOP_WINDOW, "PHFW" },
		       { TOP_HALTED, "H" } } },
};

static void test_numbers(void)
{
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(number_cases); i++) {
		enum top_column column = number_cases[i].column;

		for (j = 0; number_cases[i].cases[j].text; j++) {
			struct top_row row = { .name = "a" };

			row.values[column] = number_cases[i].cases[j].value;
			is_text(cell(&row, column), number_cases[i].cases[j].text,
				top_heading(column));
		}
	}
}

static void is_sorted(enum top_column column, const char *want, const char *what)
{
	char order[5] = { 0 };
	size_t i;

	top_sort(rows, 4, column);
	for (i = 0; i < 4; i++)
		order[i] = rows[i].name[0];
	is_text(order, want, what);
}

static void test_sort(void)
{
	static const struct top_row unsorted[] = {
		{ "d", { [TOP_ENTRIES] = 5, [TOP_LIMIT] = -1, [TOP_STATE] = TOP_HALTED } },
		{ "b", { [TOP_ENTRIES] = 5, [TOP_LIMIT] = 0, [TOP_STATE] = 0 } },
		{ "c", { [TOP_ENTRIES] = 50, [TOP_LIMIT] = 99, [TOP_STATE] = TOP_FULL } },
		{ "a", { [TOP_ENTRIES] = 7, [TOP_LIMIT] = -1, [TOP_STATE] = TOP_PINNED } },
	};

	memcpy(rows, unsorted, sizeof(unsorted));
	is_sorted(TOP_NAME, "abcd", "belts sorted by name");
	is_sorted(TOP_ENTRIES, "cabd", "belts sorted by a number, from the largest, then by name");
	is_sorted(TOP_LIMIT, "cbad", "belts whose number is unknown are sorted last");
	is_sorted(TOP_STATE, "cdab", "belts sorted by state begin with full ones");
	top_sort(rows, 0, TOP_NAME);
}

/* Terminal columns of a line. */
static int width_of(const char *line)
{
	wchar_t wide[TOP_LINE_SIZE];
	size_t count = mbstowcs(wide, line, TOP_LINE_SIZE);

	return count == (size_t)-1 ? -1 : wcswidth(wide, count);
}

/* A row with the longest text of each column. */
static struct top_row widest(void)
{
	struct top_row row;
	int i;

	for (i = 0; i < TOP_COLUMNS; i++)
		row.values[i] = 99999;
	row.values[TOP_ENTRIES] = 9999999;
	row.values[TOP_BYTES] = 12.3 * 1024;
	row.values[TOP_LAG] = 512;
	row.values[TOP_STATE] = TOP_PINNED | TOP_HALTED | TOP_FULL | TOP_WINDOW;
	memset(row.name, 'n', 63);
	row.name[63] = '\0';
	return row;
}

static const char headings[] =
	"NAME           ENTRIES BYTES LIM% GET/S HIT% PUT/S EXP/S EVI/S QUEUE   LAG STATE";
static const char full_row[] =
	"nnnnnnnnnnnnn~ 9999999 12.3k 999+ 99999 999+ 99999 99999 99999 99999 512ms PHFW";

static int widths[TOP_COLUMNS];
static char line[TOP_LINE_SIZE];

/* Lays a row out for a width of the terminal, and writes its line. */
static const char *drawn(const struct top_row *row, int width)
{
	top_layout(widths, row, !!row, width);
	top_line(line, row, widths);
	return line;
}

static void test_layout(void)
{
	struct top_row row = widest();

	is_text(drawn(&row, 80), full_row, "row on 80 columns");
	top_line(line, NULL, widths);
	is_text(line, headings, "headings on 80 columns");
	ok(!!strstr(drawn(&row, 66 + 63 - 1), "nnn~ "), "a name is cut by one character");
	ok(!strncmp(drawn(&row, 66 + 63), row.name, 63) && strstr(line, " PHFW"),
	   "a name of 63 characters is whole on 129 columns, state in letters");
	ok(!strncmp(drawn(&row, 0), row.name, 63) && strstr(line, " pinned,halted,full,window"),
	   "without a width a name is whole, and the state is in words");
	is_int(width_of(line), 66 + 63 + 20, "a line without a width has 149 columns");
	row.name[9] = '\0';
	drawn(&row, 80);
	is_int(widths[TOP_NAME], 9, "a short name needs no more columns than its length");
	drawn(&row, 66 + 9 + 19);
	is_int(widths[TOP_STATE], 5, "the state is in letters if words do not fit");
	drawn(&row, 66 + 9 + 20);
	is_int(widths[TOP_STATE], 25, "the state is in words if they fit");
	drawn(&row, 20);
	is_int(widths[TOP_NAME], 8, "a name has 8 columns on a narrow terminal");
	ok(width_of(drawn(NULL, 80)) <= 80, "headings without belts have at most 80 columns");
}

static void test_summary(void)
{
	struct top_row row = { "a", { [TOP_ENTRIES] = 1, [TOP_BYTES] = 100 } };

	top_summary(line, &row, 1, -1, -1);
	is_text(line, "1 belt, 1 entry, 100B", "summary of one belt");
	top_summary(line, NULL, 0, 5, 1 << 20);
	is_text(line, "0 belts, 0 entries, 0B; the module uses 5B of 1.00M (0.0%)",
		"summary of no belts");
	rows[0] = widest();
	rows[1] = widest();
	top_summary(line, rows, 2, 999 * 1024, 12.3 * (1 << 30));
	is_text(line, "2 belts, 20.0M entries, 24.6k; the module uses 999k of 12.3G (0.0%)",
		"summary of two belts");
	ok(strlen(line) + strlen("131072") < TOP_WIDTH, "summary has room for 131072 belts");
}

static const struct name_case {
	const char *name, *text, *ascii;
} name_cases[] = {
	{ "plain-1.x", "plain-1.x", "plain-1.x" }, { "a b", "a b", "a b" },
	{ "back\\slash", "back\\\\slash", "back\\\\slash" },
	{ "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9", "\\xc3\\xa9t\\xc3\\xa9" },
	{ "\xe4\xb8\xad", "\xe4\xb8\xad", "\\xe4\\xb8\\xad" },
	{ "bad\xff!", "bad\\xff!", "bad\\xff!" },
	{ "short\xe4\xb8", "short\\xe4\\xb8", "short\\xe4\\xb8" },
	{ "csi\xc2\x9bK", "csi\\xc2\\x9bK", "csi\\xc2\\x9bK" },
	{ "rtl\xe2\x80\xae", "rtl\\xe2\\x80\\xae", "rtl\\xe2\\x80\\xae" },
	{ "esc\x1b[2J", "esc\\x1b[2J", "esc\\x1b[2J" },
};

static void test_names(bool utf8)
{
	char name[HASHBELT_NAME_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(name_cases); i++) {
		anew();
		belt(&now, name_cases[i].name, 1);
		top_rows(rows, &now, &before);
		is_text(rows[0].name, utf8 ? name_cases[i].text : name_cases[i].ascii,
			utf8 ? "belt name in a UTF-8 locale" : "belt name in locale C");
	}
	anew();
	memset(name, 0xff, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	belt(&now, name, 1);
	top_rows(rows, &now, &before);
	is_int(strlen(rows[0].name), 63 * 4,
	       "a name of 63 bytes that are not UTF-8 is all escapes");
}

static const struct cut_case {
	const char *text;
	int width;
	const char *cut;
} cut_cases[] = {
	{ "abc", 3, "abc" }, { "abcd", 3, "ab~" }, { "abcd", 1, "~" }, { "abcd", 0, "" },
	{ "", 0, "" }, { "\xc3\xa9t\xc3\xa9", 3, "\xc3\xa9t\xc3\xa9" },
	{ "\xc3\xa9t\xc3\xa9", 2, "\xc3\xa9~" },
	{ "\xe4\xb8\xad\xe6\x96\x87", 4, "\xe4\xb8\xad\xe6\x96\x87" },
	{ "\xe4\xb8\xad\xe6\x96\x87", 3, "\xe4\xb8\xad~" },
	{ "\xe4\xb8\xad\xe6\x96\x87", 2, "~" },
};

static void test_cut(void)
{
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cut_cases); i++) {
		strcpy(text, cut_cases[i].text);
		top_cut(text, cut_cases[i].width);
		is_text(text, cut_cases[i].cut, "text cut to a width");
	}
}

int main(void)
{
	test_rates();
	test_identity();
	test_limits();
	test_lags();
	test_numbers();
	test_sort();
	test_layout();
	test_summary();
	test_names(false);
	if (setlocale(LC_CTYPE, "C.UTF-8")) {
		test_names(true);
		test_cut();
	} else {
		skip(ARRAY_SIZE(name_cases) + 1 + ARRAY_SIZE(cut_cases),
		     "there is no locale C.UTF-8");
	}
	top_samples_free(&before);
	top_samples_free(&now);
	return done_testing();
}
