/* SPDX-License-Identifier: GPL-2.0 */
/*
 * execution.h - carry programs out, see what they reach of the module, count results.
 */
#ifndef _FUZZ_EXECUTION_H
#define _FUZZ_EXECUTION_H

#include <stdatomic.h>

#include "program.h"

#define CALLS_MAX	64
#define ERRORS_MAX	160
#define TEXT_MAX	(4 * 1024 * 1024)	/* bytes of code that the module has at most */

/**
 * struct tally - what all processes have seen together; zeros to begin with
 * @results:	by call and errno, 0 for success: how often
 * @points:	places of the module that were reached
 * @reached:	each of them: by its distance from the module's beginning
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
