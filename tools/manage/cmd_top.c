// SPDX-License-Identifier: GPL-2.0-only
/* hbctl top: all belts, looked at again and again. */
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "duration.h"
#include "json.h"
#include "module.h"
#include "table.h"
#include "top.h"

#define INTERVAL_LEAST_MS	10
#define INTERVAL_MOST_MS	(24 * 60 * 60 * 1000)
#define NS_PER_MS		1000000LL

/* Lines that are not belts: two of the header, the headings, the keys. */
#define LINES_ABOVE	3
#define LINES_BELOW	1

/**
 * struct view - the screen
 * @handle:	the device
 * @interval_ms: time between two looks
 * @now:	the last look
 * @before:	the one before
 * @rows:	computed from the two, one for each belt of @now
 * @column:	the column that they are sorted by
 * @first:	the first row on the screen
 * @next_ns:	when to look again
 * @paused:	not to look again
 * @legend:	the last line explains columns, not keys
 * @ended:	the user has seen enough
 */
struct view {
	struct hashbelt *handle;
	__u64 interval_ms;
	struct top_samples now;
	struct top_samples before;
	struct top_row *rows;
	enum top_column column;
	size_t first;
	long long next_ns;
	bool paused;
	bool legend;
	bool ended;
};

/* Set by signals, which come only while keys are waited for. */
static volatile sig_atomic_t stopped, resized;

static long long clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}

static int look_at(struct hashbelt *handle, const char *name, struct top_sample *sample)
{
	unsigned int counters = HASHBELT_STAT_COUNT, lags = HASHBELT_LAGS;
	int err = hashbelt_bind(handle, name);

	if (!err)
		err = hashbelt_info(handle, &sample->info);
	if (!err)
		err = hashbelt_stat(handle, sample->counters, &counters);
	if (!err)
		err = hashbelt_lags(handle, sample->lags, &lags);
	sample->when_ns = clock_ns();
	return err;
}

/* Looks at all belts that may be read. */
static int look_at_all(struct hashbelt *handle, struct top_samples *samples)
{
	struct hashbelt_info info = { 0 };
	struct top_sample *sample;
	int err;

	samples->count = 0;
	while (!(err = hashbelt_next(handle, &info))) {
		if (!(info.access & HASHBELT_MAY_READ))
			continue;
		sample = top_samples_add(samples);
		if (!sample)
			return -ENOMEM;
		err = look_at(handle, info.name, sample);
		/* It may go, or be closed to us, at any moment. */
		if (err == -ENOENT || err == -EIDRM || err == -EPERM)
			samples->count--;
		else if (err)
			return err;
	}
	return err == -ENOENT ? 0 : err;
}

