/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stress.h - code that the programs of this directory share: random numbers from a seed,
 * belts, and results.
 *
 *	PROGRAM [SEED [AMOUNT]]
 */
#ifndef _STRESS_H
#define _STRESS_H

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hashbelt/client.h>

static uint64_t seed = 1;

/* Number of impossible results. A program with several processes counts in shared memory. */
static _Atomic unsigned int own_failures, *failures = &own_failures;

static inline void __attribute__((format(printf, 1, 2))) wrong(const char *format, ...)
{
	va_list args;

	if (atomic_fetch_add(failures, 1) >= 10)
		return;
	va_start(args, format);
	flockfile(stdout);
	printf("# ");
	vprintf(format, args);
	putchar('\n');
	funlockfile(stdout);
	va_end(args);
}

static unsigned int reported;

/* Prints a line of TAP, and after a failure its place. Return: 1 after a failure. */
static inline int report_at(const char *file, int line, const char *condition, int good,
			    const char *promise)
{
	printf("%sok %u - %s\n", good ? "" : "not ", ++reported, promise);
	if (!good)
		printf("# %s:%d: expected %s, found that it is false\n", file, line, condition);
	return !good;
}

#define report(good, promise)	report_at(__FILE__, __LINE__, #good, good, promise)

/* Prints the plan, after the last report(). Return: the exit status. */
static inline int done(int failed)
{
	printf("1..%u\n", reported);
	return failed != 0;
}

static inline void read_arguments(int argc, char **argv, uint64_t *amount)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (argc > 2)
		*amount = strtoull(argv[2], NULL, 0);
}

/* xorshift64 (Marsaglia 2003). */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* The state with which the random numbers of a thread or process begin. */
static inline uint64_t seed_of(unsigned int thread)
{
	return (seed * 2654435761u + thread) * 0x9e3779b97f4a7c15ull | 1;
}

static inline struct hashbelt *open_belt(const char *name)
{
	struct hashbelt *belt;
	int err = hashbelt_open(NULL, &belt) ?: hashbelt_bind(belt, name);

	if (err) {
		wrong("cannot open %s: %s", name, strerror(-err));
		exit(1);
	}
	return belt;
}

/* Makes a belt, halted if @halted; returns a handle that is bound to it. */
static inline struct hashbelt *make_belt(const char *name, struct hashbelt_settings settings,
					 int halted)
{
	struct hashbelt *belt;
	int err;

	settings.mode = 0600;
	err = hashbelt_open(NULL, &belt) ?: hashbelt_create(belt, name, &settings);
	if (!err && halted)
		err = hashbelt_halt(belt);
	if (!err)
		return belt;
	printf("Bail out! cannot make %s: %s\n", name, strerror(-err));
	exit(1);
}

#endif /* _STRESS_H */
