// SPDX-License-Identifier: GPL-2.0-only
/*
 * screen [STEP]... -- COMMAND... - run a command on a terminal of its own, of 80
 * columns and 24 lines, and check what it shows. The steps, in order:
 *
 *	see TEXT	wait until TEXT is on the screen
 *	lose TEXT	wait until TEXT is not on the screen
 *	type KEYS	press keys
 *	run COMMAND	run a shell command
 *	size COLUMNSxLINES	give the terminal another size
 *	signal NUMBER	send a signal
 *	print	print the screen, without spaces at the ends of its lines
 *	end	wait until the command ends, and print how it leaves the terminal
 *	hangup	close the terminal, and wait until the command ends
 *
 * The exit status is that of the command; 98 if the command wrote bytes that this
 * terminal does not understand, or beyond the edge; 99 if a step failed. The command's
 * stderr is not the terminal.
 *
 * The result does not depend on timing: a screen is complete when the command waits for
 * keys. Then a mark is written to the terminal behind all output of the command, and the
 * terminal is read up to that mark.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "array_size.h"

#define LINES_MAX	100
#define COLUMNS_MAX	300
#define NUMBERS_MAX	8
#define MARK		0x05	/* a control character that the command does not write */
#define ESCAPE		0x1b
/* A step that takes longer has failed. */
#define TIMEOUT_S	30	/* seconds */

#define STATUS_UNCLEAN	98
#define STATUS_FAILED	99

/* The part of an escape sequence to which the next byte belongs. */
enum state {
	TEXT,
	ESCAPED,	/* after an escape character */
	CHARSET,	/* after an escape and a byte that takes one more */
	SEQUENCE,	/* after "escape [" */
};

static struct {
	int lines;
	int columns;
	int first;		/* first and last line of the scrolling region */
	int last;
	int y;
	int x;
	bool full;		/* the cursor is behind the last column */
	char cells[LINES_MAX][COLUMNS_MAX];
	enum state state;
	bool question;		/* the sequence begins with ? */
	int numbers[NUMBERS_MAX];
	unsigned int count;	/* of numbers */
	bool hidden;		/* the cursor is hidden */
	unsigned int marks;	/* marks that were read */
	unsigned int unclean;	/* bytes that should not have been written */
} screen = { .lines = 24, .columns = 80 };

static int master, slave;
static struct termios modes;
static pid_t child;
static bool ended;
static int status;

static _Noreturn __attribute__((format(printf, 1, 2))) void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "screen: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	if (child && !ended)
		kill(child, SIGKILL);
	exit(STATUS_FAILED);
}

/* The terminal */

static __attribute__((format(printf, 1, 2))) void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "screen: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	screen.unclean++;
}

static int bounded(int n, int least, int most)
{
	return n < least ? least : n > most ? most : n;
}

static void move_to(int y, int x)
{
	screen.y = bounded(y, 0, screen.lines - 1);
	screen.x = bounded(x, 0, screen.columns - 1);
	screen.full = false;
}

static void blank(int y, int from, int to)
{
	if (from < to)
		memset(&screen.cells[y][from], ' ', to - from);
}

static void clear(void)
{
	screen.first = 0;
	screen.last = screen.lines - 1;
	/* Not blanks: the command has to clear the screen itself. */
	memset(screen.cells, '#', sizeof(screen.cells));
}

/* Scrolls the lines from @from to @to by one: line @from is lost, line @to becomes blank. */
static void scroll(int from, int to)
{
	int y, step = from < to ? 1 : -1;

	for (y = from; y != to; y += step)
		memcpy(screen.cells[y], screen.cells[y + step], sizeof(screen.cells[y]));
	blank(to, 0, screen.columns);
}

static void line_feed(void)
{
	if (screen.y == screen.last)
		scroll(screen.first, screen.last);
	else
		move_to(screen.y + 1, screen.x);
}

static void reverse_line_feed(void)
{
	if (screen.y == screen.first)
		scroll(screen.last, screen.first);
	else
		move_to(screen.y - 1, screen.x);
}

static void put(char c)
{
	if (screen.full)
		complain("line %d is too long", screen.y + 1);
	screen.cells[screen.y][screen.x] = c;
	if (screen.x == screen.columns - 1)
		screen.full = true;
	else
		screen.x++;
}

/* Number @i of a sequence; 1 by default, as for all cursor movements. */
static int number(unsigned int i)
{
	return i < screen.count && screen.numbers[i] ? screen.numbers[i] : 1;
}