/* Looks again, and makes rows of it. */
static int update(struct view *view)
{
	struct top_samples before = view->now;
	struct top_row *rows;
	int err;

	view->now = view->before;
	view->before = before;
	err = look_at_all(view->handle, &view->now);
	if (err)
		return err;
	rows = reallocarray(view->rows, view->now.count + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	view->rows = rows;
	top_rows(rows, &view->now, &view->before);
	view->next_ns = clock_ns() + view->interval_ms * NS_PER_MS;
	return 0;
}

/* A parameter of the module, negative if it cannot be read. */
static double parameter(const char *name)
{
	__u64 number;

	return module_parameter(name, &number) ? (double)number : -1;
}

/* The two lines of the header. */
static void head_line(char *line, const struct view *view)
{
	char every[DURATION_SIZE], clock[16];
	time_t now = time(NULL);
	struct tm local = { 0 };

	localtime_r(&now, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	duration_format(every, view->interval_ms);
	snprintf(line, TOP_LINE_SIZE, "hbctl top  %s  every %s, by %s%s", clock, every,
		 top_heading(view->column), view->paused ? ", paused" : "");
}

static void summary_line(char *line, const struct view *view)
{
	top_summary(line, view->rows, view->now.count, parameter("used_bytes"),
		    parameter("max_bytes"));
}

static void print_text(struct view *view)
{
	int widths[TOP_COLUMNS];
	char line[TOP_LINE_SIZE];
	size_t i;

	head_line(line, view);
	puts(line);
	summary_line(line, view);
	puts(line);
	top_layout(widths, view->rows, view->now.count, 0);
	top_line(line, NULL, widths);
	puts(line);
	top_sort(view->rows, view->now.count, view->column);
	for (i = 0; i < view->now.count; i++) {
		top_line(line, &view->rows[i], widths);
		puts(line);
	}
}

/* @column: its offset is the number of the column in the model. */
static void print_cell(FILE *cell, const void *row, const struct table_column *column)
{
	char text[TOP_LINE_SIZE];

	top_cell(text, row, column->offset);
	fputs(*text ? text : "-", cell);
}

#define SHOWN_NUMBER	(TABLE_DEFAULT | TABLE_NUMBER)

/* The columns of top --once. */
const struct table_column top_columns[] = {
	{ "NAME", TABLE_DEFAULT | TABLE_TEXT, "name of the belt", print_cell, TOP_NAME },
	{ "ENTRIES", SHOWN_NUMBER, "entries", print_cell, TOP_ENTRIES },
	{ "BYTES", SHOWN_NUMBER, "memory", print_cell, TOP_BYTES },
	{ "LIM%", SHOWN_NUMBER, "use of the limit, the nearer one of two", print_cell, TOP_LIMIT },
	{ "GET/S", SHOWN_NUMBER, "gets a second", print_cell, TOP_GETS },
	{ "HIT%", SHOWN_NUMBER, "share of the gets that hit", print_cell, TOP_HITS },
	{ "PUT/S", SHOWN_NUMBER, "puts a second", print_cell, TOP_PUTS },
	{ "EXP/S", SHOWN_NUMBER, "expired entries a second", print_cell, TOP_EXPIRED },
	{ "EVI/S", SHOWN_NUMBER, "evicted entries a second", print_cell, TOP_EVICTED },
	{ "QUEUE", SHOWN_NUMBER, "events that wait to be read", print_cell, TOP_QUEUED },
	{ "LAG", SHOWN_NUMBER, "99 % of all lags are less", print_cell, TOP_LAG },
	{ "STATE", TABLE_DEFAULT, "pinned, halted, full, window", print_cell, TOP_STATE },
	{ 0 },
};

static void print_rows(struct view *view, struct table *table)
{
	size_t i;

	top_sort(view->rows, view->now.count, view->column);
	for (i = 0; i < view->now.count; i++)
		table_add(table, &view->rows[i]);
	table_print(table, stdout);
}

/* A number as short as it can be; null if negative. */
static void json_add_value(struct json *object, const char *name, double value)
{
	char text[64];

	if (value < 0) {
		json_add_literal(object, name, "null");
		return;
	}
	snprintf(text, sizeof(text), "%.9g", value);
	if (value == (__u64)value)
		json_add_number(object, name, value);
	else
		json_add_literal(object, name, text);
}

static void print_json(const struct top_sample *belt, const struct top_row *row)
{
	int column, state = row->values[TOP_STATE];
	struct json object = json_begin(stdout);

	json_add_bytes(&object, "name", belt->info.name,
		       strnlen(belt->info.name, sizeof(belt->info.name)));
	for (column = TOP_NAME + 1; column < TOP_STATE; column++)
		json_add_value(&object, top_json_name(column), row->values[column]);
	json_add_bool(&object, "pinned", state & TOP_PINNED);
	json_add_bool(&object, "halted", state & TOP_HALTED);
	json_add_bool(&object, "full", state & TOP_FULL);
	json_add_bool(&object, "window", state & TOP_WINDOW);
	json_end(object);
}

static enum status fail_look(int err)
{
	return fail(STATUS_ERROR, "cannot look at the belts: %s", strerror(-err));
}

/* Takes two samples, and prints the rates between them. @table: NULL for the text of the screen. */
static enum status print_once(struct view *view, bool json, struct table *table)
{
	struct timespec interval = {
		.tv_sec = view->interval_ms / 1000,
		.tv_nsec = view->interval_ms % 1000 * NS_PER_MS,
	};
	int err = update(view);
	size_t i;

	if (!err) {
		nanosleep(&interval, NULL);
		err = update(view);
	}
	if (err)
		return fail_look(err);
	if (table)
		print_rows(view, table);
	else if (!json)
		print_text(view);
	else
		for (i = 0; i < view->now.count; i++)
			print_json(&view->now.belts[i], &view->rows[i]);
	return STATUS_DONE;
}

/* How many belts there is room for. */
static size_t page(void)
{
	int space = LINES - LINES_ABOVE - LINES_BELOW;

	return space > 0 ? space : 0;
}

/* One line of the screen. */
static void draw_line(int y, int attributes, char *line)
{
	if (y < 0 || y >= LINES)
		return;
	top_cut(line, COLS);
	attrset(attributes);
	mvaddstr(y, 0, line);
	attrset(A_NORMAL);
}

/* The keys, or the explanation of the columns, and which of all belts are shown. */
static void draw_foot(const struct view *view)
{
	static const char keys[] = "q quit  s sort  arrows scroll  space pause  h columns";
	static const char legend[] =
		"LIM% of the limit  LAG of 99%  STATE Pinned Halted Full Window  h keys";
	size_t count = view->now.count, last = view->first + page();
	char line[TOP_LINE_SIZE];

	strcpy(line, view->legend ? legend : keys);
	last = last < count ? last : count;
	if (last - view->first < count && page())
		sprintf(line + strlen(line), "  %zu-%zu", view->first + 1, last);
	draw_line(LINES - LINES_BELOW, A_NORMAL, line);
}

static void draw_table(const struct view *view)
{
	int widths[TOP_COLUMNS], space;
	char line[TOP_LINE_SIZE];
	size_t i;

	top_layout(widths, view->rows, view->now.count, COLS);
	top_line(line, NULL, widths);
	space = COLS - (int)strlen(line);
	sprintf(line + strlen(line), "%*s", space > 0 ? space : 0, "");
	draw_line(LINES_ABOVE - 1, A_REVERSE, line);
	for (i = 0; i < page() && view->first + i < view->now.count; i++) {
		top_line(line, &view->rows[view->first + i], widths);
		draw_line(LINES_ABOVE + i, A_NORMAL, line);
	}
}

static void draw(struct view *view)
{
	size_t count = view->now.count;
	char line[TOP_LINE_SIZE];

	top_sort(view->rows, count, view->column);
	if (view->first + page() > count)
		view->first = count > page() ? count - page() : 0;
	erase();
	head_line(line, view);
	draw_line(0, A_BOLD, line);
	summary_line(line, view);
	draw_line(1, A_NORMAL, line);
	draw_table(view);
	draw_foot(view);
	move(LINES - 1, 0);
	refresh();
}

/* Lets the rows move on by some, forward or back; draw() keeps to the last. */
static void move_on(struct view *view, long rows)
{
	if (rows < 0 && view->first < (size_t)-rows)
		view->first = 0;
	else
		view->first += rows;
}

static void press(struct view *view, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		view->ended = true;
		break;
	case KEY_DOWN:
	case 'j':
		move_on(view, 1);
		break;
	case KEY_UP:
	case 'k':
		move_on(view, -1);
		break;
	case KEY_NPAGE:
		move_on(view, page());
		break;
	case KEY_PPAGE:
		move_on(view, -(long)page());
		break;
	case 's':
		view->column = (view->column + 1) % TOP_COLUMNS;
		break;
	case 'S':
		view->column = (view->column + TOP_COLUMNS - 1) % TOP_COLUMNS;
		break;
	case ' ':
		view->paused = !view->paused;
		view->next_ns = 0;
		break;
	case 'h':
	case '?':
		view->legend = !view->legend;
		break;
	case 'L' & 0x1f:	/* redraw lines that other programs have overwritten */
		clearok(curscr, TRUE);
		break;
	}
}

/* The terminal's own word for its size; where it has none curses has guessed. */
static void resize(void)
{
	struct winsize size;

	resized = 0;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
}

/* Waits for keys, signals, or until it is time to look again. */
static void wait_for_keys(struct view *view, const sigset_t *signals)
{
	struct pollfd terminal = { .fd = STDIN_FILENO, .events = POLLIN };
	long long left = view->next_ns - clock_ns();
	struct timespec timeout = { 0 };
	int key;

	if (left > 0) {
		timeout.tv_sec = left / 1000 / NS_PER_MS;
		timeout.tv_nsec = left % (1000 * NS_PER_MS);
	}
	ppoll(&terminal, 1, view->paused ? NULL : &timeout, signals);
	/* A terminal that has gone has no more keys, and no end of them. */
	if (terminal.revents & (POLLHUP | POLLERR | POLLNVAL) || stopped)
		view->ended = true;
	if (resized)
		resize();
	while (!view->ended && (key = getch()) != ERR)
		press(view, key);
}

static enum status watch(struct view *view, const sigset_t *signals)
{
	int err = 0;

	resize();
	while (!err && !view->ended) {
		if (!view->paused && clock_ns() >= view->next_ns)
			err = update(view);
		if (err)
			break;
		draw(view);
		wait_for_keys(view, signals);
	}
	endwin();
	return err ? fail_look(err) : STATUS_DONE;
}

static void note_signal(int signal)
{
	if (signal == SIGWINCH)
		resized = 1;
	else
		stopped = 1;
}

/*
 * From now on signals end the view in good order, but only where they are waited
 * for: with the mask that is returned. Those that were ignored stay so.
 */
static void catch_signals(sigset_t *waiting)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH };
	struct sigaction action = { .sa_handler = note_signal }, old;
	sigset_t blocked;
	size_t i;

	sigemptyset(&blocked);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &old);
		if (old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &action, NULL);
		sigaddset(&blocked, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, waiting);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigdelset(waiting, signals[i]);
}

