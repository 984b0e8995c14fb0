/* SPDX-License-Identifier: GPL-2.0 */
/*
 * example.h - what the examples share: a belt whose time is moved by hand, its
 * events, and a verdict.
 *
 * An example makes a belt of its own, halts its time and moves it on by itself. So
 * it is over at once, whatever times it speaks of, and says the same each time. It
 * ends with status 0 if all that it promises was seen; with 1 and a message if not,
 * or if a call failed; with 2 for wrong usage.
 */
#ifndef _EXAMPLE_H
#define _EXAMPLE_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* How often a promise was broken; and how often it is worth to say so. */
static unsigned int example_broken;
#define EXAMPLE_BROKEN_SAID	20

/**
 * die() - end the program: a call has failed that had to succeed
 * @what:	what was to be done
 * @err:	a negative errno
 */
static inline __attribute__((noreturn)) void die(const char *what, int err)
{
	fflush(stdout);
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(-err));
	exit(1);
}

/**
 * must() - a call that has to succeed
 * @what:	what was to be done
 * @err:	what it returned
 */
static inline void must(const char *what, int err)
{
	if (err < 0)
		die(what, err);
}

/**
 * promise() - say whether a promise was kept; a broken one is told at once
 * @kept:	whether
 * @what:	the promise
 */
static inline void promise(bool kept, const char *what)
{
	if (kept || example_broken++ >= EXAMPLE_BROKEN_SAID)
		return;
	fflush(stdout);
	fprintf(stderr, "%s: broken: %s\n", program_invocation_short_name, what);
}

/**
 * verdict() - the status to end with
 *
 * Return: 0 if all promises were kept, else 1.
 */
static inline int verdict(void)
{
	fflush(stdout);
	return example_broken != 0;
}

/**
 * arguments() - look at the command line; ends the program where it is wrong
 * @argc:	of main()
 * @argv:	of main()
 * @most:	how many arguments there may be
 * @usage:	what --help prints
 */
static inline void arguments(int argc, char **argv, int most, const char *usage)
{
	if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(usage, stdout);
		exit(0);
	}
	if (argc <= most + 1 && (argc < 2 || argv[1][0] != '-'))
		return;
	fputs(usage, stderr);
	exit(2);
}

/**
 * number() - an argument that is a number; ends the program if it is not
 * @text:	the argument
 * @what:	what it is called
 * @least:	the least that it may be
 * @most:	the most
 *
 * Return: the number.
 */
static inline unsigned long number(const char *text, const char *what,
				   unsigned long least, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (text[0] >= '0' && text[0] <= '9' && !*end && n >= least && n <= most)
		return n;
	fprintf(stderr, "%s: %s must be a number from %lu to %lu, not '%s'\n",
		program_invocation_short_name, what, least, most, text);
	exit(2);
}

/**
 * open_belt() - one more descriptor of a belt
 * @name:	of the belt
 *
 * Return: the descriptor; reads of it do not wait.
 */
static inline int open_belt(const char *name)
{
	int fd = hashbelt_open(NULL);

	must(HASHBELT_DEVICE, fd);
	must(name, hashbelt_bind(fd, name));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/**
 * new_belt() - a belt of one's own, whose time stands still
 * @name:	its name; one that an earlier run left behind is destroyed. NULL: it
 *		goes with the descriptor
 * @settings:	what it shall be
 *
 * Its time stands at the beginning of an interval (or less than a millisecond
 * later), so it does not depend on when the belt was made which entries fall off
 * together.
 *
 * Return: a descriptor; reads of it do not wait.
 */
static inline int new_belt(const char *name, struct hashbelt_settings settings)
{
	int fd = hashbelt_open(NULL);
	struct hashbelt_info info;
	__u64 rest;

	must(HASHBELT_DEVICE, fd);
	if (name)
		hashbelt_destroy(fd, name);
	settings.mode = 0600;
	must("make a belt", hashbelt_create(fd, name, &settings));
	must("halt", hashbelt_halt(fd));
	must("info", hashbelt_info(fd, &info));
	rest = info.interval_ns - info.now_ns % info.interval_ns;
	must("advance", hashbelt_advance(fd, rest / 1000000 + 1));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/**
 * info_of() - what a belt is and holds
 * @fd:		the descriptor
 *
 * Return: that.
 */
static inline struct hashbelt_info info_of(int fd)
{
	struct hashbelt_info info;

	must("info", hashbelt_info(fd, &info));
	return info;
}

/**
 * counter_of() - one of a belt's counters
 * @fd:		the descriptor
 * @which:	which
 *
 * Return: the count.
 */
static inline __u64 counter_of(int fd, enum hashbelt_counter which)
{
	__u64 counters[HASHBELT_STAT_COUNT] = {};
	unsigned int count = HASHBELT_STAT_COUNT;

	must("stat", hashbelt_stat(fd, counters, &count));
	return counters[which];
}

/* What is called with an event; @arg is the caller's own. */
typedef void (*event_fn)(const struct hashbelt_event *event, void *arg);

/**
 * read_events() - call a function for each event that waits
 * @fd:		the descriptor
 * @told:	the function
 * @arg:	passed on to it
 *
 * Return: how many there were.
 */
static inline unsigned int read_events(int fd, event_fn told, void *arg)
{
	static __u64 buffer[8192];
	const struct hashbelt_event *event;
	unsigned int count = 0;
	ssize_t len;

	while ((len = hashbelt_read(fd, buffer, sizeof(buffer))) > 0) {
		event = NULL;
		while ((event = hashbelt_event_next(buffer, len, event))) {
			told(event, arg);
			count++;
		}
	}
	if (len != -EAGAIN)
		die("read", len);
	return count;
}

#endif /* _EXAMPLE_H */