static void cursor_position(void)
{
	move_to(number(0) - 1, number(1) - 1);
}

static void cursor_up(void)
{
	move_to(screen.y - number(0), screen.x);
}

static void cursor_down(void)
{
	move_to(screen.y + number(0), screen.x);
}

static void cursor_right(void)
{
	move_to(screen.y, screen.x + number(0));
}

static void cursor_left(void)
{
	move_to(screen.y, screen.x - number(0));
}

static void cursor_column(void)
{
	move_to(screen.y, number(0) - 1);
}

static void cursor_line(void)
{
	move_to(number(0) - 1, screen.x);
}

/*
 * Erases from the cursor to the end, from the start to the cursor, or all: of a line, or of
 * the screen.
 */
static void erase_line(void)
{
	int which = screen.count ? screen.numbers[0] : 0;

	blank(screen.y, which == 0 ? screen.x : 0,
	      which == 1 ? screen.x + 1 : screen.columns);
}

static void erase_screen(void)
{
	int which = screen.count ? screen.numbers[0] : 0, y;

	erase_line();
	for (y = 0; y < screen.lines; y++)
		if (y > screen.y ? which != 1 : y < screen.y && which)
			blank(y, 0, screen.columns);
}

static void erase_characters(void)
{
	blank(screen.y, screen.x, bounded(screen.x + number(0), 0, screen.columns));
}

static void delete_characters(void)
{
	int n = bounded(number(0), 0, screen.columns - screen.x);
	char *line = screen.cells[screen.y];

	memmove(line + screen.x, line + screen.x + n, screen.columns - screen.x - n);
	blank(screen.y, screen.columns - n, screen.columns);
}

static void insert_characters(void)
{
	int n = bounded(number(0), 0, screen.columns - screen.x);
	char *line = screen.cells[screen.y];

	memmove(line + screen.x + n, line + screen.x, screen.columns - screen.x - n);
	blank(screen.y, screen.x, screen.x + n);
}

static void scroll_region(void)
{
	int last = screen.count > 1 ? number(1) : screen.lines;

	screen.first = bounded(number(0), 1, screen.lines) - 1;
	screen.last = bounded(last, screen.first + 1, screen.lines) - 1;
	move_to(0, 0);
}

static void delete_lines(void)
{
	int n = bounded(number(0), 0, screen.last - screen.y + 1);

	while (n-- > 0)
		scroll(screen.y, screen.last);
}

static void insert_lines(void)
{
	int n = bounded(number(0), 0, screen.last - screen.y + 1);

	while (n-- > 0)
		scroll(screen.last, screen.y);
}

static void set_mode(void)
{
	if (screen.question && number(0) == 25)
		screen.hidden = false;
	else if (!screen.question)
		complain("mode %d", number(0));
}

static void reset_mode(void)
{
	if (screen.question && number(0) == 25)
		screen.hidden = true;
}

static void nothing(void)
{
}

static const struct sequence {
	char end;
	void (*act)(void);
} sequences[] = {
	{ '@', insert_characters },
	{ 'A', cursor_up },
	{ 'B', cursor_down },
	{ 'C', cursor_right },
	{ 'D', cursor_left },
	{ 'G', cursor_column },
	{ 'H', cursor_position },
	{ 'J', erase_screen },
	{ 'K', erase_line },
	{ 'L', insert_lines },
	{ 'M', delete_lines },
	{ 'P', delete_characters },
	{ 'X', erase_characters },
	{ 'c', nothing },	/* shape of the cursor */
	{ 'd', cursor_line },
	{ 'h', set_mode },
	{ 'l', reset_mode },
	{ 'm', nothing },	/* bold, reverse, colours */
	{ 'r', scroll_region },
};

static void eat_control(char c)
{
	switch (c) {
	case '\r':
		move_to(screen.y, 0);
		break;
	case '\n':
		line_feed();
		break;
	case '\b':
		move_to(screen.y, screen.x - 1);
		break;
	case '\t':
		move_to(screen.y, (screen.x / 8 + 1) * 8);
		break;
	case ESCAPE:
		screen.state = ESCAPED;
		break;
	case 0x0e:
	case 0x0f:
		break;	/* selects a character set */
	default:
		complain("control character %#x", c);
	}
}