/* Whether curses knows the terminal and can draw on it; it may be a printer. */
static bool can_draw(void)
{
	const char *motion;
	int err;

	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return false;
	motion = tigetstr("cup");
	if (motion == (char *)-1)
		motion = NULL;
	del_curterm(cur_term);
	return motion;
}

static enum status fail_terminal(void)
{
	const char *name = getenv("TERM");

	if (!name || !*name)
		return fail(STATUS_ERROR, "TERM is not set: set it, or use --once");
	return fail(STATUS_ERROR, "cannot use the terminal '%s': set TERM, or use --once",
		    name);
}

static enum status show(struct view *view)
{
	enum status status;
	sigset_t waiting;
	SCREEN *screen;

	if (!can_draw())
		return fail_terminal();
	catch_signals(&waiting);
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return fail_terminal();
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	status = watch(view, &waiting);
	delscreen(screen);
	return status;
}

static enum status take_interval(const struct request *request, __u64 *ms)
{
	const char *text = request_option(request, "interval");
	int err;

	if (!text)
		return STATUS_DONE;
	err = duration_parse(text, ms);
	if (err == -EINVAL)
		return fail_usage(request,
				  "--interval: '%s' is not a duration as 250ms, 30s or 1h30m",
				  text);
	if (err || *ms < INTERVAL_LEAST_MS || *ms > INTERVAL_MOST_MS)
		return fail_usage(request, "--interval: %s is not from 10ms to 1d", text);
	return STATUS_DONE;
}

/**
 * cmd_top() - hbctl top
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status cmd_top(struct request *request)
{
	bool once = request->json || request_option(request, "once");
	struct view view = { .interval_ms = 1000 };
	struct table *table = NULL;
	enum status status;

	status = take_interval(request, &view.interval_ms);
	if (status)
		return status;
	if (!once && table_is_asked(request))
		return fail_usage(request, "-o, --noheadings and --raw need --once");
	if (!once && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		return fail_usage(request,
				  "stdin or stdout is no terminal: use --once");
	setlocale(LC_CTYPE, "");
	if (table_is_asked(request))
		status = table_begin(request, TABLE_DEFAULT, &table);
	if (!status)
		status = request_open(request);
	if (status) {
		table_end(table);
		return status;
	}
	view.handle = request->handle;
	status = once ? print_once(&view, request->json, table) : show(&view);
	table_end(table);
	top_samples_free(&view.now);
	top_samples_free(&view.before);
	free(view.rows);
	return status;
}
