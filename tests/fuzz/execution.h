/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * execution.h - run programs, trace the code of the module that they reach, count results.
 */
#ifndef _FUZZ_EXECUTION_H
#define _FUZZ_EXECUTION_H

#include <stdatomic.h>

#include "program.h"

#define CALLS_MAX	64
#define ERRORS_MAX	160
#define TEXT_MAX	(4 * 1024 * 1024)	/* greatest size of the module, bytes */

/**
 * struct tally - results of all processes; all 0 at the start
 * @results:	number of results, by call and errno (0 for success)
 * @points:	number of places of the module that were reached
 * @reached:	1 for each of these places, by its offset in the module
 */
struct tally {
	_Atomic uint64_t results[CALLS_MAX][ERRORS_MAX];
	_Atomic uint32_t points;
	_Atomic uint8_t reached[TEXT_MAX];
};

bool cover_find(void);
bool cover_begin(void);
bool fail_begin(void);
bool execution_begin(struct tally *tally);
unsigned int execution_run(const struct program *program);

#endif /* _FUZZ_EXECUTION_H */
