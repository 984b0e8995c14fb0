// SPDX-License-Identifier: GPL-2.0-only
/* Lines for the log. Each is written by one call, so that those of threads do not mix. */
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "log.h"

/* The beginning of each line. */
static const char *name = "";

/* A client may change it, in any thread. */
static unsigned int current;

/**
 * log_begin() - begin to log
 * @program:	the beginning of each line; has to stay
 * @level:	as for log_set_level()
 *
 * For a program that has one thread yet.
 */
void log_begin(const char *program, unsigned int level)
{
	name = program;
	log_set_level(level);
}

/**
 * log_set_level() - choose what is logged
 * @level:	the level; a higher one than the last counts as the last
 */
void log_set_level(unsigned int level)
{
	__atomic_store_n(&current, level < LOG_LEVELS ? level : LOG_LEVELS - 1, __ATOMIC_RELAXED);
}

/**
 * log_level() - what is logged
 *
 * Return: the level.
 */
unsigned int log_level(void)
{
	return __atomic_load_n(&current, __ATOMIC_RELAXED);
}

/**
 * log_line() - write a line
 * @level:	the level from which on it is written
 * @format:	the line, without its end
 */
void log_line(enum log_level level, const char *format, ...)
{
	char line[512];
	va_list args;
	int len, head, i;

	if (log_level() < level)
		return;
	head = snprintf(line, sizeof(line), "%s: ", name);
	va_start(args, format);
	len = head + vsnprintf(line + head, sizeof(line) - head, format, args);
	va_end(args);
	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	/*
	 * Others choose some of the bytes: these must not steer a terminal. Only ASCII stays,
	 * whether a char is signed or not.
	 */
	for (i = head; i < len; i++)
		if (line[i] < ' ' || line[i] >= 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}
