/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * example.h - code that the examples share: a belt whose time is moved by hand, its
 * events, and the exit status.
 *
 * An example makes a belt of its own, halts its time and moves it by hand. So it runs
 * in no time, whatever times it shows, and prints the same each time. It exits with 0
 * if all of its promises held; with 1 and a message if one did not hold or a call
 * failed; with 2 for wrong usage.
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

#include <hashbelt/client.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

/* How often a promise was broken; only the first EXAMPLE_BROKEN_SAID are printed. */
static unsigned int example_broken;
#define EXAMPLE_BROKEN_SAID	20

/**
 * die() - report a failed call, and end the program with status 1
 * @what:	name of the call
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
 * must() - end the program if a call failed
 * @what:	name of the call
 * @err:	its result; a failure if negative
 */
static inline void must(const char *what, int err)
{
	if (err < 0)
		die(what, err);
}

/**
 * promise() - print a promise that was not kept
 * @kept:	true if it was kept
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
 * verdict() - the exit status
 *
 * Return: 0 if all promises were kept, else 1.
 */
static inline int verdict(void)
{
	fflush(stdout);
	return example_broken != 0;
}

/**
 * arguments() - check the command line; ends the program after --help or wrong usage
 * @argc:	argument of main()
 * @argv:	argument of main()
 * @most:	greatest number of arguments
 * @usage:	text that --help prints
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
 * number() - parse an argument; ends the program if it is no number in range
 * @text:	the argument
 * @what:	its name in the usage
 * @least:	smallest value allowed
 * @most:	greatest value allowed
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
 * open_belt() - open another handle of a belt that this user has made
 * @name:	name of the belt
 *
 * Any user may make a belt under a name that is free, and would then read what this program
 * puts. So the program demands the owner.
 *
 * Return: the handle, whose descriptor is in non-blocking mode.
 */
static inline struct hashbelt *open_belt(const char *name)
{
	struct hashbelt *belt;

	must(HASHBELT_DEVICE, hashbelt_open(NULL, &belt));
	must(name, hashbelt_bind_owned(belt, name, geteuid()));
	fcntl(hashbelt_fd(belt), F_SETFL, O_NONBLOCK);
	return belt;
}

/**
 * new_belt() - make a belt whose time is halted
 * @name:	its name; a belt of that name from an earlier run is destroyed. NULL:
 *		the belt has no name, and is destroyed with the handle
 * @settings:	its settings; the mode is set to 0600
 *
 * The belt's time stands at most 1 ms after the beginning of an interval. So which
 * entries fall off together does not depend on the time at which the belt was made.
 *
 * Return: a handle, whose descriptor is in non-blocking mode.
 */
static inline struct hashbelt *new_belt(const char *name, struct hashbelt_settings settings)
{
	struct hashbelt_info info;
	struct hashbelt *belt;
	__u64 rest;

	must(HASHBELT_DEVICE, hashbelt_open(NULL, &belt));
	if (name)
		hashbelt_destroy(belt, name);
	settings.mode = 0600;
	must("make a belt", hashbelt_create(belt, name, &settings));
	must("halt", hashbelt_halt(belt));
	must("info", hashbelt_info(belt, &info));
	rest = info.interval_ns - info.now_ns % info.interval_ns;
	must("advance", hashbelt_advance(belt, rest / 1000000 + 1));
	fcntl(hashbelt_fd(belt), F_SETFL, O_NONBLOCK);
	return belt;
}

/**
 * info_of() - settings and state of a belt
 * @belt:	the handle
 *
 * Return: the result of hashbelt_info().
 */
static inline struct hashbelt_info info_of(struct hashbelt *belt)
{
	struct hashbelt_info info;

	must("info", hashbelt_info(belt, &info));
	return info;
}

/**
 * counter_of() - one of a belt's counters
 * @belt:	the handle
 * @which:	the counter
 *
 * Return: the count.
 */
static inline __u64 counter_of(struct hashbelt *belt, enum hashbelt_counter which)
{
	__u64 counters[HASHBELT_STAT_COUNT] = {};
	unsigned int count = HASHBELT_STAT_COUNT;

	must("stat", hashbelt_stat(belt, counters, &count));
	return counters[which];
}

/* Called for an event; @arg is that of read_events(). */
typedef void (*event_fn)(const struct hashbelt_event *event, void *arg);

/**
 * read_events() - call a function for each queued event
 * @belt:	the handle
 * @told:	the function
 * @arg:	passed on to it
 *
 * Return: the number of events.
 */
static inline unsigned int read_events(struct hashbelt *belt, event_fn told, void *arg)
{
	static __u64 buffer[8192];
	const struct hashbelt_event *event;
	unsigned int count = 0;
	ssize_t len;

	while ((len = hashbelt_read(belt, buffer, sizeof(buffer))) > 0) {
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