static void eat_escaped(char c)
{
	screen.state = TEXT;
	switch (c) {
	case '[':
		screen.state = SEQUENCE;
		screen.question = false;
		screen.count = 0;
		memset(screen.numbers, 0, sizeof(screen.numbers));
		break;
	case '(':
	case ')':
		screen.state = CHARSET;
		break;
	case 'M':
		reverse_line_feed();
		break;
	case '=':
	case '>':
		break;	/* keypad mode */
	default:
		complain("escape %c", c);
	}
}

static void eat_sequence(char c)
{
	size_t i;

	if (c == '?') {
		screen.question = true;
	} else if (c >= '0' && c <= '9') {
		screen.count += !screen.count;
		screen.numbers[screen.count - 1] *= 10;
		screen.numbers[screen.count - 1] += c - '0';
	} else if (c == ';') {
		screen.count = bounded(screen.count + 1 + !screen.count, 0, NUMBERS_MAX);
	} else {
		screen.state = TEXT;
		for (i = 0; i < ARRAY_SIZE(sequences); i++) {
			if (sequences[i].end == c) {
				sequences[i].act();
				return;
			}
		}
		complain("escape [ ... %c", c);
	}
}

static void eat(char c)
{
	if (c == MARK)
		screen.marks++;
	else if (screen.state == ESCAPED)
		eat_escaped(c);
	else if (screen.state == SEQUENCE)
		eat_sequence(c);
	else if (screen.state == CHARSET)
		screen.state = TEXT;
	else if ((unsigned char)c < ' ' || c == 0x7f)
		eat_control(c);
	else
		put(c);
}

/* The command */

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Reads the terminal's output, for which it waits 20 ms at most. */
static void pump(void)
{
	struct pollfd poll_master = { .fd = master, .events = POLLIN };
	char buffer[4096];
	ssize_t len, i;

	poll(&poll_master, 1, 20);
	while ((len = read(master, buffer, sizeof(buffer))) > 0)
		for (i = 0; i < len; i++)
			eat(buffer[i]);
}

/* True if the command waits for a key (ppoll), and not for room in the terminal. */
static bool is_asleep(void)
{
	char path[64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", child);
	file = fopen(path, "re");
	if (!file)
		die("cannot open %s: %s", path, strerror(errno));
	if (!fgets(text, sizeof(text), file))
		*text = '\0';
	fclose(file);
	return *text >= '0' && *text <= '9' && atol(text) == SYS_ppoll;
}

static void check_end(void)
{
	int result;

	if (ended || waitpid(child, &result, WNOHANG) != child)
		return;
	ended = true;
	status = WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result);
}

/* Reads all output of the command until the command sleeps or ends. */
static void settle(void)
{
	time_t until = seconds() + TIMEOUT_S;
	unsigned int marks = screen.marks;
	char mark = MARK;

	for (;;) {
		check_end();
		if (ended || is_asleep())
			break;
		if (seconds() > until)
			die("the command does not wait for anything");
		pump();
	}
	while (write(slave, &mark, 1) != 1) {
		if (errno != EAGAIN && errno != EINTR)
			die("cannot write to the terminal: %s", strerror(errno));
		pump();
	}
	while (screen.marks == marks) {
		if (seconds() > until)
			die("the terminal does not work");
		pump();
	}
}

static bool shows(const char *text)
{
	char line[COLUMNS_MAX + 1];
	int y;

	for (y = 0; y < screen.lines; y++) {
		memcpy(line, screen.cells[y], screen.columns);
		line[screen.columns] = '\0';
		if (strstr(line, text))
			return true;
	}
	return false;
}

static void print(FILE *file)
{
	int y, len;

	for (y = 0; y < screen.lines; y++) {
		for (len = screen.columns; len && screen.cells[y][len - 1] == ' '; len--)
			continue;
		fprintf(file, "%.*s\n", len, screen.cells[y]);
	}
}

/* The steps */

static void wait_for(const char *text, bool there)
{
	time_t until = seconds() + TIMEOUT_S;

	for (;;) {
		settle();
		if (shows(text) == there) {
			/* The command may not have woken before the first settle(). */
			settle();
			return;
		}
		if (ended || seconds() > until) {
			print(stderr);
			die("%s in vain for '%s' to %s", ended ? "ended" : "waited",
			    text, there ? "come" : "go");
		}
		pump();
	}
}

static void step_see(const char *text)
{
	wait_for(text, true);
}

static void step_lose(const char *text)
{
	wait_for(text, false);
}

static void step_type(const char *keys)
{
	if (write(master, keys, strlen(keys)) != (ssize_t)strlen(keys))
		die("cannot type: %s", strerror(errno));
}

