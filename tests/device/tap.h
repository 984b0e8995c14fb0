/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * tap.h - report test results in TAP.
 *
 * A program calls ok(), is_int(), is_errno() or skip() once for each check, and returns
 * done_testing() from main(): not 0 if a check failed. done_testing() prints the plan, so a
 * program that ends before it has none, which tally.awk takes as a failure. Forked processes
 * report nothing; they hand their results to their parent. A failed check is followed by a
 * remark with the file and line, what was expected, and what was found.
 */
#ifndef _TAP_H
#define _TAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define __printf(string, first)	__attribute__((format(printf, string, first)))

static unsigned int tap_run;
static unsigned int tap_failed;

/*
 * Scales the number of repetitions @usual by SCALE, a percentage in the environment: a
 * kernel that checks each memory access is much slower. At least 1.
 */
static inline unsigned int scaled(unsigned int usual)
{
	static unsigned int percent;
	const char *text;

	if (!percent) {
		text = getenv("SCALE");
		percent = text ? atoi(text) : 100;
		if (percent < 1 || percent > 100) {
			printf("Bail out! SCALE is from 1 to 100\n");
			exit(255);
		}
	}
	return usual * percent / 100 ? usual * percent / 100 : 1;
}

/* scaled() to @least or more: fewer repetitions would not show what the check is about. */
static inline unsigned int scaled_from(unsigned int least, unsigned int usual)
{
	unsigned int number = scaled(usual);

	return number > least ? number : least;
}

/* A forked process must not inherit, and print again, what its parent has not printed yet. */
__attribute__((constructor)) static void tap_begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
}

/* A remark for the reader of the log. */
static inline __printf(1, 2) void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
}

/* Ends the program: something failed that the test only relies on. */
static inline __printf(1, 2) _Noreturn void bail_out(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("Bail out! ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	exit(255);
}

/* The source position of a check. */
struct tap_place {
	const char *file;
	int line;
};

#define TAP_HERE	((struct tap_place){ __FILE__, __LINE__ })

static inline bool tap_report(bool good, const char *format, va_list args)
{
	tap_run++;
	tap_failed += !good;
	printf("%sok %u - ", good ? "" : "not ", tap_run);
	vprintf(format, args);
	printf("\n");
	return good;
}

/* The name of a positive or negative errno. */
static inline const char *error_name(int error)
{
	const char *name = strerrorname_np(abs(error));

	return error && name ? name : "no error";
}

static inline __printf(4, 5) bool tap_ok(struct tap_place place, const char *condition, bool good,
					 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!tap_report(good, format, args))
		printf("# %s:%d: expected %s, found that it is false\n", place.file, place.line,
		       condition);
	va_end(args);
	return good;
}

static inline __printf(5, 6) bool tap_int(struct tap_place place, const char *expression,
					  long long got, long long want, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!tap_report(got == want, format, args))
		printf("# %s:%d: expected %s to be %lld, found %lld\n", place.file, place.line,
		       expression, want, got);
	va_end(args);
	return got == want;
}

static inline __printf(5, 6) bool tap_errno(struct tap_place place, const char *expression,
					    int got, int want, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!tap_report(got == -want, format, args))
		printf("# %s:%d: expected %s from %s, found %s (%d)\n", place.file, place.line,
		       error_name(want), expression, error_name(got), got);
	va_end(args);
	return got == -want;
}

/* ok(CONDITION, FORMAT...): the check passes if CONDITION is true. */
#define ok(good, ...)	tap_ok(TAP_HERE, #good, good, __VA_ARGS__)

/* is_int(GOT, WANT, FORMAT...): the check passes if the two numbers are equal. */
#define is_int(got, want, ...)	tap_int(TAP_HERE, #got, got, want, __VA_ARGS__)

/* is_errno(GOT, WANT, FORMAT...): GOT is 0 or a negative errno, WANT 0 or an errno. */
#define is_errno(got, want, ...)	tap_errno(TAP_HERE, #got, got, want, __VA_ARGS__)

/* Reports @tests checks that cannot run here; the text gives the reason. */
static inline __printf(2, 3) void skip(unsigned int tests, const char *format, ...)
{
	va_list args;

	while (tests--) {
		printf("ok %u # SKIP ", ++tap_run);
		va_start(args, format);
		vprintf(format, args);
		va_end(args);
		printf("\n");
	}
}

static inline int done_testing(void)
{
	if (tap_failed)
		note("%u of %u failed", tap_failed, tap_run);
	printf("1..%u\n", tap_run);
	fflush(stdout);
	return tap_failed != 0;
}

#endif /* _TAP_H */