static void step_run(const char *command)
{
	if (system(command))
		die("failed: %s", command);
}

static void step_size(const char *text)
{
	struct winsize size = { 0 };

	if (sscanf(text, "%hux%hu", &size.ws_col, &size.ws_row) != 2 || !size.ws_col ||
	    !size.ws_row || size.ws_col > COLUMNS_MAX || size.ws_row > LINES_MAX)
		die("no size for this terminal: %s", text);
	screen.columns = size.ws_col;
	screen.lines = size.ws_row;
	move_to(screen.y, screen.x);
	clear();
	if (ioctl(master, TIOCSWINSZ, &size))
		die("cannot set the size: %s", strerror(errno));
}

static void step_signal(const char *text)
{
	kill(child, atoi(text));
}

static void step_print(const char *text)
{
	(void)text;
	print(stdout);
}

static bool same_modes(const struct termios *now)
{
	return now->c_iflag == modes.c_iflag && now->c_oflag == modes.c_oflag &&
	       now->c_cflag == modes.c_cflag && now->c_lflag == modes.c_lflag &&
	       !memcmp(now->c_cc, modes.c_cc, sizeof(modes.c_cc));
}

static void step_end(const char *text)
{
	time_t until = seconds() + TIMEOUT_S;
	struct termios now;

	(void)text;
	while (!ended) {
		if (seconds() > until) {
			print(stderr);
			die("the command does not end");
		}
		pump();
		check_end();
	}
	settle();
	if (tcgetattr(slave, &now))
		die("tcgetattr: %s", strerror(errno));
	printf("modes %s, cursor %s\n", same_modes(&now) ? "as before" : "changed",
	       screen.hidden ? "hidden" : "visible");
}

static void step_hangup(const char *text)
{
	time_t until = seconds() + TIMEOUT_S;

	(void)text;
	close(slave);
	close(master);
	for (check_end(); !ended; check_end()) {
		if (seconds() > until)
			die("the command outlives its terminal");
		usleep(10000);
	}
}

static const struct step {
	const char *name;
	bool argument;
	void (*act)(const char *text);
} steps[] = {
	{ "see", true, step_see },
	{ "lose", true, step_lose },
	{ "type", true, step_type },
	{ "run", true, step_run },
	{ "size", true, step_size },
	{ "signal", true, step_signal },
	{ "print", false, step_print },
	{ "end", false, step_end },
	{ "hangup", false, step_hangup },
};

/* Takes one step; returns the number of its words. */
static int take_step(char **words)
{
	const struct step *step;

	for (step = steps; step < steps + ARRAY_SIZE(steps); step++) {
		if (strcmp(step->name, words[0]))
			continue;
		step->act(words[1]);
		/* Keeps the order of this output and that of the commands. */
		fflush(stdout);
		return 1 + step->argument;
	}
	die("no such step: %s", words[0]);
}

static void open_terminal(void)
{
	const char *name;

	master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0 || grantpt(master) || unlockpt(master))
		die("cannot make a terminal: %s", strerror(errno));
	name = ptsname(master);
	slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (slave < 0 || tcgetattr(slave, &modes))
		die("cannot open %s: %s", name, strerror(errno));
	step_size("80x24");
}

static _Noreturn void run_child(char **command)
{
	int terminal;

	setsid();
	/* Opened again, in blocking mode, as the controlling terminal of a new session. */
	terminal = open(ptsname(master), O_RDWR);
	if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0))
		_exit(STATUS_FAILED);
	dup2(terminal, STDIN_FILENO);
	dup2(terminal, STDOUT_FILENO);
	if (terminal > STDERR_FILENO)
		close(terminal);
	execvp(command[0], command);
	fprintf(stderr, "screen: cannot run %s: %s\n", command[0], strerror(errno));
	_exit(STATUS_FAILED);
}

int main(int argc, char **argv)
{
	int command;

	for (command = 1; command < argc && strcmp(argv[command], "--"); command++)
		continue;
	if (command + 1 >= argc)
		die("usage: screen [STEP]... -- COMMAND...");
	argv[command++] = NULL;
	open_terminal();
	child = fork();
	if (child < 0)
		die("fork: %s", strerror(errno));
	if (!child)
		run_child(argv + command);
	for (argv++; *argv; argv += take_step(argv))
		continue;
	check_end();
	if (!ended)
		die("the steps are over, but the command has not ended");
	return screen.unclean ? STATUS_UNCLEAN : status;
}
